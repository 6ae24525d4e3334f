//! Reads the [`LinkFacts`] of one relocatable object, and only the sections that hold them.
//! `facts::members` calls this module for few members: those that refer to undefined names, or that
//! a fix adds.

use super::elf_member::is_machine_common;
use super::header::{self, MemberHeader};
use super::link_facts::{
    Global, LINK_ONCE, LinkFacts, NAMELESS, ObjectRelocation, ObjectSection, RelocationFilter,
};
use super::ranges::Ranges;
use super::read::External;
use crate::format::{ReadError, c_string};
use crate::id::FastSet;
use crate::tree::Handle;
use object::read::ReadRef as _;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{Endianness, U32, archive, elf};
use std::borrow::Cow;
use std::ops::Range;

/// Upper bound for the size of an object, in bytes. The largest object of LLVM has 40 megabytes.
pub(super) const MOST: u64 = 1 << 29;
/// Minimum size of a relocation, in bytes. The size of an object, divided by this number, limits
/// the number of its relocations: a hostile file may list the same relocations in many section
/// headers.
const FEWEST_BYTES: u64 = 8;
/// Size of a member header, in bytes.
const HEADER: usize = size_of::<archive::Header>();
/// Size of a 64-bit ELF header, in bytes.
const HEAD: usize = 64;

/// Name prefixes of sections that linkers keep even if nothing refers to them (`KEEP` in
/// `ld/scripttempl/elf.sc`, `isReserved` in `lld/ELF/MarkLive.cpp`).
const KEPT: [&[u8]; 5] = [b".init_array", b".fini_array", b".preinit_array", b".ctors", b".dtors"];

/// Reads link facts with one filter, into memory that is reused for all objects.
pub struct LinkFactsReader<'r> {
    /// Selects the relocations that are read.
    pub wanted: RelocationFilter<'r>,
    /// Memory that is reused for all objects.
    pub scratch: &'r mut LinkScratch,
}

/// Memory that is reused for all objects that one thread reads.
#[derive(Default)]
pub struct LinkScratch {
    pub(super) ranges: Ranges,
    facts: LinkFacts,
}

impl LinkFactsReader<'_> {
    /// The facts of the member of `file` whose header is at `offset`. `None` if the member cannot
    /// be read or is not a relocatable object. If the archive is thin (`thin`), `open` opens the
    /// member's file.
    pub fn member(
        &mut self,
        file: &Handle,
        offset: u64,
        thin: bool,
        open: &dyn Fn(&[u8]) -> External,
    ) -> Result<Option<LinkFacts>, ReadError> {
        let Some(found) = ObjectPlace::of_member(file, offset, thin, open)? else {
            return Ok(None);
        };
        self.begin(found.outside.as_ref().unwrap_or(file), found.range, &found.head)
    }

    /// The facts of the relocatable object in `file`. `None` if the file is damaged, too large, or
    /// not a relocatable object.
    pub fn object(&mut self, file: &Handle) -> Result<Option<LinkFacts>, ReadError> {
        let found = ObjectPlace::of_object(file)?;
        self.begin(file, found.range, &found.head)
    }

    /// The facts of the object at `place` (offset and size) in `file`. The object begins with
    /// `head`. `None` if the object is damaged, too large, or not relocatable.
    fn begin(
        &mut self,
        file: &Handle,
        place: (u64, u64),
        head: &[u8],
    ) -> Result<Option<LinkFacts>, ReadError> {
        if place.1 > MOST {
            return Ok(None);
        }
        self.scratch.ranges.begin(file, place, head);
        let is_64 = self.scratch.ranges.read_bytes_at(4, 1) == Ok(&[elf::ELFCLASS64.0]);
        if is_64 {
            self.parts::<elf::FileHeader64<Endianness>>(file, place.0)
        } else {
            self.parts::<elf::FileHeader32<Endianness>>(file, place.0)
        }
    }

    /// Reads the section headers, then the sections that hold link facts.
    fn parts<H: FileHeader<Endian = Endianness>>(
        &mut self,
        file: &Handle,
        base: u64,
    ) -> Result<Option<LinkFacts>, ReadError> {
        let Some((all, is_whole)) = table::<H>(&self.scratch.ranges) else { return Ok(None) };
        self.scratch.ranges.load(file, base, vec![all])?;
        if !is_whole {
            let Some((all, true)) = table::<H>(&self.scratch.ranges) else { return Ok(None) };
            self.scratch.ranges.load(file, base, vec![all])?;
        }
        let Some(sections) = sections::<H>(&self.scratch.ranges, self.wanted) else {
            return Ok(None);
        };
        self.scratch.ranges.load(file, base, sections)?;
        let LinkScratch { ranges, facts } = &mut *self.scratch;
        facts.clear();
        let is_read = parse::<H>(ranges, self.wanted, facts).is_some();
        Ok(is_read.then(|| match self.wanted {
            RelocationFilter::All => std::mem::take(facts),
            RelocationFilter::Names { .. } | RelocationFilter::Loaded(_) => facts.compact(),
        }))
    }
}

