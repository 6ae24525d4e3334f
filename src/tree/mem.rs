//! A file system in memory, for the files that `stage` makes, for tests and for fuzzing. It holds
//! files, links, directories and special files by absolute path. It follows links as the kernel
//! does and ignores permissions.

use super::contract::{Opened, Tree};
use super::file::{Handle, Permit, ReadAt};
use super::follow::{FollowedLinks, Lookup, follow};
use super::kind::{DirEntryKind, EntryType, Special, Stat};
use crate::package::PackageId;
use rustix::io::Errno;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Longest name of an entry in bytes (`linux/limits.h`).
const NAME_MAX: usize = 255;

#[derive(Clone)]
enum MemoryEntry {
    File(Arc<[u8]>),
    Link(PathBuf),
    /// A directory, with the names in it.
    Directory(BTreeSet<OsString>),
    Special(Special),
}

/// A tree of files in memory. Relative paths start at `/`.
pub struct MemTree {
    /// Entries with their inode numbers.
    entries: BTreeMap<PathBuf, (MemoryEntry, u64)>,
    device: u64,
    inodes: u64,
    package: Option<Arc<PackageId>>,
}

impl Default for MemTree {
    fn default() -> Self {
        Self::on_device(1)
    }
}

impl MemTree {
    /// An empty tree, on device 1.
    pub fn new() -> Self {
        Self::default()
    }

    /// An empty tree on the given device. Two trees in one audit need different devices, because
    /// device and inode identify a file.
    pub fn on_device(device: u64) -> Self {
        let top = (MemoryEntry::Directory(BTreeSet::new()), 1);
        let entries = BTreeMap::from([(PathBuf::from("/"), top)]);
        Self { entries, device, inodes: 1, package: None }
    }

    /// This tree, with all files in the package's prefix assigned to that package.
    #[must_use]
    pub fn mounted_as(self, package: PackageId) -> Self {
        Self { package: Some(Arc::new(package)), ..self }
    }

    /// Puts a file at `path` and makes the directories above it.
    pub fn file(&mut self, path: impl AsRef<Path>, bytes: impl Into<Arc<[u8]>>) -> &mut Self {
        self.put(path.as_ref(), MemoryEntry::File(bytes.into()))
    }

    /// Puts a symbolic link at `path`.
    pub fn link(&mut self, path: impl AsRef<Path>, target: impl Into<PathBuf>) -> &mut Self {
        self.put(path.as_ref(), MemoryEntry::Link(target.into()))
    }

    /// Puts an empty directory at `path` and replaces an existing entry.
    pub fn directory(&mut self, path: impl AsRef<Path>) -> &mut Self {
        self.put(path.as_ref(), MemoryEntry::Directory(BTreeSet::new()))
    }

    /// Puts a special file at `path`.
    pub fn special(&mut self, path: impl AsRef<Path>, special: Special) -> &mut Self {
        self.put(path.as_ref(), MemoryEntry::Special(special))
    }

    /// Regular files in the order of `Path`, which compares component by component.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        self.entries
            .iter()
            .filter(|(_, (entry, _))| matches!(entry, MemoryEntry::File(..)))
            .map(|(path, _)| path.as_path())
    }

    /// Puts an entry at `path` and replaces an existing one, including the content of a directory.
    fn put(&mut self, path: &Path, entry: MemoryEntry) -> &mut Self {
        let above: Vec<&Path> = path.ancestors().skip(1).collect();
        for dir in above.into_iter().rev() {
            if !matches!(self.entries.get(dir), Some((MemoryEntry::Directory(_), _))) {
                self.insert(dir, MemoryEntry::Directory(BTreeSet::new()));
            }
        }
        if matches!(self.entries.get(path), Some((MemoryEntry::Directory(_), _))) {
            self.entries.retain(|other, _| other == path || !other.starts_with(path));
        }
        self.insert(path, entry);
        self
    }

    fn insert(&mut self, path: &Path, entry: MemoryEntry) {
        if let (Some(dir), Some(name)) = (path.parent(), path.file_name())
            && let Some((MemoryEntry::Directory(names), _)) = self.entries.get_mut(dir)
        {
            names.insert(name.to_owned());
        }
        self.inodes += 1;
        self.entries.insert(path.to_path_buf(), (entry, self.inodes));
    }

    /// The entry at a path without links in its directories.
    fn entry(&self, path: &Path) -> Result<&(MemoryEntry, u64), Errno> {
        self.entries.get(path).ok_or_else(|| {
            let above = path.parent().and_then(|above| self.entries.get(above));
            match (above, path.file_name()) {
                (Some((MemoryEntry::Directory(_), _)), Some(name)) if name.len() > NAME_MAX => {
                    Errno::NAMETOOLONG
                }
                (Some((MemoryEntry::File(_) | MemoryEntry::Special(_), _)), _) => Errno::NOTDIR,
                _ => Errno::NOENT,
            }
        })
    }

    fn at(
        &self,
        path: &Path,
        links: FollowedLinks,
    ) -> Result<(PathBuf, &(MemoryEntry, u64)), Errno> {
        let real = follow(self, path, links)?;
        let entry = self.entry(&real)?;
        Ok((real, entry))
    }

    fn stat(&self, (entry, ino): &(MemoryEntry, u64)) -> Stat {
        let len = if let MemoryEntry::File(bytes) = entry { bytes.len() as u64 } else { 0 };
        Stat { dev: self.device, ino: *ino, len, ..Stat::default() }
    }
}

