//! Reads the symbols of an object that has only GCC's intermediate language. GCC writes these
//! symbols for linker plugins, in sections of their own (`lto-plugin/lto-plugin.c`,
//! `parse_table_entry`). `read` is the caller.

use super::bitcode::LtoSymbol;
use super::gcc_builtins::mentioned;
use super::members::SymbolKind;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// Prefix of the names of symbol sections. Each translation unit has one such section, and a hash
/// follows the prefix.
const SECTION: &[u8] = b".gnu.lto_.symtab.";
/// Number of bytes after the two names of an entry: kind, visibility, size, slot.
const REST: usize = 1 + 1 + 8 + 4;

/// The global symbols of the object `file`. `None` if it has no symbol section, or if one is
/// damaged.
pub(super) fn symbols(file: &[u8]) -> Option<Vec<LtoSymbol<'_>>> {
    if file.get(4) == Some(&elf::ELFCLASS64.0) {
        of_class::<elf::FileHeader64<Endianness>>(file)
    } else {
        of_class::<elf::FileHeader32<Endianness>>(file)
    }
}

/// The functions of the C library to which the object may refer without a symbol in its table.
pub(super) fn unlisted(file: &[u8]) -> Vec<&'static str> {
    if file.get(4) == Some(&elf::ELFCLASS64.0) {
        mentioned::<elf::FileHeader64<Endianness>>(file)
    } else {
        mentioned::<elf::FileHeader32<Endianness>>(file)
    }
}

fn of_class<H: FileHeader<Endian = Endianness>>(file: &[u8]) -> Option<Vec<LtoSymbol<'_>>> {
    let header = H::parse(file).ok()?;
    let e = header.endian().ok()?;
    let sections = header.sections(e, file).ok()?;
    let mut out = None;
    for section in sections.iter() {
        let name = sections.section_name(e, section).unwrap_or_default();
        if name.starts_with(SECTION) {
            table(section.data(e, file).ok()?, out.get_or_insert_default())?;
        }
    }
    out
}

fn table<'f>(mut bytes: &'f [u8], out: &mut Vec<LtoSymbol<'f>>) -> Option<()> {
    while !bytes.is_empty() {
        let name = text(&mut bytes)?;
        text(&mut bytes)?;
        let (rest, behind) = bytes.split_at_checked(REST)?;
        bytes = behind;
        // `enum gcc_plugin_symbol_kind`
        let kind = match rest.first()? {
            0 => SymbolKind::Strong,
            1 => SymbolKind::Weak,
            2 => SymbolKind::Undefined,
            3 => SymbolKind::WeakUndefined,
            4 => SymbolKind::Common,
            _ => return None,
        };
        // `enum gcc_plugin_symbol_visibility`: default, protected, internal, hidden.
        let visibility = match rest.get(1)? {
            1 => 3,
            2 => 1,
            3 => 2,
            _ => 0,
        };
        out.push(LtoSymbol { name, kind, visibility, function: false });
    }
    Some(())
}

fn text<'f>(bytes: &mut &'f [u8]) -> Option<&'f [u8]> {
    let end = memchr::memchr(0, bytes)?;
    let (text, rest) = bytes.split_at(end);
    *bytes = &rest[1..];
    Some(text)
}
