//! Reads the facts of one open file, on the thread that opened it, for the walk and for needs. The
//! result does not depend on other files; `collect` puts the results into the corpus.

use super::Content;
use crate::format::Reading;
use crate::format::elf::relocs::Relocations;
use crate::format::{Defect, ReadError, Table, archive, elf};
use crate::sniff::{Class, sniff};
use crate::tree::Handle;
use crate::tree::walk::{HEAD, WalkedFile};

/// The result of reading one file, before it is in the corpus.
pub struct Read {
    pub(super) content: Content,
    /// Relocations, if they are requested and could be read.
    pub(super) relocations: Option<Relocations>,
    pub(super) defects: Vec<Defect>,
    pub(super) unreadable: Option<String>,
}

impl Read {
    /// The placeholder for a file that is read under another name. It remains only if the file was
    /// replaced during the walk.
    pub fn elsewhere() -> Self {
        let unreadable = Some("changed while it was read".to_owned());
        let content = Content::Other(elf::Ident::new(&[]));
        Self { content, relocations: None, defects: Vec::new(), unreadable }
    }

    /// The ELF object, if the file is one.
    pub fn object(&self) -> Option<&elf::Object> {
        match &self.content {
            Content::Elf(object) => Some(object),
            Content::Archive(_) | Content::Other(_) => None,
        }
    }
}

/// Reads one open file. It never fails: defects and errors are part of the result.
pub fn read(handle: &Handle, reading: Reading) -> Read {
    let mut head = [0; HEAD];
    guarded(handle, || {
        let n = handle.read_at(&mut head, 0)?;
        content(handle, &head[..n], reading)
    })
}

/// Reads a file that the walk found, on the worker that found it.
pub fn read_candidate(candidate: &WalkedFile<'_>, reading: Reading) -> Read {
    let WalkedFile { handle, head, .. } = *candidate;
    match head {
        Some(head) => guarded(handle, || content(handle, head, reading)),
        None => read(handle, reading),
    }
}

/// The content of a file, with its relocations if requested.
type ContentWithRelocations = (Content, Option<Relocations>);

fn content(
    handle: &Handle,
    head: &[u8],
    reading: Reading,
) -> Result<ContentWithRelocations, ReadError> {
    Ok(match sniff(head) {
        Class::Elf => {
            let object = elf::read(handle, head, reading)?;
            // If this read fails, a later request repeats it and reports the error.
            let read = || elf::relocs::read(handle, &object).ok();
            let relocations = (reading.relocations && object.is_dynamic()).then(read).flatten();
            (Content::Elf(Box::new(object)), relocations)
        }
        Class::Archive => (Content::Archive(archive::read(head)), None),
        Class::Script
        | Class::CMake
        | Class::PkgConfig
        | Class::Loose
        | Class::Header
        | Class::LinkerScript
        | Class::Device
        | Class::Bitcode
        | Class::Other => (Content::Other(elf::Ident::new(head)), None),
    })
}

/// Calls `read`. A change of the file meanwhile, or a panic, becomes a defect. An error of `read`
/// is stored in [`Read::unreadable`].
fn guarded(
    handle: &Handle,
    read: impl FnOnce() -> Result<ContentWithRelocations, ReadError>,
) -> Read {
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(Ok((content, relocations))) => {
            let told = relocations.as_ref().map(|relocations| relocations.defects.clone());
            let mut defects = told.unwrap_or_default();
            if handle.changed() {
                let what = "changed while it was read";
                defects.push(Defect::new(Table::File, 0, what));
            }
            Read { content, relocations, defects, unreadable: None }
        }
        Ok(Err(error)) => Read {
            content: Content::Other(elf::Ident::new(&[])),
            relocations: None,
            defects: Vec::new(),
            unreadable: Some(error.to_string()),
        },
        // Readers do not panic, and a test fails if one does. `catch_unwind` is a second safeguard.
        Err(_) => Read {
            content: Content::Other(elf::Ident::new(&[])),
            relocations: None,
            defects: vec![Defect::new(
                Table::File,
                0,
                "made the reader panic: a fault of linkaudit",
            )],
            unreadable: None,
        },
    }
}
