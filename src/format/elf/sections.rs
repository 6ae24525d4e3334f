//! Sections of an object with a large image. The rule `image-span` names the sections that take the
//! most room. Loaders ignore sections, so other objects are audited without them.

use super::{Header, Object, Role, header::endian};
use crate::format::{c_string, read_range};
use crate::tree::Handle;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// Image size in bytes from which the sections are read: 1.5 GiB, which is three quarters of the
/// reach of a signed 32-bit displacement.
pub const LARGE: u64 = 3 << 29;

/// Upper bound for the section headers, in bytes.
pub(super) const MOST_HEADERS: u64 = 16 << 20;
/// Upper bound for the names of the sections, in bytes.
const MOST_NAMES: u64 = 1 << 20;

/// SHF_X86_64_LARGE of the psABI for x86-64.
const SHF_LARGE: u64 = 0x1000_0000;

/// A section that the loader maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// Name of the section, without the NUL.
    pub name: Box<[u8]>,
    /// Address of the first byte (sh_addr).
    pub address: u64,
    /// Size in memory, in bytes (sh_size).
    pub size: u64,
    /// True if the section contains code (SHF_EXECINSTR).
    pub is_code: bool,
    /// True for SHF_X86_64_LARGE: code reaches the section with 64-bit addresses.
    pub is_far: bool,
}

impl Section {
    /// The first address after the section.
    pub fn end(&self) -> u64 {
        self.address.saturating_add(self.size)
    }
}

/// Number of bytes from the first to the last loaded address of a program or library. `None` for
/// other objects, and without PT_LOAD.
pub fn span(object: &Object) -> Option<u64> {
    if !matches!(object.role, Role::Program | Role::Shared | Role::Static) {
        return None;
    }
    let loads = || object.segments.iter().filter(|segment| segment.kind == elf::PT_LOAD.0);
    let first = loads().map(|segment| segment.vaddr).min()?;
    let last = loads().map(|segment| segment.vaddr.saturating_add(segment.memsz)).max()?;
    last.checked_sub(first)
}

/// The loaded sections of a large object, in the order of their headers. Empty for a smaller
/// object, or if the section headers cannot be read.
pub(super) fn of_large(file: &Handle, head: &[u8], object: &Object) -> Box<[Section]> {
    if span(object).is_none_or(|span| span < LARGE) {
        return Box::default();
    }
    let header = &object.header;
    let found = if header.is_64 {
        read::<elf::FileHeader64<Endianness>>(file, head, header)
    } else {
        read::<elf::FileHeader32<Endianness>>(file, head, header)
    };
    found.unwrap_or_default().into()
}

fn read<H: FileHeader<Endian = Endianness>>(
    file: &Handle,
    head: &[u8],
    header: &Header,
) -> Option<Vec<Section>> {
    let e = endian(header.big);
    let (raw, _) = object::pod::from_bytes::<H>(head).ok()?;
    let has_far = header.machine == elf::EM_X86_64.0;
    let (start, end) = header.sections;
    let mut size = end.checked_sub(start)?;
    if raw.e_shnum(e) == 0 && size > 0 {
        // With 65,280 sections or more, their number is in the first section header.
        let first = read_range(file, start, size).ok()?;
        let (first, _) = object::pod::from_bytes::<H::SectionHeader>(&first).ok()?;
        let count: u64 = first.sh_size(e).into();
        size = count.checked_mul(size)?;
    }
    let bytes = read_range(file, start, Some(size).filter(|size| *size <= MOST_HEADERS)?).ok()?;
    let count = bytes.len() / size_of::<H::SectionHeader>();
    let (sections, _) = object::pod::slice_from_bytes::<H::SectionHeader>(&bytes, count).ok()?;
    let names = match raw.e_shstrndx(e) {
        // If the index is 65,280 or more, it is in the first section header.
        elf::SHN_XINDEX => sections.first()?.sh_link(e) as usize,
        index => usize::from(index.0),
    };
    let names = sections.get(names)?;
    let names_size: u64 = names.sh_size(e).into();
    let names = read_range(file, names.sh_offset(e).into(), names_size.min(MOST_NAMES)).ok()?;
    let section = |section: &H::SectionHeader| {
        let flags = section.sh_flags(e).0;
        let is_loaded = flags & elf::SHF_ALLOC.0 != 0;
        // .tbss takes no room in the image.
        let is_empty = section.sh_type(e) == elf::SHT_NOBITS && flags & elf::SHF_TLS.0 != 0;
        (is_loaded && !is_empty).then(|| Section {
            name: c_string(&names, section.sh_name(e) as usize).unwrap_or_default().into(),
            address: section.sh_addr(e).into(),
            size: section.sh_size(e).into(),
            is_code: flags & elf::SHF_EXECINSTR.0 != 0,
            is_far: has_far && flags & SHF_LARGE != 0,
        })
    };
    Some(sections.iter().filter_map(section).collect())
}
