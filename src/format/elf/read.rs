//! Reads one ELF file: the header and program headers from its head, then the dynamic section,
//! then all dynamic tables in one covering `pread` (a second one where a tool such as patchelf has
//! moved a table away), then takes out what is kept.

use super::dynamic::Dynamic;
use super::header::Header;
use super::relocs::{Place, Places};
use super::segments::Segments;
use super::tables::{HashTable, Symbol, Tables};
use super::{
    Ident, Need, Object, RefKind, Reference, Role, Str, TextBuilder, Versions, hash, machine,
    versions,
};
use crate::format::{Defect, ReadError, Table, c_string, read_range};
use crate::plan::Wants;
use crate::tree::Handle;
use object::{Endianness, elf};
use std::cell::Cell;
use std::ops::Range;

/// Tables that lie closer than this are read in one go.
const GAP: u64 = 64 << 10;
/// The most that is read of a table whose end nothing tells.
const OPEN_END: u64 = 4 << 20;

/// Reads the object in `file`, whose first bytes are `head`.
pub fn read(file: &Handle, head: &[u8], wants: Wants) -> Result<Object, ReadError> {
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
        return Ok(object);
    }
    if !header.phdrs_present || usize::from(header.phentsize) != header.phdr_size() {
        let what = if header.phdrs_present {
            "have an entry size that no loader takes"
        } else {
            "end beyond the end of the file"
        };
        object.defects.push(Defect::new(Table::ProgramHeaders, header.phoff, what));
        object.role = Role::Broken;
        return Ok(object);
    }
    let mut scratch = SCRATCH.take();
    let text = TextBuilder { text: std::mem::take(&mut scratch.text) };
    let segments = Segments::parse(&header, &phdrs);
    let mut reader = Reader { file, head, wants, segments, text, scratch };
    let result = reader.read(&mut object);
    object.text = reader.text.text.as_slice().into();
    reader.text.text.clear();
    SCRATCH.set(Scratch { text: reader.text.text, ..reader.scratch });
    result.map(|()| object)
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

/// Bytes of the head, or of the file where the head does not reach.
fn slice_or_read(file: &Handle, head: &[u8], offset: u64, len: u64) -> Result<Vec<u8>, ReadError> {
    let range = usize::try_from(offset).ok().zip(usize::try_from(offset.saturating_add(len)).ok());
    match range.and_then(|(start, end)| head.get(start..end)) {
        Some(bytes) => Ok(bytes.to_vec()),
        None => read_range(file, offset, len),
    }
}

struct Reader<'a> {
    file: &'a Handle,
    head: &'a [u8],
    wants: Wants,
    segments: Segments,
    text: TextBuilder,
    scratch: Scratch,
}

/// Buffers that one thread uses for file after file: pages that were touched once cost nothing the
/// next time.
#[derive(Default)]
struct Scratch {
    text: Vec<u8>,
    tables: Vec<u8>,
    references: Vec<Reference>,
}

thread_local! {
    static SCRATCH: Cell<Scratch> = Cell::new(Scratch::default());
}

/// Where one table lies: in the file, and then in the buffer.
#[derive(Clone)]
struct Piece {
    table: Table,
    offset: u64,
    len: u64,
    at: Range<usize>,
}

