//! Triage: gives each finding a level and a fingerprint, and finds the waiver that applies to it.
//! Rules make findings, and `report` writes them.

mod baseline;
mod fingerprint;
mod lines;
mod rewrite;
mod scope;
mod undecided;
mod values;
mod waivers;

pub use baseline::{Baseline, BaselineLine, Broken};
pub use fingerprint::{Sonames, digest, fingerprint_of};
pub use rewrite::{Rewrite, rewrite};
pub use scope::RunScope;

use crate::catalogue::{Level, RuleId};
use crate::finding::{EvidenceKind, Finding, Findings};
use crate::id::FastMap;
use crate::plan::Plan;
use crate::policy::{Day, Origin, Waiver};
use crate::rules::{self, Rule};
use lines::{LineRequest, Lines};
use rayon::prelude::*;
use scope::ScopeNames;
use std::path::PathBuf;
use std::sync::Arc;
use waivers::Waiving;
pub use waivers::waiver_of;

/// A finding after triage, with its level and fingerprint.
#[derive(Debug)]
pub struct Triaged {
    /// The finding.
    pub finding: Box<Finding>,
    /// The rule that made the finding.
    pub rule: &'static Rule,
    /// The level of the finding: warning or error. Findings of the level `allow` are dropped.
    pub level: Level,
    /// The fingerprint, stable across rebuilds of the package.
    pub fingerprint: String,
    /// The fingerprints that the finding has under the other hard links of its file; empty without
    /// a baseline.
    of_links: Vec<String>,
}

/// The waiver that applies to a finding.
#[derive(Debug)]
pub struct AppliedWaiver {
    /// True for a line of a baseline, false for an entry of a policy.
    pub baseline: bool,
    /// The reason that the waiver states; `None` for a baseline line without a reason.
    pub reason: Option<String>,
    /// The file and line of the waiver.
    pub origin: Origin,
    /// The last day on which the waiver applies; `None` if it never expires.
    pub expires: Option<Day>,
}

/// A waived finding.
#[derive(Debug)]
pub struct Waived {
    /// The finding, and the level that it would have without the waiver.
    pub judged: Triaged,
    /// The waiver, shared by all findings that it waives.
    pub by: Arc<AppliedWaiver>,
}

/// The findings of a run after triage.
#[derive(Debug, Default)]
pub struct Triage {
    /// Findings that are not waived and whose level is not `allow`, in the order in which reports
    /// list them.
    pub findings: Vec<Triaged>,
    /// Waived findings, in the order in which reports list them.
    pub waived: Vec<Waived>,
    /// False if a finding in `findings` is about input that could not be read or decided.
    pub complete: bool,
    /// Number of unversioned references that a missing library is assumed to define. They are
    /// counted only if the finding about this library is waived or has the level `allow`.
    pub assumed: usize,
    /// Stale lines of the baseline, in file order: this run could have made the findings of these
    /// lines, but did not.
    pub stale: Vec<Stale>,
    /// Number of unused waivers and baseline lines about files outside of this run.
    pub elsewhere: usize,
}

/// A baseline, and its use in the run.
#[derive(Clone, Copy, Debug)]
pub struct BaselineUse<'a> {
    /// The parsed file of `--baseline` or `--write-baseline`.
    pub baseline: &'a Baseline,
    /// True if the baseline waives findings, false if it is only rewritten.
    pub waives: bool,
}

/// The input of triage besides the findings.
#[derive(Clone, Copy)]
pub struct TriageInput<'a> {
    /// Supplies the levels, the waivers, and the current day, which decides if a waiver has
    /// expired.
    pub plan: &'a Plan,
    /// The baseline of the run, if there is one.
    pub known: Option<BaselineUse<'a>>,
    /// The files and rules that the run covered.
    pub scope: &'a RunScope<'a>,
    /// Sonames and other hard links of the audited and loaded files.
    pub sonames: &'a Sonames,
}

