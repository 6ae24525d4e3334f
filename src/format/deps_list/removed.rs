//! Marks the names that `list(REMOVE_ITEM …)` removes.

use super::Set;
use crate::id::{FastMap, FastSet};
use std::collections::BTreeMap;

/// Maximum number of steps of the search for the variables that lists include. If too few steps
/// are left for a list, the words removed from that list are treated as removed from every list.
const MOST_REMOVED: usize = 100_000;

/// A word that a command removes from a variable.
#[derive(Clone, Debug)]
pub(super) struct Removal {
    pub(super) list: Vec<u8>,
    pub(super) word: Vec<u8>,
}

/// Marks each entry that `list(REMOVE_ITEM …)` removes: from the variable of the entry's set, or
/// from another variable that includes that variable.
pub(super) fn mark_removed(sets: &mut [Set], removals: &[Removal]) {
    let mut words_of: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for removal in removals {
        words_of.entry(&removal.list).or_default().push(&removal.word);
    }
    if words_of.is_empty() {
        return;
    }
    let mut by_name: FastMap<&[u8], Vec<&Set>> = FastMap::default();
    for set in &*sets {
        by_name.entry(&set.name).or_default().push(set);
    }
    let mut left = MOST_REMOVED;
    let mut everywhere: FastSet<&[u8]> = FastSet::default();
    let mut gone: FastMap<Vec<u8>, FastSet<&[u8]>> = FastMap::default();
    for (list, words) in words_of {
        match parts(&by_name, list, words.len(), &mut left) {
            Some(parts) => {
                for part in parts {
                    gone.entry(part.to_vec()).or_default().extend(&words);
                }
            }
            None => everywhere.extend(words),
        }
    }
    drop(by_name);
    for set in sets {
        let here = gone.get(&set.name);
        for entry in &mut set.entries {
            let word = entry.spelling.write(&entry.name).unwrap_or_default();
            entry.is_removed =
                everywhere.contains(&*word) || here.is_some_and(|here| here.contains(&*word));
        }
    }
}

/// The variable `list`, and the variables whose values `list` includes. `None` if `list` may have
/// the values of any variable, or if `left` steps do not suffice. Each variable takes `cost` steps,
/// and each reference takes one step.
fn parts<'s>(
    by_name: &FastMap<&[u8], Vec<&'s Set>>,
    list: &'s [u8],
    cost: usize,
    left: &mut usize,
) -> Option<FastSet<&'s [u8]>> {
    let (mut out, mut todo): (FastSet<&[u8]>, _) = ([list].into_iter().collect(), vec![list]);
    while let Some(name) = todo.pop() {
        *left = left.checked_sub(cost)?;
        for set in by_name.get(name).into_iter().flatten() {
            // A mention may come from a variable that a loop visits.
            if !set.mentions.is_empty() || !set.unknown.is_empty() {
                return None;
            }
            *left = left.checked_sub(set.references.len())?;
            let parts = set.references.iter().map(|(_, part)| &**part);
            todo.extend(parts.filter(|part| out.insert(*part)));
        }
    }
    Some(out)
}
