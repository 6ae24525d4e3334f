//! Time and memory: twice the input takes about twice the time, sizes in headers are not allocated,
//! and many small files are walked quickly.

use std::time::{Duration, Instant};

use super::report::Report;
use super::tiny::Tiny;
use crate::support::{self, Lab};

/// Upper bound for the time of twice the input, in percent. Times below [`SHORT`] are not compared.
const TWICE: u32 = 300;
const SHORT: Duration = Duration::from_millis(40);
const FILES: usize = 100_000;
const IN_TIME: Duration = Duration::from_secs(if cfg!(debug_assertions) { 15 } else { 3 });

/// The quickest of some runs: other load only adds time.
fn quickest(lab: &Lab, path: &str, runs: usize) -> Duration {
    let run = || {
        let start = Instant::now();
        Report::of(support::linkaudit().current_dir(lab.root()).arg(path));
        start.elapsed()
    };
    (0..runs).map(|_| run()).min().expect("a run")
}

type Make = fn(usize) -> Tiny;

#[test]
fn costs_are_linear() {
    let symbols: Make = |n| {
        let library = Tiny::library("lib.so", Vec::<String>::new());
        (0..n).fold(library, |library, i| library.refers(&format!("symbol_number_{i}")))
    };
    let needs: Make = |n| Tiny::library("lib.so", (0..n).map(|i| format!("libabsent{i}.so")));
    let entries: Make = |n| {
        let path: Vec<String> = (0..n).map(|i| format!("/absent/directory/{i}")).collect();
        Tiny::library("lib.so", ["libabsent.so"]).runpath(&path.join(":"))
    };
    for (what, make, count) in
        [("symbols", symbols, 20_000), ("needs", needs, 4_000), ("entries", entries, 10_000)]
    {
        let lab = Lab::new();
        lab.write("one.so", make(count).bytes());
        lab.write("two.so", make(2 * count).bytes());
        let linear = || {
            let (one, two) = (quickest(&lab, "one.so", 3), quickest(&lab, "two.so", 3));
            println!("{what}: {count} in {one:?}, twice as many in {two:?}");
            two < SHORT || two < one * TWICE / 100
        };
        assert!((0..3).any(|_| linear()), "{what}");
    }
}

/// Sizes and counts of four gigabytes in a file of some hundred bytes, under a limit of address
/// space that one such allocation would exceed.
#[test]
fn claims_are_not_believed() {
    let lab = Lab::new();
    let good = Tiny::library("lib.so", ["libabsent.so"]).defines("f").refers("g").bytes();
    let mut number = 0;
    for at in (0..good.len() - 8).step_by(4) {
        for claim in [u32::MAX, 0x7fff_fff0] {
            let mut bytes = good.clone();
            bytes[at..at + 4].copy_from_slice(&claim.to_le_bytes());
            lab.write(&format!("grove/{number}.so"), bytes);
            number += 1;
        }
    }
    let script = "ulimit -v 2097152; exec \"$@\"";
    let mut command = support::clean("sh");
    command.current_dir(lab.root()).args(["-c", script, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_linkaudit")).args(["--format", "json", "-j", "2", "grove"]);
    let report = Report::from(command.output().expect("linkaudit runs"));
    println!("claims: {number} files, {} findings", report.findings().count());
    assert_eq!(report.total("entries"), number);
}

/// A sparse file may have tables that do not fit into memory.
#[test]
fn holes_are_not_read() {
    const PLACE: usize = 0x2000;
    let lab = Lab::new();
    let good = Tiny::library("lib.so", ["libabsent.so"]).defines("f").bytes();
    let at = |tag: u64| {
        let entry = |at: &usize| good[*at..*at + 8] == tag.to_le_bytes();
        (0..good.len() - 16).step_by(8).find(entry).expect("the tag") + 8
    };
    let word = |at: usize| u64::from_le_bytes(good[at..at + 8].try_into().expect("a word"));
    let far = 1_u64 << 40;
    // DT_STRSZ, and DT_SYMTAB behind which nothing lies any more.
    for (name, changes) in [
        ("strings", vec![(at(10), far)]),
        ("symbols", vec![(at(6), 8 * PLACE as u64), (at(5), far + word(at(5)))]),
    ] {
        let mut bytes = good.clone();
        for (at, value) in changes {
            bytes[at..at + 8].copy_from_slice(&value.to_le_bytes());
        }
        // p_filesz and p_memsz of the first segment.
        for at in [64 + 32, 64 + 40] {
            bytes[at..at + 8].copy_from_slice(&(2 * far).to_le_bytes());
        }
        let path = format!("{name}.so");
        lab.write(&path, bytes);
        let file = std::fs::File::options().write(true).open(lab.path(&path)).expect("the file");
        file.set_len(2 * far).expect("a file with a hole");
        let script = "ulimit -v 2097152; exec \"$@\"";
        let mut command = support::clean("sh");
        command.current_dir(lab.root()).args(["-c", script, "sh"]);
        command.arg(env!("CARGO_BIN_EXE_linkaudit")).args(["--format", "json", &path]);
        let report = Report::from(command.output().expect("linkaudit runs"));
        let malformed = report.findings().filter(|f| f["rule"] == "malformed").count();
        assert!(malformed > 0, "{name}: {:?}", report.findings().collect::<Vec<_>>());
    }
}

/// More libraries with large string tables than files may be open.
#[test]
fn large_tables_leave_descriptors_to_others() {
    const LIBRARIES: u64 = 60;
    let lab = Lab::new();
    for n in 0..LIBRARIES {
        let tiny = Tiny::library(&format!("lib{n}.so"), ["libabsent.so"]);
        let long = format!("f{n}_{}", "x".repeat(1 << 20));
        lab.write(&format!("grove/lib{n}.so"), tiny.defines(&long).refers("g").bytes());
    }
    let script = "ulimit -n 20; exec \"$@\"";
    let mut command = support::clean("sh");
    command.current_dir(lab.root()).args(["-c", script, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_linkaudit")).args(["--format", "json", "-j", "2", "grove"]);
    let report = Report::from(command.output().expect("linkaudit runs"));
    assert_eq!(report.total("entries"), LIBRARIES);
    let rules: std::collections::BTreeSet<&str> =
        report.findings().filter_map(|finding| finding["rule"].as_str()).collect();
    assert_eq!(rules.into_iter().collect::<Vec<_>>(), ["missing-library"]);
}

#[test]
fn a_hundred_thousand_files() {
    let lab = Lab::new();
    for dir in 0..200 {
        lab.mkdir(&format!("grove/{dir}"));
    }
    for n in 0..FILES {
        std::fs::write(lab.path(&format!("grove/{}/{n}", n % 200)), b"text\n").expect("a file");
    }
    let time = quickest(&lab, "grove", 2);
    println!("walk: {FILES} files in {time:?}");
    assert!(time <= IN_TIME, "{time:?}");
}