impl Lookup for MemTree {
    fn target(&self, path: &Path) -> Result<Option<PathBuf>, Errno> {
        let (entry, _) = self.entry(path)?;
        Ok(if let MemoryEntry::Link(target) = entry { Some(target.clone()) } else { None })
    }

    fn is_directory(&self, path: &Path) -> Result<bool, Errno> {
        Ok(matches!(self.entry(path)?.0, MemoryEntry::Directory(_)))
    }
}

impl Tree for MemTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        let (_, found) = self.at(path, FollowedLinks::All)?;
        Ok(match &found.0 {
            MemoryEntry::File(bytes) => {
                let stat = self.stat(found);
                let file = MemFile { bytes: Arc::clone(bytes), stat };
                Opened::File(Handle::new(Arc::new(file), stat))
            }
            MemoryEntry::Directory(_) | MemoryEntry::Link(_) => Opened::Directory,
            MemoryEntry::Special(special) => Opened::Special(*special),
        })
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        let (_, found) = self.at(path, FollowedLinks::All)?;
        let kind = match &found.0 {
            MemoryEntry::File(_) => EntryType::File,
            MemoryEntry::Directory(_) | MemoryEntry::Link(_) => EntryType::Directory,
            MemoryEntry::Special(special) => EntryType::Special(*special),
        };
        Ok((kind, self.stat(found)))
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        Ok(node_of(&self.at(path, FollowedLinks::NotLast)?.1.0))
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        match &self.at(path, FollowedLinks::NotLast)?.1.0 {
            MemoryEntry::Link(target) => Ok(target.clone()),
            _ => Err(Errno::INVAL),
        }
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        Ok(self.at(path, FollowedLinks::All)?.0)
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        let (real, (entry, _)) = self.at(path, FollowedLinks::All)?;
        let MemoryEntry::Directory(names) = entry else { return Err(Errno::NOTDIR) };
        for name in names {
            let (entry, _) = self.entry(&real.join(name))?;
            visit(name, node_of(entry));
        }
        Ok(())
    }

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        self.package.clone().filter(|package| path.starts_with(&package.prefix))
    }
}

fn node_of(entry: &MemoryEntry) -> DirEntryKind {
    match entry {
        MemoryEntry::Link(_) => DirEntryKind::Link,
        MemoryEntry::File(_) => DirEntryKind::Kind(EntryType::File),
        MemoryEntry::Directory(_) => DirEntryKind::Kind(EntryType::Directory),
        MemoryEntry::Special(special) => DirEntryKind::Kind(EntryType::Special(*special)),
    }
}

/// A file in memory. It never changes.
#[derive(Debug)]
struct MemFile {
    bytes: Arc<[u8]>,
    stat: Stat,
}

impl MemFile {
    fn from(&self, offset: u64) -> &[u8] {
        usize::try_from(offset).ok().and_then(|at| self.bytes.get(at..)).unwrap_or_default()
    }
}

impl ReadAt for MemFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let bytes = self.from(offset);
        let n = buffer.len().min(bytes.len());
        buffer[..n].copy_from_slice(&bytes[..n]);
        Ok(n)
    }

    fn append_at(&self, buffer: &mut Vec<u8>, offset: u64) -> std::io::Result<()> {
        let bytes = self.from(offset);
        let room = (buffer.capacity() - buffer.len()).min(bytes.len());
        buffer.extend_from_slice(&bytes[..room]);
        Ok(())
    }

    fn stat(&self) -> Result<Stat, Errno> {
        Ok(self.stat)
    }

    fn permit(&self) -> Option<Permit> {
        Some(Permit::free())
    }
}
