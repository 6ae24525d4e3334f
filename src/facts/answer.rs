//! Answers one need: probes paths or a search directory, or reads a file. The need may be for a
//! configuration file, the strings of a loader binary, or the tables or relocations of an object.
//! This code runs on any thread and does not modify the corpus. `collect` adds the answers to the
//! corpus.

use super::read::{Read, read};
use super::{Content, Corpus, FileFacts, NOT_AGAIN, Need, PathState, ProbeBatch};
use crate::format::Reading;
use crate::format::archive::{self, DefiningMember, RequestedNames};
use crate::format::cross_check::{SecondReading, compare_archive, compare_elf};
use crate::format::elf::{self, LoaderReaction, Target};
use crate::format::gpu::{self, Depth, DeviceCode};
use crate::format::{Defect, Table};
use crate::id::FileId;
use crate::tree::{DirEntryKind, EntryType, Errno, Handle, Opened, Stat, Tree, is_answer};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum size, in bytes, of a loader's configuration file that is read. The ld.so.cache of a
/// very large system has a few hundred kilobytes.
const MOST_BYTES: u64 = 64 << 20;
/// Longest path that one system call accepts, with its NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// The answer to one need, computed by a worker.
pub(super) enum FactAnswer {
    Places(ProbedPaths),
    Directory(Vec<u8>, Directory),
    Bytes(Vec<u8>, Result<Box<[u8]>, Errno>),
    /// `None` if the file could not be read again.
    Interpreter(FileId, Option<elf::interpreter::Interpreter>),
    /// `None` if the file could not be read again.
    Tables(FileId, Option<(Stat, Box<Read>)>),
    Relocations(FileId, elf::relocs::Relocations),
    /// The module `members` has already answered the need.
    Members,
}

/// The kind of entry at the path of a search directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Directory {
    /// A directory.
    Here,
    /// The path leads to a different directory in each process.
    OfProcess,
    /// Another kind of entry, no entry, or no permission to search a directory above the path.
    Absent,
    /// The system call failed, for example with EIO; a loader would skip the directory.
    Unknown(Errno),
}

/// Probed paths, with the entries at these paths.
pub(super) struct ProbedPaths {
    pub(super) paths: Vec<Vec<u8>>,
    pub(super) batch: Option<ProbeBatch>,
    /// The entries at the probed paths: fewer than `paths` if the search ended early.
    pub(super) found: Vec<ProbedEntry>,
}

/// The entry at one path.
pub(super) enum ProbedEntry {
    PathState(PathState),
    File(Stat, Box<Read>),
}

pub(super) fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Probes paths up to the first at which a loader for `target` would stop.
fn first(
    tree: &dyn Tree,
    reading: Reading,
    corpus: &Corpus,
    paths: &[Vec<u8>],
    target: Option<Target>,
) -> Vec<ProbedEntry> {
    let mut out = Vec::new();
    for path in paths {
        // The directories of a glibc search list were probed before. The directory of a single
        // path, or of a path that musl opens, was not.
        let is_alone = paths.len() == 1 || target.is_none();
        let found = look(tree, reading, corpus, (path, is_alone));
        let passed = match &found {
            ProbedEntry::PathState(PathState::Failed(_) | PathState::OfProcess) => true,
            ProbedEntry::PathState(PathState::File(file)) => {
                passed(&corpus.files[*file].content, target)
            }
            ProbedEntry::File(_, read) => passed(&read.content, target),
            ProbedEntry::PathState(PathState::Directory | PathState::Special(_)) => false,
        };
        out.push(found);
        if !passed {
            break;
        }
    }
    out
}

