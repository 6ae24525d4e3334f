//! Advice about libraries and interpreters that were not found.

use super::Sheet;
use super::advice::{MOST_DIRECTORIES, nearest};
use crate::finding::{ENDS_LIST, Evidence, EvidenceKind, REMOVED, Rejection};
use crate::order;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, name, some};
use crate::report::model::ReportFinding;
use crate::text::{shell, shell_path, show, show_path};
use crate::tree::Errno;
use crate::tree::walk::describe;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

impl Sheet<'_> {
    /// Writes advice about a library or interpreter that was not found.
    pub(super) fn find(
        &self,
        entry: &ReportEntry<'_>,
        first: &ReportFinding,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let library = first.library.as_deref().map(show).unwrap_or_default();
        let shown = name(&library);
        if first.detail.as_deref() == Some(b"PT_INTERP") {
            let text = format!(
                "install the libc that has {shown}, or give {} another interpreter",
                name(&self.entries.file(first))
            );
            return page.help(&self.in_stage(&text), None);
        }
        if let Some(path) = self.unreadable(entry) {
            let text = format!("give this user permission to read {}", name(&path));
            return page.help(&text, None);
        }
        let Some((candidate, _)) = self.nearest_way(first) else {
            if let Some((text, command)) = self.restore(entry) {
                return page.help(&text, command.as_deref());
            }
            return page.help(&self.without_way(entry, first, &library), None);
        };
        if let Some(path) = self.end_of_search(entry) {
            let text = format!("repair or remove {}: the search ends there", name(&path));
            return page.help(&text, None);
        }
        if library.contains('/') {
            return self.search_for(entry, first, candidate, page);
        }
        let base = Path::new(&library).file_name().map(Path::new);
        if candidate.file_name().map(Path::new) != base {
            let target = candidate.file_name().map_or(candidate, Path::new);
            let link =
                self.paths.in_stage(candidate).with_file_name(base.unwrap_or(Path::new(&library)));
            let (target, link) = (shell_path(target), self.word(&link));
            let has = |what| self.is_rejected(first, candidate, what);
            if has(Rejection::NameTaken) {
                let text = "remove the other file of the needed name, and give the name to the \
                            candidate";
                page.help(&self.in_stage(text), None)?;
            } else {
                let option = if has(Rejection::NameDangles) { "-sfn" } else { "-s" };
                let text = self.in_stage("give the candidate the needed name");
                page.help(&text, Some(&format!("ln {option} {target} {link}")))?;
            }
            if self.is_searched(first, candidate) {
                return Ok(());
            }
        }
        self.add_ways(entry, page)
    }

    /// Writes the advice to add the directory of a candidate to the search paths of the files that
    /// need the library.
    fn add_ways(&self, entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
        let Some((text, is_one)) = self.entries_to_add(entry) else { return Ok(()) };
        let command = self.script(entry);
        if is_one {
            let text = self.in_stage(&text);
            return match &command {
                Some(_) => page.help(&format!("{text}; for a verified script"), command.as_deref()),
                None => page.help(&text, None),
            };
        }
        self.or_host(&text, entry, page)?;
        match &command {
            Some(_) => page.help(&self.in_stage("for a verified script"), command.as_deref()),
            None => Ok(()),
        }
    }

    /// The advice to add search-path entries to the files of an entry, with the entries, and
    /// whether there is one such file. `None` if no candidate can be reached.
    fn entries_to_add(&self, entry: &ReportEntry<'_>) -> Option<(String, bool)> {
        let files = entry.files();
        let ways = files.iter().filter_map(|(finding, _)| {
            let (_, way) = self.nearest_way(finding)?;
            Some((*finding, way))
        });
        let ways: Vec<(&ReportFinding, Vec<u8>)> = ways.collect();
        let has_rpath = |finding: &ReportFinding| self.searches_rpath(finding);
        if let ([(one, _)], [(_, way)]) = (&files[..], &ways[..]) {
            let tag = if has_rpath(one) { "RPATH" } else { "RUNPATH" };
            let (way, file) = (name(&show(way)), name(&self.entries.file(one)));
            return Some((format!("add {way} to the {tag} of {file}"), true));
        }
        let with_rpath = files.iter().filter(|(finding, _)| has_rpath(finding)).count();
        let tag = match with_rpath {
            0 => "a RUNPATH",
            all if all == files.len() => "an RPATH",
            _ => "an RPATH, or a RUNPATH if it has one,",
        };
        let different: BTreeSet<&[u8]> = order::set(ways.iter().map(|(_, way)| &way[..]));
        let text = if different.len() == 1 {
            let way = different.first().map(|way| name(&show(way))).unwrap_or_default();
            format!("give each of these files {tag} with {way}")
        } else {
            let each = |(finding, way): &(&ReportFinding, Vec<u8>)| {
                format!("{} for {}", name(&show(way)), name(&self.entries.file(finding)))
            };
            let each: Vec<String> = ways.iter().map(each).collect();
            format!("give each of these files {tag}: {}", some(&each, MOST_DIRECTORIES))
        };
        Some((text, false)).filter(|_| !ways.is_empty())
    }

    /// Writes advice about a needed name with a slash: the loader does not search for such a name.
    fn search_for(
        &self,
        entry: &ReportEntry<'_>,
        first: &ReportFinding,
        candidate: &Path,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let base = name(&show_path(Path::new(candidate.file_name().unwrap_or_default())));
        let files = match &entry.files()[..] {
            [(one, _)] => name(&self.entries.file(one)),
            _ => "each of these files".to_owned(),
        };
        let ways = self.entries_to_add(entry).filter(|_| !self.is_searched(first, candidate));
        let ways = ways.map(|(ways, _)| format!(", and {ways}")).unwrap_or_default();
        let text = self.in_stage(&format!(
            "make {files} need {base} instead of the path, so that the loader searches for it{ways}"
        ));
        match self.script(entry) {
            Some(command) => page.help(&format!("{text}; for a verified script"), Some(&command)),
            None => page.help(&text, None),
        }
    }

    /// The command that writes a script with verified changes for an entry. `None` unless each file
    /// has a candidate in its own prefix: `fix` adds no search-path entries for other candidates.
    /// Also `None` if the command would be too long.
    fn script(&self, entry: &ReportEntry<'_>) -> Option<String> {
        let files = entry.files();
        let mut prefixes = files.iter().map(|(finding, _)| {
            let (candidate, _) = self.nearest_way(finding)?;
            let prefix = finding.file.prefix.as_deref()?;
            let is_own = candidate.starts_with(prefix) && !self.is_of_system(finding, candidate);
            is_own.then_some(prefix)
        });
        let prefixes: Option<BTreeSet<&Path>> = prefixes.by_ref().collect();
        let prefixes: Vec<&Path> = prefixes?.into_iter().collect();
        let input = self.paths.input(self.report, &prefixes)?;
        Some(format!("linkaudit fix {input} --emit patchelf"))
    }

    /// True if a candidate belongs to the system and not to the audited files.
    fn is_of_system(&self, finding: &ReportFinding, candidate: &Path) -> bool {
        let mut candidates = self.entries.causes.evidence(finding, EvidenceKind::Candidate);
        candidates.any(|one| one.path.as_deref() == Some(candidate) && one.is_of_system())
    }

    /// The nearest reachable candidate for a finding, with the search-path entry that leads to the
    /// candidate. Candidates of the system are used only if there are no others.
    fn nearest_way<'e>(&'e self, finding: &'e ReportFinding) -> Option<(&'e Path, Vec<u8>)> {
        let candidates = self.entries.causes.evidence(finding, EvidenceKind::Candidate);
        let candidates = candidates.filter(|one| !one.is_program() && one.entry.is_some());
        let (system, own): (Vec<&Evidence>, Vec<&Evidence>) =
            candidates.partition(|evidence| evidence.is_of_system());
        let candidates = if own.is_empty() { system } else { own };
        let paths: Vec<&Path> = candidates.iter().filter_map(|one| one.path.as_deref()).collect();
        let nearest = nearest(&finding.full_path(), &paths)?;
        let one = candidates.iter().find(|one| one.path.as_deref() == Some(nearest))?;
        Some((nearest, one.entry.clone()?))
    }

    /// True if the loader searched the directory of a candidate.
    fn is_searched(&self, finding: &ReportFinding, candidate: &Path) -> bool {
        !self.is_rejected(finding, candidate, Rejection::NotSearched)
    }

    /// True if the loader did not take a candidate for the reason `why`.
    fn is_rejected(&self, finding: &ReportFinding, candidate: &Path, why: Rejection) -> bool {
        let mut candidates = self.entries.causes.evidence(finding, EvidenceKind::Candidate);
        let candidate = candidates.find(|one| one.path.as_deref() == Some(candidate));
        candidate.is_some_and(|candidate| candidate.is_rejected(why))
    }

    /// The first tried path that this user has no permission to read. The file there may be the
    /// missing library.
    fn unreadable(&self, entry: &ReportEntry<'_>) -> Option<String> {
        let denied = describe(Errno::ACCESS);
        let tried = self.entries.evidence(entry, EvidenceKind::Tried);
        let is_denied = |one: &&Evidence| one.reason.as_deref() == Some(&*denied);
        tried.into_iter().find(is_denied)?.path.as_deref().map(show_path)
    }

    /// The advice for a library that has no candidates, or only candidates that no search path can
    /// reach.
    fn without_way(&self, entry: &ReportEntry<'_>, first: &ReportFinding, library: &str) -> String {
        let candidates = self.entries.evidence(entry, EvidenceKind::Candidate);
        match candidates.into_iter().find(|one| one.is_rejected(Rejection::LacksVersion)) {
            Some(_) => format!("install a release of {} that defines the version", name(library)),
            None => install(first, library),
        }
    }

    /// True if the loader searches an RPATH for a missing library. The object that needs the
    /// library then has or inherits an RPATH, which a new RUNPATH would turn off.
    fn searches_rpath(&self, finding: &ReportFinding) -> bool {
        let mut tried = self.entries.causes.evidence(finding, EvidenceKind::Tried);
        tried.any(|one| one.how.as_deref() == Some("rpath"))
    }

    /// The path at which the loader stops searching an object's RPATH or RUNPATH. A new entry at
    /// the end of that search path then has no effect. `None` if the loader searches to the end.
    fn end_of_search(&self, entry: &ReportEntry<'_>) -> Option<String> {
        let tried = self.entries.evidence(entry, EvidenceKind::Tried).into_iter();
        let mut own = tried.filter(|one| matches!(one.how.as_deref(), Some("rpath" | "runpath")));
        let ends = |one: &&Evidence| one.reason.as_deref().is_some_and(|r| r.ends_with(ENDS_LIST));
        own.find(ends)?.path.as_deref().map(show_path)
    }

    /// The advice to reinstall a Debian package, and the command for it. `None` unless a candidate
    /// is a missing file that a package lists. The package manager of this system does not install
    /// into a sysroot. The advice for a sysroot therefore has no command.
    fn restore(&self, entry: &ReportEntry<'_>) -> Option<(String, Option<String>)> {
        let candidates = self.entries.evidence(entry, EvidenceKind::Candidate);
        let removed = candidates.into_iter().find(|e| e.how.as_deref() == Some(REMOVED))?;
        let raw = removed.package.as_deref()?.as_bytes();
        let package = show(raw);
        Some(if let Some(sysroot) = &self.paths.sysroot {
            let sysroot = name(&show_path(sysroot));
            (format!("install the package {} again in {sysroot}", name(&package)), None)
        } else {
            let command = format!("apt-get install --reinstall {}", shell(raw));
            ("install the package again".to_owned(), Some(command))
        })
    }
}

