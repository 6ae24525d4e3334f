//! Two audits in one process, at once and one after the other: each gives the same report as alone.

use super::audits::told;
use super::layouts::Layout;
use super::random::Random;
use super::tiny::Tiny;
use crate::support::{self, Lab};
use linkaudit::tree::{DiskTree, Tree};
use rustix::fs::{CWD, Mode, OFlags, mkdirat, openat};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

const ROUNDS: usize = 8;
/// More libraries with a large string table than one tree may hold open.
const LARGE: usize = 40;

/// A system with many libraries whose string tables stay in their files.
fn system(lab: &Lab, name: &str, seed: u64) -> PathBuf {
    let top = lab.path(name);
    Layout::random(&mut Random::new(seed)).system.on_disk(&top);
    for number in 0..LARGE {
        let soname = format!("liblarge{number}.so");
        let mut library = Tiny::library(&soname, Vec::<String>::new());
        for symbol in 0..6 {
            let tail = "x".repeat(200_000);
            library = library.defines(&format!("{name}{number}_{symbol}_{tail}"));
        }
        let wanted = library.defines[number % 6].clone();
        lab.write(&format!("{name}/opt/large/{soname}"), library.bytes());
        let user = Tiny::library(&format!("libuser{number}.so"), [soname]).refers(&wanted);
        let user = user.refers(&format!("{name}_nowhere")).runpath("$ORIGIN/large");
        lab.write(&format!("{name}/opt/libuser{number}.so"), user.bytes());
    }
    top
}

#[test]
fn two_audits_at_once_say_what_each_says_alone() {
    let lab = Lab::new();
    let tops = [system(&lab, "one", 11), system(&lab, "other", 12)];
    let run = |top: &Path| told(&DiskTree::within(top).expect("a directory"), &["/opt", "/usr"]);
    let alone = [run(&tops[0]), run(&tops[1])];
    assert_ne!(alone[0], alone[1]);
    for round in 0..ROUNDS {
        let (one, other) = std::thread::scope(|scope| {
            let other = scope.spawn(|| run(&tops[1]));
            (run(&tops[0]), other.join().expect("no panic"))
        });
        assert!(one == alone[0] && other == alone[1], "round {round}");
    }
    assert!(run(&tops[1]) == alone[1] && run(&tops[0]) == alone[0], "one after the other");
    let lines = alone[0].lines().count() + alone[1].lines().count();
    println!("together: {ROUNDS} rounds of two audits, {lines} lines, 0 differences");
}

/// A directory whose path is too long for system calls.
fn deep(lab: &Lab) -> (OwnedFd, PathBuf) {
    let mut path = lab.mkdir("deep");
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    let mut dir = openat(CWD, &path, flags, Mode::empty()).expect("the top");
    let name = "d".repeat(250);
    for _ in 0..20 {
        mkdirat(&dir, &name, Mode::from_raw_mode(0o755)).expect("a level");
        dir = openat(&dir, &name, flags, Mode::empty()).expect("a level");
        path.push(&name);
    }
    (dir, path)
}

#[test]
fn a_later_audit_does_not_see_the_directories_of_an_earlier_one() {
    let lab = Lab::new();
    for content in ["first", "second, longer"] {
        let (dir, path) = deep(&lab);
        let flags = OFlags::WRONLY | OFlags::CREATE | OFlags::CLOEXEC;
        let file = openat(&dir, "file", flags, Mode::from_raw_mode(0o644)).expect("a file");
        std::io::Write::write_all(&mut std::fs::File::from(file), content.as_bytes())
            .expect("bytes");
        let (_, stat) = DiskTree::new().look(&path.join("file")).expect("the new file");
        assert_eq!(stat.len, content.len() as u64);
        let status = support::clean("rm").arg("-rf").arg(lab.path("deep")).status();
        assert!(status.expect("rm runs").success());
    }
}
