//! ELF files, as the dynamic loader sees them: the header, the program headers and what
//! PT_DYNAMIC points to. Section headers are never read: a file runs without them and they may
//! lie. Relocatable objects, cores and files without PT_DYNAMIC are recognised and not read on.
//!
//! `read` makes an [`Object`]; `facts::collect` calls it.

mod chains;
mod dynamic;
pub mod edit;
mod exports;
pub mod find;
mod foreign;
mod got;
pub mod hash;
mod hash_table;
mod header;
pub mod interpreter;
pub mod machine;
mod many;
mod musl;
mod pieces;
mod read;
mod references;
mod release;
pub mod relocs;
mod segments;
mod strings;
pub mod symtab;
pub mod tables;
mod target;
mod versions;

pub use foreign::Foreign;
pub use header::{Header, Ident, Verdict};
pub use read::read;
pub use release::{GlibcVersion, MuslVersion};
pub use segments::Segment;
pub use tables::Tables;
pub use target::Target;
pub use versions::{EVERY_VERSION, NeedFile, VersionDef, VersionNeed, Versions};

use super::Defect;

/// The part of a file that matters to the loader, owned and small.
#[derive(Debug)]
pub struct Object {
    /// The ELF header.
    pub header: Header,
    /// What the object is to a loader.
    pub role: Role,
    /// Why it is not this system's, if it is not; [`Foreign::at`] also asks its path.
    pub foreign: Option<Foreign>,
    /// The text the loader stops with when it maps the object as a library, if it does
    /// (`elf/dl-load.c`, `_dl_map_object_from_fd`).
    pub refused: Option<&'static str>,
    /// The same for the object that a loader starts from.
    pub unmappable: Option<&'static str>,
    /// Its program headers, if it has what a loader can use.
    pub segments: Box<[Segment]>,
    /// PT_INTERP.
    pub interp: Option<Str>,
    /// DT_NEEDED, DT_AUXILIARY and DT_FILTER in the order of the dynamic section.
    pub needs: Box<[Need]>,
    /// How many more there are than are read.
    pub needs_left_out: usize,
    /// DT_SONAME; of repeated tags the last, as in `elf/get-dynamic-info.h`.
    pub soname: Option<Str>,
    /// DT_RPATH as written, also where DT_RUNPATH makes the loader forget it.
    pub rpath: Option<Str>,
    /// DT_RUNPATH.
    pub runpath: Option<Str>,
    /// DT_FLAGS_1 has DF_1_NODEFLIB.
    pub nodeflib: bool,
    /// DT_FLAGS_1 has DF_1_NOOPEN: dlopen refuses it.
    pub noopen: bool,
    /// DT_BIND_NOW, DF_BIND_NOW or DF_1_NOW: every reference is bound at load.
    pub bind_now: bool,
    /// DT_SYMBOLIC or DF_SYMBOLIC: the object looks into itself first.
    pub symbolic: bool,
    /// DT_RELR is there: glibc wants the GLIBC_ABI_DT_RELR marker (`elf/dl-version.c`).
    pub relr: bool,
    /// It is linked as a program, so that its data may be the target of copy relocations.
    pub may_copy: bool,
    /// Needed and defined versions.
    pub versions: Versions,
    /// What may have to be bound, with GNU hashes; see [`Reference`].
    pub references: Box<[Reference]>,
    /// Names of `references` and all other strings, each with its NUL.
    pub text: Box<[u8]>,
    /// The dynamic tables, where the object may be asked for definitions.
    pub tables: Option<Tables>,
    /// Where the relocation tables lie, read on demand.
    pub relocations: relocs::Places,
    /// What is wrong with the file.
    pub defects: Vec<Defect>,
}

/// A string in [`Object::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str {
    start: u32,
    len: u32,
}

/// What an ELF file is to a loader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// It has PT_INTERP and a dynamic section: the kernel starts it through a loader.
    Program,
    /// A shared object, or a program without PT_INTERP that has a dynamic section.
    Shared,
    /// An executable without dynamic section.
    Static,
    /// ET_REL.
    Relocatable,
    /// ET_CORE.
    Core,
    /// PT_DYNAMIC without file content: the debug companion of another file.
    Debug,
    /// Code for a GPU or another machine that no loader of a host maps.
    Device,
    /// A file that cannot be read as an ELF file of a known kind.
    Broken,
}

/// How a need is treated when it is found or missing (`elf/dl-deps.c`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NeedKind {
    /// DT_NEEDED
    Needed,
    /// DT_AUXILIARY: comes before the object that names it; may be missing.
    Auxiliary,
    /// DT_FILTER: comes before the object that names it.
    Filter,
}

/// One library that the dynamic section names.
#[derive(Clone, Copy, Debug)]
pub struct Need {
    /// The tag.
    pub kind: NeedKind,
    /// The name, dynamic string tokens not replaced.
    pub name: Str,
}

/// A symbol that a relocation may ask for. All undefined global and weak symbols are here, and the
/// few defined ones whose lookup can fail; whether relocations use them is read later.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Offset of the name in [`Object::text`].
    name: u32,
    len: NameLen,
    /// GNU hash of the name.
    pub hash: u32,
    /// Index in the dynamic symbol table.
    pub symbol: u32,
    /// Version index, DT_VERSYM without its top bit.
    pub version: u16,
    /// What kind of reference it is.
    pub kind: RefKind,
}

