//! Undefined references: what `check` reports about each, the files in which the loader searched,
//! and the definitions that nearly fit.

use super::symbol::{
    NearDefinition, ReferenceBinding, ReferenceStates, Searched, SymbolAnswer, SymbolRequester,
};
use crate::audit::Audit;
use crate::diagnosis::{ReferenceState, ReferenceUnderRoot};
use crate::id::RootId;
use crate::order;
use crate::plan::Plan;
use crate::report::Report;
use crate::report::model::ReportFinding;
use crate::rules::NearMisses;
use std::collections::BTreeSet;

/// The states of all undefined references, as the diagnosis determined them.
pub(super) fn reference_states(audit: &Audit, plan: &Plan) -> ReferenceStates {
    let key = |one: &ReferenceUnderRoot| (one.root, (one.file, one.symbol));
    audit.reference_states(plan).iter().map(|one| (key(one), one.state)).collect()
}

/// Adds to the answer the scopes in which the loader searched for undefined references, and the
/// definitions that nearly fit.
pub(super) fn look_into(symbol: &mut SymbolAnswer, audit: &Audit) {
    let first = |r: &SymbolRequester| reported(r).or_else(|| first_open(r)).map(|bound| bound.root);
    let roots: BTreeSet<RootId> =
        order::set(symbol.requesters.iter().filter(|r| !r.weak).filter_map(first));
    let files = |root: RootId| {
        let closure = &audit.closures.roots[root];
        closure.in_scope().map(|(_, file)| file).collect()
    };
    symbol.searched = roots.into_iter().map(|root| Searched { root, files: files(root) }).collect();
    let places = symbol.requesters.iter().filter_map(|r| Some((&*r.symbol, reported(r)?.root)));
    let misses = NearMisses::find(audit, &places.collect::<Vec<_>>());
    for requester in &mut symbol.requesters {
        let Some(root) = reported(requester).map(|bound| bound.root) else { continue };
        let near = misses.of(requester.file, &requester.symbol, root).into_iter();
        let near = near.map(|miss| NearDefinition {
            file: miss.file,
            symbol: miss.symbol.to_vec(),
            version: miss.version.map(<[u8]>::to_vec),
            reason: miss.reason,
        });
        requester.near = near.collect();
    }
}

/// The first binding for which the diagnosis calls the reference undefined; `None` if there is
/// none.
fn reported(requester: &SymbolRequester) -> Option<&ReferenceBinding> {
    requester.bound.iter().find(|bound| bound.state == Some(ReferenceState::Undefined))
}

fn first_open(requester: &SymbolRequester) -> Option<&ReferenceBinding> {
    requester.bound.iter().find(|bound| bound.is_open())
}

/// The result of `check` for an undefined reference.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CheckResult {
    /// `check` reports a finding.
    Reported,
    /// `check` has a finding, and a waiver covers it.
    Waived,
    /// `check` has no finding, because the level of the rule is `allow`.
    Allowed,
}

impl CheckResult {
    /// The result for `requester` in the findings of `report`.
    pub(super) fn of(requester: &SymbolRequester, audit: &Audit, report: &Report) -> Self {
        if report.findings.iter().any(|finding| is_about(finding, requester, audit)) {
            Self::Reported
        } else if report.waived.iter().any(|one| is_about(&one.finding, requester, audit)) {
            Self::Waived
        } else {
            Self::Allowed
        }
    }

    /// The name of the result in the JSON output.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Reported => "finding",
            Self::Waived => "waived",
            Self::Allowed => "allowed",
        }
    }
}

/// True if `finding` reports the reference as undefined.
pub(super) fn is_about(
    finding: &ReportFinding,
    requester: &SymbolRequester,
    audit: &Audit,
) -> bool {
    finding.rule == "undefined-symbol"
        && finding.symbol.as_ref() == Some(&requester.symbol)
        && finding.version == requester.version
        && finding.full_path() == *audit.corpus.files[requester.file].path
}
