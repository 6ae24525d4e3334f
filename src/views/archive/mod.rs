//! `archive`: the members of static archives that a linked object needs, and the names that stay
//! undefined. With `--self`, `installed` finds the archives of a prefix that cannot be linked. This
//! module builds the question from an audit and the command line; `cover` answers it.

mod hints;
mod human;
mod inputs;
mod installed;
mod json;
pub mod lld;
mod lto;
mod mixed_tls;
mod rejected;
mod shared_references;
mod table;

pub use hints::{Hints, ShownHints};
pub use inputs::{LinkArgument, PositionalOption, TypedLink};
pub use installed::InstalledArchives;
pub use lto::GENERATED;
pub use mixed_tls::MixedTls;
pub use rejected::{RejectedFile, Rejection};

use super::{Subject, ViewOutput};
use crate::audit::Audit;
use crate::cover::{
    self, ArchiveSet, Coverage, CoverageQuestion, LinkInput, Linker, Origins, ReferredBy,
    ReferringFile, ShownReferrers, UndefinedName,
};
use crate::facts::Content;
use crate::format::archive::{DependentLibraries, MemberKind};
use crate::format::elf::{Object, Target};
use crate::format::script::OutputFormat;
use crate::id::{ArchiveId, FastSet, FileId, MemberId};
use crate::merged::runtime::{is_of_tool, is_runtime};
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::report::Style;
use crate::text::{show, show_path};
use crate::tree::Tree;
use inputs::Inputs;
use shared_references::SharedObjects;
use std::cell::RefCell;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The output formats of `archive`.
pub const OUTPUTS: &[ViewOutput<ArchiveAnswer>] = &[
    ViewOutput { name: "human", render: for_people },
    ViewOutput { name: "table", render: as_table },
    ViewOutput { name: "json", render: json::render },
];

fn for_people(
    subject: &Subject<'_>,
    view: &ArchiveAnswer,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    match &view.installed {
        Some(installed) => installed::human::render(subject, (view, installed), style, out),
        None => human::render(subject, view, style, out),
    }
}

fn as_table(
    subject: &Subject<'_>,
    view: &ArchiveAnswer,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    match &view.installed {
        Some(installed) => installed::table::render(subject, (view, installed), style, out),
        None => table::render(subject, view, style, out),
    }
}

/// The question of `archive`, from its command line.
#[derive(Debug, Default)]
pub struct ArchiveQuestion {
    /// The archives of a link whose order does not matter; not used if `link` is set.
    pub archives: Vec<PathBuf>,
    /// The link with all of its inputs in order; `None` if their order does not matter.
    pub link: Option<TypedLink>,
    /// The files of `--root-object`, whose references need definitions; not used if `link` is set.
    pub objects: Vec<PathBuf>,
    /// The names of `--root-symbol`, which need definitions.
    pub symbols: Vec<Box<[u8]>>,
    /// True with `--all-members`: the references of all members need definitions.
    pub all_members: bool,
    /// The kind of output file, and the linker.
    pub output: cover::LinkOutput,
    /// True with `--gc-sections`: references from sections that the linker drops do not count.
    pub gc_sections: bool,
}

