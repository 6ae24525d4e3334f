//! Files that are written: they are complete or absent, and never overwrite audited files.

use super::tiny::Tiny;
use super::{ended, limited};
use crate::support::{self, Lab};
use std::io::Read as _;
use std::process::Stdio;
use std::time::Duration;

fn lab() -> Lab {
    let lab = Lab::new();
    for n in 0..200 {
        let needs = (0..20).map(|need| format!("libabsent{n}_{need}.so"));
        lab.write(&format!("p/lib{n}.so"), Tiny::library("lib.so", needs).bytes());
    }
    lab
}

/// Names in the laboratory that a run has left behind.
fn left(lab: &Lab) -> Vec<String> {
    let entries = std::fs::read_dir(lab.root()).expect("a directory");
    let names = entries.map(|entry| entry.expect("an entry").file_name());
    let names = names.map(|name| name.to_string_lossy().into_owned());
    names.filter(|name| name.contains(".part") || name.contains(".linkaudit")).collect()
}

#[test]
fn hard_links_and_links() {
    let lab = lab();
    std::fs::hard_link(lab.path("p/lib0.so"), lab.path("report")).expect("a hard link");
    let (status, error) = ended(&lab.linkaudit(&["p", "-o", "json=report"]));
    assert!(status == 2 && error.contains("this run audits it"), "{error}");
    // A file with two names that is not an input is overwritten.
    lab.write("one", "old");
    std::fs::hard_link(lab.path("one"), lab.path("two")).expect("a hard link");
    assert_eq!(ended(&lab.linkaudit(&["p", "-o", "json=two"])).0, 1);
    lab.link("absent", "dangling");
    let (status, error) = ended(&lab.linkaudit(&["p", "-o", "json=dangling"]));
    assert!(status == 2 && error.contains("dangling symbolic link"), "{error}");
    assert!(lab.path("dangling").is_symlink() && !lab.path("absent").exists());
    lab.write("target", "old");
    lab.link("target", "link");
    assert_eq!(ended(&lab.linkaudit(&["p", "-o", "json=link"])).0, 1);
    assert!(lab.path("link").is_symlink());
    assert!(std::fs::read(lab.path("target")).expect("a report").starts_with(b"{"));
}

#[test]
fn a_run_that_ends_early_leaves_no_part() {
    let lab = lab();
    let args = ["p", "-o", "json=report"];
    // SIGXFSZ ends the first run; where it is ignored the write fails.
    for limits in ["ulimit -f 8;", "trap '' XFSZ; ulimit -f 8;"] {
        let output = limited(&lab, limits, &args).output().expect("a run");
        assert!(!output.status.success());
        assert!(left(&lab).is_empty() && !lab.path("report").exists(), "{:?}", left(&lab));
    }
    // A pipe without a reader blocks the run after it has started to write `report`.
    let mut cases = 0;
    for signal in ["TERM", "INT", "KILL"] {
        for wait in [1, 5, 20, 80] {
            let mut command = support::linkaudit();
            command.current_dir(lab.root()).args(["p", "-o", "json=report", "--format", "json"]);
            let mut child = command.stdout(Stdio::piped()).spawn().expect("a run");
            std::thread::sleep(Duration::from_millis(wait));
            lab.sh(&format!("kill -{signal} {} || true", child.id()));
            let mut out = Vec::new();
            child.stdout.take().expect("stdout").read_to_end(&mut out).expect("what was written");
            child.wait().expect("an end");
            assert!(left(&lab).is_empty(), "{signal} after {wait} ms: {:?}", left(&lab));
            cases += 1;
        }
    }
    println!("runs that end early: {} cases, no part left", cases + 2);
}

#[test]
fn a_full_disk_and_a_full_stdout() {
    let lab = lab();
    let full = std::fs::File::options().write(true).open("/dev/full").expect("/dev/full");
    let mut command = support::linkaudit();
    command.current_dir(lab.root()).args(["p", "--format", "json"]);
    let (status, error) = ended(&command.stdout(full).output().expect("a run"));
    assert!(status == 2 && error.contains("cannot write"), "{error}");
}

