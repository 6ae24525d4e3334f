//! Finds the names that several objects of one scope define. It compares the 32-bit words of their
//! hash tables and reads no text. Two names may share a word: the lookup tells them apart, at the
//! cost of time only.

use crate::facts::View;
use crate::id::{FastMap, FastSet, FileId, Id as _, IdSet};
use crate::resolve::{Closure, ROOT};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// Bits of a [`WordSet`] for each expected word.
const BITS: usize = 8;

/// A set of hash words with false positives, as a Bloom filter. All threads add to it, and its
/// content does not depend on their order.
pub(super) struct WordSet {
    bits: Vec<AtomicU64>,
}

impl WordSet {
    fn new(words: usize) -> Self {
        let len = (words * BITS / 64).next_power_of_two();
        Self { bits: (0..len).map(|_| AtomicU64::new(0)).collect() }
    }

    /// The lowest bit of a word is always 0.
    fn place(&self, word: u32) -> (usize, u64) {
        let at = (word >> 1) as usize;
        ((at / 64) & (self.bits.len() - 1), 1 << (at % 64))
    }

    /// Adds `word`; true if it may have been present.
    pub(super) fn insert(&self, word: u32) -> bool {
        let (at, bit) = self.place(word);
        let has = |bits: u64| bits & bit != 0;
        has(self.bits[at].load(Ordering::Relaxed))
            || has(self.bits[at].fetch_or(bit, Ordering::Relaxed))
    }

    pub(super) fn contains(&self, word: u32) -> bool {
        let (at, bit) = self.place(word);
        self.bits[at].load(Ordering::Relaxed) & bit != 0
    }
}

/// Facts about hash words, before any name is known.
pub(super) struct Words {
    /// Words that occur more than once.
    twice: WordSet,
    /// Those of `twice` that some object refers to.
    used: WordSet,
    /// Words that some object refers to without a definition in its own closure.
    open: WordSet,
}

impl Words {
    /// Reads the hash tables of `files`.
    pub(super) fn count(view: View<'_>, files: &[FileId]) -> Self {
        let tables = |file: &FileId| view.object(*file)?.tables.as_ref();
        let total = files.iter().filter_map(tables).map(|tables| tables.indices().len()).sum();
        let (once, twice) = (WordSet::new(total), WordSet::new(total));
        files.par_iter().filter_map(tables).for_each(|tables| {
            tables.each_word(|word| {
                if once.insert(word) {
                    twice.insert(word);
                }
            });
        });
        Self { twice, used: WordSet::new(total), open: WordSet::new(total) }
    }

    /// Some object refers to `word`; true if the word may occur more than once.
    pub(super) fn note_used(&self, word: u32) -> bool {
        let is_twice = self.twice.contains(word);
        if is_twice {
            self.used.insert(word);
        }
        is_twice
    }

    /// Some object refers to `word` and has no definition in its own closure.
    pub(super) fn note_open(&self, word: u32) {
        self.open.insert(word);
    }

    fn matters(&self, word: u32) -> bool {
        self.used.contains(word) || self.open.contains(word)
    }
}

/// A word whose standalone binding may not hold under every entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Name(u32);

impl Name {
    /// Index into tables of [`Names::len`] entries.
    pub(super) fn index(self) -> usize {
        self.0 as usize
    }
}

/// A word in the hash table of a file.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Defined {
    word: u32,
    file: FileId,
}

/// All such words, and the files whose hash tables hold each.
#[derive(Default)]
pub(super) struct Names {
    by_word: FastMap<u32, Name>,
    /// By file, ascending.
    defined: Vec<Vec<Name>>,
}

