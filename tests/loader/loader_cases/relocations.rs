//! Copy relocations, addresses of functions in programs, thread-local and indirect symbols, and
//! relocation tables in shapes that linkers seldom write.

use object::LittleEndian as Le;
use object::elf::{DT_RELACOUNT, R_X86_64_64, R_X86_64_NONE, R_X86_64_RELATIVE, Rela64};

use super::kit::{Case, Targets, cases, exe, lib, prog, run, see, so};
use super::patch::{Elf, UNUSED_TAG, edit};
use crate::support::Lab;

#[test]
fn relocations_of_every_kind() {
    run("relocations", CASES);
}

const CASES: &[Case] = cases![
    thread_local_models,
    thread_local_defined,
    thread_local_in_programs,
    thread_local_weak,
    thread_local_against_plain_data,
    thread_local_with_small_programs,
    indirect_functions,
    indirect_function_with_a_missing_helper,
    nothing_in_the_plt_table,
    one_symbol_many_classes,
    unsorted_tables,
    relative_count_too_small,
    relative_count_absent,
    relative_relocation_with_a_symbol,
    type_nothing,
    symbol_zero,
    size_relocations,
    text_relocations,
    text_relocations_of_small_objects,
    small_relocations,
    no_relocations_at_all,
];

const THREAD: &str = "extern __thread int tear; int f(void){return tear;}";

fn thread_local_models(lab: &Lab) -> Targets {
    for (out, flags) in [
        ("gd.so", ""),
        ("ie.so", "-ftls-model=initial-exec"),
        ("desc.so", "-mtls-dialect=gnu2"),
        ("now.so", "-mtls-dialect=gnu2 z=now"),
    ] {
        so(lab, out, THREAD, flags);
    }
    so(lab, "pointer.so", &format!("{THREAD} __thread int own; int *g(void){{return &own;}}"), "");
    let text = "undefined symbol: tear";
    vec![
        see("gd.so", &[text]),
        see("ie.so", &[text]),
        see("desc.so", &[text]),
        see("now.so", &[text]),
        see("pointer.so", &[text]),
    ]
}

fn thread_local_defined(lab: &Lab) -> Targets {
    so(
        lab,
        "d/libtls.so",
        "__thread int tear; __thread int second=3; int *g(void){return &tear;}",
        "soname=libtls.so",
    );
    let source = "extern __thread int tear,second,third; int fig(void){return tear+second+third;}";
    so(lab, "d/libfig.so", source, "soname=libfig.so d/libtls.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see(
        "prog",
        &["!symbol: tear", "!symbol: second", "undefined symbol: third\t($PWD/d/libfig.so)"],
    )]
}

fn thread_local_in_programs(lab: &Lab) -> Targets {
    so(lab, "stub/libtls.so", "__thread int tear; __thread int gone;", "soname=libtls.so");
    so(lab, "d/libtls.so", "__thread int tear;", "soname=libtls.so");
    let main = "extern __thread int tear,gone; int main(void){return tear+gone;}";
    for (out, flags) in [
        ("pie", "-pie -fPIE"),
        ("fixed", "-no-pie -fno-pic"),
        ("pic", "-pie -fPIC -ftls-model=global-dynamic"),
    ] {
        exe(lab, out, main, &format!("{flags} stub/libtls.so runpath=$PWD/d"));
    }
    let shows = ["undefined symbol: gone", "!symbol: tear"];
    vec![see("pie", &shows), see("fixed", &shows), see("pic", &shows)]
}

fn thread_local_weak(lab: &Lab) -> Targets {
    so(
        lab,
        "lib.so",
        "extern __thread int tear __attribute__((weak)); int *f(void){return &tear;}",
        "",
    );
    so(
        lab,
        "desc.so",
        "extern __thread int tear __attribute__((weak)); int *f(void){return &tear;}",
        "-mtls-dialect=gnu2",
    );
    vec![see("lib.so", &["!undefined"]), see("desc.so", &["!undefined"])]
}

fn thread_local_against_plain_data(lab: &Lab) -> Targets {
    so(lab, "d/libtls.so", "__thread int tear;", "soname=libtls.so");
    so(lab, "d/libfig.so", "extern int tear; int *fig(void){return &tear;}", "soname=libfig.so");
    // The linker would not have the two together.
    so(lab, "stub/libtls.so", "int none;", "soname=libtls.so");
    exe(lab, "prog", "int main(void){return 0;}", "stub/libtls.so d/libfig.so runpath=$PWD/d");
    vec![see("prog", &["!undefined"])]
}

