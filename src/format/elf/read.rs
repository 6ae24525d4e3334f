//! Reads one ELF file. The reader gets the headers from the first bytes, then the dynamic section,
//! then all dynamic tables with one `pread`. If the first bytes contain the tables, the reader
//! needs no `pread` for them. If a tool such as patchelf has moved a table, the reader needs two
//! calls of `pread`. Finally the reader copies the parts that an [`Object`] keeps.

use super::dlopen_note::{self, DlopenNotes};
use super::dynamic::Dynamic;
use super::foreign::{Foreign, MOST_NOTES};
use super::got;
use super::hash_table::HashTable;
use super::header::Header;
use super::pieces::{self, Piece, pieces, read_pieces};
use super::property;
use super::relocs::{self, RelocationTables, TablePosition};
use super::sections;
use super::segments::Segments;
use super::strings::{self, LateStrings, StringsLocation};
use super::tables::Tables;
use super::{
    DynamicNeed, Object, Reference, Role, Str, SymbolIndex, TextBuilder, Versions, machine,
    versions,
};
use crate::format::Reading;
use crate::format::{Defect, ReadError, Table, c_string, read_range};
use crate::tree::Handle;
use object::elf;
use std::borrow::Cow;
use std::cell::Cell;
use std::sync::Arc;

/// Part of the limit for the copied strings of an object, in bytes. The limit is this number plus
/// four times the size of the string table.
const ROOM: usize = 64 << 10;

/// Initial capacity of each thread's buffer for strings, in bytes. Growing the buffer later would
/// move it to pages that the thread has not touched yet.
const ROOM_AT_ONCE: usize = 1 << 20;

/// Size in bytes up to which the tables of a program are kept. Reading such small tables again
/// would cost more than the memory. Below `/usr`, 1,136 of 1,233 programs have smaller tables.
const SMALL: u64 = 16 << 10;

/// Number of exports above which a program's relocations are read to find its copied data.
const FEW_EXPORTS: usize = 100;

/// Reads the object in `file`, whose first bytes are `head`. A damaged file gives an object with
/// defects. The result is an error only if bytes of the file cannot be read.
pub fn read(file: &Handle, head: &[u8], reading: Reading) -> Result<Object, ReadError> {
    let Some(mut header) = Header::parse(head) else {
        let what = "has an unknown class or byte order, or is shorter than an ELF header";
        return Ok(Object::broken(head, Defect::new(Table::ElfHeader, 4, what)));
    };
    let table_size = u64::from(header.phnum) * header.phdr_size() as u64;
    let phdrs = slice_or_read(file, head, header.phoff, table_size)?;
    header.phdrs_present = phdrs.len() as u64 == table_size;
    let mut object = Object::empty(header);
    object.role = early_role(&header);
    if object.role != Role::Shared {
        let (start, end) = header.sections;
        // Linkers find the content of a relocatable object only through its section headers.
        if object.role == Role::Relocatable && end > file.stat().len {
            let what = "end beyond the end of the file";
            object.defects.push(Defect::cut(Table::SectionHeaders, start, end, what));
        }
        // The gABI reserves e_type values from ET_LOOS on for operating systems and processors.
        if object.role == Role::Broken && header.kind < elf::ET_LOOS {
            let what = "has a type that no loader and no linker takes";
            object.defects.push(Defect::new(Table::ElfHeader, 16, what));
        }
        object.foreign = Foreign::of(&object, None);
        return Ok(object);
    }
    if !header.phdrs_present || usize::from(header.phentsize) != header.phdr_size() {
        let (table, at) = (Table::ProgramHeaders, header.phoff);
        object.defects.push(if header.phdrs_present {
            Defect::new(table, at, "have an entry size that no loader takes")
        } else {
            let end = at.saturating_add(table_size);
            Defect::cut(table, at, end, "end beyond the end of the file")
        });
        object.role = Role::Broken;
        object.foreign = Foreign::of(&object, None);
        return Ok(object);
    }
    let mut scratch = SCRATCH.take();
    let mut text =
        TextBuilder { text: std::mem::take(&mut scratch.text), most: ROOM, overrun: false };
    text.text.reserve(ROOM_AT_ONCE);
    // Offset 0 is the empty string, which replaces dropped strings.
    text.text.push(0);
    let mut segments = if reading.stubs && header.phnum == 0 && header.kind == elf::ET_DYN.0 {
        let (start, end) = header.sections;
        let size = end.saturating_sub(start).min(sections::MOST_HEADERS);
        Segments::of_stub(&header, &slice_or_read(file, head, start, size)?)
    } else {
        Segments::parse(&header, &phdrs, file.stat().len)
    };
    object.segments = std::mem::take(&mut segments.all).into();
    let noted = Foreign::of_notes(&header, head, &segments.notes);
    object.indirect_access = property::needs_indirect_access(&header, head, &segments.notes);
    object.isa_level = property::isa_level(&header, head, &segments.notes);
    let mut reader = ObjectReader {
        file,
        head,
        reading,
        segments,
        text,
        scratch,
        oversized: None,
        nameless: None,
        versionless: None,
        opens_plugins: false,
    };
    let result = reader.read(&mut object);
    object.text = reader.text.text.as_slice().into();
    reader.text.text.clear();
    SCRATCH.set(Scratch { text: reader.text.text, ..reader.scratch });
    result.map(|()| {
        object.sections = sections::of_large(file, head, &object);
        object.foreign = Foreign::of(&object, noted);
        object
    })
}

