//! Finds sets without an effect: another command replaces the value of the variable before any
//! command uses it.

use super::{Block, Set, SetCommand};
use crate::id::{FastMap, FastSet};
use hashbrown::hash_map::Entry;

/// Finds sets whose values no command uses before another command replaces them.
#[derive(Default)]
pub(super) struct Life {
    /// For each variable, the indices of its sets, in the file's order, except those in `over`.
    live: FastMap<Vec<u8>, Vec<usize>>,
    /// The indices of the sets whose values are replaced before a command uses them.
    over: FastSet<usize>,
    /// The offset of the last command that refers to a variable.
    uses: FastMap<Vec<u8>, usize>,
    /// The offset of the last command that may use any variable.
    barrier: usize,
    /// For each cache variable, the blocks around the command that sets it first.
    cached: FastMap<Vec<u8>, Vec<Block>>,
}

/// What a command does to a cache variable.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum CacheEntry {
    /// Gives a value to a variable that has none.
    Default,
    /// Replaces the value.
    Forced,
    /// Unsets the variable.
    Gone,
}

impl Life {
    /// Notes that the set with the index `set` gives values to a variable.
    pub(super) fn begin(&mut self, name: &[u8], set: usize) {
        self.live.entry(name.to_vec()).or_default().push(set);
    }

    /// For each set: true if commands may use its values and a new name in the set would have a
    /// known effect. `loops` is the result of `used_loops`.
    pub(super) fn effective(&self, sets: &[Set], loops: &FastSet<usize>) -> Vec<bool> {
        let all = || sets.iter().enumerate();
        let live = || all().filter(|(at, _)| !self.over.contains(at)).map(|(_, set)| set);
        // If a block sets a variable several times, the uses of each value cannot be distinguished.
        let mut counts: FastMap<(&[u8], Option<Block>), usize> = FastMap::default();
        for set in live().filter(|set| set.origin == SetCommand::Set && !set.items.is_empty()) {
            *counts.entry((&*set.name, set.blocks.last().copied())).or_default() += 1;
        }
        let is_again = |set: &&Set| {
            let count = counts.get(&(&*set.name, set.blocks.last().copied()));
            set.is_components && count.is_some_and(|count| *count > 1)
        };
        let again: FastSet<&[u8]> = live().filter(is_again).map(|set| &*set.name).collect();
        let visited = live().filter(|set| !set.visits_lists()).map(|set| &*set.name);
        let visited: FastSet<&[u8]> = visited.collect();
        let is_effective = |(at, set): (usize, &Set)| {
            // If the file has no set of a list that the loop visits, no new name can be added to
            // that list. The new name then goes into the sets inside the loop.
            let is_list = |(_, name): &(usize, Vec<u8>)| visited.contains(&**name);
            let is_used = set.loop_block.is_none_or(|block| loops.contains(&block))
                && (!set.visits_lists() || set.references.iter().all(is_list));
            let is_clear = !set.is_components || !again.contains(&*set.name);
            is_used && is_clear && !self.over.contains(&at)
        };
        all().map(is_effective).collect()
    }

    /// Handles a command in `blocks` that replaces the value of the variable `name`. The sets of
    /// the variable in these blocks lose their effect, the latest first. If a command may have used
    /// the value of a set, this set and earlier ones keep their effect, and the result is false.
    pub(super) fn end(&mut self, sets: &[Set], name: &[u8], blocks: &[Block]) -> bool {
        let used = self.uses.get(name).copied().unwrap_or(0).max(self.barrier);
        let Some(live) = self.live.get_mut(name) else { return true };
        while let Some(set) = live.last().and_then(|last| sets.get(*last)) {
            if !set.blocks.starts_with(blocks) {
                return true;
            }
            if used > set.body.start {
                return false;
            }
            self.over.extend(live.pop());
        }
        true
    }

    /// Notes a command that sets or unsets a cache variable. True if the command has no effect,
    /// because the variable keeps its first value.
    pub(super) fn is_ignored(
        &mut self,
        (name, entry): (&[u8], CacheEntry),
        blocks: &[Block],
    ) -> bool {
        if entry == CacheEntry::Gone {
            self.cached.remove(name);
            return false;
        }
        let first = self.cached.entry(name.to_vec());
        let is_new = matches!(first, Entry::Vacant(_));
        let first = first.or_insert_with(|| blocks.to_vec());
        !is_new && entry == CacheEntry::Default && blocks.starts_with(first)
    }

    /// Notes the variables to which a command refers. `name` and `action` are the command's name
    /// and first argument. `all` is the text of all arguments, and `end` is the offset of the
    /// command's end. Returns these variables. The list is empty for commands that cannot use other
    /// variables, such as those in [`HARMLESS`].
    pub(super) fn note(
        &mut self,
        (name, action): (&[u8], &[u8]),
        all: &[u8],
        end: usize,
    ) -> Vec<Vec<u8>> {
        let mut used = Vec::new();
        let is_harmless = match name {
            b"list" => action.starts_with(b"REMOVE_") || is_addition(action) || action == b"SORT",
            b"string" => action == b"APPEND",
            name => HARMLESS.contains(&name),
        };
        if !is_harmless {
            self.barrier = end;
        }
        for begin in [&b"${"[..], b"$CACHE{"] {
            for at in memchr::memmem::find_iter(all, begin) {
                let rest = &all[at + begin.len()..];
                let Some(len) = memchr::memchr(b'}', rest) else { continue };
                // `${${P}_LIBS}` may use any variable.
                if rest[..len].contains(&b'$') {
                    self.barrier = end;
                }
                self.uses.insert(rest[..len].to_vec(), end);
                if !is_harmless {
                    used.push(rest[..len].to_vec());
                }
            }
        }
        used
    }
}

/// Commands that use only variables to which they refer as `${NAME}`.
const HARMLESS: [&[u8]; 11] = [
    b"set",
    b"unset",
    b"message",
    b"if",
    b"elseif",
    b"else",
    b"endif",
    b"option",
    b"project",
    b"cmake_minimum_required",
    b"cmake_policy",
];

/// True for the actions of `list()` that add values.
pub(super) fn is_addition(action: &[u8]) -> bool {
    matches!(action, b"APPEND" | b"PREPEND" | b"INSERT")
}
