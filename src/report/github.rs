//! `github`: workflow commands that GitHub Actions shows as annotations. GitHub shows ten errors
//! and ten warnings for each step, so an annotation covers all findings of a cause in one file. If
//! a level has more than ten annotations, the tenth one gives the number of findings that are not
//! shown.

use super::Rendering;
use super::alerts::{self, Alert, STALE_LINE};
use super::model::Report;
use crate::catalogue::Level;
use crate::text::show_path;
use std::io::{self, Write};

/// Maximum number of annotations of one level that GitHub shows for a step.
const MOST: usize = 10;

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let alerts = alerts::reported(report);
    for (command, level) in [("error", Level::Error), ("warning", Level::Warning)] {
        let own: Vec<&Alert<'_>> = alerts.iter().filter(|alert| alert.level == level).collect();
        let most = MOST - usize::from(level == Level::Error && stale(report, how, out)?);
        let shown = if own.len() > most { most - 1 } else { own.len() };
        for alert in &own[..shown] {
            let path = show_path(&how.paths.relative(&alert.path));
            let mut lines = alert.lines();
            lines.extend(alerts::fix_of(alert).map(|fix| format!("fix: {fix}")));
            writeln!(
                out,
                "::{command} file={},line=1,title={}::{}",
                property(&path),
                property(&format!("{} (linkaudit)", alert.rule)),
                message(&lines.join("\n"))
            )?;
        }
        if own.len() > shown {
            let rest: usize = own[shown..].iter().map(|alert| alert.findings.len()).sum();
            let text = format!(
                "{rest} more findings in {} more places: see the report of this step",
                own.len() - shown
            );
            writeln!(out, "::{command} title=linkaudit::{}", message(&text))?;
        }
    }
    Ok(())
}

/// Writes one annotation for all lines of the baseline that fail the run. Returns true if there are
/// such lines.
fn stale(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<bool> {
    let lines = alerts::failing_lines(report, how);
    if lines.is_empty() {
        return Ok(false);
    }
    let mut texts: Vec<&str> = lines.iter().take(MOST).map(|line| &*line.text).collect();
    let rest = format!("and {} more", lines.len().saturating_sub(MOST));
    texts.extend((lines.len() > MOST).then_some(&*rest));
    let title = property(&format!("{STALE_LINE} (linkaudit)"));
    writeln!(out, "::error title={title}::{}", message(&texts.join("\n")))?;
    Ok(true)
}

/// Escapes the text of a workflow command.
fn message(text: &str) -> String {
    text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A")
}

/// Escapes the value of a property of a workflow command.
fn property(text: &str) -> String {
    message(text).replace(':', "%3A").replace(',', "%2C")
}

#[cfg(test)]
mod tests {
    use super::property;

    #[test]
    fn a_property_holds_no_separator() {
        assert_eq!(property("a,b:c\n100%"), "a%2Cb%3Ac%0A100%25");
    }
}
