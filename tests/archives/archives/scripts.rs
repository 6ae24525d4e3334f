//! Commands about symbols in linker scripts, and functions in expressions. Each case is linked by
//! lld 19, GNU ld and mold too.

use super::kit::{ar, has_linker, object, run};
use super::libraries::{LINKERS, check, code, shared, theirs};
use crate::support::{Lab, clean, linkaudit};

fn lab() -> Lab {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "");
    code(&lab, "ext.o", "ext", "nosuch");
    code(&lab, "both.o", "_start", "good alias");
    code(&lab, "one.o", "_start", "alias");
    code(&lab, "good.o", "good", "");
    ar(&lab, "rc", "libext.a", &["ext.o"]);
    ar(&lab, "rc", "libgood.a", &["good.o"]);
    for (name, text) in [
        ("extern.ld", "EXTERN(ext) INPUT(libext.a)"),
        ("only.ld", "EXTERN(absent, \"ext\")"),
        ("alias.ld", "INPUT(libgood.a)\nalias = good;"),
        ("broken.ld", "INPUT(libgood.a)\nalias = absent;"),
        ("provide.ld", "PROVIDE(alias = good);\nINPUT(libgood.a)"),
        ("hidden.ld", "PROVIDE_HIDDEN(alias = good);\nINPUT(libgood.a)"),
        ("unused.ld", "PROVIDE(alias = absent);\nINPUT(libgood.a)"),
        ("late.ld", "PROVIDE(good = ext);"),
        ("entry.ld", "ENTRY(ext)\nINPUT(libext.a)"),
    ] {
        lab.write(name, format!("{text}\n"));
    }
    lab
}

#[test]
fn scripts_request_and_define_symbols() {
    let lab = lab();
    check(
        &lab,
        &[
            ("lld", "m.o extern.ld", &["nosuch"]),
            ("gnu", "m.o extern.ld", &["nosuch"]),
            ("lld", "m.o libext.a only.ld", &["nosuch"]),
            ("gnu", "m.o libext.a only.ld", &[]),
            ("gnu", "m.o only.ld libext.a", &["nosuch"]),
            ("all", "both.o alias.ld", &[]),
            ("lld", "one.o alias.ld", &[]),
            ("gnu", "one.o alias.ld", &["good"]),
            ("lld", "m.o broken.ld", &["absent"]),
            ("gnu", "m.o broken.ld", &["absent"]),
            ("lld", "one.o provide.ld", &[]),
            ("gnu", "one.o provide.ld", &[]),
            ("gnu", "provide.ld one.o libgood.a", &["good"]),
            ("lld", "provide.ld one.o", &[]),
            ("lld", "m.o hidden.ld", &[]),
            ("gnu", "one.o hidden.ld", &[]),
            ("lld", "m.o unused.ld", &[]),
            ("gnu", "m.o unused.ld", &[]),
            ("lld", "one.o unused.ld", &["absent"]),
            ("gnu", "one.o unused.ld", &["absent"]),
            ("lld", "both.o --defsym=alias=0 libgood.a late.ld libext.a", &[]),
            ("gnu", "both.o --defsym=alias=0 libgood.a late.ld libext.a", &[]),
            ("gnu", "both.o --defsym=alias=0 late.ld libgood.a libext.a", &["nosuch"]),
            ("lld", "m.o entry.ld", &["nosuch"]),
            ("gnu", "m.o entry.ld", &[]),
            ("lld", "m.o -e _start entry.ld", &[]),
        ],
    );
    let output = lab.linkaudit(&["archive", "--linker", "mold", "m.o", "extern.ld"]);
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains("extern.ld: mold does not know EXTERN in a script"), "{error}");
    assert_eq!(output.status.code(), Some(2));
}

