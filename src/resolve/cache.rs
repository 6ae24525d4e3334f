//! ld.so.cache: both formats and the glibc-hwcaps extension (`elf/cache.h`, `elf/dl-cache.c`,
//! `sysdeps/generic/dl-cache.h`). The lookup searches the file in place, as the loader does, and
//! returns at most one path for a name.

use std::cmp::Ordering;

/// Size of the header of the old format, in bytes.
const OLD_HEADER: usize = 16;
/// Size of an entry of the old format, in bytes.
const OLD_ENTRY: usize = 12;
/// Size of the header of the new format, in bytes.
const NEW_HEADER: usize = 48;
/// Size of an entry of the new format, in bytes.
const NEW_ENTRY: usize = 24;
const OLD_MAGIC: &[u8] = b"ld.so-1.7.0";
/// Magic of the new format, with its version.
pub const NEW_MAGIC: &[u8] = b"glibc-ld.so.cache1.1";
/// Magic number at the start of the extension of a cache file (`cache_extension_magic`).
pub const EXTENSION_MAGIC: u32 = 0xEAA4_2174;
/// Tag of the extension's section that names glibc-hwcaps subdirectories
/// (`cache_extension_tag_glibc_hwcaps`).
pub const TAG_HWCAPS: u32 = 1;
/// Upper 32 bits of the hwcap field if the library is in a glibc-hwcaps subdirectory and has ISA
/// level 0 (`DL_CACHE_HWCAP_EXTENSION`). The lowest ten of these 32 bits hold the ISA level.
pub const HWCAP_EXTENSION: u32 = 0x4000_0000;

/// A parsed ld.so.cache.
pub struct Cache {
    bytes: Box<[u8]>,
    big: bool,
    format: Format,
    /// Names of glibc-hwcaps subdirectories, as offsets of their strings in the file.
    hwcaps: Vec<u32>,
    /// File offset of the extension, if the file has an extension that cannot be read.
    lost_extension: Option<usize>,
}

#[derive(Clone, Copy)]
enum Format {
    /// Entries start at `first`; the strings follow the last entry.
    Old { first: usize, count: usize },
    /// The header is at `base`, and the offsets of strings are relative to `base`.
    New { base: usize, count: usize },
}

/// The properties of the loader and the processor that a lookup depends on.
pub struct CacheQuery<'a> {
    /// Values of an entry's `flags` that the loader accepts, the machine's own value first.
    pub flags: &'a [i32],
    /// Active `glibc-hwcaps` names, best first.
    pub active: &'a [&'static str],
    /// x86 ISA level minus one, as cache entries store it.
    pub isa_level: u32,
    /// Legacy hwcap bits that an entry may have. `None` for glibc 2.40 and later, which ignore
    /// entries with such bits.
    pub legacy: Option<u64>,
}

/// An entry of a cache.
#[derive(Clone, Copy)]
pub struct CacheEntry<'a> {
    /// The class, machine and libc of the library, as one number.
    pub flags: i32,
    /// The soname of the library, by which the loader looks up the entry.
    pub key: &'a [u8],
    /// The path of the library.
    pub value: &'a [u8],
    /// The hwcap field: 0, legacy hwcap bits, or an index into the glibc-hwcaps extension.
    pub hwcap: u64,
}

impl Cache {
    /// Parses a cache file. `big` is true for a big-endian target. `None` if the loader would
    /// ignore the whole file.
    pub fn parse(bytes: Box<[u8]>, big: bool) -> Option<Self> {
        let format = Format::Old { first: 0, count: 0 };
        let mut cache = Self { bytes, big, format, hwcaps: vec![], lost_extension: None };
        if cache.bytes.starts_with(NEW_MAGIC) {
            cache.set_new(0)?;
        } else if cache.bytes.starts_with(OLD_MAGIC) {
            let count = cache.u32(12)? as usize;
            let end = OLD_HEADER.checked_add(count.checked_mul(OLD_ENTRY)?)?;
            if end > cache.bytes.len() {
                return None;
            }
            cache.format = Format::Old { first: OLD_HEADER, count };
            // A file may have both formats: the new one then starts at the next multiple of eight.
            let base = end.next_multiple_of(8);
            if cache.bytes.get(base..).is_some_and(|rest| rest.starts_with(NEW_MAGIC)) {
                cache.set_new(base)?;
            }
        } else {
            return None;
        }
        Some(cache)
    }

