//! The one place that writes: standard output, and the files that `-o` names.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for everything written")]

use rustix::fs::FileType;
use std::fs::{self, File};
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Lets `render` write to standard output. A closed pipe ends the writing and is no error.
pub(super) fn stdout(render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match render(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
            // Dropping the buffer would try, and fail, again.
            let _ = out.into_parts();
            Ok(())
        }
        result => result,
    }
}

/// Device and inode of the regular file that standard output goes to, if it goes to one.
pub(super) fn stdout_file() -> Option<(u64, u64)> {
    let stat = rustix::fs::fstat(io::stdout()).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_file().then_some((stat.st_dev, stat.st_ino))
}

/// Lets `render` write to a file, which is there whole or as it was: it is written under another name
/// beside it, which then takes its place. What is no regular file is written to as it is.
pub(super) fn file(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let there = fs::metadata(path);
    if there.as_ref().is_ok_and(|there| !there.is_file()) {
        let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
        render(&mut out)?;
        return out.flush();
    }
    // A link stays one: what it leads to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let beside = target.with_file_name(format!(".linkaudit-{}.part", std::process::id()));
    let written = File::options().write(true).create_new(true).open(&beside).and_then(|file| {
        if let Ok(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        let mut out = BufWriter::with_capacity(1 << 16, file);
        render(&mut out)?;
        out.flush()
    });
    let written = written.and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // What went wrong is said; that the part stays is the lesser harm.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Lets `render` write to a file that is not there yet.
pub(super) fn new_file(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(File::create_new(path)?);
    render(&mut out)?;
    out.flush()
}

/// Makes a directory that must not be there yet.
pub(super) fn new_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Makes a directory and those above it.
pub(super) fn directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}
