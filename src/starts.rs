//! The names under which files are started, as programs or with dlopen, in the order of the given
//! paths. `resolve` chooses the entry points among these names. `ldd` would list the files in the
//! same order. `audit` makes the names from the walk.

use crate::facts::read::Read;
use crate::facts::{Corpus, FileFacts};
use crate::format::elf::Object;
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::plan::Plan;
use crate::resolve::entry_points::Closures;
use crate::resolve::resolver::Resolver;
use crate::resolve::start::Start;
use crate::tree::walk::{GivenPath, WalkedName};
use crate::tree::{EntryType, without_dots};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The names under which the given and walked files are started.
pub(crate) struct StartNames {
    /// Names in the order of the given paths, each with true if the walk found it in a given
    /// directory.
    names: Vec<(PathBuf, bool)>,
}

impl StartNames {
    pub(crate) fn new(given: &[GivenPath], entries: &[WalkedName<Read>]) -> Self {
        let mut names = Vec::with_capacity(given.len());
        for GivenPath { path, kind, .. } in given {
            if *kind == Ok(EntryType::Directory) {
                // Entries are sorted by bytes, so entries below a directory need not be adjacent.
                let is_below =
                    |entry: &WalkedName<Read>| entry.listed && entry.path.starts_with(path);
                let below = |entry: &&WalkedName<Read>| !entry.is_link && is_below(entry);
                let below = entries.iter().filter(below);
                names.extend(below.map(|entry| (entry.path.clone(), true)));
            } else {
                names.push((path.clone(), false));
            }
        }
        Self { names }
    }

    /// The given and the walked files, each with the name under which it is started. A walked file
    /// is listed under its first name only. There are two exceptions. If every file is an entry
    /// point, each file is listed under all its names. A file that searches relative to `$ORIGIN`
    /// is listed once for each directory that has a hard link to the file.
    pub(crate) fn starts(&self, plan: &Plan, corpus: &Corpus) -> (Vec<Start>, Vec<Start>) {
        let (mut given, mut walked) = (Vec::new(), Vec::new());
        let (mut seen, mut directories) = (FastSet::default(), FastSet::default());
        for (path, below) in &self.names {
            let Some(file) = corpus.file_at(path) else { continue };
            let start = Start { file, path: typed(path) };
            let new = seen.insert(file);
            let directory = path.parent().filter(|_| depends_on_origin(corpus, file));
            let is_elsewhere =
                directory.is_some_and(|dir| directories.insert((file, without_dots(dir))));
            if !below {
                given.push(start);
            } else if plan.every_file_is_root || new || is_elsewhere {
                walked.push(start);
            }
        }
        // A link in a prefix may lead to a file outside of the prefix. That file is started under
        // the path of the link.
        for (file, facts) in corpus.files.entries() {
            if facts.audited && !seen.contains(&file) && !plan.every_file_is_root {
                walked.push(Start { file, path: typed(&facts.typed) });
            }
        }
        (given, walked)
    }

    /// All names, each with its entry point; `None` if the file is not an entry point.
    pub(crate) fn listing(
        &self,
        corpus: &Corpus,
        resolver: &Resolver,
        closures: &Closures,
    ) -> Vec<(PathBuf, Option<RootId>)> {
        let mut roots: FastMap<(FileId, &[u8]), RootId> = FastMap::default();
        for (root, closure) in closures.roots.entries() {
            let path = resolver.strings.text(closure.root.path);
            roots.insert((closure.root.file, path), root);
        }
        let root = |path: &Path| {
            let file = corpus.file_at(path)?;
            roots.get(&(file, &*typed(path))).copied()
        };
        self.names.iter().map(|(path, _)| (path.clone(), root(path))).collect()
    }
}

/// True for a program or library with several hard links that searches for libraries relative to
/// its own directory.
fn depends_on_origin(corpus: &Corpus, file: FileId) -> bool {
    let facts = &corpus.files[file];
    facts.object().is_some_and(|object| !other_starts(file, facts, object).is_empty())
}

/// The hard links of a file that searches for libraries relative to its own directory, without its
/// first name. `object` is the object in the file, or the object after a change of the file.
pub(crate) fn other_starts(file: FileId, facts: &FileFacts, object: &Object) -> Vec<Start> {
    let path = object.search_path().unwrap_or_default();
    if !object.is_dynamic() || memchr::memmem::find(path, b"ORIGIN").is_none() {
        return Vec::new();
    }
    facts.hard_links().map(|link| Start { file, path: typed(link) }).collect()
}

/// The path of a file as the loader gets it. A path without a slash gets `./` in front:
/// otherwise, the loader would search for the file by name.
fn typed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.contains(&b'/') { bytes.to_vec() } else { [b"./", bytes].concat() }
}
