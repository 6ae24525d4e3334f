//! The effects of waivers and a baseline, for people. The summary has counts, and all stale lines
//! of the baseline. With `-v`, the waived findings are listed too.

use super::Style;
use super::entry::Entries;
use super::layout::{LabelledLines, count, name, wrap};
use super::model::{Report, ReportWaiver, StaleLine, WaivedFinding};
use crate::demangle::demangle;
use crate::text::show;
use std::io::{self, Write};

/// Width in columns of the indent and the word `by` before the file of a waiver.
const BY: usize = 7;

/// With `-v`, writes the waived findings before the summary.
pub(super) fn list(
    report: &Report,
    entries: &Entries<'_>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let waived = &report.waived;
    if !style.verbose || waived.is_empty() {
        return Ok(());
    }
    for WaivedFinding { finding, waiver } in waived {
        let tag = format!("waived[{}]", finding.rule);
        let symbol = finding.symbol.as_deref().and_then(demangle);
        let symbol = symbol.map(|text| name(&format!("[{text}]"))).map(|text| format!(" {text}"));
        let symbol = symbol.unwrap_or_default();
        let text = format!("{}{symbol}", finding.message);
        LabelledLines::new(style, out).heading(("2", &tag), &entries.file(finding), &text)?;
        let reason =
            waiver.reason.as_deref().map(|reason| format!(": {}", show(reason.as_bytes())));
        let text = format!("{}{}", name(&place(waiver)), reason.unwrap_or_default());
        for (at, line) in wrap(&text, style.columns(), BY, BY).iter().enumerate() {
            let by = if at == 0 { style.dim("by") } else { "  ".to_owned() };
            writeln!(out, "    {by} {line}")?;
        }
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
        let all = report.stale_lines();
        writeln!(out, "{lines}{}", absent(&all))?;
        for (line, reason) in all {
            writeln!(out, "    line {}: {}", line.line, line.words(reason.as_deref()))?;
        }
    }
    if style.verbose && counts.unused_elsewhere > 0 {
        let n = counts.unused_elsewhere;
        let what = count(n, "unused waiver or baseline line", "unused waivers and baseline lines");
        writeln!(out, "{what} for files that were not audited")?;
    }
    Ok(())
}

/// The end of the sentence about stale lines: how many of their findings no longer occur. The list
/// below the sentence has the reasons for the other lines.
fn absent(stale: &[(&StaleLine, Option<String>)]) -> String {
    let is_absent = |(_, reason): &&(&StaleLine, Option<String>)| reason.is_none();
    let absent: Vec<_> = stale.iter().filter(is_absent).collect();
    let is_all = absent.len() == stale.len();
    let what = match absent.len() {
        0 => return String::new(),
        1 if is_all => "its finding no longer occurs".to_owned(),
        _ if is_all => "their findings no longer occur".to_owned(),
        n => count(n, "finding no longer occurs", "findings no longer occur"),
    };
    let gone = match absent.iter().filter(|(line, _)| line.gone).count() {
        0 => String::new(),
        1 if stale.len() == 1 => ", because the file is gone".to_owned(),
        gone => format!(", {gone} because the file is gone"),
    };
    format!(": {what}{gone}")
}

/// The file of the waiver, with its line if it has one.
fn place(waiver: &ReportWaiver) -> String {
    let source = show(waiver.source.as_bytes());
    waiver.line.map_or(source.clone(), |line| format!("{source}:{line}"))
}
