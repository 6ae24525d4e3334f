//! Facts about the members of an archive: their kinds, and the global symbols of each object.
//! Symbols have ids for their names, and [`crate::symbol_names`] keeps the texts. `read` collects
//! the facts; the coverage stage and rules use them.

use super::index::ArchiveSymbolIndex;
use crate::format::Defect;
use crate::format::elf::Target;
use crate::id::NameId;
use object::elf;
use std::num::NonZeroU64;
use std::ops::Range;

/// The members of one archive.
#[derive(Debug, Default)]
pub struct Members {
    /// True for a thin archive: it stores the paths of its members instead of their contents.
    pub thin: bool,
    /// The members in the order of the archive, without index and table of long names.
    pub list: Vec<Member>,
    /// True if the archive has no index of GNU's form. GNU ld rejects such an archive.
    pub lacks_index: bool,
    /// True if a member defines or refers to a name with a version (`NAME@VERSION`).
    pub versioned: bool,
    /// The index, if it was read.
    pub index: Option<ArchiveSymbolIndex>,
    /// The defects of the members and of the archive itself. A defect of a member states the
    /// offset of the member's header.
    pub damage: Vec<MemberDefect>,
    pub(super) symbols: Vec<MemberSymbol>,
    /// For each definition among `symbols`, the hash of its name.
    pub(super) hashes: Vec<u64>,
    /// For each definition among `symbols`, the offset of its name in its member's string table.
    pub(super) starts: Vec<u32>,
    /// The definitions among `symbols` with a default version (`NAME@@VERSION`): their indices, in
    /// ascending order, and the text `NAME@VERSION`.
    pub(super) default_versions: Vec<(u32, Box<[u8]>)>,
    /// Functions of the C library to which objects in GCC's intermediate language may refer without
    /// a symbol, each with the offset of the member's header, in ascending order.
    pub(super) unlisted: Vec<(u64, &'static str)>,
    /// The names of the members, one after the other.
    pub(super) text: Vec<u8>,
}

/// A defect of a member or of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MemberDefect {
    /// Header offset of the member; `None` for a defect of the archive itself.
    pub member: Option<u64>,
    /// The defect, with an offset in the archive.
    pub defect: Defect,
}

/// One member of an archive, with its format and its symbols.
#[derive(Clone, Debug)]
pub struct Member {
    /// Offset of the member's header in the archive. The offset identifies the member, because
    /// several members may have the same name. In a truncated archive, the offset may come from the
    /// index and lie beyond the end of the file.
    pub offset: u64,
    /// The format of the member, or the reason why it cannot be read.
    pub kind: MemberKind,
    /// The target of the member, from its ELF header. `None` if the member is not a readable ELF
    /// file.
    pub target: Option<Target>,
    /// True if this member of a thin archive refers to a member of another archive. Only GNU ld
    /// reads such members.
    pub in_other_archive: bool,
    pub(super) name: Span,
    pub(super) symbols: Span,
    pub(super) hashes: Span,
    /// Offset of the member's string table in the archive; `None` if no name is read from that
    /// table again.
    pub(super) strings: Option<NonZeroU64>,
}

/// A part of a list, as a range of indices.
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

/// The format of a member, or the reason why it cannot be read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum MemberKind {
    /// A relocatable ELF object whose symbols are known.
    Object,
    /// LLVM bitcode without a readable symbol table. Its references are unknown, and only the
    /// archive's index lists its definitions.
    Bitcode,
    /// An ELF file with only GCC's intermediate language (`-fno-fat-lto-objects`), and without a
    /// readable table of symbols for linker plugins.
    SlimLto,
    /// LLVM bitcode whose symbols are known from the table that LLVM writes for linkers.
    LlvmLto,
    /// An ELF file with only GCC's intermediate language, and with GCC's table of symbols for
    /// linker plugins.
    GccLto,
    /// Not an object: linkers ignore it.
    Other,
    /// An archive inside of the archive. Linkers do not open it.
    Nested,
    /// An ELF file that is not relocatable.
    NotRelocatable,
    /// A file that a thin archive names and that does not exist.
    Missing,
    /// The path in a thin archive names a directory, a special file, or a file that cannot be
    /// opened. The text says which.
    NoFile(&'static str),
    /// A file that a thin archive names outside of the allowed directories.
    Outside,
    /// An object that cannot be read.
    Damaged,
}

impl MemberKind {
    /// True for intermediate language, which linkers read with a plugin.
    pub fn is_lto(self) -> bool {
        matches!(self, Self::Bitcode | Self::SlimLto | Self::LlvmLto | Self::GccLto)
    }

    /// True for LLVM bitcode.
    pub fn is_bitcode(self) -> bool {
        matches!(self, Self::Bitcode | Self::LlvmLto)
    }
}

/// The kind of a global symbol in an object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum SymbolKind {
    /// A reference that needs a definition.
    Undefined,
    /// A reference that may stay undefined, and for which no linker extracts a member.
    WeakUndefined,
    /// A strong definition. A link may have only one for each name, except in COMDAT groups, where
    /// strong definitions are rare. When linkers select a member to extract, they do not check if
    /// the definition is in a COMDAT group.
    Strong,
    /// A weak definition.
    Weak,
    /// A definition with STB_GNU_UNIQUE. A process uses only one such definition of each name.
    Unique,
    /// A tentative definition with the section index SHN_COMMON.
    Common,
    /// A tentative definition with a machine-specific section index, such as SHN_X86_64_LCOMMON.
    /// GNU ld treats it as common, and lld as a strong definition. mold ignores it.
    MachineCommon,
}

