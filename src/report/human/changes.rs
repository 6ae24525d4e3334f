//! Symbols that changed or are gone in a comparison of two reports, and the files that use the
//! symbols or their library.

use super::Sheet;
use crate::demangle::demangle;
use crate::finding::{Evidence, EvidenceKind};
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, name, some};
use crate::text::show;
use std::io;

/// Upper bound for the symbols of one library without `-v`.
const MOST: usize = 12;
/// Upper bound for the users of one library without `-v`.
const MOST_USERS: usize = 5;

impl Sheet<'_> {
    pub(super) fn changes(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let all: Vec<&Evidence> = entry
            .findings
            .iter()
            .flat_map(|finding| finding.evidence_of(EvidenceKind::Change))
            .collect();
        let (symbols, users): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|evidence| evidence.symbol.is_some());
        let users = users.iter().filter_map(|user| user.path.as_deref());
        let names: Vec<String> = users.map(|path| name(&self.entries.short(path))).collect();
        if !names.is_empty() {
            page.item("needed by", &some(&names, page.limit(MOST_USERS)))?;
        }
        let most = page.limit(MOST);
        let same =
            |a: &&Evidence, b: &&Evidence| (&a.symbol, &a.version) == (&b.symbol, &b.version);
        let symbols: Vec<&[&Evidence]> = symbols.chunk_by(same).collect();
        for pieces in symbols.iter().take(most) {
            page.item(label(pieces[0]), &self.change(pieces))?;
        }
        page.more(symbols.len().saturating_sub(most), "symbol", "symbols")
    }

    /// The text about one symbol: its name, its change, the first file that uses it, and how many
    /// other files use it.
    fn change(&self, pieces: &[&Evidence]) -> String {
        let change = pieces[0];
        let raw = change.symbol.as_deref().unwrap_or_default();
        let mut text = demangle(raw).unwrap_or_else(|| show(raw));
        if let Some(version) = &change.version {
            text = format!("{text}, version {}", show(version));
        }
        if label(change) == "changed"
            && let Some(reason) = &change.reason
        {
            text = format!("{text}: {reason}");
        }
        match change.path.as_deref() {
            Some(path) => {
                let others = match pieces.len() - 1 {
                    0 => String::new(),
                    count => format!(" and {count} more"),
                };
                format!("{text} (used by {}{others})", name(&self.entries.short(path)))
            }
            None => text,
        }
    }
}

fn label(change: &Evidence) -> &'static str {
    if change.reason.as_deref() == Some("gone") { "gone" } else { "changed" }
}
