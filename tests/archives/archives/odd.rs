//! Unusual kinds of archives, one by one: their content is read in every spelling of the format.

use super::kit::{ar, archive, has_linker, members, object, run, undefined};
use crate::support::{Lab, clean};
use serde_json::Value;

/// `use.o` refers to `def`, which `def.o` defines.
fn lab() -> Lab {
    let lab = Lab::new();
    object(&lab, "use.o", ".globl use\nuse: .quad def\n");
    object(&lab, "def.o", ".globl def\ndef: .quad 0\n");
    lab
}

/// Asks `archive` for `use`, without other files.
#[track_caller]
fn ask(lab: &Lab, name: &str) -> Value {
    archive(&lab.root(), &[name, "--root-symbol", "use"]).0
}

#[track_caller]
fn assert_whole(lab: &Lab, name: &str) {
    let answer = ask(lab, name);
    let expected = [format!("{name}(def.o)"), format!("{name}(use.o)")];
    assert_eq!(members(&answer), expected, "{answer}");
    assert!(undefined(&answer).is_empty() && answer["complete"] == true, "{answer}");
}

/// An archive by hand: a name field and the data of each member.
fn by_hand(magic: &[u8], parts: &[(&str, &[u8])]) -> Vec<u8> {
    let mut out = magic.to_vec();
    for (name, data) in parts {
        out.extend(
            format!("{name:<16}{:<12}{:<6}{:<6}{:<8}{:<10}`\n", 0, 0, 0, 644, data.len()).bytes(),
        );
        out.extend(*data);
        out.extend(std::iter::repeat_n(b'\n', data.len() % 2));
    }
    out
}

fn bytes(lab: &Lab, name: &str) -> Vec<u8> {
    std::fs::read(lab.path(name)).expect("a file")
}

#[test]
fn gnu_bsd_thin_indexed_or_not() {
    let lab = lab();
    for (name, letters) in
        [("index.a", "rc"), ("none.a", "rcS"), ("thin.a", "rcT"), ("quick.a", "qc")]
    {
        ar(&lab, letters, name, &["use.o", "def.o"]);
        assert_whole(&lab, name);
    }
    let (first, second) = (bytes(&lab, "use.o"), bytes(&lab, "def.o"));
    // BSD's names stand before the data and are padded with NUL.
    let bsd = |name: &[u8], data: &[u8]| [name, &vec![0; 8 - name.len()], data].concat();
    let (one, two) = (bsd(b"use.o", &first), bsd(b"def.o", &second));
    let parts: &[(&str, &[u8])] = &[("#1/8", &one), ("#1/8", &two)];
    lab.write("bsd.a", by_hand(b"!<arch>\n", parts));
    assert_whole(&lab, "bsd.a");
    // A 64-bit index without entries: the members say what they define.
    let wide: &[(&str, &[u8])] = &[("/SYM64/", &[0; 8]), ("use.o/", &first), ("def.o/", &second)];
    lab.write("wide.a", by_hand(b"!<arch>\n", wide));
    let answer = ask(&lab, "wide.a");
    assert_eq!(members(&answer), ["wide.a(def.o)", "wide.a(use.o)"], "{answer}");
    let bsd_index: &[(&str, &[u8])] =
        &[("__.SYMDEF", &[0; 8]), ("use.o/", &first), ("def.o/", &second)];
    lab.write("symdef.a", by_hand(b"!<arch>\n", bsd_index));
    let answer = ask(&lab, "symdef.a");
    assert_eq!(members(&answer), ["symdef.a(def.o)", "symdef.a(use.o)"], "{answer}");
}

#[test]
fn nested_and_empty() {
    let lab = lab();
    ar(&lab, "rc", "inner.a", &["use.o", "def.o"]);
    ar(&lab, "rcT", "outer.a", &["inner.a"]);
    assert_whole(&lab, "outer.a");
    lab.write("empty.a", b"!<arch>\n");
    let answer = ask(&lab, "empty.a");
    assert_eq!(undefined(&answer).len(), 1, "{answer}");
    assert_eq!(answer["complete"], true);
}

