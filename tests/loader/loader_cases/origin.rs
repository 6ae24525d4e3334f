//! `$ORIGIN` of programs and libraries, reached in every way.

use super::kit::{Case, Targets, cases, copy, lib, prog, run, see};
use super::path_text::each;
use crate::support::Lab;

#[test]
fn origins() {
    run("origin", CASES);
}

const CASES: &[Case] = cases![
    words_next_to_each_other,
    origin_in_odd_places,
    program_reached_by_link,
    program_in_linked_directory,
    program_reached_by_link_chain,
    program_named_in_odd_ways,
    library_reached_by_link,
    library_of_relative_directory,
];

fn words_next_to_each_other(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    each(
        lab,
        &[
            ("twice", "$ORIGIN$ORIGIN/d:$ORIGIN/d"),
            ("dash", "$ORIGIN-x/d"),
            ("brace", "${ORIGIN}x/d"),
        ],
    );
    each(
        lab,
        &[
            ("dotted", "$ORIGIN.d:$ORIGIN/d"),
            ("dollar", "$$ORIGIN/d"),
            ("mixed", "${ORIGIN}/$FOO:${ORIGIN}/d"),
        ],
    );
    vec![
        see("twice", &["libpear.so => $PWD/./d/libpear.so"]),
        see("dash", &["not found"]),
        see("brace", &["not found"]),
        see("dotted", &["libpear.so => $PWD/./d/libpear.so"]),
        see("dollar", &["not found"]),
        see("mixed", &["libpear.so => $PWD/./d/libpear.so"]),
    ]
}

fn origin_in_odd_places(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    each(
        lab,
        &[("plain", "$ORIGIN:$ORIGIN/../d"), ("slash", "/$ORIGIN/d"), ("dots", "./$ORIGIN/d")],
    );
    each(
        lab,
        &[
            ("bin/alone", "$ORIGIN"),
            ("bin/up", "$ORIGIN/../d"),
            ("bin/down", "$ORIGIN/../bin/../d"),
        ],
    );
    lib(lab, "bin/libpear.so", &[], "");
    vec![
        see("plain", &["!$PWD/d"]),
        see("slash", &["libpear.so => //"]),
        see("dots", &["libpear.so"]),
        see("bin/alone", &["libpear.so => $PWD/bin/libpear.so"]),
        see("bin/up", &["libpear.so => $PWD/bin/../d/libpear.so"]),
        see("./bin/down", &["bin/../bin/../d/libpear.so"]),
    ]
}

fn program_reached_by_link(lab: &Lab) -> Targets {
    lib(lab, "real/lib/libpear.so", &[], "");
    each(lab, &[("real/prog", "$ORIGIN/lib")]);
    lab.link("../real/prog", "bin/prog");
    lab.link("real/prog", "prog");
    lib(lab, "lib/libpear.so", &[], "");
    vec![
        see("real/prog", &["libpear.so => $PWD/real/lib/libpear.so"]),
        see(
            "bin/prog",
            &["<2.42 libpear.so => not found", ">2.42 libpear.so => $PWD/real/lib/libpear.so"],
        ),
        see(
            "prog",
            &[
                "<2.42 libpear.so => $PWD/./lib/libpear.so",
                ">2.42 libpear.so => $PWD/real/lib/libpear.so",
            ],
        ),
    ]
}

fn program_in_linked_directory(lab: &Lab) -> Targets {
    lib(lab, "real/lib/libpear.so", &[], "");
    each(lab, &[("real/bin/prog", "$ORIGIN/../lib")]);
    lab.link("real/bin", "linked");
    lab.link("real", "tree");
    vec![
        // `linked/..` is a directory of the file system, so the kernel follows the link.
        see("linked/prog", &["libpear.so => $PWD/linked/../lib/libpear.so"]),
        see("tree/bin/prog", &["lib/libpear.so", "!not found"]),
    ]
}

fn program_reached_by_link_chain(lab: &Lab) -> Targets {
    lib(lab, "c/lib/libpear.so", &[], "");
    each(lab, &[("c/prog", "$ORIGIN/lib")]);
    lab.link("../c/prog", "b/prog");
    lab.link("../b/prog", "a/prog");
    lib(lab, "b/lib/libpear.so", &[], "");
    vec![see("a/prog", &["<2.42 not found"]), see("b/prog", &["<2.42 b/lib/libpear.so"])]
}

fn program_named_in_odd_ways(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    each(lab, &[("prog", "$ORIGIN/d"), ("x/prog", "$ORIGIN/../d")]);
    copy(lab, "prog", "-dash");
    copy(lab, "prog", "a name");
    let here = lab.path("prog");
    vec![
        see("./prog", &["libpear.so => $PWD/./d/libpear.so"]),
        see(".//prog", &["!not found"]),
        see("x/../prog", &["!not found"]),
        see("x//prog", &["!not found"]),
        see(here.to_str().expect("UTF-8"), &["libpear.so => $PWD/d/libpear.so"]),
        see("a name", &["!not found"]),
        see("./-dash", &["!not found"]),
    ]
}

fn library_reached_by_link(lab: &Lab) -> Targets {
    lib(lab, "real/libpear.so", &[], "");
    lib(lab, "real/libfig.so", &["real/libpear.so"], "runpath=$ORIGIN");
    lib(lab, "real/liboak.so", &["real/libpear.so"], "runpath=$ORIGIN");
    lab.link("../real/libfig.so", "d/libfig.so");
    lab.link("real", "whole");
    prog(lab, "prog", &["real/libfig.so"], "runpath=$PWD/d");
    prog(lab, "tree", &["real/liboak.so"], "runpath=$PWD/whole");
    vec![
        see("prog", &["libfig.so => $PWD/d/libfig.so", "libpear.so => not found"]),
        see("tree", &["libpear.so => $PWD/whole/libpear.so"]),
    ]
}

fn library_of_relative_directory(lab: &Lab) -> Targets {
    lib(lab, "d/e/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/e/libpear.so"], "runpath=$ORIGIN/e");
    prog(lab, "relative", &["d/libfig.so"], "runpath=./d");
    prog(lab, "through", &["d/libfig.so"], "runpath=d/e/..");
    lib(lab, "libkiwi.so", &["d/e/libpear.so"], "runpath=$ORIGIN/d/e");
    prog(lab, "empty", &["libkiwi.so"], "runpath=:");
    lib(lab, "stub/libkiwi.so", &[], "soname=./libkiwi.so");
    prog(lab, "by_path", &["stub/libkiwi.so"], "");
    vec![
        see("relative", &["libfig.so => ./d/libfig.so", "libpear.so => $PWD/./d/e/libpear.so"]),
        see("through", &["libpear.so => $PWD/d/e/../e/libpear.so"]),
        see("empty", &["\tlibkiwi.so\n", "libpear.so => $PWD/d/e/libpear.so"]),
        see("by_path", &["./libkiwi.so\n", "libpear.so => $PWD/./d/e/libpear.so"]),
    ]
}
