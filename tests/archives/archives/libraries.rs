//! Links with shared objects: the names that these and their needed libraries define, and their own
//! undefined names. Each case is linked by lld 19, GNU ld and mold too.

use super::kit::{archive, has_linker, object, run, undefined};
use crate::support::{Lab, clean, has};
use std::collections::BTreeSet;

/// The linkers: the program, and its name for `--linker`.
pub(super) const LINKERS: [(&str, &str); 3] =
    [("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")];

/// Beginnings of the names in messages of linkers.
const STARTS: [&str; 10] = [
    "undefined reference to symbol ",
    "undefined reference to ",
    "undefined reference: ",
    "undefined symbol",
    "symbol not found: ",
    "unresolvable symbol ",
    "non-exported symbol ",
    "hidden symbol ",
    "internal symbol ",
    "local symbol ",
];

/// A linker, the words of its line, and the names that stay undefined.
pub(super) type Case<'c> = (&'c str, &'c str, &'c [&'c str]);

/// The undefined names in the messages of a linker. The names are separated by quotes or spaces.
pub(super) fn theirs(lab: &Lab, program: &str, words: &[&str]) -> BTreeSet<String> {
    let mut command = clean(program);
    let command = command.current_dir(lab.root()).args(["-z", "defs", "-o", "out"]).args(words);
    let output = command.output().expect("a linker runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let name = |line: &str| {
        let rest = STARTS.iter().find_map(|start| line.split_once(start))?.1;
        rest.split(['`', '\'', ' ', ':']).find(|word| !word.is_empty()).map(str::to_owned)
    };
    let names: BTreeSet<String> = text.lines().filter_map(name).collect();
    assert_eq!(output.status.success(), names.is_empty(), "{program} {words:?}: {text}");
    names
}

/// Compares the answers with those of the linkers.
#[track_caller]
pub(super) fn check(lab: &Lab, cases: &[Case<'_>]) {
    for (only, line, expected) in cases {
        let words: Vec<&str> = line.split(' ').collect();
        let expected: BTreeSet<String> = expected.iter().map(|name| (*name).to_owned()).collect();
        for (program, linker) in LINKERS.iter().filter(|(_, name)| ["all", name].contains(only)) {
            let (answer, _) = archive(&lab.root(), &[&["--linker", linker], &words[..]].concat());
            assert_eq!(undefined(&answer), expected, "{linker} {line}: {answer}");
            if has_linker(program) {
                let options = words.iter().map(|word| match *word {
                    "--pie" => "-pie",
                    "--shared" => "-shared",
                    word => word,
                });
                let options: Vec<&str> = options.collect();
                assert_eq!(theirs(lab, program, &options), expected, "{program} {line}");
            }
        }
    }
}

/// Makes the shared object `name` from an object and libraries that it needs.
pub(super) fn shared(lab: &Lab, name: &str, parts: &[&str]) {
    let options = ["-shared", "-rpath", "$ORIGIN", "-o", name];
    run(clean("ld").current_dir(lab.root()).args(options).args(parts));
}

/// An object that defines functions and refers to other names.
pub(super) fn code(lab: &Lab, name: &str, defined: &str, refers: &str) {
    let mut source = String::new();
    for name in defined.split_whitespace() {
        source += &format!(".globl {name}\n.type {name},@function\n{name}: nop\n");
    }
    source += ".data\n";
    for name in refers.split_whitespace() {
        source += &format!(".quad {name}\n");
    }
    object(lab, name, &source);
}

/// GNU ld says "DSO missing from command line", and a hint names the library.
#[test]
fn needed_libraries_of_inputs_define_nothing() {
    let lab = Lab::new();
    code(&lab, "foo.o", "foo", "");
    code(&lab, "bar.o", "bar", "foo");
    code(&lab, "case.o", "_start", "foo bar");
    shared(&lab, "libfoo.so", &["foo.o"]);
    shared(&lab, "libbar.so", &["bar.o", "libfoo.so"]);
    check(
        &lab,
        &[
            ("all", "case.o libbar.so", &["foo"]),
            ("all", "--pie case.o libbar.so", &["foo"]),
            ("all", "--shared case.o libbar.so", &["foo"]),
            ("all", "case.o libbar.so libfoo.so", &[]),
        ],
    );
    let output = lab.linkaudit(&["archive", "--linker", "gnu", "case.o", "libbar.so"]);
    let text = String::from_utf8_lossy(&output.stdout);
    assert!(text.contains("foo in libfoo.so: not an input of the link"), "{text}");
    // Without a link, the libraries of an object that is linked already define names.
    super::kit::ar(&lab, "rc", "empty.a", &["foo.o"]);
    let (answer, _) = archive(&lab.root(), &["empty.a", "--root-object", "libbar.so"]);
    assert!(undefined(&answer).is_empty() && super::kit::members(&answer).is_empty(), "{answer}");
}

/// lld checks a shared object whose needed libraries are inputs, and GNU ld reads needed libraries.
/// A shared output needs an option for that, and mold never checks.
#[test]
fn undefined_names_of_shared_objects_count_in_programs() {
    let lab = Lab::new();
    code(&lab, "dep.o", "dep", "");
    code(&lab, "foo.o", "foo", "");
    code(&lab, "user.o", "user", "foo");
    object(&lab, "weak.o", ".globl user\nuser: nop\n.weak foo\n.data\n.quad foo\n");
    object(&lab, "maybe.o", ".globl _start\n_start: nop\n.weak foo\n.data\n.quad foo, user\n");
    code(&lab, "case.o", "_start", "user");
    code(&lab, "main.o", "_start foo", "user");
    shared(&lab, "libdep.so", &["dep.o"]);
    shared(&lab, "libuser.so", &["user.o"]);
    shared(&lab, "libweak.so", &["weak.o"]);
    shared(&lab, "libdepuser.so", &["user.o", "libdep.so"]);
    shared(&lab, "libfoo.so", &["foo.o"]);
    shared(&lab, "libfoouser.so", &["user.o", "libfoo.so"]);
    super::kit::ar(&lab, "rc", "foo.a", &["foo.o"]);
    check(
        &lab,
        &[
            ("lld", "case.o libuser.so", &["foo"]),
            ("gnu", "case.o libuser.so", &["foo"]),
            ("mold", "case.o libuser.so", &[]),
            ("lld", "--pie case.o libuser.so", &["foo"]),
            ("gnu", "--pie case.o libuser.so", &["foo"]),
            ("all", "--shared case.o libuser.so", &[]),
            ("lld", "--shared --no-allow-shlib-undefined case.o libuser.so", &["foo"]),
            ("gnu", "--unresolved-symbols=report-all --shared case.o libuser.so", &["foo"]),
            ("mold", "--shared --no-allow-shlib-undefined case.o libuser.so", &[]),
            ("all", "--allow-shlib-undefined case.o libuser.so", &[]),
            (
                "lld",
                "--allow-shlib-undefined --unresolved-symbols=report-all case.o libuser.so",
                &["foo"],
            ),
            (
                "gnu",
                "--unresolved-symbols=ignore-in-shared-libs --unresolved-symbols=report-all \
                 case.o libuser.so",
                &["foo"],
            ),
            ("all", "case.o libweak.so", &[]),
            ("all", "main.o libuser.so", &[]),
            ("all", "case.o libuser.so foo.a", &[]),
            ("lld", "case.o foo.a libuser.so", &[]),
            ("gnu", "case.o foo.a libuser.so", &["foo"]),
            ("all", "case.o libuser.so libfoo.so", &[]),
            ("all", "--defsym=foo=0 case.o libuser.so", &[]),
            // A weak reference of an object makes the name weak in lld, and strong in GNU ld.
            ("lld", "maybe.o libuser.so", &[]),
            ("gnu", "maybe.o libuser.so", &["foo"]),
            // Needed libraries.
            ("all", "case.o libfoouser.so", &[]),
            ("lld", "case.o libdepuser.so", &[]),
            ("gnu", "case.o libdepuser.so", &["foo"]),
            ("lld", "case.o libdepuser.so libdep.so", &["foo"]),
            ("gnu", "case.o libdepuser.so libdep.so", &["foo"]),
        ],
    );
}

/// GNU ld finds members by the index of an archive alone, and refuses an archive without one.
#[test]
fn gnu_ld_reads_only_indexes() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "foo");
    code(&lab, "foo.o", "foo", "");
    for (letters, name, members) in [
        ("rc", "good.a", &["foo.o"][..]),
        ("rcS", "none.a", &["foo.o"]),
        ("rcT", "thin.a", &["foo.o"]),
        ("rcTS", "barethin.a", &["foo.o"]),
        ("rc", "empty.a", &[]),
    ] {
        super::kit::ar(&lab, letters, name, members);
    }
    let mut stale = std::fs::read(lab.path("good.a")).expect("an archive");
    let at = stale.windows(4).position(|name| name == b"foo\0").expect("the index");
    stale[at] = b'x';
    lab.write("stale.a", stale);
    for (line, taken) in [
        ("m.o good.a", true),
        ("m.o none.a", false),
        ("m.o foo.o none.a", false),
        ("m.o --whole-archive none.a", true),
        ("m.o thin.a", true),
        ("m.o barethin.a", false),
        ("m.o foo.o empty.a", true),
        ("m.o stale.a", false),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let mut link = clean("ld");
        let link = link.current_dir(lab.root()).args(["-o", "out"]).args(&words);
        assert_eq!(link.output().expect("ld runs").status.success(), taken, "{line}");
        let (answer, status) = archive(&lab.root(), &[&["--linker", "gnu"], &words[..]].concat());
        assert_eq!(status, Some(i32::from(!taken)), "{line}: {answer}");
        let refused = answer["unindexed"].as_array().expect("unindexed").len();
        assert_eq!(refused, usize::from(!taken && line != "m.o stale.a"), "{line}: {answer}");
        let (answer, status) = archive(&lab.root(), &[&["--linker", "lld"], &words[..]].concat());
        assert_eq!(status, Some(0), "{line}: {answer}");
    }
    let said = |file| lab.linkaudit(&["archive", "--linker", "gnu", "m.o", file]).stdout;
    let none = String::from_utf8_lossy(&said("none.a")).into_owned();
    assert!(none.contains("none.a: archive has no index: GNU ld refuses it\nhelp: add"), "{none}");
    let stale = String::from_utf8_lossy(&said("stale.a")).into_owned();
    assert!(stale.contains("stale.a(foo.o): the index of the archive lacks it"), "{stale}");
}

