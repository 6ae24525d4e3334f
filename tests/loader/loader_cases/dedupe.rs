//! Needs that an already loaded object satisfies: by name, SONAME or file identity.

use object::elf::{DT_AUXILIARY, DT_NEEDED};

use super::kit::{Case, Targets, cases, copy, hard_link, lib, prog, run, see, so};
use super::patch::edit;
use crate::support::Lab;

#[test]
fn objects_already_loaded() {
    run("already loaded", CASES);
}

const CASES: &[Case] = cases![
    same_name_other_directory,
    soname_answers_later_need,
    soname_comes_too_late,
    soname_of_a_missing_library_answers_nothing,
    missing_is_said_per_requester,
    missing_first_found_later,
    found_first_missing_nowhere,
    hard_link_under_two_names,
    symlink_under_two_names,
    copies_are_two_objects,
    link_chain_keeps_the_asked_name,
    equal_sonames_in_two_files,
    name_with_slash_against_soname,
    name_with_slash_is_no_basename,
    name_with_slash_missing,
    two_spellings_of_one_path,
    relative_path_from_a_library,
    soname_with_slash,
    no_soname_keeps_the_link_path,
    needed_twice_in_one_object,
    empty_need,
    cycle_of_two,
    cycle_through_itself,
    library_in_a_cycle_as_main,
    main_without_soname_is_loaded_again,
    main_reached_by_link,
];

fn same_name_other_directory(lab: &Lab) -> Targets {
    lib(lab, "one/libpear.so.1", &[], "");
    so(
        lab,
        "two/libpear.so.1",
        "int pear(void){return 2;} int extra(void){return 3;}",
        "soname=libpear.so.1",
    );
    so(
        lab,
        "two/libfig.so",
        "int extra(void); int fig(void){return extra();}",
        "two/libpear.so.1 soname=libfig.so runpath=$PWD/two",
    );
    prog(lab, "prog", &["one/libpear.so.1", "two/libfig.so"], "runpath=$PWD/one:$PWD/two");
    prog(lab, "swapped", &["two/libfig.so", "one/libpear.so.1"], "runpath=$PWD/one:$PWD/two");
    vec![
        see(
            "prog",
            &[
                "libpear.so.1 => $PWD/one/",
                "!two/libpear",
                "undefined symbol: extra\t($PWD/two/libfig.so)",
            ],
        ),
        see("swapped", &["libpear.so.1 => $PWD/one/", "undefined symbol: extra"]),
    ]
}

fn soname_answers_later_need(lab: &Lab) -> Targets {
    lib(lab, "d/file.so", &[], "soname=libpear.so.9");
    so(lab, "stub/file.so", "", "soname=file.so");
    lib(lab, "stub/libpear.so.9", &[], "");
    lib(lab, "d/libfig.so", &["stub/libpear.so.9"], "");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "first", &[], "stub/file.so d/libfig.so runpath=$PWD/d");
    vec![
        see("prog", &["libpear.so.9 => not found"]),
        see("first", &["file.so => $PWD/d/file.so", "!libpear.so.9 =>"]),
    ]
}

