//! One tree laid over another, such as a staging directory over the sysroot in which it will be
//! installed. For more layers, nest overlays.
//!
//! An entry of the upper tree hides the lower entry of the same path; directories merge. Links of
//! both trees are resolved in the merged tree, and `..` at the top stays there, so that no path
//! leaves the merged tree. A path may be a link to a directory in the lower tree and a directory in
//! the upper tree. Then the link stays, and the entries of the upper directory move to the link's
//! target, as dpkg unpacks them. With [`OverlayTree::keeping_directories`], a directory of the
//! lower tree stays if the upper tree has a link at its path. dpkg does this too.
//!
//! Tests compare an overlay with the same files merged on disk.

use super::contract::{Opened, Tree};
use super::file::Handle;
use super::follow::{FollowedLinks, Lookup, Ways};
use super::kind::{DirEntryKind, EntryType, FileOrigin, Stat};
use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::package::PackageId;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// The upper tree, laid over the lower tree.
pub struct OverlayTree {
    upper: Box<dyn Tree>,
    lower: Box<dyn Tree>,
    /// The layer that the upper tree belongs to.
    origin: FileOrigin,
    /// True if a link of the upper tree does not hide a directory of the lower tree.
    keeps_directories: bool,
    /// The base of relative paths.
    cwd: PathBuf,
    moved: Moved,
    ways: Ways,
    merged: Mutex<FastMap<PathBuf, Arc<Merged>>>,
}

/// An entry of either tree that could not be read when the trees were merged.
#[derive(Debug, thiserror::Error)]
#[error("{}: {errno}", path.display())]
pub struct MountError {
    /// The path in the upper tree or in the merged tree.
    pub path: PathBuf,
    /// The error number of the failed call.
    pub errno: Errno,
}

/// Directories of the upper tree whose path is a link to a directory in the lower tree.
#[derive(Default)]
struct Moved {
    /// Keyed by path in the upper tree: the path of the directory in the merged tree.
    to: FastMap<PathBuf, PathBuf>,
    /// Keyed by path in the merged tree: the upper directories that moved to that path, sorted.
    at: FastMap<PathBuf, Vec<PathBuf>>,
}

impl Moved {
    /// Records the merged path of an upper directory, unless it follows from the merged path of the
    /// parent.
    fn add(&mut self, path: &Path, place: &Path) {
        // Entries of a moved directory move with it.
        let stays = match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => self.place(above).join(name) == place,
            _ => true,
        };
        if !stays {
            self.to.insert(path.to_path_buf(), place.to_path_buf());
            let paths = self.at.entry(place.to_path_buf()).or_default();
            paths.push(path.to_path_buf());
            paths.arrange();
        }
    }

    /// The path of an upper directory in the merged tree.
    fn place(&self, path: &Path) -> PathBuf {
        let moved = path.ancestors().find_map(|above| Some((above, self.to.get(above)?)));
        match moved.map(|(above, to)| (path.strip_prefix(above), to)) {
            Some((Ok(rest), to)) => to.join(rest),
            _ => path.to_path_buf(),
        }
    }
}

/// A directory of the upper tree, and its path in the merged tree.
struct Staged {
    path: PathBuf,
    place: PathBuf,
}

impl Staged {
    fn top() -> Self {
        Self { path: PathBuf::from("/"), place: PathBuf::from("/") }
    }
}

/// The directories that make up a directory of the merged tree.
struct Merged {
    /// Directories of the upper tree. A directory with the same path as the merged directory is
    /// first.
    upper: Vec<PathBuf>,
    /// True if the lower tree has a directory of the same path that the upper tree does not hide.
    lower: bool,
}

/// An entry of the merged tree, with its layer and its path in that layer.
struct MergedEntry {
    node: DirEntryKind,
    layer: Layer,
    path: PathBuf,
}

#[derive(Clone, Copy)]
enum Layer {
    Upper,
    Lower,
}

