//! Answers a question by the rules of one linker, which depend on link order. Each linker has a
//! file. The names that stay undefined are found in the same way for all linkers, from the
//! definitions that the linker chose.

mod gnu;
mod libcalls;
mod lld;
mod lto;
mod mold;

use super::order_independent::{References, referrers};
use super::{
    Coverage, CoverageQuestion, Link, LinkInput, Linker, OutputKind, ReferredBy, UndefinedName,
    Wrap,
};
use crate::format::archive::SymbolKind;
use crate::id::{FastMap, FastSet, Id as _};

pub use libcalls::all as library_calls;

/// The definition that the linker chose for a name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum ChosenDefinition {
    /// An object or an option defines the name.
    Object,
    /// A shared object defines the name.
    Shared,
}

/// The result of a linker's symbol resolution: members in order, and the kind of file that defines
/// each name.
#[derive(Default)]
struct Resolved<'q> {
    coverage: Coverage,
    found: FastMap<&'q [u8], ChosenDefinition>,
    /// Names whose weak references are treated as strong.
    strong: FastSet<&'q [u8]>,
    /// The names that are in `strong` only because they have a version, or because some member
    /// defines them with a default version.
    suffixed: FastSet<&'q [u8]>,
    /// Names with strong references that may stay undefined if the output is a shared object,
    /// because mold saw a weak reference first. A reference with restricted visibility still needs
    /// a definition.
    may_stay: FastSet<&'q [u8]>,
    /// Names of `--wrap` without effect.
    unwrapped: FastSet<&'q [u8]>,
    /// The PROVIDEs without effect, as indices of [`Link::defined`].
    unprovided: FastSet<usize>,
    /// Names with a version that no shared object satisfies under mold, even if one defines them.
    unclaimed: FastSet<&'q [u8]>,
    /// Names in version scripts without the definition that lld needs.
    unversioned: FastSet<&'q [u8]>,
    /// Shared objects that are not part of the link, as indices of roots.
    forgotten: FastSet<usize>,
}

/// Answers a question by the rules of the link's linker. For lld, [`Coverage::needed`] is in the
/// order in which lld reports members: a member comes after the members that it pulls in.
pub fn in_order<'q>(question: &'q CoverageQuestion<'q>, link: &'q Link) -> Coverage {
    let versioned = versioned_names(question, link);
    let resolved = match link.linker {
        Linker::Lld => lld::link(question, link, &versioned),
        Linker::Gnu => gnu::link(question, link, &versioned),
        Linker::Mold => mold::link(question, link, &versioned),
    };
    let mut link = link.clone();
    link.wraps.retain(|wrap| !resolved.unwrapped.contains(&*wrap.name));
    let mut places = 0..;
    link.defined.retain(|_| places.next().is_none_or(|at| !resolved.unprovided.contains(&at)));
    link.shared_references.retain(|(_, at)| !resolved.forgotten.contains(at));
    redirect_shared(&mut link);
    let valueless = valueless(question, &link, &resolved);
    let mut open = undefined(question, &link, &resolved, &valueless);
    open.extend(&resolved.unversioned);
    let mut dropped = lto::dropped_targets(question, &link, &resolved);
    let has_exported = lto::keeps_exported(question, &link) && !dropped.is_empty();
    if has_exported {
        dropped.clear();
    }
    open.extend(&dropped);
    let wrappers = open_wrappers(question, &link, &resolved);
    let Resolved { mut coverage, found, strong, forgotten, .. } = resolved;
    coverage.forgotten = forgotten;
    coverage.valueless = valueless.into_iter().map(Into::into).collect();
    coverage.only_lto_defines = dropped.into_iter().map(Into::into).collect();
    let unexported = unexported(question, (&link, &found), &mut coverage);
    lto::add_droppable(question, &link, &unexported, &mut coverage);
    coverage.needs_exports |= has_exported;
    let members = coverage.needed.iter().map(|needed| needed.member);
    let common = link.linker == Linker::Mold;
    let references = References { link: Some(&link), strong, common };
    coverage.undefined = referrers(question, &references, members, &open);
    coverage.undefined.extend(unexported);
    add_own_references(question, &wrappers, &mut coverage);
    coverage.undefined.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    coverage.opaque.sort_unstable();
    coverage
}

