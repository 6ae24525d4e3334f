//! The symbols of an object that others can be bound to, as a list. Lookups do not need it
//! (`hash_table`); who goes by names asks: reports with `--facts`, and `facts::plugins`.

use super::header::endian;
use super::tables::{Symbol, Tables};
use object::read::elf::{FileHeader, Sym as _};
use object::{Endianness, elf};

impl Tables {
    /// What the loader can bind other objects to.
    pub fn exports(&self) -> impl Iterator<Item = Symbol<'_>> {
        // Most symbols of a plugin are undefined, and a name takes longer than a look at that.
        let defined = |index: &u32| {
            if self.is_64 {
                self.is_defined::<elf::FileHeader64<Endianness>>(*index)
            } else {
                self.is_defined::<elf::FileHeader32<Endianness>>(*index)
            }
        };
        let symbols = (1..self.count).filter(defined).filter_map(|index| self.symbol(index));
        symbols.filter(Symbol::is_export)
    }

    fn is_defined<H: FileHeader<Endian = Endianness>>(&self, index: u32) -> bool {
        let symbol = self.raw::<H>(index);
        symbol.is_some_and(|symbol| symbol.st_shndx(endian(self.big)) != elf::SHN_UNDEF)
    }
}