/// GNU ld forgets a library of AS_NEEDED that precedes the first reference to it. It reads the
/// library again in a group.
#[test]
fn libraries_of_as_needed() {
    let lab = lab();
    code(&lab, "f.o", "ext", "good");
    ar(&lab, "rc", "libf.a", &["f.o"]);
    code(&lab, "s.o", "_start", "ext");
    let options = ["-shared", "-o", "good.so", "good.o"];
    run(clean("ld").current_dir(lab.root()).args(options));
    for (name, text) in [
        ("first.ld", "INPUT(AS_NEEDED(good.so) libf.a)"),
        ("last.ld", "INPUT(libf.a AS_NEEDED(good.so))"),
        ("group.ld", "GROUP(AS_NEEDED(good.so) libf.a)"),
    ] {
        lab.write(name, format!("{text}\n"));
    }
    check(
        &lab,
        &[
            ("gnu", "s.o first.ld", &["good"]),
            ("lld", "s.o first.ld", &[]),
            ("mold", "s.o first.ld", &[]),
            ("gnu", "s.o first.ld good.so", &[]),
            ("all", "s.o last.ld", &[]),
            ("all", "s.o group.ld", &[]),
        ],
    );
}

/// GNU ld and mold skip a file for another machine in the current directory.
#[test]
fn files_for_other_machines_are_skipped() {
    let lab = lab();
    lab.mkdir("d");
    lab.write("other.s", ".globl good\ngood: nop\n");
    run(clean("as").current_dir(lab.root()).args(["--32", "-o", "other.o", "other.s"]));
    code(&lab, "s.o", "_start", "good");
    ar(&lab, "rc", "libboth.a", &["other.o"]);
    ar(&lab, "rc", "d/libboth.a", &["good.o"]);
    for words in ["-m elf_i386 -o both.so other.o", "-o d/both.so good.o"] {
        run(clean("ld").current_dir(lab.root()).arg("-shared").args(words.split(' ')));
    }
    for (name, text) in [
        ("archive.ld", "INPUT(libboth.a)"),
        ("shared.ld", "INPUT(both.so)"),
        ("needed.ld", "INPUT(AS_NEEDED(both.so))"),
    ] {
        lab.write(name, format!("{text}\n"));
        for linker in ["gnu", "mold"] {
            check(&lab, &[(linker, &format!("-Ld s.o {name}"), &[])]);
        }
    }
}