impl Reader<'_> {
    fn read(&mut self, object: &mut Object) -> Result<(), ReadError> {
        let Some((offset, size)) = self.segments.dynamic else {
            object.role = match self.segments.hollow_dynamic {
                true => Role::Debug,
                false => Role::Static,
            };
            object.refused = self.refusal(object, None);
            return Ok(());
        };
        self.read_interp(object)?;
        let bytes = slice_or_read(self.file, self.head, offset, size)?;
        let dynamic = Dynamic::parse(&object.header, &bytes);
        if (bytes.len() as u64) < size {
            let at = offset + bytes.len() as u64;
            object.defects.push(Defect::new(Table::Dynamic, at, "ends beyond the end of the file"));
        } else if !dynamic.terminated {
            object.defects.push(Defect::new(Table::Dynamic, offset + size, "has no DT_NULL"));
        }
        if object.interp.is_some() {
            object.role = Role::Program;
        }
        object.refused = self.refusal(object, Some(&dynamic));
        object.unmappable = self.unmappable();
        object.nodeflib = dynamic.has_flag_1(elf::DF_1_NODEFLIB);
        object.bind_now = dynamic.bind_now();
        object.symbolic = dynamic.symbolic();
        object.relr = dynamic.relr;
        self.read_tables(object, &dynamic)?;
        object.relocations = self.relocation_places(&dynamic, &mut object.defects);
        Ok(())
    }

    fn read_interp(&mut self, object: &mut Object) -> Result<(), ReadError> {
        let Some((offset, size)) = self.segments.interp else { return Ok(()) };
        // The kernel takes at most PATH_MAX bytes (fs/binfmt_elf.c).
        let bytes = slice_or_read(self.file, self.head, offset, size.min(4096))?;
        match c_string(&bytes, 0) {
            Some(path) => object.interp = Some(self.text.add(path)),
            None => object.defects.push(Defect::new(Table::Interp, offset, "is not a string")),
        }
        Ok(())
    }

    /// The checks of segments, which a root must pass too.
    fn unmappable(&self) -> Option<&'static str> {
        let none = (!self.segments.has_loads()).then_some("object file has no loadable segments");
        self.segments.refused.or(none)
    }

    /// The checks between a successful open and the mapping of a library, in the loader's order.
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
        // Programs hold half of all table bytes and are hardly ever asked for a definition.
        let keep = self.wants.tables || dynamic.soname.is_some() || object.interp.is_none();
        let mut pieces = self.pieces(dynamic, &mut object.defects);
        let mut bytes = if keep { Vec::new() } else { std::mem::take(&mut self.scratch.tables) };
        self.read_pieces(&mut bytes, &mut pieces, &mut object.defects)?;
        let place = |table| pieces.iter().find(|p| p.table == table).map(|p| p.at.clone());
        let strings = place(Table::Strings).unwrap_or(0..0);
        self.take_strings(object, dynamic, &bytes[strings.clone()]);
        self.take_versions(object, dynamic, &bytes, &strings, &pieces);
        let mut tables = Tables {
            is_64: object.header.is_64,
            big: object.header.big,
            symbols: place(Table::Symbols).unwrap_or(0..0),
            strings,
            versym: place(Table::Versym),
            hash: HashTable::None,
            count: 0,
            bytes,
        };
        tables.set_hash(place(Table::GnuHash), place(Table::SysvHash), &pieces, &mut object.defects);
        object.may_copy = object.role == Role::Program
            && (object.header.kind == elf::ET_EXEC.0
                || dynamic.has_flag_1(elf::DF_1_PIE)
                || object.soname.is_none());
        object.references = self.take_references(object, &tables);
        if keep {
            object.tables = Some(tables);
        } else {
            self.scratch.tables = tables.bytes;
        }
        Ok(())
    }

    /// The tables with their places in the file, in file order, each ending at the latest where the
    /// next one starts.
    fn pieces(&self, dynamic: &Dynamic, defects: &mut Vec<Defect>) -> Vec<Piece> {
        let mut starts: Vec<u64> = dynamic
            .addresses
            .iter()
            .filter_map(|vaddr| self.segments.file_offset(*vaddr, Table::Dynamic).ok())
            .map(|(offset, _)| offset)
            .collect();
        starts.sort_unstable();
        let wanted = [
            (Table::SysvHash, dynamic.hash.filter(|_| dynamic.gnu_hash.is_none())),
            (Table::GnuHash, dynamic.gnu_hash),
            (Table::Symbols, dynamic.symtab),
            (Table::Strings, dynamic.strtab),
            (Table::Versym, dynamic.versym),
            (Table::Verneed, dynamic.verneed),
            (Table::Verdef, dynamic.verdef),
        ];
        let mut pieces = Vec::new();
        for (table, vaddr) in wanted {
            let Some(vaddr) = vaddr else {
                if matches!(table, Table::Symbols | Table::Strings) {
                    defects.push(Defect::new(table, 0, "is not named by the dynamic section"));
                }
                continue;
            };
            match self.segments.file_offset(vaddr, table) {
                Ok((offset, rest)) => {
                    let len = match (table, dynamic.strsz) {
                        (Table::Strings, Some(size)) => size,
                        _ => starts
                            .iter()
                            .find(|start| **start > offset)
                            .map_or(OPEN_END, |next| next - offset),
                    };
                    if table == Table::Strings && len > rest {
                        let what = "is longer than the segment it lies in";
                        defects.push(Defect::new(table, offset, what));
                    }
                    pieces.push(Piece { table, offset, len: len.min(rest), at: 0..0 });
                }
                Err(defect) => defects.push(defect),
            }
        }
        pieces.sort_by_key(|piece| piece.offset);
        pieces
    }

    /// Reads the pieces into one buffer and tells each where it lies there.
    fn read_pieces(
        &self,
        buffer: &mut Vec<u8>,
        pieces: &mut [Piece],
        defects: &mut Vec<Defect>,
    ) -> Result<(), ReadError> {
        let file_len = self.file.stat().len;
        let runs = runs(pieces, file_len);
        let size: u64 = runs.iter().map(|run| run.len).sum();
        // What a longer file left behind is read over or not looked at.
        let size = usize::try_from(size).unwrap_or(usize::MAX);
        if buffer.len() < size {
            buffer.reserve_exact(size - buffer.len());
            buffer.resize(size, 0);
        }
        let mut base = 0;
        for run in runs {
            let len = usize::try_from(run.len).unwrap_or(0);
            let n = self.file.read_at(&mut buffer[base..base + len], run.offset)?;
            for piece in &mut pieces[run.pieces] {
                let into = usize::try_from(piece.offset - run.offset).unwrap_or(usize::MAX).min(n);
                let room = (n - into) as u64;
                if piece.len > room {
                    let at = piece.offset + room;
                    defects.push(Defect::new(piece.table, at, "ends beyond the end of the file"));
                }
                let start = base + into;
                piece.at = start..start + usize::try_from(piece.len.min(room)).unwrap_or(0);
            }
            base += len;
        }
        Ok(())
    }

    fn take_strings(&mut self, object: &mut Object, dynamic: &Dynamic, strings: &[u8]) {
        let mut string = |offset: u64, defects: &mut Vec<Defect>| -> Option<Str> {
            let found = usize::try_from(offset).ok().and_then(|at| c_string(strings, at));
            if found.is_none() && dynamic.strtab.is_some() {
                let what = "holds a name that lies outside the string table";
                defects.push(Defect::new(Table::Dynamic, offset, what));
            }
            found.map(|bytes| self.text.add(bytes))
        };
        let mut needs = Vec::with_capacity(dynamic.needs.len());
        for (kind, offset) in &dynamic.needs {
            if let Some(name) = string(*offset, &mut object.defects) {
                needs.push(Need { kind: *kind, name });
            }
        }
        object.needs = needs.into();
        object.soname = dynamic.soname.and_then(|at| string(at, &mut object.defects));
        object.rpath = dynamic.rpath.and_then(|at| string(at, &mut object.defects));
        object.runpath = dynamic.runpath.and_then(|at| string(at, &mut object.defects));
    }

    fn take_versions(
        &mut self,
        object: &mut Object,
        dynamic: &Dynamic,
        bytes: &[u8],
        strings: &Range<usize>,
        pieces: &[Piece],
    ) {
        let source = |table| {
            pieces.iter().find(|p| p.table == table).map(|p| versions::Source {
                bytes: &bytes[p.at.clone()],
                offset: p.offset,
                strings: &bytes[strings.clone()],
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

    fn take_references(&mut self, object: &Object, tables: &Tables) -> Box<[Reference]> {
        if object.header.is_64 {
            self.take_references_as::<elf::FileHeader64<Endianness>>(object, tables)
        } else {
            self.take_references_as::<elf::FileHeader32<Endianness>>(object, tables)
        }
    }

    fn take_references_as<H: object::read::elf::FileHeader<Endian = Endianness>>(
        &mut self,
        object: &Object,
        tables: &Tables,
    ) -> Box<[Reference]> {
        let unhashed_end = tables.unhashed_end();
        let mut list = std::mem::take(&mut self.scratch.references);
        for index in 1..tables.count {
            // Nearly all symbols behind a GNU table's base are plain definitions.
            if index >= unhashed_end && !object.may_copy && tables.is_plain_definition::<H>(index) {
                continue;
            }
            let Some(symbol) = tables.symbol_as::<H>(index) else { break };
            let unhashed = index < unhashed_end || !symbol.is_findable();
            let Some(kind) = ref_kind(object, &symbol, unhashed, tables) else { continue };
            list.push(Reference {
                name: self.text.add(symbol.name).start,
                hash: hash::gnu(symbol.name),
                symbol: index,
                version: symbol.versym & 0x7fff,
                kind,
            });
        }
        let kept = list.as_slice().into();
        list.clear();
        self.scratch.references = list;
        kept
    }

    fn relocation_places(&self, dynamic: &Dynamic, defects: &mut Vec<Defect>) -> Places {
        let mut place = |vaddr: Option<u64>, size: u64, relative: u64| {
            let vaddr = vaddr.filter(|_| size > 0)?;
            match self.segments.file_offset(vaddr, Table::Relocations) {
                Ok((offset, rest)) => {
                    if size > rest {
                        let what = "are longer than the segment they lie in";
                        defects.push(Defect::new(Table::Relocations, offset, what));
                    }
                    Some(Place { offset, size: size.min(rest), relative })
                }
                Err(defect) => {
                    defects.push(defect);
                    None
                }
            }
        };
        let mut places = Places {
            rel: place(dynamic.rel, dynamic.relsz, dynamic.relcount),
            rela: place(dynamic.rela, dynamic.relasz, dynamic.relacount),
            plt: place(dynamic.jmprel, dynamic.pltrelsz, 0),
            plt_is_rela: dynamic.plt_is_rela,
        };
        // elf/dynamic-link.h: DT_RELASZ may count the PLT's entries too.
        let same_kind = if dynamic.plt_is_rela { &mut places.rela } else { &mut places.rel };
        if let (Some(all), Some(plt)) = (same_kind.as_mut(), places.plt)
            && all.offset + all.size == plt.offset + plt.size
        {
            all.size = all.size.saturating_sub(plt.size);
        }
        places
    }
}

/// Pieces that one `pread` covers.
struct Run {
    offset: u64,
    len: u64,
    pieces: Range<usize>,
}

/// Groups pieces, which are sorted by offset, where at most [`GAP`] bytes lie between them.
fn runs(pieces: &[Piece], file_len: u64) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (i, piece) in pieces.iter().enumerate() {
        let end = (piece.offset + piece.len).min(file_len);
        match runs.last_mut() {
            Some(run) if piece.offset <= run.offset + run.len + GAP => {
                run.len = run.len.max(end.saturating_sub(run.offset));
                run.pieces.end = i + 1;
            }
            _ => {
                let len = end.saturating_sub(piece.offset);
                runs.push(Run { offset: piece.offset, len, pieces: i..i + 1 });
            }
        }
    }
    runs
}

/// What kind of reference a symbol is, if it is one.
fn ref_kind(object: &Object, symbol: &Symbol<'_>, unhashed: bool, tables: &Tables) -> Option<RefKind> {
    if super::tables::binds_local(symbol.visibility) {
        return None;
    }
    let weak = match elf::SymbolBind(symbol.bind) {
        elf::STB_LOCAL => return None,
        elf::STB_WEAK => true,
        _ => false,
    };
    if symbol.section == elf::SHN_UNDEF.0 {
        let canonical = symbol.value != 0 && symbol.kind == elf::STT_FUNC.0 && !weak;
        return Some(match (canonical, weak) {
            (true, _) => RefKind::Canonical,
            (_, true) => RefKind::Weak,
            (_, false) => RefKind::Strong,
        });
    }
    if object.may_copy && symbol.kind == elf::STT_OBJECT.0 && symbol.size > 0 {
        return Some(RefKind::Copy { size: u32::try_from(symbol.size).unwrap_or(u32::MAX) });
    }
    let sysv = matches!(tables.hash, HashTable::Sysv { .. });
    let lost = (unhashed && !sysv) || !symbol.is_findable();
    (lost && !weak).then_some(RefKind::Unhashed)
}

impl Object {
    fn empty(header: Header) -> Self {
        Self {
            header,
            role: Role::Broken,
            refused: None,
            unmappable: None,
            interp: None,
            needs: Box::default(),
            soname: None,
            rpath: None,
            runpath: None,
            nodeflib: false,
            bind_now: false,
            symbolic: false,
            relr: false,
            may_copy: false,
            versions: Versions::default(),
            references: Box::default(),
            text: Box::default(),
            tables: None,
            relocations: Places::default(),
            defects: Vec::new(),
        }
    }

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
            phdrs_present: false,
        });
        object.defects.push(defect);
        object
    }
}

