//! File formats: the only folder that looks at raw bytes.
//!
//! Each format turns one open file into owned facts and never trusts a size, count or offset that
//! it did not hold against the file. What is wrong with a file is a [`Defect`], not an error of
//! the run. `facts::collect` is the caller.

pub mod archive;
pub mod cmake;
pub mod cross_check;
pub mod deps_list;
pub mod elf;
pub mod gcc_specs;
pub mod gpu;
pub mod header;
pub mod ld_so_conf;
pub mod pkg_config;
pub mod script;

use crate::sniff::Classes;
use crate::tree::Handle;

/// Which files are read, and what of a file beyond what resolving and binding always need.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Files of these classes; all others are only counted.
    pub classes: Classes,
    /// The dynamic tables are kept even where no DT_SONAME says that others may need the object.
    pub tables: bool,
    /// Dynamic tables are kept for no object until a later step asks for them.
    pub lean: bool,
    /// The indexes of archives are read with their members.
    pub index: bool,
    /// The names that members define are kept even if nothing refers to them, to compare them with the index
    /// of the archive and with the symbols of a library.
    pub names: bool,
    /// The relocations of an object are read with it.
    pub relocations: bool,
    /// The notes about libraries that an object opens with dlopen are read.
    pub dlopen_notes: bool,
}

/// The part of a file in which something is wrong.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// The file as a whole: it is short, or changed while it was read.
    File,
    /// The ELF header.
    ElfHeader,
    /// The program header table.
    ProgramHeaders,
    /// The PT_INTERP segment.
    Interp,
    /// The dynamic section, by PT_DYNAMIC.
    Dynamic,
    /// The dynamic string table, DT_STRTAB.
    Strings,
    /// The dynamic symbol table, DT_SYMTAB.
    Symbols,
    /// The SysV hash table, DT_HASH.
    SysvHash,
    /// The GNU hash table, DT_GNU_HASH.
    GnuHash,
    /// Symbol version indices, DT_VERSYM.
    Versym,
    /// Needed versions, DT_VERNEED.
    Verneed,
    /// Defined versions, DT_VERDEF.
    Verdef,
    /// Relocations, DT_REL, DT_RELA or DT_JMPREL.
    Relocations,
    /// The header of an archive member.
    MemberHeader,
    /// The symbol index of an archive.
    ArchiveIndex,
    /// The section headers of a relocatable object.
    SectionHeaders,
    /// The symbol table of an object in an archive.
    MemberSymbols,
    /// The names of symbols of an object in an archive.
    MemberStrings,
}

impl Table {
    /// The name a reader of `readelf` output knows it by.
    pub fn name(self) -> &'static str {
        match self {
            Self::File => "file",
            Self::ElfHeader => "ELF header",
            Self::ProgramHeaders => "program headers",
            Self::Interp => "PT_INTERP",
            Self::Dynamic => "dynamic section",
            Self::Strings => "dynamic string table",
            Self::Symbols => "dynamic symbol table",
            Self::SysvHash => "SysV hash table",
            Self::GnuHash => "GNU hash table",
            Self::Versym => "symbol version table",
            Self::Verneed => "version needs",
            Self::Verdef => "version definitions",
            Self::Relocations => "relocations",
            Self::MemberHeader => "archive member header",
            Self::ArchiveIndex => "archive symbol index",
            Self::SectionHeaders => "section headers",
            Self::MemberSymbols => "symbol table",
            Self::MemberStrings => "string table",
        }
    }
}

/// Something wrong with a file: where, and what.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Defect {
    /// The table it was met in.
    pub table: Table,
    /// Offset in the file, in bytes, unless `is_address`.
    pub offset: u64,
    /// The defect, as the end of a sentence.
    pub what: &'static str,
    /// Where the table would end, if the only defect is that the file ends before.
    pub end: Option<u64>,
    /// `offset` is an address in memory, to which no offset in the file belongs.
    pub is_address: bool,
}

impl Defect {
    /// A defect of `table` at `offset`.
    pub fn new(table: Table, offset: u64, what: &'static str) -> Self {
        Self { table, offset, what, end: None, is_address: false }
    }

    /// A table at `address`, where no segment of the file lies.
    pub fn unmapped(table: Table, address: u64) -> Self {
        let what = "lies in no PT_LOAD";
        Self { is_address: true, ..Self::new(table, address, what) }
    }

    /// The table, and where in it.
    pub fn place(&self) -> String {
        let at = if self.is_address { "at address" } else { "at" };
        format!("{} {at} {:#x}", self.table.name(), self.offset)
    }

    /// A defect of a thing from `offset` to `end`, which the file does not hold whole.
    pub fn cut(table: Table, offset: u64, end: u64, what: &'static str) -> Self {
        Self { end: Some(end), ..Self::new(table, offset, what) }
    }
}

/// Why a file gave no facts at all.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// The kernel refused a read.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Reads `len` bytes at `offset`, or as many as the file has. Never allocates more than the file
/// holds behind `offset`.
pub(crate) fn read_range(file: &Handle, offset: u64, len: u64) -> Result<Vec<u8>, ReadError> {
    let present = len.min(file.stat().len.saturating_sub(offset));
    Ok(file.read_new(in_memory(present)?, offset)?)
}

/// A number of bytes that are to be read; an error for more than this machine can address.
pub(crate) fn in_memory(len: u64) -> Result<usize, ReadError> {
    let large = |_| std::io::Error::from(std::io::ErrorKind::FileTooLarge);
    Ok(usize::try_from(len).map_err(large)?)
}

/// The NUL-terminated string at `offset` of `table`, without the NUL.
pub(crate) fn c_string(table: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = table.get(offset..)?;
    rest.get(..memchr::memchr(0, rest)?)
}
