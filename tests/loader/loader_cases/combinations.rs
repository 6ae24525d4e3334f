//! Several rules at once: search lists, names and file identity.

use object::elf::{DT_AUXILIARY, DT_RPATH, DT_RUNPATH};

use super::kit::{Case, Targets, cases, copy, exe, hard_link, lib, prog, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn search_and_names_together() {
    run("search and names together", CASES);
}

const CASES: &[Case] = cases![
    chain_with_a_missing_middle,
    inherited_list_expands_with_its_owner,
    list_of_a_library_behind_a_link,
    empty_relative_and_origin_elements,
    one_file_two_requesters_two_lists,
    hard_link_between_two_branches,
    path_first_then_name_with_another_copy,
    name_first_then_path_from_below,
    soname_answers_though_the_file_is_elsewhere,
    missing_in_one_branch_found_in_the_other,
    deep_chain,
    wide_program,
    program_needed_by_a_library,
    library_named_like_libc,
    library_named_like_the_loader,
    empty_runpath_in_the_middle,
    three_tags_in_one_library,
    origin_below_a_relative_list,
    need_with_lib_word_and_slash,
    missing_name_with_words,
    library_twice_under_two_roots,
    cycle_of_three_with_lists,
    self_contained_tree_moved,
];

fn chain_with_a_missing_middle(lab: &Lab) -> Targets {
    lib(lab, "c/libpear.so", &[], "");
    lib(lab, "stub/libgone.so", &["c/libpear.so"], "");
    lib(lab, "b/libfig.so", &["stub/libgone.so", "c/libpear.so"], "rpath=$PWD/c");
    lib(lab, "a/liboak.so", &["b/libfig.so"], "rpath=$PWD/b");
    prog(lab, "prog", &["a/liboak.so", "stub/libgone.so"], "rpath=$PWD/a");
    vec![see("prog", &["libgone.so => not found", "libpear.so => $PWD/c/libpear.so"])]
}

fn inherited_list_expands_with_its_owner(lab: &Lab) -> Targets {
    lib(lab, "top/lib/libpear.so", &[], "");
    lib(lab, "top/mid/lib/libpear.so", &[], "");
    lib(lab, "top/mid/low/libfig.so", &["top/lib/libpear.so"], "");
    lib(lab, "top/mid/liboak.so", &["top/mid/low/libfig.so"], "rpath=$ORIGIN/low:$ORIGIN/lib");
    prog(lab, "top/prog", &["top/mid/liboak.so"], "rpath=$ORIGIN/mid:$ORIGIN/lib");
    vec![see("top/prog", &["libpear.so => $PWD/top/mid/lib/libpear.so"])]
}

fn list_of_a_library_behind_a_link(lab: &Lab) -> Targets {
    lib(lab, "real/near/libpear.so", &[], "");
    lib(lab, "real/libfig.so", &["real/near/libpear.so"], "");
    lib(lab, "real/liboak.so", &["real/libfig.so"], "rpath=$ORIGIN:$ORIGIN/near");
    lab.link("../real/liboak.so", "d/liboak.so");
    lab.link("../real/libfig.so", "d/libfig.so");
    lib(lab, "d/near/libpear.so", &[], "");
    prog(lab, "prog", &["real/liboak.so"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/d/near/libpear.so"])]
}

fn empty_relative_and_origin_elements(lab: &Lab) -> Targets {
    lib(lab, "sub/d/libpear.so", &[], "");
    lib(lab, "d/libkiwi.so", &[], "");
    lib(lab, "liblime.so", &[], "");
    let fruit = ["sub/d/libpear.so", "d/libkiwi.so", "liblime.so"];
    prog(lab, "sub/prog", &fruit, "runpath=$ORIGIN/d:d::$PWD/none");
    vec![see(
        "sub/prog",
        &["libpear.so => $PWD/sub/d/", "libkiwi.so => d/libkiwi.so", "\tliblime.so\n"],
    )]
}

fn one_file_two_requesters_two_lists(lab: &Lab) -> Targets {
    for dir in ["x", "y"] {
        lib(lab, &format!("{dir}/libdeep.so"), &[], "");
        lib(lab, &format!("{dir}/libpear.so"), &["x/libdeep.so"], "");
    }
    lib(lab, "d/libone.so", &["x/libpear.so"], "rpath=$PWD/x");
    lib(lab, "d/libtwo.so", &["x/libpear.so", "x/libdeep.so"], "rpath=$PWD/y");
    prog(lab, "one_first", &["d/libone.so", "d/libtwo.so"], "runpath=$PWD/d");
    prog(lab, "two_first", &["d/libtwo.so", "d/libone.so"], "runpath=$PWD/d");
    vec![
        // Breadth first: libtwo asks for libdeep before libpear of x does.
        see("one_first", &["libpear.so => $PWD/x/", "libdeep.so => $PWD/y/"]),
        see("two_first", &["libpear.so => $PWD/y/", "libdeep.so => $PWD/y/"]),
    ]
}

fn hard_link_between_two_branches(lab: &Lab) -> Targets {
    lib(lab, "need/libdeep.so", &[], "");
    so(lab, "x/libpear.so", "int deep(void); int pear(void){return deep();}", "need/libdeep.so");
    lab.mkdir("y");
    hard_link(lab, "x/libpear.so", "y/libkiwi.so");
    so(lab, "stub/libpear.so", "", "soname=libpear.so");
    so(lab, "stub/libkiwi.so", "", "soname=libkiwi.so");
    lib(lab, "d/libone.so", &[], "stub/libpear.so rpath=$PWD/x");
    lib(lab, "d/libtwo.so", &[], "stub/libkiwi.so rpath=$PWD/y:$PWD/need");
    prog(lab, "one_first", &["d/libone.so", "d/libtwo.so"], "runpath=$PWD/d");
    prog(lab, "two_first", &["d/libtwo.so", "d/libone.so"], "runpath=$PWD/d");
    let (one, two) = ("libpear.so => $PWD/x/libpear.so", "libkiwi.so => $PWD/y/libkiwi.so");
    vec![see("one_first", &[one, "!libkiwi"]), see("two_first", &[two, "!libpear"])]
}

fn path_first_then_name_with_another_copy(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "stub/libpear.so", &[], "soname=$PWD/d/libpear.so");
    so(
        lab,
        "d/libpear.so",
        "int pear(void){return 1;} int extra(void){return 1;}",
        "soname=libpear.so",
    );
    so(
        lab,
        "d/libfig.so",
        "int extra(void); int fig(void){return extra();}",
        "soname=libfig.so e/libpear.so rpath=$PWD/e",
    );
    exe(
        lab,
        "prog",
        "int fig(void); int main(void){return fig();}",
        "stub/libpear.so d/libfig.so runpath=$PWD/d",
    );
    vec![see("prog", &["\t$PWD/d/libpear.so\n", "!$PWD/e", "!undefined"])]
}

fn name_first_then_path_from_below(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "stub/libpear.so", &[], "soname=$ORIGIN/libpear.so");
    lib(lab, "d/libfig.so", &["stub/libpear.so"], "");
    prog(lab, "same", &["d/libpear.so", "d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "other", &["d/libfig.so", "d/libpear.so"], "runpath=$PWD/e:$PWD/d");
    copy(lab, "d/libpear.so", "e/libpear.so");
    vec![
        see("same", &["libpear.so => $PWD/d/libpear.so"]),
        see("other", &["libpear.so => $PWD/e", "\t$PWD/d/libpear.so\n"]),
    ]
}

fn soname_answers_though_the_file_is_elsewhere(lab: &Lab) -> Targets {
    // The need is libpear.so, and the file has the SONAME libpear.so.1. A real libpear.so.1 is in
    // the search list too.
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "soname=libpear.so.1");
    so(
        lab,
        "d/libpear.so.1",
        "int pear(void){return 1;} int extra(void){return 1;}",
        "soname=libpear.so.1",
    );
    so(lab, "stub/any.so", "", "soname=libpear.so");
    so(
        lab,
        "d/libfig.so",
        "int extra(void); int fig(void){return extra();}",
        "soname=libfig.so d/libpear.so.1 runpath=$PWD/d",
    );
    exe(
        lab,
        "prog",
        "int fig(void); int main(void){return fig();}",
        "stub/any.so d/libfig.so runpath=$PWD/d",
    );
    vec![see(
        "prog",
        &["libpear.so => $PWD/d/libpear.so\n", "undefined symbol: extra\t($PWD/d/libfig.so)"],
    )]
}

fn missing_in_one_branch_found_in_the_other(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["e/libpear.so"], "runpath=$PWD/none");
    lib(lab, "d/liboak.so", &["e/libpear.so"], "rpath=$PWD/e");
    lib(lab, "d/libelm.so", &["e/libpear.so"], "");
    let tree = ["d/libfig.so", "d/liboak.so", "d/libelm.so"];
    prog(lab, "prog", &tree, "rpath=$PWD/d");
    vec![see("prog", &["libpear.so => not found", "libpear.so => $PWD/e/libpear.so", "!undefined"])]
}

fn deep_chain(lab: &Lab) -> Targets {
    lib(lab, "d/liblevel0.so", &[], "-nostdlib");
    for level in 1..25 {
        let below = format!("d/liblevel{}.so", level - 1);
        lib(lab, &format!("d/liblevel{level}.so"), &[&below], "-nostdlib");
    }
    prog(lab, "prog", &["d/liblevel24.so"], "rpath=$PWD/d");
    std::fs::remove_file(lab.path("d/liblevel3.so")).expect("a library of the chain");
    vec![see("prog", &["liblevel4.so => $PWD/d", "liblevel3.so => not found", "!liblevel2.so"])]
}

fn wide_program(lab: &Lab) -> Targets {
    let names: Vec<_> = (0..30).map(|index| format!("d/libw{index}.so")).collect();
    for name in &names {
        lib(lab, name, &[], "-nostdlib");
    }
    let needs: Vec<_> = names.iter().map(String::as_str).collect();
    prog(lab, "prog", &needs, "runpath=$PWD/d");
    for index in [3, 17] {
        std::fs::remove_file(lab.path(&names[index])).expect("one of the libraries");
    }
    vec![see("prog", &["libw3.so => not found", "libw17.so => not found", "undefined symbol: w3"])]
}

fn program_needed_by_a_library(lab: &Lab) -> Targets {
    so(lab, "stub/prog", "", "soname=./prog");
    lib(lab, "d/libfig.so", &[], "stub/prog");
    prog(lab, "prog", &["d/libfig.so"], "-pie runpath=$PWD/d");
    so(lab, "stub/fixed", "", "soname=fixed");
    lib(lab, "d/libkiwi.so", &[], "stub/fixed runpath=:");
    prog(lab, "fixed", &["d/libkiwi.so"], "-no-pie runpath=$PWD/d");
    vec![
        see("./prog", &["cannot dynamically load position-independent executable"]),
        see("fixed", &["cannot dynamically load executable"]),
    ]
}

fn library_named_like_libc(lab: &Lab) -> Targets {
    lib(lab, "d/libc.so.6", &[], "-nostdlib");
    prog(lab, "prog", &[], "runpath=$PWD/d");
    prog(lab, "old", &[], "rpath=$PWD/d -lm");
    vec![
        see("prog", &["libc.so.6 => $PWD/d/libc.so.6", "no version information available"]),
        see("old", &["libc.so.6 => $PWD/d/libc.so.6", "(required by /"]),
    ]
}

fn library_named_like_the_loader(lab: &Lab) -> Targets {
    so(
        lab,
        "d/ld-linux-x86-64.so.2",
        "int pear(void){return 1;}",
        "soname=ld-linux-x86-64.so.2 -nostdlib",
    );
    exe(
        lab,
        "prog",
        "int pear(void); int main(void){return pear();}",
        "d/ld-linux-x86-64.so.2 runpath=$PWD/d",
    );
    vec![see("prog", &["undefined symbol: pear", "!$PWD/d"])]
}

fn empty_runpath_in_the_middle(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["e/libpear.so"], "");
    lib(lab, "d/liboak.so", &["d/libfig.so"], "");
    edit(lab, "d/liboak.so", |elf| elf.push(DT_RUNPATH, 0));
    prog(lab, "prog", &["d/liboak.so"], "rpath=$PWD/d:$PWD/e");
    prog(lab, "both", &["d/liboak.so", "d/libfig.so"], "rpath=$PWD/d:$PWD/e");
    vec![
        see("prog", &["libfig.so => not found"]),
        see("both", &["libfig.so => $PWD/d", "libpear.so => $PWD/e/libpear.so"]),
    ]
}

