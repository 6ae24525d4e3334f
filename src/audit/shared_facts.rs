//! Shares the corpus between two stages that run at the same time. Each stage reads the corpus
//! under a lock, and facts are added only while neither stage reads. Between two reads of one
//! stage, the other stage may add facts. At most one of the two stages may add files, because ids
//! of files must not depend on timing.

use super::rounds::Rounds;
use crate::facts::collect::{ByFile, Collector};
use crate::facts::{Corpus, Need};
use crate::format::archive::{DefiningMember, RequestedNames};
use std::sync::{PoisonError, RwLock};

/// The corpus and its collector, behind a lock that two stages share.
pub(super) struct SharedFacts<'f, 't>(RwLock<CorpusAndCollector<'f, 't>>);

struct CorpusAndCollector<'f, 't> {
    corpus: &'f mut Corpus,
    collector: &'f mut Collector<'t>,
}

impl<'f, 't> SharedFacts<'f, 't> {
    pub(super) fn new(corpus: &'f mut Corpus, collector: &'f mut Collector<'t>) -> Self {
        Self(RwLock::new(CorpusAndCollector { corpus, collector }))
    }

    /// Runs `look` on the corpus. `look` must not call a method of this type, because the lock is
    /// not reentrant.
    pub(super) fn read<T>(&self, look: impl FnOnce(&Corpus) -> T) -> T {
        // The lock is poisoned only after a panic of the other stage. The run then ends with an
        // internal error anyway.
        let facts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        look(facts.corpus)
    }

    /// Runs `add`, which may add facts, while the other stage waits.
    pub(super) fn write<T>(&self, add: impl FnOnce(&mut Corpus, &mut Collector<'t>) -> T) -> T {
        let mut facts = self.0.write().unwrap_or_else(PoisonError::into_inner);
        let CorpusAndCollector { corpus, collector } = &mut *facts;
        add(corpus, collector)
    }

    /// The definitions of `names` in members of archives, by the file of the archive. Defects of
    /// archives are added to the corpus.
    pub(super) fn archive_definitions(&self, names: &RequestedNames) -> ByFile<DefiningMember> {
        let facts = self.0.read().unwrap_or_else(PoisonError::into_inner);
        let (found, mut defects) = facts.collector.archive_definitions(facts.corpus, names);
        drop(facts);
        defects.retain(|(_, defects)| !defects.is_empty());
        if !defects.is_empty() {
            self.write(|corpus, _| corpus.add_defects(defects));
        }
        found
    }

    /// Repeats `ask` until all facts that it needs have been read. `ask` must not request members
    /// of archives. The other stage may continue while files are read.
    pub(super) fn until<T>(
        &self,
        rounds: &Rounds,
        mut ask: impl FnMut(&Corpus) -> Result<T, Vec<Need>>,
    ) -> T {
        loop {
            let facts = self.0.read().unwrap_or_else(PoisonError::into_inner);
            let needs = match ask(facts.corpus) {
                Ok(found) => return found,
                Err(needs) => needs,
            };
            let round = rounds.begin(facts.corpus, &needs);
            let answers = facts.collector.look_up(facts.corpus, needs);
            drop(facts);
            self.write(|corpus, collector| {
                collector.add(corpus, answers);
                round.end(corpus);
            });
        }
    }
}
