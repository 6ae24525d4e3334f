//! `human`: an entry for each cause, then the summary with the list of causes. The summary comes
//! last, because build logs show only their last lines. This file selects the sections of an entry,
//! and the other files write them.

mod advice;
mod candidates;
mod changes;
mod copies;
mod library_advice;
mod rolled;
mod symbols;
mod tried;
mod who;

use super::entry::{Entries, ReportEntry};
use super::layout::{LabelledLines, name};
use super::model::{CauseKind, Report, ReportFinding};
use super::{Paths, Rendering, Style, summary};
use crate::catalogue::Level;
use crate::finding::{EvidenceKind, LARGEST};
use crate::text::{shell_path, show_path};
use std::io::{self, Write};
use std::path::Path;

/// A report with more entries than this has at most [`MOST_LINES`] lines of entries without `-v`.
const FEW_ENTRIES: usize = 3;
/// Upper bound for the lines of all entries. These lines and the summary fit a screen of 60 lines.
/// The first entry is always shown.
const MOST_LINES: usize = 40;
/// Upper bound for the findings that an entry lists one by one without `-v`.
const MOST_FINDINGS: usize = 20;

/// The data that all sections read.
struct Sheet<'r> {
    report: &'r Report,
    entries: Entries<'r>,
    paths: &'r Paths,
}

pub(super) fn render(report: &Report, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    render_with(report, how, out, |_| Ok(()))
}

/// Like [`render`]. `totals` writes more lines between the summary and the suggested command.
pub(crate) fn render_with(
    report: &Report,
    how: &Rendering<'_>,
    out: &mut dyn Write,
    totals: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let style = how.style;
    let sheet = Sheet { report, entries: Entries::of(report, style), paths: how.paths };
    if !style.quiet {
        let page = &mut LabelledLines::new(style, out);
        if let Some(prefix) = sheet.entries.prefix {
            page.line(&style.bold(&format!("in {}", show_path(prefix))))?;
        }
        sheet.all(page)?;
    }
    summary::write(report, &sheet.entries, style, out)?;
    totals(out)?;
    summary::next(&sheet.entries, style, out)
}

/// Writes the headings, candidates, fixes and next steps of at most `most` causes that have a
/// `wanted` finding. `why SYMBOL` shows this part of the report.
pub(crate) fn steps(
    (report, paths): (&Report, &Paths),
    wanted: &dyn Fn(&ReportFinding) -> bool,
    most: usize,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    // `verbose` gives each cause its own entry. A group may have causes about other names.
    let apart = Style { verbose: true, quiet: false, ..style };
    // Views write full paths, so no prefix is removed.
    let entries = Entries { prefix: None, ..Entries::of(report, apart) };
    let sheet = Sheet { report, entries, paths };
    let page = &mut LabelledLines::new(style, out);
    let all = &sheet.entries.all;
    let about = all.iter().filter(|entry| entry.findings.iter().any(|finding| wanted(finding)));
    for entry in about.take(most) {
        let (code, level) = entry.level_name();
        let (subject, rest) = sheet.entries.heading(entry);
        page.heading((code, &format!("{level}[{}]", entry.cause.rule)), &subject, &rest)?;
        sheet.candidates(entry, page)?;
        candidates::fixes(entry, page)?;
        sheet.advice(entry, page)?;
    }
    Ok(())
}

