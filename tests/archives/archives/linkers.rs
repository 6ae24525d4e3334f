//! Names that stay undefined according to lld 19, GNU ld and mold: visibility, versions,
//! linker-defined names, discarded sections, and unreadable members. Each case links the same files
//! with `-z defs` and compares linkaudit's answer.

use super::kit::{ar, archive, has_linker, object, run, undefined, unknown};
use crate::support::{Lab, clean, has};
use std::collections::BTreeSet;

/// Files that the cases share.
fn lab() -> Lab {
    let lab = Lab::new();
    let symbols = ".globl foo\n.type foo,@function\nfoo: nop\n.size foo,.-foo\n";
    object(&lab, "foo.o", &format!(".text\n{symbols}"));
    run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", "libfoo.so", "foo.o"]));
    lab.write("versions", "V1 { }; V2 { };\n");
    for (name, ats) in [("old", "@"), ("new", "@@")] {
        let source = format!(".text\n.globl foo_v\nfoo_v: nop\n.symver foo_v,foo{ats}V1\n");
        object(&lab, &format!("{name}.o"), &source);
        run(clean("ld").current_dir(lab.root()).args([
            "-shared",
            "--version-script=versions",
            "-o",
            &format!("lib{name}.so"),
            &format!("{name}.o"),
        ]));
    }
    object(&lab, "empty.o", "");
    ar(&lab, "rc", "empty.a", &["empty.o"]);
    object(&lab, "copy.o", ".section .text.c,\"axG\",@progbits,c,comdat\n.weak c\nc: nop\n");
    lab
}

/// The undefined names in the messages of a linker.
fn theirs(lab: &Lab, linker: &str, files: &[&str]) -> BTreeSet<String> {
    let mut command = clean(linker);
    command.current_dir(lab.root()).args(["-shared", "-z", "defs", "-o", "/dev/null"]);
    let output = command.args(files).output().expect("a linker runs");
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    let mut out = BTreeSet::new();
    for line in text.lines() {
        let lld = line.split_once("symbol: ").filter(|_| line.contains("undefined"));
        let lld = lld.map(|(_, name)| name.trim());
        let gnu = line.split_once("undefined reference to `").map(|(_, name)| name);
        let hidden = line.split_once(" symbol `").filter(|_| line.contains("isn't defined"));
        let name = lld.or(gnu).or(hidden.map(|(_, name)| name));
        if let Some(name) = name {
            out.insert(name.split(['\'', ' ']).next().unwrap_or(name).to_owned());
        }
    }
    assert!(output.status.success() == out.is_empty(), "{linker} {files:?}: {text}");
    out
}

/// A case: the source, the files linked with it, and the linkers that differ. mold treats a weak
/// hidden reference as an error, prints no versions, and defines `__rela_iplt_start` everywhere.
struct Case {
    source: &'static str,
    with: &'static [&'static str],
    others: &'static [&'static str],
}

