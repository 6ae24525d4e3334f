//! Reads the configuration files of a loader, ld.so.cache and ld.so.preload, and records their
//! defects. A file that cannot be used is ignored, because the loader ignores it too. `read` calls
//! this module, and `mapping` calls it for Guix's loader, which reads a cache in the package of the
//! program.

use crate::facts::{FactStore, Need};
use crate::resolve::cache::Cache;
use crate::tree::Errno;

/// A defect in a configuration file of a loader. The loader may still use the rest of the file.
#[derive(Clone, Debug)]
pub struct ConfigDefect {
    /// The path of the file.
    pub path: Vec<u8>,
    /// The defect, as the end of a sentence.
    pub what: String,
    /// True if the content is damaged, false if the file could not be read.
    pub is_damage: bool,
}

/// The content of the file at `path`; `None` if the file is absent or cannot be read. Only an
/// unreadable file is a defect.
pub(super) fn bytes<'s>(
    store: &'s dyn FactStore,
    path: &[u8],
    faults: &mut Vec<ConfigDefect>,
) -> Result<Option<&'s [u8]>, Need> {
    let what = match store.bytes(path)? {
        Ok(bytes) => return Ok(Some(bytes)),
        Err(Errno::NOENT | Errno::NOTDIR) => return Ok(None),
        Err(Errno::XDEV) => "is a link to a file that is not there".to_owned(),
        Err(Errno::ISDIR) => "is a directory".to_owned(),
        Err(Errno::NXIO) => "is a FIFO, socket or device".to_owned(),
        Err(Errno::FBIG) => "is larger than 64 MiB".to_owned(),
        Err(errno) => crate::tree::walk::describe(errno),
    };
    faults.push(ConfigDefect { path: path.to_vec(), what, is_damage: false });
    Ok(None)
}

/// The cache at `path`; `None` if the file is absent, if it cannot be read, or if the loader would
/// ignore it.
pub(in crate::resolve) fn cache(
    store: &dyn FactStore,
    path: &[u8],
    big: bool,
    faults: &mut Vec<ConfigDefect>,
) -> Result<Option<Cache>, Need> {
    let Some(bytes) = bytes(store, path, faults)? else { return Ok(None) };
    let cache = Cache::parse(bytes.into(), big);
    let defect = match &cache {
        Some(cache) => cache.defect(),
        None => Some((0, "is not the header of a cache that the loader takes")),
    };
    if let Some((offset, what)) = defect {
        let what = format!("ld.so.cache at {offset:#x} {what}");
        faults.push(ConfigDefect { path: path.to_vec(), what, is_damage: true });
    }
    Ok(cache)
}
