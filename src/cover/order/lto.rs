//! Definitions in intermediate language that LTO drops. The linker tells its plugin which symbols the
//! rest of the link needs, and LTO drops definitions that nothing else seems to need.

use super::Resolved;
use crate::cover::{Coverage, CoverageQuestion, Link, Linker, UndefinedName};
use crate::format::archive::SymbolKind;
use crate::id::{FastSet, MemberId};

/// The objects of a link by their language. Shared objects are not among them.
struct Objects<'q> {
    question: &'q CoverageQuestion<'q>,
    members: Vec<MemberId>,
}

impl<'q> Objects<'q> {
    /// `None` if no object is in intermediate language.
    fn new(question: &'q CoverageQuestion<'q>, coverage: &Coverage) -> Option<Self> {
        let members: Vec<MemberId> = coverage.needed.iter().map(|needed| needed.member).collect();
        let is_lto = |member: &MemberId| question.library.member(*member).kind.is_lto();
        let has_lto = question.roots.iter().any(|root| root.lto) || members.iter().any(is_lto);
        has_lto.then_some(Self { question, members })
    }

    /// The symbols of roots in intermediate language, or of the other roots.
    fn of_roots(&self, lto: bool) -> impl Iterator<Item = (&'q [u8], SymbolKind)> + use<'q> {
        let roots = self.question.roots.iter().filter(move |root| !root.linked && root.lto == lto);
        roots.flat_map(|root| &root.symbols).map(|(name, kind)| (&**name, *kind))
    }

    /// The symbols of members in intermediate language, or of the other members.
    fn of_members(&self, lto: bool) -> impl Iterator<Item = (&'q [u8], SymbolKind)> {
        let library = self.question.library;
        let is_it = move |member: &&MemberId| library.member(**member).kind.is_lto() == lto;
        let symbols = self.members.iter().filter(is_it).flat_map(|m| library.symbols(*m));
        symbols.map(|(name, symbol)| (library.text(name), symbol.kind))
    }

    fn symbols(&self, lto: bool) -> impl Iterator<Item = (&'q [u8], SymbolKind)> {
        self.of_roots(lto).chain(self.of_members(lto))
    }

    /// The names that machine code defines or refers to, after `--wrap`.
    fn of_machine_code(&self, link: &'q Link) -> FastSet<&'q [u8]> {
        let meant = |(name, kind): (&'q [u8], SymbolKind)| {
            if kind.is_definition() { name } else { link.reference(name) }
        };
        self.symbols(false).map(meant).collect()
    }
}

/// Names that intermediate language defines and to which only intermediate language refers, under
/// another name that `--wrap` redirects. LTO does not know of `--wrap`: it may drop the definition
/// and keep the reference. GNU ld asks the plugin to keep wrapped functions, but not wrappers. mold
/// keeps the definitions of objects, but not those of archives.
pub(super) fn dropped_targets<'q>(
    question: &'q CoverageQuestion<'q>,
    link: &'q Link,
    resolved: &Resolved<'q>,
) -> FastSet<&'q [u8]> {
    let is_gnu = link.linker == Linker::Gnu;
    if link.wraps.is_empty() || link.linker == Linker::Lld {
        return FastSet::default();
    }
    let Some(objects) = Objects::new(question, &resolved.coverage) else {
        return FastSet::default();
    };
    let defined = |(name, kind): (&'q [u8], SymbolKind)| kind.is_definition().then_some(name);
    let defined: FastSet<&[u8]> = if is_gnu {
        objects.symbols(true).filter_map(defined).collect()
    } else {
        objects.of_members(true).filter_map(defined).collect()
    };
    let mut kept = objects.of_machine_code(link);
    kept.extend(link.shared_references.iter().map(|(name, _)| &**name));
    kept.extend(question.symbols.iter().chain(&link.undefined).map(|name| &**name));
    kept.extend(link.expressions());
    let redirected = objects.symbols(true).filter(|(_, kind)| !kind.is_definition());
    let redirected = redirected.filter_map(|(name, _)| {
        let meant = link.reference(name);
        let is_lost = !is_gnu || link.is_wrapper(meant);
        (meant != name && is_lost).then_some(meant)
    });
    redirected.filter(|name| defined.contains(name) && !kept.contains(name)).collect()
}

/// True if the output exports all names that no option hides, so that LTO keeps their definitions.
/// mold 1.10 does not keep those of archives.
pub(super) fn keeps_exported(question: &CoverageQuestion<'_>, link: &Link) -> bool {
    link.linker == Linker::Gnu && (link.export_dynamic || !question.makes_program())
}

/// Adds the names in `unexported` whose definitions LTO may drop: only intermediate language defines
/// them, and no machine code of an object refers to them.
pub(super) fn add_droppable(
    question: &CoverageQuestion<'_>,
    link: &Link,
    unexported: &[UndefinedName],
    coverage: &mut Coverage,
) {
    if unexported.is_empty() {
        return;
    }
    let Some(objects) = Objects::new(question, coverage) else { return };
    let kept = objects.of_machine_code(link);
    let names = unexported.iter().map(|undefined| &undefined.symbol);
    let droppable: Vec<Box<[u8]>> =
        names.filter(|name| !kept.contains(&***name)).cloned().collect();
    coverage.only_lto_defines.extend(droppable);
}