const fn case(source: &'static str, with: &'static [&'static str]) -> Case {
    Case { source, with, others: &[] }
}

const CASES: &[Case] = &[
    // Visibility.
    case(".data\n.quad foo\n", &["libfoo.so"]),
    case(".data\n.hidden foo\n.quad foo\n", &["libfoo.so"]),
    case(".data\n.protected foo\n.quad foo\n", &["libfoo.so"]),
    case(".data\n.internal foo\n.quad foo\n", &["libfoo.so"]),
    case(".data\n.hidden foo\n.quad foo\n", &["foo.o"]),
    Case {
        source: ".data\n.weak foo\n.hidden foo\n.quad foo\n",
        with: &["libfoo.so"],
        others: &["mold"],
    },
    // Versions.
    case(".data\n.quad foo\n", &["libold.so"]),
    case(".data\n.quad foo\n", &["libnew.so"]),
    case(".data\n.symver f,foo@V1\n.quad f\n", &["libold.so"]),
    case(".data\n.symver f,foo@V1\n.quad f\n", &["libnew.so"]),
    Case { source: ".data\n.symver f,foo@V2\n.quad f\n", with: &["libnew.so"], others: &["mold"] },
    // Names that linkers define.
    case(".data\n.quad __start_nosuch\n.quad __stop_nosuch\n", &[]),
    case(".data\n.quad __start_here\n.section here,\"a\"\n.byte 1\n", &[]),
    case(".data\n.quad data_start\n.quad __data_start\n", &[]),
    case(".data\n.quad __exidx_start\n.quad __bss_start__\n.quad _gp\n", &[]),
    Case {
        source: ".data\n.quad __rela_iplt_start\n.quad __rel_iplt_end\n",
        with: &[],
        others: &["mold"],
    },
    case(".data\n.quad _end\n.quad edata\n.quad etext\n.quad __bss_start\n", &[]),
    case(".data\n.quad __ehdr_start\n.quad _DYNAMIC\n.quad _GLOBAL_OFFSET_TABLE_\n", &[]),
    case(
        ".data\n.type _TLS_MODULE_BASE_,@tls_object\n.quad _TLS_MODULE_BASE_\n\
         .section .tdata,\"awT\"\n.byte 0\n",
        &[],
    ),
    case(".data\n.quad __TMC_END__\n.quad __global_pointer$\n.quad .TOC.\n", &[]),
    // Sections.
    case(".globl nosuch\n.text\nnop\n", &[]),
    Case {
        source: ".section .debug_x,\"\",@progbits\n.quad nosuch\n",
        with: &[],
        others: &["ld", "mold"],
    },
    case(".section .x,\"e\",@progbits\n.quad nosuch\n", &[]),
    case(".section .x,\"a\",@note\n.quad nosuch\n", &[]),
    case(".section .t,\"axG\",@progbits,c,comdat\n.weak c\nc: .quad nosuch\n", &[]),
    case(".section .t,\"axG\",@progbits,c,comdat\n.weak c\nc: .quad nosuch\n", &["copy.o"]),
    case(".data\n.weak nosuch\n.quad nosuch\n", &[]),
];

#[test]
fn undefined_names_are_those_of_linkers() {
    let lab = lab();
    let (mut wrong, mut cases) = (Vec::new(), 0);
    for (at, Case { source, with, others }) in CASES.iter().enumerate() {
        object(&lab, "case.o", source);
        for first in [true, false] {
            let mut files = with.to_vec();
            files.insert(if first { 0 } else { with.len() }, "case.o");
            let roots = files.iter().flat_map(|file| ["--root-object", file]);
            let args: Vec<&str> = ["empty.a", "--shared"].into_iter().chain(roots).collect();
            let (answer, _) = archive(&lab.root(), &args);
            let ours = undefined(&answer);
            for linker in ["ld.lld-19", "ld", "mold"] {
                if !has_linker(linker) || others.contains(&linker) {
                    continue;
                }
                cases += 1;
                let theirs = theirs(&lab, linker, &files);
                if ours != theirs {
                    wrong.push(format!("case {at} {files:?}: {linker} {theirs:?}, we {ours:?}"));
                }
            }
        }
    }
    println!("undefined names of linkers: {cases} links, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// A shared object that is given comes before archives that may be added.
#[test]
fn given_shared_objects_come_before_candidates() {
    let lab = lab();
    lab.mkdir("from");
    ar(&lab, "rc", "from/libfoo.a", &["foo.o"]);
    object(&lab, "case.o", ".data\n.quad foo\n");
    let asked = ["empty.a", "--from", "from", "--root-object", "case.o"];
    let (answer, _) = archive(&lab.root(), &asked);
    assert_eq!(super::kit::members(&answer), ["libfoo.a(foo.o)"], "{answer}");
    let (answer, _) = archive(&lab.root(), &[&asked[..], &["--root-object", "libfoo.so"]].concat());
    assert!(super::kit::members(&answer).is_empty(), "{answer}");
}

/// A link by GNU ld's rules is refused with an error that has this text.
fn refused(lab: &Lab, words: &[&str], expected: &str) {
    let output = lab.linkaudit(&[&["archive", "--linker", "gnu"], words].concat());
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(error.contains(expected), "{error}");
    assert_eq!(output.status.code(), Some(2), "{error}");
}

/// `-l` and `-L`, also in a response file: all directories of `-L` count for each `-l`.
#[test]
fn libraries_are_found_as_linkers_find_them() {
    let lab = lab();
    let path = |file: &str| lab.path(file).display().to_string();
    object(&lab, "case.o", ".data\n.quad foo\n");
    lab.mkdir("none");
    lab.mkdir("one");
    lab.mkdir("two");
    ar(&lab, "rc", "one/libx.a", &["foo.o"]);
    ar(&lab, "rc", "two/libx.a", &["foo.o", "empty.o"]);
    std::fs::copy(lab.path("libfoo.so"), lab.path("two/libx.so")).expect("a copy");
    for (line, expected) in [
        ("case.o -lx -L one -L two", &["one/libx.a"][..]),
        ("-Lnone -Lone -Ltwo case.o -lx", &["one/libx.a"]),
        ("-Ltwo -Lone case.o -lx", &[]),
        ("-lx case.o -L one", &[]),
        ("-L absent case.o -L one -lx", &["one/libx.a"]),
        ("--library-path=two case.o -l:libx.a", &["two/libx.a"]),
        ("--library-path two --library-path one case.o --library :libx.a", &["two/libx.a"]),
        ("case.o -Lone --start-group --library=x --end-group", &["one/libx.a"]),
    ] {
        lab.write("line", line);
        let words: Vec<&str> = line.split(' ').collect();
        for words in [&words[..], &["@line"]] {
            let args = [&["--linker", "gnu", "--shared"][..], words].concat();
            let (answer, _) = archive(&lab.root(), &args);
            let needed = answer["needed"].as_array().expect("needed").iter();
            let needed: Vec<&str> = needed.filter_map(|one| one["archive"].as_str()).collect();
            let files: Vec<String> = expected.iter().map(|file| path(file)).collect();
            assert_eq!(needed, files, "{line}");
            assert_eq!(undefined(&answer), theirs(&lab, "ld", words), "{line}");
        }
        // GNU ld names each member that it extracts.
        let mut link = clean("ld");
        let link = link.current_dir(lab.root()).args(["-shared", "-t", "-t", "-o", "/dev/null"]);
        let trace = run(link.arg("@line"));
        let taken: Vec<&str> = trace.lines().filter(|line| line.ends_with(".a)foo.o")).collect();
        let files: Vec<String> = expected.iter().map(|file| format!("({file})foo.o")).collect();
        assert_eq!(taken, files, "{line}");
    }
    let expected = "-l x: not found\nhelp: add its directory with -L DIR, or name the file\n";
    refused(&lab, &["case.o", "-Lnone", "-lx"], expected);
}

/// The table of `--why-extract` names the entry point as lld does.
#[test]
fn the_entry_point_extracts_members() {
    if !has("ld.lld-19") {
        return crate::support::skip("the_entry_point_extracts_members", "there is no ld.lld-19");
    }
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad 0\n");
    ar(&lab, "rc", "libx.a", &["foo.o"]);
    for options in [&["-e", "foo"][..], &["-u", "foo", "-e", "foo"], &["-e", "absent"]] {
        let mut link = clean("ld.lld-19");
        link.current_dir(lab.root()).args([
            "--why-extract=theirs",
            "-o",
            "out",
            "case.o",
            "libx.a",
        ]);
        run(link.args(options));
        let args = ["archive", "--linker", "lld", "case.o", "libx.a", "--why-extract", "ours"];
        lab.linkaudit(&[&args[..], options].concat());
        let read = |name: &str| std::fs::read_to_string(lab.path(name)).expect("a table");
        assert_eq!(read("ours"), read("theirs"), "{options:?}");
    }
}

/// Options of compilers, and response files of `ld.lld --reproduce`.
#[test]
fn words_of_other_programs() {
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad foo\n");
    let expected = "-Wl,: an option of compilers\nhelp: give the compiler's whole command";
    refused(&lab, &["case.o", "-Wl,--gc-sections"], expected);
    refused(&lab, &["case.o", "--chroot", "/x"], "--chroot /x: ");
    lab.write("response.txt", "--chroot .\ncase.o\nfoo.o\n");
    let run = lab.linkaudit(&["archive", "--linker", "lld", "@response.txt"]);
    assert_eq!(run.status.code(), Some(0), "{run:?}");
}

/// lld writes the tables to stdout for `-`.
#[test]
fn tables_on_stdout() {
    let lab = lab();
    object(&lab, "case.o", ".globl _start\n_start: call foo\n");
    ar(&lab, "rc", "libx.a", &["foo.o"]);
    let args = ["archive", "--linker", "lld", "case.o", "libx.a"];
    for (option, table) in [
        ("--why-extract", "reference\textracted\tsymbol\ncase.o\tlibx.a(foo.o)\tfoo\n"),
        ("--archive-stats", "members\textracted\tarchive\n1\t1\tlibx.a\n"),
    ] {
        let run = lab.linkaudit(&[&args[..], &[option, "-"]].concat());
        assert!(String::from_utf8_lossy(&run.stdout).starts_with(table), "{run:?}");
        if has("ld.lld-19") && option == "--why-extract" {
            let mut link = clean("ld.lld-19");
            link.current_dir(lab.root()).args(["case.o", "libx.a", "-o", "out", "--why-extract=-"]);
            let theirs = link.output().expect("lld runs");
            assert_eq!(String::from_utf8_lossy(&theirs.stdout), table);
        }
        let expected =
            format!("{option} -: stdout has the format json\nhelp: name a file for the table\n");
        refused(&lab, &["case.o", "libx.a", "--format", "json", option, "-"], &expected);
    }
    assert!(!lab.path("-").exists());
}

/// Linkers refuse an object or a shared object for another class or machine.
#[test]
fn objects_of_another_machine_define_nothing() {
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad foo\n");
    let file = lab.write("foo32.s", ".globl foo\nfoo: nop\n");
    run(clean("as").current_dir(lab.root()).args(["--32", "-o", "foo32.o"]).arg(file));
    let flags = ["-m", "elf_i386", "-shared", "-o", "libfoo32.so", "foo32.o"];
    run(clean("ld").current_dir(lab.root()).args(flags));
    let open = BTreeSet::from(["foo".to_owned()]);
    for given in ["foo32.o", "libfoo32.so"] {
        let any = ["empty.a", "--shared", "--root-object", "case.o", "--root-object", given];
        let (answer, status) = archive(&lab.root(), &any);
        assert_eq!((undefined(&answer), status), (open.clone(), Some(1)), "{answer}");
        for (program, linker) in [("ld", "gnu"), ("ld.lld-19", "lld"), ("mold", "mold")] {
            let args = ["--linker", linker, "--shared", "case.o", given];
            let (answer, status) = archive(&lab.root(), &args);
            assert_eq!((undefined(&answer), status), (open.clone(), Some(1)), "{answer}");
            assert_eq!(answer["foreign"], 1, "{answer}");
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-shared", "-o", "/dev/null"]);
                let output = link.args(["case.o", given]).output().expect("a linker runs");
                assert!(!output.status.success(), "{program} {given}");
            }
        }
        let text = lab.linkaudit(&["archive", "--linker", "gnu", "case.o", given]).stdout;
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("1 object is for another class or machine"), "{text}");
    }
}

/// lld and mold refuse archives with a member for another machine. GNU ld refuses them only if it
/// extracts the member.
#[test]
fn linkers_refuse_members_of_another_machine() {
    let lab = lab();
    object(&lab, "case.o", ".globl _start\n_start: nop\n.data\n.quad foo\n");
    for name in ["foo", "bar"] {
        let file = lab.write("32.s", format!(".globl {name}\n{name}: nop\n"));
        let object = format!("{name}32.o");
        run(clean("as").current_dir(lab.root()).args(["--32", "-o", &object]).arg(file));
        ar(&lab, "rc", &format!("{name}32.a"), &[&object]);
    }
    object(&lab, "foo.o", ".globl foo\nfoo: nop\n");
    ar(&lab, "rc", "foo.a", &["foo.o"]);
    for (line, gnu) in [
        ("case.o foo32.a foo.a", false),
        ("case.o foo.a foo32.a", true),
        ("case.o bar32.a foo.a", true),
        ("case.o foo.a -u bar bar32.a", false),
        ("case.o foo.a --whole-archive bar32.a", false),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        for (program, linker) in [("ld", "gnu"), ("ld.lld-19", "lld"), ("mold", "mold")] {
            let links = linker == "gnu" && gnu;
            let (answer, status) =
                archive(&lab.root(), &[&["--linker", linker], &words[..]].concat());
            let found = (&answer["complete"], status);
            assert_eq!(
                found,
                (&links.into(), Some(i32::from(!links))),
                "{linker} {line}: {answer}"
            );
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-o", "/dev/null"]).args(&words);
                let output = link.output().expect("a linker runs");
                assert_eq!(output.status.success(), links, "{program} {line}");
            }
        }
    }
    let said = lab.linkaudit(&["archive", "--linker", "lld", "case.o", "foo.a", "bar32.a"]).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let expected =
        "1 member is for another class or machine: lld refuses the link, bar32.a(bar32.o) first\n";
    assert!(said.contains(expected), "{said}");
}

