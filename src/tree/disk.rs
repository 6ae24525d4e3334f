//! The machine's file system, or a sysroot in it, as a [`Tree`].

use super::contract::{Opened, Tree, errno};
use super::far::{Anchor, PATH_MAX};
use super::file::{Budget, Handle, Permit, ReadAt};
use super::follow::FollowedLinks;
use super::kind::{DirEntryKind, EntryType, Special, Stat};
use super::process;
use super::root::{RootDirectory, below};
use crate::package::PackageId;
use rustix::fs::{AtFlags, FileType, Mode, OFlags, RawDir, ResolveFlags};
use rustix::io::Errno;
use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::os::unix::fs::{FileExt as _, FileTypeExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The file system of this machine, or a sysroot in it.
#[derive(Default)]
pub struct DiskTree {
    root: Option<RootDirectory>,
    /// The base of relative paths, if not the working directory of this process.
    cwd: Option<PathBuf>,
    package: Option<Arc<PackageId>>,
    anchor: Anchor,
    budget: Arc<Budget>,
}

impl DiskTree {
    /// The whole file system of this machine.
    pub fn new() -> Self {
        Self::default()
    }

    /// The sysroot at `dir`, an absolute path with links resolved. In this tree, `/` is that
    /// directory.
    pub fn within(dir: &Path) -> Result<Self, Errno> {
        let root = Some(RootDirectory::open(dir)?);
        Ok(Self { root, cwd: Some("/".into()), ..Self::default() })
    }

    /// This tree, with `cwd` as the base of relative paths.
    #[must_use]
    pub fn seen_from(self, cwd: PathBuf) -> Self {
        Self { cwd: Some(cwd), ..self }
    }

    /// This tree, with all files in the package's prefix assigned to that package.
    #[must_use]
    pub fn mounted_as(self, package: PackageId) -> Self {
        Self { package: Some(Arc::new(package)), ..self }
    }

    /// True if the sysroot has `usr/lib` and no `lib`. The sysroot is then read as if `/lib` and
    /// similar names were links into `usr`.
    pub fn is_merged(&self) -> bool {
        self.root.as_ref().is_some_and(RootDirectory::is_merged)
    }

    fn absolute<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        match &self.cwd {
            Some(cwd) if path.is_relative() && !path.as_os_str().is_empty() => {
                Cow::Owned(cwd.join(path))
            }
            _ => Cow::Borrowed(path),
        }
    }

    fn stat(&self, path: &Path, links: FollowedLinks) -> Result<rustix::fs::Stat, Errno> {
        let path = &*self.absolute(path);
        let flags = AtFlags::SYMLINK_NOFOLLOW;
        match &self.root {
            None => {
                let far = self.anchor.reach(path)?;
                let flags = if links == FollowedLinks::All { AtFlags::empty() } else { flags };
                rustix::fs::statat(far.dir(), far.name(), flags)
            }
            Some(root) => rustix::fs::statat(root.fd(), below(&root.resolve(path, links)?), flags),
        }
    }

    /// Opens a file without a check of its kind. The caller knows from a listing, from `node` or
    /// from a followed link that the file is regular.
    fn open_met(&self, path: &Path) -> Result<File, Errno> {
        let path = &*self.absolute(path);
        Ok(File::from(match &self.root {
            None => {
                let far = self.anchor.reach(path)?;
                rustix::fs::openat(far.dir(), far.name(), READ, Mode::empty())?
            }
            Some(root) => root.open_real(&root.resolve(path, FollowedLinks::All)?, READ)?,
        }))
    }

    /// Opens the pipe at `path` as a stream. Fails with ENXIO for any other file.
    pub fn open_pipe(&self, path: &Path) -> Result<impl std::io::Read + use<>, Errno> {
        const PIPE: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NOCTTY);
        let path = self.absolute(path);
        let far = self.anchor.reach(&path)?;
        let file = File::from(rustix::fs::openat(far.dir(), far.name(), PIPE, Mode::empty())?);
        let stat = rustix::fs::fstat(&file)?;
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::Fifo => Ok(file),
            _ => Err(Errno::NXIO),
        }
    }

    fn handle(&self, file: File) -> Result<Handle, Errno> {
        let stat = convert(&rustix::fs::fstat(&file)?)?;
        Ok(self.handle_of(file, stat))
    }

    fn handle_of(&self, file: File, stat: Stat) -> Handle {
        Handle::new(Arc::new(DiskFile { file, budget: Arc::clone(&self.budget) }), stat)
    }

    /// The entry of a descriptor that was just opened. The kind of the file is checked again,
    /// because another file may have replaced the file that was checked before.
    fn opened(&self, file: OwnedFd) -> Result<Opened, Errno> {
        let file = File::from(file);
        let stat = rustix::fs::fstat(&file)?;
        Ok(match kind_of(FileType::from_raw_mode(stat.st_mode)) {
            EntryType::File => Opened::File(self.handle_of(file, convert(&stat)?)),
            EntryType::Directory => Opened::Directory,
            EntryType::Special(special) => Opened::Special(special),
        })
    }
}

