//! Another system's root: paths that begin with `/` are taken inside one directory, links are
//! followed component by component and never lead out of it.
//!
//! It finds out where a path really lies; `disk` opens it there, told to follow no link any more,
//! so that a link put into the way in between leads nowhere. It holds one descriptor.

use super::Errno;
use crate::id::FastMap;
use rustix::fs::{AtFlags, Mode, OFlags, ResolveFlags};
use std::ffi::{OsStr, OsString};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Component, Path, PathBuf};
use std::sync::Mutex;

/// As many links as the kernel follows in one path before it answers ELOOP.
const MOST_LINKS: usize = 40;
/// Directories that a merged `/usr` holds, with links to them in the root.
const MERGED: [&str; 6] = ["lib", "lib32", "lib64", "libx32", "bin", "sbin"];

/// A directory that stands for `/`.
pub(super) struct Root {
    /// Where it lies, links resolved.
    dir: PathBuf,
    fd: OwnedFd,
    /// It has `usr/lib` and no `lib`: packages of a merged system, unpacked without the links.
    merged: bool,
    /// Where directories really lie, inside.
    dirs: Mutex<FastMap<PathBuf, Result<PathBuf, Errno>>>,
}

impl Root {
    /// The root at `dir`, an absolute path with links resolved.
    pub(super) fn open(dir: PathBuf) -> Result<Self, Errno> {
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let fd = rustix::fs::open(&dir, flags, Mode::empty())?;
        let there = |name: &str| rustix::fs::statat(&fd, name, AtFlags::SYMLINK_NOFOLLOW).is_ok();
        let merged = there("usr/lib") && !there("lib");
        Ok(Self { dir, fd, merged, dirs: Mutex::new(FastMap::default()) })
    }

    pub(super) fn is_merged(&self) -> bool {
        self.merged
    }

    pub(super) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The path outside of a path inside that holds no links.
    pub(super) fn outside(&self, real: &Path) -> PathBuf {
        self.dir.join(below(real))
    }

    /// `path` with links resolved, of the last part only with `follow`: an absolute path inside.
    pub(super) fn resolve(&self, path: &Path, follow: bool) -> Result<PathBuf, Errno> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return self.walk(path, follow);
        };
        let known = self.dirs.lock().ok().and_then(|dirs| dirs.get(dir).cloned());
        let real = known.unwrap_or_else(|| {
            let real = self.walk(dir, true);
            if let Ok(mut dirs) = self.dirs.lock() {
                dirs.insert(dir.to_path_buf(), real.clone());
            }
            real
        });
        self.walk(&real?.join(name), follow)
    }

    /// Component by component, as the kernel would with this root (`fs/namei.c`).
    fn walk(&self, path: &Path, follow: bool) -> Result<PathBuf, Errno> {
        let mut todo: Vec<OsString> = parts(path);
        let mut real = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                real.pop();
                continue;
            }
            let here = real.join(&part);
            if todo.is_empty() && !follow {
                return Ok(here);
            }
            match rustix::fs::readlinkat(&self.fd, below(&here), Vec::new()) {
                Ok(target) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP);
                    }
                    let target = PathBuf::from(OsString::from_vec(target.into_bytes()));
                    if target.is_absolute() {
                        real = PathBuf::from("/");
                    }
                    todo.extend(parts(&target));
                }
                // What is no link.
                Err(Errno::INVAL) => real = here,
                Err(Errno::NOENT) if self.is_merged_away(&real, &part) => {
                    todo.push(part);
                    todo.push("usr".into());
                }
                Err(errno) => return Err(errno),
            }
        }
        Ok(real)
    }

    fn is_merged_away(&self, dir: &Path, name: &OsStr) -> bool {
        self.merged && dir == Path::new("/") && MERGED.iter().any(|merged| name == *merged)
    }

    /// Opens a path inside that holds no links: should it hold one by now, it is not followed.
    pub(super) fn open_real(&self, real: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        let flags = flags | OFlags::NOFOLLOW;
        let resolve = ResolveFlags::BENEATH | ResolveFlags::NO_SYMLINKS;
        match rustix::fs::openat2(&self.fd, below(real), flags, Mode::empty(), resolve) {
            // Linux before 5.6, or a filter of system calls that does not know it.
            Err(Errno::NOSYS | Errno::PERM) => {
                rustix::fs::openat(&self.fd, below(real), flags, Mode::empty())
            }
            opened => opened,
        }
    }
}

/// An absolute path as one relative to the root.
pub(super) fn below(path: &Path) -> &Path {
    match path.strip_prefix("/") {
        Ok(rest) if !rest.as_os_str().is_empty() => rest,
        Ok(_) => Path::new("."),
        Err(_) => path,
    }
}

/// Names of a path, the last first; `..` is one of them.
fn parts(path: &Path) -> Vec<OsString> {
    let names = path.components().filter_map(|part| match part {
        Component::Normal(name) => Some(name.to_os_string()),
        Component::ParentDir => Some("..".into()),
        Component::RootDir | Component::CurDir | Component::Prefix(_) => None,
    });
    let mut names: Vec<OsString> = names.collect();
    names.reverse();
    names
}
