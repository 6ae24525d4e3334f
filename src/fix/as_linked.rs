//! Models the link of an object with the archives of its fixes, in the proposed order and by the
//! rules of each linker. `merged::solve` selects members without a link order. If several archives
//! define a name, a linker may therefore extract members that were not selected. `prove` calls
//! [`refusals`]: a fix is not verified if a linker would extract a member that does not link.

use super::link_order::{self, References};
use super::linkable;
use crate::audit::{Audit, Libraries, link_references};
use crate::cover::{ArchiveEntry, Coverage, LinkInput, Linker, OutputKind};
use crate::facts::members::LinkFile;
use crate::format::archive::{ArchiveSymbolIndex, Member, SymbolKind};
use crate::format::elf::{Object, Target};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId};
use crate::merged::link::without_version;
use crate::merged::link::{link_again, output_kind};
use crate::merged::solve::{Solution, SymbolClosure};
use crate::order;
use crate::order::Arrange as _;
use crate::text::{show, show_path};
use crate::tree::Tree;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// Models the link of the object with the archives of all its fixes. Returns the fixes that fail:
/// the first member of each, with the reason in words. Fixes for which `doubtful` is true are left
/// out of the link. `references` determine the link order, as in the proposed link.
pub(super) fn refusals(
    audit: &Audit,
    tree: &dyn Tree,
    (solution, references): (&Solution, &References),
    doubtful: &dyn Fn(&SymbolClosure) -> bool,
) -> Vec<(MemberId, String)> {
    let mut out = Vec::new();
    let Some(object) = audit.corpus.files[solution.file].object() else { return out };
    let mut left: Vec<&SymbolClosure> = solution.parts();
    left.retain(|part| !doubtful(part));
    let rejected = rejected(audit, object, &left);
    left.retain(|part| {
        let why = part.archives.iter().find_map(|archive| rejected.get(archive)).cloned();
        let is_linked = why.is_none();
        out.extend(why.map(|why| (part.first, why)));
        is_linked
    });
    let needed = match audit.needed_by(solution.file) {
        Ok(needed) => needed,
        Err(name) => {
            let why =
                format!("{} was not found: it may bring more members into the link", show(name));
            return left.iter().map(|part| (part.first, why.clone())).collect();
        }
    };
    let libraries = IndirectLibraries::new(audit, solution.file, object);
    let indexes = RefCell::default();
    let own = (needed.clone(), libraries.direct.clone());
    let mut link = LinkWithFixes {
        audit,
        tree,
        solution,
        object,
        own,
        needed,
        libraries,
        references,
        indexes,
    };
    // `linkable::refusals` has checked all members of the solution.
    let is_checked = left.len() == solution.parts().len();
    let mut clean = Vec::from_iter(is_checked.then(|| solution.members()));
    while let Some((which, why)) = link.with_libraries(&left).refusal(&left, &mut clean) {
        let before = out.len();
        left.retain(|part| {
            let is_it = which.holds(part);
            out.extend(is_it.then(|| (part.first, why.clone())));
            !is_it
        });
        if before == out.len() {
            out.extend(left.drain(..).map(|part| (part.first, why.clone())));
        }
    }
    out
}

/// Finds the fixes with a reference to a name that only indirect libraries define. An indirect
/// library is loaded with the object, but the object does not need it directly. Linkers therefore
/// reject the reference. Returns the first member of each fix, with the reason in words. Used for
/// objects that are linked from a merged archive, because [`refusals`] does not model their link.
pub(super) fn indirect(audit: &Audit, solution: &Solution) -> Vec<(MemberId, String)> {
    let Some(object) = audit.corpus.files[solution.file].object() else { return Vec::new() };
    let found = IndirectLibraries::new(audit, solution.file, object);
    let open = solution.gain(audit, &solution.parts());
    let open = open.outside.iter().filter(|name| !object.satisfies_link(name));
    let reasons: FastMap<&[u8], String> =
        open.filter_map(|name| Some((&**name, found.reason(name)?))).collect();
    if reasons.is_empty() {
        return Vec::new();
    }
    let library = &audit.library;
    let reason = |member: MemberId| {
        let names = library.symbols(member).filter(|(_, s)| s.kind == SymbolKind::Undefined);
        let mut names = names.map(|(name, _)| without_version(library.text(name)));
        names.find_map(|name| reasons.get(name))
    };
    let members = solution.members().into_iter();
    let refused: FastMap<MemberId, &String> =
        members.filter_map(|member| Some((member, reason(member)?))).collect();
    let reached = solution.reaching(&refused);
    let parts = solution.parts().into_iter();
    let why = |first: &MemberId| Some((*refused.get(reached.get(first)?)?).clone());
    parts.filter_map(|part| Some((part.first, why(&part.first)?))).collect()
}