/// GNU ld and mold skip libraries for another class or machine, and lld refuses the first.
#[test]
fn libraries_for_another_machine_are_skipped() {
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad foo\n");
    let file = lab.write("foo32.s", ".globl foo\nfoo: nop\n");
    run(clean("as").current_dir(lab.root()).args(["--32", "-o", "foo32.o"]).arg(file));
    for dir in ["objects", "shared", "script", "right"] {
        lab.mkdir(dir);
    }
    ar(&lab, "rc", "objects/libx.a", &["foo32.o"]);
    ar(&lab, "rc", "script/libx32.a", &["foo32.o"]);
    lab.write("script/libx.so", "OUTPUT_FORMAT(elf32-i386)\nGROUP(libx32.a)\n");
    let flags = ["-m", "elf_i386", "-shared", "-o", "shared/libx.so", "foo32.o"];
    run(clean("ld").current_dir(lab.root()).args(flags));
    ar(&lab, "rc", "right/libx.a", &["foo.o"]);
    lab.write("script.a", "INPUT(-lx)");
    for (program, linker) in [("ld", "gnu"), ("ld.lld-19", "lld"), ("mold", "mold")] {
        for wrong in ["-Lobjects", "-Lshared", "-Lscript"] {
            for input in ["-lx", "script.a"] {
                let words = ["case.o", wrong, "-Lright", input];
                let args = [&["--linker", linker, "--shared"][..], &words[..]].concat();
                let (answer, status) = archive(&lab.root(), &args);
                let is_refused = linker == "lld";
                assert_eq!(status, Some(i32::from(is_refused)), "{args:?} {answer}");
                assert_eq!(answer["foreign"], usize::from(is_refused), "{args:?} {answer}");
                if has_linker(program) {
                    let mut link = clean(program);
                    let link = link.current_dir(lab.root()).args(["-shared", "-o", "/dev/null"]);
                    let output = link.args(words).output().expect("a linker runs");
                    assert_eq!(output.status.success(), !is_refused, "{program} {words:?}");
                }
            }
        }
    }
    let expected = "-l x: objects/libx.a is for another class or machine\nhelp: add its directory";
    refused(&lab, &["case.o", "-Lobjects", "-lx"], expected);
}