#[test]
fn a_closed_stdout() {
    let lab = lab();
    lab.write("clean/lib.so", Tiny::library("lib.so", [] as [&str; 0]).bytes());
    let cases: [&[&str]; 7] = [
        &["clean", "--format", "json"],
        &["clean"],
        &["tree", "clean"],
        &["why", "lib.so", "clean"],
        &["fix", "clean", "--emit", "policy-waivers"],
        &["explain"],
        &["policy", "schema"],
    ];
    for case in cases {
        let words: Vec<String> = case.iter().map(|word| format!("'{word}'")).collect();
        let line = format!("{} {} >&-", env!("CARGO_BIN_EXE_linkaudit"), words.join(" "));
        let output = support::clean("sh").current_dir(lab.root()).args(["-c", &line]).output();
        let (status, error) = ended(&output.expect("a run"));
        assert!(status == 2 && error.contains("stdout is closed"), "{case:?}: {status} {error}");
        // Only stdout counts, and /dev/null is a place like any other.
        for open in ["<&-", "2>&-", "<&- 2>&-", ">/dev/null", "1<>/dev/null"] {
            let line = line.replace(">&-", &format!("{open} >out"));
            let output = support::clean("sh").current_dir(lab.root()).args(["-c", &line]).output();
            assert_eq!(ended(&output.expect("a run")).0, 0, "{line}");
        }
    }
}

/// Runs in a terminal and returns what the terminal got.
fn on_terminal(lab: &Lab, args: &str) -> Vec<u8> {
    let line = format!("{} {args}", env!("CARGO_BIN_EXE_linkaudit"));
    let mut command = support::clean("script");
    command.current_dir(lab.root()).args(["-qec", &line, "/dev/null"]).stdin(Stdio::null());
    command.output().expect("script runs").stdout
}

#[test]
fn a_terminal_gets_no_control_bytes_of_names() {
    let lab = lab();
    let evil = "\x1b]0;title\x07\x1b[31m";
    let need = [format!("lib{evil}.so")];
    lab.write(&format!("q/x{evil}.so"), Tiny::library(&format!("s{evil}"), need).bytes());
    let commands = [
        "--color never q",
        "--color never -v q",
        "--color never --format table q",
        "--format ldd q",
        "tree --color never q",
        "tree --format dot q",
        "why --color never libx q",
        "fix --color never --emit policy-waivers q",
        "fix --color never --emit ldflags q",
    ];
    for command in commands {
        let text = on_terminal(&lab, command);
        assert!(!text.is_empty(), "{command}");
        let bad = text.iter().filter(|b| b.is_ascii_control() && !b"\t\r\n".contains(b)).count();
        assert_eq!(bad, 0, "{command}: {}", String::from_utf8_lossy(&text));
    }
    println!("texts on a terminal: {} commands, 0 control bytes", commands.len());
}

#[test]
fn absolute_paths_from_a_directory_that_is_gone() {
    let lab = lab();
    let path = lab.path("p");
    let path = path.to_str().expect("a path in UTF-8");
    let gone = "mkdir gone; cd gone; rmdir ../gone;";
    let (status, error) = ended(&limited(&lab, gone, &[path]).output().expect("a run"));
    assert_eq!(status, 1, "{error}");
    let (status, error) = ended(&limited(&lab, gone, &["p"]).output().expect("a run"));
    assert!(status == 2 && error.contains("current directory"), "{error}");
}

#[test]
fn errors_hold_no_control_bytes() {
    let lab = lab();
    for args in [&["explain", "x\x1b[31m"][..], &["p", "-A", "x\x1b[31m"], &["\x1b]0;t\x07"]] {
        let (status, error) = ended(&lab.linkaudit(args));
        assert!(status == 2 && !error.contains('\x1b') && !error.contains('\x07'), "{error:?}");
    }
}
