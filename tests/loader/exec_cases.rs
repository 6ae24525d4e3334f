//! Programs that really run: the libraries and bindings in linkaudit's JSON must be those that the
//! loader prints with `LD_DEBUG` while the program runs.
//!
//! Unlike the other cases these run without `--as-ldd`: the loader is the program's own.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

mod facts;

use super::loader_cases::{kit, patch};

use object::elf::{DF_SYMBOLIC, DT_FLAGS, DT_SYMBOLIC};

use facts::same;
use kit::{copy, exe, lib, prog, so};
use support::Lab;

#[test]
fn chain_of_libraries() {
    let lab = Lab::new();
    lib(&lab, "d/libpear.so", &[], "");
    lib(&lab, "d/libfig.so", &["d/libpear.so"], "runpath=$ORIGIN");
    so(
        &lab,
        "d/liboak.so",
        "int fig(void); int oak(void){return fig()-2;}",
        "soname=liboak.so d/libfig.so rpath=$ORIGIN",
    );
    prog(&lab, "prog", &["d/liboak.so"], "runpath=$PWD/d");
    prog(&lab, "relative", &["d/liboak.so"], "runpath=d");
    for program in ["prog", "relative"] {
        same(&lab, program, &[("pear", "libpear.so"), ("fig", "libfig.so"), ("oak", "liboak.so")]);
    }
}

#[test]
fn origin_behind_a_link() {
    let lab = Lab::new();
    so(&lab, "real/lib/libpear.so", "int pear(void){return 0;}", "soname=libpear.so");
    prog(&lab, "real/bin/prog", &["real/lib/libpear.so"], "runpath=$ORIGIN/../lib");
    lab.link("../real/bin/prog", "bin/prog");
    lab.link("bin/prog", "prog");
    // A library of that name also lies where the link's own directory would lead.
    so(&lab, "lib/libpear.so", "int pear(void){return 9;}", "soname=libpear.so");
    for program in ["real/bin/prog", "bin/prog", "prog"] {
        same(&lab, program, &[("pear", "real/lib/libpear.so")]);
    }
}

#[test]
fn program_interposes() {
    let lab = Lab::new();
    so(
        &lab,
        "d/libfig.so",
        "int pear(void){return 1;} int data=1; int fig(void){return pear()+data;}",
        "soname=libfig.so",
    );
    exe(
        &lab,
        "prog",
        "int fig(void); int data=0; int pear(void){return 0;} int main(void){return fig();}",
        "d/libfig.so -rdynamic runpath=$PWD/d",
    );
    same(&lab, "prog", &[("pear", "prog"), ("data", "prog")]);
}

#[test]
fn first_in_breadth_wins() {
    let lab = Lab::new();
    so(&lab, "d/libdeep.so", "int pear(void){return 7;}", "soname=libdeep.so");
    lib(&lab, "d/libone.so", &[], "d/libdeep.so runpath=$PWD/d");
    so(&lab, "d/libtwo.so", "__attribute__((weak)) int pear(void){return 0;}", "soname=libtwo.so");
    so(&lab, "d/libuser.so", "int pear(void); int user(void){return pear();}", "soname=libuser.so");
    exe(
        &lab,
        "prog",
        "int user(void); int main(void){return user();}",
        "d/libuser.so d/libone.so d/libtwo.so runpath=$PWD/d",
    );
    same(&lab, "prog", &[("pear", "libtwo.so")]);
}

#[test]
fn symbolic_libraries_ask_themselves_first() {
    let lab = Lab::new();
    let source =
        "int pear(void){return 0;} int NAME(void){return pear();} int (*p_NAME)(void)=pear;";
    for name in ["tag", "flag", "none"] {
        so(
            &lab,
            &format!("d/lib{name}.so"),
            &source.replace("NAME", name),
            &format!("soname=lib{name}.so"),
        );
    }
    patch::edit(&lab, "d/libtag.so", |elf| elf.push(DT_SYMBOLIC, 0));
    patch::edit(&lab, "d/libflag.so", |elf| elf.set_flag(DT_FLAGS, DF_SYMBOLIC.0));
    let main = "int tag(void); int flag(void); int none(void); int pear(void){return 0;} int main(void){return tag()+flag()+none();}";
    exe(&lab, "prog", main, "d/libtag.so d/libflag.so d/libnone.so -rdynamic runpath=$PWD/d");
    same(&lab, "prog", &[("pear", "libtag.so"), ("pear", "libflag.so"), ("pear", "prog")]);
}

