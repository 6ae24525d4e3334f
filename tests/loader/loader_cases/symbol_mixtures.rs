//! Several rules at once: kinds of symbols, filtees and missing libraries.

use object::elf::{DF_SYMBOLIC, DT_FLAGS};

use super::kit::{Case, Targets, cases, copy, exe, lib, prog, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn symbols_together() {
    run("symbols together", CASES);
}

const CASES: &[Case] = cases![
    symbolic_library_with_filtee,
    missing_filter_takes_its_symbols,
    protected_now_and_missing,
    thread_local_of_a_missing_library,
    unique_symbol_in_a_filtee,
    hidden_symbol_then_a_weak_one,
    address_in_program_and_missing_library,
    indirect_and_weak,
    nothing_but_a_missing_library,
    reference_satisfied_by_the_second_copy,
];

fn symbolic_library_with_filtee(lab: &Lab) -> Targets {
    so(lab, "d/libaux.so", "int pear(void){return 2;}", "soname=libaux.so");
    so(
        lab,
        "d/libfig.so",
        "int pear(void); int gone(void); int fig(void){return pear()+gone();}",
        "soname=libfig.so -Wl,-f,libaux.so runpath=$PWD/d",
    );
    edit(lab, "d/libfig.so", |elf| elf.set_flag(DT_FLAGS, DF_SYMBOLIC.0));
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["!symbol: pear", "undefined symbol: gone\t($PWD/d/libfig.so)"])]
}

fn missing_filter_takes_its_symbols(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "");
    so(lab, "d/libfig.so", "int fig(void){return 1;}", "soname=libfig.so -Wl,-F,libaux.so");
    exe(
        lab,
        "prog",
        "int fig(void); int aux(void); int main(void){return fig()+aux();}",
        "d/libfig.so runpath=$PWD/d",
    );
    so(lab, "d/libelm.so", "int aux(void); int elm(void){return aux();}", "soname=libelm.so");
    exe(
        lab,
        "used",
        "int fig(void); int elm(void); int main(void){return fig()+elm();}",
        "d/libfig.so d/libelm.so runpath=$PWD/d",
    );
    vec![
        see("prog", &["libaux.so => not found"]),
        see("used", &["libaux.so => not found", "undefined symbol: aux"]),
    ]
}

fn protected_now_and_missing(lab: &Lab) -> Targets {
    lib(lab, "stub/libgone.so", &[], "");
    let source = "__attribute__((visibility(\"protected\"))) int pear(void){return 1;} int gone(void); int fig(void){return pear()+gone();} void *p(void){return pear;}";
    so(lab, "d/libfig.so", source, "soname=libfig.so stub/libgone.so z=now");
    exe(
        lab,
        "prog",
        "int fig(void); int pear(void){return 2;} int main(void){return fig();}",
        "d/libfig.so -rdynamic z=now runpath=$PWD/d",
    );
    vec![see("prog", &["libgone.so => not found", "undefined symbol: gone", "!symbol: pear"])]
}

fn thread_local_of_a_missing_library(lab: &Lab) -> Targets {
    so(lab, "stub/libtls.so", "__thread int tear;", "soname=libtls.so");
    let source = "extern __thread int tear; int fig(void){return tear;}";
    so(lab, "d/libfig.so", source, "soname=libfig.so stub/libtls.so");
    so(
        lab,
        "d/libelm.so",
        &source.replace("fig", "elm"),
        "soname=libelm.so stub/libtls.so -mtls-dialect=gnu2",
    );
    prog(lab, "prog", &["d/libfig.so", "d/libelm.so"], "runpath=$PWD/d");
    vec![see(
        "prog",
        &["libtls.so => not found", "tear\t($PWD/d/libfig.so)", "tear\t($PWD/d/libelm.so)"],
    )]
}

fn unique_symbol_in_a_filtee(lab: &Lab) -> Targets {
    let unique = "__asm__(\".globl pear\\n.type pear,@gnu_unique_object\\n.data\\npear: .long 1\\n.size pear,4\\n.text\");";
    so(lab, "d/libaux.so", unique, "soname=libaux.so");
    so(
        lab,
        "d/libfig.so",
        "extern int pear, lost; int fig(void){return pear+lost;}",
        "soname=libfig.so -Wl,-f,libaux.so runpath=$PWD/d",
    );
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["!symbol: pear", "undefined symbol: lost"])]
}

