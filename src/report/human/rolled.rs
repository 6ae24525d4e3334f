//! The body of an entry for a group of causes in one directory: files and symbols, with counts.

use crate::demangle::demangle;
use crate::order::Arrange as _;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, count, name, some};
use crate::text::{show, show_path};
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io;
use std::path::Path;

/// Maximum number of files that are listed for an entry.
const MOST_FILES: usize = 8;
/// Maximum number of symbols that are listed for an entry. If only one symbol would be hidden, all
/// are listed.
const MOST_SYMBOLS: usize = 6;

/// Writes the files and symbols of an entry. If its findings have no symbols, writes each file with
/// the message of its first finding.
pub(super) fn rolled(entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
    let directory = entry.group.and_then(|group| group.directory.as_deref());
    let below = |path: &Path| {
        let below = directory.and_then(|directory| path.strip_prefix(directory).ok());
        show_path(below.unwrap_or(path))
    };
    let mut by_symbol: BTreeMap<&[u8], usize> = BTreeMap::new();
    for symbol in entry.findings.iter().filter_map(|finding| finding.symbol.as_deref()) {
        *by_symbol.entry(symbol).or_default() += 1;
    }
    let mut files = entry.files();
    files.arrange_by_key(|(_, findings)| Reverse(*findings));
    if by_symbol.is_empty() {
        for (first, findings) in files.iter().take(MOST_FILES) {
            let more = match findings - 1 {
                0 => String::new(),
                n => format!(" and {}", count(n, "more finding", "more findings")),
            };
            let file = name(&below(&first.full_path()));
            page.item("in", &format!("{file}: {}{more}", first.message))?;
        }
        return page.more(files.len().saturating_sub(MOST_FILES), "file", "files");
    }
    let number = |(first, findings): &(&crate::report::model::ReportFinding, usize)| {
        format!("{} ({findings})", below(&first.full_path()))
    };
    let names: Vec<String> = files.iter().map(number).collect();
    page.item("files", &some(&names, MOST_FILES))?;
    let mut symbols: Vec<(&[u8], usize)> = by_symbol.into_iter().collect();
    symbols.arrange_by_key(|(_, files)| Reverse(*files));
    let symbol = |(raw, files): &(&[u8], usize)| match files {
        1 => readable(raw),
        n => format!("{} ({n} files)", readable(raw)),
    };
    let names: Vec<String> = symbols.iter().take(MOST_SYMBOLS + 1).map(symbol).collect();
    let hidden = symbols.len().saturating_sub(names.len());
    let more = if hidden > 0 { format!(" and {} more", hidden + 1) } else { String::new() };
    let shown = if hidden > 0 { &names[..MOST_SYMBOLS] } else { &names[..] };
    page.item("symbols", &format!("{}{more}", some(shown, shown.len())))
}

fn readable(raw: &[u8]) -> String {
    demangle(raw).unwrap_or_else(|| show(raw))
}
