//! Streams of compressed bundles: zlib (RFC 1950) and zstd (RFC 8878). Inflation stops beyond the
//! size that the bundle states, so that a small file cannot inflate without end.

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

/// Upper bound for the bytes to which `len` compressed bytes inflate. In zlib, two bits stand for a
/// copy of at most 258 bytes. In zstd, a block has at least four bytes and inflates to at most 128
/// KiB.
pub(super) fn most(method: Compression, len: u64) -> u64 {
    match method {
        Compression::Zlib => len.saturating_mul(1032),
        Compression::Zstd => (len / 4).saturating_mul(BLOCK as u64),
    }
}

/// The first `want` inflated bytes, or fewer if the stream is shorter or damaged. A zstd stream
/// with small blocks may also give fewer. `None` if damage leaves no inflated byte, or if a header
/// of the zstd frame is damaged or one of its first blocks is cut short.
pub(super) fn head(
    bytes: Bytes<'_>,
    method: Compression,
    want: usize,
) -> Result<Option<Vec<u8>>, ReadError> {
    let stream = match method {
        Compression::Zlib => read_up_to(flate2::read::ZlibDecoder::new(Source::new(bytes)), want),
        Compression::Zstd => match first_blocks(bytes, want)? {
            Some(frame) => StreamingDecoder::new(&*frame).ok().and_then(|s| read_up_to(s, want)),
            None => None,
        },
    };
    Ok(stream)
}

/// Inflates everything into `sink`. Returns the number of compressed bytes, or `None` if the stream
/// cannot be read, is damaged, or inflates to more than `most` bytes.
pub(super) fn all(
    bytes: Bytes<'_>,
    method: Compression,
    most: u64,
    sink: &mut dyn FnMut(&[u8]),
) -> Option<u64> {
    match method {
        Compression::Zlib => {
            let mut stream = flate2::read::ZlibDecoder::new(Source::new(bytes));
            drain(&mut stream, most, sink)?;
            Some(stream.total_in())
        }
        Compression::Zstd => {
            let mut stream = StreamingDecoder::new(Source::new(bytes)).ok()?;
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

/// A complete zstd frame with the first blocks of the frame in `bytes`: enough for `want` inflated
/// bytes if blocks have their largest size, and at most [`MOST_BLOCKS`]. The decoder holds back as
/// many bytes as the window has, often 8 MiB, but none at the end of a frame. `None` if a header is
/// damaged or a block is cut short.
fn first_blocks(bytes: Bytes<'_>, want: usize) -> Result<Option<Vec<u8>>, ReadError> {
    let header = bytes.read(0, 18)?;
    let Some(length) = frame_header(&header) else { return Ok(None) };
    let blocks = u32::try_from(want.div_ceil(BLOCK)).map_or(MOST_BLOCKS, |n| n.min(MOST_BLOCKS));
    // Single segment, four bytes of content size, no checksum: the window has the size of the
    // content.
    let mut out = vec![0x28, 0xb5, 0x2f, 0xfd, 0xa0];
    let (mut at, mut last, mut room) = (length as u64, None, 0_u32);
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
        if a & 1 == 1 {
            break;
        }
    }
    let Some(last) = last else { return Ok(None) };
    out[last] |= 1;
    out[5..9].copy_from_slice(&room.to_le_bytes());
    Ok(Some(out))
}

/// The length of a zstd frame header; `None` if the bytes are not one, or if it names a dictionary.
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
struct Source<'a> {
    bytes: Bytes<'a>,
    /// Offset of the next byte that is read from the file.
    next: u64,
    buffer: Vec<u8>,
    at: usize,
    /// Number of bytes that the decoder has taken.
    taken: u64,
}

impl<'a> Source<'a> {
    fn new(bytes: Bytes<'a>) -> Self {
        Self { bytes, next: 0, buffer: Vec::new(), at: 0, taken: 0 }
    }
}

impl Read for Source<'_> {
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