fn hidden_symbol_then_a_weak_one(lab: &Lab) -> Targets {
    so(lab, "d/libone.so", "int pear(void){return 1;}", "soname=libone.so");
    edit(lab, "d/libone.so", |elf| elf.set_visibility("pear", 2));
    so(lab, "d/libtwo.so", "__attribute__((weak)) int pear(void){return 2;}", "soname=libtwo.so");
    so(lab, "d/libfig.so", "int pear(void); int fig(void){return pear();}", "soname=libfig.so");
    prog(lab, "prog", &["d/libfig.so"], "d/libone.so d/libtwo.so runpath=$PWD/d");
    prog(lab, "alone", &["d/libfig.so"], "d/libone.so runpath=$PWD/d");
    vec![see("prog", &["!undefined"]), see("alone", &["undefined symbol: pear"])]
}

fn address_in_program_and_missing_library(lab: &Lab) -> Targets {
    so(lab, "stub/libpear.so", "int pear(void){return 1;}", "soname=libpear.so");
    so(lab, "d/libfig.so", "int pear(void); void *fig(void){return pear;}", "soname=libfig.so");
    let source = "int pear(void); int call(void){return pear();}";
    so(lab, "d/libcall.so", source, "soname=libcall.so z=lazy");
    let main = "int pear(void); int call(void); void *fig(void); int main(void){return call()+(fig()!=(void*)pear);}";
    let flags = "-no-pie -fno-pic stub/libpear.so d/libfig.so d/libcall.so runpath=$PWD/d";
    exe(lab, "prog", main, flags);
    // The address in the program satisfies a pointer, but not a call.
    vec![see("prog", &["libpear.so => not found", "pear\t($PWD/d/libcall.so)", "!libfig.so)\n"])]
}

fn indirect_and_weak(lab: &Lab) -> Targets {
    let source = "static int one(void){return 1;} static void *choose(void){return one;} int pear(void) __attribute__((ifunc(\"choose\")));";
    so(lab, "d/libpear.so", source, "soname=libpear.so");
    edit(lab, "d/libpear.so", |elf| elf.set_info("pear", 2, 10));
    so(
        lab,
        "d/libfig.so",
        "int pear(void) __attribute__((weak)); int lost(void); int fig(void){return pear()+lost();}",
        "soname=libfig.so",
    );
    prog(lab, "prog", &["d/libfig.so"], "d/libpear.so runpath=$PWD/d");
    vec![see("prog", &["undefined symbol: lost", "!symbol: pear"])]
}

fn nothing_but_a_missing_library(lab: &Lab) -> Targets {
    lib(lab, "stub/libgone.so", &[], "");
    so(lab, "lib.so", "int gone(void); int f(void){return gone();}", "-nostdlib stub/libgone.so");
    exe(lab, "prog", "int gone(void); void _start(void){gone();}", "-nostdlib stub/libgone.so");
    let shows = ["libgone.so => not found", "undefined symbol: gone"];
    vec![see("lib.so", &shows), see("prog", &shows)]
}

fn reference_satisfied_by_the_second_copy(lab: &Lab) -> Targets {
    so(lab, "one/libpear.so", "int pear(void){return 1;}", "");
    so(lab, "two/libpear.so", "int pear(void){return 1;} int extra(void){return 1;}", "");
    exe(
        lab,
        "both",
        "int pear(void); int extra(void); int main(void){return pear()+extra();}",
        "one/libpear.so two/libpear.so",
    );
    copy(lab, "one/libpear.so", "two/libpear.so");
    exe(
        lab,
        "equal",
        "int pear(void); int main(void){return pear();}",
        "one/libpear.so two/libpear.so",
    );
    vec![
        see("both", &["\tone/libpear.so\n", "\ttwo/libpear.so\n", "undefined symbol: extra"]),
        see("equal", &["!undefined"]),
    ]
}
