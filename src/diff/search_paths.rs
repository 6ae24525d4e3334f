//! The entries of search paths that a file lost, and those in another order.

use super::pairs::without_numbers;
use crate::id::FastSet;
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

/// Two entries of the new search path in another order than before.
pub(super) struct Swapped {
    /// The entry that is searched first now.
    pub(super) first: Vec<u8>,
    /// The entry that was searched before it.
    pub(super) then: Vec<u8>,
    /// A needed library that is found at another path now.
    pub(super) library: Vec<u8>,
}

/// The first entries in another order, if a needed library is found at another path. An order
/// without effect is not a difference.
pub(super) fn swapped(old: &File, new: &File) -> Option<Swapped> {
    let before: Vec<Vec<u8>> = entries(old).iter().map(|entry| plain(old, entry)).collect();
    let place = |entry: &Vec<u8>| before.iter().position(|other| *other == plain(new, entry));
    let mut seen = FastSet::default();
    let kept: Vec<(usize, Vec<u8>)> = entries(new)
        .into_iter()
        .filter_map(|entry| Some((place(&entry)?, entry)))
        .filter(|(place, _)| seen.insert(*place))
        .collect();
    let [(_, first), (_, then)] = kept.windows(2).find(|pair| pair[0].0 > pair[1].0)? else {
        return None;
    };
    let found = |file: &File, name: &[u8]| {
        let need = file.needed.iter().find(|need| &*need.name == name)?;
        Some(plain(file, need.path.as_deref()?))
    };
    let is_other = |name: &[u8]| {
        let (before, now) = (found(old, name), found(new, name));
        before.is_some() && now.is_some() && before != now
    };
    let library = new.needed.iter().map(|need| &need.name).find(|name| is_other(name))?;
    Some(Swapped { first: first.clone(), then: then.clone(), library: library.clone() })
}

fn entries(file: &File) -> Vec<Vec<u8>> {
    // Loaders ignore RPATH beside RUNPATH.
    let list = file.runpath.as_ref().or(file.rpath.as_ref());
    let parts = list.into_iter().flat_map(|list| list.split(|b| *b == b':'));
    parts.map(|entry| without_hashes(entry).into_owned()).collect()
}

/// A path or an entry relative to the prefix, without store hashes and numbers.
fn plain(file: &File, entry: &[u8]) -> Vec<u8> {
    let path = Path::new(OsStr::from_bytes(entry));
    let below = file.prefix.as_deref().and_then(|prefix| path.strip_prefix(prefix).ok());
    let below = below.map(|below| [b"=", below.as_os_str().as_bytes()].concat());
    without_numbers(&without_hashes(&below.unwrap_or_else(|| entry.to_vec())))
}
