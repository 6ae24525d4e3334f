//! What a linker looks at behind the symbol tables of the objects of a link. `audit::link_facts` reads it,
//! `refine` and `gc` use it.

use super::By;
use crate::format::archive::LinkFacts;
use crate::id::{FastMap, MemberId};

/// Facts of roots, in their order, and of members.
#[derive(Default)]
pub struct Facts {
    /// Nothing for a linked root, and where they could not be read.
    pub roots: Vec<Option<LinkFacts>>,
    /// Members that could not be read are not in it.
    pub members: FastMap<MemberId, LinkFacts>,
}

impl Facts {
    pub(super) fn of(&self, by: By) -> Option<&LinkFacts> {
        match by {
            By::Asked => None,
            By::Root(at) => self.roots.get(at)?.as_ref(),
            By::Member(member) => self.members.get(&member),
        }
    }
}
