//! A tree without some of its entries: files that an upgrade removes, and the staging directories
//! themselves.

use super::contract::{Opened, Tree};
use super::kind::{DirEntryKind, EntryType, Stat};
use crate::id::FastSet;
use crate::package::PackageId;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A tree from which some files and directories are left out.
pub struct WithoutTree<T> {
    tree: T,
    files: FastSet<PathBuf>,
    dirs: Vec<PathBuf>,
}

impl<T: Tree> WithoutTree<T> {
    /// `tree` without `files`, and without `dirs` and everything below them. The paths are
    /// absolute, without links in their directories.
    pub fn new(tree: T, files: FastSet<PathBuf>, dirs: Vec<PathBuf>) -> Self {
        Self { tree, files, dirs }
    }

    fn lacks(&self, path: &Path) -> bool {
        self.files.contains(path) || self.dirs.iter().any(|dir| path.starts_with(dir))
    }

    /// ENOENT if `path` names a removed entry, or is a link to one.
    fn check(&self, path: &Path) -> Result<(), Errno> {
        let is_gone = self.lacks(path)
            || (self.tree.is_link(path)
                && self.tree.real_path(path).is_ok_and(|real| self.lacks(&real)));
        if is_gone { Err(Errno::NOENT) } else { Ok(()) }
    }
}

impl<T: Tree> Tree for WithoutTree<T> {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        self.check(path)?;
        self.tree.open(path)
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        self.check(path)?;
        self.tree.look(path)
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        if self.lacks(path) { Err(Errno::NOENT) } else { self.tree.node(path) }
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        if self.lacks(path) { Err(Errno::NOENT) } else { self.tree.read_link(path) }
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        let real = self.tree.real_path(path)?;
        if self.lacks(path) || self.lacks(&real) { Err(Errno::NOENT) } else { Ok(real) }
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        self.check(path)?;
        self.tree.list(path, &mut |name, node| {
            if !self.lacks(&path.join(name)) {
                visit(name, node);
            }
        })
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
}
