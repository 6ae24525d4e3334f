//! The hash table of an object: its kind, its validation, and the walk through one of its chains.
//! `find` decides if a symbol on a chain fits a reference.

use super::hash_table::{Bloom, Filter, HashTable, Width};
use super::pieces::Piece;
use super::tables::{Symbol, Tables};
use super::{SymbolIndex, hash};
use crate::format::{Defect, Table};
use object::elf;
use std::ops::Range;

/// The defect of a hash table without buckets, in which no lookup finds a symbol.
const NO_BUCKETS: &str = "has no buckets, and the file defines symbols";

impl Tables {
    /// Size of a symbol table entry in bytes.
    pub(super) fn symbol_size(&self) -> usize {
        if self.is_64 { 24 } else { 16 }
    }

    /// Index of the first symbol that the GNU hash table lists. If that table is absent or empty,
    /// and on MIPS, the result is the number of all symbols.
    pub fn unhashed_end(&self) -> SymbolIndex {
        let end = match &self.hash {
            HashTable::Gnu { base, buckets, translation: None, .. } if self.any_bucket(buckets) => {
                (*base).min(self.count)
            }
            _ => self.count,
        };
        SymbolIndex::new(end)
    }

    fn any_bucket(&self, buckets: &Range<usize>) -> bool {
        self.bytes[buckets.clone()].iter().any(|b| *b != 0)
    }

    fn u32_at(&self, range: &Range<usize>, index: usize) -> Option<u32> {
        let at = range.start.checked_add(index.checked_mul(4)?)?;
        let raw = self.bytes.get(at..at + 4).filter(|_| at + 4 <= range.end)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }

    /// A word of a SysV table. `None` if `index` is beyond the end of the table, or for a 64-bit
    /// word that is too large for a symbol index.
    fn index_at(&self, range: &Range<usize>, index: usize, width: Width) -> Option<u32> {
        if width == Width::Four {
            return self.u32_at(range, index);
        }
        let (high, low) = (self.u32_at(range, 2 * index)?, self.u32_at(range, 2 * index + 1)?);
        let (high, low) = if self.big { (high, low) } else { (low, high) };
        (high == 0).then_some(low)
    }

    /// Translates the index of a chain word to the index of its symbol. Only objects for MIPS have
    /// a table of these translations (`translation`). In objects for other machines, both indices
    /// are equal.
    fn translate(&self, translation: Option<&Range<usize>>, base: u32, symbol: u32) -> Option<u32> {
        match translation {
            None => Some(symbol),
            Some(table) => self.u32_at(table, symbol.checked_sub(base)? as usize),
        }
    }

    /// Validates the hash table that the loader uses, and counts the symbols.
    pub(super) fn set_hash(
        &mut self,
        gnu: Option<Range<usize>>,
        sysv: Option<Range<usize>>,
        pieces: &[Piece],
        defects: &mut Vec<Defect>,
    ) {
        let offset = |table| pieces.iter().find(|p| p.table == table).map_or(0, |p| p.offset);
        let Ok(present) = u32::try_from(self.symbols.len() / self.symbol_size()) else {
            let what = "holds more symbols than a relocation can name";
            defects.push(Defect::new(Table::Symbols, offset(Table::Symbols), what));
            self.symbols.end = self.symbols.start;
            return;
        };
        self.count = present;
        if let Some(range) = gnu {
            match self.gnu_table(&range) {
                Ok(hash) => self.hash = hash,
                Err(what) => {
                    defects.push(Defect::new(Table::GnuHash, offset(Table::GnuHash), what));
                }
            }
            let (count, fault) = self.gnu_extent();
            if let Some(count) = count {
                self.is_counted = true;
                if count > present {
                    let what = "ends before the last symbol that its hash table lists";
                    defects.push(Defect::new(Table::Symbols, offset(Table::Symbols), what));
                }
                self.count = count.min(present);
            }
            let fault = fault.map(|what| (Table::GnuHash, what));
            defects.extend(fault.map(|(table, what)| Defect::new(table, offset(table), what)));
        } else if let Some(range) = sysv {
            match self.sysv_table(&range) {
                Ok((hash, count)) => {
                    if count > present {
                        let what = "ends before the last symbol that its hash table lists";
                        defects.push(Defect::new(Table::Symbols, offset(Table::Symbols), what));
                    }
                    self.hash = hash;
                    self.count = count.min(present);
                    self.is_counted = true;
                    let fault = self.sysv_fault();
                    let at = offset(Table::SysvHash);
                    defects.extend(fault.map(|what| Defect::new(Table::SysvHash, at, what)));
                }
                Err(what) => {
                    defects.push(Defect::new(Table::SysvHash, offset(Table::SysvHash), what));
                }
            }
        }
    }

