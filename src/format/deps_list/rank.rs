//! The order of the values that several commands give to one variable: commands may add values in
//! front, or reverse all values.

use super::Set;
use crate::id::FastMap;

/// Maximum number of sets that are visited for all reversals of a file.
const MOST_VISITED: usize = 1_000_000;

/// The ranks of the sets so far.
#[derive(Default)]
pub(super) struct Ranks {
    /// The lowest and the highest rank of each variable.
    ends: FastMap<Vec<u8>, (i64, i64)>,
    /// Number of sets that were visited for reversals.
    visited: usize,
}

impl Ranks {
    /// Gives a new set its rank.
    pub(super) fn place(&mut self, set: &mut Set, is_front: bool) {
        let (least, most) = self.ends.entry(set.name.clone()).or_default();
        if is_front {
            *least -= 1;
            set.rank = *least;
        } else {
            *most += 1;
            set.rank = *most;
        }
    }

    /// Reverses the values that the variable has so far.
    pub(super) fn reverse(&mut self, sets: &mut [Set], name: &[u8]) {
        self.visited = self.visited.saturating_add(sets.len());
        let Some((least, most)) = self.ends.get_mut(name) else { return };
        if self.visited > MOST_VISITED {
            return;
        }
        (*least, *most) = (-*most, -*least);
        for set in sets.iter_mut().filter(|set| set.name == name) {
            set.rank = -set.rank;
            set.is_reversed = !set.is_reversed;
        }
    }
}
