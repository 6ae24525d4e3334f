//! Archives that are a part of another: every member of the one is in the other too, by the names that
//! it defines and refers to. `audit::unlinkable` is the caller.

use super::ArchiveSet;
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId};
use std::hash::BuildHasher as _;

/// For each of `archives`, another of them that has all its members. That one is in no other. Of two
/// with the same members, the first has the other.
pub fn contained(library: &ArchiveSet, archives: &[ArchiveId]) -> Vec<Option<ArchiveId>> {
    let contents: Vec<Vec<u64>> =
        archives.iter().map(|archive| contents(library, *archive)).collect();
    let mut sizes: Vec<usize> = (0..archives.len()).collect();
    sizes.sort_by_key(|at| std::cmp::Reverse(contents[*at].len()));
    // The archives so far that are in no other, and by content who has it.
    let mut whole: Vec<FastSet<u64>> = Vec::new();
    let mut owners: FastMap<u64, Vec<usize>> = FastMap::default();
    let mut places: Vec<usize> = Vec::new();
    let mut out = vec![None; archives.len()];
    for at in sizes {
        let own = &contents[at];
        // Only the owners of the member that fewest have are compared.
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

/// What the members of an archive are, each as one number, sorted.
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
    // Nothing else tells members without symbols apart.
    let bare = definitions.is_empty() && symbols.is_empty();
    let name = bare.then(|| library.member_name(member));
    foldhash::fast::FixedState::default().hash_one((definitions, symbols, name))
}
