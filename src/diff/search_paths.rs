//! The entries of search paths that a file lost.

use super::pairs::without_numbers;
use crate::order;
use crate::package::without_hashes;
use crate::report::model::File;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The entries of the search path that the new file does not have. The search path is RUNPATH, or
/// RPATH if there is no RUNPATH. The entries are as written in the old file, without store hashes.
/// They are compared relative to the prefix and without version numbers, because prefix and release
/// may differ.
pub(super) fn lost(old: &File, new: &File) -> BTreeSet<Vec<u8>> {
    let now: BTreeSet<Vec<u8>> = entries(new).iter().map(|entry| plain(new, entry)).collect();
    let is_lost = |entry: &Vec<u8>| !entry.is_empty() && !now.contains(&plain(old, entry));
    order::set(entries(old).into_iter().filter(is_lost))
}

fn entries(file: &File) -> Vec<Vec<u8>> {
    // Loaders ignore RPATH beside RUNPATH.
    let list = file.runpath.as_ref().or(file.rpath.as_ref());
    let parts = list.into_iter().flat_map(|list| list.split(|b| *b == b':'));
    parts.map(|entry| without_hashes(entry).into_owned()).collect()
}

/// An entry relative to the prefix, without numbers.
fn plain(file: &File, entry: &[u8]) -> Vec<u8> {
    let path = Path::new(OsStr::from_bytes(entry));
    let below = file.prefix.as_deref().and_then(|prefix| path.strip_prefix(prefix).ok());
    let below = below.map(|below| [b"=", below.as_os_str().as_bytes()].concat());
    without_numbers(&below.unwrap_or_else(|| entry.to_vec()))
}
