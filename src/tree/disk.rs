//! The machine's own file system. It is not the walk (`walk.rs`); `audit` makes one and every
//! stage that reads gets it as a [`Tree`].

use super::root::{Root, below};
use super::{Errno, Handle, Kind, Opened, Special, Stat, Tree};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use std::borrow::Cow;
use std::cell::Cell;
use std::ffi::OsStr;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Longest path that one system call takes, with its NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// The file system of this machine, or the part of it that is another system's root.
#[derive(Default)]
pub struct DiskTree {
    root: Option<Root>,
    /// What relative paths begin at, if not at this process's directory.
    cwd: Option<PathBuf>,
}

impl DiskTree {
    /// All of it.
    pub fn new() -> Self {
        Self::default()
    }

    /// What lies in `dir`, an absolute path with links resolved: `/` is that directory.
    pub fn within(dir: PathBuf) -> Result<Self, Errno> {
        Root::open(dir).map(|root| Self { root: Some(root), cwd: Some("/".into()) })
    }

    /// The same with relative paths taken from `cwd`.
    #[must_use]
    pub fn seen_from(self, cwd: PathBuf) -> Self {
        Self { cwd: Some(cwd), ..self }
    }

    fn absolute<'p>(&self, path: &'p Path) -> Cow<'p, Path> {
        match &self.cwd {
            Some(cwd) if path.is_relative() && !path.as_os_str().is_empty() => {
                Cow::Owned(cwd.join(path))
            }
            _ => Cow::Borrowed(path),
        }
    }

    /// True if the root has `usr/lib` and no `lib`, and is read as if the links were there.
    pub fn is_merged(&self) -> bool {
        self.root.as_ref().is_some_and(Root::is_merged)
    }

    /// Where the directory at `path` is to be listed, on this machine.
    pub(super) fn place(&self, path: &Path) -> Result<PathBuf, Errno> {
        match &self.root {
            None => Ok(path.to_path_buf()),
            Some(root) => Ok(root.outside(&root.resolve(path, true)?)),
        }
    }

    /// The kind of a path with links followed, and whether it is a link itself: one call for most.
    pub(super) fn kind_and_link(&self, path: &Path) -> (Result<Kind, Errno>, bool) {
        match self.stat(path, false).map(|stat| FileType::from_raw_mode(stat.st_mode)) {
            Ok(FileType::Symlink) => (self.kind(path), true),
            Ok(kind) => (Ok(kind_of(kind)), false),
            Err(errno) => (Err(errno), false),
        }
    }

    /// Opens a file that a directory listing or a look at it calls regular, or that a link leads to.
    pub(super) fn open_met(&self, path: &Path) -> Result<File, Errno> {
        Ok(match &self.root {
            None => {
                let far = Far::reach(path)?;
                File::from(rustix::fs::openat(far.dir(), far.name(), READ, Mode::empty())?)
            }
            Some(root) => File::from(root.open_real(&root.resolve(path, true)?, READ)?),
        })
    }

    fn stat(&self, path: &Path, follow: bool) -> Result<rustix::fs::Stat, Errno> {
        let path = &*self.absolute(path);
        match &self.root {
            None => {
                let far = Far::reach(path)?;
                let flags = if follow { AtFlags::empty() } else { AtFlags::SYMLINK_NOFOLLOW };
                rustix::fs::statat(far.dir(), far.name(), flags)
            }
            Some(root) => {
                let real = root.resolve(path, follow)?;
                rustix::fs::statat(root.fd(), below(&real), AtFlags::SYMLINK_NOFOLLOW)
            }
        }
    }
}

/// How audited files are opened. O_NONBLOCK and a second look keep a file that was replaced by a
/// FIFO or device in between from blocking or being read.
const READ: OFlags =
    OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::NONBLOCK).union(OFlags::NOCTTY);

impl Tree for DiskTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        let path = &*self.absolute(path);
        if let Some(root) = &self.root {
            let real = root.resolve(path, true)?;
            let stat = rustix::fs::statat(root.fd(), below(&real), AtFlags::SYMLINK_NOFOLLOW)?;
            return match kind_of(FileType::from_raw_mode(stat.st_mode)) {
                Kind::File => opened(root.open_real(&real, READ)?),
                Kind::Directory => {
                    root.open_real(&real, READ | OFlags::DIRECTORY)?;
                    Ok(Opened::Directory)
                }
                Kind::Special(special) => Ok(Opened::Special(special)),
            };
        }
        let far = Far::reach(path)?;
        let stat = rustix::fs::statat(far.dir(), far.name(), AtFlags::empty())?;
        match kind_of(FileType::from_raw_mode(stat.st_mode)) {
            Kind::File => open_at(far.dir(), far.name()),
            Kind::Directory => {
                // The loader's open(2) is allowed to fail here for want of permission.
                rustix::fs::accessat(
                    far.dir(),
                    far.name(),
                    rustix::fs::Access::READ_OK,
                    AtFlags::EACCESS,
                )?;
                Ok(Opened::Directory)
            }
            Kind::Special(special) => Ok(Opened::Special(special)),
        }
    }

    fn look(&self, path: &Path) -> Result<(Kind, Stat), Errno> {
        let stat = self.stat(path, true)?;
        Ok((kind_of(FileType::from_raw_mode(stat.st_mode)), convert(&stat)))
    }

    fn is_link(&self, path: &Path) -> bool {
        let path = &*self.absolute(path);
        if let Some(root) = &self.root {
            let real = root.resolve(path, false);
            return real.is_ok_and(|real| {
                rustix::fs::readlinkat(root.fd(), below(&real), Vec::new()).is_ok()
            });
        }
        Far::reach(path)
            .is_ok_and(|far| rustix::fs::readlinkat(far.dir(), far.name(), Vec::new()).is_ok())
    }

    fn names(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, bool)) -> Result<(), Errno> {
        let place = self.place(&self.absolute(path))?;
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let dir = rustix::fs::openat(CWD, &place, flags, Mode::empty())?;
        for entry in rustix::fs::Dir::new(dir)? {
            let entry = entry?;
            let name = OsStr::from_bytes(entry.file_name().to_bytes());
            if name == "." || name == ".." {
                continue;
            }
            let is_directory = match entry.file_type() {
                FileType::Directory => true,
                // The file system does not say.
                FileType::Unknown => {
                    let path = path.join(name);
                    self.kind(&path) == Ok(Kind::Directory) && !self.is_link(&path)
                }
                _ => false,
            };
            visit(name, is_directory);
        }
        Ok(())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the Tree that clippy.toml points to")]
    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        let path = &*self.absolute(path);
        if let Some(root) = &self.root {
            let real = root.resolve(path, true)?;
            rustix::fs::statat(root.fd(), below(&real), AtFlags::SYMLINK_NOFOLLOW)?;
            return Ok(real);
        }
        match path.canonicalize() {
            Ok(real) => Ok(real),
            // Beyond PATH_MAX no call resolves links; such a path came out of a walk and holds none.
            Err(_) if path.as_os_str().len() >= PATH_MAX => Ok(path.to_path_buf()),
            Err(e) => Err(Errno::from_io_error(&e).unwrap_or(Errno::IO)),
        }
    }
}

