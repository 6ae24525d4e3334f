//! The symbol names in the archives of a run, each stored once. While archives are read, the table
//! is [`Growing`], which threads fill together; then it is [`SymbolNames`], which is read-only. The
//! id of a name depends on the order of threads, so ids must never decide an order.
//!
//! Nine of ten names in archives are defined but never referred to, and these names make up nearly
//! all of the text. Unless the run wants every name ([`Growing::is_whole`]), the table looks up
//! these names but does not store them. Keyed hashes then show if two members define the same
//! names; the key is random in each run. All other comparisons use the text.
//!
//! `facts::members` owns the table, `format::archive` fills it, `cover::ArchiveSet` and rules read
//! it.

mod batch;

pub use batch::Batch;

use crate::id::{Id as _, NameId};
use foldhash::fast::RandomState;
use hashbrown::HashTable;
use hashbrown::hash_table::Entry;
use std::hash::BuildHasher as _;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

/// Number of the table's shards, each with its own lock. Names are added in batches, so that one
/// lock serves several names and threads rarely wait.
const SHARDS: usize = 1 << SHARD_BITS;
const SHARD_BITS: u32 = 5;
/// Mask of the hash bits that distinguish the names of a shard.
const TAG: u64 = 0xffff_ffff;
/// Size in bytes of a piece of text; a longer name gets its own piece. One growing buffer would be
/// copied each time it grows, and would exist twice during the copy.
const PIECE: usize = 1 << PIECE_BITS;
const PIECE_BITS: u32 = 16;
/// Size in bytes of the record before a name: its number in the shard, and its length.
const HEADER: usize = 8;

/// Number of 64-bit words in the filter. The filter's 128 KiB fit into a processor cache and hold
/// about twenty bits for each name of a run.
const WORDS: usize = 1 << 14;

/// The finished table: the names of a run, which have ids and do not change.
#[derive(Clone, Debug, Default)]
pub struct SymbolNames {
    shards: Vec<Shard>,
    /// A Bloom filter over the lowest bits of each hash.
    filter: Vec<u64>,
    key: RandomState,
}

/// The table while threads add names to it.
#[derive(Debug)]
pub struct Growing {
    shards: Vec<Mutex<Shard>>,
    filter: Vec<AtomicU64>,
    key: RandomState,
    whole: bool,
}

/// The result of adding a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Added {
    /// The name has this id.
    Known(NameId),
    /// The name was only searched for, and is not stored.
    Unknown,
    /// The table is full: the name is not stored.
    Lost,
}

#[derive(Clone, Debug, Default)]
struct Shard {
    pieces: Vec<Vec<u8>>,
    /// Position of each name: the index of its piece, and in the lowest bits the offset in that
    /// piece.
    places: Vec<u32>,
    table: HashTable<Slot>,
}

/// A table entry. Its tag distinguishes most names without reading their text.
#[derive(Clone, Copy, Debug)]
struct Slot {
    tag: u32,
    place: u32,
}

