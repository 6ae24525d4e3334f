//! Needs and search paths that lead into `/proc/self`: they are undecided, and the report is the
//! same for any process and directory of linkaudit.

use super::report::Report;
use super::tiny::Tiny;
use crate::support::{self, Lab};
use std::fs::File;
use std::process::Stdio;

/// Search paths or needs, and the links of the laboratory that some of them follow.
const WAYS: [(&str, bool); 11] = [
    ("/proc/self/cwd", false),
    ("/proc/self/cwd/absent", false),
    ("/proc//thread-self/./cwd", false),
    ("/dev/fd", false),
    ("$ORIGIN/way", false),
    ("$ORIGIN/through", false),
    ("$ORIGIN/named", false),
    ("/proc/self/cwd/libhere.so", true),
    ("/proc/self/exe", true),
    ("/dev/stdin", true),
    ("$ORIGIN/through/libhere.so", true),
];

fn lab() -> Lab {
    let lab = Lab::new();
    let here = Tiny::library("libhere.so", Vec::<String>::new()).defines("here").bytes();
    lab.write("elsewhere/libhere.so", here);
    lab.mkdir("empty");
    lab.link("/proc/self/cwd", "p/way");
    lab.link("way/../way", "p/through");
    lab.link("/proc/self/cwd/libhere.so", "p/named/libhere.so");
    for (number, (way, is_need)) in WAYS.iter().enumerate() {
        let name = format!("lib{number}.so");
        let library = match is_need {
            true => Tiny::library(&name, [*way]),
            false => Tiny::library(&name, ["libhere.so"]).runpath(way),
        };
        lab.write(&format!("p/{name}"), library.refers("here").bytes());
    }
    lab
}

/// The report of a run in `dir`, with a file of the laboratory as its stdin.
fn run(lab: &Lab, dir: &str, stdin: &str) -> Report {
    let stdin = Stdio::from(File::open(lab.path(stdin)).expect("a file"));
    let mut command = support::linkaudit();
    command.current_dir(lab.path(dir)).stdin(stdin).args(["--cwd", "/"]).arg(lab.path("p"));
    Report::of(&mut command)
}

#[test]
fn the_own_process_is_never_looked_into() {
    let lab = lab();
    let first = run(&lab, "elsewhere", "elsewhere/libhere.so");
    let undecided: Vec<&str> = first
        .of_rule("undecided")
        .filter(|finding| finding["detail"].as_str().is_some_and(|what| what.contains("process")))
        .map(|finding| finding["path"].as_str().expect("a path"))
        .collect();
    for (number, way) in WAYS.iter().enumerate() {
        let name = format!("lib{number}.so");
        assert!(undecided.contains(&&*name), "{way:?}: {}", first.outline());
    }
    assert_eq!(first.of_rule("missing-library").count(), 0, "{}", first.outline());
    assert!(
        !first.bytes.windows(17).any(|part| part == b"elsewhere/libhere"),
        "{}",
        first.outline()
    );
    let mut runs = 0;
    for dir in ["elsewhere", "empty", "p", "."] {
        for stdin in ["elsewhere/libhere.so", "p/lib0.so"] {
            let again = run(&lab, dir, stdin);
            assert!(again.bytes == first.bytes, "{dir} {stdin}: {}", again.outline());
            runs += 1;
        }
    }
    println!("own process: {} ways, {runs} runs, 0 differences", WAYS.len());
}

/// The same inside a sysroot with this machine's processes.
#[test]
fn a_sysroot_with_processes() {
    let lab = lab();
    let mut command = support::linkaudit();
    command.current_dir(lab.path("elsewhere")).args(["--root", "/"]).arg(lab.path("p"));
    let report = Report::of(&mut command);
    assert!(report.of_rule("undecided").count() >= WAYS.len() - 1, "{}", report.outline());
    assert!(
        !report.bytes.windows(17).any(|part| part == b"elsewhere/libhere"),
        "{}",
        report.outline()
    );
}

/// Links to procfs and sysfs are counted; procfs itself is listed if it is given, and no further.
#[test]
fn file_systems_of_the_kernel() {
    let lab = Lab::new();
    lab.link("/sys", "p/sys");
    lab.link("/proc", "p/proc");
    lab.link("/proc/self/root", "p/root");
    let report = Report::of(support::linkaudit().current_dir(lab.root()).arg("p"));
    assert_eq!((report.total("links"), report.skipped("in a kernel file system")), (3, 1));
    assert_eq!(report.total("entries"), 4);
    let report = Report::of(support::linkaudit().arg(format!("/proc/{}/fd", std::process::id())));
    assert_eq!((report.total("elf"), report.total("other")), (0, 0), "{}", report.outline());
    assert!(report.total("links") > 0);
}
