//! Reads the sections, COMDAT groups and relocations of one relocatable object: a linker needs
//! these facts besides the symbol table. Only few members are read in this way, and of these only
//! the sections that hold such facts. `facts::members` is the caller.

use super::header::{self, MemberHeader};
use super::ranges::Ranges;
use super::read::External;
use crate::format::ReadError;
use crate::id::{FastMap, FastSet};
use crate::tree::Handle;
use object::read::ReadRef as _;
use object::read::elf::{FileHeader, Rel, Rela, SectionHeader, SectionTable, Sym, SymbolTable};
use object::{Endianness, U32, archive, elf};
use std::collections::BTreeSet;
use std::ops::Range;

/// Upper bound, in bytes, for an object; the largest of LLVM has 40 megabytes.
const MOST: u64 = 1 << 29;
/// Minimum size of a relocation, in bytes. It limits the number of relocations, because a hostile
/// file may list the same relocations in many section headers.
const FEWEST_BYTES: u64 = 8;
/// Sizes in bytes of a member header, and of a 64-bit ELF header.
const HEADER: usize = size_of::<archive::Header>();
const HEAD: usize = 64;

/// The relocations that are read.
#[derive(Clone, Copy)]
pub enum RelocationFilter<'w> {
    /// All relocations.
    All,
    /// Relocations to these undefined names, in loaded sections, or in all sections if the second
    /// field is true. Without names, no relocations are read.
    Names(&'w FastSet<&'w [u8]>, bool),
    /// Relocations of loaded sections for which the function is true. Its arguments are `sh_flags`
    /// of the section, the type, and true if the symbol is global.
    Loaded(&'w (dyn Fn(u64, u32, bool) -> bool + Sync)),
}

impl RelocationFilter<'_> {
    /// True if relocations of a section with these flags may be wanted.
    fn section(self, flags: u64) -> bool {
        let is_loaded = flags & (elf::SHF_ALLOC.0 | elf::SHF_EXCLUDE.0) == elf::SHF_ALLOC.0;
        match self {
            Self::All => true,
            Self::Names(names, every) => !names.is_empty() && (every || is_loaded),
            Self::Loaded(_) => is_loaded,
        }
    }

    /// True if the name of a symbol may be stored even if no wanted relocation refers to the
    /// symbol. A special symbol has restricted visibility, or is thread-local.
    fn symbol(self, is_undefined: bool, is_strong: bool, is_special: bool) -> bool {
        match self {
            Self::All => true,
            Self::Names(names, _) => is_undefined && !names.is_empty(),
            Self::Loaded(_) => is_strong && !is_undefined || is_special,
        }
    }

    /// True if versions of definitions are stored.
    fn versions(self) -> bool {
        matches!(self, Self::Loaded(_))
    }

    fn name(self, name: &[u8]) -> bool {
        !matches!(self, Self::Names(names, _) if !names.contains(name))
    }

    fn relocation(self, (flags, kind): (u64, u32), is_global: bool, is_named: bool) -> bool {
        match self {
            Self::All => true,
            Self::Names(..) => is_named,
            Self::Loaded(wanted) => wanted(flags, kind, is_global),
        }
    }
}

/// A section of an object.
#[derive(Clone, Debug)]
pub struct ObjectSection {
    /// Its name, if that is a C identifier: linkers then define `__start_` and `__stop_` symbols
    /// for it.
    pub name: Option<Box<[u8]>>,
    /// `sh_flags`
    pub flags: u64,
    /// `sh_type`
    pub kind: u32,
    /// Its COMDAT group, by index into [`LinkFacts::groups`].
    pub group: Option<usize>,
    /// Its group of any kind, as the index of the group's section. Sections of a group stay
    /// together.
    pub unit: Option<usize>,
    /// The section by which it is ordered (SHF_LINK_ORDER), and with which it stays.
    pub ordered_by: Option<usize>,
    /// True for `.eh_frame`.
    pub is_unwind_table: bool,
    /// True if only debuggers read it.
    pub is_debug: bool,
    /// True for `.jcr`, which linkers other than mold keep.
    pub is_jcr: bool,
    /// True if linkers keep sections with its name.
    is_named: bool,
}

