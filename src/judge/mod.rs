//! Judging: the level of every finding, who waives it, its fingerprint. Levels, waivers and
//! baselines act here and nowhere before. Rules find, `judge` weighs, `report` writes.

mod baseline;
mod fingerprint;
mod lines;
mod rewrite;
mod scope;
mod values;
mod waivers;

pub use baseline::{Baseline, Broken, Entry};
pub use fingerprint::Sonames;
pub use rewrite::{Rewrite, rewrite};
pub use scope::Scope;

use crate::catalogue::{Level, RuleId};
use crate::finding::{EvidenceKind, Finding, Findings};
use crate::id::FastMap;
use crate::plan::Plan;
use crate::policy::{Day, Origin, Waiver};
use crate::rules::{self, Rule};
use lines::{Asker, Lines};
use rayon::prelude::*;
use scope::Names;
use std::sync::Arc;
use waivers::Waiving;

/// A finding with its level.
#[derive(Debug)]
pub struct Judged {
    /// The finding.
    pub finding: Box<Finding>,
    /// Its rule.
    pub rule: &'static Rule,
    /// Warning or error.
    pub level: Level,
    /// What stays the same when the package is built again.
    pub fingerprint: String,
}

/// Who waives a finding.
#[derive(Debug)]
pub struct By {
    /// It is a line of a baseline, not an entry of a policy.
    pub baseline: bool,
    /// Why; a line of a baseline may have no reason.
    pub reason: Option<String>,
    /// Where it stands.
    pub origin: Origin,
    /// The last day on which it waives.
    pub expires: Option<Day>,
}

/// A finding that is known and accepted.
#[derive(Debug)]
pub struct Waived {
    /// The finding.
    pub judged: Judged,
    /// Who waives it.
    pub by: Arc<By>,
}

/// What is to be reported of a run.
#[derive(Debug, Default)]
pub struct Verdict {
    /// Findings that are neither allowed nor waived, in the order of reports.
    pub findings: Vec<Judged>,
    /// Findings that are waived, in the same order.
    pub waived: Vec<Waived>,
    /// No finding says that something could not be read or decided.
    pub complete: bool,
    /// References without version that only an allowed or waived missing library could satisfy: it
    /// is assumed that it does.
    pub assumed: usize,
    /// Lines of the baseline whose findings are not made any more, in their order.
    pub stale: Vec<Stale>,
    /// How many waivers and lines of the baseline are about what this run did not look at.
    pub elsewhere: usize,
}

/// A baseline, and what it is for.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The baseline.
    pub baseline: &'a Baseline,
    /// Its findings are waived; else it is only to be written anew.
    pub waives: bool,
}

/// What findings are judged by.
#[derive(Clone, Copy)]
pub struct Judging<'a> {
    /// Levels and waivers, and the date against which waivers expire.
    pub plan: &'a Plan,
    /// Findings that are known already.
    pub known: Option<Known<'a>>,
    /// What was looked at.
    pub scope: &'a Scope<'a>,
    /// Sonames of the files that findings are about.
    pub sonames: &'a Sonames,
}

/// Gives every finding its level, drops those that are allowed and sorts out those that are waived.
pub fn judge(mut findings: Findings, how: &Judging<'_>) -> Verdict {
    let waiving = Waiving::new(how.plan);
    let names = Names::of(how.scope);
    let mut waivers = waiving.take(&findings);
    // What is said of waivers can be waived too; what is said of waivers for that cannot.
    let about_waivers = waiving.findings(&names, false);
    waivers.extend(waiving.take(&about_waivers));
    findings.extend(about_waivers);
    findings.extend(waiving.findings(&names, true));
    waivers.resize(findings.len(), None);
    let mut sorted: Vec<(Box<Finding>, Option<&Waiver>)> =
        findings.into_iter().zip(waivers).collect();
    sorted.par_sort_by(|(a, _), (b, _)| a.key().cmp(&b.key()));
    let (findings, waivers): (Findings, Vec<Option<&Waiver>>) = sorted.into_iter().unzip();
    let mut verdict = sort_out(findings, &waivers, how);
    verdict.elsewhere += waiving.elsewhere(&names);
    verdict
}

fn sort_out(findings: Findings, waivers: &[Option<&Waiver>], how: &Judging<'_>) -> Verdict {
    let ranks: FastMap<RuleId, (&'static Rule, Level)> = rules::RULES
        .iter()
        .map(|rule| (rule.id, (*rule, how.plan.policy.level_of(&rule.known()))))
        .collect();
    let prints = fingerprint::all(&findings, how.sonames);
    let given = how.known.map(|known| {
        let asked = findings.iter().zip(&prints).zip(waivers);
        let asker = asked.map(|((finding, fingerprint), waiver)| {
            let is_allowed = ranks[&finding.rule].1 == Level::Allow;
            Asker { finding, fingerprint, needs_line: waiver.is_none() && !is_allowed }
        });
        let askers: Vec<Asker<'_>> = asker.collect();
        Lines::give(known.baseline, &askers)
    });
    let waives = how.known.is_some_and(|known| known.waives);
    let mut reasons: FastMap<&Origin, Arc<By>> = FastMap::default();
    let mut verdict = Verdict::default();
    let mut assumed = 0;
    let waived = findings.into_iter().zip(prints).zip(waivers).enumerate();
    for (at, ((finding, fingerprint), waiver)) in waived {
        let (rule, level) = ranks[&finding.rule];
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
        let judged = Judged { finding, rule, level, fingerprint };
        match by {
            _ if level == Level::Allow => {}
            Some(by) => verdict.waived.push(Waived { judged, by }),
            None => verdict.findings.push(judged),
        }
    }
    verdict.complete = verdict.findings.iter().all(|judged| !judged.rule.is_open());
    verdict.assumed = assumed;
    if let (Some((lines, _)), Some(known)) = (given, how.known) {
        let (stale, elsewhere) = lines.unused(|entry| how.scope.looked_at(entry));
        let line = |at: usize| {
            let entry = known.baseline.entries[at].clone();
            Stale { gone: how.scope.lacks_file(&entry), entry }
        };
        verdict.stale = stale.into_iter().map(line).collect();
        verdict.elsewhere = elsewhere;
    }
    verdict
}

/// A stale line of a baseline.
#[derive(Clone, Debug)]
pub struct Stale {
    /// The line.
    pub entry: Entry,
    /// The file that it is about is not there any more: nothing was repaired.
    pub gone: bool,
}

impl From<&Waiver> for By {
    fn from(waiver: &Waiver) -> Self {
        Self {
            baseline: false,
            reason: Some(waiver.reason.clone()),
            origin: waiver.origin.clone(),
            expires: waiver.expires,
        }
    }
}
