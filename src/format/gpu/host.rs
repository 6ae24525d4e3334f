//! Device code in programs and libraries. Wrappers in `.hipFatBinSegment` and `.nvFatBinSegment`
//! point to bundles and fat binaries. Other sections contain offload binaries. The runtimes of HIP
//! and CUDA get the address of a wrapper and follow its pointer. This module follows these pointers
//! too. It finds wrappers by the names of their sections. If an object has no such sections, the
//! module searches for the magic numbers of wrappers. Relocatable objects have no addresses, so
//! their sections are read without wrappers.

use super::bytes::{Bytes, u32_at, u64_at};
use super::{DeviceCode, DeviceDefect, kpack, nv};
use crate::format::ReadError;
use object::elf;
use std::collections::BTreeSet;

/// Size of a `__CudaFatBinaryWrapper`, in bytes: magic, version, pointer, reserved.
pub(super) const WRAPPER: usize = 24;
/// Magic number of a wrapper of HIP.
pub(super) const HIP: u32 = 0x4849_5046;
/// Magic number of a wrapper that refers to kpack files.
pub(super) const KPACK: u32 = 0x4b50_4948;
/// Magic number of a wrapper of CUDA.
pub(super) const CUDA: u32 = 0x4662_43b1;
/// Upper bound for the number of sections that are read.
const MOST_SECTIONS: u64 = 100_000;
/// Upper bound, in bytes, for a section of wrappers, for the section names and for the dynamic
/// section.
const MOST_BYTES: u64 = 16 << 20;
/// Upper bound, in bytes, for a relocation table.
const MOST_RELOCATIONS: u64 = 512 << 20;
/// Upper bound, in bytes, for the part of a writable segment that is searched for wrappers.
const MOST_SEARCHED: u64 = 256 << 20;
/// Number of bytes of a segment that are searched at a time.
const CHUNK: usize = 1 << 20;
/// Number of bytes of a relocation table that are read at a time: a multiple of 24, the size of a
/// relocation.
const STEP: u64 = 24 << 15;
/// `SHT_LLVM_OFFLOADING`
const SHT_LLVM_OFFLOADING: u32 = 0x6fff_4c0b;

/// A part of the file, as offset and size in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extent {
    pub(super) offset: u64,
    pub(super) size: u64,
}

/// The positions of device code in a host object: a program, a library or a relocatable object.
#[derive(Default)]
pub(super) struct DeviceCodePlaces {
    /// The data to which wrappers point, sorted by offset. Each extent ends where its segment ends.
    pub(super) pointed: Vec<Extent>,
    /// `.hip_fatbin` sections, which hold bundles. If the object has no wrappers, these sections
    /// are read. Otherwise they are only searched for bundles to which no wrapper points.
    pub(super) hip_sections: Vec<Extent>,
    /// `.nv_fatbin` sections, which hold fat binaries. They are read only if the object has no
    /// wrappers.
    pub(super) nv_sections: Vec<Extent>,
    /// Sections that hold offload binaries, as LLVM writes them.
    pub(super) offloading: Vec<Extent>,
    /// Sections that are entries of a bundle, each with the id of the entry.
    pub(super) bundled: Vec<(Vec<u8>, Extent)>,
}

struct HostSegment {
    vaddr: u64,
    offset: u64,
    size: u64,
    is_writable: bool,
}

struct Elf<'a> {
    bytes: Bytes<'a>,
    machine: u16,
    is_relocatable: bool,
    loads: Vec<HostSegment>,
    dynamic: Option<Extent>,
}

/// Finds the device code of a 64-bit little-endian host object; `None` for other files. Wrappers
/// are counted in `out`, and their defects are added there.
pub(super) fn places(
    bytes: Bytes<'_>,
    out: &mut DeviceCode,
) -> Result<Option<DeviceCodePlaces>, ReadError> {
    let head = bytes.read(0, 64)?;
    if head.len() < 64 || head.get(4..6) != Some(&[2, 1]) {
        return Ok(None);
    }
    let elf = Elf::read(bytes, &head)?;
    let mut places = DeviceCodePlaces::default();
    let mut wrappers = Vec::new();
    for section in sections(bytes, &head, out)? {
        let extent = Extent { offset: section.offset, size: section.size };
        match &*section.name {
            b".hipFatBinSegment" | b".nvFatBinSegment" => wrappers.push(section),
            b".hip_fatbin" => places.hip_sections.push(extent),
            b".nv_fatbin" => places.nv_sections.push(extent),
            _ if section.kind == SHT_LLVM_OFFLOADING => places.offloading.push(extent),
            b".llvm.offloading" => places.offloading.push(extent),
            name => {
                let id = name.strip_prefix(&super::table::PLAIN[..]);
                places.bundled.extend(id.map(|id| (id.to_vec(), extent)));
            }
        }
    }
    if elf.is_relocatable {
        return Ok(Some(places));
    }
    let found = if wrappers.is_empty() && places.hip_sections.is_empty() {
        elf.search_wrappers(out)?
    } else {
        let mut found = Vec::new();
        for section in wrappers {
            found.extend(elf.wrappers(&section, out)?);
        }
        found
    };
    elf.follow(found, &mut places, out)?;
    Ok(Some(places))
}

