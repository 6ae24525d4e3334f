//! The bytes of a generated ELF file, and the range of each part.

use super::elf_file::ElfFile;
use super::shape::{Hash, Part, Shape};
use std::collections::BTreeMap;
use std::ops::Range;

/// The difference between addresses and offsets in the second PT_LOAD: a multiple of every page
/// size.
const SHIFT: u64 = 0x20_0000;

pub struct Built {
    pub shape: Shape,
    pub bytes: Vec<u8>,
    parts: BTreeMap<Part, Range<usize>>,
    /// Start of the second PT_LOAD; the end of the file if there is none.
    middle: usize,
    loaded: usize,
}

/// Offsets in the string table, by use.
struct Strings {
    bytes: Vec<u8>,
    known: BTreeMap<String, usize>,
}

impl Strings {
    fn add(&mut self, text: &str) -> usize {
        if let Some(at) = self.known.get(text) {
            return *at;
        }
        let at = self.bytes.len();
        self.bytes.extend(text.bytes());
        self.bytes.push(0);
        self.known.insert(text.to_owned(), at);
        at
    }
}

/// A buffer for bytes of one class and byte order.
pub struct Out {
    pub bytes: Vec<u8>,
    pub wide: bool,
    pub big: bool,
}

impl Out {
    pub fn put(&mut self, size: usize, value: u64) {
        let raw = value.to_le_bytes();
        let raw = &raw[..size];
        if self.big {
            self.bytes.extend(raw.iter().rev());
        } else {
            self.bytes.extend(raw);
        }
    }

    pub fn half(&mut self, value: usize) {
        self.put(2, value as u64);
    }

    pub fn halfs(&mut self, values: &[usize]) {
        for value in values {
            self.half(*value);
        }
    }

    pub fn words(&mut self, values: &[usize]) {
        for value in values {
            self.word(*value);
        }
    }

    pub fn longs(&mut self, values: &[u64]) {
        for value in values {
            self.long(*value);
        }
    }

    /// A symbol with a value in `section`. In section 0 it is undefined and has no size.
    pub fn symbol(&mut self, name: usize, info: u8, section: usize, value: u64) {
        let size = if section > 0 { 4 } else { 0 };
        self.word(name);
        if self.wide {
            self.bytes.extend([info, 0]);
            self.half(section);
            self.longs(&[value, size]);
        } else {
            self.longs(&[value, size]);
            self.bytes.extend([info, 0]);
            self.half(section);
        }
    }

    pub fn word(&mut self, value: usize) {
        self.put(4, value as u64);
    }

    pub fn long(&mut self, value: u64) {
        self.put(if self.wide { 8 } else { 4 }, value);
    }
}

/// Writes the file repeatedly until all offsets are final.
pub fn build(shape: &Shape) -> Built {
    let mut built = Built {
        shape: shape.clone(),
        bytes: Vec::new(),
        parts: BTreeMap::new(),
        middle: usize::MAX,
        loaded: 0,
    };
    // Sizes settle first, then places, then what points to them.
    for _ in 0..4 {
        built.write();
    }
    built
}

impl Built {
    /// The range of a part; `None` if the file lacks it.
    pub fn part(&self, part: Part) -> Option<Range<usize>> {
        self.parts.get(&part).filter(|range| !range.is_empty()).cloned()
    }

    pub fn parts(&self) -> impl Iterator<Item = (Part, Range<usize>)> {
        self.parts.iter().filter(|(_, range)| !range.is_empty()).map(|(p, r)| (*p, r.clone()))
    }

    /// The file for an edit.
    pub fn edit(&self) -> ElfFile {
        ElfFile::new(self.bytes.clone()).expect("an ELF file")
    }

    /// The end of the loaded bytes.
    pub fn loaded(&self) -> usize {
        self.loaded
    }

    /// The number of symbols, with the null symbol.
    pub fn symbol_count(&self) -> usize {
        1 + self.shape.references.len() + self.shape.definitions.len()
    }

    pub fn first_definition(&self) -> usize {
        1 + self.shape.references.len()
    }

    fn at(&self, part: Part) -> usize {
        self.parts.get(&part).map_or(0, |range| range.start)
    }

    fn size(&self, part: Part) -> usize {
        self.parts.get(&part).map_or(0, Range::len)
    }

    fn address_of(&self, offset: usize) -> u64 {
        let shift = if offset >= self.middle { SHIFT } else { 0 };
        self.shape.base + offset as u64 + shift
    }

    fn address(&self, part: Part) -> u64 {
        self.address_of(self.at(part))
    }

