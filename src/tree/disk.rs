//! The machine's own file system. It is not the walk (`walk.rs`); `audit` makes one and every
//! stage that reads gets it as a [`Tree`].

use super::{Errno, Handle, Kind, Opened, Special, Stat, Tree};
use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use std::cell::Cell;
use std::fs::File;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::rc::Rc;

/// Longest path that one system call takes, with its NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// The file system of this machine.
pub struct DiskTree;

impl Tree for DiskTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
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
        let far = Far::reach(path)?;
        let stat = rustix::fs::statat(far.dir(), far.name(), AtFlags::empty())?;
        Ok((kind_of(FileType::from_raw_mode(stat.st_mode)), convert(&stat)))
    }

    fn is_link(&self, path: &Path) -> bool {
        Far::reach(path)
            .is_ok_and(|far| rustix::fs::readlinkat(far.dir(), far.name(), Vec::new()).is_ok())
    }

    #[expect(clippy::disallowed_methods, reason = "this is the Tree that clippy.toml points to")]
    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
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
    Path::new(std::ffi::OsStr::from_bytes(bytes))
}

/// The kind of a path with links followed, and whether it is a link itself: one call for most.
pub(super) fn kind_and_link(path: &Path) -> (Result<Kind, Errno>, bool) {
    let own = Far::reach(path)
        .and_then(|far| rustix::fs::statat(far.dir(), far.name(), AtFlags::SYMLINK_NOFOLLOW));
    match own.map(|stat| FileType::from_raw_mode(stat.st_mode)) {
        Ok(FileType::Symlink) => (DiskTree.kind(path), true),
        Ok(kind) => (Ok(kind_of(kind)), false),
        Err(errno) => (Err(errno), false),
    }
}

/// Opens what is known to be a regular file. O_NONBLOCK and the second look keep a file that was
/// replaced by a FIFO or device in between from blocking or being read.
pub(super) fn open_at(dir: BorrowedFd<'_>, name: &Path) -> Result<Opened, Errno> {
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(dir, name, flags, Mode::empty())?);
    let stat = rustix::fs::fstat(&file)?;
    Ok(match kind_of(FileType::from_raw_mode(stat.st_mode)) {
        Kind::File => Opened::File(Handle::disk(file, convert(&stat))),
        Kind::Directory => Opened::Directory,
        Kind::Special(special) => Opened::Special(special),
    })
}

/// Opens a file that a directory listing calls regular and reads its first bytes into `head`;
/// `fstat` is left until the head has shown that the file matters.
pub(super) fn sniff_at(path: &Path, head: &mut [u8]) -> Result<(File, usize), Errno> {
    use std::os::unix::fs::FileExt as _;
    let far = Far::reach(path)?;
    let flags = OFlags::RDONLY | OFlags::CLOEXEC | OFlags::NONBLOCK | OFlags::NOCTTY;
    let file = File::from(rustix::fs::openat(far.dir(), far.name(), flags, Mode::empty())?);
    let n = file.read_at(head, 0).map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?;
    Ok((file, n))
}

/// Makes a handle of a sniffed file.
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
