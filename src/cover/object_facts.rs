//! Facts about the objects of a link beyond their symbol tables, such as sections and relocations.
//! `audit::link_facts` reads them; `refine` and `gc` use them.

use super::ReferredBy;
use crate::format::archive::LinkFacts;
use crate::id::{FastMap, MemberId};

/// Facts of roots, in their order, and of members.
#[derive(Default)]
pub struct ObjectFacts {
    /// The facts of each root. `None` for a linked root, for intermediate language, or if the facts
    /// could not be read.
    pub roots: Vec<Option<LinkFacts>>,
    /// The facts of each member. Members that could not be read or that have intermediate language
    /// are absent.
    pub members: FastMap<MemberId, LinkFacts>,
}

impl ObjectFacts {
    pub(super) fn of(&self, by: ReferredBy) -> Option<&LinkFacts> {
        match by {
            ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => None,
            ReferredBy::Root(at) => self.roots.get(at)?.as_ref(),
            ReferredBy::Member(member) => self.members.get(&member),
        }
    }
}
