//! What only lld 19 has: its tables, and rules for links with bitcode. Each case is linked by lld
//! too.

use super::kit::{ar, archive, object, run, undefined, unknown};
use crate::support::{Lab, clean, has, skip};
use std::collections::BTreeSet;

const LLD: &str = "ld.lld-19";
const MODULE: &str = "target triple = \"x86_64-unknown-linux-gnu\"\n\
    target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n";

/// Assembles bitcode.
fn bitcode(lab: &Lab, name: &str, source: &str) {
    let file = lab.write(&format!("{name}.ll"), format!("{MODULE}{source}"));
    run(clean("llvm-as-19").current_dir(lab.root()).arg("-o").arg(name).arg(&file));
}

/// Links with lld; returns its exit status and messages.
fn link(lab: &Lab, words: &[&str]) -> (bool, String) {
    let mut command = clean(LLD);
    let output = command.current_dir(lab.root()).args(["-o", "out"]).args(words).output();
    let output = output.expect("lld runs");
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Compares both tables with those of lld.
#[track_caller]
fn same_tables(lab: &Lab, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    let (links, error) =
        link(lab, &[&["--why-extract=why", "--print-archive-stats=stats"], &*words].concat());
    assert!(links, "{line}: {error}");
    let tables = ["--why-extract", "our-why", "--archive-stats", "our-stats"];
    let args = [&["archive", "--linker", "lld"], &*words, &tables].concat();
    lab.linkaudit(&args);
    let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect("a table");
    assert_eq!(read("our-why"), read("why"), "{line}");
    assert_eq!(read("our-stats"), read("stats"), "{line}");
}

/// Archives under `--whole-archive` have no line, a default version is part of a name, and members
/// of thin archives have the names of the archive.
#[test]
fn tables_are_those_of_lld() {
    if !has(LLD) {
        return skip("tables_are_those_of_lld", "there is no ld.lld-19");
    }
    let lab = Lab::new();
    object(&lab, "m.o", ".globl _start\n_start: call foo\n");
    object(&lab, "v.o", ".globl _start\n_start: call _Z3barv\n call foo\n");
    std::fs::create_dir(lab.path("sub")).expect("a directory");
    object(&lab, "foo.o", ".globl foo\nfoo: ret\n");
    object(&lab, "sub/foo.o", ".globl foo\nfoo: ret\n");
    object(&lab, "bar.o", ".globl bar_\nbar_: ret\n.symver bar_,_Z3barv@@V1,remove\n");
    for (letters, name, members) in [
        ("rc", "w.a", &["foo.o"][..]),
        ("rc", "b.a", &["bar.o"]),
        ("rcT", "t.a", &["foo.o", "bar.o"]),
        ("rcT", "sub/t.a", &["sub/foo.o"]),
    ] {
        ar(&lab, letters, name, members);
    }
    lab.write("versions", "V1 { };\n");
    let mut lines = vec![
        "m.o --whole-archive w.a",
        "m.o --whole-archive w.a --no-whole-archive b.a",
        "m.o --whole-archive w.a --no-whole-archive w.a b.a",
        "m.o --start-lib foo.o --end-lib b.a",
        "m.o t.a",
        "m.o sub/t.a",
        "m.o ./sub/t.a",
        "m.o --whole-archive t.a",
        "m.o b.a b.a w.a",
        "--no-demangle v.o b.a w.a --version-script=versions",
        "--no-demangle v.o t.a --version-script=versions",
    ];
    if has("llvm-as-19") {
        bitcode(&lab, "sub/foo.bc", "define void @foo() {\n  ret void\n}\n");
        run(clean("llvm-ar-19").current_dir(lab.root()).args(["rcT", "sub/b.a", "sub/foo.bc"]));
        lines.push("m.o sub/b.a");
    }
    for line in lines {
        same_tables(&lab, line);
    }
}

/// If a link has bitcode, lld links the members in bitcode that define a function which generated
/// code may call.
#[test]
fn members_for_generated_code() {
    if !has(LLD) || !has("llvm-as-19") {
        return skip("members_for_generated_code", "llvm-19 is not installed");
    }
    let lab = Lab::new();
    object(&lab, "n.o", ".globl _start\n_start: ret\n");
    object(&lab, "w.o", ".globl _start\n_start: call foo\n");
    object(&lab, "sqrt.o", ".globl sqrt\nsqrt: ret\n");
    let function = |name: &str| format!("define void @{name}() {{\n  ret void\n}}\n");
    bitcode(&lab, "s.bc", &function("_start"));
    bitcode(&lab, "wrap.bc", &function("__wrap_foo"));
    bitcode(&lab, "ent.bc", &function("ent"));
    bitcode(
        &lab,
        "inner.bc",
        "define void @sqrt() {\n  call void @inner()\n  ret void\n}\ndeclare void @inner()\n",
    );
    bitcode(&lab, "def.bc", &function("inner"));
    let names = [
        "memcpy",
        "calloc",
        "sincos",
        "sinf128",
        "__addtf3",
        "__multi3",
        "__powf_finite",
        "strlen",
        "malloc",
        "puts",
        "__powikf2",
        "__muloti4",
        "__addkf3",
        "__extendkftf2",
    ];
    let members: Vec<String> = names.iter().map(|name| format!("{name}.bc")).collect();
    for (name, member) in names.iter().zip(&members) {
        bitcode(&lab, member, &function(name));
    }
    let members: Vec<&str> = members.iter().map(String::as_str).collect();
    let archive = |name: &str, members: &[&str]| {
        let mut ar = clean("llvm-ar-19");
        run(ar.current_dir(lab.root()).args(["rc", name]).args(members));
    };
    archive("l.a", &["inner.bc", "def.bc", "ent.bc", "wrap.bc"]);
    archive("many.a", &members);
    archive("sqrt.a", &["sqrt.o"]);
    for line in [
        "s.bc l.a",
        "n.o s.bc l.a --allow-multiple-definition",
        "n.o l.a",
        "n.o l.a -e ent",
        "n.o l.a --defsym=x=ent",
        "n.o l.a -u ent",
        "w.o l.a --wrap=foo",
        "s.bc sqrt.a l.a",
        "s.bc l.a sqrt.a",
        "s.bc many.a",
        "n.o s.bc many.a --allow-multiple-definition",
        "-shared n.o ent.bc many.a l.a",
    ] {
        same_tables(&lab, line);
    }
}

/// LTO drops copies of functions of other files, and functions that `--defsym` replaces.
#[test]
fn references_that_lto_drops() {
    if !has(LLD) || !has("llvm-as-19") {
        return skip("references_that_lto_drops", "llvm-19 is not installed");
    }
    let lab = Lab::new();
    let copy = "define available_externally void @zed() noinline {\n  call void @nosuch()\n  ret void\n}\n\
        declare void @nosuch()\ndefine void @foo() {\n  call void @zed()\n  ret void\n}\n";
    bitcode(&lab, "copy.bc", copy);
    let body =
        "define void @bar() {\n  call void @nosuch()\n  ret void\n}\ndeclare void @nosuch()\n";
    bitcode(&lab, "body.bc", body);
    object(&lab, "z.o", ".globl zed\nzed: ret\n");
    for (line, links) in [
        ("-shared -z defs copy.bc z.o", true),
        ("-shared -z defs body.bc z.o --defsym=bar=zed", true),
        ("-shared -z defs body.bc z.o", false),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!(link(&lab, &words).0, links, "{line}");
        let (answer, status) =
            archive(&lab.root(), &[&["-q", "--linker", "lld"], &*words].concat());
        assert_eq!(undefined(&answer), BTreeSet::new(), "{line}: {answer}");
        assert_eq!(unknown(&answer), BTreeSet::from(["nosuch".to_owned()]), "{line}: {answer}");
        assert_eq!(status, Some(3), "{line}");
    }
}