impl Tables {
    /// Where the symbols end that no GNU hash table lists: below its base, or everywhere.
    fn unhashed_end(&self) -> u32 {
        match &self.hash {
            HashTable::Gnu { base, buckets, .. } if self.any_bucket(buckets) => {
                (*base).min(self.count)
            }
            _ => self.count,
        }
    }

    fn any_bucket(&self, buckets: &Range<usize>) -> bool {
        self.bytes[buckets.clone()].iter().any(|b| *b != 0)
    }

    fn u32_at(&self, range: &Range<usize>, index: usize) -> Option<u32> {
        let at = range.start.checked_add(index.checked_mul(4)?)?;
        let raw = self.bytes.get(at..at + 4).filter(|_| at + 4 <= range.end)?.try_into().ok()?;
        Some(if self.big { u32::from_be_bytes(raw) } else { u32::from_le_bytes(raw) })
    }

    /// Validates the hash table and counts the symbols.
    fn set_hash(
        &mut self,
        gnu: Option<Range<usize>>,
        sysv: Option<Range<usize>>,
        pieces: &[Piece],
        defects: &mut Vec<Defect>,
    ) {
        let symbol_size = if self.is_64 { 24 } else { 16 };
        let present = u32::try_from(self.symbols.len() / symbol_size).unwrap_or(u32::MAX);
        let offset = |table| pieces.iter().find(|p| p.table == table).map_or(0, |p| p.offset);
        self.count = present;
        if let Some(range) = gnu {
            match self.gnu_table(&range) {
                Ok(hash) => self.hash = hash,
                Err(what) => {
                    defects.push(Defect::new(Table::GnuHash, offset(Table::GnuHash), what));
                }
            }
            if let Some(count) = self.gnu_count() {
                if count > present {
                    let what = "ends before the last symbol that its hash table lists";
                    defects.push(Defect::new(Table::Symbols, offset(Table::Symbols), what));
                }
                self.count = count.min(present);
            }
        } else if let Some(range) = sysv {
            match self.sysv_table(&range) {
                Ok((hash, count)) => {
                    if count > present {
                        let what = "ends before the last symbol that its hash table lists";
                        defects.push(Defect::new(Table::Symbols, offset(Table::Symbols), what));
                    }
                    self.hash = hash;
                    self.count = count.min(present);
                }
                Err(what) => {
                    defects.push(Defect::new(Table::SysvHash, offset(Table::SysvHash), what));
                }
            }
        }
    }

