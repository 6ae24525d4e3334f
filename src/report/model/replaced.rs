//! A report with other findings, for comparisons. The causes of the new report are made from these
//! findings.

use super::{Counts, Report, ReportFinding, RuleRun, cause, group};
use crate::catalogue::Level;

impl Report {
    /// Returns a report with `findings` instead of the findings of this report, and with `more`
    /// added to the rules that ran. The new report has no waived findings, stale lines, files,
    /// archives, directory links or bindings. Causes of this report keep their kind, title and
    /// shared evidence.
    #[must_use]
    pub fn with_findings(&self, mut findings: Vec<ReportFinding>, more: Vec<RuleRun>) -> Self {
        let mut causes = cause::gather_again(&mut findings, &self.causes);
        let groups = group::gather(&mut causes, &findings);
        let rules = self.rules.iter().cloned().chain(more).collect();
        let mut out = Self {
            schema: self.schema.clone(),
            tool: self.tool.clone(),
            policies: self.policies.clone(),
            complete: self.complete,
            totals: self.totals.clone(),
            counts: Counts::default(),
            rules,
            assumptions: self.assumptions.clone(),
            causes,
            groups,
            scopes: self.scopes.clone(),
            findings,
            waived: Vec::new(),
            files: Vec::new(),
            archives: Vec::new(),
            directory_links: None,
            stale: Vec::new(),
            platform: self.platform.clone(),
            layers: self.layers.clone(),
            like_stages: self.like_stages.clone(),
            compared: self.compared,
            cross_check: self.cross_check.clone(),
            bindings: None,
        };
        let count =
            |is: &dyn Fn(&ReportFinding) -> bool| out.findings.iter().filter(|f| is(f)).count();
        out.counts = Counts {
            errors: count(&|f| !out.is_input(f) && f.level == Level::Error),
            warnings: count(&|f| !out.is_input(f) && f.level == Level::Warning),
            incomplete: count(&|f| out.is_input(f)),
            ..Counts::default()
        };
        out
    }
}
