//! Reads files that options name. The kind of each file is checked before the file is opened,
//! because a FIFO or device would block the run. Each read has a bound, because some files never
//! end. Stdin is read only for the name `-`, by options that accept this name. Only the function
//! `pipe` reads pipes.

use crate::tree::walk::describe;
use crate::tree::{DiskTree, EntryType, Opened, Special, Tree};
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the whole file at `path`. Fails if it is larger than `most` bytes, or not a regular file.
/// The error is the reason, without the path.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let handle = match DiskTree::new().open(path) {
        Ok(Opened::File(handle)) => handle,
        Ok(Opened::Directory) => return Err("is a directory".to_owned()),
        Ok(Opened::Special(special)) => return Err(irregular(special)),
        Err(errno) => return Err(describe(errno)),
    };
    let too_large = || format!("larger than {} MiB", most >> 20);
    let len = handle.stat().len;
    if len > most {
        return Err(too_large());
    }
    // Files of procfs report size zero although they have content. Up to 1 MiB of this content is
    // read.
    let room = usize::try_from(len.max(1 << 20)).map_err(|_| too_large())?;
    let bytes = handle.read_new(room, 0).map_err(|error| plain(&error))?;
    if len == 0 && bytes.len() == room {
        return Err("has size zero and more than 1 MiB of content".to_owned());
    }
    Ok(bytes)
}

/// Reads the first `most` bytes of the file at `path`; `None` for a directory. The error is the
/// reason, without the path.
pub(super) fn read_head(path: &Path, most: usize) -> Result<Option<Vec<u8>>, String> {
    match DiskTree::new().open(path) {
        Ok(Opened::File(handle)) => handle.read_new(most, 0).map(Some).map_err(|e| plain(&e)),
        Ok(Opened::Directory) => Ok(None),
        Ok(Opened::Special(special)) => Err(irregular(special)),
        Err(errno) => Err(describe(errno)),
    }
}

/// Reads the file at `path` up to the first `key`, without the key. `None` if the file has no
/// `key`, does not end with `end`, or cannot be opened as a regular file.
pub(super) fn read_before(path: &Path, key: &[u8], end: &[u8]) -> Result<Option<Vec<u8>>, String> {
    /// Number of bytes that are read at a time.
    const SHARE: usize = 8 << 20;
    let Ok(Opened::File(handle)) = DiskTree::new().open(path) else { return Ok(None) };
    let len = handle.stat().len;
    let Some(last) = len.checked_sub(end.len() as u64) else { return Ok(None) };
    if handle.read_new(end.len(), last).map_err(|error| plain(&error))? != end {
        return Ok(None);
    }
    let mut bytes = Vec::new();
    while (bytes.len() as u64) < len {
        // The key may span two reads.
        let from = bytes.len().saturating_sub(key.len());
        let share = handle.read_new(SHARE, bytes.len() as u64).map_err(|error| plain(&error))?;
        if share.is_empty() {
            break;
        }
        bytes.extend_from_slice(&share);
        if let Some(at) = memchr::memmem::find(&bytes[from..], key) {
            bytes.truncate(from + at);
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

/// Reads the pipe at `path` to its end. For `<(command)`, a shell passes the path of a pipe. A pipe
/// can be read only once. Fails if the pipe has more than `most` bytes. `None` for any other file.
/// The error is the reason, without the path.
pub(super) fn pipe(path: &Path, most: u64) -> Option<Result<Vec<u8>, String>> {
    let Ok(Opened::Special(Special::Fifo)) = DiskTree::new().open(path) else { return None };
    Some(read_pipe(path, most))
}

fn read_pipe(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let pipe = DiskTree::new().open_pipe(path).map_err(describe)?;
    to_end(pipe, most)
}

/// Fails if the file at `path` in `tree` cannot be opened, or is neither a regular file nor a
/// directory. A directory that cannot be listed is not an error. `typed` is the path as typed.
pub(super) fn refuse_unreadable(tree: &dyn Tree, path: &Path, typed: &str) -> anyhow::Result<()> {
    let why = match tree.open(path) {
        Ok(Opened::File(_) | Opened::Directory) => return Ok(()),
        Ok(Opened::Special(special)) => irregular(special),
        Err(_) if tree.kind(path) == Ok(EntryType::Directory) => return Ok(()),
        Err(errno) => describe(errno),
    };
    Err(refused_with(typed, &why, "name a directory, a file or a JSON report"))
}

/// Reads stdin to its end. Fails if there are more than `most` bytes.
pub(super) fn stdin(most: u64) -> Result<Vec<u8>, String> {
    to_end(io::stdin().lock(), most)
}

/// Reads a stream to its end. Fails if it has more than `most` bytes.
fn to_end(stream: impl io::Read, most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    stream.take(most + 1).read_to_end(&mut bytes).map_err(|error| plain(&error))?;
    if bytes.len() as u64 > most {
        return Err(format!("larger than {} MiB", most >> 20));
    }
    Ok(bytes)
}

/// The error for a file that cannot be read. `typed` is the option and the file. For a pipe or
/// device, the error has a next step.
pub(super) fn refused(typed: &str, why: &str) -> anyhow::Error {
    let help = "write the content of the pipe to a file, and name that file";
    refused_with(typed, why, help)
}

/// Like [`refused`], with `help` as the next step for a pipe or device.
pub(super) fn refused_with(typed: &str, why: &str, help: &str) -> anyhow::Error {
    let help = if why.ends_with(IRREGULAR) { format!("\nhelp: {help}") } else { String::new() };
    anyhow::anyhow!("{typed}: {why}{help}")
}

/// The last words of the reason why a pipe or device cannot be read.
const IRREGULAR: &str = "not a regular file";

fn irregular(special: Special) -> String {
    format!("is {}, {IRREGULAR}", special.describe())
}

fn plain(error: &io::Error) -> String {
    rustix::io::Errno::from_io_error(error).map_or_else(|| error.to_string(), describe)
}
