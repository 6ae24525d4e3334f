//! Waivers of policies. This module finds the waiver of each finding, and the waivers that match no
//! finding.

use super::fingerprint::Sonames;
use super::scope::ScopeNames;
use super::values::Values;
use crate::catalogue::WAIVERS;
use crate::finding::{Finding, Findings};
use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::policy::{Day, Pattern, Policy, Waiver};
use crate::rules::{self, WaiverState};
use rayon::prelude::*;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicBool, AtomicUsize};

/// The waivers of one run, and their matches.
pub(super) struct Waiving<'a> {
    plan: &'a Plan,
    /// The other hard links of files. Waivers may name any of these links.
    sonames: &'a Sonames,
    /// For each rule, the waivers of its findings, as indices in `Policy::waivers`.
    of_rule: FastMap<&'a str, Vec<usize>>,
    /// Indices of the waivers, sorted by policy name and line. If several waivers match a finding,
    /// the first one applies.
    by_origin: Vec<usize>,
    /// The position of each waiver in `by_origin`.
    ranks: Vec<usize>,
    /// For each waiver, true if it has matched a finding.
    hits: Vec<AtomicBool>,
}

impl<'a> Waiving<'a> {
    pub(super) fn new(plan: &'a Plan, sonames: &'a Sonames) -> Self {
        let waivers = &plan.policy.waivers;
        let mut of_rule: FastMap<&str, Vec<usize>> = FastMap::default();
        for (at, waiver) in waivers.iter().enumerate() {
            of_rule.entry(&waiver.rule).or_default().push(at);
        }
        let mut by_origin: Vec<usize> = (0..waivers.len()).collect();
        by_origin.arrange_by_key(|at| &waivers[*at].origin);
        let mut ranks = vec![0; waivers.len()];
        for (rank, at) in by_origin.iter().enumerate() {
            ranks[*at] = rank;
        }
        let hits = waivers.iter().map(|_| AtomicBool::new(false)).collect();
        Self { plan, sonames, of_rule, by_origin, ranks, hits }
    }

    /// The waiver of each finding; `None` if no waiver matches. If several match, the first by
    /// policy name and line applies. The order in which policies were merged does not matter. All
    /// matching waivers are marked as used. Expired waivers do not apply.
    pub(super) fn take(&self, findings: &[Box<Finding>]) -> Vec<Option<&'a Waiver>> {
        if self.of_rule.is_empty() {
            return vec![None; findings.len()];
        }
        let mut of_rule: FastMap<&str, Vec<usize>> = FastMap::default();
        for (at, finding) in findings.iter().enumerate() {
            let rule = finding.rule.as_str();
            if self.of_rule.contains_key(rule) {
                of_rule.entry(rule).or_default().push(at);
            }
        }
        let first: Vec<AtomicUsize> =
            findings.iter().map(|_| AtomicUsize::new(usize::MAX)).collect();
        for (rule, asking) in &of_rule {
            self.take_of_rule(&self.of_rule[rule], findings, asking, &first);
        }
        let waiver = |rank: AtomicUsize| {
            let at = *self.by_origin.get(rank.into_inner())?;
            Some(&self.plan.policy.waivers[at])
        };
        first.into_iter().map(waiver).collect()
    }

    /// Stores for each finding the lowest rank of the waivers in `of_rule` that match it.
    fn take_of_rule(
        &self,
        of_rule: &[usize],
        findings: &[Box<Finding>],
        asking: &[usize],
        first: &[AtomicUsize],
    ) {
        let waivers = &self.plan.policy.waivers;
        let links = asking.iter().flat_map(|at| {
            let links = self.sonames.links_of(&findings[*at]);
            links.map(|link| (link.as_os_str().as_bytes(), *at))
        });
        let links: Vec<(&[u8], usize)> = links.collect();
        let values: Vec<Option<Values<'_>>> = KEYS
            .iter()
            .enumerate()
            .map(|(key, (selector, value))| {
                of_rule.iter().any(|at| selector(&waivers[*at]).is_some()).then(|| {
                    let of = |at: &usize| Some((value(&findings[*at])?, *at));
                    // The first key is the path.
                    let links = links.iter().copied().filter(|_| key == 0);
                    Values::new(asking.iter().filter_map(of).chain(links))
                })
            })
            .collect();
        of_rule.par_iter().for_each(|at| {
            let waiver = &waivers[*at];
            let rank = if self.is_expired(waiver) { usize::MAX } else { self.ranks[*at] };
            let candidates = KEYS.iter().zip(&values).filter_map(|((selector, _), values)| {
                Some(values.as_ref()?.candidates(selector(waiver).as_ref()?))
            });
            let fewest = candidates.min_by_key(|candidates| candidates.len());
            for (_, finding) in fewest.unwrap_or_default() {
                if matches(waiver, &findings[*finding], self.sonames) {
                    self.hits[*at].store(true, Relaxed);
                    first[*finding].fetch_min(rank, Relaxed);
                }
            }
        });
    }

    fn is_expired(&self, waiver: &Waiver) -> bool {
        waiver.expires.is_some_and(|last| last < self.plan.today)
    }

    /// The state of a waiver after [`Self::take`] has matched all findings of its rule.
    fn state(&self, at: usize, waiver: &Waiver, names: &ScopeNames<'_>) -> WaiverState {
        let hit = self.hits[at].load(Relaxed);
        // Waivers of built-in policies are never stale, because users cannot change them.
        let own = !waiver.origin.source.starts_with("built-in ");
        let judged = hit || (own && names.concern(waiver));
        match (judged, hit, self.is_expired(waiver)) {
            (true, _, true) => WaiverState::Expired,
            (true, false, false) => WaiverState::Stale,
            (true, true, false) => WaiverState::Used,
            (false, ..) if own => WaiverState::Elsewhere,
            (false, ..) => WaiverState::Used,
        }
    }

    /// Findings about stale and expired waivers. If `of_waivers` is true, only waivers of findings
    /// about waivers are checked. If `of_waivers` is false, only all other waivers are checked.
    pub(super) fn findings(&self, names: &ScopeNames<'_>, of_waivers: bool) -> Findings {
        let waivers = self.plan.policy.waivers.iter().enumerate();
        let asked = waivers.filter(|(_, waiver)| is_of_waivers(waiver) == of_waivers);
        let findings =
            |(at, waiver)| rules::about_waiver(waiver, self.state(at, waiver, names), self.plan);
        asked.flat_map(findings).collect()
    }

    /// Number of unused waivers about files outside of this run. Waivers of built-in policies are
    /// not counted.
    pub(super) fn elsewhere(&self, names: &ScopeNames<'_>) -> usize {
        let waivers = self.plan.policy.waivers.iter().enumerate();
        waivers
            .filter(|(at, waiver)| self.state(*at, waiver, names) == WaiverState::Elsewhere)
            .count()
    }
}

