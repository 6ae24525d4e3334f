//! `--gc-sections`: undefined names of sections that a linker drops are not reported. Random links
//! with every kind of section that keeps others, made by lld 19, GNU ld and mold.

use super::kit::{ar, archive, has_linker, object, run, undefined};
use super::libraries::{check, code};
use super::links::undefined_name;
use crate::support::random::{Random, seeds};
use crate::support::{Lab, clean, has, skip};
use std::collections::BTreeSet;
use std::fmt::Write as _;

const LINKERS: &[(&str, &str)] = &[("ld.lld-19", "lld"), ("ld", "gnu"), ("mold", "mold")];

/// The undefined names that a linker reports. The link continues after them.
fn theirs(lab: &Lab, program: &str, args: &[&str]) -> Option<BTreeSet<String>> {
    let mut command = clean(program);
    command.current_dir(lab.root()).args(["-o", "/dev/null", "--gc-sections", "-z", "defs"]);
    command.args(["--noinhibit-exec", "--allow-multiple-definition", "-z", "muldefs"]);
    if program == "ld.lld-19" {
        command.arg("--error-limit=0");
    }
    let output = command.args(args).output().expect("a linker runs");
    // mold 1.10 crashes on some links.
    output.status.code().filter(|code| *code != 139)?;
    let text = String::from_utf8_lossy(&output.stderr).into_owned();
    // GNU ld ends at some errors before it has read all relocations.
    let is_early = text.contains("non-copyable")
        || text.contains("final link failed")
        || text.contains("defined in discarded section");
    // `archive` answers for global names, not for local symbols of discarded groups.
    let names = text.lines().filter_map(undefined_name);
    (!is_early).then(|| names.filter(|name| !name.starts_with("local")).collect())
}

fn ours(lab: &Lab, linker: &str, args: &[&str]) -> BTreeSet<String> {
    let (answer, _) =
        archive(&lab.root(), &[&["--gc-sections", "--linker", linker], args].concat());
    undefined(&answer)
}

/// The section that begins a part of an object, and a reference to `name` in it.
fn section(random: &mut Random, at: usize, parent: Option<usize>) -> String {
    let part = match random.below(14) {
        0 => ".section .init_array,\"aw\"".to_owned(),
        1 => format!(".section .note.n{at},\"a\",@note"),
        2 => format!(".section .keep{at},\"awR\""),
        3 => format!(".section ident{},\"aw\"", random.below(2)),
        4 => format!(".section .debug_x{at},\"\",@progbits"),
        5 => format!(".section .comment{at},\"\",@progbits"),
        6 => format!(".section .text.g{at},\"axG\",@progbits,group{},comdat", random.below(3)),
        7 => format!(".section .data.g{at},\"awG\",@progbits,group{},comdat", random.below(3)),
        8 => match parent {
            Some(parent) => format!(".section .meta{at},\"ao\",@progbits,.text.f{parent}"),
            None => format!(".section .data.d{at},\"aw\""),
        },
        9 => ".section .jcr,\"aw\"".to_owned(),
        10 | 11 => format!(".section .data.d{at},\"aw\""),
        _ => format!(".section .text.f{at},\"ax\",@progbits"),
    };
    format!("{part}\n")
}

fn source(random: &mut Random, own: usize, begins: bool) -> String {
    let mut out = String::new();
    if begins {
        out += ".section .text.start,\"ax\"\n.globl _start\n_start: .quad n0\n";
    }
    let mut parent = None;
    for at in 0..random.between(2, 6) {
        let begin = section(random, at, parent);
        if begin.contains(".text.f") && begin.contains("\"ax\"") {
            parent = Some(at);
        }
        out += &begin;
        let (name, is_group) = (format!("n{}", own * 6 + at), begin.contains("comdat"));
        if !is_group && random.chance(60) {
            let visibility = random.weighted(&[(70, ""), (15, ".hidden"), (15, ".protected")]);
            let bind = random.weighted(&[(85, ".globl"), (15, ".weak")]);
            writeln!(out, "{bind} {name}").expect("a string");
            if !visibility.is_empty() {
                writeln!(out, "{visibility} {name}").expect("a string");
            }
            writeln!(out, "{name}:").expect("a string");
        }
        writeln!(out, ".Lpart{at}:\nlocal{at}: .quad 0").expect("a string");
        for _ in 0..random.between(0, 2) {
            let what = match random.below(10) {
                0..=3 => format!("n{}", random.below(24)),
                4 | 5 => format!("gone{}", random.below(12)),
                6 => format!("__start_ident{}", random.below(2)),
                _ => format!("local{}", random.below(at + 1)),
            };
            writeln!(out, ".quad {what}").expect("a string");
        }
    }
    out
}

