//! The dynamic section as `elf/get-dynamic-info.h` reads it: the last of repeated tags is used,
//! needs keep their order, and DT_NULL ends the section.

use super::NeedKind;
use super::header::Header;
use super::header::endian;
use super::machine;
use object::elf;
use object::read::elf::{Dyn, FileHeader};

/// `DT_MIPS_XHASH` of glibc's elf.h, which the object crate lacks.
const DT_MIPS_XHASH: elf::DynamicTag = elf::DynamicTag(0x7000_0036);

/// Tags whose value is an offset in the string table.
const NAMES: [elf::DynamicTag; 6] = [
    elf::DT_NEEDED,
    elf::DT_AUXILIARY,
    elf::DT_FILTER,
    elf::DT_SONAME,
    elf::DT_RPATH,
    elf::DT_RUNPATH,
];

/// Upper bound for the number of needs that are read from one file. Further needs are only counted.
/// Real files have less than a thousandth of this number, and each need may become a finding of
/// several kilobytes.
const MOST_NEEDS: usize = 100_000;

/// Values of the relevant tags; addresses are not yet translated to file offsets.
#[derive(Default, Debug)]
pub(super) struct Dynamic {
    pub(super) needs: Vec<(NeedKind, u64)>,
    /// Number of needs beyond [`MOST_NEEDS`].
    pub(super) needs_left_out: usize,
    pub(super) soname: Option<u64>,
    pub(super) rpath: Option<u64>,
    pub(super) runpath: Option<u64>,
    pub(super) strtab: Option<u64>,
    pub(super) strsz: Option<u64>,
    pub(super) symtab: Option<u64>,
    pub(super) hash: Option<u64>,
    /// DT_GNU_HASH, or on MIPS DT_MIPS_XHASH.
    pub(super) gnu_hash: Option<u64>,
    pub(super) versym: Option<u64>,
    pub(super) verneed: Option<u64>,
    pub(super) verdef: Option<u64>,
    pub(super) rela: Option<u64>,
    pub(super) relasz: u64,
    pub(super) relacount: u64,
    pub(super) rel: Option<u64>,
    pub(super) relsz: u64,
    pub(super) relcount: u64,
    pub(super) jmprel: Option<u64>,
    pub(super) pltrelsz: u64,
    /// True if DT_PLTREL is DT_RELA.
    pub(super) plt_is_rela: bool,
    /// True if DT_PLTREL, DT_RELAENT or DT_RELENT has a value at which the loader aborts (the
    /// assertions of `elf/get-dynamic-info.h`). No loader reads DT_SYMENT.
    pub(super) absurd: bool,
    pub(super) relr: bool,
    /// Addresses from DT_INIT and DT_FINI.
    pub(super) start_code: [Option<u64>; 2],
    /// DT_INIT_ARRAYSZ, in bytes.
    pub(super) init_size: u64,
    /// DT_FINI_ARRAYSZ, in bytes.
    pub(super) fini_size: u64,
    pub(super) flags: u64,
    pub(super) flags_1: u64,
    /// The tags of the global offset table on MIPS. `None` on other machines.
    pub(super) got: Option<GotTags>,
    pub(super) symbolic_tag: bool,
    pub(super) textrel_tag: bool,
    pub(super) bind_now_tag: bool,
    /// The addresses of tables and functions. A table ends at or before the next higher of these
    /// addresses.
    pub(super) addresses: Vec<u64>,
    /// True if DT_NULL was found.
    pub(super) terminated: bool,
}

/// DT_PLTGOT and the MIPS tags that belong to it.
#[derive(Default, Debug, Clone, Copy)]
pub(super) struct GotTags {
    pub(super) address: Option<u64>,
    /// DT_MIPS_LOCAL_GOTNO, the number of local entries.
    pub(super) local: u64,
    /// DT_MIPS_GOTSYM: the index of the symbol that belongs to the first global entry.
    pub(super) first: u64,
    /// DT_MIPS_SYMTABNO, the number of dynamic symbols.
    pub(super) symbols: u64,
}

