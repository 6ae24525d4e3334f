//! Reads the members of an archive: all headers in one pass, and the global symbols of each object.
//! The read of a member's section headers also gets the header of the next member, so that most
//! members need only two reads. `facts::members` calls this module on demand only.

use super::bitcode;
use super::elf_member::{Buffers, SymbolTableRange};
use super::gcc_lto;
use super::header::{self, FIRST, HEADER, LongNames, MemberHeader, SpecialMember};
use super::index::ArchiveSymbolIndex;
use super::members::{Member, MemberDefect, MemberKind, Members, Span};
use super::symbols::{DefinedNames, SymbolsBuilder};
use crate::format::elf::{Header, Target};
use crate::format::{Defect, ReadError, Table, in_memory, read_range};
use crate::id::FastMap;
use crate::sniff::{BITCODE, Class, sniff};
use crate::symbol_names::Growing;
use crate::tree::Handle;
use object::read::elf::FileHeader;
use object::{Endianness, archive, elf};
use std::num::NonZeroU64;

/// Number of bytes that reveal the kind of a member: the size of an ELF header.
const HEAD: u64 = 64;
/// Maximum number of bytes that are read from an object in intermediate language.
const MOST_LTO: u64 = 1 << 28;

/// The result of opening a member's file for a thin archive.
pub enum External {
    /// The file of the member, open for reading.
    File(Handle),
    /// A file outside of the allowed directories.
    Outside,
    /// The file does not exist.
    Missing,
    /// A directory, a special file, or a file that cannot be opened. The text says which.
    NoFile(&'static str),
}

/// Options for reading the members of an archive.
pub struct Options<'a> {
    /// True to read the index in any case. Otherwise it is read only if the symbols of a member are
    /// unknown.
    pub index: bool,
    /// Opens the file of a member, given the path that a thin archive states.
    pub open: &'a dyn Fn(&[u8]) -> External,
    /// The table of symbol names of the run, to which names are added.
    pub names: &'a Growing,
}

/// Memory that one thread reuses for all archives.
#[derive(Default)]
pub struct Scratch {
    buffers: Buffers,
    builder: SymbolsBuilder,
}

/// Reads the members of the archive in `file`.
pub fn members(
    file: &Handle,
    options: &Options<'_>,
    scratch: &mut Scratch,
) -> Result<Members, ReadError> {
    let mut head = read_range(file, 0, FIRST + HEADER + HEAD)?;
    let thin = head.starts_with(&archive::THIN_MAGIC);
    head.drain(..head.len().min(archive::THIN_MAGIC.len()));
    let mut reader = ArchiveReader::new(file, options, scratch, thin);
    reader.walk(head)?;
    let is_gnu = matches!(reader.index, Some((_, SpecialMember::GnuIndex(_))));
    reader.out.lacks_index = !is_gnu;
    reader.finish()
}

/// Reads the relocatable object in `file` as an archive with one member, which has no name.
pub fn object(
    file: &Handle,
    options: &Options<'_>,
    scratch: &mut Scratch,
) -> Result<Members, ReadError> {
    let mut reader = ArchiveReader::new(file, options, scratch, false);
    let size = file.stat().len;
    let head = read_range(file, 0, HEAD)?;
    reader.object(0, b"", SymbolTableRange { file, base: 0, size }, &head, None)?;
    reader.finish()
}

/// The rest of an archive, from the first member that cannot be read.
struct UnreadRest {
    at: u64,
    /// The name of the member at `at`; `None` if there is no header.
    name: Option<Vec<u8>>,
}

struct ArchiveReader<'r> {
    file: &'r Handle,
    options: &'r Options<'r>,
    buffers: &'r mut Buffers,
    long_names: LongNames,
    builder: &'r mut SymbolsBuilder,
    out: Members,
    index: Option<(MemberHeader, SpecialMember)>,
    /// The unread rest of the archive. `None` if the walk reached the end of the archive.
    rest: Option<UnreadRest>,
    /// For each member of a thin archive, its index in `out.list`. The key is the path and, for a
    /// member of another archive, its position there. A thin archive may list a member twice.
    seen: FastMap<(Box<[u8]>, u64), usize>,
}

impl<'r> ArchiveReader<'r> {
    fn new(
        file: &'r Handle,
        options: &'r Options<'r>,
        scratch: &'r mut Scratch,
        thin: bool,
    ) -> Self {
        let Scratch { buffers, builder } = scratch;
        buffers.release();
        builder.begin(file.stat().len);
        Self {
            file,
            options,
            buffers,
            long_names: LongNames::default(),
            builder,
            out: Members { thin, ..Members::default() },
            index: None,
            rest: None,
            seen: FastMap::default(),
        }
    }

