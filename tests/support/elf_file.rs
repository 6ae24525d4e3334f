//! Edits an ELF file in memory. It reads only the parts that a test needs to find the words to
//! overwrite: program headers, dynamic entries, and the tables that they point to. Anything that it
//! cannot read gives `None` or an empty list.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

pub const PT_LOAD: u32 = 1;
pub const PT_DYNAMIC: u32 = 2;

pub const DT_NULL: u64 = 0;
pub const DT_NEEDED: u64 = 1;
pub const DT_HASH: u64 = 4;
pub const DT_STRTAB: u64 = 5;
pub const DT_SYMTAB: u64 = 6;
pub const DT_STRSZ: u64 = 10;
pub const DT_SONAME: u64 = 14;
pub const DT_RPATH: u64 = 15;
pub const DT_DEBUG: u64 = 21;
pub const DT_RUNPATH: u64 = 29;
pub const DT_GNU_HASH: u64 = 0x6fff_fef5;
pub const DT_DEPAUDIT: u64 = 0x6fff_fefb;
pub const DT_VERSYM: u64 = 0x6fff_fff0;
pub const DT_VERDEF: u64 = 0x6fff_fffc;
pub const DT_VERDEFNUM: u64 = 0x6fff_fffd;
pub const DT_VERNEED: u64 = 0x6fff_fffe;
pub const DT_VERNEEDNUM: u64 = 0x6fff_ffff;

#[derive(Clone)]
pub struct ElfFile {
    pub bytes: Vec<u8>,
    wide: bool,
    big: bool,
}

/// A program header, and its offset in the file (`at`).
pub struct Segment {
    pub at: usize,
    pub kind: u32,
    pub offset: usize,
    pub address: u64,
    pub size: usize,
}

/// An entry of the dynamic table, and its offset in the file (`at`).
pub struct Entry {
    pub at: usize,
    pub tag: u64,
    pub value: u64,
}

impl ElfFile {
    pub fn new(bytes: Vec<u8>) -> Option<Self> {
        let known = bytes.len() > 64 && bytes.starts_with(b"\x7fELF") && matches!(bytes[5], 1 | 2);
        let wide = match bytes.get(4)? {
            1 => false,
            2 => true,
            _ => return None,
        };
        let big = bytes[5] == 2;
        known.then_some(Self { bytes, wide, big })
    }

    /// True for ELFCLASS64.
    pub fn wide(&self) -> bool {
        self.wide
    }

    /// The size of a word: an address, an offset, a dynamic tag.
    pub fn word_size(&self) -> usize {
        if self.wide { 8 } else { 4 }
    }

    pub fn get(&self, at: usize, size: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(size)?)?;
        let add = |value, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.big { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }

    /// Overwrites `size` bytes; false if they lie outside the file.
    pub fn put(&mut self, at: usize, size: usize, value: u64) -> bool {
        match at.checked_add(size).and_then(|end| self.bytes.get_mut(at..end)) {
            Some(bytes) => {
                bytes.copy_from_slice(&value.to_le_bytes()[..size]);
                if self.big {
                    bytes.reverse();
                }
                true
            }
            None => false,
        }
    }

    fn position(&self, at: usize, size: usize) -> Option<usize> {
        usize::try_from(self.get(at, size)?).ok()
    }

    pub fn segments(&self) -> Vec<Segment> {
        let (table, entry, count) = if self.wide { (32, 54, 56) } else { (28, 42, 44) };
        let read = || {
            let start = self.position(table, self.word_size())?;
            let size = self.position(entry, 2)?;
            Some((0..self.position(count, 2)?).filter_map(move |i| self.segment(start + i * size)))
        };
        read().into_iter().flatten().collect()
    }

    fn segment(&self, at: usize) -> Option<Segment> {
        let (offset, address, size) = if self.wide { (8, 16, 32) } else { (4, 8, 16) };
        Some(Segment {
            at,
            kind: u32::try_from(self.get(at, 4)?).ok()?,
            offset: self.position(at + offset, self.word_size())?,
            address: self.get(at + address, self.word_size())?,
            size: self.position(at + size, self.word_size())?,
        })
    }

    /// The file offset of the byte at this address.
    pub fn file_offset(&self, address: u64) -> Option<usize> {
        self.segments().iter().filter(|segment| segment.kind == PT_LOAD).find_map(|segment| {
            let inside = usize::try_from(address.checked_sub(segment.address)?).ok()?;
            (inside < segment.size).then(|| segment.offset + inside)
        })
    }

