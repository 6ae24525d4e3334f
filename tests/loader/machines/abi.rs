//! Objects that the loader of a machine and ABI loads, skips or stops at, by their e_ident and
//! e_flags, and whole runs over generated trees.

use std::path::Path;

use linkaudit::format::elf::{Header, LoaderReaction};

use super::forge::{Forge, Hash, Shape, function};
use super::read;
use crate::support::Lab;

const fn shape(machine: u16, wide: bool, big: bool, flags: u32) -> Shape {
    Shape { machine, wide, big, flags }
}

const fn riscv(flags: u32) -> Shape {
    shape(243, true, false, flags)
}
const fn ppc64(big: bool, flags: u32) -> Shape {
    shape(21, true, big, flags)
}
const fn mips(flags: u32) -> Shape {
    shape(8, false, true, flags)
}
const fn mips64(flags: u32) -> Shape {
    shape(8, true, false, flags)
}
const fn arm(flags: u32) -> Shape {
    shape(40, false, false, flags)
}

const EABI5: u32 = 0x0500_0000;
const SOFT: u32 = 0x200;
const HARD: u32 = 0x400;
const INTERNAL: LoaderReaction = LoaderReaction::Fatal("internal error");
const TAKEN: LoaderReaction = LoaderReaction::Accepted;
const PASSED: LoaderReaction = LoaderReaction::WrongMachine;

/// The loader's machine, the file's machine, and the result for the file by
/// `elf_machine_matches_host` and `VALID_ELF_HEADER`.
const CASES: &[(Shape, Shape, LoaderReaction)] = &[
    (riscv(4), riscv(5), TAKEN),
    (riscv(4), riscv(0), PASSED),
    (riscv(4), riscv(2), PASSED),
    (riscv(4), riscv(6), PASSED),
    (riscv(0), riscv(1), TAKEN),
    (riscv(0), riscv(4), PASSED),
    (riscv(4), shape(243, false, false, 4), LoaderReaction::WrongClass),
    (ppc64(true, 1), ppc64(true, 0), TAKEN),
    (ppc64(true, 1), ppc64(true, 1), TAKEN),
    (ppc64(true, 1), ppc64(true, 2), PASSED),
    (ppc64(false, 2), ppc64(false, 0), TAKEN),
    (ppc64(false, 2), ppc64(false, 1), PASSED),
    (ppc64(true, 2), ppc64(true, 1), PASSED),
    (mips(0x7000_1007), mips(0x1005), TAKEN),
    (mips(0x7000_1007), mips(0x9000_1407), PASSED),
    (mips(0x9000_1407), mips(0x9000_1407), TAKEN),
    (mips(0x9000_1407), mips(0x7000_1007), PASSED),
    (mips(0x1007), mips(0x27), PASSED),
    (mips(0x27), mips(0x27), TAKEN),
    (mips(0x27), mips(0x1007), PASSED),
    (mips(0x1007), mips(0x1207), PASSED),
    (mips64(7), mips64(7), TAKEN),
    (mips64(7), mips64(0x27), TAKEN),
    (mips64(7), mips64(0x407), PASSED),
    (mips64(7), mips64(0x207), PASSED),
    (mips(7), shape(10, false, true, 7), TAKEN),
    (shape(22, true, true, 0), shape(0xa390, true, true, 0), TAKEN),
    (shape(22, false, true, 1), shape(0xa390, false, true, 0), TAKEN),
    (shape(2, false, true, 0), shape(18, false, true, 0x100), TAKEN),
    (shape(43, true, true, 0), shape(2, true, true, 0), PASSED),
    (arm(EABI5 | HARD), arm(EABI5 | HARD), TAKEN),
    (arm(EABI5 | HARD), arm(EABI5), TAKEN),
    (arm(EABI5 | HARD), arm(EABI5 | SOFT), INTERNAL),
    (arm(EABI5 | SOFT), arm(EABI5 | HARD), INTERNAL),
    (arm(EABI5 | SOFT), arm(EABI5), TAKEN),
    (arm(EABI5 | HARD), arm(0x0400_0000 | SOFT), TAKEN),
    (shape(258, true, false, 0x43), shape(258, true, false, 0x41), TAKEN),
    (shape(183, true, false, 0), shape(183, true, false, 1), TAKEN),
    (shape(183, true, false, 0), shape(62, true, false, 0), PASSED),
];

fn header(lab: &Lab, forge: &Forge) -> Header {
    read(&lab.write("liba.so", forge.build())).1.header
}

#[test]
fn e_flags_of_candidates() {
    let lab = Lab::new();
    for (loader, candidate, expected) in CASES {
        let target = header(&lab, &Forge::new(*loader)).target();
        let found = header(&lab, &Forge::new(*candidate));
        let name = format!(
            "{} {:#x} asks for {} {:#x}",
            loader.machine, loader.flags, candidate.machine, candidate.flags
        );
        assert_eq!(found.reaction(target), *expected, "{name}");
        let links = target.links_with(found.target());
        assert_eq!(
            links,
            matches!(expected, LoaderReaction::Accepted | LoaderReaction::Fatal(_)),
            "{name}"
        );
    }
    println!("e_flags: {} cases, 0 differences", CASES.len());
}

