//! One need answered: what lies at a path, whether a directory exists, what a loader binary says of
//! itself, the tables or relocations of a file. It runs on any thread and changes nothing; `collect`
//! puts the answers into the corpus.

use super::read::{Read, read};
use super::{Content, Corpus, FileFacts, Need, Place, Portion};
use crate::format::Reading;
use crate::format::archive::{self, Definition, Names};
use crate::format::elf::{self, Target, Verdict};
use crate::format::second::{Second, compare_archive, compare_elf};
use crate::format::{Defect, Table};
use crate::id::FileId;
use crate::tree::{Errno, Handle, Kind, Node, Opened, Stat, Tree};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Configuration files of a loader larger than this are not read (ld.so.cache of a very
/// large system has a few hundred kilobytes).
const MOST_BYTES: u64 = 64 << 20;
/// Longest path that one system call takes, with its NUL (`linux/limits.h`).
const PATH_MAX: usize = 4096;

/// One need with its answer, made on a worker.
pub(super) enum Answer {
    Places(Places),
    Directory(Vec<u8>, Directory),
    Bytes(Vec<u8>, Result<Box<[u8]>, Errno>),
    /// Nothing if the file could not be read again.
    Interpreter(FileId, Option<elf::interpreter::Interpreter>),
    /// Nothing if the file could not be read again.
    Tables(FileId, Option<(Stat, Box<Read>)>),
    Relocations(FileId, elf::relocs::Relocations),
    /// `members` has answered.
    Members,
}

/// The kind of entry at the path of a search directory.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Directory {
    /// A directory.
    Here,
    /// Each process finds something else.
    OfProcess,
    /// Anything else, or nothing.
    Absent,
}

/// Paths with what lies there.
pub(super) struct Places {
    pub(super) paths: Vec<Vec<u8>>,
    pub(super) portion: Option<Portion>,
    /// Of as many paths as were looked at.
    pub(super) found: Vec<Found>,
}

/// What lies at one path.
pub(super) enum Found {
    Place(Place),
    File(Stat, Box<Read>),
}

pub(super) fn as_path(bytes: &[u8]) -> PathBuf {
    PathBuf::from(std::ffi::OsStr::from_bytes(bytes))
}

/// Looks at paths until a loader for `target` would not go on.
fn first(
    tree: &dyn Tree,
    reading: Reading,
    corpus: &Corpus,
    paths: &[Vec<u8>],
    target: Option<Target>,
) -> Vec<Found> {
    let mut out = Vec::new();
    for path in paths {
        // musl's loader looks at no directory before it opens what is below.
        let is_alone = paths.len() == 1 || target.is_none();
        let found = look(tree, reading, corpus, (path, is_alone));
        let passed = match &found {
            Found::Place(Place::Failed(_) | Place::OfProcess) => true,
            Found::Place(Place::File(file)) => passed(&corpus.files[*file].content, target),
            Found::File(_, read) => passed(&read.content, target),
            Found::Place(Place::Directory | Place::Special(_)) => false,
        };
        out.push(found);
        if !passed {
            break;
        }
    }
    out
}

/// Looks at one path. A file that is known under another name is not opened again.
fn look(
    tree: &dyn Tree,
    reading: Reading,
    corpus: &Corpus,
    (text, is_alone): (&[u8], bool),
) -> Found {
    if let Some(place) = corpus.place(text) {
        return Found::Place(place);
    }
    // The loader opens with one system call, which takes no longer paths.
    if text.len() >= PATH_MAX {
        return Found::Place(Place::Failed(Errno::NAMETOOLONG));
    }
    let dir = text.iter().rposition(|b| *b == b'/').map_or(&b""[..], |at| &text[..=at]);
    let in_process = !corpus.of_process.is_empty() && corpus.of_process.contains(dir);
    let path = as_path(text);
    // Directories of lists were looked at before; what they hold may be links.
    let is_asked = is_alone
        || [&b"/proc/"[..], b"/dev/"].iter().any(|top| text.starts_with(top))
        || tree.node(&path) == Ok(Node::Link);
    if in_process || is_asked && tree.is_of_process(&path) {
        return Found::Place(Place::OfProcess);
    }
    if let Ok((Kind::File, stat)) = tree.look(&path)
        && let Some(file) = corpus.by_inode.get(&(stat.dev, stat.ino))
    {
        return Found::Place(Place::File(*file));
    }
    match tree.open(&path) {
        Ok(Opened::File(handle)) => {
            let stat = handle.stat();
            match corpus.by_inode.get(&(stat.dev, stat.ino)) {
                Some(file) => Found::Place(Place::File(*file)),
                None => Found::File(stat, Box::new(read(&handle, reading))),
            }
        }
        Ok(Opened::Directory) => Found::Place(Place::Directory),
        Ok(Opened::Special(special)) => Found::Place(Place::Special(special)),
        Err(errno) => Found::Place(Place::Failed(errno)),
    }
}

