//! Alerts: the findings of one cause in one file. Outputs for programs that track findings, such as
//! `sarif`, have one item for each alert, because one cause can have thousands of findings. The
//! fingerprint of an alert depends on the cause and the file, not on the symbols.

use super::model::{Cause, Report, ReportFinding, ReportWaiver, WaivedBy};
use super::{Rendering, repair};
use crate::catalogue::Level;
use crate::demangle::demangle;
use crate::finding::{Fix, FixKind};
use crate::id::{FastMap, FastSet};
use crate::package::{Prefixes, without_hashes};
use crate::text::{show, show_path};
use crate::triage::digest;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Upper bound for the findings in the text of an alert.
const MOST: usize = 10;
/// Length of a fingerprint in hexadecimal digits.
const DIGITS: usize = 32;

/// The findings of one cause in one file.
pub(super) struct Alert<'r> {
    /// The rule of the most severe finding. An error is more severe than a finding that makes the
    /// run incomplete, which is more severe than a warning.
    pub(super) rule: &'r str,
    /// The level of the most severe finding.
    pub(super) level: Level,
    /// True if the most severe finding makes the run incomplete.
    pub(super) is_input: bool,
    /// The full path of the file, in the audited system.
    pub(super) path: PathBuf,
    pub(super) cause: Option<&'r Cause>,
    /// The findings, at least one, in the order of the report.
    pub(super) findings: Vec<&'r ReportFinding>,
    /// The waivers of the findings, one for each reason; empty if the findings are not waived. The
    /// findings of an alert are all waived, or none is.
    pub(super) waivers: Vec<&'r ReportWaiver>,
    /// True if the findings are waived, and the report also has findings of this cause and file
    /// that are not waived.
    pub(super) is_rest: bool,
    /// The fingerprint of the cause and the file, unique in the report.
    pub(super) fingerprint: String,
}

impl Alert<'_> {
    /// True if the findings are waived.
    pub(super) fn is_waived(&self) -> bool {
        !self.waivers.is_empty()
    }

    /// Summarises the findings in one line.
    pub(super) fn headline(&self) -> String {
        match (&*self.findings, self.cause) {
            ([one], _) => one.message.clone(),
            ([first, ..], Some(cause)) if cause.files > 1 => {
                format!(
                    "{} ({} findings here: {}, ...)",
                    cause.title,
                    self.findings.len(),
                    first.message
                )
            }
            ([first, rest @ ..], _) => format!("{}, and {} more", first.message, rest.len()),
            ([], _) => String::new(),
        }
    }

    /// The findings, one per line: at most [`MOST`], then the number of the other findings.
    pub(super) fn lines(&self) -> Vec<String> {
        let mut lines: Vec<String> = self.findings.iter().take(MOST).map(|f| sentence(f)).collect();
        if self.findings.len() > MOST {
            lines.push(format!("and {} more", self.findings.len() - MOST));
        }
        lines
    }

    /// The severity of the most severe finding, as a key for sorting.
    pub(super) fn severity(&self) -> (bool, bool, Level) {
        severity(self.is_input, self.level)
    }

    /// `error`, `warning` or `incomplete`.
    pub(super) fn level_name(&self) -> &'static str {
        if self.is_input { "incomplete" } else { self.level.name() }
    }
}

/// The severity of a finding, for sorting: warnings first, then findings that make the run
/// incomplete, then errors.
fn severity(is_input: bool, level: Level) -> (bool, bool, Level) {
    (!is_input && level == Level::Error, is_input, level)
}

/// The reason of a waiver. A baseline line without a reason gets a general text.
pub(super) fn reason(waiver: &ReportWaiver) -> &str {
    waiver.reason.as_deref().unwrap_or("known finding of the baseline")
}

/// The message of a finding, followed by the demangled name of its symbol if the message lacks this
/// name.
pub(super) fn sentence(finding: &ReportFinding) -> String {
    match finding.symbol.as_deref().and_then(demangle) {
        Some(name) if !finding.message.contains(&name) => format!("{} ({name})", finding.message),
        _ => finding.message.clone(),
    }
}

/// The alerts of the reported findings, in the order of their first findings.
pub(super) fn reported(report: &Report) -> Vec<Alert<'_>> {
    group(report, report.findings.iter().map(|finding| (finding, None)))
}

/// The alerts of the reported findings, then the alerts of the waived findings.
pub(super) fn all(report: &Report) -> Vec<Alert<'_>> {
    let waived = report.waived.iter().map(|waived| (&waived.finding, Some(&*waived.waiver)));
    group(report, report.findings.iter().map(|finding| (finding, None)).chain(waived))
}

/// A line of the baseline that fails the run, because it is stale.
pub(super) struct FailingLine {
    /// The path of the file as in other alerts. If the full path is not known, the path in the
    /// line, which is relative to its prefix.
    pub(super) path: String,
    /// The number of the line, and its rule, path and name.
    pub(super) text: String,
    pub(super) fingerprint: String,
}

/// The rule of outputs for lines of the baseline that fail the run.
pub(super) const STALE_LINE: &str = "stale-baseline-line";

/// The lines of the baseline that fail the run, in file order.
pub(super) fn failing_lines(report: &Report, how: &Rendering<'_>) -> Vec<FailingLine> {
    let lines = report.stale_lines();
    let failing = lines.iter().filter(|(line, _)| how.style.fails(line));
    let failing = failing.map(|(line, reason)| FailingLine {
        path: match &line.file {
            Some(file) => show_path(&how.paths.relative(file)),
            None => show(&line.path),
        },
        text: format!("line {} of the baseline: {}", line.line, line.words(reason.as_deref())),
        fingerprint: digest(
            &[STALE_LINE.as_bytes(), line.fingerprint.as_bytes(), &line.line.to_le_bytes()],
            DIGITS,
        ),
    });
    failing.collect()
}

