//! Copy relocations, and canonical addresses of functions in a program.

use super::kit::{Case, Targets, cases, exe, lib, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn copies_and_function_addresses() {
    run("copies", CASES);
}

const CASES: &[Case] = cases![
    copied_variable,
    copied_variable_missing,
    copied_variable_of_another_size,
    copied_variable_weak,
    copied_variable_versioned,
    copied_variable_skips_the_program,
    copied_function,
    copied_protected_variable,
    symbols_of_an_indirect_library,
    function_address_in_a_program,
    function_address_without_definition,
    function_address_against_another_library,
    function_address_and_tls,
];

const POINTS: &str =
    "int pear(void); void *(where)(void); int main(void){return where()==(void*)pear?0:pear();}";

fn copied_variable(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear=1; int get(void){return pear;}", "soname=libpear.so");
    exe(
        lab,
        "prog",
        "extern int pear; int get(void); int main(void){return pear+get();}",
        "-no-pie -fno-pic d/libpear.so runpath=$PWD/d",
    );
    vec![see("prog", &["!undefined", "!different"])]
}

fn copied_variable_missing(lab: &Lab) -> Targets {
    so(lab, "stub/libpear.so", "int pear=1; int kiwi=1;", "soname=libpear.so");
    so(
        lab,
        "d/libpear.so",
        "int kiwi=1; extern int pear; int *where(void){return &pear;}",
        "soname=libpear.so",
    );
    exe(
        lab,
        "prog",
        "extern int pear,kiwi; int main(void){return pear+kiwi;}",
        "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d",
    );
    // The program's own copy answers the library, but not the program.
    vec![see("prog", &["undefined symbol: pear\t(./prog)", "!libpear.so)\n", "!kiwi"])]
}

fn copied_variable_of_another_size(lab: &Lab) -> Targets {
    let main = "extern int a[4],b[4],c[4]; int main(void){return a[0]+b[0]+c[0];}";
    so(lab, "stub/libpear.so", "int a[4]={1}; int b[4]={1}; int c[4]={1};", "soname=libpear.so");
    so(lab, "d/libpear.so", "int a[8]={1}; int b[2]={1}; int c[4]={1};", "soname=libpear.so");
    exe(lab, "prog", main, "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d");
    exe(lab, "sub/prog", main, "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d");
    vec![
        see("prog", &["./prog: Symbol `a' has different size", "./prog: Symbol `b' has", "!`c'"]),
        see("sub/prog", &["sub/prog: Symbol `a' has different size"]),
    ]
}

fn copied_variable_weak(lab: &Lab) -> Targets {
    so(lab, "stub/libpear.so", "int pear[4]={1};", "soname=libpear.so");
    so(lab, "d/libpear.so", "int none;", "soname=libpear.so");
    exe(
        lab,
        "prog",
        "extern int other __attribute__((weak)); extern int pear[4]; int main(void){return pear[0];}",
        "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d",
    );
    edit(lab, "prog", |elf| elf.set_info("pear", 2, 1));
    so(lab, "e/libpear.so", "int pear[8]={1};", "soname=libpear.so");
    exe(
        lab,
        "other",
        "extern int pear[4]; int main(void){return pear[0];}",
        "-no-pie -fno-pic stub/libpear.so runpath=$PWD/e",
    );
    edit(lab, "other", |elf| elf.set_info("pear", 2, 1));
    vec![see("prog", &["!undefined"]), see("other", &["different size"])]
}

fn copied_variable_versioned(lab: &Lab) -> Targets {
    lab.write("map", "V_1 { global: pear; }; V_2 { global: other; };");
    lab.write("moved", "V_2 { global: pear; }; V_1 { global: other; };");
    so(lab, "stub/libpear.so", "int pear=1; int other;", "soname=libpear.so map=map");
    so(lab, "d/libpear.so", "int pear=1; int other;", "soname=libpear.so map=moved");
    exe(
        lab,
        "prog",
        "extern int pear; int main(void){return pear;}",
        "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d",
    );
    vec![see("prog", &["undefined symbol: pear, version V_1"])]
}

fn copied_variable_skips_the_program(lab: &Lab) -> Targets {
    so(lab, "d/libtwo.so", "int pear[2]={1};", "soname=libtwo.so");
    so(lab, "d/libeight.so", "int pear[8]={1};", "soname=libeight.so");
    let main = "extern int pear[]; int main(void){return pear[0];}";
    exe(lab, "two", main, "-no-pie -fno-pic d/libtwo.so d/libeight.so runpath=$PWD/d");
    so(lab, "stub/libtwo.so", "int none;", "soname=libtwo.so");
    exe(lab, "eight", main, "-no-pie -fno-pic stub/libtwo.so d/libeight.so runpath=$PWD/d");
    vec![see("two", &["!different"]), see("eight", &["Symbol `pear' has different size"])]
}

fn copied_function(lab: &Lab) -> Targets {
    // A data reference to what is now a function: the sizes tell.
    so(lab, "stub/libpear.so", "int pear[64]={1};", "soname=libpear.so");
    lib(lab, "d/libpear.so", &[], "");
    exe(
        lab,
        "prog",
        "extern int pear[64]; int main(void){return pear[0];}",
        "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d",
    );
    vec![see("prog", &["Symbol `pear' has different size"])]
}

fn copied_protected_variable(lab: &Lab) -> Targets {
    so(lab, "stub/libpear.so", "int pear=1; int kiwi(void){return 1;}", "soname=libpear.so");
    so(
        lab,
        "d/libpear.so",
        "__attribute__((visibility(\"protected\"))) int pear=1; __attribute__((visibility(\"protected\"))) int kiwi(void){return pear;} void *p(void){return kiwi;}",
        "soname=libpear.so",
    );
    exe(
        lab,
        "prog",
        "extern int pear; int kiwi(void); void *p=kiwi; int main(void){return pear+kiwi();}",
        "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d",
    );
    vec![see("prog", &["libpear.so => $PWD/d", "!undefined"])]
}

/// The loader stops at the first symbol.
fn symbols_of_an_indirect_library(lab: &Lab) -> Targets {
    let source = "int pear=1; int kiwi(void){return 1;} void *p(void){return kiwi;}";
    so(lab, "stub/libpear.so", source, "soname=libpear.so");
    let push = "_Pragma(\"GCC visibility push(protected)\")";
    let flags = "soname=libpear.so -mno-direct-extern-access";
    so(lab, "d/libpear.so", &format!("{push} {source}"), flags);
    let main = "extern int pear; int kiwi(void); int main(void){return pear+kiwi();}";
    exe(lab, "copies", main, "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d");
    let main = "int kiwi(void); void *volatile p; int main(void){p=kiwi; return kiwi();}";
    exe(lab, "fixes", main, "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d");
    let error = "$PWD/d/libpear.so: error due to GNU_PROPERTY_1_NEEDED_INDIRECT_EXTERN_ACCESS";
    vec![
        see("copies", &["./copies: pear: ", error, "!undefined"]),
        see("fixes", &["./fixes: kiwi: ", error, "!undefined"]),
    ]
}

fn function_address_in_a_program(lab: &Lab) -> Targets {
    so(
        lab,
        "d/libpear.so",
        "int pear(void){return 1;} void *where(void){return pear;} int call(void){return pear();}",
        "soname=libpear.so",
    );
    exe(lab, "prog", POINTS, "-no-pie -fno-pic d/libpear.so runpath=$PWD/d");
    vec![see("prog", &["!undefined"])]
}

fn function_address_without_definition(lab: &Lab) -> Targets {
    so(
        lab,
        "stub/libpear.so",
        "int pear(void){return 1;} void *where(void){return pear;}",
        "soname=libpear.so z=lazy",
    );
    let source = "int pear(void); void *where(void){return pear;} int call(void){return pear();}";
    so(lab, "lazy/libpear.so", source, "soname=libpear.so z=lazy");
    so(
        lab,
        "only/libpear.so",
        "int pear(void); void *where(void){return pear;}",
        "soname=libpear.so",
    );
    so(
        lab,
        "table/libpear.so",
        "int pear(void); void *table[]={pear}; void *where(void){return table[0];}",
        "soname=libpear.so",
    );
    let mut targets = Vec::new();
    for dir in ["lazy", "only", "table"] {
        let out = format!("{dir}.prog");
        exe(
            lab,
            &out,
            POINTS,
            &format!("-no-pie -fno-pic stub/libpear.so z=lazy runpath=$PWD/{dir}"),
        );
        targets.push(see(&out, &["undefined symbol: pear"]));
    }
    // Without the address in the program, the reference of the library is undefined.
    exe(
        lab,
        "calls",
        "int pear(void); void *(where)(void); int main(void){return where()?0:pear();}",
        "-no-pie -fno-pic stub/libpear.so z=lazy runpath=$PWD/only",
    );
    targets.push(see("calls", &["pear\t($PWD/only/libpear.so)", "pear\t(./calls)"]));
    targets
}

fn function_address_against_another_library(lab: &Lab) -> Targets {
    so(
        lab,
        "stub/libpear.so",
        "int pear(void){return 1;} void *where(void){return pear;}",
        "soname=libpear.so",
    );
    lib(lab, "d/libpear.so", &[], "");
    so(
        lab,
        "d/libfig.so",
        "int pear(void); void *where(void){return pear;} void *again=pear;",
        "soname=libfig.so",
    );
    exe(lab, "prog", POINTS, "-no-pie -fno-pic stub/libpear.so d/libfig.so runpath=$PWD/d");
    vec![see("prog", &["!undefined"])]
}

fn function_address_and_tls(lab: &Lab) -> Targets {
    // An undefined symbol with a value does not satisfy a thread-local reference.
    so(
        lab,
        "stub/libpear.so",
        "int pear(void){return 1;} void *where(void){return pear;}",
        "soname=libpear.so",
    );
    so(
        lab,
        "d/libpear.so",
        "extern __thread int pear; void *where(void){return &pear;}",
        "soname=libpear.so",
    );
    exe(lab, "prog", POINTS, "-no-pie -fno-pic stub/libpear.so runpath=$PWD/d");
    vec![see(
        "prog",
        &["undefined symbol: pear\t($PWD/d/libpear.so)", "undefined symbol: pear\t(./prog)"],
    )]
}