fn three_tags_in_one_library(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "f/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["e/libpear.so"], "runpath=$PWD/e -Wl,-f,$PWD/f -Wl,-f,$PWD/g");
    edit(lab, "d/libfig.so", |elf| {
        elf.retag(DT_AUXILIARY, DT_RPATH);
        elf.retag(DT_AUXILIARY, DT_RUNPATH);
    });
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d:$PWD/f");
    // The later of the two DT_RUNPATHs counts, and it disables every DT_RPATH.
    vec![see("prog", &["libfig.so => $PWD/d"])]
}

fn origin_below_a_relative_list(lab: &Lab) -> Targets {
    lib(lab, "a/b/libpear.so", &[], "");
    lib(lab, "a/libfig.so", &["a/b/libpear.so"], "rpath=$ORIGIN/b");
    lib(lab, "a/liboak.so", &["a/libfig.so"], "rpath=a/../a");
    prog(lab, "prog", &["a/liboak.so"], "runpath=./a");
    vec![see("prog", &["libfig.so => a/../a/libfig.so", "libpear.so => $PWD/a/../a/b/libpear.so"])]
}

fn need_with_lib_word_and_slash(lab: &Lab) -> Targets {
    for dir in ["lib", "lib64", "lib32", "lib/x86_64-linux-gnu", "lib/i386-linux-gnu"] {
        so(lab, &format!("{dir}/libpear.so"), "int pear(void){return 1;}", "soname=libpear.so");
    }
    lib(lab, "stub/libpear.so", &[], "soname=$LIB/libpear.so");
    prog(lab, "relative", &["stub/libpear.so"], "");
    lib(lab, "stub/libpear.so", &[], "soname=${ORIGIN}/$LIB/./libpear.so");
    prog(lab, "origin", &["stub/libpear.so"], "");
    vec![see("relative", &["/libpear.so\n"]), see("origin", &["$PWD/./lib", "/./libpear.so\n"])]
}

