//! Inflates a whole compressed bundle (`--deep`): checks its size and its MD5 sum, and reads the
//! code objects in it. At any time, only one inflated code object of a bundle is in memory.

use super::bytes::Bytes;
use super::code_object;
use super::table::{BundleHeader, Short, check_extents, content_fault, table, table_len};
use super::{Compression, Container, ContainerEntry, DeviceDefect, inflate};
use md5::{Digest as _, Md5};
use std::sync::{Condvar, Mutex, PoisonError};

/// Upper bound, in bytes, for an inflated bundle.
pub(super) const MOST: u64 = 1 << 30;
/// Upper bound, in bytes, for the part of a code object that is kept to read its notes.
const MOST_KEPT: u64 = 128 << 20;
/// The table of a bundle must end within this many bytes of inflated data.
const MOST_TABLE: usize = 4 << 20;

/// Upper bound, in bytes, of the memory for one bundle: the window of its stream, and one code
/// object. The window has at most 128 MiB. The buffer of the window grows by doubling and may be
/// twice as large.
const MOST_TAKEN: u64 = 3 * MOST_KEPT;

/// The memory, in bytes, for all bundles that are inflated at the same time. A thread waits until
/// enough of this memory is free. So more threads do not need more memory.
static ROOM: Room = Room { left: Mutex::new(512 << 20), freed: Condvar::new() };

struct Room {
    left: Mutex<u64>,
    freed: Condvar,
}

/// A reserved part of [`ROOM`], in bytes. Dropping the value releases it.
struct Taken(u64);

impl Room {
    fn take(&'static self, size: u64) -> Taken {
        let size = size.min(MOST_TAKEN);
        let left = self.left.lock().unwrap_or_else(PoisonError::into_inner);
        let left = self.freed.wait_while(left, |left| *left < size);
        *left.unwrap_or_else(PoisonError::into_inner) -= size;
        Taken(size)
    }
}

impl Drop for Taken {
    fn drop(&mut self) {
        *ROOM.left.lock().unwrap_or_else(PoisonError::into_inner) += self.0;
        ROOM.freed.notify_all();
    }
}

/// The state of a check. The inflated bytes of the bundle arrive in chunks.
struct Arriving {
    hash: Md5,
    seen: u64,
    /// The first bytes of the bundle. They are collected until the table is complete.
    head: Vec<u8>,
    table: Option<Result<Vec<ContainerEntry>, ()>>,
    /// The length of the bundle's header and table, in bytes.
    table_len: u64,
    /// Indices of the entries, sorted by their offsets.
    order: Vec<usize>,
    /// Position in `order` of the first entry that is not complete.
    next: usize,
    /// The bytes seen so far of the entry at `next`. Bytes beyond [`MOST_KEPT`] are dropped.
    kept: Vec<u8>,
    /// Ids of entries, and the defect of each.
    faults: Vec<(Vec<u8>, &'static str)>,
}

/// Inflates `stream`, and compares the inflated size and the MD5 sum with the values in `header`.
/// Stores the entries in `container`, and adds defects to `faults`.
pub(super) fn check(
    stream: Bytes<'_>,
    method: Compression,
    header: &BundleHeader,
    container: &mut Container,
    faults: &mut Vec<DeviceDefect>,
) {
    let offset = container.offset;
    let _taken = ROOM.take(header.uncompressed.saturating_mul(3));
    let mut arriving = Arriving {
        hash: Md5::new(),
        seen: 0,
        head: Vec::new(),
        table: None,
        table_len: 0,
        order: Vec::new(),
        next: 0,
        kept: Vec::new(),
        faults: Vec::new(),
    };
    let taken =
        inflate::all(stream, method, header.uncompressed, &mut |chunk| arriving.take(chunk));
    let Arriving { hash, seen, table, faults: found, .. } = arriving;
    faults.extend(found.into_iter().map(|(id, what)| DeviceDefect::of(offset, &id, what)));
    match table {
        Some(Ok(entries)) => {
            check_extents(&entries, header.uncompressed, offset, faults);
            container.entries = entries;
        }
        _ => faults.push(DeviceDefect::new(offset, "cannot be inflated to a bundle")),
    }
    let sum = hash.finalize();
    let sum = sum.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    match taken {
        None => faults
            .push(DeviceDefect::new(offset, "is damaged, or larger when inflated than stated")),
        Some(_) if seen != header.uncompressed => {
            faults
                .push(DeviceDefect::new(offset, "is smaller when inflated than its header states"));
        }
        Some(_) if sum != Some(header.hash) => {
            faults.push(DeviceDefect::new(offset, "has another sum than its header states"));
        }
        // A header of version 1 does not state the size of the bundle.
        Some(taken) if header.total.is_none() => container.size = header.len + taken,
        Some(_) => {}
    }
}

impl Arriving {
    fn take(&mut self, chunk: &[u8]) {
        self.hash.update(chunk);
        let start = self.seen;
        self.seen += chunk.len() as u64;
        if self.table.is_none() {
            self.head.extend_from_slice(chunk);
            match table(&self.head) {
                Ok(entries) => {
                    self.table_len = table_len(&entries);
                    self.order = (0..entries.len()).collect();
                    self.order.sort_by_key(|at| entries[*at].offset);
                    self.table = Some(Ok(entries));
                    let head = std::mem::take(&mut self.head);
                    self.feed(&head, 0);
                }
                Err(Short::Longer) if self.head.len() < MOST_TABLE => {}
                Err(_) => self.table = Some(Err(())),
            }
        } else {
            self.feed(chunk, start);
        }
    }

    /// Passes a chunk, which begins at offset `start` of the bundle, to the entries that it
    /// overlaps.
    fn feed(&mut self, chunk: &[u8], start: u64) {
        let end = start + chunk.len() as u64;
        while let (Some(Ok(entries)), Some(at)) = (&mut self.table, self.order.get(self.next)) {
            let Some(entry) = entries.get_mut(*at) else { return };
            let last = entry.offset.saturating_add(entry.size);
            let (from, to) = (start.max(entry.offset), end.min(last));
            if from < to && (self.kept.len() as u64) < MOST_KEPT {
                let part = usize::try_from(from - start).ok().zip(usize::try_from(to - start).ok());
                let part = part.and_then(|(from, to)| chunk.get(from..to));
                self.kept.extend_from_slice(part.unwrap_or_default());
            }
            if last > end {
                return;
            }
            entry.code = code_object::read(Bytes::Memory(&self.kept), true).ok().flatten();
            let head = self.kept.get(..4).unwrap_or_default();
            let fault = content_fault(entry, self.table_len, head);
            self.faults.extend(fault.map(|what| (entry.id.clone(), what)));
            self.kept.clear();
            self.next += 1;
        }
    }
}
