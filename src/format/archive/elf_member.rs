//! Reads the global symbols of one ELF member. Assemblers put the header of the symbol table near
//! the end, so the last section headers are read first. If the symbol table is not among them,
//! all section headers are read. Apart from headers, only the symbol table and its string table
//! are read.
//!
//! `read` and `symbols` are the callers.

use super::members::SymbolValue;
use crate::format::{Defect, ReadError, Table, in_memory};
use crate::tree::Handle;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, elf};

/// Number of section headers that are read first.
const LAST: u64 = 4;
/// Two parts of a file are read together if the gap between them has at most this many bytes.
const GAP: u64 = 4096;

/// Initial capacity of a buffer, in bytes. Pages that are never touched cost no memory.
const ROOM: usize = 8 << 20;
/// Limit, in bytes, for the kept tables: about half of a core's private cache. At this size, the
/// archive reader looks up the definitions of the kept members and reuses the memory.
const MOST_KEPT: usize = 512 << 10;

/// Machine-specific section indices of tentative definitions (`elf_backend_add_symbol_hook` in GNU
/// ld).
const MACHINE_COMMON: [(elf::Machine, elf::SymbolSection); 4] = [
    // SHN_X86_64_LCOMMON
    (elf::EM_X86_64, elf::SymbolSection(0xff02)),
    (elf::EM_MIPS, elf::SHN_MIPS_SCOMMON),
    (elf::EM_PARISC, elf::SHN_PARISC_ANSI_COMMON),
    (elf::EM_PARISC, elf::SHN_PARISC_HUGE_COMMON),
];

/// True if `machine` uses this section index for tentative definitions.
pub(super) fn is_machine_common(machine: elf::Machine, section: elf::SymbolSection) -> bool {
    MACHINE_COMMON.contains(&(machine, section))
}

/// The position of an object: a file, with the offset and the size of the object in bytes. The
/// object is the data of a member or the whole file.
#[derive(Clone, Copy)]
pub(super) struct SymbolTableRange<'f> {
    pub(super) file: &'f Handle,
    pub(super) base: u64,
    pub(super) size: u64,
}

/// Memory that is reused for all members. The current content is `len` bytes from `start` on. The
/// bytes before `start` are tables of earlier members, which must not be overwritten yet.
#[derive(Default)]
struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    len: usize,
}

impl Buffer {
    fn get(&self) -> &[u8] {
        self.bytes.get(self.start..self.start + self.len).unwrap_or_default()
    }
}

/// Buffers that all members reuse.
#[derive(Default)]
pub(super) struct Buffers {
    sections: Buffer,
    tables: Buffer,
    names: Buffer,
}

/// The global entries of a symbol table, and the string table with their names.
pub(super) struct Raw<'b> {
    pub(super) symbols: &'b [u8],
    pub(super) strings: &'b [u8],
    /// Offset of the string table in the file, in bytes.
    pub(super) strings_at: u64,
    /// Offset that the string table gets in [`Buffers::kept`]. `None` if the string table does
    /// not closely follow the symbol table: such tables are not kept.
    pub(super) kept_at: Option<usize>,
}

/// One global entry of the symbol table, with its name.
pub(super) struct RawSymbol<'b> {
    /// Its name. The suffix of a default version (`@@VERSION`) is removed.
    pub(super) name: &'b [u8],
    /// Offset of the name in the string table.
    pub(super) start: u32,
    /// The version with `@` or `@@` before it; empty if the symbol has none.
    pub(super) version: &'b [u8],
    pub(super) bind: elf::SymbolBind,
    pub(super) value: SymbolValue,
    pub(super) section: elf::SymbolSection,
    pub(super) other: u8,
}

/// The fields of a section header that the reader needs. `each` is `sh_entsize`.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberSection {
    pub(super) kind: elf::SectionType,
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) link: u32,
    pub(super) info: u32,
    pub(super) each: u64,
}

/// The section headers of an object: their offset in the object, their number, and the size of each
/// in bytes.
#[derive(Clone, Copy)]
struct Headers {
    offset: u64,
    count: u64,
    each: u64,
}