fn missing_name_with_words(lab: &Lab) -> Targets {
    for (out, name) in [
        ("origin", "$ORIGIN/none/libpear.so"),
        ("lib", "$LIB/none.so"),
        ("mixed", "${PLATFORM}-$FOO.so"),
    ] {
        lib(lab, "stub/libpear.so", &[], &format!("soname={name}"));
        prog(lab, out, &["stub/libpear.so"], "");
    }
    vec![
        see("origin", &["$PWD/./none/libpear.so => not found"]),
        see("lib", &["/none.so => not found"]),
        see("mixed", &["-$FOO.so => not found"]),
    ]
}

fn library_twice_under_two_roots(lab: &Lab) -> Targets {
    // Two copies of one library in one process, each needing its own helper of the same SONAME.
    for (dir, name) in [("one", "libfirst.so"), ("two", "libsecond.so")] {
        lib(lab, &format!("{dir}/libhelp.so"), &[], "");
        lib(lab, &format!("{dir}/{name}"), &[&format!("{dir}/libhelp.so")], "runpath=$ORIGIN");
    }
    prog(lab, "prog", &["one/libfirst.so", "two/libsecond.so"], "runpath=$PWD/one:$PWD/two");
    vec![see("prog", &["libhelp.so => $PWD/one/libhelp.so", "!two/libhelp"])]
}

