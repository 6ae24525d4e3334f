//! Archives that another archive contains: all their members are in the other archive too. Members
//! are compared by the names that they define and refer to. `audit::unlinkable` is the caller.

use super::ArchiveSet;
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId};
use std::hash::BuildHasher as _;

/// For each archive in `archives`, the archive of this list that contains it, or `None`. An
/// archive contains another if it has all members of the other. An archive in the result is not
/// itself contained in another archive. If two archives have the same members, the first contains
/// the second.
pub fn contained(library: &ArchiveSet, archives: &[ArchiveId]) -> Vec<Option<ArchiveId>> {
    let contents: Vec<Vec<u64>> =
        archives.iter().map(|archive| contents(library, *archive)).collect();
    let mut sizes: Vec<usize> = (0..archives.len()).collect();
    sizes.sort_by_key(|at| std::cmp::Reverse(contents[*at].len()));
    // `whole` has the contents of the archives that no earlier archive contains. `owners` maps each
    // member's hash to the indices in `whole` of the archives that have the member.
    let mut whole: Vec<FastSet<u64>> = Vec::new();
    let mut owners: FastMap<u64, Vec<usize>> = FastMap::default();
    let mut places: Vec<usize> = Vec::new();
    let mut out = vec![None; archives.len()];
    for at in sizes {
        let own = &contents[at];
        // Only the archives that have the rarest member are compared.
        let few = own.iter().map(|one| owners.get(one).map_or(&[][..], Vec::as_slice));
        let few = few.min_by_key(|owners| owners.len()).unwrap_or_default();
        let holds = |owner: &&usize| own.iter().all(|one| whole[**owner].contains(one));
        if let Some(owner) = few.iter().find(holds) {
            out[at] = Some(archives[places[*owner]]);
            continue;
        }
        for one in own {
            owners.entry(*one).or_default().push(whole.len());
        }
        whole.push(own.iter().copied().collect());
        places.push(at);
    }
    out
}

/// The members of an archive as sorted hashes of their content.
fn contents(library: &ArchiveSet, archive: ArchiveId) -> Vec<u64> {
    let mut out: Vec<u64> =
        library.members_of(archive).map(|member| content(library, member)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

fn content(library: &ArchiveSet, member: MemberId) -> u64 {
    let mut definitions = library.hashes(member).to_vec();
    definitions.sort_unstable();
    let mut symbols: Vec<_> =
        library.symbols(member).map(|(name, symbol)| (name.index(), symbol.kind)).collect();
    symbols.sort_unstable();
    // Members without symbols are distinguished by their names.
    let bare = definitions.is_empty() && symbols.is_empty();
    let name = bare.then(|| library.member_name(member));
    foldhash::fast::FixedState::default().hash_one((definitions, symbols, name))
}