/// If a script names a library, linkers search the directories of `-L`. If it names a file, they
/// also search the current directory and, except mold, the directory of the script.
#[test]
fn names_in_scripts_are_found_as_linkers_find_them() {
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad foo\n");
    for dir in ["s", "one", "two"] {
        lab.mkdir(dir);
    }
    for file in ["libx.a", "s/libx.a", "one/libx.a", "two/libx.a", "two/libfar.a"] {
        ar(&lab, "rc", file, &["foo.o"]);
    }
    std::fs::copy(lab.path("libfoo.so"), lab.path("two/libx.so")).expect("a copy");
    lab.write("s/file.so", "INPUT(libx.a)");
    lab.write("s/far.so", "INPUT(libfar.a)");
    lab.write("s/lib.so", "INPUT(-lx)");
    lab.write("s/whole.so", "INPUT(-l:libx.a)");
    lab.write("s/root.so", format!("INPUT(={})", lab.path("one/libx.a").display()));
    let found = [
        ("s/file.so -L one", "s/libx.a"),
        ("s/far.so -L one -L two", "two/libfar.a"),
        ("s/lib.so -L one -L two", "one/libx.a"),
        ("s/lib.so -L two -L one", ""),
        ("s/whole.so -L two", "two/libx.a"),
        ("s/root.so", "one/libx.a"),
    ];
    for (program, linker) in [("ld", "gnu"), ("ld.lld-19", "lld"), ("mold", "mold")] {
        for (line, file) in found {
            let file = if (line, linker) == (found[0].0, "mold") { "libx.a" } else { file };
            let words: Vec<&str> = ["case.o"].into_iter().chain(line.split(' ')).collect();
            let args = [&["--linker", linker, "--shared"][..], &words[..]].concat();
            let (answer, status) = archive(&lab.root(), &args);
            let needed = answer["needed"].as_array().expect("needed").iter();
            let needed: Vec<&str> = needed.filter_map(|one| one["archive"].as_str()).collect();
            let file = Some(file).filter(|file| !file.is_empty());
            let files: Vec<String> =
                file.iter().map(|file| lab.path(file).display().to_string()).collect();
            assert_eq!(needed, files, "{linker} {line}");
            assert_eq!(status, Some(0), "{linker} {line}");
            if has_linker(program) {
                assert!(theirs(&lab, program, &words).is_empty(), "{program} {line}");
            }
        }
    }
    for (line, name) in [("s/lib.so", "-lx"), ("s/far.so", "libfar.a")] {
        let expected = format!("names {name}: not found\nhelp: add its directory: -L DIR\n");
        refused(&lab, &["case.o", line, "--from", "two"], &expected);
    }
}