    pub fn dynamic(&self) -> Vec<Entry> {
        let size = self.word_size();
        let segments = self.segments();
        let Some(table) = segments.iter().find(|segment| segment.kind == PT_DYNAMIC) else {
            return Vec::new();
        };
        (0..table.size / (2 * size))
            .map_while(|index| {
                let at = table.offset + index * 2 * size;
                Some(Entry { at, tag: self.get(at, size)?, value: self.get(at + size, size)? })
            })
            .take_while(|entry| entry.tag != DT_NULL)
            .collect()
    }

    /// The value of the last entry with this tag.
    pub fn value(&self, tag: u64) -> Option<u64> {
        self.dynamic().iter().rev().find(|entry| entry.tag == tag).map(|entry| entry.value)
    }

    /// The file offset of the table whose address the entry with this tag holds.
    pub fn table(&self, tag: u64) -> Option<usize> {
        self.file_offset(self.value(tag)?)
    }

    /// The string at this offset of the dynamic string table.
    pub fn string(&self, offset: u64) -> Option<&[u8]> {
        let start = self.table(DT_STRTAB)?.checked_add(usize::try_from(offset).ok()?)?;
        let rest = self.bytes.get(start..)?;
        rest.iter().position(|byte| *byte == 0).map(|end| &rest[..end])
    }

    pub fn symbol_size(&self) -> usize {
        if self.wide { 24 } else { 16 }
    }

    /// File offsets of the dynamic symbols. Linkers put the string table behind the symbols, so
    /// they end there.
    pub fn symbols(&self) -> Vec<usize> {
        let (Some(start), Some(end)) = (self.table(DT_SYMTAB), self.table(DT_STRTAB)) else {
            return Vec::new();
        };
        let size = self.symbol_size();
        (0..end.saturating_sub(start) / size).map(|index| start + index * size).collect()
    }

    /// File offsets of the auxiliary records of the version needs, each with its file's name.
    pub fn needed_versions(&self) -> Vec<(Vec<u8>, usize)> {
        let mut found = Vec::new();
        let mut need = self.table(DT_VERNEED);
        for _ in 0..self.value(DT_VERNEEDNUM).unwrap_or(0).min(64) {
            let Some(at) = need else { break };
            let file = self.get(at + 4, 4).and_then(|name| self.string(name)).unwrap_or_default();
            let mut aux = at + self.position(at + 8, 4).unwrap_or(0);
            for _ in 0..self.get(at + 2, 2).unwrap_or(0).min(64) {
                found.push((file.to_vec(), aux));
                aux += self.position(aux + 12, 4).unwrap_or(0);
            }
            need = self.position(at + 12, 4).map(|next| at + next);
        }
        found
    }

    /// File offsets of the records of the versions that the file defines.
    pub fn defined_versions(&self) -> Vec<usize> {
        let mut found = Vec::new();
        let mut next = self.table(DT_VERDEF);
        for _ in 0..self.value(DT_VERDEFNUM).unwrap_or(0).min(64) {
            let Some(at) = next else { break };
            found.push(at);
            next = self.position(at + 16, 4).map(|step| at + step);
        }
        found
    }
}

/// The library with the first letter of one undefined symbol removed, so that no object defines it.
/// `pick` gets the number of undefined symbols and returns the index of one.
pub fn with_lost_symbol(bytes: Vec<u8>, pick: impl FnOnce(usize) -> usize) -> Vec<u8> {
    let mut file = ElfFile::new(bytes).expect("an ELF file");
    let is_undefined = |at: &usize| {
        // STB_GLOBAL in st_info, SHN_UNDEF in st_shndx.
        let (info, section) = if file.wide { (4, 6) } else { (12, 14) };
        file.get(at + info, 1).is_some_and(|info| info >> 4 == 1)
            && file.get(at + section, 2) == Some(0)
    };
    let undefined: Vec<usize> = file.symbols().into_iter().filter(is_undefined).collect();
    if !undefined.is_empty() {
        let at = undefined[pick(undefined.len())];
        let name = file.get(at, 4).expect("st_name");
        assert!(file.put(at, 4, name + 1));
    }
    file.bytes
}
