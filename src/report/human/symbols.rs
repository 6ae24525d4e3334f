//! Writes each undefined symbol once, with the files in which the loader searched, and near misses.
//! The label is the time at which the lookup fails, if it is known: at load or at the first call.
//! Also writes the references that a missing library explains.

use super::Sheet;
use crate::demangle::demangle;
use crate::finding::{Evidence, EvidenceKind, When};
use crate::order;
use crate::report::entry::{ReportEntry, symbol};
use crate::report::layout::{LabelledLines, count, name, some};
use crate::report::model::{ReportFinding, SearchedScope};
use crate::text::{show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Upper bound for the symbols of one entry without `-v`.
const MOST: usize = 20;
/// If an entry has more symbols than this, they share lines. With `-v`, or if a listed symbol has a
/// version, a demangled name or a near miss, each symbol has its own line.
const LIST: usize = 6;
/// Maximum number of files of a scope that are listed without `-v`.
const MOST_SEARCHED: usize = 4;
/// Maximum number of near misses that are listed without `-v`.
const MOST_NEAR: usize = 3;
/// Maximum number of explained symbols that are listed.
const MOST_EXPLAINED: usize = 3;
/// Maximum length of a name in a list, in characters.
const MOST_NAME: usize = 60;

/// A label for the time at which a lookup fails.
fn label(when: Option<When>) -> &'static str {
    match when {
        Some(When::Load) => "at load",
        Some(When::Call) => "at call",
        None => "symbol",
    }
}