/// One link: a program or shared object of an object and archives.
fn differences(seed: u64) -> (usize, Vec<String>) {
    let mut random = Random::new(seed);
    let lab = Lab::new();
    let mut sources = String::new();
    for own in 0..4 {
        let text = source(&mut random, own, own == 0);
        object(&lab, &format!("x{own}.o"), &text);
        write!(sources, "x{own}.o:\n{text}").expect("a string");
    }
    ar(&lab, "rc", "liba.a", &["x1.o", "x2.o"]);
    ar(&lab, "rc", "libb.a", &["x3.o"]);
    let kind = random.weighted(&[(5, ""), (2, "--pie"), (3, "--shared")]);
    let mut args = vec!["x0.o", "liba.a", "libb.a"];
    if random.chance(20) {
        args.extend(["-u", "n9"]);
    }
    let (mut cases, mut out) = (0, Vec::new());
    for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
        let mut kinds: Vec<&str> = Vec::new();
        kinds.extend((!kind.is_empty()).then_some(kind));
        let link = kind.replace("--", "-");
        let link: Vec<&str> = [link.as_str()].into_iter().filter(|k| !k.is_empty()).collect();
        let Some(theirs) = theirs(&lab, program, &[&link[..], &args].concat()) else { continue };
        cases += 1;
        let ours = ours(&lab, linker, &[&kinds[..], &args].concat());
        if ours != theirs {
            let (more, less): (Vec<_>, Vec<_>) =
                (ours.difference(&theirs).collect(), theirs.difference(&ours).collect());
            out.push(format!(
                "seed {seed} {linker} {kind}: only ours {more:?}, only theirs {less:?}\n{sources}"
            ));
        }
    }
    (cases, out)
}

#[test]
fn random_links_with_collected_sections() {
    if !has("ld.lld-19") {
        return skip("random_links_with_collected_sections", "lld-19 is not installed");
    }
    let (mut cases, mut wrong) = (0, Vec::new());
    for seed in seeds("LINKAUDIT_LINKS", 60) {
        let (some, found) = differences(7000 + seed);
        cases += some;
        wrong.extend(found);
    }
    println!("{cases} links with --gc-sections, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong[..wrong.len().min(40)].join("\n"));
}

/// Makes the relocations of a 64-bit object end beyond the end of the file.
fn without_relocations(mut object: Vec<u8>) -> Vec<u8> {
    let field = |object: &[u8], at: usize, len: usize| {
        object[at..at + len].iter().rev().fold(0_usize, |all, byte| all * 256 + usize::from(*byte))
    };
    let (start, count) = (field(&object, 40, 8), field(&object, 60, 2));
    for header in (0..count).map(|at| start + 64 * at) {
        if field(&object, header + 4, 4) == 4 {
            // Adds 64 KiB to `sh_size` of a SHT_RELA section.
            object[header + 34] += 1;
        }
    }
    object
}

/// References count even if the sections that have them are unknown.
#[test]
fn an_object_with_unknown_sections_keeps_those_to_which_it_refers() {
    let lab = Lab::new();
    object(&lab, "use.o", ".globl _start\n_start: .quad f\n");
    let other = ".section .text.g,\"ax\"\n.globl g\ng: .quad unused\n";
    let part = format!(".section .text.f,\"ax\"\n.globl f\nf: .quad missing\n{other}");
    object(&lab, "part.o", &part);
    ar(&lab, "rc", "liba.a", &["part.o"]);
    let bytes = std::fs::read(lab.path("use.o")).expect("an object");
    lab.write("damaged.o", without_relocations(bytes));
    lab.write("lto.c", "void f(void); void _start(void) { f(); }\n");
    let options = ["-flto", "-fno-fat-lto-objects", "-c", "lto.c"];
    run(clean("gcc").current_dir(lab.root()).args(options));
    for file in ["use.o", "damaged.o", "lto.o"] {
        for (_, linker) in LINKERS {
            let names = ours(&lab, linker, &[file, "liba.a"]);
            assert_eq!(names, BTreeSet::from(["missing".to_owned()]), "{linker} {file}");
        }
    }
}

/// The first copy of a COMDAT group is kept, even if the relocations of its object are damaged.
#[test]
fn a_first_copy_with_damaged_relocations() {
    let lab = Lab::new();
    let group = ".section .text.f,\"axG\",@progbits,f,comdat\n.weak f\nf: nop\n";
    object(&lab, "use.o", ".globl _start\n_start: .quad a, b\n");
    object(&lab, "a.o", &format!(".data\n.globl a\na: .quad b\n{group}"));
    object(&lab, "b.o", &format!(".data\n.globl b\nb: .quad 0\n{group}.quad missing\n"));
    let bytes = std::fs::read(lab.path("a.o")).expect("an object");
    lab.write("a.o", without_relocations(bytes));
    ar(&lab, "rc", "liba.a", &["a.o", "b.o"]);
    for (_, linker) in LINKERS {
        let (answer, _) = archive(&lab.root(), &["--linker", linker, "use.o", "liba.a"]);
        assert!(undefined(&answer).is_empty(), "{linker}: {answer}");
    }
}

/// GNU ld drops a debug section together with the group or section to which it belongs.
#[test]
fn debug_sections_of_dropped_groups_and_sections() {
    const CASES: &[(&str, &str)] = &[
        ("a dropped group", ".section .text.g,\"axG\",@progbits,g,comdat\n.weak g\ng: .quad 0\n"),
        ("a kept group", ".quad g\n.section .text.g,\"axG\",@progbits,g,comdat\n.weak g\ng: nop\n"),
        (
            "a group of debug sections",
            ".section .debug_h,\"G\",@progbits,g,comdat\n.quad missing\n",
        ),
        ("a mixed group", ".section .other,\"G\",@progbits,g,comdat\n.quad 0\n"),
    ];
    let lab = Lab::new();
    object(&lab, "use.o", ".globl _start\n_start: .quad part\n");
    let begin = ".text\n.globl part\npart: .quad 0\n";
    let in_group = ".section .debug_g,\"G\",@progbits,g,comdat\n.quad missing\n";
    let mut sources: Vec<(&str, String)> =
        CASES.iter().map(|(name, text)| (*name, format!("{begin}{text}{in_group}"))).collect();
    for (name, parent) in [("a dropped parent", ".text.p"), ("a kept parent", ".text")] {
        let text = format!(
            "{begin}.section .text.p,\"ax\"\n.quad 0\n\
             .section .debug_g,\"o\",@progbits,{parent}\n.quad missing\n"
        );
        sources.push((name, text));
    }
    for (name, source) in &sources {
        object(&lab, "part.o", source);
        for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
            let args = ["use.o", "part.o"];
            let theirs = theirs(&lab, program, &args).expect("a linker that ends");
            assert_eq!(ours(&lab, linker, &args), theirs, "{linker}: {name}");
        }
    }
}

