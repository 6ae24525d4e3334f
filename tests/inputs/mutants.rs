//! Seeded damage to real ELF files: no mutant may stop linkaudit, and no damage may be missed.
//!
//! Each mutant either has a finding about its damage, or the facts in the report equal those that
//! readelf or the real loader reads from the same bytes. Damage to section headers must change
//! nothing. `cargo test` runs 500 mutants; `LINKAUDIT_MUTANTS=5000` runs more and `LINKAUDIT_SEED`
//! picks the first. Failed mutants are kept for inspection; `LINKAUDIT_KEEP=1` keeps all.

use crate::support;

mod bases;
mod bounded;
use crate::support::elf_file;
mod facts;
mod judge;
pub(crate) mod mutate;
use crate::support::random;
use crate::support::scratch::scratch;
mod report;

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use bases::Base;
use facts::Facts;
use judge::{Mutant, Verdict, judge};
use mutate::{CATEGORIES, Category, mutate};
use random::Random;
use report::Report;

/// Number of mutants in one run of linkaudit.
const BATCH: usize = 100;

/// A random mutant: its base file and its damage.
struct Drawn {
    file: String,
    base: usize,
    category: Category,
    bytes: Vec<u8>,
}

#[derive(Default)]
struct Tally {
    verdicts: BTreeMap<(Category, &'static str), usize>,
    problems: Vec<String>,
}

#[test]
fn mutants() {
    let wanted = usize::try_from(random::number("LINKAUDIT_MUTANTS", 500)).expect("a count");
    let first = random::number("LINKAUDIT_SEED", 1);
    let lab = support::Lab::new();
    let bases = bases::build(&lab);
    let drawn = draw(&bases, first, wanted);
    let batches: Vec<&[Drawn]> = drawn.chunks(BATCH).collect();
    let next = AtomicUsize::new(0);
    let all = Mutex::new(Tally::default());
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                while let Some(batch) = batches.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let tally = audit(&bases, batch);
                    let mut all = all.lock().expect("no worker panicked");
                    all.problems.extend(tally.problems);
                    for (kind, count) in tally.verdicts {
                        *all.verdicts.entry(kind).or_default() += count;
                    }
                }
            });
        }
    });
    finish(&all.into_inner().expect("no worker panicked"), drawn.len());
}

/// Mutants in turn of every category and of every base that has the tables for it.
fn draw(bases: &[Base], first: u64, wanted: usize) -> Vec<Drawn> {
    let mut drawn = Vec::new();
    for seed in first.. {
        if drawn.len() == wanted {
            break;
        }
        let random = &mut Random::new(seed);
        let base = random.below(bases.len());
        let category = *random.pick(&CATEGORIES);
        if let Some(bytes) = mutate(random, &bases[base].bytes, category) {
            let file = format!("{seed}-{category:?}-{}", bases[base].name);
            drawn.push(Drawn { file, base, category, bytes });
        }
    }
    drawn
}

