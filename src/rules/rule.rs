//! [`Rule`], the row in which a rule declares its id, level, documentation, needed facts and check.
//! The catalogue for policies, `explain`, the pages and the schema are generated from the rows. The
//! rows also decide which facts a run reads, and which rules it runs.

use super::query::Query;
use crate::catalogue::{KnownRule, Level, RuleGroup, RuleId};
use crate::finding::{Finding, Findings};
use crate::plan::Plan;
use crate::policy::Waiver;
use crate::wants::Wants;

/// The declarations of one rule, and the function that makes its findings.
pub struct Rule {
    /// The permanent id by which policies, options and reports name the rule.
    pub id: RuleId,
    /// The group of the rule. Policies and options can set the level of all rules of a group.
    pub group: RuleGroup,
    /// The default level. Policies and options can set another level.
    pub level: Level,
    /// The defect that the rule reports, in one line of at most 72 bytes without a full stop.
    pub summary: &'static str,
    /// The documentation page of the rule, in Markdown, with the headings of [`super::HEADINGS`].
    pub docs: &'static str,
    /// The files about which the rule has findings.
    pub checked_files: CheckedFiles,
    /// True if a finding of the rule is about a missing library and lists the undefined references
    /// that the library explains. The report counts these references, so the rule runs even if its
    /// level is `allow`.
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
    /// Audited files, and the files elsewhere that they load.
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
    /// The waiver matches a finding.
    Used,
    /// The waiver matches no finding, and its subject was in the scope of the run.
    Stale,
    /// The expiry date of the waiver has passed.
    Expired,
    /// The waiver matches no finding, and its subject was outside the scope of the run.
    Elsewhere,
}

impl Rule {
    /// A rule about audited files, with the level of its group. It runs for every plan that enables
    /// it.
    pub(super) const fn new(
        id: &'static str,
        group: RuleGroup,
        summary: &'static str,
        docs: &'static str,
        check: fn(&Query<'_>) -> Findings,
    ) -> Self {
        Self::with(id, group, summary, docs, RuleCheck::Facts(check))
    }

    /// A rule about one waiver of a policy at a time.
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

    /// Sets a default level other than that of the group.
    pub(super) const fn at(self, level: Level) -> Self {
        Self { level, ..self }
    }

    /// Sets the optional facts and queries that the rule needs.
    pub(super) const fn wants(self, wants: Wants) -> Self {
        Self { wants, ..self }
    }

    /// Declares that findings of the rule also make a run incomplete, because a file was not read.
    pub(super) const fn leaves_open(self) -> Self {
        Self { leaves_open: true, ..self }
    }

    /// True if findings of the rule make a run incomplete: they report input that could not be read
    /// or decided.
    pub fn is_open(&self) -> bool {
        self.group.is_input || self.leaves_open
    }

    /// Restricts the rule to plans for which `asked` returns true.
    pub(super) const fn asked_if(self, asked: fn(&Plan) -> bool) -> Self {
        Self { asked, ..self }
    }

    /// Lets the rule also check files that were not audited, if an audited file loads them.
    pub(super) const fn of_all_loaded(self) -> Self {
        Self { checked_files: CheckedFiles::Loaded, ..self }
    }

    /// Sets [`Self::explains`]: findings of the rule list the references that missing libraries
    /// explain.
    pub(super) const fn explaining(self) -> Self {
        Self { explains: true, ..self }
    }

    /// True if findings of the rule hold the references that missing libraries explain.
    pub fn is_explaining(&self) -> bool {
        self.explains
    }

    /// The rule's entry in the catalogue.
    pub fn known(&self) -> KnownRule {
        let Self { id, group, level, keys, .. } = *self;
        KnownRule { id: id.as_str(), group, level, keys }
    }

    /// The default level in pages and tables: `incomplete` for rules about input that could not be
    /// read.
    pub fn default_name(&self) -> &'static str {
        if self.group.is_input { "incomplete" } else { self.level.name() }
    }

    /// True if the rule runs in an audit. The plan must have something for the rule to check, and
    /// must enable the rule. A rule with [`Self::explains`] is always enabled.
    pub fn runs(&self, plan: &Plan) -> bool {
        !self.is_of_diff() && (self.asked)(plan) && (self.explains || self.counts(plan))
    }

    /// True if the rule is about the differences between two reports. `crate::diff` makes its
    /// findings.
    pub fn is_of_diff(&self) -> bool {
        matches!(self.check, RuleCheck::Diff)
    }

    /// The optional facts that the rule needs in this run; none if the rule is disabled or has
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
