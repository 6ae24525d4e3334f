//! Static archives (`ar`): recognised when they are met, and asked for the members that define
//! given names when a reference found no definition. Members are read for their symbols only where
//! the archive has no index. Coverage of members is not answered here.

use super::elf::{Header, Target};
use super::{Defect, ReadError, Table, read_range};
use crate::id::FastSet;
use crate::tree::Handle;
use object::archive;
use object::read::elf::{FileHeader, Sym};
use object::{Endianness, elf};

/// Size of a member header, in bytes.
const HEADER: u64 = 60;
/// Members larger than this are not read for their symbols; no compiler writes such objects.
const MOST_MEMBER: u64 = 1 << 30;

/// What is known of an archive before anybody asks for a name.
#[derive(Debug, Default)]
pub struct Archive {
    /// What is wrong with it.
    pub defects: Vec<Defect>,
}

/// A member that defines a name somebody asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Definition {
    /// The symbol.
    pub symbol: Box<[u8]>,
    /// The member's name; empty where it cannot be read.
    pub member: Box<[u8]>,
    /// The objects it can be linked with, where the member is at hand and an ELF file.
    pub target: Option<Target>,
}

/// The names somebody asks for.
#[derive(Default)]
pub struct Names {
    hashes: FastSet<u32>,
    /// A bit for each value of the hashes' middle bits: a table of a hundred thousand words is mostly
    /// passed over by this alone.
    seen: Vec<u64>,
    texts: FastSet<Box<[u8]>>,
}

/// Words of [`Names::seen`].
const SEEN: usize = 1 << 12;

/// Word and bit of a hash in [`Names::seen`].
fn seen(hash: u32) -> (usize, u64) {
    ((hash >> 7) as usize % SEEN, 1 << ((hash >> 1) % 64))
}

impl Names {
    /// Adds a name, whose GNU hash is `hash`.
    pub fn insert(&mut self, name: &[u8], hash: u32) {
        if !self.texts.contains(name) {
            let (word, bit) = seen(hash);
            self.seen.resize(SEEN, 0);
            self.seen[word] |= bit;
            self.hashes.insert(hash & !1);
            self.texts.insert(name.into());
        }
    }

    /// True if the name is among those asked for.
    pub fn contains(&self, name: &[u8]) -> bool {
        self.texts.contains(name)
    }

    /// True if a name with this GNU hash (without its lowest bit) may be among them.
    pub fn may_contain(&self, hash: u32) -> bool {
        let (word, bit) = seen(hash);
        self.seen.get(word).is_some_and(|seen| seen & bit != 0) && self.hashes.contains(&hash)
    }