/// Sizes of relocations for one class, in bytes.
struct Sizes {
    rela: u64,
    rel: u64,
}

impl Dynamic {
    pub(super) fn parse(header: &Header, bytes: &[u8]) -> Self {
        if header.is_64 {
            Self::parse_as::<elf::FileHeader64<object::Endianness>>(header, bytes)
        } else {
            Self::parse_as::<elf::FileHeader32<object::Endianness>>(header, bytes)
        }
    }

    fn parse_as<H: FileHeader<Endian = object::Endianness>>(header: &Header, bytes: &[u8]) -> Self {
        let e = endian(header.big);
        let count = bytes.len() / size_of::<H::Dyn>();
        let mips = machine::of(header.target()).is_some_and(|row| row.is_mips);
        let mut out = Self { got: mips.then(GotTags::default), ..Self::default() };
        let sizes = Sizes { rela: size_of::<H::Rela>() as u64, rel: size_of::<H::Rel>() as u64 };
        let Ok((entries, _)) = object::pod::slice_from_bytes::<H::Dyn>(bytes, count) else {
            return out;
        };
        for entry in entries {
            let (tag, value) = (entry.d_tag(e), entry.d_val(e).into());
            if tag == elf::DT_NULL {
                out.terminated = true;
                break;
            }
            if !out.take_mips(tag, value) {
                out.take(tag, value, &sizes);
            }
        }
        out
    }

    /// Position of the first entry whose value is the string table offset `name`. The position is
    /// in bytes from the start of the dynamic section. 0 if no entry has this value.
    pub(super) fn place_of_name(header: &Header, bytes: &[u8], name: u64) -> u64 {
        if header.is_64 {
            Self::place_of_name_as::<elf::FileHeader64<object::Endianness>>(header, bytes, name)
        } else {
            Self::place_of_name_as::<elf::FileHeader32<object::Endianness>>(header, bytes, name)
        }
    }

    fn place_of_name_as<H: FileHeader<Endian = object::Endianness>>(
        header: &Header,
        bytes: &[u8],
        name: u64,
    ) -> u64 {
        let (e, each) = (endian(header.big), size_of::<H::Dyn>());
        let entries = object::pod::slice_from_bytes::<H::Dyn>(bytes, bytes.len() / each);
        let names =
            |entry: &H::Dyn| NAMES.contains(&entry.d_tag(e)) && entry.d_val(e).into() == name;
        let at = entries.ok().and_then(|(entries, _)| entries.iter().position(names));
        (at.unwrap_or(0) * each) as u64
    }

    /// Handles a tag that exists only on MIPS, or a tag that has a special meaning there
    /// (DT_PLTGOT, DT_GNU_HASH). Returns false for all other tags, and for all tags on other
    /// machines.
    fn take_mips(&mut self, tag: elf::DynamicTag, value: u64) -> bool {
        let Some(got) = &mut self.got else { return false };
        match tag {
            elf::DT_MIPS_LOCAL_GOTNO => got.local = value,
            elf::DT_MIPS_GOTSYM => got.first = value,
            elf::DT_MIPS_SYMTABNO => got.symbols = value,
            elf::DT_PLTGOT => {
                got.address = Some(value);
                self.address(value);
            }
            elf::DT_GNU_HASH => {}
            DT_MIPS_XHASH => self.gnu_hash = Some(self.address(value)),
            _ => return false,
        }
        true
    }

    fn need(&mut self, kind: NeedKind, name: u64) {
        if self.needs.len() < MOST_NEEDS {
            self.needs.push((kind, name));
        } else {
            self.needs_left_out += 1;
        }
    }