/// `ar` without the plugin of GCC lists no symbols of objects that have only intermediate language.
#[test]
fn indexes_lack_symbols_of_lto_objects() {
    if !has("gcc-ar") {
        return crate::support::skip("indexes_lack_symbols_of_lto_objects", "there is no gcc-ar");
    }
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "foo");
    lab.write("foo.c", "int foo(void) { return 1; }\n");
    let options = ["-O1", "-flto", "-fno-fat-lto-objects", "-c", "foo.c"];
    run(clean("gcc").current_dir(lab.root()).args(options));
    run(clean("gcc-ar").current_dir(lab.root()).args(["rc", "good.a", "foo.o"]));
    let plain = ["--plugin", "/nonexistent", "rc", "plain.a", "foo.o"];
    run(clean("ar").current_dir(lab.root()).args(plain));
    for (file, taken) in [("good.a", true), ("plain.a", false)] {
        let mut link = clean("gcc");
        let options = ["-flto", "-nostdlib", "-static", "-o", "out", "m.o", file];
        let output = link.current_dir(lab.root()).args(options).output().expect("gcc runs");
        assert_eq!(output.status.success(), taken, "{file}");
        let (answer, _) = archive(&lab.root(), &["--linker", "gnu", "m.o", file]);
        assert_eq!(undefined(&answer).is_empty(), taken, "{file}: {answer}");
        assert_eq!(answer["unindexed"].as_array().map(Vec::len), Some(0), "{answer}");
    }
}