    fn gnu_table(&self, range: &Range<usize>) -> Result<HashTable, &'static str> {
        let short = "ends before its own header says";
        let word = |index| self.u32_at(range, index).ok_or(short);
        let (bucket_count, base, bloom_count, shift) = (word(0)?, word(1)?, word(2)?, word(3)?);
        if bucket_count == 0 {
            return Ok(HashTable::None);
        }
        // dl-setup_hash.c asserts a power of two.
        if !bloom_count.is_power_of_two() {
            return Err("has a Bloom filter whose size is not a power of two");
        }
        let bloom_size = (bloom_count as usize).checked_mul(if self.is_64 { 8 } else { 4 });
        let bloom_end = bloom_size.and_then(|size| (range.start + 16).checked_add(size)).ok_or(short)?;
        let buckets_end = (bucket_count as usize)
            .checked_mul(4)
            .and_then(|size| bloom_end.checked_add(size))
            .filter(|end| *end <= range.end)
            .ok_or(short)?;
        Ok(HashTable::Gnu {
            bloom: range.start + 16..bloom_end,
            shift,
            buckets: bloom_end..buckets_end,
            chains: buckets_end..range.end,
            base,
        })
    }

    /// The number of symbols by the end of the last chain; nothing if no symbol is hashed.
    fn gnu_count(&self) -> Option<u32> {
        let HashTable::Gnu { buckets, chains, base, .. } = &self.hash else { return None };
        let last = (0..buckets.len() / 4).filter_map(|i| self.u32_at(buckets, i)).max()?;
        if last == 0 {
            return None;
        }
        let mut symbol = last;
        while self.u32_at(chains, symbol.checked_sub(*base)? as usize)? & 1 == 0 {
            symbol = symbol.checked_add(1)?;
        }
        symbol.checked_add(1)
    }

    fn sysv_table(&self, range: &Range<usize>) -> Result<(HashTable, u32), &'static str> {
        let short = "ends before its own header says";
        let bucket_count = self.u32_at(range, 0).ok_or(short)?;
        let chain_count = self.u32_at(range, 1).ok_or(short)?;
        let end = |start: usize, count: u32| {
            (count as usize)
                .checked_mul(4)
                .and_then(|size| start.checked_add(size))
                .filter(|end| *end <= range.end)
                .ok_or(short)
        };
        let buckets_end = end(range.start + 8, bucket_count)?;
        let chains_end = end(buckets_end, chain_count)?;
        if bucket_count == 0 {
            return Ok((HashTable::None, chain_count));
        }
        let hash = HashTable::Sysv {
            buckets: range.start + 8..buckets_end,
            chains: buckets_end..chains_end,
        };
        Ok((hash, chain_count))
    }
}
