//! Strong references of archives to names that no archive of the set defines, in any link order.
//! Each name has a set of the targets for which it is defined. The cost therefore grows with the
//! number of symbols, not with the number of pairs of archives. `audit::unlinkable` is the caller.

use super::{ArchiveSet, LinkOutput, LinkerDefined};
use crate::format::archive::SymbolKind;
use crate::format::elf::Target;
use crate::id::{ArchiveId, FastMap, Id as _, MemberId, NameId};
use crate::parallel;

/// The entry point of C: every program defines it.
const MAIN: &[u8] = b"main";

/// A reference without a definition in any archive.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LackingReference {
    /// The name without a definition.
    pub name: NameId,
    /// The member that refers to the name.
    pub member: MemberId,
    /// The target of the member, else of its archive; `None` if both are unknown.
    pub target: Option<Target>,
    /// True if the visibility of the reference is restricted, so that no shared object satisfies
    /// it.
    pub restricted: bool,
}

/// For each archive in `archives`, its strong references without a definition, in the order of
/// members. A reference has no definition if no archive of the set defines the name for the target
/// of the reference. `main` and names that the linker always defines for `output` are skipped.
pub fn lacking(
    library: &ArchiveSet,
    archives: &[ArchiveId],
    output: LinkOutput,
) -> Vec<Vec<LackingReference>> {
    let known = Targets::new(library);
    parallel::map_single(archives, |archive| known.lacking(*archive, output))
}

/// For each name, the targets for which some archive defines it.
struct Targets<'l> {
    library: &'l ArchiveSet,
    classes: FastMap<Target, u32>,
    /// For each name, by its id: the bits of the targets for which a member defines the name.
    defined: Vec<u32>,
}

/// The bit of members whose target is unknown, and of all targets after the first 31.
const ANY: u32 = 1 << 31;

impl<'l> Targets<'l> {
    fn new(library: &'l ArchiveSet) -> Self {
        let mut out =
            Self { library, classes: FastMap::default(), defined: vec![0; library.names()] };
        for archive in library.entries().map(|(archive, _)| archive) {
            for member in library.members_of(archive) {
                let class = library.member(member).target.map_or(ANY, |target| out.class(target));
                for (name, symbol) in library.symbols(member) {
                    if symbol.kind.is_definition() {
                        out.defined[name.index()] |= class;
                    }
                }
            }
        }
        out
    }

    fn class(&mut self, target: Target) -> u32 {
        let next = u32::try_from(self.classes.len()).unwrap_or(31).min(31);
        *self.classes.entry(target).or_insert(1 << next)
    }

    /// The bits of all targets that link with `target`.
    fn links_with(&self, target: Option<Target>) -> u32 {
        let Some(target) = target else { return u32::MAX };
        let fits = self.classes.iter().filter(|(other, _)| target.links_with(**other));
        fits.fold(ANY, |bits, (_, bit)| bits | bit)
    }

    fn lacking(&self, archive: ArchiveId, output: LinkOutput) -> Vec<LackingReference> {
        let library = self.library;
        let of_archive =
            library.entry(archive).members.list.iter().find_map(|member| member.target);
        let mut last = (None, self.links_with(None));
        let mut out = Vec::new();
        for member in library.members_of(archive) {
            let target = library.member(member).target.or(of_archive);
            if last.0 != target {
                last = (target, self.links_with(target));
            }
            for (name, symbol) in library.symbols(member) {
                let text = || library.text(name);
                if symbol.kind == SymbolKind::Undefined
                    && self.defined[name.index()] & last.1 == 0
                    && text() != MAIN
                    && output.defines(target, text()) != LinkerDefined::Always
                {
                    let restricted = symbol.is_restricted();
                    out.push(LackingReference { name, member, target, restricted });
                }
            }
        }
        out
    }
}
