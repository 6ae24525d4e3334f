//! Several rules at once: hwcap subdirectories, filtees, word sizes and search lists that end
//! early.

use super::kit::{Case, Targets, cases, copy, exe, hard_link, lib, prog, run, see, so};
use crate::support::Lab;

#[test]
fn levels_filtees_and_lists_together() {
    run("levels and filtees together", CASES);
}

const CASES: &[Case] = cases![
    cwd_holds_the_wrong_class,
    wrong_class_all_along_the_chain,
    small_and_large_in_one_chain,
    abandoned_list_then_an_ancestor,
    level_inside_a_linked_directory,
    level_holds_a_hard_link,
    level_without_default_directories,
    filtee_through_an_ancestor_and_by_soname,
    filtee_that_stops_everything,
    filtee_of_a_filtee_missing,
];

fn cwd_holds_the_wrong_class(lab: &Lab) -> Targets {
    lib(lab, "libpear.so", &[], "-m32");
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "prog", &["d/libpear.so"], "runpath=:d:");
    prog(lab, "only", &["d/libpear.so"], "runpath=:");
    vec![see("prog", &["libpear.so => d/libpear.so"]), see("only", &["libpear.so => not found"])]
}

fn wrong_class_all_along_the_chain(lab: &Lab) -> Targets {
    for dir in ["a", "b", "c"] {
        lib(lab, &format!("{dir}/libm.so.6"), &[], "-m32");
    }
    so(
        lab,
        "c/libfig.so",
        "double sin(double); int fig(void){return sin(1);}",
        "soname=libfig.so -lm",
    );
    lib(lab, "b/liboak.so", &["c/libfig.so"], "rpath=$PWD/c");
    prog(lab, "prog", &["b/liboak.so"], "rpath=$PWD/a:$PWD/b");
    vec![see("prog", &["libm.so.6 => /", "!$PWD/a/libm", "!undefined"])]
}

fn small_and_large_in_one_chain(lab: &Lab) -> Targets {
    lib(lab, "s/libpear.so", &[], "-m32");
    lib(lab, "l/libpear.so", &[], "");
    lib(lab, "s/libfig.so", &["s/libpear.so"], "-m32");
    lib(lab, "l/libfig.so", &["l/libpear.so"], "");
    prog(lab, "small", &["s/libfig.so"], "-m32 rpath=$PWD/l:$PWD/s");
    prog(lab, "large", &["l/libfig.so"], "rpath=$PWD/s:$PWD/l");
    vec![see("small", &["libpear.so => $PWD/s/"]), see("large", &["libpear.so => $PWD/l/"])]
}

fn abandoned_list_then_an_ancestor(lab: &Lab) -> Targets {
    lab.link("libpear.so", "loop/libpear.so");
    for dir in ["a", "b"] {
        lib(lab, &format!("{dir}/libpear.so"), &[], "");
    }
    lib(lab, "d/libfig.so", &["a/libpear.so"], "rpath=$PWD/loop:$PWD/a");
    lib(lab, "d/liboak.so", &["d/libfig.so"], "rpath=$PWD/d:$PWD/loop:$PWD/a");
    prog(lab, "prog", &["d/liboak.so"], "rpath=$PWD/d:$PWD/b");
    vec![see("prog", &["libpear.so => $PWD/b/libpear.so"])]
}

fn level_inside_a_linked_directory(lab: &Lab) -> Targets {
    lib(lab, "real/libpear.so", &[], "");
    lib(lab, "real/libfig.so", &["real/libpear.so"], "runpath=$ORIGIN/..");
    lab.link("../../real", "d/glibc-hwcaps/x86-64-v2");
    copy(lab, "real/libpear.so", "libpear.so");
    copy(lab, "real/libpear.so", "d/glibc-hwcaps/libpear.so");
    prog(lab, "prog", &["real/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libfig.so"])]
}

fn level_holds_a_hard_link(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "");
    lab.mkdir("d/glibc-hwcaps/x86-64-v2");
    hard_link(lab, "d/libpear.so", "d/glibc-hwcaps/x86-64-v2/libkiwi.so");
    for name in ["libpear.so", "libkiwi.so"] {
        so(lab, &format!("stub/{name}"), "", &format!("soname={name}"));
    }
    exe(lab, "prog", "int main(void){return 0;}", "stub/libpear.so stub/libkiwi.so runpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/d/libpear.so"])]
}

fn level_without_default_directories(lab: &Lab) -> Targets {
    lib(lab, "d/glibc-hwcaps/x86-64-v2/libutil.so.1", &[], "");
    let level = "d/glibc-hwcaps/x86-64-v2/libutil.so.1";
    lib(lab, "d/libfig.so", &[level], "z=nodefaultlib runpath=$PWD/d");
    lib(lab, "d/libelm.so", &[level], "z=nodefaultlib runpath=$PWD/none");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "none", &["d/libelm.so"], "runpath=$PWD/none:$PWD/d");
    vec![see("prog", &["libfig.so => $PWD/d"]), see("none", &["libutil.so.1 => not found"])]
}

fn filtee_through_an_ancestor_and_by_soname(lab: &Lab) -> Targets {
    so(lab, "e/file.so", "int pear(void){return 1;}", "soname=libpear.so.1");
    lib(lab, "stub/libpear.so.1", &[], "");
    lib(lab, "d/libfig.so", &[], "-Wl,-f,file.so");
    lib(lab, "d/liboak.so", &["stub/libpear.so.1"], "");
    prog(lab, "prog", &["d/libfig.so", "d/liboak.so"], "rpath=$PWD/d:$PWD/e");
    prog(lab, "swapped", &["d/liboak.so", "d/libfig.so"], "rpath=$PWD/d:$PWD/e");
    vec![
        see("prog", &["file.so => $PWD/e/file.so", "!not found", "!undefined"]),
        see("swapped", &["libpear.so.1 => not found", "file.so => $PWD/e/file.so", "!undefined"]),
    ]
}

fn filtee_that_stops_everything(lab: &Lab) -> Targets {
    lab.write("e/libaux.so", "too short");
    lib(lab, "d/libfig.so", &[], "-Wl,-F,libaux.so");
    lib(lab, "d/liboak.so", &["d/libfig.so"], "rpath=$PWD/d:$PWD/e");
    prog(lab, "prog", &["d/liboak.so"], "rpath=$PWD/d");
    prog(lab, "new", &["d/liboak.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["$PWD/e/libaux.so: file too short"]),
        see("new", &["libaux.so => not found"]),
    ]
}

fn filtee_of_a_filtee_missing(lab: &Lab) -> Targets {
    lib(lab, "d/libaux.so", &[], "-Wl,-F,libgone.so");
    lib(lab, "d/libfig.so", &[], "-Wl,-f,libaux.so -Wl,-f,libgone.so runpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libgone.so => not found", "libaux.so => $PWD/d/libaux.so"])]
}
