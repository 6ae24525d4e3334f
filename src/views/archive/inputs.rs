//! The inputs of the question: the typed archives and objects, and their order if it counts.

use super::{ArchiveQuestion, entries, file, providers};
use crate::audit::Audit;
use crate::cover::{Defined, ENTRY, Input, Link, Linker, Root, Wrap};
use crate::facts::Content;
use crate::id::{ArchiveId, FastSet, FileId};
use crate::text::show_path;
use std::path::{Path, PathBuf};

/// An option that affects the inputs after it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// `--start-lib`: objects are extracted like members.
    StartLib,
    /// `--end-lib`
    EndLib,
    /// `--whole-archive`: all members are linked.
    WholeArchive,
    /// `--no-whole-archive`
    NoWholeArchive,
    /// `--start-group`
    StartGroup,
    /// `--end-group`
    EndGroup,
    /// `--defsym`, by its index in [`TypedLink::defined`].
    Define(usize),
}

/// A file or an option, in the order of the command line.
#[derive(Clone, Debug)]
pub enum Item {
    /// An archive, an object or a shared object.
    File(PathBuf),
    /// A candidate archive that is not part of the link yet.
    Added(PathBuf),
    /// A file of `--root-object`.
    Root(PathBuf),
    /// An option.
    Position(Position),
}

/// A link whose inputs are in order, as typed.
#[derive(Clone, Debug, Default)]
pub struct TypedLink {
    /// `--linker`
    pub linker: Linker,
    /// The files and options, in order.
    pub items: Vec<Item>,
    /// `--entry`
    pub entry: Option<Box<[u8]>>,
    /// `--undefined`
    pub undefined: Vec<Box<[u8]>>,
    /// `--defsym`
    pub defined: Vec<Defined>,
    /// `--wrap`
    pub wraps: Vec<Wrap>,
}

impl Item {
    /// The path of the file; `None` for an option.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Added(path) | Self::Root(path) => Some(path),
            Self::Position(_) => None,
        }
    }
}

impl TypedLink {
    /// All names that the options mention, and the entry symbol.
    pub fn names(&self) -> Vec<Box<[u8]>> {
        let wraps = self.wraps.iter().flat_map(|wrap| [&wrap.name, &wrap.wrapper, &wrap.real]);
        let defined = self.defined.iter().flat_map(|d| std::iter::once(&d.name).chain(&d.refers));
        let names = self.undefined.iter().chain(wraps).chain(defined).cloned();
        names.chain([self.entry.clone().unwrap_or_else(|| ENTRY.into())]).collect()
    }

    /// The files between `--start-lib` and `--end-lib`.
    pub fn lazy(&self) -> Vec<PathBuf> {
        let mut inside = false;
        let mut out = Vec::new();
        for item in &self.items {
            match item {
                Item::Position(Position::StartLib) => inside = true,
                Item::Position(Position::EndLib) => inside = false,
                _ => out.extend(item.path().filter(|_| inside).map(Path::to_path_buf)),
            }
        }
        out
    }
}

/// The typed files, resolved to ids.
#[derive(Default)]
pub(super) struct Inputs {
    /// The archives that are part of the link, as typed.
    pub(super) archives: Vec<(ArchiveId, PathBuf)>,
    /// The archives that may be added.
    pub(super) candidates: Vec<(ArchiveId, PathBuf)>,
    /// All archives in the order typed, for lld's tables; empty if the order does not count.
    pub(super) typed: Vec<(ArchiveId, PathBuf)>,
    /// Objects between `--start-lib` and `--end-lib`, which are extracted like members.
    pub(super) lazy: FastSet<ArchiveId>,
    /// The files of `roots`.
    pub(super) files: Vec<FileId>,
    pub(super) roots: Vec<Root>,
    pub(super) link: Option<Link>,
}

impl Inputs {
    pub(super) fn new(audit: &Audit, asked: &ArchiveQuestion) -> Result<Self, String> {
        let mut out = Self::default();
        let Some(typed) = &asked.link else {
            out.archives = entries(audit, &asked.archives)?;
            out.candidates = providers(audit, &out.archives, asked);
            for path in &asked.objects {
                out.root(audit, path, false)?;
            }
            return Ok(out);
        };
        let mut link = Link {
            linker: typed.linker,
            entry: typed.entry.clone(),
            undefined: typed.undefined.clone(),
            defined: typed.defined.clone(),
            wraps: typed.wraps.clone(),
            inputs: Vec::new(),
        };
        let (mut inside, mut whole) = (false, false);
        for item in &typed.items {
            match item {
                Item::Position(Position::StartLib) => inside = true,
                Item::Position(Position::EndLib) => inside = false,
                Item::Position(Position::WholeArchive) => whole = true,
                Item::Position(Position::NoWholeArchive) => whole = false,
                Item::Position(Position::StartGroup) => link.inputs.push(Input::StartGroup),
                Item::Position(Position::EndGroup) => link.inputs.push(Input::EndGroup),
                Item::Position(Position::Define(at)) => link.inputs.push(Input::Define(*at)),
                Item::Root(path) => link.inputs.push(out.root(audit, path, false)?),
                Item::File(path) => {
                    link.inputs.push(out.file(audit, path, (inside, whole, false))?);
                }
                Item::Added(path) => {
                    link.inputs.push(out.file(audit, path, (inside, whole, true))?);
                }
            }
        }
        out.link = Some(link);
        Ok(out)
    }

    /// An input that is always linked: an object or a shared object.
    fn root(&mut self, audit: &Audit, path: &Path, input: bool) -> Result<Input, String> {
        let shown = show_path(path);
        let file = file(audit, path)?;
        let root = audit.cover_root(file, input).ok_or_else(|| {
            format!("{shown}: not a readable shared library, program, relocatable object or bitcode file")
        })?;
        self.files.push(file);
        self.roots.push(Root { path: path.into(), ..root });
        Ok(Input::Root(self.roots.len() - 1))
    }

    /// An input of the link: an archive, an object or a shared object.
    fn file(
        &mut self,
        audit: &Audit,
        path: &Path,
        (inside, whole, added): (bool, bool, bool),
    ) -> Result<Input, String> {
        let id = file(audit, path)?;
        let content = &audit.corpus.files[id].content;
        let is_archive = matches!(content, Content::Archive(_));
        let archive = audit.library.archive(id);
        let is_object = match content {
            Content::Elf(object) => !object.is_dynamic(),
            Content::Other(_) => true,
            Content::Archive(_) => false,
        };
        let is_lazy = inside && is_object;
        let Some(archive) = archive.filter(|_| is_archive || is_lazy) else {
            return self.root(audit, path, true);
        };
        let entry = (archive, path.to_path_buf());
        if is_archive {
            self.typed.push(entry.clone());
        } else {
            self.lazy.insert(archive);
        }
        if added {
            self.candidates.push(entry);
        } else {
            self.archives.push(entry);
        }
        Ok(if whole && is_archive { Input::Whole(archive) } else { Input::Archive(archive) })
    }
}
