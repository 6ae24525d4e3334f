//! Device code: code objects for GPUs, the bundles that hold them, and the programs and libraries
//! that hold bundles. The format of a file follows from its content, not from its name. In one
//! directory, `.co` files may be ELF files, plain bundles and compressed bundles.
//!
//! [`read`] lists the device code of a file. It reads tables and headers, and [`Depth`] selects
//! further parts to read.

mod archive;
mod bundle;
mod bytes;
mod code_object;
pub mod database;
mod deep;
mod host;
mod inflate;
mod kpack;
mod msgpack;
mod nv;
mod offload_binary;
mod table;
mod target;

pub use archive::read as read_archive;
pub use code_object::{CodeObject, Metadata};
pub use target::{SPIRV, TargetId, processors};

use crate::format::ReadError;
use crate::tree::Handle;
use bytes::Bytes;
use host::Extent;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The parts of device code that are read besides tables and headers.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Depth {
    /// True to read the notes of code objects that are not compressed.
    pub notes: bool,
    /// Upper bound, in bytes, for the sum of the stated sizes of the compressed bundles that are
    /// inflated whole and checked. If it is `None`, only the tables of compressed bundles are read.
    pub inflate: Option<u64>,
}

/// The device code of one file.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct DeviceCode {
    /// The containers in the file, in the order of their offsets.
    pub containers: Vec<Container>,
    /// Number of wrappers. A program registers a container with the runtime through a wrapper.
    pub wrappers: usize,
    /// Number of wrappers that refer to kpack files. `wrappers` counts them too.
    pub kpack: usize,
    /// The paths of kpack files, relative to the directory of the program or library. The runtime
    /// replaces `@GFXARCH@` with the name of the GPU.
    pub kpack_paths: BTreeSet<Vec<u8>>,
    /// The defects of the device code.
    pub faults: Vec<DeviceDefect>,
    /// Compressed bundles that were not inflated and checked as requested, because a size limit was
    /// reached.
    pub unchecked: Vec<DeviceDefect>,
    /// The reason why a part of the device code was not read. `None` if all of it was read.
    pub unread: Option<&'static str>,
    /// For the bundles that were inflated whole: the sum of the inflated sizes that their headers
    /// state.
    inflated: u64,
}

impl DeviceCode {
    /// Sets the reason why a part of the file was not read, if there is none yet.
    fn leave_unread(&mut self, reason: &'static str) {
        self.unread.get_or_insert(reason);
    }

    /// The sum of the inflated sizes that the headers of compressed bundles state. Bundles with a
    /// stated size that is too large or impossible are left out, because they are never inflated
    /// whole.
    pub fn stated_sizes(&self) -> u64 {
        let size = |one: &Container| {
            let most = inflate::most(one.compression?, one.size).min(deep::MOST);
            one.uncompressed_size.filter(|size| *size <= most)
        };
        self.containers.iter().filter_map(size).fold(0, u64::saturating_add)
    }
}

/// The format of a container.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ContainerKind {
    /// A plain offload bundle of Clang.
    Bundle,
    /// A compressed offload bundle of Clang, with the magic text `CCOB`.
    Ccob,
    /// LLVM's OffloadBinary.
    OffloadBinary,
    /// A separate code object: the whole file or archive member is one ELF file for a GPU.
    Elf,
    /// NVIDIA's fat binary.
    Nv,
    /// A kpack file of ROCm.
    Kpack,
}

impl ContainerKind {
    /// The name of the format in reports, such as `ccob`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Bundle => "bundle",
            Self::Ccob => "ccob",
            Self::OffloadBinary => "offload-binary",
            Self::Elf => "elf",
            Self::Nv => "nv",
            Self::Kpack => "kpack",
        }
    }
}

/// The compression of a container.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Compression {
    /// A zlib stream (RFC 1950).
    Zlib,
    /// A zstd frame (RFC 8878).
    Zstd,
}