/// Scripts of commands that affect neither inputs nor symbols, and expressions without a result.
#[test]
fn scripts_without_inputs() {
    let lab = lab();
    code(&lab, "s.o", "_start alias", "");
    for (name, text) in [
        ("comment.ld", "/* nothing */"),
        ("arch.ld", "OUTPUT_ARCH(i386:x86-64)"),
        ("cross.ld", "NOCROSSREFS(.a .b)"),
        ("startup.ld", "STARTUP(absent.o)"),
        ("insert.ld", "SECTIONS { .foo : { *(.foo) } } INSERT AFTER .text;"),
        ("assert.ld", "ASSERT(alias, \"no alias\")"),
        ("open.ld", "ASSERT(absent + 1, \"no, absent\")"),
        ("add.ld", "alias += 0x10;"),
        ("twice.ld", "ext = 1; ext <<= 2;"),
        ("broken.ld", "ext = 1; ext += absent;"),
    ] {
        lab.write(name, format!("{text}\n"));
    }
    check(
        &lab,
        &[
            ("all", "s.o comment.ld", &[]),
            ("gnu", "s.o startup.ld", &[]),
            ("lld", "s.o insert.ld", &[]),
            ("gnu", "s.o add.ld", &[]),
        ],
    );
    for linker in ["gnu", "lld"] {
        let open: &[&str] = &["absent"];
        for (name, expected) in
            [("arch.ld", &[][..]), ("cross.ld", &[]), ("twice.ld", &[]), ("broken.ld", open)]
        {
            check(&lab, &[(linker, &format!("s.o {name}"), expected)]);
        }
    }
    for (program, linker) in &LINKERS[..2] {
        for (name, expected) in [("assert.ld", None), ("open.ld", Some("absent"))] {
            let output = lab.linkaudit(&["archive", "--linker", linker, "s.o", name]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert_eq!(error, "ASSERT of a linker script: assumed to be true\n");
            assert_eq!(
                output.status.code(),
                Some(i32::from(expected.is_some())),
                "{linker} {name}"
            );
            if has_linker(program) {
                let names: Vec<String> =
                    theirs(&lab, program, &["s.o", name]).into_iter().collect();
                assert_eq!(names, expected.into_iter().collect::<Vec<_>>(), "{program} {name}");
            }
        }
    }
    for (linker, program, name, said) in [
        ("gnu", "ld", "insert.ld", "GNU ld accepts INSERT only in a script of -T"),
        ("lld", "ld.lld-19", "startup.ld", "lld does not know STARTUP in a script"),
        ("lld", "ld.lld-19", "add.ld", "alias: lld may find no value"),
        ("mold", "mold", "assert.ld", "mold does not know ASSERT in a script"),
    ] {
        let output = lab.linkaudit(&["archive", "--linker", linker, "s.o", name]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && error.contains(said), "{error}");
        if has_linker(program) {
            let mut link = clean(program);
            link.current_dir(lab.root()).args(["-o", "out", "s.o", name]);
            assert!(!link.output().expect("a linker runs").status.success(), "{program} {name}");
        }
    }
}

/// Scripts without inputs of their own. mold 1.10 does not know these commands, and crashes if a
/// script has only assignments.
#[test]
fn scripts_include_others_and_add_directories() {
    let lab = lab();
    lab.mkdir("d");
    ar(&lab, "rc", "d/libin.a", &["good.o"]);
    for (name, text) in [
        ("rom.ld", "alias = 0x1000;\ngood = 0x1004;"),
        ("include.ld", "INCLUDE rom.ld"),
        ("d/deep.ld", "INCLUDE \"inner.ld\""),
        ("d/inner.ld", "alias = 0x1000;"),
        ("dir.ld", "SEARCH_DIR(d) INPUT(-lin)"),
        ("later.ld", "SEARCH_DIR(d)"),
    ] {
        lab.write(name, format!("{text}\n"));
    }
    check(
        &lab,
        &[
            ("lld", "both.o rom.ld", &[]),
            ("gnu", "both.o rom.ld", &[]),
            ("lld", "both.o include.ld", &[]),
            ("gnu", "both.o include.ld", &[]),
            ("lld", "both.o -Ld d/deep.ld", &["good"]),
            ("gnu", "both.o -Ld d/deep.ld", &["good"]),
            ("lld", "both.o dir.ld", &["alias"]),
            ("gnu", "both.o dir.ld", &["alias"]),
            ("lld", "both.o later.ld -lin", &["alias"]),
            ("gnu", "both.o later.ld -lin", &["alias"]),
        ],
    );
    for (line, expected) in [
        ("lld both.o d/deep.ld", "d/deep.ld: linker script names inner.ld: not found"),
        ("lld both.o -lin later.ld", "-l in: not found"),
        ("mold both.o include.ld", "include.ld: mold does not know INCLUDE in a script"),
        ("mold both.o later.ld", "later.ld: mold does not know SEARCH_DIR in a script"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = lab.linkaudit(&[&["archive", "--linker"], &words[..]].concat());
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains(expected), "{line}: {error}");
        assert_eq!(output.status.code(), Some(2), "{line}");
    }
}

/// INCLUDE stands for the text of a script: EXTERN precedes the inputs of the outer script, and a
/// comment is a valid text. GNU ld searches for files beside the outer script, lld beside the inner
/// one.
#[test]
fn included_scripts_are_part_of_the_text() {
    let lab = lab();
    for (dir, member) in [("o", "ext.o"), ("o/d", "good.o"), ("d", "good.o"), ("e", "ext.o")] {
        lab.mkdir(dir);
        ar(&lab, "rc", &format!("{dir}/libin.a"), &[member]);
    }
    for (name, text) in [
        ("outer.ld", "INPUT(libext.a) INCLUDE only.ld"),
        ("comment.ld", "/* INPUT */"),
        ("arch.ld", "OUTPUT_ARCH(i386:x86-64)"),
        ("empty.ld", ""),
        ("all.ld", "INCLUDE comment.ld INCLUDE arch.ld INCLUDE empty.ld\nINPUT(libgood.a)"),
        ("dir.ld", "SEARCH_DIR(e)"),
        ("late.ld", "EXTERN(ext) INPUT(-lin) INCLUDE dir.ld"),
        ("d/in.ld", "EXTERN(ext) INPUT(libin.a)"),
        ("o/beside.ld", "INCLUDE d/in.ld"),
        ("archive.ld", "INCLUDE libext.a"),
    ] {
        lab.write(name, format!("{text}\n"));
    }
    check(
        &lab,
        &[
            ("lld", "m.o outer.ld", &["nosuch"]),
            ("gnu", "m.o outer.ld", &["nosuch"]),
            ("lld", "both.o all.ld", &["alias"]),
            ("gnu", "both.o all.ld", &["alias"]),
            ("gnu", "m.o late.ld", &["nosuch"]),
            ("lld", "m.o o/beside.ld", &[]),
            ("gnu", "m.o o/beside.ld", &["nosuch"]),
        ],
    );
    for linker in ["lld", "gnu"] {
        let output = lab.linkaudit(&["archive", "--linker", linker, "m.o", "archive.ld"]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("libext.a: not a linker script"), "{error}");
        assert_eq!(output.status.code(), Some(2), "{linker}");
    }
}

/// A script in a directory counts even if scripts that it includes are not found.
#[test]
fn scripts_in_directories_may_include_missing_scripts() {
    let lab = lab();
    for dir in ["p", "far"] {
        lab.mkdir(dir);
    }
    code(&lab, "use.o", "use", "good");
    ar(&lab, "rc", "libuse.a", &["use.o"]);
    ar(&lab, "rc", "far/libgood.a", &["good.o"]);
    let far = lab.path("far/libgood.a");
    lab.write("p/beside.ld", format!("INPUT({})\n", far.display()));
    lab.write("p/libfoo.so", "INCLUDE missing.ld\nINCLUDE beside.ld\n");
    let args = ["libuse.a", "--root-symbol", "use", "--from", "p"];
    let (answer, status) = super::kit::archive(&lab.root(), &args);
    assert_eq!(super::kit::members(&answer), ["libgood.a(good.o)", "libuse.a(use.o)"], "{answer}");
    assert_eq!(status, Some(0));
}

/// Seven scripts stand for 40^6 names.
#[test]
fn scripts_that_name_each_other_many_times_have_an_end() {
    let lab = lab();
    let in_time = |args: &[&str]| {
        let mut timed = clean("timeout");
        timed.current_dir(lab.root()).arg("60").arg(linkaudit().get_program()).args(args);
        timed.output().expect("timeout runs")
    };
    for dir in ["input", "include"] {
        lab.mkdir(dir);
        std::fs::copy(lab.path("libgood.a"), lab.path(&format!("{dir}/lib6.a"))).expect("a copy");
    }
    for at in 0..6 {
        let end = if at == 5 { "a" } else { "so" };
        let next = format!("lib{}.{end}", at + 1);
        lab.write(
            &format!("input/lib{at}.so"),
            format!("INPUT({})", format!("{next} ").repeat(40)),
        );
        let (include, last) = (format!("INCLUDE {next}\n").repeat(40), format!("INPUT({next})"));
        lab.write(&format!("include/lib{at}.so"), if at == 5 { last } else { include });
    }
    ar(&lab, "rc", "libone.a", &["one.o"]);
    for dir in ["input", "include"] {
        let args = ["archive", "libone.a", "--root-symbol", "_start", "--from", dir];
        let output = in_time(&args);
        assert_eq!(output.status.code(), Some(1), "{dir}: {output:?}");
        let script = format!("{dir}/lib0.so");
        let output = in_time(&["archive", &script, "--root-symbol", "good"]);
        assert_eq!(output.status.code(), Some(0), "{dir}: {output:?}");
        let output = in_time(&["archive", "--linker", "lld", "-L", dir, "m.o", &script]);
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(error.contains("linker scripts name too many files"), "{dir}: {error}");
    }
}

/// mold 1.10 takes a function for a symbol, and crashes.
#[test]
fn functions_in_expressions_are_not_symbols() {
    check(
        &lab(),
        &[
            ("lld", "m.o libext.a --defsym=y=DEFINED(ext)?ext:0", &["nosuch"]),
            ("gnu", "m.o libext.a --defsym=y=DEFINED(ext)?ext:0", &[]),
            ("lld", "m.o libext.a --defsym=y=DEFINED(ext)", &[]),
            ("gnu", "m.o libext.a --defsym=y=DEFINED(ext)", &[]),
            ("lld", "m.o libgood.a --defsym=y=ABSOLUTE(good)", &[]),
            ("gnu", "m.o libgood.a --defsym=y=ABSOLUTE(good)", &["good"]),
            ("gnu", "m.o --defsym=y=ABSOLUTE(good) libgood.a", &[]),
            ("lld", "m.o --defsym=y=ADDR(.text)+SIZEOF(.text)+ALIGN(16)", &[]),
            ("gnu", "m.o --defsym=y=ADDR(.text)+SIZEOF(.text)+ALIGN(16)", &[]),
            ("lld", "m.o --defsym=y=MAX(1,CONSTANT(MAXPAGESIZE))+SIZEOF_HEADERS", &[]),
            ("gnu", "m.o --defsym=y=MAX(1,CONSTANT(MAXPAGESIZE))+SIZEOF_HEADERS", &[]),
            ("lld", "m.o --defsym=y=SEGMENT_START(\"text-segment\",absent)", &["absent"]),
            ("gnu", "m.o --defsym=y=SEGMENT_START(\"text-segment\",absent)", &["absent"]),
        ],
    );
}

/// Only GNU ld accepts commas in a list, and a comma that follows a name without white space is
/// part of the name.
#[test]
fn commas_between_files() {
    let lab = lab();
    code(&lab, "two.o", "_start", "good ext");
    code(&lab, "nosuch.o", "nosuch", "");
    for list in [
        "libgood.a, libext.a nosuch.o",
        "libgood.a,libext.a nosuch.o",
        "libgood.a , libext.a nosuch.o",
        "libgood.a ,libext.a , nosuch.o",
        "\"libgood.a\",\"libext.a\" nosuch.o",
        "AS_NEEDED(libgood.a), libext.a nosuch.o",
        "libgood.a libext.a nosuch.o ,",
        "libgood.a , , libext.a nosuch.o",
        "libgood.a libext.a nosuch.o",
    ] {
        for command in ["INPUT", "GROUP"] {
            lab.write("list.ld", format!("{command}({list})\n"));
            for (program, linker) in [("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")] {
                if !has_linker(program) {
                    continue;
                }
                let mut link = clean(program);
                link.current_dir(lab.root()).args(["two.o", "list.ld", "-o", "/dev/null"]);
                let theirs = link.output().expect("a linker runs").status.success();
                let ours = lab.linkaudit(&["archive", "--linker", linker, "two.o", "list.ld"]);
                let status = ours.status.code();
                assert_eq!(status == Some(0), theirs, "{linker} {command}({list}): {ours:?}");
                assert!(theirs || status == Some(2), "{linker} {command}({list}): {status:?}");
            }
        }
    }
}

/// Names of PROVIDE to which only expressions refer.
#[test]
fn expressions_use_names_of_provide() {
    let lab = lab();
    code(&lab, "use.o", "_start", "new");
    for (name, text) in [
        ("before.ld", "PROVIDE(used = 8); new = used;"),
        ("after.ld", "new = used; PROVIDE(used = 8);"),
        ("chain.ld", "PROVIDE(new = used); PROVIDE(used = 8);"),
        ("back.ld", "PROVIDE(used = 8); PROVIDE(new = used);"),
        ("four.ld", "PROVIDE(a = b); PROVIDE(b = c); PROVIDE(c = 8); PROVIDE(new = a);"),
        ("hidden.ld", "PROVIDE_HIDDEN(used = 8); PROVIDE_HIDDEN(new = used);"),
        ("open.ld", "PROVIDE(used = absent); PROVIDE(new = used);"),
        ("idle.ld", "PROVIDE(used = absent); new = 1;"),
        ("quoted.ld", "PROVIDE(\"used\" = 8); \"new\" = \"used\";"),
        ("only.ld", "PROVIDE(used = 8);"),
        ("assigned.ld", "new = 1; PROVIDE(new = absent);"),
        ("again.ld", "PROVIDE(new = 1); PROVIDE(new = absent);"),
    ] {
        lab.write(name, format!("{text}\n"));
    }
    for linker in ["lld", "gnu"] {
        check(
            &lab,
            &[
                (linker, "use.o before.ld", &[]),
                (linker, "before.ld use.o", &[]),
                (linker, "use.o after.ld", &[]),
                (linker, "use.o chain.ld", &[]),
                (linker, "chain.ld use.o", &[]),
                (linker, "use.o back.ld", &[]),
                (linker, "back.ld use.o", &[]),
                (linker, "use.o four.ld", &[]),
                (linker, "four.ld use.o", &[]),
                (linker, "hidden.ld use.o", &[]),
                (linker, "open.ld use.o", &["absent"]),
                (linker, "idle.ld use.o", &[]),
                (linker, "use.o assigned.ld", &[]),
                (linker, "use.o again.ld", &[]),
                (linker, "use.o quoted.ld", &[]),
                (linker, "use.o only.ld --defsym=new=used", &[]),
                (linker, "use.o --defsym=new=used only.ld", &[]),
            ],
        );
    }
    // An expression extracts the member first, and PROVIDE has no effect then.
    lab.write("member.ld", "PROVIDE(ext = 8); new = ext;\n");
    check(
        &lab,
        &[
            ("lld", "use.o member.ld libext.a", &["nosuch"]),
            ("lld", "use.o libext.a member.ld", &["nosuch"]),
            ("gnu", "use.o member.ld libext.a", &["nosuch"]),
            ("gnu", "use.o libext.a member.ld", &[]),
        ],
    );
}

/// `--wrap` of lld and GNU ld also redirects the names in expressions.
#[test]
fn expressions_use_wrapped_names() {
    let lab = lab();
    code(&lab, "wrap.o", "__wrap_good", "");
    ar(&lab, "rc", "libwrap.a", &["wrap.o"]);
    lab.write("real.ld", "alias = __real_good;\n");
    lab.write("plain.ld", "alias = good;\n");
    check(
        &lab,
        &[
            ("lld", "--shared good.o real.ld --wrap good", &[]),
            ("gnu", "--shared good.o real.ld --wrap good", &[]),
            ("lld", "--shared wrap.o plain.ld --wrap good", &[]),
            ("gnu", "--shared wrap.o plain.ld --wrap good", &[]),
            ("lld", "m.o wrap.o --wrap good --defsym=alias=good", &[]),
            ("gnu", "m.o wrap.o --wrap good --defsym=alias=good", &[]),
            ("lld", "m.o libgood.a --wrap good --defsym=alias=__real_good", &[]),
            ("gnu", "m.o --wrap good --defsym=alias=__real_good libgood.a", &[]),
            ("lld", "m.o libwrap.a --wrap good --defsym=alias=good", &[]),
            ("gnu", "m.o --wrap good --defsym=alias=good libwrap.a", &[]),
            ("lld", "m.o libwrap.a libgood.a --wrap good --defsym=alias=good", &[]),
        ],
    );
}

/// Names in expressions that only a shared object defines have a value in a program with a copy of
/// the data or with an address of the function.
#[test]
fn expressions_use_names_of_shared_objects() {
    let lab = Lab::new();
    code(&lab, "f.o", "foo", "");
    object(&lab, "d.o", ".data\n.globl foo\n.type foo,@object\nfoo: .quad 0\n.size foo,8\n");
    shared(&lab, "func.so", &["f.o"]);
    shared(&lab, "data.so", &["d.o"]);
    lab.write("plain.ld", "alias = foo;\n");
    for (name, source) in [
        ("none.o", ""),
        ("call.o", "call foo@PLT\n"),
        ("got.o", "mov foo@gotpcrel(%rip), %rax\n"),
        ("word.o", ".data\n.quad foo\n"),
        ("const.o", ".section .rodata,\"a\"\n.quad foo\n"),
        ("lea.o", "leaq foo(%rip), %rax\n"),
        ("debug.o", ".section .debug_x,\"\"\n.quad foo\n"),
    ] {
        object(&lab, name, &format!(".globl _start\n_start: nop\n{source}"));
    }
    ar(&lab, "rc", "libcall.a", &["call.o"]);
    ar(&lab, "rc", "liblea.a", &["lea.o"]);
    for library in ["func.so", "data.so"] {
        for expression in ["--defsym=alias=foo", "plain.ld"] {
            let agrees = |names: &[(&str, &str)], expected: &'static [&'static str]| {
                for (linker, words) in names {
                    let line = format!("{words} {library} {expression}");
                    check(&lab, &[(linker, &line, expected)]);
                }
            };
            let absent = ["none.o", "got.o", "word.o", "debug.o", "--pie word.o"];
            let absent = absent.iter().flat_map(|words| [("lld", *words), ("gnu", *words)]);
            agrees(&absent.collect::<Vec<_>>(), &["foo"]);
            let lld = ["call.o", "--pie call.o", "--shared call.o", "--shared got.o", "libcall.a"];
            agrees(&lld.map(|words| ("lld", words)), &["foo"]);
            agrees(&["--shared call.o", "--shared got.o"].map(|words| ("gnu", words)), &["foo"]);
            agrees(&["call.o", "--pie call.o", "libcall.a"].map(|words| ("gnu", words)), &[]);
            agrees(&["const.o", "lea.o", "liblea.a"].map(|words| ("gnu", words)), &[]);
            agrees(
                &["const.o", "lea.o", "liblea.a", "--pie lea.o"].map(|words| ("lld", words)),
                &[],
            );
        }
    }
}

