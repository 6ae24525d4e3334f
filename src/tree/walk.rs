//! The walk: looks at the given paths, takes those that are files at once and lists what is below the
//! others, looks at the first bytes of every regular file and hands the ones that matter to a reader,
//! still open. Parallel site 1.
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
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};

/// How much of a file is read first: enough for the headers and, mostly, the program's interpreter.
pub const HEAD: usize = 4096;

/// A file that is worth reading.
pub struct Candidate<'a> {
    /// The open file.
    pub handle: &'a Handle,
    /// Its first [`HEAD`] bytes or all there are, if they were read since it was opened.
    pub head: Option<&'a [u8]>,
}

/// One name of a file that matters.
pub struct Entry<T> {
    /// The name.
    pub path: PathBuf,
    /// The name is a symbolic link that the walk met.
    pub is_link: bool,
    /// The name was given and is a symbolic link.
    pub given_link: bool,
    /// The name was met below a directory.
    pub listed: bool,
    /// Identity of the file.
    pub stat: Stat,
    /// What `consume` made of it; nothing where another name of the same inode came first.
    pub item: Option<T>,
}

impl<T> Entry<T> {
    /// A given name, before anything is known.
    fn new(path: &Path) -> Self {
        let (path, stat) = (path.to_path_buf(), Stat::default());
        Self { path, is_link: false, given_link: false, listed: false, stat, item: None }
    }
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

