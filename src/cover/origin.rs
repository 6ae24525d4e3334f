//! Where a member of a merged archive came from: the member of another archive that defines the same
//! symbols. Names of members repeat and say little.

use super::ArchiveSet;
use crate::id::{ArchiveId, FastMap, FastSet, MemberId};

/// Answers for many members. Members that define the same are compared once, not for each of them.
#[derive(Default)]
pub struct Origins {
    /// The least hashes of members that are in `groups`.
    known: FastSet<u64>,
    /// Members by all that they define.
    groups: FastMap<Box<[u64]>, Group>,
}

/// Members that define the same.
#[derive(Default)]
struct Group {
    any: Firsts,
    by_name: FastMap<Vec<u8>, Firsts>,
}

/// The first member of all, and the first one of another archive.
#[derive(Default)]
struct Firsts {
    first: Option<(ArchiveId, MemberId)>,
    other: Option<MemberId>,
}

impl Firsts {
    /// Members come in order.
    fn add(&mut self, archive: ArchiveId, member: MemberId) {
        match self.first {
            None => self.first = Some((archive, member)),
            Some((first, _)) if first == archive => {}
            Some(_) => drop(self.other.get_or_insert(member)),
        }
    }

    /// The first member outside of an archive.
    fn outside(&self, home: ArchiveId) -> Option<MemberId> {
        self.first.filter(|(archive, _)| *archive != home).map(|(_, member)| member).or(self.other)
    }
}

impl Origins {
    /// The member that defines what `member` defines, of an archive that is `among` those in
    /// question, which are the same in every call; of several one of the same name, then the first.
    /// Nothing for a member that defines nothing.
    pub fn of(
        &mut self,
        library: &ArchiveSet,
        member: MemberId,
        among: impl Fn(ArchiveId) -> bool,
    ) -> Option<MemberId> {
        let least = *library.hashes(member).iter().min()?;
        if self.known.insert(least) {
            self.compare(library, member, among);
        }
        let group = self.groups.get(&definitions(library, member))?;
        let home = library.archive_of(member);
        let named = group.by_name.get(library.member_name(member));
        named.and_then(|named| named.outside(home)).or_else(|| group.any.outside(home))
    }

    /// Groups all members that may define the same as `member`.
    fn compare(
        &mut self,
        library: &ArchiveSet,
        member: MemberId,
        among: impl Fn(ArchiveId) -> bool,
    ) {
        let mut alike: Vec<MemberId> = library.alike(member).collect();
        alike.sort_unstable();
        for member in alike {
            let archive = library.archive_of(member);
            if among(archive) {
                let group = self.groups.entry(definitions(library, member)).or_default();
                group.any.add(archive, member);
                let name = library.member_name(member);
                group.by_name.entry_ref(name).or_default().add(archive, member);
            }
        }
    }
}

/// What a member defines, as hashes of names.
fn definitions(library: &ArchiveSet, member: MemberId) -> Box<[u64]> {
    let mut hashes = library.hashes(member).to_vec();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}