impl SymbolKind {
    /// True for definitions of any kind.
    pub fn is_definition(self) -> bool {
        !matches!(self, Self::Undefined | Self::WeakUndefined)
    }

    /// True for tentative definitions of any kind.
    pub fn is_tentative(self) -> bool {
        matches!(self, Self::Common | Self::MachineCommon)
    }
}

/// What the type of a symbol says about its value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum SymbolValue {
    /// STT_NOTYPE: nothing. Assemblers give this type to most references.
    Untyped,
    /// STT_FUNC or STT_GNU_IFUNC.
    Function,
    /// STT_TLS.
    ThreadLocal,
    /// Another type, such as STT_OBJECT.
    Data,
}

impl SymbolValue {
    pub(crate) fn of(kind: elf::SymbolType) -> Self {
        match kind {
            elf::STT_NOTYPE => Self::Untyped,
            elf::STT_FUNC | elf::STT_GNU_IFUNC => Self::Function,
            elf::STT_TLS => Self::ThreadLocal,
            _ => Self::Data,
        }
    }
}

/// The id of a symbol whose name is not stored.
pub const NAMELESS: NameId = NameId::LAST;

/// A global symbol of a member.
#[derive(Clone, Copy, Debug)]
pub struct MemberSymbol {
    /// The id of the symbol's name; [`NAMELESS`] for a definition whose name was not stored,
    /// because no reference to it was known. Names of common symbols are always stored.
    pub name: NameId,
    /// Reference or definition, and its binding.
    pub kind: SymbolKind,
    /// `st_other`: the visibility in its lowest two bits.
    pub other: u8,
    /// What its type says about its value.
    pub value: SymbolValue,
    /// True for a strong definition in a section that also has a weak definition. Such a section
    /// may be in a COMDAT group, and other copies of the group may lack the strong definition.
    pub beside_weak: bool,
}

impl MemberSymbol {
    /// True if the visibility of the symbol is hidden, internal or protected: a linker then
    /// ignores definitions of the symbol in shared objects.
    pub fn is_restricted(&self) -> bool {
        self.other & 3 != 0
    }

    /// True for a function.
    pub fn is_function(&self) -> bool {
        self.value == SymbolValue::Function
    }

    /// True if the visibility of the symbol is hidden or internal: the output of a link does not
    /// export it.
    pub fn is_unexported(&self) -> bool {
        [elf::STV_HIDDEN, elf::STV_INTERNAL].contains(&elf::SymbolVisibility(self.other & 3))
    }
}

impl Members {
    /// A member's name. Empty if the archive states none, or if the name cannot be read.
    pub fn name(&self, member: &Member) -> &[u8] {
        self.text.get(member.name.range()).unwrap_or_default()
    }

    /// The global symbols of a member, in the order of its symbol table.
    pub fn symbols(&self, member: &Member) -> &[MemberSymbol] {
        self.symbols.get(member.symbols.range()).unwrap_or_default()
    }

    /// The member's definitions that have a default version. Each symbol, whose name is NAME, comes
    /// with the text `NAME@VERSION`.
    pub fn default_versions(
        &self,
        member: &Member,
    ) -> impl Iterator<Item = (&[u8], &MemberSymbol)> {
        let Span { start, end } = member.symbols;
        let first = self.default_versions.partition_point(|(at, _)| *at < start);
        let found = self.default_versions[first..].iter().take_while(move |(at, _)| *at < end);
        found.filter_map(|(at, name)| Some((&**name, self.symbols.get(*at as usize)?)))
    }

    /// The functions of the C library to which the member may refer without a symbol: GCC's
    /// intermediate language does not list builtins.
    pub fn unlisted(&self, member: &Member) -> impl Iterator<Item = &'static str> {
        let first = self.unlisted.partition_point(|(at, _)| *at < member.offset);
        let found = self.unlisted[first..].iter();
        found.take_while(|(at, _)| *at == member.offset).map(|(_, name)| *name)
    }

    /// Hashes of the names that a member defines, in the order of the member's symbol table. A name
    /// has the same hash in all archives of a run.
    pub fn hashes(&self, member: &Member) -> &[u64] {
        self.hashes.get(member.hashes.range()).unwrap_or_default()
    }

    /// The member whose header is at `offset`; `None` if there is none.
    pub(super) fn at(&self, offset: u64) -> Option<&Member> {
        let found = self.list.binary_search_by_key(&offset, |member| member.offset).ok()?;
        self.list.get(found)
    }

    /// Number of members whose references are unknown because the members are in intermediate
    /// language.
    pub fn opaque(&self) -> usize {
        self.list.iter().filter(|member| member.is_opaque()).count()
    }
}

impl Member {
    /// True if the references of the member are unknown because it is in intermediate language.
    pub fn is_opaque(&self) -> bool {
        matches!(self.kind, MemberKind::Bitcode | MemberKind::SlimLto)
    }

    /// True if the references of the member are unknown for any reason. The archive's index may
    /// list the definitions of the member.
    pub fn is_unknown(&self) -> bool {
        let absent = matches!(
            self.kind,
            MemberKind::Missing | MemberKind::NoFile(_) | MemberKind::Outside | MemberKind::Damaged
        );
        absent || self.is_opaque()
    }
}
