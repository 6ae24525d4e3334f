//! Inflates a compressed bundle whole (`--deep`): checks its size and its sum, and reads the code
//! objects in it. Only the code object that is being inflated is in memory.

use super::bytes::Bytes;
use super::code_object;
use super::table::{Header, Short, check_extents, table};
use super::{Compression, Container, Entry, Fault, inflate};
use md5::{Digest as _, Md5};

/// Most inflated bytes of a bundle.
const MOST: u64 = 1 << 30;
/// Most bytes of one code object that are kept to read its notes.
const MOST_KEPT: u64 = 128 << 20;
/// Most inflated bytes in which the table is looked for.
const MOST_TABLE: usize = 4 << 20;

/// The state of a bundle while its bytes arrive.
struct Arriving {
    hash: Md5,
    seen: u64,
    /// The first bytes, until they hold the table.
    head: Vec<u8>,
    table: Option<Result<Vec<Entry>, ()>>,
    /// Entries in the order of their offsets, and the next one.
    order: Vec<usize>,
    next: usize,
    kept: Vec<u8>,
}

/// Inflates `stream` and compares it with what the header states.
pub(super) fn check(
    stream: Bytes<'_>,
    method: Compression,
    header: &Header,
    container: &mut Container,
    faults: &mut Vec<Fault>,
) {
    let offset = container.offset;
    if header.uncompressed > MOST {
        faults.push(Fault::new(offset, "is larger than 1 GiB when inflated, and is not checked"));
        return;
    }
    let mut arriving = Arriving {
        hash: Md5::new(),
        seen: 0,
        head: Vec::new(),
        table: None,
        order: Vec::new(),
        next: 0,
        kept: Vec::new(),
    };
    let taken =
        inflate::all(stream, method, header.uncompressed, &mut |chunk| arriving.take(chunk));
    let Arriving { hash, seen, table, .. } = arriving;
    match table {
        Some(Ok(entries)) => {
            check_extents(&entries, header.uncompressed, offset, faults);
            container.entries = entries;
        }
        _ => faults.push(Fault::new(offset, "cannot be inflated to a bundle")),
    }
    let sum = hash.finalize();
    let sum = sum.first_chunk::<8>().map(|bytes| u64::from_le_bytes(*bytes));
    match taken {
        None => faults.push(Fault::new(offset, "is damaged, or larger when inflated than stated")),
        Some(_) if seen != header.uncompressed => {
            faults.push(Fault::new(offset, "is smaller when inflated than its header states"));
        }
        Some(_) if sum != Some(header.hash) => {
            faults.push(Fault::new(offset, "has another sum than its header states"));
        }
        // Version 1 does not state its size.
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

    /// Gives the bytes from `start` on to the entries that hold them.
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
            self.kept.clear();
            self.next += 1;
        }
    }
}
