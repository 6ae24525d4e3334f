//! The lookup of one name in one object, as in glibc (`elf/dl-lookup.c`, `do_lookup_x` and
//! `check_match`). `chains` walks one hash chain, and this module selects the symbol on it that
//! fits the reference and its version.

use super::hash_table::HashTable;
use super::header::endian;
use super::tables::{Tables, allowed, has_place};
use super::{Object, SymbolIndex, hash};
use object::read::elf::{FileHeader, Sym as _};
use object::{Endianness, elf};
use std::cell::Cell;

/// A reference to look up in an object: its name, its version, and the rules of the lookup.
pub struct SymbolQuery<'q> {
    /// The name without NUL.
    pub name: &'q [u8],
    /// GNU hash of the name.
    pub hash: u32,
    /// The version that the reference requires, if any.
    pub version: Option<WantedVersion<'q>>,
    /// True to skip undefined entries with a value (`ELF_RTYPE_CLASS_PLT`).
    pub plt: bool,
    /// True for glibc 2.42 and later: a definition without a version satisfies a versioned
    /// reference only if the object has no definition with that version.
    pub exact_first: bool,
    sysv: Cell<Option<u32>>,
}

/// A version that a reference requires.
#[derive(Clone, Copy, Debug)]
pub struct WantedVersion<'q> {
    /// SysV hash of the version name.
    pub hash: u32,
    /// The version name.
    pub name: &'q [u8],
    /// True if vna_other has its top bit set: a definition without a version does not match.
    pub hidden: bool,
}

/// The result of a lookup in one object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FoundSymbol {
    /// Index in the dynamic symbol table.
    pub symbol: SymbolIndex,
    /// Binding of the symbol, such as STB_WEAK.
    pub bind: u8,
    /// Visibility of the symbol, such as STV_PROTECTED.
    pub visibility: u8,
    /// True for an undefined entry. Its value is the address of a PLT slot, in a program that is
    /// not position-independent.
    pub undefined: bool,
    /// Size of the symbol in bytes (st_size).
    pub size: u64,
    /// True if the reference has a version, but the loader has no table of versions for the object
    /// that defines the symbol.
    pub versionless: bool,
}

impl<'q> SymbolQuery<'q> {
    /// A query for `name`, whose GNU hash is `hash`.
    pub fn new(name: &'q [u8], hash: u32, version: Option<WantedVersion<'q>>) -> Self {
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

/// The state of `check_match` during the walk through one object's chain.
#[derive(Default)]
struct Walk {
    /// For an unversioned reference: the number of definitions with a version index of at least 3
    /// that are not hidden (`VERSYM_HIDDEN`).
    versions: u32,
    /// The first of the definitions that `versions` counts.
    versioned: Option<FoundSymbol>,
    /// The first definition that is not hidden and has no version. glibc 2.42 uses this definition
    /// only if the walk finds no exact match.
    fallback: Option<FoundSymbol>,
}

impl Object {
    /// Looks up a name, as `do_lookup_x` does for one link map. The Bloom filter is not consulted,
    /// because callers check it first. `limit` is the highest version index that the loader knows
    /// for the object: 0 means no versions, and [`super::EVERY_VERSION`] means all versions. The
    /// loader may know only some versions if files that the object needs are missing. `None` if no
    /// symbol matches, or if the tables were not kept.
    #[inline]
    pub fn find(&self, query: &SymbolQuery<'_>, limit: u16) -> Option<FoundSymbol> {
        self.find_from(query, limit, None)
    }

    /// Like [`Self::find`], but in a GNU table the walk starts at `first`, which
    /// [`Tables::first_of_each`] found for the hash. If `first` is `None`, the walk starts at the
    /// bucket.
    #[inline]
    pub fn find_from(
        &self,
        query: &SymbolQuery<'_>,
        limit: u16,
        first: Option<SymbolIndex>,
    ) -> Option<FoundSymbol> {
        let tables = self.tables.as_ref()?;
        if tables.is_64 {
            self.find_as::<elf::FileHeader64<Endianness>>(tables, query, limit, first)
        } else {
            self.find_as::<elf::FileHeader32<Endianness>>(tables, query, limit, first)
        }
    }

    fn find_as<H: FileHeader<Endian = Endianness>>(
        &self,
        tables: &Tables,
        query: &SymbolQuery<'_>,
        limit: u16,
        first: Option<SymbolIndex>,
    ) -> Option<FoundSymbol> {
        let mut walk = Walk::default();
        let mut visit = |symbol| self.check::<H>(tables, query, limit, symbol, &mut walk);
        let taken = tables.walk(query.hash, || query.sysv(), first, &mut visit);
        // dl-lookup.c: a single visible version is unambiguous for an unversioned reference.
        taken.or(walk.fallback).or(if walk.versions == 1 { walk.versioned } else { None })
    }

    /// Compares the symbol at `index` with the query: `check_match` of `elf/dl-lookup.c`. `None` if
    /// the walk continues.
    fn check<H: FileHeader<Endian = Endianness>>(
        &self,
        tables: &Tables,
        query: &SymbolQuery<'_>,
        limit: u16,
        index: SymbolIndex,
        walk: &mut Walk,
    ) -> Option<FoundSymbol> {
        let e = endian(tables.big);
        let symbol = tables.raw::<H>(index)?;
        let section = symbol.st_shndx(e).0;
        let undefined = section == elf::SHN_UNDEF.0;
        let kind = symbol.st_type().0;
        if !has_place(symbol.st_value(e).into(), section, kind)
            || (undefined && (query.plt || tables.is_stub(symbol.st_other().0)))
            || !allowed(kind)
            || !tables.strings.source(&tables.bytes).is(symbol.st_name(e) as usize, query.name)
        {
            return None;
        }
        let mut candidate = FoundSymbol {
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
            return Some(candidate);
        };
        let version = versym & 0x7fff;
        let visible = versym & 0x8000 == 0;
        let Some(wanted) = &query.version else {
            if version < 3 {
                return Some(candidate);
            }
            if visible {
                walk.versions += 1;
                walk.versioned.get_or_insert(candidate);
            }
            return None;
        };
        let own = self.versions.entry(version).filter(|_| version <= limit);
        if own.is_some_and(|own| own.hash == wanted.hash && self.str(own.name) == wanted.name) {
            return Some(candidate);
        }
        if wanted.hidden || own.is_some() || !visible {
            return None;
        }
        if query.exact_first {
            walk.fallback.get_or_insert(candidate);
            return None;
        }
        Some(candidate)
    }
}

impl Tables {
    /// Walks the chain of a name in the object's hash table. `gnu` and `sysv` are the two hashes of
    /// the name. In a GNU table, the walk starts at the symbol `first`, if given. Calls `visit` for
    /// each symbol until `visit` returns `Some`, and returns this result. `None` if `visit` never
    /// returns `Some`.
    pub(super) fn walk<T>(
        &self,
        gnu: u32,
        sysv: impl FnOnce() -> u32,
        first: Option<SymbolIndex>,
        visit: &mut impl FnMut(SymbolIndex) -> Option<T>,
    ) -> Option<T> {
        match &self.hash {
            HashTable::None => None,
            HashTable::Gnu { .. } => self.walk_gnu(gnu, first, visit),
            HashTable::Sysv { buckets, chains, width } => {
                self.walk_sysv(buckets, chains, *width, sysv(), visit)
            }
        }
    }
}
