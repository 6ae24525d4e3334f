//! The next step of an entry: advice, and a command or an edit if one is known. This file writes
//! data of the report and verifies nothing. `candidates` writes the fixes.

use super::Sheet;
use crate::finding::{Evidence, EvidenceKind, FixKind, INSTALLED, Rejection};
use crate::order;
use crate::package::store_of;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, name};
use crate::report::model::{CauseKind, ReportFinding};
use crate::report::referring::ReferringMembers;
use crate::resolve::is_of_glibc;
use crate::text::{common_parts, shell_path, show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of directories in a command or in a sentence of advice.
pub(super) const MOST_DIRECTORIES: usize = 4;

impl Sheet<'_> {
    pub(super) fn advice(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let Some(first) = entry.findings.first() else { return Ok(()) };
        match (entry.cause.kind, &*entry.cause.rule) {
            (CauseKind::LibraryNotFound, "missing-library") => self.find(entry, first, page),
            (CauseKind::LibraryNotFound, "outside-closure") if first.detail.is_some() => {
                self.bring_inside(entry, first, page)
            }
            (CauseKind::LibraryNotFound, "wrong-architecture")
                if !self.candidate_paths(entry).is_empty() =>
            {
                self.find(entry, first, page)
            }
            (CauseKind::LibraryNotFound, "wrong-architecture") => {
                let text = "install the library for the architecture of the files that need it";
                page.help(text, None)
            }
            (CauseKind::ArchiveNotListed, _) => {
                self.regenerate(entry, page)?;
                self.leave_out(entry, page)
            }
            (CauseKind::ProviderNotLinked, _) => {
                self.link(entry, first, page)?;
                self.leave_out(entry, page)
            }
            (_, "missing-version") => {
                let library = self.needed_from(entry, first);
                let versions = entry.findings.iter().map(|finding| finding.version.as_deref());
                let version = match (order::set(versions).len(), first.version.as_deref()) {
                    (1, Some(version)) => show(version),
                    _ => "the versions".to_owned(),
                };
                let file = self.who(entry, first);
                let candidates = self.entries.evidence(entry, EvidenceKind::Candidate);
                let is_next = |one: &&Evidence| one.is_rejected(Rejection::TakesAnother);
                let candidate = candidates.into_iter().find(is_next);
                let candidate = candidate.and_then(|one| one.path.as_deref());
                let reorder = candidate.map(|path| {
                    let path = name(&show_path(path));
                    format!("change the search path of {file} so that {path} comes first, or ")
                });
                let text = format!(
                    "{}install a release of {} that defines {version}, or rebuild {file} against {}",
                    reorder.unwrap_or_default(),
                    name(&library),
                    self.provider(entry)
                );
                page.help(&text, None)
            }
            _ => Ok(()),
        }
    }

    /// The name of the library that lacks a version, as in DT_NEEDED. If the finding has no
    /// library, the file name of the provider.
    fn needed_from(&self, entry: &ReportEntry<'_>, first: &ReportFinding) -> String {
        let provider = || {
            let provider = self.entries.evidence(entry, EvidenceKind::Provider);
            let path = provider.into_iter().find_map(|evidence| evidence.path.as_deref())?;
            path.file_name().map(|base| show_path(Path::new(base)))
        };
        first.library.as_deref().map(show).or_else(provider).unwrap_or_default()
    }

    /// The library that the loader takes and that lacks a version.
    fn provider(&self, entry: &ReportEntry<'_>) -> String {
        let providers = self.entries.evidence(entry, EvidenceKind::Provider).into_iter();
        let paths = providers.filter_map(|evidence| evidence.path.as_deref());
        let mut paths = order::set(paths).into_iter();
        match (paths.next(), paths.next()) {
            (Some(path), None) => name(&self.entries.short(path)),
            _ => "the one that is loaded".to_owned(),
        }
    }

    /// The files of an entry, as the object of a sentence.
    fn who(&self, entry: &ReportEntry<'_>, first: &ReportFinding) -> String {
        match &entry.files()[..] {
            [_] => name(&self.entries.file(first)),
            _ => "each of these files".to_owned(),
        }
    }

    /// Adds to `text`, which precedes a command, a note that paths are relative to the staging
    /// directory. Without stages, `text` stays as it is.
    pub(super) fn in_stage(&self, text: &str) -> String {
        let place = if self.report.layers.is_some() { ", in the staging directory" } else { "" };
        format!("{text}{place}")
    }

    /// Writes advice about a library or interpreter that was found outside of the store or prefix.
    fn bring_inside(
        &self,
        entry: &ReportEntry<'_>,
        first: &ReportFinding,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let candidates = self.candidate_paths(entry);
        if let Some(candidate) = nearest(&first.full_path(), &candidates) {
            return match bundled_libc(first, candidate) {
                Some(directory) => self.use_loader_of(directory, page),
                None => self.find(entry, first, page),
            };
        }
        let text = if first.detail.as_deref() == Some(b"PT_INTERP") {
            "link the program with the libc of the store"
        } else {
            "add the package that has it to the inputs of the build, so that its directory joins the \
             RUNPATH"
        };
        page.help(text, None)
    }

    /// Writes advice about a glibc that is in a prefix. A search path alone would combine this
    /// glibc with the loader of the system (`mixed-runtime`).
    fn use_loader_of(&self, directory: &Path, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let directory = name(&show_path(directory));
        let text = self.in_stage(&format!(
            "remove the candidate, because glibc works only under the loader of the same build. Or \
             give each program that loader as its interpreter, together with a RUNPATH with \
             {directory}"
        ));
        page.help(&text, None)
    }

    /// The candidates that are neither programs nor part of the system. If there are none, the
    /// installed libraries that define the most symbols of the entry.
    fn candidate_paths<'e>(&'e self, entry: &'e ReportEntry<'_>) -> Vec<&'e Path> {
        let candidates = self.entries.evidence(entry, EvidenceKind::Candidate);
        let candidates = candidates.into_iter().filter(|evidence| !evidence.is_program());
        let (system, own): (Vec<&Evidence>, Vec<&Evidence>) =
            candidates.partition(|evidence| evidence.is_of_system());
        if !own.is_empty() {
            return own.iter().filter_map(|evidence| evidence.path.as_deref()).collect();
        }
        let installed = system.iter().filter(|e| e.how.as_deref() == Some(INSTALLED));
        let mut symbols: BTreeMap<&Path, BTreeSet<Option<&[u8]>>> = BTreeMap::new();
        for evidence in installed.filter(|e| !e.is_unread_archive()) {
            let Some(path) = evidence.path.as_deref() else { continue };
            symbols.entry(path).or_default().insert(evidence.symbol.as_deref());
        }
        let most = symbols.values().map(BTreeSet::len).max();
        let best = symbols.into_iter().filter(|(_, symbols)| Some(symbols.len()) == most);
        best.map(|(path, _)| path).collect()
    }

    /// True if one installed library defines all symbols of an entry. The advice then names that
    /// library and does not suggest a host program.
    fn is_found(&self, entry: &ReportEntry<'_>) -> bool {
        let candidates = self.entries.evidence(entry, EvidenceKind::Candidate);
        let installed = candidates.into_iter().filter(|e| e.how.as_deref() == Some(INSTALLED));
        defining_all(entry, installed).next().is_some()
    }

    /// For a list that omits needed archives, writes the command that regenerates the list.
    fn regenerate(&self, entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let mut fixes = entry.findings.iter().flat_map(|finding| &finding.fix);
        let listed = fixes.find(|fix| fix.intent == FixKind::AddToList);
        let list = listed.and_then(|fix| fix.list.as_deref());
        let (Some(list), Some(first)) = (list, entry.findings.first()) else { return Ok(()) };
        let [candidates, members] = [EvidenceKind::Candidate, EvidenceKind::Reference]
            .map(|kind| self.entries.evidence(entry, kind));
        // Several releases of a package may install an archive of the same name. Then the reader
        // must choose the directory.
        let system = candidates
            .iter()
            .filter(|e| e.is_unread_archive() && e.how.as_deref() == Some(INSTALLED));
        let system = system.filter_map(|evidence| evidence.path.as_deref()?.parent());
        let system: BTreeSet<&Path> = order::set(system);
        let candidates = candidates.into_iter().filter(|e| !e.is_unread_archive());
        let archives = members.into_iter().filter(|e| e.member.is_some()).chain(candidates);
        let mut directories: BTreeSet<&Path> =
            order::set(archives.filter_map(|evidence| evidence.path.as_deref()?.parent()));
        if system.len() == 1 && page.style.verbose {
            directories.extend(system);
        }
        let mut command = format!("linkaudit fix {}", shell_path(&first.full_path()));
        if let Some(sysroot) = &self.paths.sysroot {
            command.extend([" --root ", &shell_path(sysroot)]);
        }
        if self.report.layers.is_some() {
            command.push_str(" --staged DIR");
        }
        if directories.is_empty() {
            command.push_str(" --lib-path DIR");
        }
        for directory in directories.iter().take(MOST_DIRECTORIES) {
            command.extend([" --lib-path ", &shell_path(directory)]);
        }
        command.extend([" --deps-list ", &shell_path(list), " --emit cmake-deps"]);
        page.help("regenerate the list", Some(&command))
    }

    /// Writes the alternative to a fix that adds an archive: to build without the members that
    /// refer to the undefined symbols. Writes nothing if no member is known.
    fn leave_out(&self, entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let findings = entry.findings.iter().copied();
        let members =
            ReferringMembers::of(&self.entries.causes, findings).words(page.style.verbose);
        let Some(members) = members else { return Ok(()) };
        let them = if entry.symbols() == 1 { "it" } else { "them" };
        page.help(&format!("or stop building the members that refer to {them}: {members}"), None)
    }

    /// Writes advice about undefined symbols, with or without a candidate that defines them.
    fn link(
        &self,
        entry: &ReportEntry<'_>,
        first: &ReportFinding,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let candidates = self.candidate_paths(entry);
        let candidate = nearest(&first.full_path(), &candidates);
        let is_one = entry.files().len() == 1;
        let who = self.who(entry, first);
        if let (Some(candidate), None) = (candidate, entry.group) {
            // If there are several files, each may have a candidate in its own directory tree.
            let base = candidate.file_name().map_or(candidate, Path::new);
            let candidate = if is_one { self.entries.short(candidate) } else { show_path(base) };
            let text = format!("link {who} with {}", name(&candidate));
            if self.is_found(entry) {
                return page.help(&text, None);
            }
            return self.or_host(&text, entry, page);
        }
        let near = self.entries.evidence(entry, EvidenceKind::NearMiss);
        // A near miss in a file of the entry is ignored: a file is not rebuilt against itself.
        let own: BTreeSet<PathBuf> =
            order::set(entry.files().iter().map(|(finding, _)| finding.full_path()));
        let changed = near.iter().filter(|evidence| !evidence.minor);
        let mut paths = changed.filter_map(|evidence| evidence.path.as_deref());
        if let Some(path) = paths.find(|path| !own.contains(*path)) {
            let text = format!("rebuild {who} against {}", name(&self.entries.short(path)));
            return page.help(&text, None);
        }
        // A program can load the files of a group, unless all of them are programs.
        let is_program = !entry.findings.iter().any(|finding| may_be_opened(finding));
        let is_apart = entry.group.is_none() || is_program;
        if let Some(library) = only_library(entry).filter(|_| is_apart) {
            let library = name(&show(library));
            let them = if entry.symbols() == 1 { "it" } else { "them" };
            let text = format!(
                "install a release of {library} that defines {them}, or rebuild {who} against the \
                 one that is loaded"
            );
            return page.help(&text, None);
        }
        let group = entry.group.filter(|_| !is_program);
        let Some(directory) = group.and_then(|group| group.directory.as_deref()) else {
            // Without `next_step`, the reader looks at CI output and cannot change the options.
            if !page.style.next_step {
                let what = if entry.symbols() == 1 { "this symbol" } else { "these symbols" };
                let text = format!("link {who} with a library that defines {what}");
                return self.or_host(&text, entry, page);
            }
            let option = name("--lib-path DIR");
            let text = format!("name directories with more libraries and archives: {option}");
            return self.or_host(&text, entry, page);
        };
        let is_flat =
            entry.findings.iter().all(|finding| finding.full_path().parent() == Some(directory));
        let glob = if is_flat { "*.so" } else { "**/*.so" };
        let option = format!("--host PROGRAM='{}/{glob}'", self.entries.short(directory));
        page.help("if a program loads these files as plugins, name it", Some(&option))
    }

    /// Writes `text`. If the file names of all entry points contain `.so`, adds `--host` as an
    /// alternative: a program may load the files.
    pub(super) fn or_host(
        &self,
        text: &str,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        if !entry.findings.iter().all(|finding| may_be_opened(finding)) {
            return page.help(text, None);
        }
        let them = if entry.files().len() == 1 { "it" } else { "them" };
        let option = match self.only_program(entry) {
            Some(path) => name(&format!("--host {}", shell_path(path))),
            None => name("--host PROGRAM"),
        };
        page.help(&format!("{text}, or name the program that loads {them}: {option}"), None)
    }

    /// The program that defines all symbols of an entry. `None` if there are several such programs
    /// or none.
    fn only_program<'e>(&'e self, entry: &'e ReportEntry<'_>) -> Option<&'e Path> {
        let candidates = self.entries.evidence(entry, EvidenceKind::Candidate);
        let programs = candidates.into_iter().filter(|evidence| evidence.is_program());
        let mut paths = defining_all(entry, programs);
        paths.next().filter(|_| paths.next().is_none())
    }
}

