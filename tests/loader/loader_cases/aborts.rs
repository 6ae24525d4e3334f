//! Files on which the real loader itself fails: by an assertion, or by a crash after it has printed
//! the libraries. The outputs cannot be equal, so the comparison is weaker.

use object::elf::{DT_AUDIT, DT_AUXILIARY, DT_FILTER, DT_NEEDED};

use super::kit::{Case, Target, Targets, cases, exe, glibc_minor, guard, lib, ours, prog, see, so};
use super::patch::{Elf, UNUSED_TAG, edit};
use crate::support::{Lab, LddText, Tally};

const INCONSISTENT: &str = "Inconsistency detected by ld.so: ";

/// The loader asserts that a version's file has been loaded and, before 2.41, that it has versions.
/// linkaudit reports this in a line that begins like the loader's.
#[test]
fn failed_assertions() {
    let old: &[Case] = cases![library_lost_its_versions, library_of_a_need_lost_its_versions];
    let always: &[Case] = cases![
        version_of_an_unknown_name,
        version_of_a_name_known_only_as_soname,
        version_of_a_removed_need,
        version_of_a_library_asks_an_unknown_name,
    ];
    let mut broken = Vec::new();
    let mut count = 0;
    let old = if glibc_minor() < 41 { old } else { &[] };
    for (name, lab, target, theirs) in answers(always.iter().chain(old)) {
        broken.extend(guard(name, &target, &lab, &theirs));
        count += 1;
        let ours = ours(&lab, &target.file);
        if !ours.lines().any(|line| line.starts_with(INCONSISTENT)) {
            broken.push(format!(
                "{name}: {}: no {INCONSISTENT:?}\n--- linkaudit\n{ours}--- ldd\n{theirs}",
                target.file
            ));
        }
    }
    println!("loader cases: failed assertions: {count} cases, {} differences", broken.len());
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// Since 2.41 the loader gives a normal answer for these.
#[test]
fn assertions_that_newer_loaders_lack() {
    if glibc_minor() < 41 {
        return;
    }
    super::kit::run(
        "former assertions",
        cases![library_lost_its_versions, library_of_a_need_lost_its_versions],
    );
}

/// The loader crashes while it relocates: it prints the libraries, and at most the reports of
/// objects before the crash.
#[test]
fn crashes() {
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    for (name, lab, target, theirs) in answers(CRASHES) {
        broken.extend(guard(name, &target, &lab, &theirs));
        let (ours, theirs) = (LddText::parse(&ours(&lab, &target.file)), LddText::parse(&theirs));
        tally.cases += 1;
        if ours.libraries != theirs.libraries || !ours.others.is_superset(&theirs.others) {
            tally.differences.push(format!(
                "=== {name}: {}\n--- linkaudit\n{ours:#?}\n--- ldd\n{theirs:#?}",
                target.file
            ));
        }
    }
    assert!(broken.is_empty(), "{}", broken.join("\n"));
    tally.finish("loader cases: crashes");
}

const CRASHES: &[Case] = cases![
    every_version_file_is_missing,
    every_version_file_of_a_library_is_missing,
    every_version_file_without_default_directories,
    filtee_of_the_main_program,
    filtee_of_the_main_library,
    size_of_an_undefined_symbol,
];

/// Builds the cases and runs the real loader.
fn answers<'a>(cases: impl IntoIterator<Item = &'a Case>) -> Vec<(&'a str, Lab, Target, String)> {
    let mut out = Vec::new();
    for (name, build) in cases {
        let count = build(&Lab::new()).len();
        for index in 0..count {
            let lab = Lab::new();
            let target = build(&lab).remove(index);
            let theirs = lab.ldd_r(&target.file);
            out.push((*name, lab, target, theirs));
        }
    }
    out
}

const VERSIONED: &str = "int pear(void){return 1;}";
const CALLS: &str = "int pear(void); int main(void){return pear();}";

fn versioned(lab: &Lab, out: &str, flags: &str) {
    lab.write("map", "PEAR_1 { global: pear; };");
    so(lab, out, VERSIONED, &format!("map=map {flags}"));
}

/// Changes the need of `libpear.so.1` to `libpear.so`; the versions still name `libpear.so.1`.
fn rename_need(elf: &mut Elf) {
    elf.point(DT_NEEDED, "libpear.so.1", "libpear.so");
    elf.retag(DT_AUDIT, UNUSED_TAG);
}

fn version_of_an_unknown_name(lab: &Lab) -> Targets {
    versioned(lab, "stub/libpear.so.1", "soname=libpear.so.1");
    versioned(lab, "d/libpear.so", "soname=libpear.so");
    exe(lab, "prog", CALLS, "stub/libpear.so.1 runpath=$PWD/d -Wl,--audit=libpear.so");
    edit(lab, "prog", rename_need);
    vec![see("prog", &[INCONSISTENT, "dl-version.c"])]
}