/// The libraries of a link: those in which linkers find definitions, and all that are loaded with
/// the linked file. A name is undefined in the link if only indirectly loaded libraries define it.
struct IndirectLibraries<'a> {
    audit: &'a Audit,
    /// The libraries in which linkers find definitions.
    direct: Libraries<'a>,
    /// All libraries that are loaded with the linked file.
    loaded: Libraries<'a>,
}

impl<'a> IndirectLibraries<'a> {
    fn new(audit: &'a Audit, file: FileId, object: &Object) -> Self {
        let direct = libraries(audit, file, object);
        Self { audit, direct, loaded: audit.libraries_of(&[file]) }
    }

    /// The reason why a linker does not find `name`, in words. `None` if a direct library defines
    /// the name, or if no library does.
    fn reason(&self, name: &[u8]) -> Option<String> {
        if self.direct.define(name) {
            return None;
        }
        let library = self.loaded.definer(name)?;
        let (library, name) = (show_path(&self.audit.corpus.files[library].path), show(name));
        Some(format!(
            "only {library} defines {name}, and the file does not need that library directly"
        ))
    }
}

/// The libraries from which the link of `file` may take definitions. Normally, these are the
/// libraries that the file needs directly. If a shared object was linked without `-z defs`, members
/// that a fix adds may use the definitions of all loaded libraries. Evidence of such a link is a
/// reference to a name that neither the object nor its direct needs define, and that the audit does
/// not report as undefined. Another loaded object, such as the program that opens the shared
/// object, then defines the name.
fn libraries<'a>(audit: &'a Audit, file: FileId, object: &Object) -> Libraries<'a> {
    let linked = audit.linked_libraries(file);
    if output_kind(object) != OutputKind::Shared {
        return linked;
    }
    let undefined = audit.diagnosis.undefined.iter().filter(|undefined| undefined.file == file);
    let undefined: FastSet<&[u8]> = undefined.map(|undefined| &*undefined.symbol).collect();
    let is_of_others = |(name, kind): &(Box<[u8]>, SymbolKind)| {
        let plain = name.split(|byte| *byte == b'@').next().unwrap_or_default();
        *kind == SymbolKind::Undefined
            && !undefined.contains(plain)
            && !linked.define(name)
            && !object.satisfies_link(name)
    };
    let allows_undefined = link_references(object, true).iter().any(is_of_others);
    if allows_undefined { audit.libraries_of(&[file]) } else { linked }
}

/// The archives that a linker rejects, among the archives of these fixes, each with the reason.
fn rejected(
    audit: &Audit,
    object: &Object,
    parts: &[&SymbolClosure],
) -> BTreeMap<ArchiveId, String> {
    let archives: BTreeSet<ArchiveId> =
        order::set(parts.iter().flat_map(|part| part.archives.iter().copied()));
    let target = object.header.target();
    let why = |archive: ArchiveId| {
        let entry = audit.library.entry(archive);
        without_index(entry).or_else(|| with_bad_member(entry, target))
    };
    order::map(archives.into_iter().filter_map(|archive| Some((archive, why(archive)?))))
}

/// The reason why GNU ld rejects an archive without an index, in words. `None` if the archive has
/// an index.
fn without_index(entry: &ArchiveEntry) -> Option<String> {
    let path = show_path(&entry.path);
    let is_refused = entry.members.lacks_index;
    is_refused.then(|| format!("{path} has no index, which GNU ld requires: run ranlib"))
}