#[test]
fn commands_that_define_no_symbol() {
    let lab = lab();
    for (name, text) in [
        ("sections.ld", "SECTIONS { .x : { *(.x) } }"),
        ("memory.ld", "MEMORY { }"),
        ("zero.ld", "SECTIONS { . = 0x1000; }"),
        ("byte.ld", "SECTIONS { .x : { BYTE(good) } }"),
        ("place.ld", ". = good;"),
        ("moving.ld", "SECTIONS { . = good; }"),
        ("assert.ld", "ASSERT(good, \"not good\")"),
        ("defined.ld", "ASSERT(DEFINED(good) || 1, \"not good\")"),
    ] {
        lab.write(name, text);
    }
    let mut cases = Vec::new();
    for linker in ["lld", "gnu"] {
        for line in ["m.o sections.ld", "m.o memory.ld", "m.o zero.ld"] {
            cases.push((linker, line, &[][..]));
        }
    }
    check(&lab, &cases);
    // lld extracts members for these expressions, GNU ld does not.
    for script in ["byte.ld", "place.ld", "-q assert.ld"] {
        let line = |rest: &str| format!("{script} {rest}");
        let (absent, late) = (line("m.o"), line("m.o libgood.a"));
        let (present, used) = (line("m.o good.o"), line("both.o --defsym=alias=0 libgood.a"));
        check(
            &lab,
            &[
                ("lld", &*absent, &["good"]),
                ("gnu", &absent, &["good"]),
                ("lld", &late, &[]),
                ("gnu", &late, &["good"]),
                ("lld", &present, &[]),
                ("gnu", &present, &[]),
                ("lld", &used, &[]),
                ("gnu", &used, &[]),
            ],
        );
    }
    check(&lab, &[("lld", "-q m.o defined.ld", &[]), ("gnu", "-q m.o defined.ld", &[])]);
    check(&lab, &[("gnu", "m.o moving.ld", &["good"]), ("gnu", "m.o good.o moving.ld", &[])]);
    lab.write("address.ld", "SECTIONS { .x good : { *(.x) } }");
    lab.write("discard.ld", "SECTIONS { /DISCARD/ : { *(.data) } }");
    for (script, expected) in [
        ("moving.ld", "lld may find no address for `. = good`"),
        ("address.ld", "address.ld: the symbols of `good` are not followed"),
        ("discard.ld", "discard.ld: the effect of /DISCARD/ is not followed"),
    ] {
        let output = lab.linkaudit(&["archive", "--linker", "lld", "m.o", "good.o", script]);
        let text = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.code() == Some(2) && text.contains(expected), "{text}");
    }
}
