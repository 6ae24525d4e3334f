//! The parts of an object that were read, as one source of bytes for the crate `object`. Bytes
//! between the parts cannot be read. The memory is reused for every object. `link_reader` is the
//! main caller.

use crate::format::{ReadError, in_memory};
use crate::tree::Handle;
use object::read::ReadRef;
use std::ops::Range;

/// Parts are read together if the gap between them has at most this many bytes.
const GAP: u64 = 4096;
/// Initial capacity of the reused memory, in bytes. Pages that are never touched cost no memory.
const ROOM: usize = 8 << 20;

/// Extends reused memory to at least `size` bytes. Memory that grows in small steps would move to
/// fresh pages at each step.
pub(super) fn grow(memory: &mut Vec<u8>, size: usize) {
    if memory.len() < size {
        memory.reserve(ROOM.max(size) - memory.len());
        memory.resize(size, 0);
    }
}

/// The parts of one object that were read.
#[derive(Default)]
pub struct Ranges {
    /// Memory that is filled up to `len`. It never shrinks, so that each byte is zeroed only
    /// once.
    bytes: Vec<u8>,
    len: usize,
    /// The parts in the order of the object, each with its position in `bytes`.
    parts: Vec<(Range<u64>, usize)>,
    /// Size of the object in bytes, or less if the file ends before the object.
    size: u64,
}

impl Ranges {
    /// Drops the parts of the previous object. The next object has `size` bytes at offset `base` of
    /// `file`. `head` has the first bytes of the object.
    pub(super) fn begin(&mut self, file: &Handle, (base, size): (u64, u64), head: &[u8]) {
        self.parts.clear();
        self.size = size.min(file.stat().len.saturating_sub(base));
        let head = &head[..usize::try_from(self.size).map_or(head.len(), |n| n.min(head.len()))];
        self.len = 0;
        self.room(head.len()).copy_from_slice(head);
        self.len = head.len();
        self.parts.push((0..head.len() as u64, 0));
    }

    /// Reads more parts of the object at offset `base` of `file`. If two parts lie close together,
    /// the bytes between them are read too.
    pub(super) fn load(
        &mut self,
        file: &Handle,
        base: u64,
        mut wanted: Vec<Range<u64>>,
    ) -> Result<(), ReadError> {
        wanted.sort_unstable_by_key(|range| range.start);
        let mut merged: Vec<Range<u64>> = Vec::new();
        for range in wanted {
            let end = range.end.min(self.size);
            match merged.last_mut() {
                _ if range.start >= end => {}
                Some(last) if range.start <= last.end.saturating_add(GAP) => {
                    last.end = last.end.max(end);
                }
                _ => merged.push(range.start..end),
            }
        }
        for Range { start, end } in merged {
            let at = self.len;
            let room = self.room(in_memory(end - start)?);
            let read = file.read_at(room, base.saturating_add(start))?;
            self.len = at + read;
            self.parts.push((start..start + read as u64, at));
        }
        self.parts.sort_unstable_by_key(|(part, _)| part.start);
        Ok(())
    }

    /// The `size` bytes of memory after the filled ones.
    fn room(&mut self, size: usize) -> &mut [u8] {
        let end = self.len + size;
        grow(&mut self.bytes, end);
        &mut self.bytes[self.len..end]
    }

    /// The bytes from `start` to `end`. If no part reaches `end`, the bytes up to the end of the
    /// last part that begins at or before `start`. `None` if the byte at `start` was not read.
    fn get(&self, start: u64, end: u64) -> Option<&[u8]> {
        let before = self.parts.partition_point(|(part, _)| part.start <= start);
        // Parts of separate calls of `load` may overlap.
        let mut parts = self.parts.get(..before)?.iter().rev();
        let whole = parts.clone().find(|(part, _)| part.end >= end);
        let (part, at) = whole.or_else(|| parts.next())?;
        let place = |offset: u64| Some(at + usize::try_from(offset.checked_sub(part.start)?).ok()?);
        self.bytes.get(place(start)?..place(end.min(part.end))?)
    }
}

impl<'a> ReadRef<'a> for &'a Ranges {
    fn len(self) -> Result<u64, ()> {
        Ok(self.size)
    }

    fn read_bytes_at(self, offset: u64, size: u64) -> Result<&'a [u8], ()> {
        if size == 0 {
            return Ok(&[]);
        }
        let found = self.get(offset, offset.checked_add(size).ok_or(())?);
        found.filter(|found| found.len() as u64 == size).ok_or(())
    }

    fn read_bytes_at_until(self, range: Range<u64>, delimiter: u8) -> Result<&'a [u8], ()> {
        let found = self.get(range.start, range.end).ok_or(())?;
        found.get(..memchr::memchr(delimiter, found).ok_or(())?).ok_or(())
    }
}
