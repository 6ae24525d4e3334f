//! Decides where a new name goes in a set. A sorted set stays sorted, unless the linker relies on a
//! link order that the sorted position would break. In other sets, the link order and the most
//! similar name decide.

use super::{ListedArchive, Set};
use crate::order;
use crate::order::Arrange as _;
use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

/// The names that must precede others, for linkers that read archives once.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkOrder {
    /// For each name, the names that refer to it and must precede it.
    pub referrers: BTreeMap<Vec<u8>, BTreeSet<Vec<u8>>>,
    /// True if the linker gets the names in the order of the set. The link order then has
    /// priority over sorting.
    pub prevails: bool,
}

impl LinkOrder {
    fn refers(&self, from: &[u8], to: &[u8]) -> bool {
        self.referrers.get(to).is_some_and(|referrers| referrers.contains(from))
    }
}

/// The position of a new name in a set: before or after the entry with this index.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Position {
    Before(usize),
    After(usize),
}

/// The collations that are tried on a set, in this order.
const COLLATIONS: [Collation; 5] = [Ord::cmp, folded, upper, without_marks, by_numbers];

/// With fewer entries than this, a set may be sorted by chance.
const FEW: usize = 4;

type Collation = fn(&[u8], &[u8]) -> Ordering;

fn folded(a: &[u8], b: &[u8]) -> Ordering {
    let fold = |text: &[u8]| text.to_ascii_lowercase();
    fold(a).cmp(&fold(b))
}

fn upper(a: &[u8], b: &[u8]) -> Ordering {
    let fold = |text: &[u8]| text.to_ascii_uppercase();
    fold(a).cmp(&fold(b))
}

/// Compares only letters, digits and bytes beyond ASCII, in lower case. Most locales compare these
/// first, and punctuation only after them.
fn without_marks(a: &[u8], b: &[u8]) -> Ordering {
    let letters = |text: &[u8]| -> Vec<u8> {
        let all = text.iter().filter(|b| b.is_ascii_alphanumeric() || !b.is_ascii());
        all.map(u8::to_ascii_lowercase).collect()
    };
    letters(a).cmp(&letters(b))
}

/// Compares numbers by their value: `x2` is before `x10`.
fn by_numbers(a: &[u8], b: &[u8]) -> Ordering {
    let parts = |text: &[u8]| -> Vec<(usize, Vec<u8>)> {
        let same = |a: &u8, b: &u8| a.is_ascii_digit() && b.is_ascii_digit();
        let chunks = text.chunk_by(same).map(|chunk| {
            let digits = chunk.iter().skip_while(|b| **b == b'0').count();
            let is_number = chunk.first().is_some_and(u8::is_ascii_digit);
            (if is_number { digits } else { 0 }, chunk.to_ascii_lowercase())
        });
        chunks.collect()
    };
    parts(a).cmp(&parts(b))
}

/// The order of the names of a sorted set.
#[derive(Clone, Copy)]
struct Sorting {
    collation: Collation,
    /// True if the names are in descending order.
    is_descending: bool,
}

impl Sorting {
    fn compare(self, a: &[u8], b: &[u8]) -> Ordering {
        let ordering = (self.collation)(a, b);
        if self.is_descending { ordering.reverse() } else { ordering }
    }
}

/// The first collation by which the names of `entries` are sorted, if there is one. A descending
/// order is recognised only for more than `FEW` names.
fn sorting<'e>(entries: impl Iterator<Item = &'e ListedArchive>) -> Option<Sorting> {
    // Options such as `-pthread` are not sorted with the names.
    let is_name = |entry: &&ListedArchive| entry.is_known || !entry.name.starts_with(b"-");
    let names: Vec<&ListedArchive> = entries.filter(is_name).collect();
    let is = |sorting: &Sorting| {
        names.is_sorted_by(|a, b| sorting.compare(&a.name, &b.name) != Ordering::Greater)
    };
    let all = |is_descending| {
        COLLATIONS.into_iter().map(move |collation| Sorting { collation, is_descending })
    };
    let descending = all(true).filter(|_| names.len() > FEW);
    all(false).chain(descending).find(is)
}

/// The index of the set that has the name before a new name, and of the set that has the name
/// after it. `sets` must be in the order of the variable's value. `None` if the names of all sets
/// together are not sorted.
pub fn sorted_sets(sets: &[&Set], name: &[u8]) -> Option<(usize, usize)> {
    let entries: Vec<(usize, &ListedArchive)> = sets
        .iter()
        .enumerate()
        .flat_map(|(at, set)| set.entries.iter().map(move |entry| (at, entry)))
        .collect();
    let sorting = sorting(entries.iter().map(|(_, entry)| *entry))?;
    let is_before =
        |(_, entry): &(usize, &ListedArchive)| sorting.compare(&entry.name, name).is_le();
    let at = entries.partition_point(is_before);
    let (before, behind) = (at.checked_sub(1).and_then(|at| entries.get(at)), entries.get(at));
    let (before, behind) = (before.or(behind)?, behind.or(before)?);
    Some((before.0, behind.0))
}

