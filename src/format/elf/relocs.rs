//! Relocation tables, read only for the few objects where it matters which relocations ask for a
//! symbol: those with something unbound, and those whose bindings are wanted whole.
//! `facts::collect` reads them on a need; `bind::eager` goes through them in the loader's order.

use super::machine::{Effect, LookupClass};
use super::{Object, tables::endian};
use crate::format::{Defect, ReadError, Table, read_range};
use crate::tree::Handle;
use object::read::elf::{FileHeader, Rel, Rela};
use object::{Endianness, elf};

/// Where the tables lie in the file.
#[derive(Debug, Default, Clone, Copy)]
pub struct Places {
    pub(super) rel: Option<Place>,
    pub(super) rela: Option<Place>,
    pub(super) plt: Option<Place>,
    pub(super) plt_is_rela: bool,
}

/// One table: offset and size in the file, and how many entries at its begin are relative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) relative: u64,
}

/// A relocation that looks up a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Relocation {
    /// Index in the dynamic symbol table.
    pub symbol: u32,
    /// How it is looked up.
    pub class: LookupClass,
}

/// All relocations of one object that look up symbols, in the order in which the loader goes
/// through them when it binds everything at load (`elf/dynamic-link.h`).
#[derive(Debug, Default)]
pub struct Relocations {
    /// In the loader's order.
    pub list: Vec<Relocation>,
    /// What is wrong with the tables.
    pub defects: Vec<Defect>,
}

/// Reads the relocations of `object` from its file.
pub fn read(file: &Handle, object: &Object) -> Result<Relocations, ReadError> {
    let mut out = Relocations::default();
    let places = &object.relocations;
    let tables = [
        (places.rel, false),
        (places.rela, true),
        (places.plt, places.plt_is_rela),
    ];
    for (place, addends) in tables {
        let Some(place) = place else { continue };
        let bytes = read_range(file, place.offset, place.size)?;
        if (bytes.len() as u64) < place.size {
            let at = place.offset + bytes.len() as u64;
            out.defects.push(Defect::new(Table::Relocations, at, "end beyond the end of the file"));
        }
        if object.header.is_64 {
            decode::<elf::FileHeader64<Endianness>>(object, &bytes, addends, place.relative, &mut out);
        } else {
            decode::<elf::FileHeader32<Endianness>>(object, &bytes, addends, place.relative, &mut out);
        }
    }
    Ok(out)
}

fn decode<H: FileHeader<Endian = Endianness>>(
    object: &Object,
    bytes: &[u8],
    addends: bool,
    relative: u64,
    out: &mut Relocations,
) {
    let e = endian(object.header.big);
    let Some(machine) = super::machine::of(object.header.target()) else { return };
    let skip = usize::try_from(relative).unwrap_or(usize::MAX);
    let mut take = |symbol: u32, kind: u32| {
        if let Effect::Lookup(class) = (machine.effect)(kind)
            && symbol != 0
        {
            out.list.push(Relocation { symbol, class });
        }
    };
    if addends {
        let count = bytes.len() / size_of::<H::Rela>();
        if let Ok((list, _)) = object::pod::slice_from_bytes::<H::Rela>(bytes, count) {
            list.iter().skip(skip).for_each(|r| take(r.r_sym(e, false), r.r_type(e, false).0));
        }
    } else {
        let count = bytes.len() / size_of::<H::Rel>();
        if let Ok((list, _)) = object::pod::slice_from_bytes::<H::Rel>(bytes, count) {
            list.iter().skip(skip).for_each(|r| take(r.r_sym(e), r.r_type(e).0));
        }
    }
}
