//! Damage by which a loader loses a part that it needs. Each operation knows this from the
//! structure of the file. If the place of the damage is clear, the report must have it.

use super::build::Built;
use super::elf_file::{
    self, DT_GNU_HASH, DT_HASH, DT_NEEDED, DT_RPATH, DT_RUNPATH, DT_SONAME, DT_STRSZ, DT_STRTAB,
    DT_SYMTAB, DT_VERDEF, DT_VERNEED, DT_VERSYM, ElfFile, PT_DYNAMIC, PT_LOAD, Segment,
};
use super::random::Random;
use super::shape::{Hash, Part};

/// The answer that a file must get.
#[derive(Clone, Debug, Default)]
pub struct Expected {
    /// The expected rule; `None` if any rule about damage will do.
    pub rule: Option<&'static str>,
    /// An offset in the file that must be in the message.
    pub at: Option<usize>,
}

pub type Outcome = Option<Expected>;
/// Returns nothing if the file has no such part.
pub type Operation = fn(&mut Random, &Built, &mut ElfFile) -> Outcome;

const DT_RELA_SIZES: [u64; 1] = [2];
const DT_JMPREL: u64 = 23;
const DT_PLTREL: u64 = 20;
/// A tag without a meaning to a loader.
const DT_DEBUG: u64 = elf_file::DT_DEBUG;
/// An address outside of every PT_LOAD of all generated files.
const NOWHERE: u64 = 0x7fff_0000;
/// Beyond the end of every string table.
const NO_NAME: [u64; 3] = [0x7fff_0000, 0x0fff_fff0, 0x0800_0001];

pub const OPERATIONS: &[(&str, Operation)] = &[
    ("ehdr-phentsize", ehdr_phentsize),
    ("ehdr-phnum", ehdr_phnum),
    ("ehdr-phnum-0", ehdr_no_headers),
    ("ehdr-phoff", ehdr_phoff),
    ("ehdr-class", ehdr_class),
    ("ehdr-type", ehdr_type),
    ("ehdr-version", ehdr_version),
    ("ehdr-short", ehdr_short),
    ("load-filesz", load_filesz),
    ("load-beyond", load_beyond),
    ("load-none", load_none),
    ("load-misaligned", load_misaligned),
    ("load-lies", load_lies),
    ("dynamic-beyond", dynamic_beyond),
    ("dynamic-long", dynamic_long),
    ("dynamic-no-null", dynamic_no_null),
    ("tag-nowhere", tag_nowhere),
    ("tag-absent", tag_absent),
    ("tag-pltrel", tag_pltrel),
    ("tag-name", tag_name),
    ("tag-strsz", tag_strsz),
    ("tag-reloc-size", tag_reloc_size),
    ("gnu-buckets-huge", gnu_buckets_huge),
    ("gnu-buckets-0", gnu_buckets_none),
    ("gnu-bloom-size", gnu_bloom_size),
    ("gnu-bloom-blank", gnu_bloom_blank),
    ("gnu-no-end", gnu_no_end),
    ("gnu-bucket-low", gnu_bucket_low),
    ("gnu-bucket-high", gnu_bucket_high),
    ("gnu-symoffset", gnu_symoffset),
    ("sysv-buckets-huge", sysv_buckets_huge),
    ("sysv-buckets-0", sysv_buckets_none),
    ("sysv-chains-huge", sysv_chains_huge),
    ("sysv-chains-few", sysv_chains_few),
    ("sysv-loop", sysv_loop),
    ("sysv-bucket-high", sysv_bucket_high),
    ("sysv-chain-high", sysv_chain_high),
    ("symbol-name", symbol_name),
    ("symbol-version", symbol_version),
    ("strings-no-nul", strings_no_nul),
    ("verneed-version", verneed_version),
    ("verneed-name", verneed_name),
    ("verneed-walk", verneed_walk),
    ("verneed-stranger", verneed_stranger),
    ("verdef-version", verdef_version),
    ("verdef-name", verdef_name),
    ("verdef-walk", verdef_walk),
    ("interp-beyond", interp_beyond),
    ("interp-no-nul", interp_no_nul),
    ("cut", cut),
    ("cut-at-edge", cut_at_edge),
    ("cut-sections", cut_sections),
];

fn any() -> Outcome {
    Some(Expected::default())
}

fn malformed() -> Outcome {
    Some(Expected { rule: Some("malformed"), at: None })
}

fn malformed_at(at: usize) -> Outcome {
    Some(Expected { rule: Some("malformed"), at: Some(at) })
}