fn is_of_waivers(waiver: &Waiver) -> bool {
    rules::find(&waiver.rule).is_some_and(|rule| rule.group == WAIVERS)
}

/// A selector of waivers, and the value of a finding that it must match.
type WaiverKey = (fn(&Waiver) -> &Option<Pattern>, fn(&Finding) -> Option<&[u8]>);

const KEYS: [WaiverKey; 7] = [
    (|waiver| &waiver.path, |finding| Some(finding.file.path.as_os_str().as_bytes())),
    (|waiver| &waiver.symbol, |finding| finding.symbol.as_deref()),
    (|waiver| &waiver.version, |finding| finding.version.as_deref()),
    (|waiver| &waiver.library, |finding| finding.library.as_deref()),
    (|waiver| &waiver.target, |finding| finding.target.as_deref()),
    (|waiver| &waiver.member, |finding| finding.member.as_deref()),
    (|waiver| &waiver.detail, |finding| finding.detail.as_deref()),
];

/// The first waiver, by policy name and line, that accepts a finding on the day `today`. `None` if
/// no waiver accepts it. `sonames` has the other hard links of files.
pub fn waiver_of<'p>(
    policy: &'p Policy,
    today: Day,
    finding: &Finding,
    sonames: &Sonames,
) -> Option<&'p Waiver> {
    let is_current = |waiver: &Waiver| waiver.expires.is_none_or(|last| last >= today);
    let own = policy.waivers.iter().filter(|waiver| waiver.rule == finding.rule.as_str());
    let accepting = own.filter(|waiver| is_current(waiver) && matches(waiver, finding, sonames));
    accepting.min_by_key(|waiver| &waiver.origin)
}

/// True if all selectors of `waiver` match the finding. A selector does not match a finding that
/// lacks the selected key. The path selector may match another hard link of the file. The caller
/// has checked that the waiver is for the rule of the finding.
fn matches(waiver: &Waiver, finding: &Finding, sonames: &Sonames) -> bool {
    let fits = |(selector, value): &WaiverKey| match (selector(waiver), value(finding)) {
        (None, _) => true,
        (Some(pattern), Some(value)) => pattern.matches(value),
        (Some(_), None) => false,
    };
    let [path, others @ ..] = &KEYS;
    let of_link = |pattern: &Pattern| {
        sonames.links_of(finding).any(|link| pattern.matches(link.as_os_str().as_bytes()))
    };
    others.iter().all(fits) && (fits(path) || waiver.path.as_ref().is_some_and(of_link))
}
