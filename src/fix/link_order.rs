//! The order for a linker that reads each archive once: an archive precedes the archives that
//! define names to which it refers. `propose`, `prove` and `as_linked` call this module.

use crate::cover::ArchiveSet;
use crate::format::archive::SymbolKind;
use crate::format::deps_list::{DepsList, LinkOrder};
use crate::id::{ArchiveId, FastMap, FastSet, MemberId, NameId};
use crate::merged::list::listed_name;
use crate::merged::solve::Solution;
use crate::order;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// For each archive, the archives that it needs. These define names that the archive refers to and
/// does not define itself.
pub(super) type References = BTreeMap<ArchiveId, BTreeSet<ArchiveId>>;

/// The references between archives, limited to the members that the solutions take.
pub(super) fn of_solutions(library: &ArchiveSet, solutions: &[Arc<Solution>]) -> References {
    let needed = solutions.iter().flat_map(|solution| &solution.coverage.needed);
    let members: BTreeSet<MemberId> = order::set(needed.map(|needed| needed.member));
    references(library, &members.into_iter().collect::<Vec<MemberId>>())
}

/// The references between all members of `archives`.
pub(super) fn between(library: &ArchiveSet, archives: &BTreeSet<ArchiveId>) -> References {
    let members = archives.iter().flat_map(|archive| library.members_of(*archive));
    references(library, &members.collect::<Vec<MemberId>>())
}

/// The references between archives, limited to `members`.
fn references(library: &ArchiveSet, members: &[MemberId]) -> References {
    // A name is used only if its definer is certain: exactly one archive has a strong definition.
    // Without strong definitions, exactly one archive must have a weak definition.
    let mut definers: FastMap<NameId, (ArchiveId, bool, bool)> = FastMap::default();
    let mut own: FastSet<(ArchiveId, NameId)> = FastSet::default();
    for member in members {
        let archive = library.archive_of(*member);
        for (name, symbol) in library.symbols(*member).filter(|(_, s)| s.kind.is_definition()) {
            let strong = symbol.kind == SymbolKind::Strong;
            own.insert((archive, name));
            let (first, is_strong, alone) = definers.entry(name).or_insert((archive, strong, true));
            if strong && !*is_strong {
                (*first, *is_strong, *alone) = (archive, true, true);
            } else if strong == *is_strong && *first != archive {
                *alone = false;
            }
        }
    }
    let mut out = References::new();
    for member in members {
        let archive = library.archive_of(*member);
        let undefined = library.symbols(*member).filter(|(_, s)| s.kind == SymbolKind::Undefined);
        for (name, _) in undefined.filter(|(name, _)| !own.contains(&(archive, *name))) {
            if let Some((definer, _, true)) = definers.get(&name) {
                out.entry(archive).or_default().insert(*definer);
            }
        }
    }
    out
}

/// The link order that a set must keep when the archives in `new`, keyed by name, are added to it.
/// `is_linked` is true if a linker gets the archives in the order of the set. The result is empty
/// in two cases:
/// - an archive comes after an archive that it needs, and the set is sorted or `is_linked` is
///   false. In an unsorted set that is linked, this order is accepted: the link succeeds today, so
///   an earlier archive needs the same members
/// - `is_linked` is false, and the set is sorted by name or has no archive that needs another
///   archive of the set
pub(super) fn of_set(
    library: &ArchiveSet,
    (list, set): (&DepsList, usize),
    new: &BTreeMap<&[u8], ArchiveId>,
    is_linked: bool,
) -> LinkOrder {
    let Some(set) = list.sets().get(set).filter(|set| is_linked || set.may_be_link_order()) else {
        return LinkOrder::default();
    };
    let mut named: BTreeMap<&[u8], ArchiveId> = BTreeMap::new();
    for (archive, _) in library.entries() {
        if let Some(name) = listed_name(library, archive) {
            named.entry(name).or_insert(archive);
        }
    }
    let mut places: BTreeMap<ArchiveId, (usize, usize)> = BTreeMap::new();
    for (at, entry) in set.entries.iter().enumerate() {
        if let Some(archive) = named.get(&*entry.name) {
            places.entry(*archive).or_insert((at, at)).1 = at;
        }
    }
    let archives: BTreeSet<ArchiveId> = order::set(places.keys().chain(new.values()).copied());
    let references = between(library, &archives);
    let refers = |from: ArchiveId, to: ArchiveId| {
        references.get(&from).is_some_and(|references| references.contains(&to))
    };
    let needs_order = is_linked && !set.is_sorted();
    let mut kept = 0;
    for (from, (first, _)) in &places {
        for to in references.get(from).into_iter().flatten().filter(|to| !refers(**to, *from)) {
            match places.get(to) {
                Some((_, last)) if last < first && !needs_order => return LinkOrder::default(),
                Some((_, last)) => kept += usize::from(last >= first),
                None => {}
            }
        }
    }
    if kept == 0 && !is_linked {
        return LinkOrder::default();
    }
    let name = |archive: ArchiveId| listed_name(library, archive).unwrap_or_default().to_vec();
    let mut order = LinkOrder { prevails: is_linked, ..LinkOrder::default() };
    for (from, all) in &references {
        for to in all {
            order.referrers.entry(name(*to)).or_default().insert(name(*from));
        }
    }
    order
}

/// Archives in link order. Archives that refer to each other in a cycle are in one group.
pub(super) fn sorted(archives: &[ArchiveId], references: &References) -> Vec<Vec<ArchiveId>> {
    let mut left: Vec<ArchiveId> = archives.to_vec();
    let mut out = Vec::new();
    while let Some(first) = left.first() {
        // Take `first` and all archives that refer to it, directly or not. Among these, select the
        // one with the fewest direct and indirect referrers. The selected archive forms a cycle
        // with its referrers, and no other archive refers to this cycle.
        let all = leading(*first, &left, references);
        let smallest = all.iter().map(|archive| leading(*archive, &left, references));
        let Some(circle) = smallest.min_by_key(BTreeSet::len) else { return out };
        out.push(left.iter().copied().filter(|archive| circle.contains(archive)).collect());
        left.retain(|archive| !circle.contains(archive));
    }
    out
}

fn leading(to: ArchiveId, left: &[ArchiveId], references: &References) -> BTreeSet<ArchiveId> {
    let (mut found, mut todo) = (BTreeSet::from([to]), vec![to]);
    while let Some(to) = todo.pop() {
        for from in left {
            let refers = references.get(from).is_some_and(|references| references.contains(&to));
            if refers && found.insert(*from) {
                todo.push(*from);
            }
        }
    }
    found
}
