//! The inputs of the question: the archives and objects of the command line, and their order if it
//! matters.

use super::{ArchiveQuestion, entries, file, providers};
use crate::audit::Audit;
use crate::cover::{
    DefsymOption, ENTRY, Link, LinkInput, Linker, ReferringFile, Wrap, library_calls,
};
use crate::facts::Content;
use crate::format::script::OutputFormat;
use crate::format::version_script::VersionedName;
use crate::id::{ArchiveId, FastSet, FileId};
use crate::plan::Plan;
use crate::text::show_path;
use std::path::{Path, PathBuf};

/// An option of the linker, or a command of a linker script, whose position among the inputs
/// matters.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum PositionalOption {
    /// `--start-lib`: objects are extracted like members.
    StartLib,
    /// `--end-lib`: ends the effect of `--start-lib`.
    EndLib,
    /// `--whole-archive`: all members are linked.
    WholeArchive,
    /// `--no-whole-archive`: ends the effect of `--whole-archive`.
    NoWholeArchive,
    /// `--start-group`: GNU ld searches the archives up to `--end-group` repeatedly, until a search
    /// extracts no member.
    StartGroup,
    /// `--end-group`: ends a group.
    EndGroup,
    /// `--as-needed`, or AS_NEEDED of a script: GNU ld and mold drop libraries that no file needs.
    AsNeeded,
    /// `--no-as-needed`, or the end of AS_NEEDED.
    NoAsNeeded,
    /// `-Bstatic`: GNU ld and lld reject shared objects.
    Static,
    /// `-Bdynamic`: ends the effect of `-Bstatic`.
    Dynamic,
    /// `--defsym` or an assignment of a script, by its index in [`TypedLink::defined`].
    Define(usize),
    /// EXTERN of a script, by its index in [`TypedLink::requested`].
    Request(usize),
}

/// One file of a link command line, or one option whose position among the files matters.
#[derive(Clone, Debug)]
pub enum LinkArgument {
    /// An archive, an object or a shared object.
    File(PathBuf),
    /// The file of `-l`. If the file has no DT_SONAME, linkers name it without its directory in
    /// DT_NEEDED.
    Library(PathBuf),
    /// A candidate archive that is not part of the link yet.
    Added(PathBuf),
    /// A file of `--root-object`.
    Root(PathBuf),
    /// An option whose position among the files matters, such as `--as-needed`.
    Position(PositionalOption),
}

/// A link command line: its options, and its inputs in their order.
#[derive(Clone, Debug, Default)]
pub struct TypedLink {
    /// The linker of `--linker`, whose rules decide the answer.
    pub linker: Linker,
    /// The files, and the options whose position matters, in the order of the command line.
    pub items: Vec<LinkArgument>,
    /// The symbol of `--entry`; `None` for the default, `_start`.
    pub entry: Option<Box<[u8]>>,
    /// The names of `--undefined`, which extract members and may stay undefined.
    pub undefined: Vec<Box<[u8]>>,
    /// The names of EXTERN in scripts. [`PositionalOption::Request`] refers to them by index.
    pub requested: Vec<Box<[u8]>>,
    /// The symbols of `--defsym` and of assignments in scripts.
    pub defined: Vec<DefsymOption>,
    /// The symbols of `--wrap`.
    pub wraps: Vec<Wrap>,
    /// True with `--allow-shlib-undefined`: linkers do not report undefined references of shared
    /// objects. Only GNU ld still reports names that an object defines and hides.
    pub allow_shlib_undefined: bool,
    /// True with `--no-allow-shlib-undefined`: linkers check the references of shared objects even
    /// if the output is a shared object.
    pub checks_shared: bool,
    /// True if a script has VERSION, which hides symbols.
    pub has_version_script: bool,
    /// The names in version scripts of lld.
    pub versioned: Vec<VersionedName>,
    /// True if lld needs no definition of the names in version scripts.
    pub undefined_versions: bool,
    /// What is assumed about linker scripts, as sentences.
    pub assumed: Vec<String>,
    /// True with `--export-dynamic`: `--gc-sections` keeps the exported symbols of a program too.
    pub export_dynamic: bool,
    /// The format of `-m` or, for lld, of OUTPUT_FORMAT in a script. All objects must have it. `None`
    /// if there is none.
    pub emulation: Option<OutputFormat>,
    /// True if mold keeps all calls that find thread-local data (`--no-relax` without `-static`).
    pub keeps_tls_calls: bool,
    /// True if the linker adds the dependent libraries of objects: lld does so, except with
    /// `--no-dependent-libraries`.
    pub adds_dependents: bool,
}

