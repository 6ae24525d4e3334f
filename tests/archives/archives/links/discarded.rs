//! References of an object to symbols of its own copy of a COMDAT group, which is discarded.

use super::LINKERS;
use crate::archives::kit::{ar, archive, has_linker, object, run, undefined};
use crate::support::{Lab, clean};

/// Links each line with all linkers. linkaudit must find an error exactly if the linker fails; mold
/// 1.10 fails by a crash. The symbol that stays undefined, if any, is `g`.
#[track_caller]
fn check(lab: &Lab, lines: &[String]) {
    for (program, linker) in LINKERS.iter().filter(|(program, _)| has_linker(program)) {
        for line in lines {
            let words: Vec<&str> = line.split(' ').collect();
            let mut link = clean(program);
            let link = link.current_dir(lab.root()).args(["-o", "/dev/null"]).args(&words);
            let output = link.output().expect("a linker runs");
            let messages = String::from_utf8_lossy(&output.stderr).into_owned();
            let (answer, status) =
                archive(&lab.root(), &[&["--linker", linker], &words[..]].concat());
            let links = output.status.success();
            assert_eq!(status, Some(i32::from(!links)), "{linker} {line}: {answer}\n{messages}");
            let names = undefined(&answer);
            assert!(names.iter().all(|name| name == "g"), "{linker} {line}: {answer}");
            let is_rejected = !answer["rejected"].as_array().expect("rejected").is_empty();
            assert_eq!(is_rejected || !names.is_empty(), !links, "{linker} {line}: {answer}");
        }
    }
}

/// `a.o` has the kept copy of the group. `NAME.o` has a copy with `of_copy` and `others`.
fn copies(lab: &Lab, cases: &[(&str, &str, &str)]) {
    let group = ".section .text.f,\"axG\",@progbits,f,comdat\n";
    let begin = ".globl _start\n_start: nop\n";
    object(lab, "a.o", &format!("{begin}{group}.globl f\nf: nop\n"));
    object(lab, "ah.o", &format!("{begin}{group}.globl f, g\n.hidden g\nf: nop\ng: nop\n"));
    object(lab, "al.o", &format!("{begin}{group}.globl f\nf: nop\ng: nop\n"));
    for (name, of_copy, others) in cases {
        let source = format!("{group}.weak f\nf: nop\n{of_copy}\n{others}\n");
        object(lab, &format!("{name}.o"), &source);
    }
}

/// The name is defined only in the discarded copy, or elsewhere too.
#[test]
fn own_names_of_discarded_copies() {
    let lab = Lab::new();
    let data = ".data\n.quad g";
    let cases = [
        ("strong", ".globl g\ng: nop", data),
        ("weak", ".weak g\ng: nop", data),
        ("hidden", ".globl g\n.hidden g\ng: nop", data),
        ("weak_hidden", ".weak g\n.hidden g\ng: nop", data),
        ("table", ".globl g\ng: nop", ".section .gcc_except_table,\"a\"\n.quad g"),
        ("none", ".globl g\ng: nop", ""),
        ("inside", ".globl g\ng: nop\ncall g", ""),
        (
            "group",
            ".globl g\ng: nop",
            ".section .text.h,\"axG\",@progbits,h,comdat\n.weak h\nh: call g",
        ),
    ];
    copies(&lab, &cases);
    object(&lab, "h.o", ".section .text.h,\"axG\",@progbits,h,comdat\n.weak h\nh: nop\n");
    object(&lab, "d.o", ".globl g\ng: nop\n");
    object(&lab, "w.o", ".weak g\ng: nop\n");
    object(&lab, "r.o", ".data\n.quad g\n");
    object(&lab, "q.o", ".weak g\n.data\n.quad g\n");
    ar(&lab, "rc", "d.a", &["d.o"]);
    ar(&lab, "rc", "ah.a", &["ah.o"]);
    ar(&lab, "rc", "al.a", &["al.o"]);
    run(clean("ld").current_dir(lab.root()).args(["-shared", "-o", "libd.so", "d.o"]));
    let mut lines = Vec::new();
    for (name, ..) in cases {
        let all = ["a.o NAME.o", "-pie a.o NAME.o", "ah.o NAME.o", "al.o NAME.o", "NAME.o a.o"];
        lines.extend(all.map(|line| line.replace("NAME", name)));
        // The entry point extracts the member after the object was read, except in mold.
        let others = ["--gc-sections a.o NAME.o", "NAME.o ah.a", "NAME.o al.a"];
        lines.extend(others.map(|line| line.replace("NAME", name)));
    }
    for name in ["strong", "weak", "hidden"] {
        let all = ["d.o", "w.o", "libd.so", "--defsym=g=1", "d.a", "r.o", "r.o d.a"];
        lines.extend(all.map(|more| format!("a.o {name}.o {more}")));
        lines.extend(["d.o", "w.o", "r.o"].map(|more| format!("a.o {more} {name}.o")));
    }
    lines.extend(["h.o a.o group.o", "a.o group.o h.o"].map(str::to_owned));
    lines.extend(
        ["a.o none.o q.o", "a.o none.o r.o", "a.o strong.o q.o", "a.o weak.o -u g d.a"]
            .map(str::to_owned),
    );
    check(&lab, &lines);
}

/// lld and GNU ld refuse a reference to a local symbol of a discarded copy.
#[test]
fn local_symbols_of_discarded_copies() {
    let lab = Lab::new();
    let cases = [
        ("data", "g: nop", ".data\n.quad g"),
        ("section", "g: nop", ".data\n.quad .text.f"),
        ("table", "g: nop", ".section .gcc_except_table,\"a\"\n.quad g"),
        ("debug", "g: nop", ".section .debug_x\n.quad g"),
        ("inside", "g: call g", ""),
        ("unwind", ".cfi_startproc\nnop\n.cfi_endproc\n", ""),
        ("group", "g: nop", ".section .text.h,\"axG\",@progbits,h,comdat\n.weak h\nh: .quad g"),
    ];
    copies(&lab, &cases);
    object(&lab, "h.o", ".section .text.h,\"axG\",@progbits,h,comdat\n.weak h\nh: nop\n");
    ar(&lab, "rc", "a.a", &["a.o"]);
    let mut lines = Vec::new();
    for (name, ..) in cases {
        let all = ["a.o NAME.o", "ah.o NAME.o", "NAME.o a.o", "-shared a.o NAME.o", "NAME.o a.a"];
        lines.extend(all.map(|line| line.replace("NAME", name)));
    }
    lines.extend(["h.o a.o group.o", "a.o group.o h.o"].map(str::to_owned));
    check(&lab, &lines);
    if has_linker("ld.lld-19") {
        let said = lab.linkaudit(&["archive", "--linker", "lld", "a.o", "data.o"]).stdout;
        let said = String::from_utf8_lossy(&said).into_owned();
        let expected = "1 object refers to a local symbol of its discarded copy of a COMDAT group: \
                        lld refuses the link, data.o first\n";
        assert!(said.contains(expected), "{said}");
    }
}
