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
//!
//! An object may also refer to a definition in a group of its own. If another copy of the group is
//! kept, a linker treats this definition as an undefined reference of the object. A local symbol
//! cannot be defined elsewhere: lld and GNU ld then refuse the link. These references are known
//! only for objects whose relocations are read: the roots, and the members that define the names
//! above.

use super::object_facts::ObjectFacts;
use super::order_independent::{References, referrers};
use super::read_order::read_order;
use super::{Coverage, CoverageQuestion, Link, Linker, ReferredBy};
use crate::format::archive::{GroupReference, LinkFacts, SymbolKind};
use crate::id::{FastMap, FastSet, Id as _, MemberId, NameId};

/// COMDAT groups of one object.
#[derive(Default)]
struct NamedGroups<'f> {
    /// The names that each group defines, by the signature of the group.
    names: FastMap<&'f [u8], Vec<&'f [u8]>>,
    /// The signature of the group that defines each name.
    signatures: FastMap<&'f [u8], &'f [u8]>,
}

impl<'f> NamedGroups<'f> {
    fn new(groups: Vec<(&'f [u8], Vec<&'f [u8]>)>) -> Self {
        let mut out = Self::default();
        for (signature, names) in groups {
            for name in &names {
                out.signatures.entry(*name).or_insert(signature);
            }
            out.names.entry(signature).or_default().extend(names);
        }
        out
    }
}

/// The definitions of a name, each with the signature of the group that contains it, if any.
type GroupOfEach<'f> = Vec<(Definition, Option<&'f [u8]>)>;

/// Names to which an object of the link refers, and whose definitions may be in discarded COMDAT
/// groups. Each name is listed with these definitions.
pub struct GroupDefined<'q> {
    names: Vec<(&'q [u8], Vec<Definition>)>,
    /// True if a root refers to a local symbol in a group of its own, and the linker rejects such
    /// references to discarded copies.
    enters_groups: bool,
    /// True under lld: if the definition that lld selected is discarded, lld does not look for
    /// another definition.
    selects_first: bool,
}

impl<'q> GroupDefined<'q> {
    /// Finds the names for [`GroupDefined`] among the objects of a link. `roots` has the facts of
    /// the roots if [`may_share_groups`] is true.
    pub fn find(
        question: &CoverageQuestion<'q>,
        coverage: &Coverage,
        roots: &[Option<LinkFacts>],
    ) -> Self {
        let Some(link) = question.link else {
            return Self { names: Vec::new(), enters_groups: false, selects_first: false };
        };
        let library = question.library;
        let (own, enters_groups) = own_names(question, roots);
        let selects_first = link.linker == Linker::Lld;
        let may_be_lost =
            if selects_first { may_select_discarded } else { may_discard_every_definition };
        let (of_roots, mut referred) = symbols_of_roots(question, link);
        let (mut is_needed, mut seen) =
            (vec![false; library.members()], vec![false; library.names()]);
        for member in &coverage.order {
            is_needed[member.index()] = true;
            for (id, symbol) in library.symbols(*member) {
                if matches!(symbol.kind, SymbolKind::Undefined | SymbolKind::WeakUndefined)
                    && !std::mem::replace(&mut seen[id.index()], true)
                {
                    referred.extend(library.find(link.reference(library.text(id))));
                }
            }
        }
        referred.extend(own.keys().filter_map(|name| library.find(name)));
        let mut referred: Vec<NameId> = referred.into_iter().collect();
        referred.sort_unstable();
        let found = referred.into_iter().filter_map(|id| {
            let members = library.definitions(id).filter(|one| is_needed[one.member.index()]);
            let members = members.map(|one| Definition {
                kind: one.kind,
                beside_weak: one.beside_weak,
                by: ReferredBy::Member(one.member),
            });
            let all: Vec<Definition> =
                members.chain(of_roots.get(&id).into_iter().flatten().copied()).collect();
            let name = library.text(id);
            let is_own = own.get(name).copied();
            let is_shared = || {
                is_own != Some(Visibility::Restricted)
                    && ((question.provided)(name)
                        || question.is_exported(name, &coverage.forgotten))
            };
            let is_open = || {
                (selects_first || !is_shared())
                    && !question.is_linker_defined(name)
                    && !link.defined.iter().any(|defined| *defined.name == *name)
            };
            // Other linkers than mold accept a reference to an own weak definition.
            let is_own_lost = is_own.is_some()
                && (link.linker == Linker::Mold
                    || all.iter().any(|one| one.kind != SymbolKind::Weak));
            ((is_own_lost || may_be_lost(&all)) && is_open()).then_some((name, all))
        });
        Self { names: found.collect(), enters_groups, selects_first }
    }

