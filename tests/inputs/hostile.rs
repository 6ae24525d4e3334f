//! The generator of hostile files: seeded, structure-aware cases of every format that linkaudit
//! reads, each with a label. `must be reported`: a part that a loader, a linker or a reader needs
//! is lost. `must stay clean`: no part is lost, however strange the file looks.
//!
//! `cargo test` runs a share; `LINKAUDIT_HOSTILE=100` runs 20,000 ELF files, 5,000 archives, 2,000
//! caches, 2,000 objects and 1,000 policies and lists. `LINKAUDIT_SEED` picks the cases, and
//! `LINKAUDIT_KEEP=1` keeps those that fail. A case fails if a defect is not reported, a finding is
//! false, or the run takes more than two seconds or 256 MB.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

use crate::support::elf_file;
use crate::support::peak;
use crate::support::random;

mod archives;
mod build;
mod caches;
mod case;
mod elf;
mod harm;
mod objects;
mod odd;
mod run;
mod shape;
mod texts;

use case::{Case, Label};
use random::{Random, number};
use run::{BATCH, Tally};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Percent of the numbers of the whole corpus that `cargo test` runs.
const SHARE: u64 = 3;

/// Number of cases in this run, of `whole`.
fn share(whole: usize) -> usize {
    let percent = usize::try_from(number("LINKAUDIT_HOSTILE", SHARE)).expect("a percentage");
    (whole * percent / 100).max(20)
}

/// The random numbers of a case: a case is the same in every share.
fn random(number: usize) -> Random {
    let seed = self::number("LINKAUDIT_SEED", 1);
    Random::new(seed.wrapping_mul(1_000_003).wrapping_add(number as u64))
}

/// Runs parts of `0..count` on all processors.
fn on_all(
    count: usize,
    each: usize,
    work: impl Fn(std::ops::Range<usize>) -> Tally + Sync,
) -> Tally {
    let (next, all) = (AtomicUsize::new(0), Mutex::new(Tally::default()));
    std::thread::scope(|scope| {
        for _ in 0..std::thread::available_parallelism().map_or(1, std::num::NonZero::get) {
            scope.spawn(|| {
                loop {
                    let start = next.fetch_add(each, Ordering::Relaxed);
                    if start >= count {
                        break;
                    }
                    let tally = work(start..count.min(start + each));
                    all.lock().expect("no worker panicked").add(tally);
                }
            });
        }
    });
    all.into_inner().expect("no worker panicked")
}

/// Runs the cases of one maker in batches, each with one label.
fn in_batches(what: &str, whole: usize, args: &[&str], make: fn(usize, &mut Random) -> Case) {
    let tally = on_all(share(whole), BATCH, |numbers| {
        let cases = numbers.map(|number| (format!("{number}"), make(number, &mut random(number))));
        let (clean, hurt): (Vec<_>, Vec<_>) =
            cases.partition(|(_, case)| matches!(case.label, Label::Clean));
        let mut tally = run::batch(&clean, args);
        tally.add(run::batch(&hurt, args));
        tally
    });
    tally.finish(what);
}

#[test]
fn elf_files() {
    in_batches("ELF files", 20_000, &["--format", "json", "-j", "1"], elf::case);
}

#[test]
fn objects_alone() {
    in_batches("objects", 2_000, &["--format", "json", "-j", "1"], objects::case);
}

#[test]
fn archives() {
    in_batches("archives", 5_000, &["--format", "json", "-j", "1"], archives::case);
}

#[test]
fn caches_of_the_loader() {
    on_all(share(2_000), 20, |numbers| caches::run(numbers, random)).finish("caches");
}

#[test]
fn policies_and_lists() {
    on_all(share(1_000), 20, |numbers| texts::run(numbers, random)).finish("texts");
}

/// Checks the labels: the real loader accepts the cases for this machine that must stay clean.
#[test]
fn the_loader_takes_what_is_clean() {
    let lab = support::Lab::new();
    let (mut cases, mut refused) = (0, Vec::new());
    for number in (2..share(20_000)).step_by(3) {
        let case = elf::case(number, &mut random(number));
        let head = &case.files[0].1[..20];
        if head[4..6] != [2, 1] || head[18] != 62 {
            continue;
        }
        let dir = format!("{number}");
        for (name, bytes) in &case.files {
            lab.write(&format!("{dir}/{name}"), bytes);
        }
        let mut loader = support::clean(shape::LOADER);
        let answer = loader.current_dir(lab.path(&dir)).args(["--list", "./subject"]).output();
        let answer = answer.expect("the loader runs");
        let error = String::from_utf8_lossy(&answer.stderr).into_owned();
        cases += 1;
        if !answer.status.success() || String::from_utf8_lossy(&answer.stdout).contains("not found")
        {
            refused.push(format!("{number} ({}): {} {error}", case.operation, answer.status));
        }
    }
    println!("sound files and the loader: {cases} cases, {} refused", refused.len());
    assert!(refused.is_empty(), "{}", refused.join("\n"));
}

/// The binary seeds of `fuzz/corpus/`, with which the fuzzer starts, are those that the generator
/// makes. `UPDATE=1` writes them again.
#[test]
fn seeds_for_fuzzing() {
    const MOST: usize = 3000;
    let (mut seeds, mut old) = (0, Vec::new());
    let mut keep = |target: &str, number: usize, bytes: &[u8]| {
        let path = format!("{}/fuzz/corpus/{target}/seed-{number:02}", env!("CARGO_MANIFEST_DIR"));
        if bytes.len() > MOST {
            return;
        }
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&path, bytes).expect("a seed");
        }
        seeds += 1;
        if !std::fs::read(&path).is_ok_and(|kept| kept == bytes) {
            old.push(path);
        }
    };
    for number in 0..24 {
        let random = || Random::new(1000 + number as u64);
        keep("elf", number, &elf::case(number, &mut random()).files[0].1);
        keep("archive", number, &archives::case(number, &mut random()).files[0].1);
        keep("object", number, &objects::case(number, &mut random()).files[0].1);
        keep("ld_so_cache", number, &caches::case(number, &mut random()).1);
    }
    println!("seeds for fuzzing: {seeds} cases, {} differ", old.len());
    assert!(old.is_empty(), "UPDATE=1 writes these anew: {old:?}");
}
