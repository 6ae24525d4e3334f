//! Static archives (`ar`). What is known of one when it is met is little ([`Archive`]); members and
//! their symbols are read on demand (`members`), and members that define given names are found by
//! the index alone where there is one ([`definitions`]). It decides nothing about linking: that is
//! `cover`'s.
//!
//! `facts::collect` and `facts::answer` are the callers.

mod bitcode;
mod deferred_names;
mod elf_member;
mod find;
mod gcc_lto;
mod header;
mod index;
mod link_facts;
mod members;
mod places;
mod ranges;
mod read;
mod symbols;

pub use find::{Definition, Names, definitions, matching, names};
pub use index::Index;
pub use link_facts::{Global, LinkFacts, Reader, Relocation, Section, Wanted};
pub use members::{Member, MemberDefect, MemberKind, Members, NAMELESS, Symbol, SymbolKind};
pub use places::places;
pub use ranges::Ranges;
pub use read::{External, Options, Scratch, members, object};

use super::{Defect, Table};
use header::{FIRST, MemberHeader};

/// What is known of an archive before anybody asks for a name or a member.
#[derive(Debug, Default)]
pub struct Archive {
    /// It names its members' files instead of holding them.
    pub thin: bool,
    /// What is wrong with it.
    pub defects: Vec<Defect>,
}

/// Looks at the first member header, which `head` holds as it begins with the file, so that a damaged
/// archive is known when it is met.
pub fn read(head: &[u8]) -> Archive {
    let (magic, first) = head.split_at(head.len().min(::object::archive::THIN_MAGIC.len()));
    let mut out = Archive { thin: magic == ::object::archive::THIN_MAGIC, defects: Vec::new() };
    if !first.is_empty() && MemberHeader::parse(first, FIRST).is_none() {
        out.defects.push(Defect::new(Table::MemberHeader, FIRST, "is not a member header"));
    }
    out
}