    /// True if no definition and no reference can be affected.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.enters_groups
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
            let of_object = || facts.of(one.by).map(read).map(NamedGroups::new);
            out.entry(one.by).or_insert_with(|| of_object().unwrap_or_default());
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
        let group =
            |one: &Definition, name: &[u8]| named.get(&one.by)?.signatures.get(name).copied();
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
            let names = named.get(&by).and_then(|of| of.names.get(signature));
            let names = names.map(Vec::as_slice).unwrap_or_default();
            // As in `LinkFacts::group_names`: two copies may have no name in common if the
            // signature is not mangled and is not a name that the group defines.
            may_differ |= !signature.starts_with(b"_Z") && !names.contains(&signature);
            let names = names.iter().copied().chain([signature]);
            hashes.extend(names.map(|name| question.library.hash(name)));
        }
        for reference in facts.roots.iter().flatten().flat_map(LinkFacts::group_references) {
            let signatures = std::iter::once(reference.signature).chain(reference.from);
            hashes.extend(signatures.map(|name| question.library.hash(name)));
        }
        if hashes.is_empty() {
            return Vec::new();
        }
        let unread = coverage.order.iter().filter(|one| !facts.members.contains_key(*one));
        let has_one =
            |one: &&MemberId| question.library.hashes(**one).iter().any(|h| hashes.contains(h));
        unread.filter(|one| may_differ || has_one(one)).copied().collect()
    }

    /// Adds to `coverage` the names whose definitions are discarded. Returns the objects that refer
    /// to local symbols of their discarded copies, if the linker rejects this.
    pub fn add_lost(
        &self,
        question: &CoverageQuestion<'_>,
        facts: &ObjectFacts,
        coverage: &mut Coverage,
    ) -> Vec<ReferredBy> {
        let named = self.named_groups(facts);
        let groups = self.groups(&named);
        let read_order = read_order(question, coverage);
        let own: Vec<OwnReference<'_>> = read_order
            .iter()
            .flat_map(|by| {
                let all = facts.of(*by).into_iter().flat_map(LinkFacts::group_references);
                all.map(|reference| OwnReference { by: *by, reference })
            })
            .collect();
        let of_each = groups.iter().flat_map(|(_, of_each)| of_each);
        let mut wanted: FastSet<&[u8]> = of_each.filter_map(|(_, group)| *group).collect();
        for OwnReference { reference, .. } in &own {
            wanted.extend(std::iter::once(reference.signature).chain(reference.from));
        }
        if wanted.is_empty() {
            return Vec::new();
        }
        let mut owners: FastMap<&[u8], ReferredBy> = FastMap::default();
        for by in &read_order {
            let signatures = facts.of(*by).into_iter().flat_map(LinkFacts::signatures);
            for signature in signatures.filter(|signature| wanted.contains(signature)) {
                owners.entry(signature).or_insert(*by);
            }
        }
        let kept = own.into_iter().filter(|one| !one.is_discarded(&owners));
        let kept: Vec<OwnReference<'_>> = kept.collect();
        let lost = self.lost(&groups, (&owners, &read_order));
        add_references(question, &lost, &kept, coverage);
        let locals = kept.iter().filter(|one| one.is_rejected(question));
        let locals = locals.filter(|one| owners.get(one.reference.signature) != Some(&one.by));
        let mut out: Vec<ReferredBy> = locals.map(|one| one.by).collect();
        out.dedup();
        out
    }

    /// The names that lose their definitions, each with true if the linker treats the discarded
    /// definition like a strong reference.
    fn lost(
        &self,
        groups: &[(&'q [u8], GroupOfEach<'_>)],
        (owners, read_order): (&FastMap<&[u8], ReferredBy>, &[ReferredBy]),
    ) -> FastMap<&'q [u8], bool> {
        let is_discarded = |(one, group): &(Definition, Option<&[u8]>)| {
            group.is_some_and(|group| owners.get(group) != Some(&one.by))
        };
        let places: FastMap<ReferredBy, usize> = read_order.iter().copied().zip(0..).collect();
        let is_weak = |(one, _): &(Definition, Option<&[u8]>)| one.kind == SymbolKind::Weak;
        let found = groups.iter().filter_map(|(name, definitions)| {
            if !self.selects_first {
                let is_lost = definitions.iter().all(is_discarded);
                return is_lost.then(|| (*name, !definitions.iter().all(is_weak)));
            }
            let mut definitions = definitions.clone();
            definitions.sort_by_key(|(one, _)| places.get(&one.by));
            let selected = definitions
                .into_iter()
                .reduce(|old, new| if replaces(new.0.kind, old.0.kind) { new } else { old })?;
            (!is_weak(&selected) && is_discarded(&selected)).then_some((*name, true))
        });
        found.collect()
    }
}

