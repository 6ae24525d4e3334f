//! Resolves paths component by component, as the kernel does (`fs/namei.c`), for trees whose paths
//! the kernel cannot resolve. `..` at the top stays there, so that no path leaves the tree.

use super::contract::is_answer;
use crate::id::FastMap;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Number of links that the kernel follows in one path before it fails with ELOOP.
pub const MOST_LINKS: usize = 40;

/// The functions of a tree that [`follow`] needs. [`follow`] passes only paths whose directories
/// are not links.
pub(super) trait Lookup {
    /// The target of the link at `path`; `None` if the entry is not a link.
    fn target(&self, path: &Path) -> Result<Option<PathBuf>, Errno>;
    /// True if `path` is a directory.
    fn is_directory(&self, path: &Path) -> Result<bool, Errno>;
}

/// The links that are followed in a path.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum FollowedLinks {
    /// All links.
    All,
    /// All links, but not a link in the last component. That component need not exist.
    NotLast,
}

/// The path resolved so far, and the number of links followed.
#[derive(Clone)]
struct Reached {
    real: PathBuf,
    links: usize,
}

impl Reached {
    fn top() -> Self {
        Self { real: PathBuf::from("/"), links: 0 }
    }

    fn go(self, tree: &impl Lookup, path: &Path, follow: FollowedLinks) -> Result<Self, Errno> {
        let Self { mut real, mut links } = self;
        let mut todo = parts(path);
        while let Some(part) = todo.pop() {
            if part == "." {
                continue;
            }
            if part == ".." {
                real.pop();
                continue;
            }
            let here = real.join(&part);
            if todo.is_empty() && follow == FollowedLinks::NotLast {
                real = here;
                break;
            }
            if let Some(target) = tree.target(&here)? {
                links += 1;
                if links > MOST_LINKS {
                    return Err(Errno::LOOP);
                }
                if target.is_absolute() {
                    real = PathBuf::from("/");
                }
                todo.extend(parts(&target));
                continue;
            }
            // The kernel rejects `file/.` and `file/..` with ENOTDIR. For any other name after
            // `file/`, the next lookup fails.
            let stays = todo.last().is_some_and(|next| next == "." || next == "..");
            if stays && !tree.is_directory(&here)? {
                return Err(Errno::NOTDIR);
            }
            real = here;
        }
        Ok(Self { real, links })
    }
}

/// The components of a path, last first. A trailing slash requires a directory, so the list then
/// begins with `.`.
fn parts(path: &Path) -> Vec<OsString> {
    let bytes = path.as_os_str().as_bytes();
    let names = bytes.split(|b| *b == b'/').filter(|name| !name.is_empty() && *name != b".");
    let mut parts: Vec<OsString> = names.map(|name| OsStr::from_bytes(name).into()).collect();
    if bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
        parts.push(".".into());
    }
    parts.reverse();
    parts
}

/// `path` with links resolved, starting at `/`.
pub(super) fn follow(
    tree: &impl Lookup,
    path: &Path,
    links: FollowedLinks,
) -> Result<PathBuf, Errno> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    Ok(Reached::top().go(tree, path, links)?.real)
}

/// A cache of resolved directories. All paths in one directory use the same entry of the cache.
#[derive(Default)]
pub(super) struct Ways {
    known: Mutex<FastMap<PathBuf, Result<Reached, Errno>>>,
}

impl Ways {
    /// Like [`follow`], with the resolved directory cached.
    pub(super) fn follow(
        &self,
        tree: &impl Lookup,
        path: &Path,
        links: FollowedLinks,
    ) -> Result<PathBuf, Errno> {
        let bytes = path.as_os_str().as_bytes();
        let (dir, name) = match bytes.iter().rposition(|b| *b == b'/') {
            Some(at) => (&bytes[..at.max(1)], &bytes[at + 1..]),
            None => return follow(tree, path, links),
        };
        if matches!(name, b"" | b"." | b"..") {
            return follow(tree, path, links);
        }
        let dir = Path::new(OsStr::from_bytes(dir));
        let known = self.lock().get(dir).cloned();
        let reached = known.unwrap_or_else(|| {
            let reached = Reached::top().go(tree, dir, FollowedLinks::All);
            // Other errors, such as EIO, may be temporary, so they are not cached.
            let lasts = |errno| is_answer(errno) || errno == Errno::ACCESS;
            if reached.as_ref().map_or_else(|errno| lasts(*errno), |_| true) {
                self.lock().insert(dir.to_path_buf(), reached.clone());
            }
            reached
        });
        Ok(reached?.go(tree, Path::new(OsStr::from_bytes(name)), links)?.real)
    }

    /// Locks the cache. A panic of another thread does not matter, because the map has only
    /// complete entries.
    fn lock(&self) -> std::sync::MutexGuard<'_, FastMap<PathBuf, Result<Reached, Errno>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
