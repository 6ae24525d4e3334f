//! Clang's offload bundles: plain ones (`__CLANG_OFFLOAD_BUNDLE__`) and compressed ones (`CCOB`,
//! versions 1 to 3), as `clang/lib/Driver/OffloadBundler.cpp` of LLVM reads them. The length of a
//! plain bundle is stored nowhere: it is the end of its last entry, as for HIP's runtime
//! (`clr`, `getFatbinSize`).

use super::bytes::{Bytes, u16_at, u32_at, u64_at};
use super::code_object::{self, CodeObject};
use super::{Compression, Container, Depth, Entry, Fault, Kind};
use super::{deep, inflate};
use crate::format::ReadError;

/// The magic of a plain bundle, without NUL.
pub const PLAIN: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The magic of a compressed bundle.
pub const COMPRESSED: &[u8; 4] = b"CCOB";

/// Most entries of a bundle, and bytes of one id. LLVM writes one entry for each target, about 20.
const MOST_ENTRIES: u64 = 4096;
const LONGEST_ID: u64 = 4096;
/// Bytes of a bundle's table that are read at first: enough for about fifty targets.
const TABLE: usize = 4096;

/// The plain bundle at `offset` of the file. `bytes` ends where the next bundle may begin.
pub(super) fn plain(
    bytes: Bytes<'_>,
    offset: u64,
    depth: Depth,
    faults: &mut Vec<Fault>,
) -> Result<Container, ReadError> {
    let mut container = Container::new(Kind::Bundle, offset);
    let Some(mut entries) = table_of(bytes)? else {
        faults.push(Fault::new(offset, "ends inside its table of entries"));
        container.size = bytes.len();
        return Ok(container);
    };
    let mut end = 0;
    for entry in &mut entries {
        let Some(last) = entry.offset.checked_add(entry.size).filter(|last| *last <= bytes.len())
        else {
            faults.push(Fault::of(offset, &entry.id, "ends beyond the end of the bundle"));
            continue;
        };
        end = end.max(last);
        entry.code = payload(bytes.part(entry.offset, entry.size), depth.notes)?;
    }
    container.size = end.max(table_len(&entries)).min(bytes.len());
    container.entries = entries;
    Ok(container)
}

/// The code object of an entry.
fn payload(bytes: Bytes<'_>, notes: bool) -> Result<Option<CodeObject>, ReadError> {
    if bytes.len() < code_object::HEADER as u64 {
        return Ok(None);
    }
    code_object::read(bytes, notes)
}

/// The length of a bundle's header and table, in bytes.
fn table_len(entries: &[Entry]) -> u64 {
    let ids: u64 = entries.iter().map(|entry| entry.id.len() as u64).sum();
    32 + 24 * entries.len() as u64 + ids
}

/// The entries of a plain bundle; `None` if the table is damaged.
fn table_of(bytes: Bytes<'_>) -> Result<Option<Vec<Entry>>, ReadError> {
    let mut len = TABLE;
    loop {
        let head = bytes.read(0, len)?;
        match table(&head) {
            Ok(entries) => return Ok(Some(entries)),
            Err(Short::Damaged) => return Ok(None),
            Err(Short::Longer) if head.len() < len => return Ok(None),
            Err(Short::Longer) => len = len.saturating_mul(4),
        }
    }
}

/// Why a table is not whole.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Short {
    /// More bytes are needed.
    Longer,
    /// More bytes will not help.
    Damaged,
}

/// Reads the table in the first bytes of a plain bundle.
pub(super) fn table(head: &[u8]) -> Result<Vec<Entry>, Short> {
    if head.len() < 32 {
        return Err(Short::Longer);
    }
    let count = u64_at(head, 24).ok_or(Short::Longer)?;
    if !head.starts_with(PLAIN) || count > MOST_ENTRIES {
        return Err(Short::Damaged);
    }
    let (mut at, mut out) = (32, Vec::new());
    for _ in 0..count {
        let field = |n: usize| u64_at(head, at + 8 * n).ok_or(Short::Longer);
        let (offset, size, len) = (field(0)?, field(1)?, field(2)?);
        if len > LONGEST_ID {
            return Err(Short::Damaged);
        }
        let end = usize::try_from(len).map_err(|_| Short::Damaged)? + at + 24;
        let id = head.get(at + 24..end).ok_or(Short::Longer)?.to_vec();
        out.push(Entry { id, offset, size, code: None });
        at = end;
    }
    Ok(out)
}

