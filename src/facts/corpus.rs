//! The facts of a run: files by id and inode, the entry at each probed path, and parts of files
//! that were read on demand.

use super::{FileFacts, Need, ProbeBatch};
use crate::format::Defect;
use crate::format::archive::Members;
use crate::format::elf::interpreter::Interpreter;
use crate::format::elf::relocs::Relocations;
use crate::id::{FastMap, FastSet, FileId, IdVec};
use crate::symbol_names::SymbolNames;
use crate::tree::{Errno, Special, Stat};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

/// The entry at a path, with links followed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathState {
    /// A regular file, whose facts are in the corpus.
    File(FileId),
    /// A directory.
    Directory,
    /// A FIFO, socket or device: the loader would open it, but the audit does not.
    Special(Special),
    /// The path leads to a different file in each process.
    OfProcess,
    /// `open` fails with this error.
    Failed(Errno),
}

/// The content of a configuration file, or the error number if it cannot be read.
pub(super) type FileBytes = Result<Box<[u8]>, Errno>;

/// All facts of a run. For a fact that was not read yet, a method returns `None` or the [`Need`].
#[derive(Default)]
pub struct Corpus {
    /// Files, one for each inode.
    pub files: IdVec<FileId, FileFacts>,
    pub(super) by_inode: FastMap<(u64, u64), FileId>,
    pub(super) places: FastMap<Box<[u8]>, PathState>,
    /// Completely probed batches of paths in long lists.
    pub(super) probe_batches: FastSet<ProbeBatch>,
    pub(super) directories: FastMap<Box<[u8]>, bool>,
    /// Search directories whose path leads to a different directory in each process.
    pub(super) of_process: FastSet<Box<[u8]>>,
    pub(super) bytes: FastMap<Box<[u8]>, FileBytes>,
    pub(super) interpreters: FastMap<FileId, Interpreter>,
    pub(super) relocations: FastMap<FileId, Relocations>,
    pub(super) members: FastMap<FileId, Arc<Members>>,
    pub(super) symbol_names: Arc<SymbolNames>,
    /// Number of ids that [`Self::new_list`] has returned.
    lists: AtomicU64,
}

impl Corpus {
    /// Reserves room for `more` files, and for an eighth more that these may need. Otherwise,
    /// tables would be copied each time that they grow.
    pub(super) fn expect(&mut self, more: usize) {
        let more = more + more / 8;
        self.files.reserve(more);
        self.by_inode.reserve(more);
        self.places.reserve(more);
    }

    /// The entry at `path`, if it was probed.
    pub fn place(&self, path: &[u8]) -> Option<PathState> {
        self.places.get(path).copied()
    }

    /// True if all paths of a batch were probed. Then the paths without a stored entry do not
    /// exist.
    pub fn is_looked_through(&self, batch: &ProbeBatch) -> bool {
        self.probe_batches.contains(batch)
    }

    /// A new id for a list of directories. A [`ProbeBatch`] names the list by this id.
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

    /// The strings of the loader binary `file`.
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

    /// True if the corpus has the answer to a need.
    pub fn answers(&self, need: &Need) -> bool {
        match need {
            // A search may end before the last path, so only the first path is checked.
            Need::First { paths, batch, .. } => {
                batch.is_some_and(|batch| self.is_looked_through(&batch))
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

    /// Adds defects that were found while files were read again.
    pub fn add_defects(&mut self, found: Vec<(FileId, Vec<Defect>)>) {
        for (file, defects) in found {
            self.files[file].defects.extend(defects);
        }
    }

    /// The names of the symbols in archives.
    pub fn symbol_names(&self) -> &Arc<SymbolNames> {
        &self.symbol_names
    }

    /// The file with the identity of `stat`, if it was read.
    pub fn file_of(&self, stat: Stat) -> Option<FileId> {
        self.by_inode.get(&(stat.dev, stat.ino)).copied()
    }

    /// The file at `path`, with links followed. `None` unless `path` is the [`FileFacts::path`] of
    /// the file, or a path that the walk found or a search probed.
    pub fn file_at(&self, path: &Path) -> Option<FileId> {
        use std::os::unix::ffi::OsStrExt as _;
        match self.places.get(path.as_os_str().as_bytes()) {
            Some(PathState::File(file)) => Some(*file),
            _ => None,
        }
    }
}
