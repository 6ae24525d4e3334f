//! Reading: the only folder that opens, lists or looks at files.
//!
//! A [`Tree`] is a file system as the audit sees it: the machine's own ([`DiskTree`]) or one made
//! of values in memory ([`MemTree`], for tests and fuzzing). It answers what the loader's own
//! `open` would answer, tells special files from regular ones before opening them, and hands out
//! [`Handle`]s that are read with bounded `pread` calls. It is not a cache and holds no facts;
//! `facts::collect` asks it, and `walk` lists what is below the given paths.

mod disk;
mod list;
mod mem;
mod root;
pub mod walk;

pub use disk::DiskTree;
pub use mem::MemTree;

use std::ffi::OsStr;
use std::fs::File;
use std::ops::Deref;
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

/// The kernel's error number of a failed call, as the loader would see it.
pub use rustix::io::Errno;

/// What tells one file from another, and one version of a file from another.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stat {
    /// Device number; together with `ino` the identity that glibc and musl compare.
    pub dev: u64,
    /// Inode number.
    pub ino: u64,
    /// Size in bytes.
    pub len: u64,
    /// Last change of the content, in nanoseconds since the epoch.
    pub mtime: i128,
    /// Last change of the inode, in nanoseconds since the epoch.
    pub ctime: i128,
}

/// A special file: nothing that a loader maps, and possibly something that blocks or acts when opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Special {
    /// A named pipe.
    Fifo,
    /// A socket.
    Socket,
    /// A character or block device.
    Device,
}

impl Special {
    /// The kind in words.
    pub fn describe(self) -> &'static str {
        match self {
            Self::Fifo => "a FIFO",
            Self::Socket => "a socket",
            Self::Device => "a device",
        }
    }
}

/// What lies at a path once links are followed.
pub enum Opened {
    /// A regular file, open for reading.
    File(Handle),
    /// A directory: `open` succeeds on it and `read` fails with EISDIR.
    Directory,
    /// Something that was recognised and not opened.
    Special(Special),
}

/// The kind of a path once links are followed, with nothing opened.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Kind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
    /// A FIFO, socket or device.
    Special(Special),
}

/// A file system as the audit sees it.
pub trait Tree: Sync {
    /// Opens `path` as `open(2)` with O_RDONLY would, links followed. Special files are not opened.
    fn open(&self, path: &Path) -> Result<Opened, Errno>;
    /// Kind and identity of what lies at `path`, links followed, with nothing opened.
    fn look(&self, path: &Path) -> Result<(Kind, Stat), Errno>;
    /// The kind alone.
    fn kind(&self, path: &Path) -> Result<Kind, Errno> {
        self.look(path).map(|(kind, _)| kind)
    }
    /// True if `path` itself is a symbolic link.
    fn is_link(&self, path: &Path) -> bool;
    /// `path` with every link resolved.
    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno>;
    /// Calls `visit` with each name in the directory at `path`, and whether it is a directory itself.
    fn names(&self, _path: &Path, _visit: &mut dyn FnMut(&OsStr, bool)) -> Result<(), Errno> {
        Err(Errno::NOSYS)
    }
}

/// So many files are held open at most, and no more than this part of what the process may have open.
const MOST_HELD: usize = 32;
const SHARE_HELD: u64 = 8;

fn most_held() -> usize {
    static MOST: OnceLock<usize> = OnceLock::new();
    *MOST.get_or_init(|| {
        let limit = rustix::process::getrlimit(rustix::process::Resource::Nofile).current;
        let share = limit
            .map_or(MOST_HELD, |limit| usize::try_from(limit / SHARE_HELD).unwrap_or(MOST_HELD));
        share.min(MOST_HELD)
    })
}

/// How many are.
static HELD: AtomicUsize = AtomicUsize::new(0);

/// A file that stays open until this is dropped.
#[derive(Debug)]
pub struct Held(Handle);

impl Deref for Held {
    type Target = Handle;

    fn deref(&self) -> &Handle {
        &self.0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        HELD.fetch_sub(1, Ordering::Relaxed);
    }
}

