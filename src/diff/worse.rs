//! The new findings of a comparison as a report, so that every output can write them.

use super::sides::{Levels, Side};
use crate::catalogue::Level;
use crate::id::FastMap;
use crate::report::Report;
use crate::report::model::{AffectedDirectory, Cause, CauseKind, Counts, Finding, RuleRun};
use crate::rules;
use crate::text::show_path;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// The report of the new findings.
pub(super) fn report(
    new: &Side<'_>,
    findings: Vec<Finding>,
    complete: bool,
    levels: &Levels<'_>,
) -> Report {
    let mut of_cause: BTreeMap<&str, Vec<&Finding>> = BTreeMap::new();
    for finding in &findings {
        of_cause.entry(&*finding.cause).or_default().push(finding);
    }
    let known: FastMap<&str, &Cause> =
        new.report.causes.iter().map(|cause| (&*cause.id, cause)).collect();
    let mut causes: Vec<Cause> =
        of_cause.iter().map(|(id, own)| cause(id, own, known.get(id).copied())).collect();
    causes.sort_by(|a, b| {
        (b.level, b.findings, &a.title, &a.id).cmp(&(a.level, a.findings, &b.title, &b.id))
    });
    drop(of_cause);
    let mut rules = new.report.rules.clone();
    let of_diff = rules::RULES.iter().filter(|rule| rule.is_of_diff());
    let enabled = of_diff.filter(|rule| levels(rule) != Level::Allow);
    rules.extend(enabled.map(|rule| RuleRun {
        id: rule.id.as_str().to_owned(),
        group: rule.group.name.to_owned(),
        level: levels(rule),
        input: false,
    }));
    let mut out = Report {
        complete,
        rules,
        causes,
        groups: Vec::new(),
        waived: Vec::new(),
        stale: Vec::new(),
        findings,
        ..new.report.clone()
    };
    let count = |is: &dyn Fn(&Finding) -> bool| out.findings.iter().filter(|f| is(f)).count();
    out.counts = Counts {
        errors: count(&|f| !out.is_input(f) && f.level == Level::Error),
        warnings: count(&|f| !out.is_input(f) && f.level == Level::Warning),
        incomplete: count(&|f| out.is_input(f)),
        ..Counts::default()
    };
    out
}

fn cause(id: &str, own: &[&Finding], known: Option<&Cause>) -> Cause {
    let files: BTreeSet<PathBuf> = own.iter().map(|finding| finding.full_path()).collect();
    let first = own[0];
    let made = || Cause {
        id: id.into(),
        kind: CauseKind::Finding,
        title: format!("{}: {}", show_path(&first.file.path), first.message),
        rule: first.rule.clone(),
        level: first.level,
        findings: 0,
        files: 0,
        roots: 0,
        symbols: 0,
        places: places(own),
        group: None,
        fix: Vec::new(),
        evidence: Vec::new(),
    };
    let symbols: BTreeSet<&[u8]> = own.iter().filter_map(|f| f.symbol.as_deref()).collect();
    let level = own.iter().map(|finding| finding.level).max().unwrap_or(first.level);
    Cause {
        findings: own.len(),
        files: files.len(),
        symbols: symbols.len(),
        level,
        group: None,
        ..known.cloned().unwrap_or_else(made)
    }
}

/// The directories of the findings, below their prefixes.
fn places(own: &[&Finding]) -> Vec<AffectedDirectory> {
    let mut directories: BTreeMap<PathBuf, (BTreeSet<PathBuf>, usize)> = BTreeMap::new();
    for finding in own {
        let path = finding.full_path();
        let directory = path.parent().map(PathBuf::from).unwrap_or_default();
        let (files, findings) = directories.entry(directory).or_default();
        files.insert(path);
        *findings += 1;
    }
    let place = |(path, (files, findings)): (PathBuf, (BTreeSet<PathBuf>, usize))| {
        AffectedDirectory { path, files: files.len(), findings }
    };
    directories.into_iter().map(place).collect()
}