impl OverlayTree {
    /// Lays `upper` over `lower`. No pair of device and inode may occur in both trees.
    pub fn new(upper: Box<dyn Tree>, lower: Box<dyn Tree>) -> Result<Self, MountError> {
        let (moved, ways, merged) = (Moved::default(), Ways::default(), Mutex::default());
        let (cwd, origin) = (PathBuf::from("/"), FileOrigin::Stage);
        let keeps_directories = false;
        let mut whole = Self { upper, lower, origin, keeps_directories, cwd, moved, ways, merged };
        let mut dangling = Vec::new();
        whole.find_moved(Staged::top(), &mut dangling)?;
        // A dangling link of the lower tree may point to a directory of the upper one.
        let leads = |whole: &Self, dirs: &[Staged]| {
            dirs.iter().enumerate().find_map(|(at, dir)| Some((at, whole.leads(&dir.place)?)))
        };
        while let Some((at, real)) = leads(&whole, &dangling) {
            let Staged { path, .. } = dangling.remove(at);
            whole.find_moved(Staged { path, place: real }, &mut dangling)?;
            (whole.ways, whole.merged) = (Ways::default(), Mutex::default());
        }
        Ok(whole)
    }

    /// This overlay, but a link of the upper tree does not hide a directory of the lower tree at
    /// the same path.
    #[must_use]
    pub fn keeping_directories(self) -> Self {
        Self { keeps_directories: true, ..self }
    }

    /// This overlay, with the upper tree treated as a part of the sysroot.
    #[must_use]
    pub fn in_sysroot(self) -> Self {
        Self { origin: FileOrigin::Sysroot, ..self }
    }

    /// Like [`Tree::list`], for the entries of the upper tree alone.
    pub fn list_own(
        &self,
        path: &Path,
        visit: &mut dyn FnMut(&OsStr, DirEntryKind),
    ) -> Result<(), Errno> {
        let dir = self.resolve(path, FollowedLinks::All)?;
        let merged = self.merged(&dir)?;
        let entries = self.upper_entries(&dir, &merged)?;
        for (name, node) in &entries {
            visit(name, *node);
        }
        Ok(())
    }

