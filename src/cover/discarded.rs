//! Names that only discarded copies of COMDAT groups define. A linker keeps the first copy of a
//! group. If a later copy defines another name, references to that name are undefined. lld accepts
//! such references if the discarded definition is weak. Strong definitions in groups are rare. Only
//! those that share a section with a weak definition are checked, so that few members are read.

use super::object_facts::ObjectFacts;
use super::order_independent::{References, referrers};
use super::read_order::read_order;
use super::{Coverage, CoverageQuestion, Link, Linker, ReferredBy};
use crate::format::archive::{LinkFacts, SymbolKind};
use crate::id::{FastMap, FastSet, Id as _, MemberId, NameId};

/// COMDAT groups that define a name other than their signature: the signature and the names.
type OddGroups<'f> = Vec<(&'f [u8], Vec<&'f [u8]>)>;

/// The objects that define a name in a group, each with the signature of the group.
type DefiningGroups<'f> = Vec<(ReferredBy, &'f [u8])>;

/// Names to which an object of the link refers strongly, and whose definitions may all be in COMDAT
/// groups. Each name has the objects that define it.
pub struct GroupDefined<'q>(Vec<(&'q [u8], Vec<ReferredBy>)>);

impl<'q> GroupDefined<'q> {
    /// Finds the names for [`GroupDefined`] among the objects of a link.
    pub fn find(question: &CoverageQuestion<'q>, coverage: &Coverage) -> Self {
        let Some(link) = question.link else { return Self(Vec::new()) };
        let library = question.library;
        let is_wanted = |(kind, beside_weak, _): &Definition| match kind {
            SymbolKind::Unique => true,
            SymbolKind::Weak => link.linker != Linker::Lld,
            SymbolKind::Strong => *beside_weak,
            SymbolKind::Common
            | SymbolKind::MachineCommon
            | SymbolKind::Undefined
            | SymbolKind::WeakUndefined => false,
        };
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
            let members =
                members.map(|one| (one.kind, one.beside_weak, ReferredBy::Member(one.member)));
            let all: Vec<Definition> =
                members.chain(of_roots.get(&id).into_iter().flatten().copied()).collect();
            let name = library.text(id);
            let is_weak = is_last && !all.is_empty() && all.iter().all(is_wanted);
            let is_open = || {
                !(question.provided)(name)
                    && !question.is_exported(name, &coverage.forgotten)
                    && !question.is_linker_defined(name)
                    && !link.defined.iter().any(|defined| *defined.name == *name)
            };
            (is_weak && is_open())
                .then(|| (name, all.into_iter().map(|(_, _, by)| by).collect::<Vec<_>>()))
        });
        Self(found.collect())
    }

    /// True if the link has no names that only groups define.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The members that define the names of this set.
    pub fn members(&self) -> Vec<MemberId> {
        let definers = self.0.iter().flat_map(|(_, definers)| definers);
        let mut out: Vec<MemberId> = definers.filter_map(|by| by.member()).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    /// For each defining object, its groups whose copies in other objects may define other names.
    fn odd_groups<'f>(&self, facts: &'f ObjectFacts) -> FastMap<ReferredBy, OddGroups<'f>> {
        let mut odd: FastMap<ReferredBy, OddGroups<'f>> = FastMap::default();
        for by in self.0.iter().flat_map(|(_, definers)| definers) {
            odd.entry(*by)
                .or_insert_with(|| facts.of(*by).map(LinkFacts::odd_groups).unwrap_or_default());
        }
        odd
    }

    /// For each name, the objects that define it, each with the signature of the group in `odd`
    /// that has the definition. Names with a definition outside of the groups in `odd` are left
    /// out.
    fn groups<'f>(
        &self,
        odd: &FastMap<ReferredBy, OddGroups<'f>>,
    ) -> Vec<(&'q [u8], DefiningGroups<'f>)> {
        let group = |by: ReferredBy, name: &[u8]| {
            let mut groups = odd.get(&by)?.iter();
            groups.find(|(_, names)| names.contains(&name)).map(|(signature, _)| (by, *signature))
        };
        let found = self.0.iter().filter_map(|(name, definers)| {
            Some((*name, definers.iter().map(|by| group(*by, name)).collect::<Option<Vec<_>>>()?))
        });
        found.collect()
    }

    /// Needed members without facts that may have a copy of one of the groups. They define the
    /// signature of a group or one of its names. If copies of a group may share no name, all needed
    /// members without facts are returned.
    pub fn rivals(
        &self,
        question: &CoverageQuestion<'_>,
        coverage: &Coverage,
        facts: &ObjectFacts,
    ) -> Vec<MemberId> {
        let odd = self.odd_groups(facts);
        let groups = self.groups(&odd);
        let definers = groups.iter().flat_map(|(_, definers)| definers.iter().copied());
        let definers: FastSet<(ReferredBy, &[u8])> = definers.collect();
        let (mut hashes, mut may_differ) = (FastSet::default(), false);
        for (by, signature) in definers {
            let of_group = odd.get(&by).into_iter().flatten();
            let of_group = of_group.filter(|(other, _)| *other == signature);
            let names: Vec<&[u8]> = of_group.flat_map(|(_, names)| names).copied().collect();
            // As in `LinkFacts::group_names`: copies may share no name if the signature is not
            // mangled and is not a name that the group defines.
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

    /// Adds to `coverage` the names whose definitions are all discarded.
    pub fn add_lost(
        &self,
        question: &CoverageQuestion<'_>,
        facts: &ObjectFacts,
        coverage: &mut Coverage,
    ) {
        let odd = self.odd_groups(facts);
        let groups = self.groups(&odd);
        let wanted: FastSet<&[u8]> =
            groups.iter().flat_map(|(_, definers)| definers).map(|(_, group)| *group).collect();
        if wanted.is_empty() {
            return;
        }
        let mut owners: FastMap<&[u8], ReferredBy> = FastMap::default();
        for by in read_order(question, coverage) {
            let signatures = facts.of(by).into_iter().flat_map(LinkFacts::signatures);
            for signature in signatures.filter(|signature| wanted.contains(signature)) {
                owners.entry(signature).or_insert(by);
            }
        }
        let is_lost = |(by, group): &(ReferredBy, &[u8])| owners.get(group) != Some(by);
        let lost = groups.iter().filter(|(_, definers)| definers.iter().all(is_lost));
        let lost: FastSet<&[u8]> = lost.map(|(name, _)| *name).collect();
        let references = References { link: question.link, ..References::default() };
        let members = coverage.order.iter().copied();
        let mut found = referrers(question, &references, members, &lost);
        found.retain(|one| coverage.undefined.iter().all(|known| known.symbol != one.symbol));
        coverage.undefined.extend(found);
        coverage.undefined.sort_by(|a, b| a.symbol.cmp(&b.symbol));
    }
}

/// A definition: its kind, true if it is strong and may lie in a group, and its object.
type Definition = (SymbolKind, bool, ReferredBy);

/// The definitions of the relocatable roots by name, and the names to which they refer strongly.
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
                let definition = (*kind, beside_weak, ReferredBy::Root(at));
                definitions.entry(id).or_default().push(definition);
            }
        }
    }
    (definitions, referred)
}
