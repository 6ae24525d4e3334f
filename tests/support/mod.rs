//! Shared code of the integration tests: a laboratory directory with a C compiler, the real
//! loader as an oracle, and the comparison of two `ldd` texts. It also has the only way to skip a
//! test. The expected results are in the test files.
#![allow(dead_code, reason = "every test binary uses its own part of this module")]
#![allow(unreachable_pub, clippy::print_stdout, reason = "tests say what they compared")]

pub mod bare;
pub mod debian;
pub mod device;
pub mod elf_file;
pub mod ld_debug;
pub mod musl;
pub mod notation;
pub mod packages;
pub mod peak;
pub mod queries;
pub mod random;
pub mod report;
pub mod rule_fixtures;
pub mod scratch;
pub mod strace;
pub mod tiny;

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Tests that need privileges which a build machine may lack. `LINKAUDIT_NO_SKIP=1` (set by
/// `.ci/run`) allows only these to be skipped.
pub const MAY_SKIP: &[(&str, &str)] = &[
    ("cache_in_a_mount_namespace", "needs a private /etc: root and unshare(CLONE_NEWNS)"),
    ("libraries_below_usr_local", "needs a private mount namespace: unshare(CLONE_NEWUSER)"),
    ("cmake_packages", "needs root for chroot"),
    ("debian_hosts", "needs root for chroot"),
    ("debian_inferred", "needs root for chroot"),
    ("debian_roots", "needs root for chroot"),
    ("pair_dependents", "needs root for chroot"),
    ("staged", "needs root for chroot"),
    ("static_program_alone", "needs root for chroot"),
    ("nix_store", "needs root to create /nix"),
    ("no_thread_at_all", "needs root to become a user without processes"),
    ("emulated_loaders", "needs root to chroot"),
];

/// Reports a skipped test. Under `LINKAUDIT_NO_SKIP=1` this panics unless `name` is in
/// [`MAY_SKIP`].
pub fn skip(name: &str, reason: &str) {
    let exempt = MAY_SKIP.iter().any(|(test, _)| *test == name);
    println!("SKIPPED {name}: {reason}");
    assert!(
        exempt || std::env::var_os("LINKAUDIT_NO_SKIP").is_none(),
        "{name} was skipped ({reason}), and LINKAUDIT_NO_SKIP=1 forbids that"
    );
}

/// The program under test, without LD_* variables in its environment.
pub fn linkaudit() -> Command {
    clean(env!("CARGO_BIN_EXE_linkaudit"))
}

/// A command with LC_ALL=C, the TMPDIR of the tests, and without LD_* variables in its environment.
pub fn clean(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LD_") {
            command.env_remove(name);
        }
    }
    command.env("LC_ALL", "C").env("TMPDIR", scratch::scratch());
    command
}

/// True if `program` can be started at all.
pub fn has(program: &str) -> bool {
    clean(program).arg("--version").output().is_ok()
}

/// A temporary directory in which a test builds its own libraries and programs.
pub struct Lab {
    dir: tempfile::TempDir,
}

impl Lab {
    pub fn new() -> Self {
        Self { dir: scratch::tempdir().expect("a temporary directory") }
    }

    /// A laboratory whose path always has ten bytes, so that output with the path wraps at the same
    /// column in every run.
    pub fn with_short_path() -> Self {
        let dir = tempfile::Builder::new().prefix("d").rand_bytes(4).tempdir_in("/tmp");
        Self { dir: dir.expect("a temporary directory") }
    }

    /// The directory with links resolved, so that linkaudit and `ldd` print the same path.
    pub fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().expect("the laboratory exists")
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.root().join(name)
    }

    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory in the laboratory");
        }
        std::fs::write(&path, bytes).expect("a file in the laboratory");
        path
    }

    pub fn mkdir(&self, name: &str) -> PathBuf {
        let path = self.path(name);
        std::fs::create_dir_all(&path).expect("a directory in the laboratory");
        path
    }

    pub fn link(&self, target: &str, name: &str) {
        let path = self.path(name);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory in the laboratory");
        }
        std::os::unix::fs::symlink(target, path).expect("a symbolic link in the laboratory");
    }

    /// Builds a shared object. `flags` follow the source on the command line, so `-l` works;
    /// `$PWD` inside a flag is the laboratory.
    pub fn so(&self, out: &str, source: &str, flags: &[&str]) -> PathBuf {
        self.cc(out, source, &["-shared", "-fPIC"], flags)
    }

    /// Builds a program; undefined symbols are left to the loader.
    pub fn exe(&self, out: &str, source: &str, flags: &[&str]) -> PathBuf {
        self.cc(out, source, &["-Wl,--unresolved-symbols=ignore-all"], flags)
    }

    pub fn cc(&self, out: &str, source: &str, before: &[&str], flags: &[&str]) -> PathBuf {
        let path = self.path(out);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent).expect("a directory in the laboratory");
        }
        let here = self.root();
        let here = here.to_str().expect("a laboratory path in UTF-8");
        let c = self.write(&format!("{out}.c"), source);
        let output = clean("cc")
            .current_dir(self.root())
            .args(["-w", "-O0"])
            .args(before)
            .args(["-x", "c"])
            .arg(&c)
            .args(["-x", "none", "-o"])
            .arg(&path)
            .args(flags.iter().map(|flag| flag.replace("$PWD", here)))
            .output()
            .expect("a C compiler named cc");
        assert!(output.status.success(), "cc {out}: {}", String::from_utf8_lossy(&output.stderr));
        std::fs::remove_file(c).expect("the source was there");
        path
    }

    /// Runs the program under test in the laboratory.
    pub fn linkaudit(&self, args: &[&str]) -> Output {
        linkaudit().current_dir(self.root()).args(args).output().expect("linkaudit runs")
    }

    /// The output of the real `ldd -r`, without the vdso line and the addresses.
    pub fn ldd_r(&self, file: &str) -> String {
        ldd_r(&self.root(), OsStr::new(file))
    }

    /// Undefined symbols of a file according to the real `ldd -r`.
    pub fn undefined(&self, file: &str) -> BTreeSet<String> {
        undefined(&self.ldd_r(file))
    }

    /// Runs a shell script in the laboratory.
    pub fn sh(&self, script: &str) -> Output {
        let output = clean("sh").current_dir(self.root()).args(["-ec", script]).output();
        output.expect("sh runs")
    }
}

