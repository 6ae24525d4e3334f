//! The effects of waivers and a baseline, for people. The summary has counts, and all stale lines
//! of the baseline. With `-v`, the waived findings are listed too.

use super::Style;
use super::layout::count;
use super::model::{Report, ReportWaiver, WaivedFinding};
use crate::demangle::demangle;
use crate::text::{show, show_path};
use std::io::{self, Write};

/// With `-v`, writes the waived findings before the summary.
pub(super) fn list(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let waived = &report.waived;
    if !style.verbose || waived.is_empty() {
        return Ok(());
    }
    for WaivedFinding { finding, waiver } in waived {
        let tag = style.dim(&format!("waived[{}]", finding.rule));
        let path = show_path(&finding.full_path());
        let symbol = finding.symbol.as_deref().and_then(demangle);
        let symbol = symbol.map(|name| format!(" [{name}]")).unwrap_or_default();
        writeln!(out, "{tag} {path}: {}{symbol}", finding.message)?;
        let reason =
            waiver.reason.as_deref().map(|reason| format!(": {}", show(reason.as_bytes())));
        writeln!(out, "    {} {}{}", style.dim("by"), place(waiver), reason.unwrap_or_default())?;
    }
    writeln!(out)
}

/// Writes the lines of the summary: the number of waived findings, and the stale baseline lines.
pub(super) fn totals(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let counts = &report.counts;
    let waived = counts.waived;
    if waived > 0 {
        let by_baseline = counts.waived_by_baseline;
        writeln!(out, "{waived} waived ({by_baseline} by baseline)")?;
    }
    let stale = report.stale.len();
    if stale > 0 {
        let lines = count(stale, "stale baseline line", "stale baseline lines");
        let what = if stale == 1 {
            "its finding no longer occurs"
        } else {
            "their findings no longer occur"
        };
        let gone = report.stale.iter().filter(|line| line.gone).count();
        let gone = match gone {
            0 => String::new(),
            1 if stale == 1 => ", because the file is gone".to_owned(),
            gone => format!(", {gone} because the file is gone"),
        };
        writeln!(out, "{lines}: {what}{gone}")?;
        for entry in &report.stale {
            writeln!(out, "    line {}: {}", entry.line, entry.words())?;
        }
    }
    if style.verbose && counts.unused_elsewhere > 0 {
        let n = counts.unused_elsewhere;
        let what = count(n, "unused waiver or baseline line", "unused waivers and baseline lines");
        writeln!(out, "{what} for files that were not audited")?;
    }
    Ok(())
}

/// The file of the waiver, with its line if it has one.
fn place(waiver: &ReportWaiver) -> String {
    let source = show(waiver.source.as_bytes());
    waiver.line.map_or(source.clone(), |line| format!("{source}:{line}"))
}
