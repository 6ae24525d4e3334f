//! The references to undefined names whose relocations are read. A name may have a thousand
//! referrers, of which an output shows three: reading stops when so many are known to count.

use super::{Coverage, ReferredBy};
use crate::id::{FastMap, FastSet, MemberId};

/// References that were checked. Those of roots and options are always checked.
pub enum CheckedReferences<'n> {
    /// All references.
    All,
    /// For each undefined name, the members whose references were checked.
    Of(FastMap<&'n [u8], FastSet<MemberId>>),
}

impl<'n> CheckedReferences<'n> {
    /// True if the reference of `by` to `name` was checked.
    pub fn has(&self, by: ReferredBy, name: &[u8]) -> bool {
        match self {
            Self::All => true,
            Self::Of(names) => by.member().is_none_or(|member| {
                names.get(name).is_some_and(|members| members.contains(&member))
            }),
        }
    }

    /// Adds up to `batch` referrers of each of `names`, unless its first `most_by` referrers are
    /// known to count. Returns the new referrers.
    pub fn extend(
        &mut self,
        names: impl Iterator<Item = &'n [u8]>,
        coverage: &Coverage,
        (most_by, batch): (usize, usize),
    ) -> Vec<MemberId> {
        let mut out = Vec::new();
        for name in names {
            let found = coverage.undefined.binary_search_by(|one| (*one.symbol).cmp(name));
            let Some(undefined) = found.ok().and_then(|at| coverage.undefined.get(at)) else {
                continue;
            };
            let is_open = |by: &&ReferredBy| !self.has(**by, name);
            if undefined.by.iter().take(most_by).any(|by| is_open(&by)) {
                let open = undefined.by.iter().filter(is_open).filter_map(|by| by.member());
                let next: Vec<MemberId> = open.take(batch).collect();
                if let Self::Of(names) = self {
                    names.entry(name).or_default().extend(&next);
                }
                out.extend(next);
            }
        }
        out.sort_unstable();
        out.dedup();
        out
    }
}
