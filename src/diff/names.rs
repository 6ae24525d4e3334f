//! Lost names of files that still exist. A lost name is a link to a file or to its directory. It
//! may also be the old file name of a library that was renamed and keeps its soname.

use super::numbers::without_numbers;
use super::pairs::FilePairs;
use super::sides::{
    PrefixLink, Side, all_names, below_prefix, file_names, is_by_build_id, is_library,
};
use crate::id::{FastMap, FastSet};
use crate::report::model::File;
use crate::text::last_part;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A name of an old file under which the new version of the file is not found.
pub(super) struct LostName<'a> {
    pub(super) path: &'a Path,
    /// The file that had the name, and its new version.
    pub(super) old: &'a File,
    pub(super) new: &'a File,
    /// The file that is found under the name now, if that file has another soname.
    pub(super) other: Option<&'a File>,
}

impl LostName<'_> {
    /// True if the name is a symbolic or hard link to the old file.
    pub(super) fn is_further(&self) -> bool {
        self.path != &*self.old.path
    }

    /// The name without its directory.
    pub(super) fn name(&self) -> &[u8] {
        last_part(self.path.as_os_str().as_bytes())
    }

    /// True if loaders search for the name. False if a finding about a changed soname covers the
    /// lost name.
    fn is_asked_for(&self, is_needed: impl Fn(&[u8], &File) -> bool) -> bool {
        let before = self.old.soname.as_deref();
        if before == Some(self.name()) {
            return self.new.soname.as_deref() == before;
        }
        (before.is_some() || self.is_further()) && is_needed(self.name(), self.new)
    }

    /// True for a link that linkers use (`libfoo.so`), and for each name of a program.
    fn is_for_people(&self) -> bool {
        self.is_further() && self.name().ends_with(b".so") || !is_library(self.old)
    }
}

/// Finds lost names of paired files: names that the new report does not have. Only sonames, names
/// that `is_needed` accepts, names of programs, and links for linkers are compared. A name is not
/// lost if the new file has it in another directory. A new release may replace names of the old
/// release, as `clang-20` replaces `clang-19`.
pub(super) fn lost<'a>(
    pairs: &FilePairs<'a>,
    new_side: &Side<'_>,
    [before, now]: [&Paths<'_, 'a>; 2],
    is_needed: impl Fn(&[u8], &File) -> bool,
) -> Vec<LostName<'a>> {
    let below = |file: &File, path: &Path| below_prefix(file, path);
    let mut out = Vec::new();
    let mut seen: FastSet<&Path> = FastSet::default();
    for (old, new) in &pairs.both {
        // An old file may have several counterparts. Each of its names can be lost only once.
        if !seen.insert(&old.path) {
            continue;
        }
        let names = all_names(old).filter(|path| !is_by_build_id(old, path));
        let lost = names.filter_map(|path| {
            let found = now.file_at(below(old, path));
            let last = last_part(path.as_os_str().as_bytes());
            // A loader that searches for the old soname opens this file, not the new version.
            let is_other = |file: &&File| {
                old.soname.as_deref() == Some(last)
                    && file.path != new.path
                    && file.soname.as_deref() != Some(last)
            };
            let other = found.filter(is_other);
            let is_unread = || new_side.unread.lacks(&below(old, path)).is_some();
            let is_lost = other.is_some() || (found.is_none() && !is_unread());
            is_lost.then_some(LostName { path, old, new, other })
        });
        let (asked_for, others): (Vec<_>, Vec<_>) =
            lost.partition(|name| name.is_asked_for(&is_needed));
        let has = |name: &[u8]| file_names(new).any(|other| other == name);
        out.extend(asked_for.into_iter().filter(|name| !has(name.name())));
        let mut others: Vec<LostName<'a>> =
            others.into_iter().filter(LostName::is_for_people).collect();
        if others.is_empty() {
            continue;
        }
        let new_names = all_names(new).map(|path| below(new, path));
        let free: Vec<Vec<u8>> =
            new_names.filter(|path| !before.files.contains_key(path)).collect();
        let is_other_release = now.file_at(below(old, &old.path)).is_none();
        take_counterparts(&mut others, &free, is_other_release);
        out.extend(others);
    }
    out
}