fn soname_comes_too_late(lab: &Lab) -> Targets {
    lib(lab, "stub/libpear.so.9", &[], "");
    lib(lab, "d/libfig.so", &["stub/libpear.so.9"], "");
    so(lab, "stub/file.so", "", "soname=file.so");
    lib(lab, "d/libkiwi.so", &[], "stub/file.so runpath=$PWD/d");
    so(lab, "d/file.so", "int pear(void){return 4;}", "soname=libpear.so.9");
    // libfig asks for the SONAME before libkiwi brings the file in.
    prog(lab, "early", &["d/libfig.so", "d/libkiwi.so"], "runpath=$PWD/d");
    prog(lab, "late", &["d/libkiwi.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![
        see("early", &["libpear.so.9 => not found", "file.so => $PWD/d/file.so", "!undefined"]),
        see("late", &["!not found"]),
    ]
}

fn soname_of_a_missing_library_answers_nothing(lab: &Lab) -> Targets {
    lib(lab, "stub/libpear.so", &[], "soname=libpear.so.1");
    so(lab, "stub/again.so", "", "soname=libpear.so.1");
    lib(lab, "d/libfig.so", &["stub/libpear.so"], "");
    prog(lab, "prog", &["stub/libpear.so", "d/libfig.so"], "stub/again.so runpath=$PWD/d");
    vec![see("prog", &["\tlibpear.so.1 => not found"])]
}

fn missing_is_said_per_requester(lab: &Lab) -> Targets {
    lib(lab, "stub/libgone.so", &[], "");
    for name in ["d/libfig.so", "d/liboak.so", "d/libelm.so"] {
        lib(lab, name, &["stub/libgone.so"], "");
    }
    let fruit = ["d/libfig.so", "d/liboak.so", "d/libelm.so"];
    prog(lab, "prog", &fruit, "runpath=$PWD/d");
    prog(lab, "also", &["stub/libgone.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["undefined symbol: gone\t($PWD/d/libelm.so)"]),
        see("also", &["undefined symbol: gone\t(./also)", "libgone.so => not found"]),
    ]
}

fn missing_first_found_later(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["e/libpear.so"], "");
    lib(lab, "d/liboak.so", &["e/libpear.so"], "runpath=$PWD/e");
    lib(lab, "d/libelm.so", &["e/libpear.so"], "");
    prog(lab, "prog", &["d/libfig.so", "d/liboak.so", "d/libelm.so"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so => not found", "libpear.so => $PWD/e/libpear.so", "!undefined"])]
}

fn found_first_missing_nowhere(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "d/liboak.so", &["e/libpear.so"], "runpath=$PWD/e");
    lib(lab, "d/libfig.so", &["e/libpear.so"], "");
    prog(lab, "prog", &["d/liboak.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/e/libpear.so", "!not found"])]
}

/// A library without SONAME in `d/a.so`, and a program that needs `a.so` and then `b.so`.
fn two_names(lab: &Lab) {
    so(lab, "d/a.so", "int pear(void){return 1;}", "");
    for name in ["a.so", "b.so"] {
        so(lab, &format!("stub/{name}"), "int pear(void){return 1;}", &format!("soname={name}"));
    }
    prog(lab, "prog", &[], "stub/a.so stub/b.so runpath=$PWD/d");
    lib(lab, "d/libfig.so", &[], "stub/b.so runpath=$PWD/none:$PWD/d");
    prog(lab, "third", &["d/libfig.so"], "stub/a.so runpath=$PWD/none:$PWD/d");
}

fn hard_link_under_two_names(lab: &Lab) -> Targets {
    two_names(lab);
    hard_link(lab, "d/a.so", "d/b.so");
    vec![see("prog", &["a.so => $PWD/d/a.so", "!b.so"]), see("third", &["!b.so"])]
}

fn symlink_under_two_names(lab: &Lab) -> Targets {
    two_names(lab);
    lab.link("a.so", "d/b.so");
    lab.link("../d/a.so", "e/b.so");
    prog(lab, "other", &[], "stub/b.so stub/a.so runpath=$PWD/e:$PWD/d");
    vec![
        see("prog", &["a.so => $PWD/d/a.so", "!b.so"]),
        see("third", &["!b.so"]),
        see("other", &["b.so => $PWD/e/b.so", "!a.so =>"]),
    ]
}

fn copies_are_two_objects(lab: &Lab) -> Targets {
    two_names(lab);
    copy(lab, "d/a.so", "d/b.so");
    vec![see("prog", &["a.so => $PWD/d/a.so", "b.so => $PWD/d/b.so"]), see("third", &["b.so =>"])]
}

fn link_chain_keeps_the_asked_name(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so.1.2.3", &[], "soname=libpear.so.1");
    lab.link("libpear.so.1.2.3", "d/libpear.so.1.2");
    lab.link("libpear.so.1.2", "d/libpear.so.1");
    prog(lab, "prog", &["d/libpear.so.1"], "runpath=$PWD/d");
    vec![see("prog", &["libpear.so.1 => $PWD/d/libpear.so.1\n"])]
}

fn equal_sonames_in_two_files(lab: &Lab) -> Targets {
    so(lab, "d/one.so", "int one(void){return 1;}", "soname=libsame.so");
    so(lab, "d/two.so", "int two(void){return 2;}", "soname=libsame.so");
    for name in ["one", "two"] {
        so(
            lab,
            &format!("stub/{name}.so"),
            &format!("int {name}(void){{return 0;}}"),
            &format!("soname={name}.so"),
        );
    }
    prog(lab, "prog", &["stub/one.so", "stub/two.so"], "runpath=$PWD/d");
    vec![see("prog", &["one.so => $PWD/d/one.so", "two.so => $PWD/d/two.so"])]
}

fn name_with_slash_against_soname(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    copy(lab, "d/libpear.so", "e/libpear.so");
    lib(lab, "stub/libpear.so", &[], "soname=$PWD/e/libpear.so");
    prog(lab, "name_first", &["d/libpear.so"], "stub/libpear.so runpath=$PWD/d");
    prog(lab, "path_first", &[], "stub/libpear.so d/libpear.so runpath=$PWD/d");
    vec![
        see("name_first", &["libpear.so => $PWD/d/libpear.so", "\t$PWD/e/libpear.so\n"]),
        see("path_first", &["\t$PWD/e/libpear.so\n", "!d/libpear.so"]),
    ]
}

fn name_with_slash_is_no_basename(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "");
    copy(lab, "d/libpear.so", "e/libpear.so");
    so(lab, "stub/libpear.so", "", "soname=libpear.so");
    prog(lab, "prog", &[], "d/libpear.so stub/libpear.so runpath=$PWD/e");
    prog(lab, "same", &[], "d/libpear.so stub/libpear.so runpath=$PWD/d");
    vec![
        see("prog", &["\td/libpear.so\n", "libpear.so => $PWD/e/libpear.so"]),
        see("same", &["\td/libpear.so\n", "!=> $PWD/d"]),
    ]
}

