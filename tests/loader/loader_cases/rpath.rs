//! DT_RPATH and DT_RUNPATH: the objects whose lists are searched for a need.

use object::elf::{DT_AUDIT, DT_AUXILIARY, DT_RPATH, DT_RUNPATH, DT_SONAME};

use super::kit::{Case, Targets, cases, lib, prog, run, see, so};
use super::patch::{UNUSED_TAG, edit};
use crate::support::Lab;

#[test]
fn search_lists_of_the_requester_and_its_loaders() {
    run("RPATH and RUNPATH", CASES);
}

const CASES: &[Case] = cases![
    rpath_reaches_below,
    runpath_stays_with_its_owner,
    own_runpath_shuts_out_rpaths,
    runpath_in_the_middle,
    both_tags_in_a_program,
    both_tags_in_a_library,
    last_of_repeated_tags,
    nearest_rpath_first,
    only_the_first_loader_counts,
    main_comes_after_the_chain,
    empty_runpath_still_shuts_out,
    empty_rpath_is_passed_over,
    library_as_main,
    loader_reached_by_path,
    lists_beat_the_system,
    rpath_missing_falls_through,
];

fn rpath_reaches_below(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "");
    lib(lab, "d/liboak.so", &["d/libfig.so"], "");
    prog(lab, "prog", &["d/liboak.so"], "rpath=$PWD/d");
    prog(lab, "origin", &["d/liboak.so"], "rpath=$ORIGIN/d");
    let all = "libpear.so => $PWD/d/libpear.so";
    vec![see("prog", &[all, "!not found"]), see("./origin", &["libpear.so => $PWD/./d/libpear.so"])]
}

fn runpath_stays_with_its_owner(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "direct", &["d/libfig.so", "d/libpear.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["libfig.so => $PWD/d", "libpear.so => not found", "undefined symbol: pear"]),
        see("direct", &["!not found"]),
    ]
}

fn own_runpath_shuts_out_rpaths(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "runpath=$PWD/elsewhere");
    lib(lab, "d/liboak.so", &["d/libfig.so"], "rpath=$PWD/d");
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    prog(lab, "deep", &["d/liboak.so"], "rpath=$PWD/d");
    let missing = "libpear.so => not found";
    vec![see("prog", &[missing]), see("deep", &["libfig.so => $PWD/d", missing])]
}

fn runpath_in_the_middle(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "e/libkiwi.so", &[], "");
    lib(lab, "e/libplum.so", &["d/libpear.so", "e/libkiwi.so"], "");
    lib(lab, "d/libfig.so", &["e/libplum.so"], "runpath=$PWD/e");
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    vec![see("prog", &["libpear.so => $PWD/d/libpear.so", "libkiwi.so => not found"])]
}

fn both_tags_in_a_program(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &[], "");
    for (out, runpath) in [("prog", "runpath=$PWD/e"), ("nowhere", "runpath=$PWD/f")] {
        let flags = format!("{runpath} -Wl,--audit=$PWD/d");
        prog(lab, out, &["d/libpear.so", "d/libfig.so"], &flags);
        edit(lab, out, |elf| elf.retag(DT_AUDIT, DT_RPATH));
    }
    vec![
        see("prog", &["libpear.so => $PWD/e/libpear.so", "libfig.so => not found"]),
        see("nowhere", &["libpear.so => not found"]),
    ]
}

fn both_tags_in_a_library(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libplum.so", &["d/libpear.so"], "");
    lib(lab, "e/libplum.so", &["d/libpear.so"], "");
    // Its RPATH reaches neither its own needs nor those of the library that its RUNPATH finds.
    lib(lab, "d/libfig.so", &["d/libplum.so"], "runpath=$PWD/e -Wl,-f,$PWD/d");
    edit(lab, "d/libfig.so", |elf| elf.retag(DT_AUXILIARY, DT_RPATH));
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["libplum.so => $PWD/e/libplum.so", "libpear.so => not found"])]
}

fn last_of_repeated_tags(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "e/libpear.so", &[], "");
    for (out, kind, tag) in
        [("two_rpaths", "rpath", DT_RPATH), ("two_runpaths", "runpath", DT_RUNPATH)]
    {
        prog(lab, out, &["d/libpear.so"], &format!("{kind}=$PWD/d -Wl,--audit=$PWD/e"));
        edit(lab, out, |elf| {
            let last = elf.value(DT_AUDIT);
            elf.retag(DT_AUDIT, UNUSED_TAG);
            elf.push(tag, last);
        });
    }
    // Two DT_SONAMEs: the second answers the later request, the first does not.
    lib(lab, "d/alias.so", &[], "soname=libkiwi.so.1 -Wl,-f,libkiwi.so.2");
    edit(lab, "d/alias.so", |elf| {
        let last = elf.value(DT_AUXILIARY);
        elf.retag(DT_AUXILIARY, UNUSED_TAG);
        elf.push(DT_SONAME, last);
    });
    for name in ["alias.so", "libkiwi.so.1", "libkiwi.so.2"] {
        so(lab, &format!("stub/{name}"), "", &format!("soname={name}"));
    }
    prog(lab, "first", &[], "stub/alias.so stub/libkiwi.so.1 runpath=$PWD/d");
    prog(lab, "second", &[], "stub/alias.so stub/libkiwi.so.2 runpath=$PWD/d");
    vec![
        see("two_rpaths", &["libpear.so => $PWD/e"]),
        see("two_runpaths", &["libpear.so => $PWD/e"]),
        see("second", &["alias.so => $PWD/d/alias.so", "!libkiwi.so.2"]),
        see("first", &["alias.so => $PWD/d/alias.so", "libkiwi.so.1 => not found"]),
    ]
}

