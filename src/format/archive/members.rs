//! What is known of the members of an archive: their kinds, and of each ELF member the global
//! symbols. Owned and small: names of symbols are ids, whose texts the run keeps
//! ([`crate::symbol_names`]). `read` makes it, the coverage stage and rules ask it.

use super::index::Index;
use crate::format::Defect;
use crate::format::elf::Target;
use crate::id::NameId;
use std::num::NonZeroU64;
use std::ops::Range;

/// The members of one archive.
#[derive(Debug, Default)]
pub struct Members {
    /// It holds names of files instead of files.
    pub thin: bool,
    /// The members in the order of the archive, without index and table of long names.
    pub list: Vec<Member>,
    /// The index, where it was asked for and is there.
    pub index: Option<Index>,
    /// What is wrong, with the header offset of the member it was met in.
    pub damage: Vec<MemberDefect>,
    pub(super) symbols: Vec<Symbol>,
    /// Of each definition among `symbols` the hash of its name, and where that begins among its
    /// member's.
    pub(super) hashes: Vec<u64>,
    pub(super) starts: Vec<u32>,
    /// The members' names.
    pub(super) text: Vec<u8>,
}

/// Something wrong with a member or the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDefect {
    /// Header offset of the member; nothing where the archive itself is damaged.
    pub member: Option<u64>,
    /// What is wrong. The offset is one in the archive.
    pub defect: Defect,
}

/// One member.
#[derive(Clone, Debug)]
pub struct Member {
    /// Offset of its header in the archive, which identifies it: names repeat.
    pub offset: u64,
    /// What it is.
    pub kind: MemberKind,
    /// The objects it can be linked with; nothing if it is no ELF file.
    pub target: Option<Target>,
    pub(super) name: Span,
    pub(super) symbols: Span,
    pub(super) hashes: Span,
    /// Where the names of its symbols begin in the archive, if they do there.
    pub(super) strings: Option<NonZeroU64>,
}

/// A part of a list, by places in it.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub(super) struct Span {
    pub(super) start: u32,
    pub(super) end: u32,
}

impl Span {
    pub(super) fn range(self) -> Range<usize> {
        self.start as usize..self.end as usize
    }
}

/// What a member is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberKind {
    /// A relocatable ELF object whose symbols are known.
    Object,
    /// LLVM bitcode: what it refers to is not known, what it defines only by an index.
    Bitcode,
    /// An ELF file of GCC that holds nothing but its intermediate language (`-fno-fat-lto-objects`).
    SlimLto,
    /// LLVM bitcode whose symbols are known from the table that LLVM writes for linkers.
    LlvmLto,
    /// Such an ELF file of GCC, with the table of symbols for linker plugins.
    GccLto,
    /// Not an object: a linker passes over it.
    Other,
    /// An ELF file that is not relocatable.
    NotRelocatable,
    /// A file that a thin archive names and that is not there.
    Missing,
    /// A thin archive names something that is not a file that can be read; the words for it.
    NoFile(&'static str),
    /// A file that a thin archive names and that lies outside of what may be opened.
    Outside,
    /// An object that cannot be read.
    Damaged,
}

impl MemberKind {
    /// True for intermediate language, which linkers read with a plugin.
    pub fn is_lto(self) -> bool {
        matches!(self, Self::Bitcode | Self::SlimLto | Self::LlvmLto | Self::GccLto)
    }
}

/// What an object says of a global symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymbolKind {
    /// A reference that needs a definition.
    Undefined,
    /// A reference that may stay undefined, and for which no linker takes a member.
    WeakUndefined,
    /// A definition of which there may be one only; in a COMDAT group, where hardly any compiler puts
    /// one, several. No linker asks which when it looks for a member.
    Strong,
    /// A weak definition.
    Weak,
    /// STB_GNU_UNIQUE
    Unique,
    /// A tentative definition, SHN_COMMON.
    Common,
}

impl SymbolKind {
    /// True for definitions of any kind.
    pub fn is_definition(self) -> bool {
        !matches!(self, Self::Undefined | Self::WeakUndefined)
    }
}

/// The id of no name.
pub const NAMELESS: NameId = NameId::LAST;

/// A global symbol of a member.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Its name; [`NAMELESS`] for a definition without references that was not asked for;
    /// common symbols have names.
    pub name: NameId,
    /// What the member says of it.
    pub kind: SymbolKind,
    /// `st_other`: the visibility in its lowest two bits.
    pub other: u8,
    /// STT_FUNC or STT_GNU_IFUNC.
    pub function: bool,
}

impl Symbol {
    /// True if its visibility is hidden, internal or protected: a linker takes no definition of a
    /// shared object then.
    pub fn is_restricted(&self) -> bool {
        self.other & 3 != 0
    }
}

impl Members {
    /// A member's name.
    pub fn name(&self, member: &Member) -> &[u8] {
        self.text.get(member.name.range()).unwrap_or_default()
    }

    /// The global symbols of a member, in the order of its table.
    pub fn symbols(&self, member: &Member) -> &[Symbol] {
        self.symbols.get(member.symbols.range()).unwrap_or_default()
    }

    /// Hashes of the names that a member defines, in the order of its table: a name has the same in
    /// all archives of a run.
    pub fn hashes(&self, member: &Member) -> &[u64] {
        self.hashes.get(member.hashes.range()).unwrap_or_default()
    }

    /// Members of which it is not known what they refer to.
    pub fn opaque(&self) -> usize {
        self.list.iter().filter(|member| member.is_opaque()).count()
    }
}

impl Member {
    /// True if it is not known what the member refers to.
    pub fn is_opaque(&self) -> bool {
        matches!(self.kind, MemberKind::Bitcode | MemberKind::SlimLto)
    }

    /// True if it could not be read what the member refers to, for any reason. The index may say
    /// what it defines.
    pub fn is_unknown(&self) -> bool {
        let absent = matches!(
            self.kind,
            MemberKind::Missing | MemberKind::NoFile(_) | MemberKind::Outside | MemberKind::Damaged
        );
        absent || self.is_opaque()
    }
}
