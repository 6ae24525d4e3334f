//! The dynamic tables of an object that can be asked for definitions: symbols, strings, version
//! indices and a hash table, in one buffer, probed in place. Large string tables are not in it.
//!
//! Every extent is validated once, when the tables are made; every access is checked again by the
//! slice. It is not a list of exports: names are compared only behind an equal hash, as
//! `elf/dl-lookup.c` does. `bind::lookup` asks, [`Tables::symbols`] lists for reports.

use super::Object;
use super::got::is_unmarked;
use super::hash;
pub use super::hash_table::Bloom;
use super::hash_table::HashTable;
use super::header::endian;
use super::strings::Strings;
use crate::format::Defect;
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, elf};
use std::cell::Cell;
use std::ops::Range;
use std::sync::Arc;

/// One buffer with all tables, and where each lies in it.
#[derive(Clone, Debug)]
pub struct Tables {
    /// Shared with the edits of an object, which change none of it.
    pub(super) bytes: Arc<Vec<u8>>,
    pub(super) is_64: bool,
    pub(super) big: bool,
    pub(super) symbols: Range<usize>,
    pub(super) strings: Strings,
    pub(super) versym: Option<Range<usize>>,
    pub(super) hash: HashTable,
    /// DT_HASH has words of 64 bits.
    pub(super) wide_hash: bool,
    /// MIPS: DT_MIPS_SYMTABNO. Undefined entries count only with `STO_MIPS_PLT`.
    pub(super) mips_symbols: Option<u32>,
    /// How many symbols there are, as far as the hash table or the place of the next table tell.
    pub(super) count: u32,
    /// Names of undefined symbols behind those, which the file does not have: an edit refers to them.
    pub(super) added: Vec<Box<[u8]>>,
}

/// A question to one object: is there a definition of this name that this reference may have?
pub struct Query<'q> {
    /// The name without NUL.
    pub name: &'q [u8],
    /// Its GNU hash.
    pub hash: u32,
    /// The version the reference asks for.
    pub version: Option<Wanted<'q>>,
    /// Undefined entries that have a value do not count (`ELF_RTYPE_CLASS_PLT`).
    pub plt: bool,
    /// glibc 2.42 and later: a default of an unversioned kind counts only if nothing else matches.
    pub exact_first: bool,
    sysv: Cell<Option<u32>>,
}

/// A version as a reference asks for it.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'q> {
    /// SysV hash of the name.
    pub hash: u32,
    /// The name.
    pub name: &'q [u8],
    /// vna_other had its top bit set.
    pub hidden: bool,
}

/// What an object answered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// Index in the dynamic symbol table.
    pub symbol: u32,
    /// STB_*
    pub bind: u8,
    /// STV_*
    pub visibility: u8,
    /// SHN_UNDEF: an entry with a value in a program that is not position independent.
    pub undefined: bool,
    /// st_size
    pub size: u64,
    /// A version was asked for and the object has no versions at all.
    pub versionless: bool,
}

/// A symbol of a table, read on demand.
#[derive(Clone, Copy, Debug)]
pub struct Symbol<'t> {
    /// Index in the dynamic symbol table.
    pub index: u32,
    /// The name without NUL; empty if it lies outside the string table.
    pub name: &'t [u8],
    /// DT_VERSYM's entry with its top bit, 1 where the object has none.
    pub versym: u16,
    /// STB_*
    pub bind: u8,
    /// STT_*
    pub kind: u8,
    /// STV_*
    pub visibility: u8,
    /// st_shndx
    pub section: u16,
    /// st_value
    pub value: u64,
    /// st_size
    pub size: u64,
    /// MIPS: the value of the undefined entry is that of a lazy stub.
    pub stub: bool,
}

impl Symbol<'_> {
    /// True for an undefined function whose value is its address in a program.
    pub fn is_canonical(&self) -> bool {
        self.section == elf::SHN_UNDEF.0
            && self.value != 0
            && self.kind == elf::STT_FUNC.0
            && !self.stub
    }

    /// True if `check_match` would look at this definition at all.
    pub fn is_findable(&self) -> bool {
        allowed(self.kind) && has_place(self.value, self.section, self.kind)
    }

    /// True if the loader can bind other objects to this entry.
    pub fn is_export(&self) -> bool {
        self.section != elf::SHN_UNDEF.0
            && self.is_findable()
            && matches!(
                elf::SymbolBind(self.bind),
                elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE
            )
            && !binds_local(self.visibility)
    }
}

