//! Waivers of policies: which of them matches a finding, and which have nothing to match. Whoever
//! waives, a finding is never lost: it goes to `Verdict::waived` with the waiver's reason.

use super::scope::Scope;
use crate::catalogue::WAIVERS;
use crate::finding::{Finding, Findings};
use crate::id::{FastMap, FastSet};
use crate::plan::Plan;
use crate::policy::{Pattern, Waiver};
use crate::rules::{self, WaiverState};
use rayon::prelude::*;
use std::os::unix::ffi::OsStrExt as _;

/// Waivers of one run, with what they have matched so far.
pub(super) struct Waiving<'a> {
    plan: &'a Plan,
    /// By rule: places in `Policy::waivers`.
    of_rule: FastMap<&'a str, Vec<usize>>,
    hits: FastSet<usize>,
}

impl<'a> Waiving<'a> {
    pub(super) fn new(plan: &'a Plan) -> Self {
        let mut of_rule: FastMap<&str, Vec<usize>> = FastMap::default();
        for (at, waiver) in plan.policy.waivers.iter().enumerate() {
            of_rule.entry(&waiver.rule).or_default().push(at);
        }
        Self { plan, of_rule, hits: FastSet::default() }
    }

    /// For each finding the waiver that waives it. Of several it is the one that stands first by
    /// name and line of its policy, whatever the order of merging, and all of them count as used.
    pub(super) fn take(&mut self, findings: &[Box<Finding>]) -> Vec<Option<&'a Waiver>> {
        if self.of_rule.is_empty() {
            return vec![None; findings.len()];
        }
        let waivers = &self.plan.policy.waivers;
        let matching = |finding: &Finding| -> Vec<usize> {
            let of_rule = self.of_rule.get(finding.rule.as_str()).into_iter().flatten();
            of_rule.copied().filter(|at| matches(&waivers[*at], finding)).collect()
        };
        let found: Vec<Vec<usize>> = findings.par_iter().map(|finding| matching(finding)).collect();
        self.hits.extend(found.iter().flatten());
        let first = |found: Vec<usize>| {
            let waives = found.into_iter().map(|at| &waivers[at]);
            waives.filter(|waiver| !self.is_expired(waiver)).min_by_key(|waiver| &waiver.origin)
        };
        found.into_iter().map(first).collect()
    }

    fn is_expired(&self, waiver: &Waiver) -> bool {
        waiver.expires.is_some_and(|last| last < self.plan.today)
    }

    /// What is to be said of a waiver itself.
    fn state(&self, at: usize, waiver: &Waiver, scope: &Scope<'_>) -> WaiverState {
        let hit = self.hits.contains(&at);
        // Nobody who audits a package can change what is built in.
        let own = !waiver.origin.source.starts_with("built-in ");
        let judged = hit || (own && scope.concerns(waiver));
        match (judged, hit, self.is_expired(waiver)) {
            (true, _, true) => WaiverState::Expired,
            (true, false, false) => WaiverState::Stale,
            (true, true, false) => WaiverState::Used,
            (false, ..) if own => WaiverState::Elsewhere,
            (false, ..) => WaiverState::Used,
        }
    }

    /// Findings about waivers themselves: those that match nothing and those that have expired.
    /// `of_waivers` says whether about waivers that waive such findings, or about all others.
    pub(super) fn findings(&self, scope: &Scope<'_>, of_waivers: bool) -> Findings {
        let waivers = self.plan.policy.waivers.iter().enumerate();
        let asked = waivers.filter(|(_, waiver)| is_of_waivers(waiver) == of_waivers);
        let findings =
            |(at, waiver)| rules::about_waiver(waiver, self.state(at, waiver, scope), self.plan);
        asked.flat_map(findings).collect()
    }

    /// How many waivers are about what this run did not look at.
    pub(super) fn elsewhere(&self, scope: &Scope<'_>) -> usize {
        let waivers = self.plan.policy.waivers.iter().enumerate();
        waivers
            .filter(|(at, waiver)| self.state(*at, waiver, scope) == WaiverState::Elsewhere)
            .count()
    }
}

fn is_of_waivers(waiver: &Waiver) -> bool {
    rules::find(&waiver.rule).is_some_and(|rule| rule.group == WAIVERS)
}

/// True if `waiver`, which is about the finding's rule, matches it: a selector that is set never
/// matches a key that is not there.
fn matches(waiver: &Waiver, finding: &Finding) -> bool {
    let is = |pattern: &Option<Pattern>, value: Option<&[u8]>| match (pattern, value) {
        (None, _) => true,
        (Some(pattern), Some(value)) => pattern.matches(value),
        (Some(_), None) => false,
    };
    is(&waiver.path, Some(finding.file.path.as_os_str().as_bytes()))
        && is(&waiver.symbol, finding.symbol.as_deref())
        && is(&waiver.version, finding.version.as_deref())
        && is(&waiver.library, finding.library.as_deref())
        && is(&waiver.member, finding.member.as_deref())
        && is(&waiver.detail, finding.detail.as_deref())
        // No rule makes findings about a GPU target yet.
        && waiver.target.is_none()
}