impl Compression {
    /// The name of the method in reports, such as `zstd`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Zlib => "zlib",
            Self::Zstd => "zstd",
        }
    }
}

/// One container of code objects.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Container {
    /// The format, such as a compressed bundle of Clang.
    pub kind: ContainerKind,
    /// The member that holds the container, if the file is an archive.
    pub member: Option<Arc<[u8]>>,
    /// The version of the format, as the container states it. `None` if the format has no version,
    /// or if the version could not be read.
    pub version: Option<u16>,
    /// Offset of the container in the file, in bytes.
    pub offset: u64,
    /// Size of the container in the file, in bytes.
    pub size: u64,
    /// The compression method of a compressed bundle, or of an image in a fat binary. `None`
    /// without compression, and for other methods.
    pub compression: Option<Compression>,
    /// The inflated size of a compressed bundle in bytes, as its header states it. `None` for
    /// other containers.
    pub uncompressed_size: Option<u64>,
    /// Offset in the container at which the magic number of a compressed bundle occurs again,
    /// inside the compressed payload. `None` if it does not occur again. Readers that search for
    /// the next bundle stop there (llvm/llvm-project#205587).
    pub magic_inside: Option<u64>,
    /// The entries of the container, in the order of its table. Empty if the table cannot be read.
    pub entries: Vec<ContainerEntry>,
}

impl Container {
    fn new(kind: ContainerKind, offset: u64) -> Self {
        Self {
            kind,
            member: None,
            version: None,
            offset,
            size: 0,
            compression: None,
            uncompressed_size: None,
            magic_inside: None,
            entries: Vec::new(),
        }
    }
}

/// One entry of a container: a code object, other device code such as bitcode or PTX, or the empty
/// entry of the host.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ContainerEntry {
    /// The id of the entry: `hipv4-amdgcn-amd-amdhsa--gfx90a:xnack+` in bundles, `sm_90` or
    /// `compute_90` in NVIDIA's fat binaries, the target itself for a separate code object.
    pub id: Vec<u8>,
    /// Offset of the entry in the container, in bytes. In a compressed bundle, the offset counts
    /// inflated bytes. In a kpack file, it is 0.
    pub offset: u64,
    /// Size of the entry in bytes. In a compressed bundle, the size counts inflated bytes.
    pub size: u64,
    /// The code object. `None` if the header of the code object was not read, or if it states
    /// another machine than an AMD GPU.
    pub code: Option<CodeObject>,
}

impl ContainerEntry {
    /// The target: the part of the id that follows the kind and the four-part triple
    /// (`clang/lib/Driver/OffloadBundler.cpp`, `OffloadTargetInfo`). `None` for the host.
    pub fn target(&self) -> Option<&[u8]> {
        // The id of a separate code object is the target, which may have a hyphen too:
        // `gfx90a:xnack-`, `gfx9-generic`.
        if TargetId::parse(&self.id).is_some() {
            return Some(&self.id);
        }
        let is_device = |kind: &[u8]| !matches!(kind, b"host");
        let mut parts = self.id.splitn(6, |byte| *byte == b'-');
        let kind = parts.next()?;
        let text = match parts.nth(4) {
            Some(target) => target,
            None if !self.id.contains(&b'-') => &self.id,
            // An older spelling has no environment: `hip-spirv64-unknown-amdgcnspirv`.
            None => self.id.rsplit(|byte| *byte == b'-').next()?,
        };
        Some(text).filter(|text| is_device(kind) && !text.is_empty())
    }

    /// The target as an id of an AMD GPU. `None` for other targets.
    pub fn target_id(&self) -> Option<TargetId> {
        TargetId::parse(self.target()?)
    }
}

/// A defect of device code.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct DeviceDefect {
    /// Offset in the file, in bytes: of the wrapper, the container or the section that has the
    /// defect.
    pub offset: u64,
    /// The member that has the defect, if the file is an archive.
    pub member: Option<Arc<[u8]>>,
    /// The id of the entry that has the defect. `None` for a defect of the whole container.
    pub entry: Option<Vec<u8>>,
    /// The defect, as the end of a sentence.
    pub what: &'static str,
}

