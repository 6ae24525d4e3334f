//! Which archive is merged from others, and from which. Names of members say little: a member is
//! known by the strong symbols it defines, of which there is one definition elsewhere, if any.

use super::list::bare_name;
use crate::cover::{Library, origin};
use crate::format::archive::SymbolKind;
use crate::id::{ArchiveId, FastSet, Id as _, MemberId};
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;

/// The bare name under which an archive would be listed.
pub fn listed_name(library: &Library, archive: ArchiveId) -> Option<&[u8]> {
    bare_name(library.shelf(archive).path.file_name()?.as_bytes())
}

/// Archives that hold members of others. With a list they are those that are not on it and hold
/// members of archives that are; without one, those that hold members of several others.
pub fn merged(library: &Library, list: Option<&BTreeSet<&[u8]>>) -> Vec<ArchiveId> {
    let on_list = |archive: ArchiveId| {
        let name = listed_name(library, archive);
        list.is_some_and(|list| name.is_some_and(|name| list.contains(name)))
    };
    let listed: Vec<bool> =
        library.shelves().map(|(archive, _)| list.is_none() || on_list(archive)).collect();
    let enough = if list.is_some() { 1 } else { 2 };
    let others = library.shelves().map(|(archive, _)| archive);
    others
        .filter(|archive| list.is_none() || !listed[archive.index()])
        .filter(|archive| holds(library, *archive, &listed, enough))
        .collect()
}

/// True if the archive holds members of so many of those that count.
fn holds(library: &Library, archive: ArchiveId, counts: &[bool], enough: usize) -> bool {
    let mut found: FastSet<ArchiveId> = FastSet::default();
    for member in library.members_of(archive) {
        let Some(other) = shared_with(library, member, counts) else { continue };
        if !found.contains(&other) && origin(library, member, &[other]).is_some() {
            found.insert(other);
            if found.len() == enough {
                return true;
            }
        }
    }
    false
}

/// Another archive that defines the first strong symbol of a member, among those that count.
fn shared_with(library: &Library, member: MemberId, counts: &[bool]) -> Option<ArchiveId> {
    let home = library.archive_of(member);
    let mut symbols = library.symbols(member);
    let (name, _) = symbols.find(|(_, symbol)| symbol.kind == SymbolKind::Strong)?;
    let owners = library.definitions(name).map(|found| library.archive_of(found.member));
    owners.filter(|owner| *owner != home).find(|owner| counts[owner.index()])
}
