//! LLVM's OffloadBinary, versions 1 and 2 (`llvm/Object/OffloadBinary.h`): the content of
//! `.llvm.offloading` sections and of files that `clang-offload-packager` writes.

use super::bytes::{Bytes, u16_at, u32_at, u64_at};
use super::{Container, ContainerEntry, ContainerKind, DeviceDefect, code_object};
use crate::format::{ReadError, c_string};

/// The magic number of an OffloadBinary.
pub(super) const MAGIC: &[u8; 4] = &[0x10, 0xff, 0x10, 0xad];
/// Maximum number of images of one binary. LLVM 21 writes one image for each binary.
const MOST_IMAGES: u64 = 4096;
/// Maximum number of pairs of strings of one image.
const MOST_STRINGS: u64 = 64;
/// Maximum length of a string, in bytes.
const LONGEST: usize = 4096;

/// Reads the OffloadBinary at the start of `bytes`, which is at `offset` of the file. Adds its
/// defects to `faults`.
pub(super) fn read(
    bytes: Bytes<'_>,
    offset: u64,
    notes: bool,
    faults: &mut Vec<DeviceDefect>,
) -> Result<Container, ReadError> {
    let mut container = Container::new(ContainerKind::OffloadBinary, offset);
    container.size = bytes.len();
    let head = bytes.read(0, 32)?;
    let (Some(version), Some(size), Some(entries), Some(last)) =
        (u32_at(&head, 4), u64_at(&head, 8), u64_at(&head, 16), u64_at(&head, 24))
    else {
        faults.push(DeviceDefect::new(offset, "ends inside its header"));
        return Ok(container);
    };
    container.version = u16::try_from(version).ok();
    let count = match version {
        // Version 1 has the size of its only entry in this field.
        1 => 1,
        2 => last,
        _ => {
            faults.push(DeviceDefect::new(offset, "has an unknown version"));
            return Ok(container);
        }
    };
    if size > bytes.len() || size < 32 {
        faults.push(DeviceDefect::new(offset, "is larger by its header than the space it has"));
        return Ok(container);
    }
    container.size = size;
    let bytes = bytes.part(0, size);
    for number in 0..count.min(MOST_IMAGES) {
        let at = number.checked_mul(40).and_then(|at| at.checked_add(entries));
        let raw = bytes.read(at.unwrap_or(u64::MAX), 40)?;
        let Some(entry) = image(bytes, &raw, version, notes)? else {
            faults.push(DeviceDefect::new(offset, "has an image beyond its end"));
            break;
        };
        container.entries.push(entry);
    }
    if count > MOST_IMAGES {
        faults.push(DeviceDefect::new(offset, "has more than 4096 images"));
    }
    Ok(container)
}

/// One image. `None` if a part of the image is beyond the end of `bytes`, or if the image has too
/// many strings.
fn image(
    bytes: Bytes<'_>,
    raw: &[u8],
    version: u32,
    notes: bool,
) -> Result<Option<ContainerEntry>, ReadError> {
    let fields = || {
        let kind = u16_at(raw, 2)?;
        Some((kind, u64_at(raw, 8)?, u64_at(raw, 16)?, u64_at(raw, 24)?, u64_at(raw, 32)?))
    };
    let Some((kind, strings_at, strings, offset, size)) = fields() else { return Ok(None) };
    if offset.checked_add(size).is_none_or(|end| end > bytes.len()) || strings > MOST_STRINGS {
        return Ok(None);
    }
    let (mut triple, mut arch) = (Vec::new(), Vec::new());
    let width = if version == 1 { 16 } else { 24 };
    for number in 0..strings {
        let at = strings_at.saturating_add(number * width);
        let pair = bytes.read(at, 16)?;
        let (Some(key), Some(value)) = (u64_at(&pair, 0), u64_at(&pair, 8)) else {
            return Ok(None);
        };
        let value = text(bytes, value)?;
        match &*text(bytes, key)? {
            b"triple" => triple = value,
            b"arch" => arch = value,
            _ => {}
        }
    }
    let producer: &[u8] = match kind {
        1 => b"openmp",
        2 => b"cuda",
        4 => b"hip",
        8 => b"sycl",
        _ => b"unknown",
    };
    // The id gets the form of ids in bundles. There, a triple without an environment ends with a
    // hyphen.
    let dashes = if triple.split(|byte| *byte == b'-').count() < 4 { &b"--"[..] } else { b"-" };
    let id = [producer, b"-", &triple, dashes, &arch].concat();
    let code = code_object::read(bytes.part(offset, size), notes)?;
    Ok(Some(ContainerEntry { id, offset, size, code }))
}

/// The string at `offset`, without its NUL. Empty if no string is there.
fn text(bytes: Bytes<'_>, offset: u64) -> Result<Vec<u8>, ReadError> {
    let raw = bytes.read(offset, LONGEST)?;
    Ok(c_string(&raw, 0).unwrap_or_default().to_vec())
}
