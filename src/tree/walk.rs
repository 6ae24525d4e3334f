//! The walk: reads given files directly and lists given directories. It checks the first bytes of
//! every regular file. It passes files of enabled classes to a reader while they are open; files of
//! text classes are only listed. Workers run in parallel.
//!
//! The walk classifies and counts entries, and knows no format beyond [`Classes`]. `consume` runs
//! on the worker that opened the file, so no open file waits in a queue. The result is sorted by
//! path and does not depend on timing.

use super::contract::{Tree, errno, is_answer};
use super::file::Handle;
use super::kind::EntryType;
use super::list::{Job, Lister};
use crate::id::FastSet;
use crate::order::Arrange as _;
use crate::sniff::{Class, Classes, SNIFF_LEN};
use rayon::prelude::*;
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};

pub use super::walked::{
    CACHED_PACKAGE, GivenPath, ListedNames, UnreadablePath, WalkTotals, Walked, WalkedName,
    WalkedText, describe,
};

/// Size in bytes of the first read of a file: enough for the headers and usually for PT_INTERP.
pub const HEAD: usize = 4096;

/// An open file of an enabled class that is not a text class.
pub struct WalkedFile<'a> {
    /// The class of the file, by its first bytes and its name.
    pub class: Class,
    /// The open file.
    pub handle: &'a Handle,
    /// The first [`HEAD`] bytes of the file, or fewer if the file is shorter. `None` if they were
    /// not read at opening.
    pub head: Option<&'a [u8]>,
}

/// Options of a walk.
pub struct Visit<'a, C> {
    /// The enabled classes. Files of text classes are listed, all others are passed to `consume`.
    pub classes: Classes,
    /// Called with each open file of an enabled class that is not a text class. The result is
    /// stored as [`WalkedName::item`].
    pub consume: &'a C,
    /// Returns true for a path to keep in [`Walked::named`], whatever the file contains.
    pub is_named: &'a (dyn Fn(&Path) -> bool + Sync),
    /// True to keep the names of entries in listed directories.
    pub keeps_met: bool,
}

/// Reads the files in `given`, and walks the directories in `given` with `threads` workers. `seen`
/// counts entries for a progress line.
pub fn walk<T: Send, C: Fn(WalkedFile<'_>) -> T + Sync>(
    tree: &dyn Tree,
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
    let mut lister = Lister::new(tree, &round, visit.keeps_met);
    // Workers may find links to directories outside of the given ones. The next round walks these
    // directories.
    loop {
        if round.iter().any(|given| given.kind == Ok(EntryType::Directory)) {
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
        let outside = lister.outside(linked, &mut out);
        if outside.is_empty() {
            break;
        }
        (round, parts) = look(&outside, &worker);
    }
    out.entries
        .sort_unstable_by(|a, b| a.path.as_os_str().as_bytes().cmp(b.path.as_os_str().as_bytes()));
    out.entries.dedup_by(|b, a| {
        // `Path` treats `a//b` and `a/b` as equal, but a program may be started under either
        // spelling.
        let same = a.path.as_os_str() == b.path.as_os_str();
        if same && a.item.is_none() && b.item.is_some() {
            (a.stat, a.item) = (b.stat, b.item.take());
        }
        a.listed |= same && b.listed;
        same
    });
    out.problems.arrange();
    out.problems.dedup();
    out.texts.arrange();
    out.texts.dedup();
    out.named.arrange();
    out.linked.arrange();
    out.dangling.arrange();
    out
}

/// True for a name that loaders or linkers search for: `libfoo.so.1`, `libfoo.so`, `libfoo.a`.
fn is_library_name(path: &Path) -> bool {
    let name = path.file_name().map(std::os::unix::ffi::OsStrExt::as_bytes).unwrap_or_default();
    let is_shared = name.ends_with(b".so") || memchr::memmem::find(name, b".so.").is_some();
    name.starts_with(b"lib") && (is_shared || name.ends_with(b".a"))
}

/// Number of given paths in one task.
const SHARE: usize = 8;

/// Checks the kind of given paths, and reads the files among them.
fn look<'a, T: Send, C: Fn(WalkedFile<'_>) -> T + Sync + 'a>(
    paths: &[PathBuf],
    worker: &(impl Fn() -> Worker<'a, C, T> + Sync),
) -> (Vec<GivenPath>, Vec<Walked<T>>) {
    let mut met = FastSet::default();
    let first: Vec<bool> = paths.iter().map(|path| met.insert(path.as_os_str())).collect();
    let look = |(paths, first): (&[PathBuf], &[bool])| {
        let mut worker = worker();
        worker.seen.fetch_add(paths.len(), Ordering::Relaxed);
        let paths = paths.iter().zip(first);
        let given: Vec<GivenPath> = paths.map(|(path, first)| worker.given(path, *first)).collect();
        (given, worker.out)
    };
    // File sizes differ by factors of thousands. Each chunk is a task of its own, so an idle thread
    // can take it over.
    let chunks = paths.par_chunks(SHARE).zip(first.par_chunks(SHARE)).with_max_len(1);
    let (given, parts): (Vec<_>, Vec<_>) = chunks.map(look).unzip();
    (given.into_iter().flatten().collect(), parts)
}