/// GNU ld searches the archives of GROUP in a script repeatedly, and those of INPUT once. A group
/// inside of another group becomes part of it.
#[test]
fn groups_of_linker_scripts_are_groups() {
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad a1\n");
    for (name, refers) in [("a1", "b1"), ("b1", "a2"), ("a2", "0")] {
        let source = format!(".globl {name}\n{name}: nop\n.data\n.quad {refers}\n");
        object(&lab, &format!("{name}.o"), &source);
    }
    ar(&lab, "rc", "libA.a", &["a1.o", "a2.o"]);
    ar(&lab, "rc", "libB.a", &["b1.o"]);
    for (name, text) in [
        ("libG.so", "GROUP(libA.a libB.a)"),
        ("libI.so", "INPUT(libA.a libB.a)"),
        ("libN.so", "GROUP(libA.a libM.so)"),
        ("libM.so", "GROUP(libB.a)"),
    ] {
        lab.write(name, text);
    }
    for (line, open) in [
        ("case.o libI.so", &["a2"][..]),
        ("case.o libG.so", &[]),
        ("case.o libN.so", &[]),
        ("case.o libA.a libM.so", &["a2"]),
        ("case.o --start-group libA.a libM.so --end-group", &[]),
        ("case.o --start-group libG.so --end-group", &[]),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let args = [&["--linker", "gnu", "--shared"][..], &words[..]].concat();
        let (answer, _) = archive(&lab.root(), &args);
        let open: BTreeSet<String> = open.iter().map(|name| (*name).to_owned()).collect();
        assert_eq!(undefined(&answer), open, "{line}");
        assert_eq!(theirs(&lab, "ld", &words), open, "{line}");
    }
}