/// Code generation of LTO refers to names that no symbol table has. The answer is certain if the C
/// library is linked.
#[test]
fn code_generation_adds_references() {
    if !has("gcc-ar") {
        return crate::support::skip("code_generation_adds_references", "there is no gcc-ar");
    }
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "foo");
    code(&lab, "c.o", "memcpy strlen puts", "");
    code(&lab, "more.o", "memcpy strlen puts", "nosuch");
    let source = "#include <stdio.h>\n#include <string.h>\nstatic char b[9999];\n\
        int foo(char *p, unsigned n) { memcpy(b, p, n); printf(\"%s\\n\", b); return strlen(p); }\n";
    lab.write("foo.c", source);
    let options = ["-O1", "-flto", "-fno-fat-lto-objects", "-c", "foo.c"];
    run(clean("gcc").current_dir(lab.root()).args(options));
    run(clean("gcc-ar").current_dir(lab.root()).args(["rc", "foo.a", "foo.o"]));
    super::kit::ar(&lab, "rc", "more.a", &["more.o"]);
    shared(&lab, "libc.so", &["c.o"]);
    for (line, links, complete) in [
        ("m.o foo.a", false, false),
        ("m.o foo.a more.a", false, false),
        ("m.o c.o foo.a", true, true),
        ("m.o foo.a libc.so", true, true),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let mut link = clean("gcc");
        let link =
            link.current_dir(lab.root()).args(["-flto", "-nostdlib", "-no-pie", "-o", "out"]);
        let output = link.args(&words).output().expect("gcc runs");
        assert_eq!(output.status.success(), links, "{line}");
        let (answer, status) = archive(&lab.root(), &[&["--linker", "gnu"], &words[..]].concat());
        assert!(undefined(&answer).is_empty(), "{line}: {answer}");
        assert_eq!(
            (&answer["complete"], &answer["lto"]),
            (&complete.into(), &1.into()),
            "{answer}"
        );
        assert_eq!(status, Some(if complete { 0 } else { 3 }), "{line}: {answer}");
    }
    let said = lab.linkaudit(&["archive", "--linker", "gnu", "m.o", "foo.a"]).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    assert!(said.contains("as far as known: ") && said.contains("1 LTO object: code"), "{said}");
}

