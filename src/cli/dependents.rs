//! Finds the dependent libraries of a link of lld: the libraries that its objects ask for. lld adds
//! them after all other inputs, in the order in which it reads the objects.

use crate::cover::ArchiveSet;
use crate::text::show;
use crate::tree::Tree;
use crate::views::archive::ArchiveAnswer;
use anyhow::{Result, bail};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Upper bound for the rounds in which libraries ask for more libraries.
const MOST_ROUNDS: usize = 64;

/// The dependent libraries that were added to the link.
#[derive(Default)]
pub(super) struct Dependents {
    names: Vec<Box<[u8]>>,
    rounds: usize,
}

impl Dependents {
    /// The files of the dependent libraries that are not part of the link yet. Fails if lld does
    /// not find a library. The search is that of [`find`].
    pub(super) fn more(
        &mut self,
        tree: &dyn Tree,
        (view, library): (&ArchiveAnswer, &ArchiveSet),
        search: (&[PathBuf], bool),
    ) -> Result<Vec<PathBuf>> {
        let mut out = Vec::new();
        for (by, found) in &view.dependents {
            let who = || view.who(library, *by);
            if found.is_damaged {
                bail!("{}: the list of dependent libraries is damaged: lld refuses it", who());
            }
            for name in &found.names {
                if self.names.contains(name) {
                    continue;
                }
                let Some(path) = find(tree, name, search) else {
                    bail!(
                        "{}: dependent library {}: not found\nhelp: add its directory with -L DIR, or use \
                         --no-dependent-libraries",
                        who(),
                        show(name)
                    )
                };
                self.names.push(name.clone());
                out.push(path);
            }
        }
        self.rounds += usize::from(!out.is_empty());
        if self.rounds > MOST_ROUNDS {
            bail!("dependent libraries ask for each other in more than {MOST_ROUNDS} rounds");
        }
        Ok(out)
    }
}

/// The file of the dependent library `name`: `libNAME.so` or `libNAME.a` in a directory of `dirs`,
/// else the file `name` in such a directory, else the path `name`. If `is_static` is true, only
/// `libNAME.a` counts as a library (`addDependentLibrary` in `lld/ELF/InputFiles.cpp`).
fn find(tree: &dyn Tree, name: &[u8], (dirs, is_static): (&[PathBuf], bool)) -> Option<PathBuf> {
    let in_dir = |dir: &Path, parts: [&[u8]; 3]| {
        let path = [dir.as_os_str().as_bytes(), b"/", &parts.concat()].concat();
        PathBuf::from(OsStr::from_bytes(&path))
    };
    let ends: &[&[u8]] = if is_static { &[b".a"] } else { &[b".so", b".a"] };
    let libraries =
        dirs.iter().flat_map(|dir| ends.iter().map(move |end| in_dir(dir, [b"lib", name, end])));
    let files = dirs.iter().map(|dir| in_dir(dir, [name, b"", b""]));
    let mut paths = libraries.chain(files).chain([PathBuf::from(OsStr::from_bytes(name))]);
    paths.find(|path| tree.kind(path).is_ok())
}
