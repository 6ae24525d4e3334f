//! Relocatable objects of any class, byte order and machine, with harmful and harmless changes. An
//! object is a case alone and as a member of an archive.

use super::build::Out;
use super::case::{Case, Expected, Label};
use super::random::Random;
use super::shape::{MACHINES, Machine};

/// An object, and the offsets of its tables.
pub struct Object {
    pub bytes: Vec<u8>,
    pub machine: Machine,
    /// Global definitions, for the index of an archive.
    pub defined: Vec<String>,
    /// Index of the symbol table's header among the section headers.
    table: usize,
    headers: usize,
    symbols: (usize, usize),
    strings: (usize, usize),
    locals: usize,
}

const SECTIONS: usize = 6;

impl Object {
    /// An object whose definitions begin with `stem`.
    pub fn draw(random: &mut Random, machine: Machine, stem: &str) -> Self {
        let (wide, big) = (machine.wide, machine.big);
        let mut out = Out { bytes: Vec::new(), wide, big };
        let (locals, globals) = (random.between(1, 4), random.between(1, 12));
        let mut strings = vec![0];
        let mut defined = Vec::new();
        let mut symbols = Out { bytes: Vec::new(), wide, big };
        for at in 0..locals + globals {
            let name = format!("{stem}_{at}");
            let place = if at == 0 { 0 } else { strings.len() };
            if at > 0 {
                strings.extend(name.bytes().chain([0]));
            }
            let section = usize::from(at > 0 && !(at > locals && random.chance(30)));
            let bind = if at < locals { 0 } else { random.weighted(&[(80, 0x10), (20, 0x20)]) };
            if at >= locals && section > 0 {
                defined.push(name);
            }
            symbols.symbol(place, bind, section, 0);
        }
        // The header comes last, when all places are known.
        out.bytes.resize(if wide { 64 } else { 52 }, 0);
        let place = |out: &mut Out, bytes: &[u8], random: &mut Random| {
            let start =
                (out.bytes.len() + random.weighted(&[(70, 0), (30, 100)])).next_multiple_of(8);
            out.bytes.resize(start, 0);
            out.bytes.extend(bytes);
            (start, bytes.len())
        };
        let text = place(&mut out, &[0x90; 16], random);
        let names = b"\0.text\0.symtab\0.strtab\0.group\0.shstrtab\0";
        let (symbols, strings) = if random.chance(50) {
            let symbols = place(&mut out, &symbols.bytes, random);
            (symbols, place(&mut out, &strings, random))
        } else {
            let strings = place(&mut out, &strings, random);
            (place(&mut out, &symbols.bytes, random), strings)
        };
        let names = place(&mut out, names, random);
        let group = place(&mut out, &[0, 0, 0, 0], random);
        // Name, type, place, link, info and size of an entry; the table stands anywhere among them.
        let each = if wide { 24 } else { 16 };
        let table = random.between(2, 4);
        let link = if table == 2 { 3 } else { 2 };
        let symtab = (7, 2, symbols, link, locals, each);
        let strtab = (15, 3, strings, 0, 0, 0);
        let mut sections = vec![(0, 0, (0, 0), 0, 0, 0), (1, 1, text, 0, 0, 0), strtab];
        sections.insert(table.min(sections.len()), symtab);
        // SHT_GROUP with nothing but its flags.
        sections.insert(table.min(sections.len()), (23, 17, group, 0, 1, 4));
        let table = sections.iter().position(|section| section.1 == 2).expect("a symbol table");
        let strings_at = sections.iter().position(|section| section.2 == strings).expect("strings");
        sections[table].3 = strings_at;
        let group_at = sections.iter().position(|section| section.1 == 17).expect("a group");
        sections[group_at].3 = table;
        sections.push((30, 3, names, 0, 0, 0));
        let headers = out.bytes.len().next_multiple_of(8);
        out.bytes.resize(headers, 0);
        for (name, kind, (at, size), link, info, each) in &sections {
            out.words(&[*name, *kind]);
            out.longs(&[0, 0, *at as u64, *size as u64]);
            out.words(&[*link, *info]);
            out.longs(&[1, *each]);
        }
        let mut object =
            Self { bytes: out.bytes, machine, defined, table, headers, symbols, strings, locals };
        object.write_header();
        object
    }

    fn write_header(&mut self) {
        let machine = self.machine;
        let mut out = Out { bytes: Vec::new(), wide: machine.wide, big: machine.big };
        out.bytes.extend([0x7f, b'E', b'L', b'F']);
        out.bytes.extend([1 + u8::from(machine.wide), 1 + u8::from(machine.big), 1]);
        out.bytes.resize(16, 0);
        out.halfs(&[1, usize::from(machine.number)]);
        out.words(&[1]);
        out.longs(&[0, 0, self.headers as u64]);
        out.words(&[machine.flags as usize]);
        let (ehdr, shdr) = if machine.wide { (64, 64) } else { (52, 40) };
        out.halfs(&[ehdr, 0, 0, shdr, SECTIONS, SECTIONS - 1]);
        self.bytes[..out.bytes.len()].copy_from_slice(&out.bytes);
    }

    fn put(&mut self, at: usize, size: usize, value: u64) {
        let mut raw = value.to_le_bytes();
        if self.machine.big {
            raw[..size].reverse();
        }
        self.bytes[at..at + size].copy_from_slice(&raw[..size]);
    }

