//! Shared objects, programs and version scripts as inputs, which some linkers reject. Each case
//! is linked by lld 19, GNU ld and mold too.

use super::kit::{ar, archive, has_linker, object, run};
use super::libraries::{LINKERS, code, shared};
use crate::support::{Lab, clean};

/// A line, and the linkers that accept it.
type Case = (&'static str, &'static [&'static str]);

/// Checks that linkaudit and the linkers reject an input in the same lines.
#[track_caller]
fn check(lab: &Lab, cases: &[Case], reason: &str) {
    for (line, accepted) in cases {
        let words: Vec<&str> = line.split(' ').collect();
        for (program, linker) in LINKERS {
            let links = accepted.contains(&linker);
            let (answer, status) =
                archive(&lab.root(), &[&["--linker", linker], &words[..]].concat());
            assert_eq!(status, Some(i32::from(!links)), "{linker} {line}: {answer}");
            let rejected = answer["rejected"].as_array().expect("rejected");
            let reasons: Vec<_> =
                rejected.iter().filter_map(|one| one["reason"].as_str()).collect();
            assert!(reasons.iter().all(|found| *found == reason), "{linker} {line}: {answer}");
            assert_eq!(reasons.is_empty(), links, "{linker} {line}: {answer}");
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-o", "out"]).args(&words);
                let output = link.output().expect("a linker runs");
                let error = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.success(), links, "{program} {line}: {error}");
            }
        }
    }
}

/// GNU ld and lld reject a shared object after `-static`. mold reads the option for `-l` alone.
#[test]
fn shared_objects_in_static_links() {
    let all: &[&str] = &["lld", "gnu", "mold"];
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "f");
    code(&lab, "f.o", "f", "");
    shared(&lab, "libf.so", &["f.o"]);
    lab.write("script.so", "INPUT(libf.so)");
    check(
        &lab,
        &[
            ("m.o libf.so", all),
            ("-static m.o libf.so", &["mold"]),
            ("m.o -Bstatic libf.so", &["mold"]),
            ("m.o libf.so -Bstatic", all),
            ("m.o -Bstatic -Bdynamic libf.so", all),
            ("m.o -Bstatic --push-state -Bdynamic libf.so --pop-state", all),
            ("m.o --push-state -Bstatic --pop-state libf.so", all),
            ("m.o --push-state -Bstatic libf.so --pop-state", &["mold"]),
            ("m.o -static script.so", &["mold"]),
            ("m.o -L. -static -l:libf.so", &["mold"]),
        ],
        "shared object is linked with -static",
    );
    let line = ["archive", "--linker", "lld", "-static", "m.o", "libf.so"];
    let said = lab.linkaudit(&line).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let expected = "1 shared object is linked with -static: lld refuses the link, libf.so first\n";
    assert!(said.contains(expected), "{said}");
}

/// GNU ld rejects all programs, and lld and mold those at a fixed address.
#[test]
fn programs_as_inputs() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "f");
    code(&lab, "f.o", "f _start", "");
    code(&lab, "n.o", "n", "f");
    shared(&lab, "libn.so", &["n.o"]);
    for (option, program) in [("-no-pie", "fixed"), ("-pie", "pie")] {
        let options = [option, "--export-dynamic", "-o", program, "f.o", "libn.so"];
        run(clean("ld").current_dir(lab.root()).args(options));
    }
    check(
        &lab,
        &[("-shared n.o fixed", &[]), ("-shared n.o pie", &["lld", "mold"])],
        "input is an executable",
    );
    // A program may be linked again: then it is not an input.
    ar(&lab, "rc", "n.a", &["n.o"]);
    let line = ["--linker", "gnu", "n.a", "--root-object", "fixed"];
    let (answer, status) = archive(&lab.root(), &line);
    assert_eq!(status, Some(0), "{answer}");
}