fn group<'r>(
    report: &'r Report,
    findings: impl Iterator<Item = (&'r ReportFinding, Option<&'r ReportWaiver>)>,
) -> Vec<Alert<'r>> {
    let inputs: FastSet<&str> =
        report.rules.iter().filter(|rule| rule.input).map(|rule| &*rule.id).collect();
    let causes: FastMap<&str, &Cause> =
        report.causes.iter().map(|cause| (&*cause.id, cause)).collect();
    let mut places: FastMap<(&str, Option<&Path>, &Path, bool), usize> = FastMap::default();
    let mut reasons: FastSet<(usize, bool, &str)> = FastSet::default();
    let mut alerts: Vec<Alert<'_>> = Vec::new();
    for (finding, waiver) in findings {
        let file = &*finding.file;
        let key = |is_waived| (&*finding.cause, file.prefix.as_deref(), &*file.path, is_waived);
        let is_input = inputs.contains(&*finding.rule);
        // Callers pass the findings without a waiver first.
        let is_rest = waiver.is_some() && places.contains_key(&key(false));
        let at = *places.entry(key(waiver.is_some())).or_insert_with(|| {
            alerts.push(Alert {
                rule: &finding.rule,
                level: finding.level,
                is_input,
                path: finding.full_path(),
                cause: causes.get(&*finding.cause).copied(),
                findings: Vec::new(),
                waivers: Vec::new(),
                is_rest,
                fingerprint: String::new(),
            });
            alerts.len() - 1
        });
        let alert = &mut alerts[at];
        if severity(is_input, finding.level) > severity(alert.is_input, alert.level) {
            (alert.rule, alert.level, alert.is_input) = (&finding.rule, finding.level, is_input);
        }
        alert.findings.push(finding);
        if let Some(waiver) = waiver
            && reasons.insert((at, waiver.by == WaivedBy::Policy, reason(waiver)))
        {
            alert.waivers.push(waiver);
        }
    }
    let mut known = FastMap::default();
    for alert in &mut alerts {
        let print = fingerprint(alert.findings[0]);
        let same: &mut usize = known.entry(print.clone()).or_default();
        alert.fingerprint = if *same == 0 {
            print
        } else {
            digest(&[print.as_bytes(), &same.to_le_bytes()], DIGITS)
        };
        *same += 1;
    }
    alerts
}

/// The fingerprint of the alert to which a finding belongs. It covers the cause, the package and
/// the path.
fn fingerprint(finding: &ReportFinding) -> String {
    let prefix = finding.file.prefix.as_deref();
    let package = prefix.map(|prefix| Prefixes::package(prefix).name).unwrap_or_default();
    let path = finding.file.path.as_os_str().as_bytes();
    digest(
        &[finding.cause.as_bytes(), package.as_bytes(), &without_hashes(without_release(path))],
        DIGITS,
    )
}

/// A path up to the first number after `.so.`: `libMIOpen.so.1` for `libMIOpen.so.1.0.60202`. A new
/// release changes the other numbers.
fn without_release(path: &[u8]) -> &[u8] {
    let Some(at) = memchr::memmem::rfind(path, b".so.") else { return path };
    let from = at + ".so.".len();
    let end = path[from..].iter().position(|byte| *byte == b'.').map_or(path.len(), |at| from + at);
    if path[from..].contains(&b'/') { path } else { &path[..end] }
}

/// A fix for the alert, in one line; `None` if no fix is known. Outputs with alerts do not write
/// the report's list of fixes.
pub(super) fn fix_of(alert: &Alert<'_>) -> Option<String> {
    let mut of_findings = alert.findings.iter().map(|finding| &finding.fix[..]);
    let own = of_findings.find(|fixes| !fixes.is_empty()).unwrap_or_default();
    let is_of_path = |fix: &Fix| {
        use FixKind::{AddSearchPath, DropSearchEntry, SetSearchTag};
        matches!(fix.intent, AddSearchPath | DropSearchEntry | SetSearchTag)
    };
    // Changes of search paths work only together, so the text has all of them.
    if own.len() > 1 && own.iter().all(is_of_path) {
        let sentences: Vec<String> = own.iter().filter_map(repair::sentence).collect();
        return Some(sentences.join(", "));
    }
    let of_cause = alert.cause.and_then(|cause| cause.fix.first());
    repair::sentence(of_cause.or(own.first())?)
}

#[cfg(test)]
mod tests {
    use super::{Level, severity, without_release};

    #[test]
    fn a_warning_does_not_hide_an_incomplete_audit() {
        let (warning, error) = (Level::Warning, Level::Error);
        let order = [(false, warning), (true, warning), (true, error), (false, error)];
        let order = order.map(|(is_input, level)| severity(is_input, level));
        assert!(order.is_sorted_by(|a, b| a < b), "{order:?}");
    }

    #[test]
    fn a_release_does_not_change_a_fingerprint() {
        for (path, stable) in [
            ("lib/libMIOpen.so.1.0.60202", "lib/libMIOpen.so.1"),
            ("lib/libfoo.so.1", "lib/libfoo.so.1"),
            ("lib/libfoo.so", "lib/libfoo.so"),
            ("lib/a.so.d/b.c", "lib/a.so.d/b.c"),
            ("lib/a.so.1.d/b", "lib/a.so.1.d/b"),
        ] {
            assert_eq!(without_release(path.as_bytes()), stable.as_bytes(), "{path}");
        }
    }
}