/// Gives each finding its level, drops findings of the level `allow`, and separates waived
/// findings.
pub fn sort_findings(mut findings: Findings, how: &TriageInput<'_>) -> Triage {
    let waiving = Waiving::new(how.plan, how.sonames);
    let names = ScopeNames::of(how.scope);
    let mut waivers = waiving.take(&findings);
    // A waiver can waive findings about waivers, such as `stale-waiver`. Findings about that waiver
    // cannot be waived.
    let about_waivers = waiving.findings(&names, false);
    waivers.extend(waiving.take(&about_waivers));
    findings.extend(about_waivers);
    findings.extend(waiving.findings(&names, true));
    waivers.resize(findings.len(), None);
    let mut sorted: Vec<(Box<Finding>, Option<&Waiver>)> =
        findings.into_iter().zip(waivers).collect();
    sorted.par_sort_by(|(a, _), (b, _)| a.key().cmp(&b.key()));
    let (findings, waivers): (Findings, Vec<Option<&Waiver>>) = sorted.into_iter().unzip();
    let mut triage = sort_out(findings, &waivers, how);
    triage.elsewhere += waiving.elsewhere(&names);
    triage
}

fn sort_out(findings: Findings, waivers: &[Option<&Waiver>], how: &TriageInput<'_>) -> Triage {
    let ranks: FastMap<RuleId, (&'static Rule, Level)> = rules::RULES
        .iter()
        .map(|rule| (rule.id, (*rule, how.plan.policy.level_of(&rule.known()))))
        .collect();
    let prints = fingerprint::all(&findings, how.sonames);
    let of_links = findings.iter().map(|finding| match how.known {
        Some(_) => fingerprint::of_links(finding, how.sonames),
        None => Vec::new(),
    });
    let of_links: Vec<Vec<String>> = of_links.collect();
    let given = how.known.map(|known| {
        let asked = findings.iter().zip(&prints).zip(&of_links).zip(waivers);
        let asker = asked.map(|(((finding, fingerprint), of_links), waiver)| {
            let is_allowed = ranks[&finding.rule].1 == Level::Allow;
            let needs_line = waiver.is_none() && !is_allowed;
            LineRequest { finding, fingerprint, of_links, needs_line }
        });
        let askers: Vec<LineRequest<'_>> = asker.collect();
        Lines::give(known.baseline, &askers)
    });
    let waives = how.known.is_some_and(|known| known.waives);
    let mut reasons: FastMap<&Origin, Arc<AppliedWaiver>> = FastMap::default();
    let mut triage = Triage::default();
    let mut assumed = 0;
    let waived = findings.into_iter().zip(prints).zip(of_links).zip(waivers).enumerate();
    for (at, (((finding, fingerprint), of_links), waiver)) in waived {
        let (rule, level) = ranks[&finding.rule];
        let level = if finding.mild { level.min(Level::Warning) } else { level };
        let line = given.as_ref().and_then(|(lines, taken)| Some(lines.by(taken[at]?)));
        let by = match waiver {
            Some(waiver) => {
                let waiver: &Waiver = waiver;
                let by = reasons.entry(&waiver.origin).or_insert_with(|| Arc::new(waiver.into()));
                Some(Arc::clone(by))
            }
            None => line.filter(|_| waives).map(Arc::new),
        };
        if level == Level::Allow || by.is_some() {
            let explained = finding.evidence_of(EvidenceKind::Explained);
            assumed += explained.filter(|evidence| evidence.version.is_none()).count();
        }
        let judged = Triaged { finding, rule, level, fingerprint, of_links };
        match by {
            _ if level == Level::Allow => {}
            Some(by) => triage.waived.push(Waived { judged, by }),
            None => triage.findings.push(judged),
        }
    }
    triage.complete = triage.findings.iter().all(|judged| !judged.rule.is_open());
    triage.assumed = assumed;
    if let (Some((lines, _)), Some(known)) = (given, how.known) {
        let (stale, elsewhere) = lines.unused(|entry| how.scope.looked_at(entry));
        let line = |at: usize| {
            let entry = known.baseline.entries[at].clone();
            Stale { gone: how.scope.lacks_file(&entry), file: how.scope.full_path(&entry), entry }
        };
        triage.stale = stale.into_iter().map(line).collect();
        triage.elsewhere = elsewhere;
    }
    triage
}

/// A stale line of a baseline: the run could have made the finding of this line, but did not.
#[derive(Clone, Debug)]
pub struct Stale {
    /// The stale line, as parsed.
    pub entry: BaselineLine,
    /// True if the run has no file at the path of the line. The finding is then gone because its
    /// file is gone, not because of a repair.
    pub gone: bool,
    /// The full path of the file. `None` if several prefixes of the run may contain it.
    pub file: Option<PathBuf>,
}

impl From<&Waiver> for AppliedWaiver {
    fn from(waiver: &Waiver) -> Self {
        Self {
            baseline: false,
            reason: Some(waiver.reason.clone()),
            origin: waiver.origin.clone(),
            expires: waiver.expires,
        }
    }
}