    /// True if nothing is asked for.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// Looks at the first member header, so that a damaged archive is known when it is met.
pub fn read(file: &Handle) -> Result<Archive, ReadError> {
    let mut out = Archive::default();
    if file.stat().len > 8 && member(file, 8)?.is_none() {
        out.defects.push(Defect::new(Table::MemberHeader, 8, "is not a member header"));
    }
    Ok(out)
}

struct Member {
    name: [u8; 16],
    data: u64,
    size: u64,
}

impl Member {
    fn name(&self) -> &[u8] {
        self.name.trim_ascii_end()
    }
}

fn member(file: &Handle, at: u64) -> Result<Option<Member>, ReadError> {
    let bytes = read_range(file, at, HEADER)?;
    let Ok((header, _)) = object::pod::from_bytes::<archive::Header>(&bytes) else {
        return Ok(None);
    };
    let size = std::str::from_utf8(&header.size).ok().and_then(|text| text.trim().parse().ok());
    Ok(match size {
        Some(size) if header.terminator == archive::TERMINATOR => {
            Some(Member { name: header.name, data: at + HEADER, size })
        }
        _ => None,
    })
}

/// Members of the archive in `file` that define one of `names`, in the order of its index.
pub fn definitions(
    file: &Handle,
    names: &Names,
    defects: &mut Vec<Defect>,
) -> Result<Vec<Definition>, ReadError> {
    let Some(first) = member(file, 8)? else { return Ok(Vec::new()) };
    match first.name() {
        b"/" => gnu_index(file, &first, 4, names, defects),
        b"/SYM64/" => gnu_index(file, &first, 8, names, defects),
        _ => scan(file, names, defects),
    }
}

/// The GNU index: a count, that many member offsets (big-endian), then as many names.
fn gnu_index(
    file: &Handle,
    index: &Member,
    width: usize,
    names: &Names,
    defects: &mut Vec<Defect>,
) -> Result<Vec<Definition>, ReadError> {
    let bytes = read_range(file, index.data, index.size)?;
    let number = |at: usize| -> Option<u64> {
        let raw = bytes.get(at..at.checked_add(width)?)?;
        Some(raw.iter().fold(0, |n, b| n << 8 | u64::from(*b)))
    };
    let count = number(0).and_then(|n| usize::try_from(n).ok()).unwrap_or(0);
    let texts =
        count.checked_add(1).and_then(|n| n.checked_mul(width)).and_then(|at| bytes.get(at..));
    let cut = (bytes.len() as u64) < index.size;
    let Some(texts) = texts.filter(|_| !cut) else {
        let what = "ends before the number of symbols it claims";
        defects.push(Defect::new(Table::ArchiveIndex, index.data, what));
        return Ok(Vec::new());
    };
    let mut long_names = LongNames::default();
    let mut out = Vec::new();
    for (i, symbol) in texts.split(|b| *b == 0).take(count).enumerate() {
        if !names.contains(symbol) {
            continue;
        }
        let at = number((i + 1) * width).unwrap_or(0);
        let Some(found) = member(file, at)? else {
            let what = "names a member that is not there";
            defects.push(Defect::new(Table::ArchiveIndex, index.data, what));
            continue;
        };
        out.push(Definition {
            symbol: symbol.into(),
            member: long_names.name(file, &found, index.data + index.size + (index.size & 1))?,
            target: Header::parse(&read_range(file, found.data, 64)?).map(|h| h.target()),
        });
    }
    Ok(out)
}

/// The table of long names, read when the first is met.
#[derive(Default)]
struct LongNames {
    table: Option<Vec<u8>>,
}

impl LongNames {
    /// A member's name: `name/` in its header, `/OFFSET` into the table that lies at `table`, or
    /// BSD's `#1/LENGTH` for a name before the data.
    fn name(&mut self, file: &Handle, found: &Member, table: u64) -> Result<Box<[u8]>, ReadError> {
        let name = found.name();
        if let Some(len) = bsd_name(name) {
            let text = read_range(file, found.data, len)?;
            return Ok(text.split(|b| *b == 0).next().unwrap_or_default().into());
        }
        let Some(offset) = name.strip_prefix(b"/") else {
            return Ok(name.strip_suffix(b"/").unwrap_or(name).into());
        };
        if self.table.is_none() {
            self.table = Some(match member(file, table)? {
                Some(table) if table.name() == b"//" => read_range(file, table.data, table.size)?,
                _ => Vec::new(),
            });
        }
        let table = self.table.as_deref().unwrap_or_default();
        // A member of a nested thin archive is `/OFFSET:POSITION`.
        let offset = offset.split(|b| *b == b':').next().unwrap_or_default();
        let offset = std::str::from_utf8(offset).ok().and_then(|text| text.parse::<usize>().ok());
        let rest = offset.and_then(|offset| table.get(offset..)).unwrap_or_default();
        let name = rest.split(|b| *b == b'\n').next().unwrap_or_default();
        Ok(name.strip_suffix(b"/").unwrap_or(name).into())
    }
}

/// The length of a name that stands before the member's data.
fn bsd_name(name: &[u8]) -> Option<u64> {
    std::str::from_utf8(name.strip_prefix(b"#1/")?).ok()?.parse().ok()
}

/// Names of all members but the index and the table of long names; nothing for a thin archive and
/// where a header or the index claims more than the file holds.
pub fn members(file: &Handle) -> Result<Option<Vec<Box<[u8]>>>, ReadError> {
    if read_range(file, 0, 8)? == archive::THIN_MAGIC {
        return Ok(None);
    }
    let (mut out, mut long_names, mut table, mut at) = (Vec::new(), LongNames::default(), 0, 8);
    while at < file.stat().len {
        let Some(found) = member(file, at)? else { return Ok(None) };
        let end = found.data.checked_add(found.size).filter(|end| *end <= file.stat().len);
        let Some(end) = end else { return Ok(None) };
        match found.name() {
            b"/" => {
                let count = read_range(file, found.data, 4)?;
                let count = count.iter().fold(0, |n: u64, b| n << 8 | u64::from(*b));
                if count * 4 > found.size {
                    return Ok(None);
                }
            }
            b"//" => table = at,
            // Other kinds of index are not what the second reader is asked about.
            name if name.starts_with(b"/SYM64/") || name.starts_with(b"__.SYMDEF") => {
                return Ok(None);
            }
            name => {
                if bsd_name(name).is_some_and(|len| len > found.size) {
                    return Ok(None);
                }
                out.push(long_names.name(file, &found, table)?);
            }
        }
        at = end + (found.size & 1);
    }
    Ok(Some(out))
}

/// An archive without a GNU index: every ELF member's own symbol table.
fn scan(
    file: &Handle,
    names: &Names,
    defects: &mut Vec<Defect>,
) -> Result<Vec<Definition>, ReadError> {
    if read_range(file, 0, 8)? == archive::THIN_MAGIC {
        let what = "is missing; the members of a thin archive are not read for it";
        defects.push(Defect::new(Table::ArchiveIndex, 8, what));
        return Ok(Vec::new());
    }
    let mut out = Vec::new();
    let mut long_names = LongNames::default();
    let mut table = 0;
    let mut at = 8;
    while at < file.stat().len {
        let Some(found) = member(file, at)? else {
            defects.push(Defect::new(Table::MemberHeader, at, "is not a member header"));
            break;
        };
        if found.name() == b"//" {
            table = at;
        }
        let bytes = read_range(file, found.data, found.size.min(MOST_MEMBER))?;
        let before = bsd_name(found.name()).and_then(|len| usize::try_from(len).ok()).unwrap_or(0);
        let bytes = bytes.get(before..).unwrap_or_default();
        for symbol in defined(bytes).into_iter().filter(|symbol| names.contains(symbol)) {
            out.push(Definition {
                symbol: symbol.into(),
                member: long_names.name(file, &found, table)?,
                target: Header::parse(bytes).map(|header| header.target()),
            });
        }
        let next = found.size.checked_add(found.size & 1).and_then(|n| found.data.checked_add(n));
        let Some(next) = next else { break };
        at = next;
    }
    Ok(out)
}

/// Names of global definitions in a relocatable ELF object.
fn defined(bytes: &[u8]) -> Vec<&[u8]> {
    match bytes.get(4) {
        Some(class) if *class == elf::ELFCLASS64.0 => {
            defined_as::<elf::FileHeader64<Endianness>>(bytes)
        }
        Some(_) => defined_as::<elf::FileHeader32<Endianness>>(bytes),
        None => Vec::new(),
    }
}

fn defined_as<H: FileHeader<Endian = Endianness>>(bytes: &[u8]) -> Vec<&[u8]> {
    let read = || -> object::read::Result<Vec<&[u8]>> {
        let header = H::parse(bytes)?;
        let e = header.endian()?;
        let sections = header.sections(e, bytes)?;
        let symbols = sections.symbols(e, bytes, elf::SHT_SYMTAB)?;
        let strings = symbols.strings();
        Ok(symbols
            .iter()
            .filter(|s| s.st_bind() != elf::STB_LOCAL && s.st_shndx(e) != elf::SHN_UNDEF)
            .filter_map(|s| s.name(e, strings).ok())
            .collect())
    };
    read().unwrap_or_default()
}