impl Sheet<'_> {
    /// Writes the entries. If there are many and `-v` is off, writes only the first ones.
    fn all(&self, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let all = &self.entries.all;
        let is_long = all.len() > FEW_ENTRIES;
        let most = if is_long { page.limit(MOST_LINES) } else { usize::MAX };
        let (mut lines, mut shown) = (0, 0);
        for entry in all {
            let mut text = Vec::new();
            self.entry(entry, &mut LabelledLines::new(page.style, &mut text))?;
            lines += memchr::memchr_iter(b'\n', &text).count();
            if lines > most && shown > 0 {
                break;
            }
            page.written(&text)?;
            shown += 1;
        }
        let causes = |entry: &ReportEntry<'_>| entry.group.map_or(1, |group| group.causes);
        let hidden: usize = all.iter().skip(shown).map(causes).sum();
        if hidden > 0 {
            let noun = if hidden == 1 { "cause" } else { "causes" };
            // `-q` leaves out warnings that do not fail the run.
            let has_error = all.iter().any(|entry| entry.level() == Level::Error);
            let titles = match has_error {
                _ if page.style.warnings_fail => "-q: titles, ",
                true => "-q: titles of errors, ",
                false => "",
            };
            page.line(&format!("… and {hidden} more {noun} ({titles}-v: all details)"))?;
            page.blank()?;
        }
        Ok(())
    }

    /// Writes an entry: its heading, the sections for its kind of cause, and the advice.
    fn entry(&self, entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let (code, level) = entry.level_name();
        let tag = format!("{level}[{}]", entry.cause.rule);
        let (subject, rest) = self.entries.heading(entry);
        page.heading((code, &tag), &subject, &rest)?;
        if entry.group.is_some_and(|group| group.directory.is_some()) {
            rolled::rolled(entry, page)?;
        } else {
            match entry.cause.kind {
                CauseKind::LibraryNotFound => self.needed_by(entry, page)?,
                CauseKind::ProviderNotLinked | CauseKind::ArchiveNotListed => {
                    self.undefined_in(entry, page)?;
                    self.symbols(entry, page)?;
                    self.searched(entry, page)?;
                }
                CauseKind::MissingOption if entry.findings.len() > 1 => {
                    self.files("in", entry, page)?;
                }
                _ => self.findings(entry, page)?,
            }
            self.tried(entry, page)?;
            self.changes(entry, page)?;
            self.copies(entry, page)?;
            self.referrers(entry, page)?;
            self.candidates(entry, page)?;
            self.explained(entry, page)?;
            self.chain(entry, page)?;
            self.affected(entry, page)?;
            candidates::fixes(entry, page)?;
        }
        if page.style.verbose {
            self.each(entry, page)?;
        }
        self.advice(entry, page)?;
        page.blank()
    }

    /// Writes the messages of several findings. A single finding has its message in the heading.
    /// For it, only its near misses are written, and the largest parts of the image if the finding
    /// is about the size of an image.
    fn findings(&self, entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let findings = &entry.findings;
        if let [one] = &findings[..] {
            largest(one, page)?;
            return self.near_misses(one, page);
        }
        let most = page.limit(MOST_FINDINGS);
        for finding in findings.iter().take(most) {
            let file = name(&self.entries.file(finding));
            page.item("in", &format!("{file}: {}", finding.message))?;
        }
        page.more(findings.len().saturating_sub(most), "finding", "findings")
    }

    /// With `-v`, writes each finding with its own evidence, and the command with which another
    /// tool shows the defect. Findings about symbols are skipped, because other sections list them.
    fn each(&self, entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let several = entry.findings.len() > 1;
        for finding in entry.findings.iter().filter(|finding| finding.symbol.is_none()) {
            if several {
                let file = name(&self.entries.file(finding));
                page.item("finding", &format!("{file}: {}", finding.message))?;
                largest(finding, page)?;
                self.own_chain(finding, page)?;
                let roots = finding.evidence_of(EvidenceKind::Root).filter(|e| e.how.is_none());
                let roots: Vec<_> = roots.filter_map(|root| root.path.as_deref()).collect();
                self.entry_points(&roots, page)?;
            }
            if let Some(witness) = &finding.witness {
                page.item("witness", &name(&self.witness(finding, witness)))?;
            }
        }
        Ok(())
    }

    /// The command with which another tool shows a finding. Its paths are valid on this machine.
    fn witness(&self, finding: &ReportFinding, command: &str) -> String {
        let path = finding.full_path();
        let own = format!(" {}", shell_path(&path));
        if command.contains(&own) {
            return command.replacen(&own, &format!(" {}", self.word(&path)), 1);
        }
        let words = command.split(' ').map(|word| match Path::new(word) {
            path if path.is_absolute() => self.word(path),
            _ => word.to_owned(),
        });
        words.collect::<Vec<_>>().join(" ")
    }

    /// See [`Paths::word`].
    fn word(&self, path: &Path) -> String {
        self.paths.word(self.report, path)
    }
}

/// Writes the largest parts of a loaded image, for a finding about the size of the image. Writes
/// nothing for other findings.
fn largest(finding: &ReportFinding, page: &mut LabelledLines<'_>) -> io::Result<()> {
    let parts = finding.evidence_of(EvidenceKind::Reference);
    let mut parts = parts.filter(|part| part.how.as_deref() == Some(LARGEST));
    parts.try_for_each(|part| page.item(LARGEST, part.reason.as_deref().unwrap_or_default()))
}
