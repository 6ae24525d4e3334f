//! Files that options name and that are read whole: looked at before they are opened, and read up to a
//! bound. A FIFO or device would block the run or never end. Stdin is read only as `-`, where
//! an option accepts it.

use crate::text::show_path;
use crate::tree::walk::describe;
use crate::tree::{DiskTree, Opened, Tree as _};
use std::io::{self, Read as _};
use std::path::Path;

/// Reads the file at `path`, which may hold `most` bytes. The error is the end of a sentence.
pub(super) fn read(path: &Path, most: u64) -> Result<Vec<u8>, String> {
    let handle = match DiskTree::new().open(path) {
        Ok(Opened::File(handle)) => handle,
        Ok(Opened::Directory) => return Err("it is a directory".to_owned()),
        Ok(Opened::Special(special)) => {
            return Err(format!("it is {}, and a file is needed", special.describe()));
        }
        Err(errno) => return Err(describe(errno)),
    };
    let too_large = || format!("it is larger than {} MiB", most >> 20);
    let len = handle.stat().len;
    if len > most {
        return Err(too_large());
    }
    // A file that states no size, as those of procfs do, may hold something.
    let room = usize::try_from(len.max(1 << 20)).map_err(|_| too_large())?;
    handle.read_new(room, 0).map_err(|error| plain(&error))
}

/// Reads stdin to its end, up to `most` bytes.
pub(super) fn stdin(most: u64) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let read = io::stdin().lock().take(most + 1).read_to_end(&mut bytes);
    read.map_err(|error| plain(&error))?;
    if bytes.len() as u64 > most {
        return Err(format!("it is larger than {} MiB", most >> 20));
    }
    Ok(bytes)
}

/// A sentence about a file that cannot be read.
pub(super) fn refused(path: &Path, why: &str) -> anyhow::Error {
    anyhow::anyhow!("{} cannot be read: {why}", show_path(path))
}

fn plain(error: &io::Error) -> String {
    rustix::io::Errno::from_io_error(error).map_or_else(|| error.to_string(), describe)
}
