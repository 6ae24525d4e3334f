//! `bad-library-file`: the loader stops, and nothing more is said of that root; and a file that was
//! cut off, of which only that is said.

use crate::kit::{CALLS_FOO, FOO, at, each, of_rule, only, report, summary};
use crate::support::Lab;
use crate::tiny::Tiny;

/// `bin/app` is led to `lib/libfoo.so`; what that is the test decides.
fn led_to(flags: &[&str]) -> Lab {
    let lab = Lab::new();
    lab.write("versions", "FOO_1 { global: foo; };\n");
    lab.so("good/libfoo.so", FOO, flags);
    let flags = ["-Wl,--no-as-needed", "-Lgood", "-lfoo", "-Wl,-rpath,$ORIGIN/../lib"];
    lab.exe(
        "p/bin/app",
        &format!("void gone(void); {CALLS_FOO} void f(void) {{ gone(); }}"),
        &flags,
    );
    lab
}

#[test]
fn nothing_more_is_said_of_a_root_that_stops() {
    let lab = led_to(&[]);
    for text in ["INPUT ( -lreal )\n", ""] {
        lab.write("p/lib/libfoo.so", text);
        let report = report(&lab, &["p"]);
        let finding = only(&report, "bad-library-file");
        assert_eq!(finding["path"], "lib/libfoo.so");
        assert_eq!(finding["root"], at(&lab, "p/bin/app"));
        assert_eq!(finding["when"], "load");
        assert_eq!(each(finding, "root", "path"), [at(&lab, "p/bin/app")]);
    }
}

#[test]
fn not_even_of_versions_that_could_not_be_compared() {
    let lab = led_to(&["-Wl,--version-script=$PWD/versions"]);
    lab.write("p/lib/libfoo.so", "INPUT ( -lreal )\n");
    assert_eq!(summary(&report(&lab, &["p"])), ["bad-library-file lib/libfoo.so"]);
}

#[test]
fn other_roots_are_not_touched() {
    let lab = led_to(&[]);
    lab.write("p/lib/libfoo.so", "INPUT ( -lreal )\n");
    lab.so("p/lib/libplugin.so", crate::kit::BROKEN, &[]);
    let expected = ["bad-library-file lib/libfoo.so", "undefined-symbol lib/libplugin.so"];
    assert_eq!(summary(&report(&lab, &["p"])), expected);
}

#[test]
fn two_programs_that_stop_at_one_file_are_one_finding() {
    let lab = led_to(&[]);
    lab.write("p/lib/libfoo.so", "INPUT ( -lreal )\n");
    std::fs::copy(lab.path("p/bin/app"), lab.path("p/bin/another")).expect("a copy");
    let report = report(&lab, &["p"]);
    let finding = only(&report, "bad-library-file");
    assert_eq!(finding["root"], at(&lab, "p/bin/another"));
    assert_eq!(each(finding, "root", "path"), [at(&lab, "p/bin/another"), at(&lab, "p/bin/app")]);
}

#[test]
fn a_good_file_behind_a_bad_one_does_not_help() {
    let lab = Lab::new();
    lab.so("p/good/libfoo.so", FOO, &[]);
    let flags = ["-Wl,--no-as-needed", "-Lp/good", "-lfoo"];
    let path = "-Wl,-rpath,$ORIGIN/../bad:$ORIGIN/../good";
    lab.exe("p/bin/app", CALLS_FOO, &[&flags[..], &[path]].concat());
    lab.write("p/bad/libfoo.so", "INPUT ( -lreal )\n");
    assert_eq!(summary(&report(&lab, &["p"])), ["bad-library-file bad/libfoo.so"]);
    lab.write("p/bad/libfoo.so.1", "INPUT ( -lreal )\n");
    std::fs::remove_file(lab.path("p/bad/libfoo.so")).expect("the bad file");
    assert_eq!(summary(&report(&lab, &["p"])), [""; 0]);
}

#[test]
fn a_cut_file_is_not_blamed_for_what_the_missing_part_names() {
    let lab = Lab::new();
    let whole = std::fs::read(lab.so("whole.so", FOO, &[])).expect("a library");
    // The headers are there; the dynamic section of a linker's library lies near its end.
    lab.write("p/cut.so", &whole[..0x1000]);
    let report = report(&lab, &["p"]);
    let messages: Vec<&str> = report["findings"]
        .as_array()
        .expect("findings")
        .iter()
        .filter_map(|finding| finding["message"].as_str())
        .collect();
    let cut = |m: &&str| m.starts_with("dynamic section") && m.ends_with("the end of the file");
    assert_eq!(messages.iter().copied().filter(|m| cut(m)).count(), 1, "{messages:?}");
    assert!(!messages.iter().any(|m| m.contains("is not named")), "{messages:?}");
}

/// Relocation types at which the real loader stops are found where relocations are read.
#[test]
fn types_of_relocations_that_no_loader_knows() {
    /// R_X86_64_IRELATIVE: the loader would call what it points to.
    const CALLS: u32 = 37;
    let lab = Lab::new();
    let plain = Tiny::library("libx.so", [] as [&str; 0]).refers("gone").bytes();
    let jump = (1_u64 << 32 | 7).to_le_bytes();
    let at = plain.windows(8).position(|part| part == jump).expect("a jump slot");
    let (mut cases, mut differences) = (0, Vec::new());
    for kind in (0..70).chain([255, 256, 0x10_0007]).filter(|kind| *kind != CALLS) {
        let mut bytes = plain.clone();
        bytes[at..at + 4].copy_from_slice(&kind.to_le_bytes());
        lab.write("libx.so", bytes);
        let stops = lab.ldd_r("./libx.so").contains("unexpected reloc type");
        let report = report(&lab, &["./libx.so"]);
        let found = of_rule(&report, "malformed").len();
        // Without a symbol that is open nobody reads relocations.
        let is_read = !of_rule(&report, "undefined-symbol").is_empty() || found > 0;
        cases += 1;
        if found != usize::from(stops && is_read) || (stops && !is_read) {
            differences.push((kind, stops, found));
        }
    }
    println!("types of relocations: {cases} cases, {} differences", differences.len());
    assert!(differences.is_empty(), "{differences:?}");
}
