//! Builds tiny shared objects and programs for x86-64, byte by byte without a compiler. Each has
//! one PT_LOAD with the whole file, a dynamic section, symbols with a GNU hash table, and a jump
//! slot for each reference. A graph of thousands of objects is built in a moment.
//!
//! The real loader accepts them too (`tests/loader/graphs.rs` checks this).
#![allow(dead_code, unreachable_pub, reason = "every test binary uses its own part of this module")]

/// The content of an object.
#[derive(Clone, Default)]
pub struct Tiny {
    pub soname: Option<String>,
    pub needs: Vec<String>,
    pub rpath: Option<String>,
    pub runpath: Option<String>,
    pub defines: Vec<String>,
    pub refers: Vec<String>,
    pub interp: Option<&'static str>,
}

const EHDR: usize = 64;
const PHDR: usize = 56;
const SYM: usize = 24;
const RELA: usize = 24;

impl Tiny {
    /// A library that needs `needs`.
    pub fn library<S: Into<String>>(soname: &str, needs: impl IntoIterator<Item = S>) -> Self {
        let needs = needs.into_iter().map(Into::into).collect();
        Self { soname: Some(soname.to_owned()), needs, ..Self::default() }
    }

    pub fn runpath(mut self, text: &str) -> Self {
        self.runpath = Some(text.to_owned());
        self
    }

    pub fn rpath(mut self, text: &str) -> Self {
        self.rpath = Some(text.to_owned());
        self
    }

    pub fn defines(mut self, name: &str) -> Self {
        self.defines.push(name.to_owned());
        self
    }

    pub fn refers(mut self, name: &str) -> Self {
        self.refers.push(name.to_owned());
        self
    }

    /// The bytes of the file.
    pub fn bytes(&self) -> Vec<u8> {
        let mut strings = vec![0];
        let mut string = |text: &str| {
            let at = strings.len() as u64;
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            at
        };
        let mut dynamic: Vec<(u64, u64)> = Vec::new();
        let named = [(14, &self.soname), (15, &self.rpath), (29, &self.runpath)];
        dynamic.extend(self.needs.iter().map(|need| (1, string(need))));
        dynamic
            .extend(named.iter().filter_map(|(tag, text)| Some((*tag, string((*text).as_ref()?)))));
        let references: Vec<u64> = self.refers.iter().map(|name| string(name)).collect();
        let definitions: Vec<u64> = self.defines.iter().map(|name| string(name)).collect();

        let phdrs = 2 + usize::from(self.interp.is_some());
        let symbols = 1 + references.len() + definitions.len();
        let jumps = references.len();
        // Offsets of the tables, in the order of the file.
        let interp_at = EHDR + phdrs * PHDR;
        let symtab = align(interp_at + self.interp.map_or(0, |text| text.len() + 1));
        let hash = symtab + symbols * SYM;
        let rela = align(hash + 16 + 8 + 4 + 4 * self.defines.len());
        let got = rela + jumps * RELA;
        let dynamic_at = got + 8 * (3 + jumps);
        let tables = 6 + if jumps > 0 { 4 } else { 0 };
        let dynamic_len = 16 * (dynamic.len() + tables);
        let strtab = dynamic_at + dynamic_len;
        let len = strtab + strings.len();
        dynamic.extend([(0x6fff_fef5, hash as u64), (5, strtab as u64), (6, symtab as u64)]);
        dynamic.extend([(10, strings.len() as u64), (11, SYM as u64)]);
        if jumps > 0 {
            dynamic.extend([(2, (jumps * RELA) as u64), (3, got as u64)]);
            dynamic.extend([(20, 7), (23, rela as u64)]);
        }
        dynamic.push((0, 0));

        let mut out = Writer(Vec::with_capacity(len));
        out.0.extend_from_slice(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0");
        out.halfs(&[3, 62]);
        out.words(&[1]);
        out.longs(&[0, EHDR as u64, 0]);
        out.words(&[0]);
        out.halfs(&[EHDR, PHDR, phdrs, 64, 0, 0]);
        // PT_INTERP comes before PT_LOAD.
        if let Some(text) = self.interp {
            out.segment(3, 4, interp_at, text.len() + 1, 1);
        }
        out.segment(1, 6, 0, len, 4096);
        out.segment(2, 6, dynamic_at, dynamic_len, 8);
        out.0.extend(self.interp.unwrap_or_default().bytes());
        out.0.resize(symtab + SYM, 0);
        for name in &references {
            out.symbol(*name, 0, 0);
        }
        for name in &definitions {
            out.symbol(*name, 1, got as u64);
        }
        // One word of filter, and one bucket whose chain holds every definition.
        let hashes: Vec<u32> = self.defines.iter().map(|name| gnu_hash(name)).collect();
        let bits = |hash: &u32| 1u64 << (hash % 64) | 1u64 << ((hash >> 6) % 64);
        let first = 1 + references.len();
        out.words(&[1, first, 1, 6]);
        out.longs(&[hashes.iter().map(bits).fold(0, |all, bits| all | bits)]);
        out.words(&[if hashes.is_empty() { 0 } else { first }]);
        for (at, hash) in hashes.iter().enumerate() {
            let last = at + 1 == hashes.len();
            out.words(&[(hash & !1 | u32::from(last)) as usize]);
        }
        out.0.resize(rela, 0);
        for at in 0..jumps {
            out.longs(&[(got + 8 * (3 + at)) as u64, (((at as u64) + 1) << 32) | 7, 0]);
        }
        out.longs(&[dynamic_at as u64]);
        out.0.resize(dynamic_at, 0);
        for (tag, value) in dynamic {
            out.longs(&[tag, value]);
        }
        assert_eq!(out.0.len(), strtab);
        out.0.extend_from_slice(&strings);
        out.0
    }
}

fn gnu_hash(name: &str) -> u32 {
    name.bytes().fold(5381, |hash: u32, byte| hash.wrapping_mul(33).wrapping_add(byte.into()))
}

fn align(at: usize) -> usize {
    at.next_multiple_of(8)
}

struct Writer(Vec<u8>);

impl Writer {
    fn halfs(&mut self, values: &[usize]) {
        self.0.extend(values.iter().flat_map(|value| (*value as u16).to_le_bytes()));
    }

    fn words(&mut self, values: &[usize]) {
        self.0.extend(values.iter().flat_map(|value| (*value as u32).to_le_bytes()));
    }

    fn longs(&mut self, values: &[u64]) {
        self.0.extend(values.iter().flat_map(|value| value.to_le_bytes()));
    }

    fn segment(&mut self, kind: usize, flags: usize, at: usize, len: usize, align: u64) {
        self.words(&[kind, flags]);
        let (at, len) = (at as u64, len as u64);
        self.longs(&[at, at, at, len, len, align]);
    }

    /// A global function.
    fn symbol(&mut self, name: u64, section: usize, value: u64) {
        self.words(&[name as usize]);
        self.0.extend([0x12, 0]);
        self.halfs(&[section]);
        self.longs(&[value, u64::from(section > 0)]);
    }
}
