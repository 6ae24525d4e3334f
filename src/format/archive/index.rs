//! The symbol index of an archive (armap). It lists names. For each name, the program that wrote
//! the index recorded the member that defines it. The index has GNU's or BSD's form, with numbers
//! of 32 or 64 bits. `read` is the main caller.

use super::header::{FIRST, MemberHeader, SpecialMember};
use crate::format::{Defect, ReadError, Table, c_string, read_range};
use crate::tree::Handle;
use std::sync::OnceLock;

/// The symbol index of one archive.
#[derive(Debug, Default)]
pub struct ArchiveSymbolIndex {
    entries: Vec<Slot>,
    bytes: Vec<u8>,
    /// True for an index of BSD's form, which GNU ld does not read in archives of ELF files.
    pub is_bsd: bool,
    /// Indices into `entries`, sorted by member, then by name. Computed on first use.
    sorted: OnceLock<Vec<u32>>,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    start: u32,
    member: u64,
}

impl ArchiveSymbolIndex {
    /// The names in the order of the index, each with the header offset of the member that defines
    /// it.
    pub fn entries(&self) -> impl Iterator<Item = (&[u8], u64)> {
        self.entries.iter().map(|slot| {
            let rest = self.bytes.get(slot.start as usize..).unwrap_or_default();
            (rest.split(|b| *b == 0).next().unwrap_or_default(), slot.member)
        })
    }

    /// True if the index says that the member at `offset` defines `name`. An entry with a default
    /// version (`NAME@@VERSION`) also defines `NAME`.
    pub fn has(&self, name: &[u8], offset: u64) -> bool {
        let sorted = self.sorted.get_or_init(|| {
            let mut all: Vec<u32> = (0..).take(self.entries.len()).collect();
            all.sort_unstable_by(|a, b| self.key(*a).cmp(&self.key(*b)));
            all
        });
        let from = |name: &[u8]| {
            let first = sorted.partition_point(|at| self.key(*at) < (offset, name));
            sorted.get(first).map(|at| self.key(*at)).filter(|(member, _)| *member == offset)
        };
        let versioned = || [name, b"@@"].concat();
        from(name).is_some_and(|(_, found)| found == name)
            || from(&versioned()).is_some_and(|(_, found)| found.starts_with(&versioned()))
    }

    fn key(&self, at: u32) -> (u64, &[u8]) {
        let Some(slot) = self.entries.get(at as usize) else { return (u64::MAX, b"") };
        (slot.member, c_string(&self.bytes, slot.start as usize).unwrap_or_default())
    }

    /// Number of entries.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// True if the index has no entries, or if it was damaged.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Reads the index in the member `entry`. A damaged index is empty, and a defect is reported.
    pub(super) fn read(
        file: &Handle,
        entry: &MemberHeader,
        kind: SpecialMember,
        defects: &mut Vec<Defect>,
    ) -> Result<Self, ReadError> {
        let before = entry.bsd_name().unwrap_or(0);
        let (data, size) = (entry.data.saturating_add(before), entry.size.saturating_sub(before));
        let bytes = read_range(file, data, size)?;
        let read = match kind {
            _ if (bytes.len() as u64) < size => None,
            SpecialMember::GnuIndex(width) => gnu(&bytes, width),
            SpecialMember::BsdIndex(width) => bsd(&bytes, width),
            SpecialMember::LongNames => None,
        };
        if let Some(entries) = read {
            let is_bsd = matches!(kind, SpecialMember::BsdIndex(_));
            return Ok(Self { entries, bytes, is_bsd, sorted: OnceLock::new() });
        }
        let what = "ends before the number of symbols it claims";
        defects.push(Defect::new(Table::ArchiveIndex, data, what));
        Ok(Self::default())
    }
}

/// The index of the archive in `file`, if it is of GNU's form; `None` if the archive has no such
/// index or a damaged one.
pub fn gnu_index(file: &Handle) -> Result<Option<ArchiveSymbolIndex>, ReadError> {
    let Some(first) = MemberHeader::read(file, FIRST)? else { return Ok(None) };
    let Some(kind @ SpecialMember::GnuIndex(_)) = first.special(b"") else { return Ok(None) };
    let mut defects = Vec::new();
    let index = ArchiveSymbolIndex::read(file, &first, kind, &mut defects)?;
    Ok(defects.is_empty().then_some(index))
}

