//! The one place that writes: standard output, and the files that `-o` names.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for everything written")]

use std::fs::File;
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

/// Lets `render` write to a file, which is made anew.
pub(super) fn file(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, File::create(path)?);
    render(&mut out)?;
    out.flush()
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
