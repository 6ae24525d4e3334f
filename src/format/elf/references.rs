//! Collects the symbols of an object that the loader may have to bind. The names of these symbols
//! are hashed at once, while the tables are in the processor's cache. `relocs` reads the
//! relocations that use these symbols. It reads them later, and only on demand.

use super::hash_table::HashTable;
use super::header::endian;
use super::openers::is_opener;
use super::read::ObjectReader;
use super::tables::{Symbol, Tables, is_plain_definition};
use super::{CopySize, NameLen, Object, RefKind, Reference, SymbolIndex, hash};
use crate::id::FastSet;
use object::read::elf::Sym as _;
use object::{Endianness, elf};

/// Number of references for which each thread reserves room at first.
const AT_ONCE: usize = 1 << 15;

/// True for an entry that is almost certainly an undefined symbol. If the number of symbols is
/// unknown, the last entries may be other data.
fn is_surely_undefined(symbol: &Symbol<'_>) -> bool {
    let is_global = matches!(elf::SymbolBind(symbol.bind), elf::STB_GLOBAL | elf::STB_WEAK);
    let is_blank = symbol.section == elf::SHN_UNDEF.0 && (symbol.value, symbol.size) == (0, 0);
    is_blank && is_global && symbol.kind <= elf::STT_TLS.0
}

impl ObjectReader<'_> {
    /// Collects the references of an object. `copied` has the symbols of the object's copy
    /// relocations; `None` if these symbols are unknown.
    pub(super) fn take_references(
        &mut self,
        object: &Object,
        tables: &Tables,
        copied: Option<&FastSet<SymbolIndex>>,
    ) -> Box<[Reference]> {
        if object.header.is_64 {
            self.take_references_as::<elf::FileHeader64<Endianness>>(object, tables, copied)
        } else {
            self.take_references_as::<elf::FileHeader32<Endianness>>(object, tables, copied)
        }
    }

    fn take_references_as<H: object::read::elf::FileHeader<Endian = Endianness>>(
        &mut self,
        object: &Object,
        tables: &Tables,
        copied: Option<&FastSet<SymbolIndex>>,
    ) -> Box<[Reference]> {
        let may_copy = |index: SymbolIndex| {
            object.may_copy && copied.is_none_or(|copied| copied.contains(&index))
        };
        let (e, unhashed_end) = (endian(tables.big), tables.unhashed_end());
        let mut list = std::mem::take(&mut self.scratch.references);
        list.reserve(AT_ONCE);
        let names = tables.strings.source(&tables.bytes);
        let is_lost = |at: u32| names.len() > 0 && names.at(at as usize).is_none();
        for (index, raw) in tables.indices().zip(tables.entries::<H>().iter().skip(1)) {
            // Fast path: nearly all symbols that a GNU hash table lists are ordinary definitions.
            if index >= unhashed_end && is_plain_definition::<H>(raw, || may_copy(index)) {
                if raw.st_name(e) as usize >= names.len() && tables.is_counted && names.len() > 0 {
                    self.nameless.get_or_insert(index);
                }
                continue;
            }
            let symbol = tables.describe::<H>(index, raw);
            let is_sure = tables.is_counted || is_surely_undefined(&symbol);
            if symbol.name.is_empty() && is_sure && !symbol.is_local() && is_lost(raw.st_name(e)) {
                self.nameless.get_or_insert(index);
            }
            let unhashed = index < unhashed_end || !symbol.is_findable();
            let Some(kind) = self.ref_kind(&symbol, unhashed, may_copy(index), tables) else {
                continue;
            };
            let (version, highest) = (symbol.versym & 0x7fff, object.versions.highest_index());
            if version > highest
                && highest > 0
                && (tables.is_counted || is_surely_undefined(&symbol))
            {
                self.versionless.get_or_insert(index);
            }
            let name = self.text.add(symbol.name);
            let hash = hash::gnu(symbol.name);
            self.opens_plugins |= is_opener(symbol.name, hash);
            list.push(Reference {
                name: name.start,
                len: NameLen::of(symbol.name),
                hash,
                symbol: index,
                version,
                kind,
            });
        }
        let kept = list.as_slice().into();
        list.clear();
        self.scratch.references = list;
        kept
    }

    /// The kind of reference for a symbol. `None` if the symbol is not collected: it is local or
    /// hidden, an ordinary definition, or larger than an address space.
    fn ref_kind(
        &mut self,
        symbol: &Symbol<'_>,
        unhashed: bool,
        may_copy: bool,
        tables: &Tables,
    ) -> Option<RefKind> {
        if super::tables::binds_local(symbol.visibility) {
            return None;
        }
        let weak = match elf::SymbolBind(symbol.bind) {
            elf::STB_LOCAL => return None,
            elf::STB_WEAK => true,
            _ => false,
        };
        if symbol.section == elf::SHN_UNDEF.0 {
            let canonical = symbol.is_canonical() && !weak;
            return Some(match (canonical, weak) {
                (true, _) => RefKind::Canonical,
                (_, true) => RefKind::Weak,
                (_, false) => RefKind::Strong,
            });
        }
        if may_copy && symbol.kind == elf::STT_OBJECT.0 {
            let size = CopySize::of(symbol.size);
            if size.is_none() {
                self.oversized.get_or_insert(symbol.index);
            }
            return size.map(|size| RefKind::Copy { size, weak });
        }
        let sysv = matches!(tables.hash, HashTable::Sysv { .. });
        let lost = (unhashed && !sysv) || !symbol.is_findable();
        (lost && !weak).then_some(RefKind::Unhashed)
    }
}
