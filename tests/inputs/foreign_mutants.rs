//! Seeded damage to the libraries of other machines, both byte orders and classes: no mutant may
//! stop linkaudit, take more memory than promised, or make a reader panic.
//!
//! This test is only about survival. `mutants` compares mutants of this machine with readelf, and
//! `machines` intact files of all machines. `LINKAUDIT_MUTANTS=5000` (four times as many are made)
//! and `LINKAUDIT_SEED` work as in `mutants`.
#![cfg(target_os = "linux")]

use crate::support;

use super::mutants::mutate;
use crate::support::elf_file;
use crate::support::packages;
use crate::support::peak;
use crate::support::random;

use elf_file::{DT_VERSYM, ElfFile};
use mutate::{CATEGORIES, mutate};
use random::Random;
use std::collections::{BTreeMap, BTreeSet};
use std::process::Stdio;
use std::time::{Duration, Instant};
use support::Lab;

/// Number of mutants in one run of linkaudit.
const BATCH: usize = 500;
/// Maximum number of files of one machine.
const EACH: usize = 2;
/// Sizes of base files in bytes: the cost of writing mutants bounds their number.
const SIZES: std::ops::Range<u64> = 6_000..120_000;
/// Peak memory in kilobytes, and time for a batch.
const MEMORY: u64 = 256 << 10;
const TIME: Duration = Duration::from_secs(20);

#[test]
fn mutants_of_other_machines() {
    let Some(files) = packages::files("foreign_mutants") else { return };
    let mut bases: BTreeMap<String, Vec<ElfFile>> = BTreeMap::new();
    for path in files {
        let Some(machine) = path.parent().and_then(|dir| dir.parent()?.file_name()) else {
            continue;
        };
        let list = bases.entry(machine.to_string_lossy().into_owned()).or_default();
        let size = path.metadata().map_or(0, |metadata| metadata.len());
        if list.len() == EACH || !SIZES.contains(&size) {
            continue;
        }
        let elf = std::fs::read(&path).ok().and_then(ElfFile::new);
        list.extend(elf.filter(|elf| elf.value(DT_VERSYM).is_some()));
    }
    bases.retain(|_, list| !list.is_empty());
    let machines: Vec<&Vec<ElfFile>> = bases.values().collect();
    let count: usize = machines.iter().map(|list| list.len()).sum();
    assert!(machines.len() >= 10 && count >= 20, "{count} files of {:?}", bases.keys());
    let wanted = 4 * usize::try_from(random::number("LINKAUDIT_MUTANTS", 500)).expect("a count");
    let mut seed = random::number("LINKAUDIT_SEED", 1);
    let (mut done, mut named, mut largest, mut slowest) = (0, 0, 0, Duration::ZERO);
    while done < wanted {
        let lab = Lab::new();
        let dir = lab.mkdir("mutants");
        let mut batch = 0;
        while batch < BATCH.min(wanted - done) {
            seed += 1;
            let random = &mut Random::new(seed);
            let base = *random.pick(&machines);
            let base = random.pick(base);
            let category = *random.pick(&CATEGORIES);
            if let Some(bytes) = mutate(random, &base.bytes, category) {
                std::fs::write(dir.join(format!("{seed}-{category:?}")), bytes).expect("a mutant");
                batch += 1;
            }
        }
        let (time, memory, damaged) = audit(&lab, seed);
        named += damaged;
        (done, largest, slowest) = (done + batch, largest.max(memory), slowest.max(time));
    }
    let machines = machines.len();
    println!(
        "foreign mutants: {done} of {count} files of {machines} machines, {named} named as \
         damaged, 0 panics or signals, at most {largest} KB, slowest {BATCH} in {slowest:?}"
    );
    // A changed bit of a name, or of a size that nothing contradicts, is not visible as damage.
    assert!(named > done / 4, "only {named} are named");
    assert!(largest <= MEMORY, "{largest} KB");
    assert!(slowest <= TIME, "{slowest:?}");
}

/// Audits a batch; returns time, peak memory, and the number of files that are reported as damaged.
fn audit(lab: &Lab, seed: u64) -> (Duration, u64, usize) {
    let start = Instant::now();
    let (out, err) = (lab.path("out.json"), lab.path("err"));
    let mut child = support::linkaudit()
        .current_dir(lab.root())
        .args(["--format", "json", "mutants"])
        .stdout(Stdio::from(std::fs::File::create(&out).expect("a file")))
        .stderr(Stdio::from(std::fs::File::create(&err).expect("a file")))
        .spawn()
        .expect("linkaudit runs");
    let memory = peak::memory(child.id());
    let status = child.wait().expect("it ends");
    let (report, words) =
        (std::fs::read(out).expect("a report"), std::fs::read(err).expect("text"));
    let words = String::from_utf8_lossy(&words);
    assert!(matches!(status.code(), Some(0 | 1 | 3)), "up to seed {seed}: {status}: {words}");
    let report: serde_json::Value = serde_json::from_slice(&report).expect("JSON");
    let findings = report["findings"].as_array().expect("findings");
    let fault = findings.iter().find(|f| f["message"].to_string().contains("a fault of linkaudit"));
    assert!(fault.is_none() && words.is_empty(), "up to seed {seed}: {fault:?} {words}");
    let malformed = findings.iter().filter(|finding| finding["rule"] == "malformed");
    let named: BTreeSet<String> = malformed.map(|finding| finding["path"].to_string()).collect();
    (start.elapsed(), memory, named.len())
}
