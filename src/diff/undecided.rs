//! Comparisons that could not be made, and the findings about them.

use super::sides::Side;
use crate::catalogue::Level;
use crate::finding::Finding;
use crate::package::Located;
use crate::report::model::ReportFinding;
use crate::rules;
use crate::text::show_path;
use crate::triage::fingerprint_of;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

/// A comparison that could not be made.
pub(super) struct UndecidedComparison {
    /// The subject of the comparison: a report as typed, or a file.
    subject: PathBuf,
    why: String,
}

impl UndecidedComparison {
    fn new(subject: impl Into<PathBuf>, why: impl Into<String>) -> Self {
        Self { subject: subject.into(), why: why.into() }
    }

    /// The message of the finding: the reason, with the advice about `--facts` spelled out.
    /// `detail` keeps the reason unchanged, because `detail` is part of the fingerprint.
    fn message(&self) -> String {
        match self.why.strip_suffix(" (--facts)") {
            Some(why) => format!("{why}: write the report with --facts"),
            None => self.why.clone(),
        }
    }

    /// One line with the subject and the message.
    pub(super) fn line(&self) -> String {
        format!("{}: {}", show_path(&self.subject), self.message())
    }

    /// The comparison as a finding of the rule `undecided`. Every output shows findings.
    pub(super) fn finding(&self) -> Option<ReportFinding> {
        let rule = rules::find("undecided")?;
        let subject = Located { prefix: None, path: self.subject.clone() };
        let mut fact = Finding::new(rule.id, Arc::new(subject), self.message());
        fact.detail = Some(self.why.clone().into_bytes());
        let fingerprint = fingerprint_of(&fact);
        let cause = format!("finding:{fingerprint}").into();
        Some(ReportFinding { cause, ..ReportFinding::of(*fact, Level::Error, fingerprint) })
    }
}

/// All comparisons that could not be made. The causes are reports without symbols, incomplete
/// reports, damaged and unread files, and rules that ran for only one report
/// ([`Audited::apart`](super::fresh::Audited)).
pub(super) fn questions(
    [old, new]: [&Side<'_>; 2],
    against: &[Side<'_>],
    apart: &[Vec<String>; 2],
    not_compared: &BTreeSet<(PathBuf, &'static str)>,
) -> Vec<UndecidedComparison> {
    let mut out = Vec::new();
    for side in against.iter().filter(|side| !side.has_exports() || !side.has_imports()) {
        out.push(UndecidedComparison::new(side.name, "no symbols, users are not found (--facts)"));
    }
    if new.has_exports() && !new.has_imports() {
        out.push(UndecidedComparison::new(new.name, "no imports, users are not found (--facts)"));
    }
    for (side, rules) in [(new, &apart[0]), (old, &apart[1])] {
        if !rules.is_empty() {
            let why = format!("these rules did not run and are not compared: {}", rules.join(", "));
            out.push(UndecidedComparison::new(side.name, why));
        }
    }
    out.extend(not_compared.iter().map(|(path, why)| UndecidedComparison::new(path, *why)));
    for side in [old, new] {
        if !side.has_exports() {
            out.push(UndecidedComparison::new(
                side.name,
                "no exports, symbols are not compared (--facts)",
            ));
        }
        if !side.report.complete {
            out.push(UndecidedComparison::new(side.name, "some files were not read or decided"));
        }
    }
    // Both sides may have the same name, and then the same line.
    let mut seen = BTreeSet::new();
    out.retain(|one| seen.insert((one.subject.clone(), one.why.clone())));
    out
}
