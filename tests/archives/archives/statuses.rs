//! Links that linkers refuse because of options, scripts or visibility. Only the exit status is
//! compared with that of lld 19, GNU ld and mold.

use super::kit::{ar, has_linker, object, run};
use super::libraries::{LINKERS, code, shared};
use crate::support::{Lab, clean};

/// Links a line with the linkers in `names`. linkaudit must refuse it if the linker does.
#[track_caller]
fn same(lab: &Lab, names: &str, line: &str) {
    let words: Vec<&str> = line.split(' ').collect();
    for (program, linker) in LINKERS.iter().filter(|(_, name)| names.contains(name)) {
        if !has_linker(program) {
            continue;
        }
        let mut link = clean(program);
        let link = link.current_dir(lab.root()).args(["-o", "out"]).args(&words);
        let theirs = link.output().expect("a linker runs");
        let ours = lab.linkaudit(&[&["archive", "--linker", linker], &words[..]].concat());
        let is_clean = ours.status.code() == Some(0);
        assert_eq!(is_clean, theirs.status.success(), "{linker} {line}: {theirs:?} {ours:?}");
    }
}

/// With `-Bstatic` before the first file, GNU ld links no shared object into a program.
#[test]
fn the_first_static_link_counts() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "foo");
    code(&lab, "foo.o", "foo", "");
    code(&lab, "e.o", "", "");
    ar(&lab, "rc", "libe.a", &["e.o"]);
    shared(&lab, "libfoo.so", &["foo.o"]);
    for line in [
        "-Bstatic -le -Bdynamic m.o -lfoo",
        "m.o -Bstatic -le -Bdynamic -lfoo",
        "-le -Bstatic -Bdynamic m.o -lfoo",
        "-Bstatic -Bdynamic m.o -lfoo",
        "-Bstatic m.o -le -Bdynamic -lfoo",
        "--push-state -Bstatic --pop-state m.o -lfoo",
        "-Bstatic -le -Bdynamic m.o libfoo.so",
        "-shared -Bstatic -le -Bdynamic m.o -lfoo",
        "-pie -Bstatic -le -Bdynamic m.o -lfoo",
        "-dn -le -dy m.o -lfoo",
        "-u x -Bstatic -Bdynamic m.o -lfoo",
        "m.o -lfoo -Bstatic -Bdynamic",
    ] {
        same(&lab, "lld gnu", &format!("-L. {line}"));
    }
}

/// GNU ld reports a hidden reference without a relocation, unless it drops unused sections.
#[test]
fn hidden_references_without_relocations() {
    let lab = Lab::new();
    let group = ".section .text.f,\"axG\",@progbits,f,comdat\n.weak f\n";
    for (name, source) in [
        ("start.o", format!(".globl _start\n_start: nop\n{group}f: nop\n")),
        ("symbol.o", ".hidden absent\n.data\n.quad 0\n".to_owned()),
        ("internal.o", ".internal absent\n.globl absent\n".to_owned()),
        ("weak.o", ".hidden absent\n.weak absent\n".to_owned()),
        ("default.o", ".globl absent\n".to_owned()),
        ("group.o", format!("{group}f: call absent\n.hidden absent\n")),
        ("section.o", ".section .text.x,\"ax\"\n.hidden absent\ncall absent\n".to_owned()),
    ] {
        object(&lab, name, &source);
    }
    for object in
        ["symbol.o", "internal.o", "weak.o", "default.o", "group.o", "section.o", "start.o"]
    {
        for options in ["", " --gc-sections", " -pie"] {
            let files =
                if object == "start.o" { object.into() } else { format!("start.o {object}") };
            same(&lab, "lld gnu mold", &format!("{files}{options}"));
        }
    }
}

/// In a shared object, GNU ld accepts hidden definitions to which shared objects refer.
#[test]
fn hidden_definitions_in_shared_objects() {
    let lab = Lab::new();
    object(&lab, "hidden.o", ".globl x\n.hidden x\nx: nop\n");
    code(&lab, "m.o", "_start", "s");
    object(&lab, "s.o", ".globl s\ns: call x@PLT\n");
    run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", "s.so", "s.o"]));
    for line in [
        "-shared --no-allow-shlib-undefined m.o s.so hidden.o",
        "-shared m.o s.so hidden.o",
        "m.o s.so hidden.o",
        "-pie m.o s.so hidden.o",
    ] {
        same(&lab, "gnu", line);
    }
}

/// mold 1.10 knows few commands of scripts.
#[test]
fn scripts_that_mold_refuses() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "");
    code(&lab, "n.o", "n", "");
    for text in [
        "SECTIONS { .foo : { *(.foo) } }",
        "SECTIONS { new = .; }",
        "INPUT(n.o) SECTIONS { new = .; }",
        "HIDDEN(new = 3);",
        "ASSERT(1, \"x\");",
        "TARGET(elf64-x86-64) INPUT(n.o)",
        "INPUT(n.o) new = SIZEOF(.text);",
        "INPUT(n.o) new = n + 1;",
        "INPUT(n.o) new = n;",
        "OUTPUT_FORMAT(elf64-x86-64) GROUP(m.o AS_NEEDED(n.o));",
        "INPUT(n.o) VERSION { V1 { global: n; }; };",
    ] {
        lab.write("case.ld", format!("{text}\n"));
        same(&lab, "mold", if text.contains("AS_NEEDED") { "case.ld" } else { "m.o case.ld" });
    }
}

