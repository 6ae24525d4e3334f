//! The parts of an object that were read, as one source of bytes for `object`: it finds nothing between
//! them. The memory is used again for every object. `link_facts` is the caller.

use crate::format::{ReadError, in_memory};
use crate::tree::Handle;
use object::read::ReadRef;
use std::ops::Range;

/// Parts that lie closer together are read at once.
const GAP: u64 = 4096;

/// The parts, in the order of the object.
#[derive(Default)]
pub struct Ranges {
    bytes: Vec<u8>,
    /// What was read, and where it begins in `bytes`.
    parts: Vec<(Range<u64>, usize)>,
    /// Size of the object.
    size: u64,
}

impl Ranges {
    /// Reads parts of the object of `size` bytes at `base` of `file`, and all between those that lie
    /// close together. Parts that were read before are gone.
    pub(super) fn read(
        &mut self,
        file: &Handle,
        (base, size): (u64, u64),
        mut wanted: Vec<Range<u64>>,
    ) -> Result<(), ReadError> {
        self.bytes.clear();
        self.parts.clear();
        self.size = size.min(file.stat().len.saturating_sub(base));
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
            let at = self.bytes.len();
            self.bytes.resize(at + in_memory(end - start)?, 0);
            let read = file.read_at(&mut self.bytes[at..], base.saturating_add(start))?;
            self.bytes.truncate(at + read);
            self.parts.push((start..start + read as u64, at));
        }
        Ok(())
    }

    /// The bytes from `start` to `end`, or to the end of the part.
    fn get(&self, start: u64, end: u64) -> Option<&[u8]> {
        let before = self.parts.partition_point(|(part, _)| part.start <= start);
        let (part, at) = self.parts.get(before.checked_sub(1)?)?;
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
