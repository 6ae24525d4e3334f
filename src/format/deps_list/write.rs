//! A list with names added and dropped. A set that does not change keeps its bytes; one that does is
//! written sorted and without duplicates in the line shape it has. Where comments stand between the
//! names, their order is kept and new names go before the first that is greater.

use super::{DepsList, Set};
use crate::id::FastMap;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::ops::Range;

/// What is to be done to one set.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Change {
    /// Names that join it.
    pub add: BTreeSet<Vec<u8>>,
    /// Names that leave it.
    pub drop: BTreeSet<Vec<u8>>,
}

impl DepsList {
    /// The file after `changes`, which are by the index of their set.
    pub fn regenerated(&self, changes: &[(usize, Change)]) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.text.len());
        let mut done = 0;
        for (at, set) in self.sets.iter().enumerate() {
            let mut change = Change::default();
            for (_, more) in changes.iter().filter(|(set, _)| *set == at) {
                change.add.extend(more.add.iter().cloned());
                change.drop.extend(more.drop.iter().cloned());
            }
            let listed = |name: &Vec<u8>| set.entries.iter().any(|entry| entry.name == *name);
            change.add.retain(|name| !listed(name));
            change.drop.retain(listed);
            if change == Change::default() {
                continue;
            }
            out.extend_from_slice(&self.text[done..set.body.start]);
            Body::new(&self.text, set).write(&change, &mut out);
            done = set.body.end;
        }
        out.extend_from_slice(&self.text[done..]);
        out
    }
}

/// The names of a set with everything that stands between them.
struct Body<'t> {
    /// Behind the variable's name, on its line.
    head: &'t [u8],
    slots: Vec<Slot<'t>>,
    /// Before `)`.
    tail: Vec<u8>,
    /// What stands before most names.
    gap: Vec<u8>,
    /// The file's line end.
    eol: &'static [u8],
    comments: bool,
}

struct Slot<'t> {
    /// Before it, from the line end of what it follows.
    gap: Vec<u8>,
    name: &'t [u8],
    /// As it is written.
    token: &'t [u8],
    /// A comment behind it, on its line.
    trail: &'t [u8],
}

