//! Dependent libraries: the libraries that an object asks lld to link. Clang writes them for
//! `#pragma comment(lib, "NAME")`. In an ELF object, they are the strings of a section, in LLVM
//! bitcode a list in the symbol table for linkers. `facts::members` is the caller.

use super::bitcode;
use super::link_reader::{LinkScratch, MOST, ObjectPlace, table};
use super::read::External;
use crate::format::{ReadError, in_memory};
use crate::tree::Handle;
use object::read::ReadRef as _;
use object::read::elf::{FileHeader, SectionHeader};
use object::{Endianness, elf};

/// The dependent libraries of one object.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DependentLibraries {
    /// The names as written, in the order of the object.
    pub names: Vec<Box<[u8]>>,
    /// True if a list has no end. lld then refuses the object.
    pub is_damaged: bool,
}

impl DependentLibraries {
    /// The dependent libraries of the member of `file` whose header is at `offset`. If the archive
    /// is thin (`thin`), `open` opens the member's file.
    pub fn of_member(
        file: &Handle,
        offset: u64,
        thin: bool,
        open: &dyn Fn(&[u8]) -> External,
        scratch: &mut LinkScratch,
    ) -> Result<Self, ReadError> {
        match ObjectPlace::of_member(file, offset, thin, open)? {
            Some(found) => Self::at(found.outside.as_ref().unwrap_or(file), &found, scratch),
            None => Ok(Self::default()),
        }
    }

    /// The dependent libraries of the object that is the whole of `file`.
    pub fn of_object(file: &Handle, scratch: &mut LinkScratch) -> Result<Self, ReadError> {
        Self::at(file, &ObjectPlace::of_object(file)?, scratch)
    }

    fn at(file: &Handle, of: &ObjectPlace, scratch: &mut LinkScratch) -> Result<Self, ReadError> {
        let (base, size) = of.range;
        if size > MOST {
            return Ok(Self::default());
        }
        if !of.head.starts_with(&elf::ELFMAG) {
            let present = size.min(file.stat().len.saturating_sub(base));
            let bytes = file.read_new(in_memory(present)?, base)?;
            let names = bitcode::libraries(&bytes).unwrap_or_default();
            return Ok(Self {
                names: names.into_iter().map(Into::into).collect(),
                is_damaged: false,
            });
        }
        scratch.ranges.begin(file, of.range, &of.head);
        if scratch.ranges.read_bytes_at(4, 1) == Ok(&[elf::ELFCLASS64.0]) {
            Self::of_elf::<elf::FileHeader64<Endianness>>(file, base, scratch)
        } else {
            Self::of_elf::<elf::FileHeader32<Endianness>>(file, base, scratch)
        }
    }

    fn of_elf<H: FileHeader<Endian = Endianness>>(
        file: &Handle,
        base: u64,
        scratch: &mut LinkScratch,
    ) -> Result<Self, ReadError> {
        let (ranges, mut out) = (&mut scratch.ranges, Self::default());
        let Some((all, is_whole)) = table::<H>(ranges) else { return Ok(out) };
        ranges.load(file, base, vec![all])?;
        if !is_whole {
            let Some((all, true)) = table::<H>(ranges) else { return Ok(out) };
            ranges.load(file, base, vec![all])?;
        }
        let lists = lists::<H>(ranges).unwrap_or_default();
        ranges.load(
            file,
            base,
            lists.iter().map(|(start, size)| *start..start + size).collect(),
        )?;
        for (start, size) in lists {
            let Ok(text) = (&*ranges).read_bytes_at(start, size) else {
                out.is_damaged = true;
                continue;
            };
            match text.strip_suffix(b"\0") {
                Some(text) => out.names.extend(text.split(|byte| *byte == 0).map(Into::into)),
                None => out.is_damaged |= !text.is_empty(),
            }
        }
        Ok(out)
    }
}

/// Offset and size of each section that lists dependent libraries. `None` if the section headers
/// cannot be read.
fn lists<H: FileHeader<Endian = Endianness>>(
    data: &super::ranges::Ranges,
) -> Option<Vec<(u64, u64)>> {
    let header = H::parse(data).ok()?;
    let e = header.endian().ok()?;
    let all = header.section_headers(e, data).ok()?.iter();
    let lists = all.filter(|section| section.sh_type(e) == elf::SHT_LLVM_DEPENDENT_LIBRARIES);
    let lists = lists.filter_map(|section| section.file_range(e));
    Some(lists.filter(|(start, size)| start.checked_add(*size).is_some()).collect())
}
