//! Copies of a COMDAT group in which a name is strong in one copy and weak in another. lld resolves
//! the name to the strong definition, and then discards the copy with this definition. lld
//! therefore reports the name as undefined (`ObjFile::postParse`).

use crate::audit::Audit;
use crate::format::archive::{LinkFacts, SymbolKind};
use crate::id::{FastMap, MemberId};
use crate::text::show;
use object::elf;

/// A strong definition in a COMDAT group. Another copy of the group defines the name weakly.
pub(super) struct StrongCopy {
    pub(super) member: MemberId,
    name: Box<[u8]>,
    /// The member with the weak definition; `None` for the linked object.
    other: Option<MemberId>,
}

/// Finds strong definitions in COMDAT groups for which another copy of the group, or the linked
/// object, has a weak definition. `is_weak_inside` is true for names that the object defines
/// weakly.
pub(super) fn strong_copies(
    audit: &Audit,
    facts: &FastMap<MemberId, LinkFacts>,
    is_weak_inside: &dyn Fn(&[u8]) -> bool,
) -> Vec<StrongCopy> {
    let library = &audit.library;
    let mut out = Vec::new();
    for (member, own) in facts {
        let strong = own.globals.iter().filter(|g| elf::SymbolBind(g.bind) == elf::STB_GLOBAL);
        for global in strong {
            let name = own.name(global);
            let Some(signature) = own.group_of(global.section) else { continue };
            let has_copy = |other: &MemberId| {
                let mut groups = facts.get(other).into_iter().flat_map(LinkFacts::signatures);
                other != member && groups.any(|group| group == signature)
            };
            let definitions = library.find(name).into_iter().flat_map(|id| library.definitions(id));
            let mut weak = definitions.filter(|found| found.kind == SymbolKind::Weak);
            let other = weak.find(|found| has_copy(&found.member)).map(|found| found.member);
            if other.is_some() || is_weak_inside(name) {
                out.push(StrongCopy { member: *member, name: name.into(), other });
            }
        }
    }
    out.sort_unstable_by(|a, b| (a.member, &a.name).cmp(&(b.member, &b.name)));
    out
}

impl StrongCopy {
    /// The reason why the member does not link, in words. `name` returns a member's shown name.
    pub(super) fn reason(&self, name: impl Fn(MemberId) -> String) -> String {
        let (member, symbol) = (name(self.member), show(&self.name));
        let other = self.other.map_or_else(|| "the file".to_owned(), name);
        format!(
            "{member} defines {symbol} in a COMDAT group, and {other} defines it weakly: lld may keep neither"
        )
    }
}
