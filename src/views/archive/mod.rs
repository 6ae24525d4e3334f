//! `archive`: which members of static archives something that is linked needs, and what stays
//! undefined. The question is put together here from an audit and what was typed; `cover` answers it.

mod human;
mod json;
pub mod lld;
mod table;

use super::Output;
use crate::audit::Audit;
use crate::cover::{self, By, Coverage, Library, Origins, Question, Root};
use crate::facts::Content;
use crate::format::elf::Object;
use crate::id::{ArchiveId, FastSet, FileId, MemberId};
use crate::text::{show, show_path};
use std::cell::RefCell;
use std::path::{Path, PathBuf};

/// The formats.
pub const OUTPUTS: &[Output<Archive>] = &[
    Output { name: "human", render: human::render },
    Output { name: "table", render: table::render },
    Output { name: "json", render: json::render },
];

/// What was typed.
#[derive(Debug, Default)]
pub struct Asked {
    /// The archives.
    pub archives: Vec<PathBuf>,
    /// `--order`: more archives, and the order of all of them counts.
    pub order: Option<Vec<PathBuf>>,
    /// `--root-object`
    pub objects: Vec<PathBuf>,
    /// `--root-symbol`
    pub symbols: Vec<Box<[u8]>>,
    /// `--all-members`
    pub all_members: bool,
}

/// The answer with what it was asked about.
pub struct Archive {
    /// The objects that ask.
    pub roots: Vec<Root>,
    /// Names that were asked for.
    pub symbols: Vec<Box<[u8]>>,
    /// Every member asks.
    pub all_members: bool,
    /// The order counts.
    pub ordered: bool,
    /// The archives that are linked anyway, as typed.
    pub archives: Vec<(ArchiveId, PathBuf)>,
    /// The archives that may be added; as typed where their order counts.
    pub candidates: Vec<(ArchiveId, PathBuf)>,
    linked: FastSet<ArchiveId>,
    added: FastSet<ArchiveId>,
    origins: RefCell<Origins>,
    /// The answer.
    pub coverage: Coverage,
    /// Objects of archives that were passed over for their class or machine.
    pub foreign: Vec<MemberId>,
}

impl Archive {
    /// Asks the question. The error is a sentence about what was typed.
    pub fn new(audit: &Audit, asked: &Asked) -> Result<Self, String> {
        let archives = shelves(audit, &asked.archives)?;
        let candidates = match &asked.order {
            Some(order) => shelves(audit, order)?,
            None => providers(audit, &archives),
        };
        let files: Vec<FileId> =
            asked.objects.iter().map(|path| file(audit, path)).collect::<Result<_, _>>()?;
        let root = |(file, path): (&FileId, &PathBuf)| {
            let shown = show_path(path);
            audit.cover_root(*file).map(|root| Root { path: path.as_path().into(), ..root }).ok_or_else(
                || format!("{shown} is no shared library, program or relocatable object that can be read whole"),
            )
        };
        let roots: Vec<Root> =
            files.iter().zip(&asked.objects).map(root).collect::<Result<_, _>>()?;
        let libraries = audit.libraries_of(&files);
        let objects: Vec<Option<&Object>> =
            files.iter().map(|file| audit.corpus.files[*file].object()).collect();
        let ids = |list: &[(ArchiveId, PathBuf)]| -> Vec<ArchiveId> {
            list.iter().map(|(archive, _)| *archive).collect()
        };
        let (linked, added) = (ids(&archives), ids(&candidates));
        let question = Question {
            library: &audit.library,
            roots: &roots,
            symbols: &asked.symbols,
            all_members: asked.all_members,
            archives: &linked,
            candidates: &added,
            objects: &objects,
            provided: &|name| libraries.define(name),
        };
        let ordered = asked.order.is_some();
        let coverage = if ordered { cover::in_order(&question) } else { cover::cover(&question) };
        let foreign = foreign(&question);
        Ok(Self {
            symbols: asked.symbols.clone(),
            all_members: asked.all_members,
            ordered,
            coverage,
            foreign,
            roots,
            linked: linked.into_iter().collect(),
            added: added.into_iter().collect(),
            origins: RefCell::default(),
            archives,
            candidates,
        })
    }