    fn damage(&mut self, member: Option<u64>, defect: Defect) {
        self.out.damage.push(MemberDefect { member, defect });
    }

    /// Walks from header to header. `head` has the first member's header and the first bytes of its
    /// data.
    fn walk(&mut self, mut head: Vec<u8>) -> Result<(), ReadError> {
        let len = self.file.stat().len;
        let mut at = FIRST;
        let mut next = Vec::new();
        while at < len {
            if head.is_empty() {
                head = read_range(self.file, at, HEADER + HEAD)?;
            }
            let Some(entry) = MemberHeader::parse(&head, at) else {
                let defect = Defect::new(Table::MemberHeader, at, "is not a member header");
                self.damage(None, defect);
                self.rest = Some(UnreadRest { at, name: None });
                return Ok(());
            };
            let inside = !self.out.thin || entry.special(b"").is_some();
            let end = if inside { entry.next() } else { Some(entry.data) };
            let cut = entry.data.checked_add(entry.size).is_none_or(|end| end > len);
            let Some(end) = end.filter(|_| !inside || !cut) else {
                let what = "claims more bytes than the archive holds";
                self.damage(Some(at), Defect::new(Table::MemberHeader, at, what));
                self.rest =
                    Some(UnreadRest { at, name: Some(self.long_names.name(&entry).to_vec()) });
                return Ok(());
            };
            next.clear();
            let first = head.get(usize::try_from(HEADER).unwrap_or(0)..).unwrap_or_default();
            self.entry(&entry, first, inside, &mut next)?;
            std::mem::swap(&mut head, &mut next);
            if head.len() as u64 != HEADER + HEAD {
                head.clear();
            }
            at = end;
        }
        Ok(())
    }

    fn entry(
        &mut self,
        entry: &MemberHeader,
        first: &[u8],
        inside: bool,
        next: &mut Vec<u8>,
    ) -> Result<(), ReadError> {
        let before = entry.bsd_name().unwrap_or(0);
        if before > entry.size {
            let what = "claims a name longer than the member";
            self.damage(Some(entry.at), Defect::new(Table::MemberHeader, entry.at, what));
            return Ok(());
        }
        let (mut first, behind_name) = (first, &mut Vec::new());
        let name: Vec<u8> = if before > 0 {
            let text = read_range(self.file, entry.data, before)?;
            *behind_name = read_range(self.file, entry.data + before, HEAD)?;
            first = behind_name;
            text.split(|b| *b == 0).next().unwrap_or_default().to_vec()
        } else {
            self.long_names.name(entry).to_vec()
        };
        match entry.special(&name) {
            Some(SpecialMember::LongNames) => {
                self.long_names = LongNames::read_and(self.file, entry, HEADER + HEAD, next)?;
                return Ok(());
            }
            Some(kind) => {
                // A COFF library has a second index, of another form. Only the first is read.
                self.index.get_or_insert((*entry, kind));
                return Ok(());
            }
            None => {}
        }
        if name.is_empty() && entry.long_name().is_some() {
            let what = "names itself by a place that the table of long names does not have";
            self.damage(Some(entry.at), Defect::new(Table::MemberHeader, entry.at, what));
        }
        if !inside {
            return self.thin_member(entry, &name);
        }
        let (base, size) = (entry.data + before, entry.size - before);
        let head = &first[..in_memory(size.min(first.len() as u64))?];
        let place = SymbolTableRange { file: self.file, base, size };
        self.object(entry.at, &name, place, head, Some(next))
    }

    /// Adds a member of a thin archive: a file, or a member of another archive.
    fn thin_member(&mut self, entry: &MemberHeader, name: &[u8]) -> Result<(), ReadError> {
        let position = entry.long_name().and_then(|(_, position)| position).unwrap_or(0);
        let key = (Box::from(name), position);
        if let Some(known) = self.seen.get(&key) {
            let again = Member { offset: entry.at, ..self.out.list[*known].clone() };
            self.out.list.push(again);
            return Ok(());
        }
        self.seen.insert(key, self.out.list.len());
        let kind = match (self.options.open)(name) {
            External::Missing => MemberKind::Missing,
            External::NoFile(what) => MemberKind::NoFile(what),
            External::Outside => MemberKind::Outside,
            External::File(file) => return self.external(entry, name, &file, position),
        };
        self.push(entry.at, name, kind, None, Span::default());
        Ok(())
    }