/// Offset of a field of the header, given those of 64-bit and 32-bit files.
fn field(elf: &ElfFile, wide: usize, narrow: usize) -> usize {
    if elf.wide() { wide } else { narrow }
}

fn ehdr_phentsize(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    elf.put(field(elf, 54, 42), 2, *random.pick(&[0, 1, 31, 55, 57, 64, 0xffff]));
    malformed()
}

fn ehdr_phnum(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let count = random.between(3000, 0xfff0);
    if count * 32 < built.bytes.len() {
        return None;
    }
    elf.put(field(elf, 56, 44), 2, count as u64);
    malformed()
}

fn ehdr_no_headers(_: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    elf.put(field(elf, 56, 44), 2, 0);
    malformed()
}

fn ehdr_phoff(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let beyond = built.bytes.len() as u64 + random.next() % 0x1000_0000;
    let value = *random.pick(&[beyond, u64::MAX, u64::MAX - 63, built.bytes.len() as u64 - 1]);
    elf.put(field(elf, 32, 28), elf.word_size(), value);
    malformed()
}

fn ehdr_class(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    elf.put(random.between(4, 5), 1, *random.pick(&[0, 3, 0x7f, 0xff]));
    malformed()
}

/// ET_NONE and unassigned numbers.
fn ehdr_type(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    elf.put(16, 2, *random.pick(&[0, 5, 77, 0x7fff]));
    any()
}

/// The version in the identification or behind it, or bytes of it that must be zero. The kernel
/// looks at none of that in a program.
fn ehdr_version(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    if built.shape.interp.is_some() {
        return None;
    }
    let (at, size) = *random.pick(&[(6, 1), (20, 4), (9, 1), (15, 1), (7, 1)]);
    // 255 as EI_OSABI is code that needs no loader.
    elf.put(at, size, *random.pick(&[77, 200, 254]));
    any()
}

fn ehdr_short(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let size = field(elf, 64, 52);
    elf.bytes.truncate(random.between(4, size - 1));
    malformed()
}

fn segments(elf: &ElfFile, kind: u32) -> Vec<Segment> {
    elf.segments().into_iter().filter(|segment| segment.kind == kind).collect()
}

/// The offsets of p_offset, p_vaddr, p_filesz and p_memsz of a program header.
fn places(elf: &ElfFile, at: usize) -> [usize; 4] {
    let places = if elf.wide() { [8, 16, 32, 40] } else { [4, 8, 16, 20] };
    places.map(|place| at + place)
}

fn load_filesz(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let loads = segments(elf, PT_LOAD);
    let load = random.pick(&loads);
    let [_, _, _, memsz] = places(elf, load.at);
    elf.put(memsz, elf.word_size(), random.below(load.size) as u64);
    malformed()
}

fn load_beyond(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let loads = segments(elf, PT_LOAD);
    let [_, _, filesz, memsz] = places(elf, random.pick(&loads).at);
    let size = built.bytes.len() as u64 + 1 + random.next() % 0x100_0000;
    elf.put(filesz, elf.word_size(), size);
    elf.put(memsz, elf.word_size(), size);
    malformed()
}

fn load_none(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    for load in segments(elf, PT_LOAD) {
        elf.put(load.at, 4, *random.pick(&[0, 0x6000_0002]));
    }
    malformed()
}

/// Address and offset are not alike within a page.
fn load_misaligned(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let loads = segments(elf, PT_LOAD);
    let load = loads.last()?;
    let [_, vaddr, ..] = places(elf, load.at);
    elf.put(vaddr, elf.word_size(), load.address + random.between(1, 7) as u64 * 8);
    any()
}

/// A PT_LOAD that ends before a table, or begins behind it.
fn load_lies(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let table = built.part(*random.pick(&[Part::Symbols, Part::Strings]))?;
    let inside =
        |load: &Segment| load.offset <= table.start && table.end <= load.offset + load.size;
    let load = segments(elf, PT_LOAD).into_iter().find(inside)?;
    let [_, _, filesz, memsz] = places(elf, load.at);
    for place in [filesz, memsz] {
        elf.put(place, elf.word_size(), (table.start - load.offset) as u64);
    }
    malformed()
}

fn dynamic_beyond(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let [offset, ..] = places(elf, segments(elf, PT_DYNAMIC).first()?.at);
    let beyond = built.bytes.len() as u64 + random.next() % 0x100_0000;
    elf.put(offset, elf.word_size(), *random.pick(&[beyond, u64::MAX - 15]));
    malformed()
}

