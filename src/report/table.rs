//! `table`: one row for each file and rule, for an overview of many findings. Evidence is left to
//! `human`; the summary comes last as there. Where there is no terminal the width is always the same.

use super::model::{Facts, Finding, Report};
use super::{Style, summary};
use crate::catalogue::Level;
use crate::demangle::demangle;
use crate::text::{show, show_path};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use std::io::{self, Write};
use std::path::Path;

/// Symbols in one cell unless everything is wanted.
const MOST: usize = 20;
/// Blanks around the text of a cell.
const PADDING: usize = 2;
/// Columns of the longest names of levels and rules, with their blanks.
const NAMES: usize = 32;
/// Columns between which a table still reads well.
const WIDTHS: (usize, usize) = (60, 160);

pub(super) fn render(
    report: &Report,
    _: Option<&dyn Facts>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let wanted = |finding: &&Finding| !style.quiet || finding.level == Level::Error;
    let findings: Vec<&Finding> = report.findings.iter().filter(wanted).collect();
    let prefix = only_prefix(&findings);
    if let Some(prefix) = prefix {
        writeln!(out, "{}", style.bold(&format!("in {}", show_path(prefix))))?;
    }
    if !findings.is_empty() {
        let whole = prefix.is_none();
        let rows = findings.chunk_by(|a, b| alike(a, b)).map(|group| {
            let input = group.first().is_some_and(|first| report.is_input(first));
            row(group, input, whole, style)
        });
        write(rows, style, out)?;
        writeln!(out)?;
    }
    summary::write(report, style, out)
}

/// The prefix of all findings, if they have the same.
fn only_prefix<'a>(findings: &[&'a Finding]) -> Option<&'a Path> {
    let prefix = |finding: &&'a Finding| finding.file.prefix.as_deref();
    let first = findings.first().and_then(prefix)?;
    findings.iter().all(|finding| prefix(finding) == Some(first)).then_some(first)
}

fn alike(a: &Finding, b: &Finding) -> bool {
    a.rule == b.rule && a.file == b.file && a.level == b.level
}

fn row(group: &[&Finding], input: bool, whole: bool, style: Style) -> [String; 4] {
    let first = group[0];
    let level = match (input, first.level) {
        (true, _) => "incomplete",
        (false, Level::Error) => "error",
        (false, Level::Warning | Level::Allow) => "warning",
    };
    let place = &first.file.path;
    let file = if whole { show_path(&first.full_path()) } else { show_path(place) };
    let most = if style.verbose { usize::MAX } else { MOST };
    let mut lines: Vec<String> = group.iter().take(most).map(|finding| line(finding)).collect();
    if group.len() > most {
        lines.push(format!("… and {} more (-v shows all)", group.len() - most));
    }
    let file = folded(&file, file_width(style).saturating_sub(PADDING));
    [level.to_owned(), first.rule.clone().into_owned(), file, lines.join("\n")]
}

/// One finding in one line.
fn line(finding: &Finding) -> String {
    let Some(raw) = &finding.symbol else { return finding.message.clone() };
    let name = demangle(raw).unwrap_or_else(|| show(raw));
    match &finding.version {
        Some(version) => format!("{name}@{}", show(version)),
        None => name,
    }
}

fn width(style: Style) -> usize {
    style.columns().clamp(WIDTHS.0, WIDTHS.1)
}

/// The widest that the column of files becomes: half of what levels and rules leave.
fn file_width(style: Style) -> usize {
    width(style).saturating_sub(NAMES) / 2
}

/// A path in lines of at most `width`, each but the last with its slash at the end.
fn folded(path: &str, width: usize) -> String {
    let mut out = String::with_capacity(path.len());
    let mut here = 0;
    for part in path.split_inclusive('/') {
        let len = part.chars().count();
        if here > 0 && here + len > width {
            out.push('\n');
            here = 0;
        }
        out.push_str(part);
        here += len;
    }
    out
}

fn write(
    rows: impl Iterator<Item = [String; 4]>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(width(style)).unwrap_or(u16::MAX))
        .set_header(["level", "rule", "file", "finding"])
        .add_rows(rows);
    let file = Width::Fixed(u16::try_from(file_width(style)).unwrap_or(u16::MAX));
    let constraints = [
        ColumnConstraint::ContentWidth,
        ColumnConstraint::ContentWidth,
        ColumnConstraint::UpperBoundary(file),
    ];
    table.set_constraints(constraints);
    for line in table.lines() {
        writeln!(out, "{}", coloured(line.trim_end(), style))?;
    }
    Ok(())
}

/// The level at the begin of a row in its colour. The table knows no colours: it would count them.
fn coloured(line: &str, style: Style) -> String {
    let levels = [("error", "1;31"), ("warning", "1;33"), ("incomplete", "1;35")];
    for (word, code) in levels {
        if let Some(rest) = line.trim_start().strip_prefix(word)
            && rest.starts_with(' ')
        {
            let indent = &line[..line.len() - rest.len() - word.len()];
            return format!("{indent}{}{rest}", style.paint(code, word));
        }
    }
    line.to_owned()
}

#[cfg(test)]
mod tests {
    use super::folded;

    #[test]
    fn no_slash_is_lost() {
        assert_eq!(folded("/nix/store/item/lib/a.so", 12), "/nix/store/\nitem/lib/\na.so");
        assert_eq!(folded("lib/a.so", 40), "lib/a.so");
        assert_eq!(folded("a-very-long-name.so", 4), "a-very-long-name.so");
    }
}
