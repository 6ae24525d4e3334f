//! The stage between binding and the rules. An undefined symbol is explained by a missing library,
//! assumed to be defined by a host program, or a finding. `crate::diagnosis` decides; this file
//! reads the facts that it lacks.

use super::archives;
use super::binding::Bound;
use super::candidates::{Candidates, Walked};
use super::definers::Search;
use super::programs::Programs;
use super::rounds::Rounds;
use super::source;
use crate::cover::ArchiveSet;
use crate::diagnosis::{
    self, Claims, Diagnosis, Explanations, HostLibraries, Inferred, LibraryCandidates, Undefined,
};
use crate::facts::collect::Collector;
use crate::facts::providers::Providers;
use crate::facts::{Corpus, View};
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::tree::Tree;
use crate::wants::Wants;

/// The input of the stage.
#[derive(Clone, Copy)]
pub(super) struct Diagnosing<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tree: &'a dyn Tree,
    pub(super) prefixes: &'a Prefixes,
    pub(super) bound: Bound<'a>,
    pub(super) walked: Walked<'a>,
}

/// The result of the stage.
pub(super) struct Diagnosed {
    pub(super) diagnosis: Diagnosis,
    pub(super) providers: Providers,
    pub(super) candidates: Candidates,
    pub(super) libraries: LibraryCandidates,
    pub(super) inferred: Inferred,
    /// The members of all archives, if the run is about archives.
    pub(super) library: Option<ArchiveSet>,
}

impl Diagnosing<'_> {
    pub(super) fn run(self, corpus: &mut Corpus, collector: &mut Collector<'_>) -> Diagnosed {
        let Self { plan, bound, .. } = self;
        let seen = self.source(corpus);
        let open = Undefined::find(seen);
        let (unbound, may_be_explained) = (open.names(seen), open.may_be_explained(seen));
        let library = archives::read_all(plan, corpus, collector, &unbound, bound);
        let definitions = match &library {
            Some(library) => archives::definitions(library, &unbound),
            None => collector.archive_definitions(corpus, &unbound),
        };
        let providers = Providers::find(corpus, &unbound, definitions);
        let claims = Claims { providers: &providers, policy: &plan.policy };
        let (candidates, libraries) = self.candidates(corpus, collector, may_be_explained);
        let inferred = self.inferred(corpus, collector, &open, claims, &libraries);
        let host_libraries = HostLibraries::find(self.source(corpus));
        let explanations = Explanations {
            claims,
            libraries: &libraries,
            inferred: &inferred,
            host_libraries: &host_libraries,
        };
        let diagnosis = diagnosis::diagnosis(self.source(corpus), &open, explanations);
        Diagnosed { diagnosis, providers, candidates, libraries, inferred, library }
    }

    fn source<'a>(&'a self, corpus: &'a Corpus) -> diagnosis::DiagnosisInput<'a> {
        source(self.plan, self.prefixes, View::new(corpus), self.bound)
    }

    /// Finds files in the prefix that have the name of a missing library. If `may_explain` is set,
    /// reads them as candidates that may define undefined symbols.
    fn candidates(
        &self,
        corpus: &mut Corpus,
        collector: &mut Collector<'_>,
        may_explain: bool,
    ) -> (Candidates, LibraryCandidates) {
        let Self { plan, tree, prefixes, bound, walked } = *self;
        let missing = diagnosis::missing(bound.closures, &bound.resolver.strings);
        let mut candidates = Candidates::default();
        if plan.rule_wants.holds(Wants::NAMES_IN_PREFIX) {
            candidates.search(tree, corpus, prefixes, &missing, walked);
        }
        if !may_explain {
            return (candidates, LibraryCandidates::default());
        }
        let mut search = Search { plan, tree, prefixes, walked, missing };
        let libraries = search.libraries(corpus, collector, &mut candidates);
        (candidates, libraries)
    }

    /// Infers host programs of plugins.
    fn inferred(
        &self,
        corpus: &mut Corpus,
        collector: &mut Collector<'_>,
        open: &Undefined,
        claims: Claims<'_>,
        libraries: &LibraryCandidates,
    ) -> Inferred {
        if !self.plan.infer_hosts || self.plan.every_file_is_root {
            return Inferred::default();
        }
        let inferred = Rounds::of("inferred hosts");
        let mut found = inferred.until(corpus, collector, |corpus| {
            let source = self.source(corpus);
            Inferred::find(source, source, open, claims, libraries)
        });
        let is_staged = !self.plan.stages.is_empty();
        if is_staged && found.lacks_any(self.source(corpus), open, claims, libraries) {
            let programs = Programs::read(self.plan, self.tree, corpus, collector);
            found.add(inferred.until(corpus, collector, |corpus| {
                let hosts = programs.source(self.plan, self.prefixes, View::new(corpus));
                Inferred::find(self.source(corpus), hosts, open, claims, libraries)
            }));
        }
        found
    }
}
