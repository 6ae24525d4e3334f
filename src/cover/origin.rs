//! Where a member of a merged archive came from: the member of another archive that defines the same
//! symbols. Names of members repeat and say little.

use super::Library;
use crate::format::archive::SymbolKind;
use crate::id::{ArchiveId, MemberId, NameId};

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
        .definitions(rarest(library, member)?)
        .map(|definition| definition.member)
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

/// Any name that the member defines will do to find another; one that few define is quickest. Most may
/// be inline functions of everybody's, which are weak and are not counted to the end.
fn rarest(library: &Library, member: MemberId) -> Option<NameId> {
    let of = |strong: bool| {
        let symbols = library.symbols(member).filter(|(_, symbol)| symbol.kind.is_definition());
        let symbols = symbols.filter(move |(_, s)| (s.kind == SymbolKind::Strong) == strong);
        symbols.map(|(name, _)| name)
    };
    let mut best = (usize::MAX, None);
    for name in of(true).chain(of(false)) {
        let count = library.definitions(name).take(best.0).count();
        if count < best.0 {
            best = (count, Some(name));
        }
        // Its own and that of its origin.
        if count <= 2 {
            break;
        }
    }
    best.1
}

fn definitions(library: &Library, member: MemberId) -> Vec<NameId> {
    let symbols = library.symbols(member).filter(|(_, symbol)| symbol.kind.is_definition());
    let mut names: Vec<NameId> = symbols.map(|(name, _)| name).collect();
    names.sort_unstable();
    names.dedup();
    names
}
