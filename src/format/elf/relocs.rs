//! Reads relocation tables, only on demand: for unbound references, for a list of all bindings, and
//! for the copied data of programs with many exports. `bind::relocation_pass` visits the
//! relocations in the order of the loader.

use super::got::{self, Got};
use super::machine::{self, Effect, LookupClass, Machine};
use super::{Object, SymbolIndex, header::endian};
use crate::format::{Defect, ReadError, Table, read_range};
use crate::id::FastSet;
use crate::tree::Handle;
use object::read::elf::{FileHeader, Rel, Rela};
use object::{Endianness, elf};

/// Positions of the relocation tables in the file.
#[derive(Debug, Default, Clone, Copy)]
pub struct RelocationTables {
    pub(super) rel: Option<TablePosition>,
    pub(super) rela: Option<TablePosition>,
    pub(super) plt: Option<TablePosition>,
    pub(super) plt_is_rela: bool,
    /// The global entries of the global offset table on MIPS; `None` on other machines.
    pub(super) got: Option<Got>,
}

/// The position of one table: its offset and size in bytes. Also the number of relative entries at
/// the start of the table.
#[derive(Debug, Clone, Copy)]
pub(super) struct TablePosition {
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) relative: u64,
}

impl TablePosition {
    /// Size of the relative entries in bytes, if one entry has `entry` bytes. If the file states a
    /// wrong count, the result may exceed the size of the table.
    fn relative_size(self, entry: u64) -> u64 {
        self.relative.saturating_mul(entry)
    }
}

/// A relocation that looks up a symbol, packed into 32 bits: 30 for the symbol's index, and two for
/// its class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Relocation(u32);

/// Exclusive upper bound of the symbol indices that fit into 30 bits. A symbol table with 2^30
/// entries has at least 16 GiB.
const MOST_SYMBOLS: u32 = 1 << 30;

impl Relocation {
    pub(super) fn new(symbol: SymbolIndex, class: LookupClass) -> Option<Self> {
        let class = match class {
            LookupClass::Plain => 0,
            LookupClass::Plt { slot: false } => 1,
            LookupClass::Plt { slot: true } => 2,
            LookupClass::Copy => 3,
        };
        let symbol = symbol.number();
        (symbol < MOST_SYMBOLS).then_some(Self(symbol << 2 | class))
    }

    /// Index in the dynamic symbol table.
    pub fn symbol(self) -> SymbolIndex {
        SymbolIndex::new(self.0 >> 2)
    }

    /// The way in which the loader looks up the symbol.
    pub fn class(self) -> LookupClass {
        match self.0 & 3 {
            0 => LookupClass::Plain,
            1 => LookupClass::Plt { slot: false },
            2 => LookupClass::Plt { slot: true },
            _ => LookupClass::Copy,
        }
    }
}

/// Bytes of a table that are read at a time: a multiple of every entry size. The buffer fits into a
/// core's cache, and the allocator can return the same pages for each read.
const CHUNK: u64 = 24 * 12 * 224;

/// All relocations of one object that look up symbols, in the order of a loader that binds
/// everything at load (`elf/dynamic-link.h`).
#[derive(Debug, Default)]
pub struct Relocations {
    /// The relocations in the loader's order.
    pub list: Vec<Relocation>,
    /// Defects of the relocation tables, such as a type that the loader does not know.
    pub defects: Vec<Defect>,
}

/// Upper bound, in bytes, for the tables that are read to find a program's copied data.
const MOST_FOR_COPIES: u64 = 64 << 10;

