//! Unusual trees: the entries that a walk counts, skips and reports, and names that are not text.
//!
//! One module is one theme. Other tests check the findings about ELF files; here a library with a
//! missing need stands for any finding.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::report;
use crate::support::strace;

mod big;
mod calls;
mod conda;
mod hands_off;
mod kinds;
mod links;
mod names;
mod paths;
mod rights;

use report::{Report, whole_path};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use support::Lab;

/// The missing library that [`broken`] needs.
const ABSENT: &str = "libabsent.so.1";

/// A library with exactly one finding: a `missing-library` of [`ABSENT`].
fn broken(lab: &Lab, out: &str) -> PathBuf {
    if !lab.path(ABSENT).exists() {
        lab.so(ABSENT, "int absent(void){return 0;}", &[&format!("-Wl,-soname,{ABSENT}")]);
    }
    let absent = format!("$PWD/{ABSENT}");
    let path = lab.so(out, "int absent(void); int f(void){return absent();}", &[&absent]);
    std::fs::remove_file(lab.path(ABSENT)).expect("it was built");
    path
}

/// The files that a report says need [`ABSENT`].
fn found_broken(report: &Report) -> Vec<PathBuf> {
    let missing = report.of_rule("missing-library");
    missing.inspect(|finding| assert_eq!(finding["library"], ABSENT)).map(whole_path).collect()
}

/// The report on `path` in the laboratory.
fn audit(lab: &Lab, path: &str) -> Report {
    Report::of(support::linkaudit().current_dir(lab.root()).args(["check", path]))
}

/// True if tests run as root, whom no permission stops.
fn is_root() -> bool {
    Path::new("/proc/self").metadata().is_ok_and(|process| process.uid() == 0)
}
