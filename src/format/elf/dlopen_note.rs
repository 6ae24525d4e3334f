//! Notes in which an object names the libraries that it opens with dlopen (ELF dlopen metadata,
//! <https://uapi-group.org/specifications/specs/elf_dlopen_metadata/>). The owner is `FDO`, the
//! type 0x407c0c0a, and the content a JSON array of objects. No loader reads the notes.

use super::foreign::Notes;
use super::header::{Header, endian};
use object::elf;
use object::read::elf::NoteIterator;
use serde::Deserialize;

/// The type of the note, under the owner `FDO`.
const NOTE_TYPE: u32 = 0x407c_0c0a;

/// Upper bound, in bytes, of a segment whose notes are read. A larger segment is reported in
/// [`DlopenNotes::broken`].
pub(super) const MOST: u64 = 1 << 20;

/// The libraries that an object declares for dlopen.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DlopenNotes {
    /// Libraries without which the object does not work.
    pub required: Vec<RequiredLibrary>,
    /// Names of libraries in all entries with a priority other than `required`.
    pub optional: Vec<String>,
    /// The reason why a note could not be read. `None` if all notes could be read.
    pub broken: Option<&'static str>,
}

/// A library without which the object does not work: one entry with the priority `required`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequiredLibrary {
    /// The names that the object tries, in order. One library that dlopen can open is enough.
    pub names: Vec<String>,
    /// The feature of the object that needs the library. Empty if the entry does not state one.
    pub feature: String,
}

/// An entry of the JSON array.
#[derive(Deserialize)]
struct DlopenEntry {
    soname: Vec<String>,
    #[serde(default)]
    feature: String,
    #[serde(default)]
    priority: String,
}

impl DlopenNotes {
    /// True if there are neither libraries nor defects.
    pub fn is_empty(&self) -> bool {
        self.required.is_empty() && self.optional.is_empty() && self.broken.is_none()
    }

    /// The names of all libraries: first of required libraries, then of optional ones.
    pub fn names(&self) -> impl Iterator<Item = &String> {
        self.required.iter().flat_map(|library| &library.names).chain(&self.optional)
    }

    /// Adds the libraries of all dlopen notes in `bytes`, the content of one PT_NOTE segment. A
    /// note that cannot be parsed sets `broken`.
    pub(super) fn add(&mut self, header: &Header, bytes: &[u8], notes: Notes) {
        // Both classes have the same note format.
        type File = elf::FileHeader64<object::Endianness>;
        let endian = endian(header.big);
        let Ok(mut notes) = NoteIterator::<File>::new(endian, notes.align, bytes) else { return };
        while let Ok(Some(note)) = notes.next() {
            if note.name() != b"FDO" || note.n_type(endian) != elf::NoteType(NOTE_TYPE) {
                continue;
            }
            let text = note.desc();
            let end = text.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1);
            match serde_json::from_slice::<Vec<DlopenEntry>>(&text[..end]) {
                Ok(entries) => entries.into_iter().for_each(|entry| self.add_entry(entry)),
                Err(_) => self.broken = Some("its text is not a list of libraries in JSON"),
            }
        }
    }

    fn add_entry(&mut self, entry: DlopenEntry) {
        let DlopenEntry { mut soname, feature, priority } = entry;
        soname.retain(|name| !name.is_empty());
        if priority != "required" {
            self.optional.append(&mut soname);
        } else if !soname.is_empty() {
            self.required.push(RequiredLibrary { names: soname, feature });
        }
    }
}
