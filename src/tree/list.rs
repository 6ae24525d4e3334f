//! The lister of the walk: finds names below the given paths and hands them to the workers in batches.
//! It looks at no file's content. `walk` runs it on the calling thread.

use super::disk::{self, DiskTree};
use super::walk::{Given, Walked};
use super::{Errno, Kind, Special, Tree as _};
use crate::id::FastSet;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::FileTypeExt as _;
use std::path::{Path, PathBuf};
use std::sync::mpsc::SyncSender;

/// Entries handed from the lister to the workers at a time.
const BATCH: usize = 32;

pub(super) struct Job {
    pub(super) path: PathBuf,
    pub(super) is_link: bool,
}

/// Finds names; runs on the calling thread.
pub(super) struct Lister<'t> {
    tree: &'t DiskTree,
    /// Directories that are walked, with links resolved.
    walked: Vec<PathBuf>,
    /// What is listed are directories to which links lead.
    is_linked: bool,
}

impl<'t> Lister<'t> {
    pub(super) fn new(tree: &'t DiskTree, given: &[Given]) -> Self {
        let walked = given
            .iter()
            .filter(|given| given.kind == Ok(Kind::Directory))
            .filter_map(|given| tree.real_path(&given.path).ok())
            .collect();
        Self { tree, walked, is_linked: false }
    }

    /// Of `linked` directories, those that lie outside everything walked so far, each once.
    pub(super) fn outside(&mut self, mut linked: Vec<PathBuf>) -> Vec<PathBuf> {
        self.is_linked = true;
        linked.sort_unstable();
        linked.retain(|link| {
            let Ok(real) = self.tree.real_path(link) else { return false };
            let new = !self.walked.iter().any(|dir| real.starts_with(dir));
            if new {
                self.walked.push(real);
            }
            new
        });
        linked
    }

    /// Hands out what lies below the directories of `given`.
    pub(super) fn list<T>(
        &self,
        given: &[Given],
        sender: SyncSender<Vec<Job>>,
        out: &mut Walked<T>,
    ) {
        let mut batch = Batch { jobs: Vec::with_capacity(BATCH), sender };
        for (at, Given { path, kind, .. }) in given.iter().enumerate() {
            // What lies below another given directory is listed with that.
            if *kind == Ok(Kind::Directory) && !is_below(path, at, given) {
                self.list_directory(path, &mut batch, out);
            }
        }
        batch.flush();
    }

    fn list_directory<T>(&self, top: &Path, batch: &mut Batch, out: &mut Walked<T>) {
        let place = match self.tree.place(top) {
            Ok(place) => place,
            Err(errno) => return out.unreadable(top, errno),
        };
        // Under another root the names inside are shown, and those of this machine are listed.
        let shown = |path: PathBuf| match path.strip_prefix(&place) {
            Ok(rest) if place != top => top.join(rest),
            _ => path,
        };
        let walked = self.walked_below(top);
        let is_new = |entry: &walkdir::DirEntry| {
            walked.is_empty()
                || entry.path().strip_prefix(&place).is_ok_and(|rest| !walked.contains(rest))
        };
        let entries = walkdir::WalkDir::new(&place).follow_root_links(true).into_iter();
        for entry in entries.filter_entry(is_new) {
            match entry {
                Ok(entry) => {
                    let kind = entry.file_type();
                    if kind.is_file() || kind.is_symlink() {
                        if entry.depth() > 0 {
                            let (path, is_link) = (shown(entry.into_path()), kind.is_symlink());
                            batch.push(Job { path, is_link });
                        }
                    } else if let Some(special) = special(kind) {
                        out.special(&shown(entry.into_path()), special);
                    }
                }
                Err(error) => {
                    let path = shown(error.path().unwrap_or(&place).to_path_buf());
                    let errno = error.io_error().and_then(Errno::from_io_error);
                    if errno == Some(Errno::NAMETOOLONG) && place == top {
                        list_deep(path, batch, out);
                    } else {
                        out.unreadable(&path, errno.unwrap_or(Errno::IO));
                    }
                }
            }
        }
    }

    /// What of a linked directory is walked under other names, relative to it: a link upwards leads
    /// to where the walk came from.
    fn walked_below(&self, top: &Path) -> FastSet<&Path> {
        let Some(real) = self.is_linked.then(|| self.tree.real_path(top).ok()).flatten() else {
            return FastSet::default();
        };
        let below = self.walked.iter().filter_map(|dir| dir.strip_prefix(&real).ok());
        below.filter(|rest| !rest.as_os_str().is_empty()).collect()
    }
}

/// True if an earlier directory of `given` is the same, or any other lies above this one.
fn is_below(path: &Path, at: usize, given: &[Given]) -> bool {
    given.iter().enumerate().any(|(other_at, other)| {
        let other_dir = other.kind == Ok(Kind::Directory) && other_at != at;
        other_dir && path.starts_with(&other.path) && (path != other.path || other_at < at)
    })
}

fn special(kind: std::fs::FileType) -> Option<Special> {
    if kind.is_fifo() {
        Some(Special::Fifo)
    } else if kind.is_socket() {
        Some(Special::Socket)
    } else if kind.is_char_device() || kind.is_block_device() {
        Some(Special::Device)
    } else {
        None
    }
}

/// Goes on below a directory whose path is too long for one system call.
fn list_deep<T>(top: PathBuf, batch: &mut Batch, out: &mut Walked<T>) {
    use rustix::fs::{FileType, Mode, OFlags};
    let mut todo = vec![top];
    while let Some(dir) = todo.pop() {
        let listing = disk::Far::reach(&dir).and_then(|far| {
            let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::NOFOLLOW;
            rustix::fs::openat(far.dir(), far.name(), flags, Mode::empty())
                .and_then(rustix::fs::Dir::new)
        });
        let listing = match listing {
            Ok(listing) => listing,
            Err(errno) => {
                out.unreadable(&dir, errno);
                continue;
            }
        };
        for entry in listing {
            let entry = match entry {
                Ok(entry) => entry,
                Err(errno) => {
                    out.unreadable(&dir, errno);
                    break;
                }
            };
            let name = entry.file_name().to_bytes();
            if name == b"." || name == b".." {
                continue;
            }
            let path = dir.join(std::ffi::OsStr::from_bytes(name));
            match entry.file_type() {
                FileType::Directory => todo.push(path),
                FileType::Symlink => batch.push(Job { path, is_link: true }),
                kind => match disk::kind_of(kind) {
                    Kind::Special(special) => out.special(&path, special),
                    Kind::File | Kind::Directory => {
                        batch.push(Job { path, is_link: false });
                    }
                },
            }
        }
    }
}

struct Batch {
    jobs: Vec<Job>,
    sender: SyncSender<Vec<Job>>,
}

impl Batch {
    fn push(&mut self, job: Job) {
        self.jobs.push(job);
        if self.jobs.len() == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let jobs = std::mem::replace(&mut self.jobs, Vec::with_capacity(BATCH));
        // A worker that panicked has closed the channel; its panic is raised when it is joined.
        let _ = self.sender.send(jobs);
    }
}
