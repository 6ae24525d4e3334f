//! Names that `list(REMOVE_ITEM …)` and `list(FILTER …)` remove.

use super::{Block, Set};
use crate::id::{FastMap, FastSet};
use std::collections::BTreeMap;

/// Maximum number of names that are removed from the parts of lists, one by one.
const MOST_REMOVED: usize = 100_000;

/// A command that removes names from a variable.
#[derive(Clone, Debug)]
pub struct Removal {
    /// The variable.
    pub list: Vec<u8>,
    /// The line, from 1.
    pub line: u32,
    /// The names that it removes.
    pub names: RemovedNames,
    /// True if conditions may decide what it removes.
    pub(super) is_conditional: bool,
    /// Its offset.
    pub(super) at: usize,
    /// The blocks around it, the outermost first.
    pub(super) blocks: Vec<Block>,
}

/// The names that a command removes.
#[derive(Clone, Debug)]
pub enum RemovedNames {
    /// Those that are equal to a word.
    Equal(Vec<u8>),
    /// Those that match a regular expression of CMake.
    Matching(Vec<u8>),
    /// Those that do not match it.
    Others(Vec<u8>),
    /// The file does not tell: the command has a variable that the file does not set, or several
    /// patterns.
    Unknown,
}

impl Removal {
    /// True if the command may run after that of `set`, wherever CMake runs that of `set`. A function
    /// has variables of its own.
    pub(super) fn follows(&self, set: &Set) -> bool {
        let mut own = self.blocks.iter().filter(|block| block.is_condition || block.is_function);
        self.at > set.body.start && own.all(|block| set.blocks.contains(block))
    }

    /// True if the command removes the same names wherever that of `set` runs: it is not in a macro
    /// that may not be called, and no condition decides.
    pub(super) fn is_certain_for(&self, set: &Set) -> bool {
        if self.is_conditional {
            return false;
        }
        let mut macros = self.blocks.iter().filter(|block| block.is_macro);
        macros.all(|block| set.blocks.contains(block))
    }
}

/// Marks the entries that `list(REMOVE_ITEM …)` removes from their variable, or from a variable
/// that has the values of theirs.
pub(super) fn mark_removed(sets: &mut [Set], removals: &[Removal]) {
    let mut words_of: BTreeMap<&[u8], Vec<&[u8]>> = BTreeMap::new();
    for removal in removals {
        if let RemovedNames::Equal(word) = &removal.names {
            words_of.entry(&removal.list).or_default().push(word);
        }
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

/// The variables whose values are in `list`. `None` if it may have the values of any variable, or
/// if `left` steps are exceeded. Each variable counts as `cost` steps.
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
