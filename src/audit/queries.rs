//! The loop of the binding queries. A round returns the tables and relocations that it lacks, the
//! collector reads them, and the round runs again. Nothing runs if the plan has no query.

use super::Audit;
use super::binding::Bound;
use crate::bind::OwnBindings;
use crate::bind::query::contested::Contested;
use crate::bind::query::{self, Answers, BoundLibrary, DuplicateName, RequestedQueries};
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Need, View};
use crate::id::{FastSet, RootId};
use crate::plan::Plan;

impl Audit {
    /// The names that two libraries in the scope of `root` define differently, and the definition
    /// that each reference of a library gets. Empty unless the plan asks for them.
    pub fn duplicate_definitions(&self, root: RootId) -> &[DuplicateName] {
        self.queries.duplicates(root)
    }

    /// The libraries that each object under `root` binds to; empty unless the plan asks for them.
    pub fn bound_libraries(&self, root: RootId) -> &[BoundLibrary] {
        self.queries.bound(root)
    }
}

/// Answers the queries that the plan asks for.
pub(super) fn answer(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    bound: Bound<'_>,
    own: &OwnBindings,
) -> Answers {
    let mut out = Answers::default();
    let RequestedQueries { duplicates, bound: libraries } = RequestedQueries::by(plan.rule_wants);
    let mut rounds = Rounds { plan, collector, bound, own };
    if duplicates {
        let mut names = rounds.until(corpus, Contested::find);
        rounds.until(corpus, |source| names.take(source.view));
        rounds.until(corpus, |source| out.find_duplicates(source, &names));
    }
    if libraries {
        rounds.until(corpus, |source| out.find_bound(source));
    }
    out
}

struct Rounds<'r, 'c> {
    plan: &'r Plan,
    collector: &'r mut Collector<'c>,
    bound: Bound<'r>,
    own: &'r OwnBindings,
}

impl Rounds<'_, '_> {
    /// Repeats a step and reads what it lacks, until it has everything.
    fn until<T>(
        &mut self,
        corpus: &mut Corpus,
        mut step: impl FnMut(query::Source<'_>) -> Result<T, Vec<Need>>,
    ) -> T {
        let Bound { resolver, closures, bindings } = self.bound;
        let mut answered: FastSet<Need> = FastSet::default();
        loop {
            let source = query::Source {
                view: View::new(corpus),
                closures,
                bindings,
                own: self.own,
                strings: &resolver.strings,
                loaders: &resolver.loaders,
                started: !self.plan.as_ldd,
            };
            match step(source) {
                Ok(answer) => return answer,
                Err(needs) => {
                    // Without this check, a fact that stays missing after a read would loop
                    // forever.
                    let known = answered.len();
                    answered.extend(needs.iter().cloned());
                    assert!(
                        answered.len() > known,
                        "binding queries: {needs:?} still missing after a read"
                    );
                    self.collector.answer(corpus, needs);
                }
            }
        }
    }
}
