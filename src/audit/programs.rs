//! Programs of the system on which a staging directory will be installed: they may load staged
//! plugins. The audit reads and resolves these programs only if such plugins have undefined symbols
//! or missing libraries. Reports have no findings about these programs.

use super::beside;
use super::binding::BoundClosures;
use crate::facts::collect::Collector;
use crate::facts::{Corpus, View};
use crate::format::elf::Role;
use crate::order::{self, Arrange as _};
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::resolve::entry_points::Closures;
use crate::resolve::resolver::Resolver;
use crate::tree::{DirEntryKind, EntryType, Tree};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Directories whose programs are read.
const DIRS: [&str; 5] = ["/usr/bin", "/usr/sbin", "/usr/libexec", "/bin", "/sbin"];

/// Paths of the files and links in these directories. Links in the paths of the directories are
/// resolved.
pub(super) fn paths(tree: &dyn Tree) -> Vec<PathBuf> {
    // A system may lack some of these directories.
    let real = DIRS.iter().filter_map(|dir| tree.real_path(Path::new(dir)).ok());
    let dirs: BTreeSet<PathBuf> = order::set(real);
    let mut out = Vec::new();
    for dir in dirs {
        // A directory that cannot be listed yields no program.
        let _ = tree.list_all(&dir, &mut |name, node| {
            if matches!(node, DirEntryKind::Link | DirEntryKind::Kind(EntryType::File)) {
                out.push(dir.join(name));
            }
        });
    }
    out
}

/// Programs with the libraries that they load at startup.
pub(super) struct SystemPrograms {
    resolver: Resolver,
    closures: Closures,
}

impl SystemPrograms {
    /// Reads and resolves the programs of the system.
    pub(super) fn read(
        plan: &Plan,
        tree: &dyn Tree,
        corpus: &mut Corpus,
        collector: &mut Collector<'_>,
    ) -> Self {
        let paths = paths(tree).into_iter().map(|path| path.into_os_string().into_vec());
        let mut paths: Vec<Vec<u8>> = paths.collect();
        paths.arrange();
        let mut given = beside::read(corpus, collector, paths);
        given.retain(|start| {
            let object = corpus.files[start.file].object();
            object.is_some_and(|object| object.role == Role::Program)
        });
        given.arrange_by_key(|start| start.file);
        given.dedup_by_key(|start| start.file);
        let (resolver, closures) = beside::resolved(plan, corpus, collector, given);
        Self { resolver, closures }
    }

    /// The programs as input for `diagnosis`.
    pub(super) fn source<'a>(
        &'a self,
        plan: &'a Plan,
        prefixes: &'a Prefixes,
        view: View<'a>,
    ) -> crate::diagnosis::DiagnosisInput<'a> {
        let bound =
            BoundClosures { resolver: &self.resolver, closures: &self.closures, bindings: &[] };
        super::source(plan, prefixes, view, bound)
    }
}
