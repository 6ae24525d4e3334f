//! Hash tables, symbols and relocations that only some machines have, in generated files.

use std::path::Path;

use linkaudit::format::elf::Object;
use linkaudit::format::elf::find::SymbolQuery;
use linkaudit::format::elf::hash;
use linkaudit::format::elf::machine::LookupClass::{Copy, Plain, Plt};
use linkaudit::format::elf::relocs;

use super::forge::{Forge, Hash, Shape, Symbol, function};
use super::read;
use crate::support::Lab;

const SLOT: linkaudit::format::elf::machine::LookupClass = Plt { slot: true };

const fn shape(machine: u16, wide: bool, big: bool) -> Shape {
    Shape { machine, wide, big, flags: 0 }
}

const S390: u16 = 22;
const S390X: Shape = shape(S390, true, true);
const S390_31: Shape = shape(S390, false, true);
const ALPHA: Shape = shape(0x9026, true, false);
const AARCH64: Shape = shape(183, true, false);
const SPARC64: Shape = shape(43, true, true);
const MIPS: [Shape; 4] =
    [shape(8, false, false), shape(8, false, true), shape(8, true, false), shape(8, true, true)];

fn object(lab: &Lab, forge: &Forge) -> Object {
    read(&file(lab, forge)).1
}

fn file(lab: &Lab, forge: &Forge) -> std::path::PathBuf {
    lab.write("libforged.so", forge.build())
}

/// The symbol that a lookup leads to.
fn find(object: &Object, name: &str, plt: bool) -> Option<u32> {
    let mut query = SymbolQuery::new(name.as_bytes(), hash::gnu(name.as_bytes()), None);
    query.plt = plt;
    object.find(&query, u16::MAX).map(|found| found.symbol.number())
}

fn three(shape: Shape, hash: Hash) -> Forge {
    let symbols = vec![function("pear", 0x100), function("plum", 0x200), function("fig", 0x300)];
    Forge { symbols, hash, ..Forge::new(shape) }
}

#[test]
fn words_of_sysv_tables() {
    let lab = Lab::new();
    let cases = [
        (S390X, Hash::Sysv64, true),
        (ALPHA, Hash::Sysv64, true),
        (S390_31, Hash::Sysv32, true),
        (AARCH64, Hash::Sysv32, true),
        (SPARC64, Hash::Sysv32, true),
        // The words of other machines are half or twice as wide: the lookup finds nothing.
        (S390X, Hash::Sysv32, false),
        (ALPHA, Hash::Sysv32, false),
        (AARCH64, Hash::Sysv64, false),
    ];
    for (shape, hash, right) in cases {
        let object = object(&lab, &three(shape, hash));
        assert!(object.defects.is_empty() || !right, "{}: {:?}", shape.machine, object.defects);
        for (index, name) in (1..).zip(["pear", "plum", "fig"]) {
            let found = find(&object, name, true);
            assert_eq!(found, right.then_some(index), "{} {name}", shape.machine);
        }
        assert_eq!(find(&object, "apple", true), None);
    }
    println!("SysV tables: {} made-up files, 0 differences", cases.len());
}

#[test]
fn a_chain_that_runs_in_a_circle_ends() {
    let lab = Lab::new();
    let mut bytes = three(S390X, Hash::Sysv64).build();
    // The last chain word, 0, becomes 1.
    let table: Vec<u8> = [1_u64, 4, 1, 0, 2, 3, 0].iter().flat_map(|w| w.to_be_bytes()).collect();
    let at = bytes.windows(table.len()).position(|window| window == table).expect("the table");
    bytes[at + table.len() - 1] = 1;
    let object = read(&lab.write("libcircle.so", bytes)).1;
    assert_eq!(find(&object, "apple", true), None);
    assert_eq!(find(&object, "fig", true), Some(3));
}

#[test]
fn mips_tables_are_translated() {
    let lab = Lab::new();
    for shape in MIPS {
        let object = object(&lab, &three(shape, Hash::Xhash));
        assert!(object.defects.is_empty(), "{:?}", object.defects);
        for (index, name) in (1..).zip(["pear", "plum", "fig"]) {
            assert_eq!(find(&object, name, true), Some(index), "{name}");
        }
        assert_eq!(find(&object, "apple", true), None);
        let tables = object.tables.as_ref().expect("tables");
        let mut listed = Vec::new();
        assert!(tables.each_gnu_hash(|hash, symbol| listed.push((hash, symbol.number()))));
        let hash = |name: &str| hash::gnu(name.as_bytes()) & !1;
        assert_eq!(listed, [(hash("fig"), 3), (hash("plum"), 2), (hash("pear"), 1)]);

        // A MIPS loader ignores DT_GNU_HASH, and all other loaders ignore the tag of the MIPS
        // table.
        let other = read(&lab.write("liba.so", three(shape, Hash::Gnu).build())).1;
        assert_eq!(find(&other, "pear", true), None);
    }
    let elsewhere = object(&lab, &three(AARCH64, Hash::Xhash));
    assert_eq!(find(&elsewhere, "pear", true), None);
    let gnu = object(&lab, &three(S390X, Hash::Gnu));
    assert_eq!(find(&gnu, "fig", true), Some(3));
    println!("DT_MIPS_XHASH: {} made-up files, 0 differences", MIPS.len());
}