    fn gnu_table(&self, range: &Range<usize>) -> Result<HashTable, &'static str> {
        let short = "ends before its own header says";
        let word = |index| self.u32_at(range, index).ok_or(short);
        let (bucket_count, base, bloom_count, shift) = (word(0)?, word(1)?, word(2)?, word(3)?);
        if bucket_count == 0 {
            return if self.defines_something() { Err(NO_BUCKETS) } else { Ok(HashTable::None) };
        }
        // dl-setup_hash.c asserts a power of two.
        if !bloom_count.is_power_of_two() {
            return Err("has a Bloom filter whose size is not a power of two");
        }
        let bloom_size = (bloom_count as usize).checked_mul(if self.is_64 { 8 } else { 4 });
        let bloom_end =
            bloom_size.and_then(|size| (range.start + 16).checked_add(size)).ok_or(short)?;
        let buckets_end = (bucket_count as usize)
            .checked_mul(4)
            .and_then(|size| bloom_end.checked_add(size))
            .filter(|end| *end <= range.end)
            .ok_or(short)?;
        let (chains, translation) = match self.mips_symbols {
            None => (buckets_end..range.end, None),
            // The chains and the translation have one word for each symbol from `base` on.
            Some(count) => {
                let Ok(count) = u32::try_from(count) else {
                    return Err("belongs to more symbols than a relocation can name");
                };
                let size = (count.saturating_sub(base) as usize).checked_mul(4).ok_or(short)?;
                let middle = buckets_end.checked_add(size).ok_or(short)?;
                let end = middle.checked_add(size).filter(|end| *end <= range.end).ok_or(short)?;
                (buckets_end..middle, Some(middle..end))
            }
        };
        Ok(HashTable::Gnu {
            bloom: range.start + 16..bloom_end,
            shift,
            buckets: bloom_end..buckets_end,
            chains,
            base,
            translation,
        })
    }

    /// The number of symbols, and the defect of buckets, chains or filter, if any. On MIPS, the
    /// number is DT_MIPS_SYMTABNO. On other machines, the number follows from the last chain, which
    /// ends at the last symbol. The number is `None` if no symbol is hashed, or if that chain has
    /// no end.
    fn gnu_extent(&self) -> (Option<u32>, Option<&'static str>) {
        let HashTable::Gnu { bloom, buckets, chains, base, translation, .. } = &self.hash else {
            return (None, None);
        };
        let (words, _) = self.bytes[buckets.clone()].as_chunks::<4>();
        let order = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
        // An empty bucket contains 0, and 0 minus 1 wraps to the highest number. So an empty bucket
        // never determines `lowest`.
        let bounds = words.iter().fold((u32::MAX, 0), |(lowest, last), word| {
            let word = order(*word);
            (word.wrapping_sub(1).min(lowest), word.max(last))
        });
        let (lowest, last) = (bounds.0.wrapping_add(1), bounds.1);
        let stated = || self.mips_symbols.and_then(|count| u32::try_from(count).ok());
        let count = translation.as_ref().and_then(|_| stated());
        if last == 0 {
            return (count, None);
        }
        let listed = |symbol: u32| self.u32_at(chains, symbol.checked_sub(*base)? as usize);
        let fault = if lowest < *base || listed(last).is_none() {
            Some("has a bucket for a symbol that it does not list")
        } else if self.bytes[bloom.clone()].iter().all(|byte| *byte == 0) {
            Some("has a Bloom filter that lets no name through")
        } else {
            None
        };
        if translation.is_some() {
            return (count, fault);
        }
        let mut symbol = last;
        loop {
            let Some(word) = listed(symbol) else {
                return (None, fault.or(Some("has a chain without an end")));
            };
            let Some(next) = symbol.checked_add(1) else { return (None, fault) };
            if word & 1 != 0 {
                return (Some(next), fault);
            }
            symbol = next;
        }
    }

    /// True if the symbol table has a definition to which other objects can bind. Only entries up
    /// to the first invalid one are checked, because the table may end there.
    fn defines_something(&self) -> bool {
        let is_symbol = |symbol: &Symbol<'_>| !symbol.name.is_empty() && symbol.kind <= 10;
        let symbols = self.indices().map_while(|index| self.symbol(index));
        symbols.take_while(is_symbol).any(|symbol| symbol.is_export())
    }

    /// The defect of the buckets and chains of a SysV hash table, if any. A circular chain is a
    /// defect: the loader's search for a name that is not on the chain never ends.
    fn sysv_fault(&self) -> Option<&'static str> {
        let HashTable::Sysv { buckets, chains, width } = &self.hash else {
            return self.defines_something().then_some(NO_BUCKETS);
        };
        let mut met = vec![0_u32; chains.len() / width.bytes()];
        for bucket in 0..buckets.len() / width.bytes() {
            let mark = u32::try_from(bucket + 1).ok()?;
            let mut next = self.index_at(buckets, bucket, *width);
            while next != Some(0) {
                let Some(known) = next.and_then(|symbol| met.get_mut(symbol as usize)) else {
                    return Some("names a symbol that it does not list");
                };
                if *known == mark {
                    return Some("has a chain that runs in a circle");
                }
                // The rest of this chain is also in the chain of an earlier bucket, and was
                // followed to its end.
                if *known != 0 {
                    break;
                }
                *known = mark;
                next = next.and_then(|symbol| self.index_at(chains, symbol as usize, *width));
            }
        }
        None
    }

    fn sysv_table(&self, range: &Range<usize>) -> Result<(HashTable, u32), &'static str> {
        let short = "ends before its own header says";
        let width = if self.wide_hash { Width::Eight } else { Width::Four };
        let bucket_count = self.index_at(range, 0, width).ok_or(short)?;
        let chain_count = self.index_at(range, 1, width).ok_or(short)?;
        let end = |start: usize, count: u32| {
            (count as usize)
                .checked_mul(width.bytes())
                .and_then(|size| start.checked_add(size))
                .filter(|end| *end <= range.end)
                .ok_or(short)
        };
        let buckets_start = range.start + 2 * width.bytes();
        let buckets_end = end(buckets_start, bucket_count)?;
        let chains_end = end(buckets_end, chain_count)?;
        if bucket_count == 0 {
            return Ok((HashTable::None, chain_count));
        }
        let hash = HashTable::Sysv {
            buckets: buckets_start..buckets_end,
            chains: buckets_end..chains_end,
            width,
        };
        Ok((hash, chain_count))
    }

    /// Calls `visit` for every symbol in the GNU hash table. The first argument is the hash of the
    /// symbol's name without the lowest bit. Returns false if the object has no GNU hash table.
    pub fn each_gnu_hash(&self, mut visit: impl FnMut(u32, SymbolIndex)) -> bool {
        let HashTable::Gnu { chains, base, translation, .. } = &self.hash else { return false };
        let order = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
        let words = self.bytes[chains.clone()].as_chunks::<4>().0;
        let hashes = words.iter().map(|word| order(*word) & !1);
        let symbols = (*base..self.count).zip(hashes);
        match translation {
            None => symbols.for_each(|(symbol, hash)| visit(hash, SymbolIndex::new(symbol))),
            Some(table) => symbols.for_each(|(symbol, hash)| {
                if let Some(symbol) = self.translate(Some(table), *base, symbol) {
                    visit(hash, SymbolIndex::new(symbol));
                }
            }),
        }
        true
    }

    /// Calls `visit` with the hash word of every symbol that a lookup can reach: the GNU hash of
    /// the symbol's name without the lowest bit. A GNU table contains the hash words. For a SysV
    /// table, they are computed from the names.
    pub fn each_word(&self, mut visit: impl FnMut(u32)) {
        match &self.hash {
            HashTable::None => {}
            HashTable::Gnu { buckets, chains, base, .. } => {
                if !self.any_bucket(buckets) {
                    return;
                }
                let order = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
                let words = self.bytes[chains.clone()].as_chunks::<4>().0;
                let count = self.count.saturating_sub(*base) as usize;
                words.iter().take(count).for_each(|word| visit(order(*word) & !1));
            }
            HashTable::Sysv { .. } => self.each_hashed(|word, _| visit(word)),
        }
    }

    /// Like [`Self::each_word`], with the index of each symbol as the second argument. A GNU table
    /// is visited even if all its buckets are empty.
    pub fn each_hashed(&self, mut visit: impl FnMut(u32, SymbolIndex)) {
        match &self.hash {
            HashTable::None => {}
            HashTable::Gnu { .. } => {
                self.each_gnu_hash(visit);
            }
            HashTable::Sysv { .. } => {
                let is_defined =
                    |symbol: &Symbol<'_>| symbol.section != elf::SHN_UNDEF.0 || symbol.value != 0;
                let symbols = self.symbols().filter(is_defined);
                symbols.for_each(|symbol| visit(hash::gnu(symbol.name) & !1, symbol.index));
            }
        }
    }

    /// The hash word of a symbol: its chain word in the GNU hash table, without the lowest bit.
    /// `None` for a symbol that this table does not list, and on MIPS.
    pub fn word(&self, symbol: SymbolIndex) -> Option<u32> {
        let HashTable::Gnu { chains, base, translation: None, .. } = &self.hash else {
            return None;
        };
        let at = symbol.number().checked_sub(*base)?;
        self.u32_at(chains, at as usize).map(|word| word & !1)
    }

    /// The filter that rejects most names that the object does not define. Without a GNU hash
    /// table, a constant answer replaces the filter.
    pub fn bloom(&self) -> Bloom<'_> {
        match &self.hash {
            HashTable::None => Bloom::Never,
            HashTable::Sysv { .. } => Bloom::Always,
            HashTable::Gnu { bloom, shift, .. } => {
                let words = &self.bytes[bloom.clone()];
                let filter = Filter { words, shift: *shift, big: self.big };
                if self.is_64 { Bloom::Words64(filter) } else { Bloom::Words32(filter) }
            }
        }
    }

    /// Walks the chain of `hash` in a GNU hash table, from its start or from the symbol `from`.
    /// Calls `visit` for each symbol with this hash, until `visit` returns `Some`. `None` if
    /// `visit` never returns `Some`, or for another kind of table.
    pub(super) fn walk_gnu<T>(
        &self,
        hash: u32,
        from: Option<SymbolIndex>,
        visit: &mut impl FnMut(SymbolIndex) -> Option<T>,
    ) -> Option<T> {
        let HashTable::Gnu { buckets, chains, base, translation, .. } = &self.hash else {
            return None;
        };
        let (base, translation) = (*base, translation.as_ref());
        let order = if self.big { u32::from_be_bytes } else { u32::from_le_bytes };
        let bucket = || {
            let buckets = self.bytes.get(buckets.clone())?.as_chunks::<4>().0;
            buckets.get(hash as usize % buckets.len().max(1)).map(|word| order(*word))
        };
        let first = from.map(SymbolIndex::number).or_else(bucket).filter(|first| *first != 0)?;
        let chains = self.bytes.get(chains.clone())?.as_chunks::<4>().0;
        let chain = chains.get(first.checked_sub(base)? as usize..)?;
        for (symbol, word) in (first..=u32::MAX).zip(chain) {
            let word = order(*word);
            if (word ^ hash) >> 1 == 0
                && let Some(translated) = self.translate(translation, base, symbol)
                && let Some(found) = visit(SymbolIndex::new(translated))
            {
                return Some(found);
            }
            if word & 1 != 0 {
                return None;
            }
        }
        None
    }

    pub(super) fn walk_sysv<T>(
        &self,
        buckets: &Range<usize>,
        chains: &Range<usize>,
        width: Width,
        hash: u32,
        visit: &mut impl FnMut(SymbolIndex) -> Option<T>,
    ) -> Option<T> {
        let count = buckets.len() / width.bytes();
        let mut symbol = self.index_at(buckets, hash as usize % count.max(1), width)?;
        // A chain that is longer than the table is circular.
        for _ in 0..=chains.len() / width.bytes() {
            if symbol == 0 {
                return None;
            }
            if let Some(found) = visit(SymbolIndex::new(symbol)) {
                return Some(found);
            }
            symbol = self.index_at(chains, symbol as usize, width)?;
        }
        None
    }
}
