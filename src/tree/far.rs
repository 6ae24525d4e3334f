//! Paths on disk that are too long for one system call. Their directories are opened in steps, each
//! as long as one call allows.

use rustix::fs::{CWD, Mode, OFlags};
use rustix::io::Errno;
use std::ffi::OsStr;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// Longest path that one system call accepts, with its NUL (`linux/limits.h`).
pub(super) const PATH_MAX: usize = 4096;

/// The last directory that was opened in steps, with its path. In a deep tree, the next path
/// usually goes through the same directory.
#[derive(Default)]
pub(super) struct Anchor(Mutex<Option<(Vec<u8>, Arc<OwnedFd>)>>);

/// An open directory, and a path relative to it that is short enough for one system call. If the
/// whole path is short, the directory is the working directory.
pub(super) struct Far<'p> {
    dir: Option<Arc<OwnedFd>>,
    name: &'p Path,
}

impl Anchor {
    /// Opens directories of `path` in steps until one call can name the rest. A short path needs no
    /// step.
    pub(super) fn reach<'p>(&self, path: &'p Path) -> Result<Far<'p>, Errno> {
        if path.as_os_str().len() < PATH_MAX {
            return Ok(Far { dir: None, name: path });
        }
        let bytes = path.as_os_str().as_bytes();
        let known = self.0.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (mut done, mut dir) = match known {
            Some((way, dir)) if is_way_to(&way, bytes) => (name_at(bytes, way.len()), Some(dir)),
            _ => (0, None),
        };
        while bytes.len() - done >= PATH_MAX {
            let cut = bytes[done..done + PATH_MAX - 1]
                .iter()
                .rposition(|b| *b == b'/')
                .filter(|cut| *cut > 0)
                .ok_or(Errno::NAMETOOLONG)?;
            let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
            let here = dir.as_deref().map_or(CWD, AsFd::as_fd);
            let part = as_path(&bytes[done..done + cut]);
            dir = Some(Arc::new(rustix::fs::openat(here, part, flags, Mode::empty())?));
            done = name_at(bytes, done + cut + 1);
        }
        if let Some(dir) = &dir {
            let way = (bytes[..done - 1].to_vec(), Arc::clone(dir));
            *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(way);
        }
        let rest = &bytes[done..];
        Ok(Far { dir, name: as_path(if rest.is_empty() { b"." } else { rest }) })
    }
}

/// The offset behind the slashes at `at`. The rest of a path must not begin with a slash, which
/// would make the rest an absolute path.
fn name_at(bytes: &[u8], at: usize) -> usize {
    at + bytes[at..].iter().take_while(|byte| **byte == b'/').count()
}

/// True if `way` is a directory above `path`.
fn is_way_to(way: &[u8], path: &[u8]) -> bool {
    path.len() > way.len() + 1 && path[way.len()] == b'/' && path.starts_with(way)
}

impl Far<'_> {
    pub(super) fn dir(&self) -> BorrowedFd<'_> {
        self.dir.as_deref().map_or(CWD, AsFd::as_fd)
    }

    pub(super) fn name(&self) -> &Path {
        self.name
    }
}

fn as_path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}
