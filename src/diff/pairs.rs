//! Pairs each file of the old report with its counterpart, the new version of the file. The
//! counterpart is the first of these that exists:
//!
//! 1. the library with the same soname; if there are several, the one at the same path or in a
//!    directory of the same name
//! 2. the new file at the old path, or the target of a new link at the old path; then the new file
//!    at the path of an old link (symbolic or hard) to the old file
//! 3. a library in the same directory with the same stem of the soname, or a program of the same
//!    name in any directory
//! 4. the file at the same path if version numbers are ignored
//! 5. the library with the same stem of the soname
//! 6. the library with the largest part of the old library's exports
//!
//! A file is not paired if the other side could not read the path at which its counterpart would
//! be.
//!
//! Because of links (item 2), one new file may be the counterpart of several old files. If links to an old
//! file became separate files, the old file has several counterparts.

use super::numbers::without_numbers;
use super::sides::{Side, all_names, below, below_prefix, is_library, name, soname, stem};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::report::model::{File, ReportFinding};
use crate::text::last_part;
use std::path::Path;

/// Two libraries are paired by common symbols only if these symbols are at least this share of the
/// old library's exports, in percent.
const SHARED: usize = 60;
/// Libraries with fewer exports are not paired by common symbols, because a few common symbols may
/// be chance.
const ENOUGH: usize = 5;

/// The property that must be equal in both files of a pair; `None` for files without it.
type PairingKey<'k> = dyn Fn(&File) -> Option<Vec<u8>> + 'k;

/// The files of two reports: pairs of an old file and its counterpart, and files without
/// counterpart.
pub(super) struct FilePairs<'a> {
    pub(super) both: Vec<(&'a File, &'a File)>,
    /// Old files without counterpart.
    pub(super) gone: Vec<&'a File>,
    /// New files without counterpart.
    pub(super) added: Vec<&'a File>,
    /// Files of both sides whose counterpart could not be read, with the finding about the unread
    /// path.
    pub(super) unread: Vec<(&'a File, &'a ReportFinding)>,
}

pub(super) fn pairs<'a>(old: &'a Side<'_>, new: &'a Side<'_>) -> FilePairs<'a> {
    let mut left: Vec<&File> = old.own().collect();
    let mut right: Vec<&File> = new.own().collect();
    if !old.has_kinds() {
        let of_kinds = new.report.files.iter().filter(|file| file.kind.is_some());
        let not_compared: FastSet<Vec<u8>> = of_kinds.map(below).collect();
        left.retain(|file| !not_compared.contains(&below(file)));
    }
    let mut unread = Vec::new();
    set_apart(&mut left, |file| new.lacks_file(file), &mut unread);
    set_apart(&mut right, |file| old.lacks_file(file), &mut unread);
    let mut both = Vec::new();
    let exact: [&PairingKey<'_>; 5] = [
        &|file| Some([&below(file), &b"\0"[..], soname(file)].concat()),
        &|file| is_library(file).then(|| soname(file).to_vec()),
        &|file| is_library(file).then(|| [last_part(&dir(file)), b"/", soname(file)].concat()),
        &|file| is_library(file).then(|| soname(file).to_vec()),
        &|file| Some(below(file)),
    ];
    for key in exact {
        take(&mut left, &mut right, key, &mut both);
    }
    by_links(&mut left, (new, &mut right), &mut both);
    by_old_names(&mut left, (old, &mut right), &mut both);
    // Otherwise, a file whose counterpart was not read may be paired with a file that is only
    // similar.
    set_apart(&mut left, |file| new.lacks_release(file), &mut unread);
    set_apart(&mut right, |file| old.lacks_release(file), &mut unread);
    let similar: [&PairingKey<'_>; 4] = [
        &|file| is_library(file).then(|| [&dir(file), &b"/"[..], stem(soname(file))].concat()),
        &|file| (!is_library(file)).then(|| name(file).to_vec()),
        &|file| Some(without_numbers(&below(file))),
        &|file| is_library(file).then(|| stem(soname(file)).to_vec()),
    ];
    for key in similar {
        take(&mut left, &mut right, key, &mut both);
    }
    by_symbols((old, &mut left), (new, &mut right), &mut both);
    both.arrange_by(|(a, _), (b, _)| a.path.cmp(&b.path));
    FilePairs { both, gone: left, added: right, unread }
}

/// Moves the files with a finding about an unread counterpart to `apart`.
fn set_apart<'a>(
    files: &mut Vec<&'a File>,
    finding: impl Fn(&File) -> Option<&'a ReportFinding>,
    apart: &mut Vec<(&'a File, &'a ReportFinding)>,
) {
    files.retain(|file| {
        let found = finding(file).map(|finding| apart.push((file, finding)));
        found.is_none()
    });
}

fn dir(file: &File) -> Vec<u8> {
    let path = below(file);
    let end = path.iter().rposition(|b| *b == b'/').unwrap_or(0);
    path[..end].to_vec()
}

