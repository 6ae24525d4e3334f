//! System calls that fail: one call of a run is made to fail with an error, and the run must end
//! with the same answer, with a finding, or with an error message.
//!
//! ENOENT is not tried: an absent file makes another tree. getdents returns it for a removed
//! directory, which then has no entries (POSIX, readdir).
//!
//! strace counts the calls of each thread separately, so one point may fail once in each thread.
//! `LINKAUDIT_FAULTS` is the number of points that are tried, 250 by default.

use super::random::{Random, amount, number};
use crate::support::{self, Lab, linkaudit};
use serde_json::Value;
use std::collections::BTreeMap;
use std::path::Path;
use std::process::{Command, Output};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Calls and the errors with which the kernel may answer.
const FAULTS: &[(&str, &[&str])] = &[
    ("open", &["EIO", "EMFILE", "ENOMEM"]),
    ("openat", &["EIO", "EACCES", "EMFILE", "ENFILE", "EINTR"]),
    ("openat2", &["EIO", "EACCES", "EMFILE", "ENOSYS"]),
    ("read", &["EIO", "EINTR", "EISDIR"]),
    ("pread64", &["EIO", "EINTR", "ENOMEM"]),
    ("newfstatat", &["EIO", "EACCES", "ENOMEM"]),
    ("statx", &["EIO", "ENOSYS"]),
    ("fstat", &["EIO", "ENOMEM"]),
    ("statfs", &["EIO"]),
    ("fstatfs", &["EIO"]),
    ("getdents64", &["EIO", "EACCES"]),
    ("readlink", &["EIO", "EACCES"]),
    ("readlinkat", &["EIO", "EACCES"]),
    ("faccessat2", &["EIO", "EACCES"]),
    ("getcwd", &["ENOENT", "EACCES"]),
    ("lseek", &["EIO"]),
    ("clone3", &["EAGAIN", "ENOSYS"]),
    ("clone", &["EAGAIN"]),
    ("write", &["EIO", "ENOSPC", "EINTR"]),
    ("fsync", &["EIO"]),
    ("fchmod", &["EPERM"]),
    ("linkat", &["EPERM", "ENOENT"]),
    ("rename", &["EIO", "EXDEV"]),
    ("seccomp", &["ENOSYS", "EPERM"]),
    ("landlock_create_ruleset", &["ENOSYS"]),
    ("landlock_restrict_self", &["EPERM"]),
    ("sched_getaffinity", &["ENOSYS"]),
    ("mmap", &["ENOMEM"]),
    ("brk", &["ENOMEM"]),
    ("mprotect", &["ENOMEM"]),
    ("madvise", &["ENOMEM"]),
];

/// Calls that allocate memory. Without memory a signal may end the process.
const MEMORY: [&str; 4] = ["mmap", "brk", "mprotect", "madvise"];

/// A tree without findings: programs, libraries in two directories, a link, an archive; and a
/// sysroot with a cache that holds a copy of it.
fn lab() -> Lab {
    let lab = Lab::new();
    lab.so("p/lib/libb.so", "int b(void) { return 1; }", &[]);
    lab.so("p/more/libc2.so", "int c(void) { return 2; }", &[]);
    let flags = ["-Lp/lib", "-lb", "-Lp/more", "-lc2", "-Wl,-rpath,$ORIGIN:$ORIGIN/../more"];
    lab.so("p/lib/liba.so", "int b(void), c(void); int a(void) { return b() + c(); }", &flags);
    let flags = ["-Lp/lib", "-la", "-Wl,-rpath,$ORIGIN/../lib", "-Wl,-rpath-link,p/more"];
    lab.exe("p/bin/app", "int a(void); int main(void) { return a(); }", &flags);
    lab.link("app", "p/bin/other");
    lab.sh("ar rc p/lib/libempty.a; mkdir -p r/etc");
    lab.sh("for f in $(ldd p/bin/app | grep -o '/[^ ]*' | grep -v $PWD); do
             mkdir -p r$(dirname $f); cp -L $f r$f
         done; /sbin/ldconfig -r r; cp -a p r/p");
    lab
}

/// The end of a run.
#[derive(PartialEq, Eq)]
struct End {
    status: Option<i32>,
    stdout: Vec<u8>,
    report: Option<Vec<u8>>,
    error: String,
}

impl End {
    fn of(output: Output, dir: &Path) -> Self {
        let error = String::from_utf8_lossy(&output.stderr).into_owned();
        let report = std::fs::read(dir.join("report")).ok();
        Self { status: output.status.code(), stdout: output.stdout, report, error }
    }

    /// True if the reports differ only in where libraries were found. The loader skips a directory
    /// that it may not search and continues (`elf/dl-load.c`, `open_path`), so another file of the
    /// name is the right answer.
    fn differs_in_found(&self, sound: &Self) -> bool {
        let needed = |end: &Self| {
            let mut report: Value = serde_json::from_slice(end.report.as_deref()?).ok()?;
            for file in report["files"].as_array_mut()? {
                for needed in file["needed"].as_array_mut()? {
                    let needed = needed.as_object_mut()?;
                    needed.remove("how")?;
                    let path = needed.get_mut("path")?;
                    *path = Path::new(path.as_str()?).file_name()?.to_str()?.into();
                }
            }
            Some(report)
        };
        needed(self).is_some_and(|report| Some(report) == needed(sound))
    }

    /// The reason why this end is wrong, given the end of an undisturbed run; `None` if it is
    /// right.
    fn fault(&self, sound: &Self, (call, error, _): Fault) -> Option<&'static str> {
        let report: Option<Value> =
            self.report.as_ref().map(|bytes| serde_json::from_slice(bytes).unwrap_or_default());
        if report.as_ref().is_some_and(|report| report["schema"] != "linkaudit.report/1") {
            return Some("a part of a report");
        }
        let Some(status) = self.status else {
            return (!MEMORY.contains(&call)).then_some("a signal");
        };
        match status {
            70 => Some("a fault of linkaudit"),
            0 if self.stdout == sound.stdout && self.report == sound.report => None,
            0 if error == "EACCES" && self.differs_in_found(sound) => None,
            0 => Some("another answer without a word"),
            // The status of incomplete runs: the report must be incomplete too.
            3 => report
                .is_none_or(|report| report["complete"] != false)
                .then_some("a complete report of an incomplete run"),
            1 => report
                .is_none_or(|report| report["findings"].as_array().is_none_or(Vec::is_empty))
                .then_some("no finding"),
            _ if self.error.is_empty() => Some("no message"),
            _ => None,
        }
    }
}

