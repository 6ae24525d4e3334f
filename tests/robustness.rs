//! Hostile input and small machines: one row of `docs/robustness.md` is at least one test here or in
//! the file that the row names.
//!
//! One module is one promise. Damaged ELF files and archives are generated in `mutants` and `archives`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::cast_possible_truncation,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made"
)]

mod support;

#[path = "support/peak.rs"]
mod peak;
#[path = "support/random.rs"]
mod random;
#[path = "support/report.rs"]
mod report;
#[path = "support/strace.rs"]
mod strace;
#[path = "support/tiny.rs"]
mod tiny;

#[path = "robustness/bounded.rs"]
mod bounded;
#[path = "robustness/caches.rs"]
mod caches;
#[path = "robustness/faults.rs"]
mod faults;
#[path = "robustness/growth.rs"]
mod growth;
#[path = "robustness/large.rs"]
mod large;
#[path = "robustness/outputs.rs"]
mod outputs;
#[path = "robustness/process.rs"]
mod process;
#[path = "robustness/sandbox.rs"]
mod sandbox;
#[path = "robustness/silent.rs"]
mod silent;
#[path = "robustness/threads.rs"]
mod threads;

use std::process::{Command, Output};
use support::Lab;

/// The program in the laboratory, started by a shell after `limits`, such as `ulimit -v 100000;`.
fn limited(lab: &Lab, limits: &str, args: &[&str]) -> Command {
    let mut command = support::clean("sh");
    command.current_dir(lab.root()).args(["-c", &format!("{limits} exec \"$@\""), "sh"]);
    command.arg(env!("CARGO_BIN_EXE_linkaudit")).args(args);
    command
}

/// The exit status and stderr of a run that no signal ended.
fn ended(output: &Output) -> (i32, String) {
    let error = String::from_utf8_lossy(&output.stderr).into_owned();
    let status = output.status.code();
    (status.unwrap_or_else(|| panic!("{}: {error}", output.status)), error)
}
