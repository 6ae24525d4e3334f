//! Selects the sets that an archive joins, among the sets of a variable or target. A set has the
//! values of one command. The archive joins an unconditional set, or the sets of the branch whose
//! archives fit best. `place` calls this module.

use super::targets::{EVERYWHERE, Neighbours};
use crate::audit::Audit;
use crate::format::deps_list::{DepsList, ListedArchive, Set, SetCommand, sorted_sets};
use crate::id::ArchiveId;
use crate::merged::list::{Sources, listed_name};
use crate::order;
use crate::order::Arrange as _;
use std::cmp::Reverse;
use std::collections::BTreeSet;

/// Tests of sets by their indices.
pub(super) struct Tests<'t> {
    /// False if a later command removes the archive from the set.
    pub(super) is_kept: &'t dyn Fn(usize) -> bool,
    /// True if a link gets archives from the set already.
    pub(super) is_linked: &'t dyn Fn(usize) -> bool,
}

/// True if the values of set `from` apply wherever set `to` applies, and `to` does not replace
/// them. Both are indices of sets of the list.
pub(super) fn reaches(list: &DepsList, from: usize, to: usize) -> bool {
    let (Some(first), Some(second)) = (list.sets().get(from), list.sets().get(to)) else {
        return false;
    };
    first.covers(second) && !(from < to && second.replaces(first))
}

