//! ELF files as the dynamic loader sees them: the header, the program headers, and the tables to
//! which PT_DYNAMIC points. Loaders ignore section headers, which may be absent or wrong. Only
//! these modules read section headers: `sections` for large images, `segments` for interface stubs,
//! and `symtab` and `patchable` for `fix`. Relocatable objects, core files and files without
//! PT_DYNAMIC are recognised, but not read further.
//!
//! [`read()`] makes an [`Object`].

mod chains;
mod dlopen_note;
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
mod library_names;
pub mod machine;
mod many;
mod musl;
mod openers;
pub mod patchable;
mod pieces;
mod property;
mod read;
mod references;
mod release;
pub mod relocs;
pub mod sections;
mod segments;
pub mod start_code;
mod strings;
mod symbol_index;
pub mod symtab;
pub mod tables;
mod target;
mod versions;

pub use dlopen_note::{DlopenNotes, RequiredLibrary};
pub use foreign::Foreign;
pub use header::{Header, Ident, LoaderReaction};
pub use library_names::{identifiers, library_names};
pub use read::read;
pub use release::{GlibcVersion, MuslVersion};
pub use sections::Section;
pub use segments::Segment;
pub use symbol_index::SymbolIndex;
pub use tables::Tables;
pub use target::Target;
pub use versions::{EVERY_VERSION, FIRST_VERSION, NeedFile, VersionDef, VersionNeed, Versions};

use super::Defect;

/// The facts that the reader keeps of one ELF file, such as its header, needs, search paths and
/// references. No field borrows from the file.
#[derive(Debug)]
pub struct Object {
    /// The ELF header.
    pub header: Header,
    /// The kind of the file for a loader: program, shared object, or a kind that loaders do not
    /// map.
    pub role: Role,
    /// The kind of foreign file, such as an object of FreeBSD. `None` for all other objects.
    /// [`Foreign::at`] also considers the path.
    pub foreign: Option<Foreign>,
    /// The message with which the loader refuses to map the object as a library (`elf/dl-load.c`,
    /// `_dl_map_object_from_fd`). `None` if all checks pass, and for files in which the reader does
    /// not reach these checks, such as relocatable objects.
    pub refused: Option<&'static str>,
    /// The message with which the loader refuses the object because of its segments. `None` if all
    /// checks pass, and for files without a dynamic section. The loader or the kernel also refuses
    /// an entry point with these segments.
    pub unmappable: Option<&'static str>,
    /// The program headers of a program or shared object. Empty for relocatable objects, core files
    /// and device code, and if the headers are truncated or have a wrong entry size.
    pub segments: Box<[Segment]>,
    /// The loaded sections of an object with a large image ([`sections::LARGE`]). Empty for other
    /// objects, and if the section headers cannot be read.
    pub sections: Box<[Section]>,
    /// The path of the loader from PT_INTERP. `None` without PT_INTERP, or if its content has no
    /// NUL.
    pub interp: Option<Str>,
    /// DT_NEEDED, DT_AUXILIARY and DT_FILTER in the order of the dynamic section.
    pub needs: Box<[DynamicNeed]>,
    /// Number of further needs if the object has more than 100,000. Only the first 100,000 are in
    /// `needs`. The reader counts the others without reading their names.
    pub needs_left_out: usize,
    /// DT_SONAME. If the tag is repeated, the last one is used, as in `elf/get-dynamic-info.h`.
    pub soname: Option<Str>,
    /// DT_RPATH as written, even if DT_RUNPATH makes the loader ignore it.
    pub rpath: Option<Str>,
    /// DT_RUNPATH as written. With this tag, the loader ignores DT_RPATH.
    pub runpath: Option<Str>,
    /// True if DT_FLAGS_1 has DF_1_NODEFLIB: the loader does not search its default directories.
    pub nodeflib: bool,
    /// True if DT_FLAGS_1 has DF_1_NOOPEN: dlopen refuses the object.
    pub noopen: bool,
    /// True if DT_FLAGS_1 has DF_1_PIE: the object is a position-independent program.
    pub pie: bool,
    /// True if DT_FLAGS_1 has DF_1_INTERPOSE (`ld -z interpose`): the object is meant to replace
    /// symbols of other objects.
    pub interposes: bool,
    /// True for DT_BIND_NOW, DF_BIND_NOW or DF_1_NOW: every reference is bound at load.
    pub bind_now: bool,
    /// True for DT_SYMBOLIC or DF_SYMBOLIC: lookups search the object itself first.
    pub symbolic: bool,
    /// True for DT_TEXTREL or DF_TEXTREL: relocations lie in segments that are not writable.
    pub textrel: bool,
    /// True if a note of the object (`-mno-direct-extern-access`) forbids copy relocations of its
    /// data, and PLT slots as addresses of its functions.
    pub indirect_access: bool,
    /// The x86 ISA level that a note of the object demands of the processor, minus one. 0 without
    /// such a note.
    pub isa_level: u8,
    /// True if DT_RELR is present: glibc requires the GLIBC_ABI_DT_RELR marker
    /// (`elf/dl-version.c`).
    pub relr: bool,
    /// The number of functions in DT_INIT_ARRAY or in DT_FINI_ARRAY, whichever is larger.
    pub constructors: u32,
    /// True if the object is linked as a program. Its data may then be the target of copy
    /// relocations.
    pub may_copy: bool,
    /// True if the object refers to a function that opens plugins, such as dlopen.
    pub opens_plugins: bool,
    /// The symbol versions that the object needs (DT_VERNEED) and defines (DT_VERDEF).
    pub versions: Versions,
    /// References that the loader may have to bind, in the order of the symbol table.
    pub references: Box<[Reference]>,
    /// The strings of the object, such as the names of `references`, each with its NUL.
    pub text: Box<[u8]>,
    /// The symbol, string, version and hash tables, for lookups in this object. `None` if the
    /// reader dropped them after reading.
    pub tables: Option<Tables>,
    /// Positions of the relocation tables, which are read on demand.
    pub relocations: relocs::RelocationTables,
    /// The libraries that notes of the object declare for dlopen. `None` if the notes are not read,
    /// or if they have neither libraries nor defects.
    pub dlopen_notes: Option<Box<DlopenNotes>>,
    /// Defects found while the file was read, such as a table that ends beyond the end of the file.
    pub defects: Vec<Defect>,
}