#[test]
fn names_repeat_and_members_are_told_apart_by_their_place() {
    let lab = lab();
    lab.mkdir("d");
    object(&lab, "d/use.o", ".globl other\nother: .quad 0\n");
    ar(&lab, "qc", "twice.a", &["use.o", "d/use.o", "def.o"]);
    let (answer, _) = archive(&lab.root(), &["twice.a", "--root-symbol", "other"]);
    let member = &answer["needed"][0]["members"][0];
    assert_eq!(member["name"], "use.o");
    assert!(member["offset"].as_u64() > Some(100), "{answer}");
    assert_eq!(answer["needed"][0]["members"].as_array().map(Vec::len), Some(1));
}

#[test]
fn members_that_are_no_objects() {
    let lab = lab();
    lab.write("notes.txt", "not an object\n");
    lab.write("code.bc", b"BC\xc0\xde and so on");
    ar(&lab, "rc", "mixed.a", &["notes.txt", "code.bc", "use.o", "def.o"]);
    let answer = ask(&lab, "mixed.a");
    assert_eq!(members(&answer), ["mixed.a(def.o)", "mixed.a(use.o)"], "{answer}");
    assert_eq!(answer["opaque"][0]["name"], "code.bc", "{answer}");
    assert_eq!(answer["opaque"][0]["needed"], false);
}

/// `ar` puts an archive into another one as it is.
#[test]
fn an_archive_in_an_archive_is_named() {
    let lab = lab();
    ar(&lab, "rc", "inner.a", &["def.o"]);
    ar(&lab, "rc", "outer.a", &["use.o", "inner.a"]);
    let answer = ask(&lab, "outer.a");
    assert_eq!(undefined(&answer).into_iter().collect::<Vec<_>>(), ["def"], "{answer}");
    let said = lab.linkaudit(&["archive", "outer.a", "--root-symbol", "use"]).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let expected = "1 member is an archive, which linkers do not open: outer.a(inner.a)\n";
    assert!(said.contains(expected), "{said}");
}

#[test]
fn slim_objects_of_gcc_say_what_they_define_and_refer_to() {
    let lab = lab();
    lab.write("lto.c", "int def(void); int slim(void) { return def(); }\n");
    run(clean("gcc").current_dir(lab.root()).args([
        "-flto",
        "-fno-fat-lto-objects",
        "-c",
        "lto.c",
    ]));
    for (archiver, name) in [("gcc-ar", "lto.a"), ("ar", "none.a")] {
        let letters = if archiver == "ar" { "rcS" } else { "rc" };
        run(clean(archiver).current_dir(lab.root()).args([letters, name, "lto.o", "def.o"]));
        let (answer, code) = archive(&lab.root(), &[name, "--root-symbol", "slim"]);
        assert_eq!((&answer["complete"], code), (&true.into(), Some(0)), "{answer}");
        let expected = [format!("{name}(def.o)"), format!("{name}(lto.o)")];
        assert_eq!(members(&answer), expected, "{answer}");
    }
}

/// An undefined symbol with an empty name counts if a relocation refers to it, as in linkers.
#[test]
fn a_symbol_with_an_empty_name() {
    let lab = lab();
    for (refers, is_undefined) in [
        (".globl emptied\n", [false, false, false]),
        (".quad emptied\n", [true, true, true]),
        (".section .debug_x\n.quad emptied\n", [false, true, true]),
    ] {
        object(&lab, "def.o", &format!(".data\n.globl def\ndef: .quad 0\n{refers}"));
        let mut def = bytes(&lab, "def.o");
        let name = memchr::memmem::find(&def, b"\0emptied").expect("a name");
        def[name + 1] = 0;
        lab.write("empty.a", by_hand(b"!<arch>\n", &[("def.o/", &def)]));
        run(clean("ranlib").current_dir(lab.root()).arg("empty.a"));
        let linkers = [("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")];
        for ((program, linker), is_undefined) in linkers.into_iter().zip(is_undefined) {
            let args = ["--linker", linker, "-e", "use", "use.o", "empty.a"];
            let (answer, status) = archive(&lab.root(), &args);
            assert_eq!(status, Some(i32::from(is_undefined)), "{linker} {refers}: {answer}");
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-o", "x", "-e", "use"]);
                let output = link.args(["use.o", "empty.a"]).output().expect("a linker runs");
                assert_eq!(output.status.success(), !is_undefined, "{linker} {refers}");
            }
        }
    }
}