    fn write(&mut self) {
        let shape = self.shape.clone();
        let (wide, big) = (shape.machine.wide, shape.machine.big);
        let mut out = Out { bytes: Vec::new(), wide, big };
        let mut strings = Strings { bytes: vec![0], known: BTreeMap::new() };
        // All names must be known before the string table is written, whose position may be
        // anywhere.
        let dynamic = self.dynamic(&mut strings);
        let symbols = self.symbols(&mut strings);
        let needed = self.version_needs(&mut strings);
        let defined = self.version_definitions(&mut strings);
        self.header(&mut out);
        let (mut parts, mut middle) = (BTreeMap::new(), usize::MAX);
        for (at, (part, before)) in shape.order.iter().enumerate() {
            let start = (out.bytes.len() + before).next_multiple_of(8);
            out.bytes.resize(start, 0);
            if shape.split == Some(at) {
                middle = start;
            }
            match part {
                Part::ProgramHeaders => self.program_headers(&mut out),
                Part::Interp => {
                    out.bytes.extend(shape.interp.iter().flat_map(|path| path.bytes().chain([0])));
                }
                Part::Note if shape.notes > 0 => {
                    out.words(&[4, 4, 0x7fff]);
                    out.bytes.extend(b"abc\0abcd");
                }
                Part::SysvHash if matches!(shape.hash, Hash::Sysv | Hash::Both) => {
                    self.sysv_hash(&mut out);
                }
                Part::GnuHash if matches!(shape.hash, Hash::Gnu | Hash::Both) => {
                    self.gnu_hash(&mut out);
                }
                Part::Symbols => out.bytes.extend(&symbols),
                Part::Strings => {
                    out.bytes.extend(&strings.bytes);
                    out.bytes.extend(&shape.loose);
                }
                Part::Versym if self.has_versions() => self.version_indices(&mut out),
                Part::Verneed => out.bytes.extend(&needed),
                Part::Verdef => out.bytes.extend(&defined),
                Part::Relocations => self.relocations(&mut out),
                Part::Got => out.bytes.resize(start + 8 * (3 + shape.references.len()), 0),
                Part::Dynamic => dynamic.iter().for_each(|(tag, value)| {
                    out.long(*tag);
                    out.long(*value);
                }),
                _ => {}
            }
            parts.insert(*part, start..out.bytes.len());
        }
        self.loaded = out.bytes.len();
        if shape.sections {
            let start = out.bytes.len();
            out.bytes.extend(b"\0.dynstr\0.shstrtab\0");
            parts.insert(Part::SectionNames, start..out.bytes.len());
            let start = out.bytes.len().next_multiple_of(8);
            out.bytes.resize(start, 0);
            self.section_headers(&mut out);
            parts.insert(Part::SectionHeaders, start..out.bytes.len());
        }
        out.bytes.resize(out.bytes.len() + shape.tail, 0xa5);
        (self.bytes, self.parts, self.middle) = (out.bytes, parts, middle);
    }

    fn header(&self, out: &mut Out) {
        let machine = self.shape.machine;
        out.bytes.extend([0x7f, b'E', b'L', b'F']);
        out.bytes.extend([1 + u8::from(machine.wide), 1 + u8::from(machine.big), 1]);
        out.bytes.push(self.shape.osabi);
        out.bytes.resize(16, 0);
        out.half(if self.shape.fixed { 2 } else { 3 });
        out.half(usize::from(machine.number));
        out.word(1);
        out.long(0);
        out.long(self.at(Part::ProgramHeaders) as u64);
        out.long(self.at(Part::SectionHeaders) as u64);
        out.word(machine.flags as usize);
        let (ehdr, phdr, shdr) = if machine.wide { (64, 56, 64) } else { (52, 32, 40) };
        let sections = if self.shape.sections { (3, 2) } else { (0, 0) };
        let phdrs = self.size(Part::ProgramHeaders) / phdr;
        out.halfs(&[ehdr, phdr, phdrs, shdr, sections.0, sections.1]);
    }

