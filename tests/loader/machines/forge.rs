//! Builds shared objects of any class and byte order, byte by byte: one PT_LOAD in which addresses
//! are offsets, a dynamic section, symbols, one hash table, relocations.

use linkaudit::format::elf::hash;

/// The header fields of a machine and ABI.
#[derive(Clone, Copy)]
pub(crate) struct Shape {
    pub(crate) machine: u16,
    pub(crate) wide: bool,
    pub(crate) big: bool,
    pub(crate) flags: u32,
}

/// A dynamic symbol.
#[derive(Clone)]
pub(crate) struct Symbol {
    pub(crate) name: &'static str,
    pub(crate) value: u64,
    pub(crate) section: u16,
    pub(crate) kind: u8,
    pub(crate) other: u8,
}

/// A global function of section 1.
pub(crate) fn function(name: &'static str, value: u64) -> Symbol {
    Symbol { name, value, section: 1, kind: 2, other: 0 }
}

/// The hash table.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Hash {
    Sysv32,
    Sysv64,
    /// With DT_GNU_HASH or DT_MIPS_XHASH as its tag; the latter has a translation table and lists
    /// symbols in reverse.
    Gnu,
    Xhash,
}

#[derive(Clone)]
pub(crate) struct Forge {
    pub(crate) shape: Shape,
    pub(crate) os_abi: u8,
    pub(crate) abi_version: u8,
    /// Address minus offset of the only PT_LOAD.
    pub(crate) skew: u64,
    pub(crate) interp: Option<String>,
    pub(crate) soname: Option<&'static str>,
    pub(crate) needed: Vec<&'static str>,
    pub(crate) runpath: Option<String>,
    pub(crate) symbols: Vec<Symbol>,
    pub(crate) hash: Hash,
    /// Values of r_info.
    pub(crate) infos: Vec<u64>,
    pub(crate) addends: bool,
    /// MIPS: the first symbol of the global offset table and the entries of the table.
    pub(crate) got: Option<(u64, Vec<u64>)>,
    /// Bytes at the end of the file.
    pub(crate) tail: Vec<u8>,
}

impl Forge {
    pub(crate) fn new(shape: Shape) -> Self {
        Self {
            shape,
            os_abi: 0,
            abi_version: 0,
            skew: 0,
            interp: None,
            soname: None,
            needed: Vec::new(),
            runpath: None,
            symbols: Vec::new(),
            hash: Hash::Sysv32,
            infos: Vec::new(),
            addends: true,
            got: None,
            tail: Vec::new(),
        }
    }

    /// The bytes of the file.
    pub(crate) fn build(&self) -> Vec<u8> {
        let mut out = Writer { bytes: Vec::new(), shape: self.shape };
        let (header, entry) = if self.shape.wide { (64, 56) } else { (52, 32) };
        out.bytes.resize(header + 3 * entry, 0);
        let mut strings = vec![0];
        let mut string = |text: &str| {
            let at = strings.len() as u64;
            strings.extend_from_slice(text.as_bytes());
            strings.push(0);
            at
        };
        let mut dynamic: Vec<(u64, u64)> = Vec::new();
        dynamic.extend(self.needed.iter().map(|name| (1, string(name))));
        dynamic.extend(self.soname.map(|name| (14, string(name))));
        dynamic.extend(self.runpath.as_ref().map(|path| (29, string(path))));
        let names: Vec<u64> = self.symbols.iter().map(|symbol| string(symbol.name)).collect();

        let interp = out.here();
        if let Some(path) = &self.interp {
            out.bytes.extend_from_slice(path.as_bytes());
            out.bytes.push(0);
        }
        let interp_len = out.here() - interp;
        dynamic.push((6, out.align() + self.skew));
        self.write_symbols(&mut out, &names);
        let (tag, at) = (self.hash_tag(), out.align() + self.skew);
        dynamic.push((tag, at));
        self.write_hash(&mut out);
        let count = self.symbols.len() as u64 + 1;
        if let Some((first, entries)) = &self.got {
            let at = out.align() + self.skew;
            dynamic.extend([
                (3, at),
                (0x7000_000a, 2),
                (0x7000_0011, count),
                (0x7000_0013, *first),
            ]);
            [0, 0].iter().chain(entries).for_each(|word| out.word(*word));
        } else if self.hash == Hash::Xhash {
            dynamic.push((0x7000_0011, count));
        }
        let relocations = out.align() + self.skew;
        for info in &self.infos {
            out.word(0);
            out.word(*info);
            if self.addends {
                out.word(0);
            }
        }
        if !self.infos.is_empty() {
            let size = out.here() + self.skew - relocations;
            let (table, length) = if self.addends { (7, 8) } else { (17, 18) };
            dynamic.extend([(table, relocations), (length, size)]);
        }
        dynamic.extend([(5, out.align() + self.skew), (10, strings.len() as u64), (0, 0)]);
        out.bytes.extend_from_slice(&strings);
        let at = out.align();
        for (tag, value) in &dynamic {
            out.word(*tag);
            out.word(*value);
        }
        let dynamic_len = out.here() - at;
        out.bytes.extend_from_slice(&self.tail);

        let mut head = Writer { bytes: Vec::new(), shape: self.shape };
        self.write_header(&mut head);
        head.segment(1, 0, out.here(), self.skew);
        head.segment(2, at, dynamic_len, self.skew);
        head.segment(if self.interp.is_some() { 3 } else { 0 }, interp, interp_len, self.skew);
        out.bytes[..head.bytes.len()].copy_from_slice(&head.bytes);
        out.bytes
    }