/// A string in [`Object::text`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Str {
    start: u32,
    len: u32,
}

/// The role of an ELF file for a loader.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Role {
    /// A file with PT_INTERP and a dynamic section, which the kernel starts through a loader.
    Program,
    /// A shared object, or a program with a dynamic section and without PT_INTERP.
    Shared,
    /// A file of type ET_EXEC or ET_DYN without a dynamic section.
    Static,
    /// A relocatable object (ET_REL), which only linkers read.
    Relocatable,
    /// A core file (ET_CORE).
    Core,
    /// Separate debug data of another file. Its PT_DYNAMIC has no bytes in the file.
    Debug,
    /// Code that never runs under a loader: code for a GPU, or BPF.
    Device,
    /// A file with a damaged header, or of a type that neither loaders nor linkers know.
    Broken,
}

/// The dynamic tag that names a library. The tag determines when the loader loads the library, and
/// if the library may be missing (`elf/dl-deps.c`).
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum NeedKind {
    /// DT_NEEDED: an ordinary dependency, which must be found.
    Needed,
    /// DT_AUXILIARY: loaded before the object that names it; may be missing.
    Auxiliary,
    /// DT_FILTER: loaded before the object that names it; must be found.
    Filter,
}

/// One library that the dynamic section names.
#[derive(Clone, Copy, Debug)]
pub struct DynamicNeed {
    /// The tag: DT_NEEDED, DT_AUXILIARY or DT_FILTER.
    pub kind: NeedKind,
    /// The name, with dynamic string tokens not expanded.
    pub name: Str,
}