/// The source of a function with an exception table and a personality routine: directly, or through
/// a pointer in data as position-independent code has it.
fn with_exceptions(start: &str, is_direct: bool) -> String {
    let personality = if is_direct { "0x3,persona" } else { "0x9b,DW.ref.persona" };
    let pointer = ".hidden DW.ref.persona\n.weak DW.ref.persona\n\
        .section .data.rel.local.DW.ref.persona,\"awG\",@progbits,DW.ref.persona,comdat\n\
        DW.ref.persona: .quad persona\n";
    format!(
        ".section .text.start,\"ax\"\n.globl _start, f\n_start: .quad {start}\n\
         .section .text.f,\"ax\"\nf:\n.cfi_startproc\n.cfi_personality {personality}\n\
         .cfi_lsda 0x3,.Ltable\nnop\n.cfi_endproc\n\
         .section .gcc_except_table,\"a\"\n.Ltable: .long typeinfo\n{}",
        if is_direct { "" } else { pointer }
    )
}

/// Linkers differ about the exception tables and personality routines of dropped functions.
#[test]
fn unwind_tables_of_dropped_functions() {
    let lab = Lab::new();
    for (start, is_direct) in [("f", true), ("f", false), ("0", true), ("0", false)] {
        object(&lab, "use.o", &with_exceptions(start, is_direct));
        for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
            let theirs = theirs(&lab, program, &["use.o"]).expect("a linker that ends");
            assert_eq!(ours(&lab, linker, &["use.o"]), theirs, "{linker}: {start} {is_direct}");
        }
    }
}

