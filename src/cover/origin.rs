//! Where a member of a merged archive came from: the member of another archive that defines the same
//! symbols. Names of members repeat and say little.

use super::Library;
use crate::id::{ArchiveId, MemberId};

/// The member that defines what `member` defines, of an archive that is `among` those in question; of
/// several one of the same name, then the first. Nothing for a member that defines nothing.
pub fn origin(
    library: &Library,
    member: MemberId,
    among: &dyn Fn(ArchiveId) -> bool,
) -> Option<MemberId> {
    let defined = definitions(library, member);
    let home = library.archive_of(member);
    let mut found: Vec<MemberId> = library
        .alike(member)
        .filter(|other| {
            let archive = library.archive_of(*other);
            archive != home && among(archive)
        })
        .filter(|other| definitions(library, *other) == defined)
        .collect();
    let name = library.member_name(member);
    found.sort_unstable_by_key(|other| (library.member_name(*other) != name, *other));
    found.first().copied()
}

/// What a member defines, as hashes of names.
fn definitions(library: &Library, member: MemberId) -> Vec<u64> {
    let mut hashes = library.hashes(member).to_vec();
    hashes.sort_unstable();
    hashes.dedup();
    hashes
}
