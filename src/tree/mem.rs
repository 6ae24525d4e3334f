//! A file system made of values, for tests and fuzzing: files, links and directories by absolute
//! path. It follows links as the kernel does; it knows no permissions and no special files.

use super::{Errno, Handle, Kind, Opened, Stat, Tree};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Component, Path, PathBuf};
use std::sync::Arc;

/// As many links as the kernel follows in one path before it answers ELOOP.
const MOST_LINKS: usize = 40;

enum Entry {
    File(Arc<[u8]>, u64),
    Link(PathBuf),
    Directory,
}

/// A tree of files in memory. Relative paths are taken from `/`.
#[derive(Default)]
pub struct MemTree {
    entries: BTreeMap<PathBuf, Entry>,
}

impl MemTree {
    /// A tree with nothing in it.
    pub fn new() -> Self {
        Self::default()
    }

    /// Puts a file at `path` and makes the directories above it.
    pub fn file(&mut self, path: impl AsRef<Path>, bytes: impl Into<Arc<[u8]>>) -> &mut Self {
        let inode = self.entries.len() as u64 + 1;
        self.put(path.as_ref(), Entry::File(bytes.into(), inode))
    }

    /// Puts a symbolic link at `path`.
    pub fn link(&mut self, path: impl AsRef<Path>, target: impl Into<PathBuf>) -> &mut Self {
        self.put(path.as_ref(), Entry::Link(target.into()))
    }

    /// Regular files in byte order of their paths.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries
            .iter()
            .filter(|(_, entry)| matches!(entry, Entry::File(..)))
            .map(|(path, _)| path.as_path())
    }

    fn put(&mut self, path: &Path, entry: Entry) -> &mut Self {
        for above in path.ancestors().skip(1) {
            self.entries.entry(above.to_path_buf()).or_insert(Entry::Directory);
        }
        self.entries.insert(path.to_path_buf(), entry);
        self
    }

    fn walk(&self, path: &Path) -> Result<(PathBuf, &Entry), Errno> {
        let mut todo: Vec<OsString> = parts(path);
        let mut here = PathBuf::from("/");
        let mut links = 0;
        while let Some(part) = todo.pop() {
            if part == ".." {
                here.pop();
                continue;
            }
            let next = here.join(&part);
            match self.entries.get(&next) {
                None => return Err(Errno::NOENT),
                Some(Entry::Link(target)) => {
                    links += 1;
                    if links > MOST_LINKS {
                        return Err(Errno::LOOP);
                    }
                    if target.is_absolute() {
                        here = PathBuf::from("/");
                    }
                    todo.extend(parts(target));
                }
                Some(Entry::File(..)) if !todo.is_empty() => return Err(Errno::NOTDIR),
                Some(Entry::File(..) | Entry::Directory) => here = next,
            }
        }
        let entry = self.entries.get(&here).ok_or(Errno::NOENT)?;
        Ok((here, entry))
    }
}

/// The parts of a path, last first.
fn parts(path: &Path) -> Vec<OsString> {
    path.components()
        .rev()
        .filter(|part| matches!(part, Component::Normal(_) | Component::ParentDir))
        .map(|part| part.as_os_str().to_owned())
        .collect()
}

impl Tree for MemTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        match self.walk(path)?.1 {
            Entry::File(bytes, inode) => {
                let stat = Stat { dev: 1, ino: *inode, len: bytes.len() as u64, ..Stat::default() };
                Ok(Opened::File(Handle::memory(bytes.clone(), stat)))
            }
            Entry::Directory | Entry::Link(_) => Ok(Opened::Directory),
        }
    }

    fn look(&self, path: &Path) -> Result<(Kind, Stat), Errno> {
        Ok(match self.walk(path)?.1 {
            Entry::File(bytes, inode) => {
                let len = bytes.len() as u64;
                (Kind::File, Stat { dev: 1, ino: *inode, len, ..Stat::default() })
            }
            Entry::Directory | Entry::Link(_) => (Kind::Directory, Stat::default()),
        })
    }

    fn is_link(&self, path: &Path) -> bool {
        matches!(self.entries.get(path), Some(Entry::Link(_)))
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        Ok(self.walk(path)?.0)
    }

    fn names(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, bool)) -> Result<(), Errno> {
        let real = self.real_path(path)?;
        for (path, entry) in self.entries.iter().filter(|(path, _)| path.parent() == Some(&*real)) {
            if let Some(name) = path.file_name() {
                visit(name, matches!(entry, Entry::Directory));
            }
        }
        Ok(())
    }
}