fn number(bytes: &[u8], at: usize, width: usize, big: bool) -> Option<u64> {
    let raw = bytes.get(at..at.checked_add(width)?)?;
    let join = |n: u64, b: &u8| n << 8 | u64::from(*b);
    Some(if big { raw.iter().fold(0, join) } else { raw.iter().rev().fold(0, join) })
}

/// GNU's form: a count, that many header offsets (big-endian), then as many names.
fn gnu(bytes: &[u8], width: usize) -> Option<Vec<Slot>> {
    let count = usize::try_from(number(bytes, 0, width, true)?).ok()?;
    let mut start = count.checked_add(1)?.checked_mul(width)?;
    bytes.get(start..)?;
    let mut entries = Vec::with_capacity(count);
    for i in 0..count {
        let member = number(bytes, (i + 1) * width, width, true)?;
        // With fewer names than offsets, the index is not valid.
        let len = c_string(bytes, start)?.len();
        entries.push(Slot { start: u32::try_from(start).ok()?, member });
        start += len + 1;
    }
    Some(entries)
}

/// BSD's form, in order: the size of a list of pairs (name offset, header offset), the pairs, the
/// size of the names, the names. The byte order is the target's. No field states it, so
/// little-endian is tried first, and big-endian if the sizes do not fit.
fn bsd(bytes: &[u8], width: usize) -> Option<Vec<Slot>> {
    let ordered = |big: bool| -> Option<Vec<Slot>> {
        let size = usize::try_from(number(bytes, 0, width, big)?).ok()?;
        let pairs_end = width.checked_add(size)?;
        let text_size = usize::try_from(number(bytes, pairs_end, width, big)?).ok()?;
        let text = pairs_end.checked_add(width)?;
        let text_end = text.checked_add(text_size)?;
        bytes.get(text..text_end)?;
        let mut entries = Vec::with_capacity(size / (2 * width));
        for at in (width..pairs_end.saturating_sub(2 * width - 1)).step_by(2 * width) {
            let start = usize::try_from(number(bytes, at, width, big)?).ok()?.checked_add(text)?;
            let member = number(bytes, at + width, width, big)?;
            if start >= text_end {
                return None;
            }
            entries.push(Slot { start: u32::try_from(start).ok()?, member });
        }
        Some(entries)
    };
    ordered(false).or_else(|| ordered(true))
}

#[cfg(test)]
mod tests {
    use super::{ArchiveSymbolIndex, Slot, bsd, gnu};

    fn entries(bytes: &[u8], read: fn(&[u8], usize) -> Option<Vec<Slot>>) -> Vec<(Vec<u8>, u64)> {
        let index = ArchiveSymbolIndex {
            entries: read(bytes, 4).expect("an index"),
            bytes: bytes.to_vec(),
            ..ArchiveSymbolIndex::default()
        };
        let has =
            |(name, member): (&[u8], u64)| index.has(name, member) && !index.has(name, member + 1);
        assert!(index.entries().all(has) && !index.has(b"a", 0x88) && !index.has(b"b", 0x88));
        index.entries().map(|(name, member)| (name.to_vec(), member)).collect()
    }

    #[test]
    fn both_kinds() {
        let expected = [(b"a".to_vec(), 0x44), (b"bc".to_vec(), 0x88)];
        let bytes = b"\0\0\0\x02\0\0\0\x44\0\0\0\x88a\0bc\0";
        assert_eq!(entries(bytes, gnu), expected);
        assert!(gnu(&bytes[..bytes.len() - 1], 4).is_none(), "no NUL");
        let bytes = b"\x10\0\0\0\0\0\0\0\x44\0\0\0\x02\0\0\0\x88\0\0\0\x05\0\0\0a\0bc\0";
        assert_eq!(entries(bytes, bsd), expected);
    }
}
