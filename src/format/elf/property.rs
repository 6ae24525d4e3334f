//! Reads one property of an object from its notes of the type NT_GNU_PROPERTY_TYPE_0. An object
//! with this property allows programs to use its data and functions only through pointers.

use super::Header;
use super::foreign::{MOST_NOTES, Notes};
use super::header::endian;
use object::Endianness;
use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{FileHeader, NoteIterator};

/// True for GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS: programs may use the data and functions
/// of the object only through pointers. Notes outside of `head` are ignored.
pub(super) fn needs_indirect_access(header: &Header, head: &[u8], notes: &[Notes]) -> bool {
    let endian = endian(header.big);
    notes.iter().take(MOST_NOTES).any(|notes| {
        let Some(bytes) = notes.bytes_in(head) else { return false };
        let needed = if header.is_64 {
            needed::<FileHeader64<Endianness>>(endian, notes.align, bytes)
        } else {
            // An alignment that needs more than 32 bits is rejected, like every alignment above 8.
            let align = u32::try_from(notes.align).unwrap_or(u32::MAX);
            needed::<FileHeader32<Endianness>>(endian, align, bytes)
        };
        needed.is_some_and(|bits| bits & elf::GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS != 0)
    })
}

/// The bits of GNU_PROPERTY_1_NEEDED in the notes of one segment. `None` if no note has the
/// property GNU_PROPERTY_1_NEEDED.
fn needed<F: FileHeader>(endian: F::Endian, align: F::Word, bytes: &[u8]) -> Option<u32> {
    let mut notes = NoteIterator::<F>::new(endian, align, bytes).ok()?;
    while let Ok(Some(note)) = notes.next() {
        let Some(mut properties) = note.gnu_properties(endian) else { continue };
        while let Ok(Some(property)) = properties.next() {
            if property.pr_type() == elf::GNU_PROPERTY_1_NEEDED {
                return property.data_u32(endian).ok();
            }
        }
    }
    None
}
