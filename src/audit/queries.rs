//! The loop of the binding queries: a round says which tables and relocations it lacks, the collector
//! reads them, the round runs again. It runs only if the plan asks for a query.

use super::Audit;
use super::binding::{Bound, lone_closures};
use crate::bind::query::{self, Answers, Asked, BoundLibrary, DuplicateName};
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Need, View};
use crate::id::{FastMap, FastSet, RootId};
use crate::plan::Plan;
use crate::wants::Wants;

impl Audit {
    /// The names that at least two objects of the scope of `root` define, with who gets which
    /// definition; empty unless the plan asks for them.
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
) -> Answers {
    let Bound { resolver, closures, bindings } = bound;
    let asked = Asked {
        duplicates: plan.rule_wants.holds(Wants::DUPLICATE_DEFINITIONS),
        bound: plan.rule_wants.holds(Wants::BOUND_LIBRARIES),
    };
    if asked == Asked::default() {
        return Answers::default();
    }
    let lone = if plan.reuse { lone_closures(closures) } else { FastMap::default() };
    let mut answered: FastSet<Need> = FastSet::default();
    loop {
        let source = query::Source {
            view: View::new(corpus),
            closures,
            bindings,
            lone: &lone,
            strings: &resolver.strings,
            loaders: &resolver.loaders,
            started: !plan.as_ldd,
            asked,
        };
        match query::answer(source) {
            Ok(answers) => return answers,
            Err(needs) => {
                // A fact that is missing though it was read would be asked for without an end.
                let known = answered.len();
                answered.extend(needs.iter().cloned());
                assert!(answered.len() > known, "the binding queries lack {needs:?} again");
                collector.answer(corpus, needs);
            }
        }
    }
}
