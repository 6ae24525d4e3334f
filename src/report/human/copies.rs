//! Writes the lines about files of one process that are copies of a library or define the same
//! symbols. Also writes the lines about references that bind to another library's definition.

use super::Sheet;
use crate::demangle::demangle;
use crate::finding::{Evidence, EvidenceKind};
use crate::order;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, name};
use crate::text::{show, show_path};
use std::io;

/// Maximum number of symbols, and of files that use them, that are listed without `-v`.
const MOST: usize = 8;

impl Sheet<'_> {
    pub(super) fn copies(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let bound: Vec<&Evidence> = self.entries.evidence(entry, EvidenceKind::Bound);
        for (at, copy) in self.entries.evidence(entry, EvidenceKind::Copy).iter().enumerate() {
            let Some(path) = copy.path.as_deref() else { continue };
            let label = match (bound.is_empty(), at) {
                (true, _) => "loaded",
                (false, 0) => "bound to",
                (false, _) => "instead of",
            };
            let file = name(&self.entries.short(path));
            let why = copy.reason.as_deref().map(|why| format!(" ({})", self.in_prefix(why)));
            let why = why.unwrap_or_default();
            page.item(label, &format!("{file}{why}"))?;
        }
        for loading in self.entries.evidence(entry, EvidenceKind::MayLoad) {
            let Some((path, library)) = loading.path.as_deref().zip(loading.name.as_deref()) else {
                continue;
            };
            let file = name(&self.entries.short(path));
            page.item("may load", &format!("{} by {file} (dlopen)", show(library)))?;
        }
        // If there is only one symbol, the heading names it.
        if bound.len() > 1 {
            symbols(&bound, page)?;
        }
        if bound.is_empty() { Ok(()) } else { self.users(entry, &bound, page) }
    }

    /// Writes the files that refer to the symbols. If there is only one such file, its path is in
    /// `bound`, and the findings have no evidence of the kind `Reference`.
    fn users(
        &self,
        entry: &ReportEntry<'_>,
        bound: &[&Evidence],
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let references = self.entries.evidence(entry, EvidenceKind::Reference);
        let (listed, all) = listed(if references.is_empty() { bound } else { &references });
        let paths = order::set(listed.iter().filter_map(|one| one.path.as_deref()));
        let names = paths.iter().map(|path| name(&self.entries.short(path)));
        let shown: Vec<String> = names.take(page.limit(MOST)).collect();
        page.item("used in", &shown.join(", "))?;
        let unlisted = if references.is_empty() { 0 } else { all - listed.len() };
        page.more_of((shown.len(), paths.len(), paths.len() + unlisted), "file", "files")
    }

    /// The text with paths relative to the prefix that all findings share.
    fn in_prefix(&self, text: &str) -> String {
        match self.entries.prefix {
            Some(prefix) => text.replace(&format!(" {}/", show_path(prefix)), " "),
            None => text.to_owned(),
        }
    }
}

/// Writes the symbols in one line. With `-v`, or if a symbol has a demangled name or sizes, each
/// symbol has its own line.
fn symbols(bound: &[&Evidence], page: &mut LabelledLines<'_>) -> io::Result<()> {
    let (listed, all) = listed(bound);
    let shown = &listed[..listed.len().min(page.limit(MOST))];
    let is_plain = |reference: &&Evidence| {
        let raw = reference.symbol.as_deref().unwrap_or_default();
        reference.reason.is_none() && demangle(raw).is_none()
    };
    if page.style.verbose || !shown.iter().all(is_plain) {
        shown.iter().try_for_each(|reference| page.item("symbol", &symbol(reference)))?;
    } else {
        let names: Vec<String> = shown.iter().map(|reference| name(&symbol(reference))).collect();
        page.item("symbol", &names.join(", "))?;
    }
    page.more_of((shown.len(), listed.len(), all), "symbol", "symbols")
}

/// The items that the report lists, and the number of all items. The report only counts the items
/// beyond a limit.
fn listed<'e>(list: &[&'e Evidence]) -> (Vec<&'e Evidence>, usize) {
    let listed: Vec<&Evidence> = list.iter().copied().filter(|one| one.more.is_none()).collect();
    let all = listed.len() + list.iter().filter_map(|one| one.more).sum::<usize>();
    (listed, all)
}

fn symbol(reference: &Evidence) -> String {
    let raw = reference.symbol.as_deref().unwrap_or_default();
    let text = demangle(raw).unwrap_or_else(|| show(raw));
    match &reference.reason {
        Some(sizes) => format!("{text}: {sizes}"),
        None => text,
    }
}
