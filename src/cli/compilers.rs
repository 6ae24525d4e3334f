//! Archives that a compiler adds to every link. `archive --self` reads them in addition to the
//! named directories. References to their symbols are therefore not reported as undefined.

use crate::order::Arrange as _;
use crate::tree::{DirEntryKind, EntryType, Tree};
use std::path::{Path, PathBuf};

/// The directory of GCC's own files. It has a directory for each target, which has a directory for
/// each release.
const GCC: &str = "/usr/lib/gcc";

/// The archives in `LIBGCC_SPEC` of GCC.
const ARCHIVES: &[&str] = &["libgcc.a", "libgcc_eh.a"];

/// The archives of all releases of GCC that are installed in `tree`.
pub(super) fn archives(tree: &dyn Tree) -> Vec<PathBuf> {
    let releases = below(tree, Path::new(GCC)).into_iter().flat_map(|target| below(tree, &target));
    let files = releases.flat_map(|release| ARCHIVES.iter().map(move |name| release.join(name)));
    files.filter(|file| tree.look(file).is_ok()).collect()
}

/// The directories in a directory, sorted. Links are left out, because a link may be a second name
/// of a release: the full number on Debian.
fn below(tree: &dyn Tree, dir: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    // An error is ignored: without the directory, GCC is not installed.
    let _ = tree.list(dir, &mut |name, kind| {
        if kind == DirEntryKind::Kind(EntryType::Directory) {
            found.push(dir.join(name));
        }
    });
    found.arrange();
    found
}