/// Undefined symbols that an `ldd -r` text names.
pub fn undefined(text: &str) -> BTreeSet<String> {
    let names = text.lines().filter_map(|line| line.trim().strip_prefix("undefined symbol: "));
    names.map(|name| name.split('\t').next().unwrap_or(name).to_owned()).collect()
}

/// The output of the real `ldd -r FILE` (stdout and stderr), without the vdso line and the
/// addresses.
pub fn ldd_r(cwd: &Path, file: &OsStr) -> String {
    let output = clean("sh")
        .current_dir(cwd)
        .args(["-c", "exec ldd -r \"$1\" 2>&1", "sh"])
        .arg(file)
        .output()
        .expect("ldd runs");
    normalise(&String::from_utf8_lossy(&output.stdout))
}

/// Drops the vdso line and the load addresses of an `ldd` text.
pub fn normalise(text: &str) -> String {
    let mut out = String::new();
    for line in text.lines() {
        if line.starts_with("\tlinux-vdso.so.1") || line.starts_with("\tlinux-gate.so.1") {
            continue;
        }
        let line = match line.rfind(" (0x") {
            Some(at) if line.starts_with('\t') && line.ends_with(')') => &line[..at],
            _ => line,
        };
        out.push_str(line);
        out.push('\n');
    }
    out
}

/// An `ldd` text split for the comparison: library lines in order, all others as a set.
#[derive(Debug, PartialEq, Eq)]
pub struct LddText {
    pub libraries: Vec<String>,
    pub others: BTreeSet<String>,
}

impl LddText {
    pub fn parse(text: &str) -> Self {
        let (libraries, others): (Vec<_>, Vec<_>) =
            text.lines().map(str::to_owned).partition(|line| line.starts_with('\t'));
        Self { libraries, others: others.into_iter().collect() }
    }
}

/// Compares two `ldd` texts: same library lines in the same order, same set of other lines. Returns
/// both texts if they differ.
pub fn difference(ours: &str, theirs: &str) -> Option<String> {
    (LddText::parse(ours) != LddText::parse(theirs))
        .then(|| format!("--- linkaudit\n{ours}--- ldd\n{theirs}"))
}

/// A running count of compared cases, printed at the end of a differential test.
#[derive(Default)]
pub struct Tally {
    pub cases: usize,
    pub differences: Vec<String>,
}

impl Tally {
    pub fn compare(&mut self, name: &str, ours: &str, theirs: &str) {
        self.cases += 1;
        if let Some(text) = difference(ours, theirs) {
            self.differences.push(format!("=== {name}\n{text}"));
        }
    }

    /// Prints `WHAT: N cases, M differences` and fails unless M is zero.
    pub fn finish(self, what: &str) {
        println!("{what}: {} cases, {} differences", self.cases, self.differences.len());
        assert!(self.cases > 0, "{what}: nothing was compared");
        assert!(self.differences.is_empty(), "{}", self.differences.join("\n"));
    }
}

/// A JSON report in which every finding has all of its evidence: the shared evidence of its cause
/// comes first.
pub fn whole(bytes: &[u8]) -> serde_json::Value {
    use serde_json::Value;
    let mut report: Value = serde_json::from_slice(bytes).unwrap_or_else(|error| {
        panic!("no JSON report ({error}): {}", String::from_utf8_lossy(bytes))
    });
    let causes: BTreeMap<String, Vec<Value>> = report["causes"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|cause| {
            let id = cause["id"].as_str().expect("an id").to_owned();
            (id, cause["evidence"].as_array().expect("evidence").clone())
        })
        .collect();
    for finding in report["findings"].as_array_mut().into_iter().flatten() {
        let id = finding["cause"].as_str().expect("a cause");
        let shared = causes.get(id).unwrap_or_else(|| panic!("no cause of {finding}"));
        let own = finding["evidence"].as_array().expect("evidence");
        for kind in own.iter().map(|piece| &piece["kind"]) {
            assert!(shared.iter().all(|piece| piece["kind"] != *kind), "{kind} stands in both");
        }
        finding["evidence"] = Value::Array([&shared[..], own].concat());
    }
    report
}