impl Set {
    /// True if the names are sorted, and not by chance.
    pub fn is_sorted(&self) -> bool {
        self.entries.len() >= FEW && sorting(self.entries.iter()).is_some()
    }

    /// True if the names may be in link order. False for a variable whose names are sorted.
    pub fn may_be_link_order(&self) -> bool {
        self.origin == super::SetCommand::Link || !self.is_sorted()
    }
}

/// A position for each new name. In the result, new names with the same position have the order in
/// which they will be written to the file. `divided` is true for the index of an entry if a comment
/// or an empty line follows that entry.
pub(super) fn positions<'n>(
    set: &Set,
    add: &BTreeSet<&'n [u8]>,
    order: &LinkOrder,
    divided: &dyn Fn(usize) -> bool,
) -> Vec<(&'n [u8], Position)> {
    let placer = Placer { set, order, divided };
    let ranges = placer.ranges(add);
    let sorted = sorting(set.entries.iter()).map(|sorting| {
        let mut names: Vec<&[u8]> = add.iter().copied().collect();
        names.arrange_by(|a, b| sorting.compare(a, b));
        let place = |name| (name, placer.sorted(name, sorting));
        names.into_iter().map(place).collect::<Vec<_>>()
    });
    if let Some(sorted) = sorted {
        let fits = |(name, position): &(&[u8], Position)| {
            ranges.get(name).is_none_or(|range| range.holds(slot(*position)))
        };
        // New names at one position must also be in link order.
        let in_order = |(at, (name, place)): (usize, &(&[u8], Position))| {
            sorted[..at].iter().all(|(before, other)| {
                other != place || !order.refers(name, before) || order.refers(before, name)
            })
        };
        let counts = order.prevails || set.entries.len() < FEW;
        if !counts || (sorted.iter().all(fits) && sorted.iter().enumerate().all(in_order)) {
            return sorted;
        }
    }
    placer.unsorted(add, &ranges)
}

/// The slot of a position. Slot N is before entry N, so slot 0 is before all entries.
fn slot(position: Position) -> usize {
    match position {
        Position::Before(entry) => entry,
        Position::After(entry) => entry + 1,
    }
}

/// The slots that the link order allows for a new name, from `least` to `most`. If `most` is below
/// `least`, the constraints of the link order conflict, and only `least` is allowed.
#[derive(Clone, Copy)]
struct Slots {
    least: usize,
    most: usize,
    /// True if the link order restricts the slots.
    is_bounded: bool,
}

impl Slots {
    fn holds(&self, slot: usize) -> bool {
        (self.least..=self.most.max(self.least)).contains(&slot)
    }
}

struct Placer<'a> {
    set: &'a Set,
    order: &'a LinkOrder,
    divided: &'a dyn Fn(usize) -> bool,
}

