//! A tree that shows only a part of another tree: the prefixes of a run, the `--lib-path`
//! directories and the `--host` programs. In an audit of stages, the tree does not show files of
//! the sysroot. Under a policy with a whitelist, the audit opens only files of this tree. The
//! result is then the same on every machine.

use super::{DirEntryKind, EntryType, Errno, FileOrigin, Opened, Stat, Tree};
use crate::package::{PackageId, Prefixes};
use std::ffi::OsStr;
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// The part of a tree that is in the prefixes of a run.
pub struct InsideTree<'t> {
    tree: &'t dyn Tree,
    prefixes: Prefixes,
}

impl<'t> InsideTree<'t> {
    /// The part of `tree` that is in `prefixes`.
    pub fn new(tree: &'t dyn Tree, prefixes: Prefixes) -> Self {
        Self { tree, prefixes }
    }

    /// ENOENT for an entry outside of the prefixes, and for a file of the sysroot in an audit of
    /// stages. An entry is inside if its path or its real path is in a prefix.
    fn check(&self, path: &Path) -> Result<(), Errno> {
        let is_inside = self.prefixes.contain(&without_dots(path))
            || self.tree.real_path(path).is_ok_and(|real| self.prefixes.contain(&real));
        let of_sysroot = || {
            let real = self.tree.real_path(path).unwrap_or_else(|_| path.to_path_buf());
            self.tree.origin(&real) == Ok(Some(FileOrigin::Sysroot))
                && self.tree.kind(&real) != Ok(EntryType::Directory)
        };
        if is_inside && !of_sysroot() { Ok(()) } else { Err(Errno::NOENT) }
    }
}

/// The path without `.` and `..`, computed as if it had no links.
pub fn without_dots(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => drop(out.pop()),
            Component::CurDir => {}
            part => out.push(part),
        }
    }
    out
}

impl Tree for InsideTree<'_> {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        self.check(path)?;
        self.tree.open(path)
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        self.check(path)?;
        self.tree.look(path)
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        self.check(path)?;
        self.tree.node(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        self.check(path)?;
        self.tree.read_link(path)
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        self.check(path)?;
        self.tree.real_path(path)
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        self.check(path)?;
        self.tree.list(path, visit)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.check(path).ok()?;
        self.tree.mode(path)
    }

    fn has_capabilities(&self, path: &Path) -> bool {
        self.check(path).is_ok() && self.tree.has_capabilities(path)
    }

    fn is_of_process(&self, path: &Path) -> bool {
        self.check(path).is_ok() && self.tree.is_of_process(path)
    }

    fn is_of_kernel(&self, path: &Path) -> bool {
        self.tree.is_of_kernel(path)
    }

    fn origin(&self, path: &Path) -> Result<Option<FileOrigin>, Errno> {
        self.tree.origin(path)
    }

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        self.tree.package(path)
    }
}

#[cfg(test)]
mod tests {
    use super::{InsideTree, without_dots};
    use crate::package::Prefixes;
    use crate::tree::{EntryType, Errno, MemTree, Tree};
    use std::path::{Path, PathBuf};

    #[test]
    fn nothing_outside_is_seen() {
        let mut tree = MemTree::default();
        for file in ["/p/lib/a.so", "/usr/lib/b.so", "/one/c.so", "/one/d/e.so"] {
            tree.file(file, file.as_bytes());
        }
        tree.link("/alias", "/p");
        let mut prefixes = Prefixes::default();
        prefixes.add_dir(PathBuf::from("/p"));
        prefixes.add_dir_of(Path::new("/one/c.so"));
        let inside = InsideTree::new(&tree, prefixes);
        for path in ["/p", "/p/lib/a.so", "/usr/lib/../../p/lib/a.so", "/alias/lib/a.so"] {
            assert!(inside.kind(Path::new(path)).is_ok(), "{path}");
        }
        assert_eq!(inside.kind(Path::new("/one/c.so")), Ok(EntryType::File));
        for path in ["/", "/usr/lib/b.so", "/p/../usr/lib/b.so", "/one/d/e.so", "/nothing"] {
            assert_eq!(inside.kind(Path::new(path)), Err(Errno::NOENT), "{path}");
        }
        assert_eq!(without_dots(Path::new("/a/./b/../../c")), Path::new("/c"));
    }
}