    fn program_headers(&self, out: &mut Out) {
        let shape = &self.shape;
        let mut headers: Vec<(u32, Range<usize>)> = Vec::new();
        headers.extend(shape.others.iter().map(|kind| (*kind, 0..0)));
        let part = |part| self.parts.get(&part).cloned().unwrap_or_default();
        if shape.interp.is_some() {
            headers.push((3, part(Part::Interp)));
        }
        if shape.split.is_some() {
            let middle = self.middle.min(self.loaded);
            headers.push((1, 0..middle));
            if middle < self.loaded {
                headers.push((1, middle..self.loaded));
            }
        } else {
            headers.push((1, 0..self.loaded));
        }
        headers.push((2, part(Part::Dynamic)));
        headers.extend((0..shape.notes).map(|_| (4, part(Part::Note))));
        for (kind, range) in headers {
            let (offset, size) = (range.start as u64, range.len() as u64);
            let address = if size == 0 { 0 } else { self.address_of(range.start) };
            let align = if kind == 1 { 0x1_0000 } else { 8 };
            out.word(kind as usize);
            if out.wide {
                out.word(7);
                out.longs(&[offset, address, address, size, size, align]);
            } else {
                out.longs(&[offset, address, address, size, size, 7, align]);
            }
        }
    }

    fn dynamic(&self, strings: &mut Strings) -> Vec<(u64, u64)> {
        let shape = &self.shape;
        let mut list: Vec<(u64, u64)> =
            shape.needs.iter().map(|need| (1, strings.add(need) as u64)).collect();
        let named = [(14, &shape.soname), (29, &shape.runpath), (15, &shape.rpath)];
        for (tag, text) in named {
            list.extend(text.iter().map(|text| (tag, strings.add(text) as u64)));
        }
        let entry = if shape.machine.wide { 24 } else { 16 };
        let placed = [
            (4, Part::SysvHash),
            (0x6fff_fef5, Part::GnuHash),
            (5, Part::Strings),
            (6, Part::Symbols),
            (0x6fff_fff0, Part::Versym),
            (0x6fff_fffe, Part::Verneed),
            (0x6fff_fffc, Part::Verdef),
        ];
        for (tag, part) in placed {
            if matches!(part, Part::Strings | Part::Symbols) || self.size(part) > 0 {
                list.push((tag, self.address(part)));
            }
        }
        list.push((10, self.size(Part::Strings) as u64));
        list.push((11, entry));
        if !shape.needed_versions.is_empty() {
            list.push((0x6fff_ffff, 1));
        }
        if !shape.defined_versions.is_empty() {
            list.push((0x6fff_fffd, 1 + shape.defined_versions.len() as u64));
        }
        if !shape.references.is_empty() {
            let kind = if shape.machine.rela { 7 } else { 17 };
            list.push((2, self.size(Part::Relocations) as u64));
            list.push((3, self.address(Part::Got)));
            list.extend([(20, kind), (23, self.address(Part::Relocations))]);
        }
        if shape.tags_first {
            list.splice(0..0, shape.tags.iter().copied());
        } else {
            list.extend(&shape.tags);
        }
        list.resize(list.len() + shape.nulls, (0, 0));
        list
    }

    fn symbols(&self, strings: &mut Strings) -> Vec<u8> {
        let (shape, machine) = (&self.shape, self.shape.machine);
        let mut out = Out { bytes: Vec::new(), wide: machine.wide, big: machine.big };
        out.symbol(0, 0, 0, 0);
        for reference in &shape.references {
            let bind = if reference.weak { 0x20 } else { 0x10 };
            out.symbol(strings.add(&reference.name), bind | 2, 0, 0);
        }
        for definition in self.hashed() {
            let bind = if definition.weak { 0x20 } else { 0x10 };
            let at = strings.add(&definition.name);
            out.symbol(at, bind | definition.kind, 1, self.address(Part::Got));
        }
        out.bytes
    }

    /// Definitions in the order of the GNU hash table's buckets.
    fn hashed(&self) -> Vec<&super::shape::Definition> {
        let mut list: Vec<_> = self.shape.definitions.iter().collect();
        list.sort_by_key(|definition| gnu(&definition.name) as usize % self.shape.buckets);
        list
    }

    fn has_versions(&self) -> bool {
        !self.shape.needed_versions.is_empty() || !self.shape.defined_versions.is_empty()
    }

    /// The index of the first needed version: the versions of definitions come before it.
    fn first_needed(&self) -> usize {
        2 + self.shape.defined_versions.len()
    }

    fn version_indices(&self, out: &mut Out) {
        let first = self.first_needed();
        out.half(0);
        for reference in &self.shape.references {
            out.half(reference.version.map_or(1, |at| first + at));
        }
        for definition in self.hashed() {
            out.half(definition.version.map_or(1, |at| 2 + at));
        }
    }

