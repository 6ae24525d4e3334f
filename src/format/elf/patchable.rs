//! Tests if patchelf can change a file, and which risks the change has. patchelf finds tables by
//! their section headers, overwrites an old search path in the string table, and appends tables
//! that grow. Only `fix` uses the result. `start_code` takes the addresses of sections from here.

use super::{Header, header::endian};
use crate::format::{c_string, read_range};
use crate::tree::Handle;
use object::pod::{Pod, from_bytes, slice_from_bytes};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, U32, elf};
use std::cell::Cell;
use std::ops::Range;

type Verneed = elf::Verneed<Endianness>;
type Vernaux = elf::Vernaux<Endianness>;
type Verdef = elf::Verdef<Endianness>;
type Verdaux = elf::Verdaux<Endianness>;

/// Upper bound, in bytes, for one table. A file with a larger table is treated as a file that
/// patchelf cannot change.
const MOST_TABLE: u64 = 1 << 30;
/// Upper bound, in bytes, for the text of a search path. A longer path is treated as if it shared
/// bytes with another name.
const MOST_PATH: u64 = 64 << 10;
/// Maximum length, in bytes, of padding: zeros at the end of a file that are not a payload.
const MOST_PADDING: u64 = 4 << 10;
/// Upper bound for the records of all version tables together. Offsets link the records, and lists
/// may overlap or have a cycle.
const MOST_RECORDS: usize = 1 << 16;

/// The risks of a change by patchelf, for a file that patchelf can change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Patchable {
    /// True if bytes of the search path also belong to another name, such as the name of a symbol.
    /// GNU ld stores a name in the same bytes as the end of a longer name.
    pub path_is_shared: bool,
    /// True if data follows the ELF image, such as the archive of a program that unpacks itself.
    pub has_payload: bool,
    /// True if the section `.dynamic` has a DT_NULL. patchelf searches for it without a limit.
    pub has_end: bool,
}

/// Finds the risks of a change by patchelf. `None` if patchelf cannot change the file: its section
/// headers are missing or damaged, or they disagree with its dynamic section or string table.
pub fn patchable(file: &Handle) -> Option<Patchable> {
    let head = read_range(file, 0, 64).ok()?;
    let header = Header::parse(&head)?;
    if header.is_64 {
        patchable_as::<elf::FileHeader64<Endianness>>(file, &head, &header)
    } else {
        patchable_as::<elf::FileHeader32<Endianness>>(file, &head, &header)
    }
}

fn patchable_as<H: FileHeader<Endian = Endianness>>(
    file: &Handle,
    head: &[u8],
    header: &Header,
) -> Option<Patchable> {
    let image = Image::<H>::read(file, head, header)?;
    let sections = image.sections()?;
    let dynamic = image.section(sections, b".dynamic")?;
    let strings = image.section(sections, b".dynstr")?;
    let dynamic = image.content(dynamic)?;
    let entries = slice_from_bytes::<H::Dyn>(&dynamic, dynamic.len() / size_of::<H::Dyn>());
    let entries = entries.ok()?.0;
    let table = entries.iter().find(|entry| entry.d_tag(image.e) == elf::DT_STRTAB)?;
    if table.d_val(image.e).into() != strings.sh_addr(image.e).into() {
        return None;
    }
    let path = image.path(strings, entries)?;
    let path_is_shared = image.is_shared(sections, entries, &path)?;
    let has_end = entries.iter().any(|entry| entry.d_tag(image.e) == elf::DT_NULL);
    Some(Patchable { path_is_shared, has_payload: image.has_payload(sections)?, has_end })
}

/// The address (`sh_addr`) of the section with this name. `None` if there is no such section.
pub(super) fn address_of(file: &Handle, name: &[u8]) -> Option<u64> {
    let head = read_range(file, 0, 64).ok()?;
    let header = Header::parse(&head)?;
    if header.is_64 {
        address_as::<elf::FileHeader64<Endianness>>(file, &head, &header, name)
    } else {
        address_as::<elf::FileHeader32<Endianness>>(file, &head, &header, name)
    }
}

fn address_as<H: FileHeader<Endian = Endianness>>(
    file: &Handle,
    head: &[u8],
    header: &Header,
    name: &[u8],
) -> Option<u64> {
    let image = Image::<H>::read(file, head, header)?;
    Some(image.section(image.sections()?, name)?.sh_addr(image.e).into())
}

/// A file with its headers.
struct Image<'f, H: FileHeader<Endian = Endianness>> {
    file: &'f Handle,
    e: Endianness,
    raw: H,
    /// The program headers, then the section headers.
    headers: (Vec<u8>, Vec<u8>),
    /// The string table with the names of sections (`e_shstrndx`).
    names: Vec<u8>,
}

