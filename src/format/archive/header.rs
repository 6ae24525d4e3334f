//! Member headers of archives, with GNU's and BSD's forms of names, and the table of long names.
//! Other modules of `archive` read the content of members.

use crate::format::{ReadError, in_memory, read_range};
use crate::tree::Handle;
use object::archive;

/// Size of a member header, in bytes.
pub(super) const HEADER: u64 = 60;
/// Offset of the first member header.
pub(super) const FIRST: u64 = 8;

/// A member header.
#[derive(Clone, Copy, Debug)]
pub(super) struct MemberHeader {
    raw: [u8; 16],
    /// Offset of the header.
    pub(super) at: u64,
    /// Offset of the data, which may start with BSD's long name.
    pub(super) data: u64,
    /// Size of the data in bytes, as the header states it.
    pub(super) size: u64,
}

/// The kind of a special member. The name of the member alone determines the kind.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum SpecialMember {
    /// GNU's index with numbers of this many bytes, or the second linker member of a COFF library.
    GnuIndex(usize),
    /// BSD's index with numbers of this many bytes.
    BsdIndex(usize),
    /// GNU's table of long names.
    LongNames,
}

impl MemberHeader {
    /// Parses the member header at the start of `bytes`, which is at offset `at` of the archive.
    /// `None` if no header is there.
    pub(super) fn parse(bytes: &[u8], at: u64) -> Option<Self> {
        let (header, _) = object::pod::from_bytes::<archive::Header>(bytes).ok()?;
        let size = std::str::from_utf8(&header.size).ok()?.trim().parse().ok()?;
        (header.terminator == archive::TERMINATOR).then_some(Self {
            raw: header.name,
            at,
            data: at + HEADER,
            size,
        })
    }

    /// Reads the header at `at`; `None` if no header is there.
    pub(super) fn read(file: &Handle, at: u64) -> Result<Option<Self>, ReadError> {
        Ok(Self::parse(&read_range(file, at, HEADER)?, at))
    }

    /// The name field.
    pub(super) fn raw_name(&self) -> &[u8] {
        self.raw.trim_ascii_end()
    }

    /// Length in bytes of the name that precedes the data; `None` if the name is not in BSD's form.
    pub(super) fn bsd_name(&self) -> Option<u64> {
        number(self.raw_name().strip_prefix(b"#1/")?)
    }

    /// The offset of the name in the table of long names, from a name field `/OFFSET`. `None` for
    /// other names. In a thin archive, the field may be `/OFFSET:POSITION`: the member is then in
    /// another archive, and POSITION is the offset of its header there.
    pub(super) fn long_name(&self) -> Option<(u64, Option<u64>)> {
        let text = self.raw_name().strip_prefix(b"/")?;
        let mut parts = text.splitn(2, |b| *b == b':');
        let offset = number(parts.next()?)?;
        Some((offset, parts.next().and_then(number)))
    }

    /// The kind of a special member; `None` for an ordinary one. `name` is the full name.
    pub(super) fn special(&self, name: &[u8]) -> Option<SpecialMember> {
        Some(match self.raw_name() {
            b"/" => SpecialMember::GnuIndex(4),
            b"/SYM64/" => SpecialMember::GnuIndex(8),
            b"//" => SpecialMember::LongNames,
            _ => match name {
                b"__.SYMDEF" | b"__.SYMDEF SORTED" => SpecialMember::BsdIndex(4),
                b"__.SYMDEF_64" | b"__.SYMDEF_64 SORTED" => SpecialMember::BsdIndex(8),
                _ => return None,
            },
        })
    }

    /// Offset of the next header; members begin at even offsets. `None` if the offset exceeds 64
    /// bits.
    pub(super) fn next(&self) -> Option<u64> {
        self.data.checked_add(self.size)?.checked_add(self.size & 1)
    }
}

fn number(text: &[u8]) -> Option<u64> {
    std::str::from_utf8(text).ok()?.parse().ok()
}

/// The table of long names. A name field in GNU's form refers to a name by its offset there.
#[derive(Default)]
pub(super) struct LongNames {
    table: Vec<u8>,
}

impl LongNames {
    /// Reads the table, which is the data of the member `entry`.
    pub(super) fn read(file: &Handle, entry: &MemberHeader) -> Result<Self, ReadError> {
        Self::read_and(file, entry, 0, &mut Vec::new())
    }

    /// Like [`Self::read`], and adds the `beyond` bytes after the table to `next`.
    pub(super) fn read_and(
        file: &Handle,
        entry: &MemberHeader,
        beyond: u64,
        next: &mut Vec<u8>,
    ) -> Result<Self, ReadError> {
        let whole = (entry.size + (entry.size & 1)).saturating_add(beyond);
        let mut table = read_range(file, entry.data, whole)?;
        let size = in_memory(entry.size)?;
        next.extend_from_slice(table.get(size + (size & 1)..).unwrap_or_default());
        table.truncate(size);
        Ok(Self { table })
    }

    /// The name at `offset`, without the slash and the newline that end it. `None` if the table has
    /// no name there.
    pub(super) fn at(&self, offset: u64) -> Option<&[u8]> {
        let rest = self.table.get(usize::try_from(offset).ok()?..)?;
        let name = rest.split(|b| *b == b'\n' || *b == 0).next().unwrap_or_default();
        Some(name.strip_suffix(b"/").unwrap_or(name)).filter(|name| !name.is_empty())
    }

    /// The name of a member whose name is not in BSD's form. Empty if the table of long names
    /// lacks the name.
    pub(super) fn name<'a>(&'a self, entry: &'a MemberHeader) -> &'a [u8] {
        if let Some((offset, _)) = entry.long_name() {
            return self.at(offset).unwrap_or_default();
        }
        let name = entry.raw_name();
        name.strip_suffix(b"/").unwrap_or(name)
    }
}

/// The table of long names of the archive in `file`; empty if it has none. At most two indexes
/// precede it.
pub(super) fn long_names(file: &Handle) -> Result<LongNames, ReadError> {
    let mut at = FIRST;
    for _ in 0..3 {
        let Some(entry) = MemberHeader::read(file, at)? else { break };
        match entry.special(b"") {
            Some(SpecialMember::LongNames) => return LongNames::read(file, &entry),
            Some(_) => match entry.next() {
                Some(next) => at = next,
                None => break,
            },
            None => break,
        }
    }
    Ok(LongNames::default())
}

/// A member's name. A name in BSD's form is read from the file.
pub(super) fn name(
    file: &Handle,
    entry: &MemberHeader,
    long_names: &LongNames,
) -> Result<Box<[u8]>, ReadError> {
    match entry.bsd_name() {
        Some(len) => {
            let text = read_range(file, entry.data, len.min(entry.size))?;
            Ok(text.split(|b| *b == 0).next().unwrap_or_default().into())
        }
        None => Ok(long_names.name(entry).into()),
    }
}
