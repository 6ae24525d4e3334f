//! The dynamic tables of an object for lookups: symbols, strings, version indices and a hash table,
//! in one buffer that is searched in place. Large string tables stay in the file.
//!
//! The reader validates the extent of each table once, when it makes the tables. The bounds checks
//! of slices validate every access again. As in `elf/dl-lookup.c`, a lookup compares names only if
//! their hashes are equal. `find` looks up one name, and [`Tables::symbols`] lists all symbols.

use super::SymbolIndex;
use super::got::is_unmarked;
pub use super::hash_table::Bloom;
use super::hash_table::HashTable;
use super::header::endian;
use super::strings::StringsLocation;
use crate::format::Defect;
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, elf};
use std::ops::Range;
use std::sync::Arc;

/// The dynamic tables of one object, for lookups: a buffer, and the position of each table in it.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Edited copies of the object share this buffer, because no edit changes these bytes.
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) is_64: bool,
    pub(super) big: bool,
    pub(super) symbols: Range<usize>,
    pub(super) strings: StringsLocation,
    pub(super) versym: Option<Range<usize>>,
    pub(super) hash: HashTable,
    /// True if DT_HASH has words of 64 bits.
    pub(super) wide_hash: bool,
    /// DT_MIPS_SYMTABNO, on MIPS only. The loader uses an undefined entry of a MIPS object as a
    /// definition only if the entry has a value and `STO_MIPS_PLT`.
    pub(super) mips_symbols: Option<u64>,
    /// Number of symbols, from the hash table or from the start of the next table.
    pub(super) count: u32,
    /// True if `count` comes from the hash table. Otherwise the last entries may be other data.
    pub(super) is_counted: bool,
    /// Names of undefined symbols that an edit adds after the symbols of the file.
    pub(super) added: Vec<Box<[u8]>>,
}

/// A symbol of a table, read on demand.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'t> {
    /// Index in the dynamic symbol table.
    pub index: SymbolIndex,
    /// The name without NUL; empty if it is outside the string table.
    pub name: &'t [u8],
    /// The entry in DT_VERSYM with its top bit; 1 if the object has no DT_VERSYM.
    pub versym: u16,
    /// Binding, such as STB_WEAK.
    pub bind: u8,
    /// Type, such as STT_FUNC.
    pub kind: u8,
    /// Visibility, such as STV_PROTECTED.
    pub visibility: u8,
    /// Section index (st_shndx); SHN_UNDEF for an undefined symbol.
    pub section: u16,
    /// Value (st_value), usually an address.
    pub value: u64,
    /// Size in bytes (st_size).
    pub size: u64,
    /// True for a symbol without `STO_MIPS_PLT` in an object for MIPS. If such a symbol is
    /// undefined, its value is the address of a lazy stub.
    pub stub: bool,
}

impl Symbol<'_> {
    /// True for an undefined function with a value. In a program that is not position-independent,
    /// the value is the canonical address of the function.
    pub fn is_canonical(&self) -> bool {
        self.section == elf::SHN_UNDEF.0
            && self.value != 0
            && self.kind == elf::STT_FUNC.0
            && !self.stub
    }

    /// True for an STB_LOCAL entry, which lookups ignore.
    pub(super) fn is_local(&self) -> bool {
        self.bind == elf::STB_LOCAL.0
    }

    /// True if glibc's `check_match` (`elf/dl-lookup.c`) considers an entry with this type, value
    /// and section.
    pub fn is_findable(&self) -> bool {
        allowed(self.kind) && has_place(self.value, self.section, self.kind)
    }

    /// True if the definition has no version or the default version of its name: its entry in
    /// DT_VERSYM lacks the bit `VERSYM_HIDDEN`.
    pub fn is_default_version(&self) -> bool {
        self.versym & elf::VERSYM_HIDDEN.0 == 0
    }

    /// True if the loader can bind other objects to this definition.
    pub fn is_export(&self) -> bool {
        self.is_findable() && self.is_link_definition()
    }

    /// True if a linker resolves references of other objects with this definition. The value of the
    /// definition may be 0, which the loader does not accept.
    pub fn is_link_definition(&self) -> bool {
        self.section != elf::SHN_UNDEF.0
            && allowed(self.kind)
            && matches!(
                elf::SymbolBind(self.bind),
                elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE
            )
            && !binds_local(self.visibility)
    }

    /// True if linkers enter this symbol of a shared object under its name without a version, the
    /// name by which objects refer to it.
    pub fn has_plain_name(&self) -> bool {
        if self.section == elf::SHN_UNDEF.0 {
            // A version index above 1 means that the reference has a version.
            return self.versym <= 1;
        }
        self.is_link_definition() && self.is_default_version()
    }
}