/// The answer of `archive`, with the parts of the question that outputs show.
#[derive(Default)]
pub struct ArchiveAnswer {
    /// The objects and shared objects whose references need definitions.
    pub roots: Vec<ReferringFile>,
    /// The names of `--root-symbol`, which need definitions.
    pub symbols: Vec<Box<[u8]>>,
    /// True if the references of all members need definitions.
    pub all_members: bool,
    /// The linker whose rules decided the answer; `None` if the order of the inputs does not
    /// matter.
    pub linker: Option<Linker>,
    /// The archives that are part of the link, with their paths as on the command line.
    pub archives: Vec<(ArchiveId, PathBuf)>,
    /// The candidate archives, which may be added to the link. If their order matters, the paths
    /// are as on the command line.
    pub candidates: Vec<(ArchiveId, PathBuf)>,
    /// The archives whose members are extracted on demand, in the order of the command line, for
    /// lld's tables; empty if the order does not matter.
    typed: Vec<(ArchiveId, PathBuf)>,
    /// Objects between `--start-lib` and `--end-lib`, which are extracted like members.
    lazy: FastSet<ArchiveId>,
    linked: FastSet<ArchiveId>,
    added: FastSet<ArchiveId>,
    origins: RefCell<Origins>,
    /// The needed members and the undefined names.
    pub coverage: Coverage,
    /// Names without a known definition. If members are `unread`, libraries are `not_found`, or the
    /// symbols of an object are unknown, one of these files may define the name. Otherwise, only
    /// intermediate language refers to the name, and the compiler may drop the reference.
    pub unknown: Vec<UndefinedName>,
    /// Members whose symbols are unknown: they could not be read or have no readable symbol table,
    /// and no index lists their definitions.
    pub unread: Vec<MemberId>,
    /// The effect of linked objects in intermediate language.
    lto: lto::LtoEffect,
    /// The libraries that GNU ld reads because inputs need them. A referrer whose index is after
    /// the last of `roots` is one of these libraries.
    behind: Vec<Arc<Path>>,
    /// Libraries that inputs need and that were not found, each with the file that needs it. GNU ld
    /// may find these libraries elsewhere.
    not_found: Vec<(Box<[u8]>, Arc<Path>)>,
    /// Archives without an index that GNU ld can read. GNU ld refuses to search them.
    pub unindexed: Vec<ArchiveId>,
    /// Members and linked files that the linker rejects even if no reference needs them.
    pub rejected: Vec<(RejectedFile, Rejection)>,
    /// Names that are thread-local in one file and ordinary symbols in another, so that the linker
    /// rejects the link.
    pub mixed_tls: Vec<MixedTls>,
    /// Archive members that were skipped for their class or machine.
    pub foreign: Vec<MemberId>,
    /// Roots for another class or machine than the first root, as indices in `roots`. The
    /// definitions in these roots are ignored.
    pub foreign_roots: Vec<usize>,
    /// The objects with dependent libraries, in the order in which lld reads them. Empty if the
    /// linker ignores these libraries.
    pub dependents: Vec<(ReferredBy, DependentLibraries)>,
    /// The part of the answer that only `--self` has; `None` without that option.
    pub installed: Option<InstalledArchives>,
    /// Hints at the origin of undefined names.
    pub hints: Hints,
}

/// The parts of the answer that `output` shows in `style`. Hints are needed only for these parts.
pub fn shown(output: &ViewOutput<ArchiveAnswer>, style: Style) -> ShownHints {
    match output.name {
        "table" => ShownHints { owners: false, ..human::shown(style) },
        "human" => human::shown(style),
        _ => ShownHints::ALL,
    }
}