/// A symbol that a relocation may look up: an undefined global or weak symbol, or one of the few
/// kinds of defined symbols in [`RefKind`]. The relocations that use the symbol are read later.
#[derive(Clone, Copy, Debug)]
pub struct Reference {
    /// Offset of the name in [`Object::text`].
    name: u32,
    len: NameLen,
    /// GNU hash of the name.
    pub hash: u32,
    /// Index in the dynamic symbol table.
    pub symbol: SymbolIndex,
    /// Version index: the symbol's entry in DT_VERSYM without its top bit.
    pub version: u16,
    /// The kind of reference, such as strong or weak.
    pub kind: RefKind,
}

/// The length of a reference's name in 16 bits, because there are millions of references.
#[derive(Clone, Copy, Debug)]
struct NameLen(u16);

impl NameLen {
    /// Marks a name of 65,535 bytes or more. The name ends at its NUL.
    const OF_STRING: u16 = u16::MAX;

    fn of(name: &[u8]) -> Self {
        Self(u16::try_from(name.len()).unwrap_or(Self::OF_STRING))
    }
}

/// The kind of a reference, known before its relocations are read.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RefKind {
    /// Undefined and strong: it must bind.
    Strong,
    /// Undefined and weak: it may stay unbound.
    Weak,
    /// An undefined function with a value. In a program that is not position-independent, the value
    /// is the address of a PLT slot. All objects use that slot as the address of the function.
    Canonical,
    /// Defined data of a program: perhaps the target of a copy relocation.
    Copy {
        /// st_size, which is compared with the st_size of the library's definition.
        size: CopySize,
        /// True for STB_WEAK: no library has to define the symbol.
        weak: bool,
    },
    /// Defined in the object, but a lookup in the object's hash table does not find the definition.
    Unhashed,
}

/// The size in bytes of a program's data symbol, stored in 56 bits. No address space has more than
/// 2^56 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct CopySize([u8; 7]);

impl CopySize {
    /// `None` if `size` exceeds any address space.
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
    /// An object with a header, and with default values in all other fields.
    fn empty(header: Header) -> Self {
        Self {
            header,
            role: Role::Broken,
            foreign: None,
            refused: None,
            unmappable: None,
            segments: Box::default(),
            sections: Box::default(),
            interp: None,
            needs: Box::default(),
            needs_left_out: 0,
            soname: None,
            rpath: None,
            runpath: None,
            nodeflib: false,
            noopen: false,
            pie: false,
            interposes: false,
            bind_now: false,
            symbolic: false,
            textrel: false,
            indirect_access: false,
            isa_level: 0,
            relr: false,
            constructors: 0,
            may_copy: false,
            opens_plugins: false,
            versions: Versions::default(),
            references: Box::default(),
            text: Box::default(),
            tables: None,
            relocations: relocs::RelocationTables::default(),
            dlopen_notes: None,
            defects: Vec::new(),
        }
    }

    /// The object for a file without a valid header.
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

    /// The indices of all references. They fit in 32 bits, because symbol indices do.
    pub(crate) fn reference_indices(&self) -> std::ops::Range<u32> {
        let count = u32::try_from(self.references.len());
        0..count.expect("no more references than symbols")
    }

    /// The name of a reference of this object, without the NUL.
    pub fn reference_name(&self, reference: &Reference) -> &[u8] {
        let start = reference.name as usize;
        match reference.len.0 {
            NameLen::OF_STRING => super::c_string(&self.text, start).unwrap_or_default(),
            len => self.text.get(start..start + usize::from(len)).unwrap_or_default(),
        }
    }

    /// The name of a symbol. Empty if the symbol is not a reference and the tables were not kept.
    pub fn symbol_name(&self, symbol: SymbolIndex) -> &[u8] {
        if let Ok(at) = self.references.binary_search_by_key(&symbol, |r| r.symbol) {
            return self.reference_name(&self.references[at]);
        }
        self.tables.as_ref().and_then(|tables| tables.symbol(symbol)).map_or(&[], |s| s.name)
    }