/// The place of an object, and its first bytes.
pub(super) struct ObjectPlace {
    /// The file of the object if it is a member of a thin archive.
    pub(super) outside: Option<Handle>,
    /// Offset and size of the object in its file.
    pub(super) range: (u64, u64),
    /// The first bytes of the object: an ELF header, if the object is as long.
    pub(super) head: Vec<u8>,
}

impl ObjectPlace {
    /// The place of the member of `file` whose header is at `offset`; `None` if there is none. If
    /// the archive is thin (`thin`), `open` opens the member's file.
    pub(super) fn of_member(
        file: &Handle,
        offset: u64,
        thin: bool,
        open: &dyn Fn(&[u8]) -> External,
    ) -> Result<Option<Self>, ReadError> {
        let mut head = [0; HEADER + HEAD];
        let read = file.read_at(&mut head, offset)?;
        let Some(entry) = MemberHeader::parse(&head[..read], offset) else { return Ok(None) };
        if !thin {
            let before = entry.bsd_name().unwrap_or(0).min(entry.size);
            let range = (entry.data + before, entry.size - before);
            return Ok(Some(match head[..read].get(HEADER..).filter(|_| before == 0) {
                Some(head) => Self { outside: None, range, head: head.to_vec() },
                None => Self::at(file, range)?,
            }));
        }
        let names = header::long_names(file)?;
        let External::File(outside) = open(names.name(&entry)) else { return Ok(None) };
        let position = entry.long_name().and_then(|(_, position)| position).unwrap_or(0);
        let found = if position == 0 {
            Self::of_object(&outside)?
        } else {
            let Some(inner) = MemberHeader::read(&outside, position)? else { return Ok(None) };
            let before = inner.bsd_name().unwrap_or(0).min(inner.size);
            Self::at(&outside, (inner.data + before, inner.size - before))?
        };
        Ok(Some(Self { outside: Some(outside), ..found }))
    }

    /// The object that is the whole of `file`.
    pub(super) fn of_object(file: &Handle) -> Result<Self, ReadError> {
        Self::at(file, (0, file.stat().len))
    }

    fn at(file: &Handle, range: (u64, u64)) -> Result<Self, ReadError> {
        let mut head = vec![0; HEAD];
        let read = file.read_at(&mut head, range.0)?;
        head.truncate(read);
        Ok(Self { outside: None, range, head })
    }
}

/// The byte range of the section headers, and true if it holds all of them. The range holds only
/// the first header if that header states the number of all and is not read yet. `None` if the
/// object is not relocatable.
pub(super) fn table<H: FileHeader<Endian = Endianness>>(
    data: &Ranges,
) -> Option<(Range<u64>, bool)> {
    let header = H::parse(data).ok()?;
    let e = header.endian().ok()?;
    if header.e_type(e) != elf::ET_REL {
        return None;
    }
    let start: u64 = header.e_shoff(e).into();
    let each = size_of::<H::SectionHeader>() as u64;
    let count = match header.e_shnum(e) {
        0 if start == 0 || data.read_bytes_at(start, each).is_err() => None,
        0 => Some(u64::from(header.shnum(e, data).ok()?)),
        count => Some(u64::from(count)),
    };
    let size = count.unwrap_or(1).checked_mul(each)?;
    Some((start..start.checked_add(size)?, count.is_some()))
}