fn name_with_slash_missing(lab: &Lab) -> Targets {
    lib(lab, "stub/libpear.so", &[], "soname=$PWD/none/libpear.so");
    lib(lab, "d/libpear.so", &[], "");
    prog(lab, "absolute", &["stub/libpear.so"], "runpath=$PWD/d");
    lib(lab, "stub/libpear.so", &[], "soname=none/libpear.so");
    prog(lab, "relative", &["stub/libpear.so"], "runpath=$PWD/d:$PWD");
    vec![
        see("absolute", &["$PWD/none/libpear.so => not found"]),
        see("relative", &["none/libpear.so => not found"]),
    ]
}

fn two_spellings_of_one_path(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "");
    so(lab, "stub/one.so", "", "soname=./d/libpear.so");
    so(lab, "stub/two.so", "", "soname=d//libpear.so");
    prog(lab, "prog", &["d/libpear.so"], "stub/one.so stub/two.so");
    prog(lab, "missing", &[], "stub/two.so stub/one.so");
    vec![see("prog", &["\td/libpear.so\n", "!./d"]), see("missing", &["\td//libpear.so\n"])]
}

fn relative_path_from_a_library(lab: &Lab) -> Targets {
    so(lab, "d/e/libpear.so", "int pear(void){return 1;}", "");
    lib(lab, "stub/libpear.so", &[], "soname=e/libpear.so");
    lib(lab, "d/libfig.so", &["stub/libpear.so"], "");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    lib(lab, "d/libkiwi.so", &["d/e/libpear.so"], "");
    prog(lab, "top", &["d/libkiwi.so"], "runpath=$PWD/d");
    vec![see("prog", &["e/libpear.so => not found"]), see("top", &["\td/e/libpear.so\n"])]
}

