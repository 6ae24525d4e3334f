//! Fixes that drop dead or unsafe entries of search paths. `patch` verifies that the same files are
//! loaded without them. If a library may appear in the directory later, the fix is only a
//! suggestion.

use super::patch::{Patch, Step, Verified};
use super::steps::{self, Cure, Work};
use crate::audit::{Audit, EntryState};
use crate::finding::{Finding, Findings, FixKind};
use crate::id::FileId;

const DEAD: &str = "dead-search-entry";
const UNSAFE: &str = "unsafe-search-entry";
/// `detail` of the finding about entries that the audit did not check.
const UNCHECKED: &[u8] = b"more";

/// Reasons why an entry may be needed although the loader finds no library through it now.
const MAY_OPEN: &str = "a library that is opened with dlopen may lie there";
const MAY_BRING: &str = "another package may bring the directory";
const MAY_OPEN_OTHERS: &str = "without it, musl starts to search the other entries";

/// Attaches fixes to findings, and adds the verified changes to `verified`.
pub(super) fn attach(work: &mut Work<'_>, findings: &mut Findings, verified: Verified) -> Verified {
    let found = findings.iter().enumerate();
    let cures = found.filter_map(|(place, finding)| cure(work.audit, place, finding)).collect();
    steps::attach(work, findings, verified, cures, "resolved and bound again without the entry")
}

fn cure(audit: &Audit, place: usize, finding: &Finding) -> Option<Cure> {
    let (file, entry) = entry(audit, finding)?;
    // `Patch` drops what is between two colons. In musl's list, an entry may end at a line break.
    let mut list = audit.corpus.files[file].object()?.search_path()?.split(|byte| *byte == b':');
    if !list.any(|text| text == entry) {
        return None;
    }
    let doubt = doubt(audit, finding, file, entry);
    let dropped = [entry.to_vec()].into_iter().collect();
    let step = Step { file, ways: vec![Patch { dropped, ..Patch::default() }], cures: Vec::new() };
    let entry = finding.detail.clone();
    Some(Cure { place, intent: FixKind::DropSearchEntry, entry, step, doubt })
}

/// The file and the entry of a finding about a dead or unsafe entry.
fn entry<'f>(audit: &Audit, finding: &'f Finding) -> Option<(FileId, &'f [u8])> {
    let is_about = finding.rule == *DEAD || finding.rule == *UNSAFE;
    let entry = finding.detail.as_deref().filter(|entry| is_about && *entry != UNCHECKED)?;
    Some((audit.corpus.file_at(&finding.full_path())?, entry))
}

/// The reason why a library may be found through an entry later; `None` if there is no such reason.
fn doubt(audit: &Audit, finding: &Finding, file: FileId, text: &[u8]) -> Option<&'static str> {
    let mut entries = audit.search_entries.get(&file)?.entries.iter();
    let entry = entries.find(|entry| entry.text == text)?;
    match entry.state {
        EntryState::Absent => {}
        EntryState::Ignored => return Some(MAY_OPEN_OTHERS),
        EntryState::Directory | EntryState::Unknown => return Some(MAY_OPEN),
    }
    // No other package installs libraries into the prefix itself, or into a build or user directory
    // (`unsafe-search-entry`).
    let prefix = audit.prefixes.locate(&audit.corpus.files[file].path).prefix;
    let is_own = prefix.is_some_and(|prefix| entry.directory.starts_with(prefix));
    (finding.rule != *UNSAFE && !is_own).then_some(MAY_BRING)
}
