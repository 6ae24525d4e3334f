//! The names under which files are started, in the order in which they were given: what becomes a
//! root, and what `ldd` would be asked. `audit` makes them of the walk.

use crate::facts::Corpus;
use crate::facts::read::Read;
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::plan::Plan;
use crate::resolve::candidate::Start;
use crate::resolve::resolver::Resolver;
use crate::resolve::roots::Closures;
use crate::tree::Kind;
use crate::tree::walk::{Entry, Given};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The names under which files are started, in the order in which they were given.
pub(crate) struct Names {
    /// Every name, and whether it was found in a given directory.
    names: Vec<(PathBuf, bool)>,
}

impl Names {
    pub(crate) fn new(given: &[Given], entries: &[Entry<Read>]) -> Self {
        let mut names = Vec::with_capacity(given.len());
        for Given { path, kind, .. } in given {
            if *kind == Ok(Kind::Directory) {
                // Entries are sorted by bytes; those below a directory need not stand together.
                let is_below = |entry: &Entry<Read>| entry.listed && entry.path.starts_with(path);
                let below = |entry: &&Entry<Read>| !entry.is_link && is_below(entry);
                let below = entries.iter().filter(below);
                names.extend(below.map(|entry| (entry.path.clone(), true)));
            } else {
                names.push((path.clone(), false));
            }
        }
        Self { names }
    }

    /// What is started by which name. One name a file is enough unless every name is asked for.
    pub(crate) fn starts(&self, plan: &Plan, corpus: &Corpus) -> (Vec<Start>, Vec<Start>) {
        let (mut given, mut walked) = (Vec::new(), Vec::new());
        let mut seen = FastSet::default();
        for (path, below) in &self.names {
            let Some(file) = corpus.file_at(path) else { continue };
            let start = Start { file, path: typed(path) };
            let new = seen.insert(file);
            if !below {
                given.push(start);
            } else if plan.every_file_is_root || new {
                walked.push(start);
            }
        }
        // Links to files outside are audited under the link's path.
        for (file, facts) in corpus.files.entries() {
            if facts.audited && !seen.contains(&file) && !plan.every_file_is_root {
                walked.push(Start { file, path: typed(&facts.typed) });
            }
        }
        (given, walked)
    }

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

/// A name as the loader gets it: one without a slash is started from the current directory.
fn typed(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_bytes();
    if bytes.contains(&b'/') { bytes.to_vec() } else { [b"./", bytes].concat() }
}
