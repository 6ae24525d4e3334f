//! Begins many lookups in one GNU hash table together. A lookup waits for memory four or five
//! times, and each address depends on the previous read. This module does each step in the hash
//! table for all names before the next step. Then it reads symbols and names in groups of
//! [`GROUP`]. In this way, the processor waits for many reads at the same time.
//! [`Object::find_from`](super::Object::find_from) continues from the result, in the same chain.

use super::SymbolIndex;
use super::hash_table::HashTable;
use super::strings::StringSource;
use super::tables::Tables;

/// Number of symbols whose names are read ahead together. Their data fit into a first-level cache.
const GROUP: usize = 32;

impl Tables {
    /// For each hash, the first symbol with that hash in its chain, or STN_UNDEF. `None` without a
    /// GNU hash table, and on MIPS, where chains do not contain symbol indices.
    ///
    /// Pass each symbol to [`Object::find_from`](super::Object::find_from), which continues the
    /// lookup.
    ///
    /// After the call, the processor's cache holds the data of these symbols.
    pub fn first_of_each<'o>(
        &self,
        hashes: impl Iterator<Item = u32> + Clone,
        out: &'o mut Vec<SymbolIndex>,
    ) -> Option<&'o [SymbolIndex]> {
        let HashTable::Gnu { buckets, chains, base, translation: None, .. } = &self.hash else {
            return None;
        };
        let order = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
        let buckets = self.bytes.get(buckets.clone())?.as_chunks::<4>().0;
        let chains = self.bytes.get(chains.clone())?.as_chunks::<4>().0;
        let bucket = |hash: u32| buckets.get(hash as usize % buckets.len().max(1));
        let chain = |first: u32| chains.get(first.checked_sub(*base)? as usize..);
        out.clear();
        out.extend(
            hashes
                .clone()
                .map(|hash| SymbolIndex::new(bucket(hash).map_or(0, |word| order(*word)))),
        );
        let mut touched = 0;
        for first in &*out {
            touched ^= chain(first.number()).and_then(<[_]>::first).map_or(0, |word| word[0]);
        }
        for (first, hash) in out.iter_mut().zip(hashes) {
            let begin = std::mem::replace(first, SymbolIndex::UNDEFINED).number();
            let words = chain(begin).filter(|_| begin != 0).unwrap_or_default();
            for (symbol, word) in (begin..=u32::MAX).zip(words) {
                let word = order(*word);
                if (word ^ hash) >> 1 == 0 {
                    *first = SymbolIndex::new(symbol);
                    break;
                }
                if word & 1 != 0 {
                    break;
                }
            }
        }
        for group in out.chunks(GROUP) {
            touched ^= self.touch(group);
        }
        // Otherwise the compiler would remove the reads.
        std::hint::black_box(touched);
        Some(out)
    }

    /// Reads one byte of the name and one of the version index of each symbol, to bring both into
    /// the processor's cache.
    fn touch(&self, symbols: &[SymbolIndex]) -> u8 {
        // st_name comes first in either class (gABI, "Symbol Table").
        let size = if self.is_64 { 24 } else { 16 };
        let mut names = [0; GROUP];
        for (name, symbol) in names.iter_mut().zip(symbols) {
            let at = symbol.position().saturating_mul(size).saturating_add(self.symbols.start);
            *name = self.bytes.get(at..at.saturating_add(4)).map_or(0, |raw| self.to_u32(raw));
        }
        let strings = match self.strings.source(&self.bytes) {
            StringSource::Inside(strings) => strings,
            StringSource::Apart(_) => &[],
        };
        let mut touched = 0;
        for (name, symbol) in names.iter().zip(symbols) {
            touched ^= strings.get(*name as usize).copied().unwrap_or(0);
            touched ^= self.versym(*symbol).unwrap_or(0).to_le_bytes()[0];
        }
        touched
    }
}