/// The shared objects with the DT_NEEDED name of an earlier shared object, as indices of roots.
/// lld and mold drop the later ones, even if the link drops the earlier one for `--as-needed`
/// (`SharedFile::parse` in `lld/ELF/InputFiles.cpp`; `elf_main` in `elf/main.cc` of mold 1.10).
fn repeated(question: &CoverageQuestion<'_>, link: &Link) -> FastSet<usize> {
    let mut known: FastSet<&[u8]> = FastSet::default();
    let roots = link.inputs.iter().filter_map(|input| match input {
        LinkInput::Root(at) if question.is_shared_input(*at) => Some(*at),
        _ => None,
    });
    roots.filter(|at| !known.insert(question.needed_name(link, *at))).collect()
}

/// The names with a version (`NAME@VERSION`) to which files and options of the link refer, sorted.
/// Only these are looked up in shared objects, because few references have a version.
fn versioned_names<'q>(question: &'q CoverageQuestion<'q>, link: &'q Link) -> Vec<&'q [u8]> {
    let library = question.library;
    let symbols = question.roots.iter().flat_map(|root| &root.symbols);
    let of_roots = symbols.filter(|(_, kind)| !kind.is_definition()).map(|(name, _)| &**name);
    let archives = link.inputs.iter().filter_map(LinkInput::archive);
    let archives = archives.filter(|archive| library.entry(*archive).members.versioned);
    let members = archives.flat_map(|archive| library.members_of(archive));
    let symbols = members.flat_map(|member| library.symbols(member));
    let references = symbols.filter(|(_, symbol)| !symbol.kind.is_definition());
    let of_members = references.map(|(name, _)| library.text(name));
    let asked = question.symbols.iter().chain(&link.undefined).chain(&link.requested);
    let all = of_roots.chain(of_members).chain(asked.map(|name| &**name));
    let mut out: Vec<&[u8]> = all.filter(|name| name.contains(&b'@')).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// For each `--wrap NAME` of lld, replaces `__real_NAME` by NAME in the references of shared
/// objects, because lld makes `__real_NAME` a copy of NAME (`SymbolTable::wrap`). References to
/// NAME itself stay.
fn redirect_shared(link: &mut Link) {
    if link.linker != Linker::Lld {
        return;
    }
    for (name, _) in &mut link.shared_references {
        if let Some(wrap) = link.wraps.iter().find(|wrap| wrap.real == *name) {
            *name = wrap.name.clone();
        }
    }
}

/// Names to which shared objects refer and that the output does not export. An object defines them,
/// and their visibility is hidden or internal in some object. Linkers report these names
/// (`Writer<ELFT>::finalizeSections` of lld, `elf_link_output_extsym` of GNU ld). GNU ld reports
/// them only in programs, and with `--gc-sections` only names in kept sections. The result is then
/// empty.
fn unexported(
    question: &CoverageQuestion<'_>,
    (link, found): (&Link, &FastMap<&[u8], ChosenDefinition>),
    coverage: &mut Coverage,
) -> Vec<UndefinedName> {
    let mut referrers: FastMap<&[u8], Vec<ReferredBy>> = FastMap::default();
    for (name, root) in &link.shared_references {
        if found.get(&**name) == Some(&ChosenDefinition::Object) {
            referrers.entry(name).or_default().push(ReferredBy::Root(*root));
        }
    }
    coverage.needs_exports = !referrers.is_empty();
    let is_ignored = question.gc_sections || question.output.kind == OutputKind::Shared;
    if referrers.is_empty() || link.linker == Linker::Gnu && is_ignored {
        return Vec::new();
    }
    let library = question.library;
    let of_roots = question.roots.iter().flat_map(|root| &root.unexported).map(|name| &**name);
    let members = coverage.needed.iter().flat_map(|needed| library.symbols(needed.member));
    let of_members = members.filter(|(_, symbol)| symbol.is_unexported());
    let names = of_roots.chain(of_members.map(|(name, _)| library.text(name)));
    let reported = names.filter_map(|name| referrers.remove_entry(name));
    let undefined = |(name, mut by): (&[u8], Vec<ReferredBy>)| {
        by.dedup();
        UndefinedName { symbol: name.into(), by, unread: 0 }
    };
    reported.map(undefined).collect()
}