fn thread_local_with_small_programs(lab: &Lab) -> Targets {
    so(lab, "gd.so", THREAD, "-m32");
    so(lab, "ie.so", THREAD, "-m32 -ftls-model=initial-exec");
    so(lab, "desc.so", THREAD, "-m32 -mtls-dialect=gnu2");
    let text = "undefined symbol: tear";
    vec![see("gd.so", &[text]), see("ie.so", &[text]), see("desc.so", &[text])]
}

const CHOOSES: &str = "static int one(void){return 1;} static void *choose(void){return one;}";

fn indirect_functions(lab: &Lab) -> Targets {
    let source = format!(
        "{CHOOSES} int pear(void) __attribute__((ifunc(\"choose\"))); int inside(void){{return pear();}}"
    );
    so(lab, "d/libpear.so", &source, "soname=libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "runpath=$PWD/d");
    exe(
        lab,
        "fixed",
        "int pear(void); int (*p)(void)=pear; int main(void){return p();}",
        "-no-pie -fno-pic d/libpear.so runpath=$PWD/d",
    );
    // A resolver that would not return is never called.
    let trap = "static void *choose(void){__builtin_trap();} int pear(void) __attribute__((ifunc(\"choose\")));";
    so(lab, "e/libpear.so", trap, "soname=libpear.so z=now");
    exe(
        lab,
        "trap",
        "int pear(void); int main(int c,char**v){return c>9?pear():0;}",
        "e/libpear.so runpath=$PWD/e z=now",
    );
    exe(
        lab,
        "own",
        &format!(
            "{CHOOSES} int pear(void) __attribute__((ifunc(\"choose\"))); int main(void){{return pear();}}"
        ),
        "",
    );
    vec![
        see("prog", &["!undefined"]),
        see("fixed", &["!undefined"]),
        see("trap", &["!undefined"]),
        see("own", &["!undefined"]),
    ]
}

fn indirect_function_with_a_missing_helper(lab: &Lab) -> Targets {
    let source = "int helper(void); static int one(void){return helper();} static void *choose(void){helper(); return one;} int pear(void) __attribute__((ifunc(\"choose\"))); int fig(void){return pear();}";
    so(lab, "lib.so", source, "");
    vec![see("lib.so", &["undefined symbol: helper"])]
}

fn nothing_in_the_plt_table(lab: &Lab) -> Targets {
    exe(
        lab,
        "prog",
        "int nowhere(void); int main(int c,char**v){return c>9?nowhere():0;}",
        "z=lazy -pie -fPIE",
    );
    so(
        lab,
        "lib.so",
        "int gone(void); int lost(void); int f(void){return gone()+lost();}",
        "z=lazy",
    );
    edit(lab, "lib.so", |elf| {
        let gone = elf.index("gone");
        let entry = elf.plt_relocations().iter_mut().find(|r| r.r_sym(Le, false) == gone);
        entry.expect("gone is called").set_r_info(Le, false, gone, R_X86_64_NONE);
    });
    vec![see("prog", &["!undefined"]), see("lib.so", &["undefined symbol: lost", "!gone"])]
}

fn one_symbol_many_classes(lab: &Lab) -> Targets {
    let source = "extern int gone(void); void *a=gone,*b=gone; static int x; int *c=&x; void *d=gone; int f(void){return gone();} void *g(void){return gone;}";
    so(lab, "lib.so", source, "");
    so(lab, "unsorted.so", source, "z=nocombreloc");
    vec![
        see("lib.so", &["undefined symbol: gone"]),
        see("unsorted.so", &["undefined symbol: gone"]),
    ]
}

fn unsorted_tables(lab: &Lab) -> Targets {
    let source = "extern int u1,u2; static int x; int *a=&u1,*b=&x,*c=&u2,*d=&x,*e=&u1; int f(void){return u1+u2;}";
    so(lab, "lib.so", source, "z=nocombreloc");
    so(lab, "packed.so", source, "z=nocombreloc z=pack-relative-relocs");
    vec![
        see("lib.so", &["symbol: u1", "symbol: u2"]),
        see("packed.so", &["symbol: u1", "symbol: u2"]),
    ]
}

/// The relocation that names `symbol`.
fn reloc<'a>(elf: &'a mut Elf, symbol: &str) -> &'a mut Rela64<Le> {
    let index = elf.index(symbol);
    let found = elf.relocations().iter_mut().find(|r| r.r_sym(Le, false) == index);
    found.expect("a relocation of that symbol")
}

