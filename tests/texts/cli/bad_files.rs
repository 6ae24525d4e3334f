//! `bad-library-file`: the loader stops, and the entry point has no further findings. A truncated
//! file has one finding, and no others.

use super::kit::{CALLS_FOO, FOO, at, each, findings, of_rule, only, report, summary, text};
use super::tiny::Tiny;
use crate::support::{self, Lab};
use std::collections::BTreeMap;

/// `bin/app` finds `lib/libfoo.so`, whose content the test decides.
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
    lab.so("p/lib/libplugin.so", super::kit::BROKEN, &[]);
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
    let message = text(&only(&report, "malformed")["message"]);
    assert!(message.starts_with("truncated: 4096 of "), "{message}");
    assert!(!message.contains("is not named"), "{message}");
}

/// Offset, end and name of every PT_LOAD and of the dynamic section, as readelf reads them.
fn extents(lab: &Lab, file: &str) -> Vec<(u64, u64, String)> {
    let readelf = support::clean("readelf").current_dir(lab.root()).args(["-lW", file]).output();
    let out = String::from_utf8(readelf.expect("readelf runs").stdout).expect("text");
    let hex =
        |word: &str| u64::from_str_radix(word.trim_start_matches("0x"), 16).expect("a number");
    let mut all: Vec<(u64, u64, String)> = out
        .lines()
        .map(|line| line.split_whitespace().collect::<Vec<_>>())
        .filter(|words| words.len() > 6 && matches!(words[0], "LOAD" | "DYNAMIC"))
        .map(|words| {
            let (start, size) = (hex(words[1]), hex(words[4]));
            let what = match words[0] {
                "LOAD" => format!("program headers at {start:#x}: hold a PT_LOAD that ends"),
                _ => format!("dynamic section at {start:#x}: ends"),
            };
            (start, start + size, what + " beyond the end of the file")
        })
        .collect();
    all.sort();
    all
}

#[test]
fn a_file_cut_anywhere_is_one_finding_that_names_all_that_is_lost() {
    let lab = Lab::new();
    lab.so("lib.so", FOO, &[]);
    lab.exe("app", "", &[]);
    let mut expected: BTreeMap<String, (u64, u64, Vec<String>)> = BTreeMap::new();
    for file in ["lib.so", "app"] {
        let whole = std::fs::read(lab.path(file)).expect("a file");
        let extents = extents(&lab, file);
        let end = extents.iter().map(|(_, end, _)| *end).max().expect("a segment");
        for len in (0x400..end).step_by(61) {
            let lost = extents.iter().filter(|(_, end, _)| *end > len);
            let speaks = lost.clone().map(|(_, end, _)| *end).max().expect("a segment");
            let lost = lost.map(|(.., what)| what.clone()).collect();
            let name = format!("{file}.{len}");
            lab.write(&format!("p/{name}"), &whole[..usize::try_from(len).expect("a size")]);
            expected.insert(name, (len, speaks, lost));
        }
    }
    let report = report(&lab, &["p"]);
    let found = findings(&report);
    for finding in found {
        let (len, end, lost) = &expected[text(&finding["path"])];
        let detail = format!("truncated at {len} of {end} bytes: {}", lost.join("; "));
        assert_eq!(text(&finding["detail"]), detail);
        let first = lost[0].replacen(": ", " ", 1);
        let more = match lost.len() {
            1 => String::new(),
            2 => "; 1 more part is missing".to_owned(),
            n => format!("; {} more parts are missing", n - 1),
        };
        let message = format!("truncated: {len} of {end} bytes; ");
        assert_eq!(text(&finding["message"]), message + &first + &more);
    }
    assert_eq!(found.len(), expected.len());
    println!("cut files: {} sizes, one finding each, 0 differences from readelf", found.len());
}

/// Here the string table lies behind the dynamic section.
#[test]
fn what_follows_from_a_lost_table_is_not_said() {
    let lab = Lab::new();
    let tiny = Tiny::library("tiny.so", ["libc.so.6", "libm.so.6"]).runpath("/nowhere");
    let whole = tiny.defines("one").defines("two").refers("strlen").bytes();
    lab.write("p/whole", &whole);
    let sizes = 0xb0..whole.len();
    for len in sizes.clone() {
        lab.write(&format!("p/{len}"), &whole[..len]);
    }
    let report = report(&lab, &["p"]);
    let found = of_rule(&report, "malformed");
    for finding in &found {
        let path = text(&finding["path"]);
        let message = format!("truncated: {path} of ");
        assert!(text(&finding["message"]).starts_with(&message), "{finding:#}");
    }
    assert_eq!(found.len(), sizes.len());
}

/// Relocation types at which the real loader stops are found if relocations are read.
#[test]
fn types_of_relocations_that_no_loader_knows() {
    /// R_X86_64_IRELATIVE: the loader would call the function to which it points.
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
        // Relocations are read only if a symbol is undefined.
        let is_read = !of_rule(&report, "undefined-symbol").is_empty() || found > 0;
        cases += 1;
        if found != usize::from(stops && is_read) || (stops && !is_read) {
            differences.push((kind, stops, found));
        }
    }
    println!("types of relocations: {cases} cases, {} differences", differences.len());
    assert!(differences.is_empty(), "{differences:?}");
}
