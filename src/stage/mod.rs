//! The system as it will be after the files of staging directories are installed. [`lay`] makes one
//! [`Tree`] of three layers: the sysroot without its replaced files, the stages, and the links and
//! the cache that ldconfig will make.

mod cache_file;
mod conf;
mod ldconfig;
mod scan;

use crate::id::{FastMap, FastSet};
use crate::package::PackageId;
use crate::text::show_path;
use crate::tree::walk::describe;
use crate::tree::{
    DirEntryKind, DiskTree, EntryType, Errno, FileOrigin, FirstError, FirstErrorTree, Handle,
    MemTree, MountError, Opened, OverlayTree, Stat, Tree, WithoutTree,
};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The device number of files that exist only in memory. Linux has no such device.
const NO_DEVICE: u64 = u64::MAX;

/// One `--staged` directory.
#[derive(Clone, Debug)]
pub struct Stage {
    /// The path of the staging directory, as typed.
    pub typed: PathBuf,
    /// The absolute path of the staging directory, with links resolved.
    pub dir: PathBuf,
    /// The path of the stage in the sysroot; `None` if the stage is outside of the sysroot.
    pub in_sysroot: Option<PathBuf>,
}

/// Errors that prevent laying stages over a sysroot.
#[derive(Debug, thiserror::Error)]
pub enum StageError {
    /// Two stages contain the same path.
    #[error(
        "{}: in --staged {} and in --staged {}: stages must not share files",
        show_path(path),
        show_path(first),
        show_path(second)
    )]
    Shared {
        /// The installed path that both stages contain.
        path: PathBuf,
        /// The first stage as typed.
        first: PathBuf,
        /// The second stage as typed.
        second: PathBuf,
    },
    /// The merged tree depends on an entry of the sysroot that cannot be read.
    #[error("cannot read {} of the system below the stages: {}", show_path(path), describe(*errno))]
    Sysroot {
        /// The path in the sysroot.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
    /// A part of a stage cannot be read.
    #[error("--staged {}: cannot read {}: {}", show_path(stage), show_path(path), describe(*errno))]
    Unreadable {
        /// The stage as typed.
        stage: PathBuf,
        /// The path below the stage.
        path: PathBuf,
        /// The reason.
        errno: Errno,
    },
}

/// The system after the installation. [`Tree::list`] returns only entries of stages, except in and
/// below the directories that were passed to [`StagedTree::listing`].
pub struct StagedTree {
    merged: Box<dyn Tree>,
    whole: Vec<PathBuf>,
    brought: Brought,
}

impl StagedTree {
    /// Staged files whose installed path (key) differs from the path below their stage (value). A
    /// directory in the path below the stage is then a link in the sysroot, such as `/lib` of a
    /// merged `/usr`.
    pub fn moved(&self) -> &FastMap<PathBuf, PathBuf> {
        &self.brought.moved
    }

    /// For each installed path of a staged file, the index of its stage.
    pub fn stage_of(&self) -> &FastMap<PathBuf, usize> {
        &self.brought.at
    }

    /// This tree, with entries of the sysroot also listed in `dirs` and in the directories below
    /// them.
    #[must_use]
    pub fn listing(mut self, dirs: Vec<PathBuf>) -> Self {
        let real = dirs.iter().filter_map(|dir| self.merged.real_path(dir).ok());
        self.whole = real.collect();
        self.whole.extend(dirs);
        self
    }
}

