//! Changes that a loader does not notice: the bytes that it reads keep their meaning.

use super::build::Built;
use super::elf_file::{DT_NEEDED, DT_NULL, ElfFile, PT_LOAD};
use super::random::Random;
use super::shape::Part;

/// Returns false if the file has no such part.
pub type Operation = fn(&mut Random, &Built, &mut ElfFile) -> bool;

pub const OPERATIONS: &[(&str, Operation)] = &[
    ("nothing", nothing),
    ("sections-fields", section_fields),
    ("sections-headers", section_headers),
    ("sections-none", sections_none),
    ("sections-names", section_names),
    ("entry", entry_point),
    ("paddr", physical_addresses),
    ("memsz", larger_in_memory),
    ("tags-order", tags_order),
    ("tag-twice", tag_twice),
    ("tag-wrong-first", tag_wrong_first),
    ("garbage-behind-null", garbage_behind_null),
    ("symbol-fields", symbol_fields),
    ("first-symbol", first_symbol),
    ("count-of-versions", counts_of_versions),
    ("tail", tail),
    ("symbol-size", symbol_size),
];

const DT_SYMENT: u64 = 11;

fn nothing(_: &mut Random, _: &Built, _: &mut ElfFile) -> bool {
    true
}

/// e_shoff, e_shentsize, e_shnum, e_shstrndx. Section headers beyond the end are excluded, because
/// `truncated-file` reports them.
fn section_fields(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let (at, end) = (if elf.wide() { 58 } else { 46 }, built.bytes.len() as u64);
    elf.put(if elf.wide() { 40 } else { 32 }, elf.word_size(), 1 + random.next() % (end / 2));
    elf.put(at, 2, random.below(3) as u64);
    elf.put(at + 2, 2, random.next() % (end / 8).clamp(1, 99));
    elf.put(at + 4, 2, random.next() & 0xffff);
    true
}

fn section_headers(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(range) = built.part(Part::SectionHeaders) else { return false };
    for _ in 0..random.between(1, 20) {
        elf.put(range.start + random.below(range.len()), 1, random.next() & 0xff);
    }
    true
}

fn sections_none(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    elf.put(if elf.wide() { 40 } else { 32 }, elf.word_size(), 0);
    elf.put(if elf.wide() { 58 } else { 46 }, 2, random.next() & 0xffff);
    true
}

fn section_names(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(range) = built.part(Part::SectionNames) else { return false };
    elf.bytes[range].fill(random.next() as u8);
    true
}

fn entry_point(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    elf.put(24, elf.word_size(), random.next() & 0xffff_ffff)
}

fn physical_addresses(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    for segment in elf.segments() {
        let place = segment.at + if elf.wide() { 24 } else { 12 };
        elf.put(place, elf.word_size(), random.next() & 0xffff_ffff);
    }
    true
}

/// The last PT_LOAD ends with memory that the file does not have.
fn larger_in_memory(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    let mut loads = elf.segments().into_iter().filter(|segment| segment.kind == PT_LOAD);
    let Some(load) = loads.next_back() else { return false };
    let place = load.at + if elf.wide() { 40 } else { 20 };
    elf.put(place, elf.word_size(), (load.size + random.below(0x10_0000)) as u64)
}

/// Entries of the dynamic section in another order; needs keep theirs.
fn tags_order(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    let entries = elf.dynamic();
    let mut pairs: Vec<(u64, u64)> = entries.iter().map(|entry| (entry.tag, entry.value)).collect();
    let needs: Vec<(u64, u64)> =
        pairs.iter().filter(|(tag, _)| *tag == DT_NEEDED).copied().collect();
    pairs.retain(|(tag, _)| *tag != DT_NEEDED);
    random.shuffle(&mut pairs);
    let at = random.below(pairs.len() + 1);
    pairs.splice(at..at, needs);
    for (entry, (tag, value)) in entries.iter().zip(pairs) {
        elf.put(entry.at, elf.word_size(), tag);
        elf.put(entry.at + elf.word_size(), elf.word_size(), value);
    }
    true
}

/// Room for one more entry: the last of several DT_NULL.
fn spare(built: &Built, elf: &ElfFile) -> Option<usize> {
    let size = 2 * elf.word_size();
    let range = built.part(Part::Dynamic).filter(|_| built.shape.nulls > 1)?;
    let at = range.end - built.shape.nulls * size;
    (elf.get(at, elf.word_size()) == Some(DT_NULL)).then_some(at)
}

fn tag_twice(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(at) = spare(built, elf) else { return false };
    let entries = elf.dynamic();
    let entry = random.pick(&entries);
    if entry.tag == DT_NEEDED {
        return false;
    }
    elf.put(at, elf.word_size(), entry.tag);
    elf.put(at + elf.word_size(), elf.word_size(), entry.value)
}

/// If an entry occurs twice, the last one counts.
fn tag_wrong_first(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(at) = spare(built, elf) else { return false };
    let entries = elf.dynamic();
    let entry = random.pick(&entries);
    // Tables, and the size of the string table.
    if !matches!(entry.tag, 5 | 6 | 10 | 0x6fff_fef5) {
        return false;
    }
    let size = elf.word_size();
    elf.put(at, size, entry.tag);
    elf.put(at + size, size, entry.value);
    elf.put(entry.at + size, size, 0x7fff_0000)
}

fn garbage_behind_null(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(at) = spare(built, elf) else { return false };
    let end = built.part(Part::Dynamic).map_or(at, |range| range.end);
    for place in at + elf.word_size()..end {
        elf.put(place, 1, random.next() & 0xff);
    }
    true
}

/// st_size of definitions, and bits of st_other that mean nothing.
fn symbol_fields(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(range) = built.part(Part::Symbols) else { return false };
    if built.shape.definitions.is_empty() || built.shape.interp.is_some() {
        return false;
    }
    let symbol = random.between(built.first_definition(), built.symbol_count() - 1);
    let at = range.start + symbol * elf.symbol_size();
    let size = if elf.wide() { at + 16 } else { at + 8 };
    elf.put(size, elf.word_size(), random.next() & 0xff_ffff)
}

/// The null symbol has a value and a size.
fn first_symbol(random: &mut Random, built: &Built, elf: &mut ElfFile) -> bool {
    let Some(range) = built.part(Part::Symbols) else { return false };
    let place = if elf.wide() { 8 } else { 4 };
    elf.put(range.start + place, elf.word_size(), random.next() & 0xffff)
}

/// DT_VERNEEDNUM and DT_VERDEFNUM are larger than the number of records: loaders follow the links.
fn counts_of_versions(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    let counts = elf.dynamic().into_iter().filter(|e| matches!(e.tag, 0x6fff_ffff | 0x6fff_fffd));
    let counts: Vec<_> = counts.collect();
    for count in &counts {
        let value = count.value + random.below(5) as u64;
        elf.put(count.at + elf.word_size(), elf.word_size(), value);
    }
    !counts.is_empty()
}

/// DT_SYMENT: every loader takes the size from the class of the file.
fn symbol_size(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    let entry = elf.dynamic().into_iter().find(|entry| entry.tag == DT_SYMENT);
    let Some(entry) = entry else { return false };
    let size = *random.pick(&[0, 1, 16, 23, 25, 0xffff]);
    elf.put(entry.at + elf.word_size(), elf.word_size(), size)
}

fn tail(random: &mut Random, _: &Built, elf: &mut ElfFile) -> bool {
    elf.bytes.extend((0..random.between(1, 5000)).map(|at| at as u8));
    true
}
