//! Names that linkers define because the output has a section: `__start_foo` and `__stop_foo` for
//! `foo`. `prove` reads the members of a fix to find the section.

use crate::audit::Audit;
use crate::cover::{LinkOutput, LinkerDefined};
use crate::format::archive::{Global, LinkFacts, RelocationFilter};
use crate::id::FastSet;
use crate::merged::solve::{Solution, SymbolClosure, output_kind};
use crate::tree::Tree;

/// True if all names that the fix leaves undefined are bounds of sections of its members.
pub(super) fn define_rest(
    audit: &Audit,
    tree: &dyn Tree,
    solution: &Solution,
    part: &SymbolClosure,
) -> bool {
    let Some(object) = audit.corpus.files[solution.file].object() else { return false };
    let output = LinkOutput { kind: output_kind(object), linker: None };
    let section = |name: &Vec<u8>| match output.defines(Some(object.header.target()), name) {
        LinkerDefined::WithSection(section) => Some(section.to_vec()),
        _ => None,
    };
    let Some(wanted) = part.undefined.iter().map(section).collect::<Option<Vec<_>>>() else {
        return false;
    };
    let members = solution.members_of(audit, &[part]);
    let no_names = FastSet::default();
    let facts = audit.link_facts(tree, &members, RelocationFilter::Names(&no_names, false));
    wanted.iter().all(|name| facts.values().any(|facts| has_section(facts, name)))
}

/// True if a link keeps a section of this name. A section of a COMDAT group does not count: the
/// linker may keep the copy of another object.
fn has_section(facts: &LinkFacts, name: &[u8]) -> bool {
    let mut sections = facts.sections.iter().enumerate();
    sections.any(|(at, section)| {
        section.name.as_deref() == Some(name) && section.group.is_none() && facts.is_loaded(at)
    })
}

/// True for a reference to a bound of a section: no other object can replace the definition.
pub(super) fn is_bound(global: &Global, name: &[u8]) -> bool {
    let defined = LinkOutput::default().defines(None, name);
    global.section == 0 && matches!(defined, LinkerDefined::WithSection(_))
}
