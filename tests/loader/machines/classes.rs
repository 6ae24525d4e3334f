//! Relocation classes by the type names of `readelf`, independently derived from glibc's
//! `sysdeps/**/dl-machine.h` (`elf_machine_type_class`), and the lookups of a file according to
//! `readelf`.

use std::path::Path;

use linkaudit::format::elf::machine::{
    Effect,
    LookupClass::{self, Copy, Plain, Plt},
};

use super::readelf;

/// The types of one machine, without its prefix.
struct Names {
    prefix: &'static str,
    /// Types without a lookup.
    nothing: &'static str,
    slot: &'static str,
    plt: &'static str,
    /// Types that accept any definition. They are listed too, so that an unknown type is noticed.
    plain: &'static str,
}

const fn names(
    prefix: &'static str,
    nothing: &'static str,
    slot: &'static str,
    plt: &'static str,
    plain: &'static str,
) -> Names {
    Names { prefix, nothing, slot, plt, plain }
}

/// COPY is a copy everywhere. ELFv1 of ppc64 has no plain types; riscv, loongarch, hppa and m68k
/// look up what NONE names.
const NAMES: &[Names] = &[
    names(
        "R_X86_64_",
        "NONE RELATIVE RELATIVE64 IRELATIVE",
        "JUMP_SLOT",
        "DTPMOD64 DTPOFF64 TPOFF64 TLSDESC",
        "64 32 PC32 GLOB_DAT",
    ),
    names(
        "R_386_",
        "NONE RELATIVE IRELATIVE",
        "JUMP_SLOT",
        "TLS_DTPMOD32 TLS_DTPOFF32 TLS_TPOFF32 TLS_TPOFF TLS_DESC",
        "32 PC32 GLOB_DAT",
    ),
    names(
        "R_AARCH64_",
        "NONE RELATIVE IRELATIVE",
        "JUMP_SLOT",
        "TLS_DTPMOD64 TLS_DTPREL64 TLS_TPREL64 TLSDESC",
        "ABS64 GLOB_DAT",
    ),
    names(
        "R_ARM_",
        "NONE RELATIVE IRELATIVE",
        "JUMP_SLOT",
        "TLS_DTPMOD32 TLS_DTPOFF32 TLS_TPOFF32 TLS_DESC",
        "ABS32 GLOB_DAT",
    ),
    names(
        "R_RISCV_",
        "RELATIVE IRELATIVE",
        "JUMP_SLOT",
        "TLS_DTPMOD64 TLS_DTPREL64 TLS_TPREL64",
        "NONE 64",
    ),
    names(
        "R_LARCH_",
        "RELATIVE IRELATIVE",
        "JUMP_SLOT",
        "",
        "NONE 64 TLS_DTPMOD64 TLS_DTPREL64 TLS_TPREL64",
    ),
    names(
        "R_PPC_",
        "NONE RELATIVE IRELATIVE",
        "JMP_SLOT",
        "ADDR24 REL24 DTPMOD32 DTPREL32 TPREL32",
        "ADDR32 UADDR32 GLOB_DAT",
    ),
    names(
        "R_PPC64_",
        "NONE RELATIVE IRELATIVE JMP_IREL",
        "JMP_SLOT",
        "ADDR24 DTPMOD64 DTPREL64 TPREL64",
        "ADDR64 UADDR64 GLOB_DAT",
    ),
    names(
        "R_390_",
        "NONE RELATIVE IRELATIVE",
        "JMP_SLOT",
        "TLS_DTPMOD TLS_DTPOFF TLS_TPOFF",
        "64 32 GLOB_DAT",
    ),
    names(
        "R_MIPS_",
        "NONE REL32 GLOB_DAT",
        "JUMP_SLOT",
        "",
        "TLS_DTPMOD32 TLS_DTPREL32 TLS_TPREL32 TLS_DTPMOD64 TLS_DTPREL64 TLS_TPREL64",
    ),
    names(
        "R_SPARC_",
        "NONE RELATIVE IRELATIVE JMP_IREL SIZE32 SIZE64",
        "JMP_SLOT",
        "TLS_DTPMOD32 TLS_DTPMOD64 TLS_DTPOFF32 TLS_DTPOFF64 TLS_TPOFF32 TLS_TPOFF64",
        "32 64 GLOB_DAT",
    ),
    names("R_ALPHA_", "NONE RELATIVE", "JMP_SLOT", "DTPMOD64 DTPREL64 TPREL64", "REFQUAD GLOB_DAT"),
    names("R_PARISC_", "", "IPLT EPLT", "TLS_DTPMOD32 TLS_DTPOFF32 TPREL32", "NONE DIR32 PLABEL32"),
    names(
        "R_68K_",
        "RELATIVE",
        "JMP_SLOT",
        "TLS_DTPMOD32 TLS_DTPREL32 TLS_TPREL32",
        "NONE 32 GLOB_DAT",
    ),
    names(
        "R_SH_",
        "NONE RELATIVE",
        "JMP_SLOT",
        "TLS_DTPMOD32 TLS_DTPOFF32 TLS_TPOFF32",
        "DIR32 REL32 GLOB_DAT",
    ),
    names("R_ARC_", "NONE RELATIVE", "JMP_SLOT", "TLS_DTPMOD TLS_DTPOFF TLS_TPOFF", "32 GLOB_DAT"),
];

