//! `checklist`: a Markdown task list for an issue or a pull request. Each cause is one task, with
//! its fixes below. If a cause has several findings, their files are listed too.

use super::{Emission, Emitted};
use crate::id::FastMap;
use crate::report::markdown::{cell, code};
use crate::report::model::{Cause, ReportFinding};
use crate::report::repair;
use crate::text::show_path;
use std::fmt::Write as _;
use std::path::Path;

/// Maximum number of fixes, and of files, that are listed for one cause.
const MOST: usize = 20;

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let report = emission.report;
    let mut of_cause: FastMap<&str, Vec<&ReportFinding>> = FastMap::default();
    for finding in &report.findings {
        of_cause.entry(&*finding.cause).or_default().push(finding);
    }
    let mut text = String::new();
    for cause in &report.causes {
        let findings = of_cause.get(&*cause.id).map(Vec::as_slice).unwrap_or_default();
        let input = findings.iter().any(|finding| report.is_input(finding));
        item(cause, findings, input, &mut text);
    }
    Emitted { bytes: text.into_bytes(), ..Emitted::default() }
}

fn item(cause: &Cause, findings: &[&ReportFinding], is_input: bool, out: &mut String) {
    let level = if is_input { "undecided" } else { cause.level.name() };
    let _ = writeln!(out, "- [ ] {level} `{}`: {}", cause.rule, cell(&cause.title));
    let mut known: Vec<String> = Vec::new();
    for fix in findings.iter().flat_map(|finding| &finding.fix) {
        let Some(sentence) = repair::sentence(fix) else { continue };
        if !known.contains(&sentence) {
            known.push(sentence);
        }
    }
    let shown = known.iter().map(|sentence| cell(sentence));
    lines("fix", "fixes", shown, out);
    // The title of a cause with one finding already has the path.
    if findings.len() > 1 {
        let mut files: Vec<&Path> = findings.iter().map(|f| f.file.path.as_path()).collect();
        files.dedup();
        let files = files.into_iter().map(|path| format!("in {}", code(&show_path(path))));
        lines("file", "files", files, out);
    }
}

/// Writes the first [`MOST`] lines, and the number of the other lines. `one` and `many` are the
/// noun for a line in singular and plural.
fn lines(one: &str, many: &str, all: impl ExactSizeIterator<Item = String>, out: &mut String) {
    let hidden = all.len().saturating_sub(MOST);
    for line in all.take(MOST) {
        let _ = writeln!(out, "  - {line}");
    }
    if hidden > 0 {
        let _ = writeln!(out, "  - and {}", crate::report::count(hidden, one, many));
    }
}