/// True if a program may open the entry point of a finding as a plugin: its file name contains
/// `.so`.
fn may_be_opened(finding: &ReportFinding) -> bool {
    let base = finding.root.as_deref().and_then(Path::file_name).map(Path::new);
    base.is_some_and(|base| show_path(base).contains(".so"))
}

/// The library that should define all symbols of an entry, according to the versions of the
/// references. `None` if there is no such library, or if there are several.
fn only_library<'e>(entry: &ReportEntry<'e>) -> Option<&'e [u8]> {
    let mut libraries = entry.findings.iter().map(|finding| finding.library.as_deref());
    let first = libraries.next()??;
    libraries.all(|library| library == Some(first)).then_some(first)
}

/// The files of `candidates` that define all symbols of an entry.
fn defining_all<'e>(
    entry: &ReportEntry<'_>,
    candidates: impl Iterator<Item = &'e Evidence>,
) -> impl Iterator<Item = &'e Path> {
    let mut symbols: BTreeMap<&Path, BTreeSet<&[u8]>> = BTreeMap::new();
    for evidence in candidates {
        let (Some(path), Some(symbol)) = (&evidence.path, &evidence.symbol) else { continue };
        symbols.entry(path).or_default().insert(symbol);
    }
    let all = entry.symbols();
    symbols.into_iter().filter(move |(_, symbols)| symbols.len() == all).map(|(path, _)| path)
}

/// The candidate whose path has the longest common prefix with the path of `file`.
pub(super) fn nearest<'a>(file: &Path, candidates: &[&'a Path]) -> Option<&'a Path> {
    candidates.iter().copied().rev().max_by_key(|candidate| common_parts(file, candidate))
}

/// The directory of the candidate, if the missing library belongs to glibc and the candidate is
/// outside of a store. In a store, each program already has the loader of its own glibc.
fn bundled_libc<'c>(finding: &ReportFinding, candidate: &'c Path) -> Option<&'c Path> {
    let library = finding.library.as_deref().filter(|library| is_of_glibc(library));
    library.filter(|_| store_of(candidate).is_none())?;
    candidate.parent()
}
