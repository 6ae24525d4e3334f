//! Finds members that define or use names in copies of COMDAT groups that a link may discard.
//! Linkers keep one copy of a group, and the kept copy may lack a name that the link needs. Copies
//! with different names are rare: most groups define only their signature. Only groups that define
//! other names are compared. A local symbol belongs to one copy. If a linker discards that copy,
//! lld and GNU ld reject references to the symbol from outside of the group.

use crate::audit::{Audit, link_references};
use crate::format::archive::{LinkFacts, RelocationFilter, SymbolKind};
use crate::format::elf::Object;
use crate::id::{FastMap, FastSet, MemberId, NameId};
use crate::text::show;
use crate::tree::Tree;
use std::collections::BTreeSet;

/// A copy of a group: its member, or `None` for the linked object, and the names that it defines.
type GroupCopy<'f> = (Option<MemberId>, Vec<&'f [u8]>);

/// A definition in a COMDAT group that another copy of the group lacks.
pub(super) struct Discardable<'f> {
    pub(super) member: MemberId,
    pub(super) name: &'f [u8],
    pub(super) signature: &'f [u8],
    /// The member with the other copy; `None` for the linked object.
    pub(super) other: Option<MemberId>,
}

/// Needed definitions in a COMDAT group that another copy of the group lacks. The linker may keep
/// that other copy. `is_inside` is true for names that the object defines.
pub(super) fn discardable<'f>(
    (audit, tree): (&Audit, &dyn Tree),
    object: &Object,
    facts: &'f FastMap<MemberId, LinkFacts>,
    is_inside: &dyn Fn(&[u8]) -> bool,
) -> Vec<Discardable<'f>> {
    let mut found = Vec::new();
    for (signature, mut copies) in copies(facts) {
        let names = copies.iter().flat_map(|(_, names)| names.iter().copied());
        let mut own: Vec<&[u8]> = names.chain([signature]).filter(|name| is_inside(name)).collect();
        own.sort_unstable();
        own.dedup();
        // The symbol table of a linked object does not show which groups the object has.
        if !own.is_empty() {
            copies.push((None, own));
        }
        if copies.iter().all(|(_, names)| *names == copies[0].1) {
            continue;
        }
        for (member, names) in &copies {
            let Some(member) = *member else { continue };
            for name in names.iter().copied() {
                let lacking = copies.iter().find(|(_, names)| !names.contains(&name));
                found.extend(lacking.map(|(other, _)| Discardable {
                    member,
                    name,
                    signature,
                    other: *other,
                }));
            }
        }
    }
    if !found.is_empty() {
        retain_needed((audit, tree), object, facts, &mut found);
    }
    found
}

/// A reference from outside of a group to a local symbol of the group. The link has another copy of
/// the group.
pub(super) struct Entering<'f> {
    pub(super) member: MemberId,
    signature: &'f [u8],
    /// The member with the other copy; `None` for the linked object.
    other: Option<MemberId>,
}

/// The references to local symbols of groups that the link may discard. A reference from a second
/// group is left out if every other object with a copy of the symbol's group also has a copy of the
/// second group. A linker then discards both groups together. `is_inside` is as in [`discardable`].
pub(super) fn entering<'f>(
    facts: &'f FastMap<MemberId, LinkFacts>,
    is_inside: &dyn Fn(&[u8]) -> bool,
) -> Vec<Entering<'f>> {
    let entered = facts.iter().flat_map(|(member, facts)| {
        facts.entered_groups().map(move |(signature, from)| (*member, signature, from))
    });
    let mut entered: Vec<_> = entered.collect();
    if entered.is_empty() {
        return Vec::new();
    }
    entered.sort_unstable();
    let wanted: FastSet<&[u8]> = entered
        .iter()
        .flat_map(|(_, signature, from)| std::iter::once(*signature).chain(*from))
        .collect();
    let mut holders: FastMap<&[u8], BTreeSet<MemberId>> = FastMap::default();
    for (member, facts) in facts {
        for signature in facts.signatures().filter(|signature| wanted.contains(signature)) {
            holders.entry(signature).or_default().insert(*member);
        }
    }
    let has = |signature: &[u8], member: MemberId| {
        holders.get(signature).is_some_and(|members| members.contains(&member))
    };
    let found = entered.into_iter().filter_map(|(member, signature, from)| {
        let mut others = holders.get(signature)?.iter().copied().filter(|other| *other != member);
        let other = others.find(|other| from.is_none_or(|from| !has(from, *other)));
        let of_object = || is_inside(signature) && from.is_none_or(|from| !is_inside(from));
        let is_doubtful = other.is_some() || of_object();
        is_doubtful.then_some(Entering { member, signature, other })
    });
    found.collect()
}

