//! Where a member of a merged archive came from: the member of another archive that defines the same
//! symbols. Names of members repeat and say little.

use super::Library;
use crate::id::{ArchiveId, MemberId, NameId};

/// The member of one of `among` that defines what `member` defines; of several one of the same name,
/// then the first. Nothing for a member that defines nothing.
pub fn origin(library: &Library, member: MemberId, among: &[ArchiveId]) -> Option<MemberId> {
    let defined = definitions(library, member);
    let home = library.archive_of(member);
    // Any name will do to find it; one that few define is quickest.
    let rarest = defined.iter().min_by_key(|name| library.definitions(**name).count())?;
    let mut found: Vec<MemberId> = library
        .definitions(*rarest)
        .map(|definition| definition.member)
        .filter(|other| {
            let archive = library.archive_of(*other);
            archive != home && among.contains(&archive)
        })
        .filter(|other| definitions(library, *other) == defined)
        .collect();
    let name = library.member_name(member);
    found.sort_unstable_by_key(|other| (library.member_name(*other) != name, *other));
    found.first().copied()
}

fn definitions(library: &Library, member: MemberId) -> Vec<NameId> {
    let symbols = library.symbols(member).filter(|(_, symbol)| symbol.kind.is_definition());
    let mut names: Vec<NameId> = symbols.map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
