//! Finds the members of an archive that define given names, through the GNU index alone if there is
//! one. Also lists the names of all members, for the cross-check. `facts::answer`,
//! `audit::definitions` and `format::cross_check` are the callers.

use super::header::{self, FIRST, HEADER, LongNames, MemberHeader, SpecialMember};
use super::members::Members;
use super::ranges::grow;
use super::read::{External, Options, Scratch, members};
use crate::format::elf::{Header, Target};
use crate::format::{Defect, ReadError, Table, in_memory, read_range};
use crate::id::FastSet;
use crate::symbol_names::Growing;
use crate::tree::Handle;
use object::archive;

/// A member that defines a requested name.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DefiningMember {
    /// The requested name.
    pub symbol: Box<[u8]>,
    /// The member's name; empty if it cannot be read.
    pub member: Box<[u8]>,
    /// The target of the member, if it is a readable ELF file.
    pub target: Option<Target>,
}

/// Symbol names whose definitions are requested. The set can be searched by name or by GNU hash.
#[derive(Default)]
pub struct RequestedNames {
    hashes: FastSet<u32>,
    /// A bitmap with one bit for each value of bits 1 to 18 of a hash. It rejects most hashes of a
    /// large table before `hashes` is searched.
    seen: Vec<u64>,
    texts: FastSet<Box<[u8]>>,
}

/// Number of words in [`RequestedNames::seen`].
const SEEN: usize = 1 << 12;

/// The index of the word, and the bit in that word, that represent a hash in
/// [`RequestedNames::seen`].
fn seen(hash: u32) -> (usize, u64) {
    ((hash >> 7) as usize % SEEN, 1 << ((hash >> 1) % 64))
}

impl RequestedNames {
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

    /// True if the name is requested.
    pub fn contains(&self, name: &[u8]) -> bool {
        self.texts.contains(name)
    }

    /// True if a requested name has this GNU hash, apart from the lowest bit. That bit of `hash`
    /// must be 0, because GNU hash tables use it as an end mark.
    #[inline]
    pub fn may_contain(&self, hash: u32) -> bool {
        let (word, bit) = seen(hash);
        self.seen.get(word).is_some_and(|seen| seen & bit != 0) && self.hashes.contains(&hash)
    }

    /// The requested names, in arbitrary order.
    pub fn texts(&self) -> impl Iterator<Item = &[u8]> {
        self.texts.iter().map(|text| &**text)
    }

    /// True if no name is requested.
    pub fn is_empty(&self) -> bool {
        self.texts.is_empty()
    }
}

/// Selects names: true for a wanted name.
type IsWanted<'a> = &'a dyn Fn(&[u8]) -> bool;

/// Members of the archive in `file` that define one of `names`. They are in the order of the GNU
/// index, or of the members if there is no index. Empty if the first member header is damaged.
pub fn definitions(
    file: &Handle,
    names: &RequestedNames,
    defects: &mut Vec<Defect>,
) -> Result<Vec<DefiningMember>, ReadError> {
    let is_wanted: IsWanted<'_> = &|name| names.contains(name);
    let Some(first) = MemberHeader::read(file, FIRST)? else { return Ok(Vec::new()) };
    match first.special(b"") {
        Some(SpecialMember::GnuIndex(width)) => {
            let bytes = read_range(file, first.data, first.size)?;
            gnu_index(file, (&first, width, &bytes), is_wanted, None, defects)
        }
        _ => scan(file, is_wanted, defects),
    }
}

/// Like [`definitions`], for all names that `is_wanted` selects. `members` has the members of
/// this archive, from an earlier read. If the archive has a GNU index and is not thin, their
/// headers are not read again. The index is read into `memory`, which is reused. Defects are
/// ignored.
pub fn matching(
    file: &Handle,
    is_wanted: IsWanted<'_>,
    members: &Members,
    memory: &mut Vec<u8>,
) -> Result<Vec<DefiningMember>, ReadError> {
    let head = read_range(file, FIRST, HEADER)?;
    let Some(first) = MemberHeader::parse(&head, FIRST) else { return Ok(Vec::new()) };
    let defects = &mut Vec::new();
    match first.special(b"") {
        Some(SpecialMember::GnuIndex(width)) => {
            let present = first.size.min(file.stat().len.saturating_sub(first.data));
            let size = in_memory(present)?;
            grow(memory, size);
            let read = file.read_at(&mut memory[..size], first.data)?;
            let bytes = &memory[..read];
            // Thin archives are excluded: a member may lie in another archive, and `members` then
            // has its name from there.
            let members = Some(members).filter(|members| !members.thin);
            gnu_index(file, (&first, width, bytes), is_wanted, members, defects)
        }
        _ => scan(file, is_wanted, defects),
    }
}

