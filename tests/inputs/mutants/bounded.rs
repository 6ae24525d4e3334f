//! Runs a program with limits of time and memory, and returns how it ended.

use std::fs::File;
use std::path::Path;
use std::process::ExitStatus;
use std::time::{Duration, Instant};

use crate::support::clean;

pub struct Outcome {
    /// `None` if the time was up.
    pub status: Option<ExitStatus>,
    pub stdout: Vec<u8>,
    pub stderr: Vec<u8>,
}

/// `ulimit -v` in KiB, for all programs run here.
const MEMORY: &str = "ulimit -v 4000000; exec \"$@\"";

/// Runs `words` in `cwd`; their output goes through files, so that a full pipe does not block the
/// run.
pub fn run(cwd: &Path, seconds: u64, words: &[&str]) -> Outcome {
    let scratch = crate::support::scratch::tempdir().expect("a temporary directory");
    let (out, err) = (scratch.path().join("out"), scratch.path().join("err"));
    let mut command = clean("sh");
    command.current_dir(cwd).args(["-c", MEMORY, "sh"]).args(words);
    command.stdin(std::process::Stdio::null());
    command.stdout(File::create(&out).expect("a file"));
    command.stderr(File::create(&err).expect("a file"));
    let mut child = command.spawn().expect("sh starts");
    let end = Instant::now() + Duration::from_secs(seconds);
    let mut pause = Duration::from_millis(1);
    let status = loop {
        match child.try_wait().expect("a child to wait for") {
            Some(status) => break Some(status),
            None if Instant::now() >= end => {
                child.kill().expect("our own child");
                child.wait().expect("a child to wait for");
                break None;
            }
            None => std::thread::sleep(pause),
        }
        pause = (pause * 2).min(Duration::from_millis(20));
    };
    let read = |path: &Path| std::fs::read(path).expect("the output");
    Outcome { status, stdout: read(&out), stderr: read(&err) }
}

impl Outcome {
    pub fn code(&self) -> Option<i32> {
        self.status.and_then(|status| status.code())
    }
}
