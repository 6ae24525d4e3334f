//! `markdown`: a page for a pull request or release notes. It has a table of all causes. The first
//! causes also have a collapsed section with files, findings and fix.

use super::Rendering;
use super::alerts::{self, Alert, FailingLine};
use super::layout::count;
use super::model::{Cause, Report};
use super::summary;
use crate::id::FastMap;
use crate::text::show_path;
use std::io::{self, Write};

/// Upper bound for the causes with a section. A comment on GitHub has at most 65,536 characters.
const MOST: usize = 50;
/// Upper bound for the files shown for one cause.
const MOST_FILES: usize = 20;

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    page(report, None, "", how, out)
}

/// Writes the page. The heading has `result`, or the counts if `result` is `None`. `more` is the
/// paragraph below the heading; empty for none.
pub(crate) fn page(
    report: &Report,
    result: Option<&str>,
    more: &str,
    how: &Rendering<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let alerts = alerts::reported(report);
    let lines = alerts::failing_lines(report, how);
    let mut of_cause: FastMap<&str, Vec<&Alert<'_>>> = FastMap::default();
    for alert in &alerts {
        if let Some(cause) = alert.cause {
            of_cause.entry(&*cause.id).or_default().push(alert);
        }
    }
    let result = result.map_or_else(|| outcome(report, lines.len()), str::to_owned);
    writeln!(out, "## linkaudit: {result}\n")?;
    if !more.is_empty() {
        writeln!(out, "{more}\n")?;
    }
    writeln!(out, "{} audited.", summary::audited(report))?;
    if report.counts.waived > 0 {
        writeln!(out, "{} waived.", count(report.counts.waived, "finding is", "findings are"))?;
    }
    stale(&lines, out)?;
    if report.causes.is_empty() {
        return Ok(());
    }
    writeln!(out, "\n| | rule | cause | files | findings |\n| --- | --- | --- | ---: | ---: |")?;
    for cause in &report.causes {
        let level = of_cause.get(&*cause.id).map_or(cause.level.name(), |own| level(own));
        let (title, files, findings) = (cell(&cause.title), cause.files, cause.findings);
        writeln!(out, "| {level} | `{}` | {title} | {files} | {findings} |", cause.rule)?;
    }
    for cause in report.causes.iter().take(MOST) {
        section(cause, of_cause.get(&*cause.id).map_or(&[][..], |own| own), how, out)?;
    }
    if report.causes.len() > MOST {
        writeln!(out, "\nDetails of {} more causes are left out.", report.causes.len() - MOST)?;
    }
    Ok(())
}

/// Writes the lines of the baseline that fail the run.
fn stale(lines: &[FailingLine], out: &mut dyn Write) -> io::Result<()> {
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "\nStale lines of the baseline fail the run:\n")?;
    for line in lines.iter().take(MOST) {
        writeln!(out, "- {}", cell(&line.text))?;
    }
    if lines.len() > MOST {
        writeln!(out, "- and {} more", lines.len() - MOST)?;
    }
    Ok(())
}

/// The counts of findings by level, and the number of stale baseline lines that fail the run.
fn outcome(report: &Report, stale: usize) -> String {
    let counts = &report.counts;
    let mut parts = Vec::new();
    for (number, one, many) in [
        (counts.errors, "error", "errors"),
        (counts.warnings, "warning", "warnings"),
        (counts.incomplete, "item unread or undecided", "items unread or undecided"),
        (stale, "stale baseline line", "stale baseline lines"),
    ] {
        if number > 0 {
            parts.push(count(number, one, many));
        }
    }
    if parts.is_empty() { "no findings".to_owned() } else { parts.join(", ") }
}

fn level(alerts: &[&Alert<'_>]) -> &'static str {
    let highest = alerts.iter().max_by_key(|alert| alert.severity());
    highest.map_or("error", |alert| alert.level_name())
}

fn section(
    cause: &Cause,
    alerts: &[&Alert<'_>],
    how: &Rendering<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    writeln!(out, "\n<details><summary>{}</summary>\n", html(&cause.title))?;
    for alert in alerts.iter().take(MOST_FILES) {
        writeln!(out, "- {}", code(&show_path(&how.paths.relative(&alert.path))))?;
        for line in alert.lines() {
            writeln!(out, "  - {}", cell(&line))?;
        }
    }
    if alerts.len() > MOST_FILES {
        writeln!(out, "- and {} more files", alerts.len() - MOST_FILES)?;
    }
    if let Some(fix) = alerts.first().and_then(|alert| alerts::fix_of(alert)) {
        writeln!(out, "\nFix: {}", cell(&fix))?;
    }
    writeln!(out, "\n</details>")
}

/// Text of a cell or list item, with markup escaped.
pub(crate) fn cell(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        match c {
            '|' | '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '~' => out.extend(['\\', c]),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '@' => out.push_str("&#64;"),
            other => out.push(other),
        }
    }
    out
}

fn html(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('@', "&#64;")
}

/// A path as Markdown code. The fence is longer than any run of backticks in the path.
pub(crate) fn code(text: &str) -> String {
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or_default();
    let fence = "`".repeat(longest + 1);
    if longest == 0 { format!("`{text}`") } else { format!("{fence} {text} {fence}") }
}

#[cfg(test)]
mod tests {
    use super::{cell, code};

    #[test]
    fn names_are_no_markup() {
        assert_eq!(cell("a|b_c<T>@v"), "a\\|b\\_c&lt;T&gt;&#64;v");
        assert_eq!(code("a`b"), "`` a`b ``");
    }
}
