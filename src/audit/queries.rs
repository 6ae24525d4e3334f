//! The loop of the binding queries. A round names the tables and relocations it lacks, the
//! collector reads them, and the round runs again. Without a query in the plan it does not run.

use super::Audit;
use super::binding::Bound;
use crate::bind::OwnBindings;
use crate::bind::query::{self, Answers, Asked, BoundLibrary, DuplicateName};
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Need, View};
use crate::id::{FastSet, RootId};
use crate::plan::Plan;

impl Audit {
    /// The names that at least two objects in the scope of `root` define, and the definition that
    /// each reference gets. Empty unless the plan asks for them.
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
    let Bound { resolver, closures, bindings } = bound;
    let asked = Asked::by(plan.rule_wants);
    if asked == Asked::default() {
        return Answers::default();
    }
    let mut answered: FastSet<Need> = FastSet::default();
    loop {
        let source = query::Source {
            view: View::new(corpus),
            closures,
            bindings,
            own,
            strings: &resolver.strings,
            loaders: &resolver.loaders,
            started: !plan.as_ldd,
            asked,
        };
        match query::answer(source) {
            Ok(answers) => return answers,
            Err(needs) => {
                // Without this check, a fact that stays missing after a read would loop forever.
                let known = answered.len();
                answered.extend(needs.iter().cloned());
                assert!(
                    answered.len() > known,
                    "binding queries: {needs:?} still missing after a read"
                );
                collector.answer(corpus, needs);
            }
        }
    }
}