/// A global symbol.
#[derive(Clone, Debug)]
pub struct Global {
    /// Start and end of its name in [`LinkFacts::names`].
    name: (u32, u32),
    /// `st_shndx`, with SHN_XINDEX followed; 0 if undefined, absolute or common.
    pub section: usize,
    /// STB_*
    pub bind: u8,
    /// STT_*
    pub kind: u8,
    /// STV_*
    pub visibility: u8,
    /// SHN_ABS
    pub absolute: bool,
    /// SHN_COMMON
    pub common: bool,
}

/// A relocation.
#[derive(Clone, Copy, Debug)]
pub struct ObjectRelocation {
    /// The section that it changes.
    pub section: usize,
    /// R_*
    pub kind: u32,
    /// The symbol, by index into [`LinkFacts::globals`]; `None` for a local symbol or no symbol.
    pub global: Option<usize>,
    /// True if the symbol is absolute, or if there is no symbol.
    pub absolute: bool,
    /// The section of a local symbol, or 0.
    pub target: usize,
}

/// The facts of one object.
#[derive(Clone, Debug, Default)]
pub struct LinkFacts {
    /// The sections, from index 0 on.
    pub sections: Vec<ObjectSection>,
    /// Signatures of the COMDAT groups.
    pub groups: Vec<Box<[u8]>>,
    /// The global symbols.
    pub globals: Vec<Global>,
    /// The relocations that were wanted.
    pub relocations: Vec<ObjectRelocation>,
    /// The versions of its definitions (`NAME@VERSION`, `NAME@@VERSION`), if these are wanted.
    pub versions: BTreeSet<Box<[u8]>>,
    /// Those that call the function which finds thread-local data, by index into `relocations`. The
    /// value is the symbol of the data, by index into `globals`; `None` for a local symbol.
    pub tls_calls: FastMap<usize, Option<usize>>,
    /// The names of global symbols, one after the other.
    names: Vec<u8>,
}

/// Prefixes of section names. Linkers keep these sections even if nothing refers to them (`KEEP` in
/// `ld/scripttempl/elf.sc`, `isReserved` in `lld/ELF/MarkLive.cpp`).
const KEPT: [&[u8]; 5] = [b".init_array", b".fini_array", b".preinit_array", b".ctors", b".dtors"];

/// Start and end of a name that is not stored.
const NAMELESS: (u32, u32) = (0, 0);

impl Global {
    fn is_nameless(&self) -> bool {
        self.name.0 == self.name.1
    }
}

impl ObjectSection {
    /// True if `--gc-sections` keeps it even if nothing refers to it.
    pub fn is_reserved(&self) -> bool {
        let arrays = [elf::SHT_INIT_ARRAY.0, elf::SHT_FINI_ARRAY.0, elf::SHT_PREINIT_ARRAY.0];
        let is_note = self.kind == elf::SHT_NOTE.0 && self.unit.is_none();
        let is_retained = self.flags & elf::SHF_GNU_RETAIN.0 != 0;
        self.is_named || is_note || is_retained || arrays.contains(&self.kind)
    }

    /// True for thread-local data.
    pub fn is_tls(&self) -> bool {
        self.flags & elf::SHF_TLS.0 != 0
    }
}

impl LinkFacts {
    /// The name of a global symbol, without a default version. Empty if the name was not wanted and
    /// no wanted relocation refers to the symbol.
    pub fn name(&self, global: &Global) -> &[u8] {
        let (start, end) = global.name;
        self.names.get(start as usize..end as usize).unwrap_or_default()
    }

    /// Stores a name and returns its start and end; `None` if they do not fit in 32 bits.
    fn keep(&mut self, name: &[u8]) -> Option<(u32, u32)> {
        let start = u32::try_from(self.names.len()).ok()?;
        self.names.extend_from_slice(name);
        Some((start, u32::try_from(self.names.len()).ok()?))
    }

    /// True unless SHF_EXCLUDE keeps the section out of the output.
    pub fn is_kept(&self, section: usize) -> bool {
        let flags = self.sections.get(section).map_or(0, |section| section.flags);
        flags & elf::SHF_EXCLUDE.0 == 0
    }

    /// True if the section is loaded.
    pub fn is_loaded(&self, section: usize) -> bool {
        let flags = self.sections.get(section).map_or(0, |section| section.flags);
        self.is_kept(section) && flags & elf::SHF_ALLOC.0 != 0
    }