#[test]
fn lazy_stubs_define_nothing() {
    let lab = Lab::new();
    let stub = Symbol { section: 0, ..function("pear", 0x100) };
    let marked = Symbol { section: 0, other: 8, ..function("plum", 0x200) };
    for shape in MIPS.into_iter().chain([AARCH64]) {
        let mips = shape.machine == 8;
        let symbols = vec![stub.clone(), marked.clone()];
        let object = object(&lab, &Forge { symbols, ..Forge::new(shape) });
        assert_eq!(find(&object, "pear", false), (!mips).then_some(1));
        assert_eq!(find(&object, "plum", false), Some(2));
        assert_eq!(find(&object, "plum", true), None);
    }
}

/// The lookups of a file with these values of r_info.
fn lookups(lab: &Lab, forge: &Forge) -> Vec<(u32, linkaudit::format::elf::machine::LookupClass)> {
    let path: &Path = &file(lab, forge);
    let (handle, object) = read(path);
    assert!(object.defects.is_empty(), "{:?}", object.defects);
    let relocations = relocs::read(&handle, &object).expect("a readable file");
    assert!(relocations.defects.is_empty(), "{:?}", relocations.defects);
    relocations.list.iter().map(|r| (r.symbol().number(), r.class())).collect()
}

#[test]
fn three_types_in_one_entry() {
    let lab = Lab::new();
    let [_, _, little, big] = MIPS;
    for shape in [little, big] {
        for addends in [false, true] {
            // Symbol, then in memory: second symbol, third, second and first type.
            let info = |symbol: u32, types: [u8; 4]| {
                let mut raw = [0; 8];
                let symbol = if shape.big { symbol.to_be_bytes() } else { symbol.to_le_bytes() };
                raw[..4].copy_from_slice(&symbol);
                raw[4..].copy_from_slice(&types);
                if shape.big { u64::from_be_bytes(raw) } else { u64::from_le_bytes(raw) }
            };
            let infos = vec![
                info(0, [0; 4]),
                info(3, [0, 0, 18, 3]),
                info(1, [0, 0, 0, 127]),
                info(2, [0, 0, 0, 48]),
                info(2, [0, 0, 0, 126]),
                info(1, [0, 0, 0, 2]),
            ];
            let forge = Forge { infos, addends, ..three(shape, Hash::Sysv32) };
            assert_eq!(
                lookups(&lab, &forge),
                [(1, SLOT), (2, Plain), (2, Copy), (1, Plain)],
                "big {} addends {addends}",
                shape.big
            );
        }
    }
}

#[test]
fn symbols_of_the_global_offset_table() {
    let lab = Lab::new();
    let undefined = |name, value, kind, other| Symbol { name, value, section: 0, kind, other };
    for shape in MIPS {
        let symbols = vec![
            function("before", 0x100),
            undefined("stub", 0x200, 2, 0),
            undefined("marked", 0x200, 2, 8),
            undefined("eager", 0, 2, 0),
            undefined("data", 0, 1, 0),
            function("own_stub", 0x300),
            function("own", 0x400),
            Symbol { kind: 3, ..function("section", 0x500) },
            Symbol { kind: 1, ..function("object", 0x600) },
            Symbol { section: 0xfff2, kind: 1, ..function("common", 8) },
        ];
        let entries = vec![0x200, 0, 0, 0, 0x310, 0x400, 0x500, 0, 0];
        let infos = if shape.wide { vec![] } else { vec![1 << 8 | 127] };
        let forge =
            Forge { symbols, infos, got: Some((2, entries)), addends: false, ..Forge::new(shape) };
        let mut expected = vec![
            (2, SLOT),
            (3, Plain),
            (4, Plain),
            (5, Plain),
            (6, SLOT),
            (7, Plain),
            (9, Plain),
            (10, Plain),
        ];
        expected.extend((!shape.wide).then_some((1, SLOT)));
        assert_eq!(lookups(&lab, &forge), expected);
    }
}

#[test]
fn upper_bits_of_sparc_types() {
    let lab = Lab::new();
    // 0x15 is R_SPARC_JMP_SLOT, 0x16 RELATIVE, 0x21 OLO10 with an addend in the upper bits.
    let infos = vec![1 << 32 | 0x15, 2 << 32 | 0x1234_0015, 3 << 32 | 0xff_ff21, 0x16];
    let forge = Forge { infos, ..three(SPARC64, Hash::Sysv32) };
    assert_eq!(lookups(&lab, &forge), [(1, SLOT), (2, SLOT), (3, Plain)]);
}

#[test]
fn unknown_types_are_lookups() {
    let lab = Lab::new();
    let row = |shape: Shape| {
        let info = if shape.wide { 1 << 32 | 0xf3 } else { 1 << 8 | 0xf3 };
        Forge { infos: vec![info], ..three(shape, Hash::Sysv32) }
    };
    for shape in [AARCH64, S390_31, SPARC64] {
        assert_eq!(lookups(&lab, &row(shape)), [(1, Plain)]);
    }
    let elf_v1 = shape(21, true, true);
    assert_eq!(lookups(&lab, &row(elf_v1)), [(1, Plt { slot: false })]);
    let elf_v2 = Shape { flags: 2, ..elf_v1 };
    assert_eq!(lookups(&lab, &row(elf_v2)), [(1, Plain)]);
}

#[test]
fn pages_of_each_machine() {
    let lab = Lab::new();
    let refused = "ELF load command address/offset not page-aligned";
    for (shape, skew, expected) in [
        (AARCH64, 0x1000, None),
        (SPARC64, 0x1000, Some(refused)),
        (SPARC64, 0x2000, None),
        (ALPHA, 0x1000, Some(refused)),
        (S390X, 0x800, Some(refused)),
    ] {
        let object = object(&lab, &Forge { skew, ..three(shape, Hash::Gnu) });
        assert_eq!(object.refused, expected, "{} {skew:x}", shape.machine);
    }
}
