//! Version tables in odd shapes, and the version that marks packed relative relocations.

use object::LittleEndian as Le;
use object::elf::{VER_FLG_WEAK, VersionIndex};

use super::kit::{Case, Targets, cases, copy, exe, run, see, so};
use super::patch::edit;
use super::versions::{BODY, MAIN, one_and_two};
use crate::support::Lab;

#[test]
fn version_tables_and_markers() {
    run("version tables", CASES);
}

const CASES: &[Case] = cases![
    wrong_hash_in_the_need,
    wrong_hash_in_the_definition,
    version_named_like_the_library,
    local_version_index,
    bit_on_the_needed_version,
    partly_missing_table,
    relative_relocations_marked,
    relative_relocations_unmarked,
    relative_relocations_without_libc,
    relative_relocations_and_a_missing_version,
    library_named_like_libc,
];

const RELR: &str = "int a,b,c,d,e; int *table[]={&a,&b,&c,&d,&e};";
const MARKER: &str = "GLIBC_ABI_DT_RELR";

fn wrong_hash_in_the_need(lab: &Lab) -> Targets {
    one_and_two(lab);
    copy(lab, "stub/libpear.so", "e/libpear.so");
    exe(lab, "prog", MAIN, "stub/libpear.so runpath=$PWD/e");
    edit(lab, "prog", |elf| elf.vernaux("PEAR_2").vna_hash.set(Le, 0x1234));
    vec![see("prog", &["`PEAR_2' not found", "undefined symbol: extra, version PEAR_2"])]
}

fn wrong_hash_in_the_definition(lab: &Lab) -> Targets {
    one_and_two(lab);
    copy(lab, "stub/libpear.so", "e/libpear.so");
    exe(lab, "prog", MAIN, "stub/libpear.so runpath=$PWD/e");
    edit(lab, "e/libpear.so", |elf| elf.verdef("PEAR_2").vd_hash.set(Le, 0x1234));
    vec![see("prog", &["`PEAR_2' not found", "undefined symbol: extra, version PEAR_2"])]
}

fn version_named_like_the_library(lab: &Lab) -> Targets {
    // The base definition of a library carries its SONAME; here, a file needs this name as a
    // version.
    lab.write("same", "PEAR_9.so { global: pear; };");
    lab.write("other", "OTHER_1 { global: extra; }; OTHER_2 { global: pear; };");
    so(lab, "stub/PEAR_9.so", "int pear(void){return 1;}", "soname=PEAR_9.so map=same");
    so(lab, "d/PEAR_9.so", BODY, "soname=PEAR_9.so map=other");
    exe(
        lab,
        "prog",
        "int pear(void); int main(void){return pear();}",
        "stub/PEAR_9.so runpath=$PWD/d",
    );
    vec![see("prog", &["PEAR_9.so => $PWD/d"])]
}

fn local_version_index(lab: &Lab) -> Targets {
    one_and_two(lab);
    copy(lab, "stub/libpear.so", "e/libpear.so");
    edit(lab, "e/libpear.so", |elf| elf.version("extra").set(Le, 0));
    copy(lab, "stub/libpear.so", "f/libpear.so");
    edit(lab, "f/libpear.so", |elf| elf.version("extra").set(Le, 0x8001));
    so(lab, "stub/plain/libpear.so", BODY, "soname=libpear.so");
    for (out, from, dir) in [
        ("versioned", "stub", "e"),
        ("plain", "stub/plain", "e"),
        ("hidden", "stub", "f"),
        ("plain_hidden", "stub/plain", "f"),
    ] {
        exe(lab, out, MAIN, &format!("{from}/libpear.so runpath=$PWD/{dir}"));
    }
    vec![
        see("versioned", &[]),
        see("plain", &["!undefined"]),
        see("hidden", &["undefined symbol: extra, version PEAR_2"]),
        see("plain_hidden", &["!undefined"]),
    ]
}

fn bit_on_the_needed_version(lab: &Lab) -> Targets {
    one_and_two(lab);
    lab.write("global", "PEAR_1 { global: pear; }; PEAR_2 { global: none; };");
    so(
        lab,
        "e/libpear.so",
        "int pear(void){return 1;} int extra(void){return 2;} int none;",
        "soname=libpear.so map=global",
    );
    for out in ["without", "with"] {
        exe(lab, out, MAIN, "stub/libpear.so runpath=$PWD/e");
    }
    edit(lab, "with", |elf| {
        let other = elf.vernaux("PEAR_2").vna_other.get(Le).0;
        elf.vernaux("PEAR_2").vna_other.set(Le, VersionIndex(other | 0x8000));
    });
    vec![see("without", &[]), see("with", &[])]
}

