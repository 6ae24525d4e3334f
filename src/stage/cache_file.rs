//! Builds the bytes of an ld.so.cache in the new format with the glibc-hwcaps extension
//! (`elf/cache.c`, `save_cache`). The bytes stay in memory, where [`crate::resolve::cache`] reads
//! them.

use crate::id::FastMap;
use crate::order::Arrange as _;
use crate::resolve::cache::{EXTENSION_MAGIC, HWCAP_EXTENSION, NEW_MAGIC, TAG_HWCAPS, compare};
use std::cmp::Ordering;

/// Size of the header, in bytes.
const HEADER: usize = 48;
/// Size of one entry, in bytes.
const ENTRY: usize = 24;

/// The hwcap field of an entry. Entries with the same name and flags are sorted in the order of
/// these variants.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Hwcap {
    /// The name of a glibc-hwcaps subdirectory, and the ISA level in the cache entry; 0 for none.
    Named(Vec<u8>, u32),
    /// Bits of the legacy hwcap scheme.
    Old(std::cmp::Reverse<u64>),
    /// No hwcap.
    None,
}

/// An entry of the new cache.
#[derive(Clone, Debug)]
pub(super) struct NewCacheEntry {
    pub(super) flags: i32,
    pub(super) soname: Vec<u8>,
    pub(super) path: Vec<u8>,
    pub(super) hwcap: Hwcap,
}

/// The order of entries in a cache: sonames and flags descend. The sort is stable, so entries that
/// compare equal keep the order of their directories.
fn order(a: &NewCacheEntry, b: &NewCacheEntry) -> Ordering {
    let named = |hwcap: &Hwcap| match hwcap {
        Hwcap::Named(name, _) => (0, Some(name.clone()), 0),
        Hwcap::Old(bits) => (1, None, !bits.0),
        Hwcap::None => (2, None, 0),
    };
    compare(&b.soname, &a.soname)
        .then_with(|| b.flags.cmp(&a.flags))
        .then_with(|| named(&a.hwcap).cmp(&named(&b.hwcap)))
}

/// The bytes of a cache with these entries. `big` is true for a big-endian system.
pub(super) fn bytes(mut entries: Vec<NewCacheEntry>, big: bool) -> Vec<u8> {
    entries.arrange_by(order);
    let mut names: Vec<Vec<u8>> = Vec::new();
    for entry in &entries {
        if let Hwcap::Named(name, _) = &entry.hwcap {
            names.push(name.clone());
        }
    }
    names.arrange();
    names.dedup();
    let mut out = Writer { big, bytes: Vec::new() };
    let mut strings = CacheStrings {
        at: HEADER + entries.len() * ENTRY,
        bytes: Vec::new(),
        known: FastMap::default(),
    };
    let indices: Vec<usize> = names.iter().map(|name| strings.add(name)).collect();
    let mut body = Writer { big, bytes: Vec::new() };
    for entry in &entries {
        let hwcap = match &entry.hwcap {
            Hwcap::Named(name, level) => {
                let index = names.binary_search(name).unwrap_or_default();
                u64::from(HWCAP_EXTENSION | level) << 32 | index as u64
            }
            Hwcap::Old(bits) => bits.0,
            Hwcap::None => 0,
        };
        let (key, value) = (strings.add(&entry.soname), strings.add(&entry.path));
        body.u32(u32::from_ne_bytes(entry.flags.to_ne_bytes()));
        body.number(key);
        body.number(value);
        body.u32(0);
        body.u64(hwcap);
    }
    let end = (strings.at + strings.bytes.len()).next_multiple_of(4);
    out.bytes.extend_from_slice(NEW_MAGIC);
    out.number(entries.len());
    out.number(strings.bytes.len());
    out.bytes.extend_from_slice(&[if big { 3 } else { 2 }, 0, 0, 0]);
    out.number(end);
    out.bytes.resize(HEADER, 0);
    out.bytes.append(&mut body.bytes);
    out.bytes.append(&mut strings.bytes);
    out.bytes.resize(end, 0);
    // The extension: one section that contains the offsets of the hwcap names.
    out.u32(EXTENSION_MAGIC);
    out.u32(1);
    out.u32(TAG_HWCAPS);
    out.u32(0);
    out.number(end + 24);
    out.number(indices.len() * 4);
    for at in indices {
        out.number(at);
    }
    out.bytes
}

/// The string table, which starts at the file offset `at`.
struct CacheStrings {
    at: usize,
    bytes: Vec<u8>,
    known: FastMap<Vec<u8>, usize>,
}

impl CacheStrings {
    /// Adds a string if it is new; returns its offset in the file.
    fn add(&mut self, text: &[u8]) -> usize {
        if let Some(at) = self.known.get(text) {
            return *at;
        }
        let at = self.at + self.bytes.len();
        self.bytes.extend_from_slice(text);
        self.bytes.push(0);
        self.known.insert(text.to_vec(), at);
        at
    }
}

struct Writer {
    big: bool,
    bytes: Vec<u8>,
}

impl Writer {
    fn u32(&mut self, value: u32) {
        let raw = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes.extend_from_slice(&raw);
    }

    fn u64(&mut self, value: u64) {
        let raw = if self.big { value.to_be_bytes() } else { value.to_le_bytes() };
        self.bytes.extend_from_slice(&raw);
    }

    /// Writes an offset or count. No real cache reaches 4 GiB, so 32 bits are enough.
    fn number(&mut self, value: usize) {
        self.u32(u32::try_from(value).unwrap_or(u32::MAX));
    }
}

#[cfg(test)]
mod tests {
    use super::{Hwcap, NewCacheEntry, bytes};
    use crate::resolve::cache::{Cache, CacheQuery};

    fn entry(soname: &str, path: &str, hwcap: Hwcap) -> NewCacheEntry {
        NewCacheEntry { flags: 0x303, soname: soname.into(), path: path.into(), hwcap }
    }

    #[test]
    fn what_is_written_is_found() {
        for big in [false, true] {
            let entries = vec![
                entry("libb.so.1", "/a/libb.so.1", Hwcap::None),
                entry("libb.so.1", "/b/libb.so.1", Hwcap::None),
                entry("liba.so.10", "/a/liba.so.10", Hwcap::None),
                entry("liba.so.9", "/a/liba.so.9", Hwcap::None),
                entry(
                    "liba.so.9",
                    "/a/glibc-hwcaps/x86-64-v3/liba.so.9.1",
                    Hwcap::Named(b"x86-64-v3".to_vec(), 0),
                ),
            ];
            let cache = Cache::parse(bytes(entries, big).into(), big).expect("a cache");
            assert_eq!(cache.entries().count(), 5);
            let find = |name: &str, active: &[&'static str]| {
                let asker = CacheQuery { flags: &[0x303], active, isa_level: 2, legacy: None };
                let found = cache.lookup(name.as_bytes(), &asker);
                found.map(|(path, _)| String::from_utf8(path.to_vec()).expect("UTF-8"))
            };
            assert_eq!(find("libb.so.1", &[]).as_deref(), Some("/a/libb.so.1"));
            assert_eq!(find("liba.so.9", &[]).as_deref(), Some("/a/liba.so.9"));
            let v3 = find("liba.so.9", &["x86-64-v3"]);
            assert_eq!(v3.as_deref(), Some("/a/glibc-hwcaps/x86-64-v3/liba.so.9.1"));
            assert_eq!(find("libc.so", &[]), None);
        }
    }
}
