//! The trait of all file systems. Paths are paths of the audited system. Each implementation
//! decides from where it gets the content of files.

use super::file::Handle;
use super::kind::{DirEntryKind, EntryType, FileOrigin, Special, Stat};
use crate::package::PackageId;
use rustix::io::Errno;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The entry that [`Tree::open`] finds at a path, links followed.
pub enum Opened {
    /// A regular file, open for reading.
    File(Handle),
    /// A directory: `open` succeeds on it and `read` fails with EISDIR.
    Directory,
    /// A special file, recognised without opening it.
    Special(Special),
}

/// A file system as the audit sees it. It resolves paths as the kernel does: trailing slashes, `..`
/// behind links, and at most 40 links.
pub trait Tree: Sync {
    /// Opens `path` as `open(2)` with O_RDONLY would, links followed. Special files are not opened.
    fn open(&self, path: &Path) -> Result<Opened, Errno>;

    /// Kind and identity of the entry at `path`, links followed, without opening it.
    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno>;

    /// The kind of the entry at `path` itself: a link in the last component is not followed.
    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno>;

    /// The text of the link at `path`; EINVAL if it is not a link.
    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno>;

    /// `path` with every link resolved. An error if no entry exists there.
    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno>;

    /// Calls `visit` with each entry of the directory at `path`, without `.` and `..`. Links in
    /// `path` are followed; entries that are links are not. The tree chooses the order. After an
    /// error, entries may be missing.
    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno>;

    /// Like [`Tree::list`], but visits all entries. In `list`, a tree with stages may leave out
    /// entries of the sysroot.
    fn list_all(
        &self,
        path: &Path,
        visit: &mut dyn FnMut(&OsStr, DirEntryKind),
    ) -> Result<(), Errno> {
        self.list(path, visit)
    }

    /// The package of the file at `path`, if the tree was mounted as a package; `path` must contain
    /// no links. The items of a store such as Nix are known by their paths, so no tree is mounted
    /// for them.
    fn package(&self, _path: &Path) -> Option<Arc<PackageId>> {
        None
    }

    /// The layer that holds the entry at `path`; a link in the last component is not followed.
    /// `None` if the tree has no stages. With stages, an absent entry is an error.
    fn origin(&self, _path: &Path) -> Result<Option<FileOrigin>, Errno> {
        Ok(None)
    }

    /// Like [`Tree::list`], for entries of stages only: a tree without stages visits none. A
    /// directory of the sysroot is listed if a stage also has it.
    fn list_staged(
        &self,
        _path: &Path,
        _visit: &mut dyn FnMut(&OsStr, DirEntryKind),
    ) -> Result<(), Errno> {
        Ok(())
    }

    /// True if `path` may lead to a different file in each process: to `/proc/self`, to
    /// descriptors, or elsewhere into procfs. Trees without processes have no such paths.
    fn is_of_process(&self, _path: &Path) -> bool {
        false
    }

    /// True if the directory at `path` is in a virtual file system of the kernel, such as procfs.
    fn is_of_kernel(&self, _path: &Path) -> bool {
        false
    }

    /// The permission bits of the entry at `path`, links followed; `None` if they are unknown.
    fn mode(&self, _path: &Path) -> Option<u32> {
        None
    }

    /// True if the file at `path` has file capabilities, links followed. False if they are unknown.
    fn has_capabilities(&self, _path: &Path) -> bool {
        false
    }

    /// The kind of the entry at `path`, links followed.
    fn kind(&self, path: &Path) -> Result<EntryType, Errno> {
        self.look(path).map(|(kind, _)| kind)
    }

    /// True if `path` itself is a symbolic link. False for any other entry, and if `path` cannot be
    /// read.
    fn is_link(&self, path: &Path) -> bool {
        self.read_link(path).is_ok()
    }

    /// The kind of `path` with links followed, and true if `path` itself is a link.
    fn kind_and_link(&self, path: &Path) -> (Result<EntryType, Errno>, bool) {
        match self.node(path) {
            Ok(DirEntryKind::Link) => (self.kind(path), true),
            Ok(DirEntryKind::Kind(kind)) => (Ok(kind), false),
            Err(errno) => (Err(errno), false),
        }
    }

    /// Opens a file that a listing or `node` has just reported as regular, without checking it
    /// again.
    fn open_regular(&self, path: &Path) -> Result<Handle, Errno> {
        match self.open(path)? {
            Opened::File(handle) => Ok(handle),
            Opened::Directory => Err(Errno::ISDIR),
            Opened::Special(_) => Err(Errno::NXIO),
        }
    }

    /// Like [`Tree::open_regular`], but first reads the start of the file into `head`, and returns
    /// a handle only if `wanted` accepts these bytes.
    fn open_if(
        &self,
        path: &Path,
        head: &mut [u8],
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Handle>, Errno> {
        let handle = self.open_regular(path)?;
        let n = handle.read_at(head, 0).map_err(|error| errno(&error))?;
        Ok(wanted(&head[..n]).then_some(handle))
    }
}

/// True for an error that shows the state of a path, such as ENOENT or ENOTDIR. After other errors,
/// such as EIO, the state is unknown. EACCES shows only that this process may not see the entry.
pub(crate) fn is_answer(errno: Errno) -> bool {
    matches!(
        errno,
        Errno::NOENT
            | Errno::NOTDIR
            | Errno::ISDIR
            | Errno::LOOP
            | Errno::NAMETOOLONG
            | Errno::INVAL
            | Errno::NXIO
            | Errno::XDEV
    )
}

/// The error number of `error`; EIO if it has none.
pub(super) fn errno(error: &std::io::Error) -> Errno {
    Errno::from_io_error(error).unwrap_or(Errno::IO)
}