/// True if other objects do not bind to an entry with this visibility
/// (`dl_symbol_visibility_binds_local_p`).
pub fn binds_local(visibility: u8) -> bool {
    matches!(elf::SymbolVisibility(visibility), elf::STV_HIDDEN | elf::STV_INTERNAL)
}

/// True for symbol types that a lookup accepts: `ALLOWED_STT` of `check_match`.
pub(super) fn allowed(kind: u8) -> bool {
    matches!(
        elf::SymbolType(kind),
        elf::STT_NOTYPE
            | elf::STT_OBJECT
            | elf::STT_FUNC
            | elf::STT_COMMON
            | elf::STT_TLS
            | elf::STT_GNU_IFUNC
    )
}

/// True if an entry can be a definition (`check_match`). An entry with the value 0 must be absolute
/// or thread-local.
pub(super) fn has_place(value: u64, section: u16, kind: u8) -> bool {
    value != 0 || section == elf::SHN_ABS.0 || kind == elf::STT_TLS.0
}

/// True for a definition with a value and an allowed type. False if the definition is data and
/// `may_copy` returns true. The check ignores the byte order, because a nonzero value is nonzero in
/// both orders.
pub(super) fn is_plain_definition<H: FileHeader<Endian = Endianness>>(
    symbol: &H::Sym,
    may_copy: impl FnOnce() -> bool,
) -> bool {
    let value: u64 = symbol.st_value(Endianness::Little).into();
    let kind = symbol.st_type();
    value != 0
        && symbol.st_shndx(Endianness::Little) != elf::SHN_UNDEF
        && allowed(kind.0)
        && !(kind == elf::STT_OBJECT && may_copy())
}

impl Tables {
    /// Size in bytes of the buffer with the tables. A string table that stays in the file is not
    /// included.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Tables in which no lookup finds a symbol.
    pub fn empty() -> Self {
        Self {
            bytes: Arc::default(),
            is_64: true,
            big: false,
            symbols: 0..0,
            strings: StringsLocation::Inside(0..0),
            versym: None,
            hash: HashTable::None,
            wide_hash: false,
            mips_symbols: None,
            count: 0,
            is_counted: false,
            added: Vec::new(),
        }
    }

    /// True if the object has a valid hash table, even one that lists no symbols.
    pub(super) fn has_hash_table(&self) -> bool {
        self.is_counted || !matches!(self.hash, HashTable::None)
    }

    /// The defect found while a large string table was read from the file, if there is one.
    pub fn late_defect(&self) -> Option<&Defect> {
        self.strings.defect()
    }

    /// True if the value of an undefined entry with this `st_other` is the address of a lazy stub,
    /// which is not a definition.
    pub(super) fn is_stub(&self, other: u8) -> bool {
        self.mips_symbols.is_some() && is_unmarked(other)
    }