/// The symbols of `object`'s copy relocations; `None` if the tables are too large or have defects.
pub(super) fn copied(
    file: &Handle,
    object: &Object,
) -> Result<Option<FastSet<SymbolIndex>>, ReadError> {
    let places = RelocationTables { got: None, ..object.relocations };
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

/// Reads the relocations of `object` from its file. The list is empty for a machine without known
/// loader rules.
pub fn read(file: &Handle, object: &Object) -> Result<Relocations, ReadError> {
    read_at(file, object, &object.relocations)
}

fn read_at(
    file: &Handle,
    object: &Object,
    places: &RelocationTables,
) -> Result<Relocations, ReadError> {
    let mut out = Relocations::default();
    let Some(machine) = machine::of(object.header.target()) else { return Ok(out) };
    if let Some(place) = places.got {
        let Relocations { list, defects } = &mut out;
        got::each(file, &object.header, place, defects, |symbol, class| {
            list.extend(Relocation::new(symbol, class));
        })?;
    }
    let e = endian(object.header.big);
    let joined = rela_with_plt(file, object, places);
    let plt = places.plt.filter(|_| joined.is_none());
    let rela = joined.or(places.rela);
    for (place, addends) in [(places.rel, false), (rela, true), (plt, places.plt_is_rela)] {
        let Some(place) = place else { continue };
        let entry = entry_size(object, addends);
        // The loader also processes a last entry that starts inside the table and ends outside.
        let size = place.size.next_multiple_of(entry);
        if size != place.size {
            let what = "have a size that is no multiple of an entry's";
            out.defects.push(Defect::new(Table::Relocations, place.offset, what));
        }
        // Relative entries look up no symbol, so they are skipped. A library may have a million of
        // them.
        let mut at = place.relative_size(entry).min(size);
        while at < size {
            let want = CHUNK.min(size - at);
            let bytes = read_range(file, place.offset + at, want)?;
            let part = TablePart { bytes: &bytes, offset: place.offset + at, addends };
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

/// DT_RELA and DT_JMPREL as one table, which one `pread` can read. `None` unless all of this holds:
///
/// - Both tables have addends.
/// - DT_JMPREL starts where DT_RELA ends.
/// - Both tables consist of whole entries inside the file.
/// - DT_RELACOUNT does not exceed the entries of DT_RELA.
fn rela_with_plt(
    file: &Handle,
    object: &Object,
    places: &RelocationTables,
) -> Option<TablePosition> {
    let (rela, plt) = places.rela.zip(places.plt).filter(|_| places.plt_is_rela)?;
    let entry = entry_size(object, true);
    let is_whole = |place: TablePosition| place.size.is_multiple_of(entry);
    let size = rela.size.checked_add(plt.size)?;
    let fits = rela.offset.checked_add(size)? <= file.stat().len;
    let follows = rela.offset + rela.size == plt.offset;
    let all_relative = rela.relative_size(entry) > rela.size;
    let joined = fits && follows && is_whole(rela) && is_whole(plt) && !all_relative;
    joined.then_some(TablePosition { size, ..rela })
}

/// Size of one entry in bytes, with or without an addend.
fn entry_size(object: &Object, addends: bool) -> u64 {
    match (object.header.is_64, addends) {
        (true, true) => 24,
        (true, false) => 16,
        (false, true) => 12,
        (false, false) => 8,
    }
}

/// A part of a relocation table.
struct TablePart<'b> {
    bytes: &'b [u8],
    /// File offset of the part.
    offset: u64,
    addends: bool,
}

/// A relocation type, and how the loader of the machine handles it.
struct RelocationKind {
    number: u32,
    effect: Effect,
    is_known: bool,
}

impl RelocationKind {
    fn of(machine: &Machine, number: u32) -> Self {
        Self { number, effect: machine.effect(number), is_known: machine.knows(number) }
    }
}

/// Decodes the entries of one part.
struct Decoder<'m> {
    machine: &'m Machine,
    /// The type of the preceding entry. Entries of one type are usually adjacent.
    last: RelocationKind,
    /// Index, within the part, of the first entry whose type the loader does not know.
    unknown: Option<usize>,
}

impl<'m> Decoder<'m> {
    fn new(machine: &'m Machine) -> Self {
        Self { machine, last: RelocationKind::of(machine, 0), unknown: None }
    }

    #[inline]
    fn take(&mut self, at: usize, info: u64, list: &mut Vec<Relocation>) {
        let (symbol, kind) = self.machine.split(info);
        if kind != self.last.number {
            self.last = RelocationKind::of(self.machine, kind);
        }
        if let Effect::Lookup(class) = self.last.effect
            && symbol != 0
            && let Some(relocation) = Relocation::new(SymbolIndex::new(symbol), class)
        {
            list.push(relocation);
        }
        if !self.last.is_known && self.unknown.is_none() {
            self.unknown = Some(at);
        }
    }
}

fn decode<H: FileHeader<Endian = Endianness>>(
    e: Endianness,
    machine: &Machine,
    &TablePart { bytes, offset, addends }: &TablePart<'_>,
    out: &mut Relocations,
) {
    let mut decoder = Decoder::new(machine);
    let entry = if addends { size_of::<H::Rela>() } else { size_of::<H::Rel>() };
    let count = bytes.len() / entry;
    out.list.reserve(count);
    if addends {
        if let Ok((list, _)) = object::pod::slice_from_bytes::<H::Rela>(bytes, count) {
            for (at, relocation) in list.iter().enumerate() {
                decoder.take(at, relocation.r_info(e, false).into(), &mut out.list);
            }
        }
    } else if let Ok((list, _)) = object::pod::slice_from_bytes::<H::Rel>(bytes, count) {
        for (at, relocation) in list.iter().enumerate() {
            decoder.take(at, relocation.r_info(e).into(), &mut out.list);
        }
    }
    let what = "have a type that the loader does not know, and stops at";
    let is_said = out.defects.iter().any(|defect| defect.what == what);
    if let Some(at) = decoder.unknown.filter(|_| !is_said) {
        let offset = offset + (at * entry) as u64;
        out.defects.push(Defect::new(Table::Relocations, offset, what));
    }
}
