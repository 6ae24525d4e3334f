//! Narrows down the values that a pattern may match, to save time if there are many patterns. The
//! values are sorted by their first bytes and by their last bytes. A pattern is matched only
//! against values that begin with its literal start, or only against those that end with its
//! literal end. A pattern that starts and ends with a wildcard is matched against all values.

use crate::policy::Pattern;
use rayon::prelude::*;
use std::cmp::Ordering;

/// Values, each with an index that the caller chooses.
pub(super) struct Values<'a> {
    by_begin: Vec<(&'a [u8], usize)>,
    by_end: Vec<(&'a [u8], usize)>,
}

impl<'a> Values<'a> {
    pub(super) fn new(values: impl Iterator<Item = (&'a [u8], usize)>) -> Self {
        let mut by_begin: Vec<_> = values.collect();
        let mut by_end = by_begin.clone();
        by_begin.par_sort_unstable();
        by_end.par_sort_unstable_by(|(a, _), (b, _)| a.iter().rev().cmp(b.iter().rev()));
        Self { by_begin, by_end }
    }

    /// A superset of the values that `pattern` matches.
    pub(super) fn candidates(&self, pattern: &Pattern) -> &[(&'a [u8], usize)] {
        let (prefix, suffix) = pattern.ends();
        let begin = range(&self.by_begin, |value| {
            let cut = &value[..value.len().min(prefix.len())];
            cut.cmp(prefix)
        });
        let end = range(&self.by_end, |value| {
            let cut = &value[value.len().saturating_sub(suffix.len())..];
            cut.iter().rev().cmp(suffix.iter().rev())
        });
        if begin.len() <= end.len() { begin } else { end }
    }
}

/// The range of the sorted values for which `order` is `Equal`.
fn range<'v, 'a>(
    values: &'v [(&'a [u8], usize)],
    order: impl Fn(&[u8]) -> Ordering,
) -> &'v [(&'a [u8], usize)] {
    let start = values.partition_point(|(value, _)| order(value) == Ordering::Less);
    let rest = &values[start..];
    &rest[..rest.partition_point(|(value, _)| order(value) == Ordering::Equal)]
}