/// The dynamic section is longer than the file and has no DT_NULL.
fn dynamic_long(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let dynamic = segments(elf, PT_DYNAMIC);
    let [_, _, filesz, memsz] = places(elf, dynamic.first()?.at);
    let size = (built.bytes.len() as u64).next_multiple_of(16) * random.between(1, 99) as u64;
    elf.put(filesz, elf.word_size(), size);
    elf.put(memsz, elf.word_size(), size);
    malformed()
}

fn dynamic_no_null(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let size = elf.word_size();
    let range = built.part(Part::Dynamic)?;
    if random.chance(50) {
        // By its program header, the dynamic section ends before DT_NULL.
        let dynamic = segments(elf, PT_DYNAMIC);
        let [_, _, filesz, memsz] = places(elf, dynamic.first()?.at);
        let rest = range.len() - built.shape.nulls * 2 * size;
        elf.put(filesz, size, rest as u64);
        elf.put(memsz, size, rest as u64);
        return malformed_at(range.start + rest);
    }
    for at in range.clone().step_by(2 * size) {
        if elf.get(at, size) == Some(0) {
            elf.put(at, size, DT_DEBUG);
        }
    }
    malformed_at(range.end)
}

/// The value of an entry with this tag.
fn entry(elf: &ElfFile, tag: u64) -> Option<usize> {
    let entry = elf.dynamic().into_iter().rev().find(|entry| entry.tag == tag)?;
    Some(entry.at + elf.word_size())
}

/// Tables that a loader follows, by their tags.
fn followed(built: &Built) -> Vec<u64> {
    let hash = if built.shape.hash == Hash::Sysv { DT_HASH } else { DT_GNU_HASH };
    vec![DT_STRTAB, DT_SYMTAB, hash, DT_VERSYM, DT_VERNEED, DT_VERDEF, DT_JMPREL]
}

fn tag_nowhere(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let place = entry(elf, *random.pick(&followed(built)))?;
    let some = 0x7000_0000 | random.next() & 0xffff;
    let value = *random.pick(&[NOWHERE, 0xffff_fff0, some]);
    elf.put(place, elf.word_size(), value);
    malformed()
}

fn tag_absent(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let place = entry(elf, *random.pick(&[DT_STRTAB, DT_SYMTAB]))?;
    elf.put(place - elf.word_size(), elf.word_size(), DT_DEBUG);
    malformed()
}

fn tag_pltrel(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let place = entry(elf, DT_PLTREL)?;
    elf.put(place, elf.word_size(), *random.pick(&[0, 1, 23, 25, 0xffff]));
    malformed()
}

fn tag_name(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let tag = *random.pick(&[DT_NEEDED, DT_SONAME, DT_RPATH, DT_RUNPATH]);
    let place = entry(elf, tag)?;
    elf.put(place, elf.word_size(), *random.pick(&NO_NAME));
    malformed_at(place - elf.word_size())
}

/// Names lie outside of the table.
fn tag_strsz(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let place = entry(elf, DT_STRSZ)?;
    let named = !built.shape.needs.is_empty() || built.shape.soname.is_some();
    if named && random.chance(50) {
        elf.put(place, elf.word_size(), random.below(3) as u64);
    } else {
        elf.put(place, elf.word_size(), 0x0fff_0000 + random.next() % 0xffff);
    }
    malformed()
}

fn tag_reloc_size(random: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let place = entry(elf, *random.pick(&DT_RELA_SIZES))?;
    elf.put(place, elf.word_size(), 0x0fff_ff00 / 24 * 24);
    malformed()
}

/// Offset of a GNU hash table with definitions.
fn gnu(built: &Built) -> Option<usize> {
    let used = matches!(built.shape.hash, Hash::Gnu | Hash::Both);
    let range = built.part(Part::GnuHash).filter(|_| used && !built.shape.definitions.is_empty());
    range.map(|range| range.start)
}

/// Offset and number of the buckets of the GNU hash table.
fn buckets(built: &Built, elf: &ElfFile) -> Option<(usize, usize)> {
    let at = gnu(built)?;
    let words = usize::try_from(elf.get(at + 8, 4)?).ok()?;
    Some((at + 16 + words * elf.word_size(), built.shape.buckets))
}

