//! The dynamic string table of an object. Usually this table is in one buffer with the other
//! tables. A large string table stays in the file, and lookups read only the pages that they need.
//! These pages contain the names of the object's undefined symbols, and the names by which other
//! objects refer to its definitions.
//!
//! The file of a large string table stays open.

use super::pieces::Piece;
use crate::format::{Defect, Table, c_string};
use crate::tree::{Handle, KeptOpen};
use memchr::memchr;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// Size in bytes from which a string table stays in the file. In a smaller table, lookups request
/// names from almost every page.
const LARGE: u64 = 1 << 20;
/// Size of a page of the table, in bytes.
const PAGE: usize = 4 << 10;
/// Bytes to read beyond a page, tried in turn until the last name of the page ends. If the last
/// name ends beyond the largest margin, the whole table is read.
const MARGINS: [usize; 3] = [256, 4 << 10, 64 << 10];

/// Where the string table is: in the buffer, or in the file, from which it is read on demand.
#[derive(Clone, Debug)]
pub(super) enum StringsLocation {
    /// The range of the strings in the buffer with the other tables.
    Inside(Range<usize>),
    /// A table that stays in the file.
    Apart(Arc<LateStrings>),
}

/// A string table that stays in its file.
#[derive(Debug)]
pub(super) struct LateStrings {
    file: KeptOpen,
    offset: u64,
    len: usize,
    /// The pages that were read, each up to the end of the last string that starts on it. The bytes
    /// of a page are empty if the end of its last string is too far away, or if the page could not
    /// be read.
    pages: Box<[OnceLock<Box<[u8]>>]>,
    whole: OnceLock<Vec<u8>>,
    /// Set if reading a page failed, or if the file had changed by then.
    defect: OnceLock<Defect>,
}

/// The string table of an object: its bytes in a buffer, or the file that is read on demand.
#[derive(Clone, Copy)]
pub(super) enum StringSource<'t> {
    Inside(&'t [u8]),
    Apart(&'t LateStrings),
}

impl StringsLocation {
    /// The string table at this location. `bytes` is the buffer with the tables.
    #[inline]
    pub(super) fn source<'t>(&'t self, bytes: &'t [u8]) -> StringSource<'t> {
        match self {
            Self::Inside(range) => StringSource::Inside(&bytes[range.clone()]),
            Self::Apart(apart) => StringSource::Apart(apart),
        }
    }

    /// The file offset of a table that stays in the file. `None` for a table in the buffer.
    pub(super) fn offset(&self) -> Option<u64> {
        match self {
            Self::Inside(_) => None,
            Self::Apart(apart) => Some(apart.offset),
        }
    }

    /// Reads all of a table that stays in the file, for a caller that needs most of its strings.
    /// One large read costs less than one read for each page.
    pub(super) fn read_whole(&self) {
        if let Self::Apart(apart) = self {
            apart.whole();
        }
    }

    /// The defect found while a page was read, if there is one.
    pub(super) fn defect(&self) -> Option<&Defect> {
        match self {
            Self::Inside(_) => None,
            Self::Apart(apart) => apart.defect.get(),
        }
    }
}

impl<'t> StringSource<'t> {
    /// The size of the table in bytes.
    pub(super) fn len(self) -> usize {
        match self {
            Self::Inside(strings) => strings.len(),
            Self::Apart(apart) => apart.len,
        }
    }

    /// The string at `offset`, without its NUL; `None` if the string has no NUL, or if `offset` is
    /// outside of the table.
    pub(super) fn at(self, offset: usize) -> Option<&'t [u8]> {
        match self {
            Self::Inside(strings) => c_string(strings, offset),
            Self::Apart(apart) => c_string(apart.from(offset)?, 0),
        }
    }

    /// True if the string at `offset` is `name`, which must not contain a NUL.
    #[inline]
    pub(super) fn is(self, offset: usize, name: &[u8]) -> bool {
        let from = match self {
            Self::Inside(strings) => strings.get(offset..),
            Self::Apart(apart) => apart.from(offset),
        };
        from.is_some_and(|rest| {
            rest.len() > name.len() && rest.starts_with(name) && rest[name.len()] == 0
        })
    }
}

impl LateStrings {
    /// Takes the string table out of `pieces` if it is large and `file` can be kept open. `None` if
    /// the string table stays in `pieces`.
    pub(super) fn take(
        pieces: &mut Vec<Piece>,
        file: &Handle,
        defects: &mut Vec<Defect>,
    ) -> Option<Self> {
        let at = pieces.iter().position(|piece| piece.table == Table::Strings)?;
        let Piece { offset, len: stated, .. } = pieces[at];
        let present = stated.min(file.stat().len.saturating_sub(offset));
        // A table whose size exceeds memory stays in `pieces`, and `read_pieces` reports the error.
        let len = usize::try_from(present).ok().filter(|_| present >= LARGE)?;
        let file = file.hold()?;
        pieces.remove(at);
        if present < stated {
            let end = offset.saturating_add(stated);
            let what = "ends beyond the end of the file";
            defects.push(Defect::cut(Table::Strings, offset, end, what));
        }
        let pages = (0..len.div_ceil(PAGE)).map(|_| OnceLock::new()).collect();
        Some(Self { file, offset, len, pages, whole: OnceLock::new(), defect: OnceLock::new() })
    }

