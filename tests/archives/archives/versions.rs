//! Version scripts, as options and in linker scripts. Each case is linked by lld 19, GNU ld and mold
//! too.

use super::kit::has_linker;
use super::libraries::{LINKERS, code};
use crate::support::{Lab, clean};

/// The exit status for a link without undefined names.
const NONE: i32 = 0;
/// The exit status for undefined names.
const SOME: i32 = 1;
/// The exit status for a link that the linker refuses.
const REFUSED: i32 = 2;

fn lab() -> Lab {
    let lab = Lab::new();
    code(&lab, "m.o", "_start foo _ZN1a1fEv", "");
    super::kit::object(
        &lab,
        "old.o",
        ".globl bar_old\nbar_old: nop\n.symver bar_old, bar@V1, remove\n",
    );
    lab
}

/// Compares the exit statuses for a version script. `expected` are those of linkaudit for lld, GNU
/// ld and mold.
#[track_caller]
fn same(lab: &Lab, script: &str, expected: [i32; 3]) {
    for end in ["--version-script=v.map", "v.ld"] {
        same_in(lab, (script, end), expected);
    }
}

/// Like [`same`], for a script in one file.
#[track_caller]
fn same_in(lab: &Lab, (script, end): (&str, &str), expected: [i32; 3]) {
    // Linkers refuse an object with a version that the script does not define.
    let object = if script.contains("bar") { "old.o" } else { "m.o" };
    lab.write("v.map", script);
    lab.write("v.ld", format!("VERSION {{ {script} }}"));
    for ((program, linker), expected) in LINKERS.iter().zip(expected) {
        let words = ["-shared", object, end];
        let output = lab.linkaudit(&[&["archive", "--linker", linker], &words[..]].concat());
        let text = String::from_utf8_lossy(&output.stderr);
        assert_eq!(output.status.code(), Some(expected), "{linker} {end} {script}: {text}");
        if has_linker(program) {
            let mut command = clean(program);
            let command = command.current_dir(lab.root()).args(words).args(["-o", "out"]);
            let output = command.output().expect("a linker runs");
            let text = String::from_utf8_lossy(&output.stderr);
            let is_linked = output.status.success();
            assert_eq!(is_linked, expected == NONE, "{program} {end} {script}: {text}");
        }
    }
}

#[test]
fn lld_needs_definitions_of_exact_names() {
    let lab = lab();
    for script in [
        "{ global: absent; local: *; };",
        "{ local: absent; };",
        "{ \"absent\"; };",
        "{ extern \"C\" { absent; }; };",
        "{ extern \"C\" { \"abs*\" }; };",
        "V1 { foo; }; V2 { absent; } V1;",
    ] {
        same(&lab, script, [SOME, NONE, NONE]);
    }
    for script in [
        "{ global: foo; local: *; };",
        "{ absent*; \"abs*nt\"; abs[e]nt; };",
        "V1 { global: foo; local: *; }; V2 { _start; } V1;",
        // The old version of a name is enough.
        "V1 { bar; };",
    ] {
        same(&lab, script, [NONE; 3]);
    }
    same(&lab, "V1 { }; V2 { bar; };", [SOME, NONE, NONE]);
}

#[test]
fn names_of_cpp_are_assumed_to_be_defined() {
    let lab = lab();
    for script in ["{ extern \"C++\" { \"a::f()\"; }; };", "{ extern \"C++\" { a::*; }; };"] {
        same(&lab, script, [NONE; 3]);
    }
    lab.write("v.map", "{ extern \"C++\" { b::*; \"b::g()\"; }; };");
    let words = ["archive", "--linker", "lld", "-shared", "m.o", "--version-script=v.map"];
    let output = lab.linkaudit(&words);
    let text = String::from_utf8_lossy(&output.stderr);
    assert!(text.contains("b::g() of extern \"C++\" is assumed to have a definition"), "{text}");
}

#[test]
fn scripts_that_linkers_refuse() {
    let lab = lab();
    for (script, expected) in [
        ("{ foo; local: *; };", [NONE, REFUSED, NONE]),
        ("{ local: *; global: foo; };", [NONE, REFUSED, NONE]),
        ("V1 { foo; } V0;", [NONE, REFUSED, NONE]),
        ("V1 { foo; }; V1 { };", [NONE, REFUSED, NONE]),
    ] {
        same(&lab, script, expected);
    }
}

/// Each linker has a grammar of its own for version scripts.
#[test]
fn scripts_that_linkers_cannot_read() {
    let lab = lab();
    for script in [
        "{ foo; }",
        "{ foo@V; };",
        "{ foo _start; };",
        "{ foo, _start; };",
        "{ extern \"D\" { foo; }; };",
        "V1 { foo(int); };",
        "V1 { foo; /* };",
    ] {
        same(&lab, script, [REFUSED; 3]);
    }
    for (script, expected) in [
        ("{ foo };", [REFUSED, REFUSED, NONE]),
        ("V1 { foo; }; { _start; };", [REFUSED, REFUSED, NONE]),
        ("V1 { foo;; };", [REFUSED, REFUSED, NONE]),
        ("V1 { extern \"Java\" { foo; }; };", [REFUSED, NONE, REFUSED]),
        ("V1 { }; V2 { foo; } V1 V1;", [REFUSED, NONE, REFUSED]),
        ("V1 { local: foo; }; V2 { foo; };", [NONE, REFUSED, NONE]),
        ("V1 { local: f*; }; V2 { f*; };", [NONE, REFUSED, NONE]),
        ("V1 { global:foo; };", [SOME, NONE, NONE]),
    ] {
        same(&lab, script, expected);
    }
    // GNU ld skips other characters, except in an input.
    for (end, of_gnu) in [("--version-script=v.map", NONE), ("v.ld", REFUSED)] {
        same_in(&lab, ("V1 { foo&; };", end), [REFUSED, of_gnu, REFUSED]);
        same_in(&lab, ("\"V1\" { foo; };", end), [NONE, of_gnu, NONE]);
    }
}
