//! Shared objects, programs and version scripts as inputs, which some linkers reject. Each case
//! is linked by lld 19, GNU ld and mold too.

use super::kit::{ar, archive, run};
use super::libraries::{LINKERS, code, shared};
use crate::support::{Lab, clean, has};

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
            if has(program) {
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