#[test]
fn unique_symbols_are_shared() {
    let lab = Lab::new();
    let unique = "__asm__(\".globl pear\\n.type pear,@gnu_unique_object\\n.data\\npear: .long 0\\n.size pear,4\\n.text\");";
    for name in ["one", "two", "three"] {
        let source = format!("{unique} extern int pear; int {name}(void){{return pear;}}");
        so(&lab, &format!("d/lib{name}.so"), &source, &format!("soname=lib{name}.so"));
    }
    // The symbolic one reaches its own definition first, and relocation begins with the last
    // library.
    patch::edit(&lab, "d/libtwo.so", |elf| elf.push(DT_SYMBOLIC, 0));
    let main = "int one(void); int two(void); int three(void); int main(void){return one()+two()+three();}";
    exe(&lab, "prog", main, "d/libone.so d/libtwo.so d/libthree.so runpath=$PWD/d");
    exe(&lab, "swapped", main, "d/libthree.so d/libtwo.so d/libone.so runpath=$PWD/d");
    let plain = "int pear=0; int plain(void){return pear;}";
    so(&lab, "d/libplain.so", plain, "soname=libplain.so");
    exe(&lab, "ended", main, "d/libplain.so d/libone.so d/libtwo.so d/libthree.so runpath=$PWD/d");
    for program in ["prog", "swapped", "ended"] {
        same(&lab, program, &[("one", "libone.so")]);
    }
}

#[test]
fn protected_symbols() {
    let lab = Lab::new();
    let source = "#define P __attribute__((visibility(\"protected\")))\nP int pear(void){return 0;} P int kiwi=0; int lime(void){return 0;} int fig(void){return pear()+kiwi+lime();} void *where(void){return pear;} int *data(void){return &kiwi;}";
    so(&lab, "d/libfig.so", source, "soname=libfig.so");
    so(
        &lab,
        "d/liboak.so",
        "int pear(void); extern int kiwi; int oak(void){return pear()+kiwi;}",
        "soname=liboak.so",
    );
    let main = "int fig(void); int oak(void); int main(void){return fig()+oak();}";
    exe(&lab, "prog", main, "d/libfig.so d/liboak.so runpath=$PWD/d");
    exe(
        &lab,
        "interposed",
        &format!("int pear(void){{return 0;}} int lime(void){{return 0;}} {main}"),
        "-rdynamic d/libfig.so d/liboak.so runpath=$PWD/d",
    );
    same(&lab, "prog", &[("pear", "libfig.so"), ("kiwi", "libfig.so")]);
    same(&lab, "interposed", &[("pear", "interposed"), ("lime", "interposed")]);
}

#[test]
fn versions_choose_the_definition() {
    let lab = Lab::new();
    lab.write("map", "V_1 {}; V_2 {} V_1; V_3 {} V_2;");
    let source = "int f1(void){return 0;} int f2(void){return 0;} int g3(void){return 0;} __asm__(\".symver f1,f@V_1\"); __asm__(\".symver f2,f@@V_2\"); __asm__(\".symver g3,g@@V_3\");";
    so(&lab, "d/libpear.so", source, "soname=libpear.so map=map");
    so(
        &lab,
        "stub/libpear.so",
        "int f(void){return 0;} int g(void){return 0;}",
        "soname=libpear.so",
    );
    let main = "int f(void); int g(void); int main(void){return f()+g();}";
    exe(&lab, "newest", main, "d/libpear.so runpath=$PWD/d");
    exe(
        &lab,
        "oldest",
        &format!("__asm__(\".symver f,f@V_1\"); {main}"),
        "d/libpear.so runpath=$PWD/d",
    );
    exe(&lab, "plain", main, "stub/libpear.so runpath=$PWD/d");
    for program in ["newest", "oldest", "plain"] {
        same(&lab, program, &[("f", "libpear.so"), ("g", "libpear.so")]);
    }
}

