//! References that need no definition, on several machines: calls that linkers replace in
//! programs, relocations of type NONE, and names of sections. lld 19 and mold link all objects,
//! GNU ld those for x86. Also objects for several machines in one link.

use super::kit::{ar, archive, has_linker, object, run, undefined};
use super::links::undefined_name;
use crate::support::{Lab, clean, has, skip};
use std::collections::BTreeSet;

/// Objects: the triple of LLVM, and the source.
const CASES: &[(&str, &str)] = &[
    ("x86_64-linux-gnu", "leaq t@tlsld(%rip), %rdi\ncall __tls_get_addr@PLT\n"),
    (
        "x86_64-linux-gnu",
        "data16 leaq t@tlsgd(%rip), %rdi\ndata16 rex64 call *__tls_get_addr@GOTPCREL(%rip)\n",
    ),
    // Data without a definition.
    (
        "x86_64-linux-gnu",
        "data16 leaq none@tlsgd(%rip), %rdi\n.value 0x6666\nrex64\ncall __tls_get_addr@PLT\n",
    ),
    ("x86_64-linux-gnu", "call __tls_get_addr@PLT\n"),
    ("i386-linux-gnu", "leal t@tlsgd(,%ebx,1), %eax\ncall ___tls_get_addr@plt\nnop\n"),
    (
        "i386-linux-gnu",
        "leal t@tlsldm(%ebx), %eax\ncall ___tls_get_addr@plt\nleal t@dtpoff(%eax), %edx\n",
    ),
    (
        "powerpc64le-linux-gnu",
        "addis 3,2,t@got@tlsgd@ha\naddi 3,3,t@got@tlsgd@l\nbl __tls_get_addr(t@tlsgd)\nnop\n",
    ),
    (
        "powerpc-linux-gnu",
        "addi 3,31,t@got@tlsgd\nbl __tls_get_addr(t@tlsgd)\naddi 3,31,t@got@tlsld\n\
         bl __tls_get_addr(t@tlsld)\n",
    ),
    ("powerpc-linux-gnu", "addi 3,31,none@got@tlsgd\nbl __tls_get_addr(none@tlsgd)\n"),
    (
        "s390x-linux-gnu",
        "lgrl %r2,.L1\nbrasl %r14,__tls_get_offset@PLT:tls_gdcall:t\nlgrl %r2,.L2\n\
         brasl %r14,__tls_get_offset@PLT:tls_ldcall:t\n.section .data.rel.ro,\"aw\"\n\
         .L1: .quad t@TLSGD\n.L2: .quad t@TLSLDM\n",
    ),
    (
        "s390x-linux-gnu",
        "lgrl %r2,.L1\nbrasl %r14,__tls_get_offset@PLT:tls_gdcall:none\n\
         .section .data.rel.ro,\"aw\"\n.L1: .quad none@TLSGD\n",
    ),
    ("riscv64-linux-gnu", "la.tls.gd a0, t\ncall __tls_get_addr@plt\n"),
    ("x86_64-linux-gnu", ".reloc ., R_X86_64_NONE, nosuch\nnop\n"),
    (
        "armv7-linux-gnueabihf",
        ".syntax unified\n.fnstart\n.save {r4,lr}\npush {r4,lr}\npop {r4,pc}\n.fnend\n",
    ),
    ("x86_64-linux-gnu", ".quad .sizeof..text, .startof..text\n"),
];

/// The source of the program: thread-local data in its own object, as compilers make it.
fn program(code: &str) -> String {
    format!(".globl _start\n_start:\n{code}\n.section .tdata,\"awT\"\n.globl t\nt: .long 0,0\n")
}