/// A script with VERSION alone is an input that hides symbols.
#[test]
fn version_scripts_as_inputs() {
    let all: &[&str] = &["lld", "gnu", "mold"];
    let lab = Lab::new();
    code(&lab, "m.o", "_start p", "f");
    code(&lab, "f.o", "f", "");
    code(&lab, "user.o", "user", "p");
    ar(&lab, "rc", "f.a", &["f.o"]);
    shared(&lab, "libuser.so", &["user.o"]);
    lab.write("v.ld", "VERSION { V1 { global: _start; local: *; }; };\n");
    check(&lab, &[("-shared m.o v.ld f.a", all), ("m.o f.a v.ld", all)], "");
    for (line, error) in [
        ("m.o v.ld f.a libuser.so", "VERSION of a script: may hide symbols that shared objects"),
        ("--gc-sections --shared m.o v.ld f.a", "VERSION of a script: its effect on --gc-sections"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        let output = lab.linkaudit(&[&["archive", "--linker", "gnu"], &words[..]].concat());
        let said = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code() == Some(2) && said.contains(error), "{line}: {said}");
    }
}

/// Names that are thread-local in one file and ordinary symbols in another. GNU ld rejects all pairs
/// that it sees, and lld 19 those of a thread-local definition and an object's symbol with a type.
/// mold warns.
#[test]
fn thread_local_and_ordinary_symbols() {
    let lab = Lab::new();
    let tls = ".section .tdata,\"awT\",@progbits\n.globl v\nv: .quad 1\n";
    for (name, source) in [
        ("s", ".globl _start\n_start: nop\n"),
        ("rt", ".text\nmovq v@gottpoff(%rip), %rax\n"),
        ("rn", ".data\n.quad v\n"),
        ("ro", ".data\n.type v, @object\n.quad v\n"),
        ("rw", ".data\n.weak v\n.quad v\n"),
        ("dt", tls),
        ("du", &format!("{tls}.globl u\nu: .quad 1\n")),
        ("dn", ".data\n.globl v\n.type v, @object\nv: .quad 1\n"),
        ("dc", ".comm v, 8, 8\n"),
        ("da", ".data\n.globl v\nv: .quad 1\n"),
        ("nu", ".data\n.globl u\nu: .quad 1\n.globl v\n.type v, @object\nv: .quad 1\n"),
        ("ru", ".data\n.quad u\n"),
        ("other", ".globl other\nother: nop\n"),
    ] {
        object(&lab, &format!("{name}.o"), source);
    }
    for name in ["dt", "dn", "dc", "da", "du", "nu"] {
        ar(&lab, "rc", &format!("{name}.a"), &[&format!("{name}.o"), "other.o"]);
        shared(&lab, &format!("{name}.so"), &[&format!("{name}.o")]);
    }
    shared(&lab, "ro.so", &["ro.o"]);
    shared(&lab, "rt.so", &["rt.o"]);
    let mold: &[&str] = &["mold"];
    let gnu: &[&str] = &["lld", "mold"];
    let none: &[&str] = &["lld", "gnu", "mold"];
    // The inputs, and the linkers that accept them.
    let cases: &[Case] = &[
        ("rt.o dn.a", gnu),
        ("dn.a rt.o", none),
        ("rt.o dn.so", gnu),
        ("dn.so rt.o", gnu),
        ("rt.o dc.a", gnu),
        ("rt.o da.o", gnu),
        ("rn.o dt.a", gnu),
        ("rn.o dt.so", gnu),
        ("rn.o --as-needed dt.so", gnu),
        ("ro.o dt.a", mold),
        ("dt.o ro.o", mold),
        ("ro.o dt.so", mold),
        ("dt.so ro.o", mold),
        ("ro.so dt.o", gnu),
        ("rt.so dn.o", gnu),
        ("dn.o rt.so", gnu),
        ("dn.o dt.so", none),
        ("dt.so dn.o", gnu),
        ("dn.so dt.o", gnu),
        ("dt.o dn.so", none),
        ("dn.so dt.so", gnu),
        ("rw.o dt.a", none),
        ("rw.o dt.so", gnu),
        ("rt.o dt.a", none),
        ("rn.o dn.a", none),
        ("ru.o rn.o dt.so nu.a", gnu),
        ("ru.o rt.o nu.a dt.so", gnu),
    ];
    for (line, accepted) in cases {
        let words: Vec<&str> = std::iter::once("s.o").chain(line.split(' ')).collect();
        for (program, linker) in LINKERS {
            let mut link = clean(program);
            let link = link.current_dir(lab.root()).args(["-o", "out"]).args(&words);
            let error = link.output().map(|run| String::from_utf8_lossy(&run.stderr).into_owned());
            let error = error.unwrap_or_default().to_lowercase();
            let says = error.contains("tls reference") || error.contains("tls definition");
            let says = says || error.contains("tls attribute mismatch");
            let expected = !accepted.contains(&linker);
            if has_linker(program) {
                assert_eq!(says, expected, "{program} {line}: {error}");
            }
            let (answer, status) = archive(&lab.root(), &[&["--linker", linker], &*words].concat());
            let found = answer["mixed_tls"].as_array().expect("mixed_tls");
            let names: Vec<_> = found.iter().map(|one| &one["symbol"]).collect();
            let wanted: &[&str] = if expected { &["v"] } else { &[] };
            assert_eq!(names, wanted, "{linker} {line}: {answer}");
            assert!(!expected || status == Some(1), "{linker} {line}: {answer}");
        }
    }
    let said = lab.linkaudit(&["archive", "--linker", "gnu", "s.o", "rt.o", "dn.a"]).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let expected = "1 name is thread-local in one file and an ordinary symbol in another: GNU ld \
                    refuses the link, v in rt.o and dn.a(dn.o) first\n";
    assert!(said.contains(expected), "{said}");
}