/// The advice for a library without a candidate: a command that finds the package of the library,
/// or a command that adds the library to the wheel.
fn install(finding: &ReportFinding, library: &str) -> String {
    let shown = name(library);
    let path = finding.full_path();
    if path.starts_with("/nix/store") {
        return format!(
            "find the package that has {shown}: {}",
            name(&format!("nix-locate {library}"))
        );
    }
    if path.starts_with("/gnu/store") {
        return format!(
            "find the package that has {shown}: {}",
            name(&format!("guix locate {library}"))
        );
    }
    if is_of_wheel(library) {
        return format!("add {shown} to the wheel: {}", name("auditwheel repair WHEEL"));
    }
    let searches = [format!("apt-file search {library}"), format!("dnf provides '*/{library}'")];
    let searches = searches.iter().map(|search| name(search)).collect::<Vec<_>>().join(" or ");
    format!("install the package that has {shown}: {searches}")
}

/// True for the name of a library copied by auditwheel: `libm-1a2b3c4d.so.6`.
fn is_of_wheel(library: &str) -> bool {
    let stem = library.split(".so").next().unwrap_or(library);
    let is_hash = |part: &str| {
        let start = part.as_bytes().get(..8);
        start.is_some_and(|start| start.iter().all(u8::is_ascii_hexdigit))
    };
    stem.split('-').any(is_hash)
}

#[cfg(test)]
mod tests {
    use super::is_of_wheel;

    #[test]
    fn names_of_copies_in_wheels() {
        assert!(is_of_wheel("libm-1a2b3c4d.so.6") && is_of_wheel("libx-1.2-0123abcd5.so"));
        assert!(!is_of_wheel("libm.so.6") && !is_of_wheel("libx-1a2b3c.so"));
        // The eighth byte is in the middle of a character.
        assert!(!is_of_wheel("libaaaa\u{e9}.so") && !is_of_wheel("lib-1a2b3c4\u{e9}.so"));
    }
}
