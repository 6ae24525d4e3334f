//! Dangling symbolic links with the name of a library. The walk finds the links, and this module
//! reads their targets.

use crate::tree::walk::{UnreadablePath, describe};
use crate::tree::{Errno, MOST_LINKS, Tree, without_dots};
use std::path::{Path, PathBuf};

/// A dangling symbolic link that is named like a library, such as `libfoo.so`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DanglingLink {
    /// The absolute path of the link.
    pub path: PathBuf,
    /// The text of the link, as written.
    pub target: PathBuf,
    /// The texts of the further links in the chain, in order. The last text, or `target` if there
    /// is none, names the missing file.
    pub further: Vec<PathBuf>,
    /// True if a link of the chain points into `/etc/alternatives`.
    pub is_alternative: bool,
    /// True if the link leads back to itself, or through more links than the kernel follows.
    pub is_loop: bool,
}

impl DanglingLink {
    fn new(tree: &dyn Tree, path: PathBuf, target: PathBuf, is_loop: bool) -> Self {
        let mut out = Self { path, target, further: Vec::new(), is_alternative: false, is_loop };
        if is_loop {
            return out;
        }
        let mut here = beside(&out.path, &out.target);
        while out.further.len() < MOST_LINKS {
            out.is_alternative |= here.starts_with("/etc/alternatives");
            let Ok(next) = tree.read_link(&here) else { break };
            here = beside(&here, &next);
            out.further.push(next);
        }
        out
    }
}

/// The path to which a link at `path` with the text `target` points, without `.` and `..`.
fn beside(path: &Path, target: &Path) -> PathBuf {
    without_dots(&path.parent().unwrap_or(path).join(target))
}

/// Reads the dangling links at `links`. `places` has the absolute path of each link. Links that
/// cannot be read are added to `problems`.
pub(super) fn read(
    tree: &dyn Tree,
    places: Vec<PathBuf>,
    links: &[PathBuf],
    problems: &mut Vec<UnreadablePath>,
) -> Vec<DanglingLink> {
    let mut out = Vec::new();
    for (path, link) in places.into_iter().zip(links) {
        match tree.read_link(link) {
            // The directory of the link could not be resolved.
            Ok(_) if !path.is_absolute() => {
                let reason = "its directory is not known".to_owned();
                problems.push(UnreadablePath { path, reason });
            }
            Ok(target) => {
                let is_loop = tree.kind(link) == Err(Errno::LOOP);
                out.push(DanglingLink::new(tree, path, target, is_loop));
            }
            Err(errno) => problems.push(UnreadablePath { path, reason: describe(errno) }),
        }
    }
    out
}
