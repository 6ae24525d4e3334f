//! Hostile input and small machines: each row of `docs/robustness.md` has at least one test here or
//! in the file that the row names.
//!
//! One module is one promise. Damaged ELF files and archives are generated in `mutants` and
//! `archives`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::peak;
use crate::support::random;
use crate::support::report;
use crate::support::strace;
use crate::support::tiny;

mod bounded;
mod caches;
mod cmake;
mod faults;
mod growth;
mod large;
mod outputs;
mod process;
mod sandbox;
mod silent;
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
