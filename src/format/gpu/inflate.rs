//! Inflates the zlib (RFC 1950) and zstd (RFC 8878) streams of compressed bundles. Each function
//! bounds the number of inflated bytes, because a small file may inflate to gigabytes.

use super::Compression;
use super::bytes::Bytes;
use crate::format::ReadError;
use ruzstd::decoding::StreamingDecoder;
use std::io::{self, Read};

/// Number of compressed bytes in one read of the file, and size of the buffer for inflated bytes.
const CHUNK: usize = 64 << 10;
/// Largest size of one zstd block in bytes, before and after compression (RFC 8878, 3.1.1.2).
const BLOCK: usize = 128 << 10;
/// Upper bound for the zstd blocks that are inflated to read a table of entries.
const MOST_BLOCKS: u32 = 64;

/// Upper bound for the bytes to which `len` compressed bytes inflate. In a zlib stream, two bits
/// may stand for a copy of 258 bytes, which is the longest copy. In zstd, a block has at least four
/// bytes and inflates to at most 128 KiB.
pub(super) fn most(method: Compression, len: u64) -> u64 {
    match method {
        Compression::Zlib => len.saturating_mul(1032),
        Compression::Zstd => (len / 4).saturating_mul(BLOCK as u64),
    }
}

/// The first `want` inflated bytes. The result is shorter if the stream ends earlier or is
/// damaged. It is also shorter if the first [`MOST_BLOCKS`] blocks of a zstd stream inflate to
/// fewer bytes. `None` if no byte can be inflated. For a zstd stream, also `None` if the frame
/// header or one of the blocks that are read first is damaged or cut short.
pub(super) fn head(
    bytes: Bytes<'_>,
    method: Compression,
    want: usize,
) -> Result<Option<Vec<u8>>, ReadError> {
    let stream = match method {
        Compression::Zlib => {
            read_up_to(flate2::read::ZlibDecoder::new(InflateSource::new(bytes)), want)
        }
        Compression::Zstd => zstd_head(bytes, want)?,
    };
    Ok(stream)
}

/// [`head`] for a zstd stream. A block inflates to an unknown number of bytes, at most [`BLOCK`].
/// The function therefore doubles the number of blocks until they inflate to `want` bytes.
fn zstd_head(bytes: Bytes<'_>, want: usize) -> Result<Option<Vec<u8>>, ReadError> {
    let blocks = u32::try_from(want.div_ceil(BLOCK)).unwrap_or(MOST_BLOCKS);
    let (mut blocks, mut head) = (blocks.min(MOST_BLOCKS), None);
    while let Some((frame, is_whole)) = first_blocks(bytes, blocks)? {
        let longer = StreamingDecoder::new(&*frame).ok().and_then(|s| read_up_to(s, want));
        head = longer.or(head);
        let is_enough = head.as_ref().is_none_or(|head| head.len() >= want);
        if is_enough || is_whole || blocks == MOST_BLOCKS {
            break;
        }
        blocks = (2 * blocks).min(MOST_BLOCKS);
    }
    Ok(head)
}

/// Inflates the whole stream, and passes the bytes to `sink` in chunks. Returns the number of
/// compressed bytes, or `None` if the stream cannot be read, is damaged, or inflates to more than
/// `most` bytes.
pub(super) fn all(
    bytes: Bytes<'_>,
    method: Compression,
    most: u64,
    sink: &mut dyn FnMut(&[u8]),
) -> Option<u64> {
    match method {
        Compression::Zlib => {
            let mut stream = flate2::read::ZlibDecoder::new(InflateSource::new(bytes));
            drain(&mut stream, most, sink)?;
            Some(stream.total_in())
        }
        Compression::Zstd => {
            let mut stream = StreamingDecoder::new(InflateSource::new(bytes)).ok()?;
            drain(&mut stream, most, sink)?;
            Some(stream.get_ref().taken)
        }
    }
}

fn drain(stream: &mut dyn Read, most: u64, sink: &mut dyn FnMut(&[u8])) -> Option<()> {
    let mut buffer = vec![0; CHUNK];
    let mut left = most;
    loop {
        let n = stream.read(&mut buffer).ok()?;
        if n == 0 {
            return Some(());
        }
        left = left.checked_sub(n as u64)?;
        sink(buffer.get(..n)?);
    }
}

fn read_up_to(stream: impl Read, want: usize) -> Option<Vec<u8>> {
    let mut out = Vec::new();
    let most = u64::try_from(want).ok()?;
    match stream.take(most).read_to_end(&mut out) {
        Ok(_) => Some(out),
        // The bytes before the damage may be enough.
        Err(_) => Some(out).filter(|out| !out.is_empty()),
    }
}

