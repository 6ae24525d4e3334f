//! Makes a report of the new findings of a comparison. Every output can write a report.

use super::sides::{PolicyDecisions, Side};
use crate::catalogue::Level;
use crate::report::Report;
use crate::report::model::{ReportFinding, RuleRun};
use crate::rules;

/// The report of the new findings. `complete` is true if all comparisons could be made.
pub(super) fn report(
    new: &Side<'_>,
    findings: Vec<ReportFinding>,
    complete: bool,
    judge: &PolicyDecisions<'_>,
) -> Report {
    let of_diff = rules::RULES.iter().filter(|rule| rule.is_of_diff());
    let enabled = of_diff.filter(|rule| (judge.level)(rule) != Level::Allow);
    let runs = enabled.map(|rule| RuleRun {
        id: rule.id.as_str().to_owned(),
        group: rule.group.name.to_owned(),
        level: (judge.level)(rule),
        input: false,
    });
    Report { complete, compared: true, ..new.report.with_findings(findings, runs.collect()) }
}
