//! Files that are truncated, extended and replaced while they are read. No run ends by a signal or
//! a panic. The report on a file is true for one of its versions, or has the finding that it
//! changed.

use std::os::unix::process::ExitStatusExt as _;
use std::sync::atomic::{AtomicBool, Ordering};

use super::random::{Random, amount};
use super::tiny::Tiny;
use crate::support::Lab;

/// Number of audits in `.ci/run`, unless LINKAUDIT_RACES sets it.
const SCANS: u64 = 300;
const FILES: usize = 12;

fn version(file: usize, number: usize) -> Vec<u8> {
    let needs = (0..=number * 40).map(|i| format!("libabsent-{file}-v{number}-{i}.so"));
    Tiny::library(&format!("lib{file}.so"), needs).bytes()
}

/// Ends the writer when the reader returns or panics.
struct End<'a>(&'a AtomicBool);

impl Drop for End<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

#[test]
fn races() {
    let lab = Lab::new();
    let path = |file: usize| lab.path(&format!("grove/lib{file}.so"));
    lab.mkdir("grove");
    for file in 0..FILES {
        std::fs::write(path(file), version(file, 0)).expect("a library");
    }
    let done = AtomicBool::new(false);
    let scans = amount("LINKAUDIT_RACES", SCANS);
    let (mut whole, mut reported) = (0, 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let random = &mut Random::new(7);
            while !done.load(Ordering::Relaxed) {
                let file = random.below(FILES);
                let bytes = version(file, random.below(3));
                match random.below(3) {
                    // In place: cut, then grown again.
                    0 => {
                        let open = std::fs::OpenOptions::new().write(true).open(path(file));
                        let open = open.expect("a library");
                        open.set_len(random.below(bytes.len()) as u64).expect("it is cut");
                        std::thread::yield_now();
                        std::fs::write(path(file), bytes).expect("it grows");
                    }
                    1 => std::fs::write(path(file), bytes).expect("it is overwritten"),
                    _ => {
                        std::fs::write(lab.path("new"), bytes).expect("a new file");
                        std::fs::rename(lab.path("new"), path(file)).expect("it is replaced");
                    }
                }
            }
        });
        let end = End(&done);
        for _ in 0..scans {
            let output = lab.linkaudit(&["--format", "json", "grove"]);
            let error = String::from_utf8_lossy(&output.stderr);
            assert!(
                output.status.signal().is_none() && error.is_empty(),
                "{} {error}",
                output.status
            );
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let findings = report["findings"].as_array().expect("findings");
            let said = |path: &str| {
                let of = findings.iter().filter(|finding| finding["path"] == path);
                of.filter(|f| f["rule"] != "missing-library").count()
            };
            for file in report["files"].as_array().expect("files") {
                let path = file["path"].as_str().expect("a path");
                let Some((_, name)) = path.split_once("/grove/") else { continue };
                if said(name) > 0 {
                    reported += 1;
                    continue;
                }
                let needs = file["needed"].as_array().expect("needs");
                let first = needs.first().and_then(|need| need["name"].as_str());
                let number =
                    first.and_then(|name| name.split("-v").nth(1)?.split('-').next()?.parse().ok());
                let number: usize = number.unwrap_or_else(|| panic!("{name}: {file}"));
                assert_eq!(needs.len(), number * 40 + 1, "{name}: {file}");
                let same = |need: &serde_json::Value| {
                    need["name"].as_str().is_some_and(|name| name.contains(&format!("-v{number}-")))
                };
                assert!(needs.iter().all(same), "{name} is a mixture: {file}");
                whole += 1;
            }
        }
        drop(end);
    });
    println!("races: {scans} scans, {whole} files whole, {reported} reported");
    assert!(whole > scans && reported > 0);
}

/// Names in large string tables are read on demand. No symbol becomes undefined if the file is
/// touched meanwhile, gets another name or mode, or a copy takes its name.
#[test]
fn a_large_library_that_is_touched() {
    let lab = Lab::new();
    let long = format!("long_{}", "x".repeat(1 << 20));
    let mut large = Tiny::library("liblarge.so", [""; 0]).defines(&long);
    let mut user = Tiny::library("libuser.so", ["liblarge.so"]).runpath("$ORIGIN");
    for name in (0..50).map(|n| format!("f{n}")) {
        (large, user) = (large.defines(&name), user.refers(&name));
    }
    lab.write("grove/liblarge.so", large.bytes());
    lab.write("grove/libuser.so", user.bytes());
    lab.write("copy", large.bytes());
    let script = "touch -d @$1 grove/liblarge.so; chmod $2 grove/liblarge.so; \
        ln -f grove/liblarge.so other; rm other; cp copy new; mv new grove/liblarge.so";
    let done = AtomicBool::new(false);
    let (scans, mut changed) = (amount("LINKAUDIT_RACES", SCANS / 5), 0);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for time in 1..u64::MAX {
                if done.load(Ordering::Relaxed) {
                    break;
                }
                let mut command = crate::support::clean("sh");
                let words = [time.to_string(), ["644", "755"][time as usize % 2].to_owned()];
                command.current_dir(lab.root()).args(["-c", script, "sh"]).args(words);
                command.status().expect("sh runs");
            }
        });
        let end = End(&done);
        for _ in 0..scans {
            let output = lab.linkaudit(&["--format", "json", "grove"]);
            let report: serde_json::Value = serde_json::from_slice(&output.stdout).expect("JSON");
            let findings = report["findings"].as_array().expect("findings");
            changed += findings.iter().filter(|finding| finding["rule"] == "malformed").count();
            let wrong = |finding: &&serde_json::Value| {
                finding["rule"] != "malformed" && finding["rule"] != "unreadable"
            };
            let wrong: Vec<_> = findings.iter().filter(wrong).collect();
            assert!(wrong.is_empty(), "{wrong:#?}");
        }
        drop(end);
    });
    println!("races: {scans} scans of a large library, {changed} found it changed");
}
