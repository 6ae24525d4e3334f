//! The symbol table that a linker leaves in a library or program for debuggers (`.symtab`). Unlike
//! the dynamic symbol table, it also has local symbols. Loaders ignore `.symtab`, and `strip`
//! removes it. Only `fix` reads it, to find names that new archive members would define a second
//! time. `fix --minimal` also uses it to find which definitions the file already contains.

use super::{Header, header::endian};
use crate::format::{ReadError, c_string, read_range};
use crate::tree::Handle;
use object::read::elf::{FileHeader, SectionHeader, Sym};
use object::{Endianness, elf};

/// Upper bound, in bytes, for the section headers. Larger section headers are not read.
const MOST_HEADERS: u64 = 64 << 20;
/// Upper bound, in bytes, for one table. A larger table is read only up to this bound.
const MOST_TABLE: u64 = 1 << 30;

/// A symbol that a linked file defines.
pub struct LinkedSymbol<'n> {
    /// The name of the symbol.
    pub name: &'n [u8],
    /// Its binding in the linked file.
    pub bind: elf::SymbolBind,
    /// Its type, such as STT_OBJECT.
    pub kind: elf::SymbolType,
    /// Its value (st_value), usually an address.
    pub value: u64,
    /// True if the symbol was also local in the object from which the file was linked: linkers make
    /// hidden symbols local too. `None` if this is unknown.
    pub was_local: Option<bool>,
}

/// Calls `visit` with every symbol that the file defines, except symbols of the types STT_SECTION
/// and STT_FILE. Returns false if the file has no usable symbol table.
pub fn each_defined(file: &Handle, visit: impl FnMut(LinkedSymbol<'_>)) -> Result<bool, ReadError> {
    let head = read_range(file, 0, 64)?;
    match Header::parse(&head) {
        Some(header) if header.is_64 => {
            each::<elf::FileHeader64<Endianness>>(file, &head, &header, visit)
        }
        Some(header) => each::<elf::FileHeader32<Endianness>>(file, &head, &header, visit),
        None => Ok(false),
    }
}

fn each<H: FileHeader<Endian = Endianness>>(
    file: &Handle,
    head: &[u8],
    header: &Header,
    mut visit: impl FnMut(LinkedSymbol<'_>),
) -> Result<bool, ReadError> {
    let e = endian(header.big);
    let Ok((raw, _)) = object::pod::from_bytes::<H>(head) else { return Ok(false) };
    let offset: u64 = raw.e_shoff(e).into();
    let each = size_of::<H::SectionHeader>() as u64;
    // With 65,280 section headers or more, sh_size of the first one is their number.
    let count = match raw.e_shnum(e) {
        0 if offset != 0 => {
            let first = read_range(file, offset, each)?;
            let first = object::pod::from_bytes::<H::SectionHeader>(&first);
            first.map_or(0, |(first, _)| first.sh_size(e).into())
        }
        count => u64::from(count),
    };
    let size = count.saturating_mul(each);
    if offset == 0 || size > MOST_HEADERS {
        return Ok(false);
    }
    let bytes = read_range(file, offset, size)?;
    let count = usize::try_from(count).unwrap_or(0);
    let Ok((sections, _)) = object::pod::slice_from_bytes::<H::SectionHeader>(&bytes, count) else {
        return Ok(false);
    };
    let table = sections.iter().find(|section| section.sh_type(e) == elf::SHT_SYMTAB);
    let names = table.and_then(|table| sections.get(table.sh_link(e) as usize));
    let Some((table, names)) = table.zip(names) else { return Ok(false) };
    let read = |section: &H::SectionHeader| {
        let size: u64 = section.sh_size(e).into();
        read_range(file, section.sh_offset(e).into(), size.min(MOST_TABLE))
    };
    let (table, names) = (read(table)?, read(names)?);
    let count = table.len() / size_of::<H::Sym>();
    let Ok((symbols, _)) = object::pod::slice_from_bytes::<H::Sym>(&table, count) else {
        return Ok(false);
    };
    let name = |symbol: &H::Sym| c_string(&names, symbol.st_name(e) as usize).unwrap_or_default();
    // GNU ld writes an STT_FILE symbol without a name after the local symbols of the objects, and
    // before the global symbols that it made local (`elf_link_output_extsym` in `bfd/elflink.c`).
    let last_file = symbols.iter().rposition(|symbol| symbol.st_type() == elf::STT_FILE);
    let own_end = last_file.filter(|at| *at > 0 && name(&symbols[*at]).is_empty());
    for (at, symbol) in symbols.iter().enumerate() {
        let kind = symbol.st_type();
        let is_symbol = kind != elf::STT_SECTION && kind != elf::STT_FILE;
        if is_symbol && symbol.st_shndx(e) != elf::SHN_UNDEF {
            let bind = symbol.st_bind();
            let may_be_own = bind == elf::STB_LOCAL && symbol.st_visibility() == elf::STV_DEFAULT;
            let was_local = if may_be_own { own_end.map(|end| at < end) } else { Some(false) };
            let value = symbol.st_value(e).into();
            visit(LinkedSymbol { name: name(symbol), bind, kind, value, was_local });
        }
    }
    Ok(count > 1)
}
