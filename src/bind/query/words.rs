//! Hash words: GNU hashes of names without the lowest bit, as GNU hash tables store them. This
//! module has sets of words, and lists of the files whose tables have each word. Two names with
//! the same word cost only time, because a later lookup compares the texts of the names.

use crate::facts::View;
use crate::format::elf::{Object, Tables};
use crate::id::{FileId, Id as _};
use rayon::prelude::*;
use std::sync::atomic::{AtomicU64, Ordering};

/// A hash word, salted with the machine of its object. A name has different words in objects for
/// different machines. Such objects rarely share a scope.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct HashWord(u32);

/// The salt for the words of one machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Salt(u32);

impl Salt {
    /// Spreads small numbers over 32 bits: 2^32 divided by the golden ratio.
    const SPREAD: u32 = 0x9e37_79b1;

    pub(super) fn of(object: &Object) -> Self {
        let class = u32::from(object.header.is_64) << 16;
        Self((u32::from(object.header.machine) | class).wrapping_mul(Self::SPREAD))
    }

    /// The salted word of a name with this GNU hash.
    pub(super) fn word(self, hash: u32) -> HashWord {
        HashWord((hash & !1) ^ self.0)
    }
}

/// Bits of a [`WordSet`] for each expected word.
const BITS: usize = 8;

/// A set of hash words that may report false positives, like a Bloom filter. All threads add to
/// the set, and its content does not depend on the order in which they do so.
pub(super) struct WordSet {
    bits: Vec<AtomicU64>,
    /// The number of words that are expected.
    pub(super) words: usize,
}

impl WordSet {
    pub(super) fn new(words: usize) -> Self {
        let len = (words * BITS / 64).next_power_of_two();
        Self { bits: (0..len).map(|_| AtomicU64::new(0)).collect(), words }
    }

    /// The bit of a word: the index of a number in `bits`, and a mask for that number. The lowest
    /// bit of the word is ignored, because it is the same in all words of a machine.
    fn place(&self, HashWord(word): HashWord) -> (usize, u64) {
        let at = (word >> 1) as usize;
        ((at / 64) & (self.bits.len() - 1), 1 << (at % 64))
    }

    /// Adds `word`; true if it may have been present.
    pub(super) fn insert(&self, word: HashWord) -> bool {
        let (at, bit) = self.place(word);
        let has = |bits: u64| bits & bit != 0;
        has(self.bits[at].load(Ordering::Relaxed))
            || has(self.bits[at].fetch_or(bit, Ordering::Relaxed))
    }

    pub(super) fn contains(&self, word: HashWord) -> bool {
        let (at, bit) = self.place(word);
        self.bits[at].load(Ordering::Relaxed) & bit != 0
    }
}

/// The tables of an object, if it has any, with the salt for the hash words of its machine.
pub(super) fn hashed(object: &Object) -> Option<(Salt, &Tables)> {
    Some((Salt::of(object), object.tables.as_ref()?))
}

/// The words in the hash tables of `files`, and the words among them that may occur more than once.
pub(super) fn twice(view: View<'_>, files: &[FileId]) -> (WordSet, WordSet) {
    let tables = |file: &FileId| view.object(*file).and_then(hashed);
    let count = |(_, tables): (Salt, &Tables)| {
        // Without a GNU hash table, a lookup can find any symbol.
        let hashed = tables.hashed_indices().len();
        if hashed == 0 { tables.indices().len() } else { hashed }
    };
    let total = files.iter().filter_map(tables).map(count).sum();
    let (once, twice) = (WordSet::new(total), WordSet::new(total));
    files.par_iter().filter_map(tables).for_each(|(salt, tables)| {
        tables.each_word(|hash| {
            let word = salt.word(hash);
            if once.insert(word) {
                twice.insert(word);
            }
        });
    });
    (once, twice)
}

/// A word in the hash table of a file.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Defined {
    pub(super) word: HashWord,
    pub(super) file: FileId,
}

impl Defined {
    /// The word and the file in one number, for fast comparison.
    fn key(self) -> u64 {
        u64::from(self.word.0) << 32 | self.file.index() as u64
    }
}

/// Base-2 logarithm of the number of parts that are sorted independently of one another.
const PARTS_LOG2: u32 = 8;

/// Sorts by word and file, and drops duplicates. The highest bits of a word select the part in
/// which it is sorted; hash words are spread evenly over the parts.
pub(super) fn grouped(defined: &[Defined]) -> Vec<Defined> {
    let part = |Defined { word: HashWord(word), .. }: &Defined| word >> (u32::BITS - PARTS_LOG2);
    let mut ends = [0_usize; 1 << PARTS_LOG2];
    for one in defined {
        ends[part(one) as usize] += 1;
    }
    let lengths = ends;
    let mut total = 0;
    for end in &mut ends {
        total += std::mem::replace(end, total);
    }
    let mut out = defined.to_vec();
    for one in defined {
        let place = &mut ends[part(one) as usize];
        out[*place] = *one;
        *place += 1;
    }
    let mut parts = Vec::with_capacity(lengths.len());
    let mut rest = &mut out[..];
    for length in lengths {
        let (part, behind) = rest.split_at_mut(length);
        parts.push(part);
        rest = behind;
    }
    let sort = |part: &mut [Defined]| part.sort_unstable_by_key(|one| one.key());
    parts.into_par_iter().with_min_len(8).for_each(sort);
    out.dedup();
    out
}