fn nearest_rpath_first(lab: &Lab) -> Targets {
    for dir in ["p", "q", "r"] {
        lib(lab, &format!("{dir}/libpear.so"), &[], "");
    }
    for dir in ["p", "q"] {
        lib(lab, &format!("{dir}/libkiwi.so"), &[], "");
    }
    lib(lab, "p/liblime.so", &[], "");
    let fruit = ["p/libpear.so", "p/libkiwi.so", "p/liblime.so"];
    lib(lab, "r/libelm.so", &fruit, "");
    lib(lab, "q/liboak.so", &["r/libelm.so"], "rpath=$PWD/r");
    lib(lab, "p/libfig.so", &["q/liboak.so"], "rpath=$PWD/q");
    prog(lab, "prog", &["p/libfig.so"], "rpath=$PWD/p");
    vec![see("prog", &["libpear.so => $PWD/r/", "libkiwi.so => $PWD/q/", "liblime.so => $PWD/p/"])]
}

fn only_the_first_loader_counts(lab: &Lab) -> Targets {
    lib(lab, "y/libpear.so", &[], "");
    lib(lab, "d/libcore.so", &["y/libpear.so"], "");
    lib(lab, "d/libleft.so", &["d/libcore.so"], "rpath=$PWD/x:$PWD/d");
    lib(lab, "d/libright.so", &["d/libcore.so"], "rpath=$PWD/y:$PWD/d");
    prog(lab, "left", &["d/libleft.so", "d/libright.so"], "runpath=$PWD/d");
    prog(lab, "right", &["d/libright.so", "d/libleft.so"], "runpath=$PWD/d");
    vec![
        see("left", &["libcore.so => $PWD/d", "libpear.so => not found"]),
        see("right", &["libpear.so => $PWD/y/libpear.so"]),
    ]
}

fn main_comes_after_the_chain(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "own/libpear.so", &[], "");
    lib(lab, "d/libkiwi.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so", "d/libkiwi.so"], "rpath=$PWD/own");
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    prog(lab, "runpath_main", &["d/libfig.so"], "runpath=$PWD/d");
    vec![
        see("prog", &["libpear.so => $PWD/own/", "libkiwi.so => $PWD/d/"]),
        see("runpath_main", &["libpear.so => $PWD/own/", "libkiwi.so => not found"]),
    ]
}

fn empty_runpath_still_shuts_out(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "");
    edit(lab, "d/libfig.so", |elf| elf.push(DT_RUNPATH, 0));
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    vec![see("prog", &["libpear.so => not found"])]
}

fn empty_rpath_is_passed_over(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "");
    edit(lab, "d/libfig.so", |elf| elf.push(DT_RPATH, 0));
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d");
    // No element at all is not the same as one empty element: the working directory is not tried.
    lib(lab, "liblime.so", &[], "");
    prog(lab, "bare", &["liblime.so"], "");
    edit(lab, "bare", |elf| elf.push(DT_RUNPATH, 0));
    vec![see("prog", &["!not found"]), see("bare", &["liblime.so => not found"])]
}

fn library_as_main(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "");
    lib(lab, "d/libold.so", &["d/libfig.so"], "rpath=$ORIGIN");
    lib(lab, "d/libnew.so", &["d/libfig.so"], "runpath=$ORIGIN");
    lib(lab, "d/libno.so", &["d/libfig.so"], "");
    vec![
        see("d/libold.so", &["libpear.so => $PWD/d/libpear.so"]),
        see("d/libnew.so", &["libpear.so => not found"]),
        see("./d/libno.so", &["libfig.so => not found"]),
    ]
}

fn loader_reached_by_path(lab: &Lab) -> Targets {
    lib(lab, "e/libpear.so", &[], "");
    lib(lab, "d/libplum.so", &["e/libpear.so"], "");
    lib(lab, "d/libfig.so", &["d/libplum.so"], "rpath=$PWD/e:$PWD/d soname=$PWD/d/libfig.so");
    prog(lab, "prog", &["d/libfig.so"], "");
    vec![see("prog", &["$PWD/d/libfig.so\n", "libpear.so => $PWD/e/libpear.so"])]
}

fn lists_beat_the_system(lab: &Lab) -> Targets {
    lib(lab, "d/libutil.so.1", &[], "");
    lib(lab, "e/libutil.so.1", &[], "");
    lib(lab, "e/libfig.so", &["d/libutil.so.1"], "runpath=$PWD/e");
    prog(lab, "old", &["d/libutil.so.1"], "rpath=$PWD/d");
    prog(lab, "new", &["d/libutil.so.1"], "runpath=$PWD/d");
    prog(lab, "none", &["d/libutil.so.1"], "");
    // The program's own need comes first and answers the library's, whose RUNPATH holds another
    // copy.
    prog(lab, "shared", &["d/libutil.so.1", "e/libfig.so"], "runpath=$PWD/d:$PWD/e");
    vec![
        see("old", &["libutil.so.1 => $PWD/d/"]),
        see("new", &["libutil.so.1 => $PWD/d/"]),
        see("none", &["libutil.so.1 => /", "!$PWD", "undefined symbol: util"]),
        see("shared", &["libutil.so.1 => $PWD/d/", "!$PWD/e/libutil"]),
    ]
}

fn rpath_missing_falls_through(lab: &Lab) -> Targets {
    lib(lab, "stub/libutil.so.1", &[], "");
    lib(lab, "d/libfig.so", &["stub/libutil.so.1"], "rpath=$PWD/nowhere");
    prog(lab, "prog", &["d/libfig.so"], "rpath=$PWD/d:/also/nowhere");
    vec![see("prog", &["libutil.so.1 => /", "undefined symbol: util"])]
}
