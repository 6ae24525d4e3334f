//! The directory in which tests create temporary files.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

/// Bytes that must be free in the file system of [`SHARED_MEMORY`].
const ENOUGH: u64 = 8 << 30;
const SHARED_MEMORY: &str = "/dev/shm";

/// The directory for temporary files: TMPDIR if it is set, otherwise shared memory if it has room
/// and programs may run from it, otherwise `/tmp`. Shared memory is preferred because tests create
/// and delete many small files. After many deletions, ext4 searches long for a free inode
/// (`recently_deleted` in `fs/ext4/ialloc.c`).
pub fn scratch() -> &'static Path {
    static DIR: OnceLock<PathBuf> = OnceLock::new();
    DIR.get_or_init(|| match std::env::var_os("TMPDIR") {
        Some(dir) => dir.into(),
        None if is_fit(Path::new(SHARED_MEMORY)) => SHARED_MEMORY.into(),
        None => "/tmp".into(),
    })
}

/// True if the directory has room, may be written to, and programs may run from it.
fn is_fit(dir: &Path) -> bool {
    use rustix::fs::{Access, StatVfsMountFlags, access, statvfs};
    statvfs(dir).is_ok_and(|system| {
        let free = system.f_bavail.saturating_mul(system.f_frsize);
        free >= ENOUGH && !system.f_flag.contains(StatVfsMountFlags::NOEXEC)
    }) && access(dir, Access::WRITE_OK).is_ok()
}

/// A new temporary directory in [`scratch`].
pub fn tempdir() -> std::io::Result<tempfile::TempDir> {
    tempfile::tempdir_in(scratch())
}
