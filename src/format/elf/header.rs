//! The ELF header, and glibc's checks of it before it maps a file (`elf/dl-load.c`, `open_verify`).

use super::machine::{self, IdentRules};
use super::target::Target;
use object::{Endianness, elf};

/// The first bytes of a file, from which [`Ident::reaction`] computes the loader's reaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ident {
    /// e_ident, e_type and e_machine; zero beyond the end of a shorter file.
    pub bytes: [u8; 20],
    /// Number of bytes that the loader can read for the header, at most 64.
    pub seen: u8,
}

/// The ELF header. All fields but `ident` are in the byte order of this machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The first bytes, in the byte order of the file.
    pub ident: Ident,
    /// True if EI_CLASS is ELFCLASS64.
    pub is_64: bool,
    /// True if EI_DATA is ELFDATA2MSB.
    pub big: bool,
    /// Type of the file (e_type), such as ET_DYN.
    pub kind: u16,
    /// Machine (e_machine), such as EM_X86_64.
    pub machine: u16,
    /// ELF version (e_version). The loader accepts only EV_CURRENT.
    pub version: u32,
    /// Flags of the machine (e_flags), such as the ABI on ARM.
    pub flags: u32,
    /// File offset of the program headers (e_phoff).
    pub phoff: u64,
    /// Size in bytes of one program header, as the file states it (e_phentsize).
    pub phentsize: u16,
    /// Number of program headers (e_phnum).
    pub phnum: u16,
    /// The file offsets of the start (e_shoff) and of the end of the section headers. Both are 0
    /// without section headers. With 65,280 sections or more, the second one is the end of the
    /// first section header.
    pub sections: (u64, u64),
    /// True if all program headers could be read.
    pub phdrs_present: bool,
}

impl Header {
    /// True if the file has section headers. Linkers find the tables of a shared object through
    /// these headers. They read neither definitions nor references of a file without section
    /// headers (`ELFFileBase::init` in `lld/ELF/InputFiles.cpp`, `elf_slurp_symbol_table` in
    /// `bfd/elfcode.h`, `SharedFile<E>::parse` in `elf/input-files.cc` of mold 1.10).
    pub fn has_sections(&self) -> bool {
        self.sections.0 > 0
    }
}

/// The loader's reaction to a file on its search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LoaderReaction {
    /// The file passes all checks.
    Accepted,
    /// Another ELFCLASS: the loader skips the file, and its error message mentions the class.
    WrongClass,
    /// Another machine: the loader silently skips the file.
    WrongMachine,
    /// The loader stops with this message.
    Fatal(&'static str),
}

impl Target {
    /// True if objects of both targets can be in one process.
    pub fn links_with(self, other: Self) -> bool {
        (self.is_64, self.big) == (other.is_64, other.big)
            && match machine::of(self) {
                Some(row) => row.takes(other.machine, other.flags),
                None => self.machine == other.machine,
            }
    }
}

impl Target {
    /// True if a linker accepts objects of both targets in one link. Unlike a loader, linkers
    /// accept any ABI beside an object for PowerPC that names none.
    pub fn is_linkable(self, other: Self) -> bool {
        let names_none = |one: Self| one.flags & elf::EF_PPC64_ABI == 0;
        let is_open = self.machine == elf::EM_PPC64.0 && (names_none(self) || names_none(other));
        let is_same =
            (self.is_64, self.big, self.machine) == (other.is_64, other.big, other.machine);
        self.links_with(other) || is_same && is_open
    }
}

impl Ident {
    /// Copies the first bytes of a file from `head`, which must have at least 64 bytes unless the
    /// file is shorter.
    pub fn new(head: &[u8]) -> Self {
        let mut bytes = [0; 20];
        let n = head.len().min(20);
        bytes[..n].copy_from_slice(&head[..n]);
        Self { bytes, seen: u8::try_from(head.len().min(64)).unwrap_or(64) }
    }

    /// The reaction of a loader for `target` to the length and the e_ident of a file.
    /// [`Header::reaction`] continues with the other fields.
    pub fn reaction(&self, target: Target) -> LoaderReaction {
        let header_size = if target.is_64 { 64 } else { 52 };
        if self.seen < header_size {
            return LoaderReaction::Fatal("file too short");
        }
        let ident = &self.bytes;
        if !ident.starts_with(&elf::ELFMAG) {
            return LoaderReaction::Fatal("invalid ELF header");
        }
        let class = if target.is_64 { elf::ELFCLASS64.0 } else { elf::ELFCLASS32.0 };
        if ident[4] != class {
            return LoaderReaction::WrongClass;
        }
        let row = machine::of(target);
        let foreign = || {
            let raw = [ident[18], ident[19]];
            let machine =
                if target.big { u16::from_be_bytes(raw) } else { u16::from_le_bytes(raw) };
            match row {
                Some(row) => !row.is_number(machine),
                None => machine != target.machine,
            }
        };
        let rules = row.map_or(IdentRules::PLAIN, |row| row.ident);
        let fault = Self::fault(ident, target, rules);
        match fault {
            Some(_) if target.machine_first && foreign() => LoaderReaction::WrongMachine,
            Some(text) => LoaderReaction::Fatal(text),
            None => LoaderReaction::Accepted,
        }
    }

