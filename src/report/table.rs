//! `table`: one row for each cause or group of causes, as an overview of many findings. The table
//! has no evidence. The summary comes last, as in `human`.

use super::entry::{Entries, ReportEntry};
use super::layout::count;
use super::model::{AffectedDirectory, CauseKind, Report, ReportFinding};
use super::{Rendering, Style, summary};
use crate::demangle::demangle;
use crate::text::{show, show_path};
use comfy_table::{ColumnConstraint, ContentArrangement, Table, Width, presets};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Upper bound for the symbols in one cell without `-v`.
const MOST: usize = 20;
/// Upper bound for the files, or directories of files, in one cell without `-v`.
const MOST_FILES: usize = 6;
/// Number of blanks around the text of a cell, on both sides together.
const PADDING: usize = 2;
/// Width of the columns for level and rule, in characters: the longest names, with padding.
const NAMES: usize = 32;
/// Minimum and maximum width of a table, in characters.
const WIDTHS: (usize, usize) = (60, 160);

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let style = how.style;
    let entries = Entries::of(report, style);
    if let Some(prefix) = entries.prefix {
        writeln!(out, "{}", style.bold(&format!("in {}", show_path(prefix))))?;
    }
    if !entries.all.is_empty() {
        write(entries.all.iter().map(|entry| row(&entries, entry, style)), style, out)?;
        writeln!(out)?;
    }
    summary::write(report, &entries, style, out)?;
    summary::next(&entries, style, out)
}

fn row(entries: &Entries<'_>, entry: &ReportEntry<'_>, style: Style) -> [String; 4] {
    let (_, level) = entry.level_name();
    let (most, most_files) =
        if style.verbose { (usize::MAX, usize::MAX) } else { (MOST, MOST_FILES) };
    let place = |text: &str| folded(text, file_width(style).saturating_sub(PADDING));
    let files = entry.files();
    let names = if files.len() <= most_files {
        files.iter().map(|(file, _)| place(&entries.file(file))).collect()
    } else {
        directories(entries, entry, most_files, &place)
    };
    let mut known: BTreeSet<String> = BTreeSet::new();
    let mut lines: Vec<String> = match entry.cause.kind {
        CauseKind::LibraryNotFound => vec![entry.cause.title.clone()],
        _ => entry.findings.iter().map(|f| line(f)).filter(|l| known.insert(l.clone())).collect(),
    };
    let hidden = more(lines.len(), most);
    lines.truncate(most);
    lines.extend(hidden);
    [level.to_owned(), entry.cause.rule.clone().into_owned(), names.join("\n"), lines.join("\n")]
}

/// The lines for an entry with many files: each directory with its number of files.
fn directories(
    entries: &Entries<'_>,
    entry: &ReportEntry<'_>,
    most: usize,
    place: &dyn Fn(&str) -> String,
) -> Vec<String> {
    if let Some(directory) = entry.group.and_then(|group| group.directory.as_deref()) {
        return vec![format!("{} in", entries.files(entry)), place(&entries.short(directory))];
    }
    let places = &entry.cause.places;
    let line = |place_of: &AffectedDirectory| {
        let number = count(place_of.files, "file", "files");
        format!("{number} in\n{}", place(&entries.short(&place_of.path)))
    };
    let mut lines: Vec<String> = places.iter().take(most).map(line).collect();
    lines.extend(more(places.len(), most));
    lines
}

/// The line with the number of hidden items, if any.
fn more(count: usize, most: usize) -> Option<String> {
    (count > most).then(|| format!("… and {} more (-v shows all)", count - most))
}

/// The symbol of a finding with its version. For a finding without a symbol, the message.
fn line(finding: &ReportFinding) -> String {
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

/// Maximum width of the column of files, in columns of text: half of the width that the columns of
/// levels and rules leave.
fn file_width(style: Style) -> usize {
    width(style).saturating_sub(NAMES) / 2
}

/// Breaks a path after slashes into lines of at most `width` columns. A longer component stays
/// whole.
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

/// Colours the level at the start of a row after the layout. The table crate would count colour
/// codes as columns.
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