impl ArchiveAnswer {
    /// Answers the question, with hints for the parts that are `shown`. The error is a sentence
    /// about the arguments.
    pub fn new(
        (audit, plan, tree): (&Audit, &Plan, &dyn Tree),
        asked: &ArchiveQuestion,
        shown: ShownHints,
    ) -> Result<Self, String> {
        let inputs = Inputs::new((audit, plan), asked)?;
        let Inputs { archives, candidates, typed, lazy, files, mut roots, in_static, mut link } =
            inputs;
        let emulation = asked.link.as_ref().and_then(|link| link.emulation);
        let foreign_roots = drop_foreign_definitions(&mut roots, emulation);
        let fits = |at: usize| !foreign_roots.contains(&at);
        // In a link, only the inputs define names. Libraries that the inputs need do not define
        // any: GNU ld reports "DSO missing from command line".
        let brings = |at: usize| fits(at) && !roots[at].input;
        let near: Vec<FileId> =
            files.iter().enumerate().filter(|(at, _)| brings(*at)).map(|(_, file)| *file).collect();
        let libraries = audit.libraries_of(&near);
        let is_read = |at: usize, of: &Object| !roots[at].input || of.header.has_sections();
        let object = |(at, file): (usize, &FileId)| {
            audit.corpus.files[*file].object().filter(|of| fits(at) && is_read(at, of))
        };
        let objects: Vec<Option<&Object>> = files.iter().enumerate().map(object).collect();
        let ids = |list: &[(ArchiveId, PathBuf)]| -> Vec<ArchiveId> {
            list.iter().map(|(archive, _)| *archive).collect()
        };
        let (linked, added) = (ids(&archives), ids(&candidates));
        let given = (&*files, &*roots, &*objects);
        let question = CoverageQuestion {
            library: &audit.library,
            roots: &roots,
            symbols: &asked.symbols,
            all_members: asked.all_members,
            archives: &linked,
            candidates: &added,
            objects: &objects,
            provided: &|name| libraries.define(name),
            output: asked.output,
            gc_sections: asked.gc_sections,
            link: None,
        };
        let (mut shared, mut coverage) = (SharedObjects::default(), Coverage::default());
        if let (Some(link), Some(typed)) = (&mut link, &asked.link) {
            (shared, coverage) =
                shared_references::answer_in_order(audit, given, &question, (link, typed));
        }
        let question = CoverageQuestion { link: link.as_ref(), ..question };
        if link.is_none() {
            coverage = cover::cover(&question);
        }
        let adds_dependents = asked.link.as_ref().is_some_and(|link| link.adds_dependents);
        let read =
            if adds_dependents { std::mem::take(&mut coverage.read_first) } else { Vec::new() };
        let dependents = audit.dependent_libraries(tree, (&question, &files), &read);
        let referrers = ShownReferrers { names: shown.names, of_name: shown.referrers };
        let entering = audit.add_discarded(tree, (&question, &files), &mut coverage);
        audit.refine(tree, (&question, &files), referrers, &mut coverage);
        if let Some(link) = &link {
            shared.add_undefined(&question, link, &mut coverage);
        }
        let (foreign, mut unread) = (foreign(&question, emulation), unread(&question));
        let lto = lto::LtoEffect::new(&question, &coverage);
        let unindexed = link.as_ref().map(|link| unindexed(&audit.library, link));
        let shared_files = (&*roots, &*objects, &in_static);
        let rejected =
            link.as_ref().map(|link| rejected::find(&audit.library, link, shared_files, &entering));
        let may_define = !unread.is_empty() || roots.iter().any(|root| root.opaque.is_some());
        let mut unknown = if may_define {
            std::mem::take(&mut coverage.undefined)
        } else {
            lto::take_droppable(&question, &mut coverage)
        };
        unknown.extend(shared.take_unsure(&question, &mut coverage));
        unknown.extend(take_of_shared_members(&question, &mut coverage, &mut unread));
        let places = hints::HintFiles {
            archives: linked.iter().chain(&added).copied().collect(),
            objects: files.iter().zip(&objects).filter_map(|(f, o)| Some((*f, (*o)?))).collect(),
        };
        let mut out = Self {
            mixed_tls: mixed_tls::find(audit, given, link.as_ref(), &coverage),
            symbols: asked.symbols.clone(),
            all_members: asked.all_members,
            linker: link.map(|link| link.linker),
            coverage,
            unknown,
            unread,
            lto,
            behind: shared.paths(),
            not_found: shared.missing,
            unindexed: unindexed.unwrap_or_default(),
            rejected: rejected.unwrap_or_default(),
            foreign,
            foreign_roots,
            roots,
            linked: linked.into_iter().collect(),
            added: added.into_iter().collect(),
            origins: RefCell::default(),
            typed,
            lazy,
            archives,
            candidates,
            dependents,
            installed: None,
            hints: Hints::default(),
        };
        out.hints = Hints::new((audit, plan, tree), &out, &places, shown);
        Ok(out)
    }