#[test]
fn versioned_references_pass_over_other_versions() {
    let lab = Lab::new();
    lab.write("mine", "MINE_1 { global: pear; kiwi; };");
    lab.write("theirs", "THEIRS_1 { global: pear; };");
    let both = "int pear(void){return 0;} int kiwi(void){return 0;}";
    so(&lab, "d/libmine.so", both, "soname=libmine.so map=mine");
    so(&lab, "d/libtheirs.so", "int pear(void){return 9;}", "soname=libtheirs.so map=theirs");
    so(&lab, "d/libbase.so", "int kiwi(void){return 0;}", "soname=libbase.so");
    so(&lab, "d/libbare.so", "int kiwi(void){return 0;}", "soname=libbare.so -nostdlib");
    let source = "int pear(void); int kiwi(void); int user(void){return pear()+kiwi();}";
    so(&lab, "d/libuser.so", source, "soname=libuser.so d/libmine.so");
    let main = "int user(void); int main(void){return user();}";
    exe(&lab, "theirs_first", main, "d/libuser.so d/libtheirs.so d/libmine.so runpath=$PWD/d");
    exe(&lab, "base_first", main, "d/libuser.so d/libbase.so d/libmine.so runpath=$PWD/d");
    exe(&lab, "bare_first", main, "d/libuser.so d/libbare.so d/libmine.so runpath=$PWD/d");
    same(&lab, "theirs_first", &[("pear", "libmine.so"), ("kiwi", "libmine.so")]);
    same(&lab, "base_first", &[("kiwi", "libbase.so")]);
    same(&lab, "bare_first", &[("kiwi", "libbare.so")]);
}

#[test]
fn copied_variables() {
    let lab = Lab::new();
    so(&lab, "d/libpear.so", "int pear=0; int *where(void){return &pear;}", "soname=libpear.so");
    let main = "extern int pear; int *where(void); int main(void){return where()!=&pear;}";
    exe(&lab, "copies", main, "-no-pie -fno-pic d/libpear.so runpath=$PWD/d");
    exe(&lab, "refers", main, "-pie -fPIC d/libpear.so runpath=$PWD/d");
    // The program's copy answers libpear; the copy relocation itself takes libpear's.
    same(&lab, "copies", &[("pear", "copies"), ("pear", "libpear.so")]);
    same(&lab, "refers", &[("pear", "libpear.so")]);
}

#[test]
fn function_addresses_of_programs() {
    let lab = Lab::new();
    so(&lab, "d/libpear.so", "int pear(void){return 0;}", "soname=libpear.so");
    so(
        &lab,
        "d/libfig.so",
        "int pear(void); void *where(void){return pear;} void *table[]={pear};",
        "soname=libfig.so",
    );
    so(
        &lab,
        "d/libcall.so",
        "int pear(void); int call(void){return pear();}",
        "soname=libcall.so z=lazy",
    );
    let main = "int pear(void); int call(void); void *where(void); int main(void){return (where()!=(void*)pear)+call()+pear();}";
    let libraries = "d/libpear.so d/libfig.so d/libcall.so runpath=$PWD/d";
    exe(&lab, "fixed", main, &format!("-no-pie -fno-pic z=lazy {libraries}"));
    exe(&lab, "pie", main, &format!("-pie -fPIC {libraries}"));
    same(&lab, "fixed", &[("pear", "fixed"), ("pear", "libpear.so")]);
    same(&lab, "pie", &[("pear", "libpear.so")]);
}