    /// True if something stays undefined that must not.
    pub fn fails(&self) -> bool {
        !self.all_members && !self.coverage.undefined.is_empty()
    }

    /// True if everything that the answer rests on was read: an opaque member does not tell what it
    /// refers to.
    pub fn is_complete(&self, report_is_complete: bool) -> bool {
        report_is_complete && self.coverage.opaque.is_empty()
    }

    /// True for an archive that is linked anyway.
    pub fn is_linked(&self, archive: ArchiveId) -> bool {
        self.linked.contains(&archive)
    }

    /// Where a member of an archive that is linked anyway came from, if it was merged.
    pub fn origin(&self, library: &Library, member: MemberId) -> Option<MemberId> {
        if !self.is_linked(library.archive_of(member)) {
            return None;
        }
        let is_candidate = |archive| self.added.contains(&archive);
        self.origins.borrow_mut().of(library, member, is_candidate)
    }

    /// Who refers, in words.
    fn who(&self, library: &Library, by: By) -> String {
        match by {
            By::Asked => "asked for".to_owned(),
            By::Root(at) => {
                self.roots.get(at).map(|root| show_path(&root.path)).unwrap_or_default()
            }
            By::Member(member) => self.member(library, member),
        }
    }

    /// A member in words: its archive's file name, its own, and where it came from.
    fn member(&self, library: &Library, member: MemberId) -> String {
        let archive = |member| file_name(&library.shelf(library.archive_of(member)).path);
        let name = show(library.member_name(member));
        let from = match self.origin(library, member) {
            Some(origin) => format!(", from {}", archive(origin)),
            None => String::new(),
        };
        format!("{}({name}{from})", archive(member))
    }
}

fn file_name(path: &Path) -> String {
    show_path(path.file_name().map_or(path, Path::new))
}

/// Objects of the archives in question that cannot be linked with what asks.
fn foreign(question: &Question<'_>) -> Vec<MemberId> {
    let Some(target) = question.target() else { return Vec::new() };
    let library = question.library;
    let archives = question.archives.iter().chain(question.candidates);
    let members = archives.flat_map(|archive| library.members_of(*archive));
    members
        .filter(|member| library.member(*member).target.is_some_and(|t| !target.links_with(t)))
        .collect()
}

/// The file that was typed as `path`.
fn file(audit: &Audit, path: &Path) -> Result<FileId, String> {
    let known = audit.corpus.file_at(path);
    known.ok_or_else(|| format!("{} is no ELF file and no archive", show_path(path)))
}

/// Archives that were typed, each once.
fn shelves(audit: &Audit, paths: &[PathBuf]) -> Result<Vec<(ArchiveId, PathBuf)>, String> {
    let mut out: Vec<(ArchiveId, PathBuf)> = Vec::new();
    for path in paths {
        let file = file(audit, path)?;
        let is_archive = matches!(audit.corpus.files[file].content, Content::Archive(_));
        let Some(archive) = audit.library.archive(file).filter(|_| is_archive) else {
            return Err(format!("{} is no static archive", show_path(path)));
        };
        out.push((archive, path.clone()));
    }
    Ok(out)
}

/// All other archives at hand, by path.
fn providers(audit: &Audit, not: &[(ArchiveId, PathBuf)]) -> Vec<(ArchiveId, PathBuf)> {
    let shelves = audit.library.shelves().filter(|(archive, shelf)| {
        audit.corpus.files[shelf.file].provider && !not.iter().any(|(known, _)| known == archive)
    });
    let mut out: Vec<(ArchiveId, PathBuf)> =
        shelves.map(|(archive, shelf)| (archive, shelf.path.to_path_buf())).collect();
    out.sort_by(|(_, a), (_, b)| a.as_os_str().cmp(b.as_os_str()));
    out
}