    fn count(&mut self, sniffed: Sniffed) {
        match sniffed {
            Sniffed::Elf => self.elf += 1,
            Sniffed::Archive => self.archives += 1,
            Sniffed::Other => self.other += 1,
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
pub fn walk<T: Send, C: Fn(Candidate<'_>) -> T + Sync>(
    tree: &DiskTree,
    given: &[PathBuf],
    threads: usize,
    seen: &AtomicUsize,
    visit: &Visit<'_, C>,
) -> Walked<T> {
    let mut out = Walked::default();
    let claimed = Mutex::new(FastSet::default());
    let worker =
        || Worker { tree, visit, claimed: &claimed, seen, head: [0; HEAD], out: Walked::default() };
    let (mut round, mut parts) = look(given, &worker);
    let mut lister = Lister::new(tree, &round);
    // A linked directory outside is found by a worker and walked in the next round.
    loop {
        if round.iter().any(|given| given.kind == Ok(Kind::Directory)) {
            parts.extend(list(&lister, &round, threads, &worker));
        }
        let mut linked = Vec::new();
        out.entries.reserve_exact(parts.iter().map(|part| part.entries.len()).sum());
        for part in parts {
            linked.extend(part.linked.iter().cloned());
            out.add(part);
        }
        if out.given.is_empty() {
            out.given = round;
        }
        let outside = lister.outside(linked);
        if outside.is_empty() {
            break;
        }
        (round, parts) = look(&outside, &worker);
    }
    out.entries
        .sort_unstable_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    out.entries.dedup_by(|b, a| {
        // To `Path` two spellings of one name are equal, and each is started by itself.
        let same = a.path.as_os_str() == b.path.as_os_str();
        if same && a.item.is_none() {
            a.item = b.item.take();
        }
        a.listed |= same && b.listed;
        same
    });
    out.problems.sort_unstable();
    out.problems.dedup();
    out.named.sort_unstable();
    out.linked.sort_unstable();
    out
}

/// Given paths that one thread looks at before another may take over.
const SHARE: usize = 8;

/// Looks at given paths, and takes those that are files at once.
fn look<'a, T: Send, C: Fn(Candidate<'_>) -> T + Sync + 'a>(
    paths: &[PathBuf],
    worker: &(impl Fn() -> Worker<'a, C, T> + Sync),
) -> (Vec<Given>, Vec<Walked<T>>) {
    let mut met = FastSet::default();
    let first: Vec<bool> = paths.iter().map(|path| met.insert(path.as_os_str())).collect();
    let look = |(paths, first): (&[PathBuf], &[bool])| {
        let mut worker = worker();
        worker.seen.fetch_add(paths.len(), Ordering::Relaxed);
        let paths = paths.iter().zip(first);
        let given: Vec<Given> = paths.map(|(path, first)| worker.given(path, *first)).collect();
        (given, worker.out)
    };
    // Files differ in size by thousands: what is not split is not taken over by an idle thread.
    let chunks = paths.par_chunks(SHARE).zip(first.par_chunks(SHARE)).with_max_len(1);
    let (given, parts): (Vec<_>, Vec<_>) = chunks.map(look).unzip();
    (given.into_iter().flatten().collect(), parts)
}

/// Lists the directories of `round` on this thread, and has workers look at what is in them.
fn list<'a, T: Send, C: Fn(Candidate<'_>) -> T + Sync + 'a>(
    lister: &Lister<'_>,
    round: &[Given],
    threads: usize,
    worker: &(impl Fn() -> Worker<'a, C, T> + Sync),
) -> Vec<Walked<T>> {
    let (sender, receiver) = sync_channel::<Vec<Job>>(threads * 4);
    let receiver = Mutex::new(receiver);
    let mut listed = Walked::default();
    let parts = std::thread::scope(|scope| {
        let work = || worker().run(&receiver);
        let workers: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        lister.list(round, sender, &mut listed);
        workers.into_iter().map(std::thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let part = |part| match part {
        Ok(walked) => walked,
        Err(panic) => std::panic::resume_unwind(panic),
    };
    [listed].into_iter().chain(parts.into_iter().map(part)).collect()
}

/// One thread's part of a walk.
struct Worker<'a, C, T> {
    tree: &'a DiskTree,
    visit: &'a Visit<'a, C>,
    claimed: &'a Mutex<FastSet<(u64, u64)>>,
    seen: &'a AtomicUsize,
    head: [u8; HEAD],
    out: Walked<T>,
}

impl<T, C: Fn(Candidate<'_>) -> T> Worker<'_, C, T> {
    fn run(mut self, jobs: &Mutex<Receiver<Vec<Job>>>) -> Walked<T> {
        loop {
            let batch = jobs.lock().map(|jobs| jobs.recv());
            let Ok(Ok(batch)) = batch else { return self.out };
            self.seen.fetch_add(batch.len(), Ordering::Relaxed);
            for job in batch {
                self.job(job);
            }
        }
    }

    /// Looks at a given path. A file that was given before is not taken again.
    fn given(&mut self, path: &Path, first: bool) -> Given {
        let (kind, is_link) = self.tree.kind_and_link(path);
        match kind {
            Ok(Kind::File) if first => self.file(path, is_link),
            Ok(Kind::File | Kind::Directory) => {}
            Ok(Kind::Special(special)) => self.out.special(path, special),
            Err(errno) => self.out.unreadable(path, errno),
        }
        Given { path: path.to_path_buf(), kind, is_link }
    }

    /// Takes a given file, which mostly is one that matters: its head is read at once.
    fn file(&mut self, path: &Path, given_link: bool) {
        if (self.visit.is_named)(path) {
            self.out.named.push(path.to_path_buf());
        }
        let opened = self.tree.open_met(path).and_then(disk::handle).and_then(|handle| {
            let n = handle.read_at(&mut self.head, 0);
            Ok((handle, n.map_err(|e| Errno::from_io_error(&e).unwrap_or(Errno::IO))?))
        });
        let (handle, n) = match opened {
            Ok(opened) => opened,
            Err(errno) => return self.out.unreadable(path, errno),
        };
        let sniffed = sniff(&self.head[..n]);
        self.out.totals.count(sniffed);
        if sniffed != Sniffed::Other {
            self.take(Entry { given_link, ..Entry::new(path) }, &handle, Some(n));
        }
    }

    /// Looks at what a directory holds.
    fn job(&mut self, Job { path, is_link }: Job) {
        if is_link {
            self.out.totals.links += 1;
            match self.tree.kind(&path) {
                Ok(Kind::File) => {}
                Ok(Kind::Directory) => return self.out.linked.push(path),
                // A link to nothing or to a special file says nothing about linkage.
                Ok(Kind::Special(_)) | Err(_) => return,
            }
        }
        if (self.visit.is_named)(&path) {
            self.out.named.push(path.clone());
        }
        let mut head = [0; SNIFF_LEN];
        let opened =
            self.tree.open_met(&path).and_then(|file| Ok((disk::sniff(&file, &mut head)?, file)));
        let (n, file) = match opened {
            Ok(opened) => opened,
            Err(errno) if is_link => return self.out.problem(&path, describe(errno)),
            Err(errno) => return self.out.unreadable(&path, errno),
        };
        let sniffed = sniff(&head[..n]);
        if !is_link {
            self.out.totals.count(sniffed);
        }
        if sniffed != Sniffed::Other {
            match disk::handle(file) {
                Ok(handle) => {
                    self.take(Entry { is_link, listed: true, ..Entry::new(&path) }, &handle, None);
                }
                Err(errno) => self.out.problem(&path, describe(errno)),
            }
        }
    }

    /// Hands on a file that matters, with as much of its head as was read.
    fn take(&mut self, mut entry: Entry<T>, handle: &Handle, n: Option<usize>) {
        entry.stat = handle.stat();
        let inode = (entry.stat.dev, entry.stat.ino);
        let first = self.claimed.lock().is_ok_and(|mut set| set.insert(inode));
        let head = n.map(|n| &self.head[..n]);
        entry.item = first.then(|| (self.visit.consume)(Candidate { handle, head }));
        self.out.entries.push(entry);
    }
}

impl<T> Walked<T> {
    fn add(&mut self, part: Self) {
        self.entries.extend(part.entries);
        self.problems.extend(part.problems);
        self.totals.add(&part.totals);
        self.named.extend(part.named);
        self.linked.extend(part.linked);
    }

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