/// Flags for opening audited files. If a FIFO or device has replaced the file, O_NONBLOCK and the
/// second check of its kind prevent blocking and reading.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);
/// Flags for opening directories to list them.
const LIST: OFlags = OFlags::RDONLY.union(OFlags::DIRECTORY).union(OFlags::CLOEXEC);
/// Size in bytes of the buffer for one getdents call, the same as glibc's.
const LISTED: usize = 32 << 10;

impl Tree for DiskTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        let path = &*self.absolute(path);
        if let Some(root) = &self.root {
            let real = root.resolve(path, FollowedLinks::All)?;
            let stat = rustix::fs::statat(root.fd(), below(&real), AtFlags::SYMLINK_NOFOLLOW)?;
            return match kind_of(FileType::from_raw_mode(stat.st_mode)) {
                EntryType::File => self.opened(root.open_real(&real, READ)?),
                EntryType::Directory => {
                    root.open_real(&real, READ | OFlags::DIRECTORY)?;
                    Ok(Opened::Directory)
                }
                EntryType::Special(special) => Ok(Opened::Special(special)),
            };
        }
        let far = self.anchor.reach(path)?;
        let stat = rustix::fs::statat(far.dir(), far.name(), AtFlags::empty())?;
        match kind_of(FileType::from_raw_mode(stat.st_mode)) {
            EntryType::File => {
                self.opened(rustix::fs::openat(far.dir(), far.name(), READ, Mode::empty())?)
            }
            EntryType::Directory => {
                // The loader's open(2) fails for a directory that the user may not read.
                rustix::fs::accessat(
                    far.dir(),
                    far.name(),
                    rustix::fs::Access::READ_OK,
                    AtFlags::EACCESS,
                )?;
                Ok(Opened::Directory)
            }
            EntryType::Special(special) => Ok(Opened::Special(special)),
        }
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        let stat = self.stat(path, FollowedLinks::All)?;
        Ok((kind_of(FileType::from_raw_mode(stat.st_mode)), convert(&stat)?))
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        let stat = self.stat(path, FollowedLinks::NotLast)?;
        Ok(node_of(FileType::from_raw_mode(stat.st_mode)))
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        let path = &*self.absolute(path);
        let target = match &self.root {
            None => {
                let far = self.anchor.reach(path)?;
                rustix::fs::readlinkat(far.dir(), far.name(), Vec::new())?
            }
            Some(root) => {
                let real = root.resolve(path, FollowedLinks::NotLast)?;
                rustix::fs::readlinkat(root.fd(), below(&real), Vec::new())?
            }
        };
        Ok(PathBuf::from(OsString::from_vec(target.into_bytes())))
    }

    #[expect(clippy::disallowed_methods, reason = "this is the Tree that clippy.toml points to")]
    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        let path = &*self.absolute(path);
        if let Some(root) = &self.root {
            let real = root.resolve(path, FollowedLinks::All)?;
            rustix::fs::statat(root.fd(), below(&real), AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(real);
        }
        match path.canonicalize() {
            Ok(real) => Ok(real),
            // No system call resolves links in a path beyond PATH_MAX. Such a path comes from a
            // walk, which returns paths without links in their directories.
            Err(_) if path.as_os_str().len() >= PATH_MAX => Ok(path.to_path_buf()),
            Err(error) => Err(errno(&error)),
        }
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        let path = &*self.absolute(path);
        let dir = match &self.root {
            None if path.as_os_str().len() < PATH_MAX => return list_near(path, visit),
            None => {
                let far = self.anchor.reach(path)?;
                rustix::fs::openat(far.dir(), far.name(), LIST, Mode::empty())?
            }
            Some(root) => root.open_real(&root.resolve(path, FollowedLinks::All)?, LIST)?,
        };
        let mut buffer: Vec<u8> = Vec::with_capacity(LISTED);
        let mut entries = RawDir::new(&dir, buffer.spare_capacity_mut());
        while let Some(entry) = entries.next() {
            let entry = entry?;
            let name = entry.file_name();
            let node = match entry.file_type() {
                _ if matches!(name.to_bytes(), b"." | b"..") => continue,
                // Some file systems do not report the type of entries.
                FileType::Unknown => {
                    let stat = rustix::fs::statat(&dir, name, AtFlags::SYMLINK_NOFOLLOW)?;
                    node_of(FileType::from_raw_mode(stat.st_mode))
                }
                kind => node_of(kind),
            };
            visit(OsStr::from_bytes(name.to_bytes()), node);
        }
        Ok(())
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        Some(self.stat(path, FollowedLinks::All).ok()?.st_mode & 0o7777)
    }

    fn has_capabilities(&self, path: &Path) -> bool {
        // The kernel stores capabilities in at most 24 bytes.
        let value = |file| rustix::fs::fgetxattr(file, c"security.capability", &mut [0_u8; 64]);
        self.open_met(path).is_ok_and(|file| value(file).is_ok())
    }

    fn is_of_process(&self, path: &Path) -> bool {
        let path = &*self.absolute(path);
        if process::is_named(path) {
            return true;
        }
        match &self.root {
            Some(root) => process::is_reached(root.fd(), below(path), ResolveFlags::IN_ROOT),
            None => self
                .anchor
                .reach(path)
                .is_ok_and(|far| process::is_reached(far.dir(), far.name(), ResolveFlags::empty())),
        }
    }

    fn is_of_kernel(&self, path: &Path) -> bool {
        let path = &*self.absolute(path);
        match &self.root {
            Some(root) => {
                let real = root.resolve(path, FollowedLinks::All);
                let dir = real.and_then(|real| root.open_real(&real, OFlags::PATH));
                dir.is_ok_and(|dir| process::is_of_kernel(rustix::fs::fstatfs(&dir)))
            }
            // `statfs` fails for a path beyond PATH_MAX. Such a path is deep in an ordinary file
            // system.
            None => process::is_of_kernel(rustix::fs::statfs(path)),
        }
    }

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        self.package.clone().filter(|package| path.starts_with(&package.prefix))
    }

    fn open_regular(&self, path: &Path) -> Result<Handle, Errno> {
        self.handle(self.open_met(path)?)
    }

    fn open_if(
        &self,
        path: &Path,
        head: &mut [u8],
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Handle>, Errno> {
        let file = self.open_met(path)?;
        let n = file.read_at(head, 0).map_err(|error| errno(&error))?;
        if wanted(&head[..n]) { self.handle(file).map(Some) } else { Ok(None) }
    }
}

