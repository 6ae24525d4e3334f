//! The text of a search list: how it is split, parts that are kept verbatim, and the expansion of
//! `$` words.

use super::kit::{Case, Targets, cases, lib, prog, run, see, so};
use crate::support::Lab;

#[test]
fn text_of_search_lists_and_names() {
    run("path text", CASES);
}

const CASES: &[Case] = cases![
    empty_elements,
    relative_elements,
    separators_that_are_none,
    slashes_and_dots_are_kept,
    the_same_directory_twice,
    slash_only_elements,
    lib_word,
    platform_word,
    words_that_are_no_dst,
    words_in_needed_names,
    words_in_soname,
    many_elements,
    bytes_that_are_not_text,
];

/// A program that needs `libpear.so`, once for every search list.
pub(crate) fn each(lab: &Lab, lists: &[(&str, &str)]) {
    lib(lab, "stub/libpear.so", &[], "");
    for (out, list) in lists {
        prog(lab, out, &["stub/libpear.so"], &format!("runpath={list}"));
    }
}

fn empty_elements(lab: &Lab) -> Targets {
    lib(lab, "libpear.so", &[], "");
    lib(lab, "d/libpear.so", &[], "");
    each(
        lab,
        &[("last", "/none:"), ("first", ":/none"), ("between", "/none::$PWD/d"), ("only", ":")],
    );
    each(lab, &[("after", "$PWD/d:"), ("twice", "::/none::")]);
    let here = "\tlibpear.so\n";
    vec![
        see("last", &[here]),
        see("first", &[here]),
        see("between", &[here]),
        see("only", &[here]),
        see("after", &["libpear.so => $PWD/d/libpear.so"]),
        see("twice", &[here]),
    ]
}

fn relative_elements(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d/libfig.so", &["d/libpear.so"], "rpath=d");
    each(
        lab,
        &[("bare", "d"), ("dot", "./d"), ("up", "e/../d"), ("here", ".:d"), ("sub/prog", "d")],
    );
    prog(lab, "chain", &["d/libfig.so"], "rpath=d/");
    lab.mkdir("e");
    vec![
        see("bare", &["libpear.so => d/libpear.so"]),
        see("dot", &["libpear.so => ./d/libpear.so"]),
        see("up", &["libpear.so => e/../d/libpear.so"]),
        see("here", &["libpear.so => d/libpear.so"]),
        see("sub/prog", &["libpear.so => d/libpear.so"]),
        see("chain", &["libpear.so => d/libpear.so"]),
    ]
}

fn separators_that_are_none(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    lib(lab, "d;e/libpear.so", &[], "");
    lib(lab, "a b/libpear.so", &[], "");
    lib(lab, "c,d/libpear.so", &[], "");
    lib(lab, "~/libpear.so", &[], "");
    each(lab, &[("semicolon", "/none;$PWD/d"), ("inside", "$PWD/d;e"), ("blank", "$PWD/a%20b")]);
    each(lab, &[("comma", "$PWD/c,d"), ("tilde", "~"), ("glob", "$PWD/*"), ("tail", "$PWD/d%20")]);
    let missing = "libpear.so => not found";
    vec![
        see("semicolon", &[missing]),
        see("inside", &["libpear.so => $PWD/d;e/libpear.so"]),
        see("blank", &["libpear.so => $PWD/a b/libpear.so"]),
        see("comma", &["libpear.so => $PWD/c,d/libpear.so"]),
        see("tilde", &["libpear.so => ~/libpear.so"]),
        see("glob", &[missing]),
        see("tail", &[missing]),
    ]
}

fn slashes_and_dots_are_kept(lab: &Lab) -> Targets {
    lib(lab, "d/e/libpear.so", &[], "");
    each(lab, &[("tail", "$PWD/d/e///"), ("inner", "$PWD//d///e"), ("dots", "$PWD/./d/../d/e/.")]);
    each(lab, &[("both", "$PWD/d//e//"), ("origin", "$ORIGIN//d/./e//"), ("lead", "//$PWD/d/e")]);
    vec![
        see("tail", &["libpear.so => $PWD/d/e/libpear.so"]),
        see("inner", &["libpear.so => $PWD//d///e/libpear.so"]),
        see("dots", &["libpear.so => $PWD/./d/../d/e/./libpear.so"]),
        see("both", &["libpear.so => $PWD/d//e/libpear.so"]),
        see("origin", &["//d/./e/libpear.so"]),
        see("lead", &["libpear.so => //$PWD/d/e/libpear.so"]),
    ]
}

fn the_same_directory_twice(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    each(
        lab,
        &[
            ("same", "$PWD/d:$PWD/d"),
            ("slash", "$PWD/none:$PWD/d/:$PWD/d"),
            ("up", "$PWD/x/../d:$PWD/d"),
        ],
    );
    vec![
        see("same", &["libpear.so => $PWD/d/libpear.so"]),
        see("slash", &["libpear.so => $PWD/d/libpear.so"]),
        see("up", &["libpear.so => $PWD/d/libpear.so"]),
    ]
}

fn slash_only_elements(lab: &Lab) -> Targets {
    // Names that exist below `/` as they would be looked up there.
    so(lab, "stub/root", "", "soname=etc");
    so(lab, "stub/path", "", "soname=lib/x86_64-linux-gnu/libutil.so.1");
    prog(lab, "slash", &[], "stub/root runpath=/");
    prog(lab, "slashes", &[], "stub/root runpath=///:$PWD");
    prog(lab, "not_searched", &[], "stub/path runpath=/");
    vec![
        see("slash", &["/etc: "]),
        see("slashes", &["/etc: "]),
        see("not_searched", &["lib/x86_64-linux-gnu/libutil.so.1 => not found"]),
    ]
}

