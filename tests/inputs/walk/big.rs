//! Large numbers: levels of directories, bytes in a path, files.

use crate::support::random::step;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::process::Output;
use std::time::{Duration, Instant};

use linkaudit::tree::{DiskTree, Opened, Tree as _};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};

use super::report::Report;
use super::{audit, broken, found_broken};
use crate::support::{self, Lab};

const LEVELS: usize = 5_000;
/// A recursion with a frame for each level overflows a stack of eight megabytes here.
const VERY_MANY_LEVELS: usize = 20_000;
const FILES: usize = 20_000;
const IN_TIME: Duration = Duration::from_secs(5);
/// A walk that keeps a directory open for each level needs more than these.
const DESCRIPTORS: u32 = 64;

/// A chain of directories below `top`, each called `name`. It is made level by level, because the
/// path is too long for system calls. Returns the last directory.
fn deep(lab: &Lab, top: &str, name: &str, levels: usize) -> (OwnedFd, PathBuf) {
    let mut path = lab.mkdir(top);
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, &path, flags, Mode::empty()).expect("the top");
    for _ in 0..levels {
        mkdirat(&dir, name, Mode::from_raw_mode(0o755)).expect("a level");
        dir = openat(&dir, name, flags, Mode::empty()).expect("a level");
        path.push(name);
    }
    (dir, path)
}

fn put(dir: &OwnedFd, name: &str, bytes: &[u8]) {
    let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
    let file = openat(dir, name, flags, Mode::from_raw_mode(0o644)).expect("a file");
    std::io::Write::write_all(&mut std::fs::File::from(file), bytes).expect("bytes");
}

/// The standard library's removal opens every level at once; this one does not.
fn remove(lab: &Lab, top: &str) {
    let status = support::clean("rm").arg("-rf").arg(lab.path(top)).status().expect("rm runs");
    assert!(status.success());
}

/// Runs with few descriptors, so that a walk that holds many open fails.
fn run_with_few_descriptors(lab: &Lab, path: &str) -> Output {
    let script = format!("ulimit -n {DESCRIPTORS}; exec \"$@\"");
    let mut command = support::clean("sh");
    command.current_dir(lab.root()).args(["-c", &script, "sh"]);
    command.arg(env!("CARGO_BIN_EXE_linkaudit")).args(["check", "--format", "json", path]);
    command.output().expect("linkaudit runs")
}

#[test]
fn five_thousand_levels() {
    one_file_at_the_end_of(LEVELS);
}

/// No code may recurse once per level, and the time must not be quadratic.
#[test]
fn very_many_levels() {
    one_file_at_the_end_of(VERY_MANY_LEVELS / step(2));
}

fn one_file_at_the_end_of(levels: usize) {
    let lab = Lab::new();
    let elf = std::fs::read(broken(&lab, "libbroken.so")).expect("it was built");
    let (dir, mut path) = deep(&lab, "tree", "d", levels);
    put(&dir, "libbroken.so", &elf);
    path.push("libbroken.so");
    let start = Instant::now();
    let output = run_with_few_descriptors(&lab, "tree");
    let time = start.elapsed();
    remove(&lab, "tree");
    println!("walk: {levels} levels in {time:?}");
    let report = Report::from(output);
    assert_eq!(found_broken(&report), [path], "{} findings", report.findings().count());
    assert_eq!(report.total("elf"), 1);
    assert!(report.complete());
    assert!(time < IN_TIME * 2, "it took {time:?}");
}

/// A long path is opened in steps. A step may end between two slashes.
#[test]
fn a_path_with_thousands_of_slashes() {
    let lab = Lab::new();
    lab.write("d/f", b"no ELF");
    for slashes in [1, 2, 4_000, 4_095, 4_096, 10_000] {
        let path = format!("{}/d{}f", lab.root().display(), "/".repeat(slashes));
        let opened = DiskTree::new().open(Path::new(&path));
        assert!(matches!(opened, Ok(Opened::File(_))), "{slashes}");
    }
    let tree = DiskTree::new().seen_from(lab.root().clone());
    assert!(tree.open_regular(Path::new("d/f")).is_ok());
}

#[test]
fn a_path_longer_than_the_kernel_takes() {
    let lab = Lab::new();
    let elf = std::fs::read(broken(&lab, "libbroken.so")).expect("it was built");
    let name = "n".repeat(200);
    let (dir, end) = deep(&lab, "tree", &name, 40);
    put(&dir, "libbroken.so", &elf);
    put(&dir, "README", b"no ELF");
    rustix::fs::symlinkat("libbroken.so", &dir, "liblink.so").expect("a link");
    rustix::fs::symlinkat("nowhere", &dir, "dangling").expect("a link");
    // Files beside the chain and half way up are found too.
    broken(&lab, "tree/libnear.so");
    let output = run_with_few_descriptors(&lab, "tree");
    remove(&lab, "tree");
    let report = Report::from(output);
    let far = end.join("libbroken.so");
    assert!(far.as_os_str().as_bytes().len() > 8_000);
    let mut found = found_broken(&report);
    found.sort_unstable();
    let mut expected = [lab.path("tree/libnear.so"), far];
    expected.sort_unstable();
    assert_eq!(found, expected);
    assert_eq!(report.total("elf"), 2);
    assert_eq!(report.total("other"), 1);
    assert_eq!(report.total("links"), 2);
    assert!(report.complete(), "{}", report.outline());
}

/// One directory's path fits and its files' paths do not: the edge between the two ways to walk.
#[test]
fn paths_around_the_limit() {
    let lab = Lab::new();
    let elf = std::fs::read(broken(&lab, "libbroken.so")).expect("it was built");
    let name = "e".repeat(100);
    let mut expected = Vec::new();
    let base = lab.root().as_os_str().len() + "/tree".len();
    let levels = (4096 - base) / (name.len() + 1) - 1;
    let (dir, end) = deep(&lab, "tree", &name, levels);
    let used = end.as_os_str().len();
    // The limit counts the NUL at the end: 4095 bytes are the longest path that fits.
    for total in 4085..4105 {
        let name = format!("{:x<width$}", "lib", width = total - used - 1);
        put(&dir, &name, &elf);
        let path = end.join(name);
        assert_eq!(path.as_os_str().len(), total);
        expected.push(path);
    }
    let report = Report::of(support::linkaudit().arg(lab.path("tree")));
    remove(&lab, "tree");
    let mut found = found_broken(&report);
    found.sort_unstable();
    expected.sort_unstable();
    assert_eq!(found.len(), expected.len(), "{:?}", report.rules());
    assert_eq!(found, expected);
    assert!(report.complete());
}

#[test]
fn twenty_thousand_small_files() {
    let lab = Lab::new();
    for n in 0..FILES {
        let name = format!("tree/d{:03}/f{n}", n % 200);
        if n < 200 {
            lab.mkdir(&format!("tree/d{n:03}"));
        }
        std::fs::write(lab.path(&name), if n % 3 == 0 { &b"\x7fEL"[..] } else { b"text\n" })
            .expect("a small file");
    }
    let file = broken(&lab, "tree/d100/libbroken.so");
    let start = Instant::now();
    let report = audit(&lab, "tree");
    let time = start.elapsed();
    println!("walk: {FILES} small files in {time:?}");
    assert_eq!(found_broken(&report), [file]);
    assert_eq!(report.total("other"), FILES as u64);
    assert!(time < IN_TIME, "it took {time:?}");
}
