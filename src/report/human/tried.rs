//! The paths that the loader tried for a library. Paths with an existing file that cannot be loaded
//! come first. The default directories share a line.

use super::Sheet;
use crate::finding::{Evidence, EvidenceKind};
use crate::order::Arrange as _;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, name};
use crate::rules::step;
use crate::text::show_path;
use std::collections::BTreeSet;
use std::io;
use std::path::Path;

/// Maximum number of tried paths that are listed without `-v`.
const MOST: usize = 4;
/// The start of the reason for a tried path that does not exist.
const ABSENT: &str = "no such file or directory";
/// The reason for a tried path whose directory does not exist.
const NO_DIRECTORY: &str = "no such directory";

/// The reasons why tried paths failed, in the order of the report.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Miss {
    /// The path exists but cannot be loaded: it is for another machine, lacks permissions or is not
    /// a regular file, or DF_1_NODEFLIB forbids its directory.
    File,
    /// A path outside of the default directories does not exist.
    Named,
    /// The directory of the path does not exist. It is not a default directory.
    Directory,
    /// ld.so.cache has no entry through which the library can be loaded.
    Cache,
    /// A default directory lacks the file, or does not exist.
    Default,
    /// A subdirectory for processors with extensions (`glibc-hwcaps`) lacks the file.
    Minor,
}

impl Miss {
    fn of(tried: &Evidence) -> Self {
        let how = tried.how.as_deref();
        match tried.reason.as_deref() {
            Some(NO_DIRECTORY) if how == Some("default") => Self::Default,
            Some(NO_DIRECTORY) => Self::Directory,
            _ if tried.minor => Self::Minor,
            _ if how == Some("cache") => Self::Cache,
            Some(reason) if !reason.starts_with(ABSENT) => Self::File,
            _ if how == Some("default") => Self::Default,
            _ => Self::Named,
        }
    }
}

impl Sheet<'_> {
    pub(super) fn tried(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let mut known: BTreeSet<_> = BTreeSet::new();
        let mut all: Vec<(Miss, &Evidence)> = Vec::new();
        for evidence in self.entries.evidence(entry, EvidenceKind::Tried) {
            if known.insert((&evidence.path, &evidence.how, &evidence.reason)) {
                all.push((Miss::of(evidence), evidence));
            }
        }
        all.arrange_by_key(|(miss, _)| *miss);
        if page.style.verbose {
            return all.iter().try_for_each(|(_, evidence)| page.item("tried", &words(evidence)));
        }
        let near = all.iter().filter(|(miss, _)| *miss < Miss::Default);
        let near: Vec<&Evidence> = near.map(|(_, evidence)| *evidence).collect();
        for evidence in near.iter().take(MOST) {
            page.item("tried", &words(evidence))?;
        }
        page.more(near.len().saturating_sub(MOST), "path", "paths")?;
        let directories = all.iter().filter(|(miss, _)| *miss == Miss::Default);
        let directories: Vec<&Evidence> = directories.map(|(_, evidence)| *evidence).collect();
        defaults(&directories, page)?;
        if near.is_empty() && directories.is_empty() {
            // All tried paths are in subdirectories for processor extensions.
            for (_, evidence) in all.iter().take(MOST) {
                page.item("tried", &words(evidence))?;
            }
            return page.more(all.len().saturating_sub(MOST), "path", "paths");
        }
        Ok(())
    }
}

fn words(evidence: &Evidence) -> String {
    let path = evidence.path.as_deref().map(show_path).unwrap_or_default();
    let how = evidence.how.as_deref().filter(|how| *how != "cache");
    let how = how.map(|how| format!(" ({})", step(how)));
    let reason = evidence.reason.as_deref().map(|text| format!(": {text}"));
    format!("{}{}{}", name(&path), how.unwrap_or_default(), reason.unwrap_or_default())
}

/// Writes the default directories, none of which has the file, in one line.
fn defaults(tried: &[&Evidence], page: &mut LabelledLines<'_>) -> io::Result<()> {
    let mut directories: Vec<String> = Vec::new();
    for path in tried.iter().filter_map(|evidence| evidence.path.as_deref()) {
        let directory = name(&show_path(path.parent().unwrap_or(Path::new("/"))));
        if !directories.contains(&directory) {
            directories.push(directory);
        }
    }
    match &directories[..] {
        [] => Ok(()),
        [one] => page.item("tried", &format!("{one} (default directory): {ABSENT}")),
        several => {
            let text = format!("{} (default directories): {ABSENT}", several.join(", "));
            page.item("tried", &text)
        }
    }
}
