//! Following links: how a path leads to what it names, component by component as the kernel goes
//! (`fs/namei.c`), for trees that cannot leave it to the kernel. `..` at the top stays there, so no
//! path leads out.

use crate::id::FastMap;
use rustix::io::Errno;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// As many links as the kernel follows in one path before it answers ELOOP.
const MOST_LINKS: usize = 40;

/// A tree that is asked for one entry at a time. No directory in the paths it gets is a link.
pub(super) trait Lookup {
    /// The target of the link at `path`; nothing if something else lies there.
    fn target(&self, path: &Path) -> Result<Option<PathBuf>, Errno>;
    /// True if a directory lies at `path`.
    fn is_directory(&self, path: &Path) -> Result<bool, Errno>;
}

/// Which links of a path are followed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Links {
    /// All.
    All,
    /// All but one in the last place. Whether anything lies in the last place is not asked.
    NotLast,
}

/// How far a path was followed.
#[derive(Clone)]
struct Reached {
    real: PathBuf,
    links: usize,
}

impl Reached {
    fn top() -> Self {
        Self { real: PathBuf::from("/"), links: 0 }
    }

    fn go(self, tree: &impl Lookup, path: &Path, follow: Links) -> Result<Self, Errno> {
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
            if todo.is_empty() && follow == Links::NotLast {
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
            // A name below a file fails by itself; these two are not looked up.
            let stays = todo.last().is_some_and(|next| next == "." || next == "..");
            if stays && !tree.is_directory(&here)? {
                return Err(Errno::NOTDIR);
            }
            real = here;
        }
        Ok(Self { real, links })
    }
}

/// The names of a path, the last first. A `.` at the beginning of the list stands for a slash at the
/// end of the path: a directory must lie there.
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

/// `path` with links resolved, from `/` on.
pub(super) fn follow(tree: &impl Lookup, path: &Path, links: Links) -> Result<PathBuf, Errno> {
    if path.as_os_str().is_empty() {
        return Err(Errno::NOENT);
    }
    Ok(Reached::top().go(tree, path, links)?.real)
}

/// Directories that were followed before: neighbours share the way to them.
#[derive(Default)]
pub(super) struct Ways {
    known: Mutex<FastMap<PathBuf, Result<Reached, Errno>>>,
}

impl Ways {
    /// As [`follow`] does, with the way to the directory remembered.
    pub(super) fn follow(
        &self,
        tree: &impl Lookup,
        path: &Path,
        links: Links,
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
            let reached = Reached::top().go(tree, dir, Links::All);
            self.lock().insert(dir.to_path_buf(), reached.clone());
            reached
        });
        Ok(reached?.go(tree, Path::new(OsStr::from_bytes(name)), links)?.real)
    }

    /// What a panicking thread left in the map is still true of the tree.
    fn lock(&self) -> std::sync::MutexGuard<'_, FastMap<PathBuf, Result<Reached, Errno>>> {
        self.known.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
