//! The one place that writes: standard output, and the files that `-o` names.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for everything written")]

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Seek as _, SeekFrom, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
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

/// True if standard output is a terminal.
pub(super) fn is_terminal() -> bool {
    io::stdout().is_terminal()
}

/// Device and inode of the regular file that standard output goes to, if it goes to one.
pub(super) fn stdout_file() -> Option<(u64, u64)> {
    let stat = rustix::fs::fstat(io::stdout()).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_file().then_some((stat.st_dev, stat.st_ino))
}

/// The place that [`file()`] opens for writing, with links resolved.
pub(super) enum Target {
    /// The directory of the file.
    In(PathBuf),
    /// The place itself: something other than a regular file is there.
    Itself(PathBuf),
}

impl Target {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::In(path) | Self::Itself(path) => path,
        }
    }
}

/// The place that [`file()`] opens for writing `path`.
pub(super) fn target(path: &Path) -> Target {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if fs::metadata(&real).is_ok_and(|there| !there.is_file()) {
        return Target::Itself(real);
    }
    Target::In(directory(&real).to_path_buf())
}

/// The directory of a file.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Lets `render` write a file. The output goes to a temporary file in the same directory, which replaces the
/// file at the end: a reader never finds half of it. A pipe or a device is written to directly.
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
    let target = match fs::canonicalize(path) {
        Ok(target) => target,
        Err(_) if path.is_symlink() => {
            return Err(io::Error::other("dangling symbolic link"));
        }
        Err(_) => path.to_path_buf(),
    };
    let beside = target.with_file_name(format!(".linkaudit-{}.part", std::process::id()));
    let fill = |file: &File| {
        if let Ok(there) = &there {
            file.set_permissions(there.permissions())?;
        }
        let mut out = BufWriter::with_capacity(1 << 16, file);
        render(&mut out)?;
        out.flush()?;
        stored(file)
    };
    let written = match nameless(&target) {
        Some(file) => fill(&file).and_then(|()| name(&file, &beside)),
        None => new_at(&beside).and_then(|file| fill(&file)),
    };
    let written = written.and_then(|()| fs::rename(&beside, &target));
    if written.is_err() {
        // What went wrong is said; that the part stays is the lesser harm.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Waits until the content is on disk: the new name must not come to stand for an empty file if the machine
/// stops. Some file systems have no such call.
fn stored(file: &File) -> io::Result<()> {
    match file.sync_all() {
        Err(error)
            if matches!(error.kind(), io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported) =>
        {
            Ok(())
        }
        result => result,
    }
}

/// A file without a name in the directory of `target`: it is gone if a signal ends the run. Some file
/// systems have none.
fn nameless(target: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    // The process's umask takes its part.
    rustix::fs::open(directory(target), flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

/// Gives a file without a name one; without procfs its content is copied there.
fn name(mut file: &File, path: &Path) -> io::Result<()> {
    let own = format!("/proc/self/fd/{}", file.as_raw_fd());
    if rustix::fs::linkat(CWD, own, CWD, path, AtFlags::SYMLINK_FOLLOW).is_ok() {
        return Ok(());
    }
    file.seek(SeekFrom::Start(0))?;
    let mut named = new_at(path)?;
    named.set_permissions(file.metadata()?.permissions())?;
    io::copy(&mut file, &mut named).map(drop)
}

fn new_at(path: &Path) -> io::Result<File> {
    File::options().write(true).create_new(true).open(path)
}

/// True if the file at `path` has more names than this one.
pub(super) fn has_other_names(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.nlink() > 1)
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

/// The same for a program, which all may run as far as the umask lets them.
pub(super) fn new_program(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = File::options().write(true).create_new(true).mode(0o777).open(path)?;
    render(&mut out)
}

/// Removes a file.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Makes a directory that must not be there yet.
pub(super) fn new_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Makes a directory and those above it.
pub(super) fn directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}
