//! A batch of names that one thread takes from archive members. About a thousand names are added at
//! a time, sorted by the table's shards, so that one lock serves some thirty names.
//! `format::archive` fills the batch.

use super::{Added, Growing, SHARDS, Shard, id, split};

/// Names that one thread is about to add to the table, or to search for in it. The buffers are
/// reused for the next batch.
#[derive(Debug, Default)]
pub struct Batch {
    text: Vec<u8>,
    wanted: Vec<QueuedName>,
    /// Indices of `wanted`, sorted by shard.
    order: Vec<u32>,
}

/// A name to add or to search for, by its position in the text of a batch.
#[derive(Clone, Copy, Debug)]
struct QueuedName {
    hash: u64,
    start: u32,
    len: u32,
    /// The caller's number for the owner of the name.
    of: u32,
    add: bool,
}

impl Batch {
    /// Queues a name and returns its hash; `None` if the batch is full. The table will add the name
    /// if `add` is true or the table stores every name. Otherwise the table only searches for the
    /// name, and `push` does not queue a name that the table certainly lacks. `of` identifies the
    /// owner.
    pub fn push(&mut self, names: &Growing, name: &[u8], add: bool, of: u32) -> Option<u64> {
        let (hash, add) = (names.hash(name), add || names.whole);
        if add {
            names.note(hash);
        } else if !names.may_hold(hash) {
            return Some(hash);
        }
        let (start, len) = (u32::try_from(self.text.len()).ok()?, u32::try_from(name.len()).ok()?);
        self.text.extend_from_slice(name);
        self.wanted.push(QueuedName { hash, start, len, of, add });
        Some(hash)
    }

    /// Number of queued names.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// True if the batch is empty.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Removes all names.
    pub fn clear(&mut self) {
        self.wanted.clear();
        self.text.clear();
    }

    /// The shard of the first name; 0 for an empty batch.
    pub(super) fn first(&self) -> usize {
        self.wanted.first().map_or(0, |name| split(name.hash).0)
    }

    /// Fills `order` with the indices of the names, sorted by shard. Returns the start of each
    /// shard in `order`; the last number is the end of the last shard.
    pub(super) fn sort(&mut self) -> [usize; SHARDS + 1] {
        let Self { wanted, order, .. } = self;
        let mut starts = [0; SHARDS + 1];
        for name in wanted.iter() {
            starts[split(name.hash).0] += 1;
        }
        let mut sum = 0;
        for start in &mut starts {
            sum += *start;
            *start = sum;
        }
        order.resize(wanted.len(), 0);
        for (at, name) in (0..).zip(wanted.iter()) {
            let start = &mut starts[split(name.hash).0];
            *start -= 1;
            order[*start] = at;
        }
        starts
    }

    /// Adds or finds the names of the shard `at`. Passes the owner and the result of each name to
    /// `take`.
    pub(super) fn fill(
        &mut self,
        at: usize,
        shard: &mut Shard,
        starts: &[usize; SHARDS + 1],
        take: &mut impl FnMut(usize, Added),
    ) {
        let Self { text, wanted, order } = self;
        for place in &order[starts[at]..starts[at + 1]] {
            let QueuedName { hash, start, len, of, add } = wanted[*place as usize];
            let start = start as usize;
            let name = text.get(start..start + len as usize).unwrap_or_default();
            let tag = split(hash).1;
            let (number, none) = if add {
                (shard.add(tag, name), Added::Lost)
            } else {
                (shard.find(tag, name), Added::Unknown)
            };
            take(of as usize, number.map_or(none, |number| Added::Known(id(at, number))));
        }
    }
}
