//! The members of archives that refer to given names, and the archives from which members were
//! merged. `audit::trace`, the rule `deps-list-drift` and fixes use them to find the archive that
//! an object was linked from.

use super::{ArchiveSet, Origins};
use crate::format::archive::SymbolKind;
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId, NameId};
use crate::parallel;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Number of members that a thread takes at a time.
const SHARE: usize = 64;

/// For each given name, the members that refer to it strongly, in the order of the given archives.
pub struct Referrers<'l> {
    library: &'l ArchiveSet,
    members: FastMap<NameId, Vec<MemberId>>,
    known: Mutex<OriginCache>,
}

/// The references of one archive to the names of a query.
#[derive(Default)]
pub struct ArchiveReferences {
    /// Number of names of the query to which the archive refers.
    pub names: usize,
    /// For each of these names, the first member of the archive that refers to it.
    first: FastSet<MemberId>,
    /// All members of the archive that refer to any of these names.
    members: FastSet<MemberId>,
}

impl ArchiveReferences {
    /// The members of the archive that refer to any of the names.
    pub fn members(&self) -> impl Iterator<Item = MemberId> {
        self.members.iter().copied()
    }
}

/// Cached origins: the same members refer to thousands of names.
#[derive(Default)]
struct OriginCache {
    origins: FastMap<MemberId, Option<ArchiveId>>,
    /// By archive: the origins of its members. Only smaller archives can be origins.
    of: FastMap<ArchiveId, Origins>,
}

impl<'l> Referrers<'l> {
    /// Searches all members of `archives` for strong references to `names`.
    pub fn new<'n>(
        library: &'l ArchiveSet,
        archives: impl Iterator<Item = ArchiveId>,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> Self {
        let mut members: FastMap<NameId, Vec<MemberId>> =
            names.filter_map(|name| Some((library.find(name)?, Vec::new()))).collect();
        let mut wanted = vec![false; library.names()];
        members.keys().for_each(|name| wanted[name.index()] = true);
        let archives = archives.filter(|_| !members.is_empty());
        let all: Vec<MemberId> = archives.flat_map(|a| library.members_of(a)).collect();
        let of_share = |share: &&[MemberId]| {
            let mut out = Vec::new();
            for member in *share {
                let symbols = library.symbols(*member);
                let strong = symbols.filter(|(_, symbol)| symbol.kind == SymbolKind::Undefined);
                let names = strong.map(|(name, _)| name).filter(|name| wanted[name.index()]);
                out.extend(names.map(|name| (name, *member)));
            }
            out
        };
        let shares: Vec<&[MemberId]> = all.chunks(SHARE).collect();
        let found: Vec<Vec<(NameId, MemberId)>> = parallel::map(&shares, of_share);
        for (name, member) in found.into_iter().flatten() {
            members.entry(name).or_default().push(member);
        }
        Self { library, members, known: Mutex::default() }
    }

    /// The members that refer strongly to `name`; empty if `name` was not given to [`Self::new`].
    pub fn of(&self, name: &[u8]) -> &[MemberId] {
        let found = self.library.find(name).and_then(|name| self.members.get(&name));
        found.map_or(&[], Vec::as_slice)
    }

    /// The archives with strong references to any of `names`.
    pub fn archives<'n>(
        &self,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> BTreeMap<ArchiveId, ArchiveReferences> {
        let mut out: BTreeMap<ArchiveId, ArchiveReferences> = BTreeMap::new();
        for name in names {
            for (archive, members) in self.by_archive(name) {
                let of = out.entry(archive).or_default();
                of.names += 1;
                of.first.insert(members[0]);
                of.members.extend(members);
            }
        }
        out
    }

    /// The members that refer strongly to `name`, grouped by archive.
    pub fn by_archive(&self, name: &[u8]) -> impl Iterator<Item = (ArchiveId, &[MemberId])> {
        let of = |member: &MemberId| self.library.archive_of(*member);
        let groups = self.of(name).chunk_by(move |a, b| of(a) == of(b));
        groups.map(move |members| (of(&members[0]), members))
    }

    /// The smaller archive that a member was merged from; `None` if no smaller archive has a member
    /// that defines the same names.
    pub fn origin(&self, member: MemberId) -> Option<ArchiveId> {
        let library = self.library;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let OriginCache { origins, of } = &mut *known;
        *origins.entry(member).or_insert_with(|| {
            let size = |archive: ArchiveId| library.entry(archive).members.list.len();
            let archive = library.archive_of(member);
            let own = size(archive);
            let of = of.entry(archive).or_default();
            let found = of.of(library, member, |other| size(other) < own);
            found.map(|found| library.archive_of(found))
        })
    }

    /// True if a member in `referring` was merged from another archive. Only the first member for
    /// each name is checked, because the search for origins is slow.
    pub fn is_merged(&self, referring: &ArchiveReferences) -> bool {
        referring.first.iter().any(|member| self.origin(*member).is_some())
    }
}
