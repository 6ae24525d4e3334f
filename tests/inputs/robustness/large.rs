//! A million items of one kind in one file: the run ends with a report that has their number, in a
//! bounded address space. `benches/growth.sh` measures the same in a release build.

use super::limited;
use super::peak;
use super::tiny::Tiny;
use crate::support::Lab;
use std::process::Stdio;

/// Most needs and unbound symbols of one file that are checked.
const MOST: usize = 100_000;
const MILLION: usize = 1_000_000;

fn named(prefix: &str, count: usize) -> Vec<String> {
    (0..count).map(|number| format!("{prefix}{number}")).collect()
}

fn refers(count: usize) -> Tiny {
    Tiny { refers: named("f", count), ..Tiny::library("lib.so", Vec::<String>::new()) }
}

/// The report, and the peak memory in kilobytes.
fn audit(lab: &Lab, limits: &str, format: &str) -> (String, u64) {
    let mut command = limited(lab, limits, &["--isolated", "p", "--format", format]);
    let out = std::fs::File::create(lab.path("out")).expect("a file");
    let mut child = command.stdout(Stdio::from(out)).spawn().expect("linkaudit runs");
    let peak = peak::memory(child.id());
    let status = child.wait().expect("it ends");
    let text = std::fs::read_to_string(lab.path("out")).expect("a report");
    assert_eq!(status.code(), Some(1), "{status}: {text:.2000}");
    (text, peak)
}

#[test]
fn a_million_needs_in_two_gigabytes() {
    let lab = Lab::new();
    lab.write("p/lib.so", Tiny::library("lib.so", named("libnone", MILLION)).bytes());
    let (text, peak) = audit(&lab, "ulimit -v 2097152;", "json");
    assert!(text.contains("1000000 needed libraries: only the first 100000 are checked"));
    assert!(text.contains("\"complete\":false") && text.contains("\"errors\":100000,"));
    println!("a million needs: {MOST} findings, {peak} KB");
}

#[test]
fn a_million_undefined_symbols_in_300_megabytes() {
    let lab = Lab::new();
    lab.write("p/lib.so", refers(MILLION).bytes());
    let (text, peak) = audit(&lab, "ulimit -v 2097152;", "human");
    let expected = "lib.so: 1000000 unbound symbols: only the first 100000 are checked";
    assert!(text.contains(expected) && text.contains("100000 undefined symbols"), "{text}");
    assert!(text.contains("incomplete: 1 item unread or undecided"), "{text}");
    assert!(peak <= 300 << 10, "{peak} KB");
    println!("a million undefined symbols: {MOST} findings, {peak} KB");
}

/// At the bound all are checked; one more is reported as left out.
#[test]
fn the_bound_itself() {
    let lab = Lab::new();
    for (count, is_complete) in [(MOST, true), (MOST + 1, false)] {
        lab.write("p/lib.so", refers(count).bytes());
        let (text, _) = audit(&lab, "", "human");
        assert!(text.contains("100000 undefined symbols"), "{text}");
        assert_eq!(!text.contains("unbound symbols: only"), is_complete, "{count}: {text}");
    }
}

/// A baseline line about a symbol that is left out is not stale.
#[test]
fn lines_about_what_is_left_out_are_not_stale() {
    let lab = Lab::new();
    let mut library = refers(MOST);
    library.refers.push("last".to_owned());
    lab.write("p/lib.so", Tiny { refers: vec!["last".to_owned()], ..library.clone() }.bytes());
    let write = ["--isolated", "-q", "p", "--write-baseline", "known"];
    assert_eq!(lab.linkaudit(&write).status.code(), Some(1));
    lab.write("p/lib.so", library.bytes());
    let check = ["--isolated", "p", "--baseline", "known", "--fail-on", "never", "--fail-on-stale"];
    let output = lab.linkaudit(&check);
    let text = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.code(), Some(3), "{text}");
    assert!(!text.contains("stale"), "{text}");
}