/// The length of a reference's name in 16 bits, of which there are millions.
#[derive(Clone, Copy, Debug)]
struct NameLen(u16);

impl NameLen {
    /// As long as the string that begins there: hardly a name has so many bytes.
    const OF_STRING: u16 = u16::MAX;

    fn of(name: &[u8]) -> Self {
        Self(u16::try_from(name.len()).unwrap_or(Self::OF_STRING))
    }
}

/// What must be known of a reference before its relocations are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefKind {
    /// Undefined and strong: it must bind.
    Strong,
    /// Undefined and weak: it may stay unbound.
    Weak,
    /// An undefined function with a value: its address in a program that is not position
    /// independent.
    Canonical,
    /// Defined data of a program: perhaps the target of a copy relocation.
    Copy {
        /// `st_size`, to be held against the library's.
        size: CopySize,
        /// STB_WEAK: a library may lack it.
        weak: bool,
    },
    /// Defined, but not to be found through the object's own hash table.
    Unhashed,
}

/// The size of a program's data, in as many bits as a program can address.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySize([u8; 7]);

impl CopySize {
    /// Nothing for a size that no address space has room for.
    fn of(size: u64) -> Option<Self> {
        let [bytes @ .., 0] = size.to_le_bytes() else { return None };
        Some(Self(bytes))
    }

    /// The size in bytes.
    pub fn get(self) -> u64 {
        self.0.iter().rev().fold(0, |size, byte| size << 8 | u64::from(*byte))
    }
}

impl Object {
    /// An object of which no more than the header is known.
    fn empty(header: Header) -> Self {
        Self {
            header,
            role: Role::Broken,
            foreign: None,
            refused: None,
            unmappable: None,
            segments: Box::default(),
            interp: None,
            needs: Box::default(),
            needs_left_out: 0,
            soname: None,
            rpath: None,
            runpath: None,
            nodeflib: false,
            noopen: false,
            bind_now: false,
            symbolic: false,
            relr: false,
            may_copy: false,
            versions: Versions::default(),
            references: Box::default(),
            text: Box::default(),
            tables: None,
            relocations: relocs::Places::default(),
            defects: Vec::new(),
        }
    }

    /// A file that has no header.
    fn broken(head: &[u8], defect: Defect) -> Self {
        let mut object = Self::empty(Header {
            ident: Ident::new(head),
            is_64: false,
            big: false,
            kind: 0,
            machine: 0,
            version: 0,
            flags: 0,
            phoff: 0,
            phentsize: 0,
            phnum: 0,
            sections: (0, 0),
            phdrs_present: false,
        });
        object.defects.push(defect);
        object
    }

    /// The bytes of a string of this object.
    pub fn str(&self, s: Str) -> &[u8] {
        &self.text[s.start as usize..(s.start + s.len) as usize]
    }

    /// The indices of all references: each is a symbol, of which a number of 32 bits names any.
    pub(crate) fn reference_indices(&self) -> std::ops::Range<u32> {
        let count = u32::try_from(self.references.len());
        0..count.expect("no more references than symbols")
    }

    /// The name of a reference.
    pub fn reference_name(&self, reference: &Reference) -> &[u8] {
        let start = reference.name as usize;
        match reference.len.0 {
            NameLen::OF_STRING => super::c_string(&self.text, start).unwrap_or_default(),
            len => self.text.get(start..start + usize::from(len)).unwrap_or_default(),
        }
    }

    /// The name of a symbol, which the object may have been read without its tables for.
    pub fn symbol_name(&self, symbol: u32) -> &[u8] {
        if let Ok(at) = self.references.binary_search_by_key(&symbol, |r| r.symbol) {
            return self.reference_name(&self.references[at]);
        }
        self.tables.as_ref().and_then(|tables| tables.symbol(symbol)).map_or(&[], |s| s.name)
    }

    /// DT_SONAME's bytes.
    pub fn soname(&self) -> Option<&[u8]> {
        self.soname.map(|s| self.str(s))
    }

    /// PT_INTERP's bytes.
    pub fn interp(&self) -> Option<&[u8]> {
        self.interp.map(|s| self.str(s))
    }

    /// The text with which a loader refuses this object as the one it starts from.
    pub fn refused_as_main(&self) -> Option<&'static str> {
        match self.header.verdict(self.header.target()) {
            Verdict::Fatal(text) => Some(text),
            Verdict::Accepted | Verdict::WrongClass | Verdict::WrongMachine => self.unmappable,
        }
    }

    /// True if a loader can take the object as what it starts from.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.role, Role::Program | Role::Shared)
    }
}

/// Collects the strings of an object in one buffer.
#[derive(Default)]
struct TextBuilder {
    text: Vec<u8>,
    /// More than this is not collected: names may share bytes of a string table, and a hostile file
    /// makes them all share a long one.
    most: usize,
    /// Something was left out.
    overrun: bool,
}

impl TextBuilder {
    fn add(&mut self, bytes: &[u8]) -> Str {
        let place = (u32::try_from(self.text.len()), u32::try_from(bytes.len()));
        // Both ends of a string are numbers of 32 bits.
        let fits = |len: usize| len < self.most && u32::try_from(len).is_ok();
        let (Ok(start), Ok(len), true) = (place.0, place.1, fits(self.text.len() + bytes.len()))
        else {
            self.overrun = true;
            return Str { start: 0, len: 0 };
        };
        self.text.extend_from_slice(bytes);
        self.text.push(0);
        Str { start, len }
    }
}