impl DeviceDefect {
    fn new(offset: u64, what: &'static str) -> Self {
        Self { offset, member: None, entry: None, what }
    }

    fn of(offset: u64, entry: &[u8], what: &'static str) -> Self {
        Self { entry: Some(entry.to_vec()), ..Self::new(offset, what) }
    }
}

/// Upper bound for the containers of one file. Real libraries have a few hundred.
const MOST_CONTAINERS: usize = 100_000;
const TOO_MANY: &str = "it has more than 100,000 containers";
/// The alignment of bundles in a section and in a concatenation, in bytes.
const PAGE: u64 = 4096;

/// True if a file that begins with `head` is itself a bundle or another container.
pub fn is_container(head: &[u8]) -> bool {
    host::magic_of(head).is_some()
}

/// Like [`is_container`], but decides by the first 20 bytes alone. The magic text of a plain bundle
/// has 24 bytes, so only its first 20 bytes are checked.
pub fn may_be_container(head: &[u8; 20]) -> bool {
    is_container(head) || table::PLAIN.starts_with(head)
}

/// All strings that are values of the key `key` in a MessagePack index, at any depth. `None` if the
/// index is damaged.
pub fn index_values<'b>(index: &'b [u8], key: &[u8]) -> Option<Vec<&'b [u8]>> {
    msgpack::values_of(index, key)
}

/// The strings among the values of a MessagePack map, whose keys may be numbers. `None` if the data
/// is damaged or is not a map.
pub fn map_strings(index: &[u8]) -> Option<Vec<&[u8]>> {
    msgpack::strings(index)
}

/// Lists the device code of an open file.
pub fn read(handle: &Handle, depth: Depth) -> Result<DeviceCode, ReadError> {
    of_bytes(Bytes::whole(handle), depth)
}

/// Lists the device code of a file, or of a member of an archive.
fn of_bytes(bytes: Bytes<'_>, depth: Depth) -> Result<DeviceCode, ReadError> {
    let mut out = DeviceCode::default();
    let head = bytes.read(0, 64)?;
    if let Some(code) = code_object::read(bytes, depth.notes)? {
        let id = code.target.as_ref().map(ToString::to_string).unwrap_or_default().into_bytes();
        let entry = ContainerEntry { id, offset: 0, size: bytes.len(), code: Some(code) };
        let size = bytes.len();
        out.containers.push(Container {
            size,
            entries: vec![entry],
            ..Container::new(ContainerKind::Elf, 0)
        });
    } else if head.starts_with(&object::elf::ELFMAG) {
        if let Some(places) = host::places(bytes, &mut out)? {
            of_host(bytes, &places, depth, &mut out)?;
        }
    } else if is_container(&head) {
        concatenated(bytes, Extent { offset: 0, size: bytes.len() }, depth, &mut out)?;
    }
    out.faults.sort();
    out.faults.dedup();
    Ok(out)
}

/// Adds the containers of a host object to `out`.
fn of_host(
    bytes: Bytes<'_>,
    places: &host::DeviceCodePlaces,
    depth: Depth,
    out: &mut DeviceCode,
) -> Result<(), ReadError> {
    for (number, place) in places.pointed.iter().enumerate().take(MOST_CONTAINERS) {
        // A container of an unknown size ends where the next one begins.
        let next = places.pointed.get(number + 1).map_or(u64::MAX, |next| next.offset);
        let extent = Extent { size: place.size.min(next - place.offset), ..*place };
        if !container(bytes, extent, depth, out)? {
            out.faults
                .push(DeviceDefect::new(place.offset, "is no bundle, and a wrapper points to it"));
        }
    }
    if places.pointed.len() > MOST_CONTAINERS {
        out.leave_unread(TOO_MANY);
    }
    let sections = places.hip_sections.iter().chain(&places.nv_sections);
    if out.wrappers == 0 {
        for section in sections {
            concatenated(bytes, *section, depth, out)?;
        }
    } else {
        unregistered(bytes, places, out)?;
    }
    for section in &places.offloading {
        concatenated(bytes, *section, depth, out)?;
    }
    bundle::in_sections(bytes, &places.bundled, depth, out)?;
    out.containers.sort_by_key(|container| container.offset);
    Ok(())
}

