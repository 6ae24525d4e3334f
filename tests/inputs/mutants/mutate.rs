//! The mutations: one kind of table at a time, so that a difference shows the table.

use super::elf_file::{
    self, DT_GNU_HASH, DT_HASH, DT_STRSZ, DT_STRTAB, DT_VERDEF, DT_VERDEFNUM, DT_VERNEED,
    DT_VERSYM, ElfFile,
};
use super::random::Random;

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Category {
    Header,
    Segments,
    Dynamic,
    Hash,
    Versions,
    Symbols,
    Strings,
    Truncated,
    Sections,
}

pub const CATEGORIES: [Category; 9] = [
    Category::Header,
    Category::Segments,
    Category::Dynamic,
    Category::Hash,
    Category::Versions,
    Category::Symbols,
    Category::Strings,
    Category::Truncated,
    Category::Sections,
];

/// A place in the file: offset and size.
type Place = (usize, usize);

/// A damaged copy; `None` if the file has no such table.
pub fn mutate(random: &mut Random, base: &[u8], category: Category) -> Option<Vec<u8>> {
    let original = ElfFile::new(base.to_vec())?;
    for _ in 0..20 {
        let mut elf = original.clone();
        for _ in 0..random.weighted(&[(75, 1), (15, 2), (10, 3)]) {
            once(random, &mut elf, category)?;
        }
        if elf.bytes != base {
            return Some(elf.bytes);
        }
    }
    None
}

fn once(random: &mut Random, elf: &mut ElfFile, category: Category) -> Option<()> {
    let (at, size) = match category {
        Category::Header => *random.pick(header(elf)),
        Category::Segments => segment(random, elf)?,
        Category::Dynamic => return dynamic(random, elf),
        Category::Hash => hash(random, elf)?,
        Category::Versions => versions(random, elf)?,
        Category::Symbols => symbol(random, elf)?,
        Category::Strings => return strings(random, elf),
        Category::Truncated => {
            truncate(random, elf);
            return Some(());
        }
        Category::Sections => section(random, elf),
    };
    let old = elf.get(at, size)?;
    let value = value(random, old, elf.bytes.len());
    elf.put(at, size, value);
    Some(())
}

/// A value on which a careless reader fails.
fn value(random: &mut Random, old: u64, length: usize) -> u64 {
    let length = length.max(1) as u64;
    let some = random.next();
    match random.below(16) {
        0 => 0,
        1 => 1,
        2 => u64::MAX,
        3 => 0x8000_0000_8000_8080,
        4 => 0x7fff_ffff_7fff_7f7f,
        5 => old.wrapping_add(1),
        6 => old.wrapping_sub(1),
        7 => old.wrapping_add(some % 64),
        8 => old ^ (1 << (some % 16)),
        9 => old.wrapping_mul(2),
        10 => length,
        11 => length - 1,
        12 => some % (2 * length),
        13 => some % 32,
        14 => u64::MAX - some % 64,
        _ => some,
    }
}

fn header(elf: &ElfFile) -> &'static [Place] {
    const WIDE: &[Place] = &[
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (12, 1),
        (16, 2),
        (18, 2),
        (20, 4),
        (24, 8),
        (32, 8),
        (48, 4),
        (52, 2),
        (54, 2),
        (56, 2),
    ];
    const NARROW: &[Place] = &[
        (4, 1),
        (5, 1),
        (6, 1),
        (7, 1),
        (8, 1),
        (12, 1),
        (16, 2),
        (18, 2),
        (20, 4),
        (24, 4),
        (28, 4),
        (36, 4),
        (40, 2),
        (42, 2),
        (44, 2),
    ];
    if elf.wide() { WIDE } else { NARROW }
}

fn segment(random: &mut Random, elf: &ElfFile) -> Option<Place> {
    let segments = elf.segments();
    // The loadable and the dynamic ones matter most.
    let matter = |kind| kind == elf_file::PT_LOAD || kind == elf_file::PT_DYNAMIC;
    let mut chosen: Vec<usize> = segments.iter().map(|segment| segment.at).collect();
    if random.chance(75) {
        chosen = segments.iter().filter(|s| matter(s.kind)).map(|segment| segment.at).collect();
    }
    if chosen.is_empty() {
        return None;
    }
    let wide = [(0, 4), (4, 4), (8, 8), (16, 8), (24, 8), (32, 8), (40, 8), (48, 8)];
    let narrow = [(0, 4), (4, 4), (8, 4), (12, 4), (16, 4), (20, 4), (24, 4), (28, 4)];
    let (field, size) = *random.pick(if elf.wide() { &wide } else { &narrow });
    Some((random.pick(&chosen) + field, size))
}