/// A leading `=` of a directory means the sysroot. mold does not know it.
#[test]
fn directories_below_the_sysroot() {
    let lab = Lab::new();
    lab.mkdir("lib");
    code(&lab, "m.o", "_start", "foo");
    code(&lab, "foo.o", "foo", "");
    ar(&lab, "rc", "lib/libfoo.a", &["foo.o"]);
    let dir = lab.path("lib").display().to_string();
    for option in ["-L=", "-L =", "--library-path==", "-L", "-L "] {
        same(&lab, "lld gnu mold", &format!("m.o {option}{dir} -lfoo"));
    }
}

/// lld refuses version scripts with names that nothing defines.
#[test]
fn names_of_version_scripts() {
    let lab = Lab::new();
    code(&lab, "foo.o", "foo", "");
    code(&lab, "bar.o", "bar", "");
    ar(&lab, "rc", "libbar.a", &["bar.o"]);
    shared(&lab, "libbar.so", &["bar.o"]);
    lab.write("bar.ld", "PROVIDE(bar = 1);\n");
    for text in [
        "V1 { global: foo; bar; local: *; };",
        "V1 { global: foo; local: bar; };",
        "V1{global: foo;bar;local: *;};",
        "{ foo; bar; };",
        "V1 { foo; extern \"C\" { bar; }; };",
        "V1 { foo; \"b*r\"; };",
        "V1 { foo; b*r; ba?; [a]; };",
        "V1 { foo; /* bar; */ # bar;\n };",
        "V1 { foo; }; V2 { bar; } V1;",
        "V1 { foo; }; V2 { local: *; } V1;",
    ] {
        lab.write("vs", format!("{text}\n"));
        for files in [
            "foo.o",
            "foo.o bar.o",
            "foo.o libbar.a",
            "foo.o libbar.so",
            "foo.o bar.ld",
            "foo.o --defsym=bar=foo",
            "foo.o --undefined-version",
            "foo.o --undefined-version --no-undefined-version",
        ] {
            let line = format!("-shared {files} --version-script=vs");
            // GNU ld knows `--no-undefined-version` too, but it is not its default.
            let is_default = !files.contains("--no-undefined-version");
            same(&lab, if is_default { "lld gnu mold" } else { "lld" }, &line);
        }
    }
}

/// Commands that a linker does not know, values that mold 1.10 takes for symbols, and formats that
/// lld checks: the exit status agrees with that of the linker.
#[test]
fn commands_that_linkers_refuse() {
    let lab = Lab::new();
    code(&lab, "s.o", "_start", "");
    code(&lab, "n.o", "n", "");
    lab.write("inc.ld", "x = 1;\n");
    for (text, expected) in [
        ("INPUT(n.o) FOO", [2; 3]),
        ("INPUT(n.o) x=3;", [2; 3]),
        ("x = 3 INPUT(n.o)", [2; 3]),
        ("BYTE(1) INPUT(n.o)", [2; 3]),
        ("PROVIDE(x = 1) INPUT(n.o)", [2; 3]),
        ("INPUT(n.o), INPUT(n.o)", [2; 3]),
        ("SECTIONS { } SECTIONS {", [2; 3]),
        ("FLOAT INPUT(n.o)", [2, 0, 2]),
        ("MAP(x) LD_FEATURE(\"SANE_EXPR\") INPUT(n.o)", [2, 0, 2]),
        ("x = 3, INPUT(n.o)", [2, 0, 2]),
        ("OVERWRITE_SECTIONS { .text : { *(.text) } } INPUT(n.o)", [0, 2, 2]),
        ("x =3; INPUT(n.o)", [0, 0, 2]),
        ("x = 3;", [0, 0, 2]),
        ("INCLUDE inc.ld INPUT(n.o)", [0, 0, 2]),
        ("OUTPUT_FORMAT(elf32-i386) INPUT(n.o)", [1, 0, 0]),
        ("OUTPUT_FORMAT(unknown) INPUT(n.o)", [2, 0, 0]),
    ] {
        lab.write("x.ld", format!("{text}\n"));
        for ((program, linker), expected) in LINKERS.iter().zip(expected) {
            let output = lab.linkaudit(&["archive", "--linker", linker, "s.o", "x.ld"]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(output.status.code(), Some(expected), "{linker} {text}: {error}");
            if has_linker(program) {
                let mut link = clean(program);
                link.current_dir(lab.root()).args(["-o", "out", "s.o", "x.ld"]);
                let is_linked = link.output().expect("a linker runs").status.success();
                assert_eq!(is_linked, expected == 0, "{program} {text}");
            }
        }
    }
    lab.write("x.ld", "SECTIONS { INCLUDE inc.ld }\n");
    for linker in ["lld", "gnu"] {
        let output = lab.linkaudit(&["archive", "--linker", linker, "s.o", "x.ld"]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("INCLUDE in braces is not followed"), "{error}");
        assert_eq!(output.status.code(), Some(2));
    }
}
