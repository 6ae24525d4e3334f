//! `--host FILE[=GLOB]`: a program, and the plugins that it loads. A file that cannot load plugins
//! is an error. `cli::plan` calls this module.

use super::place::AuditedSystem;
use crate::facts;
use crate::format::Reading;
use crate::format::elf::{Object, Role};
use crate::plan::HostFile;
use crate::policy::Pattern;
use crate::text::show_path;
use crate::tree::{EntryType, Opened, Tree, walk};
use anyhow::{Result, anyhow, bail};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// The host programs of all `--host` options, in the order typed. Fails for the first error.
pub(super) fn read(
    typed: &[OsString],
    place: &AuditedSystem<'_>,
    tree: &dyn Tree,
) -> Result<Vec<HostFile>> {
    typed.iter().map(|typed| host(typed, place, tree)).collect()
}

fn host(typed: &OsStr, place: &AuditedSystem<'_>, tree: &dyn Tree) -> Result<HostFile> {
    let bytes = typed.as_bytes();
    let named = |end: usize| place.named(Path::new(OsStr::from_bytes(&bytes[..end])));
    // The name of a file may contain `=`.
    let equals: Vec<usize> = (0..bytes.len()).filter(|at| bytes[*at] == b'=').collect();
    let is_there = |end: &usize| named(*end).is_ok_and(|path| tree.kind(&path).is_ok());
    let whole = is_there(&bytes.len());
    let first = equals.iter().copied().find(is_there).or(equals.first().copied());
    let (path, glob) = match first.filter(|_| !whole) {
        Some(at) => (named(at)?, Some(&bytes[at + 1..])),
        None => (named(bytes.len())?, None),
    };
    let plugins = match glob.map(std::str::from_utf8) {
        None => None,
        Some(Ok("")) => bail!("--host {}: the GLOB is empty", show_path(Path::new(typed))),
        Some(Ok(text)) => {
            let mistake = |error| anyhow!("--host {}: {error}", show_path(Path::new(typed)));
            Some(Pattern::path(text).map_err(mistake)?)
        }
        Some(Err(_)) => bail!("--host {}: the GLOB is not UTF-8", show_path(Path::new(typed))),
    };
    if let Some(fault) = fault(&path, tree) {
        bail!("--host {}: {fault}", show_path(&path));
    }
    Ok(HostFile { path, plugins })
}

/// The reason why the file at `path` cannot load plugins; `None` if it can.
fn fault(path: &Path, tree: &dyn Tree) -> Option<String> {
    match tree.kind(path) {
        Err(errno) => return Some(walk::describe(errno)),
        Ok(EntryType::Directory) => return Some("a directory, not a program".to_owned()),
        Ok(_) => {}
    }
    let handle = match tree.open(path) {
        Ok(Opened::File(handle)) => handle,
        Ok(_) => return Some("not a regular file".to_owned()),
        Err(errno) => return Some(walk::describe(errno)),
    };
    let read = facts::read::read(&handle, Reading::default());
    let what = match read.object().map(|object: &Object| object.role) {
        // A library is accepted too. It stands for the programs that first load the library and
        // later the plugins.
        Some(Role::Program | Role::Shared) => return None,
        Some(Role::Static) => "a static program: it cannot load plugins",
        Some(_) => "not a dynamically linked program",
        None => "not an ELF file\nhelp: name the program itself, not a script that starts it",
    };
    Some(what.to_owned())
}
