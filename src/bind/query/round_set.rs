//! A set of numbers that a worker reuses for each entry point.

/// The numbers of the current round. A new round number empties the set in constant time. An item
/// is present if it was inserted in the current round.
#[derive(Default)]
pub(super) struct RoundSet {
    round: u32,
    /// By item: the last round in which it was inserted.
    last: Vec<u32>,
}

impl RoundSet {
    /// Empties the set and makes room for the items below `len`.
    pub(super) fn start(&mut self, len: usize) {
        if self.round == u32::MAX {
            self.last.clear();
            self.round = 0;
        }
        self.round += 1;
        self.last.resize(len, 0);
    }

    /// Adds an item; false if it was present.
    pub(super) fn insert(&mut self, item: usize) -> bool {
        let last = &mut self.last[item];
        std::mem::replace(last, self.round) != self.round
    }

    /// True if the item was inserted in this round.
    pub(super) fn contains(&self, item: usize) -> bool {
        self.last.get(item) == Some(&self.round)
    }
}