    /// True if the symbol with this type and value (st_value) has no bytes in the file, so that its
    /// initial value is zero.
    pub fn is_zero_filled(&self, kind: u8, value: u64) -> bool {
        let is_thread_local = kind == object::elf::STT_TLS.0;
        self.segments.iter().any(|segment| {
            // The value of a thread-local symbol is an offset.
            let into = match segment.kind {
                kind if kind == object::elf::PT_TLS.0 => is_thread_local.then_some(value),
                kind if kind == object::elf::PT_LOAD.0 && !is_thread_local => {
                    value.checked_sub(segment.vaddr)
                }
                _ => None,
            };
            into.is_some_and(|into| segment.filesz <= into && into < segment.memsz)
        })
    }

    /// The bytes of DT_SONAME. `None` if the object has no soname.
    pub fn soname(&self) -> Option<&[u8]> {
        self.soname.map(|s| self.str(s))
    }

    /// The text of the search path that the loader uses: DT_RUNPATH, else DT_RPATH. `None` if both
    /// tags are absent, or if the text is empty (`elf/dl-load.c`, `decompose_rpath`).
    pub fn search_path(&self) -> Option<&[u8]> {
        let text = self.str(self.runpath.or(self.rpath)?);
        Some(text).filter(|text| !text.is_empty())
    }

    /// The bytes of the path in PT_INTERP. `None` without PT_INTERP, or if its content has no NUL.
    pub fn interp(&self) -> Option<&[u8]> {
        self.interp.map(|s| self.str(s))
    }

    /// The message with which the loader refuses this object as an entry point. `None` if the
    /// loader accepts the object.
    pub fn refused_as_main(&self) -> Option<&'static str> {
        match self.header.reaction(self.header.target()) {
            LoaderReaction::Fatal(text) => Some(text),
            LoaderReaction::Accepted
            | LoaderReaction::WrongClass
            | LoaderReaction::WrongMachine => self.unmappable,
        }
    }

    /// True if DT_INIT_ARRAY or DT_FINI_ARRAY has functions that are not from GCC's start files.
    /// The start files add one function to each array. A reference to `_ITM_registerTMCloneTable`
    /// shows that the start files are linked (`crtstuff.c`). [`start_code`] checks the functions of
    /// DT_INIT and DT_FINI.
    pub fn has_constructors(&self) -> bool {
        let names = || self.references.iter().map(|reference| self.reference_name(reference));
        let has_start_file = || names().any(|name| name == b"_ITM_registerTMCloneTable");
        self.constructors > 1 || self.constructors == 1 && !has_start_file()
    }

    /// True if a linker accepts the object as a shared library. Some libraries (`libc.so.6`) have
    /// PT_INTERP, as programs do. A soname marks them as libraries.
    pub fn is_library(&self) -> bool {
        let is_named = self.header.kind == object::elf::ET_DYN.0 && self.soname().is_some();
        self.role == Role::Shared || self.role == Role::Program && is_named
    }

    /// True if the object can be the entry point of a loader: it has a dynamic section.
    pub fn is_dynamic(&self) -> bool {
        matches!(self.role, Role::Program | Role::Shared)
    }
}

/// Collects the strings of an object in one buffer.
#[derive(Default)]
struct TextBuilder {
    text: Vec<u8>,
    /// Upper bound of the collected bytes. In a hostile file, all names may be the same long
    /// string. Without this bound, the builder would copy that string for each name.
    most: usize,
    /// True if a string was dropped because it did not fit.
    overrun: bool,
}

impl TextBuilder {
    fn add(&mut self, bytes: &[u8]) -> Str {
        let place = (u32::try_from(self.text.len()), u32::try_from(bytes.len()));
        // Start and length of a string must fit in 32 bits.
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
