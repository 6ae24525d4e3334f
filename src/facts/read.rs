//! Makes facts of one open file, on the thread that opened it: what the walk meets, and what a need
//! leads to. It knows nothing of other files; `collect` puts what it made into the corpus.

use super::Content;
use crate::format::Reading;
use crate::format::elf::relocs::Relocations;
use crate::format::{Defect, ReadError, Table, archive, elf};
use crate::sniff::{Class, sniff};
use crate::tree::Handle;
use crate::tree::walk::{Candidate, HEAD};

/// What reading one file gave, not yet in the corpus.
pub struct Read {
    pub(super) content: Content,
    /// Relocations, if they are wanted and could be read.
    pub(super) relocations: Option<Relocations>,
    pub(super) defects: Vec<Defect>,
    pub(super) unreadable: Option<String>,
}

impl Read {
    /// What stands for a file that is read under another name.
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

/// Reads one open file. This never fails: what went wrong is part of the answer.
pub fn read(handle: &Handle, reading: Reading) -> Read {
    let mut head = [0; HEAD];
    guarded(handle, || {
        let n = handle.read_at(&mut head, 0)?;
        content(handle, &head[..n], reading)
    })
}

/// Reads what the walk met, on the worker that met it.
pub fn read_candidate(candidate: &Candidate<'_>, reading: Reading) -> Read {
    let Candidate { handle, head, .. } = *candidate;
    match head {
        Some(head) => guarded(handle, || content(handle, head, reading)),
        None => read(handle, reading),
    }
}

/// What a file holds, with its relocations if they are wanted.
type Held = (Content, Option<Relocations>);

fn content(handle: &Handle, head: &[u8], reading: Reading) -> Result<Held, ReadError> {
    Ok(match sniff(head) {
        Class::Elf => {
            let object = elf::read(handle, head, reading)?;
            // What cannot be read now is asked for again, and told then.
            let read = || elf::relocs::read(handle, &object).ok();
            let relocations = (reading.relocations && object.is_dynamic()).then(read).flatten();
            (Content::Elf(Box::new(object)), relocations)
        }
        Class::Archive => (Content::Archive(archive::read(head)), None),
        Class::Script | Class::CMake | Class::Other => {
            (Content::Other(elf::Ident::new(head)), None)
        }
    })
}

/// What reading came to, with a change of the file or a panic told as what is wrong with it.
fn guarded(handle: &Handle, read: impl FnOnce() -> Result<Held, ReadError>) -> Read {
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
        // The second net: tests count a caught panic as a failure.
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