impl LinkArgument {
    /// The path of the file; `None` for an option.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Self::File(path) | Self::Library(path) | Self::Added(path) | Self::Root(path) => {
                Some(path)
            }
            Self::Position(_) => None,
        }
    }
}

impl TypedLink {
    /// All names that the options mention, the entry symbol, and the names that the linker looks up
    /// itself.
    pub fn names(&self) -> Vec<Box<[u8]>> {
        let wraps = self.wraps.iter().flat_map(|wrap| [&wrap.name, &wrap.wrapper, &wrap.real]);
        let defined = self
            .defined
            .iter()
            .flat_map(|d| std::iter::once(&d.name).chain(&d.refers).chain(&d.guarded));
        let versioned = self.versioned.iter().flat_map(|of| [&of.name, &of.with_version]);
        let asked = self.undefined.iter().chain(&self.requested).chain(versioned);
        let names = asked.chain(wraps).chain(defined).cloned();
        let calls = library_calls().filter(|_| self.linker == Linker::Lld).map(Into::into);
        names.chain([self.entry.clone().unwrap_or_else(|| ENTRY.into())]).chain(calls).collect()
    }

    /// The files between `--start-lib` and `--end-lib`.
    pub fn lazy(&self) -> Vec<PathBuf> {
        let mut inside = false;
        let mut out = Vec::new();
        for item in &self.items {
            match item {
                LinkArgument::Position(PositionalOption::StartLib) => inside = true,
                LinkArgument::Position(PositionalOption::EndLib) => inside = false,
                _ => out.extend(item.path().filter(|_| inside).map(Path::to_path_buf)),
            }
        }
        out
    }
}

/// The files of the question, resolved to ids.
#[derive(Default)]
pub(super) struct Inputs {
    /// The archives that are part of the link, with their paths as on the command line.
    pub(super) archives: Vec<(ArchiveId, PathBuf)>,
    /// The candidate archives, which may be added to the link.
    pub(super) candidates: Vec<(ArchiveId, PathBuf)>,
    /// The archives whose members are extracted on demand, in the order of the command line, for
    /// lld's tables; empty if the order does not matter.
    pub(super) typed: Vec<(ArchiveId, PathBuf)>,
    /// Objects between `--start-lib` and `--end-lib`, which are extracted like members.
    pub(super) lazy: FastSet<ArchiveId>,
    /// The files of `roots`, in the same order.
    pub(super) files: Vec<FileId>,
    pub(super) roots: Vec<ReferringFile>,
    /// The roots that are read after `-Bstatic`, by index.
    pub(super) in_static: FastSet<usize>,
    pub(super) link: Option<Link>,
}