const POINTERS: &str = "extern int one,two; static int x; int *a=&one,*b=&two,*c=&x;";

fn relative_count_too_small(lab: &Lab) -> Targets {
    for (out, count) in [("fewer.so", 1), ("none.so", 0)] {
        so(lab, out, POINTERS, "");
        edit(lab, out, |elf| elf.set_value(DT_RELACOUNT, count));
    }
    let shows = ["undefined symbol: one", "undefined symbol: two"];
    vec![see("fewer.so", &shows), see("none.so", &shows)]
}

fn relative_count_absent(lab: &Lab) -> Targets {
    so(lab, "lib.so", POINTERS, "");
    edit(lab, "lib.so", |elf| elf.retag(DT_RELACOUNT, UNUSED_TAG));
    vec![see("lib.so", &["undefined symbol: one", "undefined symbol: two"])]
}

fn relative_relocation_with_a_symbol(lab: &Lab) -> Targets {
    so(lab, "lib.so", POINTERS, "");
    edit(lab, "lib.so", |elf| {
        let one = elf.index("one");
        reloc(elf, "one").set_r_info(Le, false, one, R_X86_64_RELATIVE);
    });
    vec![see("lib.so", &["!symbol: one", "undefined symbol: two"])]
}

fn type_nothing(lab: &Lab) -> Targets {
    so(lab, "lib.so", POINTERS, "");
    edit(lab, "lib.so", |elf| {
        let one = elf.index("one");
        reloc(elf, "one").set_r_info(Le, false, one, R_X86_64_NONE);
    });
    vec![see("lib.so", &["!symbol: one", "undefined symbol: two"])]
}

fn symbol_zero(lab: &Lab) -> Targets {
    so(lab, "lib.so", POINTERS, "");
    edit(lab, "lib.so", |elf| reloc(elf, "one").set_r_info(Le, false, 0, R_X86_64_64));
    vec![see("lib.so", &["!symbol: one", "undefined symbol: two"])]
}

fn size_relocations(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear[7]={1};", "soname=libpear.so");
    let source = "__asm__(\".data\\n.quad pear@size\\n.quad also@size\\n.text\"); int fig(void){return 1;} int also[3];";
    so(lab, "d/libfig.so", source, "soname=libfig.so d/libpear.so runpath=$PWD/d");
    vec![see("d/libfig.so", &["!undefined"])]
}

fn text_relocations(lab: &Lab) -> Targets {
    let source = "extern int gone(void); __asm__(\".text\\n.quad gone\\n.quad pear\"); int pear(void){return 1;}";
    so(lab, "lib.so", source, "z=notext");
    vec![see("lib.so", &["undefined symbol: gone"])]
}

fn text_relocations_of_small_objects(lab: &Lab) -> Targets {
    let source = "int gone(void); extern int lost; int pear(void){return gone()+lost;}";
    lab.cc("lib.so", source, &["-shared", "-m32", "-fno-pic"], &["-Wl,-z,notext"]);
    vec![see("lib.so", &["undefined symbol: gone", "undefined symbol: lost"])]
}

fn small_relocations(lab: &Lab) -> Targets {
    let source = "int call(void); extern int data; int pointer(void); int weak(void) __attribute__((weak)); int (*p)(void)=pointer; int f(void){return call()+data+weak();}";
    so(lab, "lib.so", source, "-m32");
    so(lab, "now.so", source, "-m32 z=now -Wl,--hash-style=sysv");
    let shows = ["symbol: call", "symbol: data", "symbol: pointer", "!symbol: weak"];
    vec![see("lib.so", &shows), see("now.so", &shows)]
}

fn no_relocations_at_all(lab: &Lab) -> Targets {
    so(lab, "lib.so", "int pear(void){return 1;}", "-nostdlib");
    lib(lab, "d/libfig.so", &[], "");
    so(lab, "needs.so", "", "-nostdlib d/libfig.so rpath=$PWD/d");

    vec![see("lib.so", &["statically linked"]), see("needs.so", &["libfig.so => $PWD/d"])]
}
