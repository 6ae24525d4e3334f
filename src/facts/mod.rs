//! Facts: what is known of files, owned and small, and the collection of all of them.
//!
//! The [`Corpus`] grows only in `audit`'s loop, through `collect`; every later stage reads it
//! through a `&`. A stage that misses a fact answers with a [`Need`].

mod answer;
pub mod collect;
mod corpus;
pub mod members;
pub mod plugins;
pub mod providers;
pub mod read;
mod store;
mod view;

pub use corpus::{Corpus, Place};
pub use store::FactStore;
pub use view::{Edits, View};

use crate::format::Defect;
use crate::format::archive::Archive;
use crate::format::elf::{Foreign, Ident, Object, Tables, Target, Verdict};
use crate::format::second::Difference;
use crate::id::{FileId, StrId};
use crate::package::PackageId;
use crate::tree::{Origin, Stat};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// All that is known of one file.
#[derive(Debug)]
pub struct FileFacts {
    /// The file's name with links resolved, of hard links the first in byte order; what a link in an
    /// audited directory leads to outside of it has the link's name.
    pub path: Arc<Path>,
    /// `path`, or where the link at `path` leads: the directory of a started program.
    pub real: Arc<Path>,
    /// The name by which it is started: as the walk met it first, or the path of a dependency.
    pub typed: Arc<Path>,
    /// Other names under which the walk met it.
    pub names: Vec<Name>,
    /// Identity, size and times.
    pub stat: Stat,
    /// It lies in what was given to audit.
    pub audited: bool,
    /// It lies in a `--lib-path`.
    pub provider: bool,
    /// What it holds.
    pub content: Content,
    /// What is wrong with it beyond the format's own defects.
    pub defects: Vec<Defect>,
    /// The kernel refused to read it: the words for the error.
    pub unreadable: Option<String>,
    /// The package of the mount that holds the file. Store items are recognised by their path instead.
    pub package: Option<Arc<PackageId>>,
    /// The layer that it lies in, if the system has stages.
    pub origin: Option<Origin>,
}

/// A further name of a file.
#[derive(Debug)]
pub struct Name {
    /// The name, as `FileFacts::path` is one.
    pub path: PathBuf,
    /// It is a symbolic link to the file, not a hard link.
    pub is_link: bool,
}

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// An ELF file.
    Elf(Box<Object>),
    /// A static archive.
    Archive(Archive),
    /// Anything else, with what a loader would see of it.
    Other(Ident),
}

impl FileFacts {
    /// The ELF object, if the file is one.
    pub fn object(&self) -> Option<&Object> {
        match &self.content {
            Content::Elf(object) => Some(object),
            Content::Archive(_) | Content::Other(_) => None,
        }
    }

    /// Why the file is not this system's, if it is an ELF file that is not.
    pub fn foreign(&self) -> Option<Foreign> {
        Foreign::at(&self.path, self.object()?)
    }

    /// All defects with the file's own first.
    pub fn all_defects(&self) -> impl Iterator<Item = &Defect> {
        let format: &[Defect] = match &self.content {
            Content::Elf(object) => &object.defects,
            Content::Archive(archive) => &archive.defects,
            Content::Other(_) => &[],
        };
        let tables = self.object().and_then(|object| object.tables.as_ref());
        let late = tables.and_then(Tables::late_defect);
        self.defects.iter().chain(format).chain(late)
    }

    /// The name without directories.
    pub fn file_name(&self) -> &Path {
        self.path.file_name().map_or(&self.path, Path::new)
    }
}

/// What second readers found.
#[derive(Debug, Default)]
pub struct CrossCheck {
    /// How many files they read.
    pub read: usize,
    /// What they read differently, in the order of files.
    pub differences: Vec<(FileId, Difference)>,
    /// How many files they did not read, by reason.
    pub gave_up: BTreeMap<&'static str, usize>,
}

/// A fact that a stage misses.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// What lies at these paths, up to the first at which a loader for `target` stops to look
    /// further, and the facts of the files met.
    First {
        /// Paths in the order in which they are tried.
        paths: Vec<Vec<u8>>,
        /// Whose files are not passed over; nothing to take any file.
        target: Option<Target>,
        /// The portion that ends with these paths: of those that are not there none is remembered by
        /// itself.
        portion: Option<Portion>,
    },
    /// Whether a path is a directory.
    Directory(Vec<u8>),
    /// The content of a configuration file of the loader (cache, preload list).
    Bytes(Vec<u8>),
    /// What a loader binary says of itself.
    Interpreter(FileId),
    /// The dynamic tables of a file that was read without them.
    Tables(FileId),
    /// The relocations of a file.
    Relocations(FileId),
    /// The members of an archive, or the symbols of a relocatable object as its only member.
    Members(FileId),
}

/// A part of the search for one name in one long list of directories, by numbers of the resolver's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Portion {
    /// The list.
    pub list: u64,
    /// The name.
    pub name: StrId,
    /// Where in the list it ends.
    pub end: usize,
}

impl Need {
    /// What lies at one path.
    pub fn path(path: Vec<u8>, target: Option<Target>) -> Self {
        Self::First { paths: vec![path], target, portion: None }
    }
}

impl Content {
    /// What a loader for `target` says when its search leads to this file.
    pub fn verdict(&self, target: Target) -> Verdict {
        match self {
            Self::Elf(object) => object.header.verdict(target),
            // An archive begins with text and is longer than an ELF header.
            Self::Archive(_) => Verdict::Fatal("invalid ELF header"),
            Self::Other(ident) => ident.verdict(target),
        }
    }
}
