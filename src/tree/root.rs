//! A sysroot: a directory that serves as `/`. Links are followed component by component, and no
//! link leads out of the directory.
//!
//! This module resolves a path, and `disk` opens the result without following links. If another
//! process inserts a link in between, the link is not followed.

use super::follow::{FollowedLinks, Lookup, Ways};
use rustix::fs::{AtFlags, FileType, Mode, OFlags, ResolveFlags};
use rustix::io::Errno;
use std::ffi::OsString;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};

/// Directories in `usr` to which `/` has links on a system with a merged `/usr`.
const MERGED: [&str; 6] = ["lib", "lib32", "lib64", "libx32", "bin", "sbin"];

/// A directory that serves as `/`.
pub(super) struct RootDirectory {
    fd: OwnedFd,
    /// True if the sysroot has `usr/lib` and no `lib`. The sysroot then has packages of a merged
    /// system, but not the links `/lib` and `/bin`.
    merged: bool,
    ways: Ways,
}

impl RootDirectory {
    /// Opens the sysroot at `dir`, an absolute path with links resolved.
    pub(super) fn open(dir: &Path) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(dir, flags, Mode::empty())?;
        let there = |name: &str| rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let merged = there("usr/lib") && !there("lib");
        Ok(Self { fd, merged, ways: Ways::default() })
    }

    pub(super) fn is_merged(&self) -> bool {
        self.merged
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// `path` with links resolved, as an absolute path in the sysroot.
    pub(super) fn resolve(&self, path: &Path, links: FollowedLinks) -> Result<PathBuf, Errno> {
        self.ways.follow(self, path, links)
    }

    /// Opens a path in the sysroot, which must contain no links. A link that another process has
    /// inserted is not followed. Without openat2, only the last component is protected.
    pub(super) fn open_real(&self, real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.fd, below(real), flags, Mode::empty(), resolve) {
            // Linux before 5.6, or a system call filter that rejects openat2.
            Err(Errno::NOSYS | Errno::PERM) => {
                rustix::fs::openat(&self.fd, below(real), flags, Mode::empty())
            }
            opened => opened,
        }
    }

    /// The target `usr/lib` for `/lib`, and so on, if the sysroot has a merged `/usr`; else `None`.
    fn merged_away(&self, path: &Path) -> Option<PathBuf> {
        let name = path.strip_prefix("/").ok().filter(|_| self.merged)?;
        MERGED.iter().any(|merged| name == Path::new(merged)).then(|| Path::new("usr").join(name))
    }
}

impl Lookup for RootDirectory {
    fn target(&self, path: &Path) -> Result<Option<PathBuf>, Errno> {
        match rustix::fs::readlinkat(&self.fd, below(path), Vec::new()) {
            Ok(target) => Ok(Some(PathBuf::from(OsString::from_vec(target.into_bytes())))),
            // The entry is not a link.
            Err(Errno::INVAL) => Ok(None),
            Err(Errno::NOENT) => self.merged_away(path).map(Some).ok_or(Errno::NOENT),
            Err(errno) => Err(errno),
        }
    }

    fn is_directory(&self, path: &Path) -> Result<bool, Errno> {
        let stat = rustix::fs::statat(&self.fd, below(path), AtFlags::SYMLINK_NOFOLLOW)?;
        Ok(FileType::from_raw_mode(stat.st_mode) == FileType::Directory)
    }
}

/// Makes an absolute path relative to the root directory: `.` for `/`.
pub(super) fn below(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(rest) if !rest.as_os_str().is_empty() => rest,
        Ok(_) => Path::new("."),
        Err(_) => path,
    }
}