impl Names {
    /// Takes the words that two files of one scope have, or that an object has no definition for.
    pub(super) fn find<'c>(
        view: View<'_>,
        files: &[FileId],
        roots: impl Iterator<Item = &'c Closure> + Clone,
        words: &Words,
    ) -> Self {
        let in_file = |file: &FileId| {
            let mut out: Vec<Defined> = Vec::new();
            if let Some(tables) = view.object(*file).and_then(|object| object.tables.as_ref()) {
                tables.each_word(|word| {
                    if words.matters(word) {
                        out.push(Defined { word, file: *file });
                    }
                });
            }
            out
        };
        let mut defined: Vec<Defined> = files.par_iter().flat_map_iter(in_file).collect();
        defined.par_sort_unstable();
        defined.dedup();
        let mut together = Together::new(files, roots);
        let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
        let mut out = Self { by_word: FastMap::default(), defined: vec![Vec::new(); last] };
        for group in defined.chunk_by(|a, b| a.word == b.word) {
            let word = group[0].word;
            if !together.has_two_of(group) && !words.open.contains(word) {
                continue;
            }
            let Ok(place) = u32::try_from(out.by_word.len()) else { break };
            out.by_word.insert(word, Name(place));
            for Defined { file, .. } in group {
                out.defined[file.index()].push(Name(place));
            }
        }
        out
    }

    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.by_word.len()
    }

    pub(super) fn of_word(&self, word: u32) -> Option<Name> {
        self.by_word.get(&word).copied()
    }

    /// The names in the hash table of `file`, ascending.
    pub(super) fn in_file(&self, file: FileId) -> &[Name] {
        self.defined.get(file.index()).map_or(&[], Vec::as_slice)
    }
}

/// Which files share a scope: one bit for each pair of a file and a library.
struct Together {
    /// Row of each file.
    rows: Vec<usize>,
    /// Column of each library, by file. Programs have none: no two are loaded together.
    columns: Vec<Option<usize>>,
    /// Words of a row.
    width: usize,
    bits: Vec<u64>,
    /// Scratch space for one row.
    row: Vec<u64>,
}

impl Together {
    fn new<'c>(files: &[FileId], roots: impl Iterator<Item = &'c Closure> + Clone) -> Self {
        let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
        let (mut rows, mut columns) = (vec![0; last], vec![None; last]);
        for (row, file) in files.iter().enumerate() {
            rows[file.index()] = row;
        }
        let mut count = 0_usize;
        let mut seen: IdSet<FileId> = IdSet::default();
        let is_known = |file: &FileId| file.index() < last;
        for closure in roots.clone() {
            for (module, file) in closure.in_scope().filter(|(_, file)| is_known(file)) {
                if module != ROOT && seen.insert(file) {
                    columns[file.index()] = Some(count);
                    count += 1;
                }
            }
        }
        let width = count.div_ceil(64);
        let bits = vec![0; width * files.len()];
        let mut out = Self { rows, columns, width, bits, row: vec![0; width] };
        let mut known: FastSet<usize> = FastSet::default();
        for closure in roots {
            let scope = || closure.in_scope().map(|(_, file)| file).filter(is_known);
            out.set_row(scope());
            // Entry points that share a link map have the same libraries: their pairs are set
            // already.
            let others = known.insert(closure.links_id()).then(scope).into_iter().flatten();
            let root = Some(closure.root.file).filter(is_known);
            for file in root.into_iter().chain(others) {
                let start = out.rows[file.index()] * width;
                for (bits, scope) in out.bits[start..start + width].iter_mut().zip(&out.row) {
                    *bits |= scope;
                }
            }
        }
        out
    }

    fn set_row(&mut self, files: impl Iterator<Item = FileId>) {
        self.row.fill(0);
        for column in files.filter_map(|file| self.columns[file.index()]) {
            self.row[column / 64] |= 1 << (column % 64);
        }
    }

    /// True if two of these files share a scope.
    fn has_two_of(&mut self, group: &[Defined]) -> bool {
        if group.len() < 2 {
            return false;
        }
        self.set_row(group.iter().map(|defined| defined.file));
        group.iter().any(|Defined { file, .. }| {
            let start = self.rows[file.index()] * self.width;
            let own = self.columns[file.index()];
            let row = self.bits[start..start + self.width].iter().zip(&self.row);
            row.enumerate().any(|(at, (bits, group))| {
                let own = own.filter(|own| own / 64 == at).map_or(0, |own| 1 << (own % 64));
                bits & group & !own != 0
            })
        })
    }
}
