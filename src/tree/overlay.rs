//! One tree laid over another: a stage over a sysroot, before it is installed there. Stacks of more
//! layers are overlays of overlays.
//!
//! An entry of the upper tree hides the entry of the same path below it; directories merge. Links of
//! either tree are followed in the whole, and `..` at the top stays there, so that no path leads out
//! of a layer. A directory of the upper tree over a link of the lower one to a directory does not
//! hide the link: its entries lie where the link leads, as dpkg unpacks them.
//!
//! The program mounts none itself; the library does, and its tests hold an overlay against the same
//! files really merged.

use super::contract::{Opened, Tree};
use super::file::Handle;
use super::follow::{Links, Lookup, Ways};
use super::kind::{Kind, Node, Stat};
use crate::id::FastMap;
use crate::package::PackageId;
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Two trees as one.
pub struct OverlayTree {
    upper: Box<dyn Tree>,
    lower: Box<dyn Tree>,
    /// What relative paths begin at.
    cwd: PathBuf,
    moved: Moved,
    ways: Ways,
    merged: Mutex<FastMap<PathBuf, Arc<Merged>>>,
}

/// A directory of the upper tree that could not be listed.
#[derive(Debug, thiserror::Error)]
#[error("{}: {errno}", path.display())]
pub struct MountError {
    /// Where, in the upper tree.
    pub path: PathBuf,
    /// Why.
    pub errno: Errno,
}

/// Directories of the upper tree that lie over links of the lower one.
#[derive(Default)]
struct Moved {
    /// Where each lies in the whole.
    to: FastMap<PathBuf, PathBuf>,
    /// Which lie at a directory of the whole, in byte order.
    at: FastMap<PathBuf, Vec<PathBuf>>,
}

impl Moved {
    /// Adds a directory if it lies elsewhere than at its path.
    fn add(&mut self, path: &Path, place: &Path) {
        // Below a moved directory, entries lie where that does.
        let stays = match (path.parent(), path.file_name()) {
            (Some(above), Some(name)) => self.place(above).join(name) == place,
            _ => true,
        };
        if !stays {
            self.to.insert(path.to_path_buf(), place.to_path_buf());
            let paths = self.at.entry(place.to_path_buf()).or_default();
            paths.push(path.to_path_buf());
            paths.sort_unstable();
        }
    }

    /// Where a directory of the upper tree lies in the whole.
    fn place(&self, path: &Path) -> PathBuf {
        let moved = path.ancestors().find_map(|above| Some((above, self.to.get(above)?)));
        match moved.map(|(above, to)| (path.strip_prefix(above), to)) {
            Some((Ok(rest), to)) => to.join(rest),
            _ => path.to_path_buf(),
        }
    }
}

/// A directory of the upper tree, and where it lies in the whole.
struct Staged {
    path: PathBuf,
    place: PathBuf,
}

impl Staged {
    fn top() -> Self {
        Self { path: PathBuf::from("/"), place: PathBuf::from("/") }
    }
}

/// What a directory of the whole consists of.
struct Merged {
    /// Directories of the upper tree, first the one of the same path.
    upper: Vec<PathBuf>,
    /// The lower tree has a directory of the same path.
    lower: bool,
}

/// An entry of the whole, and the layer and path that it comes from.
struct Found {
    node: Node,
    layer: Layer,
    path: PathBuf,
}

#[derive(Clone, Copy)]
enum Layer {
    Upper,
    Lower,
}