/// An open regular file with what `fstat` said when it was opened.
#[derive(Debug)]
pub struct Handle {
    source: Source,
    stat: Stat,
}

#[derive(Debug)]
enum Source {
    Disk(File),
    Memory(Arc<[u8]>),
}

impl Handle {
    fn disk(file: File, stat: Stat) -> Self {
        Self { source: Source::Disk(file), stat }
    }

    fn memory(bytes: Arc<[u8]>, stat: Stat) -> Self {
        Self { source: Source::Memory(bytes), stat }
    }

    /// The same file for longer than the walk holds it; nothing if as many are held as may be.
    pub fn hold(&self) -> Option<Held> {
        let next = |held: usize| (held < most_held()).then_some(held + 1);
        HELD.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok()?;
        let source = match &self.source {
            Source::Disk(file) => file.try_clone().map(Source::Disk),
            Source::Memory(bytes) => Ok(Source::Memory(Arc::clone(bytes))),
        };
        let Ok(source) = source else {
            HELD.fetch_sub(1, Ordering::Relaxed);
            return None;
        };
        Some(Held(Self { source, stat: self.stat }))
    }

    /// Identity, size and times at the moment of opening.
    pub fn stat(&self) -> Stat {
        self.stat
    }

    /// Fills `buffer` from `offset` as far as the file reaches; answers how many bytes there were.
    pub fn read_at(&self, buffer: &mut [u8], offset: u64) -> std::io::Result<usize> {
        match &self.source {
            Source::Disk(file) => {
                let mut done = 0;
                while done < buffer.len() {
                    match file.read_at(&mut buffer[done..], offset + done as u64) {
                        Ok(0) => break,
                        Ok(n) => done += n,
                        Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                        Err(e) => return Err(e),
                    }
                }
                Ok(done)
            }
            Source::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let n = buffer.len().min(bytes.len() - start);
                buffer[..n].copy_from_slice(&bytes[start..start + n]);
                Ok(n)
            }
        }
    }

    /// Fills an empty buffer of `len` bytes from `offset` as far as the file reaches. Its memory is
    /// touched once only, by the kernel.
    pub fn read_new(&self, len: usize, offset: u64) -> std::io::Result<Vec<u8>> {
        let mut buffer = Vec::with_capacity(len);
        self.read_on(&mut buffer, offset)?;
        Ok(buffer)
    }

    /// Fills what room `buffer` has behind its content, in the same way.
    pub fn read_on(&self, buffer: &mut Vec<u8>, offset: u64) -> std::io::Result<()> {
        let mut at = offset;
        match &self.source {
            Source::Disk(file) => {
                while buffer.len() < buffer.capacity() {
                    match rustix::io::pread(file, rustix::buffer::spare_capacity(buffer), at) {
                        Ok(0) => break,
                        Ok(n) => at += n as u64,
                        Err(Errno::INTR) => {}
                        Err(e) => return Err(e.into()),
                    }
                }
            }
            Source::Memory(bytes) => {
                let start = usize::try_from(offset).unwrap_or(usize::MAX).min(bytes.len());
                let room = (buffer.capacity() - buffer.len()).min(bytes.len() - start);
                buffer.extend_from_slice(&bytes[start..start + room]);
            }
        }
        Ok(())
    }

    /// True if somebody has written to the file since it was opened. That it got another name, owner or
    /// mode, or lost its name to another file, changes nothing in it.
    pub fn rewritten(&self) -> bool {
        let content = |stat: Stat| (stat.len, stat.mtime);
        match &self.source {
            Source::Disk(file) => {
                disk::stat_of(file).is_none_or(|now| content(now) != content(self.stat))
            }
            Source::Memory(_) => false,
        }
    }

    /// True if size or times are no longer those of the moment of opening: what was read may mix
    /// two versions of the file.
    pub fn changed(&self) -> bool {
        match &self.source {
            Source::Disk(file) => disk::stat_of(file).is_none_or(|now| now != self.stat),
            Source::Memory(_) => false,
        }
    }
}