impl Placer<'_> {
    fn entries(&self) -> &[ListedArchive] {
        &self.set.entries
    }

    fn sorted(&self, name: &[u8], sorting: Sorting) -> Position {
        let entries = self.entries();
        let is_before = |entry: &ListedArchive| sorting.compare(&entry.name, name).is_le();
        let at = entries.partition_point(is_before);
        let Some(before) = at.checked_sub(1) else { return Position::Before(0) };
        let Some(behind) = entries.get(at) else { return Position::After(before) };
        let like = |entry: &ListedArchive| common(&entry.name, name);
        if (self.divided)(before) && like(behind) > like(&entries[before]) {
            return Position::Before(at);
        }
        Position::After(before)
    }

    /// For each new name, the slots that the link order allows. References between new names are
    /// respected too. The map is empty without a link order.
    fn ranges<'n>(&self, add: &BTreeSet<&'n [u8]>) -> BTreeMap<&'n [u8], Slots> {
        let mut out: BTreeMap<&[u8], Slots> = BTreeMap::new();
        if self.order.referrers.is_empty() {
            return out;
        }
        let entries = self.entries();
        for name in add {
            let mut slots = Slots { least: 0, most: entries.len(), is_bounded: false };
            for (at, entry) in entries.iter().enumerate() {
                let (from, to) =
                    (self.order.refers(&entry.name, name), self.order.refers(name, &entry.name));
                if from && !to {
                    slots.least = at + 1;
                }
                if to && !from {
                    slots.most = slots.most.min(at);
                }
                slots.is_bounded |= from != to;
            }
            out.insert(name, slots);
        }
        let (pairs, circles) = (self.pairs(add, false), self.pairs(add, true));
        let shared = circles.iter().flat_map(|(a, b)| [(*a, *b), (*b, *a)]);
        let pairs: Vec<(&[u8], &[u8])> = pairs.into_iter().chain(shared).collect();
        for _ in add {
            let mut is_same = true;
            for (from, to) in &pairs {
                let (least, most) = (out[from].least, out[to].most);
                let (from_is, to_is) = (out[from].is_bounded, out[to].is_bounded);
                if let Some(slots) = out.get_mut(to).filter(|slots| slots.least < least) {
                    (slots.least, slots.is_bounded, is_same) = (least, from_is, false);
                }
                if let Some(slots) = out.get_mut(from).filter(|slots| slots.most > most) {
                    (slots.most, slots.is_bounded, is_same) = (most, to_is, false);
                }
            }
            if is_same {
                break;
            }
        }
        out
    }

    /// Pairs of new names in which the first refers to the second. If `in_circle` is true, the
    /// result has only the pairs in which the second name also refers to the first. Otherwise it
    /// has only the pairs in which the second does not refer to the first.
    fn pairs<'n>(&self, add: &BTreeSet<&'n [u8]>, in_circle: bool) -> Vec<(&'n [u8], &'n [u8])> {
        let mut out = Vec::new();
        for to in add {
            let Some(referrers) = self.order.referrers.get(*to) else { continue };
            let from = referrers.iter().filter_map(|from| add.get(from.as_slice()));
            let is = |from: &&&[u8]| *from != to && self.order.refers(to, from) == in_circle;
            out.extend(from.filter(is).map(|from| (*from, *to)));
        }
        out
    }

    fn unsorted<'n>(
        &self,
        add: &BTreeSet<&'n [u8]>,
        ranges: &BTreeMap<&'n [u8], Slots>,
    ) -> Vec<(&'n [u8], Position)> {
        let (pairs, circles) = (self.pairs(add, false), self.pairs(add, true));
        let mut waiting: BTreeMap<&[u8], BTreeSet<&[u8]>> =
            order::map(add.iter().map(|name| (*name, BTreeSet::new())));
        for (from, to) in &pairs {
            waiting.entry(to).or_default().insert(from);
        }
        // Names that refer to each other wait for the same other names.
        for (from, to) in circles.iter().chain(circles.iter().rev()) {
            let others = waiting.get(from).cloned().unwrap_or_default();
            let others = others.into_iter().filter(|other| other != to);
            waiting.entry(to).or_default().extend(others);
        }
        let mut slots: BTreeMap<&[u8], usize> = BTreeMap::new();
        let mut out: Vec<(&[u8], Position)> = Vec::with_capacity(add.len());
        // The next name is one that no waiting name must precede. If all names wait for each other,
        // the first is next.
        while let Some(name) = waiting
            .iter()
            .find(|(_, others)| others.is_empty())
            .or_else(|| waiting.iter().next())
            .map(|(name, _)| *name)
        {
            waiting.remove(name);
            for others in waiting.values_mut() {
                others.remove(name);
            }
            let behind = |pairs: &[(&'n [u8], &'n [u8])]| {
                let before = pairs.iter().filter(|(_, to)| *to == name);
                before.filter_map(|(from, _)| slots.get(from)).max().copied()
            };
            let mut range = ranges.get(name).copied();
            if let (Some(least), Some(range)) = (behind(&pairs), &mut range) {
                (range.least, range.is_bounded) = (range.least.max(least), true);
            }
            // Archives that refer to each other stay together.
            if let Some(slot) = behind(&circles) {
                range = Some(Slots { least: slot, most: slot, is_bounded: true });
            }
            let position = self.beside(name, range);
            slots.insert(name, slot(position));
            out.push((name, position));
        }
        out
    }

    /// A position within `range`, next to the entry with the longest common prefix. If that entry
    /// sorts after the name, the name goes before the entry, and otherwise after it. If no entry
    /// has a common prefix, the name goes directly after its last referrer. Without referrers, it
    /// goes directly before the first entry to which it refers. If there is no such entry either,
    /// it goes after the last known archive.
    fn beside(&self, name: &[u8], range: Option<Slots>) -> Position {
        let entries = self.entries();
        let all = Slots { least: 0, most: entries.len(), is_bounded: false };
        let range = range.unwrap_or(all);
        let any_known = entries.iter().any(|entry| entry.is_known);
        let mut best: Option<(usize, bool, usize)> = None;
        for (at, entry) in entries.iter().enumerate() {
            let is_behind = folded(&entry.name, name) != Ordering::Greater;
            let slot = if is_behind { at + 1 } else { at };
            if !range.holds(slot) || (any_known && !entry.is_known) {
                continue;
            }
            let like = common(&entry.name, name);
            let is_better =
                best.is_none_or(|(most, _, _)| like > most || (like == most && is_behind));
            if is_better {
                best = Some((like, is_behind, at));
            }
        }
        let at_slot = |slot: usize| match slot.checked_sub(1) {
            Some(before) => Position::After(before),
            None => Position::Before(0),
        };
        match best {
            Some((like, is_behind, at)) if like > 0 => {
                if is_behind {
                    Position::After(at)
                } else if range.is_bounded {
                    // Names in one slot need equal positions: otherwise `write` would not keep
                    // their order.
                    at_slot(at)
                } else {
                    Position::Before(at)
                }
            }
            _ if range.is_bounded && range.least > 0 => at_slot(range.least),
            _ if range.is_bounded => at_slot(range.most),
            _ => {
                let last = entries.iter().rposition(|entry| entry.is_known || !any_known);
                Position::After(last.unwrap_or_default())
            }
        }
    }
}

/// The length of the common prefix of two names in bytes, without regard to case.
pub(super) fn common(a: &[u8], b: &[u8]) -> usize {
    a.iter().zip(b).take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count()
}