/// Looks up names in the GNU index. The index has a count, that many member offsets (big-endian),
/// and as many names. The headers of members in `known` are not read again.
fn gnu_index(
    file: &Handle,
    (index, width, bytes): (&MemberHeader, usize, &[u8]),
    is_wanted: IsWanted<'_>,
    known: Option<&Members>,
    defects: &mut Vec<Defect>,
) -> Result<Vec<DefiningMember>, ReadError> {
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
    let mut long_names: Option<LongNames> = None;
    let mut out = Vec::new();
    let mut left = Some(texts);
    for i in 0..count {
        let Some(rest) = left else { break };
        let end = memchr::memchr(0, rest).unwrap_or(rest.len());
        let symbol = &rest[..end];
        left = rest.get(end + 1..);
        if !is_wanted(symbol) {
            continue;
        }
        let at = number((i + 1) * width).unwrap_or(0);
        let member = known.and_then(|known| Some((known, known.at(at)?)));
        if let Some((known, member)) = member {
            let (member, target) = (known.name(member).into(), member.target);
            out.push(DefiningMember { symbol: symbol.into(), member, target });
            continue;
        }
        let Some(found) = MemberHeader::read(file, at)? else {
            let what = "names a member that is not there";
            defects.push(Defect::new(Table::ArchiveIndex, index.data, what));
            continue;
        };
        let long_names = match &mut long_names {
            Some(table) => table,
            unread => unread.insert(header::long_names(file)?),
        };
        out.push(DefiningMember {
            symbol: symbol.into(),
            member: header::name(file, &found, long_names)?,
            target: Header::parse(&read_range(file, found.data, 64)?).map(|h| h.target()),
        });
    }
    Ok(out)
}

/// Reads the symbols of every member, for an archive without a GNU index. A thin archive gets a
/// defect instead, and its members are not read.
fn scan(
    file: &Handle,
    is_wanted: IsWanted<'_>,
    defects: &mut Vec<Defect>,
) -> Result<Vec<DefiningMember>, ReadError> {
    if read_range(file, 0, FIRST)? == archive::THIN_MAGIC {
        let what = "is missing; the members of a thin archive are not read for it";
        defects.push(Defect::new(Table::ArchiveIndex, FIRST, what));
        return Ok(Vec::new());
    }
    let texts = Growing::default();
    let options = Options { index: false, open: &|_| External::Missing, names: &texts };
    let found = members(file, &options, &mut Scratch::default())?;
    let texts = texts.close();
    defects.extend(found.damage.iter().map(|damage| damage.defect.clone()));
    let mut out = Vec::new();
    for member in &found.list {
        for symbol in found.symbols(member) {
            let text = texts.text(symbol.name);
            if symbol.kind.is_definition() && is_wanted(text) {
                out.push(DefiningMember {
                    symbol: text.into(),
                    member: found.name(member).into(),
                    target: member.target,
                });
            }
        }
    }
    Ok(out)
}

/// Names of all members, without the index and the table of long names. `None` if the archive is
/// thin, if a header is damaged, or if the stated size of a member, a BSD name or the index is
/// too large. Also `None` for an index that does not have GNU's form with 32-bit numbers.
pub fn names(file: &Handle) -> Result<Option<Vec<Box<[u8]>>>, ReadError> {
    if read_range(file, 0, FIRST)? == archive::THIN_MAGIC {
        return Ok(None);
    }
    let (mut out, mut long_names, mut at) = (Vec::new(), LongNames::default(), FIRST);
    while at < file.stat().len {
        let Some(found) = MemberHeader::read(file, at)? else { return Ok(None) };
        let end = found.data.checked_add(found.size).filter(|end| *end <= file.stat().len);
        if end.is_none() || found.bsd_name().is_some_and(|len| len > found.size) {
            return Ok(None);
        }
        let name = header::name(file, &found, &long_names)?;
        match found.special(&name) {
            Some(SpecialMember::GnuIndex(4)) => {
                let count = read_range(file, found.data, 4)?;
                let count = count.iter().fold(0, |n: u64, b| n << 8 | u64::from(*b));
                if count * 4 > found.size {
                    return Ok(None);
                }
            }
            Some(SpecialMember::LongNames) => long_names = LongNames::read(file, &found)?,
            // The cross-check does not cover other kinds of index.
            Some(SpecialMember::GnuIndex(_) | SpecialMember::BsdIndex(_)) => return Ok(None),
            None => out.push(name),
        }
        let Some(next) = found.next() else { break };
        at = next;
    }
    Ok(Some(out))
}