    fn take(&mut self, tag: elf::DynamicTag, value: u64, sizes: &Sizes) {
        match tag {
            elf::DT_NEEDED => self.need(NeedKind::Needed, value),
            elf::DT_AUXILIARY => self.need(NeedKind::Auxiliary, value),
            elf::DT_FILTER => self.need(NeedKind::Filter, value),
            elf::DT_SONAME => self.soname = Some(value),
            elf::DT_RPATH => self.rpath = Some(value),
            elf::DT_RUNPATH => self.runpath = Some(value),
            elf::DT_STRSZ => self.strsz = Some(value),
            elf::DT_RELASZ => self.relasz = value,
            elf::DT_RELSZ => self.relsz = value,
            elf::DT_RELACOUNT => self.relacount = value,
            elf::DT_RELCOUNT => self.relcount = value,
            elf::DT_INIT_ARRAYSZ => self.init_size = value,
            elf::DT_FINI_ARRAYSZ => self.fini_size = value,
            elf::DT_PLTRELSZ => self.pltrelsz = value,
            elf::DT_PLTREL => {
                self.plt_is_rela = value == elf::DT_RELA.0 as u64;
                self.absurd |= !self.plt_is_rela && value != elf::DT_REL.0 as u64;
            }
            elf::DT_RELAENT => self.absurd |= value != sizes.rela,
            elf::DT_RELENT => self.absurd |= value != sizes.rel,
            elf::DT_FLAGS => self.flags = value,
            elf::DT_FLAGS_1 => self.flags_1 = value,
            elf::DT_SYMBOLIC => self.symbolic_tag = true,
            elf::DT_TEXTREL => self.textrel_tag = true,
            elf::DT_BIND_NOW => self.bind_now_tag = true,
            elf::DT_STRTAB => self.strtab = Some(self.address(value)),
            elf::DT_SYMTAB => self.symtab = Some(self.address(value)),
            elf::DT_HASH => self.hash = Some(self.address(value)),
            elf::DT_GNU_HASH => self.gnu_hash = Some(self.address(value)),
            elf::DT_VERSYM => self.versym = Some(self.address(value)),
            elf::DT_VERNEED => self.verneed = Some(self.address(value)),
            elf::DT_VERDEF => self.verdef = Some(self.address(value)),
            elf::DT_RELA => self.rela = Some(self.address(value)),
            elf::DT_REL => self.rel = Some(self.address(value)),
            elf::DT_JMPREL => self.jmprel = Some(self.address(value)),
            elf::DT_RELR => {
                self.relr = true;
                self.address(value);
            }
            elf::DT_INIT => self.start_code[0] = Some(self.address(value)),
            elf::DT_FINI => self.start_code[1] = Some(self.address(value)),
            elf::DT_INIT_ARRAY | elf::DT_FINI_ARRAY | elf::DT_PLTGOT => {
                self.address(value);
            }
            _ => {}
        }
    }

    fn address(&mut self, value: u64) -> u64 {
        self.addresses.push(value);
        value
    }

    /// The number of functions in DT_INIT_ARRAY or in DT_FINI_ARRAY, whichever is larger.
    pub(super) fn constructors(&self, header: &Header) -> u32 {
        let each = if header.is_64 { 8 } else { 4 };
        u32::try_from(self.init_size.max(self.fini_size) / each).unwrap_or(u32::MAX)
    }

    pub(super) fn symbolic(&self) -> bool {
        self.symbolic_tag || self.flags & elf::DF_SYMBOLIC.0 != 0
    }

    pub(super) fn textrel(&self) -> bool {
        self.textrel_tag || self.flags & elf::DF_TEXTREL.0 != 0
    }

    pub(super) fn bind_now(&self) -> bool {
        self.bind_now_tag
            || self.flags & elf::DF_BIND_NOW.0 != 0
            || self.flags_1 & elf::DF_1_NOW.0 != 0
    }

    pub(super) fn has_flag_1(&self, flag: elf::DynamicFlags1) -> bool {
        self.flags_1 & flag.0 != 0
    }
}