    fn set_new(&mut self, base: usize) -> Option<()> {
        let count = self.u32(base + 20)? as usize;
        if count.checked_mul(NEW_ENTRY)? > self.bytes.len() {
            return None;
        }
        // The byte order: 2 is little-endian, 3 big-endian. Old releases of ldconfig leave 0 in
        // this byte.
        let order = self.bytes.get(base + 28)? & 3;
        if order != 0 && order != if self.big { 3 } else { 2 } {
            return None;
        }
        self.format = Format::New { base, count };
        let extension = self.u32(base + 32)? as usize;
        if base == 0 && extension != 0 && extension.is_multiple_of(4) {
            match self.read_hwcaps(extension) {
                Some(hwcaps) => self.hwcaps = hwcaps,
                None => self.lost_extension = Some(extension),
            }
        }
        Some(())
    }

    /// Offsets of the names in the glibc-hwcaps section; empty without such a section. `None` if
    /// the extension has a wrong magic or is truncated.
    fn read_hwcaps(&self, at: usize) -> Option<Vec<u32>> {
        if self.u32(at)? != EXTENSION_MAGIC {
            return None;
        }
        let count = self.u32(at + 4)? as usize;
        let mut found = None;
        for i in 0..count {
            let at = at.checked_add(8)?.checked_add(i.checked_mul(16)?)?;
            let (tag, offset, size) = (self.u32(at)?, self.u32(at + 8)?, self.u32(at + 12)?);
            if tag == TAG_HWCAPS && found.is_none() {
                found = Some((offset as usize, size as usize));
            }
        }
        let (offset, size) = found.unwrap_or((0, 0));
        (0..size / 4).map(|i| self.u32(offset.checked_add(i * 4)?)).collect()
    }

    fn u32(&self, at: usize) -> Option<u32> {
        let raw = self.bytes.get(at..at.checked_add(4)?)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }

    fn string(&self, at: usize) -> Option<&[u8]> {
        crate::format::c_string(&self.bytes, at)
    }

    fn count(&self) -> usize {
        match self.format {
            Format::Old { count, .. } | Format::New { count, .. } => count,
        }
    }

    fn entry(&self, index: usize) -> Option<CacheEntry<'_>> {
        let (at, strings) = match self.format {
            Format::Old { first, count } => (first + index * OLD_ENTRY, first + count * OLD_ENTRY),
            Format::New { base, .. } => (base + NEW_HEADER + index * NEW_ENTRY, base),
        };
        let text = |at: usize| self.string(strings.checked_add(self.u32(at)? as usize)?);
        let hwcap = match self.format {
            Format::Old { .. } => 0,
            Format::New { .. } => {
                let raw = self.bytes.get(at + 16..at + 24)?.try_into().ok()?;
                if self.big { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) }
            }
        };
        let flags = i32::from_ne_bytes(self.u32(at)?.to_ne_bytes());
        Some(CacheEntry { flags, key: text(at + 4)?, value: text(at + 8)?, hwcap })
    }

    /// All entries in file order. Damaged entries are skipped.
    pub fn entries(&self) -> impl Iterator<Item = CacheEntry<'_>> {
        (0..self.count()).filter_map(|index| self.entry(index))
    }

    /// The glibc-hwcaps subdirectory of an entry with this hwcap field; `None` if the field holds
    /// no valid index.
    pub fn hwcaps_name(&self, hwcap: u64) -> Option<&[u8]> {
        let upper = u32::try_from(hwcap >> 32).ok()?;
        if upper & !0x3ff != HWCAP_EXTENSION {
            return None;
        }
        let index = usize::try_from(hwcap & 0xffff_ffff).ok()?;
        self.string(*self.hwcaps.get(index)? as usize)
    }

    /// The first defect in the entries or the extension: its offset in the file, and a description
    /// as the end of a sentence.
    pub fn defect(&self) -> Option<(usize, &'static str)> {
        let (first, each) = match self.format {
            Format::Old { first, .. } => (first, OLD_ENTRY),
            Format::New { base, .. } => (base + NEW_HEADER, NEW_ENTRY),
        };
        let present = self.bytes.len().saturating_sub(first) / each;
        if present < self.count() {
            return Some((first + present * each, "ends before its last entry"));
        }
        let lost = (0..self.count()).find(|index| self.entry(*index).is_none());
        if let Some(lost) = lost {
            let what = "has an entry whose strings lie outside the file";
            return Some((first + lost * each, what));
        }
        if let Some(at) = self.lost_extension {
            return Some((at, "has an extension that cannot be read"));
        }
        let is_lost = |entry: &CacheEntry<'_>| {
            let is_named = entry.hwcap >> 32 & !0x3ff == u64::from(HWCAP_EXTENSION);
            is_named && self.hwcaps_name(entry.hwcap).is_none()
        };
        let lost = self.entries().position(|entry| is_lost(&entry))?;
        Some((
            first + lost * each,
            "has an entry of a glibc-hwcaps subdirectory that it does not name",
        ))
    }

    /// The cached path for `name`. The flag is true if the entry has a hwcap: legacy bits or a
    /// glibc-hwcaps subdirectory. `None` if no entry fits.
    pub fn lookup(&self, name: &[u8], asker: &CacheQuery<'_>) -> Option<(&[u8], bool)> {
        let (mut left, mut right) = (0, self.count());
        // The table is sorted in descending order.
        while left < right {
            let middle = left + (right - left) / 2;
            match compare(name, self.entry(middle)?.key) {
                Ordering::Equal => return self.choose(middle, name, asker),
                Ordering::Less => left = middle + 1,
                Ordering::Greater => right = middle,
            }
        }
        None
    }

    /// Chooses as the loader does among the adjacent entries that have the same key as entry `hit`.
    fn choose(&self, hit: usize, name: &[u8], asker: &CacheQuery<'_>) -> Option<(&[u8], bool)> {
        let same = |i: usize| self.entry(i).is_some_and(|e| compare(name, e.key).is_eq());
        let mut first = hit;
        while first > 0 && same(first - 1) {
            first -= 1;
        }
        let mut best: Option<(&[u8], usize)> = None;
        let mut plain = None;
        for index in first..self.count() {
            let Some(entry) = self.entry(index).filter(|_| same(index)) else { break };
            if !asker.flags.contains(&entry.flags) {
                continue;
            }
            if entry.hwcap == 0 {
                // An entry with a hwcap wins over entries without one. Among entries without a
                // hwcap, the first with the flags `asker.flags[0]` wins. If none has them, the last
                // entry with other accepted flags wins (old ldconfigs wrote these flags).
                if let Some((path, _)) = best {
                    return Some((path, true));
                }
                plain = Some(entry.value);
                if asker.flags.first() == Some(&entry.flags) {
                    break;
                }
                continue;
            }
            match self.priority(entry.hwcap, asker) {
                Some(rank) if best.is_none_or(|(_, old)| rank < old) => {
                    best = Some((entry.value, rank));
                }
                _ => {}
            }
        }
        best.map(|(path, _)| (path, true)).or(plain.map(|path| (path, false)))
    }

    /// The rank of a hwcaps entry, 0 best; `None` if this processor may not use the entry.
    fn priority(&self, hwcap: u64, asker: &CacheQuery<'_>) -> Option<usize> {
        let upper = u32::try_from(hwcap >> 32).ok()?;
        if upper & !0x3ff == HWCAP_EXTENSION {
            if upper & 0x3ff > asker.isa_level {
                return None;
            }
            let name = self.hwcaps_name(hwcap)?;
            return asker.active.iter().position(|active| active.as_bytes() == name);
        }
        let usable = asker.legacy.is_some_and(|bits| hwcap & !bits == 0);
        usable.then_some(usize::MAX)
    }
}

