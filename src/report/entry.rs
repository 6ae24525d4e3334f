//! Entries of a report for people. An entry has one cause or a group of causes. `human` writes each
//! entry in full, `table` writes one row for it, and the summary writes one list item.

use super::Style;
use super::layout::{count, name};
use super::model::{Cause, CauseGroup, CauseKind, Causes, Report, ReportFinding};
use crate::catalogue::Level;
use crate::demangle::demangle;
use crate::finding::{Evidence, EvidenceKind};
use crate::order;
use crate::order::Arrange as _;
use crate::text::{show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Maximum length of a symbol in a heading, in characters.
const MOST_SUBJECT: usize = 60;

/// A cause or a group of causes, with the findings.
pub(super) struct ReportEntry<'r> {
    /// The first cause.
    pub(super) cause: &'r Cause,
    /// The group, if the entry shows a group of causes.
    pub(super) group: Option<&'r CauseGroup>,
    /// The findings in the order of the report.
    pub(super) findings: Vec<&'r ReportFinding>,
    /// True if the findings of the entry make the run incomplete.
    pub(super) input: bool,
}

/// The entries of a report, and data that they share.
pub(super) struct Entries<'r> {
    /// The causes by id, for the evidence that findings share.
    pub(super) causes: Causes<'r>,
    /// The common prefix of all listed findings. `None` if the findings have different prefixes, or
    /// if their prefix is `/`.
    pub(super) prefix: Option<&'r Path>,
    /// The entries, sorted by level (errors first), number of findings (largest first), rule and
    /// file. Entries that make the run incomplete come after all others.
    pub(super) all: Vec<ReportEntry<'r>>,
}

impl<'r> Entries<'r> {
    /// The entries that `style` selects. With `-q`, these are only the entries of findings that
    /// make the run incomplete, and of findings at or above the level that fails the run. With
    /// `-v`, each cause has its own entry instead of groups.
    pub(super) fn of(report: &'r Report, style: Style) -> Self {
        let lowest = if style.warnings_fail { Level::Warning } else { Level::Error };
        let wanted = |finding: &&ReportFinding| {
            !style.quiet || finding.level >= lowest || report.is_input(finding)
        };
        let mut of_cause: BTreeMap<&str, Vec<&'r ReportFinding>> = BTreeMap::new();
        for finding in report.findings.iter().filter(wanted) {
            of_cause.entry(&*finding.cause).or_default().push(finding);
        }
        let groups: BTreeMap<&str, &CauseGroup> =
            order::map(report.groups.iter().map(|group| (&*group.id, group)));
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        let mut all: Vec<ReportEntry<'r>> = Vec::new();
        for cause in &report.causes {
            let Some(findings) = of_cause.remove(&*cause.id) else { continue };
            let group = cause.group.as_deref().filter(|_| !style.verbose);
            let group = group.and_then(|id| groups.get(id).copied());
            let known = group.and_then(|group| places.get(&*group.id));
            if let Some(known) = known {
                all[*known].findings.extend(findings);
                continue;
            }
            if let Some(group) = group {
                places.insert(&group.id, all.len());
            }
            let input = findings.first().is_some_and(|finding| report.is_input(finding));
            all.push(ReportEntry { cause, group, findings, input });
        }
        // The position of an entry depends on all findings of its group, so the sort comes last.
        all.arrange_by_key(|entry| {
            let path = entry.findings.first().map(|finding| &*finding.file.path);
            let weight = std::cmp::Reverse((entry.level(), entry.findings.len()));
            (entry.input, weight, &*entry.cause.rule, path)
        });
        // With `-v`, the report lists waived findings too.
        let waived = report.waived.iter().filter(|_| style.verbose).map(|one| &one.finding);
        let mut prefixes = report.findings.iter().filter(wanted).chain(waived).map(prefix);
        let first = prefixes.next().flatten();
        // A path relative to `/` is only one character shorter.
        let first = first.filter(|first| first.parent().is_some());
        let prefix = first.filter(|first| prefixes.all(|other| other == Some(first)));
        Self { causes: Causes::of(report), prefix, all }
    }

    /// The path for people, relative to the prefix that all findings share. A path outside of that
    /// prefix stays absolute.
    pub(super) fn short(&self, path: &Path) -> String {
        let below = self.prefix.and_then(|prefix| path.strip_prefix(prefix).ok());
        show_path(below.filter(|below| !below.as_os_str().is_empty()).unwrap_or(path))
    }

    /// The path of a finding's file, shortened by [`Self::short`].
    pub(super) fn file(&self, finding: &ReportFinding) -> String {
        self.short(&finding.full_path())
    }

