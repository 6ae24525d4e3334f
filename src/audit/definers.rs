//! Reads the candidates of missing libraries: files that could be the library, with all that they
//! load. `blame` asks what they define.

use super::candidates::{Candidates, Walked};
use super::rounds::Rounds;
use super::{EntryPoints, resolve};
use crate::blame::{self, LibraryCandidates, MissingNeed};
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Edits, Need, Place};
use crate::id::{FastSet, FileId};
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::resolve::candidate::Start;
use crate::resolve::hosts::Hosts;
use crate::resolve::resolver::Resolver;
use crate::tree::Tree;
use std::os::unix::ffi::OsStrExt as _;

/// The search for candidates of missing libraries, and of what those lack in turn.
pub(super) struct Search<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tree: &'a dyn Tree,
    pub(super) prefixes: &'a Prefixes,
    pub(super) walked: Walked<'a>,
    pub(super) missing: Vec<MissingNeed>,
}

impl Search<'_> {
    /// Finds and reads them. Each candidate is resolved as an entry point of its own: what it loads may
    /// define what the missing library would have brought.
    pub(super) fn libraries(
        &mut self,
        corpus: &mut Corpus,
        collector: &mut Collector<'_>,
        candidates: &mut Candidates,
    ) -> LibraryCandidates {
        let mut listed = FastSet::default();
        let mut resolved: FastSet<FileId> = FastSet::default();
        loop {
            candidates.search(self.tree, corpus, self.prefixes, &self.missing, self.walked);
            listed.extend(read(corpus, collector, candidates));
            let found = loop {
                match LibraryCandidates::find(corpus, &self.missing, &listed) {
                    Ok(found) => break found,
                    Err(needs) => Rounds::of("candidates").answer(corpus, collector, needs),
                }
            };
            // Audited files are resolved already.
            let new = found.files().filter(|file| !corpus.files[*file].audited);
            let mut new: Vec<FileId> = new.filter(|file| resolved.insert(*file)).collect();
            new.sort_unstable();
            if new.is_empty() {
                return found;
            }
            self.resolve(corpus, collector, &new);
            self.missing.sort_unstable();
            self.missing.dedup();
        }
    }

    /// Resolves files as entry points, and adds what they lack.
    fn resolve(&mut self, corpus: &mut Corpus, collector: &mut Collector<'_>, files: &[FileId]) {
        let start = |file: &FileId| Start {
            file: *file,
            path: corpus.files[*file].path.as_os_str().as_bytes().to_vec(),
        };
        let given = files.iter().map(start).collect();
        let entries = EntryPoints { given, walked: Vec::new(), hosts: Hosts::default() };
        let mut resolver = Resolver::default();
        let none = Edits::default();
        let closures = resolve(self.plan, corpus, &none, collector, &mut resolver, entries);
        self.missing.extend(blame::missing(&closures, &resolver.strings));
    }
}

/// Reads the files that the listing found.
fn read(
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    candidates: &Candidates,
) -> Vec<FileId> {
    let bytes = |path: &std::path::Path| path.as_os_str().as_bytes().to_vec();
    let paths: Vec<Vec<u8>> = candidates.paths().into_iter().map(bytes).collect();
    let unknown = paths.iter().filter(|path| corpus.place(path).is_none()).cloned();
    let needs: Vec<Need> = unknown.map(|path| Need::path(path, None)).collect();
    collector.answer(corpus, needs);
    let file = |path: &Vec<u8>| match corpus.place(path)? {
        Place::File(file) => Some(file),
        Place::Directory | Place::Special(_) | Place::OfProcess | Place::Failed(_) => None,
    };
    paths.iter().filter_map(file).collect()
}