/// `_dl_cache_libcmp`: runs of digits compare as numbers, a digit is greater than a non-digit,
/// other bytes compare as signed characters.
pub fn compare(mut a: &[u8], mut b: &[u8]) -> Ordering {
    let digit = |s: &[u8]| s.first().is_some_and(u8::is_ascii_digit);
    loop {
        match (a.first(), b.first()) {
            (None, None) => return Ordering::Equal,
            (None, Some(_)) | (Some(_), None) if !digit(a) && !digit(b) => {
                let value = |s: &[u8]| s.first().map_or(0, |c| i8::from_ne_bytes([*c]));
                return value(a).cmp(&value(b));
            }
            _ => {}
        }
        match (digit(a), digit(b)) {
            (true, true) => {
                let order = number(&mut a).cmp(&number(&mut b));
                if order.is_ne() {
                    return order;
                }
            }
            (true, false) => return Ordering::Greater,
            (false, true) => return Ordering::Less,
            (false, false) => {
                let (x, y) = (i8::from_ne_bytes([a[0]]), i8::from_ne_bytes([b[0]]));
                if x != y {
                    return x.cmp(&y);
                }
                (a, b) = (&a[1..], &b[1..]);
            }
        }
    }
}

/// Parses a run of digits. Overflow wraps, as in the loader.
fn number(text: &mut &[u8]) -> i32 {
    let mut value = 0_i32;
    while let Some(c) = text.first().filter(|c| c.is_ascii_digit()) {
        value = value.wrapping_mul(10).wrapping_add(i32::from(c - b'0'));
        *text = &text[1..];
    }
    value
}

#[cfg(test)]
mod tests {
    use super::compare;
    use std::cmp::Ordering;

    #[test]
    fn versions_compare_as_numbers() {
        assert_eq!(compare(b"libx.so.10", b"libx.so.9"), Ordering::Greater);
        assert_eq!(compare(b"libx.so.01", b"libx.so.1"), Ordering::Equal);
        assert_eq!(compare(b"libx1.so", b"libx.so"), Ordering::Greater);
        assert_eq!(compare(b"libx.so", b"libx.so.1"), Ordering::Less);
        assert_eq!(compare(b"", b"1"), Ordering::Less);
    }
}
