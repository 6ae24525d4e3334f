//! Reads the symbols of an LLVM bitcode file from the table that LLVM writes for linkers
//! (`llvm/Object/IRSymtab.h`). The table is the blob of SYMTAB_BLOCK, and its names are in
//! STRTAB_BLOCK. No other blocks are read (`llvm/Bitstream/BitstreamReader.h`). `read` is the
//! caller.

use super::members::SymbolKind;

/// `BITCODE_WRAPPER_MAGIC`
const WRAPPER: &[u8] = b"\xde\xc0\x17\x0b";
/// `STRTAB_BLOCK_ID`
const STRTAB: u64 = 23;
/// `SYMTAB_BLOCK_ID`
const SYMTAB: u64 = 25;
/// Versions of the table with the layout that `parse` reads (`storage::Header::kCurrentVersion`).
const VERSIONS: std::ops::RangeInclusive<u32> = 0..=3;
/// Offset of the symbol range in the table's header, after version, producer, modules and COMDATs.
const SYMBOLS: usize = 4 + 8 + 8 + 8;
/// Size of a symbol in bytes: two strings, a COMDAT, flags.
const SYMBOL: usize = 24;
/// Offset of the range of dependent libraries in the table's header, after the symbols, the common
/// symbols, the target triple, the name of the source file and the linker options of COFF.
const LIBRARIES: usize = SYMBOLS + 8 + 8 + 8 + 8 + 8;
/// The first version of the table that lists dependent libraries.
const FIRST_WITH_LIBRARIES: u32 = 2;
/// Size of a string in bytes: its offset and its length.
const STRING: usize = 8;
/// Upper bound for the abbreviations of one block and for the operands of one abbreviation.
const MOST: usize = 64;

/// A symbol of an object in intermediate language.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LtoSymbol<'b> {
    pub(super) name: &'b [u8],
    pub(super) kind: SymbolKind,
    /// Visibility, as in ELF: a value such as STV_HIDDEN.
    pub(super) visibility: u8,
    pub(super) function: bool,
}

/// The global symbols of a bitcode file; `None` if its symbol table is missing or cannot be read.
pub(super) fn symbols(file: &[u8]) -> Option<Vec<LtoSymbol<'_>>> {
    let (table, strings) = tables(file)?;
    parse(table, strings)
}

/// The dependent libraries of a bitcode file; `None` if its symbol table is missing or cannot be
/// read.
pub(super) fn libraries(file: &[u8]) -> Option<Vec<&[u8]>> {
    let (table, strings) = tables(file)?;
    let version = word(table, 0)?;
    if !VERSIONS.contains(&version) {
        return None;
    }
    if version < FIRST_WITH_LIBRARIES {
        return Some(Vec::new());
    }
    let (start, count) = (word(table, LIBRARIES)? as usize, word(table, LIBRARIES + 4)? as usize);
    let all = table.get(start..start.checked_add(count.checked_mul(STRING)?)?)?;
    let text = |place: &[u8]| {
        let (at, len) = (word(place, 0)? as usize, word(place, 4)? as usize);
        strings.get(at..at.checked_add(len)?)
    };
    all.chunks_exact(STRING).map(text).collect()
}

/// The symbol table of a bitcode file, and the strings with its names.
fn tables(file: &[u8]) -> Option<(&[u8], &[u8])> {
    let file = unwrapped(file)?;
    let (mut table, mut strings) = (None, None);
    let mut bits = Bits { bytes: file, at: 32 };
    while bits.at + 32 <= file.len() * 8 {
        if bits.fixed(2)? != 1 {
            break;
        }
        let (block, width) = (bits.vbr(8)?, bits.vbr(4)?);
        bits.align()?;
        let end =
            bits.at.checked_add(32)?.checked_add(usize::try_from(bits.fixed(32)?).ok()? * 32)?;
        match block {
            STRTAB => strings = Some(blob(bits, end, width)?),
            SYMTAB => table = Some(blob(bits, end, width)?),
            _ => {}
        }
        bits.at = end;
    }
    table.zip(strings)
}

fn unwrapped(file: &[u8]) -> Option<&[u8]> {
    if !file.starts_with(WRAPPER) {
        return Some(file);
    }
    let (offset, size) = (word(file, 8)? as usize, word(file, 12)? as usize);
    file.get(offset..offset.checked_add(size)?)
}

fn word(bytes: &[u8], at: usize) -> Option<u32> {
    let raw = bytes.get(at..at.checked_add(4)?)?;
    Some(u32::from_le_bytes(raw.try_into().ok()?))
}