/// Lays stages over a sysroot, which `sysroot` opens as a tree. `replaced` are the installed paths
/// of files that the installation removes. In the result, relative paths start from `cwd`.
pub fn lay(
    stages: &[Stage],
    sysroot: impl Fn() -> Result<DiskTree, Errno>,
    replaced: &[PathBuf],
    cwd: &Path,
) -> Result<StagedTree, StageError> {
    let below = FirstError::default();
    let sysroot = || match sysroot() {
        Ok(tree) => Ok(FirstErrorTree::new(tree, FirstError::clone(&below))),
        Err(errno) => Err(StageError::Sysroot { path: "/".into(), errno }),
    };
    let before = sysroot()?;
    let gone = removed(&before, replaced);
    let mut changed: FastSet<PathBuf> = gone.iter().cloned().collect();
    let hidden = stages.iter().filter_map(|stage| stage.in_sysroot.clone()).collect();
    let lower = WithoutTree::new(sysroot()?, gone, hidden);
    let mut merged: Box<dyn Tree> = Box::new(lower);
    let (mut brought, mut own) = (Brought::default(), Vec::new());
    for (at, stage) in stages.iter().enumerate() {
        let first_error = FirstError::default();
        let unreadable = |error: MountError| StageError::Unreadable {
            stage: stage.typed.clone(),
            path: error.path,
            errno: error.errno,
        };
        let top = |errno| MountError { path: PathBuf::from("/"), errno };
        let upper = DiskTree::within(&stage.dir).map_err(|errno| unreadable(top(errno)))?;
        let upper = FirstErrorTree::new(upper, FirstError::clone(&first_error));
        let overlay = OverlayTree::new(Box::new(upper), merged).map_err(unreadable)?;
        let overlay = overlay.keeping_directories().seen_from(cwd.to_path_buf());
        let mut dirs: Vec<PathBuf> = overlay.moved_to().map(Path::to_path_buf).collect();
        dirs.push(PathBuf::from("/"));
        let shared = brought.add(&overlay, at, dirs).map_err(unreadable)?;
        if let Some((path, other)) = shared {
            let (first, second) = (stages[other].typed.clone(), stage.typed.clone());
            return Err(StageError::Shared { path, first, second });
        }
        merged = Box::new(overlay);
        own.push((stage, first_error));
    }
    changed.extend(brought.at.keys().cloned());
    if let Some(made) = ldconfig::run(&before, &*merged, &changed) {
        merged = with(merged, &made, cwd)
            .map_err(|MountError { path, errno }| StageError::Sysroot { path, errno })?;
    }
    for (stage, first_error) in own {
        if let Some((path, errno)) = first_error.get().cloned() {
            return Err(StageError::Unreadable { stage: stage.typed.clone(), path, errno });
        }
    }
    if let Some((path, errno)) = below.get().cloned() {
        return Err(StageError::Sysroot { path, errno });
    }
    Ok(StagedTree { merged, whole: Vec::new(), brought })
}

/// The files of the stages that are laid already.
#[derive(Default)]
struct Brought {
    /// Keyed by installed path: the index of the stage.
    at: FastMap<PathBuf, usize>,
    /// See [`StagedTree::moved`].
    moved: FastMap<PathBuf, PathBuf>,
}

impl Brought {
    /// Adds the files below `dirs` of the stage with index `at`. This stage is the upper tree of
    /// `overlay`. Returns the first path that another stage also contains, with the index of that
    /// stage.
    fn add(
        &mut self,
        overlay: &OverlayTree,
        at: usize,
        mut dirs: Vec<PathBuf>,
    ) -> Result<Option<(PathBuf, usize)>, MountError> {
        let mut shared = None;
        let has_moved = overlay.moved_to().next().is_some();
        while let Some(dir) = dirs.pop() {
            let mut entries = Vec::new();
            let listed =
                overlay.list_own(&dir, &mut |name, node| entries.push((dir.join(name), node)));
            listed.map_err(|errno| MountError { path: dir.clone(), errno })?;
            for (path, node) in entries {
                let is_directory = node == DirEntryKind::Kind(EntryType::Directory);
                let other = self.at.get(&path).copied().filter(|other| *other != at);
                let hides = !is_directory && hides_stage(overlay.lower(), &path);
                if let Some(other) = other.or_else(|| hides.then(|| self.below(&path))) {
                    shared = shared.or(Some((path.clone(), other)));
                }
                if is_directory {
                    dirs.push(path);
                    continue;
                }
                if has_moved {
                    let own = overlay.own_path(&path);
                    let own = own.map_err(|errno| MountError { path: path.clone(), errno })?;
                    if own != path {
                        self.moved.insert(path.clone(), own);
                    }
                }
                self.at.insert(path, at);
            }
        }
        Ok(shared)
    }

