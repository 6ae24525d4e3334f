//! Parses headers and tables of Clang's offload bundles from bytes in memory. `bundle` and `deep`
//! get these bytes from files and from streams.

use super::bytes::{u16_at, u32_at, u64_at};
use super::{Compression, ContainerEntry, DeviceDefect};
use crate::sniff::BITCODE;

/// The magic text of a plain bundle, without NUL.
pub(super) const PLAIN: &[u8; 24] = b"__CLANG_OFFLOAD_BUNDLE__";
/// The magic text of a compressed bundle.
pub(super) const COMPRESSED: &[u8; 4] = b"CCOB";

/// Maximum number of entries of a bundle. LLVM writes one for each target, about 20.
const MOST_ENTRIES: u64 = 4096;
/// Maximum length of the id of an entry, in bytes.
const LONGEST_ID: u64 = 4096;
/// The reason why the given bytes do not contain the whole table of a bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Short {
    /// The table continues after the given bytes.
    Longer,
    /// The table is damaged, so more bytes would not complete it.
    Damaged,
}

/// Reads the table of a plain bundle from `head`, the first bytes of the bundle.
pub(super) fn table(head: &[u8]) -> Result<Vec<ContainerEntry>, Short> {
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
        out.push(ContainerEntry { id, offset, size, code: None });
        at = end;
    }
    Ok(out)
}

/// The length of a bundle's header and table, in bytes.
pub(super) fn table_len(entries: &[ContainerEntry]) -> u64 {
    let ids: u64 = entries.iter().map(|entry| entry.id.len() as u64).sum();
    32 + 24 * entries.len() as u64 + ids
}

/// Checks the position, the size and the first bytes (`head`) of an entry for an AMD GPU, and
/// returns the defect. `table` is the length of the bundle's header and table, in bytes. `None` if
/// the entry has no defect, or is for another target.
pub(super) fn content_fault(
    entry: &ContainerEntry,
    table: u64,
    head: &[u8],
) -> Option<&'static str> {
    let target = entry.target_id()?;
    if entry.size == 0 {
        return Some("is empty");
    }
    // LLVM rejects a bundle with an entry at offset 0.
    if entry.offset < table {
        return Some("begins inside the table of entries");
    }
    // The entries of objects that `clang -fgpu-rdc` compiles are bitcode.
    let is_code = entry.code.is_some() || BITCODE.contains(&head);
    (!is_code && target.processor != super::SPIRV).then_some("holds no code object")
}

/// The header of a compressed bundle.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct BundleHeader {
    pub(super) version: u16,
    pub(super) method: Option<Compression>,
    /// The size of the whole bundle in bytes. `None` in version 1, which does not state this size.
    pub(super) total: Option<u64>,
    pub(super) uncompressed: u64,
    /// The first eight bytes of the MD5 sum of the plain bundle.
    pub(super) hash: u64,
    /// The length of this header, in bytes.
    pub(super) len: u64,
}

/// Reads the header of a compressed bundle; `None` if the header is cut short or of an unknown
/// version.
pub(super) fn header(head: &[u8]) -> Option<BundleHeader> {
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
    Some(BundleHeader { version, method, total, uncompressed, hash, len })
}

/// Reports entries that end beyond the inflated size in the header.
pub(super) fn check_extents(
    entries: &[ContainerEntry],
    uncompressed: u64,
    offset: u64,
    faults: &mut Vec<DeviceDefect>,
) {
    for entry in entries {
        if entry.offset.checked_add(entry.size).is_none_or(|end| end > uncompressed) {
            faults.push(DeviceDefect::of(offset, &entry.id, "ends beyond the end of the bundle"));
        }
    }
}