/// The effect of a type by its name; `None` if the name is unknown.
fn effect(kind: &str, machine: &str) -> Option<Effect> {
    let (row, kind) = NAMES.iter().find_map(|row| Some((row, kind.strip_prefix(row.prefix)?)))?;
    let among = |list: &str| list.split(' ').any(|name| name == kind);
    let plain = if machine == "ppc64" { Plt { slot: false } } else { Plain };
    let class = if kind == "COPY" {
        Copy
    } else if among(row.nothing) {
        return Some(Effect::Nothing);
    } else if among(row.slot) {
        Plt { slot: true }
    } else if among(row.plt) {
        Plt { slot: false }
    } else if among(row.plain) {
        plain
    } else {
        return None;
    };
    Some(Effect::Lookup(class))
}

/// One lookup as a line.
pub(crate) fn line(symbol: u32, class: LookupClass) -> String {
    format!("symbol {symbol} {class:?}")
}

/// The lookups of a file in the loader's order, and unknown relocation types.
pub(crate) fn expected(path: &Path, machine: &str) -> (Vec<String>, Vec<String>) {
    let (mut out, mut unknown) = (Vec::new(), Vec::new());
    let wide = readelf::run(&["-hW"], path).contains("ELF64");
    if machine.starts_with("mips") {
        out = global_offset_table(path);
    }
    let mut section = "";
    let text = readelf::run(&["-rW"], path);
    for entry in text.lines() {
        if let Some(rest) = entry.strip_prefix("Relocation section '") {
            section = rest.split('\'').next().unwrap_or_default();
            continue;
        }
        let mut words = entry.split_whitespace().skip(1);
        let (Some(info), Some(kind)) = (words.next(), words.next()) else { continue };
        let Ok(info) = u64::from_str_radix(info, 16) else { continue };
        if section.starts_with(".relr") || !kind.starts_with("R_") {
            continue;
        }
        let symbol = u32::try_from(if wide { info >> 32 } else { info >> 8 }).expect("an index");
        match effect(kind, machine) {
            None => unknown.push(format!("{kind} is in no list")),
            Some(Effect::Lookup(class)) if symbol != 0 => out.push(line(symbol, class)),
            Some(_) => {}
        }
    }
    (out, unknown)
}

/// The global part of a MIPS global offset table: its symbols are looked up although no relocation
/// names them (`elf_machine_got_rel`).
fn global_offset_table(path: &Path) -> Vec<String> {
    let text = readelf::run(&["-AW"], path);
    let Some((_, table)) = text.split_once("Global entries:") else { return Vec::new() };
    let first = readelf::run(&["-dW"], path)
        .lines()
        .find_map(|line| line.split_once("(MIPS_GOTSYM)")?.1.trim().strip_prefix("0x").map(hex))
        .expect("DT_MIPS_GOTSYM");
    let mut out = Vec::new();
    let entries = table.lines().skip(2).take_while(|line| !line.is_empty());
    for (index, entry) in (u32::try_from(first).expect("an index")..).zip(entries) {
        // Address, access, initial value, value of the symbol, type, section, name.
        let words: Vec<&str> = entry.split_whitespace().collect();
        let (initial, value) = (hex(words[2]), hex(words[3]));
        let stub = words[4] == "FUNC"
            && if words[5] == "UND" { value != 0 } else { words[5] != "COM" && initial != value };
        if stub {
            out.push(line(index, Plt { slot: true }));
        } else if words[4] != "SECTION" || words[5] == "UND" {
            out.push(line(index, Plain));
        }
    }
    out
}

fn hex(text: &str) -> u64 {
    u64::from_str_radix(text, 16).unwrap_or_else(|_| panic!("{text} is no number"))
}
