//! The entries of search paths that a file lost, and entries that are now in another order.

use super::numbers::without_numbers;
use crate::order;
use crate::package::without_hashes;
use crate::report::model::File;
use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The entries of the old file's search path that the new file's search path lacks. The search path
/// is RUNPATH, or RPATH if there is no RUNPATH. The entries are as written in the old file, without
/// store hashes. They are compared relative to the prefix and without version numbers, because
/// prefix and release may differ.
pub(super) fn lost(old: &File, new: &File) -> BTreeSet<Vec<u8>> {
    let now: BTreeSet<Vec<u8>> = entries(new).iter().map(|entry| plain(new, entry)).collect();
    let is_lost = |entry: &Vec<u8>| !entry.is_empty() && !now.contains(&plain(old, entry));
    order::set(entries(old).into_iter().filter(is_lost))
}

/// Two entries of the new search path in another order than before.
pub(super) struct Swapped {
    /// The entry in which the loader finds `library` now.
    pub(super) first: Vec<u8>,
    /// The entry in which the loader found `library` before. The old file has it before `first`,
    /// the new file after.
    pub(super) then: Vec<u8>,
    /// A needed library that is found at another path now.
    pub(super) library: Vec<u8>,
}

/// Finds the first needed library that is found through another entry because of the new order.
/// In the new file, the entry that found the library before comes after the entry that finds it
/// now. A changed order without effect is not a difference.
pub(super) fn swapped(old: &File, new: &File) -> Option<Swapped> {
    let plain_entries = |file: &File| -> Vec<Vec<u8>> {
        entries(file).iter().map(|entry| plain(file, entry)).collect()
    };
    let (before, now) = (plain_entries(old), plain_entries(new));
    if before == now {
        return None;
    }
    new.needed.iter().find_map(|need| {
        let was = found_in(old, &need.name)?;
        let is = found_in(new, &need.name)?;
        let was_now = now.iter().position(|entry| *entry == before[was])?;
        let is_before = before.iter().position(|entry| *entry == now[is])?;
        let spelled = |at: usize| entries(new).swap_remove(at);
        (was < is_before && is < was_now).then(|| Swapped {
            first: spelled(is),
            then: spelled(was_now),
            library: need.name.clone(),
        })
    })
}

/// The index of the entry in whose directory a needed library is found.
fn found_in(file: &File, library: &[u8]) -> Option<usize> {
    let need = file.needed.iter().find(|need| &*need.name == library)?;
    let path = Path::new(OsStr::from_bytes(need.path.as_deref()?));
    let mut directory = path.parent()?;
    // The loader also searches directories for processors below each entry.
    if let Some(above) = directory.ancestors().find(|above| above.ends_with("glibc-hwcaps")) {
        directory = above.parent()?;
    }
    let directory = normal(directory.as_os_str().as_bytes());
    raw_entries(file).position(|entry| normal(&expanded(file, entry)) == directory)
}

/// An entry with the directory of the file in place of `$ORIGIN`.
fn expanded(file: &File, entry: &[u8]) -> Vec<u8> {
    let rest =
        [&b"$ORIGIN"[..], b"${ORIGIN}"].iter().find_map(|origin| entry.strip_prefix(*origin));
    let rest = rest.filter(|rest| rest.is_empty() || rest.starts_with(b"/"));
    match (rest, file.path.parent()) {
        (Some(rest), Some(origin)) => [origin.as_os_str().as_bytes(), rest].concat(),
        _ => entry.to_vec(),
    }
}

/// The components of a path, without `.`. A `..` removes the component before it.
fn normal(path: &[u8]) -> Vec<Vec<u8>> {
    let mut out: Vec<Vec<u8>> = Vec::new();
    for part in path.split(|byte| *byte == b'/') {
        match part {
            b"" | b"." => {}
            b".." => drop(out.pop()),
            _ => out.push(part.to_vec()),
        }
    }
    out
}

fn entries(file: &File) -> Vec<Vec<u8>> {
    raw_entries(file).map(|entry| without_hashes(entry).into_owned()).collect()
}

/// The entries of the search path, as written in the file.
fn raw_entries(file: &File) -> impl Iterator<Item = &[u8]> {
    // Loaders ignore RPATH beside RUNPATH.
    let list = file.runpath.as_ref().or(file.rpath.as_ref());
    list.into_iter().flat_map(|list| list.split(|byte| *byte == b':'))
}

/// A path or an entry relative to the prefix, without store hashes and version numbers.
fn plain(file: &File, entry: &[u8]) -> Vec<u8> {
    let path = Path::new(OsStr::from_bytes(entry));
    let below = file.prefix.as_deref().and_then(|prefix| path.strip_prefix(prefix).ok());
    let below = below.map(|below| [b"=", below.as_os_str().as_bytes()].concat());
    without_numbers(&without_hashes(&below.unwrap_or_else(|| entry.to_vec())))
}
