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
    // Linkers refuse an object with a version that the script does not define.
    let object = if script.contains("bar") { "old.o" } else { "m.o" };
    lab.write("v.map", script);
    lab.write("v.ld", format!("VERSION {{ {script} }}"));
    for ((program, linker), expected) in LINKERS.iter().zip(expected) {
        for end in ["--version-script=v.map", "v.ld"] {
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
    for script in ["{ foo; }", "{ foo@V; };", "{ foo bar; };", "{ extern \"D\" { foo; }; };"] {
        lab.write("v.map", script);
        let words = ["archive", "--linker", "lld", "-shared", "m.o", "--version-script=v.map"];
        let output = lab.linkaudit(&words);
        let text = String::from_utf8_lossy(&output.stderr);
        let is_refused = text.contains("lld refuses the version script");
        assert!(output.status.code() == Some(REFUSED) && is_refused, "{script}: {text}");
        if has_linker("ld.lld-19") {
            let mut command = clean("ld.lld-19");
            let command = command.current_dir(lab.root()).args(&words[3..]);
            let output = command.output().expect("lld runs");
            assert!(!output.status.success(), "{script}");
        }
        let words = words.map(|word| if word == "lld" { "gnu" } else { word });
        let text = String::from_utf8_lossy(&lab.linkaudit(&words).stderr).into_owned();
        assert!(text.contains("GNU ld is assumed to accept it"), "{script}: {text}");
    }
}