thread_local! {
    /// The last directory that was reached piece by piece on this thread, and the way to it.
    static ANCHOR: Cell<Option<(Vec<u8>, Rc<OwnedFd>)>> = const { Cell::new(None) };
}

/// True if `way` is a directory above `path`, near enough to go on from it.
fn is_way_to(way: &[u8], path: &[u8]) -> bool {
    path.len() > way.len() + 1 && path[way.len()] == b'/' && path.starts_with(way)
}

/// A directory near enough to `path` that its last part can be named in one system call.
pub(super) struct Far<'p> {
    dir: Option<Rc<OwnedFd>>,
    name: &'p Path,
}

impl<'p> Far<'p> {
    /// Opens the way to `path` piece by piece where it is too long for one call. The last way is
    /// remembered: a deep tree is gone through from one neighbour to the next.
    pub(super) fn reach(path: &'p Path) -> Result<Self, Errno> {
        if path.as_os_str().len() < PATH_MAX {
            return Ok(Self { dir: None, name: path });
        }
        let bytes = path.as_os_str().as_bytes();
        let (mut done, mut dir) = match ANCHOR.take() {
            Some((way, dir)) if is_way_to(&way, bytes) => (way.len() + 1, Some(dir)),
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
            dir = Some(Rc::new(rustix::fs::openat(here, part, flags, Mode::empty())?));
            done += cut + 1;
        }
        if let Some(dir) = &dir {
            ANCHOR.set(Some((bytes[..done - 1].to_vec(), Rc::clone(dir))));
        }
        Ok(Self { dir, name: as_path(&bytes[done..]) })
    }

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

/// Opens what is known to be a regular file.
pub(super) fn open_at(dir: BorrowedFd<'_>, name: &Path) -> Result<Opened, Errno> {
    opened(rustix::fs::openat(dir, name, READ, Mode::empty())?)
}

/// What was opened, looked at again.
fn opened(file: OwnedFd) -> Result<Opened, Errno> {
    let file = File::from(file);
    let stat = rustix::fs::fstat(&file)?;
    Ok(match kind_of(FileType::from_raw_mode(stat.st_mode)) {
        Kind::File => Opened::File(Handle::disk(file, convert(&stat))),
        Kind::Directory => Opened::Directory,
        Kind::Special(special) => Opened::Special(special),
    })
}

/// Reads the first bytes of a file; `fstat` is left until they have shown that the file matters.
pub(super) fn sniff(file: &File, head: &mut [u8]) -> Result<usize, Errno> {
    use std::os::unix::fs::FileExt as _;
    file.read_at(head, 0).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))
}

/// Makes a handle of a file that matters.
pub(super) fn handle(file: File) -> Result<Handle, Errno> {
    let stat = stat_of(&file).ok_or(Errno::IO)?;
    Ok(Handle::disk(file, stat))
}

pub(super) fn stat_of(file: &File) -> Option<Stat> {
    rustix::fs::fstat(file).ok().map(|stat| convert(&stat))
}

pub(super) fn convert(stat: &rustix::fs::Stat) -> Stat {
    let nanoseconds = |s: i64, ns: u64| i128::from(s) * 1_000_000_000 + i128::from(ns);
    Stat {
        dev: stat.st_dev,
        ino: stat.st_ino,
        len: u64::try_from(stat.st_size).unwrap_or(0),
        mtime: nanoseconds(stat.st_mtime, stat.st_mtime_nsec),
        ctime: nanoseconds(stat.st_ctime, stat.st_ctime_nsec),
    }
}

pub(super) fn kind_of(kind: FileType) -> Kind {
    match kind {
        FileType::Directory => Kind::Directory,
        FileType::Fifo => Kind::Special(Special::Fifo),
        FileType::Socket => Kind::Special(Special::Socket),
        FileType::CharacterDevice | FileType::BlockDevice => Kind::Special(Special::Device),
        FileType::RegularFile | FileType::Symlink | FileType::Unknown => Kind::File,
    }
}