    /// The loader's message for the first check that an e_ident of the right class fails. `None` if
    /// the e_ident passes all checks.
    fn fault(ident: &[u8; 20], target: Target, rules: IdentRules) -> Option<&'static str> {
        let data = if target.big { elf::ELFDATA2MSB.0 } else { elf::ELFDATA2LSB.0 };
        if ident[5] != data {
            return Some(if target.big {
                "ELF file data encoding not big-endian"
            } else {
                "ELF file data encoding not little-endian"
            });
        }
        if ident[6] != elf::EV_CURRENT.0 {
            return Some("ELF file version ident does not match current one");
        }
        let below = match elf::OsAbi(ident[7]) {
            elf::ELFOSABI_SYSV => rules.below.0,
            elf::ELFOSABI_GNU => rules.below.1,
            other if rules.osabi == Some(other) => 1,
            _ => return Some("ELF file OS ABI invalid"),
        };
        if ident[8] != 0 && ident[8] >= below {
            return Some("ELF file ABI version invalid");
        }
        ident[9..16].iter().any(|b| *b != 0).then_some("nonzero padding in e_ident")
    }
}

/// The byte order in the form that the object crate needs: big-endian if `big` is true.
pub(super) fn endian(big: bool) -> Endianness {
    if big { Endianness::Big } else { Endianness::Little }
}

impl Header {
    /// Reads the header from the first bytes of a file. `None` if the class or the byte order is
    /// unknown, or if the file is shorter than a header.
    pub fn parse(head: &[u8]) -> Option<Self> {
        use object::read::elf::FileHeader;
        fn convert<H: FileHeader<Endian = Endianness>>(head: &[u8], big: bool) -> Option<Header> {
            let e = if big { Endianness::Big } else { Endianness::Little };
            let (raw, _) = object::pod::from_bytes::<H>(head).ok()?;
            let shoff: u64 = raw.e_shoff(e).into();
            // With 65,280 sections or more, e_shnum is 0, and sh_size of the first section header
            // is their number.
            let size = u64::from(raw.e_shnum(e).max(1)) * u64::from(raw.e_shentsize(e));
            let shend = if shoff == 0 { 0 } else { shoff.saturating_add(size) };
            Some(Header {
                ident: Ident::new(head),
                is_64: raw.is_type_64(),
                big,
                kind: raw.e_type(e).0,
                machine: raw.e_machine(e).0,
                version: raw.e_version(e),
                flags: raw.e_flags(e).0,
                phoff: raw.e_phoff(e).into(),
                phentsize: raw.e_phentsize(e),
                phnum: raw.e_phnum(e),
                sections: (shoff, shend),
                phdrs_present: false,
            })
        }
        let big = match *head.get(5)? {
            b if b == elf::ELFDATA2LSB.0 => false,
            b if b == elf::ELFDATA2MSB.0 => true,
            _ => return None,
        };
        match *head.get(4)? {
            b if b == elf::ELFCLASS32.0 => convert::<elf::FileHeader32<Endianness>>(head, big),
            b if b == elf::ELFCLASS64.0 => convert::<elf::FileHeader64<Endianness>>(head, big),
            _ => None,
        }
    }

    /// The target of the loaders that may accept this object.
    pub fn target(&self) -> Target {
        Target {
            is_64: self.is_64,
            big: self.big,
            machine: self.machine,
            flags: self.flags,
            machine_first: false,
        }
    }

    /// The reaction of a loader for `target` to this file. The checks are in the order of
    /// `open_verify`.
    pub fn reaction(&self, target: Target) -> LoaderReaction {
        let ident = self.ident.reaction(target);
        if ident != LoaderReaction::Accepted {
            return ident;
        }
        let row = machine::of(target);
        if row.is_some_and(|row| !row.valid_flags(self.flags)) {
            return LoaderReaction::Fatal("internal error");
        }
        if self.version != u32::from(elf::EV_CURRENT.0) {
            return LoaderReaction::Fatal("ELF file version does not match current one");
        }
        // elf_machine_matches_host
        let matches = match row {
            Some(row) => row.takes(self.machine, self.flags),
            None => self.machine == target.machine,
        };
        if !matches {
            return LoaderReaction::WrongMachine;
        }
        if self.kind != elf::ET_DYN.0 && self.kind != elf::ET_EXEC.0 {
            return LoaderReaction::Fatal("only ET_DYN and ET_EXEC can be loaded");
        }
        if usize::from(self.phentsize) != self.phdr_size() {
            return LoaderReaction::Fatal("ELF file's phentsize not the expected size");
        }
        if !self.phdrs_present {
            return LoaderReaction::Fatal("cannot read file data");
        }
        LoaderReaction::Accepted
    }

    /// Size of one program header of this class, in bytes.
    pub fn phdr_size(&self) -> usize {
        if self.is_64 { 56 } else { 32 }
    }
}