    fn external(
        &mut self,
        entry: &MemberHeader,
        name: &[u8],
        file: &Handle,
        position: u64,
    ) -> Result<(), ReadError> {
        let (mut base, mut size) = (0, file.stat().len);
        let mut inner_name = None;
        if position > 0 {
            let inner = MemberHeader::read(file, position)?;
            let inner = inner.filter(|inner| {
                inner.data.checked_add(inner.size).is_some_and(|end| end <= file.stat().len)
            });
            let Some(inner) = inner else {
                let what = "names a place in another archive where no member is";
                self.damage(Some(entry.at), Defect::new(Table::MemberHeader, entry.at, what));
                self.push(entry.at, name, MemberKind::Damaged, None, Span::default());
                return Ok(());
            };
            let before = inner.bsd_name().unwrap_or(0).min(inner.size);
            (base, size) = (inner.data + before, inner.size - before);
            inner_name = Some(header::name(file, &inner, &header::long_names(file)?)?);
        }
        let head = read_range(file, base, HEAD.min(size))?;
        let name = inner_name.as_deref().unwrap_or(name);
        self.object(entry.at, name, SymbolTableRange { file, base, size }, &head, None)?;
        if let Some(member) = self.out.list.last_mut() {
            member.in_other_archive = position > 0;
        }
        Ok(())
    }

    /// Adds a member whose bytes are at `place`. `head` has the first of these bytes. The call may
    /// fill `next` with the bytes after the member, which hold the next header.
    fn object(
        &mut self,
        at: u64,
        name: &[u8],
        place: SymbolTableRange<'_>,
        head: &[u8],
        next: Option<&mut Vec<u8>>,
    ) -> Result<(), ReadError> {
        let header = head.starts_with(&elf::ELFMAG).then(|| Header::parse(head)).flatten();
        let target = header.map(|header| header.target());
        let kind = match header {
            Some(header) if header.kind == elf::ET_REL.0 => MemberKind::Object,
            Some(_) => MemberKind::NotRelocatable,
            None if head.starts_with(&elf::ELFMAG) => MemberKind::Damaged,
            None if BITCODE.iter().any(|magic| head.starts_with(magic)) => MemberKind::Bitcode,
            None if sniff(head) == Class::Archive => MemberKind::Nested,
            None => MemberKind::Other,
        };
        if kind == MemberKind::Damaged {
            let defect = Defect::new(Table::ElfHeader, place.base, "cannot be read");
            self.damage(Some(at), defect);
        }
        if kind == MemberKind::Bitcode {
            return self.intermediate(at, name, place, (kind, target));
        }
        if kind != MemberKind::Object {
            self.push(at, name, kind, target, Span::default());
            return Ok(());
        }
        let mut unused = Vec::new();
        let beyond = if next.is_some() { HEADER + HEAD } else { 0 };
        let next = next.unwrap_or(&mut unused);
        if header.is_some_and(|header| header.is_64) {
            self.symbols::<elf::FileHeader64<Endianness>>(at, name, place, head, (beyond, next))
        } else {
            self.symbols::<elf::FileHeader32<Endianness>>(at, name, place, head, (beyond, next))
        }
    }

    /// Adds a member in intermediate language, with its definitions and references from LLVM's or
    /// GCC's table.
    fn intermediate(
        &mut self,
        at: u64,
        name: &[u8],
        place: SymbolTableRange<'_>,
        (kind, target): (MemberKind, Option<Target>),
    ) -> Result<(), ReadError> {
        let before = self.builder.lengths();
        let size = place.size.min(MOST_LTO);
        let bytes = read_range(place.file, place.base, size)?;
        let (found, known) = match kind {
            MemberKind::Bitcode => (bitcode::symbols(&bytes), MemberKind::LlvmLto),
            _ => (gcc_lto::symbols(&bytes), MemberKind::GccLto),
        };
        if known == MemberKind::GccLto {
            let names = gcc_lto::unlisted(&bytes).into_iter();
            let kept = names.filter(|name| self.options.names.add_one(name.as_bytes()).is_some());
            self.out.unlisted.extend(kept.map(|name| (at, name)));
        }
        let read = found.is_some_and(|found| self.builder.add_lto(&found, self.options.names));
        let (symbols, hashes) = self.builder.since(before);
        if read {
            self.push(at, name, known, target, symbols);
        } else {
            self.push(at, name, kind, target, Span::default());
        }
        if let Some(member) = self.out.list.last_mut().filter(|_| read) {
            member.hashes = hashes;
        }
        Ok(())
    }