/// Makes a complete zstd frame from the first `blocks` blocks of the frame in `bytes`. Inside a
/// frame, the decoder holds back as many bytes as the window has, often 8 MiB. At the end of a
/// frame, it returns all bytes. The flag is true if the frame in `bytes` has no further blocks.
/// `None` if a header is damaged or a block is cut short.
fn first_blocks(bytes: Bytes<'_>, blocks: u32) -> Result<Option<(Vec<u8>, bool)>, ReadError> {
    let header = bytes.read(0, 18)?;
    let Some(length) = frame_header(&header) else { return Ok(None) };
    // The header of a frame with a single segment, four bytes of content size, and no checksum. The
    // window of such a frame has the content size. The size is filled in below, as if every block
    // had the largest size.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    let (mut at, mut last, mut room) = (length as u64, None, 0_u32);
    let mut is_whole = false;
    out.extend([0; 4]);
    while room < blocks * u32::try_from(BLOCK).unwrap_or(u32::MAX) {
        let raw = bytes.read(at, 3)?;
        let [a, b, c] = *raw else { return Ok(None) };
        let word = u32::from_le_bytes([a, b, c, 0]);
        let (kind, size) = (word >> 1 & 3, word >> 3);
        // A block of one repeated byte stores that byte once.
        let stored = if kind == 1 { 1 } else { size as usize };
        if kind == 3 || size as usize > BLOCK {
            return Ok(None);
        }
        last = Some(out.len());
        out.extend([a & !1, b, c]);
        let content = bytes.read(at + 3, stored)?;
        if content.len() != stored {
            return Ok(None);
        }
        out.extend(content);
        at += 3 + stored as u64;
        room += u32::try_from(BLOCK).unwrap_or(u32::MAX);
        is_whole = a & 1 == 1;
        if is_whole {
            break;
        }
    }
    let Some(last) = last else { return Ok(None) };
    out[last] |= 1;
    out[5..9].copy_from_slice(&room.to_le_bytes());
    Ok(Some((out, is_whole)))
}

/// The length in bytes of the zstd frame header at the start of `bytes`. `None` for other bytes,
/// and for a frame that needs a dictionary.
fn frame_header(bytes: &[u8]) -> Option<usize> {
    let descriptor = *bytes.strip_prefix(&[0x28, 0xb5, 0x2f, 0xfd])?.first()?;
    let is_single = descriptor >> 5 & 1 == 1;
    let size = match (descriptor >> 6, is_single) {
        (0, false) => 0,
        (0, true) => 1,
        (flag, _) => 1 << flag,
    };
    if descriptor & 3 != 0 {
        return None;
    }
    Some(4 + 1 + usize::from(!is_single) + size)
}

/// Reads [`Bytes`] in order, for the decoders.
struct InflateSource<'a> {
    bytes: Bytes<'a>,
    /// Offset of the next byte that is read from the file.
    next: u64,
    buffer: Vec<u8>,
    at: usize,
    /// Number of bytes that the decoder has read.
    taken: u64,
}

impl<'a> InflateSource<'a> {
    fn new(bytes: Bytes<'a>) -> Self {
        Self { bytes, next: 0, buffer: Vec::new(), at: 0, taken: 0 }
    }
}

impl Read for InflateSource<'_> {
    fn read(&mut self, out: &mut [u8]) -> io::Result<usize> {
        if self.at == self.buffer.len() {
            self.buffer = self.bytes.read(self.next, CHUNK).map_err(io::Error::other)?;
            self.next += self.buffer.len() as u64;
            self.at = 0;
        }
        let n = out.len().min(self.buffer.len() - self.at);
        out[..n].copy_from_slice(&self.buffer[self.at..self.at + n]);
        self.at += n;
        self.taken += n as u64;
        Ok(n)
    }
}

#[cfg(test)]
mod tests {
    use super::{Bytes, Compression, head};

    /// A zstd frame of raw blocks.
    fn frame(blocks: &[&[u8]]) -> Vec<u8> {
        // Eight bytes of content size, and a window of 1 MiB.
        let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xc0, 0x50];
        let size: usize = blocks.iter().map(|block| block.len()).sum();
        out.extend((size as u64).to_le_bytes());
        for (at, block) in blocks.iter().enumerate() {
            let is_last = at + 1 == blocks.len();
            let word = block.len() << 3 | usize::from(is_last);
            out.extend(&word.to_le_bytes()[..3]);
            out.extend(*block);
        }
        out
    }

    #[test]
    fn small_blocks_are_read_until_they_are_enough() {
        let text: Vec<u8> = (0..=u8::MAX).cycle().take(10_000).collect();
        let blocks: Vec<&[u8]> = text.chunks(700).collect();
        let whole = frame(&blocks);
        let first = |bytes: &[u8], want: usize| {
            head(Bytes::Memory(bytes), Compression::Zstd, want).expect("bytes in memory")
        };
        for want in [32, 700, 701, 4096, 10_000] {
            assert_eq!(first(&whole, want).as_deref(), Some(&text[..want]), "{want}");
        }
        assert_eq!(first(&whole, 16_384), Some(text.clone()));
        // The frame header has 14 bytes. The second block is cut short.
        assert_eq!(first(&whole[..14 + 703 + 100], 4096).as_deref(), Some(&text[..700]));
        assert_eq!(first(&whole[..14 + 100], 4096), None);
    }
}
