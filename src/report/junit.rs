//! `junit`: JUnit XML, as Jenkins, GitLab and autopkgtest collect it. A test case is an alert: a
//! cause in one file. An alert of level error is a failure. An alert that makes the run incomplete
//! is an error. A waived alert is skipped. A warning is a passed test that shows the text of the
//! warning, or a failure with `--fail-on warning`. The name of a test case has the path, because
//! the schema of Jenkins' xUnit plugin allows no attribute for the path.

use super::Rendering;
use super::alerts::{self, Alert, FailingLine, STALE_LINE};
use super::model::Report;
use super::style::Style;
use crate::catalogue::Level;
use crate::text::show_path;
use std::collections::BTreeMap;
use std::io::{self, Write};

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let alerts = alerts::all(report);
    let mut suites: BTreeMap<&str, Vec<&Alert<'_>>> = BTreeMap::new();
    for rule in &report.rules {
        suites.insert(&rule.id, Vec::new());
    }
    for alert in &alerts {
        suites.entry(alert.rule).or_default().push(alert);
    }
    let passed = suites.values().filter(|own| own.is_empty()).count();
    let mut total = Counts::of(alerts.iter(), passed, how.style);
    let lines = alerts::failing_lines(report, how);
    total.tests += lines.len();
    total.failures += lines.len();
    writeln!(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>")?;
    writeln!(out, "<testsuites name=\"linkaudit\"{}>", total.attributes(false))?;
    for (rule, own) in &suites {
        let counts = Counts::of(own.iter().copied(), usize::from(own.is_empty()), how.style);
        let attributes = counts.attributes(true);
        writeln!(out, "  <testsuite name=\"{}\"{attributes}>", escaped(rule))?;
        if own.is_empty() {
            // A rule without findings is a passed test.
            writeln!(
                out,
                "    <testcase classname=\"linkaudit.{0}\" name=\"{0}\" time=\"0\"/>",
                escaped(rule)
            )?;
        }
        for alert in own {
            case(alert, how, out)?;
        }
        writeln!(out, "  </testsuite>")?;
    }
    if !lines.is_empty() {
        stale(&lines, out)?;
    }
    writeln!(out, "</testsuites>")
}

/// Writes the lines of the baseline that fail the run, as a suite.
fn stale(lines: &[FailingLine], out: &mut dyn Write) -> io::Result<()> {
    let counts =
        Counts { tests: lines.len(), failures: lines.len(), ..Counts::default() }.attributes(true);
    writeln!(out, "  <testsuite name=\"{STALE_LINE}\"{counts}>")?;
    for line in lines {
        let text = escaped(&line.text);
        writeln!(
            out,
            "    <testcase classname=\"linkaudit.{STALE_LINE}\" name=\"{text}\" time=\"0\">\
             <failure type=\"{STALE_LINE}\" message=\"{text}\">{text}</failure></testcase>"
        )?;
    }
    writeln!(out, "  </testsuite>")
}

fn case(alert: &Alert<'_>, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let path = show_path(&how.paths.relative(&alert.path));
    // A file may have an alert of waived findings and an alert of other findings. These two alerts
    // need different names.
    let rest = if alert.is_rest { " (waived findings)" } else { "" };
    let name = match alert.cause {
        Some(cause) if cause.files > 1 || alert.findings.len() > 1 => {
            format!("{path}: {}{rest}", cause.title)
        }
        _ => format!("{path}: {}{rest}", alert.headline()),
    };
    write!(
        out,
        "    <testcase classname=\"linkaudit.{}\" name=\"{}\" time=\"0\">",
        escaped(alert.rule),
        escaped(&name)
    )?;
    let headline = escaped(&alert.headline());
    let text = escaped(&format!("{path}\n{}", alert.lines().join("\n")));
    match kind(alert, how.style) {
        _ if alert.is_waived() => {
            let why: Vec<&str> = alert.waivers.iter().copied().map(alerts::reason).collect();
            write!(out, "<skipped message=\"waived: {}\"/>", escaped(&why.join("; ")))?;
        }
        CaseKind::Failure => {
            let rule = escaped(alert.rule);
            write!(out, "<failure type=\"{rule}\" message=\"{headline}\">{text}</failure>")?;
        }
        CaseKind::Error => {
            let rule = escaped(alert.rule);
            write!(out, "<error type=\"{rule}\" message=\"{headline}\">{text}</error>")?;
        }
        CaseKind::Passed => write!(out, "<system-out>warning: {text}</system-out>")?,
    }
    writeln!(out, "</testcase>")
}

enum CaseKind {
    Failure,
    Error,
    Passed,
}

fn kind(alert: &Alert<'_>, style: Style) -> CaseKind {
    match alert.level {
        _ if alert.is_input => CaseKind::Error,
        Level::Error => CaseKind::Failure,
        Level::Warning if style.warnings_fail => CaseKind::Failure,
        _ => CaseKind::Passed,
    }
}

#[derive(Default)]
struct Counts {
    tests: usize,
    failures: usize,
    errors: usize,
    skipped: usize,
}

impl Counts {
    fn of<'a>(alerts: impl Iterator<Item = &'a Alert<'a>>, passed: usize, style: Style) -> Self {
        let mut counts = Self { tests: passed, ..Self::default() };
        for alert in alerts {
            counts.tests += 1;
            match kind(alert, style) {
                _ if alert.is_waived() => counts.skipped += 1,
                CaseKind::Failure => counts.failures += 1,
                CaseKind::Error => counts.errors += 1,
                CaseKind::Passed => {}
            }
        }
        counts
    }

    /// The attributes with the counts. Only `testsuite` elements have the attribute `skipped`.
    fn attributes(&self, is_suite: bool) -> String {
        let Self { tests, failures, errors, skipped } = self;
        let skipped = if is_suite { format!(" skipped=\"{skipped}\"") } else { String::new() };
        format!(
            " tests=\"{tests}\" failures=\"{failures}\" errors=\"{errors}\"{skipped} time=\"0\""
        )
    }
}

/// Escapes text for an element, or for an attribute in double quotes. Replaces characters that XML
/// 1.0 does not allow.
fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\n' => out.push_str("&#10;"),
            '\t' | '\r' => out.push(' '),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => out.push('\u{fffd}'),
            other => out.push(other),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::escaped;

    #[test]
    fn nothing_leaves_an_attribute() {
        assert_eq!(escaped("a<b>&\"\n\u{1}"), "a&lt;b&gt;&amp;&quot;&#10;\u{fffd}");
    }
}
