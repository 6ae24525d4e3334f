//! The row of a rule: everything that is declared about it. The catalogue that policies are read
//! with, `explain`, the pages, the schema and what a run reads are made from rows; a rule that no level
//! enables, or that has nothing to check, does not run. The rules themselves are the other files.

use super::query::Query;
use crate::catalogue::{Group, Known, Level, RuleId};
use crate::finding::{Finding, Findings};
use crate::plan::Plan;
use crate::policy::Waiver;
use crate::wants::Wants;

/// One rule.
pub struct Rule {
    /// Its name, for good.
    pub id: RuleId,
    /// Its group.
    pub group: Group,
    /// Its level unless a policy or an option sets another.
    pub level: Level,
    /// One line without full stop.
    pub summary: &'static str,
    /// The page, in Markdown, with the five headings.
    pub docs: &'static str,
    /// The files it judges.
    pub judges: Judges,
    /// Its findings account for references that a missing library explains, so that it runs even where
    /// it is allowed: the report says how many references are assumed then.
    pub explains: bool,
    keys: Option<&'static [&'static str]>,
    wants: Wants,
    asked: fn(&Plan) -> bool,
    pub(super) check: Check,
}

/// The files that a rule judges.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Judges {
    /// Those that are audited.
    Audited,
    /// Dependencies outside of what is audited too.
    Loaded,
}

/// What a rule looks at.
pub(super) enum Check {
    /// The facts of the audit.
    Facts(fn(&Query<'_>) -> Findings),
    /// One waiver of a policy, and what it did in this run.
    Waiver(fn(&Waiver, WaiverState) -> Option<Box<Finding>>),
}

/// What a waiver did in a run.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum WaiverState {
    /// It waives a finding.
    Used,
    /// It matches nothing although the run looked at what it is about.
    Stale,
    /// Its last day is over.
    Expired,
    /// It matches nothing, and the run did not look at what it is about.
    Elsewhere,
}

impl Rule {
    /// A rule about what is audited, which is always asked, at its group's level.
    pub(super) const fn new(
        id: &'static str,
        group: Group,
        summary: &'static str,
        docs: &'static str,
        check: fn(&Query<'_>) -> Findings,
    ) -> Self {
        Self::with(id, group, summary, docs, Check::Facts(check))
    }

    /// A rule about the waivers of policies.
    pub(super) const fn of_waivers(
        id: &'static str,
        group: Group,
        summary: &'static str,
        docs: &'static str,
        check: fn(&Waiver, WaiverState) -> Option<Box<Finding>>,
    ) -> Self {
        Self::with(id, group, summary, docs, Check::Waiver(check))
    }

    const fn with(
        id: &'static str,
        group: Group,
        summary: &'static str,
        docs: &'static str,
        check: Check,
    ) -> Self {
        Self {
            id: RuleId::new(id),
            group,
            level: group.level,
            summary,
            docs,
            judges: Judges::Audited,
            explains: false,
            keys: None,
            wants: Wants::NONE,
            asked: |_| true,
            check,
        }
    }

    /// The keys besides the path that its findings can have, by the names that waivers use. A waiver
    /// that selects by another key is a mistake.
    pub(super) const fn keys(self, keys: &'static [&'static str]) -> Self {
        Self { keys: Some(keys), ..self }
    }

    /// What is read or answered only for such rules.
    pub(super) const fn wants(self, wants: Wants) -> Self {
        Self { wants, ..self }
    }

    /// It has nothing to check unless this holds.
    pub(super) const fn asked_if(self, asked: fn(&Plan) -> bool) -> Self {
        Self { asked, ..self }
    }

    /// It judges dependencies outside of what is audited too.
    pub(super) const fn of_all_loaded(self) -> Self {
        Self { judges: Judges::Loaded, ..self }
    }

    /// Its findings account for references that missing libraries explain.
    pub(super) const fn explaining(self) -> Self {
        Self { explains: true, ..self }
    }

    /// The rule as policies know it.
    pub fn known(&self) -> Known {
        let Self { id, group, level, keys, .. } = *self;
        Known { id: id.as_str(), group, level, keys, is_built: true }
    }

    /// What it is to be called in a table: what its findings do to a run.
    pub fn default_name(&self) -> &'static str {
        if self.group.is_input { "incomplete" } else { self.level.name() }
    }

    /// True if it runs: it has something to check, and its findings count.
    pub fn runs(&self, plan: &Plan) -> bool {
        (self.asked)(plan) && (self.explains || self.counts(plan))
    }

    /// What it wants where its findings count.
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
