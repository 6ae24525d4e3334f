//! What waivers and a baseline came to, for people: counts in the summary, every waived finding when
//! everything is wanted, and always every line of the baseline that is stale.

use super::{Report, Style};
use crate::demangle::demangle;
use crate::judge::{By, Waived};
use crate::text::{show, show_path};
use std::io::{self, Write};

/// Writes the lines that stand before the summary.
pub(super) fn list(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let waived = &report.verdict.waived;
    if !style.verbose || waived.is_empty() {
        return Ok(());
    }
    for Waived { judged, by } in waived {
        let finding = &judged.finding;
        let tag = style.dim(&format!("waived[{}]", judged.rule.id));
        let path = show_path(&finding.full_path());
        let symbol = finding.symbol.as_deref().and_then(demangle);
        let symbol = symbol.map(|name| format!(" [{name}]")).unwrap_or_default();
        writeln!(out, "{tag} {path}: {}{symbol}", finding.message)?;
        let reason = by.reason.as_deref().map(|reason| format!(": {}", show(reason.as_bytes())));
        writeln!(out, "    {} {}{}", style.dim("by"), place(by), reason.unwrap_or_default())?;
    }
    writeln!(out)
}

/// Writes the lines of the summary.
pub(super) fn count(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let verdict = report.verdict;
    let waived = verdict.waived.len();
    if waived > 0 {
        let by_baseline = verdict.waived.iter().filter(|waived| waived.by.baseline).count();
        writeln!(out, "{waived} waived ({by_baseline} by baseline)")?;
    }
    let stale = verdict.stale.len();
    if stale > 0 {
        let lines = if stale == 1 { "1 line" } else { &format!("{stale} lines") };
        let verb = if stale == 1 { "is" } else { "are" };
        writeln!(out, "{lines} of the baseline {verb} stale: nothing like it is found any more")?;
        for entry in &verdict.stale {
            writeln!(out, "    line {}: {}", entry.line, entry.words())?;
        }
    }
    if style.verbose && verdict.elsewhere > 0 {
        let what = match verdict.elsewhere {
            1 => "1 unused waiver or line of the baseline is".to_owned(),
            many => format!("{many} unused waivers and lines of the baseline are"),
        };
        writeln!(out, "{what} about what was not looked at")?;
    }
    Ok(())
}

/// Where the waiver stands.
fn place(by: &By) -> String {
    let source = show(by.origin.source.as_bytes());
    if by.origin.line == 0 { source } else { format!("{source}:{}", by.origin.line) }
}