fn partly_missing_table(lab: &Lab) -> Targets {
    one_and_two(lab);
    // The program's verneed of the missing library holds the highest indices.
    let main = "#include <stdio.h>\nint pear(void); int extra(void); int main(void){puts(\"\"); return pear()+extra();}";
    exe(lab, "gone_first", main, "stub/libpear.so");
    exe(lab, "gone_last", main, "-lc stub/libpear.so");
    vec![
        see("gone_first", &["undefined symbol: extra"]),
        see("gone_last", &["undefined symbol: extra"]),
    ]
}

fn relr(lab: &Lab, out: &str) {
    exe(
        lab,
        out,
        &format!("{RELR} int main(void){{return *table[1];}}"),
        "-pie -fPIE z=pack-relative-relocs",
    );
}

fn relative_relocations_marked(lab: &Lab) -> Targets {
    relr(lab, "prog");
    so(
        lab,
        "lib.so",
        &format!("{RELR} int gone(void); int f(void){{return gone();}}"),
        "z=pack-relative-relocs",
    );
    vec![see("prog", &["!error"]), see("lib.so", &["undefined symbol: gone"])]
}

fn relative_relocations_unmarked(lab: &Lab) -> Targets {
    relr(lab, "prog");
    so(
        lab,
        "d/libpear.so",
        &format!("{RELR} int pear(void){{return 1;}}"),
        "soname=libpear.so z=pack-relative-relocs",
    );
    exe(
        lab,
        "library",
        "int pear(void); int main(void){return pear();}",
        "d/libpear.so runpath=$PWD/d",
    );
    for name in ["prog", "d/libpear.so"] {
        edit(lab, name, |elf| {
            elf.vernaux(MARKER).vna_flags.set(Le, VER_FLG_WEAK);
            elf.rename_version(MARKER, "GLIBC_ABI_DT_ODDS");
        });
    }
    let text = "DT_RELR without GLIBC_ABI_DT_RELR dependency";
    vec![see("prog", &[text]), see("library", &[text])]
}

fn relative_relocations_without_libc(lab: &Lab) -> Targets {
    so(
        lab,
        "d/libpear.so",
        &format!("{RELR} int pear(void){{return 1;}}"),
        "-nostdlib soname=libpear.so z=pack-relative-relocs",
    );
    exe(
        lab,
        "prog",
        "int pear(void); int main(void){return pear();}",
        "d/libpear.so runpath=$PWD/d",
    );
    vec![see("prog", &["!error"]), see("d/libpear.so", &["statically linked"])]
}

fn relative_relocations_and_a_missing_version(lab: &Lab) -> Targets {
    one_and_two(lab);
    let main = format!(
        "{RELR} int pear(void); int extra(void); int main(void){{return pear()+extra()+*table[2];}}"
    );
    exe(lab, "prog", &main, "stub/libpear.so runpath=$PWD/d -pie -fPIE z=pack-relative-relocs");
    copy(lab, "prog", "marked");
    edit(lab, "prog", |elf| elf.rename_version(MARKER, "GLIBC_ABI_DT_ODDS"));
    vec![see("prog", &["error while loading"]), see("marked", &["`PEAR_2' not found"])]
}

fn library_named_like_libc(lab: &Lab) -> Targets {
    // Another library whose name begins `libc.so.` counts as libc.
    lab.write("two", "X_1 { global: pear; };");
    so(lab, "d/libc.so.9", "int pear(void){return 1;}", "-nostdlib soname=libc.so.9 map=two");
    so(
        lab,
        "d/libfig.so",
        &format!("{RELR} int pear(void); int fig(void){{return pear();}}"),
        "-nostdlib d/libc.so.9 soname=libfig.so runpath=$PWD/d z=pack-relative-relocs",
    );
    exe(lab, "prog", "int fig(void); int main(void){return fig();}", "d/libfig.so runpath=$PWD/d");
    vec![see("prog", &["libc.so.9"]), see("d/libfig.so", &["libc.so.9"])]
}
