//! An index of the definitions in a wide scope. Without the index, each lookup asks the Bloom
//! filters of all objects in turn, which takes quadratic time. With the index, a lookup asks
//! only the objects whose hash table contains the hash of the name. `lookup` builds the index
//! once its lookups have cost as much as building the index would.

use crate::format::elf::tables::Tables;

/// Maximum number of definitions in one index, at 8 bytes each. A scope with more definitions is
/// searched filter by filter.
const MOST: usize = 1 << 24;

/// The objects of a scope, by the words of their definitions. A word is a GNU hash without its
/// lowest bit.
pub(super) struct Definers {
    /// Words, each with the position of its object in the scope.
    sorted: Vec<(u32, u32)>,
}

impl Definers {
    /// Indexes the objects of a scope; `tables` has their tables in search order. `None` if the
    /// objects have more than [`MOST`] definitions.
    pub(super) fn new<'t>(tables: impl Iterator<Item = Option<&'t Tables>>) -> Option<Self> {
        let mut sorted = Vec::new();
        for (position, tables) in (0..).zip(tables) {
            let Some(tables) = tables else { continue };
            tables.each_word(|word| {
                if sorted.len() <= MOST {
                    sorted.push((word, position));
                }
            });
        }
        if sorted.len() > MOST {
            return None;
        }
        sorted.sort_unstable();
        sorted.dedup();
        Some(Self { sorted })
    }

    /// The positions of the objects that may define a name with this GNU hash, in search order.
    pub(super) fn of(&self, hash: u32) -> impl Iterator<Item = usize> {
        // The lowest bit of a word marks the end of a chain.
        let word = hash & !1;
        let start = self.sorted.partition_point(|(other, _)| *other < word);
        let same = self.sorted[start..].iter().take_while(move |(other, _)| *other == word);
        same.map(|(_, position)| *position as usize)
    }
}