#[test]
fn thread_local_and_indirect() {
    let lab = Lab::new();
    so(&lab, "d/libtls.so", "__thread int tear=0; int get(void){return tear;}", "soname=libtls.so");
    let indirect = "static int one(void){return 0;} static void *choose(void){return one;} int pear(void) __attribute__((ifunc(\"choose\"))); int fig(void){return pear();}";
    so(&lab, "d/libfig.so", indirect, "soname=libfig.so");
    let main = "extern __thread int tear; int get(void); int pear(void); int fig(void); int main(void){return tear+get()+pear()+fig();}";
    for (out, flags) in [
        ("pie", "-pie -fPIE"),
        ("fixed", "-no-pie -fno-pic"),
        ("desc", "-pie -fPIC -mtls-dialect=gnu2"),
    ] {
        exe(&lab, out, main, &format!("{flags} d/libtls.so d/libfig.so runpath=$PWD/d"));
        same(&lab, out, &[("tear", "libtls.so"), ("pear", "libfig.so")]);
    }
}

#[test]
fn filtees_come_first() {
    let lab = Lab::new();
    so(&lab, "d/libaux.so", "int pear(void){return 0;}", "soname=libaux.so");
    so(
        &lab,
        "d/libfig.so",
        "int pear(void){return 9;} int fig(void){return pear();}",
        "soname=libfig.so -Wl,-f,libaux.so -Wl,-f,libgone.so runpath=$PWD/d",
    );
    so(
        &lab,
        "d/libelm.so",
        "int pear(void){return 9;} int elm(void){return 0;}",
        "soname=libelm.so -Wl,-F,libaux.so runpath=$PWD/d",
    );
    exe(
        &lab,
        "auxiliary",
        "int fig(void); int main(void){return fig();}",
        "d/libfig.so runpath=$PWD/d",
    );
    exe(
        &lab,
        "filter",
        "int elm(void); int pear(void); int main(void){return elm()+pear();}",
        "d/libelm.so runpath=$PWD/d",
    );
    same(&lab, "auxiliary", &[("pear", "libaux.so")]);
    same(&lab, "filter", &[("pear", "libaux.so")]);
}

#[test]
fn weak_hidden_and_local() {
    let lab = Lab::new();
    so(
        &lab,
        "d/libone.so",
        "int pear(void){return 9;} int one(void){return 0;}",
        "soname=libone.so",
    );
    patch::edit(&lab, "d/libone.so", |elf| elf.set_visibility("pear", 2));
    so(&lab, "d/libtwo.so", "int pear(void){return 0;}", "soname=libtwo.so");
    let source = "int pear(void); int absent(void) __attribute__((weak)); extern int lost __attribute__((weak)); int user(void){return pear()+(absent?absent():0)+(&lost?1:0);}";
    so(&lab, "d/libuser.so", source, "soname=libuser.so");
    exe(
        &lab,
        "prog",
        "int user(void); int one(void); int main(void){return user()+one();}",
        "d/libuser.so d/libone.so d/libtwo.so runpath=$PWD/d",
    );
    same(&lab, "prog", &[("pear", "libtwo.so")]);
}

#[test]
fn one_library_under_two_names() {
    let lab = Lab::new();
    so(&lab, "d/a.so", "int pear(void){return 0;}", "");
    copy(&lab, "d/a.so", "e/a.so");
    lab.link("../d/a.so", "d/b.so");
    for name in ["a.so", "b.so"] {
        so(&lab, &format!("stub/{name}"), "int pear(void){return 0;}", &format!("soname={name}"));
    }
    so(
        &lab,
        "d/libfig.so",
        "int pear(void); int fig(void){return pear();}",
        "soname=libfig.so stub/b.so rpath=$PWD/e:$PWD/d",
    );
    exe(
        &lab,
        "prog",
        "int pear(void); int fig(void); int main(void){return pear()+fig();}",
        "stub/a.so d/libfig.so runpath=$PWD/d",
    );
    same(&lab, "prog", &[("pear", "d/a.so")]);
}
