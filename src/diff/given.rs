//! Applies the levels and waivers of a run to reports that were read. These reports have the levels
//! and waivers of their own runs.

use crate::catalogue::Level;
use crate::finding::Finding;
use crate::policy::{Day, Policy};
use crate::report::Report;
use crate::report::model::{ReportFinding, ReportWaiver, WaivedFinding};
use crate::rules;
use crate::triage::{AppliedWaiver, Sonames, waiver_of};
use std::sync::Arc;

/// Applies the levels that `policy` sets, and its waivers, to the findings of `report`. Default
/// levels do not apply: the run of the report may have enabled a rule.
pub fn apply_policy(report: &mut Report, policy: &Policy, today: Day) {
    let set = |id: &str| policy.set_level_of(&rules::find(id)?.known());
    let names = Sonames::default();
    let was_open = is_open(&report.findings);
    let mut findings = Vec::with_capacity(report.findings.len());
    for mut finding in std::mem::take(&mut report.findings) {
        let level = set(&finding.rule);
        if level == Some(Level::Allow) {
            continue;
        }
        let of_run = report.rules.iter().find(|run| *run.id == *finding.rule);
        // If the run lowered the level of a finding, the policy cannot raise it.
        let is_mild = of_run.is_some_and(|run| finding.level < run.level);
        let level = level.filter(|level| !is_mild || *level < finding.level);
        finding.level = level.unwrap_or(finding.level);
        let fact = fact(&finding);
        match fact.and_then(|fact| waiver_of(policy, today, &fact, &names)) {
            Some(waiver) => {
                let waiver = Arc::new(ReportWaiver::of(&AppliedWaiver::from(waiver)));
                report.waived.push(WaivedFinding { finding, waiver });
            }
            None => findings.push(finding),
        }
    }
    report.complete |= was_open && !is_open(&findings);
    report.findings = findings;
    report.waived.retain(|waived| set(&waived.finding.rule) != Some(Level::Allow));
    report.rules.retain(|run| set(&run.id) != Some(Level::Allow));
}

/// True if one of the findings leaves the report incomplete.
fn is_open(findings: &[ReportFinding]) -> bool {
    let mut rules = findings.iter().filter_map(|finding| rules::find(&finding.rule));
    rules.any(rules::Rule::is_open)
}

/// Restores a finding from a report as its rule made it, with the keys that waivers use. `None` for
/// a rule that this version does not know.
fn fact(finding: &ReportFinding) -> Option<Finding> {
    let rule = rules::find(&finding.rule)?;
    let mut fact = Finding::new(rule.id, Arc::clone(&finding.file), String::new());
    fact.symbol.clone_from(&finding.symbol);
    fact.version.clone_from(&finding.version);
    fact.library.clone_from(&finding.library);
    fact.target.clone_from(&finding.target);
    fact.member.clone_from(&finding.member);
    fact.detail.clone_from(&finding.detail);
    Some(*fact)
}
