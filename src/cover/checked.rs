//! The references to undefined names whose relocations are read. A name may have a thousand
//! referrers, of which an output shows three: reading stops when so many are known to count. All
//! referrers of a shown name are read if they are few, so that the output has their exact number.

use super::{Coverage, ReferredBy};
use crate::id::{FastMap, FastSet, MemberId};

/// Maximum number of referrers of a shown name that are all read.
const FEW: usize = 16;

/// The undefined names and referrers that an output shows.
#[derive(Clone, Copy, Debug)]
pub struct ShownReferrers {
    /// Number of names that are shown.
    pub names: usize,
    /// Number of referrers that are shown for one name.
    pub of_name: usize,
}

impl ShownReferrers {
    /// All referrers of all names.
    pub const ALL: Self = Self { names: usize::MAX, of_name: usize::MAX };
}

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

    /// Adds up to `batch` referrers of each of `names`, unless its first referrers are known to
    /// count, as many as are shown. Returns the new referrers.
    pub fn extend(
        &mut self,
        names: impl Iterator<Item = &'n [u8]>,
        coverage: &Coverage,
        (shown, batch): (ShownReferrers, usize),
    ) -> Vec<MemberId> {
        let mut out = Vec::new();
        for name in names {
            let found = coverage.undefined.binary_search_by(|one| (*one.symbol).cmp(name));
            let Some((at, undefined)) =
                found.ok().and_then(|at| Some((at, coverage.undefined.get(at)?)))
            else {
                continue;
            };
            let is_few = at < shown.names && undefined.by.len() <= FEW;
            let (most_by, batch) = if is_few { (FEW, FEW) } else { (shown.of_name, batch) };
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
