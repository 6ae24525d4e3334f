//! References to discarded copies of COMDAT groups. A linker keeps the first copy of a group. If a
//! later copy defines another name, references to that name are undefined.
//!
//! lld selects the definition of a name before it discards copies. If it selected a definition in a
//! discarded copy, the name is undefined, even if other files define it too
//! (`ObjFile::postParse` in `lld/ELF/InputFiles.cpp`). lld accepts this if the definition is weak.
//!
//! Strong definitions in groups are rare. To read few members, the check covers only two kinds of
//! strong definitions: definitions in a section that also has a weak definition, and, under lld,
//! definitions of names that have several definitions.

use super::object_facts::ObjectFacts;
use super::order_independent::{References, referrers};
use super::read_order::read_order;
use super::{Coverage, CoverageQuestion, Link, Linker, ReferredBy};
use crate::format::archive::{LinkFacts, SymbolKind};
use crate::id::{FastMap, FastSet, Id as _, MemberId, NameId};

/// COMDAT groups: the signature, and the names that the group defines.
type NamedGroups<'f> = Vec<(&'f [u8], Vec<&'f [u8]>)>;

/// The definitions of a name, each with the signature of the group that contains it, if any.
type GroupOfEach<'f> = Vec<(Definition, Option<&'f [u8]>)>;

/// Names to which an object of the link refers strongly, and whose definitions may be in discarded
/// COMDAT groups. Each name is listed with these definitions.
pub struct GroupDefined<'q> {
    names: Vec<(&'q [u8], Vec<Definition>)>,
    /// True under lld: if the definition that lld selected is discarded, lld does not look for
    /// another definition.
    selects_first: bool,
}

impl<'q> GroupDefined<'q> {
    /// Finds the names for [`GroupDefined`] among the objects of a link.
    pub fn find(question: &CoverageQuestion<'q>, coverage: &Coverage) -> Self {
        let Some(link) = question.link else {
            return Self { names: Vec::new(), selects_first: false };
        };
        let library = question.library;
        let selects_first = link.linker == Linker::Lld;
        let may_be_lost =
            if selects_first { may_select_discarded } else { may_discard_every_definition };
        let (of_roots, mut referred) = symbols_of_roots(question, link);
        let (mut is_needed, mut seen) =
            (vec![false; library.members()], vec![false; library.names()]);
        for member in &coverage.order {
            is_needed[member.index()] = true;
            for (id, symbol) in library.symbols(*member) {
                if symbol.kind == SymbolKind::Undefined
                    && !std::mem::replace(&mut seen[id.index()], true)
                {
                    referred.extend(library.find(link.reference(library.text(id))));
                }
            }
        }
        let mut referred: Vec<NameId> = referred.into_iter().collect();
        referred.sort_unstable();
        let found = referred.into_iter().filter_map(|id| {
            // If a definition is discarded, GNU ld looks for another one in the archives that
            // follow.
            let is_last = link.linker != Linker::Gnu
                || library.definitions(id).all(|one| is_needed[one.member.index()]);
            let members = library.definitions(id).filter(|one| is_needed[one.member.index()]);
            let members = members.map(|one| Definition {
                kind: one.kind,
                beside_weak: one.beside_weak,
                by: ReferredBy::Member(one.member),
            });
            let all: Vec<Definition> =
                members.chain(of_roots.get(&id).into_iter().flatten().copied()).collect();
            let name = library.text(id);
            let is_shared =
                || (question.provided)(name) || question.is_exported(name, &coverage.forgotten);
            let is_open = || {
                (selects_first || !is_shared())
                    && !question.is_linker_defined(name)
                    && !link.defined.iter().any(|defined| *defined.name == *name)
            };
            (is_last && may_be_lost(&all) && is_open()).then_some((name, all))
        });
        Self { names: found.collect(), selects_first }
    }

    /// True if the set has no names.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }

    fn definitions(&self) -> impl Iterator<Item = &Definition> {
        self.names.iter().flat_map(|(_, definitions)| definitions)
    }