    fn symbols<H: FileHeader<Endian = Endianness>>(
        &mut self,
        at: u64,
        name: &[u8],
        place: SymbolTableRange<'_>,
        head: &[u8],
        (beyond, next): (u64, &mut Vec<u8>),
    ) -> Result<(), ReadError> {
        let target = Header::parse(head).map(|header| header.target());
        let big = target.is_some_and(|target| target.big);
        let e = if big { Endianness::Big } else { Endianness::Little };
        let machine = elf::Machine(target.map_or(0, |target| target.machine));
        let before = self.builder.lengths();
        let (mut strings, mut is_kept) = (None, false);
        let (kind, defect) = match self.buffers.load::<H>(place, head, beyond, next)? {
            Ok(Some(raw)) => {
                // Names outside of the archive are never read again, so they are stored now.
                strings = NonZeroU64::new(raw.strings_at).filter(|_| beyond > 0);
                let defined = match raw.kept_at {
                    _ if strings.is_none() => DefinedNames::Stored,
                    Some(at) if !self.options.names.is_whole() => DefinedNames::Kept(at),
                    _ => DefinedNames::Searched,
                };
                is_kept = matches!(defined, DefinedNames::Kept(_));
                let place = (place.base, defined);
                self.builder.add::<H>(&raw, (e, machine), place, self.options.names)
            }
            Ok(None) => (MemberKind::Object, None),
            Err(defect) => (MemberKind::Damaged, Some(defect)),
        };
        if is_kept && self.buffers.keep() {
            self.find_kept();
        }
        if let Some(defect) = defect {
            self.damage(Some(at), defect);
        }
        if kind == MemberKind::SlimLto {
            return self.intermediate(at, name, place, (kind, target));
        }
        let (symbols, hashes) = self.builder.since(before);
        self.push(at, name, kind, target, symbols);
        if let Some(member) = self.out.list.last_mut() {
            member.hashes = hashes;
            member.strings = strings;
        }
        Ok(())
    }

    fn push(
        &mut self,
        offset: u64,
        name: &[u8],
        kind: MemberKind,
        target: Option<Target>,
        symbols: Span,
    ) {
        let start = u32::try_from(self.out.text.len());
        let end = u32::try_from(self.out.text.len() + name.len());
        let place = start.ok().zip(end.ok()).map(|(start, end)| Span { start, end });
        if place.is_none() {
            let what = "has a name for which there is no room";
            self.damage(Some(offset), Defect::new(Table::MemberHeader, offset, what));
        }
        self.out.text.extend_from_slice(if place.is_some() { name } else { &[] });
        let (name, hashes, strings) = (place.unwrap_or_default(), Span::default(), None);
        let in_other_archive = false;
        self.out.list.push(Member {
            offset,
            kind,
            target,
            in_other_archive,
            name,
            symbols,
            hashes,
            strings,
        });
    }

    /// Looks up the definitions of the members whose string tables are kept in memory.
    fn find_kept(&mut self) {
        self.builder.find_kept(self.buffers.kept(), self.options.names);
        self.buffers.release();
    }

    /// Completes the result. Reads the index if an option asks for it or if the symbols of a member
    /// are unknown. Such a member gets the definitions that the index lists for it.
    fn finish(mut self) -> Result<Members, ReadError> {
        self.find_kept();
        self.out.damage.extend(self.builder.finish(&mut self.out.list, self.options.names));
        let opaque = self.rest.is_some() || self.out.list.iter().any(Member::is_unknown);
        let wanted = self.index.filter(|_| opaque || self.options.index);
        let mut defects = Vec::new();
        let read = |(entry, kind): (MemberHeader, SpecialMember)| {
            ArchiveSymbolIndex::read(self.file, &entry, kind, &mut defects)
        };
        let index = wanted.map(read).transpose()?;
        for defect in defects {
            self.damage(None, defect);
        }
        self.add_rest(index.as_ref());
        if let Some(index) = index {
            if opaque {
                self.builder.opaque(&mut self.out.list, &index, self.options.names);
            }
            self.out.index = Some(index);
        }
        self.out.versioned = self.builder.versioned;
        self.out.default_versions = std::mem::take(&mut self.builder.default_versions);
        (self.out.symbols, self.out.hashes, self.out.starts) = self.builder.take();
        self.out.text.shrink_to_fit();
        self.out.list.shrink_to_fit();
        Ok(self.out)
    }

    /// Adds damaged members for the rest of the archive, which was not read: one at the start of
    /// the rest, and one at each later offset that the index lists. Without an index, the member
    /// at the start represents all others, and may define any name. With an index, the start
    /// becomes a member only if a member header is there, or if the index lists its offset.
    fn add_rest(&mut self, index: Option<&ArchiveSymbolIndex>) {
        let Some(UnreadRest { at, name }) = self.rest.take() else { return };
        let entries = index.into_iter().flat_map(ArchiveSymbolIndex::entries);
        let mut offsets: Vec<u64> =
            entries.map(|(_, member)| member).filter(|m| *m >= at).collect();
        if name.is_some() || index.is_none_or(ArchiveSymbolIndex::is_empty) {
            offsets.push(at);
        }
        offsets.sort_unstable();
        offsets.dedup();
        for offset in offsets {
            let name = name.as_deref().filter(|_| offset == at).unwrap_or_default();
            self.push(offset, name, MemberKind::Damaged, None, Span::default());
        }
    }
}