impl OverlayTree {
    /// Lays `upper` over `lower`. Identities of files must differ between the two.
    pub fn new(upper: Box<dyn Tree>, lower: Box<dyn Tree>) -> Result<Self, MountError> {
        let (moved, ways, merged) = (Moved::default(), Ways::default(), Mutex::default());
        let mut whole = Self { upper, lower, cwd: PathBuf::from("/"), moved, ways, merged };
        let mut dangling = Vec::new();
        whole.find_moved(Staged::top(), &mut dangling)?;
        // A link that dangles in the lower tree may lead to a directory of the upper one.
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

    /// The same with relative paths taken from `cwd`.
    #[must_use]
    pub fn seen_from(self, cwd: PathBuf) -> Self {
        Self { cwd, ..self }
    }

    /// Looks at all directories of the upper tree from `top` on that lie over something of the lower
    /// one; those over links that lead to no directory there are `dangling`.
    fn find_moved(&mut self, top: Staged, dangling: &mut Vec<Staged>) -> Result<(), MountError> {
        let mut todo = vec![top];
        while let Some(Staged { path, place }) = todo.pop() {
            self.moved.add(&path, &place);
            let mut dirs = Vec::new();
            let listed = self.upper.list(&path, &mut |name, node| {
                if node == Node::Kind(Kind::Directory) {
                    dirs.push(Staged { path: path.join(name), place: place.join(name) });
                }
            });
            listed.map_err(|errno| MountError { path: path.clone(), errno })?;
            for Staged { path, place } in dirs {
                let node = self.lower.node(&place);
                if is_directory(node) {
                    todo.push(Staged { path, place });
                } else if let Some(real) = followed(&*self.lower, &place) {
                    todo.push(Staged { path, place: real });
                } else if node == Ok(Node::Link) {
                    dangling.push(Staged { path, place });
                }
            }
        }
        Ok(())
    }

    /// The directory of the whole to which the lower tree's link at `place` leads.
    fn leads(&self, place: &Path) -> Option<PathBuf> {
        let target = place.parent()?.join(self.lower.read_link(place).ok()?);
        let real = self.resolve(&target, Links::All).ok()?;
        let entry = self.entry(&real).ok()?;
        (entry.node == Node::Kind(Kind::Directory) && !real.starts_with(place)).then_some(real)
    }

    fn resolve(&self, path: &Path, links: Links) -> Result<PathBuf, Errno> {
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

    /// The entry that `path` leads to.
    fn find(&self, path: &Path, links: Links) -> Result<Found, Errno> {
        self.entry(&self.resolve(path, links)?)
    }

    /// The entry at a path whose directories are no links.
    fn entry(&self, path: &Path) -> Result<Found, Errno> {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            let node = Node::Kind(Kind::Directory);
            return Ok(Found { node, layer: Layer::Upper, path: path.to_path_buf() });
        };
        let merged = self.merged(dir)?;
        for dir in &merged.upper {
            let path = dir.join(name);
            match self.upper.node(&path) {
                Ok(_) if self.moved.to.contains_key(&path) => {}
                Ok(node) => return Ok(Found { node, layer: Layer::Upper, path }),
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        if !merged.lower {
            return Err(Errno::NOENT);
        }
        let node = match self.lower.node(path) {
            Err(Errno::NOENT) if followed(&*self.lower, path).is_some() => Node::Link,
            node => node?,
        };
        Ok(Found { node, layer: Layer::Lower, path: path.to_path_buf() })
    }

    /// What the directory `dir` consists of; its path holds no links.
    fn merged(&self, dir: &Path) -> Result<Arc<Merged>, Errno> {
        // No recursion: trees may be deep.
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

    /// The same, where `above` is the directory above; nothing for the top.
    fn merge(&self, dir: &Path, above: Option<&Merged>) -> Result<Merged, Errno> {
        let moved = self.moved.at.get(dir).into_iter().flatten().cloned();
        let (Some(above), Some(name)) = (above, dir.file_name()) else {
            let upper = [dir.to_path_buf()].into_iter().chain(moved).collect();
            return Ok(Merged { upper, lower: true });
        };
        let (mut upper, mut hidden) = (Vec::new(), false);
        for path in above.upper.iter().map(|above| above.join(name)) {
            match self.upper.node(&path) {
                Ok(_) if self.moved.to.contains_key(&path) => {}
                Ok(Node::Kind(Kind::Directory)) => upper.push(path),
                // It hides what lies below it.
                Ok(_) => {
                    hidden = true;
                    break;
                }
                Err(Errno::NOENT) => {}
                Err(errno) => return Err(errno),
            }
        }
        let lower = !hidden && above.lower && is_directory(self.lower.node(dir));
        upper.extend(moved);
        if upper.is_empty() && !lower {
            return Err(Errno::NOTDIR);
        }
        Ok(Merged { upper, lower })
    }

    /// What a panicking thread left in the map is still true of the trees.
    fn lock(&self) -> std::sync::MutexGuard<'_, FastMap<PathBuf, Arc<Merged>>> {
        self.merged.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

fn is_directory(node: Result<Node, Errno>) -> bool {
    node == Ok(Node::Kind(Kind::Directory))
}

/// The directory that a tree reads elsewhere than at `path`: a link leads there, or the tree is read
/// as if one did.
fn followed(tree: &dyn Tree, path: &Path) -> Option<PathBuf> {
    let real = tree.real_path(path).ok().filter(|real| real != path)?;
    is_directory(tree.node(&real)).then_some(real)
}

impl Lookup for OverlayTree {
    fn target(&self, path: &Path) -> Result<Option<PathBuf>, Errno> {
        let found = self.entry(path)?;
        if found.node != Node::Link {
            return Ok(None);
        }
        self.link_at(&found).map(Some)
    }

    fn is_directory(&self, path: &Path) -> Result<bool, Errno> {
        Ok(self.entry(path)?.node == Node::Kind(Kind::Directory))
    }
}

impl OverlayTree {
    fn link_at(&self, found: &Found) -> Result<PathBuf, Errno> {
        match (found.layer, self.tree(found.layer).read_link(&found.path)) {
            (Layer::Lower, Err(Errno::NOENT)) => {
                followed(&*self.lower, &found.path).ok_or(Errno::NOENT)
            }
            (_, target) => target,
        }
    }
}

impl Tree for OverlayTree {
    fn open(&self, path: &Path) -> Result<Opened, Errno> {
        let found = self.find(path, Links::All)?;
        self.tree(found.layer).open(&found.path)
    }

    fn look(&self, path: &Path) -> Result<(Kind, Stat), Errno> {
        let found = self.find(path, Links::All)?;
        self.tree(found.layer).look(&found.path)
    }

    fn node(&self, path: &Path) -> Result<Node, Errno> {
        Ok(self.find(path, Links::NotLast)?.node)
    }

    fn read_link(&self, path: &Path) -> Result<PathBuf, Errno> {
        let found = self.find(path, Links::NotLast)?;
        if found.node == Node::Link { self.link_at(&found) } else { Err(Errno::INVAL) }
    }

    fn real_path(&self, path: &Path) -> Result<PathBuf, Errno> {
        let real = self.resolve(path, Links::All)?;
        self.entry(&real)?;
        Ok(real)
    }

    fn list(&self, path: &Path, visit: &mut dyn FnMut(&OsStr, Node)) -> Result<(), Errno> {
        let dir = self.resolve(path, Links::All)?;
        if self.entry(&dir)?.node != Node::Kind(Kind::Directory) {
            return Err(Errno::NOTDIR);
        }
        let merged = self.merged(&dir)?;
        let mut entries: BTreeMap<OsString, Node> = BTreeMap::new();
        for upper in &merged.upper {
            self.upper.list(upper, &mut |name, node| {
                if !self.moved.to.contains_key(&upper.join(name)) {
                    entries.entry(name.to_owned()).or_insert(node);
                }
            })?;
        }
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

    fn package(&self, path: &Path) -> Option<Arc<PackageId>> {
        let found = self.find(path, Links::NotLast).ok()?;
        self.tree(found.layer).package(&found.path)
    }

    fn open_regular(&self, path: &Path) -> Result<Handle, Errno> {
        let found = self.find(path, Links::All)?;
        self.tree(found.layer).open_regular(&found.path)
    }

    fn open_if(
        &self,
        path: &Path,
        head: &mut [u8],
        wanted: &mut dyn FnMut(&[u8]) -> bool,
    ) -> Result<Option<Handle>, Errno> {
        let found = self.find(path, Links::All)?;
        self.tree(found.layer).open_if(&found.path, head, wanted)
    }
}