/// GNU ld links a shared object in an archive if the index lists a wanted name for it. lld 19 and
/// mold ignore the member. Its symbols are not read.
#[test]
fn shared_objects_in_archives() {
    let lab = Lab::new();
    code(&lab, "m.o", "_start", "f");
    code(&lab, "n.o", "_start", "g");
    code(&lab, "f.o", "f", "");
    shared(&lab, "libf.so", &["f.o"]);
    ar(&lab, "rc", "l.a", &["libf.so"]);
    for (line, links, name) in [
        ("m.o l.a", ["gnu"].as_slice(), "f"),
        ("n.o l.a", &[], "g"),
        ("m.o l.a f.o", &["lld", "gnu", "mold"], "f"),
    ] {
        let words: Vec<&str> = line.split(' ').collect();
        for (program, linker) in LINKERS {
            let expected = links.contains(&linker);
            if has_linker(program) {
                let mut link = clean(program);
                let link = link.current_dir(lab.root()).args(["-o", "out"]).args(&words);
                let output = link.output().expect("a linker runs");
                let error = String::from_utf8_lossy(&output.stderr);
                assert_eq!(output.status.success(), expected, "{program} {line}: {error}");
            }
            let (answer, _) = archive(&lab.root(), &[&["--linker", linker], &*words].concat());
            let of = |key: &str| -> Vec<String> {
                let names = answer[key].as_array().expect(key).iter();
                names.map(|one| one["symbol"].as_str().unwrap_or_default().to_owned()).collect()
            };
            let is_unsure = linker == "gnu" && line == "m.o l.a";
            let undefined = if expected { vec![] } else { vec![name.to_owned()] };
            let unknown = if is_unsure { vec![name.to_owned()] } else { vec![] };
            assert_eq!((of("undefined"), of("unknown")), (undefined, unknown), "{linker} {line}");
            assert_eq!(answer["complete"], !is_unsure, "{linker} {line}: {answer}");
        }
    }
    let said = lab.linkaudit(&["archive", "--linker", "gnu", "m.o", "l.a"]).stdout;
    let said = String::from_utf8_lossy(&said).into_owned();
    let expected =
        "l.a(libf.so) may define it: a shared object in an archive, which GNU ld links\n";
    assert!(said.contains(expected), "{said}");
}
