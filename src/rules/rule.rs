//! The row of a rule: all its declarations. The rows generate the catalogue for policies,
//! `explain`, the pages and the schema, and they decide which facts a run reads. A rule does not
//! run if no level enables it or if it has nothing to check. The rules themselves are in the other
//! files.

use super::query::Query;
use crate::catalogue::{KnownRule, Level, RuleGroup, RuleId};
use crate::finding::{Finding, Findings};
use crate::plan::Plan;
use crate::policy::Waiver;
use crate::wants::Wants;

/// One rule.
pub struct Rule {
    /// Its permanent id.
    pub id: RuleId,
    /// Its group.
    pub group: RuleGroup,
    /// Its level, unless a policy or an option sets another.
    pub level: Level,
    /// One line without a full stop.
    pub summary: &'static str,
    /// The page, in Markdown, with the five headings.
    pub docs: &'static str,
    /// The files that it checks.
    pub checked_files: CheckedFiles,
    /// True if its findings cover references that a missing library explains. Such a rule runs even
    /// if its level is `allow`, so that the report can count the assumed references.
    pub explains: bool,
    leaves_open: bool,
    keys: Option<&'static [&'static str]>,
    wants: Wants,
    asked: fn(&Plan) -> bool,
    pub(super) check: RuleCheck,
}

/// The files that a rule checks.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckedFiles {
    /// Audited files.
    Audited,
    /// Audited files and their dependencies elsewhere.
    Loaded,
}

/// The input that a rule checks.
pub(super) enum RuleCheck {
    /// The facts of the audit.
    Facts(fn(&Query<'_>) -> Findings),
    /// One waiver of a policy, and its state in this run.
    Waiver(fn(&Waiver, WaiverState) -> Option<Box<Finding>>),
    /// Two reports, which `crate::diff` compares.
    Diff,
}

/// The state of a waiver in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaiverState {
    /// It waives a finding.
    Used,
    /// It matches no finding, and its subject was in the scope of the run.
    Stale,
    /// Its expiry date has passed.
    Expired,
    /// It matches no finding, and its subject was outside the scope of the run.
    Elsewhere,
}

impl Rule {
    /// A rule about audited files at its group's level. It has something to check in every run.
    pub(super) const fn new(
        id: &'static str,
        group: RuleGroup,
        summary: &'static str,
        docs: &'static str,
        check: fn(&Query<'_>) -> Findings,
    ) -> Self {
        Self::with(id, group, summary, docs, RuleCheck::Facts(check))
    }

    /// A rule about the waivers of policies.
    pub(super) const fn of_waivers(
        id: &'static str,
        group: RuleGroup,
        summary: &'static str,
        docs: &'static str,
        check: fn(&Waiver, WaiverState) -> Option<Box<Finding>>,
    ) -> Self {
        Self::with(id, group, summary, docs, RuleCheck::Waiver(check))
    }

    /// A rule about the differences between two reports. It does not run in an audit.
    pub(super) const fn of_diff(
        id: &'static str,
        group: RuleGroup,
        summary: &'static str,
        docs: &'static str,
    ) -> Self {
        Self::with(id, group, summary, docs, RuleCheck::Diff)
    }

    const fn with(
        id: &'static str,
        group: RuleGroup,
        summary: &'static str,
        docs: &'static str,
        check: RuleCheck,
    ) -> Self {
        Self {
            id: RuleId::new(id),
            group,
            level: group.level,
            summary,
            docs,
            checked_files: CheckedFiles::Audited,
            explains: false,
            leaves_open: false,
            keys: None,
            wants: Wants::NONE,
            asked: |_| true,
            check,
        }
    }

    /// Sets the keys that findings of the rule can have besides the path, named as in waivers. A
    /// waiver that selects by another key is an error.
    pub(super) const fn keys(self, keys: &'static [&'static str]) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// Sets a level that differs from that of its group.
    pub(super) const fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Sets the optional facts and queries that the rule needs.
    pub(super) const fn wants(self, wants: Wants) -> Self {
        Self { wants, ..self }
    }

    /// Declares that findings of the rule also make a run incomplete: their subject was not read.
    pub(super) const fn leaves_open(self) -> Self {
        Self { leaves_open: true, ..self }
    }

    /// True if its findings report input that could not be read or decided.
    pub fn is_open(&self) -> bool {
        self.group.is_input || self.leaves_open
    }

    /// Runs the rule only if `asked` is true.
    pub(super) const fn asked_if(self, asked: fn(&Plan) -> bool) -> Self {
        Self { asked, ..self }
    }

    /// Lets the rule check dependencies outside of the audited files too.
    pub(super) const fn of_all_loaded(self) -> Self {
        Self { checked_files: CheckedFiles::Loaded, ..self }
    }

    /// Declares that findings of the rule cover references that missing libraries explain.
    pub(super) const fn explaining(self) -> Self {
        Self { explains: true, ..self }
    }

    /// The rule's entry in the catalogue.
    pub fn known(&self) -> KnownRule {
        let Self { id, group, level, keys, .. } = *self;
        KnownRule { id: id.as_str(), group, level, keys, is_built: true }
    }

    /// The default level of the rule as pages and tables show it: `incomplete` for rules about
    /// input.
    pub fn default_name(&self) -> &'static str {
        if self.group.is_input { "incomplete" } else { self.level.name() }
    }

    /// True if the rule runs in an audit: it has something to check, and its findings are enabled
    /// or explain references.
    pub fn runs(&self, plan: &Plan) -> bool {
        !self.is_of_diff() && (self.asked)(plan) && (self.explains || self.counts(plan))
    }

    /// True if it is about the differences between two reports.
    pub fn is_of_diff(&self) -> bool {
        matches!(self.check, RuleCheck::Diff)
    }

    /// The optional facts that the rule needs in this run; none if it is not enabled or has
    /// nothing to check.
    pub(super) fn wanted(&self, plan: &Plan) -> Wants {
        if (self.asked)(plan) && self.counts(plan) { self.wants } else { Wants::NONE }
    }

    fn counts(&self, plan: &Plan) -> bool {
        plan.policy.level_of(&self.known()) != Level::Allow
    }
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id.as_str())
    }
}
