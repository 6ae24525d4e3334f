//! NVIDIA's fat binaries, as nvcc and clang put them in `.nv_fatbin`: a header, then PTX and cubins
//! with their SM number. The sources for the layout are CUDA's `fatbinary_section.h` and
//! `cuobjdump`.

use super::bytes::{Bytes, u16_at, u32_at, u64_at};
use super::{Compression, Container, ContainerEntry, ContainerKind, DeviceDefect};
use crate::format::ReadError;

/// The magic number of a fat binary.
pub(super) const MAGIC: u32 = 0xba55_ed50;
/// Upper bound for the images of one fat binary.
const MOST_IMAGES: usize = 4096;
/// `FATBIN_KIND_PTX`
const PTX: u16 = 1;
/// `FATBIN_KIND_ELF`
const CUBIN: u16 = 2;

/// Reads the fat binary at the start of `bytes`, which is at `offset` of the file. Adds its defects
/// to `faults`.
pub(super) fn read(
    bytes: Bytes<'_>,
    offset: u64,
    faults: &mut Vec<DeviceDefect>,
) -> Result<Container, ReadError> {
    let mut container = Container::new(ContainerKind::Nv, offset);
    container.size = bytes.len();
    let head = bytes.read(0, 16)?;
    let (Some(version), Some(header), Some(size)) =
        (u16_at(&head, 4), u16_at(&head, 6), u64_at(&head, 8))
    else {
        faults.push(DeviceDefect::new(offset, "ends inside its header"));
        return Ok(container);
    };
    container.version = Some(version);
    let end = u64::from(header).checked_add(size).filter(|end| *end <= bytes.len());
    let Some(end) = end.filter(|_| header >= 16) else {
        faults.push(DeviceDefect::new(offset, "is larger by its header than the space it has"));
        return Ok(container);
    };
    container.size = end;
    let bytes = bytes.part(0, end);
    let mut at = u64::from(header);
    while at < end && container.entries.len() < MOST_IMAGES {
        let raw = bytes.read(at, 64)?;
        let fields = || {
            let kind = u16_at(&raw, 0)?;
            let (len, size) = (u64::from(u32_at(&raw, 4)?), u64_at(&raw, 8)?);
            Some((kind, len, size, u32_at(&raw, 28)?, u64_at(&raw, 40)?))
        };
        let image = fields().filter(|(_, len, ..)| *len >= 32);
        let Some((kind, len, size, sm, flags)) = image else {
            faults.push(DeviceDefect::new(offset, "has an image whose header is cut short"));
            break;
        };
        let next = at.checked_add(len).and_then(|start| start.checked_add(size));
        let Some(next) = next.filter(|next| *next <= end) else {
            faults.push(DeviceDefect::new(offset, "has an image beyond its end"));
            break;
        };
        // Code for exactly this GPU (`sm_90a`), or for its family (`sm_100f`).
        let suffix = match flags >> 20 & 3 {
            0 => "",
            2 => "f",
            _ => "a",
        };
        let id = match kind {
            PTX => format!("compute_{sm}{suffix}"),
            CUBIN => format!("sm_{sm}{suffix}"),
            other => format!("kind_{other}_sm_{sm}{suffix}"),
        };
        // The flag 0x8000 means zstd, since CUDA 12. `FATBIN_FLAG_COMPRESS` means LZ4, which
        // `Compression` does not have.
        if flags & 0x8000 != 0 {
            container.compression = Some(Compression::Zstd);
        }
        container.entries.push(ContainerEntry {
            id: id.into_bytes(),
            offset: at + len,
            size,
            code: None,
        });
        at = next;
    }
    if at < end && container.entries.len() >= MOST_IMAGES {
        faults.push(DeviceDefect::new(offset, "has more than 4096 images"));
    }
    Ok(container)
}