/// The text of a search path in the string table.
struct PathText {
    range: Range<u64>,
    /// True if the text is the end of a longer string, or if it reaches [`MOST_PATH`].
    is_end: bool,
}

impl<'f, H: FileHeader<Endian = Endianness>> Image<'f, H> {
    fn read(file: &'f Handle, head: &[u8], header: &Header) -> Option<Self> {
        let (e, raw) = (endian(header.big), *from_bytes::<H>(head).ok()?.0);
        let size = |count: u16, each: usize| u64::from(count) * each as u64;
        let segments = size(header.phnum, size_of::<H::ProgramHeader>());
        let sections = size(raw.e_shnum(e), size_of::<H::SectionHeader>());
        let headers = (
            read_range(file, header.phoff, segments).ok()?,
            read_range(file, header.sections.0, sections).ok()?,
        );
        let mut image = Self { file, e, raw, headers, names: Vec::new() };
        let names = image.sections()?.get(usize::from(raw.e_shstrndx(e).0))?;
        image.names = image.content(names)?;
        Some(image)
    }

    /// The section headers. `None` if the file ends before the last one.
    fn sections(&self) -> Option<&[H::SectionHeader]> {
        let count = usize::from(self.raw.e_shnum(self.e));
        Some(slice_from_bytes(&self.headers.1, count).ok()?.0)
    }

