//! Writes a shared library for x86-64 with only the parts that a loader reads. It has one PT_LOAD,
//! a dynamic section, symbols with a GNU hash table, and a jump slot for each undefined name. It
//! contains no code.

use super::bytes::{Bytes, StringTable, small};
use crate::format::elf::hash::gnu;
use std::collections::BTreeSet;

const HEADERS: u64 = 64 + 3 * 56;
/// The relocation type R_X86_64_JUMP_SLOT.
const JUMP_SLOT: u64 = 7;

/// Makes a library that defines the names in `defined` and has undefined references to the names in
/// `undefined`.
pub(super) fn write(soname: &str, defined: &BTreeSet<&str>, undefined: &BTreeSet<&str>) -> Vec<u8> {
    let mut strings = StringTable::new();
    let soname = strings.add(soname);
    let references: Vec<u32> = undefined.iter().map(|name| strings.add(name)).collect();
    let definitions: Vec<(u32, u32)> =
        defined.iter().map(|name| (strings.add(name), gnu(name.as_bytes()))).collect();
    let (refers, defines) = (references.len() as u64, definitions.len() as u64);
    let symtab = HEADERS.next_multiple_of(8);
    let hash = symtab + 24 * (1 + refers + defines);
    let rela = (hash + 16 + 8 + 4 + 4 * defines).next_multiple_of(8);
    let got = rela + 24 * refers;
    let dynamic = got + 8 * (3 + refers);
    let strtab = dynamic + 16 * 11;
    let end = strtab + strings.0.len() as u64;

    let mut out = Bytes(b"\x7fELF\x02\x01\x01\0\0\0\0\0\0\0\0\0".to_vec());
    out.halfs(&[3, 62]);
    out.words(&[1]);
    out.longs(&[0, 64, 0]);
    out.words(&[0]);
    out.halfs(&[64, 56, 3, 64, 0, 0]);
    // PT_LOAD, PT_DYNAMIC, and PT_GNU_STACK without the right to execute.
    for (kind, at, size, align) in
        [(1, 0, end, 4096), (2, dynamic, 16 * 11, 8), (0x6474_e551, 0, 0, 16)]
    {
        out.words(&[kind, 6]);
        out.longs(&[at, at, at, size, size, align]);
    }
    out.fill(symtab + 24);
    for name in &references {
        out.symbol(*name, 0, 0, 0);
    }
    for (name, _) in &definitions {
        out.symbol(*name, 1, got, 8);
    }
    hash_table(&mut out, &definitions, small(1 + refers));
    out.align(8);
    for slot in 0..refers {
        out.longs(&[got + 8 * (3 + slot), (1 + slot) << 32 | JUMP_SLOT, 0]);
    }
    out.longs(&[dynamic]);
    out.fill(dynamic);
    let size = strings.0.len() as u64;
    let tags = [
        (14, soname.into()),
        (0x6fff_fef5, hash),
        (5, strtab),
        (6, symtab),
        (10, size),
        (11, 24),
        (2, 24 * refers),
        (3, got),
        (20, 7),
        (23, rela),
        (0, 0),
    ];
    for (tag, value) in tags {
        out.longs(&[tag, value]);
    }
    out.put(&strings.0);
    out.0
}

/// Writes the table of DT_GNU_HASH, with a Bloom filter of one word and one bucket for all
/// definitions.
fn hash_table(out: &mut Bytes, definitions: &[(u32, u32)], first: u32) {
    let bits = |hash: u32| 1u64 << (hash % 64) | 1 << ((hash >> 6) % 64);
    out.words(&[1, first, 1, 6]);
    out.longs(&[definitions.iter().fold(0, |all, (_, hash)| all | bits(*hash))]);
    out.words(&[if definitions.is_empty() { 0 } else { first }]);
    for (at, (_, hash)) in definitions.iter().enumerate() {
        out.words(&[hash & !1 | u32::from(at + 1 == definitions.len())]);
    }
}
