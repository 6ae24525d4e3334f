//! Finds members with hidden references to names that no object of the link defines. In a link, the
//! most restricted visibility of a name applies to all references to the name. If a member's
//! reference is hidden, a reference of the linked library to the same name is hidden too. No shared
//! library satisfies a hidden reference (`resolveUndefined` in lld, `elf_merge_st_other` in GNU
//! ld).

use super::imports::is_reference;
use crate::audit::{Audit, Libraries, link_references};
use crate::cover::{LinkOutput, Linker, LinkerDefined};
use crate::format::archive::{LinkFacts, SymbolKind};
use crate::format::elf::Object;
use crate::id::{FastMap, FastSet, MemberId};
use crate::merged::link::output_kind;
use crate::text::show;

/// The members with a hidden reference that no object of the link can satisfy, each with the
/// reason. The result has only names that no object defines. In addition, the object or a library
/// must refer to the name strongly, or a library must define the name while a member refers to the
/// name strongly. `is_defined` is true for names that an object defines.
pub(super) fn members(
    audit: &Audit,
    (object, libraries): (&Object, &Libraries<'_>),
    facts: &FastMap<MemberId, LinkFacts>,
    is_defined: &dyn Fn(&[u8]) -> bool,
) -> Vec<(MemberId, String)> {
    let is_open = |name: &[u8]| !is_defined(name) && !is_linker_defined(object, name);
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
    let of_object = strong_references(std::iter::once(object));
    let of_libraries = strong_references(libraries.objects());
    let is_in_member = |name: &[u8]| {
        let id = audit.library.find(name);
        let symbols = facts.keys().flat_map(|member| audit.library.symbols(*member));
        let mut references = symbols.filter(|(_, s)| s.kind == SymbolKind::Undefined);
        id.is_some_and(|id| references.any(|(name, _)| name == id))
    };
    let who = |name: &[u8]| {
        let is_of_objects =
            of_object.contains(name) || libraries.define(name) && is_in_member(name);
        if is_of_objects {
            Some("linkers reject it")
        } else {
            of_libraries
                .contains(name)
                .then_some("GNU ld rejects it, because a library needs it too")
        }
    };
    let asked = hidden.into_iter().filter_map(|(member, name)| Some((member, name, who(name)?)));
    let reason = |name: &[u8], who: &str| {
        let name = show(name);
        format!("has a hidden reference to {name}, which no object of the link defines: {who}")
    };
    asked.map(|(member, name, who)| (member, reason(name, who))).collect()
}

/// True if each linker may define the name in a link of this file.
pub(super) fn is_linker_defined(object: &Object, name: &[u8]) -> bool {
    let kind = output_kind(object);
    [Linker::Gnu, Linker::Lld, Linker::Mold].into_iter().all(|linker| {
        let output = LinkOutput { kind, linker: Some(linker), ..LinkOutput::default() };
        output.defines(Some(object.header.target()), name) != LinkerDefined::No
    })
}

/// The names to which linked files have strong undefined references.
fn strong_references<'o>(objects: impl Iterator<Item = &'o Object>) -> FastSet<Box<[u8]>> {
    let all = objects.flat_map(|object| link_references(object, false));
    all.filter(|(_, kind)| *kind == SymbolKind::Undefined).map(|(name, _)| name).collect()
}
