//! Reads the candidates for missing libraries: files that could be the library, and the libraries
//! that these files load. `diagnosis` looks up symbols in all these files.

use super::beside;
use super::candidates::{Candidates, WalkListings};
use super::rounds::Rounds;
use super::shared_facts::SharedFacts;
use crate::diagnosis::{self, LibraryCandidates, MissingNeed};
use crate::facts::Corpus;
use crate::facts::collect::Collector;
use crate::id::{FastSet, FileId};
use crate::order::Arrange as _;
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::resolve::start::Start;
use crate::tree::Tree;
use std::os::unix::ffi::OsStrExt as _;

/// The input of the search for candidates for missing libraries. `missing` grows, because the
/// search also looks for the libraries that a candidate lacks.
pub(super) struct DefinerSearch<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tree: &'a dyn Tree,
    pub(super) prefixes: &'a Prefixes,
    pub(super) walked: WalkListings<'a>,
    pub(super) missing: Vec<MissingNeed>,
}

/// Reads the files of the candidates, and returns those that are regular files.
pub(super) fn read(facts: &SharedFacts<'_, '_>, candidates: &Candidates) -> Vec<Start> {
    let paths = candidates.paths().into_iter();
    let paths: Vec<Vec<u8>> = paths.map(|path| path.as_os_str().as_bytes().to_vec()).collect();
    if paths.is_empty() {
        return Vec::new();
    }
    facts.write(|corpus, collector| beside::read(corpus, collector, paths))
}

impl DefinerSearch<'_> {
    /// Finds and reads the candidates. A candidate that is not audited is resolved as an entry
    /// point, because the libraries that it loads may define undefined symbols too.
    pub(super) fn libraries(
        &mut self,
        facts: &SharedFacts<'_, '_>,
        candidates: &mut Candidates,
    ) -> LibraryCandidates {
        let mut listed = FastSet::default();
        let mut resolved: FastSet<FileId> = FastSet::default();
        loop {
            facts.read(|corpus| {
                candidates.search(self.tree, corpus, self.prefixes, &self.missing, self.walked);
            });
            listed.extend(read(facts, candidates).into_iter().map(|start| start.file));
            let (found, mut new) = facts.until(&Rounds::of("candidates"), |corpus| {
                let found = LibraryCandidates::find(corpus, &self.missing, &listed)?;
                // Audited files are resolved already, so only the others are new.
                let new = found.files().filter(|file| !corpus.files[*file].audited);
                let new: Vec<FileId> = new.collect();
                Ok((found, new))
            });
            new.retain(|file| resolved.insert(*file));
            new.arrange();
            if new.is_empty() {
                return found;
            }
            facts.write(|corpus, collector| self.resolve(corpus, collector, &new));
            self.missing.arrange();
            self.missing.dedup();
        }
    }

    /// Resolves `files` as entry points, and adds the missing libraries of these files to the
    /// search.
    fn resolve(&mut self, corpus: &mut Corpus, collector: &mut Collector<'_>, files: &[FileId]) {
        let start = |file: &FileId| Start {
            file: *file,
            path: corpus.files[*file].path.as_os_str().as_bytes().to_vec(),
        };
        let given = files.iter().map(start).collect();
        let (resolver, closures) = beside::resolved(self.plan, corpus, collector, given);
        self.missing.extend(diagnosis::missing(&closures, &resolver.strings));
    }
}
