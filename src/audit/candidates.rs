//! Names below the prefixes of objects that lack libraries: whether a file of a missing library's
//! name lies there, audited or not. Directories are listed, no file is opened. `missing-library`
//! tells by it a library that the search misses from one that is gone.

use crate::blame::Blame;
use crate::facts::Corpus;
use crate::id::{FastMap, FastSet, FileId};
use crate::package::{Prefixes, is_store};
use crate::tree::walk::{Given, MetNames};
use crate::tree::{Kind, Node, Tree};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

/// File systems of the kernel, which hold no libraries and any number of names.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Entries below one prefix that are looked at: more than a whole `/usr` has. A prefix with more, such
/// as the root of a disk, counts as one that holds no candidate.
const MOST_ENTRIES: usize = 300_000;

/// What the walks of the run have listed.
#[derive(Clone, Copy)]
pub(super) struct Walked<'a> {
    /// What was given to them.
    pub(super) given: &'a [Given],
    /// Names in the directories.
    pub(super) met: &'a MetNames,
}

impl Walked<'_> {
    /// True if all directories below `prefix` were listed, as far as they can be.
    fn covers(&self, tree: &dyn Tree, prefix: &Path) -> bool {
        let Ok(prefix) = tree.real_path(prefix) else { return false };
        let mut dirs = self.given.iter().filter(|given| given.kind == Ok(Kind::Directory));
        dirs.any(|dir| tree.real_path(&dir.path).is_ok_and(|dir| prefix.starts_with(dir)))
    }
}

/// Names of missing libraries that files below a prefix have.
#[derive(Debug, Default)]
pub struct Candidates {
    found: FastSet<(PathBuf, OsString)>,
}

impl Candidates {
    /// Looks below the prefix of every object that lacks a library, once below each, and not again
    /// for names that no walk has met there.
    pub(super) fn find(
        tree: &dyn Tree,
        corpus: &Corpus,
        prefixes: &Prefixes,
        blame: &Blame,
        walked: Walked<'_>,
    ) -> Self {
        let mut wanted: FastMap<PathBuf, FastSet<OsString>> = FastMap::default();
        for missing in &blame.missing {
            let prefix = prefixes.locate(&corpus.files[missing.file].path).prefix;
            if let (Some(prefix), Some(name)) = (prefix, file_name(&missing.name)) {
                wanted.entry(prefix).or_default().insert(name.to_owned());
            }
        }
        let mut out = Self::default();
        for (prefix, mut names) in wanted {
            out.take_known(tree, corpus, &prefix, &mut names);
            if walked.covers(tree, &prefix) {
                walked.met.narrow(&mut names);
            }
            out.look_below(tree, &prefix, names);
        }
        out
    }

    /// Takes names that files below the prefix are known to have: a listing would find them too, and
    /// costs as much as the prefix is large.
    fn take_known(
        &mut self,
        tree: &dyn Tree,
        corpus: &Corpus,
        prefix: &Path,
        names: &mut FastSet<OsString>,
    ) {
        for facts in &corpus.files {
            let path = &*facts.path;
            let (Some(name), Some(dir)) = (path.file_name(), path.parent()) else { continue };
            if names.contains(name) && is_listed(tree, dir, prefix) {
                names.remove(name);
                self.found.insert((prefix.to_path_buf(), name.to_owned()));
            }
        }
    }

    fn look_below(&mut self, tree: &dyn Tree, prefix: &Path, mut names: FastSet<OsString>) {
        let mut todo = vec![prefix.to_path_buf()];
        let mut found: Vec<OsString> = Vec::new();
        let mut seen = 0_usize;
        while let Some(dir) = todo.pop().filter(|_| !names.is_empty()) {
            if seen > MOST_ENTRIES {
                return;
            }
            // A directory that cannot be listed holds no candidate that could be named.
            let _ = tree.list(&dir, &mut |name, node| {
                seen += 1;
                if node != Node::Kind(Kind::Directory) {
                    found.extend(names.take(name));
                    return;
                }
                let below = dir.join(name);
                // Items of a store are prefixes of their own.
                if !is_store(&below) && !KERNEL.iter().any(|kernel| below == Path::new(kernel)) {
                    todo.push(below);
                }
            });
        }
        self.found.extend(found.into_iter().map(|name| (prefix.to_path_buf(), name)));
    }

    /// True if a file below the prefix of `file` has the name of a library that it lacks.
    pub fn holds(
        &self,
        corpus: &Corpus,
        prefixes: &Prefixes,
        file: FileId,
        library: &[u8],
    ) -> bool {
        let prefix = prefixes.locate(&corpus.files[file].path).prefix;
        let name = file_name(library).map(OsStr::to_owned);
        prefix.zip(name).is_some_and(|place| self.found.contains(&place))
    }
}

/// True if a listing of `prefix` comes to `dir`: neither through a link nor into a store.
fn is_listed(tree: &dyn Tree, dir: &Path, prefix: &Path) -> bool {
    let mut between = dir.ancestors().take_while(|dir| *dir != prefix);
    dir.starts_with(prefix)
        && between.all(|dir| !is_store(dir))
        && tree.real_path(dir).is_ok_and(|real| real == dir)
}

/// The last part of a need's name.
fn file_name(library: &[u8]) -> Option<&OsStr> {
    use std::os::unix::ffi::OsStrExt as _;
    library.rsplit(|b| *b == b'/').next().filter(|name| !name.is_empty()).map(OsStr::from_bytes)
}