/// One of the buckets that are not empty.
fn full_bucket(random: &mut Random, built: &Built, elf: &ElfFile) -> Option<usize> {
    let (start, count) = buckets(built, elf)?;
    let all = (0..count).map(|at| start + 4 * at);
    let full: Vec<usize> = all.filter(|at| elf.get(*at, 4) != Some(0)).collect();
    Some(*random.pick(&full))
}

fn gnu_buckets_huge(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = gnu(built)?;
    elf.put(at, 4, *random.pick(&[0x0fff_ffff, 0x4000_0000, 0x7fff_ffff, 0xffff_ffff]));
    malformed_at(at)
}

fn gnu_buckets_none(_: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = gnu(built)?;
    elf.put(at, 4, 0);
    malformed_at(at)
}

fn gnu_bloom_size(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = gnu(built)?;
    elf.put(at + 8, 4, *random.pick(&[0, 3, 12, 0x2000_0000, 0x8000_0000, 0xffff_ffff]));
    malformed_at(at)
}

fn gnu_bloom_blank(_: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = gnu(built)?;
    let (end, _) = buckets(built, elf)?;
    elf.bytes[at + 16..end].fill(0);
    malformed_at(at)
}

/// No chain ends, up to the next table that the dynamic section names.
fn gnu_no_end(_: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let (start, count) = buckets(built, elf)?;
    let end = built.part(Part::GnuHash)?.end;
    let next = built
        .parts()
        .map(|(part, range)| (range.start, part))
        .filter(|(at, _)| *at >= end)
        .min()?;
    let named = [Part::Strings, Part::Symbols, Part::Versym, Part::Verneed, Part::Verdef];
    if !named.contains(&next.1) {
        return None;
    }
    for at in (start + 4 * count..end).step_by(4) {
        let word = elf.get(at, 4)?;
        elf.put(at, 4, word & !1);
    }
    malformed_at(built.part(Part::GnuHash)?.start)
}

/// A bucket with a symbol that the table does not list: its word would be before the table.
fn gnu_bucket_low(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let first = built.first_definition();
    let at = full_bucket(random, built, elf)?;
    if first < 2 {
        return None;
    }
    elf.put(at, 4, random.between(1, first - 1) as u64);
    malformed_at(gnu(built)?)
}

fn gnu_bucket_high(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = full_bucket(random, built, elf)?;
    elf.put(at, 4, *random.pick(&[0x00ff_ffff, 0x7fff_ffff, 0xffff_ffff]));
    malformed()
}

fn gnu_symoffset(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = gnu(built)?;
    elf.put(at + 4, 4, *random.pick(&[0x0001_0000, 0x7fff_ffff, 0xffff_ffff]));
    malformed_at(at)
}

/// Offset of a SysV hash table with definitions, if it is the only hash table.
fn sysv(built: &Built) -> Option<usize> {
    let used = built.shape.hash == Hash::Sysv && !built.shape.definitions.is_empty();
    built.part(Part::SysvHash).filter(|_| used).map(|range| range.start)
}

fn sysv_buckets_huge(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    elf.put(at, 4, *random.pick(&[0x0fff_ffff, 0x4000_0000, 0x7fff_ffff, 0xffff_ffff]));
    malformed_at(at)
}

fn sysv_buckets_none(_: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    elf.put(at, 4, 0);
    malformed_at(at)
}

fn sysv_chains_huge(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    elf.put(at + 4, 4, *random.pick(&[0x0fff_ffff, 0x4000_0000, 0x7fff_ffff, 0xffff_ffff]));
    malformed_at(at)
}

/// Buckets name symbols that have no word in the chains.
fn sysv_chains_few(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    elf.put(at + 4, 4, random.below(2) as u64);
    malformed_at(at)
}

/// Offset of the word of a symbol in the chains.
fn chain(built: &Built, at: usize, symbol: usize) -> usize {
    at + 8 + 4 * (built.shape.buckets + symbol)
}

fn sysv_loop(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    let symbol = random.between(built.first_definition(), built.symbol_count() - 1);
    elf.put(chain(built, at, symbol), 4, symbol as u64);
    malformed_at(at)
}

fn sysv_bucket_high(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    let bucket = at + 8 + 4 * random.below(built.shape.buckets);
    elf.put(bucket, 4, *random.pick(&[0x000f_ffff, 0x7fff_ffff, 0xffff_ffff]));
    malformed_at(at)
}

fn sysv_chain_high(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = sysv(built)?;
    let symbol = random.between(1, built.symbol_count() - 1);
    elf.put(chain(built, at, symbol), 4, *random.pick(&[0x000f_ffff, 0x7fff_ffff, 0xffff_ffff]));
    malformed_at(at)
}