/// Adds the lost names to `coverage`, each with the objects that refer to it. Names without a
/// reference that needs a definition are left out.
fn add_references(
    question: &CoverageQuestion<'_>,
    lost: &FastMap<&[u8], bool>,
    own: &[OwnReference<'_>],
    coverage: &mut Coverage,
) {
    let Some(link) = question.link else { return };
    let names: FastSet<&[u8]> = lost.keys().copied().collect();
    let found = |strong: FastSet<&[u8]>| {
        let references = References { link: Some(link), strong, ..References::default() };
        referrers(question, &references, coverage.order.iter().copied(), &names)
    };
    // A weak reference needs a definition if a strong symbol has the name. mold 1.10 only crashes
    // on an own reference if no other object refers to the name.
    let is_mold = link.linker == Linker::Mold;
    let strong = lost.iter().filter(|(_, is_strong)| is_mold || **is_strong);
    let with_weak = found(strong.map(|(name, _)| *name).collect());
    let strong = if is_mold { found(FastSet::default()) } else { with_weak.clone() };
    let mut own_of: FastMap<&[u8], Vec<ReferredBy>> = FastMap::default();
    for one in own {
        if let Some(name) = one.reference.name {
            own_of.entry(name).or_default().push(one.by);
        }
    }
    let known: FastSet<&[u8]> = coverage.undefined.iter().map(|of| &*of.symbol).collect();
    let mut new = Vec::new();
    for (mut name, with_weak) in strong.into_iter().zip(with_weak) {
        let is_requested = || link.undefined.contains(&name.symbol);
        let counts_own = match link.linker {
            Linker::Lld => true,
            Linker::Mold => with_weak.by.is_empty(),
            Linker::Gnu => {
                lost.get(&*name.symbol) == Some(&true) || !name.by.is_empty() || is_requested()
            }
        };
        if counts_own || !name.by.is_empty() {
            let of_name = own_of.get(&*name.symbol).into_iter().flatten();
            of_name.for_each(|by| insert(&mut name.by, *by));
        }
        if !known.contains(&*name.symbol) && !name.by.is_empty() {
            new.push(name);
        }
    }
    drop(known);
    coverage.undefined.extend(new);
    coverage.undefined.sort_by(|a, b| a.symbol.cmp(&b.symbol));
}

/// Inserts a referrer at its place: roots precede members.
fn insert(by: &mut Vec<ReferredBy>, one: ReferredBy) {
    if !by.contains(&one) {
        let is_before = |other: &ReferredBy| other.member().is_none() && *other < one;
        let of_member = one.member().map(|_| by.len());
        let at = of_member.unwrap_or_else(|| by.partition_point(is_before));
        by.insert(at, one);
    }
}

/// A reference of an object to a symbol in one of its own groups.
struct OwnReference<'f> {
    by: ReferredBy,
    reference: GroupReference<'f>,
}