fn soname_with_slash(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "soname=odd/libpear.so");
    so(lab, "stub/libpear.so", "", "soname=libpear.so");
    prog(lab, "prog", &[], "stub/libpear.so d/libpear.so runpath=$PWD/d");
    prog(lab, "alone", &["d/libpear.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["libpear.so => $PWD/d/libpear.so", "!odd/"]),
        see("alone", &["odd/libpear.so => not found"]),
    ]
}

fn no_soname_keeps_the_link_path(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "");
    prog(lab, "relative", &["d/libpear.so"], "");
    prog(lab, "absolute", &[], "$PWD/d/libpear.so");
    prog(lab, "dotted", &[], "./d/../d/libpear.so");
    vec![
        see("relative", &["\td/libpear.so\n"]),
        see("absolute", &["\t$PWD/d/libpear.so\n"]),
        see("dotted", &["\t./d/../d/libpear.so\n"]),
    ]
}

fn needed_twice_in_one_object(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &[], "-Wl,-f,libpear.so -Wl,-f,libgone.so");
    edit(lab, "d/libfig.so", |elf| {
        for _ in 0..2 {
            let name = elf.value(DT_AUXILIARY);
            elf.retag(DT_AUXILIARY, DT_NEEDED);
            elf.push(DT_NEEDED, name);
        }
    });
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/d", "libgone.so => not found"])]
}

fn empty_need(lab: &Lab) -> Targets {
    lib(lab, "d/libfig.so", &[], "");
    edit(lab, "d/libfig.so", |elf| elf.push(DT_NEEDED, 0));
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    vec![see("prog", &["libfig.so => $PWD/d/libfig.so"])]
}

fn cycle_of_two(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "rpath=$PWD/d");
    lib(lab, "d/libpear.so", &["d/libfig.so"], "rpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["libpear.so => $PWD/d", "!not found"]),
        see("d/libfig.so", &["libpear.so => $PWD/d/libpear.so"]),
    ]
}

fn cycle_through_itself(lab: &Lab) -> Targets {
    lib(lab, "stub/libfig.so", &[], "");
    lib(lab, "d/libfig.so", &[], "stub/libfig.so rpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libfig.so => $PWD/d"]), see("d/libfig.so", &["!libfig.so =>"])]
}

fn library_in_a_cycle_as_main(lab: &Lab) -> Targets {
    lib(lab, "d/file.so", &[], "soname=libpear.so");
    lib(lab, "d/libfig.so", &["d/file.so"], "");
    so(
        lab,
        "d/file.so",
        "int file(void){return 1;} int gone(void); int g(void){return gone();}",
        "soname=libpear.so d/libfig.so rpath=$PWD/d",
    );
    vec![see(
        "d/file.so",
        &["libfig.so => $PWD/d/libfig.so", "!libpear.so", "undefined symbol: gone"],
    )]
}

fn main_without_soname_is_loaded_again(lab: &Lab) -> Targets {
    so(lab, "d/libpear.so", "int pear(void){return 1;}", "");
    lib(lab, "stub/libpear.so", &[], "soname=libpear.so");
    lib(lab, "d/libfig.so", &["stub/libpear.so"], "");
    so(
        lab,
        "d/libpear.so",
        "int fig(void); int gone(void); int pear(void){return fig()+gone();}",
        "d/libfig.so rpath=$PWD/d",
    );
    vec![see(
        "d/libpear.so",
        &[
            "libpear.so => $PWD/d/libpear.so",
            "undefined symbol: gone\t(d/libpear.so)",
            "undefined symbol: gone\t($PWD/d/libpear.so)",
        ],
    )]
}

fn main_reached_by_link(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "");
    lib(lab, "d/libpear.so", &["d/libfig.so"], "rpath=$PWD/d");
    lab.link("d/libpear.so", "other.so");
    vec![see("other.so", &["libfig.so => $PWD/d/libfig.so", "!libpear.so =>"])]
}