/// Reports bundles to which no wrapper points, at most one for each `.hip_fatbin` section.
fn unregistered(
    bytes: Bytes<'_>,
    places: &host::DeviceCodePlaces,
    out: &mut DeviceCode,
) -> Result<(), ReadError> {
    let mut ends: Vec<(u64, u64)> =
        out.containers.iter().map(|c| (c.offset, c.offset.saturating_add(c.size))).collect();
    ends.sort_unstable();
    for section in &places.hip_sections {
        let end = section.offset.saturating_add(section.size);
        let mut at = section.offset;
        while let Some(found) = bytes.part(0, end).skip_zeros(at)? {
            let place = ends.binary_search_by_key(&found, |(start, _)| *start);
            match place.ok().and_then(|place| ends.get(place)) {
                Some((_, next)) if *next > at => at = *next,
                _ => {
                    let head = bytes.read(found, 32)?;
                    if host::magic_of(&head).is_some() {
                        let what = "is a bundle that no wrapper points to";
                        out.faults.push(DeviceDefect::new(found, what));
                    }
                    break;
                }
            }
        }
    }
    Ok(())
}

/// Reads containers that follow each other, with only zeros between them. The function does not
/// search for magic numbers, because code objects may contain the same bytes.
fn concatenated(
    bytes: Bytes<'_>,
    part: Extent,
    depth: Depth,
    out: &mut DeviceCode,
) -> Result<(), ReadError> {
    let Some(end) = part.offset.checked_add(part.size).filter(|end| *end <= bytes.len()) else {
        out.faults.push(DeviceDefect::new(part.offset, "is a section beyond the end of the file"));
        return Ok(());
    };
    let mut at = part.offset;
    while out.containers.len() < MOST_CONTAINERS && at < end {
        if !container(bytes, Extent { offset: at, size: end - at }, depth, out)? {
            break;
        }
        let Some(size) = out.containers.last().map(|container| container.size) else { break };
        let behind = at.saturating_add(size.max(1));
        let page = part.offset + (behind - part.offset).next_multiple_of(PAGE);
        let Some(next) = bytes.part(0, end).skip_zeros(behind)? else { break };
        let head = bytes.read(next, 32)?;
        if host::magic_of(&head).is_none() || (next > page && next % 8 != 0) {
            break;
        }
        at = next;
        if out.containers.len() >= MOST_CONTAINERS {
            out.leave_unread(TOO_MANY);
        }
    }
    Ok(())
}

/// Reads the container at the start of `place` and adds it to `out`. Returns false if no container
/// begins there.
fn container(
    bytes: Bytes<'_>,
    place: Extent,
    depth: Depth,
    out: &mut DeviceCode,
) -> Result<bool, ReadError> {
    let part = bytes.part(place.offset, place.size);
    let head = part.read(0, 32)?;
    let faults = &mut out.faults;
    let container = match host::magic_of(&head) {
        Some(ContainerKind::Bundle) => bundle::plain(part, place.offset, depth, faults)?,
        Some(ContainerKind::Ccob) => bundle::compressed(part, place.offset, depth, out)?,
        Some(ContainerKind::OffloadBinary) => {
            offload_binary::read(part, place.offset, depth.notes, faults)?
        }
        Some(ContainerKind::Nv) => nv::read(part, place.offset, faults)?,
        Some(ContainerKind::Kpack) => kpack::read(part, place.offset, out)?,
        Some(ContainerKind::Elf) | None => return Ok(false),
    };
    out.containers.push(container);
    Ok(true)
}
