//! The kinds of hash tables, and the filter of a GNU hash table. `chains` validates tables and
//! walks through them.

use std::ops::Range;

/// The hash table that the loader uses: GNU if present, else SysV (`elf/dl-setup_hash.c`). The
/// ranges are byte ranges in the buffer with the tables.
#[derive(Debug, Clone)]
pub(super) enum HashTable {
    /// No table, an invalid one, or one without buckets: no lookup finds a symbol.
    None,
    Gnu {
        bloom: Range<usize>,
        shift: u32,
        buckets: Range<usize>,
        /// The chain words. The first word belongs to the symbol with the index `base`.
        chains: Range<usize>,
        base: u32,
        /// On MIPS: the symbol indices that belong to the words of `chains`.
        translation: Option<Range<usize>>,
    },
    Sysv {
        buckets: Range<usize>,
        chains: Range<usize>,
        width: Width,
    },
}

/// The width of the words of a SysV table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Width {
    /// 32 bits.
    Four,
    /// 64 bits (alpha and 64-bit s390).
    Eight,
}

impl Width {
    pub(super) fn bytes(self) -> usize {
        match self {
            Self::Four => 4,
            Self::Eight => 8,
        }
    }
}

/// The Bloom filter of a GNU hash table, or a substitute for an object without such a table. Three
/// of four lookups in an object end at its filter.
#[derive(Clone, Copy, Debug)]
pub enum Bloom<'t> {
    /// The object has no usable hash table, so no lookup finds a symbol.
    Never,
    /// No filter: every lookup must walk the table.
    Always,
    /// Words of 64 bits; their number is a power of two.
    Words64(Filter<'t>),
    /// Words of 32 bits; their number is a power of two.
    Words32(Filter<'t>),
}

/// The words of a Bloom filter, and their format.
#[derive(Clone, Copy, Debug)]
pub struct Filter<'t> {
    pub(super) words: &'t [u8],
    pub(super) shift: u32,
    pub(super) big: bool,
}

impl Filter<'_> {
    /// The word of the filter for `hash`, if words are `N` bytes wide.
    #[inline]
    fn word<const N: usize>(self, hash: u32) -> Option<[u8; N]> {
        let index = (hash as usize / (8 * N)) & (self.words.len() / N).wrapping_sub(1);
        self.words.get(index * N..(index + 1) * N)?.try_into().ok()
    }

    /// The hash shifted right by `shift`, which selects the second bit to test. Only the lowest
    /// five bits of `shift` count, as in a shift instruction.
    fn second(self, hash: u32) -> u32 {
        hash.wrapping_shr(self.shift)
    }
}

/// Moves the items that `may_be` accepts from `all` to `held`.
fn split<T: Copy>(all: &mut Vec<T>, held: &mut Vec<T>, may_be: impl Fn(&T) -> bool) {
    all.retain(|one| {
        let may_be = may_be(one);
        if may_be {
            held.push(*one);
        }
        !may_be
    });
}

impl Bloom<'_> {
    /// Moves items from `all` to `held` if the object may define them ([`Self::may_hold`]). `hash`
    /// returns the GNU hash of an item's name.
    pub fn sift<T: Copy>(self, all: &mut Vec<T>, hash: impl Fn(&T) -> u32, held: &mut Vec<T>) {
        match self {
            Self::Never => {}
            Self::Always => held.append(all),
            Self::Words64(filter) => {
                let words = filter.words.as_chunks().0;
                let last = words.len().wrapping_sub(1);
                let order = if filter.big { u64::from_be_bytes } else { u64::from_le_bytes };
                split(all, held, |one| {
                    let hash = hash(one);
                    words.get((hash as usize / 64) & last).is_some_and(|raw| {
                        let word = order(*raw);
                        word >> (hash % 64) & word >> (filter.second(hash) % 64) & 1 != 0
                    })
                });
            }
            Self::Words32(_) => split(all, held, |one| self.may_hold(hash(one))),
        }
    }

    /// False if a lookup of a name with this GNU hash finds no symbol. True if it may find one.
    #[inline]
    pub fn may_hold(self, hash: u32) -> bool {
        match self {
            Self::Never => false,
            Self::Always => true,
            Self::Words64(filter) => filter.word(hash).is_some_and(|raw| {
                let word =
                    if filter.big { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) };
                (word >> (hash % 64)) & (word >> (filter.second(hash) % 64)) & 1 != 0
            }),
            Self::Words32(filter) => filter.word(hash).is_some_and(|raw| {
                let word =
                    if filter.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) };
                (word >> (hash % 32)) & (word >> (filter.second(hash) % 32)) & 1 != 0
            }),
        }
    }
}