fn symbol_name(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let symbols = built.part(Part::Symbols)?;
    if built.symbol_count() < 2 || built.shape.hash == Hash::None {
        return None;
    }
    let at = symbols.start + elf.symbol_size() * random.between(1, built.symbol_count() - 1);
    elf.put(at, 4, *random.pick(&NO_NAME));
    malformed_at(at)
}

/// A symbol has a version index that no version has.
fn symbol_version(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let table = built.part(Part::Versym)?;
    if built.shape.references.is_empty() {
        return None;
    }
    let symbol = random.between(1, built.shape.references.len());
    elf.put(table.start + 2 * symbol, 2, *random.pick(&[0x0100, 0x7ffe, 0x7fff]));
    any()
}

fn strings_no_nul(_: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let range = built.part(Part::Strings).filter(|range| range.len() > 1)?;
    if !built.shape.loose.is_empty() {
        return None;
    }
    elf.put(range.end - 1, 1, u64::from(b'x'));
    malformed()
}

fn verneed_version(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = built.part(Part::Verneed)?.start;
    elf.put(at, 2, *random.pick(&[0, 2, 0xffff]));
    malformed_at(at)
}

fn verneed_name(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = built.part(Part::Verneed)?.start;
    let (record, field) = *random.pick(&[(0, 4), (16, 8)]);
    elf.put(at + record + field, 4, *random.pick(&NO_NAME));
    malformed_at(at + record)
}

/// `vn_aux`, `vn_next` or `vna_next` lead out of the table.
fn verneed_walk(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = built.part(Part::Verneed)?.start;
    elf.put(
        at + random.pick(&[8, 12, 28]),
        4,
        *random.pick(&[0x0fff_fff0, 0x7fff_fff0, 0xffff_fff0]),
    );
    malformed()
}

/// Versions of a file that is not among the needs: the loader aborts.
fn verneed_stranger(_: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = built.part(Part::Verneed)?.start;
    let version = elf.get(at + 16 + 8, 4)?;
    elf.put(at + 4, 4, version);
    any()
}

fn verdef_version(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = built.part(Part::Verdef)?.start;
    elf.put(at, 2, *random.pick(&[0, 2, 0xffff]));
    malformed_at(at)
}

fn verdef_name(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at =
        built.part(Part::Verdef)?.start + 28 * random.below(built.shape.defined_versions.len());
    elf.put(at + 20, 4, *random.pick(&NO_NAME));
    malformed_at(at + 20)
}

/// `vd_aux` or `vd_next` lead out of the table.
fn verdef_walk(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let at = built.part(Part::Verdef)?.start;
    elf.put(at + random.pick(&[12, 16]), 4, *random.pick(&[0x0fff_fff0, 0x7fff_fff0, 0xffff_fff0]));
    malformed()
}

const PT_INTERP: u32 = 3;

fn interp_beyond(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let [offset, ..] = places(elf, segments(elf, PT_INTERP).first()?.at);
    let beyond = built.bytes.len() as u64 + random.next() % 0x1_0000;
    elf.put(offset, elf.word_size(), *random.pick(&[beyond, u64::MAX - 3]));
    malformed()
}

fn interp_no_nul(_: &mut Random, _: &Built, elf: &mut ElfFile) -> Outcome {
    let interps = segments(elf, PT_INTERP);
    let interp = interps.first()?;
    let [_, _, filesz, _] = places(elf, interp.at);
    elf.put(filesz, elf.word_size(), interp.size as u64 - 1);
    malformed_at(interp.offset)
}

fn cut(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    elf.bytes.truncate(random.between(16, built.loaded() - 1));
    malformed()
}

/// Truncates the file at the start or end of a part, or a byte beside it.
fn cut_at_edge(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let parts: Vec<_> = built.parts().collect();
    let (_, range) = random.pick(&parts);
    let len = *random.pick(&[range.start, range.start + 1, range.end - 1, range.end]);
    if len >= built.loaded() {
        return None;
    }
    elf.bytes.truncate(len);
    malformed()
}

/// Cuts off the section headers, and no loaded byte.
fn cut_sections(random: &mut Random, built: &Built, elf: &mut ElfFile) -> Outcome {
    let range = built.part(Part::SectionHeaders)?;
    elf.bytes.truncate(random.between(built.loaded(), range.end - 1));
    Some(Expected { rule: Some("truncated-file"), at: None })
}
