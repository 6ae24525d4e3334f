//! Entries other than regular files: they are recognised, reported and never opened.

use std::os::unix::net::UnixListener;
use std::time::{Duration, Instant};

use rustix::fs::{CWD, FileType, Mode, mkfifoat, mknodat};

use super::report::{Report, text, whole_path};
use super::{audit, broken, found_broken, is_root, strace};
use crate::support::{self, Lab};

/// Upper bound for a run: an open of a FIFO without a writer would wait for ever.
const AT_ONCE: Duration = Duration::from_secs(5);

/// A tree with one entry of each kind that can be made here; returns their number.
fn tree_of_specials(lab: &Lab) -> u64 {
    broken(lab, "tree/lib/libbroken.so");
    let mode = Mode::from_raw_mode(0o644);
    mkfifoat(CWD, lab.path("tree/fifo"), mode).expect("a FIFO");
    drop(UnixListener::bind(lab.path("tree/lib/socket")).expect("a socket"));
    lab.link("fifo", "tree/link-to-fifo");
    let devices =
        [("zero", FileType::CharacterDevice, (1, 5)), ("ram", FileType::BlockDevice, (1, 0))];
    let made = devices.iter().filter(|(name, kind, (major, minor))| {
        let device = rustix::fs::makedev(*major, *minor);
        let result = mknodat(CWD, lab.path(&format!("tree/{name}")), *kind, mode, device);
        result.is_ok() || {
            // A container may forbid it even to root; the device of /dev is tested below anyhow.
            println!("walk: no device node {name} can be made here (root: {})", is_root());
            false
        }
    });
    2 + made.count() as u64
}

#[test]
fn special_files_are_counted_and_named() {
    let lab = Lab::new();
    let specials = tree_of_specials(&lab);
    let start = Instant::now();
    let report = audit(&lab, "tree");
    assert!(start.elapsed() < AT_ONCE, "it took {:?}", start.elapsed());
    assert_eq!(report.total("special"), specials);
    assert_eq!(report.total("links"), 1);
    assert_eq!(report.total("elf"), 1);
    assert_eq!(found_broken(&report), [lab.path("tree/lib/libbroken.so")]);
    let named: Vec<_> = report.of_rule("unreadable").map(whole_path).collect();
    assert_eq!(named.len() as u64, specials, "{}", report.outline());
    for name in ["tree/fifo", "tree/lib/socket"] {
        assert!(named.contains(&lab.path(name)), "{name}: {}", report.outline());
    }
    assert!(!report.complete());
    assert_eq!(report.status, 1, "an error weighs more than an incomplete audit");
}

#[test]
fn a_tree_of_special_files_only_is_incomplete() {
    let lab = Lab::new();
    lab.mkdir("tree");
    let mode = Mode::from_raw_mode(0o644);
    mkfifoat(CWD, lab.path("tree/fifo"), mode).expect("a FIFO");
    let report = audit(&lab, "tree");
    assert_eq!(report.status, 3, "{}", report.outline());
    let allowed =
        support::linkaudit().arg("--allow").arg("unreadable").arg(lab.path("tree")).status();
    assert_eq!(allowed.expect("linkaudit runs").code(), Some(0), "an allowed one is complete");
}

#[test]
fn a_given_device_or_fifo_is_never_opened() {
    let lab = Lab::new();
    mkfifoat(CWD, lab.path("fifo"), Mode::from_raw_mode(0o644)).expect("a FIFO");
    let start = Instant::now();
    for path in ["/dev/zero", "/dev/null", "fifo"] {
        let report = audit(&lab, path);
        assert_eq!(report.status, 3, "{path}: {}", report.outline());
        assert_eq!(report.total("special"), 1);
        let finding = report.of_rule("unreadable").next().expect("it is named");
        assert!(text(&finding["message"]).contains(", skipped"), "{finding}");
    }
    assert!(start.elapsed() < AT_ONCE, "it took {:?}", start.elapsed());
}

/// A search path that leads the loader to a FIFO or a device.
#[test]
fn a_needed_fifo_or_device_is_never_opened() {
    let lab = Lab::new();
    let lib = broken(&lab, "tree/libbroken.so");
    mkfifoat(CWD, lab.path("fifo"), Mode::from_raw_mode(0o644)).expect("a FIFO");
    for target in ["/dev/zero", "../fifo"] {
        let dir = format!("tree{}", target.len());
        lab.mkdir(&dir);
        std::fs::copy(&lib, lab.path(&format!("{dir}/libbroken.so"))).expect("a copy");
        let name = lab.path(&dir).join(super::ABSENT);
        std::os::unix::fs::symlink(target, name).expect("a link");
        lab.so(
            &format!("{dir}/libuser.so"),
            "int f(void); int g(void){return f();}",
            &[&format!("$PWD/{dir}/libbroken.so"), "-Wl,--disable-new-dtags,-rpath,$ORIGIN"],
        );
        let start = Instant::now();
        let run = support::linkaudit().args(["--format", "json"]).arg(lab.path(&dir)).output();
        assert!(start.elapsed() < AT_ONCE, "{target}: it took {:?}", start.elapsed());
        let report = Report::from(run.expect("linkaudit runs"));
        assert_ne!(report.status, 0, "{target} cannot be loaded: {}", report.outline());
    }
}

#[test]
fn strace_sees_no_open_of_a_special_file() {
    if !support::has("strace") {
        return support::skip("strace_sees_no_open_of_a_special_file", "there is no strace");
    }
    let lab = Lab::new();
    tree_of_specials(&lab);
    let (_, calls) =
        strace::linkaudit(&lab.root(), &["check", "tree"], "open,openat,openat2,connect");
    let special = ["fifo", "socket", "zero", "ram"];
    let opened: Vec<_> = calls
        .iter()
        .filter(|call| special.iter().any(|name| call.contains(&format!("/{name}\""))))
        .collect();
    assert!(opened.is_empty(), "{opened:#?}");
}