/// The names that unreadable members may define are unknown. The answer names these members.
#[test]
fn unread_members_leave_names_unknown() {
    let lab = lab();
    object(&lab, "case.o", ".data\n.quad bar\n");
    object(&lab, "bar.o", ".globl bar\nbar: nop\n");
    lab.write("code.o", b"BC\xc0\xde and so on");
    ar(&lab, "rc", "code.a", &["code.o"]);
    for letters in ["rcT", "rcTS"] {
        ar(&lab, letters, "thin.a", &["bar.o"]);
        std::fs::rename(lab.path("bar.o"), lab.path("away.o")).expect("renamed");
        let (answer, status) = archive(&lab.root(), &["thin.a", "--root-object", "case.o"]);
        assert_eq!((status, &answer["complete"]), (Some(3), &false.into()), "{answer}");
        assert!(undefined(&answer).is_empty(), "{answer}");
        assert_eq!(answer["opaque"][0]["name"], "bar.o", "{answer}");
        let text = lab.linkaudit(&["archive", "thin.a", "--root-object", "case.o"]).stdout;
        let text = String::from_utf8_lossy(&text);
        assert!(text.contains("thin.a(bar.o)") && text.contains("does not exist"), "{text}");
        std::fs::rename(lab.path("away.o"), lab.path("bar.o")).expect("renamed");
        std::fs::remove_file(lab.path("thin.a")).expect("removed");
    }
    let (answer, status) = archive(&lab.root(), &["code.a", "--root-object", "case.o"]);
    assert_eq!((status, &answer["unknown"][0]["symbol"]), (Some(3), &"bar".into()), "{answer}");
}