#[test]
fn members_of_another_machine_are_passed_over() {
    let lab = lab();
    let file = lab.write("def32.s", ".globl def\ndef: .long 0\n");
    run(clean("as").current_dir(lab.root()).args(["--32", "-o", "def32.o"]).arg(file));
    ar(&lab, "rc", "other.a", &["use.o", "def32.o"]);
    let answer = ask(&lab, "other.a");
    assert_eq!(members(&answer), ["other.a(use.o)"], "{answer}");
    assert_eq!(answer["foreign"], 1, "{answer}");
    assert_eq!(undefined(&answer).len(), 1);
}

#[test]
fn a_linker_script_stands_for_what_it_names() {
    let lab = lab();
    ar(&lab, "rc", "libone.a", &["use.o"]);
    ar(&lab, "rc", "libtwo.a", &["def.o"]);
    lab.write("script.a", "/* all */ GROUP ( \"libone.a\" AS_NEEDED ( -ltwo ) )\n");
    let (answer, status) = archive(&lab.root(), &["script.a", "--root-symbol", "use"]);
    assert_eq!(members(&answer), ["libone.a(use.o)", "libtwo.a(def.o)"], "{answer}");
    assert_eq!(status, Some(0));
}

#[test]
fn a_thin_archive_leads_nowhere_else() {
    let lab = lab();
    lab.mkdir("a/in");
    lab.mkdir("b");
    std::fs::rename(lab.path("def.o"), lab.path("b/def.o")).expect("renamed");
    std::fs::rename(lab.path("use.o"), lab.path("a/in/use.o")).expect("renamed");
    run(clean("ar").current_dir(lab.path("a/in")).args(["rcT", "x.a", "use.o", "../../b/def.o"]));
    let (answer, status) = archive(&lab.root(), &["a/in/x.a", "--root-symbol", "use"]);
    // The index says that the member defines `def`; the references of the member are unknown.
    assert_eq!(members(&answer).len(), 2, "{answer}");
    assert_eq!((status, &answer["complete"]), (Some(3), &Value::Bool(false)));
    let (answer, status) =
        archive(&lab.root(), &["a/in/x.a", "--from", "b", "--root-symbol", "use"]);
    assert_eq!(members(&answer).len(), 2, "allowed once its directory is named: {answer}");
    assert_eq!(status, Some(0));
}

#[test]
fn many_sections_and_other_byte_orders() {
    let lab = lab();
    let many: String = (0..70_000).map(|n| format!(".section s{n},\"a\"\n.byte 0\n")).collect();
    object(&lab, "many.o", &format!("{many}.data\n.globl use\nuse: .quad def\n"));
    ar(&lab, "rc", "many.a", &["many.o", "def.o"]);
    let answer = ask(&lab, "many.a");
    assert_eq!(members(&answer), ["many.a(def.o)", "many.a(many.o)"], "{answer}");
}