    /// The members that define the names of this set.
    pub fn members(&self) -> Vec<MemberId> {
        let mut out: Vec<MemberId> = self.definitions().filter_map(|one| one.by.member()).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// The groups of each defining object that have to be compared with copies in other objects.
    /// Under lld, these are all groups. Under the other linkers, these are only the groups whose
    /// copies may define other names.
    fn named_groups<'f>(&self, facts: &'f ObjectFacts) -> FastMap<ReferredBy, NamedGroups<'f>> {
        let read = |of: &'f LinkFacts| {
            if self.selects_first { of.named_groups() } else { of.odd_groups() }
        };
        let mut out: FastMap<ReferredBy, NamedGroups<'f>> = FastMap::default();
        for one in self.definitions() {
            out.entry(one.by).or_insert_with(|| facts.of(one.by).map(read).unwrap_or_default());
        }
        out
    }

    /// The names that may lose a definition, each with its definitions and the groups of these
    /// definitions in `named`. Under lld, a name is included if one of its definitions is in a
    /// group. Under the other linkers, all definitions of the name must be in groups.
    fn groups<'f>(
        &self,
        named: &FastMap<ReferredBy, NamedGroups<'f>>,
    ) -> Vec<(&'q [u8], GroupOfEach<'f>)> {
        let group = |one: &Definition, name: &[u8]| {
            let mut groups = named.get(&one.by)?.iter();
            groups.find(|(_, names)| names.contains(&name)).map(|(signature, _)| *signature)
        };
        let found = self.names.iter().map(|(name, definitions)| {
            let groups = definitions.iter().map(|one| (*one, group(one, name)));
            (*name, groups.collect::<GroupOfEach<'_>>())
        });
        let is_checked = |(_, definitions): &(&[u8], GroupOfEach<'_>)| {
            let mut groups = definitions.iter().map(|(_, group)| group.is_some());
            if self.selects_first {
                groups.any(|is_some| is_some)
            } else {
                groups.all(|is_some| is_some)
            }
        };
        found.filter(is_checked).collect()
    }

    /// Needed members without facts that may have a copy of one of the groups. Such a member
    /// defines the signature of a group or a name of the group. If two copies of a group may have
    /// no name in common, all needed members without facts are returned.
    pub fn rivals(
        &self,
        question: &CoverageQuestion<'_>,
        coverage: &Coverage,
        facts: &ObjectFacts,
    ) -> Vec<MemberId> {
        let named = self.named_groups(facts);
        let groups = self.groups(&named);
        let of_each = groups.iter().flat_map(|(_, of_each)| of_each);
        let copies: FastSet<(ReferredBy, &[u8])> =
            of_each.filter_map(|(one, group)| Some((one.by, (*group)?))).collect();
        let (mut hashes, mut may_differ) = (FastSet::default(), false);
        for (by, signature) in copies {
            let of_group = named.get(&by).into_iter().flatten();
            let of_group = of_group.filter(|(other, _)| *other == signature);
            let names: Vec<&[u8]> = of_group.flat_map(|(_, names)| names).copied().collect();
            // As in `LinkFacts::group_names`: two copies may have no name in common if the
            // signature is not mangled and is not a name that the group defines.
            may_differ |= !signature.starts_with(b"_Z") && !names.contains(&signature);
            let names = names.into_iter().chain([signature]);
            hashes.extend(names.map(|name| question.library.hash(name)));
        }
        if hashes.is_empty() {
            return Vec::new();
        }
        let unread = coverage.order.iter().filter(|one| !facts.members.contains_key(*one));
        let has_one =
            |one: &&MemberId| question.library.hashes(**one).iter().any(|h| hashes.contains(h));
        unread.filter(|one| may_differ || has_one(one)).copied().collect()
    }

    /// Adds to `coverage` the names whose definitions are discarded.
    pub fn add_lost(
        &self,
        question: &CoverageQuestion<'_>,
        facts: &ObjectFacts,
        coverage: &mut Coverage,
    ) {
        let named = self.named_groups(facts);
        let groups = self.groups(&named);
        let of_each = groups.iter().flat_map(|(_, of_each)| of_each);
        let wanted: FastSet<&[u8]> = of_each.filter_map(|(_, group)| *group).collect();
        if wanted.is_empty() {
            return;
        }
        let read_order = read_order(question, coverage);
        let mut owners: FastMap<&[u8], ReferredBy> = FastMap::default();
        for by in &read_order {
            let signatures = facts.of(*by).into_iter().flat_map(LinkFacts::signatures);
            for signature in signatures.filter(|signature| wanted.contains(signature)) {
                owners.entry(signature).or_insert(*by);
            }
        }
        let is_discarded = |(one, group): &(Definition, Option<&[u8]>)| {
            group.is_some_and(|group| owners.get(group) != Some(&one.by))
        };
        let places: FastMap<ReferredBy, usize> = read_order.into_iter().zip(0..).collect();
        let is_lost = |definitions: &GroupOfEach<'_>| {
            if !self.selects_first {
                return definitions.iter().all(is_discarded);
            }
            let mut definitions = definitions.clone();
            definitions.sort_by_key(|(one, _)| places.get(&one.by));
            let selected = definitions
                .into_iter()
                .reduce(|old, new| if replaces(new.0.kind, old.0.kind) { new } else { old });
            selected.is_some_and(|one| one.0.kind != SymbolKind::Weak && is_discarded(&one))
        };
        let lost = groups.iter().filter(|(_, definitions)| is_lost(definitions));
        let lost: FastSet<&[u8]> = lost.map(|(name, _)| *name).collect();
        let references = References { link: question.link, ..References::default() };
        let members = coverage.order.iter().copied();
        let mut found = referrers(question, &references, members, &lost);
        found.retain(|one| coverage.undefined.iter().all(|known| known.symbol != one.symbol));
        coverage.undefined.extend(found);
        coverage.undefined.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    }
}