struct HostSection {
    name: Vec<u8>,
    kind: u32,
    addr: u64,
    offset: u64,
    size: u64,
}

/// The sections with content. Empty if the file has no usable section headers.
fn sections(
    bytes: Bytes<'_>,
    head: &[u8],
    out: &mut DeviceCode,
) -> Result<Vec<HostSection>, ReadError> {
    let number = |at: usize| object_u16(head, at);
    let (Some(shoff), 64, mut count, mut names) =
        (u64_at(head, 40), number(58), number(60), number(62))
    else {
        return Ok(Vec::new());
    };
    let first = bytes.read(shoff, 64)?;
    if shoff == 0 || first.len() < 64 {
        return Ok(Vec::new());
    }
    // Numbers that do not fit into the ELF header are in the first section header (System V gABI,
    // "Extended section header").
    if count == 0 {
        count = u64_at(&first, 32).unwrap_or(0);
    }
    if names == u64::from(elf::SHN_XINDEX.0) {
        names = u32_at(&first, 40).unwrap_or(0).into();
    }
    if count > MOST_SECTIONS {
        out.leave_unread("it has more than 100,000 sections");
    }
    let Ok(len) = usize::try_from(count.min(MOST_SECTIONS) * 64) else { return Ok(Vec::new()) };
    let table = bytes.read(shoff, len)?;
    let header = |raw: &[u8]| {
        Some((
            u32_at(raw, 0)?,
            u32_at(raw, 4)?,
            u64_at(raw, 16)?,
            u64_at(raw, 24)?,
            u64_at(raw, 32)?,
        ))
    };
    let strings = usize::try_from(names).ok().and_then(|n| table.chunks_exact(64).nth(n));
    let Some((_, _, _, offset, size)) = strings.and_then(header) else { return Ok(Vec::new()) };
    if size > MOST_BYTES {
        out.leave_unread("it has more than 16 MiB of section names");
    }
    let text = bytes.read(offset, usize::try_from(size.min(MOST_BYTES)).unwrap_or(0))?;
    let mut out = Vec::new();
    for (name, kind, addr, offset, size) in table.chunks_exact(64).filter_map(header) {
        let name = crate::format::c_string(&text, name as usize).unwrap_or_default().to_vec();
        if kind != elf::SHT_NOBITS.0 && size > 0 {
            out.push(HostSection { name, kind, addr, offset, size });
        }
    }
    Ok(out)
}

fn object_u16(bytes: &[u8], at: usize) -> u64 {
    super::bytes::u16_at(bytes, at).unwrap_or(0).into()
}

/// A wrapper: its address, and its magic number and pointer as in the file.
struct Wrapper {
    addr: u64,
    magic: u32,
    pointer: u64,
}

impl<'a> Elf<'a> {
    fn read(bytes: Bytes<'a>, head: &[u8]) -> Result<Self, ReadError> {
        let count = object_u16(head, 56);
        let table =
            bytes.read(u64_at(head, 32).unwrap_or(0), usize::try_from(count * 56).unwrap_or(0))?;
        let (mut loads, mut dynamic) = (Vec::new(), None);
        for raw in table.chunks_exact(56) {
            let field = |at| u64_at(raw, at).unwrap_or(0);
            let (offset, vaddr, size) = (field(8), field(16), field(32));
            let is_writable = u32_at(raw, 4).unwrap_or(0) & elf::PF_W.0 != 0;
            match u32_at(raw, 0) {
                Some(kind) if kind == elf::PT_LOAD.0 => {
                    loads.push(HostSegment { vaddr, offset, size, is_writable });
                }
                Some(kind) if kind == elf::PT_DYNAMIC.0 => dynamic = Some(Extent { offset, size }),
                _ => {}
            }
        }
        let machine = super::bytes::u16_at(head, 18).unwrap_or(0);
        let is_relocatable = object_u16(head, 16) == u64::from(elf::ET_REL.0);
        Ok(Self { bytes, machine, is_relocatable, loads, dynamic })
    }