// The inner error is a defect of the object; the outer error, a failed read.
type MemberResult<T> = Result<Result<T, Defect>, ReadError>;

/// Unwraps a value, or returns its defect from the function.
macro_rules! ok {
    ($value:expr) => {
        match $value {
            Ok(value) => value,
            Err(defect) => return Ok(Err(defect)),
        }
    };
}

impl SymbolTableRange<'_> {
    fn defect(&self, table: Table, offset: u64, what: &'static str) -> Defect {
        Defect::new(table, self.base.saturating_add(offset), what)
    }

    /// True if `size` bytes at `offset` are inside the object.
    fn holds(&self, offset: u64, size: u64) -> bool {
        offset.checked_add(size).is_some_and(|end| end <= self.size)
    }

    /// Fills `buffer` with `size` bytes at `offset`, or with fewer if the file ends earlier.
    fn fill(&self, buffer: &mut Buffer, offset: u64, size: u64) -> Result<(), ReadError> {
        let at = self.base.saturating_add(offset);
        let present = size.min(self.file.stat().len.saturating_sub(at));
        let end = buffer.start + in_memory(present)?;
        if buffer.bytes.len() < end {
            // A buffer that grows in small steps would move to fresh pages at each step.
            buffer.bytes.reserve(ROOM.max(end) - buffer.bytes.len());
            buffer.bytes.resize(end, 0);
        }
        buffer.len = self.file.read_at(&mut buffer.bytes[buffer.start..end], at)?;
        Ok(())
    }
}

impl Buffers {
    /// Keeps the tables that [`Self::load`] returned last: the next object does not overwrite them.
    /// Returns true if the kept tables have reached `MOST_KEPT` bytes. The caller must then look up
    /// their definitions and call [`Self::release`].
    pub(super) fn keep(&mut self) -> bool {
        self.tables.start += std::mem::take(&mut self.tables.len);
        self.tables.start >= MOST_KEPT
    }

    /// The bytes of the tables that [`Self::keep`] protects.
    pub(super) fn kept(&self) -> &[u8] {
        self.tables.bytes.get(..self.tables.start).unwrap_or_default()
    }

    /// Lets the next object overwrite the kept tables.
    pub(super) fn release(&mut self) {
        (self.tables.start, self.tables.len) = (0, 0);
    }