fn cycle_of_three_with_lists(lab: &Lab) -> Targets {
    lib(lab, "c/libelm.so", &[], "");
    lib(lab, "b/liboak.so", &["c/libelm.so"], "rpath=$PWD/c");
    lib(lab, "a/libfig.so", &["b/liboak.so"], "rpath=$PWD/b");
    lib(lab, "c/libelm.so", &["a/libfig.so"], "rpath=$PWD/none");
    prog(lab, "prog", &["a/libfig.so"], "runpath=$PWD/a");
    vec![
        see("prog", &["libelm.so => $PWD/c/", "!not found"]),
        see("b/liboak.so", &["libelm.so => $PWD/c/", "libfig.so => not found"]),
        see("c/libelm.so", &["libfig.so => not found"]),
    ]
}

fn self_contained_tree_moved(lab: &Lab) -> Targets {
    lib(lab, "tree/lib/sub/libpear.so", &[], "");
    lib(lab, "tree/lib/libfig.so", &["tree/lib/sub/libpear.so"], "runpath=$ORIGIN/sub");
    prog(lab, "tree/bin/prog", &["tree/lib/libfig.so"], "runpath=$ORIGIN/../lib");
    std::fs::rename(lab.path("tree"), lab.path("moved tree")).expect("the tree moves");
    lab.link("moved tree/bin", "bin");
    vec![
        see("moved tree/bin/prog", &["libpear.so => $PWD/moved tree/bin/../lib/sub/libpear.so"]),
        see("bin/prog", &["libpear.so => "]),
    ]
}