    /// The part of the file from the address `addr` to the end of its segment. `None` if no PT_LOAD
    /// maps a byte of the file to `addr`.
    fn place(&self, addr: u64) -> Option<Extent> {
        self.loads.iter().find_map(|load| {
            let into = addr.checked_sub(load.vaddr).filter(|into| *into < load.size)?;
            let offset = load.offset.checked_add(into)?;
            let size = (load.size - into).min(self.bytes.len().checked_sub(offset)?);
            Some(Extent { offset, size })
        })
    }

    /// The wrappers of a section. Compilers may leave gaps of zeros between them.
    fn wrappers(
        &self,
        section: &HostSection,
        out: &mut DeviceCode,
    ) -> Result<Vec<Wrapper>, ReadError> {
        if section.size > MOST_BYTES {
            out.leave_unread("it has more than 16 MiB of wrappers");
        }
        let len = usize::try_from(section.size.min(MOST_BYTES)).unwrap_or(0);
        let raw = self.bytes.read(section.offset, len)?;
        let (mut out, mut at) = (Vec::new(), 0);
        while let Some(raw) = raw.get(at..at + WRAPPER) {
            let (Some(magic), Some(pointer)) = (u32_at(raw, 0), u64_at(raw, 8)) else { break };
            if magic == 0 {
                at += 8;
                continue;
            }
            out.push(Wrapper { addr: section.addr.wrapping_add(at as u64), magic, pointer });
            at += WRAPPER;
        }
        Ok(out)
    }

    /// Searches writable segments for wrappers. The caller needs this search for objects whose
    /// section headers show neither wrappers nor HIP's bundles.
    fn search_wrappers(&self, code: &mut DeviceCode) -> Result<Vec<Wrapper>, ReadError> {
        let mut out = Vec::new();
        for load in self.loads.iter().filter(|load| load.is_writable) {
            let size = load.size.min(MOST_SEARCHED);
            if size < load.size {
                code.leave_unread("it has a writable segment of more than 256 MiB");
            }
            let mut at = 0;
            while at < size {
                let left = usize::try_from(load.size - at).unwrap_or(usize::MAX);
                let len = left.min(CHUNK + 16);
                let chunk = self.bytes.read(load.offset.saturating_add(at), len)?;
                for (number, raw) in chunk.chunks_exact(8).enumerate().take(CHUNK / 8) {
                    let is_wrapper = matches!(u32_at(raw, 0), Some(HIP | CUDA | KPACK))
                        && u32_at(raw, 4) == Some(1);
                    if let (true, Some(magic), Some(pointer)) =
                        (is_wrapper, u32_at(raw, 0), u64_at(&chunk, number * 8 + 8))
                    {
                        let addr = load.vaddr.wrapping_add(at + 8 * number as u64);
                        out.push(Wrapper { addr, magic, pointer });
                    }
                }
                at += CHUNK as u64;
            }
        }
        Ok(out)
    }

    /// Follows the pointers of wrappers, and adds the parts of the file to which they point.
    fn follow(
        &self,
        wrappers: Vec<Wrapper>,
        places: &mut DeviceCodePlaces,
        out: &mut DeviceCode,
    ) -> Result<(), ReadError> {
        if wrappers.is_empty() {
            return Ok(());
        }
        let slots: BTreeSet<u64> = wrappers.iter().map(|w| w.addr.wrapping_add(8)).collect();
        let relocated = self.relocated(&slots, out)?;
        for wrapper in wrappers {
            out.wrappers += 1;
            let at = self.place(wrapper.addr).map_or(0, |place| place.offset);
            if !matches!(wrapper.magic, HIP | CUDA | KPACK) {
                out.faults.push(DeviceDefect::new(at, "is a wrapper with an unknown magic number"));
                continue;
            }
            let slot = wrapper.addr.wrapping_add(8);
            let pointer = relocated.iter().find(|(addr, _)| *addr == slot);
            let pointer = pointer.map_or(wrapper.pointer, |(_, value)| *value);
            match self.place(pointer) {
                Some(place) if wrapper.magic == KPACK => {
                    out.kpack += 1;
                    out.kpack_paths.extend(kpack::reference(self.part(place))?);
                }
                Some(place) => places.pointed.push(place),
                None => {
                    out.faults
                        .push(DeviceDefect::new(at, "is a wrapper that points outside the file"));
                }
            }
        }
        if out.kpack > 0 && out.kpack_paths.is_empty() {
            out.unread = Some("its reference to kpack files has no path");
        }
        places.pointed.sort_by_key(|place| place.offset);
        places.pointed.dedup_by_key(|place| place.offset);
        Ok(())
    }

