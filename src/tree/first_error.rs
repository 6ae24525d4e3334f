//! A tree that records the first error, such as EIO, after which it is unknown if an entry exists.
//! Code that reads many paths, such as `stage`, can ignore errors and look at the record once at
//! the end.

use super::contract::{Opened, Tree, is_answer};
use super::file::Handle;
use super::kind::{DirEntryKind, EntryType, Stat};
use crate::package::PackageId;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};

/// The first error after which it is unknown if an entry exists, with the path of the entry.
pub type FirstError = Arc<OnceLock<(PathBuf, Errno)>>;

/// A tree that records the first error after which it is unknown if an entry exists.
pub struct FirstErrorTree<T> {
    tree: T,
    first_error: FirstError,
}

impl<T: Tree> FirstErrorTree<T> {
    /// Wraps `tree`; the error is recorded in `first_error`.
    pub fn new(tree: T, first_error: FirstError) -> Self {
        Self { tree, first_error }
    }

    /// Records `result` in `first_error` if it is an error for which `is_answer` is false.
    fn note<R>(&self, path: &Path, result: Result<R, Errno>) -> Result<R, Errno> {
        if let Err(errno) = &result
            && !is_answer(*errno)
        {
            self.first_error.get_or_init(|| (path.to_path_buf(), *errno));
        }
        result
    }
}

impl<T: Tree> Tree for FirstErrorTree<T> {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        self.note(path, self.tree.open(path))
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        self.note(path, self.tree.look(path))
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        self.note(path, self.tree.node(path))
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        self.note(path, self.tree.read_link(path))
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        self.note(path, self.tree.real_path(path))
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        self.note(path, self.tree.list(path, visit))
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.tree.mode(path)
    }

    fn has_capabilities(&self, path: &Path) -> bool {
        self.tree.has_capabilities(path)
    }

    fn is_of_process(&self, path: &Path) -> bool {
        self.tree.is_of_process(path)
    }

    fn is_of_kernel(&self, path: &Path) -> bool {
        self.tree.is_of_kernel(path)
    }

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        self.tree.package(path)
    }

    fn open_regular(&self, path: &Path) -> Result<Handle, Errno> {
        self.note(path, self.tree.open_regular(path))
    }

    fn open_if(
        &self,
        path: &Path,
        head: &mut [u8],
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Handle>, Errno> {
        self.note(path, self.tree.open_if(path, head, wanted))
    }
}