    /// The table from `offset` on, at least up to the end of the string there.
    fn from(&self, offset: usize) -> Option<&[u8]> {
        if let Some(whole) = self.whole.get().filter(|whole| !whole.is_empty()) {
            return whole.get(offset..);
        }
        let number = offset / PAGE;
        let page = self.pages.get(number)?.get_or_init(|| self.page(number));
        if page.is_empty() {
            return self.whole().get(offset..);
        }
        page.get(offset % PAGE..)
    }

    /// The whole table; empty if it could not be read.
    fn whole(&self) -> &[u8] {
        self.whole.get_or_init(|| self.read(0, self.len).unwrap_or_default())
    }

    fn page(&self, number: usize) -> Box<[u8]> {
        let start = number * PAGE;
        for margin in MARGINS {
            let Some(mut bytes) = self.read(start, PAGE + margin) else { break };
            let last = bytes.get(PAGE - 1..).and_then(|rest| memchr(0, rest));
            if let Some(nul) = last {
                bytes.truncate(PAGE + nul);
            } else if start + bytes.len() < self.len {
                continue;
            }
            return bytes.into();
        }
        Box::default()
    }

    /// Reads `len` bytes of the table, or fewer at the end of the table. `None` if the bytes cannot
    /// be read. If the file was modified after it was opened, the new bytes are used, and a defect
    /// records the change. Usually the new bytes equal the old ones.
    fn read(&self, start: usize, len: usize) -> Option<Vec<u8>> {
        let len = len.min(self.len - start);
        let read = self.file.read_new(len, self.offset + start as u64);
        let read = read.ok().filter(|bytes| bytes.len() == len);
        if read.is_none() || self.file.rewritten() {
            let what = "changed while it was read";
            let _ = self.defect.set(Defect::new(Table::File, 0, what));
        }
        read
    }
}

#[cfg(test)]
mod tests {
    use super::{LARGE, LateStrings, MARGINS, PAGE, StringSource};
    use crate::format::Table;
    use crate::format::elf::pieces::Piece;
    use crate::tree::{MemTree, Opened, Tree as _};
    use std::path::Path;

    /// A table that starts at byte 3 of its file, with names of all lengths, some across pages.
    fn table() -> Vec<u8> {
        let mut bytes = vec![0];
        let lengths =
            (0..).map(|n: usize| if n.is_multiple_of(97) { PAGE + n } else { n * 31 % 300 });
        for (n, len) in lengths.enumerate() {
            bytes.extend((0..len).map(|at| b'a' + u8::try_from((at * n) % 26).unwrap_or(0)));
            bytes.push(0);
            if bytes.len() > usize::try_from(LARGE).unwrap_or(0) {
                return bytes;
            }
        }
        bytes
    }

    fn apart(table: &[u8], len: u64) -> LateStrings {
        let mut tree = MemTree::new();
        tree.file("/f", [b"###", table].concat());
        let Ok(Opened::File(file)) = tree.open(Path::new("/f")) else { panic!("no file") };
        let piece = Piece { table: Table::Strings, offset: 3, len, at: 0..0 };
        let (mut pieces, mut defects) = (vec![piece], Vec::new());
        let apart = LateStrings::take(&mut pieces, &file, &mut defects).expect("a large table");
        assert!(pieces.is_empty());
        assert_eq!(defects.is_empty(), len == table.len() as u64);
        apart
    }

    fn agree(table: &[u8], apart: &LateStrings) {
        let (whole, apart) = (StringSource::Inside(table), StringSource::Apart(apart));
        assert_eq!(whole.len(), apart.len());
        for at in
            (0..table.len() + 2).filter(|at| at % 5 == 0 || at % PAGE < 2 || at % PAGE > PAGE - 3)
        {
            let name = whole.at(at);
            assert!(name == apart.at(at), "{at}");
            for name in [name.unwrap_or(b"none"), b"", b"a"] {
                assert_eq!(whole.is(at, name), apart.is(at, name), "{at}");
            }
        }
    }

    #[test]
    fn pages_hold_what_the_whole_table_holds() {
        let table = table();
        agree(&table, &apart(&table, table.len() as u64));
    }

    #[test]
    fn a_table_beyond_the_end_of_its_file() {
        let table = table();
        agree(&table, &apart(&table, 1 << 40));
    }

    #[test]
    fn a_name_without_end_and_one_that_is_too_long_for_pages() {
        let mut table = table();
        table.extend(vec![b'x'; 2 * MARGINS[2]]);
        table.extend(b"\0short\0last");
        agree(&table, &apart(&table, table.len() as u64));
        table.truncate(table.len() - 20);
        agree(&table, &apart(&table, table.len() as u64));
    }
}
