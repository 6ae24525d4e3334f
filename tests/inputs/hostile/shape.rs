//! The random content of a generated ELF file: intact files of many machines, in forms that linkers
//! seldom or never write and that loaders accept. `build` writes the bytes.

use super::random::Random;

/// A machine for which files are written.
#[derive(Clone, Copy, Debug)]
pub struct Machine {
    /// e_machine
    pub number: u16,
    pub wide: bool,
    pub big: bool,
    /// e_flags
    pub flags: u32,
    /// Relocations hold addends.
    pub rela: bool,
    /// The relocation type of a slot of the PLT.
    pub slot: u32,
}

const fn machine(number: u16, wide: bool, big: bool, flags: u32, rela: bool, slot: u32) -> Machine {
    Machine { number, wide, big, flags, rela, slot }
}

pub const X86_64: Machine = machine(62, true, false, 0, true, 7);

/// Machines whose tables have the common form: without MIPS, and without those with 64-bit hash
/// words.
pub const MACHINES: [Machine; 12] = [
    X86_64,
    machine(3, false, false, 0, false, 7),
    machine(183, true, false, 0, true, 1026),
    machine(183, true, true, 0, true, 1026),
    machine(40, false, false, 0x0500_0400, false, 22),
    machine(243, true, false, 5, true, 5),
    machine(21, true, true, 1, true, 21),
    machine(21, true, false, 2, true, 21),
    machine(20, false, true, 0, true, 21),
    machine(2, false, true, 0, true, 21),
    machine(258, true, false, 0x43, true, 5),
    machine(62, false, false, 0, true, 7),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hash {
    None,
    Sysv,
    Gnu,
    Both,
}

/// A symbol that others may find.
#[derive(Clone, Debug)]
pub struct Definition {
    pub name: String,
    /// STT_*
    pub kind: u8,
    pub weak: bool,
    /// Index in `Shape::defined_versions`.
    pub version: Option<usize>,
}

#[derive(Clone, Debug)]
pub struct Reference {
    pub name: String,
    pub weak: bool,
    /// Index in `Shape::needed_versions`.
    pub version: Option<usize>,
}

/// A part of a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    ProgramHeaders,
    Interp,
    Note,
    SysvHash,
    GnuHash,
    Symbols,
    Strings,
    Versym,
    Verneed,
    Verdef,
    Relocations,
    Got,
    Dynamic,
    /// Behind everything that is loaded.
    SectionNames,
    SectionHeaders,
}

/// The content of a file.
#[derive(Clone, Debug)]
pub struct Shape {
    pub machine: Machine,
    /// ET_EXEC instead of ET_DYN.
    pub fixed: bool,
    pub interp: Option<&'static str>,
    pub needs: Vec<String>,
    pub soname: Option<String>,
    pub runpath: Option<String>,
    pub rpath: Option<String>,
    pub definitions: Vec<Definition>,
    pub references: Vec<Reference>,
    pub defined_versions: Vec<String>,
    /// Versions needed of the first need.
    pub needed_versions: Vec<String>,
    pub hash: Hash,
    pub buckets: usize,
    /// Parts in file order, each with the number of padding bytes before it.
    pub order: Vec<(Part, usize)>,
    /// The address of the first byte.
    pub base: u64,
    /// Index in `order` of the first part in the second PT_LOAD.
    pub split: Option<usize>,
    pub sections: bool,
    /// Tags that a loader ignores, with their values, at the start or the end.
    pub tags: Vec<(u64, u64)>,
    pub tags_first: bool,
    /// Entries of DT_NULL at the end.
    pub nulls: usize,
    /// Number of PT_NOTE headers, and true if other headers that a loader skips come first.
    pub notes: usize,
    pub others: Vec<u32>,
    /// Bytes behind the last part.
    pub tail: usize,
    /// Unused bytes at the end of the string table.
    pub loose: Vec<u8>,
    pub osabi: u8,
}

/// The loader of this machine.
pub const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

const PARTS: [Part; 13] = [
    Part::ProgramHeaders,
    Part::Interp,
    Part::Note,
    Part::SysvHash,
    Part::GnuHash,
    Part::Symbols,
    Part::Strings,
    Part::Versym,
    Part::Verneed,
    Part::Verdef,
    Part::Relocations,
    Part::Got,
    Part::Dynamic,
];

impl Shape {
    /// A plain library of a machine, with only its name.
    pub fn library(machine: Machine, soname: &str) -> Self {
        Self {
            machine,
            fixed: false,
            interp: None,
            needs: Vec::new(),
            soname: Some(soname.to_owned()),
            runpath: None,
            rpath: None,
            definitions: Vec::new(),
            references: Vec::new(),
            defined_versions: Vec::new(),
            needed_versions: Vec::new(),
            hash: Hash::Gnu,
            buckets: 1,
            order: PARTS.map(|part| (part, 0)).to_vec(),
            base: 0,
            split: None,
            sections: false,
            tags: Vec::new(),
            tags_first: false,
            nulls: 1,
            notes: 0,
            others: Vec::new(),
            tail: 0,
            loose: Vec::new(),
            osabi: 0,
        }
    }