fn dynamic(random: &mut Random, elf: &mut ElfFile) -> Option<()> {
    /// Tags for which one more entry, or a wrong value, matters. Tags for audit libraries are
    /// excluded, because the real loader would run these libraries.
    const TAGS: [u64; 24] = [
        0,
        1,
        2,
        4,
        5,
        6,
        7,
        8,
        9,
        10,
        11,
        14,
        15,
        16,
        20,
        23,
        29,
        30,
        0x6fff_fef5,
        0x6fff_fff0,
        0x6fff_fffb,
        0x6fff_fffc,
        0x6fff_fffe,
        0x7fff_fffd,
    ];
    let entries = elf.dynamic();
    if entries.is_empty() {
        return None;
    }
    let entry = random.pick(&entries);
    let size = elf.word_size();
    if random.chance(35) {
        elf.put(entry.at, size, *random.pick(&TAGS));
    } else {
        let value = value(random, entry.value, elf.bytes.len());
        elf.put(entry.at + size, size, value);
    }
    Some(())
}

fn hash(random: &mut Random, elf: &ElfFile) -> Option<Place> {
    let tables: Vec<usize> =
        [DT_HASH, DT_GNU_HASH].iter().filter_map(|tag| elf.table(*tag)).collect();
    if tables.is_empty() {
        return None;
    }
    let word = if random.chance(40) { random.below(4) } else { random.below(48) };
    Some((random.pick(&tables) + 4 * word, 4))
}

fn versions(random: &mut Random, elf: &ElfFile) -> Option<Place> {
    let needs = elf.needed_versions().len();
    let definitions = usize::try_from(elf.value(DT_VERDEFNUM).unwrap_or(0)).ok()?;
    let places: Vec<Place> = [
        elf.table(DT_VERSYM).map(|at| (at + 2 * random.below(elf.symbols().len().max(1)), 2)),
        elf.table(DT_VERNEED).map(|at| (at + 4 * random.below(8 * needs.max(1)), 4)),
        elf.table(DT_VERNEED).map(|at| (at + 2 * random.below(16 * needs.max(1)), 2)),
        elf.table(DT_VERDEF).map(|at| (at + 4 * random.below(7 * definitions.max(1)), 4)),
        elf.table(DT_VERDEF).map(|at| (at + 2 * random.below(14 * definitions.max(1)), 2)),
    ]
    .into_iter()
    .flatten()
    .collect();
    if places.is_empty() { None } else { Some(*random.pick(&places)) }
}

fn symbol(random: &mut Random, elf: &ElfFile) -> Option<Place> {
    let symbols = elf.symbols();
    if symbols.is_empty() {
        return None;
    }
    let wide = [(0, 4), (4, 1), (5, 1), (6, 2), (8, 8), (16, 8)];
    let narrow = [(0, 4), (4, 4), (8, 4), (12, 1), (13, 1), (14, 2)];
    let (field, size) = *random.pick(if elf.wide() { &wide } else { &narrow });
    Some((random.pick(&symbols) + field, size))
}

fn strings(random: &mut Random, elf: &mut ElfFile) -> Option<()> {
    let start = elf.table(DT_STRTAB)?;
    let size = usize::try_from(elf.value(DT_STRSZ)?).ok()?.max(1);
    let byte = match random.below(4) {
        0 => 0,
        1 => u64::from(*random.pick(b"/$:@ \n\x1b\x7f")),
        _ => random.next() & 0xff,
    };
    elf.put(start + random.below(size), 1, byte).then_some(())
}

fn truncate(random: &mut Random, elf: &mut ElfFile) {
    let length = elf.bytes.len().max(1);
    let kept = match random.below(4) {
        0 => random.below(64.min(length)),
        1 => random.below(1024.min(length)),
        _ => random.below(length),
    };
    elf.bytes.truncate(kept);
}

/// A field of the ELF header that is about sections, or a word of the section headers.
fn section(random: &mut Random, elf: &ElfFile) -> Place {
    let (fields, offset): (&[Place], Place) = if elf.wide() {
        (&[(40, 8), (58, 2), (60, 2), (62, 2)], (40, 8))
    } else {
        (&[(32, 4), (46, 2), (48, 2), (50, 2)], (32, 4))
    };
    let table = elf.get(offset.0, offset.1).and_then(|at| usize::try_from(at).ok()).unwrap_or(0);
    let behind = elf.bytes.len().saturating_sub(table) / 4;
    if random.chance(40) || table == 0 || behind == 0 {
        *random.pick(fields)
    } else {
        (table + 4 * random.below(behind), 4)
    }
}
