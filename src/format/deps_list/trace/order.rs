//! Compares the order in which links get a new name and listed archives with the order that linkers
//! need.

use super::super::spelling::Spelling;
use super::value::Word;
use super::{Links, Trace};
use crate::id::{FastMap, FastSet};
use std::collections::BTreeSet;

impl Links {
    /// The archives of `needed` that the links get only before the new name.
    pub fn earlier<'n>(&self, needed: &BTreeSet<&'n [u8]>) -> BTreeSet<&'n [u8]> {
        self.misplaced(needed, |(_, last), (new, _)| last < new)
    }

    /// The archives of `referrers` that the links get only after the new name.
    pub fn later<'n>(&self, referrers: &BTreeSet<&'n [u8]>) -> BTreeSet<&'n [u8]> {
        self.misplaced(referrers, |(first, _), (_, new)| first > new)
    }

    /// The archives of `names` for which `is` accepts their first and last place, and the first and
    /// last place of the new name. An archive that a target links in several scopes has no known
    /// place. In its own sets, a fix writes the new name at the right place.
    fn misplaced<'n>(
        &self,
        names: &BTreeSet<&'n [u8]>,
        is: impl Fn((usize, usize), (usize, usize)) -> bool,
    ) -> BTreeSet<&'n [u8]> {
        let mut out: BTreeSet<&[u8]> = BTreeSet::new();
        let mut inside: FastSet<&[u8]> = FastSet::default();
        let mut counts: FastMap<&[u8], usize> = FastMap::default();
        for value in &self.values {
            let mut places: FastMap<&[u8], (usize, usize)> = FastMap::default();
            let mut new: Option<(usize, usize)> = None;
            let is_new = |word: &&Word| word.mark.is_some_and(|mark| mark.is_new);
            let own: FastSet<usize> =
                value.iter().filter(is_new).filter_map(|word| Some(word.mark?.set)).collect();
            for (at, word) in value.iter().enumerate() {
                if is_new(&word) {
                    new = Some((new.map_or(at, |(first, _)| first), at));
                } else if let Some(name) = archive(word).and_then(|name| names.get(name)) {
                    places.entry(*name).or_insert((at, at)).1 = at;
                    inside.extend(word.mark.filter(|mark| own.contains(&mark.set)).map(|_| *name));
                }
            }
            for (name, place) in places {
                *counts.entry(name).or_default() += 1;
                out.extend(new.filter(|new| is(place, *new)).map(|_| name));
            }
        }
        out.retain(|name| counts.get(name) == Some(&1) && !inside.contains(name));
        out
    }
}

/// The name of the archive that a word stands for.
fn archive(word: &Word) -> Option<&[u8]> {
    Spelling::read(&word.text).map(|(name, _)| name)
}

impl Trace<'_> {
    /// The links that other files may make from the variables of this file.
    pub fn variables(&self) -> Links {
        Links { values: self.state.values().cloned().collect(), ..Links::default() }
    }
}