/// The reason, in words, why lld and mold reject an archive: one of its members cannot be read, or
/// is built for another machine. lld and mold do so even if the link does not need the member. GNU
/// ld opens only the members that it needs. `None` if all members are fine.
fn with_bad_member(entry: &ArchiveEntry, target: Target) -> Option<String> {
    let kind = |target: Target| (target.machine, target.is_64, target.big);
    let defect = |member: &Member| {
        if member.is_unknown() && !member.is_opaque() {
            return Some("cannot be read");
        }
        let is_foreign = member.target.is_some_and(|other| kind(other) != kind(target));
        is_foreign.then_some("is built for another machine")
    };
    let mut members = entry.members.list.iter();
    let (member, defect) = members.find_map(|member| Some((member, defect(member)?)))?;
    let (path, name) = (show_path(&entry.path), show(entry.members.name(member)));
    Some(format!("{path}({name}) {defect}: lld and mold read all members"))
}

/// The fixes that fail for one reason.
enum Which {
    /// All fixes that use this archive.
    Archive(ArchiveId),
    /// The fix with this first member.
    First(MemberId),
}

impl Which {
    fn holds(&self, part: &SymbolClosure) -> bool {
        match self {
            Self::Archive(archive) => part.archives.contains(archive),
            Self::First(member) => part.first == *member,
        }
    }
}

struct LinkWithFixes<'a> {
    audit: &'a Audit,
    tree: &'a dyn Tree,
    solution: &'a Solution,
    object: &'a Object,
    /// The libraries that the object needs directly, as a list and with their definitions.
    own: (Vec<FileId>, Libraries<'a>),
    /// The libraries that the object needs directly, and those that the fixes add.
    needed: Vec<FileId>,
    libraries: IndirectLibraries<'a>,
    references: &'a References,
    /// The indexes that were read for [`Self::unlisted`].
    indexes: RefCell<FastMap<ArchiveId, Option<ArchiveSymbolIndex>>>,
}

