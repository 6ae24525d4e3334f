//! Finds the names that several objects of one scope define. This module compares only the
//! 32-bit words of the objects' hash tables. If two names share a word, this costs only time,
//! because the later lookup compares the text.

use super::together::Together;
use super::words::{self, Defined, HashWord, WordSet, grouped, hashed};
use crate::facts::View;
use crate::id::{FastMap, FileId, Id as _};
use crate::resolve::Closure;
use rayon::prelude::*;

/// Sets of hash words, by which [`VaryingNames::find`] selects names whose binding may vary.
/// Each set may have false positives.
pub(super) struct WordSets {
    /// Words that may occur in several hash tables.
    twice: WordSet,
    /// Words of `twice` or `open` that some object refers to.
    used: WordSet,
    /// Words to which some object refers although no file in the object's own closure defines them.
    open: WordSet,
}

impl WordSets {
    /// Collects the words of the hash tables. A word of an entry point is in `twice` only if a
    /// library has it too, because no scope contains two entry points.
    pub(super) fn count(view: View<'_>, libraries: &[FileId], entries: &[FileId]) -> Self {
        let tables = |file: &FileId| view.object(*file).and_then(hashed);
        let (once, twice) = words::twice(view, libraries);
        entries.par_iter().filter_map(tables).for_each(|(salt, tables)| {
            tables.each_word(|hash| {
                let word = salt.word(hash);
                if once.contains(word) {
                    twice.insert(word);
                }
            });
        });
        let of_these = |part: usize| WordSet::new(once.words / part);
        let (used, open) = (of_these(4), of_these(16));
        Self { twice, used, open }
    }

    /// If `word` may occur in several hash tables, records that an object refers to it and returns
    /// true.
    pub(super) fn note_used(&self, word: HashWord) -> bool {
        let is_twice = self.twice.contains(word);
        if is_twice {
            self.used.insert(word);
        }
        is_twice
    }

    /// Records that an object refers to `word` and has no definition in its own closure.
    pub(super) fn note_open(&self, word: HashWord) {
        self.used.insert(word);
        self.open.insert(word);
    }
}

/// A word whose references may bind differently under some entry point than in the closure of their
/// own object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct VaryingName(u32);

impl VaryingName {
    /// Index into tables of [`VaryingNames::len`] entries.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }

    /// The index of a number in [`NameSet::bits`], and the name's bit in that number.
    fn place(self) -> (usize, u64) {
        (self.0 as usize / 64, 1 << (self.0 % 64))
    }
}

/// A set of names, one bit for each name.
#[derive(Default)]
pub(super) struct NameSet {
    bits: Vec<u64>,
}

impl NameSet {
    /// Empties the set and makes room for `names` names.
    pub(super) fn clear(&mut self, names: usize) {
        self.bits.clear();
        self.bits.resize(names.div_ceil(64), 0);
    }

    /// Adds `name`; true if it was present.
    pub(super) fn insert(&mut self, name: VaryingName) -> bool {
        let (at, bit) = name.place();
        let had = self.bits[at] & bit != 0;
        self.bits[at] |= bit;
        had
    }

    pub(super) fn contains(&self, name: VaryingName) -> bool {
        let (at, bit) = name.place();
        self.bits[at] & bit != 0
    }

    /// Adds the names of `other`.
    pub(super) fn add(&mut self, other: &Self) {
        self.bits.iter_mut().zip(&other.bits).for_each(|(to, from)| *to |= from);
    }

    /// Adds the names that are in both `a` and `b`.
    pub(super) fn add_common(&mut self, a: &Self, b: &Self) {
        let both = a.bits.iter().zip(&b.bits).map(|(a, b)| a & b);
        self.bits.iter_mut().zip(both).for_each(|(to, from)| *to |= from);
    }
}

/// The names in the hash table of one file.
pub(super) enum InFile {
    Few(Vec<VaryingName>),
    /// Many names: the union of two sets is then faster than a loop over a list.
    Many(NameSet),
}

/// All words whose references may bind differently under some entry point, and the files whose hash
/// tables contain each word.
#[derive(Default)]
pub(super) struct VaryingNames {
    by_word: FastMap<HashWord, VaryingName>,
    /// By file: the names in its hash table.
    defined: Vec<InFile>,
    /// By name: files that other objects load and whose hash table has the name, ascending.
    libraries: Vec<Box<[FileId]>>,
    /// By name: files that no object loads and whose hash table has the name, ascending.
    entries: Vec<Box<[FileId]>>,
}