    /// The first section named `name`.
    fn section<'s>(
        &self,
        sections: &'s [H::SectionHeader],
        name: &[u8],
    ) -> Option<&'s H::SectionHeader> {
        let name_of = |section: &H::SectionHeader| section.sh_name(self.e) as usize;
        sections.iter().find(|section| c_string(&self.names, name_of(section)) == Some(name))
    }

    /// The bytes of a section; `None` if it is too large or ends beyond the end of the file.
    fn content(&self, section: &H::SectionHeader) -> Option<Vec<u8>> {
        let (offset, size) = (section.sh_offset(self.e).into(), section.sh_size(self.e).into());
        let size = Some(size).filter(|size| *size <= MOST_TABLE)?;
        let bytes = read_range(self.file, offset, size).ok()?;
        (bytes.len() as u64 == size).then_some(bytes)
    }

    /// The search path that patchelf overwrites: the last DT_RUNPATH, else the last DT_RPATH. Empty
    /// without a search path. `None` if the text cannot be read.
    fn path(&self, strings: &H::SectionHeader, entries: &[H::Dyn]) -> Option<PathText> {
        let last = |tag| { entries.iter() }.rfind(|entry| entry.d_tag(self.e) == tag);
        let Some(entry) = last(elf::DT_RUNPATH).or_else(|| last(elf::DT_RPATH)) else {
            return Some(PathText { range: 0..0, is_end: false });
        };
        let (start, size): (u64, u64) =
            (entry.d_val(self.e).into(), strings.sh_size(self.e).into());
        // The byte before the text shows if the text is the end of a longer string.
        let before = start.min(1);
        let from = start - before;
        let most = size.checked_sub(from)?.min(MOST_PATH);
        let offset: u64 = strings.sh_offset(self.e).into();
        let bytes = read_range(self.file, offset.checked_add(from)?, most).ok()?;
        let (before, text) = bytes.split_at_checked(usize::try_from(before).ok()?)?;
        let len = c_string(text, 0).map_or(MOST_PATH, |text| text.len() as u64);
        let is_end = before.first().is_some_and(|byte| *byte != 0) || len == MOST_PATH;
        Some(PathText { range: start..start.saturating_add(len), is_end })
    }

    /// True if a part of the text `path` also belongs to another name, or if not all names were
    /// checked because of [`MOST_RECORDS`]. `None` if a table with names cannot be read.
    fn is_shared(
        &self,
        sections: &[H::SectionHeader],
        entries: &[H::Dyn],
        path: &PathText,
    ) -> Option<bool> {
        const NAMES: [elf::DynamicTag; 7] = [
            elf::DT_NEEDED,
            elf::DT_SONAME,
            elf::DT_AUXILIARY,
            elf::DT_FILTER,
            elf::DT_CONFIG,
            elf::DT_DEPAUDIT,
            elf::DT_AUDIT,
        ];
        let is_inside = |name: u64| path.range.contains(&name);
        let mut names = entries.iter().filter(|entry| NAMES.contains(&entry.d_tag(self.e)));
        if path.range.is_empty() {
            return Some(false);
        }
        if path.is_end || names.any(|entry| is_inside(entry.d_val(self.e).into())) {
            return Some(true);
        }
        // The loader uses one table of each type, so the first section of a type is enough.
        let of_type = |kind| sections.iter().find(|section| section.sh_type(self.e) == kind);
        let content = |kind| of_type(kind).map_or(Some(Vec::new()), |one| self.content(one));
        let left = Cell::new(MOST_RECORDS);
        let is_name = self.any_symbol(&content(elf::SHT_DYNSYM)?, &is_inside)
            || self.any_needed_version(&content(elf::SHT_GNU_VERNEED)?, &is_inside, &left)
            || self.any_defined_version(&content(elf::SHT_GNU_VERDEF)?, &is_inside, &left);
        Some(is_name || left.get() == 0)
    }

    fn any_symbol(&self, bytes: &[u8], is_inside: &dyn Fn(u64) -> bool) -> bool {
        let symbols = slice_from_bytes::<H::Sym>(bytes, bytes.len() / size_of::<H::Sym>());
        let symbols = symbols.map_or(&[][..], |(symbols, _)| symbols);
        symbols.iter().any(|symbol| is_inside(symbol.st_name(self.e).into()))
    }

    /// True if `is_inside` accepts a name in DT_VERNEED. `left` is as in [`linked`].
    fn any_needed_version(
        &self,
        bytes: &[u8],
        is_inside: &dyn Fn(u64) -> bool,
        left: &Cell<usize>,
    ) -> bool {
        let e = self.e;
        let file = |file: &Verneed| (file.vn_file, file.vn_next);
        let version = |version: &Vernaux| (version.vna_name, version.vna_next);
        linked((e, left), bytes, 0, file).any(|(at, file, name)| {
            let first = at.saturating_add(file.vn_aux.get(e) as usize);
            let mut versions = linked((e, left), bytes, first, version);
            is_inside(name) || versions.any(|(_, _, name)| is_inside(name))
        })
    }

    /// True if `is_inside` accepts a name in DT_VERDEF. `left` is as in [`linked`].
    fn any_defined_version(
        &self,
        bytes: &[u8],
        is_inside: &dyn Fn(u64) -> bool,
        left: &Cell<usize>,
    ) -> bool {
        let e = self.e;
        let definition = |definition: &Verdef| (U32::new(e, 0), definition.vd_next);
        let name = |name: &Verdaux| (name.vda_name, name.vda_next);
        linked((e, left), bytes, 0, definition).any(|(at, definition, _)| {
            let first = at.saturating_add(definition.vd_aux.get(e) as usize);
            linked((e, left), bytes, first, name).any(|(_, _, name)| is_inside(name))
        })
    }

    /// True if data follows the last byte of the headers, segments and sections. Zeros up to
    /// [`MOST_PADDING`] are not data. `None` if the headers or the data cannot be read.
    fn has_payload(&self, sections: &[H::SectionHeader]) -> Option<bool> {
        let e = self.e;
        let count = usize::from(self.raw.e_phnum(e));
        let (segments, _) = slice_from_bytes::<H::ProgramHeader>(&self.headers.0, count).ok()?;
        let segments = segments.iter().map(|one| (one.p_offset(e).into(), one.p_filesz(e).into()));
        let sections = sections.iter().filter(|one| one.sh_type(e) != elf::SHT_NOBITS);
        let sections = sections.map(|one| (one.sh_offset(e).into(), one.sh_size(e).into()));
        let (phoff, shoff): (u64, u64) = (self.raw.e_phoff(e).into(), self.raw.e_shoff(e).into());
        let headers = [(phoff, self.headers.0.len() as u64), (shoff, self.headers.1.len() as u64)];
        let all = segments.chain(sections).chain(headers);
        let end = all.map(|(offset, size): (u64, u64)| offset.saturating_add(size)).max()?;
        let rest = self.file.stat().len.saturating_sub(end);
        // strip leaves zeros after the section headers of a file that patchelf changed.
        let is_zero = |rest: Vec<u8>| rest.iter().all(|byte| *byte == 0);
        Some(rest > MOST_PADDING || !is_zero(read_range(self.file, end, rest).ok()?))
    }
}

/// Follows a list of records that are linked by offsets, from position `first` on. Yields the
/// position of each record, the record, and the string table offset of its name. `parts` returns
/// the name and the distance to the next record, in bytes. A record outside of the table ends the
/// list. `left` is the number of records that may still be read, in all lists together.
fn linked<'b, T: Pod>(
    (e, left): (Endianness, &'b Cell<usize>),
    bytes: &'b [u8],
    first: usize,
    parts: impl Fn(&T) -> (U32<Endianness>, U32<Endianness>) + 'b,
) -> impl Iterator<Item = (usize, &'b T, u64)> {
    let mut next = Some(first);
    let record = move || {
        let at = next?;
        left.set(left.get().checked_sub(1)?);
        let (record, _) = from_bytes::<T>(bytes.get(at..)?).ok()?;
        let (name, step) = parts(record);
        let step = Some(step.get(e) as usize).filter(|step| *step > 0);
        next = step.and_then(|step| at.checked_add(step));
        Some((at, record, u64::from(name.get(e))))
    };
    std::iter::from_fn(record)
}
