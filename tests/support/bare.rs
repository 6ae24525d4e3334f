//! Builds shared objects with only needs and search paths, byte by byte, so that a test can build
//! thousands of them. Real loaders accept them.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use crate::support::Lab;

const DT_HASH: u64 = 4;
const DT_STRTAB: u64 = 5;
const DT_SYMTAB: u64 = 6;
const DT_STRSZ: u64 = 10;
const DT_SONAME: u64 = 14;
const DT_RPATH: u64 = 15;
const DT_RUNPATH: u64 = 29;
/// Sizes of the header with two program headers, a dynamic entry, the only symbol and the hash
/// table.
const HEADERS: u64 = 64 + 2 * 56;
const ENTRY: u64 = 16;
const SYMBOL: u64 = 24;
const HASH: u64 = 16;

pub struct Bare {
    name: String,
    strings: Vec<u8>,
    dynamic: Vec<(u64, u64)>,
}

impl Bare {
    /// A library with this file name and DT_SONAME.
    pub fn new(name: &str, needs: &[String]) -> Self {
        let mut bare = Self { name: name.to_owned(), strings: vec![0], dynamic: Vec::new() };
        for need in needs {
            bare.add(1, need);
        }
        bare.add(DT_SONAME, name);
        bare
    }

    pub fn runpath(mut self, path: &str) -> Self {
        self.add(DT_RUNPATH, path);
        self
    }

    pub fn rpath(mut self, path: &str) -> Self {
        self.add(DT_RPATH, path);
        self
    }

    fn add(&mut self, tag: u64, text: &str) {
        self.dynamic.push((tag, self.strings.len() as u64));
        self.strings.extend(text.as_bytes());
        self.strings.push(0);
    }

    /// Writes the library into a directory of the laboratory.
    pub fn write(self, lab: &Lab, dir: &str) {
        let name = format!("{dir}/{}", self.name);
        lab.write(&name, self.bytes());
    }

    fn bytes(mut self) -> Vec<u8> {
        let size = (self.dynamic.len() as u64 + 5) * ENTRY;
        let symbols = HEADERS + size;
        let hash = symbols + SYMBOL;
        let strings = hash + HASH;
        let whole = strings + self.strings.len() as u64;
        let tables = [(DT_HASH, hash), (DT_STRTAB, strings), (DT_SYMTAB, symbols)];
        self.dynamic.extend(tables);
        self.dynamic.extend([(DT_STRSZ, self.strings.len() as u64), (0, 0)]);
        let mut out = b"\x7fELF\x02\x01\x01".to_vec();
        out.resize(16, 0);
        // ET_DYN, EM_X86_64
        put(&mut out, 2, &[3, 62]);
        put(&mut out, 4, &[1]);
        put(&mut out, 8, &[0, 64, 0]);
        put(&mut out, 4, &[0]);
        put(&mut out, 2, &[64, 56, 2, 0, 0, 0]);
        // PT_LOAD of everything, PT_DYNAMIC; both readable and writable.
        for (kind, start, size, align) in [(1, 0, whole, 4096), (2, HEADERS, size, 8)] {
            put(&mut out, 4, &[kind, 6]);
            put(&mut out, 8, &[start, start, start, size, size, align]);
        }
        for (tag, value) in self.dynamic {
            put(&mut out, 8, &[tag, value]);
        }
        // The null symbol, and a hash table with one bucket.
        put(&mut out, 8, &[0, 0, 0]);
        put(&mut out, 4, &[1, 1, 0, 0]);
        out.extend(self.strings);
        out
    }
}

fn put(out: &mut Vec<u8>, size: usize, values: &[u64]) {
    for value in values {
        out.extend(&value.to_le_bytes()[..size]);
    }
}