/// One batch: the mutants and, as controls, the undamaged files.
fn audit(bases: &[Base], batch: &[Drawn]) -> Tally {
    let mut tally = Tally::default();
    let lab = tempfile::Builder::new().prefix("mutants-").tempdir_in(scratch());
    let mut lab = lab.expect("a temporary directory");
    let root = lab.path().canonicalize().expect("the directory exists");
    let scratch = support::scratch::tempdir().expect("a temporary directory");
    let controls: Vec<String> = bases.iter().map(|base| format!("base-{}", base.name)).collect();
    let write = |name: &str, bytes: &[u8]| {
        std::fs::write(root.join(name), bytes).expect("a mutant");
    };
    for mutant in batch {
        write(&mutant.file, &mutant.bytes);
    }
    for (name, base) in controls.iter().zip(bases) {
        write(name, &base.bytes);
    }

    let files = batch.iter().map(|mutant| &mutant.file).chain(&controls);
    let report = match look(&root, &files.map(String::as_str).collect::<Vec<_>>()) {
        Ok(report) => report,
        Err(problem) => {
            let culprits = culprits(&root, batch);
            tally.problems.push(format!("{problem}\nalone: {culprits}\n(in {})", root.display()));
            lab.disable_cleanup(true);
            return tally;
        }
    };
    let mut originals: Vec<Facts> = Vec::new();
    for (name, base) in controls.iter().zip(bases) {
        let theirs = facts::readelf(scratch.path(), &base.bytes).expect("readelf reads the bases");
        match report.files.get(name) {
            Some(facts) if facts.difference(&theirs).is_none() => {
                let damage = report.damage.get(name);
                if facts.exports != theirs.exports || damage.is_some() {
                    tally.problems.push(format!("{name}: {damage:?} {facts:?}\n{theirs:?}"));
                }
                originals.push(facts.clone());
            }
            other => {
                tally.problems.push(format!("{name}: {other:?}\nreadelf: {theirs:?}"));
                originals.push(theirs);
            }
        }
    }
    for drawn in batch {
        let Drawn { file, base, category, bytes } = drawn;
        let mutant = Mutant { file, category: *category, bytes };
        let verdict = judge(&mutant, &report, &originals[*base], &root, scratch.path());
        if let Verdict::Different(what) = &verdict {
            tally.problems.push(format!("{}: {what}", root.join(file).display()));
        }
        *tally.verdicts.entry((*category, verdict.name())).or_default() += 1;
    }
    if !tally.problems.is_empty() || std::env::var_os("LINKAUDIT_KEEP").is_some() {
        lab.disable_cleanup(true);
    }
    tally
}

/// Runs linkaudit, which must neither hang nor crash on any file.
fn look(root: &Path, files: &[&str]) -> Result<Report, String> {
    // A file without ELF magic is refused if it is named, and counted if it is listed.
    let mut list = tempfile::NamedTempFile::new_in(scratch()).expect("a temporary file");
    list.write_all(files.join("\0").as_bytes()).expect("a list of files");
    let listed = list.path().to_str().expect("a path in UTF-8");
    let program = env!("CARGO_BIN_EXE_linkaudit");
    let words = [program, "--format", "json", "--facts", "-0", "--files-from", listed];
    let outcome = bounded::run(root, 20, &words);
    let stderr = String::from_utf8_lossy(&outcome.stderr);
    let Some(status) = outcome.status else {
        return Err("linkaudit hangs".to_owned());
    };
    if !matches!(status.code(), Some(0 | 1 | 3)) || stderr.contains("panicked") {
        return Err(format!("linkaudit: {status}\n{stderr}"));
    }
    Report::parse(&outcome.stdout)
}

/// The mutants of a failed batch that fail alone as well.
fn culprits(root: &Path, batch: &[Drawn]) -> String {
    let alone = |mutant: &&Drawn| look(root, &[mutant.file.as_str()]).is_err();
    let files: Vec<&str> = batch.iter().filter(alone).map(|mutant| mutant.file.as_str()).collect();
    files.join(" ")
}

fn finish(all: &Tally, drawn: usize) {
    for ((category, verdict), count) in &all.verdicts {
        println!("{count:8} {category:?}: {verdict}");
    }
    for problem in all.problems.iter().take(20) {
        println!("=== {problem}");
    }
    let of = |name: &str| -> usize {
        let named = all.verdicts.iter().filter(|((_, verdict), _)| *verdict == name);
        named.map(|(_, count)| count).sum()
    };
    let compared = of("equal") + of("unharmed") + of("as the loader");
    let unjudged = of("unjudged");
    println!(
        "mutants: {drawn} mutants, {compared} compared, {} reported, {} of another kind, \
         {unjudged} unjudged, {} problems",
        of("reported"),
        of("another kind"),
        all.problems.len(),
    );
    assert!(all.problems.is_empty(), "{} problems, see above", all.problems.len());
    assert!(compared * 3 >= drawn, "only {compared} of {drawn} mutants were compared");
    assert!(unjudged * 10 <= drawn, "{unjudged} of {drawn} mutants could not be judged");
}
