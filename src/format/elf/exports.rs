//! What an object defines for others, asked without a version: as a list, for reports with `--facts`
//! and `facts::plugins`, and by name as dlsym does it, for those and for what archives need not define
//! (`audit::linked`, `fix::solve`). The lookups of `bind` know more and use neither.

use super::find::Query;
use super::hash_table::HashTable;
use super::header::endian;
use super::tables::{Symbol, Tables, binds_local};
use super::{Object, hash};
use object::read::elf::{FileHeader, Sym as _};
use object::{Endianness, elf};
use std::ops::Range;

impl Object {
    /// True if a reference to `name` without version, whose GNU hash is `hash`, finds a definition
    /// here that others are bound to (`do_lookup_x` of `elf/dl-lookup.c`). `limit` is that of
    /// [`Self::find`].
    pub fn defines(&self, name: &[u8], hash: u32, limit: u16) -> bool {
        let may = self.tables.as_ref().is_some_and(|tables| tables.bloom().may_hold(hash));
        let found = || self.find(&Query::new(name, hash, None), limit);
        may && found().is_some_and(|found| {
            let bind = elf::SymbolBind(found.bind);
            let global = matches!(bind, elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE);
            global && !binds_local(found.visibility) && !found.undefined
        })
    }
}

impl Tables {
    /// True if there is a strong definition of `name` that the loader can bind other objects to. One that
    /// has only a version that is not the default stands in no linker's way.
    pub fn exports_strongly(&self, name: &[u8]) -> bool {
        let mut visit = |index: u32| {
            let symbol = self.symbol(index).filter(|symbol| symbol.name == name)?;
            let strong = elf::SymbolBind(symbol.bind) == elf::STB_GLOBAL;
            let default = symbol.versym & 0x8000 == 0;
            (symbol.is_export() && strong && default).then_some(())
        };
        let found = match &self.hash {
            HashTable::None => self.indices().find_map(visit),
            _ => self.walk(hash::gnu(name), || hash::sysv(name), None, &mut visit),
        };
        found.is_some()
    }

    /// What the loader can bind other objects to.
    pub fn exports(&self) -> impl Iterator<Item = Symbol<'_>> {
        self.indices().filter_map(|index| self.export(index))
    }

    /// The places of all symbols.
    pub fn indices(&self) -> Range<u32> {
        1..self.count
    }

    /// The symbol at `index`, if the loader can bind other objects to it.
    pub fn export(&self, index: u32) -> Option<Symbol<'_>> {
        // Most symbols of a plugin are undefined, and a name takes longer than a look at that.
        let defined = if self.is_64 {
            self.is_defined::<elf::FileHeader64<Endianness>>(index)
        } else {
            self.is_defined::<elf::FileHeader32<Endianness>>(index)
        };
        let symbol = if defined { self.symbol(index) } else { None };
        symbol.filter(Symbol::is_export)
    }

    fn is_defined<H: FileHeader<Endian = Endianness>>(&self, index: u32) -> bool {
        let symbol = self.raw::<H>(index);
        symbol.is_some_and(|symbol| symbol.st_shndx(endian(self.big)) != elf::SHN_UNDEF)
    }
}
