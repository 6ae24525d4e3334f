//! The loops of the binding queries. A query requests the tables and relocations that it lacks, the
//! collector reads them, and the query runs again. Only queries that an enabled rule wants run.

use super::Audit;
use super::binding::BoundClosures;
use super::rounds::Rounds;
use super::shared_facts::SharedFacts;
use crate::bind::OwnBindings;
use crate::bind::query::contested::Contested;
use crate::bind::query::{self, BoundLibrary, DuplicateName, QueryAnswers, RequestedQueries};
use crate::facts::{Corpus, View};
use crate::id::RootId;
use crate::plan::Plan;
use crate::resolve::resolver::Resolver;

impl Audit {
    /// The names that two libraries in the scope of `root` define differently. Each name comes
    /// with its definitions, and with the definition that each reference of a library gets.
    /// Empty unless an enabled rule wants this query.
    pub fn duplicate_definitions(&self, root: RootId) -> &[DuplicateName] {
        self.queries.duplicates(root)
    }

    /// For each object under `root`, the libraries to which its references are bound. Empty unless
    /// an enabled rule wants this query.
    pub fn bound_libraries(&self, root: RootId) -> &[BoundLibrary] {
        self.queries.bound(root)
    }
}

/// Answers the queries that enabled rules want. Only tables and relocations of known files are
/// read: no file is added to the corpus.
pub(super) fn answer(
    plan: &Plan,
    facts: &SharedFacts<'_, '_>,
    bound: BoundClosures<'_>,
    own: &OwnBindings,
) -> QueryAnswers {
    let mut out = QueryAnswers::default();
    let RequestedQueries { duplicates, bound: libraries } = RequestedQueries::by(plan.rule_wants);
    let rounds = Rounds::of("binding queries");
    if duplicates {
        let mut names =
            facts.until(&rounds, |corpus| Contested::find(source(plan, corpus, bound, own)));
        facts.until(&rounds, |corpus| names.take(View::new(corpus)));
        facts
            .until(&rounds, |corpus| out.find_duplicates(source(plan, corpus, bound, own), &names));
    }
    if libraries {
        facts.until(&rounds, |corpus| out.find_bound(source(plan, corpus, bound, own)));
    }
    out
}

fn source<'a>(
    plan: &Plan,
    corpus: &'a Corpus,
    BoundClosures { resolver, closures, bindings }: BoundClosures<'a>,
    own: &'a OwnBindings,
) -> query::QueryInput<'a> {
    let (view, started) = (View::new(corpus), !plan.as_ldd);
    let Resolver { strings, loaders, .. } = resolver;
    query::QueryInput { view, closures, bindings, own, strings, loaders, started }
}
