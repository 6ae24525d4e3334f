//! The one place that writes: standard output, and the files that `-o` names.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for everything written")]

use std::fs::{self, File, OpenOptions};
use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

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

/// Lets `render` write to a file, which is made anew.
pub(super) fn file(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    render(&mut out)?;
    out.flush()
}

/// Gives a file new content at once: whoever reads it meanwhile, or after a power cut, finds the old
/// or the new one. A link stays one; what is no regular file is written as it is.
pub(super) fn replace(path: &Path, bytes: &[u8]) -> io::Result<()> {
    let path = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    let old = fs::metadata(&path).ok();
    if old.as_ref().is_some_and(|old| !old.is_file()) {
        return file(&path, |out| out.write_all(bytes));
    }
    let new = beside(&path);
    let mut file = OpenOptions::new().write(true).create_new(true).open(&new)?;
    let written = file.write_all(bytes).and_then(|()| {
        old.map_or(Ok(()), |old| file.set_permissions(old.permissions()))?;
        file.sync_all()?;
        fs::rename(&new, &path)
    });
    if written.is_err() {
        // The error that is told is the first one.
        let _ = fs::remove_file(&new);
    }
    written
}

/// A name in the same directory that nobody else uses.
fn beside(path: &Path) -> PathBuf {
    let mut name = std::ffi::OsString::from(".");
    name.push(path.file_name().unwrap_or_default());
    name.push(format!(".{}.new", std::process::id()));
    path.with_file_name(name)
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