/// Runs without findings: a directory, one of another system, and a stage.
const RUNS: [&[&str]; 3] = [&["p"], &["--root", "r", "/p"], &["--root", "r", "--staged", "p"]];

/// The arguments of a run with its report in `dir`.
fn args(run: &[&str], dir: &Path) -> Vec<String> {
    let report = format!("json={}", dir.join("report").display());
    let shared = ["--isolated", "-j", "1", "-o", &report];
    shared.iter().chain(run).map(|arg| (*arg).to_owned()).collect()
}

/// A call that fails: its name, the error, and the number of the call.
type Fault = (&'static str, &'static str, usize);

/// Runs with the fault, or without. True if a call failed.
fn run(lab: &Lab, run: &[&str], fault: Option<Fault>, name: usize) -> (End, bool) {
    let dir = lab.mkdir(&format!("runs/{name}"));
    let args = args(run, &dir);
    let trace = dir.join("trace");
    let mut command: Command = match fault {
        None => linkaudit(),
        Some((call, error, number)) => {
            let mut strace = support::clean("strace");
            strace.args(["-f", "-q", "-o"]).arg(&trace);
            strace.args(["-e", &format!("trace={call}"), "-e", "signal=none"]);
            strace.args(["-e", &format!("inject={call}:error={error}:when={number}")]);
            strace.args(["timeout", "60", env!("CARGO_BIN_EXE_linkaudit")]);
            strace
        }
    };
    let output = command.current_dir(lab.root()).args(args).output().expect("a run");
    let end = End::of(output, &dir);
    let left = std::fs::read_dir(&dir).expect("a directory").flatten();
    let left = left.filter(|entry| entry.file_name().to_string_lossy().contains(".part"));
    assert_eq!(left.count(), 0, "{fault:?}: a part stays");
    let trace = std::fs::read(&trace).unwrap_or_default();
    std::fs::remove_dir_all(dir).expect("a directory to remove");
    (end, String::from_utf8_lossy(&trace).contains("(INJECTED)"))
}

/// Number of times that one run makes each call.
fn counts(lab: &Lab, run: &[&str]) -> BTreeMap<&'static str, usize> {
    let dir = lab.mkdir("counted");
    let trace = dir.join("trace");
    let args = args(run, &dir);
    let mut strace = support::clean("strace");
    strace.current_dir(lab.root()).args(["-f", "-q", "-o"]).arg(&trace);
    strace.arg(env!("CARGO_BIN_EXE_linkaudit")).args(args).output().expect("strace runs");
    let text = String::from_utf8_lossy(&std::fs::read(trace).expect("a trace")).into_owned();
    let count = |call: &str| text.matches(&format!(" {call}(")).count();
    FAULTS.iter().map(|(call, _)| (*call, count(call))).collect()
}

#[test]
fn each_call_may_fail() {
    let lab = lab();
    let mut points: Vec<(usize, Fault)> = Vec::new();
    let mut sound = Vec::new();
    for (at, case) in RUNS.iter().enumerate() {
        let (end, _) = run(&lab, case, None, 0);
        let text = String::from_utf8_lossy(&end.stdout);
        assert_eq!(end.status, Some(0), "{case:?}: {text}{}", end.error);
        sound.push(end);
        let counts = counts(&lab, case);
        for (call, errors) in FAULTS {
            for error in *errors {
                points.extend((1..=counts[call]).map(|number| (at, (*call, *error, number))));
            }
        }
    }
    Random::new(number("LINKAUDIT_SEED", 1)).shuffle(&mut points);
    points.truncate(usize::try_from(amount("LINKAUDIT_FAULTS", 250)).expect("a count"));
    let next = AtomicUsize::new(0);
    let work = || {
        let (mut wrong, mut failed) = (Vec::new(), 0);
        while let Some((at, point)) =
            Some(next.fetch_add(1, Ordering::Relaxed)).and_then(|at| Some((at, *points.get(at)?)))
        {
            let (case, point) = point;
            let (end, is_injected) = run(&lab, RUNS[case], Some(point), at + 1);
            failed += usize::from(is_injected);
            if let Some(fault) = end.fault(&sound[case], point) {
                let case = RUNS[case];
                wrong.push(format!("{case:?} {point:?}: {fault}: {:?} {}", end.status, end.error));
            }
        }
        (wrong, failed)
    };
    let (wrong, failed) = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2).map(|_| scope.spawn(work)).collect();
        let ends = threads.into_iter().map(|thread| thread.join().expect("a thread"));
        ends.fold((Vec::new(), 0), |(mut all, count), (wrong, failed)| {
            all.extend(wrong);
            (all, count + failed)
        })
    });
    println!("faults: {} points, {failed} calls failed, {} differ", points.len(), wrong.len());
    assert!(failed * 3 > points.len(), "too few calls failed");
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
