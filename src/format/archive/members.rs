//! What is known of the members of an archive: their kinds, and of each ELF member the global
//! symbols. Owned and small: every name of an archive is stored once. `read` makes it, the coverage
//! stage and rules ask it.

use super::index::Index;
use crate::format::elf::Target;
use crate::format::{Defect, Table};

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
    pub damage: Vec<Damage>,
    pub(super) symbols: Vec<Symbol>,
    pub(super) names: Vec<Name>,
    pub(super) text: Vec<u8>,
}

/// Something wrong with a member or the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Damage {
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
    pub(super) name: (u32, u32),
    pub(super) symbols: (u32, u32),
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
    /// Not an object: a linker passes over it.
    Other,
    /// An ELF file that is not relocatable.
    NotRelocatable,
    /// A file that a thin archive names and that is not there.
    Missing,
    /// A file that a thin archive names and that lies outside of what may be opened.
    Outside,
    /// An object that cannot be read.
    Damaged,
}

/// What an object says of a global symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum SymbolKind {
    /// A reference that needs a definition.
    Undefined,
    /// A reference that may stay undefined, and for which no linker takes a member.
    WeakUndefined,
    /// A definition of which there may be one only.
    Strong,
    /// A weak definition.
    Weak,
    /// STB_GNU_UNIQUE
    Unique,
    /// A tentative definition, SHN_COMMON.
    Common,
    /// A strong definition in a COMDAT group, of which there may be several. It is told from
    /// [`Self::Strong`] only where somebody asks ([`super::groups`]).
    Comdat,
}

impl SymbolKind {
    /// True for definitions of any kind.
    pub fn is_definition(self) -> bool {
        !matches!(self, Self::Undefined | Self::WeakUndefined)
    }
}

/// A global symbol of a member.
#[derive(Clone, Copy, Debug)]
pub struct Symbol {
    /// Its name: an index into the names of the archive as it is read, and among those of the run
    /// once it is part of the corpus (`facts::SymbolNames`).
    pub name: u32,
    /// What the member says of it.
    pub kind: SymbolKind,
    /// `st_other`: the visibility in its lowest two bits.
    pub other: u8,
    /// STT_FUNC or STT_GNU_IFUNC.
    pub function: bool,
}

/// Memory that held symbols and names of one archive, for the next.
#[derive(Debug, Default)]
pub struct Spare {
    pub(super) symbols: Vec<Symbol>,
    pub(super) names: Vec<Name>,
    pub(super) text: Vec<u8>,
}

/// A name of an archive.
#[derive(Clone, Copy, Debug)]
pub(super) struct Name {
    pub(super) hash: u64,
    pub(super) start: u32,
    pub(super) len: u32,
}

impl Members {
    /// A member's name.
    pub fn name(&self, member: &Member) -> &[u8] {
        let (start, len) = member.name;
        self.text.get(start as usize..start as usize + len as usize).unwrap_or_default()
    }

    /// The global symbols of a member, in the order of its table.
    pub fn symbols(&self, member: &Member) -> &[Symbol] {
        let (start, end) = member.symbols;
        self.symbols.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Gives every symbol the new number of its name, and gives away the names. Where there is no
    /// number, the symbols of the member are lost, and it is damaged.
    pub fn rename(&mut self, numbers: &[Option<u32>]) -> Spare {
        for member in &mut self.list {
            let (start, end) = member.symbols;
            let symbols = self.symbols.get(start as usize..end as usize).unwrap_or_default();
            if symbols.iter().any(|symbol| numbers.get(symbol.name as usize) == Some(&None)) {
                let what = "has more names than can be kept";
                let defect = Defect::new(Table::MemberSymbols, member.offset, what);
                self.damage.push(Damage { member: Some(member.offset), defect });
                member.kind = MemberKind::Damaged;
                member.symbols = (0, 0);
            }
        }
        for symbol in &mut self.symbols {
            symbol.name = numbers.get(symbol.name as usize).copied().flatten().unwrap_or(0);
        }
        let mut text = Vec::new();
        for member in &mut self.list {
            let (start, len) = (member.name.0 as usize, member.name.1 as usize);
            let place = u32::try_from(text.len()).unwrap_or(u32::MAX);
            text.extend_from_slice(self.text.get(start..start + len).unwrap_or_default());
            member.name = (place, member.name.1);
        }
        let symbols = self.symbols.as_slice().to_vec();
        Spare {
            symbols: std::mem::replace(&mut self.symbols, symbols),
            names: std::mem::take(&mut self.names),
            text: std::mem::replace(&mut self.text, text),
        }
    }

    /// How many names there are; symbols name them by number.
    pub fn names(&self) -> usize {
        self.names.len()
    }

    /// The text of a name.
    pub fn text(&self, name: u32) -> &[u8] {
        let Some(name) = self.names.get(name as usize) else { return &[] };
        self.text.get(name.start as usize..name.start as usize + name.len as usize).unwrap_or(&[])
    }

    /// The hash of a name, the same in every archive ([`super::read::hash`]).
    pub fn hash(&self, name: u32) -> u64 {
        self.names.get(name as usize).map_or(0, |name| name.hash)
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
}
