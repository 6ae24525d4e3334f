//! The result of a walk: names of files of enabled classes, unreadable paths, and counts.

use super::kind::{EntryType, Special, Stat};
use crate::id::FastSet;
use crate::sniff::Class;
use foldhash::fast::FixedState;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::hash::BuildHasher as _;
use std::path::{Path, PathBuf};

/// One name of a file of an enabled class that is not a text class.
pub struct WalkedName<T> {
    /// The path by which the walk found the file.
    pub path: PathBuf,
    /// True if the path is a symbolic link that the walk found below a given directory.
    pub is_link: bool,
    /// True if the path was given, and is a symbolic link.
    pub given_link: bool,
    /// True if the name was found below a given directory.
    pub listed: bool,
    /// Identity, size and times of the file.
    pub stat: Stat,
    /// The result of [`super::walk::Visit::consume`]. `None` if the file was read under another
    /// name of the same inode.
    pub item: Option<T>,
}

impl<T> WalkedName<T> {
    /// A name before its file is read.
    pub(super) fn new(path: &Path) -> Self {
        let (path, stat) = (path.to_path_buf(), Stat::default());
        Self { path, is_link: false, given_link: false, listed: false, stat, item: None }
    }
}

/// The reason why an extracted package in the cache of a conda root is skipped.
pub const CACHED_PACKAGE: &str = "in a package cache of conda";

/// A file of a text class, which is not read during the walk.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct WalkedText {
    /// The path by which the walk found the file.
    pub path: PathBuf,
    /// The text class of the file, such as a script.
    pub class: Class,
    /// True if the path is a symbolic link.
    pub is_link: bool,
}

/// Hashes of the names in the listed directories, except names of directories. If the hash of a
/// name is absent, no listed directory contains the name.
#[derive(Default)]
pub struct ListedNames(Vec<u32>);

impl ListedNames {
    fn hash(name: &OsStr) -> u32 {
        let [a, b, c, d, ..] = FixedState::default().hash_one(name).to_le_bytes();
        u32::from_le_bytes([a, b, c, d])
    }

    pub(super) fn add(&mut self, name: &OsStr) {
        self.0.push(Self::hash(name));
    }

    /// Adds the names of another walk.
    pub fn join(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    /// Removes from `names` each name that no listed directory contains. If two hashes collide,
    /// such a name may stay.
    pub fn narrow(&self, names: &mut FastSet<OsString>) {
        let wanted: FastSet<u32> = names.iter().map(|name| Self::hash(name)).collect();
        let met: FastSet<u32> =
            self.0.iter().copied().filter(|hash| wanted.contains(hash)).collect();
        names.retain(|name| met.contains(&Self::hash(name)));
    }
}

/// A path that could not be read.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct UnreadablePath {
    /// The path, as given or as found by the walk.
    pub path: PathBuf,
    /// The reason, as the end of a sentence.
    pub reason: String,
}

/// Numbers of entries by kind; [`WalkTotals::entries`] returns their sum.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct WalkTotals {
    /// Number of ELF files.
    pub elf: usize,
    /// Number of static archives.
    pub archives: usize,
    /// Number of other regular files.
    pub other: usize,
    /// Number of symbolic links.
    pub links: usize,
    /// Number of FIFOs, sockets and devices.
    pub special: usize,
    /// Number of files of which only a part could be read. A later step sets this number, because
    /// it depends on the facts of the files.
    pub partial: usize,
    /// Numbers of ELF files of other systems, by kind. A later step sets these numbers, because
    /// they depend on the facts of the files.
    pub foreign: BTreeMap<&'static str, usize>,
    /// Numbers of entries that were not read, by reason.
    pub skipped: BTreeMap<String, usize>,
}

impl WalkTotals {
    /// Number of all entries: the sum of all counts.
    pub fn entries(&self) -> usize {
        let read = self.elf + self.archives + self.other + self.partial;
        let foreign: usize = self.foreign.values().sum();
        let skipped: usize = self.skipped.values().sum();
        read + foreign + self.links + self.special + skipped
    }

    fn add(&mut self, other: &Self) {
        self.elf += other.elf;
        self.archives += other.archives;
        self.other += other.other;
        self.links += other.links;
        self.special += other.special;
        for (reason, n) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += n;
        }
    }

    /// Counts a regular file by its class.
    pub(super) fn count(&mut self, class: Class) {
        match class {
            Class::Elf => self.elf += 1,
            Class::Archive => self.archives += 1,
            Class::CMake
            | Class::Script
            | Class::PkgConfig
            | Class::Loose
            | Class::Header
            | Class::LinkerScript
            | Class::Device
            | Class::Bitcode
            | Class::Other => self.other += 1,
        }
    }

    fn skip(&mut self, errno: Errno) {
        *self.skipped.entry(describe(errno)).or_default() += 1;
    }
}