    /// The index of the first stage that contains a file below the directory `dir`.
    fn below(&self, dir: &Path) -> usize {
        let files = self.at.iter().filter(|(path, _)| path.starts_with(dir));
        files.map(|(_, at)| *at).min().unwrap_or_default()
    }
}

/// True if an earlier stage has a directory at `path`.
fn hides_stage(lower: &dyn Tree, path: &Path) -> bool {
    lower.node(path) == Ok(DirEntryKind::Kind(EntryType::Directory))
        && lower.origin(path) == Ok(Some(FileOrigin::Stage))
}

/// The replaced files, with links resolved in their directories but not in the last component.
/// Directories in `replaced` are omitted, because an empty directory does not affect a loader.
fn removed(sysroot: &dyn Tree, replaced: &[PathBuf]) -> FastSet<PathBuf> {
    let mut out = FastSet::default();
    for path in replaced {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { continue };
        let Ok(dir) = sysroot.real_path(dir) else { continue };
        let real = dir.join(name);
        if sysroot.node(&real).is_ok_and(|node| node != DirEntryKind::Kind(EntryType::Directory)) {
            out.insert(real);
        }
    }
    out
}

/// Overlays the system with a tree of the links and the cache that ldconfig makes.
fn with(
    merged: Box<dyn Tree>,
    made: &ldconfig::Made,
    cwd: &Path,
) -> Result<Box<dyn Tree>, MountError> {
    let mut files = MemTree::on_device(NO_DEVICE);
    for (path, target) in &made.links {
        files.link(path, target);
    }
    files.file(&made.cache_path, made.cache.clone());
    let overlay = OverlayTree::new(Box::new(files), merged)?;
    Ok(Box::new(overlay.in_sysroot().seen_from(cwd.to_path_buf())))
}

impl Tree for StagedTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        self.merged.open(path)
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        self.merged.look(path)
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        self.merged.node(path)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        self.merged.read_link(path)
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        self.merged.real_path(path)
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        if self.whole.iter().any(|dir| path.starts_with(dir)) {
            return self.merged.list(path, visit);
        }
        self.list_staged(path, visit)
    }

    fn list_all(
        &self,
        path: &Path,
        visit: &mut dyn FnMut(&OsStr, DirEntryKind),
    ) -> Result<(), Errno> {
        self.merged.list(path, visit)
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        self.merged.mode(path)
    }

    fn has_capabilities(&self, path: &Path) -> bool {
        self.merged.has_capabilities(path)
    }

    fn is_of_process(&self, path: &Path) -> bool {
        self.merged.is_of_process(path)
    }

    fn is_of_kernel(&self, path: &Path) -> bool {
        self.merged.is_of_kernel(path)
    }

    fn origin(&self, path: &Path) -> Result<Option<FileOrigin>, Errno> {
        self.merged.origin(path)
    }

    /// Skips links of a stage to entries of the sysroot, because the audit is about entries of
    /// stages.
    fn list_staged(
        &self,
        path: &Path,
        visit: &mut dyn FnMut(&OsStr, DirEntryKind),
    ) -> Result<(), Errno> {
        let mut unknown = Ok(());
        // A link whose target does not exist stays in the list, so that the walk reports it.
        let leads_out = |link: &Path| match self.merged.real_path(link) {
            Ok(real) => Ok(self.origin(&real)? == Some(FileOrigin::Sysroot)),
            Err(_) => Ok(false),
        };
        self.merged.list_staged(path, &mut |name, node| match if node == DirEntryKind::Link {
            leads_out(&path.join(name))
        } else {
            Ok(false)
        } {
            Ok(true) => {}
            Ok(false) => visit(name, node),
            Err(errno) => unknown = Err(errno),
        })?;
        unknown
    }

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        self.merged.package(path)
    }

    fn open_regular(&self, path: &Path) -> Result<Handle, Errno> {
        self.merged.open_regular(path)
    }

    fn open_if(
        &self,
        path: &Path,
        head: &mut [u8],
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Handle>, Errno> {
        self.merged.open_if(path, head, wanted)
    }
}