#[test]
fn wrong_usage_says_what_to_type() {
    let lab = lab();
    ar(&lab, "rc", "x.a", &["use.o"]);
    let text = |args: &[&str]| {
        let output = lab.linkaudit(&[&["archive"], args].concat());
        assert_eq!(output.status.code(), Some(2), "{args:?}");
        String::from_utf8_lossy(&output.stderr).into_owned()
    };
    assert!(text(&[]).contains("no archive given"));
    assert!(text(&["x.a"]).contains("--root-object"));
    assert!(text(&["use.o", "--root-symbol", "x"]).contains("not a static archive"));
    lab.write("text.a", "plain words\n");
    lab.write("script.a", "OVERLAYS { .text : { *(.text) } }\n");
    lab.write("none.a", "");
    for (name, what) in [
        ("text.a", "text.a: not a static archive: it begins with `plain words"),
        ("script.a", "script.a: not a static archive: it begins with `OVERLAYS"),
        ("none.a", "none.a: empty file, not a static archive"),
        (".", ".: a directory, not a static archive"),
    ] {
        let said = text(&[name, "--root-symbol", "x"]);
        assert!(said.contains(what), "{said}");
        // lld accepts an empty file.
        if name != "none.a" {
            let said = text(&["x.a", "--root-symbol", "x", "--order", name]);
            assert!(said.contains(what), "{said}");
        }
    }
    assert!(text(&["x.a", "--root-object", "."]).contains(".: neither an ELF file nor an archive"));
    assert!(text(&["x.a", "--root-object", "x.a"]).contains("relocatable object"));
}

/// lld and GNU ld read an empty file as an empty script, whatever its name. mold refuses it.
#[test]
fn empty_inputs() {
    let lab = Lab::new();
    object(&lab, "main.o", ".globl _start\n_start: nop\n");
    lab.write("zero.o", "");
    lab.write("libnone.a", "");
    for (program, linker) in [("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")] {
        for inputs in
            [&["main.o", "zero.o"][..], &["zero.o", "main.o"], &["main.o", "-L.", "-lnone"]]
        {
            let ours = lab.linkaudit(&[&["archive", "--linker", linker], inputs].concat());
            if has_linker(program) {
                let mut link = clean(program);
                link.current_dir(lab.root()).args(["-o", "out"]).args(inputs);
                let theirs = link.output().expect("a linker runs").status.success();
                assert_eq!(
                    ours.status.code(),
                    Some(if theirs { 0 } else { 2 }),
                    "{linker} {inputs:?}"
                );
            }
        }
    }
}

#[test]
fn tables_need_no_further_archives() {
    let lab = lab();
    ar(&lab, "rc", "x.a", &["use.o", "def.o"]);
    archive(&lab.root(), &["x.a", "--root-symbol", "use", "--why-extract", "why"]);
    let why = std::fs::read_to_string(lab.path("why")).expect("a table");
    let lines = "<internal>\tx.a(use.o)\tuse\n";
    assert!(why.contains(lines) && why.contains("x.a(use.o)\tx.a(def.o)\tdef\n"), "{why}");
}

#[test]
fn never_failing_is_what_it_says() {
    let lab = lab();
    ar(&lab, "rc", "x.a", &["use.o"]);
    let status = |args: &[&str]| lab.linkaudit(args).status.code();
    let archive = ["archive", "x.a", "--root-symbol", "nobody"];
    let why = ["why", "nobody", "."];
    for args in [&archive[..], &why] {
        assert_eq!(status(args), Some(1), "{args:?}");
        assert_eq!(status(&[args, &["--fail-on", "warning"]].concat()), Some(1), "{args:?}");
        assert_eq!(status(&[args, &["--fail-on", "never"]].concat()), Some(0), "{args:?}");
    }
}

/// `f.o` is needed from outside of the archive, and `inner.o` only by `f.o`.
#[test]
fn the_table_has_the_reference_of_the_text() {
    let lab = Lab::new();
    object(&lab, "use.o", ".data\n.quad f\n");
    object(&lab, "inner.o", ".globl inner\ninner: nop\n");
    object(&lab, "f.o", ".data\n.globl f\nf: .quad inner\n");
    ar(&lab, "rc", "liba.a", &["inner.o", "f.o"]);
    let show = |format: &str| {
        let args = ["archive", "liba.a", "--root-object", "use.o", "--format", format];
        String::from_utf8(lab.linkaudit(&args).stdout).expect("UTF-8")
    };
    let (text, table) = (show("human"), show("table"));
    assert!(text.contains("    f.o  f  for use.o\n"), "{text}");
    assert!(table.contains(" use.o") && !table.contains("(f.o)"), "{table}");
}

