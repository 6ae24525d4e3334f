//! Dependent libraries, which objects ask for and only lld adds to the link. Each case is linked by
//! lld 19, GNU ld and mold too.

use super::kit::{ar, archive, members, run, undefined};
use super::libraries::{check, code, shared};
use crate::support::{Lab, clean, has, skip};

/// Assembles an object that refers to `refers` and asks for `libraries`.
fn asking(lab: &Lab, name: &str, (defined, refers): (&str, &str), libraries: &[&str]) {
    let mut source = format!(".globl {defined}\n.type {defined},@function\n{defined}: nop\n");
    source += ".data\n";
    for name in refers.split_whitespace() {
        source += &format!(".quad {name}\n");
    }
    // SHT_LLVM_DEPENDENT_LIBRARIES: GNU as knows the type only as a number.
    source += ".section .deplibs,\"MS\",%0x6fff4c04,1\n";
    for library in libraries {
        source += &format!(".asciz \"{library}\"\n");
    }
    super::kit::object(lab, name, &source);
}

fn lab() -> Lab {
    let lab = Lab::new();
    code(&lab, "foo.o", "foo", "");
    code(&lab, "bar.o", "bar", "");
    code(&lab, "plain.o", "_start", "foo");
    code(&lab, "calls.o", "_start", "asks");
    asking(&lab, "one.o", ("_start", "foo"), &["foo"]);
    asking(&lab, "two.o", ("_start", "foo bar"), &["chain"]);
    asking(&lab, "idle.o", ("idle", ""), &["foo"]);
    asking(&lab, "asks.o", ("asks", "foo"), &["foo"]);
    asking(&lab, "chain.o", ("bar", ""), &["foo"]);
    asking(&lab, "file.o", ("_start", "foo"), &["lib.x"]);
    asking(&lab, "path.o", ("_start", "foo"), &["d/libfoo.a"]);
    asking(&lab, "colon.o", ("_start", "bar"), &["named"]);
    std::fs::create_dir(lab.path("d")).expect("a directory");
    std::fs::create_dir(lab.path("s")).expect("a directory");
    ar(&lab, "rc", "d/libfoo.a", &["foo.o"]);
    ar(&lab, "rc", "d/lib.x", &["foo.o"]);
    ar(&lab, "rc", "d/libchain.a", &["chain.o"]);
    ar(&lab, "rc", "libasks.a", &["asks.o"]);
    ar(&lab, "rcT", "libthin.a", &["asks.o"]);
    ar(&lab, "rc", "libidle.a", &["idle.o"]);
    shared(&lab, "s/libfoo.so", &["foo.o"]);
    lab.write("d/libnamed.so", "INPUT(bar.o)\n");
    lab
}

#[test]
fn only_lld_adds_dependent_libraries() {
    check(
        &lab(),
        &[
            ("lld", "one.o -L d", &[]),
            ("gnu", "one.o -L d", &["foo"]),
            ("mold", "one.o -L d", &["foo"]),
            ("lld", "one.o -L d --no-dependent-libraries", &["foo"]),
            ("lld", "one.o -L d --no-dependent-libraries --dependent-libraries", &[]),
            ("lld", "one.o -L s -L d", &[]),
            ("lld", "one.o -L s -L d -Bstatic", &[]),
            ("lld", "file.o -L d", &[]),
            ("lld", "path.o", &[]),
            ("lld", "colon.o -L d", &[]),
            // The library of a member counts only if the member is extracted.
            ("lld", "calls.o libasks.a -L d", &[]),
            ("lld", "calls.o libthin.a -L d", &[]),
            ("lld", "plain.o libidle.a -L d", &["foo"]),
            ("lld", "plain.o --whole-archive libidle.a -L d", &[]),
            ("lld", "plain.o --start-lib idle.o --end-lib -L d", &["foo"]),
            ("lld", "plain.o -u idle libidle.a -L d", &[]),
            // lld looks up the entry point when it reads no more libraries.
            ("lld", "plain.o -e idle libidle.a -L d", &["foo"]),
            // Dependent libraries may ask for others.
            ("lld", "two.o -L d", &[]),
        ],
    );
}

#[test]
fn dependent_libraries_come_last() {
    let lab = lab();
    code(&lab, "other.o", "foo", "");
    ar(&lab, "rc", "libother.a", &["other.o"]);
    let (answer, status) =
        archive(&lab.root(), &["one.o", "libother.a", "-L", "d", "--linker", "lld"]);
    assert_eq!((members(&answer), status), (vec!["libother.a(other.o)".to_owned()], Some(0)));
    let (answer, _) = archive(&lab.root(), &["one.o", "-L", "d", "--linker", "lld"]);
    assert_eq!(members(&answer), ["libfoo.a(foo.o)"]);
}

#[test]
fn absent_and_damaged_dependent_libraries_are_errors() {
    let lab = lab();
    let damaged =
        ".globl _start\n_start: nop\n.section .deplibs,\"MS\",%0x6fff4c04,1\n.ascii \"foo\"\n";
    super::kit::object(&lab, "damaged.o", damaged);
    for (line, theirs, ours) in [
        (
            "one.o",
            "unable to find library from dependent library specifier: foo",
            "library foo: not found",
        ),
        (
            "damaged.o -L d",
            "corrupted dependent libraries section",
            "dependent libraries is damaged",
        ),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = lab.linkaudit(&[&["archive", "--linker", "lld"], &words[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(ours), "{line}: {error}");
        if has("ld.lld-19") {
            let output = clean("ld.lld-19").current_dir(lab.root()).args(&words).output();
            let output = output.expect("lld runs");
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(!output.status.success() && error.contains(theirs), "{line}: {error}");
        }
    }
}

#[test]
fn dependent_libraries_of_bitcode() {
    if !has("llvm-as-19") {
        return skip("llvm-as-19", "it makes bitcode");
    }
    let lab = lab();
    let source = "target triple = \"x86_64-unknown-linux-gnu\"\n\
        target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
        declare void @foo()\ndefine void @asks() {\n call void @foo()\n ret void\n}\n\
        !llvm.dependent-libraries = !{!0}\n!0 = !{!\"foo\"}\n";
    lab.write("asks.ll", source);
    run(clean("llvm-as-19").current_dir(lab.root()).args(["asks.ll", "-o", "asks.bc"]));
    ar(&lab, "rc", "libbitcode.a", &["asks.bc"]);
    let words = ["calls.o", "libbitcode.a", "-L", "d"];
    let (answer, _) = archive(&lab.root(), &[&["--linker", "lld"], &words[..]].concat());
    assert!(undefined(&answer).is_empty(), "{answer}");
    assert_eq!(members(&answer), ["libbitcode.a(asks.bc)", "libfoo.a(foo.o)"]);
    if has("ld.lld-19") {
        run(clean("ld.lld-19").current_dir(lab.root()).args(words).args(["-o", "out"]));
    }
}
