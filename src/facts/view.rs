//! The facts that resolution and binding read: the corpus, with or without edits. To verify a fix,
//! the same code runs on a view with edits. A view returns a fact, or a [`Need`] if the fact is
//! missing.

use super::{Corpus, FactStore, FileFacts, Need, PathState, ProbeBatch};
use crate::format::archive::Members;
use crate::format::elf::Object;
use crate::format::elf::edit::Edited;
use crate::format::elf::interpreter::Interpreter;
use crate::format::elf::relocs::Relocations;
use crate::id::{FastMap, FileId};
use crate::tree::Errno;
use std::sync::Arc;

/// The known facts of the audited system.
#[derive(Clone, Copy)]
pub struct View<'c> {
    corpus: &'c Corpus,
    edits: Option<&'c Edits>,
}

/// Objects as they would be after a fix, keyed by file.
pub type Edits = FastMap<FileId, Edited>;

impl<'c> View<'c> {
    /// A view of the corpus without edits.
    pub fn new(corpus: &'c Corpus) -> Self {
        Self { corpus, edits: None }
    }

    /// A view of the corpus in which the objects of `edits` replace the objects of the same files.
    pub fn edited(corpus: &'c Corpus, edits: &'c Edits) -> Self {
        Self { corpus, edits: Some(edits).filter(|edits| !edits.is_empty()) }
    }

    fn edit(&self, file: FileId) -> Option<&'c Edited> {
        self.edits?.get(&file)
    }

    /// The facts of a file as it was read, without edits.
    pub fn file(&self, file: FileId) -> &'c FileFacts {
        &self.corpus.files[file]
    }

    /// The ELF object in a file, with its edit if there is one. `None` if the file is not ELF.
    pub fn object(&self, file: FileId) -> Option<&'c Object> {
        match self.edit(file) {
            Some(edited) => Some(&edited.object),
            None => self.corpus.files[file].object(),
        }
    }

    /// The relocations of a file. For an edited object, these are the relocations after the edit.
    pub fn relocations(&self, file: FileId) -> Result<&'c Relocations, Need> {
        match self.edit(file) {
            Some(edited) => Ok(&edited.relocations),
            None => self.corpus.relocations(file),
        }
    }

    /// The members of an archive.
    pub fn members(&self, file: FileId) -> Result<&'c Arc<Members>, Need> {
        self.corpus.members(file)
    }
}

impl FactStore for View<'_> {
    fn file(&self, file: FileId) -> &FileFacts {
        View::file(self, file)
    }

    fn object(&self, file: FileId) -> Option<&Object> {
        View::object(self, file)
    }

    fn place(&self, path: &[u8]) -> Option<PathState> {
        self.corpus.place(path)
    }

    fn is_looked_through(&self, batch: &ProbeBatch) -> bool {
        self.corpus.is_looked_through(batch)
    }

    fn is_directory(&self, path: &[u8]) -> Result<bool, Need> {
        self.corpus.is_directory(path)
    }

    fn bytes(&self, path: &[u8]) -> Result<Result<&[u8], Errno>, Need> {
        self.corpus.bytes(path)
    }

    fn interpreter(&self, file: FileId) -> Result<&Interpreter, Need> {
        self.corpus.interpreter(file)
    }

    fn new_list(&self) -> u64 {
        self.corpus.new_list()
    }
}
