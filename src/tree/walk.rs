//! The walk: lists what is below the given paths, looks at the first bytes of every regular file
//! and hands the ones that matter to a reader, still open. Parallel site 1.
//!
//! It decides what is an entry and what is counted; it knows no format beyond [`sniff`] and makes
//! no facts itself: `consume` does, on the worker that opened the file, so that no descriptor
//! waits. The result is sorted by path and does not depend on timing. `audit` calls it.

use super::disk::{self, DiskTree};
use super::list::{Job, Lister};
use super::{Errno, Handle, Kind, Special, Stat, Tree};
use crate::id::FastSet;
use crate::sniff::{SNIFF_LEN, Sniffed, sniff};
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// A file that is worth reading: open, with its first bytes.
pub struct Candidate {
    /// The name under which the walk met it.
    pub path: PathBuf,
    /// The open file.
    pub handle: Handle,
    /// What its first bytes say.
    pub sniffed: Sniffed,
}

/// One name of a file that matters.
pub struct Entry<T> {
    /// The name.
    pub path: PathBuf,
    /// The name is a symbolic link that the walk met.
    pub is_link: bool,
    /// The name was given and is a symbolic link.
    pub given_link: bool,
    /// Identity of the file.
    pub stat: Stat,
    /// What `consume` made of it; nothing where another name of the same inode came first.
    pub item: Option<T>,
}

/// Something below the given paths that could not be looked at.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Problem {
    /// Where.
    pub path: PathBuf,
    /// Why, as the end of a sentence.
    pub reason: String,
}

/// How many entries of each kind there were; `entries` is the sum of the others.
#[derive(Clone, Default, Debug, PartialEq, Eq)]
pub struct Totals {
    /// ELF files.
    pub elf: usize,
    /// Static archives.
    pub archives: usize,
    /// Other regular files.
    pub other: usize,
    /// Symbolic links.
    pub links: usize,
    /// FIFOs, sockets and devices.
    pub special: usize,
    /// Files that could be read in part only; set when facts are known.
    pub partial: usize,
    /// Entries that could not be opened, by reason.
    pub skipped: BTreeMap<String, usize>,
}

impl Totals {
    /// All entries.
    pub fn entries(&self) -> usize {
        let skipped: usize = self.skipped.values().sum();
        self.elf + self.archives + self.other + self.links + self.special + self.partial + skipped
    }

    fn add(&mut self, other: &Self) {
        self.elf += other.elf;
        self.archives += other.archives;
        self.other += other.other;
        self.links += other.links;
        self.special += other.special;
        for (reason, n) in &other.skipped {
            *self.skipped.entry(reason.clone()).or_default() += n;
        }
    }

    fn skip(&mut self, errno: Errno) {
        *self.skipped.entry(describe(errno)).or_default() += 1;
    }
}

/// One path that was given, and what lies there.
#[derive(Clone, Debug)]
pub struct Given {
    /// As it was typed.
    pub path: PathBuf,
    /// Its kind, links followed.
    pub kind: Result<Kind, Errno>,
    /// It is itself a symbolic link.
    pub is_link: bool,
}

/// What a walk found, sorted by path.
pub struct Walked<T> {
    /// What was given, in that order.
    pub given: Vec<Given>,
    /// Names of ELF files and archives.
    pub entries: Vec<Entry<T>>,
    /// What could not be looked at.
    pub problems: Vec<Problem>,
    /// Counts by kind.
    pub totals: Totals,
    /// Names of files, and links to files, that were asked for whatever they hold.
    pub named: Vec<PathBuf>,
    /// Links to directories.
    pub linked: Vec<PathBuf>,
}

impl<T> Default for Walked<T> {
    fn default() -> Self {
        Self {
            given: Vec::new(),
            entries: Vec::new(),
            problems: Vec::new(),
            totals: Totals::default(),
            named: Vec::new(),
            linked: Vec::new(),
        }
    }
}

/// What is done with what a walk meets.
pub struct Visit<'a, C> {
    /// Reads a file that matters.
    pub consume: &'a C,
    /// True for files whose names are kept, whatever they hold.
    pub is_named: &'a (dyn Fn(&Path) -> bool + Sync),
}

/// The words for an error number.
pub fn describe(errno: Errno) -> String {
    match errno {
        Errno::ACCESS => "permission denied".to_owned(),
        Errno::NOENT => "no such file or directory".to_owned(),
        Errno::LOOP => "too many levels of symbolic links".to_owned(),
        Errno::NAMETOOLONG => "the name is too long".to_owned(),
        Errno::NOTDIR => "a part of the path is not a directory".to_owned(),
        other => std::io::Error::from(other).to_string(),
    }
}