/// The byte ranges of the sections that hold link facts. `None` if the section headers are damaged.
fn sections<H: FileHeader<Endian = Endianness>>(
    data: &Ranges,
    wanted: RelocationFilter<'_>,
) -> Option<Vec<Range<u64>>> {
    let header = H::parse(data).ok()?;
    let e = header.endian().ok()?;
    let all = header.section_headers(e, data).ok()?;
    let of = |section: &H::SectionHeader| {
        let is_wanted = match section.sh_type(e) {
            elf::SHT_SYMTAB | elf::SHT_STRTAB | elf::SHT_SYMTAB_SHNDX | elf::SHT_GROUP => true,
            elf::SHT_REL | elf::SHT_RELA => {
                let target = all.get(section.sh_info(e) as usize);
                target.is_some_and(|target| wanted.section(target.sh_flags(e).0))
            }
            _ => false,
        };
        let (start, size) = section.file_range(e).filter(|_| is_wanted)?;
        Some(start..start.saturating_add(size))
    };
    Some(all.iter().filter_map(of).collect())
}

/// Reads all facts into `out`, which is empty. `None` if the object is damaged or exceeds a bound.
fn parse<H: FileHeader<Endian = Endianness>>(
    data: &Ranges,
    wanted: RelocationFilter<'_>,
    out: &mut LinkFacts,
) -> Option<()> {
    let header = H::parse(data).ok()?;
    let e = header.endian().ok()?;
    let sections = header.sections(e, data).ok()?;
    let symbols = sections.symbols(e, data, elf::SHT_SYMTAB).ok()?;
    let symbol_names = text(&sections, (e, data), symbols.string_section().0);
    let symbol_name = |symbol: &H::Sym| {
        let found = c_string(symbol_names, symbol.st_name(e) as usize);
        found.or_else(|| symbols.symbol_name(e, symbol).ok())
    };
    let names = header.shstrndx(e, data).map_or(0, |index| index as usize);
    let names = text(&sections, (e, data), names);
    out.bound_names(symbol_names.len().saturating_add(names.len()), sections.len());
    let mut once = Vec::new();
    for section in sections.iter() {
        let name = c_string(names, section.sh_name(e) as usize);
        let name = name.or_else(|| sections.section_name(e, section).ok()).unwrap_or_default();
        if name.starts_with(LINK_ONCE) {
            once.push((out.sections.len(), name));
        }
        let section = object_section::<H>(section, e, name);
        out.reserve(section.name.as_deref().unwrap_or_default())?;
        out.sections.push(section);
    }
    let first = symbols.iter().take_while(|symbol| symbol.st_bind() == elf::STB_LOCAL).count();
    for (index, symbol) in symbols.enumerate().skip(first) {
        let section = symbols.symbol_section(e, symbol, index).ok()?;
        let is_strong = symbol.st_bind() != elf::STB_WEAK && !symbol.is_undefined(e);
        let common = symbol.st_shndx(e) == elf::SHN_COMMON
            || is_machine_common(header.e_machine(e), symbol.st_shndx(e));
        let is_restricted = symbol.st_visibility() != elf::STV_DEFAULT;
        if wanted.versions() && !symbol.is_undefined(e) {
            let name = symbol_name(symbol).unwrap_or_default();
            out.versions.extend(version(name).map(Box::<[u8]>::from));
        }
        let is_special = is_restricted || symbol.st_type() == elf::STT_TLS;
        let name = if wanted.symbol(symbol.is_undefined(e) || common, is_strong, is_special) {
            let name = plain(symbol_name(symbol)?);
            if wanted.name(name) { out.keep(name)? } else { NAMELESS }
        } else {
            NAMELESS
        };
        out.globals.push(Global {
            name,
            section: section.map_or(0, |section| section.0),
            bind: symbol.st_bind().0,
            kind: symbol.st_type().0,
            visibility: symbol.st_visibility().0,
            absolute: symbol.st_shndx(e) == elf::SHN_ABS,
            common,
        });
    }
    groups::<H>(&sections, &symbols, (e, data), out)?;
    if let RelocationFilter::Loaded(_) = wanted {
        out.odd_groups = odd_groups::<H>(&symbols, first, &symbol_name, out);
    } else {
        link_once(&once, out)?;
    }
    let mips64 = header.is_mips64el(e);
    let machine = (header.e_machine(e), mips64);
    relocations::<H>(&sections, &symbols, (e, data, first), (machine, wanted), out)?;
    for at in unnamed(out, wanted) {
        let symbol = symbols.symbol(object::SymbolIndex(first + at)).ok()?;
        out.globals[at].name = out.keep(plain(symbol_name(symbol)?))?;
    }
    Some(())
}

