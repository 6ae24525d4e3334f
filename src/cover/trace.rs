//! Who refers to given names in archives at hand, and which archive an object was linked from: the one
//! that a policy names, that lies beside the object or among what is audited, or that is merged from
//! others and refers to most. `audit::trace` asks, the rule about lists, and fixes.

use super::{ArchiveSet, Origins};
use crate::format::archive::SymbolKind;
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId, NameId};
use crate::parallel;
use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

/// Members that one thread looks at before another may.
const SHARE: usize = 64;

/// Members that refer to names, in the order of the library.
pub struct Referrers<'l> {
    library: &'l ArchiveSet,
    members: FastMap<NameId, Vec<MemberId>>,
    known: Mutex<Known>,
}

/// How an archive refers to names.
#[derive(Default)]
pub struct Referring {
    /// How many of the names.
    pub names: usize,
    /// The first member for each of them.
    members: FastSet<MemberId>,
}

/// Origins that were asked for: thousands of names lead to the same members.
#[derive(Default)]
struct Known {
    origins: FastMap<MemberId, Option<ArchiveId>>,
    /// By the archive of the members, which decides what they may come from.
    of: FastMap<ArchiveId, Origins>,
}

impl<'l> Referrers<'l> {
    /// Looks through all members of `archives` for strong references to `names`.
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

    /// Who refers to `name`.
    pub fn of(&self, name: &[u8]) -> &[MemberId] {
        let found = self.library.find(name).and_then(|name| self.members.get(&name));
        found.map_or(&[], Vec::as_slice)
    }

    /// Archives that refer to any of `names`.
    pub fn archives<'n>(
        &self,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> BTreeMap<ArchiveId, Referring> {
        let mut out: BTreeMap<ArchiveId, Referring> = BTreeMap::new();
        for name in names {
            let same = |a: &MemberId, b: &MemberId| {
                self.library.archive_of(*a) == self.library.archive_of(*b)
            };
            for members in self.of(name).chunk_by(same) {
                let of = out.entry(self.library.archive_of(members[0])).or_default();
                of.names += 1;
                of.members.insert(members[0]);
            }
        }
        out
    }

    /// Where a member came from, if its archive is merged: a member of a smaller archive.
    pub fn origin(&self, member: MemberId) -> Option<ArchiveId> {
        let library = self.library;
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let Known { origins, of } = &mut *known;
        *origins.entry(member).or_insert_with(|| {
            let size = |archive: ArchiveId| library.entry(archive).members.list.len();
            let archive = library.archive_of(member);
            let own = size(archive);
            let of = of.entry(archive).or_default();
            let found = of.of(library, member, |other| size(other) < own);
            found.map(|found| library.archive_of(found))
        })
    }

    /// True if members of an archive that refer to names came from other archives.
    pub fn is_merged(&self, referring: &Referring) -> bool {
        referring.members.iter().any(|member| self.origin(*member).is_some())
    }
}