impl Slot {
    /// The hash that the table uses for a tag.
    fn hash(tag: u32) -> u64 {
        u64::from(tag).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

/// Word and bit of a hash in the filter.
fn place(hash: u64) -> (usize, u64) {
    ((hash >> 6) as usize % WORDS, 1 << (hash % 64))
}

/// The shard of a name, and its tag there.
fn split(hash: u64) -> (usize, u32) {
    ((hash >> (u64::BITS - SHARD_BITS)) as usize, (hash >> 24 & TAG) as u32)
}

fn id(shard: usize, number: u32) -> NameId {
    NameId::from_index((number as usize) << SHARD_BITS | shard)
}

impl SymbolNames {
    /// The text of a name; empty for an unknown id.
    pub fn text(&self, name: NameId) -> &[u8] {
        let shard = self.shards.get(name.index() % SHARDS);
        let found = shard.and_then(|shard| {
            let place = shard.places.get(name.index() >> SHARD_BITS)?;
            Some(record(&shard.pieces, *place)?.1)
        });
        found.unwrap_or_default()
    }

    /// The id of a name, if it is stored.
    pub fn find(&self, name: &[u8]) -> Option<NameId> {
        let (at, tag) = split(self.hash(name));
        Some(id(at, self.shards.get(at)?.find(tag, name)?))
    }

    /// The hash of a name; it is different in each run.
    pub fn hash(&self, name: &[u8]) -> u64 {
        self.key.hash_one(name)
    }

    /// False only if no stored name has this hash.
    pub fn may_hold(&self, hash: u64) -> bool {
        let (word, bit) = place(hash);
        if self.filter.get(word).is_none_or(|word| word & bit == 0) {
            return false;
        }
        let (at, tag) = split(hash);
        let same = |slot: &Slot| slot.tag == tag;
        self.shards.get(at).is_some_and(|shard| shard.table.find(Slot::hash(tag), same).is_some())
    }

    /// Exclusive upper bound of the indices of all ids.
    pub fn bound(&self) -> usize {
        self.shards.iter().map(|shard| shard.places.len()).max().unwrap_or(0) << SHARD_BITS
    }

    /// Opens the table for threads that add about `expected` names. If `whole` is false, the
    /// table stores only names that members refer to or that callers add.
    pub fn open(mut self, expected: usize, whole: bool) -> Growing {
        self.shards.resize_with(SHARDS, Shard::default);
        for shard in &mut self.shards {
            let more = (expected / SHARDS).saturating_sub(shard.places.len());
            shard.places.reserve(more);
            shard.table.reserve(more, |slot| Slot::hash(slot.tag));
        }
        self.filter.resize(WORDS, 0);
        let filter = self.filter.into_iter().map(AtomicU64::new).collect();
        let shards = self.shards.into_iter().map(Mutex::new).collect();
        Growing { shards, filter, key: self.key, whole }
    }
}

impl Default for Growing {
    /// An empty table that stores every name.
    fn default() -> Self {
        SymbolNames::default().open(0, true)
    }
}

impl Growing {
    /// True if every name is stored.
    pub fn is_whole(&self) -> bool {
        self.whole
    }

    /// False only if no name with this hash was added. A name that another thread is adding may be
    /// missed.
    pub fn may_hold(&self, hash: u64) -> bool {
        let (word, bit) = place(hash);
        self.filter[word].load(Ordering::Relaxed) & bit != 0
    }

    fn note(&self, hash: u64) {
        if !self.may_hold(hash) {
            let (word, bit) = place(hash);
            self.filter[word].fetch_or(bit, Ordering::Relaxed);
        }
    }

    /// Adds the names of `batch`, and passes the owner and the result of each to `take`. The batch
    /// is empty afterwards.
    pub fn add(&self, batch: &mut Batch, mut take: impl FnMut(usize, Added)) {
        let starts = batch.sort();
        let mut held = Vec::new();
        // Threads start at different shards, so that they do not all wait for the same one.
        let first = batch.first();
        let shards = (first..SHARDS).chain(0..first);
        for at in shards.filter(|at| starts[*at] < starts[at + 1]) {
            match self.shards[at].try_lock() {
                Ok(mut shard) => batch.fill(at, &mut shard, &starts, &mut take),
                // Another thread holds this shard. The shard is probably free once the others are
                // filled.
                Err(_) => held.push(at),
            }
        }
        for at in held {
            let mut shard = self.shards[at].lock().unwrap_or_else(PoisonError::into_inner);
            batch.fill(at, &mut shard, &starts, &mut take);
        }
        batch.clear();
    }

    /// The hash of a name; it is different in each run.
    pub fn hash(&self, name: &[u8]) -> u64 {
        self.key.hash_one(name)
    }

    /// Adds one name if it is new; returns its id, or `None` if the table is full.
    pub fn add_one(&self, name: &[u8]) -> Option<NameId> {
        let hash = self.hash(name);
        self.note(hash);
        let (at, tag) = split(hash);
        let mut shard = self.shards[at].lock().unwrap_or_else(PoisonError::into_inner);
        Some(id(at, shard.add(tag, name)?))
    }

    /// Closes the table: no more names can be added.
    pub fn close(self) -> SymbolNames {
        let shard =
            |shard: Mutex<Shard>| shard.into_inner().unwrap_or_else(PoisonError::into_inner);
        let filter = self.filter.into_iter().map(AtomicU64::into_inner).collect();
        SymbolNames { shards: self.shards.into_iter().map(shard).collect(), filter, key: self.key }
    }
}

impl Shard {
    fn find(&self, tag: u32, name: &[u8]) -> Option<u32> {
        let same = |slot: &Slot| slot.tag == tag && is(&self.pieces, slot.place, name);
        number(&self.pieces, self.table.find(Slot::hash(tag), same)?.place)
    }

    /// The number of a name; a new name is added first. `None` if the shard is full.
    fn add(&mut self, tag: u32, name: &[u8]) -> Option<u32> {
        let Self { pieces, places, table } = self;
        let same = |slot: &Slot| slot.tag == tag && is(pieces, slot.place, name);
        let entry = table.entry(Slot::hash(tag), same, |slot| Slot::hash(slot.tag));
        let vacant = match entry {
            Entry::Occupied(known) => return number(pieces, known.get().place),
            Entry::Vacant(vacant) => vacant,
        };
        let number = u32::try_from(places.len()).ok()?;
        if number >> (u32::BITS - SHARD_BITS) != 0 {
            return None;
        }
        let place = put(pieces, number, name)?;
        places.push(place);
        vacant.insert(Slot { tag, place });
        Some(number)
    }
}

/// Number and text of the name at `place`.
fn record(pieces: &[Vec<u8>], place: u32) -> Option<(u32, &[u8])> {
    let piece = pieces.get((place >> PIECE_BITS) as usize)?;
    let (number, rest) = piece.get(place as usize % PIECE..)?.split_first_chunk()?;
    let (len, rest) = rest.split_first_chunk()?;
    let text = rest.get(..u32::from_ne_bytes(*len) as usize)?;
    Some((u32::from_ne_bytes(*number), text))
}

fn number(pieces: &[Vec<u8>], place: u32) -> Option<u32> {
    record(pieces, place).map(|(number, _)| number)
}

fn is(pieces: &[Vec<u8>], place: u32, name: &[u8]) -> bool {
    record(pieces, place).is_some_and(|(_, text)| name == text)
}

/// Appends a name; returns its position if there is room.
fn put(pieces: &mut Vec<Vec<u8>>, number: u32, name: &[u8]) -> Option<u32> {
    let len = u32::try_from(name.len()).ok()?;
    let size = HEADER.checked_add(name.len())?;
    if pieces.last().is_none_or(|piece| PIECE.saturating_sub(piece.len()) < size) {
        pieces.push(Vec::with_capacity(size.max(PIECE)));
    }
    let piece = u32::try_from(pieces.len() - 1).ok()?;
    if piece >> (u32::BITS - PIECE_BITS) != 0 {
        return None;
    }
    let text = pieces.last_mut()?;
    let place = piece << PIECE_BITS | u32::try_from(text.len()).ok()?;
    text.extend_from_slice(&number.to_ne_bytes());
    text.extend_from_slice(&len.to_ne_bytes());
    text.extend_from_slice(name);
    Some(place)
}

#[cfg(test)]
mod tests {
    use super::{Added, Batch, Growing, PIECE};
    use crate::id::Id as _;

    /// A name that two threads add gets one id, and its text can be found.
    #[test]
    fn one_id_for_a_name() {
        let names: Vec<Vec<u8>> = (0..5000)
            .map(|n: usize| match n % 1000 {
                7 => vec![b'x'; PIECE + n],
                _ => format!("name{n}").into_bytes(),
            })
            .collect();
        let growing = Growing::default();
        let add = |part: &[Vec<u8>]| {
            let mut batch = Batch::default();
            assert!(
                (0..).zip(part).all(|(at, name)| batch.push(&growing, name, false, at).is_some())
            );
            let mut ids = vec![None; part.len()];
            growing.add(&mut batch, |at, added| match added {
                Added::Known(id) => ids[at] = Some(id),
                Added::Unknown | Added::Lost => {}
            });
            assert!(batch.is_empty());
            ids
        };
        let (first, second) = std::thread::scope(|scope| {
            let first = scope.spawn(|| add(&names[..4000]));
            let second = scope.spawn(|| add(&names[1000..]));
            (first.join().expect("names"), second.join().expect("names"))
        });
        assert_eq!(first[1000..], second[..3000]);
        assert_eq!(growing.add_one(b"name1"), first[1]);
        let known = growing.close();
        for (name, id) in names.iter().zip(first.iter().chain(&second[3000..])) {
            let id = id.expect("room");
            assert_eq!((known.text(id), known.find(name)), (&name[..], Some(id)));
            assert!(id.index() < known.bound());
        }
        assert_eq!(known.find(b"name5001"), None);
        assert_eq!(known.clone().open(0, true).add_one(b"name2"), first[2]);
    }
}