/// True for a file of another class or machine, which a search passes over.
fn passed(content: &Content, target: Option<Target>) -> bool {
    target.is_some_and(|target| {
        matches!(content.verdict(target), Verdict::WrongClass | Verdict::WrongMachine)
    })
}

/// Answers a need; those for members are answered by [`super::members`].
pub(super) fn answer(tree: &dyn Tree, reading: Reading, corpus: &Corpus, need: Need) -> Answer {
    match need {
        Need::First { paths, target, portion } => {
            let found = first(tree, reading, corpus, &paths, target);
            Answer::Places(Places { paths, portion, found })
        }
        Need::Directory(path) => {
            let found = directory(tree, &path);
            Answer::Directory(path, found)
        }
        Need::Bytes(path) => {
            let bytes = read_bytes(tree, &as_path(&path));
            Answer::Bytes(path, bytes)
        }
        Need::Interpreter(file) => {
            let handle = open(tree, &corpus.files[file]);
            let found = handle.and_then(|handle| elf::interpreter::read(&handle).ok());
            Answer::Interpreter(file, found)
        }
        Need::Tables(file) => {
            let reading = Reading { tables: true, ..Reading::default() };
            let again = |handle: Handle| (handle.stat(), Box::new(read(&handle, reading)));
            Answer::Tables(file, open(tree, &corpus.files[file]).map(again))
        }
        Need::Relocations(file) => {
            Answer::Relocations(file, read_relocations(tree, &corpus.files[file]))
        }
        Need::Members(_) => Answer::Members,
    }
}

/// Looks at a search directory, whose path ends with a slash.
fn directory(tree: &dyn Tree, path: &[u8]) -> Directory {
    if path.len() >= PATH_MAX {
        return Directory::Absent;
    }
    let path = as_path(path);
    match tree.kind(&path) {
        _ if tree.is_of_process(&path) => Directory::OfProcess,
        Ok(Kind::Directory) => Directory::Here,
        Ok(_) | Err(_) => Directory::Absent,
    }
}

/// Opens a file that was read before.
fn open(tree: &dyn Tree, facts: &FileFacts) -> Option<Handle> {
    match tree.open(&facts.path) {
        Ok(Opened::File(handle)) => Some(handle),
        Ok(Opened::Directory | Opened::Special(_)) | Err(_) => None,
    }
}

fn read_bytes(tree: &dyn Tree, path: &Path) -> Result<Box<[u8]>, Errno> {
    let opened = tree.open(path).map_err(|errno| match errno {
        // A link is there, and what it leads to is not: in a sysroot, it may lead out of it.
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
    names: &Names,
) -> (Vec<Definition>, Vec<Defect>) {
    let mut defects = Vec::new();
    let handle = open(tree, facts);
    let found = handle.and_then(|handle| archive::definitions(&handle, names, &mut defects).ok());
    if found.is_none() {
        defects.push(Defect::new(Table::File, 0, "could not be read again"));
    }
    (found.unwrap_or_default(), defects)
}

/// What a second reader makes of a file; nothing if it holds nothing to compare.
pub(super) fn second(tree: &dyn Tree, facts: &FileFacts) -> Option<Second> {
    let object = match &facts.content {
        Content::Elf(object) if object.is_dynamic() => Some(object),
        Content::Archive(_) => None,
        Content::Elf(_) | Content::Other(_) => return None,
    };
    if facts.all_defects().next().is_some() {
        return Some(Second::GaveUp("known to be damaged"));
    }
    let Some(handle) = open(tree, facts).filter(|handle| handle.stat() == facts.stat) else {
        return Some(Second::GaveUp("could not be read again"));
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
        None => failed("could not be read: the file changed while it was audited"),
    }
}
