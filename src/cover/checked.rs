//! Undefined names have referrers: this module chooses the referrers whose relocations are read. A
//! name may have a thousand referrers, and an output shows three of them. Reading stops once three
//! referrers are confirmed to need a definition. If a shown name has few referrers, all of them
//! are read, so that the output has their exact number. A name that is not shown is only counted,
//! so one referrer is enough.

use super::{Coverage, ReferredBy};
use crate::id::{FastMap, FastSet, MemberId};

/// If a shown name has at most this number of referrers, all of them are read.
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

/// References that were checked. References of roots and options are always treated as checked.
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

    /// Chooses referrers of `names` to check next, and returns them. A shown name gets up to
    /// `batch` referrers, until all referrers that the output shows are checked. For any other
    /// name, one checked referrer is enough. Among the referrers of such a name, members in `read`
    /// are preferred: their relocations are already read.
    pub fn extend(
        &mut self,
        names: impl Iterator<Item = &'n [u8]>,
        coverage: &Coverage,
        (shown, batch): (ShownReferrers, usize),
        read: &FastSet<MemberId>,
    ) -> Vec<MemberId> {
        let place =
            |name: &[u8]| coverage.undefined.binary_search_by(|one| (*one.symbol).cmp(name)).ok();
        let mut names: Vec<(usize, &'n [u8])> =
            names.filter_map(|name| Some((place(name)?, name))).collect();
        names.sort_unstable();
        let mut out = Vec::new();
        let mut known = FastSet::default();
        for (at, name) in names {
            let by = &*coverage.undefined[at].by;
            let next = if at < shown.names {
                self.next_shown(name, by, (shown.of_name, batch))
            } else {
                let most = batch / shown.of_name.max(1);
                self.next_hidden(name, by, most.max(1), |one| {
                    read.contains(&one) || known.contains(&one)
                })
            };
            known.extend(next.iter().copied());
            if let Self::Of(names) = self {
                names.entry(name).or_default().extend(&next);
            }
            out.extend(next);
        }
        out.sort_unstable();
        out.dedup();
        out
    }

    /// Up to `batch` unchecked referrers of a name; empty if its first `most_by` referrers are
    /// checked.
    fn next_shown(
        &self,
        name: &[u8],
        by: &[ReferredBy],
        (most_by, batch): (usize, usize),
    ) -> Vec<MemberId> {
        let (most_by, batch) = if by.len() <= FEW { (FEW, FEW) } else { (most_by, batch) };
        let is_open = |by: &&ReferredBy| !self.has(**by, name);
        if !by.iter().take(most_by).any(|by| is_open(&by)) {
            return Vec::new();
        }
        by.iter().filter(is_open).filter_map(|by| by.member()).take(batch).collect()
    }

    /// Up to `most` referrers of a name; empty if a referrer is checked already. A checked referrer
    /// stays in `by` only if it needs the definition.
    fn next_hidden(
        &self,
        name: &[u8],
        by: &[ReferredBy],
        most: usize,
        is_known: impl Fn(MemberId) -> bool,
    ) -> Vec<MemberId> {
        if by.iter().any(|by| self.has(*by, name)) {
            return Vec::new();
        }
        let members = || by.iter().filter_map(|by| by.member());
        let known: Vec<MemberId> = members().filter(|one| is_known(*one)).take(most).collect();
        if known.is_empty() { members().take(most).collect() } else { known }
    }
}