fn linkers(triple: &str) -> Vec<(&'static str, &'static [&'static str], &'static str)> {
    let mut out: Vec<(&str, &[&str], &str)> =
        vec![("ld.lld-19", &[], "lld"), ("mold", &[], "mold")];
    match triple {
        "x86_64-linux-gnu" => out.push(("ld", &[], "gnu")),
        "i386-linux-gnu" => out.push(("ld", &["-m", "elf_i386"], "gnu")),
        _ => {}
    }
    out.retain(|(program, ..)| has_linker(program));
    out
}

#[test]
fn references_without_effect_need_no_definition() {
    if !has("llvm-mc-19") {
        let name = "references_without_effect_need_no_definition";
        return skip(name, "there is no llvm-mc-19");
    }
    let lab = Lab::new();
    let (mut cases, mut wrong) = (0, Vec::new());
    for (triple, code) in CASES {
        lab.write("case.s", program(code));
        let triple_option = format!("-triple={triple}");
        let options = ["-filetype=obj", &triple_option, "case.s", "-o", "case.o"];
        run(clean("llvm-mc-19").current_dir(lab.root()).args(options));
        for (program, emulation, linker) in linkers(triple) {
            for (option, ours) in [(None, None), (Some("-pie"), Some("--pie"))] {
                let mut link = clean(program);
                link.current_dir(lab.root()).args(["-o", "/dev/null", "case.o"]);
                let output = link.args(emulation).args(option).output().expect("a linker runs");
                let text = String::from_utf8_lossy(&output.stderr).into_owned();
                let theirs: BTreeSet<String> = text.lines().filter_map(undefined_name).collect();
                let args: Vec<&str> =
                    ["--linker", linker, "case.o"].into_iter().chain(ours).collect();
                let ours = undefined(&archive(&lab.root(), &args).0);
                cases += 1;
                if ours != theirs {
                    wrong.push(format!(
                        "{triple} {program} {option:?} {code}: {theirs:?}, {ours:?}"
                    ));
                }
            }
        }
    }
    println!("references without effect: {cases} links, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Only mold keeps calls without relaxation, and only in a link with shared libraries.
#[test]
fn calls_that_are_not_relaxed() {
    let lab = Lab::new();
    object(&lab, "tls.o", &program("leaq t@tlsld(%rip), %rdi\ncall __tls_get_addr@PLT\n"));
    for (program, _, linker) in linkers("x86_64-linux-gnu") {
        for options in [
            &["--no-relax"][..],
            &["-pie", "--no-relax"],
            &["--no-relax", "--relax"],
            &["--relax", "--no-relax"],
            &["-static", "--no-relax"],
        ] {
            let mut link = clean(program);
            link.current_dir(lab.root()).args(["-o", "/dev/null", "tls.o"]).args(options);
            let output = link.output().expect("a linker runs");
            let text = String::from_utf8_lossy(&output.stderr).into_owned();
            let theirs: BTreeSet<String> = text.lines().filter_map(undefined_name).collect();
            let args = [&["-q", "--linker", linker, "tls.o"], options].concat();
            let ours = undefined(&archive(&lab.root(), &args).0);
            assert_eq!(ours, theirs, "{linker} {options:?}");
        }
    }
}

/// With `-m`, linkers refuse objects for another machine.
#[test]
fn emulations_of_another_machine() {
    let lab = Lab::new();
    object(&lab, "case.o", ".globl _start\n_start: nop\n");
    for emulation in ["elf_x86_64", "elf_i386"] {
        let words = ["-m", emulation, "case.o"];
        for (program, linker) in [("ld", "gnu"), ("ld.lld-19", "lld"), ("mold", "mold")] {
            let (answer, status) =
                archive(&lab.root(), &[&["-q", "--linker", linker], &words[..]].concat());
            let links = emulation == "elf_x86_64";
            assert_eq!(status, Some(i32::from(!links)), "{linker} {emulation}: {answer}");
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-o", "/dev/null"]).args(words);
                let output = link.output().expect("a linker runs");
                assert_eq!(output.status.success(), links, "{program} {emulation}");
            }
        }
    }
}

/// OUTPUT_FORMAT of a script is the format that all objects of a link of lld must have.
#[test]
fn formats_of_scripts() {
    if !has("llvm-mc-19") || !has_linker("ld.lld-19") {
        return skip("formats_of_scripts", "there is no llvm-mc-19 or lld 19");
    }
    let lab = Lab::new();
    let formats = [
        ("i386", "elf32-i386"),
        ("x86_64", "elf64-x86-64"),
        ("x86_64", "elf64-x86-64-freebsd"),
        ("x86_64-linux-gnux32", "elf32-x86-64"),
        ("aarch64", "elf64-aarch64"),
        ("aarch64", "elf64-littleaarch64"),
        ("aarch64_be", "elf64-bigaarch64"),
        ("arm", "elf32-littlearm"),
        ("riscv32", "elf32-littleriscv"),
        ("riscv64", "elf64-littleriscv"),
        ("loongarch32", "elf32-loongarch"),
        ("loongarch64", "elf64-loongarch"),
        ("powerpc", "elf32-powerpc"),
        ("powerpcle", "elf32-powerpcle"),
        ("powerpc64", "elf64-powerpc"),
        ("powerpc64le", "elf64-powerpcle"),
        ("mips", "elf32-tradbigmips"),
        ("mipsel", "elf32-tradlittlemips"),
        ("mips64-linux-gnuabi64", "elf64-tradbigmips"),
        ("mips64el-linux-gnuabi64", "elf64-tradlittlemips"),
        ("s390x", "elf64-s390"),
        ("hexagon", "elf32-hexagon"),
    ];
    lab.write("case.s", ".globl _start\n.data\n_start: .long 0\n");
    let (mut cases, mut wrong) = (0, Vec::new());
    for (triple, own) in formats {
        let triple_option = format!("-triple={triple}");
        let options = ["-filetype=obj", &triple_option, "case.s", "-o", "case.o"];
        run(clean("llvm-mc-19").current_dir(lab.root()).args(options));
        for name in [own, "elf64-sparc", "elf32-bigarm"] {
            lab.write("x.ld", format!("OUTPUT_FORMAT({name})\n"));
            let mut link = clean("ld.lld-19");
            link.current_dir(lab.root()).args(["-o", "/dev/null", "case.o", "x.ld"]);
            let links = link.output().expect("lld runs").status.success();
            let ours = lab.linkaudit(&["archive", "--linker", "lld", "case.o", "x.ld"]);
            cases += 1;
            if ours.status.code() != Some(i32::from(!links)) || links != (name == own) {
                let error = String::from_utf8_lossy(&ours.stderr).into_owned();
                wrong.push(format!(
                    "{triple} {name}: lld links: {links}; {:?} {error}",
                    ours.status
                ));
            }
        }
    }
    println!("formats of scripts: {cases} links, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Linkers accept any ABI beside an object for PowerPC that names none.
#[test]
fn objects_without_an_abi() {
    if !has("llvm-mc-19") {
        return skip("objects_without_an_abi", "there is no llvm-mc-19");
    }
    let lab = Lab::new();
    for (name, source) in [
        ("use", ".globl _start\n_start:\n.data\n.quad foo\n"),
        ("foo", ".abiversion 2\n.globl foo\nfoo: blr\n"),
    ] {
        lab.write("case.s", source);
        let object = format!("{name}.o");
        let args = ["-filetype=obj", "-triple=powerpc64-linux-gnu", "case.s", "-o", &object];
        run(clean("llvm-mc-19").current_dir(lab.root()).args(args));
    }
    ar(&lab, "rc", "foo.a", &["foo.o"]);
    for (program, linker) in [("ld.lld-19", "lld"), ("mold", "mold")] {
        for words in [["use.o", "foo.o"], ["foo.o", "use.o"], ["use.o", "foo.a"]] {
            let (answer, status) =
                archive(&lab.root(), &[&["--linker", linker], &words[..]].concat());
            assert_eq!(status, Some(0), "{linker} {words:?}: {answer}");
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-o", "/dev/null"]).args(words);
                let output = link.output().expect("a linker runs");
                assert!(output.status.success(), "{program} {words:?}");
            }
        }
    }
}

#[test]
fn links_without_an_object() {
    let lab = Lab::new();
    super::libraries::code(&lab, "m.o", "_start", "");
    lab.write("empty.ld", "");
    ar(&lab, "rc", "empty.a", &[]);
    for (program, linker) in super::libraries::LINKERS {
        for line in ["empty.ld", "empty.a", "-m elf_x86_64 empty.ld", "empty.ld m.o"] {
            if linker == "mold" && line.contains("empty.ld") {
                continue;
            }
            let words: Vec<&str> = line.split(' ').collect();
            let output = lab.linkaudit(&[&["archive", "--linker", linker], &words[..]].concat());
            let text = String::from_utf8_lossy(&output.stderr);
            let is_refused = linker != "gnu" && !line.contains("m.o") && !line.contains("-m ");
            assert_eq!(output.status.success(), !is_refused, "{linker} {line}: {text}");
            if has_linker(program) {
                let mut command = clean(program);
                let command = command.current_dir(lab.root()).args(&words).args(["-o", "out"]);
                let output = command.output().expect("a linker runs");
                let text = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.success(), !is_refused, "{program} {line}: {text}");
            }
        }
    }
}