impl VaryingNames {
    /// Collects two kinds of words to which an object refers: words in the hash tables of two files
    /// of one scope, and words without a definition in the object's own closure.
    pub(super) fn find(
        view: View<'_>,
        files: &[FileId],
        roots: &[&Closure],
        words: &WordSets,
    ) -> Self {
        let in_file = |file: &FileId| {
            let mut out: Vec<Defined> = Vec::new();
            if let Some((salt, tables)) = view.object(*file).and_then(hashed) {
                tables.each_word(|hash| {
                    let word = salt.word(hash);
                    if words.used.contains(word) {
                        out.push(Defined { word, file: *file });
                    }
                });
            }
            out
        };
        let (defined, together): (Vec<Defined>, Together) = rayon::join(
            || files.par_iter().flat_map_iter(in_file).collect(),
            || Together::new(files, roots),
        );
        let defined = grouped(&defined);
        let groups: Vec<&[Defined]> = defined.chunk_by(|a, b| a.word == b.word).collect();
        let is_taken = |row: &mut Vec<u64>, group: &&[Defined]| {
            words.open.contains(group[0].word) || together.has_two_of(group, row)
        };
        let is_taken: Vec<bool> =
            groups.par_iter().with_min_len(AT_LEAST).map_init(Vec::new, is_taken).collect();
        let taken = groups.into_iter().zip(is_taken).filter(|(_, is_taken)| *is_taken);
        Self::number(files, taken.map(|(group, _)| group), &together)
    }

    /// Numbers the words of `groups`.
    fn number<'d>(
        files: &[FileId],
        groups: impl Iterator<Item = &'d [Defined]>,
        together: &Together,
    ) -> Self {
        let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
        let mut out = Self::default();
        let mut lists: Vec<Vec<VaryingName>> = vec![Vec::new(); last];
        for group in groups {
            let Ok(number) = u32::try_from(out.by_word.len()) else { break };
            out.by_word.insert(group[0].word, VaryingName(number));
            for Defined { file, .. } in group {
                lists[file.index()].push(VaryingName(number));
            }
            let files = || group.iter().map(|defined| defined.file);
            let is_library = |file: &FileId| together.is_library(*file);
            out.libraries.push(files().filter(is_library).collect());
            out.entries.push(files().filter(|file| !is_library(file)).collect());
        }
        let names = out.by_word.len();
        let in_file = |list: Vec<VaryingName>| {
            if list.len() < names / 64 {
                return InFile::Few(list);
            }
            let mut set = NameSet::default();
            set.clear(names);
            for name in list {
                set.insert(name);
            }
            InFile::Many(set)
        };
        out.defined = lists.into_iter().map(in_file).collect();
        out
    }

    /// Number of names.
    pub(super) fn len(&self) -> usize {
        self.by_word.len()
    }

    pub(super) fn of_word(&self, word: HashWord) -> Option<VaryingName> {
        self.by_word.get(&word).copied()
    }

    /// The names in the hash table of `file`.
    pub(super) fn in_file(&self, file: FileId) -> Option<&InFile> {
        self.defined.get(file.index())
    }

    /// Adds to `out` the files of a scope that have `name`, in no particular order. `files` are the
    /// files of the scope, `root` is the file of its module `ROOT`, and `is_present` tests if a
    /// file is in the scope.
    pub(super) fn in_scope(
        &self,
        name: VaryingName,
        (root, files): (Option<FileId>, &[FileId]),
        is_present: impl Fn(FileId) -> bool,
        out: &mut Vec<FileId>,
    ) {
        let libraries = &*self.libraries[name.index()];
        let has = |list: &[FileId], file: &FileId| list.binary_search(file).is_ok();
        out.extend(root.filter(|file| has(&self.entries[name.index()], file)));
        // Hundreds of libraries may define a template function.
        if libraries.len() > MANY * files.len() {
            out.extend(files.iter().filter(|file| has(libraries, file)));
        } else {
            out.extend(libraries.iter().filter(|file| is_present(**file)));
        }
    }
}

/// If a list is more than this many times longer than a scope, each file of the scope is looked up
/// in the list.
const MANY: usize = 8;

/// Minimum number of groups that a thread takes at once.
const AT_LEAST: usize = 512;
