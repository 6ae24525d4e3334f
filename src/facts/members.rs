//! Members of archives, read on demand, and which files of thin archives may be opened for them.
//! `answer` is the caller.

use super::{Content, FileFacts};
use crate::format::archive::{self, External, Members, Options, Scratch};
use crate::tree::{Opened, Tree};
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

thread_local! {
    /// Memory that a worker uses again from archive to archive.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Reads the members of `facts`; nothing if it cannot be read again or is neither an archive nor a
/// relocatable object.
pub(super) fn read(tree: &dyn Tree, allowed: &[PathBuf], facts: &FileFacts) -> Option<Members> {
    let handle = match tree.open(&facts.path) {
        Ok(Opened::File(handle)) if handle.stat() == facts.stat => handle,
        _ => return None,
    };
    let open = |name: &[u8]| external(tree, allowed, &facts.path, name);
    // Only what was given to audit is judged by its index.
    let options = Options { index: facts.audited, open: &open };
    SCRATCH.with_borrow_mut(|scratch| match &facts.content {
        Content::Archive(_) => archive::members(&handle, &options, scratch).ok(),
        Content::Elf(_) => archive::object(&handle, &options, scratch).ok(),
        Content::Other(_) => None,
    })
}

/// Opens the file of a member of the thin archive at `archive`, whose path is relative to the
/// archive's directory (`bfd/archive.c`, `_bfd_append_relative_path`).
fn external(tree: &dyn Tree, allowed: &[PathBuf], archive: &Path, name: &[u8]) -> External {
    let dir = archive.parent().unwrap_or(Path::new("/"));
    let path = dir.join(OsStr::from_bytes(name));
    let Ok(real) = tree.real_path(&path) else { return External::Missing };
    if !allowed.iter().any(|dir| real.starts_with(dir)) {
        return External::Outside;
    }
    match tree.open(&real) {
        Ok(Opened::File(handle)) => External::File(handle),
        Ok(Opened::Directory | Opened::Special(_)) | Err(_) => External::Missing,
    }
}
