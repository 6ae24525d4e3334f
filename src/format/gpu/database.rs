//! Reads the header of SQLite databases, in which libraries such as MIOpen keep compiled kernels
//! (`fileformat2.html` of SQLite, section 1.3). A file is rejected under the conditions of
//! `lockBtree` in `btree.c`, or if its last page is cut short.

use crate::format::{ReadError, read_range};
use crate::tree::Handle;

/// Size of the header, in bytes.
const HEADER: usize = 100;
const MAGIC: &[u8; 16] = b"SQLite format 3\0";

/// The size of a database, from its header.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct DatabaseHeader {
    /// Size of a page in bytes; 0 for an empty file, which is an empty database.
    pub page_size: u32,
    /// Number of pages, as stated by the header. If SQLite ignores the stated number, this is the
    /// number that follows from the size of the file.
    pub pages: u64,
}

/// Reads the header of a database. The inner error is the reason why the file is rejected, as the
/// end of a sentence.
pub fn read(file: &Handle) -> Result<Result<DatabaseHeader, &'static str>, ReadError> {
    let head = read_range(file, 0, HEADER as u64)?;
    Ok(parse(&head, file.stat().len))
}

/// Like [`read`], for a file of `len` bytes whose first bytes are `head`.
pub fn parse(head: &[u8], len: u64) -> Result<DatabaseHeader, &'static str> {
    // An empty file is an empty database. On some systems, SQLite writes one byte to it
    // (`unixFileSize` in `os_unix.c`).
    if len <= 1 {
        return Ok(DatabaseHeader::default());
    }
    if !head.starts_with(MAGIC) {
        return Err("is not an SQLite database");
    }
    let Some(head) = head.first_chunk::<HEADER>() else {
        return Err("ends inside its header");
    };
    let page_size = match u32::from(u16::from_be_bytes([head[16], head[17]])) {
        1 => 65_536,
        size => size,
    };
    // The payload fractions must be 64, 32 and 32. A page must have 480 bytes besides its reserved
    // bytes.
    let is_valid = page_size.is_power_of_two()
        && page_size >= 512
        && head[21..24] == [64, 32, 32]
        && head[19] <= 2
        && page_size - u32::from(head[20]) >= 480;
    if !is_valid {
        return Err("has an invalid header");
    }
    let stated = u32::from_be_bytes([head[28], head[29], head[30], head[31]]);
    // SQLite ignores the number of pages if the last writer did not know this field.
    let counts = stated != 0 && head[24..28] == head[92..96];
    let pages = if counts { u64::from(stated) } else { len.div_ceil(u64::from(page_size)) };
    // SQLite accepts a file that ends inside its last page, and reads zeros for the missing bytes.
    // But no writer leaves such a file.
    if counts && len < pages * u64::from(page_size) {
        return Err("has fewer bytes than the pages in its header");
    }
    Ok(DatabaseHeader { page_size, pages })
}