/// A personality routine without a global name. The offsets of its address differ with and
/// without an exception table.
#[test]
fn local_personality_routines() {
    let lab = Lab::new();
    for (start, table) in [("f", true), ("f", false), ("0", true), ("0", false)] {
        let table = if table { ".cfi_lsda 0x1b,.Ltable\n" } else { "" };
        let source = format!(
            ".section .text.start,\"ax\"\n.globl _start\n_start: .quad {start}\n\
             .section .text.routine,\"ax\"\nroutine: .quad missing\n\
             .section .text.f,\"ax\"\nf:\n.cfi_startproc\n.cfi_personality 0x1b,routine\n{table}\
             nop\n.cfi_endproc\n.section .gcc_except_table,\"a\"\n.Ltable: .long typeinfo\n"
        );
        object(&lab, "use.o", &source);
        for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
            // Without a table, the functions of a routine are unknown. GNU ld drops the routine
            // with its functions.
            if (start, table, *linker) == ("0", "", "gnu") {
                continue;
            }
            let theirs = theirs(&lab, program, &["use.o"]).expect("a linker that ends");
            assert_eq!(ours(&lab, linker, &["use.o"]), theirs, "{linker}: {start} {table}");
        }
    }
}

/// Only lld keeps a section that `--defsym` names, and only mold keeps a part of a group.
#[test]
fn sections_of_expressions_and_of_groups() {
    let lab = Lab::new();
    let dead = ".section .text.dead,\"ax\"\n.globl dead\ndead: .quad missing\n";
    object(&lab, "dead.o", &format!(".globl _start\n_start: nop\n{dead}"));
    let group = ".section .text.h,\"axG\",@progbits,g,comdat\n.globl h\nh: nop\n\
        .section .data.h,\"awG\",@progbits,g,comdat\n.quad missing\n";
    object(&lab, "group.o", &format!(".globl _start\n_start: .quad h\n{group}"));
    for args in [&["dead.o", "--defsym=other=dead"][..], &["group.o"]] {
        for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
            let theirs = theirs(&lab, program, args).expect("a linker that ends");
            assert_eq!(ours(&lab, linker, args), theirs, "{linker}: {args:?}");
        }
    }
}

/// lld drops a section to which only a `__start_` symbol refers. Without `--linker`, the section
/// is kept, because GNU ld or mold may make the link.
#[test]
fn sections_that_start_symbols_mark() {
    let lab = Lab::new();
    object(&lab, "use.o", ".globl _start\n_start: .quad __start_ident, part\n");
    object(&lab, "part.o", ".globl part\npart: .quad 0\n.section ident,\"aw\"\n.quad missing\n");
    ar(&lab, "rc", "liba.a", &["part.o"]);
    let files = ["use.o", "liba.a"];
    let kept = BTreeSet::from(["missing".to_owned()]);
    for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
        let theirs = theirs(&lab, program, &files).expect("a linker that ends");
        assert_eq!(ours(&lab, linker, &files), theirs, "{linker}");
        assert_eq!(theirs == kept, *linker != "lld", "{linker}: {theirs:?}");
    }
    let args = ["--gc-sections", "--root-object", "use.o", "liba.a"];
    let (answer, _) = archive(&lab.root(), &args);
    assert_eq!(undefined(&answer), kept, "{answer}");
}

/// In a shared object, GNU ld keeps the first section of a `__start_` symbol, which it exports. lld
/// follows the references of a section that is not loaded if the name in it is exported.
#[test]
fn sections_that_exported_names_keep() {
    let lab = Lab::new();
    let marked = ".section ident,\"aw\"\n.quad missing, __start_ident\n";
    object(&lab, "marked.o", marked);
    object(&lab, "hidden.o", &format!(".hidden __start_ident\n{marked}"));
    object(&lab, "second.o", ".section ident,\"aw\"\n.quad second\n");
    let unloaded = ".section .comment1,\"\",@progbits\n.globl f\nf: .quad local\n\
        .section .data.d,\"aw\"\nlocal: .quad missing\n";
    object(&lab, "unloaded.o", unloaded);
    let mut kept = BTreeSet::new();
    for files in [&["marked.o", "second.o"][..], &["hidden.o"], &["unloaded.o"]] {
        for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
            let theirs = theirs(&lab, program, &[&["-shared"], files].concat());
            let theirs = theirs.expect("a linker that ends");
            let ours = ours(&lab, linker, &[&["--shared"], files].concat());
            assert_eq!(ours, theirs, "{linker}: {files:?}");
            kept.extend((!theirs.is_empty()).then_some((files[0], *linker)));
        }
    }
    assert!(
        kept.contains(&("marked.o", "gnu")) && kept.contains(&("unloaded.o", "lld")),
        "{kept:?}"
    );
}