impl<'t> Body<'t> {
    fn new(text: &'t [u8], set: &'t Set) -> Self {
        let part = |range: Range<usize>| text.get(range).unwrap_or_default();
        let mut slots: Vec<Slot<'t>> = Vec::with_capacity(set.entries.len());
        let (mut head, mut comments, mut end): (&[u8], _, _) = (b"", false, set.body.start);
        let mut between = |range: Range<usize>, slots: &mut Vec<Slot<'t>>| {
            let (trail, gap) = split_trail(part(range));
            comments |= gap.contains(&b'#') || !trail.is_empty();
            match slots.last_mut() {
                Some(before) => before.trail = trail,
                None => head = trail,
            }
            gap.to_vec()
        };
        for entry in &set.entries {
            let gap = between(end..entry.span.start, &mut slots);
            let token = part(entry.span.clone());
            slots.push(Slot { gap, name: &entry.name, token, trail: b"" });
            end = entry.span.end;
        }
        let tail = between(end..set.body.end, &mut slots);
        let eol: &[u8] = if text.windows(2).any(|two| two == b"\r\n") { b"\r\n" } else { b"\n" };
        let gap = usual_gap(&slots, eol);
        Self { head, slots, tail, gap, eol, comments }
    }

    fn write(mut self, change: &'t Change, out: &mut Vec<u8>) {
        self.drop(change);
        if !self.comments && !self.slots.is_sorted_by_key(|slot| slot.name) {
            self.sort();
        }
        self.add(change);
        let mut open = self.head;
        out.extend_from_slice(self.head);
        let space = |gap: &[u8], open: &[u8], out: &mut Vec<u8>| {
            // A line comment would swallow what follows on its line.
            if !open.is_empty() && !gap.starts_with(b"\n") && !gap.starts_with(b"\r\n") {
                out.extend_from_slice(self.eol);
            }
            out.extend_from_slice(gap);
        };
        for slot in &self.slots {
            // Quoted names may touch each other, and nothing else may.
            space(if slot.gap.is_empty() { b" " } else { &slot.gap }, open, out);
            out.extend_from_slice(slot.token);
            out.extend_from_slice(slot.trail);
            open = slot.trail;
        }
        space(&self.tail, open, out);
    }

    /// Takes out what leaves, and every name that is listed already. Comments before it stay.
    fn drop(&mut self, change: &Change) {
        let mut seen: BTreeSet<&[u8]> = BTreeSet::new();
        let mut kept: Vec<Slot<'t>> = Vec::with_capacity(self.slots.len());
        let mut carry: Vec<u8> = Vec::new();
        for (at, mut slot) in std::mem::take(&mut self.slots).into_iter().enumerate() {
            if change.drop.contains(slot.name) || !seen.insert(slot.name) {
                if slot.gap.contains(&b'#') || (at == 0 && carry.is_empty()) {
                    carry.append(&mut slot.gap);
                }
                continue;
            }
            if !carry.is_empty() {
                slot.gap = joined(std::mem::take(&mut carry), &slot.gap);
            }
            kept.push(slot);
        }
        if carry.contains(&b'#') {
            self.tail = joined(carry, &self.tail);
        }
        self.slots = kept;
    }

    fn sort(&mut self) {
        let first = self.slots.first().map_or_else(Vec::new, |slot| slot.gap.clone());
        self.slots.sort_by_key(|slot| slot.name);
        for (at, slot) in self.slots.iter_mut().enumerate() {
            slot.gap = if at == 0 { first.clone() } else { self.gap.clone() };
        }
    }

    /// Puts each new name before the first that is greater.
    fn add(&mut self, change: &'t Change) {
        if self.slots.is_empty() && !change.add.is_empty() && !self.tail.contains(&b'\n') {
            self.tail = self.eol.to_vec();
        }
        let old = std::mem::take(&mut self.slots);
        let mut slots: Vec<Slot<'t>> = Vec::with_capacity(old.len() + change.add.len());
        let mut add = change.add.iter().map(Vec::as_slice).peekable();
        let new = |name, gap| Slot { gap, name, token: name, trail: b"" };
        for mut slot in old {
            while let Some(name) = add.next_if(|name| *name < slot.name) {
                let mut gap = self.gap.clone();
                // The first name of all stands where the first stood.
                if slots.is_empty() && !slot.gap.contains(&b'#') {
                    std::mem::swap(&mut gap, &mut slot.gap);
                }
                slots.push(new(name, gap));
            }
            slots.push(slot);
        }
        slots.extend(add.map(|name| new(name, self.gap.clone())));
        self.slots = slots;
    }
}

/// A comment that ends the line of what stands before, and the rest.
fn split_trail(between: &[u8]) -> (&[u8], &[u8]) {
    let end = between.iter().position(|b| *b == b'\n').unwrap_or(between.len());
    let end = if between[..end].ends_with(b"\r") { end - 1 } else { end };
    match between[..end].iter().position(|b| *b == b'#') {
        // A bracket comment may go on behind the line; it stays with what follows.
        Some(hash) if between.get(hash + 1) != Some(&b'[') => between.split_at(end),
        _ => (b"", between),
    }
}

/// A gap that keeps the comments of what was dropped before it.
fn joined(mut carry: Vec<u8>, gap: &[u8]) -> Vec<u8> {
    if !carry.contains(&b'#') {
        return if gap.contains(&b'#') { gap.to_vec() } else { carry };
    }
    if gap.starts_with(b"\n") || gap.starts_with(b"\r\n") {
        carry.truncate(carry.trim_ascii_end().len());
        carry.extend_from_slice(gap);
    }
    carry
}

/// What stands before most names but the first; of equals, what comes first.
fn usual_gap(slots: &[Slot<'_>], eol: &[u8]) -> Vec<u8> {
    let from = usize::from(slots.len() > 1).min(slots.len());
    let mut counts: FastMap<&[u8], (usize, Reverse<usize>)> = FastMap::default();
    for (at, slot) in slots[from..].iter().enumerate().filter(|(_, s)| !s.gap.contains(&b'#')) {
        counts.entry(&slot.gap).or_insert((0, Reverse(at))).0 += 1;
    }
    // The order of the map says nothing: no two gaps have the same first place.
    let usual = counts.into_iter().max_by_key(|(_, rank)| *rank);
    usual.map_or_else(|| eol.to_vec(), |(gap, _)| gap.to_vec())
}