/// Lists everything below `given` (files and directories) with `threads` workers; `seen` counts
/// entries for a progress line.
pub fn walk<T: Send, C: Fn(Candidate) -> T + Sync>(
    tree: &DiskTree,
    given: &[PathBuf],
    threads: usize,
    seen: &AtomicUsize,
    visit: &Visit<'_, C>,
) -> Walked<T> {
    let mut out = Walked::default();
    let look = |path: &PathBuf| {
        let (kind, is_link) = tree.kind_and_link(path);
        Given { path: path.clone(), kind, is_link }
    };
    // A linked directory outside is found by a worker and walked in the next round.
    let mut round: Vec<Given> = given.par_iter().map(look).collect();
    let mut lister = Lister::new(tree, &round);
    out.given.clone_from(&round);
    let claimed = Mutex::new(FastSet::default());
    while !round.is_empty() {
        let (sender, receiver) = sync_channel::<Vec<Job>>(threads * 4);
        let receiver = Mutex::new(receiver);
        let parts = std::thread::scope(|scope| {
            let workers: Vec<_> = (0..threads)
                .map(|_| {
                    scope.spawn(|| Worker { tree, visit, claimed: &claimed, seen }.run(&receiver))
                })
                .collect();
            lister.list(&round, sender, &mut out);
            workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
        });
        let mut linked = Vec::new();
        for part in parts {
            match part {
                Ok((walked, dirs)) => {
                    out.entries.extend(walked.entries);
                    out.problems.extend(walked.problems);
                    out.totals.add(&walked.totals);
                    out.named.extend(walked.named);
                    out.linked.extend(dirs.iter().cloned());
                    linked.extend(dirs);
                }
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        round = lister.outside(linked).iter().map(look).collect();
    }
    out.entries
        .sort_unstable_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    out.entries.dedup_by(|b, a| {
        let same = a.path == b.path;
        if same && a.item.is_none() {
            a.item = b.item.take();
        }
        same
    });
    out.problems.sort_unstable();
    out.problems.dedup();
    out.named.sort_unstable();
    out.linked.sort_unstable();
    out
}

struct Worker<'a, F> {
    tree: &'a DiskTree,
    visit: &'a Visit<'a, F>,
    claimed: &'a Mutex<FastSet<(u64, u64)>>,
    seen: &'a AtomicUsize,
}

impl<F> Worker<'_, F> {
    fn run<T>(&self, jobs: &Mutex<Receiver<Vec<Job>>>) -> (Walked<T>, Vec<PathBuf>)
    where
        F: Fn(Candidate) -> T + Sync,
    {
        let mut out = Walked::default();
        let mut dirs = Vec::new();
        loop {
            let batch = jobs.lock().map(|jobs| jobs.recv());
            let Ok(Ok(batch)) = batch else { return (out, dirs) };
            self.seen.fetch_add(batch.len(), Ordering::Relaxed);
            for job in batch {
                self.look(job, &mut out, &mut dirs);
            }
        }
    }

    fn look<T>(&self, job: Job, out: &mut Walked<T>, dirs: &mut Vec<PathBuf>)
    where
        F: Fn(Candidate) -> T,
    {
        if job.is_link {
            out.totals.links += 1;
            match self.tree.kind(&job.path) {
                Ok(Kind::File) => {}
                Ok(Kind::Directory) => return dirs.push(job.path),
                // A link to nothing or to a special file says nothing about linkage.
                Ok(Kind::Special(_)) | Err(_) => return,
            }
        }
        if (self.visit.is_named)(&job.path) {
            out.named.push(job.path.clone());
        }
        let mut head = [0; SNIFF_LEN];
        let (file, n) = match self.tree.sniff(&job.path, &mut head) {
            Ok(opened) => opened,
            Err(errno) if job.is_link => return out.problem(&job.path, describe(errno)),
            Err(errno) => return out.unreadable(&job.path, errno),
        };
        let sniffed = sniff(&head[..n]);
        if !job.is_link {
            match sniffed {
                Sniffed::Elf => out.totals.elf += 1,
                Sniffed::Archive => out.totals.archives += 1,
                Sniffed::Other => out.totals.other += 1,
            }
        }
        if sniffed != Sniffed::Other {
            self.take(job, file, sniffed, out);
        }
    }

    fn take<T>(&self, job: Job, file: File, sniffed: Sniffed, out: &mut Walked<T>)
    where
        F: Fn(Candidate) -> T,
    {
        let handle = match disk::handle(file) {
            Ok(handle) => handle,
            Err(errno) => return out.problem(&job.path, describe(errno)),
        };
        let stat = handle.stat();
        let first = self.claimed.lock().is_ok_and(|mut set| set.insert((stat.dev, stat.ino)));
        let path = job.path.clone();
        let item = first.then(|| (self.visit.consume)(Candidate { path, handle, sniffed }));
        let Job { path, is_link, given_link } = job;
        out.entries.push(Entry { path, is_link, given_link, stat, item });
    }
}

impl<T> Walked<T> {
    fn problem(&mut self, path: &Path, reason: String) {
        self.problems.push(Problem { path: path.to_path_buf(), reason });
    }

    pub(super) fn unreadable(&mut self, path: &Path, errno: Errno) {
        self.totals.skip(errno);
        self.problem(path, describe(errno));
    }

    pub(super) fn special(&mut self, path: &Path, special: Special) {
        self.totals.special += 1;
        self.problem(path, format!("it is {}, which is not read", special.describe()));
    }
}