/// The wrappers of `--wrap` for which lld finds no definition, by the wrapped name. If an object
/// refers to its own definition of the wrapped name, lld redirects this reference to the wrapper
/// too (`redirectSymbols` in `lld/ELF/Driver.cpp`).
fn open_wrappers<'q>(
    question: &CoverageQuestion<'_>,
    link: &'q Link,
    resolved: &Resolved<'_>,
) -> FastMap<&'q [u8], &'q [u8]> {
    let is_lld = link.linker == Linker::Lld;
    let is_open = |wrap: &&Wrap| {
        let name = &*wrap.wrapper;
        let is_found = resolved.found.contains_key(name) || question.is_linker_defined(name);
        !is_found && !question.is_exported(name, &resolved.forgotten)
    };
    let wraps = link.wraps.iter().filter(|_| is_lld).filter(is_open);
    wraps.map(|wrap| (&*wrap.name, &*wrap.wrapper)).collect()
}

/// If a wrapped name is a common symbol of an object, adds the object to the referrers of the
/// wrapper. The object's symbol table does not tell if the object refers to the name: `refine`
/// drops objects without such a relocation. `refine` reads no relocations to definitions of other
/// kinds (`RelocationFilter::Names`), so objects with such definitions are not added.
fn add_own_references(
    question: &CoverageQuestion<'_>,
    wrappers: &FastMap<&[u8], &[u8]>,
    coverage: &mut Coverage,
) {
    if wrappers.is_empty() {
        return;
    }
    let library = question.library;
    let roots = question.roots.iter().enumerate().filter(|(_, root)| !root.linked && !root.lto);
    let of_roots = roots.flat_map(|(at, root)| {
        let symbols = root.symbols.iter().filter(|(_, kind)| kind.is_tentative());
        symbols.map(move |(name, _)| (&**name, ReferredBy::Root(at)))
    });
    let members = coverage.needed.iter().map(|needed| needed.member);
    let members = members.filter(|member| !library.member(*member).kind.is_lto());
    let of_members = members.flat_map(|member| {
        let symbols = library.symbols(member).filter(|(_, symbol)| symbol.kind.is_tentative());
        symbols.map(move |(name, _)| (library.text(name), ReferredBy::Member(member)))
    });
    let mut added: FastMap<&[u8], Vec<ReferredBy>> = FastMap::default();
    for (name, by) in of_roots.chain(of_members) {
        if let Some(wrapper) = wrappers.get(name) {
            added.entry(*wrapper).or_default().push(by);
        }
    }
    for undefined in &mut coverage.undefined {
        if let Some(by) = added.remove(&*undefined.symbol) {
            undefined.by.extend(by);
            undefined.by.sort_unstable();
            undefined.by.dedup();
        }
    }
    let new = added.into_iter();
    let new = new.map(|(name, by)| UndefinedName { symbol: name.into(), by, unread: 0 });
    coverage.undefined.extend(new);
}

/// True for a reference that needs a definition: a strong one, or a weak one to a name in `strong`.
fn counts(kind: SymbolKind, name: &[u8], strong: &FastSet<&[u8]>) -> bool {
    kind == SymbolKind::Undefined || kind == SymbolKind::WeakUndefined && strong.contains(name)
}

/// `name` is `NAME@VERSION`. True if an object defines VERSION as the default version of NAME.
fn has_version(found: &FastMap<&[u8], ChosenDefinition>, name: &[u8]) -> bool {
    let at = memchr::memchr(b'@', name);
    at.is_some_and(|at| found.contains_key(&*[&name[..at], b"@", &name[at..]].concat()))
}