/// The copies of the groups that may differ, by signature. The names of each copy are sorted.
fn copies(facts: &FastMap<MemberId, LinkFacts>) -> Vec<(&[u8], Vec<GroupCopy<'_>>)> {
    let mut members: Vec<(&MemberId, &LinkFacts)> = facts.iter().collect();
    members.sort_unstable_by_key(|(member, _)| **member);
    let mut out: FastMap<&[u8], Vec<GroupCopy<'_>>> = FastMap::default();
    for (member, facts) in &members {
        for (signature, names) in facts.odd_groups() {
            out.entry(signature).or_default().push((Some(**member), names));
        }
    }
    if out.is_empty() {
        return Vec::new();
    }
    for (member, facts) in &members {
        for signature in facts.plain_groups() {
            if let Some(copies) = out.get_mut(signature) {
                copies.push((Some(**member), vec![signature]));
            }
        }
    }
    let mut out: Vec<_> = out.into_iter().collect();
    out.sort_unstable_by_key(|(signature, _)| *signature);
    out
}

/// Keeps the definitions to which the object, another member, or another section of the member
/// refers.
fn retain_needed(
    (audit, tree): (&Audit, &dyn Tree),
    object: &Object,
    facts: &FastMap<MemberId, LinkFacts>,
    found: &mut Vec<Discardable<'_>>,
) {
    let library = &audit.library;
    let symbols = facts.keys().flat_map(|member| library.symbols(*member));
    let referred = symbols.filter(|(_, symbol)| symbol.kind == SymbolKind::Undefined);
    let referred: FastSet<NameId> = referred.map(|(name, _)| name).collect();
    let of_object: FastSet<Box<[u8]>> =
        link_references(object, false).into_iter().map(|(name, _)| name).collect();
    let mut holders: Vec<MemberId> = found.iter().map(|found| found.member).collect();
    holders.dedup();
    let whole = audit.link_facts(tree, &holders, RelocationFilter::All);
    found.retain(|found| {
        let name = library.find(found.name);
        name.is_some_and(|name| referred.contains(&name))
            || of_object.contains(found.name)
            || whole.get(&found.member).is_some_and(|facts| refers(facts, found))
    });
}

/// True if a loaded section outside of the group, other than an unwind table, refers to the
/// definition.
fn refers(facts: &LinkFacts, found: &Discardable<'_>) -> bool {
    facts.relocations.iter().any(|relocation| {
        let global = relocation.global.and_then(|global| facts.globals.get(global));
        let section = facts.sections.get(relocation.section);
        global.is_some_and(|global| facts.name(global) == found.name)
            && facts.is_loaded(relocation.section)
            && section.is_some_and(|section| !section.is_unwind_table)
            && facts.group_of(relocation.section) != Some(found.signature)
    })
}

impl Discardable<'_> {
    /// The reason why the member does not link, in words. `name` returns a member's shown name.
    pub(super) fn reason(&self, name: impl Fn(MemberId) -> String) -> String {
        let (member, symbol) = (name(self.member), show(self.name));
        let other = self.other.map_or_else(|| "the file".to_owned(), name);
        let group = show(self.signature);
        format!(
            "{member} defines {symbol} in the COMDAT group {group}, and the copy of {other} may lack \
             it: linkers keep one copy"
        )
    }
}

impl Entering<'_> {
    /// The reason why the member does not link, in words. `name` returns a member's shown name.
    pub(super) fn reason(&self, name: impl Fn(MemberId) -> String) -> String {
        let (member, group) = (name(self.member), show(self.signature));
        let other = self.other.map_or_else(|| "the file".to_owned(), name);
        format!(
            "{member} refers to a local symbol of the COMDAT group {group} from outside, and {other} \
             has a copy: linkers keep one copy, and lld rejects references to the other"
        )
    }
}