    /// Reads the symbol table of the object at `place`, and its string table; `None` if the
    /// object has no symbol table. `head` begins with the object's ELF header. If the section
    /// headers are near the end of the object, one read gets them and the `beyond` bytes after
    /// the object. The bytes after the object are added to `next`.
    pub(super) fn load<H: FileHeader<Endian = Endianness>>(
        &mut self,
        place: SymbolTableRange<'_>,
        head: &[u8],
        beyond: u64,
        next: &mut Vec<u8>,
    ) -> MemberResult<Option<Raw<'_>>> {
        let headers = ok!(self.headers::<H>(place, head)?);
        let Some((headers, e)) = headers else { return Ok(Ok(None)) };
        let found = ok!(self.symbol_table::<H>(place, headers, e, beyond, next)?);
        let Some((table, strings)) = found else { return Ok(Ok(None)) };
        let each = size_of::<H::Sym>() as u64;
        if table.each != each {
            let what = "has an entry size that no linker takes";
            return Ok(Err(place.defect(Table::MemberSymbols, table.offset, what)));
        }
        let first = u64::from(table.info).checked_mul(each);
        let Some(first) = first.filter(|first| *first <= table.size) else {
            let what = "claims more local symbols than it has symbols";
            return Ok(Err(place.defect(Table::MemberSymbols, table.offset, what)));
        };
        if !place.holds(table.offset, table.size) {
            let what = "ends beyond the end of the object";
            return Ok(Err(place.defect(Table::MemberSymbols, table.offset, what)));
        }
        if !place.holds(strings.offset, strings.size) {
            let what = "ends beyond the end of the object";
            return Ok(Err(place.defect(Table::MemberStrings, strings.offset, what)));
        }
        let (start, size) = (table.offset + first, table.size - first);
        let end = start + size;
        let strings_at = place.base.saturating_add(strings.offset);
        if strings.offset >= end && strings.offset - end <= GAP {
            place.fill(&mut self.tables, start, strings.offset + strings.size - start)?;
            let at = in_memory(strings.offset - start)?;
            let size = in_memory(size)?;
            let read = {
                let all = self.tables.get();
                all.get(..size).zip(all.get(at..))
            };
            let what = "could not be read whole";
            let cut = || place.defect(Table::MemberSymbols, start, what);
            let kept_at = Some(self.tables.start + at);
            return Ok(read
                .map(|(symbols, strings)| Some(Raw { symbols, strings, strings_at, kept_at }))
                .ok_or_else(cut));
        }
        place.fill(&mut self.tables, start, size)?;
        place.fill(&mut self.names, strings.offset, strings.size)?;
        let (symbols, strings) = (self.tables.get(), self.names.get());
        Ok(Ok(Some(Raw { symbols, strings, strings_at, kept_at: None })))
    }

    /// The extent of the section headers; `None` if there are none.
    fn headers<H: FileHeader<Endian = Endianness>>(
        &mut self,
        place: SymbolTableRange<'_>,
        head: &[u8],
    ) -> MemberResult<Option<(Headers, Endianness)>> {
        let header = object::pod::from_bytes::<H>(head).ok().map(|(header, _)| header);
        let Some((header, e)) = header.and_then(|header| Some((header, header.endian().ok()?)))
        else {
            return Ok(Err(place.defect(Table::ElfHeader, 0, "cannot be read")));
        };
        let offset: u64 = header.e_shoff(e).into();
        if offset == 0 {
            return Ok(Ok(None));
        }
        let each = size_of::<H::SectionHeader>() as u64;
        let mut count = u64::from(header.e_shnum(e));
        if usize::from(header.e_shentsize(e)) != size_of::<H::SectionHeader>() {
            let what = "claims section headers of another size";
            return Ok(Err(place.defect(Table::ElfHeader, 0, what)));
        }
        if !place.holds(offset, each) {
            let what = "begin beyond the end of the object";
            return Ok(Err(place.defect(Table::SectionHeaders, offset, what)));
        }
        if count == 0 {
            // If the object has 65,280 sections or more, the first section header has their
            // number.
            place.fill(&mut self.sections, offset, each)?;
            count = section::<H>(self.sections.get(), 0, e).map_or(0, |first| first.size);
        }
        if !count.checked_mul(each).is_some_and(|size| place.holds(offset, size)) {
            let what = "end beyond the end of the object";
            return Ok(Err(place.defect(Table::SectionHeaders, offset, what)));
        }
        Ok(Ok(Some((Headers { offset, count, each }, e))))
    }

    /// The section headers of the symbol table and of its string table; `None` if there is no
    /// symbol table.
    fn symbol_table<H: FileHeader<Endian = Endianness>>(
        &mut self,
        place: SymbolTableRange<'_>,
        headers: Headers,
        e: Endianness,
        beyond: u64,
        next: &mut Vec<u8>,
    ) -> MemberResult<Option<(MemberSection, MemberSection)>> {
        let Headers { offset, count, each } = headers;
        let end = offset + count * each;
        let mut first = count.saturating_sub(LAST);
        // If the section headers are near the end of the object, one read also gets the bytes
        // after the object.
        let behind = (place.size & 1) + beyond;
        let along = if place.size - end <= GAP { place.size - end + behind } else { 0 };
        let start = offset + first * each;
        place.fill(&mut self.sections, start, end - start + along)?;
        if along > 0 {
            let at = in_memory(place.size + (place.size & 1) - start)?;
            next.extend_from_slice(self.sections.get().get(at..).unwrap_or_default());
        }
        let mut at = find::<H>(self.sections.get(), count - first, e);
        if at.is_none() && first > 0 {
            first = 0;
            place.fill(&mut self.sections, offset, count * each)?;
            at = find::<H>(self.sections.get(), count, e);
        }
        let Some(table) = at.and_then(|at| section::<H>(self.sections.get(), at, e)) else {
            return Ok(Ok(None));
        };
        let link = u64::from(table.link);
        let strings = if link >= first && link < count {
            section::<H>(self.sections.get(), link - first, e)
        } else if link < count {
            let mut one = Buffer::default();
            place.fill(&mut one, offset + link * each, each)?;
            section::<H>(one.get(), 0, e)
        } else {
            None
        };
        let what = "names no string table";
        let absent = || place.defect(Table::MemberSymbols, table.offset, what);
        Ok(strings
            .filter(|s| s.kind == elf::SHT_STRTAB)
            .map(|s| Some((table, s)))
            .ok_or_else(absent))
    }
}

