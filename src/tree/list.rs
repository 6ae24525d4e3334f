//! The lister of the walk: finds names below the given paths and passes them to the workers in
//! batches. It reads no file content. `walk` runs it on the calling thread.

use super::contract::Tree;
use super::kind::{DirEntryKind, EntryType};
use super::walked::{GivenPath, Walked, describe};
use crate::id::FastSet;
use crate::order::Arrange as _;
use crate::package::cached_package_marks;
use std::path::{Path, PathBuf};

/// Number of entries that the lister passes to a worker at once.
const BATCH: usize = 32;

pub(super) struct Job {
    pub(super) path: PathBuf,
    pub(super) is_link: bool,
}

/// Lists the directories of the walk, on the calling thread.
pub(super) struct Lister<'t> {
    tree: &'t dyn Tree,
    /// Real paths of all directories that the walk lists: given directories and targets of links.
    walked: Vec<PathBuf>,
    /// Real paths of the given directories.
    given: Vec<PathBuf>,
    /// False while the given directories are listed, and true while targets of links are listed.
    is_linked: bool,
    keeps_met: bool,
}

impl<'t> Lister<'t> {
    pub(super) fn new(tree: &'t dyn Tree, given: &[GivenPath], keeps_met: bool) -> Self {
        let walked: Vec<PathBuf> = given
            .iter()
            .filter(|given| given.kind == Ok(EntryType::Directory))
            .filter_map(|given| tree.real_path(&given.path).ok())
            .collect();
        let given = walked.clone();
        Self { tree, walked, given, is_linked: false, keeps_met }
    }

    /// Selects the links in `linked` that lead to directories outside of all walked directories,
    /// one link for each directory. A link to a directory above a given directory is dropped.
    pub(super) fn outside<T>(
        &mut self,
        mut linked: Vec<PathBuf>,
        out: &mut Walked<T>,
    ) -> Vec<PathBuf> {
        self.is_linked = true;
        linked.arrange();
        linked.retain(|link| {
            let real = match self.tree.real_path(link) {
                Ok(real) => real,
                Err(errno) => {
                    out.problem(link, describe(errno));
                    return false;
                }
            };
            // A link to a directory above, such as `/`, would add far more files than the user
            // asked for.
            let is_above = self.given.iter().any(|given| given.starts_with(&real));
            let new = !is_above && !self.walked.iter().any(|dir| real.starts_with(dir));
            if new {
                self.walked.push(real);
            }
            new
        });
        linked
    }

    /// Lists the entries below the directories of `given`.
    pub(super) fn list<T>(
        &self,
        given: &[GivenPath],
        hand_over: &mut dyn FnMut(Vec<Job>),
        out: &mut Walked<T>,
    ) {
        let mut batch = Batch { jobs: Vec::with_capacity(BATCH), hand_over };
        for (at, GivenPath { path, kind, .. }) in given.iter().enumerate() {
            // If a given directory is below another given directory, the listing of the outer
            // directory includes its entries.
            if *kind == Ok(EntryType::Directory) && !is_below(path, at, given) {
                self.list_directory(path, &mut batch, out);
            }
        }
        batch.flush();
    }

    fn list_directory<T>(&self, top: &Path, batch: &mut Batch<'_>, out: &mut Walked<T>) {
        let walked = self.walked_below(top);
        let is_new = |path: &Path| {
            walked.is_empty() || path.strip_prefix(top).is_ok_and(|rest| !walked.contains(rest))
        };
        let mut todo = vec![top.to_path_buf()];
        // A file system of the kernel, such as procfs, is listed only if a given directory is in
        // it. It is skipped if it is mounted below a given directory, or if a link points into it.
        let all = !self.is_linked && self.tree.is_of_kernel(top);
        while let Some(dir) = todo.pop() {
            if !all && self.tree.is_of_kernel(&dir) {
                out.of_kernel();
                continue;
            }
            if self.is_cached_package(top, &dir) {
                out.cached_package();
                continue;
            }
            let listed = self.tree.list(&dir, &mut |name, node| {
                let path = dir.join(name);
                if self.keeps_met && node != DirEntryKind::Kind(EntryType::Directory) {
                    out.met.add(name);
                }
                match node {
                    DirEntryKind::Kind(EntryType::File) => batch.push(Job { path, is_link: false }),
                    DirEntryKind::Link => batch.push(Job { path, is_link: true }),
                    DirEntryKind::Kind(EntryType::Directory) if is_new(&path) => todo.push(path),
                    DirEntryKind::Kind(EntryType::Directory) => {}
                    DirEntryKind::Kind(EntryType::Special(special)) => out.special(&path, special),
                }
            });
            if let Err(errno) = listed {
                out.unreadable(&dir, errno);
            }
        }
    }

    /// True for an extracted package in the cache of a conda root, unless a given directory is in
    /// the cache.
    fn is_cached_package(&self, top: &Path, dir: &Path) -> bool {
        let Some([meta, index]) = cached_package_marks(dir).filter(|_| dir != top) else {
            return false;
        };
        let cache = dir.parent().and_then(|cache| self.tree.real_path(cache).ok());
        let is_given = cache.is_none_or(|cache| self.given.iter().any(|g| g.starts_with(&cache)));
        !is_given
            && self.tree.kind(&meta) == Ok(EntryType::Directory)
            && self.tree.kind(&index) == Ok(EntryType::File)
    }

    /// The directories below the linked directory `top` that are walked under other names, as paths
    /// relative to `top`.
    fn walked_below(&self, top: &Path) -> FastSet<&Path> {
        let Some(real) = self.is_linked.then(|| self.tree.real_path(top).ok()).flatten() else {
            return FastSet::default();
        };
        let below = self.walked.iter().filter_map(|dir| dir.strip_prefix(&real).ok());
        below.filter(|rest| !rest.as_os_str().is_empty()).collect()
    }
}

/// True if any other directory of `given` is above `path`, or an earlier one is `path` itself.
fn is_below(path: &Path, at: usize, given: &[GivenPath]) -> bool {
    given.iter().enumerate().any(|(other_at, other)| {
        let other_dir = other.kind == Ok(EntryType::Directory) && other_at != at;
        other_dir && path.starts_with(&other.path) && (path != other.path || other_at < at)
    })
}

struct Batch<'a> {
    jobs: Vec<Job>,
    hand_over: &'a mut dyn FnMut(Vec<Job>),
}

impl Batch<'_> {
    fn push(&mut self, job: Job) {
        self.jobs.push(job);
        if self.jobs.len() == BATCH {
            self.flush();
        }
    }

    fn flush(&mut self) {
        let jobs = std::mem::replace(&mut self.jobs, Vec::with_capacity(BATCH));
        (self.hand_over)(jobs);
    }
}
