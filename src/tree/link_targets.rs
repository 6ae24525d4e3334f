//! Real paths of many symbolic links. Links in one directory often point into the same other
//! directory. That directory is resolved once instead of once for each link. `facts::collect` calls
//! this module.

use super::contract::Tree;
use super::far::PATH_MAX;
use crate::id::FastMap;
use rustix::io::Errno;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

/// Resolves links in one tree; threads share the resolved directories.
pub struct LinkTargets<'t> {
    tree: &'t dyn Tree,
    dirs: Mutex<FastMap<PathBuf, Option<PathBuf>>>,
}

impl<'t> LinkTargets<'t> {
    /// A resolver for links in `tree`, without any cached directory.
    pub fn new(tree: &'t dyn Tree) -> Self {
        Self { tree, dirs: Mutex::default() }
    }

    /// `link` with all links resolved, as [`Tree::real_path`] returns it.
    pub fn real_path(&self, link: &Path) -> Result<PathBuf, Errno> {
        self.by_directory(link).map_or_else(|| self.tree.real_path(link), Ok)
    }

    /// The real path of the target: the cached real path of its directory, joined with its name.
    /// `None` if the target is a link too, if its path does not end with a name, or after an error.
    fn by_directory(&self, link: &Path) -> Option<PathBuf> {
        let target = self.tree.read_link(link).ok()?;
        let bytes = target.as_os_str().as_bytes();
        // Such a target must be a directory. `Tree::real_path` returns the error if it is not.
        if bytes.is_empty() || bytes.ends_with(b"/") || bytes.ends_with(b"/.") {
            return None;
        }
        let target = link.parent()?.join(target);
        if link.as_os_str().len().max(target.as_os_str().len()) >= PATH_MAX {
            return None;
        }
        let real = self.real_dir(target.parent()?)?.join(target.file_name()?);
        (self.tree.read_link(&real) == Err(Errno::INVAL)).then_some(real)
    }

    fn real_dir(&self, dir: &Path) -> Option<PathBuf> {
        let known = self.lock().get(dir).cloned();
        known.unwrap_or_else(|| {
            let real = self.tree.real_path(dir).ok();
            self.lock().insert(dir.to_path_buf(), real.clone());
            real
        })
    }

    /// Locks the cache. A panic of another thread does not matter, because the map has only
    /// complete entries.
    fn lock(&self) -> std::sync::MutexGuard<'_, FastMap<PathBuf, Option<PathBuf>>> {
        self.dirs.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::LinkTargets;
    use crate::tree::{MemTree, Tree as _};
    use std::path::Path;

    /// The results equal those of [`Tree::real_path`](crate::tree::Tree::real_path), also for links
    /// to links and for dangling links.
    #[test]
    fn equal_to_the_trees_real_paths() {
        let mut tree = MemTree::default();
        tree.file("/real/deep/a", b"".as_slice());
        tree.link("/linked", "real");
        tree.link("/real/near", "deep/a");
        let targets = [
            ("/file", "real/deep/a"),
            ("/absolute", "/real/deep/a"),
            ("/through", "linked/deep/a"),
            ("/above", "linked/deep/../near"),
            ("/slash", "real/deep/a/"),
            ("/dot", "real/deep/."),
            ("/dots", "real/deep/.."),
            ("/directory", "real/deep"),
            ("/dangling", "real/none"),
            ("/nowhere", "none/none"),
            ("/cycle", "cycle"),
        ];
        for (link, target) in targets {
            tree.link(link, target);
        }
        let links = LinkTargets::new(&tree);
        for (link, _) in targets {
            let link = Path::new(link);
            assert_eq!(links.real_path(link), tree.real_path(link), "{link:?}");
        }
    }
}