/// The index of the last SHT_SYMTAB header among the first `count` headers in `bytes`; `None` if
/// there is none.
fn find<H: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    count: u64,
    e: Endianness,
) -> Option<u64> {
    (0..count).rev().find(|at| {
        section::<H>(bytes, *at, e).is_some_and(|section| section.kind == elf::SHT_SYMTAB)
    })
}

/// The section header with the index `at` in `bytes`; `None` if `bytes` ends before the header
/// does.
pub(super) fn section<H: FileHeader<Endian = Endianness>>(
    bytes: &[u8],
    at: u64,
    e: Endianness,
) -> Option<MemberSection> {
    let start = usize::try_from(at).ok()?.checked_mul(size_of::<H::SectionHeader>())?;
    let (raw, _) = object::pod::from_bytes::<H::SectionHeader>(bytes.get(start..)?).ok()?;
    Some(MemberSection {
        kind: raw.sh_type(e),
        offset: raw.sh_offset(e).into(),
        size: raw.sh_size(e).into(),
        link: raw.sh_link(e),
        info: raw.sh_info(e),
        each: raw.sh_entsize(e).into(),
    })
}

/// Calls `take` with every global symbol that has a name. Returns false if a name lies outside the
/// string table.
pub(super) fn each_symbol<'b, H: FileHeader<Endian = Endianness>>(
    raw: &Raw<'b>,
    e: Endianness,
    mut take: impl FnMut(RawSymbol<'b>),
) -> bool {
    let count = raw.symbols.len() / size_of::<H::Sym>();
    let Ok((symbols, _)) = object::pod::slice_from_bytes::<H::Sym>(raw.symbols, count) else {
        return false;
    };
    let mut whole = true;
    for symbol in symbols {
        let bind = symbol.st_bind();
        if bind == elf::STB_LOCAL || symbol.st_name(e) == 0 {
            continue;
        }
        let start = symbol.st_name(e);
        let text = raw.strings.get(start as usize..);
        let Some((name, version)) = text.and_then(stem_and_version) else {
            whole = false;
            continue;
        };
        let value = SymbolValue::of(symbol.st_type());
        let (section, other) = (symbol.st_shndx(e), symbol.st_other());
        take(RawSymbol { name, start, version, bind, value, section, other: other.0 });
    }
    whole
}

/// The name at the start of `text`, up to its NUL; `None` if there is no NUL. The suffix of a
/// default version is removed, as in lld (`SymbolTable::insert`): `NAME@@VERSION` becomes `NAME`.
pub(super) fn stem(text: &[u8]) -> Option<&[u8]> {
    stem_and_version(text).map(|(name, _)| name)
}

/// Like [`stem`], with the version and the `@` or `@@` before it. The version is empty if the name
/// has none.
fn stem_and_version(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let end = memchr::memchr2(0, b'@', text)?;
    if text[end] == 0 {
        return Some((&text[..end], b""));
    }
    let nul = end + memchr::memchr(0, &text[end..])?;
    let version = &text[end..nul];
    Some((&text[..if version.starts_with(b"@@") { end } else { nul }], version))
}