/// Reduces the defects of a file that ends inside the dynamic section or a table. Keeps the first
/// `known` defects, and the defects about the missing parts. The dropped defects probably follow
/// from the missing parts.
fn drop_consequences(defects: &mut Vec<Defect>, known: usize) {
    let is_lost = |defect: &Defect| defect.end.is_some();
    if defects.iter().any(|defect| is_lost(defect) && defect.table != Table::ProgramHeaders) {
        let tables = defects.split_off(known);
        defects.extend(tables.into_iter().filter(is_lost));
    }
}

fn early_role(header: &Header) -> Role {
    match elf::FileType(header.kind) {
        elf::ET_REL => Role::Relocatable,
        elf::ET_CORE => Role::Core,
        _ if machine::is_device(header.machine) => Role::Device,
        elf::ET_DYN | elf::ET_EXEC => Role::Shared,
        _ => Role::Broken,
    }
}

/// The `len` bytes at `offset`: from `head` if it holds all of them, else from the file. The result
/// is shorter if the file ends earlier.
fn slice_or_read<'h>(
    file: &Handle,
    head: &'h [u8],
    offset: u64,
    len: u64,
) -> Result<Cow<'h, [u8]>, ReadError> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(len)).ok());
    match range.and_then(|(start, end)| head.get(start..end)) {
        Some(bytes) => Ok(Cow::Borrowed(bytes)),
        None => read_range(file, offset, len).map(Cow::Owned),
    }
}

pub(super) struct ObjectReader<'a> {
    file: &'a Handle,
    head: &'a [u8],
    reading: Reading,
    segments: Segments,
    pub(super) text: TextBuilder,
    pub(super) scratch: Scratch,
    /// The first data symbol whose size exceeds any address space.
    pub(super) oversized: Option<SymbolIndex>,
    /// The first symbol whose name is outside the string table.
    pub(super) nameless: Option<SymbolIndex>,
    /// The first reference whose version index is higher than the index of every version. For such
    /// an index, the loader reads past the end of its table of versions.
    pub(super) versionless: Option<SymbolIndex>,
    /// True if a reference is to a function that opens plugins.
    pub(super) opens_plugins: bool,
}

/// Buffers that one thread reuses for all files, because the first access to a page is expensive.
#[derive(Default)]
pub(super) struct Scratch {
    text: Vec<u8>,
    tables: Vec<u8>,
    pub(super) references: Vec<Reference>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::new(Scratch::default());
}