/// A path given to the walk, and the kind of its entry.
#[derive(Clone, Debug)]
pub struct GivenPath {
    /// The path as given.
    pub path: PathBuf,
    /// The kind of the entry, links followed. The error number, if the kind is unknown.
    pub kind: Result<EntryType, Errno>,
    /// True if the path itself is a symbolic link.
    pub is_link: bool,
}

/// The result of a walk. Its lists are sorted by path, except `given` and `met`.
pub struct Walked<T> {
    /// The given paths, in their order.
    pub given: Vec<GivenPath>,
    /// Names of files of all enabled classes, except text classes.
    pub entries: Vec<WalkedName<T>>,
    /// Paths that could not be read.
    pub problems: Vec<UnreadablePath>,
    /// Numbers of entries by kind.
    pub totals: WalkTotals,
    /// Files of enabled text classes.
    pub texts: Vec<WalkedText>,
    /// Paths of files and links, of any class, that [`super::walk::Visit::is_named`] selects.
    pub named: Vec<PathBuf>,
    /// Paths of links to directories.
    pub linked: Vec<PathBuf>,
    /// Dangling links with the name of a library. Their targets do not exist, or the links lead
    /// back to themselves.
    pub dangling: Vec<PathBuf>,
    /// Names in listed directories, if [`super::walk::Visit::keeps_met`] is true.
    pub met: ListedNames,
}

impl<T> Default for Walked<T> {
    fn default() -> Self {
        Self {
            given: Vec::new(),
            entries: Vec::new(),
            problems: Vec::new(),
            totals: WalkTotals::default(),
            texts: Vec::new(),
            named: Vec::new(),
            linked: Vec::new(),
            dangling: Vec::new(),
            met: ListedNames::default(),
        }
    }
}

/// The message for an error number, such as `permission denied`.
pub fn describe(errno: Errno) -> String {
    match errno {
        Errno::ACCESS => "permission denied".to_owned(),
        Errno::NOENT => "no such file or directory".to_owned(),
        Errno::LOOP => "too many levels of symbolic links".to_owned(),
        Errno::NAMETOOLONG => "the name is too long".to_owned(),
        Errno::NOTDIR => "a part of the path is not a directory".to_owned(),
        other => {
            let text = std::io::Error::from(other).to_string();
            let text = text.split(" (os error").next().unwrap_or_default();
            in_sentence(text)
        }
    }
}

/// A text with its first word in lower case. Abbreviations stay: `I/O error`.
fn in_sentence(text: &str) -> String {
    let mut chars = text.chars();
    match (chars.next(), chars.clone().next()) {
        (Some(first), Some(second)) if second.is_lowercase() => {
            first.to_lowercase().chain(chars).collect()
        }
        _ => text.to_owned(),
    }
}

impl<T> Walked<T> {
    pub(super) fn add(&mut self, part: Self) {
        self.entries.extend(part.entries);
        self.problems.extend(part.problems);
        self.totals.add(&part.totals);
        self.texts.extend(part.texts);
        self.named.extend(part.named);
        self.linked.extend(part.linked);
        self.dangling.extend(part.dangling);
        self.met.join(part.met);
    }

    pub(super) fn problem(&mut self, path: &Path, reason: String) {
        self.problems.push(UnreadablePath { path: path.to_path_buf(), reason });
    }

    pub(super) fn unreadable(&mut self, path: &Path, errno: Errno) {
        self.totals.skip(errno);
        self.problem(path, describe(errno));
    }

    /// Counts a directory in a virtual file system of the kernel, which is not listed.
    pub(super) fn of_kernel(&mut self) {
        *self.totals.skipped.entry("in a kernel file system".to_owned()).or_default() += 1;
    }

    /// Counts an extracted package in the cache of a conda root, which is not listed.
    pub(super) fn cached_package(&mut self) {
        *self.totals.skipped.entry(CACHED_PACKAGE.to_owned()).or_default() += 1;
    }

    pub(super) fn special(&mut self, path: &Path, special: Special) {
        self.totals.special += 1;
        self.problem(path, format!("{}, skipped", special.describe()));
    }
}

#[cfg(test)]
mod tests {
    use super::{ListedNames, in_sentence};
    use std::ffi::OsString;

    #[test]
    fn texts_of_errors_start_in_lower_case() {
        // musl's text and glibc's text of EIO.
        assert_eq!(in_sentence("I/O error"), "I/O error");
        assert_eq!(in_sentence("Input/output error"), "input/output error");
        assert_eq!(in_sentence(""), "");
    }

    #[test]
    fn names_that_were_met_are_kept() {
        let (mut one, mut two) = (ListedNames::default(), ListedNames::default());
        one.add("libone.so".as_ref());
        two.add("libtwo.so".as_ref());
        one.join(two);
        let names = ["libone.so", "libtwo.so", "libthree.so"];
        let mut names: crate::id::FastSet<OsString> =
            names.map(OsString::from).into_iter().collect();
        one.narrow(&mut names);
        let mut left: Vec<OsString> = names.into_iter().collect();
        left.sort();
        assert_eq!(left, ["libone.so", "libtwo.so"]);
    }
}
