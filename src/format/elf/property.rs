//! Reads two properties of an object from its notes of the type NT_GNU_PROPERTY_TYPE_0: whether
//! programs may use its data and functions only through pointers, and the x86 ISA level that it
//! demands.

use super::Header;
use super::foreign::{MOST_NOTES, Notes};
use super::header::endian;
use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, NoteIterator};

/// True for GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS: programs may use the data and functions
/// of the object only through pointers. Notes outside of `head` are ignored.
pub(super) fn needs_indirect_access(header: &Header, head: &[u8], notes: &[Notes]) -> bool {
    words(header, (head, notes), elf::GNU_PROPERTY_1_NEEDED)
        .any(|bits| bits & elf::GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS != 0)
}

/// The highest x86 ISA level of GNU_PROPERTY_X86_ISA_1_NEEDED, minus one, as caches of ldconfig
/// store it. 0 without this property, and on other machines. Notes outside of `head` are ignored.
pub(super) fn isa_level(header: &Header, head: &[u8], notes: &[Notes]) -> u8 {
    if ![elf::EM_X86_64.0, elf::EM_386.0].contains(&header.machine) {
        return 0;
    }
    let needed = words(header, (head, notes), elf::GNU_PROPERTY_X86_ISA_1_NEEDED).next();
    let level = needed.and_then(u32::checked_ilog2).unwrap_or(0);
    u8::try_from(level).unwrap_or(u8::MAX)
}

/// The value of the property `kind` in the notes of each segment that has it.
fn words<'n>(
    header: &'n Header,
    (head, notes): (&'n [u8], &'n [Notes]),
    kind: elf::GnuPropertyType,
) -> impl Iterator<Item = u32> + use<'n> {
    let endian = endian(header.big);
    notes.iter().take(MOST_NOTES).filter_map(move |notes| {
        let bytes = notes.bytes_in(head)?;
        if header.is_64 {
            word::<FileHeader64<Endianness>>(endian, notes.align, bytes, kind)
        } else {
            // An alignment that needs more than 32 bits is rejected, like every alignment above 8.
            let align = u32::try_from(notes.align).unwrap_or(u32::MAX);
            word::<FileHeader32<Endianness>>(endian, align, bytes, kind)
        }
    })
}

/// The value of the property `kind` in the notes of one segment. `None` if no note has it.
fn word<F: FileHeader>(
    endian: F::Endian,
    align: F::Word,
    bytes: &[u8],
    kind: elf::GnuPropertyType,
) -> Option<u32> {
    let mut notes = NoteIterator::<F>::new(endian, align, bytes).ok()?;
    while let Ok(Some(note)) = notes.next() {
        let Some(mut properties) = note.gnu_properties(endian) else { continue };
        while let Ok(Some(property)) = properties.next() {
            if property.pr_type() == kind {
                return property.data_u32(endian).ok();
            }
        }
    }
    None
}