/// LTO drops unused functions of a program with their references. A shared object keeps them.
#[test]
fn lto_may_drop_references() {
    if !has("gcc-ar") {
        return crate::support::skip("lto_may_drop_references", "there is no gcc-ar");
    }
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "foo");
    let source = "int nosuch(void);\nint unused(void) { return nosuch(); }\n\
        int foo(void) { return 1; }\n";
    lab.write("foo.c", source);
    let options = ["-O1", "-fPIC", "-flto", "-fno-fat-lto-objects", "-c", "foo.c"];
    run(clean("gcc").current_dir(lab.root()).args(options));
    run(clean("gcc-ar").current_dir(lab.root()).args(["rc", "foo.a", "foo.o"]));
    for (ours, theirs, links) in [(&[][..], "-no-pie", true), (&["--shared"], "-shared", false)] {
        let mut link = clean("gcc");
        let options =
            ["-O1", "-flto", "-nostdlib", "-Wl,-z,defs", "-o", "out", theirs, "m.o", "foo.a"];
        let output = link.current_dir(lab.root()).args(options).output().expect("gcc runs");
        assert_eq!(output.status.success(), links, "{theirs}");
        let (answer, status) =
            archive(&lab.root(), &[&["--linker", "gnu", "m.o", "foo.a"], ours].concat());
        assert_eq!(undefined(&answer), BTreeSet::new(), "{answer}");
        assert_eq!(answer["unknown"].as_array().map(Vec::len), Some(1), "{answer}");
        assert_eq!(status, Some(3), "{answer}");
    }
    let said = lab.linkaudit(&["archive", "--linker", "gnu", "m.o", "foo.a"]).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let expected = "unknown   nosuch: no archive defines it, and LTO may drop the references\n";
    assert!(said.contains(expected), "{said}");
}

/// Names that GNU ld defines, alone or for a section.
#[test]
fn names_that_gnu_ld_defines() {
    let lab = Lab::new();
    code(&lab, "z.o", "_start", "__tdata_start .startof..text .sizeof.absent __dso_handle");
    code(&lab, "begin.o", "__dso_handle", "");
    check(
        &lab,
        &[
            ("gnu", "begin.o z.o", &[".sizeof.absent"]),
            ("gnu", "z.o", &[".sizeof.absent", "__dso_handle"]),
            ("gnu", "--shared begin.o z.o", &["__tdata_start", ".sizeof.absent"]),
            ("lld", "z.o", &["__tdata_start", ".startof..text", ".sizeof.absent"]),
        ],
    );
}

