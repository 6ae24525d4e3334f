//! Bounded reads of little-endian data, from a part of a file or from memory.

use crate::format::ReadError;
use crate::tree::Handle;

/// Bytes that can be read at any offset: a part of a file, or a buffer.
#[derive(Clone, Copy)]
pub(super) enum Bytes<'a> {
    /// The `len` bytes of a file from `start` on.
    File { handle: &'a Handle, start: u64, len: u64 },
    /// Inflated bytes.
    Memory(&'a [u8]),
}

impl<'a> Bytes<'a> {
    /// A whole file.
    pub(super) fn whole(handle: &'a Handle) -> Self {
        Self::File { handle, start: 0, len: handle.stat().len }
    }

    /// Number of bytes.
    pub(super) fn len(&self) -> u64 {
        match self {
            Self::File { len, .. } => *len,
            Self::Memory(bytes) => bytes.len() as u64,
        }
    }

    /// The `len` bytes from `start` on, or fewer if the bytes end earlier.
    pub(super) fn part(&self, start: u64, len: u64) -> Self {
        let start = start.min(self.len());
        let len = len.min(self.len() - start);
        match *self {
            Self::File { handle, start: base, .. } => {
                Self::File { handle, start: base.saturating_add(start), len }
            }
            Self::Memory(bytes) => {
                let range = usize::try_from(start).ok().zip(usize::try_from(start + len).ok());
                let part = range.and_then(|(start, end)| bytes.get(start..end));
                Self::Memory(part.unwrap_or_default())
            }
        }
    }

    /// The `len` bytes at `offset`, or fewer at the end.
    pub(super) fn read(&self, offset: u64, len: usize) -> Result<Vec<u8>, ReadError> {
        match self.part(offset, len as u64) {
            Self::File { handle, start, len } => crate::format::read_range(handle, start, len),
            Self::Memory(bytes) => Ok(bytes.to_vec()),
        }
    }

    /// The offset of the first byte from `offset` on that is not zero. `None` if all are zero.
    pub(super) fn skip_zeros(&self, mut offset: u64) -> Result<Option<u64>, ReadError> {
        while offset < self.len() {
            let chunk = self.read(offset, CHUNK)?;
            if chunk.is_empty() {
                break;
            }
            if let Some(at) = chunk.iter().position(|byte| *byte != 0) {
                return Ok(Some(offset + at as u64));
            }
            offset += chunk.len() as u64;
        }
        Ok(None)
    }

    /// The offset of the first occurrence of `word` from `offset` on, if there is one.
    pub(super) fn find(&self, mut offset: u64, word: &[u8]) -> Result<Option<u64>, ReadError> {
        let finder = memchr::memmem::Finder::new(word);
        while offset < self.len() {
            let chunk = self.read(offset, SCAN)?;
            if let Some(at) = finder.find(&chunk) {
                return Ok(Some(offset + at as u64));
            }
            if chunk.len() < SCAN {
                break;
            }
            // An occurrence may lie across the border of two chunks.
            offset += (chunk.len() - (word.len() - 1)) as u64;
        }
        Ok(None)
    }
}

/// Number of bytes that a search for the next nonzero byte reads at a time. Padding is usually
/// shorter than a page.
const CHUNK: usize = 4096;
/// Number of bytes that a search for a sequence of bytes reads at a time.
const SCAN: usize = 1 << 20;

/// The 16-bit little-endian number at `at`; `None` beyond the end.
pub(super) fn u16_at(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at.checked_add(2)?)?.try_into().ok()?))
}

/// The 32-bit little-endian number at `at`; `None` beyond the end.
pub(super) fn u32_at(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at.checked_add(4)?)?.try_into().ok()?))
}

/// The 64-bit little-endian number at `at`; `None` beyond the end.
pub(super) fn u64_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}