/// The directories that `$LIB` may stand for.
const LIB_DIRS: &[&str] = &["lib", "lib64", "lib32", "lib/x86_64-linux-gnu", "lib/i386-linux-gnu"];

fn lib_word(lab: &Lab) -> Targets {
    for dir in LIB_DIRS {
        lib(lab, &format!("top/{dir}/libpear.so"), &[], "");
    }
    each(
        lab,
        &[
            ("plain", "$PWD/top/$LIB"),
            ("braces", "$PWD/top/${LIB}"),
            ("inside", "$PWD/top/$LIB/.."),
        ],
    );
    each(lab, &[("glued", "$PWD/top/x$LIB:$PWD/top/${LIB}x"), ("longer", "$PWD/top/$LIBRARY")]);
    for dir in LIB_DIRS {
        lib(lab, &format!("i386/{dir}/libpear.so"), &[], "-m32");
    }
    prog(lab, "small", &["i386/lib/libpear.so"], "-m32 runpath=$PWD/i386/$LIB");
    vec![
        see("plain", &["libpear.so => $PWD/top/lib"]),
        see("braces", &["libpear.so => $PWD/top/lib"]),
        see("inside", &["libpear.so"]),
        see("glued", &["libpear.so => not found"]),
        see("longer", &["libpear.so => not found"]),
        see("small", &["libpear.so => $PWD/i386/lib"]),
    ]
}

fn platform_word(lab: &Lab) -> Targets {
    for platform in ["x86_64", "haswell", "xeon_phi"] {
        lib(lab, &format!("p/{platform}/libpear.so"), &[], "");
    }
    each(
        lab,
        &[
            ("plain", "$PWD/p/$PLATFORM"),
            ("braces", "$PWD/p/${PLATFORM}/"),
            ("glued", "$PWD/p/$PLATFORMS"),
        ],
    );
    vec![
        see("plain", &["libpear.so => $PWD/p/"]),
        see("braces", &["libpear.so => $PWD/p/"]),
        see("glued", &["not found"]),
    ]
}

fn words_that_are_no_dst(lab: &Lab) -> Targets {
    let words = [
        "$FOO",
        "$ORIGINX",
        "$ORIGIN_",
        "$ORIGIN2",
        "$origin",
        "${ORIGIN",
        "$",
        "$$",
        "${}",
        "${FOO}",
        "$(ORIGIN)",
    ];
    let mut targets = Vec::new();
    for (index, word) in words.iter().enumerate() {
        lib(lab, &format!("w{index}/{word}/libpear.so"), &[], "");
        each(lab, &[(&format!("prog{index}"), &format!("w{index}/{word}"))]);
        let name = format!("prog{index}");
        targets.push(see(&name, &["libpear.so => w"]));
    }
    // The same words as real ones would be: nothing there.
    lib(lab, "d/libpear.so", &[], "");
    each(lab, &[("unknown", "$FOO/d:$ORIGINX/d:${ORIGIN/d:$origin/d")]);
    targets.push(see("unknown", &["libpear.so => not found"]));
    targets
}

fn words_in_needed_names(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    let mut targets = Vec::new();
    let names = [
        ("origin", "$ORIGIN/d/libpear.so", "$PWD/./d/libpear.so"),
        ("braces", "${ORIGIN}/d/libpear.so", "$PWD/./d/libpear.so"),
        ("unknown", "$FOO/libpear.so", "$FOO/libpear.so => not found"),
        ("dollar", "libpear$.so", "libpear$.so => not found"),
        ("lib", "$LIB", "lib"),
        ("platform", "lib$PLATFORM.so", ".so => not found"),
    ];
    for (out, name, shown) in names {
        lib(lab, "stub/libpear.so", &[], &format!("soname={name}"));
        prog(lab, out, &["stub/libpear.so"], "runpath=$PWD/d");
        targets.push(see(out, &[shown]));
    }
    // Two spellings of one name are equal after expansion.
    so(lab, "stub/one.so", "", "soname=$ORIGIN/d/libpear.so");
    so(lab, "stub/two.so", "", "soname=${ORIGIN}/d/libpear.so");
    prog(lab, "twice", &[], "stub/one.so stub/two.so");
    targets.push(see("./twice", &["$PWD/./d/libpear.so"]));
    targets
}

fn words_in_soname(lab: &Lab) -> Targets {
    // A SONAME is compared as it stands; the need is compared expanded.
    lib(lab, "d/libfig.so", &[], "soname=$ORIGIN/d/libfig.so");
    so(lab, "stub/libfig.so", "", "soname=libfig.so");
    prog(lab, "prog", &["d/libfig.so"], "runpath=$PWD/d");
    prog(lab, "both", &["stub/libfig.so", "d/libfig.so"], "runpath=$PWD/d");
    vec![see("prog", &["$PWD/./d/libfig.so"]), see("both", &["libfig.so => $PWD/d/libfig.so"])]
}

fn many_elements(lab: &Lab) -> Targets {
    lib(lab, "d/libpear.so", &[], "");
    let list: Vec<_> = (0..300).map(|index| format!("$PWD/none{index}")).collect();
    each(lab, &[("prog", &format!("{}:$PWD/d", list.join(":")))]);
    vec![see("prog", &["libpear.so => $PWD/d/libpear.so"])]
}

fn bytes_that_are_not_text(lab: &Lab) -> Targets {
    lib(lab, "d\u{fc}\u{2603}/libpear.so", &[], "");
    each(lab, &[("utf8", "$PWD/d\u{fc}\u{2603}")]);
    prog(lab, "colour", &["stub/libpear.so"], "runpath=$PWD/d\u{1b}[31m");
    vec![see("utf8", &["libpear.so => $PWD/d\u{fc}"]), see("colour", &["not found"])]
}
