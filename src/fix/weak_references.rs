//! Weak references that no file satisfies, to names that a needed library also leaves undefined.
//! With `-z defs`, GNU ld merges both references and reports the name as undefined in the member;
//! lld and mold do not.

use super::hidden::is_linker_defined;
use crate::audit::{Audit, Libraries};
use crate::bind::RelocationMessage;
use crate::facts::View;
use crate::format::archive::{LinkFacts, SymbolKind};
use crate::format::elf::Object;
use crate::id::{FastMap, FastSet, MemberId};
use crate::text::show;

/// The members with a weak reference that no file satisfies, to a name that a needed library also
/// leaves undefined. Each member comes with the reason. `is_defined` is true for names that an
/// object defines.
pub(super) fn members(
    audit: &Audit,
    (object, libraries): (&Object, &Libraries<'_>),
    facts: &FastMap<MemberId, LinkFacts>,
    is_defined: &dyn Fn(&[u8]) -> bool,
) -> Vec<(MemberId, String)> {
    let library = &audit.library;
    let is_open = |name: &[u8]| {
        !is_defined(name) && !libraries.define(name) && !is_linker_defined(object, name)
    };
    let mut open: Vec<(MemberId, &[u8])> = Vec::new();
    for member in facts.keys() {
        let symbols = library.symbols(*member);
        let weak = symbols.filter(|(_, symbol)| symbol.kind == SymbolKind::WeakUndefined);
        let names = weak.map(|(name, _)| library.text(name)).filter(|name| is_open(name));
        open.extend(names.map(|name| (*member, name)));
    }
    if open.is_empty() {
        return Vec::new();
    }
    open.sort_unstable();
    let lacking = undefined(audit, libraries);
    let reason = |name: &[u8]| {
        let name = show(name);
        format!(
            "has a weak reference to {name}, which a needed library lacks too: \
             GNU ld rejects it with -z defs"
        )
    };
    let found = open.into_iter().filter(|(_, name)| lacking.contains(*name));
    found.map(|(member, name)| (member, reason(name))).collect()
}

/// The names that one of the libraries leaves undefined in a process.
fn undefined<'a>(audit: &'a Audit, libraries: &Libraries<'_>) -> FastSet<&'a [u8]> {
    let mut out = FastSet::default();
    for (closure, binding) in audit.closures.roots.iter().zip(&audit.bindings) {
        for (module, reports) in &binding.reports {
            let file = closure.module(*module).file.filter(|file| libraries.contain(*file));
            let Some(object) = file.and_then(|file| View::new(&audit.corpus).object(file)) else {
                continue;
            };
            out.extend(reports.iter().filter_map(|report| match report {
                RelocationMessage::Undefined { symbol, .. } => Some(object.symbol_name(*symbol)),
                _ => None,
            }));
        }
    }
    out
}