/// A definition of a name in an object of the link.
#[derive(Clone, Copy)]
struct Definition {
    kind: SymbolKind,
    /// True if the definition is strong and may be in a group with a weak definition.
    beside_weak: bool,
    by: ReferredBy,
}

/// True if the definition that lld selects may be in a discarded group and is not weak.
fn may_select_discarded(definitions: &[Definition]) -> bool {
    let is_unique = |one: &Definition| one.kind == SymbolKind::Unique;
    let mut strong = definitions.iter().filter(|one| one.kind == SymbolKind::Strong).peekable();
    match strong.peek() {
        Some(_) if definitions.len() > 1 => true,
        Some(_) => strong.any(|one| one.beside_weak),
        None => definitions.iter().any(is_unique),
    }
}

/// True if all definitions may be in discarded groups.
fn may_discard_every_definition(definitions: &[Definition]) -> bool {
    let may_discard = |one: &Definition| match one.kind {
        SymbolKind::Unique | SymbolKind::Weak => true,
        SymbolKind::Strong => one.beside_weak,
        SymbolKind::Common
        | SymbolKind::MachineCommon
        | SymbolKind::Undefined
        | SymbolKind::WeakUndefined => false,
    };
    !definitions.is_empty() && definitions.iter().all(may_discard)
}

/// True if lld replaces a definition by one that it reads later (`Symbol::shouldReplace` in
/// `lld/ELF/Symbols.cpp`).
fn replaces(new: SymbolKind, old: SymbolKind) -> bool {
    use SymbolKind::{Common, MachineCommon, Strong, Unique, Weak};
    match old {
        Weak => matches!(new, Strong | MachineCommon | Common),
        Unique => matches!(new, Strong | MachineCommon),
        Common => matches!(new, Strong | MachineCommon | Unique),
        _ => false,
    }
}

/// The definitions of the relocatable roots by name, and the names to which these roots refer
/// strongly.
fn symbols_of_roots(
    question: &CoverageQuestion<'_>,
    link: &Link,
) -> (FastMap<NameId, Vec<Definition>>, FastSet<NameId>) {
    let library = question.library;
    let mut definitions: FastMap<NameId, Vec<Definition>> = FastMap::default();
    let mut referred: FastSet<NameId> = FastSet::default();
    for (at, root) in question.roots.iter().enumerate().filter(|(_, root)| !root.linked) {
        for (name, kind) in &root.symbols {
            if *kind == SymbolKind::Undefined {
                referred.extend(library.find(link.reference(name)));
            } else if let Some(id) = library.find(name).filter(|_| kind.is_definition()) {
                let beside_weak = root.beside_weak.binary_search(name).is_ok();
                let definition = Definition { kind: *kind, beside_weak, by: ReferredBy::Root(at) };
                definitions.entry(id).or_default().push(definition);
            }
        }
    }
    (definitions, referred)
}
