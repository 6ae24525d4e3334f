//! Links with the name of a library that lead to no file. The walk finds them; their targets are
//! read here.

use crate::tree::walk::{UnreadablePath, describe};
use crate::tree::{Errno, Tree};
use std::path::PathBuf;

/// A link that leads to no file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DanglingLink {
    /// The absolute path of the link.
    pub path: PathBuf,
    /// The text of the link.
    pub target: PathBuf,
    /// True if the link leads back to itself, or through more links than the kernel follows.
    pub is_loop: bool,
}

/// The dangling links `links`, whose absolute paths are `places`.
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
                out.push(DanglingLink { path, target, is_loop });
            }
            Err(errno) => problems.push(UnreadablePath { path, reason: describe(errno) }),
        }
    }
    out
}