/// Options that affect the libraries after them, in the spellings of linkers.
#[test]
fn options_about_libraries() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "f");
    code(&lab, "f.o", "f", "good");
    code(&lab, "good.o", "good", "");
    code(&lab, "static.o", "good", "absent");
    code(&lab, "bad.o", "bad", "nosuch");
    shared(&lab, "libgood.so", &["good.o"]);
    for (archive, member) in [("libf.a", "f.o"), ("libgood.a", "static.o"), ("bad.a", "bad.o")] {
        super::kit::ar(&lab, "rc", archive, &[member]);
    }
    check(
        &lab,
        &[
            ("all", "m.o -L. libf.a -lgood", &[]),
            ("all", "m.o -L. libf.a -Bstatic -lgood", &["absent"]),
            ("all", "m.o -L. libf.a -Bstatic -Bdynamic -lgood", &[]),
            ("lld", "m.o -L. libf.a --push-state -Bstatic --pop-state -lgood", &[]),
            ("gnu", "m.o -L. libf.a --push-state -Bstatic --pop-state -lgood", &[]),
            ("mold", "m.o -L. libf.a --push-state -Bstatic --pop-state -lgood", &["absent"]),
            ("gnu", "m.o -L. --as-needed -lgood libf.a", &["good"]),
            ("lld", "m.o -L. --as-needed -lgood libf.a", &[]),
            ("mold", "m.o -L. --as-needed -lgood libf.a", &[]),
            ("all", "m.o -L. --as-needed --no-as-needed -lgood libf.a", &[]),
            (
                "gnu",
                "m.o -L. --as-needed --push-state --no-as-needed -lgood --pop-state libf.a",
                &[],
            ),
            ("all", "m.o -L. -( libf.a -lgood -)", &[]),
            ("all", "m.o -L. libf.a -lgood -whole-archive bad.a -no-whole-archive", &["nosuch"]),
        ],
    );
    let output = lab.linkaudit(&["archive", "m.o", "libf.a", "--pop-state"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("--pop-state without --push-state"), "{error}");
}

/// For GNU ld, only objects need a library of `--as-needed`, and no option does. A common symbol
/// needs its data.
#[test]
fn options_need_no_library() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "");
    code(&lab, "good.o", "good", "");
    code(&lab, "use.o", "use", "good");
    code(&lab, "f.o", "f", "good");
    code(&lab, "call.o", "_start", "f");
    super::kit::ar(&lab, "rc", "libf.a", &["f.o"]);
    shared(&lab, "good.so", &["good.o"]);
    let data = |bind: &str| {
        let dat = format!(".{bind} dat\n.type dat,@object\n.size dat,8\ndat: .quad 1\n");
        format!(".data\n{dat}.globl other\n.type other,@object\n.size other,8\nother: .quad 1\n")
    };
    for (name, bind) in [("strong", "globl"), ("weak", "weak")] {
        object(&lab, &format!("{name}.o"), &data(bind));
        shared(&lab, &format!("{name}.so"), &[&format!("{name}.o")]);
    }
    let common = ".comm dat,8,8\n.globl _start\n_start: nop\n";
    object(&lab, "common.o", common);
    object(&lab, "hidden.o", &format!(".hidden dat\n{common}"));
    code(&lab, "other.o", "o", "other");
    check(
        &lab,
        &[
            ("gnu", "m.o -u good --as-needed good.so use.o", &["good"]),
            ("lld", "m.o -u good --as-needed good.so use.o", &[]),
            ("gnu", "use.o m.o -u good --as-needed good.so", &[]),
            ("gnu", "common.o --as-needed strong.so other.o", &[]),
            ("gnu", "common.o --as-needed weak.so other.o", &["other"]),
            ("gnu", "hidden.o --as-needed strong.so other.o", &["other"]),
        ],
    );
    let line = ["--linker", "gnu", "--as-needed", "--order", "good.so", "call.o", "libf.a"];
    let (answer, _) = archive(&lab.root(), &line);
    assert!(undefined(&answer).contains("good"), "{answer}");
}