    /// True if a name stays undefined, or if the linker refuses an input. With `--all-members`,
    /// undefined names are not errors.
    pub fn fails(&self) -> bool {
        let is_open = !self.all_members && !self.coverage.undefined.is_empty();
        let is_refused = !self.unindexed.is_empty() || !self.rejected.is_empty();
        let is_refused = is_refused || !self.mixed_tls.is_empty();
        is_refused || self.refuses_input() || is_open
    }

    /// True if everything that affects the answer was read. False with an opaque member (in
    /// intermediate language) or a file that the linker refuses, because the references of these
    /// are unknown.
    pub fn is_complete(&self, report_is_complete: bool) -> bool {
        report_is_complete && self.is_certain() && !self.refuses_input()
    }

    /// The members for another class or machine that make the linker refuse the link. lld and mold
    /// refuse all members for another class or machine, and GNU ld only those that it extracts.
    fn refused(&self) -> &[MemberId] {
        match self.linker {
            Some(Linker::Lld | Linker::Mold) => &self.foreign,
            Some(Linker::Gnu) => &self.coverage.refused,
            None => &[],
        }
    }

    /// True if the linker refuses a file or member for another class or machine.
    fn refuses_input(&self) -> bool {
        !self.refused().is_empty() || self.linker.is_some() && !self.foreign_roots.is_empty()
    }

    /// False if the real link may differ from the answer, because members could not be read or
    /// objects are in intermediate language.
    fn is_certain(&self) -> bool {
        self.coverage.opaque.is_empty()
            && self.unknown.is_empty()
            && !self.lto.is_uncertain
            && self.opaque_roots().next().is_none()
    }

    /// The objects whose symbols are unknown, each with its kind.
    fn opaque_roots(&self) -> impl Iterator<Item = (&ReferringFile, MemberKind)> {
        self.roots.iter().filter_map(|root| Some((root, root.opaque?)))
    }

    /// True for an archive that is part of the link.
    pub fn is_linked(&self, archive: ArchiveId) -> bool {
        self.linked.contains(&archive)
    }

    /// A member that defines the undefined name `name`. The linker discarded this definition, or
    /// did not take it because of its position, target or visibility. `None` if no given archive
    /// defines the name.
    fn untaken(&self, library: &ArchiveSet, name: &[u8]) -> Option<MemberId> {
        let found = library.definitions(library.find(name)?);
        let given = |member: &MemberId| {
            let archive = library.archive_of(*member);
            self.linked.contains(&archive) || self.added.contains(&archive)
        };
        found.map(|definition| definition.member).filter(given).min()
    }

    /// True if GNU ld does not find `name` in the member, because the archive's index lacks the
    /// name.
    fn is_unlisted(&self, library: &ArchiveSet, member: MemberId, name: &[u8]) -> bool {
        let searched = !self.unindexed.contains(&library.archive_of(member));
        self.linker == Some(Linker::Gnu) && searched && !library.is_listed(member, name)
    }

    /// The member of a candidate archive from which `member` was merged. `None` if there is none,
    /// or if the archive of `member` is not part of the link.
    pub fn origin(&self, library: &ArchiveSet, member: MemberId) -> Option<MemberId> {
        if !self.is_linked(library.archive_of(member)) {
            return None;
        }
        let is_candidate = |archive| self.added.contains(&archive);
        self.origins.borrow_mut().of(library, member, is_candidate)
    }

    /// The referrer, in words.
    pub fn who(&self, library: &ArchiveSet, by: ReferredBy) -> String {
        match by {
            ReferredBy::Asked => "an option or linker script".to_owned(),
            ReferredBy::EntryPoint => "entry point".to_owned(),
            ReferredBy::LibraryCall => "code that LTO may generate".to_owned(),
            ReferredBy::Root(at) => self.root(at).map(show_path).unwrap_or_default(),
            ReferredBy::Member(member) => self.member(library, member),
        }
    }