fn parse<'b>(table: &'b [u8], strings: &'b [u8]) -> Option<Vec<LtoSymbol<'b>>> {
    if !VERSIONS.contains(&word(table, 0)?) {
        return None;
    }
    let (start, count) = (word(table, SYMBOLS)? as usize, word(table, SYMBOLS + 4)? as usize);
    let all = table.get(start..start.checked_add(count.checked_mul(SYMBOL)?)?)?;
    let mut out = Vec::new();
    for symbol in all.chunks_exact(SYMBOL) {
        let (at, len) = (word(symbol, 0)? as usize, word(symbol, 4)? as usize);
        let name = strings.get(at..at.checked_add(len)?)?;
        let flags = word(symbol, 20)?;
        let is = |bit: u32| flags & (1 << bit) != 0;
        // Keeps `FB_global` without `FB_format_specific`: `llvm.used` is not a symbol for linkers.
        if !is(10) || is(11) {
            continue;
        }
        let kind = match (is(3), is(4), is(5)) {
            (true, true, _) => SymbolKind::WeakUndefined,
            (true, false, _) => SymbolKind::Undefined,
            (false, _, true) => SymbolKind::Common,
            (false, true, false) => SymbolKind::Weak,
            (false, false, false) => SymbolKind::Strong,
        };
        // `GlobalValue::VisibilityTypes`: default, hidden, protected.
        let visibility = match flags & 3 {
            1 => 2,
            2 => 3,
            _ => 0,
        };
        out.push(LtoSymbol { name, kind, visibility, function: is(12) });
    }
    Some(out)
}

/// The encoding of an operand.
#[derive(Clone, Copy)]
enum Operand {
    Literal,
    Fixed(u64),
    Vbr(u64),
    Array,
    Char6,
    Blob,
}

/// The content of the first blob in a block. The block extends from the position of `bits` to bit
/// `end`, and its abbreviation ids have `width` bits. `None` if a nested block, an array or the
/// end of the block comes before the first blob.
fn blob(mut bits: Bits<'_>, end: usize, width: u64) -> Option<&[u8]> {
    let mut abbreviations: Vec<Vec<Operand>> = Vec::new();
    while bits.at < end {
        match bits.fixed(width)? {
            0 | 1 => return None,
            2 => {
                let abbreviation = bits.abbreviation()?;
                abbreviations.push(abbreviation);
                if abbreviations.len() > MOST {
                    return None;
                }
            }
            3 => {
                bits.vbr(6)?;
                for _ in 0..bits.vbr(6)? {
                    bits.vbr(6)?;
                }
            }
            id => {
                let place = usize::try_from(id).ok()?.checked_sub(4)?;
                for operand in abbreviations.get(place)? {
                    match operand {
                        Operand::Literal => {}
                        Operand::Fixed(size) => drop(bits.fixed(*size)?),
                        Operand::Vbr(size) => drop(bits.vbr(*size)?),
                        Operand::Char6 => drop(bits.fixed(6)?),
                        Operand::Array => return None,
                        Operand::Blob => return bits.blob(),
                    }
                }
            }
        }
    }
    None
}

/// A stream of bits, the lowest bit of each byte first.
#[derive(Clone, Copy)]
struct Bits<'b> {
    bytes: &'b [u8],
    at: usize,
}

impl<'b> Bits<'b> {
    fn fixed(&mut self, size: u64) -> Option<u64> {
        let mut out = 0;
        for bit in 0..size.min(64) {
            let byte = self.bytes.get(self.at / 8)?;
            out |= u64::from(byte >> (self.at % 8) & 1) << bit;
            self.at += 1;
        }
        Some(out)
    }

    fn vbr(&mut self, size: u64) -> Option<u64> {
        if !(2..=32).contains(&size) {
            return None;
        }
        let (mut out, mut shift) = (0_u64, 0);
        loop {
            let piece = self.fixed(size)?;
            let more = 1 << (size - 1);
            out |= (piece & (more - 1)).checked_shl(shift)?;
            if piece & more == 0 {
                return Some(out);
            }
            shift += u32::try_from(size).ok()? - 1;
            if shift >= 64 {
                return None;
            }
        }
    }

    fn align(&mut self) -> Option<()> {
        self.at = self.at.checked_next_multiple_of(32)?;
        Some(())
    }

    fn abbreviation(&mut self) -> Option<Vec<Operand>> {
        let count = usize::try_from(self.vbr(5)?).ok().filter(|count| *count <= MOST)?;
        let mut out = Vec::new();
        for _ in 0..count {
            if self.fixed(1)? == 1 {
                self.vbr(8)?;
                out.push(Operand::Literal);
                continue;
            }
            out.push(match self.fixed(3)? {
                1 => Operand::Fixed(self.vbr(5)?),
                2 => Operand::Vbr(self.vbr(5)?),
                3 => Operand::Array,
                4 => Operand::Char6,
                5 => Operand::Blob,
                _ => return None,
            });
        }
        Some(out)
    }

    fn blob(&mut self) -> Option<&'b [u8]> {
        let len = usize::try_from(self.vbr(6)?).ok()?;
        self.align()?;
        let start = self.at / 8;
        self.bytes.get(start..start.checked_add(len)?)
    }
}