/// GNU ld and lld know no value for a symbol of a shared object, unless an object makes the linker
/// define its address in the program.
#[test]
fn expressions_need_definitions_of_the_output() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "");
    code(&lab, "good.o", "good", "");
    shared(&lab, "good.so", &["good.o"]);
    object(&lab, "call.o", ".globl _start\n_start: movl $good, %eax\n");
    check(
        &lab,
        &[
            ("lld", "m.o good.so --defsym=y=good", &["good"]),
            ("mold", "m.o good.so --defsym=y=good", &[]),
            ("all", "call.o good.so --defsym=y=good", &[]),
        ],
    );
    // The message of GNU ld has other words.
    let (answer, status) =
        archive(&lab.root(), &["--linker", "gnu", "m.o", "good.so", "--defsym=y=good"]);
    assert_eq!((undefined(&answer).len(), status), (1, Some(1)), "{answer}");
    let options = ["-o", "out", "m.o", "good.so", "--defsym=y=good"];
    let output = clean("ld").current_dir(lab.root()).args(options).output().expect("ld runs");
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("unresolvable symbol `good' referenced"), "{error}");
}

/// The line by which GCC starts the linker.
#[test]
fn the_line_of_a_compiler() {
    let lab = Lab::new();
    lab.write("m.c", "int f(void);\nint main(void) { return f(); }\n");
    lab.write("f.c", "#include <stdio.h>\nint f(void) { return puts(\"f\"); }\n");
    run(clean("gcc").current_dir(lab.root()).args(["-c", "m.c", "f.c"]));
    super::kit::ar(&lab, "rc", "f.a", &["f.o"]);
    let mut gcc = clean("gcc");
    let gcc = gcc.current_dir(lab.root()).args(["-###", "-o", "out", "m.o", "f.a"]);
    let text = String::from_utf8_lossy(&gcc.output().expect("gcc runs").stderr).into_owned();
    let line = text.lines().find(|line| line.contains("collect2")).expect("a line of the linker");
    let (_, words) = line.trim_start().split_once(' ').expect("options");
    // The words alone, with their program, and with the lines around them.
    for pasted in [words, line, &text] {
        lab.write("line", pasted);
        let output = lab.linkaudit(&["archive", "--linker", "gnu", "@line"]);
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        let note = String::from_utf8_lossy(&output.stderr).into_owned();
        assert_eq!(output.status.code(), Some(0), "{said}{note}");
        assert!(said.contains("no undefined symbols: 1 member of 1 archive needed"), "{said}");
        assert!(note.contains("options without effect here: -plugin "), "{note}");
        assert!(note.contains("-o out"), "{note}");
    }
}

/// mold defines more names than the other linkers, in all outputs.
#[test]
fn names_that_mold_defines() {
    const NAMES: &[&str] =
        &["_PROCEDURE_LINKAGE_TABLE_", "__GNU_EH_FRAME_HDR", "__rela_iplt_start"];
    let lab = Lab::new();
    code(&lab, "m.o", "_start", &NAMES.join(" "));
    check(
        &lab,
        &[
            ("mold", "m.o", &[]),
            ("mold", "--pie m.o", &[]),
            ("mold", "--shared m.o", &[]),
            ("lld", "--pie m.o", NAMES),
        ],
    );
}

/// mold reports a weak reference with restricted visibility if a shared object defines the name.
#[test]
fn weak_references_with_restricted_visibility() {
    let lab = Lab::new();
    for (name, visibility) in [("h.o", ".hidden f\n"), ("p.o", ".protected f\n"), ("w.o", "")] {
        let source = format!(".weak f\n{visibility}.globl _start, g\n_start:\ng: call f@PLT\n");
        object(&lab, name, &source);
    }
    code(&lab, "f.o", "f", "");
    code(&lab, "m.o", "main", "g");
    shared(&lab, "f.so", &["f.o"]);
    super::kit::ar(&lab, "rc", "f.a", &["f.o"]);
    super::kit::ar(&lab, "rc", "h.a", &["h.o"]);
    check(
        &lab,
        &[
            ("mold", "h.o f.so", &["f"]),
            ("mold", "p.o f.so", &["f"]),
            ("mold", "m.o h.a f.so", &["f"]),
            ("mold", "--shared f.so h.o f.a", &["f"]),
            ("mold", "w.o f.so", &[]),
            ("all", "h.o f.a", &[]),
            ("all", "h.o", &[]),
            ("lld", "h.o f.so", &[]),
            ("gnu", "h.o f.so", &[]),
        ],
    );
}

