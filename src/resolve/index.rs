//! Which module a name or a file stands for in the link map that is being built. `closure` and
//! `mapping` ask it; it knows nothing of what the numbers mean.

use crate::id::{FastMap, ModuleId};

/// A map from small numbers to modules that is emptied at no cost: entries of an earlier root carry
/// an old stamp.
#[derive(Default)]
pub(super) struct Stamped {
    stamp: u32,
    entries: Vec<(u32, ModuleId)>,
    /// The numbers with an entry of this root.
    keys: Vec<u32>,
}

impl Stamped {
    /// Empties it.
    pub(super) fn clear(&mut self) {
        self.stamp += 1;
        self.keys.clear();
    }

    pub(super) fn get(&self, index: usize) -> Option<ModuleId> {
        self.entries.get(index).filter(|(stamp, _)| *stamp == self.stamp).map(|(_, value)| *value)
    }

    /// Keeps the entry that is there.
    pub(super) fn add(&mut self, index: usize, value: ModuleId) {
        self.entry(index, value);
    }

    fn entry(&mut self, index: usize, value: ModuleId) -> &mut ModuleId {
        if index >= self.entries.len() {
            self.entries.resize((index + 1).next_power_of_two(), (0, ModuleId::ROOT));
        }
        let entry = &mut self.entries[index];
        if entry.0 != self.stamp {
            *entry = (self.stamp, value);
            self.keys.push(u32::try_from(index).unwrap_or(u32::MAX));
        }
        &mut entry.1
    }
}

/// The map of one root: borrowed from the resolver while nothing is missing, its own once it waits
/// for facts, so that it costs what it holds.
pub(super) enum Index {
    Borrowed(Stamped),
    Own(FastMap<u32, ModuleId>),
}

impl Index {
    /// An empty map in the place of `home`, which is left empty.
    pub(super) fn borrow(home: &mut Stamped) -> Self {
        let mut map = std::mem::take(home);
        map.clear();
        Self::Borrowed(map)
    }

    /// Gives back what was borrowed.
    pub(super) fn give_back(self, home: &mut Stamped) {
        if let Self::Borrowed(map) = self {
            *home = map;
        }
    }

    /// Gives back what was borrowed and keeps what is in it.
    pub(super) fn keep(self, home: &mut Stamped) -> Self {
        let Self::Borrowed(map) = self else { return self };
        let value = |key: &u32| Some((*key, map.get(*key as usize)?));
        let own = map.keys.iter().filter_map(value).collect();
        *home = map;
        Self::Own(own)
    }

    pub(super) fn get(&self, index: usize) -> Option<ModuleId> {
        match self {
            Self::Borrowed(map) => map.get(index),
            Self::Own(map) => map.get(&u32::try_from(index).ok()?).copied(),
        }
    }

    /// Replaces the entry that is there.
    pub(super) fn set(&mut self, index: usize, value: ModuleId) {
        *self.entry(index, value) = value;
    }

    /// Keeps the entry that is there.
    pub(super) fn add(&mut self, index: usize, value: ModuleId) {
        self.entry(index, value);
    }

    fn entry(&mut self, index: usize, value: ModuleId) -> &mut ModuleId {
        match self {
            Self::Borrowed(map) => map.entry(index, value),
            Self::Own(map) => map.entry(u32::try_from(index).unwrap_or(u32::MAX)).or_insert(value),
        }
    }
}