/// Names in expressions that only shared objects define, so that lld and GNU ld cannot compute a
/// value. In a program, a relocation of an object may give them one, which `refine` decides. It does
/// not read objects with weak references, so names with such a reference are left out.
fn valueless<'q>(
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    resolved: &Resolved<'q>,
) -> FastSet<&'q [u8]> {
    if link.linker == Linker::Mold {
        return FastSet::default();
    }
    let library = question.library;
    let is_weakly_referred = |name: &[u8]| {
        let roots = question.roots.iter().filter(|root| !root.linked);
        let of_roots = roots.flat_map(|root| &root.symbols).map(|(name, kind)| (&**name, *kind));
        let members = resolved.coverage.needed.iter().map(|needed| needed.member);
        let of_members = members.flat_map(|member| library.symbols(member));
        let of_members = of_members.map(|(id, symbol)| (library.text(id), symbol.kind));
        of_roots
            .chain(of_members)
            .any(|(other, kind)| kind == SymbolKind::WeakUndefined && link.reference(other) == name)
    };
    let is_shared = |name: &&[u8]| {
        resolved.found.get(name) == Some(&ChosenDefinition::Shared)
            && !question.is_linker_defined(name)
    };
    let is_decided = |name: &&[u8]| !question.makes_program() || !is_weakly_referred(name);
    link.expressions().filter(is_shared).filter(is_decided).collect()
}

/// Names with a strong reference and without a definition.
fn undefined<'q>(
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    resolved: &Resolved<'q>,
    valueless: &FastSet<&'q [u8]>,
) -> FastSet<&'q [u8]> {
    let Resolved { coverage, found, strong, suffixed, may_stay, unclaimed, forgotten, .. } =
        resolved;
    let library = question.library;
    let roots = || question.roots.iter().filter(|root| !root.input || !root.linked);
    // mold prefers the definition of a shared object to a common symbol.
    let is_replaced = |name: &[u8]| found.get(name) == Some(&ChosenDefinition::Shared);
    let counts = |kind: SymbolKind, name: &[u8]| match kind {
        SymbolKind::Common => link.linker == Linker::Mold && is_replaced(name),
        kind => counts(kind, link.reference(name), strong),
    };
    let of_roots = roots().flat_map(|root| &root.symbols).filter(|(n, kind)| counts(*kind, n));
    let mut hidden: FastSet<&[u8]> = roots().flat_map(|root| &root.hidden).map(|n| &**n).collect();
    let mut references: Vec<&[u8]> = of_roots.map(|(name, _)| &**name).collect();
    references.extend(question.symbols.iter().map(|name| &**name));
    let mut seen = vec![false; library.names()];
    for needed in &coverage.needed {
        for (name, symbol) in library.symbols(needed.member) {
            if symbol.is_restricted() {
                hidden.insert(library.text(name));
            }
            if counts(symbol.kind, library.text(name))
                && !std::mem::replace(&mut seen[name.index()], true)
            {
                references.push(library.text(name));
            }
        }
    }
    let names = references.into_iter().map(|name| link.reference(name)).chain(link.expressions());
    // A weak reference of an object may make a name weak, so only names in `strong` count.
    let of_shared = link.shared_references.iter().map(|(name, _)| &**name);
    let of_shared = of_shared.filter(|_| !link.allow_shlib_undefined);
    let is_strong = |name: &&[u8]| strong.contains(*name) && !suffixed.contains(*name);
    let of_shared = of_shared.filter(|name| is_strong(name) && !has_version(found, name));
    let names = names.chain(of_shared);
    let is_open = |name: &&[u8]| {
        let hidden = hidden.contains(*name);
        if may_stay.contains(*name) && !hidden {
            return false;
        }
        let shared = || {
            !unclaimed.contains(*name)
                && ((question.provided)(name) || question.is_exported(name, forgotten))
        };
        match found.get(name) {
            Some(ChosenDefinition::Object) => false,
            Some(ChosenDefinition::Shared) if !hidden => valueless.contains(*name),
            _ => !question.is_linker_defined(name) && (hidden || !shared()),
        }
    };
    names.filter(is_open).collect()
}
