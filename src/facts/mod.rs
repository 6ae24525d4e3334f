//! Facts about files, as small owned values, and the corpus with all facts of a run.
//!
//! The [`Corpus`] grows only in `audit`'s loop, through `collect`; every later stage borrows it
//! immutably. A stage that lacks a fact returns a [`Need`].

mod answer;
pub mod collect;
mod corpus;
pub mod members;
pub mod plugins;
pub mod providers;
pub mod read;
pub mod replacing;
mod store;
mod view;

pub use corpus::{Corpus, PathState};
pub use store::FactStore;
pub use view::{Edits, View};

use crate::format::Defect;
use crate::format::archive::Archive;
use crate::format::cross_check::ReadingDifference;
use crate::format::elf::{Foreign, Ident, LoaderReaction, Object, Tables, Target};
use crate::id::{FileId, StrId};
use crate::package::PackageId;
use crate::tree::{FileOrigin, Stat, without_dots};
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The defect of a file that was read once and cannot be read a second time.
const NOT_AGAIN: &str = "could not be read a second time: it has changed, or the read failed";

/// All facts of one file.
#[derive(Debug)]
pub struct FileFacts {
    /// The path of the file with links resolved. If the walk found several hard links, `path` is
    /// the first of them in byte order. If the walk found only links to a file outside of the
    /// audited directory, `path` is the first link. A file in the prefix that the user stated
    /// always has its real path.
    pub path: Arc<Path>,
    /// `path`, or its target if `path` is a link. The directory of this path is `$ORIGIN` of a
    /// program.
    pub real: Arc<Path>,
    /// The path by which the walk first found the file. Programs are started by this path. Equal to
    /// `path` for a file that only a search found.
    pub typed: Arc<Path>,
    /// True if the walk found the file only through links. Then the walk did not list the file's
    /// own directory.
    pub by_link: bool,
    /// Other names that the walk found.
    pub names: Vec<FileName>,
    /// Identity, size, times and permission bits at the time of reading.
    pub stat: Stat,
    /// True if the file is given or is below a given path, so that it is audited.
    pub audited: bool,
    /// True if the file is below a `--lib-path` directory, so that it may serve as a provider.
    pub provider: bool,
    /// The content of the file: an ELF object, an archive, or anything else.
    pub content: Content,
    /// Defects that are not in `content`, such as a change of the file during the audit.
    pub defects: Vec<Defect>,
    /// The text of the error, if the file could not be read.
    pub unreadable: Option<String>,
    /// The package that the file's tree belongs to, if the file is in the prefix of the package.
    /// Store items are recognised by their path instead.
    pub package: Option<Arc<PackageId>>,
    /// The layer that has the file: a staging directory, or the sysroot. `None` without staging
    /// directories.
    pub origin: Option<FileOrigin>,
}

/// A further name of a file.
#[derive(Debug)]
pub struct FileName {
    /// The path of this name, in the form of `FileFacts::path`.
    pub path: PathBuf,
    /// True for a symbolic link to the file, false for a hard link.
    pub is_link: bool,
}

/// The content of a file.
#[derive(Debug)]
pub enum Content {
    /// An ELF file.
    Elf(Box<Object>),
    /// A static archive.
    Archive(Archive),
    /// Any other content. The first bytes determine the message of a loader that opens the file.
    Other(Ident),
}

impl FileFacts {
    /// The real path of the file if it is started as `path`. If the file has several hard links,
    /// the result is the hard link that `path` names. A relative `path` is below `cwd`.
    pub fn started_as(&self, path: &[u8], cwd: &Path) -> &Path {
        self.other_hard_link(path, cwd).unwrap_or(&self.real)
    }

    /// The other paths of the file that have the same file name as `path`.
    pub fn same_named<'a>(&'a self, path: &'a Path) -> impl Iterator<Item = &'a Path> {
        let names = self.names.iter().map(|name| name.path.as_path());
        names.filter(|name| name.file_name() == path.file_name())
    }