    /// An intact file, and the library beside it that it needs.
    pub fn draw(random: &mut Random) -> (Self, Option<Self>) {
        let machine = if random.chance(50) { X86_64 } else { *random.pick(&MACHINES) };
        let mut shape = Self::library(machine, "libsubject.so.1");
        if random.chance(20) {
            shape.soname = None;
        }
        if machine.number == X86_64.number && machine.wide && random.chance(25) {
            shape.interp = Some(LOADER);
            shape.soname = None;
            shape.fixed = random.chance(50);
        }
        shape.draw_definitions(random);
        let other = random.chance(60).then(|| shape.draw_need(random));
        shape.hash = random.weighted(&[(50, Hash::Gnu), (25, Hash::Sysv), (25, Hash::Both)]);
        if shape.definitions.is_empty() && other.is_none() && random.chance(30) {
            shape.hash = Hash::None;
        }
        shape.buckets = random.between(1, shape.definitions.len().max(1) + 2);
        shape.draw_layout(random);
        (shape, other)
    }

    fn draw_definitions(&mut self, random: &mut Random) {
        let count = random.weighted(&[(10, 0), (60, 8), (25, 60), (5, 1500)]);
        let count = random.between(count / 4, count);
        if count > 0 && random.chance(40) {
            let versions = random.between(1, 4);
            self.defined_versions = (0..versions).map(|at| format!("SUBJECT_{at}")).collect();
        }
        self.definitions = (0..count)
            .map(|at| Definition {
                name: name(random, at),
                kind: *random.pick(&[1, 2, 2, 2, 6]),
                weak: random.chance(10),
                version: (!self.defined_versions.is_empty() && random.chance(80))
                    .then(|| random.below(self.defined_versions.len())),
            })
            .collect();
    }

    /// The needed library: it defines all symbols to which the file refers.
    fn draw_need(&mut self, random: &mut Random) -> Self {
        let mut other = Self::library(self.machine, "libother.so.2");
        self.needs.push("libother.so.2".to_owned());
        let path = "$ORIGIN".to_owned();
        if random.chance(70) {
            self.runpath = Some(path);
        } else {
            self.rpath = Some(path);
        }
        if random.chance(50) {
            let versions = random.between(1, 3);
            self.needed_versions = (0..versions).map(|at| format!("OTHER_{at}")).collect();
            other.defined_versions.clone_from(&self.needed_versions);
        }
        for at in 0..random.between(0, 12) {
            let name = format!("other_{at}");
            let version = (!self.needed_versions.is_empty() && random.chance(60))
                .then(|| random.below(self.needed_versions.len()));
            other.definitions.push(Definition {
                name: name.clone(),
                kind: 2,
                weak: false,
                version,
            });
            self.references.push(Reference { name, weak: random.chance(20), version });
        }
        // A weak reference may stay without a definition.
        if random.chance(30) {
            let name = "nowhere".to_owned();
            self.references.push(Reference { name, weak: true, version: None });
        }
        other
    }

    fn draw_layout(&mut self, random: &mut Random) {
        if random.chance(50) {
            random.shuffle(&mut self.order);
        }
        for (part, before) in &mut self.order {
            // Program headers need no alignment that a loader asks for, but linkers give it.
            let most = if *part == Part::ProgramHeaders { 8 } else { 40 };
            *before = random.weighted(&[(60, 0), (30, most), (8, 4096), (2, 65536)]);
        }
        self.base =
            if self.fixed { 0x40_0000 } else { random.weighted(&[(70, 0), (30, 0x1000_0000)]) };
        self.split = random.chance(60).then(|| random.between(1, self.order.len() - 1));
        self.sections = random.chance(50);
        for _ in 0..random.weighted(&[(60, 0), (40, 5)]) {
            // DT_DEBUG, DT_CHECKSUM, and numbers of systems and processors that mean nothing here.
            let tag = *random.pick(&[21, 0x6fff_fdf8, 0x6000_0123, 0x6fff_f123, 0x7fff_ff00, 0x55]);
            self.tags.push((tag, random.next() & 0xffff_ffff));
        }
        self.tags_first = random.chance(50);
        self.nulls = random.weighted(&[(60, 1), (40, 6)]);
        self.notes = random.weighted(&[(60, 0), (30, 1), (10, 40)]);
        if random.chance(30) {
            // PT_NULL, PT_SHLIB, PT_PHDR-less ones of systems and processors.
            self.others = vec![0, 5, 0x6474_e550, 0x6474_e552, 0x6000_0001];
        }
        self.tail = random.weighted(&[(70, 0), (20, 7), (10, 65536)]);
        if random.chance(30) {
            self.loose = b"unused\0\0\xff\xfe.so\0".repeat(random.between(1, 20));
        }
        self.osabi = random.weighted(&[(80, 0), (20, 3)]);
    }
}

fn name(random: &mut Random, at: usize) -> String {
    match random.below(20) {
        0 => format!("{}{at}", "long_name_".repeat(random.between(10, 60))),
        1 => format!("_ZN7subject4fn{at:02}Ev"),
        2 => format!("d\u{e9}finition_{at}"),
        _ => format!("subject_{at}"),
    }
}
