//! A report with other findings, as a comparison makes it: the causes are gathered anew.

use super::{Counts, Finding, Report, RuleRun, cause, group};
use crate::catalogue::Level;

impl Report {
    /// This report with `findings` instead of its own, waivers removed, and the rules in `more` added
    /// to those that ran. Known causes keep their kind, title and shared evidence.
    #[must_use]
    pub fn with_findings(&self, mut findings: Vec<Finding>, more: Vec<RuleRun>) -> Self {
        let mut causes = cause::gather_again(&mut findings, &self.causes);
        let groups = group::gather(&mut causes, &findings);
        let rules = self.rules.iter().cloned().chain(more).collect();
        let (waived, stale) = (Vec::new(), Vec::new());
        let mut out = Self { rules, causes, groups, findings, waived, stale, ..self.clone() };
        let count = |is: &dyn Fn(&Finding) -> bool| out.findings.iter().filter(|f| is(f)).count();
        out.counts = Counts {
            errors: count(&|f| !out.is_input(f) && f.level == Level::Error),
            warnings: count(&|f| !out.is_input(f) && f.level == Level::Warning),
            incomplete: count(&|f| out.is_input(f)),
            ..Counts::default()
        };
        out
    }
}
