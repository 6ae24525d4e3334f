//! Ranks the sets of one variable in the order of its value, because commands may add values in
//! front.

use super::Set;
use crate::id::FastMap;

/// Assigns ranks to sets. A new rank is below or above all ranks of the same variable.
#[derive(Default)]
pub(super) struct Ranks {
    /// The lowest and the highest rank of each variable.
    ends: FastMap<Vec<u8>, (i64, i64)>,
}

impl Ranks {
    /// Gives a new set its rank: below all ranks of its variable if `is_front` is true, otherwise
    /// above them.
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
}