fn object_section<H: FileHeader<Endian = Endianness>>(
    section: &H::SectionHeader,
    e: Endianness,
    name: &[u8],
) -> ObjectSection {
    ObjectSection {
        name: is_identifier(name).then(|| name.into()),
        flags: section.sh_flags(e).0,
        kind: section.sh_type(e).0,
        group: None,
        unit: None,
        ordered_by: (section.sh_flags(e).0 & elf::SHF_LINK_ORDER.0 != 0)
            .then_some(section.sh_link(e)),
        is_unwind_table: name == b".eh_frame",
        is_debug: name.starts_with(b".debug") || name.starts_with(b".stab"),
        is_named: KEPT.iter().any(|begin| name.starts_with(begin))
            || [&b".init"[..], b".fini", b".jcr"].contains(&name),
        is_jcr: name == b".jcr",
    }
}

/// The bytes of the string table with this index; empty if they were not all read. A search in
/// these bytes is cheaper than one in [`Ranges`], which must first find the right part.
fn text<'d, H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'d, H, &'d Ranges>,
    (e, data): (Endianness, &'d Ranges),
    index: usize,
) -> &'d [u8] {
    let section = sections.section(object::SectionIndex(index)).ok();
    section.and_then(|section| section.data(e, data).ok()).unwrap_or_default()
}

/// The symbols whose names must still be stored, by index into `globals`: the symbols of the stored
/// relocations, and of the data of thread-local calls. [`RelocationFilter::Names`] also needs the
/// definitions in the COMDAT groups of these relocations. [`RelocationFilter::Loaded`] also needs
/// the definitions in the groups of [`odd_groups`].
fn unnamed(facts: &LinkFacts, wanted: RelocationFilter<'_>) -> FastSet<usize> {
    let of_relocations = facts.relocations.iter().filter_map(|relocation| relocation.global);
    let of_calls = facts.tls_calls.values().flatten().copied();
    let groups = match wanted {
        RelocationFilter::Names { .. } => facts.referring_groups(),
        RelocationFilter::Loaded(_) => facts.odd_groups.clone(),
        RelocationFilter::All => FastSet::default(),
    };
    let is_of_group = |global: &Global| {
        facts.group_index(global.section).is_some_and(|group| groups.contains(&group))
    };
    let of_groups = facts.globals.iter().enumerate();
    let of_groups = of_groups.filter(|(_, global)| !groups.is_empty() && is_of_group(global));
    let all = of_relocations.chain(of_calls).chain(of_groups.map(|(at, _)| at));
    let is_nameless = |at: &usize| facts.globals.get(*at).is_some_and(Global::is_nameless);
    all.filter(is_nameless).collect()
}

/// The name in `NAME@@VERSION`. Names without a default version stay as they are.
fn plain(name: &[u8]) -> &[u8] {
    let Some(at) = memchr::memchr(b'@', name) else { return name };
    memchr::memmem::find(&name[at..], b"@@").map_or(name, |found| &name[..at + found])
}

/// The version in the name of a definition (`NAME@VERSION`, `NAME@@VERSION`); `None` if the name
/// has none.
fn version(name: &[u8]) -> Option<&[u8]> {
    let at = memchr::memchr(b'@', name)?;
    let version = &name[at + 1..];
    Some(version.strip_prefix(b"@").unwrap_or(version)).filter(|version| !version.is_empty())
}