/// mold drops the versions of references of shared objects, so that archives define them.
#[test]
fn versions_of_references_of_shared_objects() {
    let lab = Lab::new();
    object(&lab, "d.o", ".globl g\ng: call f_@PLT\n.symver f_,f@V1\n");
    object(&lab, "fv.o", ".globl f_\nf_: ret\n.symver f_,f@@V1\n");
    object(&lab, "n.o", ".globl _start\n_start: call g@PLT\n");
    code(&lab, "f.o", "f", "nosuch");
    lab.write("v", "V1 {};\n");
    let script = ["-shared", "-soname", "libf.so", "-version-script", "v", "-o", "libf.so", "fv.o"];
    run(clean("ld").current_dir(lab.root()).args(script));
    shared(&lab, "libd.so", &["d.o", "libf.so"]);
    super::kit::ar(&lab, "rc", "f.a", &["f.o"]);
    check(
        &lab,
        &[
            ("mold", "n.o libd.so f.a", &["nosuch"]),
            ("lld", "n.o libd.so f.a", &[]),
            ("gnu", "n.o libd.so f.a", &[]),
            ("mold", "n.o libd.so libf.so f.a", &[]),
        ],
    );
}

/// Linkers accept a definition of a shared object whose value is 0. The loader does not.
#[test]
fn definitions_with_the_value_zero() {
    if !has("ld.lld-19") {
        return crate::support::skip("definitions_with_the_value_zero", "there is no ld.lld-19");
    }
    let lab = Lab::new();
    object(&lab, "d.o", ".globl f\n.data\n.type f,@object\nf: .quad 1\n.size f,8\n");
    let options = ["-shared", "-Ttext=0x1000", "-Tdata=0", "-o", "libd.so", "d.o"];
    run(clean("ld.lld-19").current_dir(lab.root()).args(options));
    code(&lab, "m.o", "_start", "f");
    code(&lab, "a.o", "f", "nosuch");
    super::kit::ar(&lab, "rc", "a.a", &["a.o"]);
    check(
        &lab,
        &[
            ("all", "m.o libd.so", &[]),
            ("all", "-shared m.o libd.so a.a", &[]),
            ("lld", "-pie m.o libd.so a.a", &[]),
        ],
    );
}

/// Interface stubs are shared objects for linkers alone: they have sections and no program headers.
#[test]
fn interface_stubs() {
    if !has("llvm-ifs-19") {
        return crate::support::skip("interface_stubs", "there is no llvm-ifs-19");
    }
    let lab = Lab::new();
    code(&lab, "f.o", "f g", "");
    shared(&lab, "full.so", &["f.o"]);
    let options = ["--input-format=ELF", "--output-elf=libf.so", "full.so"];
    run(clean("llvm-ifs-19").current_dir(lab.root()).args(options));
    code(&lab, "m.o", "_start", "f g");
    code(&lab, "n.o", "_start", "f nosuch");
    code(&lab, "a.o", "f", "absent");
    super::kit::ar(&lab, "rc", "a.a", &["a.o"]);
    check(
        &lab,
        &[
            ("all", "m.o libf.so", &[]),
            ("all", "-pie m.o libf.so a.a", &[]),
            ("all", "-shared n.o libf.so a.a", &["nosuch"]),
        ],
    );
    // The loader refuses the stub, so an audit reports it.
    let report = lab.linkaudit(&["libf.so"]);
    let text = String::from_utf8_lossy(&report.stdout).into_owned();
    assert!(text.contains("hold no PT_LOAD"), "{text}");
}
