//! `gcc`: a line `path: level: message [rule]` for each finding and for each
//! line of the baseline that fails the run, for editors and problem matchers
//! that parse compiler messages.

use super::Rendering;
use super::alerts::{self, STALE_LINE, sentence};
use super::model::Report;
use crate::catalogue::Level;
use crate::text::show_path;
use std::io::{self, Write};

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    for finding in &report.findings {
        let path = show_path(&how.paths.relative(&finding.full_path()));
        let level = if finding.level == Level::Error { "error" } else { "warning" };
        writeln!(out, "{path}: {level}: {} [{}]", sentence(finding), finding.rule)?;
    }
    for line in alerts::failing_lines(report, how) {
        writeln!(out, "{}: error: {} [{STALE_LINE}]", line.path, line.text)?;
    }
    Ok(())
}