    /// The evidence of one kind for all findings of an entry. Evidence that findings of a cause
    /// share is returned once.
    pub(super) fn evidence(
        &self,
        entry: &ReportEntry<'r>,
        kind: EvidenceKind,
    ) -> Vec<&'r Evidence> {
        let mut seen: BTreeSet<&str> = BTreeSet::new();
        let mut out = Vec::new();
        for finding in &entry.findings {
            let has_own = finding.evidence_of(kind).next().is_some();
            if has_own || seen.insert(&*finding.cause) {
                out.extend(self.causes.evidence(finding, kind));
            }
        }
        out
    }

    /// The two parts of an entry's heading: the subject, such as a file or symbol, and the defect.
    pub(super) fn heading(&self, entry: &ReportEntry<'_>) -> (String, String) {
        let symbols = || count(entry.symbols(), "undefined symbol", "undefined symbols");
        if let Some(group) = entry.group {
            let (subject, rest) = self.heading_of_group(entry, group);
            // The heading has the number of causes, because the totals count causes, not entries.
            return (subject, format!("{rest} {}", name(&format!("({} causes)", group.causes))));
        }
        let cause = entry.cause;
        let split = |title: &str| match title.split_once(": ") {
            Some((subject, rest)) => (subject.to_owned(), rest.to_owned()),
            None => (title.to_owned(), String::new()),
        };
        match (cause.kind, &entry.findings[..]) {
            (CauseKind::ProviderNotLinked, [one]) if entry.names_symbol() => {
                (symbol(one), format!("undefined in {}", self.file(one)))
            }
            (CauseKind::ProviderNotLinked, [first, ..]) if cause.lacks_provider() => {
                (self.file(first), symbols())
            }
            (CauseKind::ProviderNotLinked | CauseKind::ArchiveNotListed, _) => {
                let (subject, rest) = split(&cause.title);
                (subject, format!("{rest}, {} in {}", symbols(), self.files(entry)))
            }
            (CauseKind::LibraryNotFound, _) => split(&cause.title),
            (_, [one]) => (self.file(one), one.message.clone()),
            (CauseKind::MissingOption, _) => (self.files(entry), cause.title.clone()),
            (CauseKind::PolicyEntry, several) => {
                let (origin, _) = split(&cause.title);
                if let Some(library) = forbidden(several) {
                    let files = self.files(entry);
                    return (library, format!("forbidden by {origin}, needed by {files}"));
                }
                let n = count(several.len(), "finding", "findings");
                match &entry.files()[..] {
                    [(one, _)] => (self.file(one), format!("{n} by {origin}")),
                    _ => (origin, format!("{n} in {}", self.files(entry))),
                }
            }
            (_, [first, ..]) => {
                (self.file(first), count(entry.findings.len(), "finding", "findings"))
            }
            _ => split(&cause.title),
        }
    }

    fn heading_of_group(&self, entry: &ReportEntry<'_>, group: &CauseGroup) -> (String, String) {
        let (files, symbols) = (group.files, group.symbols);
        let symbols = count(symbols, "undefined symbol", "undefined symbols");
        if let Some(list) = &group.list {
            let file = list.file_name().map_or(&**list, Path::new);
            let archives = count(group.causes, "archive", "archives");
            let rest = format!("{archives} missing, {symbols} in {}", self.files(entry));
            return (show_path(file), rest);
        }
        let directory = group.directory.as_deref().map(|path| self.short(path));
        let host = group.host.as_deref().map(|host| format!(" under {}", self.short(host)));
        let files = count(files, "file", "files");
        let rest = if group.kind == CauseKind::ProviderNotLinked {
            format!("{files} with {symbols}{}", host.unwrap_or_default())
        } else {
            let n = count(group.findings, "finding", "findings");
            format!("{n} in {files}{}", host.unwrap_or_default())
        };
        (directory.unwrap_or_default(), rest)
    }

    /// The path of the file of an entry, or the number of files if there are several.
    pub(super) fn files(&self, entry: &ReportEntry<'_>) -> String {
        let files = entry.files();
        match &files[..] {
            [(one, _)] => name(&self.file(one)),
            several => count(several.len(), "file", "files"),
        }
    }
}

impl<'r> ReportEntry<'r> {
    /// The level of the entry's first cause. All causes of a group have the same level.
    pub(super) fn level(&self) -> Level {
        self.cause.level
    }

    /// The first finding of each file, with the number of findings in this file.
    pub(super) fn files(&self) -> Vec<(&'r ReportFinding, usize)> {
        let mut out: BTreeMap<_, (&'r ReportFinding, usize)> = BTreeMap::new();
        for finding in &self.findings {
            let key = (finding.file.prefix.as_deref(), finding.file.path.as_os_str());
            out.entry(key).or_insert((finding, 0)).1 += 1;
        }
        out.into_values().collect()
    }

    /// True if a heading may name the symbol: the entry has one finding, the symbol is short, and
    /// no known file defines the symbol.
    pub(super) fn names_symbol(&self) -> bool {
        let [one] = &self.findings[..] else { return false };
        self.cause.lacks_provider() && symbol(one).chars().count() <= MOST_SUBJECT
    }

    /// Number of distinct symbols that the findings are about.
    pub(super) fn symbols(&self) -> usize {
        self.group.map_or(self.cause.symbols, |group| group.symbols)
    }

    /// The colour code (ECMA-48) and the name of the entry's level.
    pub(super) fn level_name(&self) -> (&'static str, &'static str) {
        match (self.input, self.level()) {
            (true, _) => ("1;35", "incomplete"),
            (false, Level::Error) => ("1;31", "error"),
            (false, Level::Warning | Level::Allow) => ("1;33", "warning"),
        }
    }
}

/// The forbidden library that all findings are about. `None` if a finding is about another library
/// or rule.
fn forbidden(findings: &[&ReportFinding]) -> Option<String> {
    let library = |finding: &&ReportFinding| {
        let is_forbidden = *finding.rule == *"forbidden-library";
        finding.library.clone().filter(|_| is_forbidden)
    };
    let first = library(findings.first()?)?;
    let is_same = |finding| library(finding).as_ref() == Some(&first);
    findings.iter().all(is_same).then(|| show(&first))
}

/// The prefix of a finding's file.
fn prefix(finding: &ReportFinding) -> Option<&Path> {
    finding.file.prefix.as_deref()
}

/// The symbol of a finding, demangled, with its version.
pub(super) fn symbol(finding: &ReportFinding) -> String {
    let raw = finding.symbol.as_deref().unwrap_or_default();
    let name = demangle(raw).unwrap_or_else(|| show(raw));
    match &finding.version {
        Some(version) => format!("{name}, version {}", show(version)),
        None => name,
    }
}
