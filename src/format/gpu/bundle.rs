//! Clang's offload bundles: plain ones (`__CLANG_OFFLOAD_BUNDLE__`) and compressed ones (`CCOB`,
//! versions 1 to 3), as `clang/lib/Driver/OffloadBundler.cpp` of LLVM reads them. A plain bundle
//! does not state its length. It ends with its last entry, as HIP's runtime assumes (`clr`,
//! `getFatbinSize`).

use super::bytes::{Bytes, u16_at};
use super::code_object::{self, CodeObject};
use super::host::Extent;
use super::table::{self, COMPRESSED, Short, check_extents, header, table, table_len};
use super::{
    Compression, Container, ContainerEntry, ContainerKind, Depth, DeviceCode, DeviceDefect,
};
use super::{deep, inflate};
use crate::format::ReadError;

/// Size in bytes of the first read of a bundle's table: enough for about fifty targets.
const TABLE: usize = 4096;

/// Reads the plain bundle at `offset` of the file, and adds its defects to `faults`. `bytes` begins
/// with this bundle and ends where the next one may begin.
pub(super) fn plain(
    bytes: Bytes<'_>,
    offset: u64,
    depth: Depth,
    faults: &mut Vec<DeviceDefect>,
) -> Result<Container, ReadError> {
    let mut container = Container::new(ContainerKind::Bundle, offset);
    let Some(mut entries) = table_of(bytes)? else {
        faults.push(DeviceDefect::new(offset, "ends inside its table of entries"));
        container.size = bytes.len();
        return Ok(container);
    };
    let (mut end, table) = (0, table_len(&entries));
    for entry in &mut entries {
        let Some(last) = entry.offset.checked_add(entry.size).filter(|last| *last <= bytes.len())
        else {
            faults.push(DeviceDefect::of(offset, &entry.id, "ends beyond the end of the bundle"));
            continue;
        };
        end = end.max(last);
        let part = bytes.part(entry.offset, entry.size);
        entry.code = payload(part, depth.notes)?;
        let head = if entry.code.is_some() { Vec::new() } else { part.read(0, 4)? };
        faults.extend(
            table::content_fault(entry, table, &head)
                .map(|what| DeviceDefect::of(offset, &entry.id, what)),
        );
    }
    container.size = end.max(table).min(bytes.len());
    container.entries = entries;
    Ok(container)
}

/// Adds the bundle whose entries are `sections` of a relocatable object. `clang -fgpu-rdc` and
/// `clang-offload-bundler --type=o` write such bundles. The name of a section is the magic text
/// followed by the id of the entry. The section for the host has one byte.
pub(super) fn in_sections(
    bytes: Bytes<'_>,
    sections: &[(Vec<u8>, Extent)],
    depth: Depth,
    out: &mut DeviceCode,
) -> Result<(), ReadError> {
    let Some(start) = sections.iter().map(|(_, extent)| extent.offset).min() else {
        return Ok(());
    };
    let mut container = Container::new(ContainerKind::Bundle, start);
    for (id, Extent { offset, size }) in sections {
        let part = bytes.part(*offset, *size);
        if part.len() != *size {
            out.faults.push(DeviceDefect::of(start, id, "is a section beyond the end of the file"));
        }
        let code = payload(part, depth.notes)?;
        let entry = ContainerEntry { id: id.clone(), offset: offset - start, size: *size, code };
        let head = if entry.code.is_some() { Vec::new() } else { part.read(0, 4)? };
        let what = table::content_fault(&entry, 0, &head);
        out.faults.extend(what.map(|what| DeviceDefect::of(*offset, id, what)));
        container.size = container.size.max(entry.offset.saturating_add(*size));
        container.entries.push(entry);
    }
    out.containers.push(container);
    Ok(())
}

/// The code object in an entry. `None` if the entry is not a code object.
fn payload(bytes: Bytes<'_>, notes: bool) -> Result<Option<CodeObject>, ReadError> {
    if bytes.len() < code_object::HEADER as u64 {
        return Ok(None);
    }
    code_object::read(bytes, notes)
}

/// The entries of a plain bundle; `None` if their table is damaged or cut short.
fn table_of(bytes: Bytes<'_>) -> Result<Option<Vec<ContainerEntry>>, ReadError> {
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

/// Reads the compressed bundle at `offset` of the file, and adds its defects to `out`. `bytes`
/// begins with this bundle and ends where the next one may begin.
pub(super) fn compressed(
    bytes: Bytes<'_>,
    offset: u64,
    depth: Depth,
    out: &mut DeviceCode,
) -> Result<Container, ReadError> {
    let faults = &mut out.faults;
    let mut container = Container::new(ContainerKind::Ccob, offset);
    container.size = bytes.len();
    let head = bytes.read(0, 32)?;
    let Some(header) = header(&head) else {
        container.version = u16_at(&head, 4);
        let what = match container.version {
            Some(1..=3) | None => "ends inside its header",
            Some(_) => "has an unknown version",
        };
        faults.push(DeviceDefect::new(offset, what));
        return Ok(container);
    };
    container.version = Some(header.version);
    container.uncompressed_size = Some(header.uncompressed);
    container.compression = header.method;
    match header.total {
        Some(total) if total > bytes.len() => {
            faults.push(DeviceDefect::new(offset, "is larger by its header than the space it has"));
        }
        Some(total) if total < header.len => {
            faults.push(DeviceDefect::new(
                offset,
                "has a total size that is smaller than its header",
            ));
            return Ok(container);
        }
        Some(total) => container.size = total,
        None => {}
    }
    let Some(method) = header.method else {
        faults.push(DeviceDefect::new(offset, "is compressed by an unknown method"));
        return Ok(container);
    };
    let stream = bytes.part(header.len, container.size - header.len.min(container.size));
    container.magic_inside = bytes.part(0, container.size).find(4, COMPRESSED)?;
    if header.uncompressed > inflate::most(method, stream.len()) {
        let what = "states an inflated size that its compressed bytes cannot reach";
        faults.push(DeviceDefect::new(offset, what));
    } else if let Some(most) = depth.inflate {
        if header.uncompressed <= deep::MOST.min(most.saturating_sub(out.inflated)) {
            out.inflated += header.uncompressed;
            deep::check(stream, method, &header, &mut container, faults);
            return Ok(container);
        }
        let what = if header.uncompressed > deep::MOST {
            "is larger than 1 GiB when inflated"
        } else {
            "is behind 4 GiB of other inflated bundles"
        };
        out.unchecked.push(DeviceDefect::new(offset, what));
    }
    entries_of(stream, method, header.uncompressed, &mut container, faults)?;
    Ok(container)
}

/// Inflates a stream up to the end of the bundle's table, and stores the entries of the table in
/// `container`.
fn entries_of(
    stream: Bytes<'_>,
    method: Compression,
    uncompressed: u64,
    container: &mut Container,
    faults: &mut Vec<DeviceDefect>,
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
        None => faults.push(DeviceDefect::new(container.offset, "cannot be inflated to a bundle")),
    }
    Ok(())
}

/// Bound for the bytes that are inflated to read a table. If the inflated bytes end inside the
/// table, [`entries_of`] requests four times as many. The first request above this bound is the
/// last one.
const MOST_TABLE: usize = 4 << 20;
