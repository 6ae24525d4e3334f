//! Who refers to given names in archives at hand, and which archive an object was linked from: the one
//! that a policy names, that lies beside the object or among what is audited, or that is merged from
//! others and refers to most. `audit::trace` asks, the rule about lists, and fixes.

use super::{ArchiveSet, Origins};
use crate::format::archive::SymbolKind;
use crate::id::{ArchiveId, FastMap, Id as _, MemberId, NameId};
use crate::parallel;
use std::collections::BTreeMap;

/// Members that one thread looks at before another may.
const SHARE: usize = 64;

/// Members that refer to names, in the order of the library.
pub struct Referrers<'l> {
    library: &'l ArchiveSet,
    members: FastMap<NameId, Vec<MemberId>>,
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
        Self { library, members }
    }

    /// Who refers to `name`.
    pub fn of(&self, name: &[u8]) -> &[MemberId] {
        let found = self.library.find(name).and_then(|name| self.members.get(&name));
        found.map_or(&[], Vec::as_slice)
    }

    /// Archives that refer to any of `names`, each with how many of them it refers to.
    pub fn archives<'n>(
        &self,
        names: impl Iterator<Item = &'n [u8]>,
    ) -> BTreeMap<ArchiveId, usize> {
        let mut out = BTreeMap::new();
        for name in names {
            let mut archives: Vec<ArchiveId> =
                self.of(name).iter().map(|member| self.library.archive_of(*member)).collect();
            archives.dedup();
            for archive in archives {
                *out.entry(archive).or_default() += 1;
            }
        }
        out
    }

    /// Where a member came from, if its archive is merged: a member of a smaller archive.
    pub fn origin(&self, member: MemberId) -> Option<ArchiveId> {
        let size = |archive: ArchiveId| self.library.entry(archive).members.list.len();
        let own = size(self.library.archive_of(member));
        let found = Origins::default().of(self.library, member, |other| size(other) < own);
        found.map(|found| self.library.archive_of(found))
    }

    /// True if the archive's members that refer to `names` came from other archives.
    pub fn is_merged<'n>(
        &self,
        archive: ArchiveId,
        mut names: impl Iterator<Item = &'n [u8]>,
    ) -> bool {
        names.any(|name| {
            let mut members = self.of(name).iter();
            let here = members.find(|member| self.library.archive_of(**member) == archive);
            here.is_some_and(|member| self.origin(*member).is_some())
        })
    }
}