/// Lists a directory through `readdir` of the C library. `tests/texts/determinism.rs` preloads a
/// library that shuffles the results of `readdir`.
#[expect(clippy::disallowed_methods, reason = "this is the Tree that clippy.toml points to")]
fn list_near(path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
    for entry in std::fs::read_dir(path).map_err(|error| errno(&error))? {
        let entry = entry.map_err(|error| errno(&error))?;
        let kind = entry.file_type().map_err(|error| errno(&error))?;
        let node = if kind.is_symlink() {
            DirEntryKind::Link
        } else if kind.is_dir() {
            DirEntryKind::Kind(EntryType::Directory)
        } else if kind.is_fifo() {
            DirEntryKind::Kind(EntryType::Special(Special::Fifo))
        } else if kind.is_socket() {
            DirEntryKind::Kind(EntryType::Special(Special::Socket))
        } else if kind.is_char_device() || kind.is_block_device() {
            DirEntryKind::Kind(EntryType::Special(Special::Device))
        } else {
            DirEntryKind::Kind(EntryType::File)
        };
        visit(&entry.file_name(), node);
    }
    Ok(())
}

/// An open file on disk.
#[derive(Debug)]
struct DiskFile {
    file: File,
    budget: Arc<Budget>,
}

impl ReadAt for DiskFile {
    fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        let mut done = 0;
        while done < buffer.len() {
            match self.file.read_at(&mut buffer[done..], offset + done as u64) {
                Ok(0) => break,
                Ok(n) => done += n,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(done)
    }

    fn append_at(&self, buffer: &mut Vec<u8>, offset: u64) -> std::io::Result<()> {
        let mut at = offset;
        while buffer.len() < buffer.capacity() {
            match rustix::io::pread(&self.file, rustix::buffer::spare_capacity(buffer), at) {
                Ok(0) => break,
                Ok(n) => at += n as u64,
                Err(Errno::INTR) => {}
                Err(errno) => return Err(errno.into()),
            }
        }
        Ok(())
    }

    fn stat(&self) -> Result<Stat, Errno> {
        convert(&rustix::fs::fstat(&self.file)?)
    }

    fn permit(&self) -> Option<Permit> {
        self.budget.permit()
    }
}

fn convert(stat: &rustix::fs::Stat) -> Result<Stat, Errno> {
    let nanoseconds = |s: i64, ns: u64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    Ok(Stat {
        dev: stat.st_dev,
        ino: stat.st_ino,
        len: u64::try_from(stat.st_size).map_err(|_| Errno::OVERFLOW)?,
        mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
        mode: stat.st_mode & 0o7777,
    })
}

fn node_of(kind: FileType) -> DirEntryKind {
    if kind == FileType::Symlink { DirEntryKind::Link } else { DirEntryKind::Kind(kind_of(kind)) }
}

fn kind_of(kind: FileType) -> EntryType {
    match kind {
        FileType::Directory => EntryType::Directory,
        FileType::Fifo => EntryType::Special(Special::Fifo),
        FileType::Socket => EntryType::Special(Special::Socket),
        FileType::CharacterDevice | FileType::BlockDevice => EntryType::Special(Special::Device),
        FileType::RegularFile | FileType::Symlink | FileType::Unknown => EntryType::File,
    }
}
