//! Relocation tables, read only for the few objects where it matters which relocations ask for a
//! symbol: those with something unbound, and those whose bindings are wanted whole.
//! `facts::collect` reads them on a need; `bind::eager` goes through them in the loader's order.

use super::got::{self, Got};
use super::machine::{self, Effect, LookupClass, Machine};
use super::{Object, header::endian};
use crate::format::{Defect, ReadError, Table, read_range};
use crate::id::FastSet;
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
    /// MIPS.
    pub(super) got: Option<Got>,
}

/// One table: offset and size in the file, and how many entries at its begin are relative.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) relative: u64,
}

impl Place {
    /// How much of the table the relative entries take, of `entry` bytes each; perhaps more than there
    /// is.
    fn relative_size(self, entry: u64) -> u64 {
        self.relative.saturating_mul(entry)
    }
}

/// A relocation that looks up a symbol, in one word: the symbol's index and two bits for the class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Relocation(u32);

/// The number of symbols that fit; an ELF string table ends far earlier.
const MOST_SYMBOLS: u32 = 1 << 30;

impl Relocation {
    pub(super) fn new(symbol: u32, class: LookupClass) -> Option<Self> {
        let class = match class {
            LookupClass::Plain => 0,
            LookupClass::Plt { slot: false } => 1,
            LookupClass::Plt { slot: true } => 2,
            LookupClass::Copy => 3,
        };
        (symbol < MOST_SYMBOLS).then_some(Self(symbol << 2 | class))
    }

    /// Index in the dynamic symbol table.
    pub fn symbol(self) -> u32 {
        self.0 >> 2
    }

    /// How the symbol is looked up.
    pub fn class(self) -> LookupClass {
        match self.0 & 3 {
            0 => LookupClass::Plain,
            1 => LookupClass::Plt { slot: false },
            2 => LookupClass::Plt { slot: true },
            _ => LookupClass::Copy,
        }
    }
}

/// How much of a table is read at a time, in bytes: a multiple of every entry size, and little enough
/// to stay in the cache of a core and in pages that were touched before.
const CHUNK: u64 = 24 * 12 * 224;

/// All relocations of one object that look up symbols, in the order in which the loader goes
/// through them when it binds everything at load (`elf/dynamic-link.h`).
#[derive(Debug, Default)]
pub struct Relocations {
    /// In the loader's order.
    pub list: Vec<Relocation>,
    /// What is wrong with the tables.
    pub defects: Vec<Defect>,
}

/// The most that is read to know which data of a program are copied, in bytes.
const MOST_FOR_COPIES: u64 = 64 << 10;

/// The symbols that copy relocations of `object` name; nothing where that takes much reading, or
/// something is wrong with the tables.
pub(super) fn copied(file: &Handle, object: &Object) -> Result<Option<FastSet<u32>>, ReadError> {
    let places = Places { got: None, ..object.relocations };
    let tables = [(places.rel, false), (places.rela, true), (places.plt, places.plt_is_rela)];
    let sizes = tables.into_iter().filter_map(|(place, addends)| {
        let place = place?;
        Some(place.size.saturating_sub(place.relative_size(entry_size(object, addends))))
    });
    if sizes.fold(0, u64::saturating_add) > MOST_FOR_COPIES {
        return Ok(None);
    }
    let Relocations { list, defects } = read_at(file, object, &places)?;
    let copies = list.iter().filter(|relocation| relocation.class() == LookupClass::Copy);
    Ok(defects.is_empty().then(|| copies.map(|relocation| relocation.symbol()).collect()))
}

/// Reads the relocations of `object` from its file.
pub fn read(file: &Handle, object: &Object) -> Result<Relocations, ReadError> {
    read_at(file, object, &object.relocations)
}

fn read_at(file: &Handle, object: &Object, places: &Places) -> Result<Relocations, ReadError> {
    let mut out = Relocations::default();
    let Some(machine) = machine::of(object.header.target()) else { return Ok(out) };
    if let Some(place) = places.got {
        let Relocations { list, defects } = &mut out;
        got::each(file, &object.header, place, defects, |symbol, class| {
            list.extend(Relocation::new(symbol, class));
        })?;
    }
    let e = endian(object.header.big);
    let tables = [(places.rel, false), (places.rela, true), (places.plt, places.plt_is_rela)];
    for (place, addends) in tables {
        let Some(place) = place else { continue };
        let entry = entry_size(object, addends);
        // The loader goes on while an entry begins inside the table.
        let size = place.size.next_multiple_of(entry);
        if size != place.size {
            let what = "have a size that is no multiple of an entry's";
            out.defects.push(Defect::new(Table::Relocations, place.offset, what));
        }
        // Relative entries look nothing up, and a library may have a million.
        let mut at = place.relative_size(entry).min(size);
        while at < size {
            let want = CHUNK.min(size - at);
            let bytes = read_range(file, place.offset + at, want)?;
            let part = Part { bytes: &bytes, offset: place.offset + at, addends };
            if object.header.is_64 {
                decode::<elf::FileHeader64<Endianness>>(e, machine, &part, &mut out);
            } else {
                decode::<elf::FileHeader32<Endianness>>(e, machine, &part, &mut out);
            }
            if (bytes.len() as u64) < want {
                let end = place.offset.saturating_add(size);
                let what = "end beyond the end of the file";
                out.defects.push(Defect::cut(Table::Relocations, place.offset, end, what));
                break;
            }
            at += want;
        }
    }
    Ok(out)
}

/// Size of one entry, in bytes.
fn entry_size(object: &Object, addends: bool) -> u64 {
    match (object.header.is_64, addends) {
        (true, true) => 24,
        (true, false) => 16,
        (false, true) => 12,
        (false, false) => 8,
    }
}

/// A part of a table.
struct Part<'b> {
    bytes: &'b [u8],
    /// Where in the file it lies.
    offset: u64,
    addends: bool,
}

fn decode<H: FileHeader<Endian = Endianness>>(
    e: Endianness,
    machine: &Machine,
    &Part { bytes, offset, addends }: &Part<'_>,
    out: &mut Relocations,
) {
    let mut unknown = None;
    let mut take = |(at, info): (usize, u64)| {
        let (symbol, kind) = machine.split(info);
        if let Effect::Lookup(class) = machine.effect(kind)
            && symbol != 0
            && let Some(relocation) = Relocation::new(symbol, class)
        {
            out.list.push(relocation);
        }
        if unknown.is_none() && !machine.knows(kind) {
            unknown = Some(at);
        }
    };
    let entry = if addends { size_of::<H::Rela>() } else { size_of::<H::Rel>() };
    let count = bytes.len() / entry;
    if addends {
        if let Ok((list, _)) = object::pod::slice_from_bytes::<H::Rela>(bytes, count) {
            let infos = list.iter().map(|r| r.r_info(e, false).into());
            infos.enumerate().for_each(&mut take);
        }
    } else if let Ok((list, _)) = object::pod::slice_from_bytes::<H::Rel>(bytes, count) {
        let infos = list.iter().map(|r| r.r_info(e).into());
        infos.enumerate().for_each(&mut take);
    }
    let what = "have a type that the loader does not know, and stops at";
    let is_said = out.defects.iter().any(|defect| defect.what == what);
    if let Some(at) = unknown.filter(|_| !is_said) {
        let offset = offset + (at * entry) as u64;
        out.defects.push(Defect::new(Table::Relocations, offset, what));
    }
}
