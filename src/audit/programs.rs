//! Reads the programs of the system on which a staging directory will be installed, because
//! these programs may load staged plugins. They are read and resolved only if staged plugins
//! have undefined symbols or missing libraries. Reports have no findings about these programs.

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

/// Directories in which [`paths`] looks for programs.
const DIRS: [&str; 5] = ["/usr/bin", "/usr/sbin", "/usr/libexec", "/bin", "/sbin"];

/// The paths of all files and links in the directories of programs. Each directory is listed
/// once, by its real path.
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

/// Programs of the system, with the libraries that they load at startup.
pub(super) struct SystemPrograms {
    resolver: Resolver,
    closures: Closures,
}

impl SystemPrograms {
    /// Reads the files in the directories of programs, and resolves those that are programs.
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

    /// The programs as input for `diagnosis`. Their symbols are not bound.
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