fn groups<'d, H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'d, H, &'d Ranges>,
    symbols: &SymbolTable<'d, H, &'d Ranges>,
    (e, data): (Endianness, &'d Ranges),
    out: &mut LinkFacts,
) -> Option<()> {
    for (index, section) in sections.iter().enumerate() {
        let Some((flag, members)) = section.group(e, data).ok()? else { continue };
        for member in members {
            let member: &U32<Endianness> = member;
            if let Some(section) = out.sections.get_mut(member.get(e) as usize) {
                section.unit = u32::try_from(index).ok();
            }
        }
        if flag.0 & elf::GRP_COMDAT.0 == 0 {
            continue;
        }
        let signature = symbols.symbol(object::SymbolIndex(section.sh_info(e) as usize)).ok()?;
        let signature = symbols.symbol_name(e, signature).ok()?;
        let group = out.groups.len();
        let signature = out.keep(signature)?;
        out.groups.push(signature);
        for member in members {
            let member: &U32<Endianness> = member;
            if let Some(section) = out.sections.get_mut(member.get(e) as usize) {
                section.group = u32::try_from(group).ok();
            }
        }
    }
    Some(())
}

/// Makes a COMDAT group of each section in `sections` (index and name), unless the section is in a
/// group already. The name of the section becomes the signature of the group.
fn link_once(sections: &[(usize, &[u8])], out: &mut LinkFacts) -> Option<()> {
    for (section, name) in sections {
        if out.sections.get(*section)?.group.is_none() {
            let signature = out.keep(name)?;
            out.sections.get_mut(*section)?.group = u32::try_from(out.groups.len()).ok();
            out.groups.push(signature);
        }
    }
    Some(())
}

/// Indices of the COMDAT groups that define a name other than their signature. Most groups have one
/// function, whose name is the signature.
fn odd_groups<'d, H: FileHeader<Endian = Endianness>>(
    symbols: &SymbolTable<'d, H, &'d Ranges>,
    first: usize,
    name_of: &dyn Fn(&H::Sym) -> Option<&'d [u8]>,
    facts: &LinkFacts,
) -> FastSet<usize> {
    let mut plain_definitions = vec![0_usize; facts.groups.len()];
    let mut out = FastSet::default();
    for (at, global) in facts.globals.iter().enumerate() {
        let Some(group) = facts.group_index(global.section) else { continue };
        let symbol = symbols.symbol(object::SymbolIndex(first + at)).ok();
        let name = symbol.and_then(name_of).map(plain);
        let signature = facts.groups.get(group).map(|signature| facts.kept(*signature));
        if let Some(count) = plain_definitions.get_mut(group) {
            *count += 1;
            if *count > 1 || name != signature {
                out.insert(group);
            }
        }
    }
    out
}

