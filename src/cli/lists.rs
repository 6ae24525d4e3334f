//! Lists of archives from options and policies, read before the audit. A list that cannot be read
//! is an error if an option of `fix` names it, and a finding if a policy names it.

use super::named;
use crate::format::deps_list::DepsList;
use crate::plan::{MergedFrom, Which};
use crate::policy::{ArchivePolicy, Policy};
use crate::text::show_path;
use crate::tree::{DiskTree, EntryType, Tree};
use std::path::{Path, PathBuf};

/// Maximum size of a list in bytes.
const MOST: u64 = 16 << 20;

/// Reads one list. The error is a message. The archive sets that the list names are checked later.
pub(super) fn read(file: &Path) -> Result<DepsList, String> {
    let shown = show_path(file);
    let text = named::read(file, MOST).map_err(|why| format!("{shown}: {why}"))?;
    DepsList::parse(text).map_err(|trouble| format!("{shown}:{}: {}", trouble.line, trouble.reason))
}

/// The lists of `[[archive]]` entries in a policy. A list of a built-in policy is skipped if its
/// file does not exist.
pub(super) fn of_policy(policy: &Policy) -> Vec<MergedFrom> {
    let entry = |entry: &ArchivePolicy| {
        let path = entry.deps_list.clone()?;
        if is_built_in(entry) && DiskTree::new().kind(&path).is_err() {
            return None;
        }
        let (which, from) = (Which::Policy(entry.matches.clone()), from(entry));
        Some(MergedFrom { which, list: read(&path), path, from })
    };
    policy.archives.iter().filter_map(entry).collect()
}

/// The archive sets of an entry, each with the directory of its archives. Links in the directory
/// are resolved, because paths of archives have their links resolved.
pub(super) fn from(entry: &ArchivePolicy) -> Vec<(String, PathBuf)> {
    let tree = DiskTree::new();
    let real = |dir: &PathBuf| tree.real_path(dir).unwrap_or_else(|_| dir.clone());
    entry.from.iter().map(|(set, dir)| (set.clone(), real(dir))).collect()
}

/// The existing directories of the archive sets in policy files. Entries without a list and
/// built-in policies are skipped.
pub(super) fn places(policy: &Policy) -> Vec<PathBuf> {
    let entries = policy.archives.iter().filter(|entry| entry.deps_list.is_some());
    let from = entries.filter(|entry| !is_built_in(entry)).flat_map(|entry| &entry.from);
    let tree = DiskTree::new();
    from.map(|(_, dir)| dir.clone())
        .filter(|dir| tree.kind(dir) == Ok(EntryType::Directory))
        .collect()
}

fn is_built_in(entry: &ArchivePolicy) -> bool {
    entry.origin.source.starts_with("built-in ")
}
