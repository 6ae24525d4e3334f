//! Finds the databases of MIOpen and rocFFT, and reads the headers of the SQLite files among them.
//! This module lists the directories beside the libraries, and the default directories in the
//! audited prefixes.

use crate::facts::{Corpus, FileFacts};
use crate::format::elf::Object;
use crate::format::gpu::database as header;
use crate::gpu::databases::{Database, DatabaseName, of_miopen, of_rocfft};
use crate::order::keep_least;
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::tree::walk::{UnreadablePath, describe};
use crate::tree::{DirEntryKind, EntryType, Opened, Tree};
use crate::wants::Wants;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of databases of a run. ROCm 6 has about 100.
const MOST: usize = 10_000;
/// The directory of MIOpen's databases in a prefix (`MIOPEN_SYSTEM_DB_PATH`).
const MIOPEN: &str = "share/miopen/db";
/// Directories of libraries in a prefix of ROCm.
const LIBRARIES: [&str; 2] = ["lib", "lib64"];
/// Directories of rocFFT's kernel cache, relative to the directory of the library.
const ROCFFT: [&str; 2] = ["", "rocfft"];

/// The library that owns the databases of a directory.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Owner {
    MIOpen,
    RocFft,
}

/// Finds and reads the databases. Empty if the plan does not request device code. Databases that
/// cannot be read are added to `problems`.
pub(super) fn find(
    plan: &Plan,
    tree: &dyn Tree,
    corpus: &Corpus,
    prefixes: &Prefixes,
    problems: &mut Vec<UnreadablePath>,
) -> Vec<Database> {
    let mut out = Vec::new();
    if plan.gpu.is_none() && !plan.rule_wants.holds(Wants::DEVICE_CODE) {
        return out;
    }
    for ((_, owner), dir) in directories(tree, corpus, prefixes) {
        let meaning: fn(&[u8]) -> Option<DatabaseName> = match owner {
            Owner::MIOpen => of_miopen,
            Owner::RocFft => of_rocfft,
        };
        let mut names: BTreeSet<OsString> = BTreeSet::new();
        let listed = tree.list(&dir, &mut |name, node| {
            let is_file = !matches!(node, DirEntryKind::Kind(EntryType::Directory));
            // rocFFT's databases may be in the directory of all libraries, so other files are
            // skipped.
            if is_file && meaning(name.as_bytes()).is_some() {
                keep_least(&mut names, name.to_owned(), MOST);
            }
        });
        if listed.is_err() {
            // The walk reports directories that it cannot list.
            continue;
        }
        for file in names.iter().take(MOST.saturating_sub(out.len())) {
            let Some(name) = meaning(file.as_bytes()) else { continue };
            let path = dir.join(file);
            match read(tree, &path, name) {
                Ok(database) => out.extend(database),
                Err(reason) => problems.push(UnreadablePath { path, reason }),
            }
        }
    }
    out
}

/// The existing directories that may hold databases, by real path and owning library.
fn directories(
    tree: &dyn Tree,
    corpus: &Corpus,
    prefixes: &Prefixes,
) -> BTreeMap<(PathBuf, Owner), PathBuf> {
    let mut found: Vec<(PathBuf, Owner)> = Vec::new();
    for facts in corpus.files.iter().filter(|facts| facts.audited) {
        let Some(dir) = facts.path.parent() else { continue };
        if has_soname(facts, b"librocfft.so") {
            found.extend(ROCFFT.map(|below| (dir.join(below), Owner::RocFft)));
        }
        if has_soname(facts, b"libMIOpen.so") {
            // Debian's libraries lie one directory deeper.
            let above = dir.ancestors().skip(1).take(2);
            found.extend(above.map(|dir| (dir.join(MIOPEN), Owner::MIOpen)));
        }
    }
    for prefix in prefixes.dirs() {
        found.push((prefix.join(MIOPEN), Owner::MIOpen));
        if prefix.ends_with("miopen/db") {
            found.push((prefix.clone(), Owner::MIOpen));
        }
        let dirs = LIBRARIES.iter().flat_map(|dir| ROCFFT.map(|below| (dir, below)));
        found.extend(dirs.map(|(dir, below)| (prefix.join(dir).join(below), Owner::RocFft)));
    }
    let mut out = BTreeMap::new();
    for (dir, owner) in found {
        if let Ok(real) = tree.real_path(&dir) {
            out.entry((real, owner)).or_insert(dir);
        }
    }
    out
}

fn has_soname(facts: &FileFacts, start: &[u8]) -> bool {
    facts.object().and_then(Object::soname).is_some_and(|soname| soname.starts_with(start))
}

/// Reads the header of one database, unless the database is a text file. `None` if `path` leads
/// to something other than a regular file. The error is the reason that the report shows.
fn read(tree: &dyn Tree, path: &Path, name: DatabaseName) -> Result<Option<Database>, String> {
    let Opened::File(handle) = tree.open(path).map_err(describe)? else { return Ok(None) };
    let is_text = path.extension() == Some(OsStr::new("txt"));
    let header = if is_text {
        None
    } else {
        Some(header::read(&handle).map_err(|error| error.to_string())?)
    };
    let (path, size) = (path.to_path_buf(), handle.stat().len);
    Ok(Some(Database { path, name, size, header }))
}
