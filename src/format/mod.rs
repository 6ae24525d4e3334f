//! Parsers for file formats: ELF, archives, GPU code, linker scripts, and text files that name
//! libraries or headers.
//!
//! Each format has a parser that turns the bytes of one file into facts. The parser checks every
//! size, count and offset before use. A damaged file yields a [`Defect`], and the run continues.

pub mod archive;
pub mod cmake;
pub mod cross_check;
pub mod deps_list;
pub mod elf;
pub mod gcc_specs;
pub mod gpu;
pub mod header;
pub mod ld_so_conf;
mod output_format;
pub mod pkg_config;
pub mod script;
pub mod script_layout;
pub mod script_syntax;
pub mod version_script;
pub mod version_script_gnu;
pub mod version_script_mold;

use crate::sniff::Classes;
use crate::tree::Handle;

/// The file classes to read, and the optional facts to read from each file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reading {
    /// Classes of files to read; all other files are only counted.
    pub classes: Classes,
    /// True to keep the dynamic tables of every object, even of a large program without DT_SONAME.
    pub tables: bool,
    /// True to drop the dynamic tables after parsing. A later step that needs a table reads the
    /// table from the file again.
    pub lean: bool,
    /// True to read the symbol index of each archive whose members are read.
    pub index: bool,
    /// True to keep all names that archive members define, even names to which no file refers. The
    /// audit compares these names with the index of the archive and with the symbols of a library.
    pub names: bool,
    /// True to read the relocations of each object together with the object.
    pub relocations: bool,
    /// True to read the notes about libraries that an object opens with dlopen.
    pub dlopen_notes: bool,
    /// True to read interface stubs: shared objects for linkers, which have sections and no program
    /// headers.
    pub stubs: bool,
}

/// The part of a file that has a defect.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Table {
    /// The file as a whole: it changed during the audit, could not be read again, or made the
    /// reader panic.
    File,
    /// The ELF header.
    ElfHeader,
    /// The program header table.
    ProgramHeaders,
    /// The PT_INTERP segment.
    Interp,
    /// The dynamic section, which PT_DYNAMIC locates.
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
    /// The string table of an object in an archive, which holds the names of its symbols.
    MemberStrings,
}

impl Table {
    /// The name of the part in messages, such as `version needs`.
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

/// A defect of a file: its table, its position and its description.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct Defect {
    /// The table that has the defect.
    pub table: Table,
    /// The position of the defect: an offset in the file, in bytes, or an address if `is_address`
    /// is true.
    pub offset: u64,
    /// The defect, such as `lies in no PT_LOAD`: the end of a sentence that begins with
    /// [`Self::place`].
    pub what: &'static str,
    /// For a table that extends past the end of the file: the file offset at which the table should
    /// end. `None` for all other defects.
    pub end: Option<u64>,
    /// True if `offset` is an address in memory that maps to no offset in the file.
    pub is_address: bool,
}

impl Defect {
    /// A defect of `table` at `offset`.
    pub fn new(table: Table, offset: u64, what: &'static str) -> Self {
        Self { table, offset, what, end: None, is_address: false }
    }

    /// The defect of a `table` whose `address` is in no PT_LOAD with bytes in the file.
    pub fn unmapped(table: Table, address: u64) -> Self {
        let what = "lies in no PT_LOAD";
        Self { is_address: true, ..Self::new(table, address, what) }
    }

    /// The table and the position of the defect, as text for messages: `dynamic section at 0x40`.
    pub fn place(&self) -> String {
        let at = if self.is_address { "at address" } else { "at" };
        format!("{} {at} {:#x}", self.table.name(), self.offset)
    }

    /// The defect of a `table` from `offset` to `end`, in a file that ends before `end`.
    pub fn cut(table: Table, offset: u64, end: u64, what: &'static str) -> Self {
        Self { end: Some(end), ..Self::new(table, offset, what) }
    }
}

/// The reason why bytes of a file could not be read.
#[derive(Debug, thiserror::Error)]
pub enum ReadError {
    /// A read failed, or the bytes do not fit in memory.
    #[error("{0}")]
    Io(#[from] std::io::Error),
}

/// Reads `len` bytes at `offset`, or as many as the file has. Never allocates more than the file
/// has after `offset`.
pub(crate) fn read_range(file: &Handle, offset: u64, len: u64) -> Result<Vec<u8>, ReadError> {
    let present = len.min(file.stat().len.saturating_sub(offset));
    Ok(file.read_new(in_memory(present)?, offset)?)
}

/// Converts a number of bytes to `usize`. An error if this machine cannot address so many bytes.
pub(crate) fn in_memory(len: u64) -> Result<usize, ReadError> {
    let large = |_| std::io::Error::from(std::io::ErrorKind::FileTooLarge);
    Ok(usize::try_from(len).map_err(large)?)
}

/// The NUL-terminated string at `offset` of `table`, without the NUL. `None` if the string has no
/// NUL, or if `offset` is outside of the table.
pub(crate) fn c_string(table: &[u8], offset: usize) -> Option<&[u8]> {
    let rest = table.get(offset..)?;
    rest.get(..memchr::memchr(0, rest)?)
}
