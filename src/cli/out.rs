//! Writes to standard output, creates, replaces and removes files, and creates directories, for all
//! commands.
#![expect(clippy::disallowed_methods, reason = "clippy.toml points here for everything written")]

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal as _, Seek as _, SeekFrom, Write};
use std::os::fd::AsRawFd as _;
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _, PermissionsExt as _};
use std::path::{Path, PathBuf};

/// Lets `render` write to standard output. A closed pipe ends the output without an error.
pub(super) fn stdout(render: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut out = BufWriter::with_capacity(1 << 16, io::stdout().lock());
    match render(&mut out).and_then(|()| out.flush()) {
        Err(e) if e.kind() == io::ErrorKind::BrokenPipe => {
            // Dropping the buffer would try to write again, and fail.
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

/// Device and inode of standard output; `None` if it is not a regular file.
pub(super) fn stdout_file() -> Option<(u64, u64)> {
    let stat = rustix::fs::fstat(io::stdout()).ok()?;
    FileType::from_raw_mode(stat.st_mode).is_file().then_some((stat.st_dev, stat.st_ino))
}

/// The path to which [`file()`] needs write access, with links resolved.
pub(super) enum WriteTarget {
    /// The directory of the output. The output is a regular file, or does not exist yet.
    In(PathBuf),
    /// The output itself, which exists and is not a regular file.
    Itself(PathBuf),
}

impl WriteTarget {
    pub(super) fn path(&self) -> &Path {
        match self {
            Self::In(path) | Self::Itself(path) => path,
        }
    }
}

/// The path to which [`file()`] needs write access for an output at `path`. For a regular or new
/// file, this is the directory of the file: [`file()`] creates a temporary file there, then renames
/// it to `path`.
pub(super) fn target(path: &Path) -> WriteTarget {
    let real = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    if fs::metadata(&real).is_ok_and(|there| !there.is_file()) {
        return WriteTarget::Itself(real);
    }
    WriteTarget::In(directory(&real).to_path_buf())
}

/// The parent directory of a file; `.` for a bare file name.
fn directory(path: &Path) -> &Path {
    path.parent().filter(|dir| !dir.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Lets `render` write a file. The output goes to a temporary file in the same directory. At the
/// end, the temporary file is renamed to `path`. Readers see the old or the new content, never a
/// part. Pipes and devices are written directly.
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
    // If `path` is a symbolic link, its target is replaced.
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
        // The first error is reported, and a failure to remove the temporary file is ignored.
        let _ = fs::remove_file(&beside);
    }
    written
}

/// Waits until the content is on disk (fsync). If the rename reached the disk before the content, a
/// crash of the machine would leave an empty file. A file system without fsync is not an error.
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

/// Creates a file without a name in the directory of `target` (O_TMPFILE): if a signal ends the
/// run, the kernel removes the file. `None` on failure: some file systems lack O_TMPFILE.
fn nameless(target: &Path) -> Option<File> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    // The umask of the process applies.
    rustix::fs::open(directory(target), flags, Mode::from_raw_mode(0o666)).ok().map(File::from)
}

/// Gives a file without a name the name `path` (linkat). If that fails, for example without procfs,
/// copies the content to a new file.
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

/// True if the file at `path` has several names (hard links).
pub(super) fn has_other_names(path: &Path) -> bool {
    fs::metadata(path).is_ok_and(|there| there.nlink() > 1)
}

/// Lets `render` write a file that must not exist yet.
pub(super) fn new_file(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = BufWriter::new(File::create_new(path)?);
    render(&mut out)?;
    out.flush()
}

/// Lets `render` write a program that must not exist yet. All users may run it, as far as the umask
/// allows.
pub(super) fn new_program(
    path: &Path,
    render: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let mut out = File::options().write(true).create_new(true).mode(0o777).open(path)?;
    render(&mut out)
}

/// Lets all users who may read a program also run it.
pub(super) fn make_executable(path: &Path) -> io::Result<()> {
    let mut permissions = fs::metadata(path)?.permissions();
    let mode = permissions.mode();
    permissions.set_mode(mode | (mode & 0o444) >> 2);
    fs::set_permissions(path, permissions)
}

/// Removes a file.
pub(super) fn remove(path: &Path) -> io::Result<()> {
    fs::remove_file(path)
}

/// Creates a directory, which must not exist yet.
pub(super) fn new_directory(path: &Path) -> io::Result<()> {
    fs::create_dir(path)
}

/// Creates a directory and its parents.
pub(super) fn directories(path: &Path) -> io::Result<()> {
    fs::create_dir_all(path)
}
