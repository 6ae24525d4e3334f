//! Members of archives, read on demand, and which files of thin archives may be opened for them.
//! `collect` is the caller.

use super::{Content, Corpus, FileFacts, Need, SymbolNames};
use crate::format::archive::{self, External, Members, Options, Scratch, Spare};
use crate::format::{Defect, Table};
use crate::id::FileId;
use crate::tree::{Opened, Tree};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Archives that are read at a time: the names of more would only fill memory before they become
/// names of the run.
const WAVE: usize = 32;

thread_local! {
    /// Memory that a worker uses again from archive to archive.
    static SCRATCH: RefCell<Scratch> = RefCell::default();
}

/// Where members are read from, and what of them.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub(super) tree: &'a dyn Tree,
    /// Directories below which files of thin archives are opened.
    pub(super) allowed: &'a [PathBuf],
    pub(super) index: bool,
}

/// Answers all needs for members. While one wave of archives is read, the names of the one before
/// become names of the run; in the order of the needs, so that the same names get the same ids.
pub(super) fn answer(source: Source<'_>, corpus: &mut Corpus, needs: &[Need]) {
    let wanted = needs.iter().filter_map(|need| match need {
        Need::Members(file) if !corpus.members.contains_key(file) => Some(*file),
        _ => None,
    });
    let wanted: Vec<FileId> = wanted.collect();
    if wanted.is_empty() {
        return;
    }
    let mut names = std::mem::take(&mut corpus.symbol_names);
    let known = Arc::make_mut(&mut names);
    let pool = Pool::default();
    let mut done: Vec<Option<Members>> = Vec::new();
    let mut waiting: Vec<Option<Members>> = Vec::new();
    for wave in wanted.chunks(WAVE) {
        let files = &corpus.files;
        let one = |file: &FileId| read(source, &pool, &files[*file]);
        let next = || wave.par_iter().with_max_len(1).map(one).collect();
        let ((), next) = rayon::join(|| adopt(known, &pool, &mut waiting), next);
        done.append(&mut waiting);
        waiting = next;
    }
    adopt(known, &pool, &mut waiting);
    done.append(&mut waiting);
    corpus.symbol_names = names;
    for (file, members) in wanted.into_iter().zip(done) {
        if members.is_none() {
            let what = "changed while it was audited";
            corpus.files[file].defects.push(Defect::new(Table::File, 0, what));
        }
        corpus.members.insert(file, Arc::new(members.unwrap_or_default()));
    }
}

/// Memory between archives: names that became names of the run leave room for others.
type Pool = Mutex<Vec<Spare>>;

fn adopt(names: &mut SymbolNames, pool: &Pool, waiting: &mut [Option<Members>]) {
    for members in waiting.iter_mut().flatten() {
        let spare = names.adopt(members);
        pool.lock().unwrap_or_else(PoisonError::into_inner).push(spare);
    }
}

/// Reads the members of `facts`; nothing if it cannot be read again or is neither an archive nor a
/// relocatable object.
fn read(source: Source<'_>, pool: &Pool, facts: &FileFacts) -> Option<Members> {
    let Source { tree, allowed, index } = source;
    let handle = match tree.open(&facts.path) {
        Ok(Opened::File(handle)) if handle.stat() == facts.stat => handle,
        _ => return None,
    };
    let open = |name: &[u8]| external(tree, allowed, &facts.path, name);
    // Only what was given to audit is judged by its index.
    let options = Options { index: index && facts.audited, open: &open };
    SCRATCH.with_borrow_mut(|scratch| {
        let spare = pool.lock().unwrap_or_else(PoisonError::into_inner).pop();
        scratch.spare = spare.unwrap_or_default();
        match &facts.content {
            Content::Archive(_) => archive::members(&handle, &options, scratch).ok(),
            Content::Elf(_) => archive::object(&handle, &options, scratch).ok(),
            Content::Other(_) => None,
        }
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
