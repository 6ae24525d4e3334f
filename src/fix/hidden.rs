//! Hidden references that no object of the link defines. The most restricted visibility of a name
//! counts for all its references in a link, so the library's own reference is then hidden too, and
//! no shared library satisfies it (`resolveUndefined` in lld, `elf_merge_st_other` in GNU ld).

use crate::audit::{Audit, Libraries, link_references};
use crate::cover::{LinkOutput, LinkerDefined};
use crate::fix::imports::is_reference;
use crate::format::archive::{LinkFacts, SymbolKind};
use crate::format::elf::Object;
use crate::id::{FastMap, FastSet, MemberId};
use crate::text::show;

/// The members with a hidden reference to a name that another object of the link refers to and no
/// object defines, each with the reason. `is_defined` is true for names that an object defines.
pub(super) fn members(
    audit: &Audit,
    (object, libraries): (&Object, &Libraries<'_>),
    facts: &FastMap<MemberId, LinkFacts>,
    is_defined: &dyn Fn(&[u8]) -> bool,
) -> Vec<(MemberId, String)> {
    let target = Some(object.header.target());
    let is_linker_defined =
        |name: &[u8]| LinkOutput::default().defines(target, name) != LinkerDefined::No;
    let is_open = |name: &[u8]| !is_defined(name) && !is_linker_defined(name);
    let mut hidden: Vec<(MemberId, &[u8])> = Vec::new();
    for (member, facts) in facts {
        let references =
            facts.globals.iter().filter(|one| is_reference(one) && one.visibility != 0);
        let names = references.map(|global| facts.name(global)).filter(|name| !name.is_empty());
        hidden.extend(names.filter(|name| is_open(name)).map(|name| (*member, name)));
    }
    if hidden.is_empty() {
        return Vec::new();
    }
    hidden.sort_unstable();
    let is_strong = |(_, kind): &(_, SymbolKind)| *kind == SymbolKind::Undefined;
    let of_object = link_references(object, false).into_iter().filter(is_strong);
    let of_object: FastSet<Box<[u8]>> = of_object.map(|(name, _)| name).collect();
    let is_asked = |name: &[u8]| {
        let by_member = || {
            let id = audit.library.find(name);
            let symbols = facts.keys().flat_map(|member| audit.library.symbols(*member));
            let mut references = symbols.filter(|(_, s)| s.kind == SymbolKind::Undefined);
            id.is_some_and(|id| references.any(|(name, _)| name == id))
        };
        // GNU ld counts the references of the libraries too.
        let mut others = libraries.objects();
        let mut by_library = || {
            others.any(|object| {
                let mut references = link_references(object, false).into_iter();
                references.any(|one| is_strong(&one) && *one.0 == *name)
            })
        };
        of_object.contains(name) || libraries.define(name) && by_member() || by_library()
    };
    let asked = hidden.into_iter().filter(|(_, name)| is_asked(name));
    let reason = |name: &[u8]| {
        let name = show(name);
        format!(
            "has a hidden reference to {name}, which no object of the link defines: linkers reject it"
        )
    };
    asked.map(|(member, name)| (member, reason(name))).collect()
}
