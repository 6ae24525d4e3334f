//! Names that one thread takes from members and hands over a thousand at a time: sorted by the parts of
//! the table, so that the lock of each is taken once for some thirty. `format::archive` fills it.

use super::{Added, Growing, SHARDS, Shard, id, split};
use crate::id::NameId;
use std::sync::Arc;

/// Names whose ids are remembered: members of an archive refer to the same ones, and these stay in a
/// cache.
const RECENT: usize = 1 << 12;
/// The bits of a hash by which they are found.
const AT: u64 = (1 << 12) - 1;

/// Names that one thread is about to add. Its memory is used again.
#[derive(Debug, Default)]
pub struct Batch {
    text: Vec<u8>,
    wanted: Vec<Wanted>,
    /// The places of `wanted` by shard.
    order: Vec<u32>,
    /// What was added last, by the lowest bits of its hash.
    recent: Vec<Recent>,
    /// Where the ids of `recent` hold.
    mark: Option<Arc<()>>,
}

/// A name that was added.
#[derive(Clone, Debug, Default)]
struct Recent {
    hash: u64,
    id: Option<NameId>,
    text: Vec<u8>,
}

/// A name to add, by its place in the text of a batch.
#[derive(Clone, Copy, Debug)]
struct Wanted {
    hash: u64,
    start: u32,
    len: u32,
    /// Whose name it is.
    of: u32,
    add: bool,
    /// Others will refer to it too.
    again: bool,
}

/// What became of a name that was handed to a batch.
#[derive(Clone, Copy, Debug)]
pub struct Pushed {
    /// Its hash.
    pub hash: u64,
    /// Its id, if that is known by now.
    pub id: Option<NameId>,
}

impl Batch {
    /// Forgets all names that are to be added, and of others what holds elsewhere than in `names`.
    pub fn begin(&mut self, names: &Growing) {
        self.clear();
        if self.mark.as_ref().is_none_or(|mark| !Arc::ptr_eq(mark, &names.mark)) {
            self.recent.clear();
            self.recent.resize_with(RECENT, Recent::default);
            self.mark = Some(Arc::clone(&names.mark));
        }
    }

    /// Takes a name that `names` are to `add`, or only to look for unless they are whole; `of` says whose
    /// it is. Nothing where there is no more room. What is not there is not taken.
    pub fn push(&mut self, names: &Growing, name: &[u8], add: bool, of: u32) -> Option<Pushed> {
        let (hash, again, add) = (names.hash(name), add, add || names.whole);
        let pushed = Pushed { hash, id: None };
        if !add && !names.may_hold(hash) {
            return Some(pushed);
        }
        let recent = self.recent.get((hash & AT) as usize);
        if let Some(Recent { id, .. }) = recent.filter(|r| r.hash == hash && r.text == name) {
            return Some(Pushed { hash, id: *id });
        }
        if add {
            names.note(hash);
        }
        let (start, len) = (u32::try_from(self.text.len()).ok()?, u32::try_from(name.len()).ok()?);
        self.text.extend_from_slice(name);
        self.wanted.push(Wanted { hash, start, len, of, add, again });
        Some(pushed)
    }

    /// How many names there are.
    pub fn len(&self) -> usize {
        self.wanted.len()
    }

    /// True if there is none.
    pub fn is_empty(&self) -> bool {
        self.wanted.is_empty()
    }

    /// Forgets all names.
    pub fn clear(&mut self) {
        self.wanted.clear();
        self.text.clear();
    }

    /// The shard of the first name.
    pub(super) fn first(&self) -> usize {
        self.wanted.first().map_or(0, |name| split(name.hash).0)
    }

    /// Sorts the names by shard: those of each begin where the answer says.
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

    /// Adds the names that belong to the shard `at`.
    pub(super) fn fill(
        &mut self,
        at: usize,
        shard: &mut Shard,
        starts: &[usize; SHARDS + 1],
        take: &mut impl FnMut(usize, Added),
    ) {
        let Self { text, wanted, order, recent, .. } = self;
        for place in &order[starts[at]..starts[at + 1]] {
            let Wanted { hash, start, len, of, add, again } = wanted[*place as usize];
            let start = start as usize;
            let name = text.get(start..start + len as usize).unwrap_or_default();
            let tag = split(hash).1;
            let (number, none) = if add {
                (shard.add(tag, name), Added::Lost)
            } else {
                (shard.find(tag, name), Added::Unknown)
            };
            let id = number.map(|number| id(at, number));
            if again && let (Some(id), Some(recent)) = (id, recent.get_mut((hash & AT) as usize)) {
                (recent.hash, recent.id) = (hash, Some(id));
                recent.text.clear();
                recent.text.extend_from_slice(name);
            }
            take(of as usize, id.map_or(none, Added::Known));
        }
    }
}