/// Lists the directories of `round` on this thread; workers check their entries.
fn list<'a, T: Send, C: Fn(WalkedFile<'_>) -> T + Sync + 'a>(
    lister: &Lister<'_>,
    round: &[GivenPath],
    threads: usize,
    worker: &(impl Fn() -> Worker<'a, C, T> + Sync),
) -> Vec<Walked<T>> {
    let (sender, receiver) = sync_channel::<Vec<Job>>(threads * 4);
    // Only the workers own the receiver. So the lister's send fails if all of them panic.
    let receiver = Arc::new(Mutex::new(receiver));
    let mut listed = Walked::default();
    let parts = std::thread::scope(|scope| {
        let spawn = |_| {
            let receiver = Arc::clone(&receiver);
            let work = move || worker().run(&receiver);
            std::thread::Builder::new().spawn_scoped(scope, work).ok()
        };
        // The system may grant fewer threads, or none.
        let workers: Vec<_> = (0..threads).map_while(spawn).collect();
        drop(receiver);
        if workers.is_empty() {
            let mut alone = worker();
            lister.list(round, &mut |jobs| alone.batch(jobs), &mut listed);
            return vec![Ok(alone.out)];
        }
        // Sending fails once all workers have panicked. The join below raises their panic.
        let hand_over = &mut |jobs| sender.send(jobs).unwrap_or_default();
        lister.list(round, hand_over, &mut listed);
        drop(sender);
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
    tree: &'a dyn Tree,
    visit: &'a Visit<'a, C>,
    claimed: &'a Mutex<FastSet<(u64, u64)>>,
    seen: &'a AtomicUsize,
    head: [u8; HEAD],
    out: Walked<T>,
}

impl<T, C: Fn(WalkedFile<'_>) -> T> Worker<'_, C, T> {
    fn run(mut self, jobs: &Mutex<Receiver<Vec<Job>>>) -> Walked<T> {
        loop {
            // If another worker panicked while it held the lock, the join of that worker raises the
            // panic.
            let batch = jobs.lock().unwrap_or_else(PoisonError::into_inner).recv();
            let Ok(batch) = batch else { return self.out };
            self.batch(batch);
        }
    }

    fn batch(&mut self, batch: Vec<Job>) {
        self.seen.fetch_add(batch.len(), Ordering::Relaxed);
        for job in batch {
            self.job(job);
        }
    }

    /// Checks a given path. A file that was given twice is read once.
    fn given(&mut self, path: &Path, first: bool) -> GivenPath {
        let (kind, is_link) = self.tree.kind_and_link(path);
        match kind {
            Ok(EntryType::File) if first => self.file(path, is_link),
            Ok(EntryType::File | EntryType::Directory) => {}
            Ok(EntryType::Special(special)) => self.out.special(path, special),
            Err(errno) => self.out.unreadable(path, errno),
        }
        GivenPath { path: path.to_path_buf(), kind, is_link }
    }

    /// Reads a given file. The file is probably relevant, so [`HEAD`] bytes are read at once.
    fn file(&mut self, path: &Path, given_link: bool) {
        if (self.visit.is_named)(path) {
            self.out.named.push(path.to_path_buf());
        }
        let opened = self.tree.open_regular(path).and_then(|handle| {
            let n = handle.read_at(&mut self.head, 0).map_err(|error| errno(&error))?;
            Ok((handle, n))
        });
        let (handle, n) = match opened {
            Ok(opened) => opened,
            Err(errno) => return self.out.unreadable(path, errno),
        };
        let class = self.visit.classes.class_of(path, &self.head[..n]);
        self.out.totals.count(class);
        if self.visit.classes.contains(class) && class.is_text() {
            self.text(path, class, given_link);
        } else if self.visit.classes.contains(class) {
            self.take(WalkedName { given_link, ..WalkedName::new(path) }, class, &handle, Some(n));
        }
    }

    /// Checks an entry of a directory.
    fn job(&mut self, Job { path, is_link }: Job) {
        if is_link {
            self.out.totals.links += 1;
            match self.tree.kind(&path) {
                // A link to `/proc/self/exe`, for example, leads to a different file in each
                // process, so it is skipped.
                Ok(_) if self.tree.is_of_process(&path) => return,
                Ok(EntryType::File) => {}
                Ok(EntryType::Directory) => return self.out.linked.push(path),
                Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP)
                    if is_library_name(&path) && !self.tree.is_of_process(&path) =>
                {
                    return self.out.dangling.push(path);
                }
                // After an error such as EIO, the target of the link is unknown.
                Err(errno) if !is_answer(errno) => {
                    return self.out.problem(&path, describe(errno));
                }
                // Other dangling links, and links to special files, do not matter for linkage.
                Ok(EntryType::Special(_)) | Err(_) => return,
            }
        }
        if (self.visit.is_named)(&path) {
            self.out.named.push(path.clone());
        }
        let (classes, mut class, mut head) = (self.visit.classes, Class::Other, [0; SNIFF_LEN]);
        let opened = self.tree.open_if(&path, &mut head, &mut |head| {
            class = classes.class_of(&path, head);
            classes.contains(class) && !class.is_text()
        });
        let handle = match opened {
            Ok(handle) => handle,
            Err(errno) if is_link => return self.out.problem(&path, describe(errno)),
            Err(errno) => return self.out.unreadable(&path, errno),
        };
        if !is_link {
            self.out.totals.count(class);
        }
        if classes.contains(class) && class.is_text() {
            self.text(&path, class, is_link);
        }
        if let Some(handle) = handle {
            let entry = WalkedName { is_link, listed: true, ..WalkedName::new(&path) };
            self.take(entry, class, &handle, None);
        }
    }

    fn text(&mut self, path: &Path, class: Class, is_link: bool) {
        self.out.texts.push(WalkedText { path: path.to_path_buf(), class, is_link });
    }

    /// Passes a file of an enabled class to `consume`, unless the file was read under another name
    /// of the same inode.
    fn take(&mut self, mut entry: WalkedName<T>, class: Class, handle: &Handle, n: Option<usize>) {
        entry.stat = handle.stat();
        let inode = (entry.stat.dev, entry.stat.ino);
        let first = self.claimed.lock().unwrap_or_else(PoisonError::into_inner).insert(inode);
        let head = n.map(|n| &self.head[..n]);
        entry.item = first.then(|| (self.visit.consume)(WalkedFile { class, handle, head }));
        self.out.entries.push(entry);
    }
}
