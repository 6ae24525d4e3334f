//! The symbols of a MIPS global offset table. The loader looks up the symbols of global entries,
//! although no relocation table lists these symbols (`sysdeps/mips/dl-machine.h`,
//! `elf_machine_got_rel`). `relocs` reads these entries before the relocation tables, as the loader
//! does.

use super::SymbolIndex;
use super::dynamic::Dynamic;
use super::header::{Header, endian};
use super::machine::LookupClass;
use super::segments::Segments;
use crate::format::{Defect, ReadError, Table, read_range};
use crate::tree::Handle;
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, elf};

/// `STO_MIPS_PLT`: the value of an undefined symbol is the canonical address of a PLT slot.
const MARKED: u8 = elf::STO_MIPS_PLT.0;

/// Positions of the global entries and of their symbols in the file.
#[derive(Debug, Clone, Copy)]
pub(super) struct Got {
    /// File offset of the first global entry.
    pub(super) entries: u64,
    /// File offset of the dynamic symbol table.
    pub(super) symbols: u64,
    /// DT_MIPS_GOTSYM: the index of the symbol that belongs to the first global entry.
    pub(super) first: u32,
    /// Number of global entries.
    pub(super) count: u32,
}

/// True if the loader does not use an undefined symbol with this st_other as a definition
/// (`elf_machine_sym_no_match`).
pub(super) fn is_unmarked(other: u8) -> bool {
    other & MARKED == 0
}

/// Finds the global entries and their symbols. `None` if the object has no global entries, if a
/// number overflows, or if no segment holds the entries or the symbols. Only the missing segment is
/// a defect.
pub(super) fn place(
    segments: &Segments,
    header: &Header,
    dynamic: &Dynamic,
    defects: &mut Vec<Defect>,
) -> Option<Got> {
    let got = dynamic.got?;
    let first = u32::try_from(got.first).ok()?;
    let count = u32::try_from(got.symbols.checked_sub(got.first)?).ok().filter(|n| *n > 0)?;
    let word = if header.is_64 { 8 } else { 4 };
    let entries = got.address?.checked_add(got.local.checked_mul(word)?)?;
    let mut offset = |address| {
        let found = segments.file_offset(address, Table::Relocations);
        found.map_err(|defect| defects.push(defect)).ok().map(|(offset, _)| offset)
    };
    let (entries, symbols) = (offset(entries)?, offset(dynamic.symtab?)?);
    Some(Got { entries, symbols, first, count })
}

/// Calls `take` for every global entry whose symbol the loader looks up, in the order of the table.
/// If the file ends before the last entry or symbol, a defect is added to `defects`.
pub(super) fn each(
    file: &Handle,
    header: &Header,
    got: Got,
    defects: &mut Vec<Defect>,
    take: impl FnMut(SymbolIndex, LookupClass),
) -> Result<(), ReadError> {
    if header.is_64 {
        each_as::<elf::FileHeader64<Endianness>>(file, header, got, defects, take)
    } else {
        each_as::<elf::FileHeader32<Endianness>>(file, header, got, defects, take)
    }
}

fn each_as<H: FileHeader<Endian = Endianness>>(
    file: &Handle,
    header: &Header,
    got: Got,
    defects: &mut Vec<Defect>,
    mut take: impl FnMut(SymbolIndex, LookupClass),
) -> Result<(), ReadError> {
    let e = endian(header.big);
    let size = size_of::<H::Sym>() as u64;
    let word = if header.is_64 { 8 } else { 4 };
    let count = u64::from(got.count);
    let start = got.symbols.saturating_add(u64::from(got.first) * size);
    let symbols = read_range(file, start, count * size)?;
    let entries = read_range(file, got.entries, count * word as u64)?;
    let present = symbols.len() / size_of::<H::Sym>();
    if (present.min(entries.len() / word) as u64) < count {
        let what = "name more symbols of the global offset table than the file holds";
        defects.push(Defect::new(Table::Relocations, got.entries, what));
    }
    let Ok((list, _)) = object::pod::slice_from_bytes::<H::Sym>(&symbols, present) else {
        return Ok(());
    };
    for ((symbol, entry), index) in list.iter().zip(entries.chunks_exact(word)).zip(got.first..) {
        let join = |value, byte: &u8| value << 8 | u64::from(*byte);
        let entry =
            if header.big { entry.iter().fold(0, join) } else { entry.iter().rev().fold(0, join) };
        if let Some(class) = class::<H>(e, symbol, entry) {
            take(SymbolIndex::new(index), class);
        }
    }
    Ok(())
}

/// The class of the lookup for one entry. `None` if the loader performs no lookup. A lazy stub is
/// bound at the first call, like a jump slot.
fn class<H: FileHeader<Endian = Endianness>>(
    e: Endianness,
    symbol: &H::Sym,
    entry: u64,
) -> Option<LookupClass> {
    let value: u64 = symbol.st_value(e).into();
    let is_function = symbol.st_type() == elf::STT_FUNC;
    let stub = Some(LookupClass::Plt { slot: true });
    match symbol.st_shndx(e) {
        elf::SHN_UNDEF if is_function && value != 0 && is_unmarked(symbol.st_other().0) => stub,
        elf::SHN_UNDEF | elf::SHN_COMMON => Some(LookupClass::Plain),
        _ if is_function && entry != value => stub,
        _ if symbol.st_type() == elf::STT_SECTION => None,
        _ => Some(LookupClass::Plain),
    }
}
