//! Several rules at once: versions, symbols, relocations and missing libraries.

use object::LittleEndian as Le;
use object::elf::VER_FLG_WEAK;

use super::kit::{Case, Targets, cases, exe, lib, prog, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn versions_and_symbols_together() {
    run("versions and symbols together", CASES);
}

const CASES: &[Case] = cases![
    branches_want_different_versions,
    version_of_the_main_library,
    version_missing_and_library_missing,
    weak_version_in_a_library,
    weak_symbol_of_a_missing_library,
    version_answered_by_a_filtee,
    unversioned_program_before_a_versioned_library,
    copy_from_a_library_answered_by_soname,
    copy_and_version_of_an_inherited_library,
    no_hash_and_versions,
    versions_of_small_libraries_missing,
    every_line_at_once,
];

const OLD_AND_NEW: &str = "V_1 { global: old; }; V_2 { global: new; } V_1;";
const ONLY_OLD: &str = "V_1 { global: old; };";

fn old_and_new(lab: &Lab, out: &str, flags: &str) {
    lab.write("old_and_new", OLD_AND_NEW);
    so(
        lab,
        out,
        "int old(void){return 1;} int new(void){return 2;}",
        &format!("map=old_and_new {flags}"),
    );
}

fn only_old(lab: &Lab, out: &str, flags: &str) {
    lab.write("only_old", ONLY_OLD);
    so(lab, out, "int old(void){return 1;}", &format!("map=only_old {flags}"));
}

fn branches_want_different_versions(lab: &Lab) -> Targets {
    old_and_new(lab, "n/libv.so.1", "soname=libv.so.1");
    only_old(lab, "o/libv.so.1", "soname=libv.so.1");
    so(
        lab,
        "d/libfig.so",
        "int old(void); int fig(void){return old();}",
        "soname=libfig.so o/libv.so.1 runpath=$PWD/o",
    );
    so(
        lab,
        "d/liboak.so",
        "int new(void); int oak(void){return new();}",
        "soname=liboak.so n/libv.so.1 runpath=$PWD/n",
    );
    prog(lab, "old_first", &["d/libfig.so", "d/liboak.so"], "runpath=$PWD/d");
    prog(lab, "new_first", &["d/liboak.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![
        see(
            "old_first",
            &[
                "`V_2' not found (required by $PWD/d/liboak.so)",
                "undefined symbol: new, version V_2\t($PWD/d/liboak.so)",
            ],
        ),
        see("new_first", &["libv.so.1 => $PWD/n/", "!V_2"]),
    ]
}

fn version_of_the_main_library(lab: &Lab) -> Targets {
    old_and_new(lab, "libv.so.1", "soname=libv.so.1");
    let source = "int old(void); int new(void); int fig(void){return old()+new();}";
    so(lab, "d/libfig.so", source, "soname=libfig.so libv.so.1");
    // The main file is a library whose versions one of its own dependencies needs.
    only_old(lab, "libv.so.1", "soname=libv.so.1 d/libfig.so runpath=$PWD/d");
    vec![see(
        "libv.so.1",
        &[
            "version `V_2' not found (required by $PWD/d/libfig.so)",
            "undefined symbol: new, version V_2\t($PWD/d/libfig.so)",
        ],
    )]
}

fn version_missing_and_library_missing(lab: &Lab) -> Targets {
    old_and_new(lab, "stub/libv.so.1", "soname=libv.so.1");
    only_old(lab, "d/libv.so.1", "soname=libv.so.1");
    lab.write("gone", "GONE_1 { global: gone; };");
    so(lab, "stub/libgone.so", "int gone(void){return 0;}", "soname=libgone.so map=gone");
    let main =
        "int old(void); int new(void); int gone(void); int main(void){return old()+new()+gone();}";
    exe(lab, "gone_first", main, "stub/libgone.so stub/libv.so.1 runpath=$PWD/d");
    exe(lab, "gone_last", main, "stub/libv.so.1 stub/libgone.so runpath=$PWD/d");
    let shows = [
        "`V_2' not found",
        "libgone.so => not found",
        "undefined symbol: gone",
        "undefined symbol: new",
    ];
    vec![see("gone_first", &shows), see("gone_last", &shows)]
}

fn weak_version_in_a_library(lab: &Lab) -> Targets {
    old_and_new(lab, "stub/libv.so.1", "soname=libv.so.1");
    only_old(lab, "d/libv.so.1", "soname=libv.so.1");
    let source = "int old(void); int new(void) __attribute__((weak)); int fig(void){return new?new():old();}";
    so(lab, "d/libfig.so", source, "soname=libfig.so stub/libv.so.1 runpath=$PWD/d");
    edit(lab, "d/libfig.so", |elf| elf.vernaux("V_2").vna_flags.set(Le, VER_FLG_WEAK));
    let main = "int fig(void); int new(void); int main(void){return fig()+new();}";
    exe(lab, "prog", main, "d/libfig.so stub/libv.so.1 runpath=$PWD/d");
    vec![see(
        "prog",
        &[
            "weak version `V_2' not found (required by $PWD/d/libfig.so)",
            ": version `V_2' not found (required by ./prog)",
            "undefined symbol: new, version V_2\t(./prog)",
        ],
    )]
}

fn weak_symbol_of_a_missing_library(lab: &Lab) -> Targets {
    old_and_new(lab, "stub/libv.so.1", "soname=libv.so.1");
    let main = "int new(void) __attribute__((weak)); int old(void); int main(void){return new?new():old();}";
    exe(lab, "prog", main, "stub/libv.so.1");
    vec![see("prog", &["libv.so.1 => not found", "undefined symbol: old", "!symbol: new"])]
}

fn version_answered_by_a_filtee(lab: &Lab) -> Targets {
    old_and_new(lab, "d/libv.so.1", "soname=libv.so.1");
    old_and_new(lab, "stub/libfig.so", "soname=libfig.so");
    lab.write("neither", "V_1 {}; V_2 {} V_1;");
    so(
        lab,
        "d/libfig.so",
        "int none;",
        "soname=libfig.so map=neither -Wl,-F,libv.so.1 runpath=$PWD/d",
    );
    let main = "int old(void); int new(void); int main(void){return old()+new();}";
    exe(lab, "prog", main, "stub/libfig.so runpath=$PWD/d");
    exe(lab, "without", main, "stub/libfig.so runpath=$PWD/e");
    so(lab, "e/libfig.so", "int none;", "soname=libfig.so map=neither -Wl,-F,libv.so.1");
    vec![
        see("prog", &["libv.so.1 => $PWD/d/libv.so.1", "!undefined"]),
        see("without", &["libv.so.1 => not found", "undefined symbol: old, version V_1"]),
    ]
}

fn unversioned_program_before_a_versioned_library(lab: &Lab) -> Targets {
    old_and_new(lab, "stub/libv.so.1", "soname=libv.so.1");
    only_old(lab, "d/libv.so.1", "soname=libv.so.1");
    so(
        lab,
        "d/libfig.so",
        "int new(void); int fig(void){return new();}",
        "soname=libfig.so stub/libv.so.1 runpath=$PWD/d",
    );
    let main = "int fig(void); int new(void){return 3;} int main(void){return fig();}";
    exe(lab, "exports", main, "d/libfig.so -rdynamic runpath=$PWD/d");
    exe(
        lab,
        "bare",
        "int fig(void); int new(void){return 3;} void _start(void){fig();}",
        "-nostartfiles d/libfig.so -rdynamic runpath=$PWD/d",
    );
    vec![
        see("exports", &["version `V_2' not found", "!undefined"]),
        see("bare", &["version `V_2' not found", "!undefined"]),
    ]
}

fn copy_from_a_library_answered_by_soname(lab: &Lab) -> Targets {
    so(lab, "d/file.so", "int pear[8]={1};", "soname=libpear.so");
    so(lab, "e/libpear.so", "int pear[2]={1};", "soname=libpear.so");
    so(lab, "stub/file.so", "", "soname=file.so");
    let main = "extern int pear[]; int main(void){return pear[0];}";
    exe(lab, "prog", main, "-no-pie -fno-pic stub/file.so e/libpear.so runpath=$PWD/e:$PWD/d");
    exe(lab, "swapped", main, "-no-pie -fno-pic e/libpear.so stub/file.so runpath=$PWD/e:$PWD/d");
    vec![
        see("prog", &["!libpear.so =>", "has different size"]),
        see("swapped", &["libpear.so => $PWD/e", "!different"]),
    ]
}

fn copy_and_version_of_an_inherited_library(lab: &Lab) -> Targets {
    lab.write("one", "P_1 { global: pear; };");
    lab.write("two", "P_2 { global: pear; };");
    so(lab, "stub/libpear.so", "int pear[4]={1};", "soname=libpear.so map=one");
    so(lab, "d/libpear.so", "int pear[4]={1};", "soname=libpear.so map=two");
    lib(lab, "d/libfig.so", &[], "stub/libpear.so");
    exe(
        lab,
        "prog",
        "extern int pear[4]; int fig(void); int main(void){return fig()+pear[0];}",
        "-no-pie -fno-pic d/libfig.so stub/libpear.so rpath=$PWD/d",
    );
    vec![see(
        "prog",
        &["version `P_1' not found (required by ./prog)", "undefined symbol: pear, version P_1"],
    )]
}

fn no_hash_and_versions(lab: &Lab) -> Targets {
    old_and_new(lab, "d/libv.so.1", "soname=libv.so.1 -Wl,--hash-style=gnu");
    exe(
        lab,
        "prog",
        "int old(void); int new(void); int main(void){return old()+new();}",
        "d/libv.so.1 runpath=$PWD/d",
    );
    edit(lab, "d/libv.so.1", |elf| elf.retag(object::elf::DT_GNU_HASH, super::patch::UNUSED_TAG));
    vec![see(
        "prog",
        &["!version `", "undefined symbol: old, version V_1", "undefined symbol: new, version V_2"],
    )]
}

fn versions_of_small_libraries_missing(lab: &Lab) -> Targets {
    old_and_new(lab, "stub/libv.so.1", "-m32 soname=libv.so.1");
    only_old(lab, "d/libv.so.1", "-m32 soname=libv.so.1");
    let source = "int new(void); int fig(void){return new();}";
    so(lab, "d/libfig.so", source, "-m32 soname=libfig.so stub/libv.so.1 runpath=$PWD/d");
    lib(lab, "stub/libgone.so", &[], "-m32");
    prog(lab, "prog", &["d/libfig.so", "stub/libgone.so"], "-m32 runpath=$PWD/d");
    vec![see(
        "prog",
        &[
            "`V_2' not found (required by $PWD/d/libfig.so)",
            "libgone.so => not found",
            "undefined symbol: new, version V_2",
        ],
    )]
}

fn every_line_at_once(lab: &Lab) -> Targets {
    old_and_new(lab, "stub/libv.so.1", "soname=libv.so.1");
    only_old(lab, "d/libv.so.1", "soname=libv.so.1");
    old_and_new(lab, "stub/libplain.so", "soname=libplain.so");
    so(lab, "d/libplain.so", "int nothing;", "soname=libplain.so");
    so(lab, "stub/libsize.so", "int size[4]={1};", "soname=libsize.so");
    so(lab, "d/libsize.so", "int size[6]={1};", "soname=libsize.so");
    lib(lab, "stub/libgone.so", &[], "");
    so(
        lab,
        "d/libfig.so",
        "int new(void); int lost(void); int fig(void){return new()+lost();}",
        "soname=libfig.so stub/libplain.so runpath=$PWD/d",
    );
    let main = "extern int size[4]; int old(void); int new(void); int gone(void); int fig(void); int main(void){return size[0]+old()+new()+gone()+fig();}";
    exe(
        lab,
        "prog",
        main,
        "-no-pie -fno-pic stub/libv.so.1 stub/libsize.so stub/libgone.so d/libfig.so runpath=$PWD/d",
    );
    vec![see(
        "prog",
        &[
            "version `V_2' not found (required by ./prog)",
            "no version information available (required by $PWD/d/libfig.so)",
            "libgone.so => not found",
            "Symbol `size' has different size",
            "undefined symbol: lost\t($PWD/d/libfig.so)",
            "undefined symbol: new, version V_2\t(./prog)",
        ],
    )]
}
