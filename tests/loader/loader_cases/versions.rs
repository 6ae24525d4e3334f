//! Symbol versions: the check at load time, and the definitions that a reference accepts.

use object::LittleEndian as Le;
use object::elf::VER_FLG_WEAK;

use super::kit::{Case, Targets, cases, copy, exe, lib, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn versions_of_symbols() {
    run("versions", CASES);
}

const CASES: &[Case] = cases![
    version_missing,
    version_missing_in_a_library,
    several_versions_missing,
    version_missing_but_symbol_elsewhere,
    version_of_libc_missing,
    weak_version_missing,
    weak_version_and_symbol,
    no_version_information_needed,
    library_of_the_version_is_missing,
    library_of_the_version_under_its_soname,
    symbol_left_its_version,
    symbol_moved_to_another_version,
    plain_reference_takes_the_oldest,
    plain_reference_to_default,
    plain_reference_to_hidden_ones,
    plain_reference_to_two_defaults,
    versioned_reference_skips_other_versions,
    versioned_reference_takes_a_plain_library,
    versioned_reference_takes_a_base_symbol,
    versioned_reference_to_hidden_version,
    copy_of_the_chosen_version,
];

const TWO: &str = "PEAR_1 { global: pear; }; PEAR_2 { global: extra; } PEAR_1;";
const ONE: &str = "PEAR_1 { global: pear; extra; };";
pub(crate) const BODY: &str = "int pear(void){return 1;} int extra(void){return 2;}";
pub(crate) const MAIN: &str =
    "int pear(void); int extra(void); int main(void){return pear()+extra();}";

/// `stub/libpear.so` with PEAR_1 and PEAR_2, and `d/libpear.so` where both symbols are PEAR_1.
pub(crate) fn one_and_two(lab: &Lab) {
    lab.write("two", TWO);
    lab.write("one", ONE);
    so(lab, "stub/libpear.so", BODY, "soname=libpear.so map=two");
    so(lab, "d/libpear.so", BODY, "soname=libpear.so map=one");
}

fn version_missing(lab: &Lab) -> Targets {
    one_and_two(lab);
    exe(lab, "prog", MAIN, "stub/libpear.so runpath=$PWD/d");
    exe(lab, "sub/prog", MAIN, "stub/libpear.so runpath=$PWD/d");
    vec![
        see(
            "prog",
            &[
                "./prog: $PWD/d/libpear.so: version `PEAR_2' not found (required by ./prog)",
                "undefined symbol: extra, version PEAR_2\t(./prog)",
            ],
        ),
        see("sub/prog", &["sub/prog: $PWD/d/libpear.so: version", "(required by sub/prog)"]),
    ]
}

fn version_missing_in_a_library(lab: &Lab) -> Targets {
    one_and_two(lab);
    so(
        lab,
        "d/libfig.so",
        "int extra(void); int fig(void){return extra();}",
        "soname=libfig.so stub/libpear.so runpath=$PWD/d",
    );
    exe(lab, "prog", "int fig(void); int main(void){return fig();}", "d/libfig.so runpath=$PWD/d");
    exe(
        lab,
        "both",
        "int fig(void); int extra(void); int main(void){return fig()+extra();}",
        "d/libfig.so stub/libpear.so runpath=$PWD/d",
    );
    vec![
        see(
            "prog",
            &[
                "(required by $PWD/d/libfig.so)",
                "undefined symbol: extra, version PEAR_2\t($PWD/d/libfig.so)",
            ],
        ),
        see("both", &["(required by $PWD/d/libfig.so)", "(required by ./both)"]),
        see(
            "d/libfig.so",
            &["d/libfig.so: $PWD/d/libpear.so: version", "(required by d/libfig.so)"],
        ),
    ]
}

fn several_versions_missing(lab: &Lab) -> Targets {
    lab.write(
        "many",
        "V_1 { global: a; }; V_2 { global: b; }; V_3 { global: c; }; V_4 { global: d; };",
    );
    lab.write("few", "V_2 { global: b; }; V_9 { global: a; c; d; };");
    let body = "int a(void){return 0;} int b(void){return 0;} int c(void){return 0;} int d(void){return 0;}";
    so(lab, "stub/libpear.so", body, "soname=libpear.so map=many");
    so(lab, "d/libpear.so", body, "soname=libpear.so map=few");
    let main = "int a(void); int b(void); int c(void); int d(void); int main(void){return a()+b()+c()+d();}";
    exe(lab, "prog", main, "stub/libpear.so runpath=$PWD/d");
    vec![see("prog", &["`V_1' not found", "!`V_2'", "`V_3' not found", "`V_4' not found"])]
}

fn version_missing_but_symbol_elsewhere(lab: &Lab) -> Targets {
    one_and_two(lab);
    so(lab, "d/libkiwi.so", "int extra(void){return 3;}", "soname=libkiwi.so");
    exe(lab, "prog", MAIN, "stub/libpear.so d/libkiwi.so runpath=$PWD/d");
    vec![see("prog", &["`PEAR_2' not found", "!undefined"])]
}

fn version_of_libc_missing(lab: &Lab) -> Targets {
    let main = "#include <stdio.h>\nint main(void){return puts(\"\");}";
    exe(lab, "prog", main, "");
    edit(lab, "prog", |elf| elf.rename_version("GLIBC_2.2.5", "GLIBC_9.9.9"));
    vec![see(
        "prog",
        &[
            "libc.so.6: version `GLIBC_9.9.9' not found (required by ./prog)",
            "undefined symbol: puts, version GLIBC_9.9.9",
        ],
    )]
}

fn weak_version_missing(lab: &Lab) -> Targets {
    one_and_two(lab);
    exe(lab, "prog", MAIN, "stub/libpear.so runpath=$PWD/d");
    edit(lab, "prog", |elf| elf.vernaux("PEAR_2").vna_flags.set(Le, VER_FLG_WEAK));
    vec![see(
        "prog",
        &["weak version `PEAR_2' not found (required by ./prog)", "undefined symbol: extra"],
    )]
}

fn weak_version_and_symbol(lab: &Lab) -> Targets {
    one_and_two(lab);
    let main = "int pear(void); __attribute__((weak)) int extra(void); int main(void){return extra?extra():pear();}";
    exe(lab, "prog", main, "stub/libpear.so runpath=$PWD/d");
    exe(lab, "strong", main, "stub/libpear.so runpath=$PWD/d");
    edit(lab, "prog", |elf| elf.vernaux("PEAR_2").vna_flags.set(Le, VER_FLG_WEAK));
    edit(lab, "strong", |elf| {
        elf.vernaux("PEAR_2").vna_flags.set(Le, object::elf::VersionFlags(0));
    });
    vec![
        see("prog", &["weak version `PEAR_2'", "!undefined"]),
        see("strong", &["version `PEAR_2'", "!undefined"]),
    ]
}

fn no_version_information_needed(lab: &Lab) -> Targets {
    one_and_two(lab);
    // The reference is bound in an earlier library, so the library without versions is never
    // searched.
    so(lab, "d/libkiwi.so", BODY, "soname=libkiwi.so");
    so(lab, "e/libpear.so", "int unrelated;", "soname=libpear.so");
    exe(lab, "prog", MAIN, "stub/libpear.so d/libkiwi.so runpath=$PWD/e:$PWD/d");
    so(lab, "d/libfig.so", MAIN, "soname=libfig.so stub/libpear.so runpath=$PWD/e");
    exe(lab, "deep", "int main(void){return 0;}", "d/libkiwi.so d/libfig.so runpath=$PWD/d");
    vec![
        see("prog", &["e/libpear.so: no version information available (required by ./prog)"]),
        see("deep", &["no version information available (required by $PWD/d/libfig.so)"]),
    ]
}

fn library_of_the_version_is_missing(lab: &Lab) -> Targets {
    one_and_two(lab);
    exe(lab, "prog", MAIN, "stub/libpear.so");
    so(lab, "d/libkiwi.so", BODY, "soname=libkiwi.so");
    exe(lab, "elsewhere", MAIN, "stub/libpear.so d/libkiwi.so runpath=$PWD/d/none:$PWD/k");
    copy(lab, "d/libkiwi.so", "k/libkiwi.so");
    vec![
        see("prog", &["libpear.so => not found", "undefined symbol: extra", "!version `"]),
        see("elsewhere", &["libpear.so => not found", "!undefined"]),
    ]
}

fn library_of_the_version_under_its_soname(lab: &Lab) -> Targets {
    // Loaded under a file name, but another need has matched the SONAME, which the check then
    // knows.
    one_and_two(lab);
    so(lab, "stub/file.so", "", "soname=file.so");
    lab.link("libpear.so", "d/file.so");
    exe(lab, "prog", MAIN, "stub/file.so stub/libpear.so runpath=$PWD/d");
    vec![see("prog", &["file.so => $PWD/d/file.so", "d/file.so: version `PEAR_2' not found"])]
}

fn symbol_left_its_version(lab: &Lab) -> Targets {
    one_and_two(lab);
    lab.write("gone", "PEAR_1 { global: pear; }; PEAR_2 { global: other; } PEAR_1;");
    so(
        lab,
        "e/libpear.so",
        "int pear(void){return 1;} int other(void){return 2;}",
        "soname=libpear.so map=gone",
    );
    exe(lab, "prog", MAIN, "stub/libpear.so runpath=$PWD/e");
    vec![see("prog", &["!version `", "undefined symbol: extra, version PEAR_2\t(./prog)"])]
}

fn symbol_moved_to_another_version(lab: &Lab) -> Targets {
    one_and_two(lab);
    lab.write("moved", "PEAR_1 { global: extra; }; PEAR_2 { global: pear; } PEAR_1;");
    so(lab, "e/libpear.so", BODY, "soname=libpear.so map=moved");
    exe(lab, "prog", MAIN, "stub/libpear.so runpath=$PWD/e");
    vec![see(
        "prog",
        &["undefined symbol: pear, version PEAR_1", "undefined symbol: extra, version PEAR_2"],
    )]
}

/// A library whose symbols have the versions of `symvers`, and a program that refers to `names`
/// without a version.
fn plain_reference(lab: &Lab, versions: &str, symvers: &[(&str, &str)], names: &[&str]) {
    lab.write("map", versions);
    let mut source = String::new();
    for (index, (_, symver)) in symvers.iter().enumerate() {
        source += &format!(
            "int s{index}(void){{return {index};}} __asm__(\".symver s{index},{symver}\");\n"
        );
    }
    so(lab, "d/libpear.so", &source, "soname=libpear.so map=map");
    let stub: String = names.iter().map(|name| format!("int {name}(void){{return 0;}}")).collect();
    so(lab, "stub/libpear.so", &stub, "soname=libpear.so");
    let declare: String = names.iter().map(|name| format!("int {name}(void);")).collect();
    let calls: String = names.iter().map(|name| format!("+{name}()")).collect();
    exe(
        lab,
        "prog",
        &format!("{declare} int main(void){{return 0{calls};}}"),
        "stub/libpear.so runpath=$PWD/d",
    );
}

const THREE: &str = "V_1 {}; V_2 {} V_1; V_3 {} V_2;";

fn plain_reference_takes_the_oldest(lab: &Lab) -> Targets {
    plain_reference(lab, THREE, &[("f", "f@V_1"), ("f", "f@@V_2"), ("g", "g@V_1")], &["f", "g"]);
    vec![see("prog", &["!undefined"])]
}

fn plain_reference_to_default(lab: &Lab) -> Targets {
    plain_reference(lab, THREE, &[("f", "f@@V_2"), ("g", "g@V_2"), ("g", "g@@V_3")], &["f", "g"]);
    vec![see("prog", &["!undefined"])]
}

fn plain_reference_to_hidden_ones(lab: &Lab) -> Targets {
    let symvers = [("f", "f@V_2"), ("g", "g@V_2"), ("g", "g@V_3"), ("h", "h@@V_1")];
    plain_reference(lab, THREE, &symvers, &["f", "g", "h"]);
    vec![see("prog", &["undefined symbol: f\t", "undefined symbol: g\t", "!symbol: h"])]
}

fn plain_reference_to_two_defaults(lab: &Lab) -> Targets {
    plain_reference(lab, THREE, &[("f", "f@V_2"), ("f", "f@@V_3")], &["f"]);
    // Now two visible ones compete.
    edit(lab, "d/libpear.so", |elf| elf.show_versions("f"));
    vec![see("prog", &["libpear.so => $PWD/d"])]
}

fn versioned_reference_skips_other_versions(lab: &Lab) -> Targets {
    one_and_two(lab);
    lab.write("kiwi", "KIWI_1 { global: pear; extra; };");
    so(
        lab,
        "d/libkiwi.so",
        "int pear(void){return 1;} int extra[4];",
        "soname=libkiwi.so map=kiwi",
    );
    exe(lab, "good", MAIN, "d/libkiwi.so stub/libpear.so runpath=$PWD/d:$PWD/e");
    copy(lab, "stub/libpear.so", "e/libpear.so");
    exe(lab, "only", MAIN, "stub/libpear.so d/libkiwi.so runpath=$PWD/g:$PWD/d/../d");
    lib(lab, "g/libpear.so", &[], "");
    edit(lab, "only", |elf| elf.rename_version("PEAR_1", "PEAR_8"));
    vec![see("good", &["libkiwi.so => $PWD/d"]), see("only", &["libkiwi.so"])]
}

fn versioned_reference_takes_a_plain_library(lab: &Lab) -> Targets {
    one_and_two(lab);
    so(lab, "d/libplain.so", BODY, "soname=libplain.so -nostdlib");
    lab.write("empty", "PEAR_1 { global: nothing; local: *; }; PEAR_2 { global: none; };");
    so(lab, "e/libpear.so", BODY, "soname=libpear.so map=empty");
    // First the library that has no version table at all, then one whose versions hold neither.
    exe(lab, "before", MAIN, "d/libplain.so stub/libpear.so runpath=$PWD/e:$PWD/d");
    exe(lab, "after", MAIN, "stub/libpear.so d/libplain.so runpath=$PWD/e:$PWD/d");
    exe(lab, "without", MAIN, "stub/libpear.so runpath=$PWD/e:$PWD/d");
    vec![
        see("before", &["!undefined"]),
        see("after", &["!undefined"]),
        see("without", &["undefined symbol: pear, version PEAR_1"]),
    ]
}

fn versioned_reference_takes_a_base_symbol(lab: &Lab) -> Targets {
    one_and_two(lab);
    // The library needs versions of libc, so it has version indices. Its own symbols have the
    // global index.
    so(
        lab,
        "d/libbase.so",
        "#include <stdio.h>\nint pear(void){return puts(\"\");} int extra(void){return 2;}",
        "soname=libbase.so",
    );
    lab.write("empty", "PEAR_1 { global: nothing; }; PEAR_2 { global: none; };");
    so(lab, "e/libpear.so", "int nothing,none;", "soname=libpear.so map=empty");
    exe(lab, "prog", MAIN, "stub/libpear.so d/libbase.so runpath=$PWD/e:$PWD/d");
    vec![see("prog", &["!undefined"])]
}

fn versioned_reference_to_hidden_version(lab: &Lab) -> Targets {
    lab.write("map", THREE);
    let source = "int old(void){return 1;} int new(void){return 2;} __asm__(\".symver old,f@V_1\"); __asm__(\".symver new,f@@V_3\");";
    so(lab, "d/libpear.so", source, "soname=libpear.so map=map");
    let main = "int f(void); __asm__(\".symver f,f@V_1\"); int main(void){return f();}";
    exe(lab, "prog", main, "d/libpear.so runpath=$PWD/d");
    // The version exists, but the symbol does not have it.
    exe(lab, "none", main, "d/libpear.so runpath=$PWD/d");
    edit(lab, "none", |elf| elf.rename_version("V_1", "V_2"));
    vec![see("prog", &["!undefined"]), see("none", &["undefined symbol: f, version V_2"])]
}

fn copy_of_the_chosen_version(lab: &Lab) -> Targets {
    // The size warning of a copy relocation tells which of two definitions was taken.
    lab.write("map", THREE);
    let source = "int old[2]={1}; int new[8]={1}; __asm__(\".symver old,size@V_1\"); __asm__(\".symver new,size@@V_2\");";
    so(lab, "d/libpear.so", source, "soname=libpear.so map=map");
    so(lab, "two/libpear.so", "int size[2]={1};", "soname=libpear.so");
    so(lab, "eight/libpear.so", "int size[8]={1};", "soname=libpear.so");
    let main = "extern int size[]; int main(void){return size[0];}";
    exe(lab, "plain_two", main, "-no-pie -fno-pic two/libpear.so runpath=$PWD/d");
    exe(lab, "plain_eight", main, "-no-pie -fno-pic eight/libpear.so runpath=$PWD/d");
    exe(lab, "versioned", main, "-no-pie -fno-pic d/libpear.so runpath=$PWD/d");
    let differs = "Symbol `size' has different size in shared object";
    vec![
        see("plain_two", &["!different"]),
        see("plain_eight", &[differs]),
        see("versioned", &["!different"]),
    ]
}