/// Pairs an old file with a new file if they have the same key and no other unpaired file has it.
fn take<'a>(
    left: &mut Vec<&'a File>,
    right: &mut Vec<&'a File>,
    key: &PairingKey<'_>,
    both: &mut Vec<(&'a File, &'a File)>,
) {
    let index = |files: &[&File]| {
        let mut out: FastMap<Vec<u8>, Vec<usize>> = FastMap::default();
        for (at, file) in files.iter().enumerate() {
            if let Some(key) = key(file) {
                out.entry(key).or_default().push(at);
            }
        }
        out
    };
    let (old, new) = (index(left), index(right));
    let (mut paired, mut taken) = (FastSet::default(), FastSet::default());
    for (key, own) in old.iter().collect::<std::collections::BTreeMap<_, _>>() {
        if let ([a], Some([b])) = (&own[..], new.get(key).map(Vec::as_slice)) {
            both.push((left[*a], right[*b]));
            paired.insert(*a);
            taken.insert(*b);
        }
    }
    let keep = |files: &mut Vec<&'a File>, gone: &FastSet<usize>| {
        let mut at = 0;
        files.retain(|_| {
            at += 1;
            !gone.contains(&(at - 1))
        });
    };
    keep(left, &paired);
    keep(right, &taken);
}

/// Pairs each remaining old file with the new file that has the old path as one of its names, if
/// there is one.
fn by_links<'a>(
    left: &mut Vec<&'a File>,
    (new, right): (&'a Side<'_>, &mut Vec<&'a File>),
    both: &mut Vec<(&'a File, &'a File)>,
) {
    if left.is_empty() {
        return;
    }
    let names = new.own().flat_map(|file| all_names(file).map(move |path| (path, file)));
    let targets: FastMap<Vec<u8>, &File> =
        names.map(|(path, file)| (below_prefix(file, path), file)).collect();
    let mut taken: FastSet<&Path> = FastSet::default();
    left.retain(|file| match targets.get(&below(file)) {
        Some(target) => {
            both.push((file, target));
            taken.insert(&target.path);
            false
        }
        None => true,
    });
    right.retain(|file| !taken.contains(&*file.path));
}

/// Pairs each remaining new file with the old file that had a symbolic or hard link at the path of
/// the new file. The old file may have another counterpart already. A library is paired only with a
/// library of the same soname: the path of an old link such as `libz.so` may now be a library of
/// another release.
fn by_old_names<'a>(
    left: &mut Vec<&'a File>,
    (old, right): (&'a Side<'_>, &mut Vec<&'a File>),
    both: &mut Vec<(&'a File, &'a File)>,
) {
    if right.is_empty() {
        return;
    }
    let names = old.own().flat_map(|file| all_names(file).skip(1).map(move |path| (path, file)));
    let owners: FastMap<Vec<u8>, &File> =
        names.map(|(path, file)| (below_prefix(file, path), file)).collect();
    let mut taken: FastSet<&Path> = FastSet::default();
    right.retain(|file| match owners.get(&below(file)) {
        Some(owner)
            if is_library(owner) == is_library(file)
                && (!is_library(file) || soname(owner) == soname(file)) =>
        {
            both.push((owner, file));
            taken.insert(&owner.path);
            false
        }
        _ => true,
    });
    left.retain(|file| !taken.contains(&*file.path));
}

/// Pairs each remaining old library with the remaining new library that exports more of the old
/// library's names than any other, at least [`SHARED`] percent.
fn by_symbols<'a>(
    (old, left): (&Side<'_>, &mut Vec<&'a File>),
    (new, right): (&Side<'_>, &mut Vec<&'a File>),
    both: &mut Vec<(&'a File, &'a File)>,
) {
    if !left.iter().any(|file| is_library(file)) {
        return;
    }
    let mut owners: FastMap<Vec<u8>, Vec<usize>> = FastMap::default();
    for (at, file) in right.iter().enumerate().filter(|(_, file)| is_library(file)) {
        for export in &*new.exports(file) {
            owners.entry(export.name.to_vec()).or_default().push(at);
        }
    }
    let mut taken: FastSet<usize> = FastSet::default();
    let needed: FastSet<&[u8]> = old.needed_names();
    left.retain(|file| {
        // Plugins for one program have the same exports, so they are not compared.
        if file.soname.is_none() && !needed.contains(name(file)) {
            return true;
        }
        let exports = old.exports(file);
        let names: FastSet<&[u8]> = exports.iter().map(|export| &*export.name).collect();
        if !is_library(file) || names.len() < ENOUGH {
            return true;
        }
        let mut shared: FastMap<usize, usize> = FastMap::default();
        for name in exports.iter().map(|export| &*export.name) {
            for at in owners.get(name).into_iter().flatten() {
                *shared.entry(*at).or_default() += 1;
            }
        }
        let free = shared.into_iter().filter(|(at, _)| !taken.contains(at));
        let best = free.max_by_key(|(at, count)| (*count, std::cmp::Reverse(*at)));
        match best {
            Some((at, count)) if count * 100 >= names.len() * SHARED => {
                taken.insert(at);
                both.push((file, right[at]));
                false
            }
            _ => true,
        }
    });
    let mut at = 0;
    right.retain(|_| {
        at += 1;
        !taken.contains(&(at - 1))
    });
}
