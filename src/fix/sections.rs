//! Names that linkers define because the output has a section: `__start_foo` and `__stop_foo` for
//! `foo`, and `_TLS_MODULE_BASE_` for thread-local data. `prove` reads the members of a fix to find
//! the section.

use crate::audit::Audit;
use crate::cover::{LinkOutput, LinkerDefined};
use crate::format::archive::{LinkFacts, ObjectSection, RelocationFilter};
use crate::id::FastSet;
use crate::merged::link::output_kind;
use crate::merged::solve::{Solution, SymbolClosure};
use crate::tree::Tree;

/// True if linkers define all names that the fix leaves undefined, because members of the fix have
/// the sections for these names.
pub(super) fn define_rest(
    audit: &Audit,
    tree: &dyn Tree,
    solution: &Solution,
    part: &SymbolClosure,
) -> bool {
    let Some(object) = audit.corpus.files[solution.file].object() else { return false };
    let output = LinkOutput { kind: output_kind(object), ..LinkOutput::default() };
    let target = Some(object.header.target());
    let wanted: Vec<LinkerDefined<'_>> =
        part.undefined.iter().map(|name| output.defines(target, name)).collect();
    if wanted.iter().any(|wanted| matches!(wanted, LinkerDefined::No | LinkerDefined::Always)) {
        return false;
    }
    let members = solution.members_of(&[part]);
    let no_names = FastSet::default();
    let facts = audit.link_facts(tree, &members, RelocationFilter::of(&no_names));
    wanted.iter().all(|wanted| facts.values().any(|facts| has_section(facts, *wanted)))
}

/// True if the object has the section that the condition `wanted` requires. A section of a COMDAT
/// group is ignored: the linker may keep the copy of another object.
fn has_section(facts: &LinkFacts, wanted: LinkerDefined<'_>) -> bool {
    let decides: &dyn Fn(&ObjectSection) -> bool = match wanted {
        LinkerDefined::No | LinkerDefined::Always => return false,
        LinkerDefined::WithSection(name) => &move |section| section.name.as_deref() == Some(name),
        LinkerDefined::WithTls => &ObjectSection::is_tls,
    };
    let mut sections = facts.sections.iter().enumerate();
    sections.any(|(at, section)| decides(section) && section.group.is_none() && facts.is_loaded(at))
}

/// True if `name` is a bound of a section of one of `members`. No other object can then replace the
/// definition of the linker.
pub(super) fn define_bound<'f>(
    mut members: impl Iterator<Item = &'f LinkFacts>,
    name: &[u8],
) -> bool {
    let defined = LinkOutput::default().defines(None, name);
    matches!(defined, LinkerDefined::WithSection(_))
        && members.any(|facts| has_section(facts, defined))
}

/// True for a name with the form of a section bound, such as `__start_foo`.
pub(super) fn may_define(name: &[u8]) -> bool {
    matches!(LinkOutput::default().defines(None, name), LinkerDefined::WithSection(_))
}