impl LinkWithFixes<'_> {
    /// The link with the libraries that these fixes add. The libraries of other fixes may define
    /// names to which members of the same archives refer.
    fn with_libraries(&mut self, parts: &[&SymbolClosure]) -> &Self {
        let added: BTreeSet<FileId> =
            order::set(parts.iter().flat_map(|part| part.libraries.iter().copied()));
        let added: Vec<FileId> = added.into_iter().collect();
        if self.needed.get(self.own.0.len()..) != Some(&*added) {
            (self.needed, self.libraries.direct) = self.own.clone();
            self.libraries.direct.add(self.audit, &added);
            self.needed.extend(added);
        }
        self
    }

    /// Models the link of these fixes with every linker. Returns the first reason why a fix fails;
    /// `None` if all succeed. `clean` has sorted sets of members that are known to link together.
    fn refusal(
        &self,
        parts: &[&SymbolClosure],
        clean: &mut Vec<Vec<MemberId>>,
    ) -> Option<(Which, String)> {
        let inputs = self.inputs(parts);
        if inputs.is_empty() {
            return None;
        }
        for (name, linker) in Linker::ALL {
            let of = (self.solution.file, &*self.needed, &self.libraries.direct);
            let coverage = link_again((self.audit, self.tree), of, *linker, &inputs);
            let unlisted = || self.unlisted(&coverage).filter(|_| *linker == Linker::Gnu);
            let of_linker = self.of_linker(parts, &coverage, clean).or_else(unlisted);
            if let Some((which, why)) = of_linker {
                return Some((which, format!("{why} ({name})")));
            }
        }
        None
    }

    /// The first archive whose index lacks a symbol, although the link takes a member of the
    /// archive for this symbol. The archive comes with the reason in words. GNU ld finds members by
    /// the index alone; lld and mold do not read the index.
    fn unlisted(&self, coverage: &Coverage) -> Option<(Which, String)> {
        let library = &self.audit.library;
        let mut indexes = self.indexes.borrow_mut();
        coverage.needed.iter().find_map(|needed| {
            let (archive, symbol) = (library.archive_of(needed.member), &*needed.symbol);
            let file = &self.audit.corpus.files[library.entry(archive).file];
            let read = || LinkFile::open(self.tree, file)?.index();
            let index = indexes.entry(archive).or_insert_with(read).as_ref();
            let offset = library.member(needed.member).offset;
            let has = |name: &[u8]| index.is_some_and(|index| index.has(name, offset));
            // An index lists the default version of a symbol, `NAME@@VERSION`, as `NAME`.
            if has(symbol) || has(without_version(symbol)) {
                return None;
            }
            let (path, name) = (show_path(&file.path), show(symbol));
            let why = format!("the index of {path} lacks {name}: run ranlib");
            Some((Which::Archive(archive), why))
        })
    }

    /// True if the member has a strong reference to `name`. A linker accepts a weak reference, even
    /// if a library has a strong reference to the same name.
    fn refers_strongly(&self, member: MemberId, name: &[u8]) -> bool {
        let library = &self.audit.library;
        library.find(name).is_some_and(|id| {
            let mut symbols = library.symbols(member);
            symbols.any(|(other, symbol)| other == id && symbol.kind == SymbolKind::Undefined)
        })
    }

    /// The first reason why the members that one linker selects do not link; `None` if they link.
    /// In this case, the set of the members is added to `clean`, and an equal set is not checked
    /// again. A subset of a clean set is checked too: it may lack a member that hides a symbol, or
    /// the member with the section for a name such as `__start_foo`.
    fn of_linker(
        &self,
        parts: &[&SymbolClosure],
        coverage: &Coverage,
        clean: &mut Vec<Vec<MemberId>>,
    ) -> Option<(Which, String)> {
        let library = &self.audit.library;
        for undefined in &coverage.undefined {
            let mut members = undefined.by.iter().filter_map(|by| by.member());
            let by = members.find(|member| self.refers_strongly(*member, &undefined.symbol));
            let name = show(&undefined.symbol);
            if let Some(member) = by {
                let why = self.libraries.reason(&undefined.symbol);
                let why = why.unwrap_or_else(|| format!("{name} would be undefined in link order"));
                return Some((Which::Archive(library.archive_of(member)), why));
            }
            let part = self.solution.by_symbol.get(&*undefined.symbol);
            let part = part.filter(|part| parts.iter().any(|known| known.first == part.first));
            if let Some(part) = part {
                return Some((
                    Which::First(part.first),
                    format!("{name} stays undefined in link order"),
                ));
            }
        }
        let taken: Vec<MemberId> = coverage.needed.iter().map(|needed| needed.member).collect();
        let mut set = taken.clone();
        set.arrange();
        if clean.contains(&set) {
            return None;
        }
        let refused = linkable::check(self.audit, self.tree, (self.solution, self.object), &taken);
        let first = taken.iter().find_map(|member| Some((*member, refused.get(member)?)));
        if let Some((member, why)) = first {
            return Some((Which::Archive(library.archive_of(member)), why.clone()));
        }
        clean.push(set);
        None
    }

    /// The archives of these fixes, in link order.
    fn inputs(&self, parts: &[&SymbolClosure]) -> Vec<LinkInput> {
        let library = &self.audit.library;
        let archives: BTreeSet<ArchiveId> =
            order::set(parts.iter().flat_map(|part| part.archives.iter().copied()));
        let mut archives: Vec<ArchiveId> = archives.into_iter().collect();
        let path = |archive: &ArchiveId| -> PathBuf { library.entry(*archive).path.to_path_buf() };
        archives.sort_by_key(path);
        let mut out = Vec::new();
        for circle in link_order::sorted(&archives, self.references) {
            let is_group = circle.len() > 1;
            out.extend(is_group.then_some(LinkInput::StartGroup));
            out.extend(circle.into_iter().map(LinkInput::Archive));
            out.extend(is_group.then_some(LinkInput::EndGroup));
        }
        out
    }
}