/// The number of referrers that are not listed is exact for short lists. One member refers to the
/// name only for debuggers, which lld does not report.
#[test]
fn short_lists_of_referrers_have_exact_numbers() {
    let lab = Lab::new();
    object(&lab, "x.o", ".globl x\nx: .quad 0\n.section .debug_x\n.quad nosuch\n");
    let mut names = Vec::new();
    for at in 0..20 {
        names.push(format!("m{at}.o"));
        object(&lab, &names[at], &format!(".globl d{at}\nd{at}: .quad nosuch\n"));
    }
    for (count, more) in [(3, ""), (5, "… and 2 more (-v shows all)"), (20, "… and up to 18 more")]
    {
        let refers: String = (0..count).map(|at| format!(".quad d{at}\n")).collect();
        object(&lab, "use.o", &format!("{refers}.quad x\n"));
        let archive = format!("lib{count}.a");
        let mut members: Vec<&str> = names[..count].iter().map(String::as_str).collect();
        members.push("x.o");
        ar(&lab, "rc", &archive, &members);
        let output = lab.linkaudit(&["archive", "--linker", "lld", "use.o", &archive]);
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let line = text.lines().find(|line| line.starts_with('…')).unwrap_or_default();
        assert!(line.starts_with(more) && line.is_empty() == more.is_empty(), "{text}");
    }
}

/// lld and GNU ld refuse a member of a whole archive that is not an object. mold ignores it.
#[test]
fn whole_archives_with_other_files() {
    let lab = Lab::new();
    object(&lab, "case.o", ".globl _start\n_start: nop\n");
    object(&lab, "f.o", ".globl f\nf: nop\n");
    object(&lab, "g.o", ".globl g\ng: nop\n");
    run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", "f.so", "f.o"]));
    lab.write("README", "hi\n");
    lab.write("empty", "");
    ar(&lab, "rc", "inner.a", &["f.o"]);
    let linkers = [("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")];
    for (file, refuses) in [
        ("README", &["lld", "gnu"][..]),
        ("empty", &["lld", "gnu"]),
        ("inner.a", &["lld", "gnu"]),
        ("f.so", &["lld"]),
        ("f.o", &[]),
    ] {
        let name = format!("{file}.lib.a");
        // GNU ld refuses an archive without an index.
        ar(&lab, "rc", &name, &[file, "g.o"]);
        for (program, linker) in linkers {
            for whole in [true, false] {
                let words = if whole { &["case.o", "--whole-archive"][..] } else { &["case.o"] };
                let words = [words, &[&*name]].concat();
                let (answer, status) =
                    archive(&lab.root(), &[&["--linker", linker][..], &words].concat());
                let links = !(whole && refuses.contains(&linker));
                assert_eq!(status, Some(i32::from(!links)), "{linker} {words:?}: {answer}");
                let rejected = answer["rejected"].as_array().expect("rejected");
                assert_eq!(rejected.is_empty(), links, "{linker} {words:?}: {answer}");
                if has_linker(program) {
                    let mut link = clean(program);
                    let link = link.current_dir(lab.root()).args(["-o", "/dev/null"]).args(&words);
                    let output = link.output().expect("a linker runs");
                    assert_eq!(output.status.success(), links, "{program} {words:?}");
                }
            }
        }
    }
    let words = ["archive", "--linker", "lld", "case.o", "--whole-archive", "README.lib.a"];
    let text = String::from_utf8_lossy(&lab.linkaudit(&words).stdout).into_owned();
    let expected = "1 member under --whole-archive is not an object: lld refuses the link, \
        README.lib.a(README) first\n";
    assert!(text.contains(expected), "{text}");
}