    fn version_needs(&self, strings: &mut Strings) -> Vec<u8> {
        let versions = &self.shape.needed_versions;
        let mut out = Out { bytes: Vec::new(), wide: false, big: self.shape.machine.big };
        if versions.is_empty() {
            return out.bytes;
        }
        out.half(1);
        out.half(versions.len());
        let name = strings.add(&self.shape.needs[0]);
        out.words(&[name, 16, 0]);
        for (at, version) in versions.iter().enumerate() {
            out.word(sysv(version) as usize);
            out.half(0);
            out.half(self.first_needed() + at);
            out.word(strings.add(version));
            out.word(if at + 1 == versions.len() { 0 } else { 16 });
        }
        out.bytes
    }

    fn version_definitions(&self, strings: &mut Strings) -> Vec<u8> {
        let versions = &self.shape.defined_versions;
        let mut out = Out { bytes: Vec::new(), wide: false, big: self.shape.machine.big };
        if versions.is_empty() {
            return out.bytes;
        }
        let base = self.shape.soname.clone().unwrap_or_else(|| "subject".to_owned());
        let all = [&base].into_iter().chain(versions);
        for (at, version) in all.enumerate() {
            out.halfs(&[1, usize::from(at == 0), at + 1, 1]);
            let next = if at == versions.len() { 0 } else { 28 };
            out.words(&[sysv(version) as usize, 20, next]);
            out.words(&[strings.add(version), 0]);
        }
        out.bytes
    }

    fn sysv_hash(&self, out: &mut Out) {
        let names = self.shape.references.iter().map(|reference| &reference.name);
        let names: Vec<&String> =
            names.chain(self.hashed().into_iter().map(|definition| &definition.name)).collect();
        let mut buckets = vec![0; self.shape.buckets];
        let mut chains = vec![0; names.len() + 1];
        for (symbol, name) in (1..).zip(names) {
            let bucket = sysv(name) as usize % buckets.len();
            chains[symbol] = buckets[bucket];
            buckets[bucket] = symbol;
        }
        let counts = [buckets.len(), chains.len()];
        out.words(&counts);
        out.words(&buckets);
        out.words(&chains);
    }

    fn gnu_hash(&self, out: &mut Out) {
        let (first, buckets) = (self.first_definition(), self.shape.buckets);
        let bits: u32 = if self.shape.machine.wide { 64 } else { 32 };
        let hashes: Vec<u32> =
            self.hashed().iter().map(|definition| gnu(&definition.name)).collect();
        let words = (hashes.len() / 8).max(1).next_power_of_two();
        let mut bloom = vec![0_u64; words];
        for hash in &hashes {
            let word = &mut bloom[(hash / bits) as usize % words];
            *word |= 1 << (hash % bits) | 1 << ((hash >> 6) % bits);
        }
        out.words(&[buckets, first, words, 6]);
        out.longs(&bloom);
        let bucket = |hash: &u32| *hash as usize % buckets;
        for at in 0..buckets {
            let symbol = hashes.iter().position(|hash| bucket(hash) == at);
            out.word(symbol.map_or(0, |symbol| first + symbol));
        }
        for (at, hash) in hashes.iter().enumerate() {
            let last = hashes.get(at + 1).is_none_or(|next| bucket(next) != bucket(hash));
            out.word((hash & !1 | u32::from(last)) as usize);
        }
    }

    fn relocations(&self, out: &mut Out) {
        let machine = self.shape.machine;
        let slot = if machine.wide { 8 } else { 4 };
        for at in 0..self.shape.references.len() {
            let symbol = at as u64 + 1;
            out.long(self.address(Part::Got) + slot * (3 + at as u64));
            let shift = if machine.wide { 32 } else { 8 };
            out.long(symbol << shift | u64::from(machine.slot));
            if machine.rela {
                out.long(0);
            }
        }
    }

    /// The null section, the dynamic string table, the names of sections.
    fn section_headers(&self, out: &mut Out) {
        out.bytes.resize(out.bytes.len() + if out.wide { 64 } else { 40 }, 0);
        for (name, part) in [(1, Part::Strings), (9, Part::SectionNames)] {
            out.word(name);
            out.word(3);
            let address = if part == Part::Strings { self.address(part) } else { 0 };
            let flags = if part == Part::Strings { 2 } else { 0 };
            out.longs(&[flags, address, self.at(part) as u64, self.size(part) as u64]);
            out.word(0);
            out.word(0);
            out.long(1);
            out.long(0);
        }
    }
}

pub fn gnu(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

pub fn sysv(name: &str) -> u32 {
    name.bytes().fold(0, |hash: u32, byte| {
        let hash = (hash << 4).wrapping_add(byte.into());
        let top = hash & 0xf000_0000;
        (hash ^ top >> 24) & !top
    })
}