#[test]
fn identification_of_candidates() {
    let lab = Lab::new();
    let version = LoaderReaction::Fatal("ELF file ABI version invalid");
    let os = LoaderReaction::Fatal("ELF file OS ABI invalid");
    // EI_OSABI 3 is GNU, 64 ARM's.
    for (shape, os_abi, abi_version, expected) in [
        (mips(7), 0, 5, TAKEN),
        (mips(7), 0, 6, version),
        (mips(7), 3, 5, TAKEN),
        (mips(7), 3, 6, version),
        (riscv(4), 3, 3, TAKEN),
        (riscv(4), 3, 4, version),
        (riscv(4), 0, 1, version),
        (shape(183, true, false, 0), 3, 2, TAKEN),
        (shape(183, true, false, 0), 3, 3, version),
        (shape(183, true, false, 0), 64, 0, os),
        (arm(EABI5), 64, 0, TAKEN),
        (arm(EABI5), 64, 1, version),
        (arm(EABI5), 97, 0, os),
    ] {
        let target = header(&lab, &Forge::new(shape)).target();
        let found = header(&lab, &Forge { os_abi, abi_version, ..Forge::new(shape) });
        let name = format!("{} {os_abi} {abi_version}", shape.machine);
        assert_eq!(found.reaction(target), expected, "{name}");
    }
}

/// A tree with a program of `shape`, its loader, and `libpear.so` of other shapes in directories
/// that are searched in this order.
fn tree(lab: &Lab, shape: Shape, loader: &str, candidates: &[(&str, Shape)]) {
    let at = |name: &str| lab.path(name).to_str().expect("a path in UTF-8").to_owned();
    let interp = at(loader);
    let strings = format!("\0{}/\0\0{}/ld.so.cache\0", at("none"), at("none"));
    let mut own = Forge::new(shape);
    own.soname = Some("ld.so.1");
    own.tail = strings.into_bytes();
    lab.write(loader, own.build());
    for (dir, shape) in candidates {
        let symbols = vec![function("pear", 0x100)];
        let lib = Forge { soname: Some("libpear.so"), symbols, ..Forge::new(*shape) };
        lab.write(&format!("{dir}/libpear.so"), lib.build());
    }
    let dirs: Vec<String> = candidates.iter().map(|(dir, _)| at(dir)).collect();
    let prog = Forge {
        interp: Some(interp),
        needed: vec!["libpear.so"],
        runpath: Some(dirs.join(":")),
        hash: Hash::Sysv32,
        ..Forge::new(shape)
    };
    lab.write("prog", prog.build());
}

fn report(lab: &Lab) -> serde_json::Value {
    let output = lab.linkaudit(&["--format", "json", "--facts", "prog"]);
    serde_json::from_slice(&output.stdout).unwrap_or_else(|error| {
        panic!("{error}: {}", String::from_utf8_lossy(&output.stderr));
    })
}

fn rules(report: &serde_json::Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings");
    findings.iter().filter_map(|finding| finding["rule"].as_str()).collect()
}

const LOADERS: &[(Shape, &str, Shape)] = &[
    (riscv(5), "ld-linux-riscv64-lp64d.so.1", riscv(1)),
    (ppc64(true, 1), "ld64.so.1", ppc64(true, 2)),
    (ppc64(true, 2), "ld64.so.2", ppc64(true, 1)),
    (mips(0x9000_1407), "ld-linux-mipsn8.so.1", mips(0x7000_1007)),
    (mips64(7), "ld.so.1", mips64(0x407)),
];

#[test]
fn candidates_of_another_abi_are_passed_over() {
    for (shape, loader, other) in LOADERS {
        let lab = Lab::new();
        tree(&lab, *shape, loader, &[("other", *other), ("right", *shape)]);
        let found = report(&lab);
        assert_eq!(rules(&found), Vec::<&str>::new(), "{loader}: {found:#}");
        let text = found.to_string();
        assert!(text.contains("right/libpear.so"), "{loader}: {found:#}");

        let lab = Lab::new();
        tree(&lab, *shape, loader, &[("other", *other)]);
        assert_eq!(rules(&report(&lab)), ["wrong-architecture"], "{loader}");
    }
}

#[test]
fn the_loader_stops_at_the_other_float_abi_of_arm() {
    let lab = Lab::new();
    let (hard, soft) = (arm(EABI5 | HARD), arm(EABI5 | SOFT));
    tree(&lab, hard, "ld-linux-armhf.so.3", &[("soft", soft), ("hard", hard)]);
    let found = report(&lab);
    assert_eq!(rules(&found), ["bad-library-file"], "{found:#}");
    assert!(found.to_string().contains("internal error"), "{found:#}");
    assert!(Path::new(&lab.path("hard/libpear.so")).exists());
}