/// A thin archive may name members of another archive. lld refuses it, and mold skips them.
#[test]
fn members_of_archives_in_thin_archives() {
    let lab = Lab::new();
    object(&lab, "case.o", ".globl _start\n_start: nop\n.data\n.quad f\n");
    object(&lab, "f.o", ".globl f\nf: nop\n");
    object(&lab, "g.o", ".globl g\ng: nop\n");
    ar(&lab, "rc", "inner.a", &["g.o", "f.o"]);
    ar(&lab, "rcT", "outer.a", &["inner.a"]);
    for (program, linker, open) in
        [("ld.lld-19", "lld", None), ("ld", "gnu", Some(false)), ("mold", "mold", Some(true))]
    {
        let words = ["case.o", "outer.a"];
        let (answer, status) = archive(&lab.root(), &[&["--linker", linker][..], &words].concat());
        let links = open == Some(false);
        assert_eq!(status, Some(i32::from(!links)), "{linker}: {answer}");
        assert_eq!(undefined(&answer).contains("f"), open == Some(true), "{linker}: {answer}");
        let rejected = answer["rejected"].as_array().expect("rejected");
        assert_eq!(rejected.len(), if open.is_none() { 2 } else { 0 }, "{linker}: {answer}");
        if has_linker(program) {
            let mut link = clean(program);
            let link = link.current_dir(lab.root()).args(["-o", "/dev/null"]).args(words);
            let output = link.output().expect("a linker runs");
            assert_eq!(output.status.success(), links, "{program}");
        }
    }
}

/// A name that only an unread member of a cut archive may define is unknown. The index lists the
/// members behind the end. Without an index, they may define any name.
#[test]
fn names_of_cut_archives_are_unknown() {
    let lab = Lab::new();
    object(&lab, "case.o", ".globl _start\n_start: nop\n.data\n.quad f, g\n");
    object(&lab, "none.o", ".globl _start\n_start: nop\n.data\n.quad f, none\n");
    object(&lab, "f.o", ".globl f\nf: nop\n");
    object(&lab, "g.o", ".globl g\ng: nop\n");
    lab.mkdir("p");
    ar(&lab, "rc", "p/libcase.a", &["case.o"]);
    for (letters, cut, is_listed) in
        [("rcs", 200, true), ("rcs", 1000, true), ("rcS", 200, false), ("rcS", 1000, false)]
    {
        let context = format!("ar {letters}, cut by {cut}");
        lab.write("whole.a", "");
        std::fs::remove_file(lab.path("whole.a")).expect("a file");
        ar(&lab, letters, "whole.a", &["f.o", "g.o"]);
        let mut bytes = std::fs::read(lab.path("whole.a")).expect("an archive");
        bytes.truncate(bytes.len() - cut);
        lab.write("p/libfg.a", bytes);
        for words in [
            &["--root-object", "case.o", "p/libfg.a"][..],
            &["--linker", "lld", "case.o", "p/libfg.a"],
            &["--linker", "mold", "case.o", "p/libfg.a"],
            &["--self", "p"],
        ] {
            let (answer, status) = archive(&lab.root(), words);
            assert_eq!(status, Some(3), "{context} {words:?}: {answer}");
            assert!(undefined(&answer).is_empty(), "{context} {words:?}: {answer}");
        }
        // The index tells that no member defines the name.
        let (answer, status) = archive(&lab.root(), &["--root-object", "none.o", "p/libfg.a"]);
        assert_eq!(undefined(&answer).contains("none"), is_listed, "{context}: {answer}");
        assert_eq!(status, Some(if is_listed { 1 } else { 3 }), "{context}: {answer}");
    }
    // lld and GNU ld do not say that a name is undefined: they refuse the archive.
    for program in ["ld.lld-19", "ld"].into_iter().filter(|program| has_linker(program)) {
        let mut link = clean(program);
        let link = link.current_dir(lab.root()).args(["-o", "/dev/null", "case.o", "p/libfg.a"]);
        let output = link.output().expect("a linker runs");
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(!output.status.success() && !said.contains("undefined"), "{program}: {said}");
    }
}
