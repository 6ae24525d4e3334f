//! Lists of archives from options and policies, read before the audit. A list that cannot be read
//! is an error if an option of `fix` names it, and a finding if a policy names it.

use super::named;
use super::place::AuditedSystem;
use crate::format::deps_list::DepsList;
use crate::plan::{MergedFrom, Which};
use crate::policy::{ArchivePolicy, Policy};
use crate::text::show_path;
use crate::tree::{DiskTree, EntryType, Tree};
use std::path::{Path, PathBuf};

/// Maximum size of a list in bytes.
const MOST: u64 = 16 << 20;

/// Reads one list. The error is a message for the user. The archive sets that the list names are
/// checked later.
pub(super) fn read(file: &Path) -> Result<DepsList, String> {
    let shown = show_path(file);
    let text = named::read(file, MOST).map_err(|why| format!("{shown}: {why}"))?;
    DepsList::parse(text).map_err(|trouble| format!("{shown}:{}: {}", trouble.line, trouble.reason))
}

/// The lists of `[[archive]]` entries in a policy, with the directories of archive sets as the
/// policy names them. A list of a built-in policy is skipped if its file does not exist.
pub(super) fn of_policy(policy: &Policy) -> Vec<MergedFrom> {
    let entry = |entry: &ArchivePolicy| {
        let path = entry.deps_list.clone()?;
        if is_built_in(entry) && DiskTree::new().kind(&path).is_err() {
            return None;
        }
        let (which, from) = (Which::Policy(entry.matches.clone()), entry.from.clone());
        Some(MergedFrom { which, list: read(&path), path, from })
    };
    policy.archives.iter().filter_map(entry).collect()
}

/// Translates the directories of archive sets to paths in the audited system. `real` resolves the
/// symbolic links of a directory, because the links in paths of archives are resolved too. `real`
/// returns `None` if the directory does not exist in the audited system; the directory then stays
/// as it is.
pub(super) fn translate(sets: &mut [(String, PathBuf)], real: impl Fn(&Path) -> Option<PathBuf>) {
    for (_, dir) in sets {
        if let Some(found) = real(dir) {
            *dir = found;
        }
    }
}

/// The directories of archive sets that policy files name and that exist in the audited system.
/// Entries without a list and built-in policies are skipped.
pub(super) fn places(policy: &Policy, place: &AuditedSystem<'_>, tree: &dyn Tree) -> Vec<PathBuf> {
    let entries = policy.archives.iter().filter(|entry| entry.deps_list.is_some());
    let from = entries.filter(|entry| !is_built_in(entry)).flat_map(|entry| &entry.from);
    from.filter_map(|(_, dir)| place.named(dir).ok())
        .filter(|dir| tree.kind(dir) == Ok(EntryType::Directory))
        .collect()
}

fn is_built_in(entry: &ArchivePolicy) -> bool {
    entry.origin.source.starts_with("built-in ")
}