fn relocations<'d, H: FileHeader<Endian = Endianness>>(
    sections: &SectionTable<'d, H, &'d Ranges>,
    symbols: &SymbolTable<'d, H, &'d Ranges>,
    (e, data, first): (Endianness, &'d Ranges, usize),
    ((machine, mips64), wanted): ((elf::Machine, bool), RelocationFilter<'_>),
    out: &mut LinkFacts,
) -> Option<()> {
    let most = data.len().ok()? / FEWEST_BYTES;
    for section in sections.iter() {
        let target = section.sh_info(e) as usize;
        let flags = out.sections.get(target).map_or(0, |section| section.flags);
        if !wanted.section(flags) {
            continue;
        }
        let mut is_strict = matches!(wanted, RelocationFilter::Loaded(_)) && !out.groups.is_empty();
        let mut from = (out.group_index(target), false);
        if is_strict {
            let name = sections.section(object::SectionIndex(target)).ok();
            let name = name.and_then(|section| sections.section_name(e, section).ok());
            is_strict = !name.is_some_and(may_enter_groups);
            from.1 = name == Some(b".gcc_except_table");
        }
        let is_unwound = wanted.functions()
            && out.sections.get(target).is_some_and(|section| section.is_unwind_table);
        let (start, mut has_named) = (out.relocations.len(), false);
        let mut last = (0, 0);
        let mut add = |offset: u64, kind: u32, symbol: usize| {
            let (before, data) = std::mem::replace(&mut last, (kind, symbol));
            let global = symbol.checked_sub(first).filter(|_| symbol > 0);
            if is_strict && kind != 0 {
                let local = || {
                    let index = object::SymbolIndex(symbol);
                    let of = symbols.symbol(index).ok().filter(|_| symbol > 0)?;
                    symbols.symbol_section(e, of, index).ok().flatten().map(|section| section.0)
                };
                let of = global.map_or_else(local, |at| Some(out.globals.get(at)?.section));
                let entered = of.and_then(|of| out.entered_group((of, global), from));
                out.entered_groups.extend(entered);
            }
            let named = global.and_then(|global| out.globals.get(global));
            let is_named = named.is_some_and(|global| !global.is_nameless());
            has_named |= is_named;
            if !is_unwound && !wanted.relocation((flags, kind), symbol >= first, is_named) {
                return true;
            }
            let of = symbols.symbol(object::SymbolIndex(symbol)).ok();
            let absolute =
                symbol == 0 || of.is_some_and(|symbol| symbol.st_shndx(e) == elf::SHN_ABS);
            let local = of.filter(|_| global.is_none()).and_then(|of| {
                symbols.symbol_section(e, of, object::SymbolIndex(symbol)).ok().flatten()
            });
            let has_target = is_unwound || matches!(wanted, RelocationFilter::All);
            let to = local.filter(|_| has_target).map_or(0, |section| section.0);
            if !is_unwound && is_before_tls_call(machine, before) {
                out.tls_calls.insert(out.relocations.len(), data.checked_sub(first));
            }
            out.relocations.push(ObjectRelocation {
                section: target,
                kind,
                global,
                absolute,
                target: to,
                is_aligned: offset.is_multiple_of(4),
            });
            out.relocations.len() as u64 <= most
        };
        let is_tls_call = |one: &H::Rela| is_before_tls_call(machine, one.r_type(e, mips64).0);
        if let Some((list, _)) = section.rela(e, data).ok()? {
            let mut list: Cow<'_, [H::Rela]> = list.into();
            if machine == elf::EM_S390 && list.iter().any(is_tls_call) {
                // The marker of a thread-local call may follow the relocation of the call. lld
                // sorts the relocations of this machine by their offsets.
                list.to_mut().sort_by_key(|one| -> u64 { one.r_offset(e).into() });
            }
            for one in &*list {
                let to = one.r_sym(e, mips64) as usize;
                if !add(one.r_offset(e).into(), one.r_type(e, mips64).0, to) {
                    return None;
                }
            }
        } else if let Some((list, _)) = section.rel(e, data).ok()? {
            for one in list {
                if !add(one.r_offset(e).into(), one.r_type(e).0, one.r_sym(e) as usize) {
                    return None;
                }
            }
        }
        if is_unwound && !has_named {
            out.relocations.truncate(start);
        }
    }
    Some(())
}

/// True if linkers ignore references from this section to discarded groups (`maybeReportUndefined`
/// in `lld/ELF/Relocations.cpp`). Such a section is an unwind table or, on PowerPC, a table of
/// addresses that serves all groups.
fn may_enter_groups(section: &[u8]) -> bool {
    [&b".eh_frame"[..], b".got2", b".toc"].contains(&section)
}

/// True for a relocation type of general- or local-dynamic thread-local storage. The relocation
/// after it belongs to the call of the function that finds the data, such as `__tls_get_addr`.
fn is_before_tls_call(machine: elf::Machine, kind: u32) -> bool {
    let kinds = match machine {
        elf::EM_X86_64 => [elf::R_X86_64_TLSGD, elf::R_X86_64_TLSLD],
        elf::EM_386 => [elf::R_386_TLS_GD, elf::R_386_TLS_LDM],
        elf::EM_PPC => [elf::R_PPC_TLSGD, elf::R_PPC_TLSLD],
        elf::EM_PPC64 => [elf::R_PPC64_TLSGD, elf::R_PPC64_TLSLD],
        elf::EM_S390 => [elf::R_390_TLS_GDCALL, elf::R_390_TLS_LDCALL],
        _ => return false,
    };
    kinds.contains(&elf::RelocationType(kind))
}

fn is_identifier(text: &[u8]) -> bool {
    let first = text.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    first && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}
