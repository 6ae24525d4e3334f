//! Applies the levels and waivers of this run to reports that earlier runs wrote. Such a report
//! has the levels and waivers of its own run.

use super::unread::RULES;
use crate::catalogue::{KnownRule, Level};
use crate::finding::Finding;
use crate::policy::{Day, LevelSetting, Origin, Policy};
use crate::report::Report;
use crate::report::model::{ReportFinding, ReportWaiver, WaivedFinding};
use crate::rules;
use crate::triage::{AppliedWaiver, Sonames, waiver_of};
use std::sync::Arc;

/// Applies the levels that `policy` sets, and its waivers, to the findings of `report`. Default
/// levels do not apply: the run that wrote the report may have enabled a rule. If the level of a
/// rule about unread paths is `allow` in `policy`, its findings are returned, because a comparison
/// needs them.
pub fn apply_policy(report: &mut Report, policy: &Policy, today: Day) -> Vec<ReportFinding> {
    let set = |id: &str| policy.set_level_of(&rules::find(id)?.known());
    let names = Sonames::default();
    let was_open = is_open(&report.findings);
    let mut unread = Vec::new();
    let mut findings = Vec::with_capacity(report.findings.len());
    for mut finding in std::mem::take(&mut report.findings) {
        let level = set(&finding.rule);
        if level == Some(Level::Allow) {
            unread.extend(RULES.contains(&&*finding.rule).then_some(finding));
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
    let is_allowed = |waived: &WaivedFinding| set(&waived.finding.rule) == Some(Level::Allow);
    let all = std::mem::take(&mut report.waived).into_iter();
    let (allowed, waived): (Vec<_>, Vec<_>) = all.partition(is_allowed);
    report.waived = waived;
    let allowed = allowed.into_iter().map(|waived| waived.finding);
    unread.extend(allowed.filter(|finding| RULES.contains(&&*finding.rule)));
    report.rules.retain(|run| set(&run.id) != Some(Level::Allow));
    unread
}

/// True if a rule about unread paths has the level `allow` in `policy`.
pub fn allows_unread(policy: &Policy) -> bool {
    allowed(policy).next().is_some()
}

/// Raises the rules about unread paths from `allow` to `warning`, so that an audit finds these
/// paths. `origin` is the location of the new levels. After the audit, [`apply_policy`] must remove
/// the findings about these paths.
pub fn find_unread(policy: &mut Policy, origin: &Origin) {
    let setting = |rule: KnownRule| LevelSetting {
        name: rule.id.to_owned(),
        level: Level::Warning,
        origin: origin.clone(),
    };
    let levels = allowed(policy).map(setting).collect();
    policy.set(levels);
}

/// The rules about unread paths that have the level `allow` in `policy`.
fn allowed(policy: &Policy) -> impl Iterator<Item = KnownRule> {
    let known = RULES.iter().filter_map(|id| rules::find(id)).map(rules::Rule::known);
    known.filter(|rule| policy.level_of(rule) == Level::Allow)
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
