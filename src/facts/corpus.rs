//! The facts of a run: files by id and by inode, what lies at each path that was asked for, and
//! what was read of files on demand.

use super::{FileFacts, Need, Portion};
use crate::format::archive::Members;
use crate::format::elf::interpreter::Interpreter;
use crate::format::elf::relocs::Relocations;
use crate::id::{FastMap, FastSet, FileId, IdVec};
use crate::symbol_names::SymbolNames;
use crate::tree::{Errno, Special};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// What lies at a path once links are followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// A file.
    File(FileId),
    /// A directory.
    Directory,
    /// Something the loader would open and we do not.
    Special(Special),
    /// Each process finds something else there.
    OfProcess,
    /// `open` fails so.
    Failed(Errno),
}

/// The content of a configuration file, or why it cannot be read.
pub(super) type FileBytes = Result<Box<[u8]>, Errno>;

/// All facts of a run.
#[derive(Default)]
pub struct Corpus {
    /// Files, one for each inode.
    pub files: IdVec<FileId, FileFacts>,
    pub(super) by_inode: FastMap<(u64, u64), FileId>,
    pub(super) places: FastMap<Box<[u8]>, Place>,
    /// Portions of long lists all of whose paths were looked at.
    pub(super) portions: FastSet<Portion>,
    pub(super) directories: FastMap<Box<[u8]>, bool>,
    /// Directories in which each process finds something else.
    pub(super) of_process: FastSet<Box<[u8]>>,
    pub(super) bytes: FastMap<Box<[u8]>, FileBytes>,
    pub(super) interpreters: FastMap<FileId, Interpreter>,
    pub(super) relocations: FastMap<FileId, Relocations>,
    pub(super) members: FastMap<FileId, Arc<Members>>,
    pub(super) symbol_names: Arc<SymbolNames>,
    /// How many long lists of directories have a number.
    lists: AtomicU64,
}

impl Corpus {
    /// Makes room for `more` files at once, and for some that they will lead to: what grows step by
    /// step is moved to fresh memory at every step.
    pub(super) fn expect(&mut self, more: usize) {
        let more = more + more / 8;
        self.files.reserve(more);
        self.by_inode.reserve(more);
        self.places.reserve(more);
    }

    /// What lies at `path`, if it was looked at.
    pub fn place(&self, path: &[u8]) -> Option<Place> {
        self.places.get(path).copied()
    }

    /// True if what lies at the paths of a portion is known: there is nothing at those that are not.
    pub fn is_looked_through(&self, portion: &Portion) -> bool {
        self.portions.contains(portion)
    }

    /// A number for a long list that no other list has in the portions of this corpus.
    pub fn new_list(&self) -> u64 {
        self.lists.fetch_add(1, Ordering::Relaxed)
    }

    /// True if `path` is a directory.
    pub fn is_directory(&self, path: &[u8]) -> Result<bool, Need> {
        self.directories.get(path).copied().ok_or_else(|| Need::Directory(path.to_vec()))
    }

    /// The content of the configuration file at `path`; an error number if it cannot be read.
    pub fn bytes(&self, path: &[u8]) -> Result<Result<&[u8], Errno>, Need> {
        match self.bytes.get(path) {
            Some(Ok(bytes)) => Ok(Ok(bytes)),
            Some(Err(errno)) => Ok(Err(*errno)),
            None => Err(Need::Bytes(path.to_vec())),
        }
    }

    /// What the loader binary `file` says of itself.
    pub fn interpreter(&self, file: FileId) -> Result<&Interpreter, Need> {
        self.interpreters.get(&file).ok_or(Need::Interpreter(file))
    }

    /// The relocations of `file`.
    pub fn relocations(&self, file: FileId) -> Result<&Relocations, Need> {
        self.relocations.get(&file).ok_or(Need::Relocations(file))
    }

    /// The members of the archive `file`.
    pub fn members(&self, file: FileId) -> Result<&Arc<Members>, Need> {
        self.members.get(&file).ok_or(Need::Members(file))
    }

    /// True if a need has its answer.
    pub fn answers(&self, need: &Need) -> bool {
        match need {
            // A search may end before the last path.
            Need::First { paths, portion, .. } => {
                portion.is_some_and(|portion| self.is_looked_through(&portion))
                    || paths.first().is_none_or(|path| self.place(path).is_some())
            }
            Need::Directory(path) => self.directories.contains_key(&**path),
            Need::Bytes(path) => self.bytes.contains_key(&**path),
            Need::Interpreter(file) => self.interpreters.contains_key(file),
            Need::Tables(file) => {
                self.files[*file].object().is_none_or(|object| object.tables.is_some())
            }
            Need::Relocations(file) => self.relocations.contains_key(file),
            Need::Members(file) => self.members.contains_key(file),
        }
    }

    /// The names of symbols of archives.
    pub fn symbol_names(&self) -> &Arc<SymbolNames> {
        &self.symbol_names
    }

    /// The file whose path, links resolved, is `path`, if it was read under any name.
    pub fn file_at(&self, path: &Path) -> Option<FileId> {
        use std::os::unix::ffi::OsStrExt as _;
        match self.places.get(path.as_os_str().as_bytes()) {
            Some(Place::File(file)) => Some(*file),
            _ => None,
        }
    }
}