/// A shared object keeps the exported definitions of names to which it refers or that it also
/// defines, unless `--as-needed` drops the shared object. Only lld keeps these definitions even
/// then.
#[test]
fn sections_that_shared_objects_keep() {
    let lab = Lab::new();
    object(&lab, "use.o", ".globl _start\n_start: nop\n");
    let part = ".section .text.k,\"ax\"\nk: .quad missing\n";
    object(&lab, "strong.o", &format!(".globl k\n{part}"));
    object(&lab, "weak.o", &format!(".weak k\n{part}"));
    object(&lab, "hidden.o", &format!(".globl k\n.hidden k\n{part}"));
    object(&lab, "k.o", ".globl k\n.type k,@function\nk: nop\n");
    object(&lab, "old.o", ".globl old\nold: nop\n.symver old,k@V1\n");
    object(&lab, "y.o", ".globl y\ny: .quad k\n");
    lab.write("v1.map", "V1 { k; };\n");
    for (library, inputs) in [
        ("libk.so", &["k.o"][..]),
        ("libv.so", &["k.o", "--version-script", "v1.map"]),
        ("libold.so", &["old.o", "--version-script", "v1.map"]),
        ("liby.so", &["y.o"]),
    ] {
        run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", library]).args(inputs));
    }
    let mut kept = 0;
    for library in ["libk.so", "libv.so", "libold.so", "liby.so"] {
        for args in [
            &["use.o", "strong.o", library][..],
            &["use.o", library, "strong.o"],
            &["use.o", "weak.o", library],
            &["use.o", library, "hidden.o"],
            &["use.o", "strong.o", "--as-needed", library],
            &["use.o", "--as-needed", library, "strong.o"],
        ] {
            for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
                let mut theirs = theirs(&lab, program, args).expect("a linker that ends");
                let mut ours = ours(&lab, linker, args);
                // A hidden name to which a shared object refers is another question.
                theirs.remove("k");
                ours.remove("k");
                assert_eq!(ours, theirs, "{linker}: {args:?}");
                kept += usize::from(!theirs.is_empty());
            }
        }
    }
    assert!(kept > 0, "no linker keeps a section");
}

/// In GNU ld, a symbol of `--defsym` that is equal to another one keeps the section of that one. lld
/// keeps it in any case, and mold 1.10 does not.
#[test]
fn symbols_of_options_keep_sections() {
    let lab = Lab::new();
    code(&lab, "case.o", "_start", "");
    object(&lab, "uses.o", ".globl _start\n_start: .quad foo\n");
    let source = ".section .text.bar,\"ax\"\n.globl bar\nbar: nop\n.data\n.quad 0\n";
    object(&lab, "bar.o", &format!("{source}.section .text.bar\n.quad nosuch\n"));
    let source = source.replace("bar", "foo");
    object(&lab, "foo.o", &format!("{source}.section .text.foo\n.quad gone\n"));
    lab.write("script", "foo = bar;\n");
    lab.write("branch", "foo = DEFINED(bar) ? bar : 0;\n");
    lab.write("provide", "PROVIDE(foo = bar);\n");
    check(
        &lab,
        &[
            ("lld", "--gc-sections uses.o bar.o --defsym=foo=bar", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o --defsym=foo=bar", &["nosuch"]),
            ("mold", "--gc-sections uses.o bar.o --defsym=foo=bar", &[]),
            ("gnu", "--gc-sections case.o bar.o --defsym=foo=bar", &[]),
            ("gnu", "--gc-sections case.o bar.o --defsym=foo=bar -u foo", &["nosuch"]),
            ("gnu", "--gc-sections case.o bar.o --defsym=foo=bar -e foo", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o --defsym=foo=(bar)", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o --defsym=foo=bar+4", &[]),
            ("gnu", "--gc-sections uses.o bar.o --defsym=foo=a --defsym=a=bar", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o --defsym=foo=0 --defsym=foo=bar", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o --defsym=foo=bar --defsym=foo=0", &[]),
            ("gnu", "--gc-sections uses.o bar.o script", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o branch", &["nosuch"]),
            ("gnu", "--gc-sections uses.o bar.o provide", &["nosuch"]),
            ("gnu", "--gc-sections case.o bar.o provide", &[]),
            // The option replaces the definition of an object, and PROVIDE does not.
            ("gnu", "--gc-sections uses.o bar.o foo.o --defsym=foo=bar", &["nosuch"]),
            ("gnu", "--gc-sections uses.o foo.o --defsym=foo=0", &[]),
            ("gnu", "--gc-sections uses.o foo.o --defsym=foo=foo+4", &["gone"]),
            ("gnu", "--gc-sections uses.o bar.o foo.o provide", &["gone"]),
        ],
    );
}