    fn write_header(&self, out: &mut Writer) {
        let Shape { machine, wide, big, flags } = self.shape;
        let (header, entry) = if wide { (64, 56) } else { (52, 32) };
        out.bytes.extend_from_slice(b"\x7fELF");
        out.bytes.extend([1 + u8::from(wide), 1 + u8::from(big), 1, self.os_abi, self.abi_version]);
        out.bytes.resize(16, 0);
        out.put(3, 2);
        out.put(machine.into(), 2);
        out.put(1, 4);
        out.word(0);
        out.word(header);
        out.word(0);
        out.put(flags.into(), 4);
        for half in [header, entry, 3, 0, 0, 0] {
            out.put(half, 2);
        }
    }

    fn write_symbols(&self, out: &mut Writer, names: &[u64]) {
        let size = if self.shape.wide { 24 } else { 16 };
        out.bytes.resize(out.bytes.len() + size, 0);
        for (symbol, name) in self.symbols.iter().zip(names) {
            let info = u64::from(1 << 4 | symbol.kind);
            let tail = [(info, 1), (symbol.other.into(), 1), (symbol.section.into(), 2)];
            let head: &[(u64, usize)] = &[(*name, 4)];
            let place: &[(u64, usize)] = if self.shape.wide {
                &[(symbol.value, 8), (8, 8)]
            } else {
                &[(symbol.value, 4), (8, 4)]
            };
            let parts: [&[(u64, usize)]; 3] =
                if self.shape.wide { [head, &tail, place] } else { [head, place, &tail] };
            parts.concat().into_iter().for_each(|(value, size)| out.put(value, size));
        }
    }

    fn hash_tag(&self) -> u64 {
        match self.hash {
            Hash::Sysv32 | Hash::Sysv64 => 4,
            Hash::Gnu => 0x6fff_fef5,
            Hash::Xhash => 0x7000_0036,
        }
    }

    /// One bucket with all symbols.
    fn write_hash(&self, out: &mut Writer) {
        let count = self.symbols.len() as u64 + 1;
        match self.hash {
            Hash::Sysv32 | Hash::Sysv64 => {
                let size = if self.hash == Hash::Sysv64 { 8 } else { 4 };
                // Buckets, chains; the chain runs upwards from symbol 1.
                let chain = (1..count).map(|next| (next + 1) % count);
                [1, count, u64::from(count > 1), 0]
                    .into_iter()
                    .chain(chain)
                    .for_each(|word| out.put(word, size));
            }
            Hash::Gnu | Hash::Xhash => {
                let reverse = self.hash == Hash::Xhash;
                let mut order: Vec<u64> = (1..count).collect();
                if reverse {
                    order.reverse();
                }
                // One bucket, symbols from 1 on, a filter of one word that lets all through.
                for word in [1, 1, 1, 0] {
                    out.put(word, 4);
                }
                out.word(u64::MAX);
                out.put(1, 4);
                for symbol in &order {
                    let index = usize::try_from(symbol - 1).expect("a small number");
                    let hash = hash::gnu(self.symbols[index].name.as_bytes());
                    let last = u32::from(Some(symbol) == order.last());
                    out.put((hash & !1 | last).into(), 4);
                }
                if reverse {
                    for symbol in &order {
                        out.put(*symbol, 4);
                    }
                }
            }
        }
    }
}

struct Writer {
    bytes: Vec<u8>,
    shape: Shape,
}

impl Writer {
    fn here(&self) -> u64 {
        self.bytes.len() as u64
    }

    fn align(&mut self) -> u64 {
        self.bytes.resize(self.bytes.len().next_multiple_of(8), 0);
        self.here()
    }

    fn put(&mut self, value: u64, size: usize) {
        if self.shape.big {
            self.bytes.extend_from_slice(&value.to_be_bytes()[8 - size..]);
        } else {
            self.bytes.extend_from_slice(&value.to_le_bytes()[..size]);
        }
    }

    /// An address, an offset, a tag.
    fn word(&mut self, value: u64) {
        self.put(value, if self.shape.wide { 8 } else { 4 });
    }

    fn segment(&mut self, kind: u64, offset: u64, size: u64, skew: u64) {
        self.put(kind, 4);
        if self.shape.wide {
            self.put(5, 4);
        }
        let address = offset + skew;
        for word in [offset, address, address, size, size] {
            self.word(word);
        }
        if !self.shape.wide {
            self.put(5, 4);
        }
        self.word(4096);
    }
}