    /// The hard links of the file, without its first name.
    pub fn hard_links(&self) -> impl Iterator<Item = &Path> {
        self.names.iter().filter(|name| !name.is_link).map(|name| name.path.as_path())
    }

    /// The hard link that `path` names, if it is not the first name of the file. A relative `path`
    /// is below `cwd`.
    pub fn other_hard_link(&self, path: &[u8], cwd: &Path) -> Option<&Path> {
        let mut links = self.names.iter().filter(|name| !name.is_link).peekable();
        links.peek()?;
        let path = without_dots(&cwd.join(OsStr::from_bytes(path)));
        links.find(|name| name.path == path).map(|name| name.path.as_path())
    }

    /// The ELF object, if the file is one.
    pub fn object(&self) -> Option<&Object> {
        match &self.content {
            Content::Elf(object) => Some(object),
            Content::Archive(_) | Content::Other(_) => None,
        }
    }

    /// DT_SONAME of a library, or its file name.
    pub fn library_name(&self) -> &[u8] {
        let soname = self.object().and_then(|object| object.soname());
        let file_name = || crate::text::last_part(self.path.as_os_str().as_bytes());
        soname.filter(|name| !name.is_empty()).unwrap_or_else(file_name)
    }

    /// The kind of foreign file, such as an object of FreeBSD. `None` for ELF files of this system,
    /// and for files that are not ELF.
    pub fn foreign(&self) -> Option<Foreign> {
        Foreign::at(&self.path, self.object()?)
    }

    /// All defects: first of the file, then of its format, then of a string table that was read
    /// later.
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

    /// The last component of the path.
    pub fn file_name(&self) -> &Path {
        self.path.file_name().map_or(&self.path, Path::new)
    }
}

/// The results of the cross-check, in which second readers read the files again.
#[derive(Debug, Default)]
pub struct CrossCheck {
    /// Number of files that second readers read.
    pub read: usize,
    /// The differences between the two readings, in the order of the files.
    pub differences: Vec<(FileId, ReadingDifference)>,
    /// Number of files that were not compared, by reason.
    pub gave_up: BTreeMap<&'static str, usize>,
}

/// A fact that a stage lacks.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Need {
    /// The entries at these paths, up to the first path at which a loader for `target` stops,
    /// and the facts of the files found.
    First {
        /// Paths in search order.
        paths: Vec<Vec<u8>>,
        /// The target of the loader, which skips files for other targets. `None` to accept any
        /// file.
        target: Option<Target>,
        /// The batch that these paths complete, for a search in a long list of directories. `None`
        /// for other searches. Paths of a batch that do not exist are not stored.
        batch: Option<ProbeBatch>,
    },
    /// The answer to [`Corpus::is_directory`] for this path.
    Directory(Vec<u8>),
    /// The content of a configuration file of the loader (cache, preload list).
    Bytes(Vec<u8>),
    /// The strings of a loader binary.
    Interpreter(FileId),
    /// The dynamic tables of a file that was read without them.
    Tables(FileId),
    /// The relocations of a file.
    Relocations(FileId),
    /// The members of an archive. A relocatable object is treated as an archive with one member.
    Members(FileId),
}

/// One batch of paths in the search for a name in a long list of directories.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProbeBatch {
    /// The id of the list of directories, from [`Corpus::new_list`].
    pub list: u64,
    /// The name that is searched for.
    pub name: StrId,
    /// The end of the batch: index in the list of the first path after the batch.
    pub end: usize,
}

impl Need {
    /// The need for the entry at one path.
    pub fn path(path: Vec<u8>, target: Option<Target>) -> Self {
        Self::First { paths: vec![path], target, batch: None }
    }
}

impl Content {
    /// The reaction of a loader for `target` to this file.
    pub fn reaction(&self, target: Target) -> LoaderReaction {
        match self {
            Self::Elf(object) => object.header.reaction(target),
            Self::Archive(archive) => archive.ident.reaction(target),
            Self::Other(ident) => ident.reaction(target),
        }
    }
}