    /// True if the section has SHF_WRITE.
    pub fn is_writable(&self, section: usize) -> bool {
        let flags = self.sections.get(section).map_or(0, |section| section.flags);
        flags & elf::SHF_WRITE.0 != 0
    }

    /// The signature of a section's COMDAT group.
    pub fn group_of(&self, section: usize) -> Option<&[u8]> {
        self.groups.get(self.group_index(section)?).map(|signature| &**signature)
    }

    fn group_index(&self, section: usize) -> Option<usize> {
        self.sections.get(section)?.group
    }

    /// The COMDAT groups with a relocation that was wanted, by index into `groups`.
    fn referring_groups(&self) -> FastSet<usize> {
        self.relocations.iter().filter_map(|one| self.group_index(one.section)).collect()
    }

    /// Names by which other objects with the same COMDAT groups are found, for the groups that have
    /// a relocation that was wanted: their signatures and the names that they define. No symbol has
    /// the name of some signatures, such as those of constructors (`C5`).
    pub fn group_names(&self) -> Vec<&[u8]> {
        let referring = self.referring_groups();
        if referring.is_empty() {
            return Vec::new();
        }
        let signatures = referring.iter().filter_map(|group| self.groups.get(*group));
        let is_inside = |global: &&Global| {
            let group = self.group_index(global.section);
            group.is_some_and(|group| referring.contains(&group)) && !global.is_nameless()
        };
        let defined = self.globals.iter().filter(is_inside).map(|global| self.name(global));
        signatures.map(|signature| &**signature).chain(defined).collect()
    }
}

/// Options for reading members, and reused memory.
pub struct LinkFactsReader<'r> {
    /// The relocations that are read.
    pub wanted: RelocationFilter<'r>,
    /// Reused memory.
    pub ranges: &'r mut Ranges,
}

impl LinkFactsReader<'_> {
    /// The facts of the member of `file` whose header is at `offset`; `open` opens the file of a
    /// thin archive's member. `None` if the member cannot be read or is not a relocatable object.
    pub fn member(
        &mut self,
        file: &Handle,
        offset: u64,
        thin: bool,
        open: &dyn Fn(&[u8]) -> External,
    ) -> Result<Option<LinkFacts>, ReadError> {
        let mut head = [0; HEADER + HEAD];
        let read = file.read_at(&mut head, offset)?;
        let Some(entry) = MemberHeader::parse(&head[..read], offset) else { return Ok(None) };
        if !thin {
            let before = entry.bsd_name().unwrap_or(0).min(entry.size);
            let place = (entry.data + before, entry.size - before);
            return match head[..read].get(HEADER..).filter(|_| before == 0) {
                Some(head) => self.begin(file, place, head),
                None => self.part(file, place),
            };
        }
        let names = header::long_names(file)?;
        let External::File(outside) = open(names.name(&entry)) else { return Ok(None) };
        let position = entry.long_name().and_then(|(_, position)| position).unwrap_or(0);
        if position == 0 {
            return self.object(&outside);
        }
        let Some(inner) = MemberHeader::read(&outside, position)? else { return Ok(None) };
        let before = inner.bsd_name().unwrap_or(0).min(inner.size);
        self.part(&outside, (inner.data + before, inner.size - before))
    }

    /// The facts of the relocatable object in `file`.
    pub fn object(&mut self, file: &Handle) -> Result<Option<LinkFacts>, ReadError> {
        self.part(file, (0, file.stat().len))
    }

    /// The facts of the object at `place` (offset and size) in `file`.
    fn part(&mut self, file: &Handle, place: (u64, u64)) -> Result<Option<LinkFacts>, ReadError> {
        let mut head = [0; HEAD];
        let read = file.read_at(&mut head, place.0)?;
        self.begin(file, place, &head[..read])
    }

    /// The facts of the object at `place` of `file`, which begins with `head`. `None` if it is too
    /// large or not a relocatable object.
    fn begin(
        &mut self,
        file: &Handle,
        place: (u64, u64),
        head: &[u8],
    ) -> Result<Option<LinkFacts>, ReadError> {
        if place.1 > MOST {
            return Ok(None);
        }
        self.ranges.begin(file, place, head);
        let is_64 = self.ranges.read_bytes_at(4, 1) == Ok(&[elf::ELFCLASS64.0]);
        if is_64 {
            self.parts::<elf::FileHeader64<Endianness>>(file, place.0)
        } else {
            self.parts::<elf::FileHeader32<Endianness>>(file, place.0)
        }
    }

    /// Reads the table of sections, then the sections with facts.
    fn parts<H: FileHeader<Endian = Endianness>>(
        &mut self,
        file: &Handle,
        base: u64,
    ) -> Result<Option<LinkFacts>, ReadError> {
        let Some((all, is_whole)) = table::<H>(self.ranges) else { return Ok(None) };
        self.ranges.read(file, base, vec![all])?;
        if !is_whole {
            let Some((all, true)) = table::<H>(self.ranges) else { return Ok(None) };
            self.ranges.read(file, base, vec![all])?;
        }
        let Some(sections) = sections::<H>(self.ranges, self.wanted) else { return Ok(None) };
        self.ranges.read(file, base, sections)?;
        Ok(parse::<H>(self.ranges, self.wanted))
    }
}

