//! Names by which a file is found, and by which it is found no more: links to it, and the name of a
//! library that has another one now but the same soname.

use super::pairs::{Pairs, without_numbers};
use super::sides::{Side, all_names, below_prefix, is_library};
use crate::id::{FastMap, FastSet};
use crate::report::model::File;
use crate::text::last_part;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A name that the new side does not have.
pub(super) struct LostName<'a> {
    pub(super) path: &'a Path,
    /// The file that had the name, and its counterpart.
    pub(super) old: &'a File,
    pub(super) new: &'a File,
}

impl LostName<'_> {
    /// True for a link or a hard link.
    pub(super) fn is_further(&self) -> bool {
        self.path != &*self.old.path
    }

    /// The name without its directory.
    pub(super) fn name(&self) -> &[u8] {
        last_part(self.path.as_os_str().as_bytes())
    }

    /// True if loaders look for the name, and no finding about a changed soname says so.
    fn is_asked_for(&self, is_needed: impl Fn(&[u8], &File) -> bool) -> bool {
        let before = self.old.soname.as_deref();
        if before == Some(self.name()) {
            return self.new.soname.as_deref() == before;
        }
        (before.is_some() || self.is_further()) && is_needed(self.name(), self.new)
    }

    /// True for a link that people and linkers use.
    fn is_for_people(&self) -> bool {
        let is_for_linkers = self.old.soname.is_some() && self.name().ends_with(b".so");
        self.is_further() && (is_for_linkers || !is_library(self.old))
    }
}

/// The names of paired files that the new side has neither at their path nor anywhere else, and that
/// somebody may ask for: sonames, names that `is_needed` accepts, links to programs, and links for the
/// linker. For the last two, a name of another release stands for one of the old: `clang-20` for `clang-19`.
pub(super) fn lost<'a>(
    pairs: &Pairs<'a>,
    (old, new): (&Side<'a>, &Side<'a>),
    is_needed: impl Fn(&[u8], &File) -> bool,
) -> Vec<LostName<'a>> {
    let of = |side: &Side<'a>| -> FastSet<Vec<u8>> {
        side.own().flat_map(|file| all_names(file).map(|path| below_prefix(file, path))).collect()
    };
    let (before, now) = (of(old), of(new));
    let names = pairs
        .both
        .iter()
        .flat_map(|(old, new)| all_names(old).map(|path| LostName { path, old, new }));
    let names = names.map(|name| (below_prefix(name.old, name.path), name));
    let mut left: Vec<(Vec<u8>, LostName<'a>)> =
        names.filter(|(below, _)| !now.contains(below)).collect();
    // Files that are there on both sides keep their names.
    let mut free: BTreeSet<Vec<u8>> =
        now.into_iter().filter(|below| !before.contains(below)).collect();
    take(&mut left, &mut free, |below| last_part(below).to_vec());
    let (mut lost, mut left): (Vec<_>, Vec<_>) =
        left.into_iter().partition(|(_, lost)| lost.is_asked_for(&is_needed));
    take(&mut left, &mut free, shape);
    take(&mut left, &mut free, without_numbers);
    lost.extend(left.into_iter().filter(|(_, lost)| lost.is_for_people()));
    lost.into_iter().map(|(_, lost)| lost).collect()
}

/// A path with `0` for each run of digits: `libfoo.so.1` and `libfoo.so.1.2` have different shapes.
fn shape(path: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(path.len());
    for byte in path {
        match byte {
            b'0'..=b'9' if out.last() == Some(&b'0') => {}
            b'0'..=b'9' => out.push(b'0'),
            _ => out.push(*byte),
        }
    }
    out
}

/// Takes out names that have a counterpart: each free name is the counterpart of one.
fn take(
    left: &mut Vec<(Vec<u8>, LostName<'_>)>,
    free: &mut BTreeSet<Vec<u8>>,
    key: fn(&[u8]) -> Vec<u8>,
) {
    let mut by_key: FastMap<Vec<u8>, Vec<Vec<u8>>> = FastMap::default();
    for below in free.iter() {
        by_key.entry(key(below)).or_default().push(below.clone());
    }
    left.retain(|(below, _)| match by_key.get_mut(&key(below)).and_then(Vec::pop) {
        Some(taken) => {
            free.remove(&taken);
            false
        }
        None => true,
    });
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn a_shape_has_the_number_of_parts() {
        assert_eq!(shape(b"lib/libfoo.so.12"), b"lib/libfoo.so.0");
        assert_eq!(shape(b"lib/libfoo.so.1.25"), b"lib/libfoo.so.0.0");
    }
}