/// The definitions and references of bitcode members are read, with an index and without one.
#[test]
fn bitcode_members_are_read() {
    if !has("llvm-as-19") || !has("ld.lld-19") {
        return crate::support::skip("bitcode_members_are_read", "there is no llvm-as-19");
    }
    let lab = lab();
    let source = "target triple = \"x86_64-unknown-linux-gnu\"\n\
        target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
        @shared = common global i32 0\n\
        @strong = global i32 1\n\
        declare void @foo()\ndeclare extern_weak void @maybe()\n\
        define weak void @weak() {\n  ret void\n}\n\
        define void @bar() {\n  call void @foo()\n  call void @nosuch()\n  ret void\n}\n\
        declare void @nosuch()\n";
    lab.write("bar.ll", source);
    run(clean("llvm-as-19").current_dir(lab.root()).args(["bar.ll", "-o", "bar.bc"]));
    object(&lab, "case.o", ".data\n.quad bar\n");
    let mut cases = 0;
    for (letters, name) in [("rc", "indexed.a"), ("rcS", "bare.a")] {
        run(clean("llvm-ar-19").current_dir(lab.root()).args([letters, name, "bar.bc", "foo.o"]));
        let args = [name, "--shared", "--root-object", "case.o"];
        let (answer, status) = archive(&lab.root(), &args);
        let expected = [format!("{name}(bar.bc)"), format!("{name}(foo.o)")];
        assert_eq!(super::kit::members(&answer), expected, "{answer}");
        // Only the bitcode refers to `nosuch`: LTO may remove the reference.
        assert_eq!((status, &answer["complete"]), (Some(3), &false.into()), "{answer}");
        assert_eq!(unknown(&answer), theirs(&lab, "ld.lld-19", &["case.o", name]), "{answer}");
        cases += 1;
    }
    // A bitcode file is an object of the link. Without a symbol table, it may define any name.
    let (answer, _) = archive(&lab.root(), &["empty.a", "--shared", "--root-object", "bar.bc"]);
    assert_eq!(unknown(&answer), BTreeSet::from(["foo".to_owned(), "nosuch".to_owned()]));
    lab.write("code.bc", b"BC\xc0\xde and so on");
    for args in [&["empty.a", "--root-object", "code.bc"][..], &["--linker", "gnu", "code.bc"]] {
        let output = lab.linkaudit(&[&["archive"], args].concat());
        assert_eq!(output.status.code(), Some(3), "{args:?}");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(text.contains("1 object is opaque (LTO or bitcode): symbols unknown"), "{text}");
    }
    let module = "target triple = \"x86_64-unknown-linux-gnu\"\n\
        target datalayout = \"e-m:e-p270:32:32-p271:32:32-p272:64:64-i64:64-i128:128-f80:128-n8:16:32:64-S128\"\n\
        module asm \".globl bar\"\nmodule asm \"bar: ret\"\n";
    lab.write("asm.ll", module);
    run(clean("llvm-as-19").current_dir(lab.root()).args(["asm.ll", "-o", "asm.bc"]));
    let words = ["case.o", "asm.bc"];
    let (answer, status) =
        archive(&lab.root(), &[&["--linker", "lld", "--shared"], &words[..]].concat());
    assert_eq!((status, &answer["unknown"][0]["symbol"]), (Some(3), &"bar".into()), "{answer}");
    assert_eq!(answer["opaque"][0]["name"], "asm.bc", "{answer}");
    assert!(theirs(&lab, "ld.lld-19", &words).is_empty());
    println!("bitcode: {cases} archives, 0 differences from lld");
}
