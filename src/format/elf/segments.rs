//! Program headers, which map parts of the file to addresses. All offsets of dynamic tables come
//! from [`Segments::file_offset`], so that every table is in a loaded part of the file.

use super::foreign::Notes;
use super::header::{Header, endian};
use super::machine;
use crate::format::{Defect, Table};
use object::elf;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

/// The page size in bytes for alignment checks on a machine without a row in `machine`. The loader
/// itself gets the page size from the kernel.
const PAGE: u64 = 4096;

/// One program header, which describes a segment.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Segment {
    /// Type of the segment (p_type), such as PT_LOAD.
    pub kind: u32,
    /// Permissions of the segment (p_flags), a set of PF_R, PF_W and PF_X.
    pub flags: u32,
    /// Address of the first byte (p_vaddr).
    pub vaddr: u64,
    /// Size in the file, in bytes (p_filesz). The rest in memory is filled with zeros.
    pub filesz: u64,
    /// Size in memory, in bytes (p_memsz).
    pub memsz: u64,
}

struct LoadSegment {
    vaddr: u64,
    offset: u64,
    filesz: u64,
}

/// The facts from the program headers, or from the section headers of an interface stub. A stub is
/// a shared library without program headers, which only linkers read.
#[derive(Default)]
pub(super) struct Segments {
    loads: Vec<LoadSegment>,
    /// All program headers in their order.
    pub(super) all: Vec<Segment>,
    /// PT_DYNAMIC: offset and size in the file, in bytes.
    pub(super) dynamic: Option<(u64, u64)>,
    /// True if a PT_DYNAMIC has no content in the file, as in a file of separate debug data.
    pub(super) hollow_dynamic: bool,
    /// PT_INTERP: offset and size in the file, in bytes.
    pub(super) interp: Option<(u64, u64)>,
    /// The PT_NOTE segments.
    pub(super) notes: Vec<Notes>,
    /// The message with which the loader refuses the file because of an alignment error.
    pub(super) refused: Option<&'static str>,
    /// The defects of PT_LOAD headers.
    pub(super) defects: Vec<Defect>,
    /// True for an interface stub: `loads` has its loaded sections instead of PT_LOAD headers.
    pub(super) is_stub: bool,
}

impl Segments {
    /// The loaded sections of an interface stub, from its section headers. Without a dynamic
    /// section, the result is empty and `is_stub` is false.
    pub(super) fn of_stub(header: &Header, table: &[u8]) -> Self {
        if header.is_64 {
            Self::of_stub_as::<elf::FileHeader64<object::Endianness>>(header, table)
        } else {
            Self::of_stub_as::<elf::FileHeader32<object::Endianness>>(header, table)
        }
    }

    fn of_stub_as<H: FileHeader<Endian = object::Endianness>>(
        header: &Header,
        table: &[u8],
    ) -> Self {
        let e = endian(header.big);
        let count = table.len() / size_of::<H::SectionHeader>();
        let Ok((sections, _)) = object::pod::slice_from_bytes::<H::SectionHeader>(table, count)
        else {
            return Self::default();
        };
        let mut out = Self { is_stub: true, ..Self::default() };
        for section in sections {
            let (offset, size): (u64, u64) =
                (section.sh_offset(e).into(), section.sh_size(e).into());
            let is_loaded = section.sh_flags(e).0 & elf::SHF_ALLOC.0 != 0;
            if is_loaded && section.sh_type(e) != elf::SHT_NOBITS {
                let (vaddr, filesz) = (section.sh_addr(e).into(), size.min(u64::MAX - offset));
                out.loads.push(LoadSegment { vaddr, offset, filesz });
            }
            if section.sh_type(e) == elf::SHT_DYNAMIC {
                out.dynamic = Some((offset, size));
            }
        }
        if out.dynamic.is_some() { out } else { Self::default() }
    }