    fn part(&self, place: Extent) -> Bytes<'a> {
        self.bytes.part(place.offset, place.size)
    }

    /// The values that relocations of DT_RELA store at `slots`. Two kinds are evaluated: relative
    /// relocations, and relocations against a symbol that the object defines, such as an exported
    /// `__hip_fatbin`. The relocations of DT_RELR are not read, because their values are already in
    /// the file.
    fn relocated(
        &self,
        slots: &BTreeSet<u64>,
        code: &mut DeviceCode,
    ) -> Result<Vec<(u64, u64)>, ReadError> {
        let mut out = Vec::new();
        let Some(dynamic) = self.dynamic else { return Ok(out) };
        let len = usize::try_from(dynamic.size.min(MOST_BYTES)).unwrap_or(0);
        let table = self.bytes.read(dynamic.offset, len)?;
        let tag = |wanted: u64| {
            let mut entries = table.chunks_exact(16);
            entries.find(|raw| u64_at(raw, 0) == Some(wanted)).and_then(|raw| u64_at(raw, 8))
        };
        // DT_RELA, DT_RELASZ and DT_SYMTAB.
        let (Some(rela), Some(size), symbols) = (tag(7), tag(8), tag(6)) else { return Ok(out) };
        let Some(place) = self.place(rela) else { return Ok(out) };
        let size = size.min(place.size);
        if size > MOST_RELOCATIONS {
            code.leave_unread("it has more than 512 MiB of relocations");
        }
        let size = size.min(MOST_RELOCATIONS);
        // R_*_RELATIVE, and the type that stores a symbol's address.
        let (relative, absolute) = match elf::Machine(self.machine) {
            elf::EM_AARCH64 => (1027, 257),
            _ => (8, 1),
        };
        let (first, last) =
            (slots.first().copied().unwrap_or(0), slots.last().copied().unwrap_or(0));
        let mut at = 0;
        while at < size {
            let len = usize::try_from(STEP.min(size - at)).unwrap_or(0);
            for raw in self.bytes.read(place.offset + at, len)?.chunks_exact(24) {
                let (Some(offset), Some(info)) = (u64_at(raw, 0), u64_at(raw, 8)) else { continue };
                if offset < first || offset > last || !slots.contains(&offset) {
                    continue;
                }
                let base = match (info & 0xffff_ffff, symbols) {
                    _ if info == relative => Some(0),
                    (kind, Some(symbols)) if kind == absolute => {
                        self.symbol(symbols, info >> 32)?
                    }
                    _ => None,
                };
                let value = base.zip(u64_at(raw, 16));
                out.extend(value.map(|(base, addend)| (offset, base.wrapping_add(addend))));
            }
            at += STEP;
        }
        Ok(out)
    }

    /// The address of the symbol with the index `number` in the symbol table at the address
    /// `table`. `None` if the object does not define the symbol.
    fn symbol(&self, table: u64, number: u64) -> Result<Option<u64>, ReadError> {
        let at = number.checked_mul(24).and_then(|at| at.checked_add(table));
        let Some(place) = at.and_then(|at| self.place(at)) else { return Ok(None) };
        let raw = self.part(place).read(0, 24)?;
        let is_defined = super::bytes::u16_at(&raw, 6).is_some_and(|section| section != 0);
        Ok(u64_at(&raw, 8).filter(|_| is_defined))
    }
}

/// The kind of container that begins with these bytes, if any.
pub(super) fn magic_of(head: &[u8]) -> Option<super::ContainerKind> {
    if head.starts_with(super::table::PLAIN) {
        Some(super::ContainerKind::Bundle)
    } else if head.starts_with(super::table::COMPRESSED) {
        Some(super::ContainerKind::Ccob)
    } else if head.starts_with(super::offload_binary::MAGIC) {
        Some(super::ContainerKind::OffloadBinary)
    } else if head.starts_with(kpack::MAGIC) {
        Some(super::ContainerKind::Kpack)
    } else if u32_at(head, 0) == Some(nv::MAGIC) {
        Some(super::ContainerKind::Nv)
    } else {
        None
    }
}