fn version_of_a_name_known_only_as_soname(lab: &Lab) -> Targets {
    versioned(lab, "d/libpear.so", "soname=libpear.so.1");
    exe(lab, "prog", CALLS, "d/libpear.so runpath=$PWD/d -Wl,--audit=libpear.so");
    edit(lab, "prog", rename_need);
    vec![see("prog", &[INCONSISTENT, "dl-version.c"])]
}

fn version_of_a_removed_need(lab: &Lab) -> Targets {
    lib(lab, "stub/none.so", &[], "");
    exe(lab, "prog", "int main(void){return 0;}", "");
    edit(lab, "prog", |elf| elf.retag(DT_NEEDED, UNUSED_TAG));
    vec![see("prog", &[INCONSISTENT])]
}

fn version_of_a_library_asks_an_unknown_name(lab: &Lab) -> Targets {
    versioned(lab, "d/libpear.so", "soname=libpear.so.1");
    let source = "int pear(void); int fig(void){return pear();}";
    so(
        lab,
        "d/libfig.so",
        source,
        "soname=libfig.so d/libpear.so runpath=$PWD/d -Wl,--audit=libpear.so",
    );
    edit(lab, "d/libfig.so", rename_need);
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &[INCONSISTENT]), see("d/libfig.so", &[INCONSISTENT])]
}

fn library_lost_its_versions(lab: &Lab) -> Targets {
    versioned(lab, "stub/libpear.so", "soname=libpear.so");
    so(lab, "d/libpear.so", VERSIONED, "soname=libpear.so -nostdlib");
    exe(lab, "prog", CALLS, "stub/libpear.so runpath=$PWD/d");
    vec![see("prog", &["<2.41 Inconsistency detected", "no version information available"])]
}

fn library_of_a_need_lost_its_versions(lab: &Lab) -> Targets {
    versioned(lab, "stub/libpear.so", "soname=libpear.so");
    so(lab, "d/libpear.so", VERSIONED, "soname=libpear.so -nostdlib");
    let source = "int pear(void); int gone(void); int fig(void){return pear()+gone();}";
    so(lab, "d/libfig.so", source, "soname=libfig.so stub/libpear.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["<2.41 Inconsistency detected", "(required by $PWD/d/libfig.so)"])]
}

fn every_version_file_is_missing(lab: &Lab) -> Targets {
    versioned(lab, "stub/libpear.so", "soname=libpear.so");
    so(
        lab,
        "lib.so",
        "int pear(void); int gone(void); int f(void){return pear()+gone();}",
        "-nostdlib stub/libpear.so",
    );
    vec![see("lib.so", &["libpear.so => not found"])]
}

fn every_version_file_of_a_library_is_missing(lab: &Lab) -> Targets {
    versioned(lab, "stub/libpear.so", "soname=libpear.so");
    let source = "int pear(void); int fig(void){return pear();}";
    so(lab, "d/libfig.so", source, "-nostdlib soname=libfig.so stub/libpear.so");
    so(lab, "d/liboak.so", "int gone(void); int oak(void){return gone();}", "soname=liboak.so");
    prog(lab, "prog", &["d/libfig.so", "d/liboak.so"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so => not found", "liboak.so => $PWD/d"])]
}

fn every_version_file_without_default_directories(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "prog", &["d/libpear.so"], "z=nodefaultlib runpath=$PWD/d");
    vec![see("prog", &["libc.so.6 => not found"])]
}

fn filtee_of_the_main_program(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    lib(lab, "d/libfig.so", &[], "");
    for (out, tag) in [("auxiliary", DT_AUXILIARY), ("filter", DT_FILTER)] {
        prog(lab, out, &["d/libfig.so"], "runpath=$PWD/d -Wl,--audit=libaux.so");
        edit(lab, out, |elf| elf.retag(DT_AUDIT, tag));
    }
    vec![see("auxiliary", &["libfig.so => $PWD/d"]), see("filter", &["libfig.so => $PWD/d"])]
}

fn filtee_of_the_main_library(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    lib(lab, "d/libfig.so", &[], "-Wl,-f,libaux.so runpath=$PWD/d");
    vec![see("d/libfig.so", &["libc.so.6"])]
}

fn size_of_an_undefined_symbol(lab: &Lab) -> Targets {
    let source = "__asm__(\".data\\n.quad gone@size\\n.text\"); int fig(void){return 1;}";
    so(lab, "lib.so", source, "");
    vec![see("lib.so", &["undefined symbol: gone"])]
}