    /// Offset of a field of the symbol table's section header, given those of 64-bit and 32-bit
    /// files.
    fn table_field(&self, wide: usize, narrow: usize) -> usize {
        if self.machine.wide {
            self.headers + self.table * 64 + wide
        } else {
            self.headers + self.table * 40 + narrow
        }
    }

    fn word(&self) -> usize {
        if self.machine.wide { 8 } else { 4 }
    }

    fn symbol_size(&self) -> usize {
        if self.machine.wide { 24 } else { 16 }
    }
}

type Operation = fn(&mut Random, &mut Object) -> bool;

/// Operations by which a linker loses a part that it needs.
pub const HARM: &[(&str, Operation)] = &[
    ("object-symbols-beyond", |random, object| {
        let (at, size) = (object.table_field(24, 16), object.word());
        object.put(at, size, *random.pick(&[0x7fff_0000, 0xffff_fff0, u64::MAX - 7]));
        true
    }),
    ("object-symbols-size", |random, object| {
        let (at, size) = (object.table_field(32, 20), object.word());
        object.put(at, size, *random.pick(&[0x7fff_0000, 0xffff_fff0, u64::MAX - 7]));
        true
    }),
    ("object-link", |random, object| {
        object.put(object.table_field(40, 24), 4, *random.pick(&[0, 1, 77, 0xffff, 0xffff_ffff]));
        true
    }),
    ("object-info", |random, object| {
        object.put(object.table_field(44, 28), 4, *random.pick(&[1000, 0x7fff_ffff, 0xffff_ffff]));
        true
    }),
    ("object-entsize", |random, object| {
        let (at, size) = (object.table_field(56, 36), object.word());
        object.put(at, size, *random.pick(&[0, 1, 7, 0xffff]));
        true
    }),
    ("object-name", |random, object| {
        let globals = object.symbols.1 / object.symbol_size() - object.locals;
        let symbol = object.locals + random.below(globals);
        let at = object.symbols.0 + symbol * object.symbol_size();
        object.put(at, 4, *random.pick(&[0x7fff_0000, 0x0fff_fff0, object.strings.1 as u64]));
        true
    }),
    ("object-no-nul", |_, object| {
        let end = object.strings.0 + object.strings.1;
        object.bytes[end - 1] = b'x';
        true
    }),
    ("object-shentsize", |random, object| {
        let at = if object.machine.wide { 58 } else { 46 };
        object.put(at, 2, *random.pick(&[0, 1, 39, 65, 0xffff]));
        true
    }),
    ("object-shnum", |random, object| {
        let at = if object.machine.wide { 60 } else { 48 };
        object.put(at, 2, *random.pick(&[5000, 0xfeff, 0xff00]));
        true
    }),
    ("object-shoff", |random, object| {
        let (at, size) = (if object.machine.wide { 40 } else { 32 }, object.word());
        let end = object.bytes.len() as u64;
        object.put(at, size, *random.pick(&[end - 1, end + 64, 0x7fff_ffff, u64::MAX - 63]));
        true
    }),
    ("object-class", |random, object| {
        object.bytes[random.between(4, 5)] = *random.pick(&[0, 3, 0xff]);
        true
    }),
];

/// Operations by which a linker loses no part that it needs.
pub const ODD: &[(&str, Operation)] = &[
    ("object", |_, _| true),
    ("object-text-size", |random, object| {
        let text = object.headers + if object.machine.wide { 64 } else { 40 };
        object.put(text + 4, 4, *random.pick(&[8, 0x7000_0001, 0x6fff_4c00]));
        true
    }),
    ("object-shstrndx", |random, object| {
        let at = if object.machine.wide { 62 } else { 50 };
        object.put(at, 2, random.next() & 0xffff);
        true
    }),
    ("object-extended-count", |_, object| {
        // The number of sections stands in the first header.
        let (at, size) = (if object.machine.wide { 60 } else { 48 }, object.word());
        object.put(at, 2, 0);
        let place = object.headers + if object.machine.wide { 32 } else { 20 };
        object.put(place, size, SECTIONS as u64);
        true
    }),
    ("object-other", |random, object| {
        let place = if object.machine.wide { 16 } else { 8 };
        let at = object.symbols.0 + object.locals * object.symbol_size() + place;
        object.put(at, object.word(), random.next() & 0xffff);
        true
    }),
];

/// An object, and a label that says if the object is damaged.
pub fn draw(
    number: usize,
    random: &mut Random,
    machine: Machine,
    stem: &str,
) -> (&'static str, Object, Label) {
    let mut object = Object::draw(random, machine, stem);
    let (list, label) = if number % 3 == 2 {
        (ODD, Label::Clean)
    } else {
        (HARM, Label::Reported(Expected { rule: Some("malformed"), at: None }))
    };
    let (name, operation) = list[number / 3 % list.len()];
    operation(random, &mut object);
    (name, object, label)
}

/// The case of an object alone.
pub fn case(number: usize, random: &mut Random) -> Case {
    let machine = *random.pick(&MACHINES);
    let (operation, object, label) = draw(number, random, machine, "f");
    Case { operation, label, files: vec![("subject.o".to_owned(), object.bytes)] }
}
