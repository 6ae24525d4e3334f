//! Archives that a compiler adds to every link. `archive --self` reads them in addition to the
//! named directories. References to their symbols are therefore not reported as undefined.

use crate::order::Arrange as _;
use crate::tree::{DirEntryKind, EntryType, Tree};
use std::path::{Path, PathBuf};

/// The directory of GCC's own files. The files of one release are below it in `TARGET/RELEASE`.
const GCC: &str = "/usr/lib/gcc";

/// The archives that GCC's `LIBGCC_SPEC` links.
const ARCHIVES: &[&str] = &["libgcc.a", "libgcc_eh.a"];

/// The archives of all releases of GCC that are installed in `tree`.
pub(super) fn archives(tree: &dyn Tree) -> Vec<PathBuf> {
    let releases = below(tree, Path::new(GCC)).into_iter().flat_map(|target| below(tree, &target));
    let files = releases.flat_map(|release| ARCHIVES.iter().map(move |name| release.join(name)));
    files.filter(|file| tree.look(file).is_ok()).collect()
}

/// The subdirectories of `dir`, sorted. Symbolic links are left out, because a link may be a second
/// name of a release. On Debian, this second name is the full version number.
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