/// Probes one path. A file that was read under another name is not opened again.
fn look(
    tree: &dyn Tree,
    reading: Reading,
    corpus: &Corpus,
    (text, is_alone): (&[u8], bool),
) -> ProbedEntry {
    if let Some(place) = corpus.place(text) {
        return ProbedEntry::PathState(place);
    }
    // The loader opens a path with one system call, which rejects longer paths.
    if text.len() >= PATH_MAX {
        return ProbedEntry::PathState(PathState::Failed(Errno::NAMETOOLONG));
    }
    let dir = text.iter().rposition(|b| *b == b'/').map_or(&b""[..], |at| &text[..=at]);
    let in_process = !corpus.of_process.is_empty() && corpus.of_process.contains(dir);
    let path = as_path(text);
    // The directories of a search list were tested before. In such directories, only links, and
    // paths below /proc and /dev, can still lead to a different file in each process.
    let is_asked = is_alone
        || [&b"/proc/"[..], b"/dev/"].iter().any(|top| text.starts_with(top))
        || tree.node(&path) == Ok(DirEntryKind::Link);
    if in_process || is_asked && tree.is_of_process(&path) {
        return ProbedEntry::PathState(PathState::OfProcess);
    }
    if let Ok((EntryType::File, stat)) = tree.look(&path)
        && let Some(file) = corpus.by_inode.get(&(stat.dev, stat.ino))
    {
        return ProbedEntry::PathState(PathState::File(*file));
    }
    match tree.open(&path) {
        Ok(Opened::File(handle)) => {
            let stat = handle.stat();
            match corpus.by_inode.get(&(stat.dev, stat.ino)) {
                Some(file) => ProbedEntry::PathState(PathState::File(*file)),
                None => ProbedEntry::File(stat, Box::new(read(&handle, reading))),
            }
        }
        Ok(Opened::Directory) => ProbedEntry::PathState(PathState::Directory),
        Ok(Opened::Special(special)) => ProbedEntry::PathState(PathState::Special(special)),
        Err(errno) => ProbedEntry::PathState(PathState::Failed(errno)),
    }
}

/// True for a file of another class or machine, which a search skips.
fn passed(content: &Content, target: Option<Target>) -> bool {
    target.is_some_and(|target| {
        matches!(
            content.reaction(target),
            LoaderReaction::WrongClass | LoaderReaction::WrongMachine
        )
    })
}

/// Answers a need, except needs for members, which [`super::members`] answers.
pub(super) fn answer(tree: &dyn Tree, reading: Reading, corpus: &Corpus, need: Need) -> FactAnswer {
    match need {
        Need::First { paths, target, batch } => {
            let found = first(tree, reading, corpus, &paths, target);
            FactAnswer::Places(ProbedPaths { paths, batch, found })
        }
        Need::Directory(path) => {
            let found = directory(tree, &path);
            FactAnswer::Directory(path, found)
        }
        Need::Bytes(path) => {
            let bytes = read_bytes(tree, &as_path(&path));
            FactAnswer::Bytes(path, bytes)
        }
        Need::Interpreter(file) => {
            let handle = open(tree, &corpus.files[file]);
            let found = handle.and_then(|handle| elf::interpreter::read(&handle).ok());
            FactAnswer::Interpreter(file, found)
        }
        Need::Tables(file) => {
            // This content replaces the content of the first reading, so it must have all facts
            // of that content.
            let reading = Reading { tables: true, lean: false, relocations: false, ..reading };
            let again = |handle: Handle| (handle.stat(), Box::new(read(&handle, reading)));
            FactAnswer::Tables(file, open(tree, &corpus.files[file]).map(again))
        }
        Need::Relocations(file) => {
            FactAnswer::Relocations(file, read_relocations(tree, &corpus.files[file]))
        }
        Need::Members(_) => FactAnswer::Members,
    }
}

/// Probes a search directory, whose path ends with a slash.
fn directory(tree: &dyn Tree, path: &[u8]) -> Directory {
    if path.len() >= PATH_MAX {
        return Directory::Absent;
    }
    let path = as_path(path);
    match tree.kind(&path) {
        _ if tree.is_of_process(&path) => Directory::OfProcess,
        Ok(EntryType::Directory) => Directory::Here,
        Ok(_) => Directory::Absent,
        Err(errno) if is_answer(errno) || errno == Errno::ACCESS => Directory::Absent,
        Err(errno) => Directory::Unknown(errno),
    }
}