/// Finds lost links to directories that still exist. Every path that goes through a lost link is
/// lost too. A link is not lost if the new report has a link whose path differs only in version
/// numbers.
pub(super) fn lost_links<'s, 'a>(
    (old, new): (&'s Side<'a>, &Side<'a>),
    [before, now]: [&Paths<'_, 'a>; 2],
) -> Vec<&'s PrefixLink<'a>> {
    if new.report.directory_links.is_none() {
        return Vec::new();
    }
    let (had_files, has_files) = (before.directories(), now.directories());
    let releases: FastSet<Vec<u8>> =
        new.links().iter().map(|link| without_numbers(&link.below)).collect();
    let is_lost = |link: &&PrefixLink<'_>| {
        let target = &*link.target;
        let is_there =
            now.followed(link.below.clone()) != link.below || has_files.contains(&*link.below);
        !is_there
            && new.unread.lacks(&link.below).is_none()
            && !releases.contains(&without_numbers(&link.below))
            && had_files.contains(target)
            && has_files.contains(target)
    };
    old.links().iter().filter(is_lost).collect()
}

/// The paths in one report, relative to the prefix and without store hashes.
pub(super) struct Paths<'s, 'a> {
    /// The files, by their paths and by the paths of links to them.
    files: FastMap<Vec<u8>, &'a File>,
    /// The target of each link to a directory, by the path of the link.
    links: FastMap<&'s [u8], &'s [u8]>,
}

impl<'s, 'a> Paths<'s, 'a> {
    pub(super) fn of(side: &'s Side<'a>) -> Self {
        let names = side
            .own()
            .flat_map(|file| all_names(file).map(move |path| (below_prefix(file, path), file)));
        let links = side.links().iter().map(|link| (&*link.below, &*link.target));
        Self { files: names.collect(), links: links.collect() }
    }

    /// The file at a path, after links to directories are followed.
    fn file_at(&self, path: Vec<u8>) -> Option<&'a File> {
        let direct = self.files.get(&path).copied();
        direct.or_else(|| self.files.get(&self.followed(path)).copied())
    }

    /// The path after links to directories are followed.
    fn followed(&self, mut path: Vec<u8>) -> Vec<u8> {
        /// Maximum number of links that are followed, as in the kernel.
        const MOST: usize = 40;
        for _ in 0..MOST {
            let ends = memchr::memchr_iter(b'/', &path).chain([path.len()]);
            let link = { ends }.find_map(|end| Some((self.links.get(&path[..end])?, end)));
            let Some((target, end)) = link else { break };
            let rest = path[end..].strip_prefix(b"/").unwrap_or_default();
            let parts = [*target, rest].into_iter().filter(|part| !part.is_empty());
            path = parts.collect::<Vec<_>>().join(&b'/');
        }
        path
    }

    /// The directories with files below them.
    fn directories(&self) -> FastSet<&[u8]> {
        let ends = |path: &'_ [u8]| memchr::memchr_iter(b'/', path).chain([0]).collect::<Vec<_>>();
        self.files.keys().flat_map(|path| ends(path).into_iter().map(|end| &path[..end])).collect()
    }
}

/// Removes names that one of the `free` paths replaces. Each path can replace one name.
fn take_counterparts(names: &mut Vec<LostName<'_>>, free: &[Vec<u8>], is_other_release: bool) {
    let mut free: Vec<&[u8]> = free.iter().map(|path| last_part(path)).collect();
    let mut take = |key: fn(&[u8]) -> Option<Vec<u8>>| {
        names.retain(|lost| {
            let wanted = key(lost.name());
            let found = free.iter().position(|name| wanted.is_some() && key(name) == wanted);
            found.map(|at| free.swap_remove(at)).is_none()
        });
    };
    take(|name| Some(name.to_vec()));
    if is_other_release {
        take(|name| Some(shape(name)));
        // `app-1.0.1` replaces `app-1.0`, but `python3.12` does not replace `python3`.
        take(|name| {
            shape(name).windows(3).any(|part| part == b"0.0").then(|| without_numbers(name))
        });
    }
}

/// A name with `0` for each run of digits: `libfoo.so.1` and `libfoo.so.1.2` have different shapes.
fn shape(name: &[u8]) -> Vec<u8> {
    let mut out: Vec<u8> = Vec::with_capacity(name.len());
    for byte in name {
        match byte {
            b'0'..=b'9' if out.last() == Some(&b'0') => {}
            b'0'..=b'9' => out.push(b'0'),
            _ => out.push(*byte),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::shape;

    #[test]
    fn a_shape_has_the_number_of_parts() {
        assert_eq!(shape(b"libfoo.so.12"), b"libfoo.so.0");
        assert_eq!(shape(b"libfoo.so.1.25"), b"libfoo.so.0.0");
    }
}