impl ObjectReader<'_> {
    fn read(&mut self, object: &mut Object) -> Result<(), ReadError> {
        let Some((offset, size)) = self.segments.dynamic else {
            object.role = if self.segments.hollow_dynamic { Role::Debug } else { Role::Static };
            object.refused = self.refusal(object, None);
            if object.role == Role::Static {
                self.take_load_defects(object);
            }
            return Ok(());
        };
        self.take_load_defects(object);
        self.read_interp(object)?;
        self.read_dlopen_notes(object)?;
        let bytes = slice_or_read(self.file, self.head, offset, size)?;
        let dynamic = Dynamic::parse(&object.header, &bytes);
        if (bytes.len() as u64) < size {
            let (end, what) = (offset.saturating_add(size), "ends beyond the end of the file");
            object.defects.push(Defect::cut(Table::Dynamic, offset, end, what));
        } else if !dynamic.terminated {
            object.defects.push(Defect::new(Table::Dynamic, offset + size, "has no DT_NULL"));
        }
        if dynamic.absurd {
            let what = "has an entry size or DT_PLTREL at which the loader aborts";
            object.defects.push(Defect::new(Table::Dynamic, offset, what));
        }
        if object.interp.is_some() {
            object.role = Role::Program;
        }
        object.refused = self.refusal(object, Some(&dynamic));
        object.unmappable = self.unmappable();
        object.nodeflib = dynamic.has_flag_1(elf::DF_1_NODEFLIB);
        object.noopen = dynamic.has_flag_1(elf::DF_1_NOOPEN);
        object.pie = dynamic.has_flag_1(elf::DF_1_PIE);
        object.interposes = dynamic.has_flag_1(elf::DF_1_INTERPOSE);
        object.bind_now = dynamic.bind_now();
        object.symbolic = dynamic.symbolic();
        object.textrel = dynamic.textrel();
        object.relr = dynamic.relr;
        object.constructors = dynamic.constructors(&object.header);
        let (known, mut lost) = (object.defects.len(), Vec::new());
        object.relocations = self.relocation_places(&dynamic, &mut lost);
        self.read_tables(object, &dynamic)?;
        object.defects.append(&mut lost);
        object.relocations.got =
            got::place(&self.segments, &object.header, &dynamic, &mut object.defects);
        drop_consequences(&mut object.defects, known);
        Ok(())
    }

    /// Moves the defects of PT_LOAD headers to `object`. Not called for a file of separate debug
    /// data, because its program headers describe the original file.
    fn take_load_defects(&mut self, object: &mut Object) {
        object.defects.append(&mut self.segments.defects);
        if !self.segments.has_loads() {
            let what = "hold no PT_LOAD: nothing can be loaded";
            object.defects.push(Defect::new(Table::ProgramHeaders, object.header.phoff, what));
        }
    }

    fn read_interp(&mut self, object: &mut Object) -> Result<(), ReadError> {
        let Some((offset, size)) = self.segments.interp else { return Ok(()) };
        // The kernel accepts at most PATH_MAX bytes (fs/binfmt_elf.c).
        let bytes = slice_or_read(self.file, self.head, offset, size.min(4096))?;
        match c_string(&bytes, 0) {
            Some(path) => object.interp = Some(self.text.add(path)),
            None => object.defects.push(Defect::new(Table::Interp, offset, "is not a string")),
        }
        Ok(())
    }

    fn read_dlopen_notes(&self, object: &mut Object) -> Result<(), ReadError> {
        if !self.reading.dlopen_notes {
            return Ok(());
        }
        let mut found = DlopenNotes::default();
        for notes in self.segments.notes.iter().take(MOST_NOTES) {
            if notes.size > dlopen_note::MOST {
                found.broken = Some("the segment with it is larger than 1 MiB");
                continue;
            }
            let bytes = slice_or_read(self.file, self.head, notes.offset, notes.size)?;
            found.add(&object.header, &bytes, *notes);
        }
        object.dlopen_notes = (!found.is_empty()).then(|| Box::new(found));
        Ok(())
    }

    /// The loader's message if its checks of the segments fail. These checks also apply to an entry
    /// point.
    fn unmappable(&self) -> Option<&'static str> {
        let has_loads = self.segments.has_loads() && !self.segments.is_stub;
        let none = (!has_loads).then_some("object file has no loadable segments");
        self.segments.refused.or(none)
    }

    /// The loader's message for the first failing check between the opening and the mapping of a
    /// library. The checks are in the loader's order.
    fn refusal(&self, object: &Object, dynamic: Option<&Dynamic>) -> Option<&'static str> {
        if let Some(text) = self.unmappable() {
            return Some(text);
        }
        if object.header.kind == elf::ET_EXEC.0 {
            return Some("cannot dynamically load executable");
        }
        match dynamic {
            None => Some("object file has no dynamic section"),
            Some(d) if d.has_flag_1(elf::DF_1_PIE) => {
                Some("cannot dynamically load position-independent executable")
            }
            Some(_) => None,
        }
    }

    fn read_tables(&mut self, object: &mut Object, dynamic: &Dynamic) -> Result<(), ReadError> {
        let mut pieces = pieces(&self.segments, dynamic, &mut object.defects);
        pieces::shorten(&mut pieces, self.file.stat().len, &mut object.defects);
        // The tables of large programs are dropped: they have half of all table bytes, and lookups
        // rarely find a definition in a program.
        let shared = dynamic.soname.is_some() || object.interp.is_none();
        let is_small = pieces.iter().map(|piece| piece.len).sum::<u64>() <= SMALL;
        let keep = self.reading.tables || !self.reading.lean && (shared || is_small);
        let apart = LateStrings::take(&mut pieces, self.file, &mut object.defects);
        let room = if self.reading.lean { pieces::ROOM_LEAN } else { pieces::ROOM };
        let scratch = (!keep).then_some((&mut self.scratch.tables, room));
        let source = (self.file, self.head);
        let bytes = read_pieces(source, scratch, &mut pieces, &mut object.defects)?;
        let place = |table| pieces.iter().find(|p| p.table == table).map(|p| p.at.clone());
        let strings = match apart {
            Some(apart) => StringsLocation::Apart(Arc::new(apart)),
            None => StringsLocation::Inside(place(Table::Strings).unwrap_or(0..0)),
        };
        let source = strings.source(&bytes);
        if source.len() > 0 && source.at(source.len() - 1).is_none() {
            let at = strings.offset().or_else(|| {
                pieces.iter().find(|piece| piece.table == Table::Strings).map(|piece| piece.offset)
            });
            let what = "does not end with NUL";
            object.defects.push(Defect::new(Table::Strings, at.unwrap_or(0), what));
        }
        self.text.most = self.text.text.len() + ROOM + 4 * source.len();
        self.take_strings(object, dynamic, source)?;
        self.take_versions(object, dynamic, &bytes, source, &pieces);
        let mut tables = Tables {
            is_64: object.header.is_64,
            big: object.header.big,
            symbols: place(Table::Symbols).unwrap_or(0..0),
            strings,
            versym: place(Table::Versym),
            hash: HashTable::None,
            wide_hash: machine::of(object.header.target()).is_some_and(|row| row.wide_hash),
            mips_symbols: dynamic.got.map(|got| got.symbols),
            count: 0,
            is_counted: false,
            added: Vec::new(),
            bytes: Arc::new(bytes),
        };
        tables.set_hash(
            place(Table::GnuHash),
            place(Table::SysvHash),
            &pieces,
            &mut object.defects,
        );
        object.may_copy = object.role == Role::Program
            && (object.header.kind == elf::ET_EXEC.0
                || dynamic.has_flag_1(elf::DF_1_PIE)
                || object.soname.is_none());
        // If a program exports many symbols, few of its data symbols are copied from libraries. The
        // copy relocations name these few.
        let much = object.may_copy && tables.hashed_indices().len() > FEW_EXPORTS;
        let copied = if much { relocs::copied(self.file, object)? } else { None };
        object.references = self.take_references(object, &tables, copied.as_ref());
        object.opens_plugins = self.opens_plugins;
        let start = |table| pieces.iter().find(|p| p.table == table).map_or(0, |p| p.offset);
        let about_symbols = [
            (self.oversized, "holds data that is larger than an address space"),
            (self.nameless, "holds a name that lies outside the string table"),
        ];
        if let Some(symbol) = self.versionless {
            let at = start(Table::Versym).saturating_add(2 * u64::from(symbol.number()));
            let what = "holds an index that no version has";
            object.defects.push(Defect::new(Table::Versym, at, what));
        }
        for (symbol, what) in about_symbols {
            let Some(symbol) = symbol else { continue };
            let into = u64::from(symbol.number()) * tables.symbol_size() as u64;
            let at = start(Table::Symbols).saturating_add(into);
            object.defects.push(Defect::new(Table::Symbols, at, what));
        }
        if self.text.overrun {
            let what = "is shared by so many names that not all are read";
            let at = tables.strings.offset().unwrap_or_else(|| start(Table::Strings));
            object.defects.push(Defect::new(Table::Strings, at, what));
        }
        if keep {
            object.tables = Some(tables);
            return Ok(());
        }
        object.defects.extend(tables.late_defect().cloned());
        if tables.bytes.capacity() <= room {
            self.scratch.tables = Arc::unwrap_or_clone(tables.bytes);
        }
        Ok(())
    }

    fn take_strings(
        &mut self,
        object: &mut Object,
        dynamic: &Dynamic,
        strings: strings::StringSource<'_>,
    ) -> Result<(), ReadError> {
        let mut outside = None;
        let mut string = |offset: u64| -> Option<Str> {
            let found = usize::try_from(offset).ok().and_then(|at| strings.at(at));
            if found.is_none() {
                outside.get_or_insert(offset);
            }
            found.map(|bytes| self.text.add(bytes))
        };
        let mut needs = Vec::with_capacity(dynamic.needs.len());
        for (kind, offset) in &dynamic.needs {
            if let Some(name) = string(*offset) {
                needs.push(DynamicNeed { kind: *kind, name });
            }
        }
        object.needs = needs.into();
        object.needs_left_out = dynamic.needs_left_out;
        object.soname = dynamic.soname.and_then(&mut string);
        object.rpath = dynamic.rpath.and_then(&mut string);
        object.runpath = dynamic.runpath.and_then(&mut string);
        if let (Some(name), Some((start, size)), Some(_)) =
            (outside, self.segments.dynamic, dynamic.strtab)
        {
            // Reads the dynamic section again, for the position of the entry. Storing the positions
            // of all entries would cost memory for every valid file.
            let bytes = slice_or_read(self.file, self.head, start, size)?;
            let at = start + Dynamic::place_of_name(&object.header, &bytes, name);
            let what = "holds a name that lies outside the string table";
            object.defects.push(Defect::new(Table::Dynamic, at, what));
        }
        Ok(())
    }

    fn take_versions(
        &mut self,
        object: &mut Object,
        dynamic: &Dynamic,
        bytes: &[u8],
        strings: strings::StringSource<'_>,
        pieces: &[Piece],
    ) {
        let source = |table| {
            pieces.iter().find(|p| p.table == table).map(|p| versions::VersionTable {
                bytes: &bytes[p.at.clone()],
                offset: p.offset,
                strings,
            })
        };
        let mut out = Versions {
            has_verneed: dynamic.verneed.is_some(),
            has_verdef: dynamic.verdef.is_some(),
            has_versym: dynamic.versym.is_some(),
            ..Versions::default()
        };
        if let Some(source) = source(Table::Verneed) {
            out.needs =
                versions::needs(&object.header, &source, &mut self.text, &mut object.defects);
        }
        if let Some(source) = source(Table::Verdef) {
            out.defs = versions::defs(&object.header, &source, &mut self.text, &mut object.defects);
        }
        out.index();
        object.versions = out;
    }

    fn relocation_places(&self, dynamic: &Dynamic, defects: &mut Vec<Defect>) -> RelocationTables {
        let mut place = |vaddr: Option<u64>, size: u64, relative: u64| {
            let vaddr = vaddr.filter(|_| size > 0)?;
            match self.segments.file_offset(vaddr, Table::Relocations) {
                Ok((offset, rest)) => {
                    if size > rest {
                        let what = "are longer than the segment they lie in";
                        defects.push(Defect::new(Table::Relocations, offset, what));
                    }
                    Some(TablePosition { offset, size: size.min(rest), relative })
                }
                Err(defect) => {
                    defects.push(defect);
                    None
                }
            }
        };
        let mut places = RelocationTables {
            rel: place(dynamic.rel, dynamic.relsz, dynamic.relcount),
            rela: place(dynamic.rela, dynamic.relasz, dynamic.relacount),
            plt: place(dynamic.jmprel, dynamic.pltrelsz, 0),
            plt_is_rela: dynamic.plt_is_rela,
            got: None,
        };
        // DT_RELASZ may include the entries of the PLT (elf/dynamic-link.h).
        let same_kind = if dynamic.plt_is_rela { &mut places.rela } else { &mut places.rel };
        if let (Some(all), Some(plt)) = (same_kind.as_mut(), places.plt)
            && all.offset + all.size == plt.offset + plt.size
        {
            all.size = all.size.saturating_sub(plt.size);
        }
        places
    }
}
