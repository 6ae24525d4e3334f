//! The objects that a defect affects: the files of an entry, the chain of needs that loads them,
//! and the entry points.

use super::Sheet;
use crate::finding::{Evidence, EvidenceKind};
use crate::order;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, count, some};
use crate::report::model::ReportFinding;
use crate::text::show_path;
use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

/// Maximum number of files that are listed one by one. More files are counted by directory.
const FEW: usize = 6;
/// Maximum number of files of one directory, and of entry points, that are listed without `-v`.
const MOST_NAMES: usize = 3;
/// Maximum number of directories that are listed without `-v`.
const MOST_DIRECTORIES: usize = 5;

impl Sheet<'_> {
    /// Writes the files that need a library.
    pub(super) fn needed_by(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        self.files("needed by", entry, page)
    }

    /// Writes the files that refer to undefined symbols. If there is only one file, the heading
    /// names it.
    pub(super) fn undefined_in(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        if entry.files().len() == 1 {
            return Ok(());
        }
        self.files("in", entry, page)
    }

    pub(super) fn files(
        &self,
        label: &'static str,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let files = entry.files();
        if files.len() <= FEW {
            let names: Vec<String> =
                files.iter().map(|(finding, _)| self.entries.file(finding)).collect();
            return page.item(label, &some(&names, FEW));
        }
        let places = &entry.cause.places;
        let most = page.limit(MOST_DIRECTORIES);
        let paths: Vec<PathBuf> = files.iter().map(|(finding, _)| finding.full_path()).collect();
        for place in places.iter().take(most) {
            let inside = paths.iter().filter(|path| path.parent() == Some(&*place.path));
            let names: Vec<String> =
                inside.filter_map(|path| Some(show_path(Path::new(path.file_name()?)))).collect();
            let directory = crate::report::layout::name(&self.entries.short(&place.path));
            let number = count(place.files, "file", "files");
            let names = some(&names, page.limit(MOST_NAMES));
            page.item(label, &format!("{number} in {directory}: {names}"))?;
        }
        page.more(places.len().saturating_sub(most), "directory", "directories")
    }

    /// For an entry about one file, writes the chain of needs from the first entry point to that
    /// file. Entries about copies have the chain only with `-v`, because other lines already say
    /// which file needs each copy.
    pub(super) fn chain(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let has_copies = !self.entries.evidence(entry, EvidenceKind::Copy).is_empty();
        if has_copies && !page.style.verbose {
            return Ok(());
        }
        match (&entry.files()[..], &entry.findings[..]) {
            ([_], [first, ..]) if first.symbol.is_some() || entry.findings.len() == 1 => {
                self.own_chain(first, page)
            }
            _ => Ok(()),
        }
    }

    /// Writes the chain of needs from the entry point to the file of one finding. For an entry point
    /// itself, writes the hard link by which it is started, if that is not the path of the finding.
    pub(super) fn own_chain(
        &self,
        finding: &ReportFinding,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let word = |hop: &Evidence| {
            let path = hop.path.as_deref().map(|path| self.entries.short(path));
            path.or_else(|| hop.reason.clone())
        };
        let hops = self.entries.causes.evidence(finding, EvidenceKind::Chain);
        let hops: Vec<String> =
            hops.filter_map(word).map(|hop| crate::report::layout::name(&hop)).collect();
        match self.started_as(finding) {
            _ if hops.len() > 1 => page.item("loaded by", &hops.join(" > ")),
            Some(link) => page.item("started as", &crate::report::layout::name(&link)),
            None => Ok(()),
        }
    }

    /// The hard link of the finding's file that is the entry point, if it is not the path of the
    /// finding. The search path of a program may depend on the link by which it is started.
    fn started_as(&self, finding: &ReportFinding) -> Option<String> {
        let root = finding.root.as_deref().filter(|root| *root != finding.full_path())?;
        let mut links = self.entries.causes.evidence(finding, EvidenceKind::Reference);
        let is_link = |link: &Evidence| link.path.as_deref() == Some(root) && link.reason.is_none();
        links.any(is_link).then(|| self.entries.short(root))
    }

    /// Writes the entry points of the findings. If all entry points are files of the entry, writes
    /// nothing.
    pub(super) fn affected(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let roots = self.entries.evidence(entry, EvidenceKind::Root);
        // Evidence with a `how` is a host program, not an entry point.
        let roots = roots.into_iter().filter(|root| root.how.is_none());
        let roots: BTreeSet<&Path> = order::set(roots.filter_map(|root| root.path.as_deref()));
        let files: BTreeSet<PathBuf> = order::set(entry.findings.iter().map(|f| f.full_path()));
        if roots.iter().all(|root| files.contains(*root)) {
            return Ok(());
        }
        self.entry_points(&roots.into_iter().collect::<Vec<_>>(), page)
    }

    /// Writes the number of entry points and their names. Writes nothing for fewer than two.
    pub(super) fn entry_points(
        &self,
        roots: &[&Path],
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        if roots.len() < 2 {
            return Ok(());
        }
        let base = |root: &&Path| show_path(root.file_name().map_or(*root, Path::new));
        let names: Vec<String> = if page.style.verbose {
            roots.iter().map(|root| self.entries.short(root)).collect()
        } else {
            roots.iter().map(base).collect()
        };
        let number = count(roots.len(), "entry point", "entry points");
        page.item("affects", &format!("{number}: {}", some(&names, page.limit(MOST_NAMES))))
    }
}
