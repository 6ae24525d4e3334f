//! The origin of a member of a merged archive: the member of another archive that defines the same
//! symbols. Member names do not suffice, because they repeat.

use super::ArchiveSet;
use crate::id::{ArchiveId, FastMap, FastSet, MemberId};

/// If at most this number of members may define the same names, they are compared directly. Most
/// members are like only one or two others. For so few members, a table of names would cost more
/// than it saves.
const FEW: usize = 16;

/// Finds the origins of many members. Members that may define the same symbols are compared once.
#[derive(Default)]
pub struct Origins {
    /// The keys of the members in `groups` ([`ArchiveSet::definitions_key`]).
    known: FastSet<u64>,
    /// Members by the hashes of all names that they define.
    groups: FastMap<Box<[u64]>, SameNames>,
}

/// Members that define the same names.
#[derive(Default)]
struct SameNames {
    any: Firsts,
    by_name: FastMap<Vec<u8>, Firsts>,
}

/// The first member of a group, and the first member of the group in another archive.
#[derive(Default)]
struct Firsts {
    first: Option<(ArchiveId, MemberId)>,
    other: Option<MemberId>,
}

impl Firsts {
    /// Adds a member. Members must be added in the order of their ids.
    fn add(&mut self, archive: ArchiveId, member: MemberId) {
        match self.first {
            None => self.first = Some((archive, member)),
            Some((first, _)) if first == archive => {}
            Some(_) => drop(self.other.get_or_insert(member)),
        }
    }

    /// The first member outside of the archive `home`.
    fn outside(&self, home: ArchiveId) -> Option<MemberId> {
        self.first.filter(|(archive, _)| *archive != home).map(|(_, member)| member).or(self.other)
    }
}

impl Origins {
    /// The member of another archive that defines the same names as `member`: one with the same
    /// member name, else the first. `None` if there is none, or if `member` defines nothing.
    /// `among` selects the archives to search, and must be the same in every call.
    pub fn of(
        &mut self,
        library: &ArchiveSet,
        member: MemberId,
        among: impl Fn(ArchiveId) -> bool,
    ) -> Option<MemberId> {
        let home = library.archive_of(member);
        let alike: Vec<MemberId> = library.alike(member).take(FEW + 1).collect();
        if alike.len() <= FEW {
            let is_other = |other: &MemberId| {
                let archive = library.archive_of(*other);
                archive != home && among(archive)
            };
            return of_few(library, member, alike.into_iter().filter(is_other));
        }
        if self.known.insert(library.definitions_key(member)?) {
            self.compare(library, member, among);
        }
        let group = self.groups.get(&definitions(library, member))?;
        let named = group.by_name.get(library.member_name(member));
        named.and_then(|named| named.outside(home)).or_else(|| group.any.outside(home))
    }

    /// Groups all members that may define the same names as `member`.
    fn compare(
        &mut self,
        library: &ArchiveSet,
        member: MemberId,
        among: impl Fn(ArchiveId) -> bool,
    ) {
        for member in library.alike(member) {
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

/// The first of `others` that defines the same names as `member`, preferably one with the same
/// member name.
fn of_few(
    library: &ArchiveSet,
    member: MemberId,
    others: impl Iterator<Item = MemberId>,
) -> Option<MemberId> {
    let name = library.member_name(member);
    let mut first = None;
    for other in others.filter(|other| defines_same(library, member, *other)) {
        if library.member_name(other) == name {
            return Some(other);
        }
        first = first.or(Some(other));
    }
    first
}

/// True if two members define the same names. The names are first compared in the order of the
/// symbol tables, because a copy usually has the same order.
fn defines_same(library: &ArchiveSet, one: MemberId, other: MemberId) -> bool {
    library.hashes(one) == library.hashes(other)
        || definitions(library, one) == definitions(library, other)
}

/// The names that a member defines, as sorted hashes.
fn definitions(library: &ArchiveSet, member: MemberId) -> Box<[u64]> {
    let mut hashes = library.hashes(member).to_vec();
    hashes.sort_unstable();
    hashes.dedup();
    hashes.into()
}