impl Inputs {
    pub(super) fn new(
        (audit, plan): (&Audit, &Plan),
        asked: &ArchiveQuestion,
    ) -> Result<Self, String> {
        let mut out = Self::default();
        let Some(typed) = &asked.link else {
            out.archives = entries(audit, &asked.archives)?;
            out.candidates = providers((audit, plan), &out.archives, asked);
            for path in &asked.objects {
                out.root(audit, path, false)?;
            }
            return Ok(out);
        };
        let mut link = Link {
            linker: typed.linker,
            entry: typed.entry.clone(),
            undefined: typed.undefined.clone(),
            requested: typed.requested.clone(),
            defined: typed.defined.clone(),
            wraps: typed.wraps.clone(),
            versioned: if typed.undefined_versions { Vec::new() } else { typed.versioned.clone() },
            indexed: typed.linker == Linker::Gnu,
            export_dynamic: typed.export_dynamic,
            keeps_tls_calls: typed.keeps_tls_calls,
            ..Link::default()
        };
        let (mut inside, mut whole, mut as_needed) = (false, false, false);
        let mut is_static = false;
        for item in &typed.items {
            // In mold, `--start-lib` overrides `--whole-archive`.
            let is_whole = whole && !(inside && typed.linker == Linker::Mold);
            match item {
                LinkArgument::Position(PositionalOption::StartLib) => inside = true,
                LinkArgument::Position(PositionalOption::EndLib) => inside = false,
                LinkArgument::Position(PositionalOption::WholeArchive) => whole = true,
                LinkArgument::Position(PositionalOption::NoWholeArchive) => whole = false,
                LinkArgument::Position(PositionalOption::AsNeeded) => as_needed = true,
                LinkArgument::Position(PositionalOption::NoAsNeeded) => as_needed = false,
                LinkArgument::Position(PositionalOption::Static) => is_static = true,
                LinkArgument::Position(PositionalOption::Dynamic) => is_static = false,
                LinkArgument::Position(PositionalOption::StartGroup) => {
                    link.inputs.push(LinkInput::StartGroup);
                }
                LinkArgument::Position(PositionalOption::EndGroup) => {
                    link.inputs.push(LinkInput::EndGroup);
                }
                LinkArgument::Position(PositionalOption::Define(at)) => {
                    link.inputs.push(LinkInput::Define(*at));
                }
                LinkArgument::Position(PositionalOption::Request(at)) => {
                    link.inputs.push(LinkInput::Request(*at));
                }
                LinkArgument::Root(path) => link.inputs.push(out.root(audit, path, false)?),
                LinkArgument::File(path)
                | LinkArgument::Library(path)
                | LinkArgument::Added(path) => {
                    let added = matches!(item, LinkArgument::Added(_));
                    let input = out.file(audit, path, (inside, is_whole, added))?;
                    if let LinkInput::Root(at) = input {
                        link.as_needed.extend(as_needed.then_some(at));
                        let is_found = matches!(item, LinkArgument::Library(_));
                        link.found_by_name.extend(is_found.then_some(at));
                        out.in_static.extend(is_static.then_some(at));
                    }
                    link.inputs.push(input);
                }
            }
        }
        out.link = Some(link);
        Ok(out)
    }

    /// Adds an input that is linked without extraction: an object or a shared object. The error is
    /// a message about the file.
    fn root(&mut self, audit: &Audit, path: &Path, input: bool) -> Result<LinkInput, String> {
        let shown = show_path(path);
        let file = file(audit, path)?;
        let root = audit.cover_root(file, input).ok_or_else(|| {
            format!("{shown}: not a readable shared library, program, relocatable object or bitcode file")
        })?;
        self.files.push(file);
        self.roots.push(ReferringFile { path: path.into(), ..root });
        Ok(LinkInput::Root(self.roots.len() - 1))
    }

    /// Adds an input of the link: an archive, an object or a shared object. The error is a message
    /// about the file.
    fn file(
        &mut self,
        audit: &Audit,
        path: &Path,
        (inside, whole, added): (bool, bool, bool),
    ) -> Result<LinkInput, String> {
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
        if !is_archive {
            self.lazy.insert(archive);
        } else if !whole {
            self.typed.push(entry.clone());
        }
        if added {
            self.candidates.push(entry);
        } else {
            self.archives.push(entry);
        }
        Ok(if whole && is_archive {
            LinkInput::Whole(archive)
        } else {
            LinkInput::Archive(archive)
        })
    }
}