/// The byte range of the section headers, and true. If only the first section header has their
/// number and is not read yet, the range of that header, and false. `None` if the object is not
/// relocatable.
fn table<H: FileHeader<Endian = Endianness>>(data: &Ranges) -> Option<(Range<u64>, bool)> {
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

/// The byte ranges of the sections with facts.
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

fn parse<H: FileHeader<Endian = Endianness>>(
    data: &Ranges,
    wanted: RelocationFilter<'_>,
) -> Option<LinkFacts> {
    let header = H::parse(data).ok()?;
    let e = header.endian().ok()?;
    let sections = header.sections(e, data).ok()?;
    let symbols = sections.symbols(e, data, elf::SHT_SYMTAB).ok()?;
    let mut out = LinkFacts::default();
    for section in sections.iter() {
        let name = sections.section_name(e, section).unwrap_or_default();
        out.sections.push(ObjectSection {
            name: is_identifier(name).then(|| name.into()),
            flags: section.sh_flags(e).0,
            kind: section.sh_type(e).0,
            group: None,
            unit: None,
            ordered_by: (section.sh_flags(e).0 & elf::SHF_LINK_ORDER.0 != 0)
                .then_some(section.sh_link(e) as usize),
            is_unwind_table: name == b".eh_frame",
            is_debug: name.starts_with(b".debug") || name.starts_with(b".stab"),
            is_named: KEPT.iter().any(|begin| name.starts_with(begin))
                || [&b".init"[..], b".fini", b".jcr"].contains(&name),
            is_jcr: name == b".jcr",
        });
    }
    let first = symbols.iter().take_while(|symbol| symbol.st_bind() == elf::STB_LOCAL).count();
    for (index, symbol) in symbols.enumerate().skip(first) {
        let section = symbols.symbol_section(e, symbol, index).ok()?;
        let is_strong = symbol.st_bind() != elf::STB_WEAK;
        let is_restricted = symbol.st_visibility() != elf::STV_DEFAULT;
        if wanted.versions() && !symbol.is_undefined(e) {
            let name = symbols.symbol_name(e, symbol).unwrap_or_default();
            out.versions.extend(version(name).map(Box::<[u8]>::from));
        }
        let is_special = is_restricted || symbol.st_type() == elf::STT_TLS;
        let name = if wanted.symbol(symbol.is_undefined(e), is_strong, is_special) {
            let name = plain(symbols.symbol_name(e, symbol).ok()?);
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
            common: symbol.st_shndx(e) == elf::SHN_COMMON,
        });
    }
    groups::<H>(&sections, &symbols, (e, data), &mut out)?;
    let mips64 = header.is_mips64el(e);
    let machine = (header.e_machine(e), mips64);
    relocations::<H>(&sections, &symbols, (e, data, first), (machine, wanted), &mut out)?;
    for at in unnamed(&out, wanted) {
        let symbol = symbols.symbol(object::SymbolIndex(first + at)).ok()?;
        out.globals[at].name = out.keep(plain(symbols.symbol_name(e, symbol).ok()?))?;
    }
    Some(out)
}

