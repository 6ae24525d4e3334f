//! The loop of a stage over missing facts: the stage returns requests ([`Need`]), the collector
//! reads the facts, and the stage runs again. If a round answers no request, further rounds
//! would not answer one either. This is an internal error, and ends the run.

use crate::facts::collect::Collector;
use crate::facts::{Corpus, Need};

/// Maximum number of unanswered needs that a round remembers, to check that they were answered. The
/// collector answers all needs of a round or none, so it suffices to remember some of them.
const WATCHED: usize = 16;

/// Runs one stage of the audit in rounds until no fact is missing.
pub(super) struct Rounds {
    stage: &'static str,
}

impl Rounds {
    /// The rounds of the stage with this name, which appears in the message of an internal error.
    pub(super) fn of(stage: &'static str) -> Self {
        Self { stage }
    }

    /// Repeats `ask` until all facts that it needs have been read.
    pub(super) fn until<T>(
        &self,
        corpus: &mut Corpus,
        collector: &mut Collector<'_>,
        ask: impl Fn(&Corpus) -> Result<T, Vec<Need>>,
    ) -> T {
        loop {
            match ask(corpus) {
                Ok(found) => return found,
                Err(needs) => self.answer(corpus, collector, needs),
            }
        }
    }

    /// Reads the facts that the stage lacks.
    ///
    /// # Panics
    ///
    /// Panics if the round answers no need: the list is empty, or each need was answered before or
    /// cannot be answered. `main` then exits with status 70.
    pub(super) fn answer(
        &self,
        corpus: &mut Corpus,
        collector: &mut Collector<'_>,
        needs: Vec<Need>,
    ) {
        let round = self.begin(corpus, &needs);
        collector.answer(corpus, needs);
        round.end(corpus);
    }

    /// Remembers some of the unanswered `needs`, for [`Round::end`]. The caller then answers all
    /// `needs`.
    pub(super) fn begin(&self, corpus: &Corpus, needs: &[Need]) -> Round {
        let open = needs.iter().filter(|need| !corpus.answers(need));
        let open = open.take(WATCHED).cloned().collect();
        Round { stage: self.stage, count: needs.len(), open }
    }
}

/// One round, with some of the needs that were unanswered when the round began.
pub(super) struct Round {
    stage: &'static str,
    count: usize,
    open: Vec<Need>,
}

impl Round {
    /// Checks that one of the remembered needs is now answered.
    ///
    /// # Panics
    ///
    /// Panics if none of the remembered needs is answered, or if no need was remembered.
    pub(super) fn end(self, corpus: &Corpus) {
        let Self { stage, count, open } = self;
        assert!(
            open.iter().any(|need| corpus.answers(need)),
            "{stage}: a round of {count} needs answered none, such as {:?}",
            open.first()
        );
    }
}

#[cfg(test)]
mod tests {
    use super::Rounds;
    use crate::facts::collect::Collector;
    use crate::facts::{Corpus, Need};
    use crate::format::Reading;
    use crate::tree::MemTree;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Runs a stage that asks for these needs, round after round.
    fn run(rounds: &[Vec<Need>]) -> Result<(), String> {
        let tree = MemTree::default();
        let (mut corpus, mut collector) =
            (Corpus::default(), Collector::new(&tree, Reading::default()));
        let all = || {
            for needs in rounds {
                Rounds::of("test").answer(&mut corpus, &mut collector, needs.clone());
            }
        };
        catch_unwind(AssertUnwindSafe(all))
            .map_err(|panic| panic.downcast_ref::<String>().cloned().unwrap_or_default())
    }

    #[test]
    fn a_round_that_answers_nothing_ends_the_run() {
        let (dir, path) = (Need::Directory(b"/lib/".to_vec()), Need::path(b"/x".to_vec(), None));
        assert_eq!(run(&[vec![dir.clone()], vec![dir.clone(), path.clone()]]), Ok(()));
        let again = run(&[vec![dir.clone()], vec![dir]]).expect_err("nothing new");
        assert!(again.starts_with("test: a round of 1 needs answered none"), "{again}");
        assert!(run(&[vec![path.clone()], vec![path]]).is_err());
        assert!(run(&[Vec::new()]).is_err(), "not done, and nothing to ask for");
    }
}