impl Sheet<'_> {
    /// Writes the undefined symbols of an entry. If the heading names the only symbol, writes only
    /// the details of this symbol.
    pub(super) fn symbols(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let mut distinct: BTreeMap<_, (&ReportFinding, usize)> = BTreeMap::new();
        for finding in entry.findings.iter().filter(|finding| finding.symbol.is_some()) {
            let when = label(finding.when);
            let key = (std::cmp::Reverse(when), &finding.symbol, &finding.version);
            distinct.entry(key).or_insert((finding, 0)).1 += 1;
        }
        let symbols: Vec<(&ReportFinding, usize)> = distinct.into_values().collect();
        if let ([(only, _)], true) = (&symbols[..], entry.names_symbol()) {
            return self.only_symbol(only, page);
        }
        let several_files = entry.files().len() > 1;
        let is_plain = |finding: &ReportFinding| {
            let raw = finding.symbol.as_deref().unwrap_or_default();
            finding.version.is_none() && demangle(raw).is_none() && self.near(finding).is_empty()
        };
        let in_list = symbols.len() > LIST && !page.style.verbose;
        let most = page.limit(MOST);
        let shown = &symbols[..symbols.len().min(most)];
        if in_list && shown.iter().all(|(finding, _)| is_plain(finding)) {
            for alike in shown.chunk_by(|(a, _), (b, _)| a.when == b.when) {
                let names: Vec<String> = alike.iter().map(|(f, _)| name(&symbol(f))).collect();
                let when = alike.first().and_then(|(finding, _)| finding.when);
                page.item(label(when), &names.join(", "))?;
            }
        } else {
            for (finding, files) in shown {
                self.symbol(finding, if several_files { *files } else { 1 }, page)?;
            }
        }
        page.more(symbols.len() - shown.len(), "symbol", "symbols")
    }

    /// Writes the details of the symbol in the heading: its mangled name if it has one, the time of
    /// the failure, and near misses.
    fn only_symbol(&self, finding: &ReportFinding, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let raw = finding.symbol.as_deref().unwrap_or_default();
        match (demangle(raw), finding.when) {
            (Some(_), _) => page.item(label(finding.when), &show(raw))?,
            (None, Some(When::Load)) => page.item("fails", "when the file is loaded")?,
            (None, Some(When::Call)) => page.item("fails", "when it is first called")?,
            (None, None) => {}
        }
        self.near_misses(finding, page)
    }

    /// Writes one undefined symbol, and the number of files that refer to it.
    fn symbol(
        &self,
        finding: &ReportFinding,
        files: usize,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let library = finding.library.as_deref().map(|library| format!(" of {}", show(library)));
        let files = match files {
            0 | 1 => String::new(),
            n => format!(" (in {n} files)"),
        };
        let raw = finding.symbol.as_deref().unwrap_or_default();
        let version = finding.version.as_deref().map(|v| format!(", version {}", show(v)));
        let text = format!(
            "{}{}{}{files}",
            spaced(raw),
            version.unwrap_or_default(),
            library.unwrap_or_default()
        );
        page.item(label(finding.when), &text)?;
        self.near_misses(finding, page)
    }

    /// Writes the definitions that nearly fit the symbol of a finding.
    pub(super) fn near_misses(
        &self,
        finding: &ReportFinding,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let near = self.near(finding);
        let most = page.limit(MOST_NEAR);
        for evidence in near.iter().take(most) {
            page.item("near miss", &self.near_words(evidence))?;
        }
        page.more(near.len().saturating_sub(most), "near miss", "near misses")
    }

    fn near<'f>(&'f self, finding: &'f ReportFinding) -> Vec<&'f Evidence> {
        self.entries.causes.evidence(finding, EvidenceKind::NearMiss).collect()
    }

    fn near_words(&self, evidence: &Evidence) -> String {
        let symbol = spaced(evidence.symbol.as_deref().unwrap_or_default());
        let version = evidence.version.as_deref().map(|v| format!(", version {}", show(v)));
        let member = evidence.member.as_deref().map(|member| format!("({})", show(member)));
        let member = member.unwrap_or_default();
        let path = evidence.path.as_deref();
        let path = path.map(|path| name(&format!("{}{member}", self.entries.short(path))));
        let reason = evidence.reason.as_deref().map(|reason| format!(": {reason}"));
        let version = version.unwrap_or_default();
        let (path, reason) = (path.unwrap_or_default(), reason.unwrap_or_default());
        format!("{symbol}{version} in {path}{reason}")
    }

    /// Writes the files in which the loader searches for the symbols. Without `-v`, writes only the
    /// scope of the first entry point.
    pub(super) fn searched(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let roots: BTreeSet<&Path> =
            order::set(entry.findings.iter().filter_map(|finding| finding.root.as_deref()));
        let scopes: Vec<&SearchedScope> =
            self.report.scopes.iter().filter(|scope| roots.contains(&*scope.root)).collect();
        let most = page.limit(1);
        for scope in scopes.iter().take(most) {
            let files = scope.files.iter().map(|file| file.0.as_ref());
            let names: Vec<String> = if page.style.verbose {
                files.map(|path| self.entries.short(path)).collect()
            } else {
                files.map(|path| show_path(path.file_name().map_or(path, Path::new))).collect()
            };
            let number = count(names.len(), "file", "files");
            let names = some(&names, page.limit(MOST_SEARCHED));
            let under = if page.style.verbose {
                format!(" (under {})", name(&self.entries.short(&scope.root)))
            } else {
                String::new()
            };
            page.item("searched", &format!("{number}{under}: {names}"))?;
        }
        Ok(())
    }

    /// Writes the undefined references that a missing library explains.
    pub(super) fn explained(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let explained = self.entries.evidence(entry, EvidenceKind::Explained);
        let symbols: BTreeSet<&[u8]> =
            order::set(explained.iter().filter_map(|evidence| evidence.symbol.as_deref()));
        if symbols.is_empty() {
            return Ok(());
        }
        let number = count(explained.len(), "undefined reference", "undefined references");
        let files: BTreeSet<_> = order::set(explained.iter().filter_map(|e| e.path.as_deref()));
        let place = match files.len() {
            0 | 1 => String::new(),
            n => format!(" of {n} files"),
        };
        let text = format!("{number}{place}");
        if page.style.verbose {
            page.item("explains", &text)?;
            return symbols.iter().try_for_each(|raw| page.item("explains", &spaced(raw)));
        }
        let names = symbols.iter().map(|raw| demangle(raw).unwrap_or_else(|| show(raw)));
        let names: Vec<String> = names.collect();
        // If one of the first names is long, only the number is written.
        if names.iter().take(MOST_EXPLAINED).any(|name| name.chars().count() > MOST_NAME) {
            return page.item("explains", &text);
        }
        page.item("explains", &format!("{text}: {}", some(&names, MOST_EXPLAINED)))
    }
}

/// The demangled name of a symbol, and its raw name. Lines break only inside of the demangled name.
fn spaced(raw: &[u8]) -> String {
    match demangle(raw) {
        Some(text) => format!("{text} {}", name(&format!("[{}]", show(raw)))),
        None => name(&show(raw)),
    }
}