/// The nameless symbols whose names matter because of a relocation: its symbol, the data of a
/// thread-local call, and the definitions in its COMDAT group if only some names are wanted.
fn unnamed(facts: &LinkFacts, wanted: RelocationFilter<'_>) -> FastSet<usize> {
    let of_relocations = facts.relocations.iter().filter_map(|relocation| relocation.global);
    let of_calls = facts.tls_calls.values().flatten().copied();
    let referring = match wanted {
        RelocationFilter::Names(..) => facts.referring_groups(),
        RelocationFilter::All | RelocationFilter::Loaded(_) => FastSet::default(),
    };
    let is_of_group = |global: &Global| {
        facts.group_index(global.section).is_some_and(|group| referring.contains(&group))
    };
    let of_groups = facts.globals.iter().enumerate();
    let of_groups = of_groups.filter(|(_, global)| !referring.is_empty() && is_of_group(global));
    let all = of_relocations.chain(of_calls).chain(of_groups.map(|(at, _)| at));
    let is_nameless = |at: &usize| facts.globals.get(*at).is_some_and(Global::is_nameless);
    all.filter(is_nameless).collect()
}

/// A name without its default version.
fn plain(name: &[u8]) -> &[u8] {
    let Some(at) = memchr::memchr(b'@', name) else { return name };
    memchr::memmem::find(&name[at..], b"@@").map_or(name, |found| &name[..at + found])
}

/// The version in the name of a definition.
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
                section.unit = Some(index);
            }
        }
        if flag.0 & elf::GRP_COMDAT.0 == 0 {
            continue;
        }
        let signature = symbols.symbol(object::SymbolIndex(section.sh_info(e) as usize)).ok()?;
        let signature = symbols.symbol_name(e, signature).ok()?;
        let group = out.groups.len();
        out.groups.push(signature.into());
        for member in members {
            let member: &U32<Endianness> = member;
            if let Some(section) = out.sections.get_mut(member.get(e) as usize) {
                section.group = Some(group);
            }
        }
    }
    Some(())
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
        let mut last = (0, 0);
        let mut add = |kind: u32, symbol: usize| {
            let (before, data) = std::mem::replace(&mut last, (kind, symbol));
            let global = symbol.checked_sub(first).filter(|_| symbol > 0);
            let named = global.and_then(|global| out.globals.get(global));
            let is_named = named.is_some_and(|global| !global.is_nameless());
            if !wanted.relocation((flags, kind), symbol >= first, is_named) {
                return true;
            }
            let of = symbols.symbol(object::SymbolIndex(symbol)).ok();
            let absolute =
                symbol == 0 || of.is_some_and(|symbol| symbol.st_shndx(e) == elf::SHN_ABS);
            let local = of.filter(|_| global.is_none()).and_then(|of| {
                symbols.symbol_section(e, of, object::SymbolIndex(symbol)).ok().flatten()
            });
            let to = local.map_or(0, |section| section.0);
            if is_before_tls_call(machine, before) {
                out.tls_calls.insert(out.relocations.len(), data.checked_sub(first));
            }
            out.relocations.push(ObjectRelocation {
                section: target,
                kind,
                global,
                absolute,
                target: to,
            });
            out.relocations.len() as u64 <= most
        };
        if let Some((list, _)) = section.rela(e, data).ok()? {
            for one in list {
                if !add(one.r_type(e, mips64).0, one.r_sym(e, mips64) as usize) {
                    return None;
                }
            }
        } else if let Some((list, _)) = section.rel(e, data).ok()? {
            for one in list {
                if !add(one.r_type(e).0, one.r_sym(e) as usize) {
                    return None;
                }
            }
        }
    }
    Some(())
}

/// True for a relocation type of general- or local-dynamic thread-local storage after which the
/// next relocation calls the function that finds the data, such as `__tls_get_addr`.
fn is_before_tls_call(machine: elf::Machine, kind: u32) -> bool {
    let kinds = match machine {
        elf::EM_X86_64 => [elf::R_X86_64_TLSGD, elf::R_X86_64_TLSLD],
        elf::EM_386 => [elf::R_386_TLS_GD, elf::R_386_TLS_LDM],
        elf::EM_PPC64 => [elf::R_PPC64_TLSGD, elf::R_PPC64_TLSLD],
        _ => return false,
    };
    kinds.contains(&elf::RelocationType(kind))
}

fn is_identifier(text: &[u8]) -> bool {
    let first = text.first().is_some_and(|b| b.is_ascii_alphabetic() || *b == b'_');
    first && text.iter().all(|b| b.is_ascii_alphanumeric() || *b == b'_')
}