    /// The path in the upper tree of a file or link that [`Self::list_own`] visits at `path`.
    pub fn own_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        Ok(self.entry(path)?.path)
    }

    /// The lower tree, without the entries of the upper tree.
    pub fn lower(&self) -> &dyn Tree {
        &*self.lower
    }

    /// The directories of the merged tree to which entries of upper directories moved.
    pub fn moved_to(&self) -> impl Iterator<Item = &Path> {
        self.moved.at.keys().map(PathBuf::as_path)
    }

    /// This overlay, with relative paths starting at `cwd`.
    #[must_use]
    pub fn seen_from(self, cwd: PathBuf) -> Self {
        Self { cwd, ..self }
    }

    /// Records where the upper directory `top` and the directories below it are in the merged tree.
    /// Descends only into paths that are directories, or links to directories, in the lower tree.
    /// `dangling` receives the upper directories at whose path the lower tree has a link that leads
    /// to no directory.
    fn find_moved(&mut self, top: Staged, dangling: &mut Vec<Staged>) -> Result<(), MountError> {
        let mut todo = vec![top];
        while let Some(Staged { path, place }) = todo.pop() {
            self.moved.add(&path, &place);
            let mut dirs = Vec::new();
            let listed = self.upper.list(&path, &mut |name, node| {
                if node == DirEntryKind::Kind(EntryType::Directory) {
                    dirs.push(Staged { path: path.join(name), place: place.join(name) });
                }
            });
            listed.map_err(|errno| MountError { path: path.clone(), errno })?;
            for Staged { path, place } in dirs {
                let node = self.lower.node(&place);
                let error = |errno| MountError { path: place.clone(), errno };
                if is_directory(node).map_err(error)? {
                    todo.push(Staged { path, place });
                } else if let Some(real) = followed(&*self.lower, &place).map_err(error)? {
                    todo.push(Staged { path, place: real });
                } else if node == Ok(DirEntryKind::Link) {
                    dangling.push(Staged { path, place });
                }
            }
        }
        Ok(())
    }

    /// The directory of the merged tree that the lower tree's link at `place` points to. `None`
    /// if the link leads to no directory, or to a directory below `place`.
    fn leads(&self, place: &Path) -> Option<PathBuf> {
        let target = place.parent()?.join(self.lower.read_link(place).ok()?);
        let real = self.resolve(&target, FollowedLinks::All).ok()?;
        let entry = self.entry(&real).ok()?;
        (entry.node == DirEntryKind::Kind(EntryType::Directory) && !real.starts_with(place))
            .then_some(real)
    }

    fn resolve(&self, path: &Path, links: FollowedLinks) -> Result<PathBuf, Errno> {
        if path.as_os_str().is_empty() {
            return Err(Errno::NOENT);
        }
        self.ways.follow(self, &self.cwd.join(path), links)
    }

    fn tree(&self, layer: Layer) -> &dyn Tree {
        match layer {
            Layer::Upper => &*self.upper,
            Layer::Lower => &*self.lower,
        }
    }

    /// The entry that `path` resolves to.
    fn find(&self, path: &Path, links: FollowedLinks) -> Result<MergedEntry, Errno> {
        self.entry(&self.resolve(path, links)?)
    }

    /// The entry at a path without links in its directories.
    fn entry(&self, path: &Path) -> Result<MergedEntry, Errno> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            let node = DirEntryKind::Kind(EntryType::Directory);
            return Ok(MergedEntry { node, layer: Layer::Upper, path: path.to_path_buf() });
        };
        let merged = self.merged(dir)?;
        for dir in &merged.upper {
            let upper = dir.join(name);
            match self.upper.node(&upper) {
                Ok(_) if self.moved.to.contains_key(&upper) => {}
                Ok(DirEntryKind::Link) if merged.lower && self.keeps(path)? => {}
                Ok(node) => return Ok(MergedEntry { node, layer: Layer::Upper, path: upper }),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        if !merged.lower {
            return Err(Errno::NOENT);
        }
        let node = match self.lower.node(path) {
            Err(Errno::NOENT) if followed(&*self.lower, path)?.is_some() => DirEntryKind::Link,
            node => node?,
        };
        Ok(MergedEntry { node, layer: Layer::Lower, path: path.to_path_buf() })
    }

    /// True if the lower tree has a directory at `path` that a link of the upper tree does not
    /// hide.
    fn keeps(&self, path: &Path) -> Result<bool, Errno> {
        Ok(self.keeps_directories && is_directory(self.lower.node(path))?)
    }

    /// The directories that make up `dir`, whose path contains no links.
    fn merged(&self, dir: &Path) -> Result<Arc<Merged>, Errno> {
        // Iterates instead of recursing, because trees may be deep.
        let mut todo = Vec::new();
        let mut known = None;
        for above in dir.ancestors() {
            known = self.lock().get(above).cloned();
            if known.is_some() {
                break;
            }
            todo.push(above);
        }
        for dir in todo.into_iter().rev() {
            let merged = Arc::new(self.merge(dir, known.as_deref())?);
            self.lock().insert(dir.to_path_buf(), Arc::clone(&merged));
            known = Some(merged);
        }
        known.ok_or(Errno::NOENT)
    }

    /// The directories that make up `dir`. `above` has the directories that make up the parent of
    /// `dir`; `None` for the top.
    fn merge(&self, dir: &Path, above: Option<&Merged>) -> Result<Merged, Errno> {
        let moved = self.moved.at.get(dir).into_iter().flatten().cloned();
        let (Some(above), Some(name)) = (above, dir.file_name()) else {
            let upper = [dir.to_path_buf()].into_iter().chain(moved).collect();
            return Ok(Merged { upper, lower: true });
        };
        let below = above.lower && is_directory(self.lower.node(dir))?;
        let (mut upper, mut hidden) = (Vec::new(), false);
        for path in above.upper.iter().map(|above| above.join(name)) {
            match self.upper.node(&path) {
                Ok(_) if self.moved.to.contains_key(&path) => {}
                Ok(DirEntryKind::Kind(EntryType::Directory)) => upper.push(path),
                Ok(DirEntryKind::Link) if below && self.keeps_directories => {}
                // This entry hides the lower entries of the same path.
                Ok(_) => {
                    hidden = true;
                    break;
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        let lower = below && !hidden;
        upper.extend(moved);
        if upper.is_empty() && !lower {
            return Err(Errno::NOTDIR);
        }
        Ok(Merged { upper, lower })
    }

    /// Locks the cache. A panic of another thread does not matter, because the map has only
    /// complete entries.
    fn lock(&self) -> std::sync::MutexGuard<'_, FastMap<PathBuf, Arc<Merged>>> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// True for a directory. False for any other entry, and for an error that shows that no entry
/// exists. Other errors are returned.
fn is_directory(node: Result<DirEntryKind, Errno>) -> Result<bool, Errno> {
    Ok(present(node)? == Some(DirEntryKind::Kind(EntryType::Directory)))
}

/// The result for a path. `None` after an error that shows that no entry exists. Other errors
/// are returned.
fn present<T>(answer: Result<T, Errno>) -> Result<Option<T>, Errno> {
    match answer {
        Ok(answer) => Ok(Some(answer)),
        Err(Errno::NOENT | Errno::NOTDIR | Errno::LOOP | Errno::NAMETOOLONG | Errno::XDEV) => {
            Ok(None)
        }
        Err(errno) => Err(errno),
    }
}

/// The directory that a tree reads instead of `path`: the target of a link, real or assumed for a
/// merged `/usr`. `None` if no link leads from `path` to a directory.
fn followed(tree: &dyn Tree, path: &Path) -> Result<Option<PathBuf>, Errno> {
    let Some(real) = present(tree.real_path(path))?.filter(|real| real != path) else {
        return Ok(None);
    };
    Ok(is_directory(tree.node(&real))?.then_some(real))
}

impl Lookup for OverlayTree {
    fn target(&self, path: &Path) -> Result<Option<PathBuf>, Errno> {
        let found = self.entry(path)?;
        if found.node != DirEntryKind::Link {
            return Ok(None);
        }
        self.link_at(&found).map(Some)
    }

    fn is_directory(&self, path: &Path) -> Result<bool, Errno> {
        Ok(self.entry(path)?.node == DirEntryKind::Kind(EntryType::Directory))
    }
}

impl OverlayTree {
    fn link_at(&self, found: &MergedEntry) -> Result<PathBuf, Errno> {
        match (found.layer, self.tree(found.layer).read_link(&found.path)) {
            (Layer::Lower, Err(Errno::NOENT)) => {
                followed(&*self.lower, &found.path)?.ok_or(Errno::NOENT)
            }
            (_, target) => target,
        }
    }
}

impl OverlayTree {
    /// The entries of the upper tree in the directory `dir`.
    fn upper_entries(
        &self,
        dir: &Path,
        merged: &Merged,
    ) -> Result<BTreeMap<OsString, DirEntryKind>, Errno> {
        let mut entries: BTreeMap<OsString, DirEntryKind> = BTreeMap::new();
        for upper in &merged.upper {
            let mut unknown = Ok(());
            self.upper.list(upper, &mut |name, node| {
                let may_be_left_out = node == DirEntryKind::Link && merged.lower;
                let mut is_left_out = || {
                    may_be_left_out
                        && self.keeps(&dir.join(name)).unwrap_or_else(|errno| {
                            unknown = Err(errno);
                            false
                        })
                };
                if !self.moved.to.contains_key(&upper.join(name)) && !is_left_out() {
                    entries.entry(name.to_owned()).or_insert(node);
                }
            })?;
            unknown?;
        }
        Ok(entries)
    }
}

impl Tree for OverlayTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        let found = self.find(path, FollowedLinks::All)?;
        self.tree(found.layer).open(&found.path)
    }

    fn look(&self, path: &Path) -> Result<(EntryType, Stat), Errno> {
        let found = self.find(path, FollowedLinks::All)?;
        self.tree(found.layer).look(&found.path)
    }

    fn node(&self, path: &Path) -> Result<DirEntryKind, Errno> {
        Ok(self.find(path, FollowedLinks::NotLast)?.node)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        let found = self.find(path, FollowedLinks::NotLast)?;
        if found.node == DirEntryKind::Link { self.link_at(&found) } else { Err(Errno::INVAL) }
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        let real = self.resolve(path, FollowedLinks::All)?;
        self.entry(&real)?;
        Ok(real)
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, DirEntryKind)) -> Result<(), Errno> {
        let dir = self.resolve(path, FollowedLinks::All)?;
        if self.entry(&dir)?.node != DirEntryKind::Kind(EntryType::Directory) {
            return Err(Errno::NOTDIR);
        }
        let merged = self.merged(&dir)?;
        let mut entries = self.upper_entries(&dir, &merged)?;
        if merged.lower {
            self.lower.list(&dir, &mut |name, node| {
                entries.entry(name.to_owned()).or_insert(node);
            })?;
        }
        for (name, node) in &entries {
            visit(name, *node);
        }
        Ok(())
    }

    fn mode(&self, path: &Path) -> Option<u32> {
        let found = self.find(path, FollowedLinks::All).ok()?;
        self.tree(found.layer).mode(&found.path)
    }

    fn has_capabilities(&self, path: &Path) -> bool {
        let found = self.find(path, FollowedLinks::All);
        found.is_ok_and(|found| self.tree(found.layer).has_capabilities(&found.path))
    }

    fn is_of_process(&self, path: &Path) -> bool {
        match present(self.find(path, FollowedLinks::All)) {
            Ok(Some(found)) => self.tree(found.layer).is_of_process(&found.path),
            // A path such as `/proc/self/fd/9` may be absent in this process.
            Ok(None) => self.lower.is_of_process(&self.cwd.join(path)),
            // The error is reported when the path is opened.
            Err(_) => false,
        }
    }

    fn is_of_kernel(&self, path: &Path) -> bool {
        let found = self.find(path, FollowedLinks::All);
        found.is_ok_and(|found| self.tree(found.layer).is_of_kernel(&found.path))
    }

    fn origin(&self, path: &Path) -> Result<Option<FileOrigin>, Errno> {
        let found = self.find(path, FollowedLinks::NotLast)?;
        Ok(Some(match found.layer {
            Layer::Upper => self.origin,
            Layer::Lower => self.lower.origin(&found.path)?.unwrap_or(FileOrigin::Sysroot),
        }))
    }

    fn list_staged(
        &self,
        path: &Path,
        visit: &mut dyn FnMut(&OsStr, DirEntryKind),
    ) -> Result<(), Errno> {
        let dir = self.resolve(path, FollowedLinks::All)?;
        let merged = self.merged(&dir)?;
        let mut entries = BTreeMap::new();
        if self.origin == FileOrigin::Stage {
            entries = self.upper_entries(&dir, &merged)?;
            // Adds the directories of the lower tree on the way to moved entries.
            let below = self.moved.at.keys().filter_map(|place| place.strip_prefix(&dir).ok());
            let names = below.filter_map(|below| below.iter().next());
            entries.extend(
                names.map(|name| (name.to_owned(), DirEntryKind::Kind(EntryType::Directory))),
            );
        }
        if merged.lower {
            self.lower.list_staged(&dir, &mut |name, node| {
                entries.entry(name.to_owned()).or_insert(node);
            })?;
        }
        for (name, node) in &entries {
            visit(name, *node);
        }
        Ok(())
    }

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        let found = self.find(path, FollowedLinks::NotLast).ok()?;
        self.tree(found.layer).package(&found.path)
    }

    fn open_regular(&self, path: &Path) -> Result<Handle, Errno> {
        let found = self.find(path, FollowedLinks::All)?;
        self.tree(found.layer).open_regular(&found.path)
    }

    fn open_if(
        &self,
        path: &Path,
        head: &mut [u8],
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Handle>, Errno> {
        let found = self.find(path, FollowedLinks::All)?;
        self.tree(found.layer).open_if(&found.path, head, wanted)
    }
}