    /// All symbols of the file's table, including undefined ones, from index 1 on.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.indices().filter_map(|index| self.symbol(index))
    }

    /// The symbol at `index`. `None` if neither the file's table nor an edit has this index.
    pub fn symbol(&self, index: SymbolIndex) -> Option<Symbol<'_>> {
        if self.is_64 {
            self.symbol_as::<elf::FileHeader64<Endianness>>(index)
        } else {
            self.symbol_as::<elf::FileHeader32<Endianness>>(index)
        }
    }

    fn symbol_as<H: FileHeader<Endian = Endianness>>(
        &self,
        index: SymbolIndex,
    ) -> Option<Symbol<'_>> {
        let raw = self.raw::<H>(index);
        raw.map(|raw| self.describe::<H>(index, raw)).or_else(|| self.added(index))
    }

    /// True if a definition in another object may preempt the symbol at `index`: the symbol is not
    /// local, and it has default visibility.
    pub fn is_preemptible(&self, index: SymbolIndex) -> bool {
        if self.is_64 {
            self.is_preemptible_as::<elf::FileHeader64<Endianness>>(index)
        } else {
            self.is_preemptible_as::<elf::FileHeader32<Endianness>>(index)
        }
    }

    fn is_preemptible_as<H: FileHeader<Endian = Endianness>>(&self, index: SymbolIndex) -> bool {
        self.raw::<H>(index).is_some_and(|raw| {
            raw.st_bind() != elf::STB_LOCAL && raw.st_visibility() == elf::STV_DEFAULT
        })
    }

    /// True if the symbol at `index` is thread-local. Its name is not read.
    pub fn is_thread_local(&self, index: SymbolIndex) -> bool {
        if self.is_64 {
            self.is_thread_local_as::<elf::FileHeader64<Endianness>>(index)
        } else {
            self.is_thread_local_as::<elf::FileHeader32<Endianness>>(index)
        }
    }

    fn is_thread_local_as<H: FileHeader<Endian = Endianness>>(&self, index: SymbolIndex) -> bool {
        self.raw::<H>(index).is_some_and(|raw| raw.st_type() == elf::STT_TLS)
    }

    /// True if the symbol at `index` is a function or variable with STB_GLOBAL and default
    /// visibility. Its name is not read.
    pub fn is_strong(&self, index: SymbolIndex) -> bool {
        if self.is_64 {
            self.is_strong_as::<elf::FileHeader64<Endianness>>(index)
        } else {
            self.is_strong_as::<elf::FileHeader32<Endianness>>(index)
        }
    }

    fn is_strong_as<H: FileHeader<Endian = Endianness>>(&self, index: SymbolIndex) -> bool {
        self.raw::<H>(index).is_some_and(|raw| {
            raw.st_bind() == elf::STB_GLOBAL
                && raw.st_visibility() == elf::STV_DEFAULT
                && matches!(raw.st_type(), elf::STT_FUNC | elf::STT_OBJECT)
        })
    }

    /// The entries of the table from index 0 on, as stored in the file.
    pub(super) fn entries<H: FileHeader<Endian = Endianness>>(&self) -> &[H::Sym] {
        let bytes = &self.bytes[self.symbols.clone()];
        let count = (bytes.len() / size_of::<H::Sym>()).min(self.count as usize);
        object::pod::slice_from_bytes(bytes, count).map_or(&[], |(entries, _)| entries)
    }

    pub(super) fn describe<H: FileHeader<Endian = Endianness>>(
        &self,
        index: SymbolIndex,
        raw: &H::Sym,
    ) -> Symbol<'_> {
        let e = endian(self.big);
        let strings = self.strings.source(&self.bytes);
        Symbol {
            index,
            name: strings.at(raw.st_name(e) as usize).unwrap_or_default(),
            versym: self.versym(index).unwrap_or(1),
            bind: raw.st_bind().0,
            kind: raw.st_type().0,
            visibility: raw.st_visibility().0,
            section: raw.st_shndx(e).0,
            value: raw.st_value(e).into(),
            size: raw.st_size(e).into(),
            stub: self.is_stub(raw.st_other().0),
        }
    }

    pub(super) fn raw<H: FileHeader<Endian = Endianness>>(
        &self,
        index: SymbolIndex,
    ) -> Option<&H::Sym> {
        let size = size_of::<H::Sym>();
        let start = self.symbols.start.checked_add(index.position().checked_mul(size)?)?;
        let end = start.checked_add(size)?;
        if end > self.symbols.end {
            return None;
        }
        object::pod::from_bytes::<H::Sym>(self.bytes.get(start..end)?).ok().map(|(sym, _)| sym)
    }

    pub(super) fn versym(&self, index: SymbolIndex) -> Option<u16> {
        let table = &self.bytes[self.versym.clone()?];
        let at = index.position().checked_mul(2)?;
        let raw = table.get(at..at + 2)?.try_into().ok()?;
        Some(if self.big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) })
    }

    pub(super) fn to_u32(&self, word: &[u8]) -> u32 {
        let raw = word.try_into().unwrap_or([0; 4]);
        if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    }
}