impl OwnReference<'_> {
    /// True if the referring section itself is in a discarded copy.
    fn is_discarded(&self, owners: &FastMap<&[u8], ReferredBy>) -> bool {
        self.reference.from.is_some_and(|from| owners.get(from) != Some(&self.by))
    }

    /// True if the linker rejects this reference to a discarded local symbol. mold accepts it, and
    /// GNU ld does if the reference is in an exception table. `--gc-sections` may drop the
    /// referring section.
    fn is_rejected(&self, question: &CoverageQuestion<'_>) -> bool {
        let is_counted = match question.link.map(|link| link.linker) {
            Some(Linker::Lld) => true,
            Some(Linker::Gnu) => !self.reference.from_exception_table,
            Some(Linker::Mold) | None => false,
        };
        is_counted && self.reference.name.is_none() && !question.gc_sections
    }
}

/// The visibility of a definition in a root.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Visibility {
    Default,
    /// No shared object replaces the definition.
    Restricted,
}

/// The names that roots define in their own groups, and to which they refer from outside of the
/// groups. Also true if a root refers to a local symbol in this way, and the linker may reject it.
fn own_names<'q>(
    question: &CoverageQuestion<'q>,
    roots: &[Option<LinkFacts>],
) -> (FastMap<&'q [u8], Visibility>, bool) {
    let (mut out, mut enters_groups) = (FastMap::default(), false);
    for (at, (root, facts)) in question.roots.iter().zip(roots).enumerate() {
        let all = facts.iter().flat_map(LinkFacts::group_references);
        let mut own: FastSet<&[u8]> = FastSet::default();
        for reference in all {
            own.extend(reference.name);
            let one = OwnReference { by: ReferredBy::Root(at), reference };
            enters_groups |= one.is_rejected(question);
        }
        let names = root
            .symbols
            .iter()
            .filter(|(name, kind)| kind.is_definition() && own.contains(&**name));
        for (name, _) in names {
            let seen = out.entry(&**name).or_insert(Visibility::Default);
            if root.hidden.binary_search(name).is_ok() {
                *seen = Visibility::Restricted;
            }
        }
    }
    (out, enters_groups)
}

/// True if two objects of a link may have copies of a group, and one of them is a root: they define
/// a name in common.
pub fn may_share_groups(question: &CoverageQuestion<'_>, coverage: &Coverage) -> bool {
    if question.link.is_none() {
        return false;
    }
    let (library, mut defined) = (question.library, FastSet::default());
    for root in question.roots.iter().filter(|root| !root.linked) {
        let mut own: Vec<u64> = root
            .symbols
            .iter()
            .filter(|(_, kind)| kind.is_definition())
            .map(|(name, _)| library.hash(name))
            .collect();
        own.sort_unstable();
        own.dedup();
        if own.into_iter().any(|hash| !defined.insert(hash)) {
            return true;
        }
    }
    let mut members = coverage.order.iter().flat_map(|member| library.hashes(*member));
    !defined.is_empty() && members.any(|hash| defined.contains(hash))
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

/// The definitions of the relocatable roots by name, and the names to which these roots refer.
fn symbols_of_roots(
    question: &CoverageQuestion<'_>,
    link: &Link,
) -> (FastMap<NameId, Vec<Definition>>, FastSet<NameId>) {
    let library = question.library;
    let mut definitions: FastMap<NameId, Vec<Definition>> = FastMap::default();
    let mut referred: FastSet<NameId> = FastSet::default();
    for (at, root) in question.roots.iter().enumerate().filter(|(_, root)| !root.linked) {
        for (name, kind) in &root.symbols {
            if matches!(kind, SymbolKind::Undefined | SymbolKind::WeakUndefined) {
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