/// The header of a compressed bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Header {
    pub(super) version: u16,
    pub(super) method: Option<Compression>,
    /// The size of the whole file, which version 1 does not state.
    pub(super) total: Option<u64>,
    pub(super) uncompressed: u64,
    /// The first eight bytes of the MD5 sum of the plain bundle.
    pub(super) hash: u64,
    /// The length of the header itself.
    pub(super) len: u64,
}

/// Reads the header of a compressed bundle; `None` if it is cut short or of an unknown version.
pub(super) fn header(head: &[u8]) -> Option<Header> {
    let (version, method) = (u16_at(head, 4)?, u16_at(head, 6)?);
    let method = match method {
        0 => Some(Compression::Zlib),
        1 => Some(Compression::Zstd),
        _ => None,
    };
    let (total, uncompressed, hash, len) = match version {
        1 => (None, u32_at(head, 8)?.into(), u64_at(head, 12)?, 20),
        2 => (Some(u32_at(head, 8)?.into()), u32_at(head, 12)?.into(), u64_at(head, 16)?, 24),
        3 => (Some(u64_at(head, 8)?), u64_at(head, 16)?, u64_at(head, 24)?, 32),
        _ => return None,
    };
    Some(Header { version, method, total, uncompressed, hash, len })
}

/// The compressed bundle at `offset` of the file. `bytes` ends where the next bundle may begin.
pub(super) fn compressed(
    bytes: Bytes<'_>,
    offset: u64,
    depth: Depth,
    faults: &mut Vec<Fault>,
) -> Result<Container, ReadError> {
    let mut container = Container::new(Kind::Ccob, offset);
    container.size = bytes.len();
    let head = bytes.read(0, 32)?;
    let Some(header) = header(&head) else {
        container.version = u16_at(&head, 4);
        let what = match container.version {
            Some(1..=3) | None => "ends inside its header",
            Some(_) => "has an unknown version",
        };
        faults.push(Fault::new(offset, what));
        return Ok(container);
    };
    container.version = Some(header.version);
    container.uncompressed_size = Some(header.uncompressed);
    container.compression = header.method;
    match header.total {
        Some(total) if total > bytes.len() => {
            faults.push(Fault::new(offset, "is larger by its header than the space it has"));
        }
        Some(total) if total < header.len => {
            faults.push(Fault::new(offset, "has a total size that is smaller than its header"));
            return Ok(container);
        }
        Some(total) => container.size = total,
        None => {}
    }
    let Some(method) = header.method else {
        faults.push(Fault::new(offset, "is compressed by an unknown method"));
        return Ok(container);
    };
    let stream = bytes.part(header.len, container.size - header.len.min(container.size));
    container.magic_inside = bytes.part(0, container.size).find(4, COMPRESSED)?;
    if depth.inflate {
        deep::check(stream, method, &header, &mut container, faults)?;
    } else {
        entries_of(stream, method, header.uncompressed, &mut container, faults)?;
    }
    Ok(container)
}

/// Inflates a stream up to the end of the table, and reads the table.
fn entries_of(
    stream: Bytes<'_>,
    method: Compression,
    uncompressed: u64,
    container: &mut Container,
    faults: &mut Vec<Fault>,
) -> Result<(), ReadError> {
    let mut want = TABLE;
    let entries = loop {
        let Some(head) = inflate::head(stream, method, want)? else { break None };
        match table(&head) {
            Ok(entries) => break Some(entries),
            Err(Short::Damaged) => break None,
            Err(Short::Longer) if head.len() < want || want > MOST_TABLE => break None,
            Err(Short::Longer) => want *= 4,
        }
    };
    match entries {
        Some(entries) => {
            check_extents(&entries, uncompressed, container.offset, faults);
            container.entries = entries;
        }
        None => faults.push(Fault::new(container.offset, "cannot be inflated to a bundle")),
    }
    Ok(())
}

/// Most inflated bytes in which a table is looked for.
const MOST_TABLE: usize = 4 << 20;

/// Entries must lie within the inflated size that the header states.
pub(super) fn check_extents(
    entries: &[Entry],
    uncompressed: u64,
    offset: u64,
    faults: &mut Vec<Fault>,
) {
    for entry in entries {
        if entry.offset.checked_add(entry.size).is_none_or(|end| end > uncompressed) {
            faults.push(Fault::of(offset, &entry.id, "ends beyond the end of the bundle"));
        }
    }
}