impl<'q> Query<'q> {
    /// A question for `name`, whose GNU hash is `hash`.
    pub fn new(name: &'q [u8], hash: u32, version: Option<Wanted<'q>>) -> Self {
        Self { name, hash, version, plt: true, exact_first: false, sysv: Cell::new(None) }
    }

    fn sysv(&self) -> u32 {
        self.sysv.get().unwrap_or_else(|| {
            let h = hash::sysv(self.name);
            self.sysv.set(Some(h));
            h
        })
    }
}

/// `dl_symbol_visibility_binds_local_p`: such entries are no targets for others.
pub fn binds_local(visibility: u8) -> bool {
    matches!(elf::SymbolVisibility(visibility), elf::STV_HIDDEN | elf::STV_INTERNAL)
}

/// `ALLOWED_STT` of `check_match`.
fn allowed(kind: u8) -> bool {
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

/// `check_match`: an entry without value defines nothing, unless absolute or thread-local.
fn has_place(value: u64, section: u16, kind: u8) -> bool {
    value != 0 || section == elf::SHN_ABS.0 || kind == elf::STT_TLS.0
}

/// True for a definition that a lookup can find, and that is no data where data `may_copy`; a quick
/// look at one entry. What is not zero is so in either byte order.
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

/// How the chain of one object goes on after one of its symbols was looked at.
pub(super) enum Step {
    Take(Candidate),
    Next,
}

/// What `check_match` remembers while it walks one object's chain.
#[derive(Default)]
struct Walk {
    /// Visible versions met by an unversioned reference, and the first of them.
    versions: u32,
    versioned: Option<Candidate>,
    /// The unversioned default that 2.42 takes only at the end.
    fallback: Option<Candidate>,
}

impl Object {
    /// Asks this object, whose filter has let the name through, as `do_lookup_x` asks one map. `limit` is the highest version index the
    /// loader knows of the object: below [`super::Versions::highest_index`] when needed files are
    /// missing.
    #[inline]
    pub fn find(&self, query: &Query<'_>, limit: u16) -> Option<Candidate> {
        let tables = self.tables.as_ref()?;
        if tables.is_64 {
            self.find_as::<elf::FileHeader64<Endianness>>(tables, query, limit)
        } else {
            self.find_as::<elf::FileHeader32<Endianness>>(tables, query, limit)
        }
    }

    fn find_as<H: FileHeader<Endian = Endianness>>(
        &self,
        tables: &Tables,
        query: &Query<'_>,
        limit: u16,
    ) -> Option<Candidate> {
        let mut walk = Walk::default();
        let mut visit = |symbol: u32| self.check::<H>(tables, query, limit, symbol, &mut walk);
        let taken = match &tables.hash {
            HashTable::None => None,
            HashTable::Gnu { buckets, chains, base, translation, .. } => {
                let translation = translation.as_ref();
                tables.walk_gnu(buckets, chains, *base, translation, query.hash, &mut visit)
            }
            HashTable::Sysv { buckets, chains, width } => {
                tables.walk_sysv(buckets, chains, *width, query.sysv(), &mut visit)
            }
        };
        // dl-lookup.c: one visible version only is unambiguous for an unversioned reference.
        taken.or(walk.fallback).or(if walk.versions == 1 { walk.versioned } else { None })
    }

    /// `check_match` of `elf/dl-lookup.c`.
    fn check<H: FileHeader<Endian = Endianness>>(
        &self,
        tables: &Tables,
        query: &Query<'_>,
        limit: u16,
        index: u32,
        walk: &mut Walk,
    ) -> Step {
        let e = endian(tables.big);
        let Some(symbol) = tables.raw::<H>(index) else { return Step::Next };
        let section = symbol.st_shndx(e).0;
        let undefined = section == elf::SHN_UNDEF.0;
        let kind = symbol.st_type().0;
        if !has_place(symbol.st_value(e).into(), section, kind)
            || (undefined && (query.plt || tables.is_stub(symbol.st_other().0)))
            || !allowed(kind)
            || !tables.strings.source(&tables.bytes).is(symbol.st_name(e) as usize, query.name)
        {
            return Step::Next;
        }
        let mut candidate = Candidate {
            symbol: index,
            bind: symbol.st_bind().0,
            visibility: symbol.st_visibility().0,
            undefined,
            size: symbol.st_size(e).into(),
            versionless: false,
        };
        let known = limit != 0 && self.versions.highest_index() != 0;
        let Some(versym) = tables.versym(index).filter(|_| known) else {
            candidate.versionless = query.version.is_some();
            return Step::Take(candidate);
        };
        let version = versym & 0x7fff;
        let visible = versym & 0x8000 == 0;
        let Some(wanted) = &query.version else {
            if version < 3 {
                return Step::Take(candidate);
            }
            if visible {
                walk.versions += 1;
                walk.versioned.get_or_insert(candidate);
            }
            return Step::Next;
        };
        let own = self.versions.entry(version).filter(|_| version <= limit);
        if own.is_some_and(|own| own.hash == wanted.hash && self.str(own.name) == wanted.name) {
            return Step::Take(candidate);
        }
        if wanted.hidden || own.is_some() || !visible {
            return Step::Next;
        }
        if query.exact_first {
            walk.fallback.get_or_insert(candidate);
            return Step::Next;
        }
        Step::Take(candidate)
    }
}

impl Tables {
    /// Tables in which nothing is ever found.
    pub fn empty() -> Self {
        Self {
            bytes: Arc::default(),
            is_64: true,
            big: false,
            symbols: 0..0,
            strings: Strings::Inside(0..0),
            versym: None,
            hash: HashTable::None,
            wide_hash: false,
            mips_symbols: None,
            count: 0,
            added: Vec::new(),
        }
    }

    /// What went wrong when names were read that were left in the file.
    pub fn late_defect(&self) -> Option<&Defect> {
        self.strings.defect()
    }

    /// True if the value of an undefined entry is that of a lazy stub, which defines nothing.
    pub(super) fn is_stub(&self, other: u8) -> bool {
        self.mips_symbols.is_some() && is_unmarked(other)
    }

    /// All symbols of the table, undefined ones too, from index 1 on.
    pub fn symbols(&self) -> impl Iterator<Item = Symbol<'_>> {
        (1..self.count).filter_map(|index| self.symbol(index))
    }

    /// The symbol at `index`, if the table reaches so far.
    pub fn symbol(&self, index: u32) -> Option<Symbol<'_>> {
        if self.is_64 {
            self.symbol_as::<elf::FileHeader64<Endianness>>(index)
        } else {
            self.symbol_as::<elf::FileHeader32<Endianness>>(index)
        }
    }

    fn symbol_as<H: FileHeader<Endian = Endianness>>(&self, index: u32) -> Option<Symbol<'_>> {
        let raw = self.raw::<H>(index);
        raw.map(|raw| self.describe::<H>(index, raw)).or_else(|| self.added(index))
    }

    /// The entries of the table from index 0 on, as they lie in the file.
    pub(super) fn entries<H: FileHeader<Endian = Endianness>>(&self) -> &[H::Sym] {
        let bytes = &self.bytes[self.symbols.clone()];
        let count = (bytes.len() / size_of::<H::Sym>()).min(self.count as usize);
        object::pod::slice_from_bytes(bytes, count).map_or(&[], |(entries, _)| entries)
    }

    pub(super) fn describe<H: FileHeader<Endian = Endianness>>(
        &self,
        index: u32,
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

    pub(super) fn raw<H: FileHeader<Endian = Endianness>>(&self, index: u32) -> Option<&H::Sym> {
        let size = size_of::<H::Sym>();
        let start = self.symbols.start.checked_add((index as usize).checked_mul(size)?)?;
        let end = start.checked_add(size)?;
        if end > self.symbols.end {
            return None;
        }
        object::pod::from_bytes::<H::Sym>(self.bytes.get(start..end)?).ok().map(|(sym, _)| sym)
    }

    pub(super) fn versym(&self, index: u32) -> Option<u16> {
        let table = &self.bytes[self.versym.clone()?];
        let at = (index as usize).checked_mul(2)?;
        let raw = table.get(at..at + 2)?.try_into().ok()?;
        Some(if self.big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) })
    }

    pub(super) fn to_u32(&self, word: &[u8]) -> u32 {
        let raw = word.try_into().unwrap_or([0; 4]);
        if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) }
    }
}
