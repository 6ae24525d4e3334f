//! Static archives (`ar`). [`read()`] checks only the first member header. The members and their
//! symbols are read on demand (`members`). Members that define given names are found through the
//! index alone, if there is one ([`definitions`]). Decisions about linking are made in `cover`.
//!
//! The modules of `facts` are the main callers.

mod bitcode;
mod deferred_names;
mod dependent;
mod elf_member;
mod find;
mod gcc_builtins;
mod gcc_lto;
mod header;
mod index;
mod link_facts;
mod link_reader;
mod members;
mod places;
mod ranges;
mod read;
mod symbols;

pub use dependent::DependentLibraries;
pub use find::{DefiningMember, RequestedNames, definitions, matching, names};
pub use index::{ArchiveSymbolIndex, gnu_index};
pub use link_facts::{
    Global, GroupNames, GroupReference, LINK_ONCE, LinkFacts, ObjectRelocation, ObjectSection,
    RelocationFilter,
};
pub use link_reader::{LinkFactsReader, LinkScratch};
pub use members::{
    Member, MemberDefect, MemberKind, MemberSymbol, Members, NAMELESS, SymbolKind, SymbolValue,
};
pub use places::places;
pub use read::{External, Options, Scratch, members, object};

use super::elf::Ident;
use super::{Defect, Table};
use header::{FIRST, MemberHeader};

/// Facts about an archive from the first bytes of its file. The members are read later.
#[derive(Debug)]
pub struct Archive {
    /// True for a thin archive: it stores the paths of its members instead of their contents.
    pub thin: bool,
    /// The first bytes of the file, from which [`Ident::reaction`] computes how a loader reacts to
    /// the file.
    pub ident: Ident,
    /// At most one defect: the first member header is damaged.
    pub defects: Vec<Defect>,
}

/// Checks the first member header. A damaged header is then reported even if no member is read
/// later. `head` has the first bytes of the file.
pub fn read(head: &[u8]) -> Archive {
    let (magic, first) = head.split_at(head.len().min(::object::archive::THIN_MAGIC.len()));
    let thin = magic == ::object::archive::THIN_MAGIC;
    let mut out = Archive { thin, ident: Ident::new(head), defects: Vec::new() };
    if !first.is_empty() && MemberHeader::parse(first, FIRST).is_none() {
        out.defects.push(Defect::new(Table::MemberHeader, FIRST, "is not a member header"));
    }
    out
}