/// The indices of the sets of the variable or target `name` that the archive `word` joins:
/// - the unconditional set with the most candidates, if later sets do not replace its values and a
///   link finds the archive in this set. Sets that can write the name are preferred, then sets that
///   keep a sorted value sorted
/// - else the branch in which the largest share of the archives are parts of the merged archive.
///   All branches that the archives do not distinguish from this branch are added
///
/// Without a merged archive, the share of candidates decides. A set from which a later command
/// removes the archive (`is_kept` is false) is used only if there is no other. Sets from which a
/// link gets archives already (`is_linked`) are preferred.
pub(super) fn parts_of(
    audit: &Audit,
    list: &DepsList,
    (name, word, Tests { is_kept, is_linked }): (&[u8], &[u8], Tests<'_>),
    fat: Option<ArchiveId>,
    neighbours: &Neighbours<'_>,
) -> Vec<usize> {
    let is_text = |set: &Set| set.origin == SetCommand::Text;
    // A target links the values after INTERFACE only if it is an interface library itself.
    let is_own = |set: &Set| set.name == name && (!set.is_interface || list.is_interface(name));
    let own = || list.sets().iter().enumerate().filter(|(_, set)| is_own(set));
    let all = || own().filter(|(_, set)| !is_text(set));
    let is_branch = |(_, set): &(usize, &Set)| set.known() > 0 && !is_loop_body(list, set);
    let mut branches: Vec<(usize, &Set)> = all().filter(is_branch).collect();
    if branches.iter().any(|(at, _)| is_kept(*at)) {
        branches.retain(|(at, _)| is_kept(*at));
    }
    let is_replaced = |at: usize, set: &Set| {
        branches.iter().any(|(later, other)| *later > at && other.replaces(set))
    };
    let lasting =
        || branches.iter().filter(|(at, set)| !set.is_conditional() && !is_replaced(*at, set));
    let with = |names: &BTreeSet<&[u8]>| {
        let has = |set: &Set| set.names().any(|name| names.contains(name));
        lasting().filter(move |(_, set)| has(set)).map(|(_, set)| set.rank).collect::<Vec<i64>>()
    };
    let least = with(&neighbours.referrers).into_iter().max().unwrap_or(i64::MIN);
    let most = with(&neighbours.needed).into_iter().min().map_or(i64::MAX, |most| least.max(most));
    let fitting = lasting().filter(|(_, set)| (least..=most).contains(&set.rank));
    // Sets are compared by the number of candidate archives among their entries, then by the number
    // of all candidate archives that they name. The items of a loop are named, but they are not
    // entries, because the loop may add its values several times.
    let sorted = sorted_place(lasting().copied().collect(), word);
    let rank = |at: usize, set: &Set| {
        let is_sorted = sorted.contains(&at);
        let names = (candidates(set).len(), set.known());
        (list.spelled(at, word).is_some(), is_linked(at), is_sorted, names, Reverse(at))
    };
    if let Some((at, _)) = fitting.max_by_key(|(at, set)| rank(*at, set)) {
        return vec![*at];
    }
    if branches.iter().any(|(_, set)| !set.is_conditional()) {
        // A conditional `list(APPEND)` has only a part of the value.
        branches.retain(|(_, set)| set.origin != SetCommand::Append || !set.is_conditional());
    }
    if branches.iter().any(|(at, _)| is_linked(*at)) {
        branches.retain(|(at, _)| is_linked(*at));
    }
    let inside = if branches.len() > 1 { fat.map(|fat| inside(audit, fat)) } else { None };
    let share = |set: &Set| {
        let parts = |entry: &&ListedArchive| {
            inside.as_ref().map_or(entry.is_known, |inside| inside.contains(&entry.name))
        };
        (set.entries.iter().filter(parts).count(), set.entries.len())
    };
    let by_share = |a: &Set, b: &Set| {
        let ((parts_a, all_a), (parts_b, all_b)) = (share(a), share(b));
        (parts_a * all_b).cmp(&(parts_b * all_a))
    };
    let best = branches.iter().max_by(|(at_a, a), (at_b, b)| {
        by_share(a, b).then(share(a).0.cmp(&share(b).0)).then(at_b.cmp(at_a))
    });
    // A policy may name a variable whose sets have no candidate archive.
    let Some((at, best)) = best else {
        // The text of another command may continue the last value of an empty set.
        let is_safe = !own().any(|(_, set)| is_text(set));
        let open = all().filter(|(_, set)| is_safe && !is_loop_body(list, set));
        return open.map(|(at, _)| at).take(1).collect();
    };
    let is_blind = inside.is_none() || share(best).0 == 0;
    let mut out = vec![*at];
    for (at, set) in &branches {
        let is_equal =
            candidates(set) == candidates(best) || (is_blind && by_share(set, best).is_eq());
        if is_equal && !out.iter().any(|chosen| reaches(list, *chosen, *at)) {
            out.push(*at);
        }
    }
    out.sort_unstable();
    out
}

/// True if all candidate archives of the set are items of a loop around the set, or are made from
/// such items. A new name belongs among these items. In the set itself, the loop would add the name
/// once for each item.
pub(super) fn is_loop_body(list: &DepsList, set: &Set) -> bool {
    let is_loop = |other: &Set| other.is_known_loop_of(set);
    let has_candidate = set.entries.iter().any(|entry| entry.is_known);
    let is_body = || set.is_repeated || list.sets().iter().any(is_loop);
    !has_candidate && !set.blocks.is_empty() && is_body()
}

/// The indices of the sets that have the names directly before and after `word`. Empty if the
/// values of all commands together are not sorted, and for targets with several scopes.
fn sorted_place(mut sets: Vec<(usize, &Set)>, word: &[u8]) -> Vec<usize> {
    sets.arrange_by_key(|(_, set)| set.rank);
    let scope = |set: &Set| (set.origin == SetCommand::Link, set.is_private, set.is_interface);
    let is_one = sets.windows(2).all(|two| scope(two[0].1) == scope(two[1].1));
    let values: Vec<&Set> = sets.iter().map(|(_, set)| *set).collect();
    let found = sorted_sets(&values, word).filter(|_| is_one);
    let found = found.into_iter().flat_map(|(before, behind)| [before, behind]);
    found.filter_map(|at| sets.get(at)).map(|(at, _)| *at).collect()
}

/// The names of candidate archives in a set.
fn candidates(set: &Set) -> BTreeSet<&[u8]> {
    order::set(set.entries.iter().filter(|entry| entry.is_known).map(|entry| &*entry.name))
}

/// The names of the archives whose members the merged archive contains.
fn inside(audit: &Audit, fat: ArchiveId) -> BTreeSet<Vec<u8>> {
    let library = &audit.library;
    let others = library.entries().map(|(archive, _)| archive).filter(|other| *other != fat);
    let mut sources = Sources::new(library, others);
    let origins = library.members_of(fat).filter_map(|member| sources.of(member));
    let origins: BTreeSet<ArchiveId> = order::set(origins);
    origins.into_iter().filter_map(|o| listed_name(library, o)).map(<[u8]>::to_vec).collect()
}

/// An archive that refers to the new one, if only other targets than `group` list it. CMake
/// writes the archives of such a target behind those of the target that links it.
pub(super) fn listed_elsewhere<'n>(
    list: &DepsList,
    group: &[u8],
    neighbours: &Neighbours<'n>,
) -> Option<&'n [u8]> {
    let is_elsewhere = |name: &[u8]| {
        let mut sets = list.sets().iter().filter(|set| set.names().any(|n| n == name));
        sets.all(|set| {
            let is_everywhere = EVERYWHERE.contains(&&*set.name);
            set.origin == SetCommand::Link && set.name != group && !is_everywhere
        })
    };
    neighbours.referrers.iter().find(|name| is_elsewhere(name)).copied()
}