    /// The path of the referrer with the index `at`: a root, or a library of `behind`. `None` if
    /// there is none.
    fn root(&self, at: usize) -> Option<&Path> {
        let behind = || self.behind.get(at.checked_sub(self.roots.len())?).map(|path| &**path);
        self.roots.get(at).map(|root| &*root.path).or_else(behind)
    }

    /// A member in words: the file name of its archive, its own name, and its origin.
    fn member(&self, library: &ArchiveSet, member: MemberId) -> String {
        let archive = |member| file_name(&library.entry(library.archive_of(member)).path);
        // A member after the end of a truncated archive has no name.
        let is_nameless = library.member_name(member).is_empty();
        if self.lazy.contains(&library.archive_of(member)) || is_nameless {
            return archive(member);
        }
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

/// The archives that GNU ld would search but that have no index in GNU ld's format. GNU ld accepts
/// an empty archive without an index.
fn unindexed(library: &ArchiveSet, link: &cover::Link) -> Vec<ArchiveId> {
    let searched = link.inputs.iter().filter_map(|input| match input {
        LinkInput::Archive(archive) if link.indexed => Some(*archive),
        _ => None,
    });
    let mut out: Vec<ArchiveId> = searched
        .filter(|archive| {
            let members = &library.entry(*archive).members;
            members.index.as_ref().is_none_or(|index| index.is_bsd) && !members.list.is_empty()
        })
        .collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// Archive members for another class or machine than the emulation (`-m`) or, without one, the
/// referring objects.
fn foreign(question: &CoverageQuestion<'_>, emulation: Option<OutputFormat>) -> Vec<MemberId> {
    let Some(target) = question.target() else { return Vec::new() };
    let is_foreign = |other: Target| {
        emulation.map_or_else(|| !target.is_linkable(other), |format| !format.fits(other))
    };
    let library = question.library;
    let archives = question.archives.iter().chain(question.candidates);
    let members = archives.flat_map(|archive| library.members_of(*archive));
    members.filter(|member| library.member(*member).target.is_some_and(is_foreign)).collect()
}

/// Removes the definitions of roots for another class or machine than the emulation (`-m`) and the
/// first root, and returns the indices of these roots. Linkers refuse such files.
fn drop_foreign_definitions(
    roots: &mut [ReferringFile],
    emulation: Option<OutputFormat>,
) -> Vec<usize> {
    let Some(target) = roots.iter().find_map(|root| root.target) else { return Vec::new() };
    let is_foreign = |other: Target| {
        !target.is_linkable(other) || emulation.is_some_and(|format| !format.fits(other))
    };
    let mut out = Vec::new();
    for (at, root) in roots.iter_mut().enumerate() {
        if root.target.is_some_and(is_foreign) {
            root.symbols.retain(|(_, kind)| !kind.is_definition());
            out.push(at);
        }
    }
    out
}

/// Members of the given and candidate archives whose symbols are unknown: they could not be read or
/// have no readable symbol table, and no index lists their definitions.
fn unread(question: &CoverageQuestion<'_>) -> Vec<MemberId> {
    let library = question.library;
    let archives = question.archives.iter().chain(question.candidates);
    let members = archives.flat_map(|archive| library.members_of(*archive));
    let unknown = members.filter(|member| library.member(*member).is_unknown());
    unknown.filter(|member| library.hashes(*member).is_empty()).collect()
}

/// Removes and returns the undefined names that shared objects in archives may define, and adds
/// these members to `unread`. GNU ld links such a member if a reference needs a name that the index
/// lists for it. Other linkers ignore or reject it. Its symbols are not read.
fn take_of_shared_members(
    question: &CoverageQuestion<'_>,
    coverage: &mut Coverage,
    unread: &mut Vec<MemberId>,
) -> Vec<UndefinedName> {
    let library = question.library;
    let link = question.link.filter(|link| link.linker == Linker::Gnu);
    let archives = link.into_iter().flat_map(|link| &link.inputs).filter_map(|input| match input {
        LinkInput::Archive(archive) | LinkInput::Whole(archive) => Some(*archive),
        _ => None,
    });
    let members = archives.flat_map(|archive| library.members_of(archive));
    let is_shared = |member: &MemberId| library.member(*member).kind == MemberKind::NotRelocatable;
    let mut members: Vec<MemberId> = members.filter(is_shared).collect();
    let defines = |member: &MemberId, one: &UndefinedName| library.is_listed(*member, &one.symbol);
    let is_unsure = |one: &mut UndefinedName| members.iter().any(|member| defines(member, one));
    let names: Vec<_> = coverage.undefined.extract_if(.., is_unsure).collect();
    members.retain(|member| names.iter().any(|one| defines(member, one)));
    unread.extend(members);
    names
}

/// The reason why the references of a member are unknown; empty if they are known.
fn reason(kind: MemberKind) -> &'static str {
    match kind {
        MemberKind::Bitcode => "bitcode without a symbol table",
        MemberKind::SlimLto => "GCC's intermediate language without a symbol table",
        MemberKind::Missing => "the file of a thin archive does not exist",
        MemberKind::NoFile(_) => "the file of a thin archive cannot be read",
        MemberKind::Outside => "the file of a thin archive is outside the given paths",
        MemberKind::Damaged => "the object is damaged",
        MemberKind::NotRelocatable => "a shared object in an archive, which GNU ld links",
        _ => "",
    }
}

/// The file at `path`. The error is a message for a path that is neither an ELF file nor an
/// archive.
fn file(audit: &Audit, path: &Path) -> Result<FileId, String> {
    let known = audit.corpus.file_at(path);
    known.ok_or_else(|| format!("{}: neither an ELF file nor an archive", show_path(path)))
}

/// The archives at `paths`, in the given order. The error names a path that is not a static
/// archive.
fn entries(audit: &Audit, paths: &[PathBuf]) -> Result<Vec<(ArchiveId, PathBuf)>, String> {
    let mut out: Vec<(ArchiveId, PathBuf)> = Vec::new();
    for path in paths {
        let file = file(audit, path)?;
        let is_archive = matches!(audit.corpus.files[file].content, Content::Archive(_));
        let Some(archive) = audit.library.archive(file).filter(|_| is_archive) else {
            return Err(format!("{}: not a static archive", show_path(path)));
        };
        out.push((archive, path.clone()));
    }
    Ok(out)
}

/// The archives of `--from` and `--lib-path`, except those in `not`, sorted by path. Archives of a
/// tool such as valgrind are skipped, unless one of these options names a path inside of a tool's
/// directory. If the output is a shared object or a file of `--root-object` is dynamic, archives of
/// the C library and of compilers are skipped too.
fn providers(
    (audit, plan): (&Audit, &Plan),
    not: &[(ArchiveId, PathBuf)],
    asked: &ArchiveQuestion,
) -> Vec<(ArchiveId, PathBuf)> {
    let is_dynamic = |path: &PathBuf| {
        let file = audit.corpus.file_at(path);
        file.and_then(|file| audit.corpus.files[file].object()).is_some_and(Object::is_dynamic)
    };
    let dynamic =
        asked.output.kind == cover::OutputKind::Shared || asked.objects.iter().any(is_dynamic);
    let is_there = |path: &Path| audit.corpus.file_at(path).is_some();
    let names_tool = plan.lib_paths.iter().any(|path| is_of_tool(path));
    let entries = audit.library.entries().filter(|(archive, entry)| {
        audit.corpus.files[entry.file].provider
            && !not.iter().any(|(known, _)| known == archive)
            && !(dynamic && is_runtime(&entry.path, &is_there))
            && (names_tool || !is_of_tool(&entry.path))
    });
    let mut out: Vec<(ArchiveId, PathBuf)> =
        entries.map(|(archive, entry)| (archive, entry.path.to_path_buf())).collect();
    out.arrange_by(|(_, a), (_, b)| a.as_os_str().cmp(b.as_os_str()));
    out
}