/// Opens a file that was read before. `None` if its path can no longer be opened as a regular file.
fn open(tree: &dyn Tree, facts: &FileFacts) -> Option<Handle> {
    match tree.open(&facts.path) {
        Ok(Opened::File(handle)) => Some(handle),
        Ok(Opened::Directory | Opened::Special(_)) | Err(_) => None,
    }
}

fn read_bytes(tree: &dyn Tree, path: &Path) -> Result<Box<[u8]>, Errno> {
    let opened = tree.open(path).map_err(|errno| match errno {
        // The link exists, but its target does not. In a sysroot, the link may lead outside.
        Errno::NOENT if tree.is_link(path) => Errno::XDEV,
        errno => errno,
    });
    match opened? {
        Opened::File(handle) => {
            let len = handle.stat().len;
            if len > MOST_BYTES {
                return Err(Errno::FBIG);
            }
            crate::format::read_range(&handle, 0, len).map(Into::into).map_err(|_| Errno::IO)
        }
        Opened::Directory => Err(Errno::ISDIR),
        Opened::Special(_) => Err(Errno::NXIO),
    }
}

pub(super) fn read_definitions(
    tree: &dyn Tree,
    facts: &FileFacts,
    names: &RequestedNames,
) -> (Vec<DefiningMember>, Vec<Defect>) {
    let mut defects = Vec::new();
    let handle = open(tree, facts);
    let found = handle.and_then(|handle| archive::definitions(&handle, names, &mut defects).ok());
    if found.is_none() {
        defects.push(Defect::new(Table::File, 0, "could not be read again"));
    }
    (found.unwrap_or_default(), defects)
}

/// The cross-check of a file by a second reader; `None` if the file is neither an archive nor a
/// dynamic ELF object.
pub(super) fn second(tree: &dyn Tree, facts: &FileFacts) -> Option<SecondReading> {
    let object = match &facts.content {
        Content::Elf(object) if object.is_dynamic() => Some(object),
        Content::Archive(_) => None,
        Content::Elf(_) | Content::Other(_) => return None,
    };
    if facts.all_defects().next().is_some() {
        return Some(SecondReading::GaveUp("known to be damaged"));
    }
    let Some(handle) = open(tree, facts).filter(|handle| handle.stat() == facts.stat) else {
        return Some(SecondReading::GaveUp("could not be read again"));
    };
    Some(match object {
        Some(object) => compare_elf(&handle, object),
        None => compare_archive(&handle),
    })
}

fn read_relocations(tree: &dyn Tree, facts: &FileFacts) -> elf::relocs::Relocations {
    let failed = |what| elf::relocs::Relocations {
        list: Vec::new(),
        defects: vec![Defect::new(Table::Relocations, 0, what)],
    };
    let Some(object) = facts.object() else { return elf::relocs::Relocations::default() };
    match open(tree, facts).filter(|handle| handle.stat() == facts.stat) {
        Some(handle) => {
            elf::relocs::read(&handle, object).unwrap_or_else(|_| failed("could not be read"))
        }
        None => failed(NOT_AGAIN),
    }
}

/// Reads the device code of a file. The error is the reason in words, as the end of a sentence.
pub(super) fn read_device_code(
    tree: &dyn Tree,
    facts: &FileFacts,
    depth: Depth,
) -> Result<DeviceCode, String> {
    let Some(handle) = open(tree, facts).filter(|handle| handle.stat() == facts.stat) else {
        return Err("could not be read again".to_owned());
    };
    let is_archive = matches!(facts.content, Content::Archive(_));
    let read =
        || if is_archive { gpu::read_archive(&handle, depth) } else { gpu::read(&handle, depth) };
    // Readers do not panic, and a test fails if one does. `catch_unwind` is a second safeguard.
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(read)) {
        Ok(Ok(_)) if handle.changed() => Err("changed while it was read".to_owned()),
        Ok(Ok(code)) => Ok(code),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err("made the reader panic: a fault of linkaudit".to_owned()),
    }
}
