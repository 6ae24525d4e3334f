//! kpack files. They hold the device code of programs and libraries, usually in one kpack file for
//! each GPU (`multi_arch_packaging_with_kpack.md` of ROCm's rocm-kpack). A wrapper in the program,
//! with the magic number `HIPK`, points to a MessagePack map with the paths of these files. A kpack
//! file has a table of contents at its end. This module lists the code objects of a kpack file
//! without reading them.

use super::bytes::{Bytes, u32_at, u64_at};
use super::msgpack::{MsgpackReader, MsgpackValue};
use super::{Container, ContainerEntry, ContainerKind, DeviceCode, DeviceDefect};
use crate::format::ReadError;
use std::collections::BTreeSet;

/// The magic number of a kpack file.
pub(super) const MAGIC: &[u8; 4] = b"KPAK";
/// Maximum size of a map with paths, in bytes.
const MOST_REFERENCE: usize = 64 << 10;
/// Maximum size of a table of contents, in bytes.
const MOST_TABLE: u64 = 64 << 20;
/// Maximum number of entries of a table of contents.
const MOST_ENTRIES: usize = 100_000;

/// The paths in the MessagePack map at the start of `bytes`. Empty if the map is damaged or has no
/// paths.
pub(super) fn reference(bytes: Bytes<'_>) -> Result<BTreeSet<Vec<u8>>, ReadError> {
    let raw = bytes.read(0, MOST_REFERENCE)?;
    let mut out = BTreeSet::new();
    let paths = MsgpackReader::new(&raw).map(|reader, key| {
        if key != b"kpack_search_paths" {
            return reader.skip_next();
        }
        let MsgpackValue::List(count) = reader.next()? else { return None };
        for _ in 0..count {
            let MsgpackValue::Str(path) = reader.next()? else { return None };
            out.insert(path.to_vec());
        }
        Some(())
    });
    Ok(paths.map(|()| out).unwrap_or_default())
}

/// Reads the table of contents of the kpack file in `bytes`, and adds defects to `out`. `offset` is
/// the position of the kpack file in the audited file.
pub(super) fn read(
    bytes: Bytes<'_>,
    offset: u64,
    out: &mut DeviceCode,
) -> Result<Container, ReadError> {
    let mut container = Container::new(ContainerKind::Kpack, offset);
    container.size = bytes.len();
    let head = bytes.read(0, 16)?;
    let (Some(version), Some(table)) = (u32_at(&head, 4), u64_at(&head, 8)) else {
        out.faults.push(DeviceDefect::new(offset, "ends inside its header"));
        return Ok(container);
    };
    container.version = u16::try_from(version).ok();
    if version != 1 {
        out.unread = Some("a kpack file of an unknown version");
        return Ok(container);
    }
    let len = bytes.len().saturating_sub(table);
    if len == 0 {
        out.faults.push(DeviceDefect::new(offset, "ends before its table of contents"));
    } else if len > MOST_TABLE {
        out.unread = Some("a kpack file with a table of contents of more than 64 MiB");
    } else {
        let raw = bytes.read(table, usize::try_from(len).unwrap_or(0))?;
        match entries(&raw) {
            Some(entries) => container.entries = entries,
            None => out.faults.push(DeviceDefect::new(offset, "has a damaged table of contents")),
        }
    }
    Ok(container)
}

/// The code objects in a table of contents, grouped by program or library and then by target. The
/// offset of each is 0, because its position depends on the compression. `None` if the table is
/// damaged or has more than [`MOST_ENTRIES`] entries.
fn entries(raw: &[u8]) -> Option<Vec<ContainerEntry>> {
    let mut out = Vec::new();
    MsgpackReader::new(raw).map(|reader, key| {
        if key != b"toc" {
            return reader.skip_next();
        }
        reader.map(|reader, _| {
            reader.map(|reader, target| {
                let mut size = 0;
                reader.map(|reader, key| {
                    let value = reader.next()?;
                    reader.skip(value)?;
                    if let (b"original_size" | b"size", MsgpackValue::Int(stated)) = (key, value) {
                        size = stated;
                    }
                    Some(())
                })?;
                let id = [b"hipv4-amdgcn-amd-amdhsa--", target].concat();
                out.push(ContainerEntry { id, offset: 0, size, code: None });
                (out.len() <= MOST_ENTRIES).then_some(())
            })
        })
    })?;
    Some(out)
}