    pub(super) fn parse(header: &Header, table: &[u8], file_len: u64) -> Self {
        if header.is_64 {
            Self::parse_as::<elf::FileHeader64<object::Endianness>>(header, table, file_len)
        } else {
            Self::parse_as::<elf::FileHeader32<object::Endianness>>(header, table, file_len)
        }
    }

    fn parse_as<H: FileHeader<Endian = object::Endianness>>(
        header: &Header,
        table: &[u8],
        file_len: u64,
    ) -> Self {
        let e = endian(header.big);
        let count = table.len() / size_of::<H::ProgramHeader>();
        let Ok((headers, _)) = object::pod::slice_from_bytes::<H::ProgramHeader>(table, count)
        else {
            return Self::default();
        };
        let mut out = Self { all: Vec::with_capacity(headers.len()), ..Self::default() };
        let page = machine::of(header.target()).map_or(PAGE, |row| row.page);
        for ph in headers {
            let range = (ph.p_offset(e).into(), ph.p_filesz(e).into());
            out.all.push(Segment {
                kind: ph.p_type(e).0,
                flags: ph.p_flags(e).0,
                vaddr: ph.p_vaddr(e).into(),
                filesz: range.1,
                memsz: ph.p_memsz(e).into(),
            });
            match ph.p_type(e) {
                elf::PT_LOAD => {
                    let vaddr = ph.p_vaddr(e).into();
                    out.check_alignment(vaddr, range.0, page);
                    out.check_extent(range, ph.p_memsz(e).into(), file_len);
                    // Limits the size, so that offset plus size fits into 64 bits.
                    let filesz = range.1.min(u64::MAX - range.0);
                    out.loads.push(LoadSegment { vaddr, offset: range.0, filesz });
                }
                // The loader uses the last PT_DYNAMIC with content (dl-load.c).
                elf::PT_DYNAMIC if range.1 == 0 => out.hollow_dynamic = true,
                elf::PT_DYNAMIC => out.dynamic = Some(range),
                elf::PT_INTERP => out.interp = Some(range),
                elf::PT_NOTE => {
                    let (offset, size) = range;
                    out.notes.push(Notes { offset, size, align: ph.p_align(e).into() });
                }
                _ => {}
            }
        }
        out
    }

    /// Reports a PT_LOAD that is larger in the file than in memory, or ends beyond the end of the
    /// file. The loader fails at such a PT_LOAD, or the process crashes when it accesses the
    /// segment.
    fn check_extent(&mut self, (offset, filesz): (u64, u64), memsz: u64, file_len: u64) {
        let table = Table::ProgramHeaders;
        let end = offset.saturating_add(filesz);
        if filesz > memsz {
            let what = "hold a PT_LOAD that is larger in the file than in memory";
            self.defects.push(Defect::new(table, offset, what));
        } else if filesz > 0 && end > file_len {
            let what = "hold a PT_LOAD that ends beyond the end of the file";
            self.defects.push(Defect::cut(table, offset, end, what));
        }
    }

    /// The check of `_dl_map_object_from_fd`: the address and the offset of a PT_LOAD must be equal
    /// modulo the page size.
    fn check_alignment(&mut self, vaddr: u64, offset: u64, page: u64) {
        if vaddr.wrapping_sub(offset) & (page - 1) != 0 {
            self.refused = Some("ELF load command address/offset not page-aligned");
        }
    }

    pub(super) fn has_loads(&self) -> bool {
        !self.loads.is_empty()
    }

    /// The file offset of the byte at `vaddr`, and the number of bytes from there to the end of the
    /// segment in the file. An error if no PT_LOAD maps a byte of the file to `vaddr`.
    pub(super) fn file_offset(&self, vaddr: u64, table: Table) -> Result<(u64, u64), Defect> {
        self.loads
            .iter()
            .find_map(|load| {
                let into = vaddr.checked_sub(load.vaddr)?;
                let rest = load.filesz.checked_sub(into).filter(|rest| *rest > 0)?;
                Some((load.offset.checked_add(into)?, rest))
            })
            .ok_or(Defect::unmapped(table, vaddr))
    }
}
