//! Runs the program under strace, and returns its system calls, one per line.
//!
//! Each thread is traced into a file of its own, so that no call is split into two lines.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]

use std::path::Path;
use std::process::{Command, Output};

use crate::support;

/// Runs the program under test with `args` in `cwd`. Returns the calls of `set` (as in strace's `-e
/// trace=`) of all its threads.
pub fn linkaudit(cwd: &Path, args: &[&str], set: &str) -> (Output, Vec<String>) {
    let dir = support::scratch::tempdir().expect("a directory for the trace");
    let output = strace(set, dir.path())
        .arg(env!("CARGO_BIN_EXE_linkaudit"))
        .args(args)
        .current_dir(cwd)
        .output()
        .expect("strace runs");
    let mut calls = Vec::new();
    for entry in dir.path().read_dir().expect("the trace was written") {
        let bytes = std::fs::read(entry.expect("a trace").path()).expect("a trace can be read");
        let text = String::from_utf8_lossy(&bytes);
        calls.extend(text.lines().filter(|line| line.contains(") = ")).map(str::to_owned));
    }
    assert!(!calls.is_empty(), "strace says: {}", String::from_utf8_lossy(&output.stderr));
    (output, calls)
}

fn strace(set: &str, dir: &Path) -> Command {
    let mut command = support::clean("strace");
    // Paths of descriptors and whole file names, but no contents of buffers.
    command.args(["-ff", "-y", "-s", "0", "-e"]).arg(format!("trace={set}"));
    command.arg("-o").arg(dir.join("trace"));
    command
}

/// The name of the call in a line.
pub fn name(call: &str) -> &str {
    call.split('(').next().unwrap_or_default()
}

/// The result of a call, if it is a number and not an error.
pub fn result(call: &str) -> Option<u64> {
    call.rsplit_once(") = ")?.1.split([' ', '<']).next()?.parse().ok()
}
