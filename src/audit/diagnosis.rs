//! The stage between binding and the rules. The stage decides what becomes of each undefined
//! symbol. A missing library explains the symbol, a host program or system library is assumed to
//! define it, or a finding reports it. `crate::diagnosis` makes the decision; this module reads
//! the facts that the decision needs.

use super::archives;
use super::binding::BoundClosures;
use super::candidates::{Candidates, WalkListings};
use super::definers::{self, DefinerSearch};
use super::programs::SystemPrograms;
use super::rounds::Rounds;
use super::shared_facts::SharedFacts;
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

/// The input of the diagnosis stage.
#[derive(Clone, Copy)]
pub(super) struct Diagnosing<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tree: &'a dyn Tree,
    pub(super) prefixes: &'a Prefixes,
    pub(super) bound: BoundClosures<'a>,
    pub(super) walked: WalkListings<'a>,
}

/// The results of the diagnosis stage.
pub(super) struct Diagnosed {
    pub(super) diagnosis: Diagnosis,
    pub(super) providers: Providers,
    pub(super) candidates: Candidates,
    pub(super) libraries: LibraryCandidates,
    pub(super) inferred: Inferred,
    /// The members of all archives; `None` unless the run is about archives.
    pub(super) library: Option<ArchiveSet>,
}

impl Diagnosing<'_> {
    pub(super) fn run(self, facts: &SharedFacts<'_, '_>) -> Diagnosed {
        let Self { plan, bound, .. } = self;
        let (open, unbound, may_be_explained) = facts.read(|corpus| {
            let seen = self.source(corpus);
            let open = Undefined::find(seen);
            let (unbound, may_be_explained) = (open.names(seen), open.may_be_explained(seen));
            (open, unbound, may_be_explained)
        });
        let read_all = |corpus: &mut Corpus, collector: &mut Collector<'_>| {
            archives::read_all(plan, corpus, collector, &unbound, bound)
        };
        let library = plan.members.then(|| facts.write(read_all));
        let definitions = match &library {
            Some(library) => archives::definitions(library, &unbound),
            None => facts.archive_definitions(&unbound),
        };
        let providers = facts.read(|corpus| Providers::find(corpus, &unbound, definitions));
        let claims = Claims { providers: &providers, policy: &plan.policy };
        let (candidates, libraries) = self.candidates(facts, may_be_explained);
        let inferred = self.inferred(facts, &open, claims, &libraries);
        let diagnosis = facts.read(|corpus| {
            let host_libraries = HostLibraries::find(self.source(corpus));
            let explanations = Explanations {
                claims,
                libraries: &libraries,
                inferred: &inferred,
                host_libraries: &host_libraries,
            };
            diagnosis::diagnosis(self.source(corpus), &open, explanations)
        });
        Diagnosed { diagnosis, providers, candidates, libraries, inferred, library }
    }

    fn source<'a>(&'a self, corpus: &'a Corpus) -> diagnosis::DiagnosisInput<'a> {
        source(self.plan, self.prefixes, View::new(corpus), self.bound)
    }

    /// Finds and reads files in prefixes that have the name of a missing library. If `may_explain`
    /// is set, these files are also resolved, because undefined symbols are looked up in them and
    /// in their libraries.
    fn candidates(
        &self,
        facts: &SharedFacts<'_, '_>,
        may_explain: bool,
    ) -> (Candidates, LibraryCandidates) {
        let Self { plan, tree, prefixes, bound, walked } = *self;
        let missing = diagnosis::missing(bound.closures, &bound.resolver.strings);
        let mut candidates = Candidates::default();
        if plan.rule_wants.holds(Wants::NAMES_IN_PREFIX) {
            facts.read(|corpus| candidates.search(tree, corpus, prefixes, &missing, walked));
        }
        if !may_explain {
            definers::read(facts, &candidates);
            return (candidates, LibraryCandidates::default());
        }
        let mut search = DefinerSearch { plan, tree, prefixes, walked, missing };
        let libraries = search.libraries(facts, &mut candidates);
        (candidates, libraries)
    }

    /// Infers host programs of plugins from the symbols and libraries that the plugins lack.
    /// Empty if the plan does not request inference, or if every file is an entry point.
    fn inferred(
        &self,
        facts: &SharedFacts<'_, '_>,
        open: &Undefined,
        claims: Claims<'_>,
        libraries: &LibraryCandidates,
    ) -> Inferred {
        let Self { plan, tree, prefixes, .. } = *self;
        if !plan.infer_hosts || plan.every_file_is_root {
            return Inferred::default();
        }
        let rounds = Rounds::of("inferred hosts");
        let mut found = facts.until(&rounds, |corpus| {
            let source = self.source(corpus);
            Inferred::find(source, source, open, claims, libraries)
        });
        let lacks_any =
            |corpus: &Corpus| found.lacks_any(self.source(corpus), open, claims, libraries);
        if !plan.stages.is_empty() && facts.read(lacks_any) {
            let programs = facts
                .write(|corpus, collector| SystemPrograms::read(plan, tree, corpus, collector));
            found.add(facts.until(&rounds, |corpus| {
                let hosts = programs.source(plan, prefixes, View::new(corpus));
                Inferred::find(self.source(corpus), hosts, open, claims, libraries)
            }));
        }
        found
    }
}
