//! Sorting of short lists. The standard sorts are compiled again for each type and comparison: a
//! hundred times, at 8 KB each. The sorts of this module share one sort of indices, which
//! compares items through a pointer to a function. Each sort then only moves its items, at 0.3 KB
//! for each type. Lists that grow with the number of symbols use the standard sorts.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// Stable sorts of short lists.
pub(crate) trait Arrange<T> {
    /// Sorts by the `Ord` of the items.
    fn arrange(&mut self)
    where
        T: Ord;

    /// Sorts by the given comparison.
    fn arrange_by(&mut self, compare: impl FnMut(&T, &T) -> Ordering);

    /// Sorts by a key of each item. Each comparison computes the keys of both items again.
    fn arrange_by_key<K: Ord>(&mut self, key: impl FnMut(&T) -> K);
}

impl<T> Arrange<T> for [T] {
    fn arrange(&mut self)
    where
        T: Ord,
    {
        self.arrange_by(T::cmp);
    }

    fn arrange_by(&mut self, mut compare: impl FnMut(&T, &T) -> Ordering) {
        let mut places = places(self.len(), &mut |a, b| compare(&self[a], &self[b]));
        for at in 0..self.len() {
            // Each swap moves one item to its final index.
            while let Some(&place) = places.get(at).filter(|place| **place != at) {
                self.swap(at, place);
                places.swap(at, place);
            }
        }
    }

    fn arrange_by_key<K: Ord>(&mut self, mut key: impl FnMut(&T) -> K) {
        self.arrange_by(|a, b| key(a).cmp(&key(b)));
    }
}

/// A set of the items. Unlike `collect`, this function does not instantiate a standard sort.
pub(crate) fn set<T: Ord>(items: impl IntoIterator<Item = T>) -> BTreeSet<T> {
    let mut out = BTreeSet::new();
    out.extend(items);
    out
}

/// A map of the items. If two items have the same key, the later one wins.
pub(crate) fn map<K: Ord, V>(items: impl IntoIterator<Item = (K, V)>) -> BTreeMap<K, V> {
    let mut out = BTreeMap::new();
    out.extend(items);
    out
}

/// Adds an item to a set that keeps only the `most` smallest items. The final set does not depend
/// on the order in which items are added: directories list names in any order.
pub(crate) fn keep_least<T: Ord>(set: &mut BTreeSet<T>, item: T, most: usize) {
    set.insert(item);
    if set.len() > most {
        set.pop_last();
    }
}

/// For each index of the list, the index of its item in the sorted list. Empty for lists of fewer
/// than two items.
fn places(len: usize, compare: &mut dyn FnMut(usize, usize) -> Ordering) -> Vec<usize> {
    if len < 2 {
        return Vec::new();
    }
    let mut sorted: Vec<usize> = (0..len).collect();
    sorted.sort_by(|a, b| compare(*a, *b));
    let mut places = vec![0; len];
    for (place, item) in sorted.into_iter().enumerate() {
        places[item] = place;
    }
    places
}

#[cfg(test)]
mod tests {
    use super::{Arrange as _, keep_least};
    use std::collections::BTreeSet;

    /// Sorts all lists of up to seven digits of 0..3 with their positions, and compares the results
    /// with the standard sort.
    #[test]
    fn lists_are_sorted_and_stable() {
        let mut compared = 0;
        for len in 0..8_u32 {
            for number in 0..3_u32.pow(len) {
                let digit = |at: u32| (number / 3_u32.pow(at) % 3, at);
                let mut ours: Vec<(u32, u32)> = (0..len).map(digit).collect();
                let mut sorted = ours.clone();
                ours.arrange_by_key(|(digit, _)| *digit);
                sorted.sort_by_key(|(digit, _)| *digit);
                assert_eq!(ours, sorted);
                ours.reverse();
                ours.arrange();
                assert_eq!(ours, sorted);
                compared += 2;
            }
        }
        assert_eq!(compared, 6_560);
    }

    #[test]
    fn the_least_items_do_not_depend_on_the_order() {
        for step in 1..11 {
            let mut kept = BTreeSet::new();
            (0..11).for_each(|n| keep_least(&mut kept, n * step % 11, 4));
            assert_eq!(kept, BTreeSet::from([0, 1, 2, 3]), "{step}");
        }
    }
}
