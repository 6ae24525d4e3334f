//! Random small library graphs, built with the real linker. For every program and library,
//! `--format ldd` must give the answer of the real loader.
//!
//! `cargo test` runs 50 graphs; `LINKAUDIT_GRAPHS=1000` runs more and `LINKAUDIT_SEED` picks the
//! first seed. A graph on which the real loader itself crashes is counted, compared up to the
//! crash, and replaced by the next seed. On a difference the directory of the graph is kept;
//! `LINKAUDIT_KEEP=1` keeps every directory.

use crate::support;

mod accidents;
mod build;
mod choose;
mod compare;
use crate::support::elf_file;
mod emit;
use crate::support::ld_debug;
mod model;
mod oracle;
use crate::support::queries;
use crate::support::random;
mod symbols;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};

use compare::{Compared, compare};

/// Features of generated graphs; each must occur among the graphs of one run.
const FEATURES: &[&str] = &[
    "LD_LIBRARY_PATH",
    "LD_PRELOAD",
    "RPATH",
    "RPATH and RUNPATH",
    "RUNPATH",
    "alias: hard link",
    "alias: link",
    "amd64 graph",
    "asked: ..",
    "asked: ./",
    "asked: absolute",
    "asked: not ELF",
    "asked: other class",
    "asked: relative",
    "asked: through a link",
    "auxiliary",
    "copy",
    "decoy: dangling link",
    "decoy: directory",
    "decoy: empty",
    "decoy: link to itself",
    "decoy: other class",
    "decoy: other machine",
    "decoy: program",
    "decoy: text",
    "def: TLS",
    "def: absolute",
    "def: data",
    "def: function",
    "def: hidden entry",
    "def: ifunc",
    "def: protected",
    "def: unique",
    "def: weak",
    "element: $LIB",
    "element: $ORIGIN",
    "element: $PLATFORM",
    "element: ${ORIGIN}",
    "element: a file",
    "element: absolute",
    "element: empty",
    "element: inner slashes",
    "element: link loop",
    "element: linked directory",
    "element: missing",
    "element: relative",
    "element: trailing slashes",
    "element: unknown token",
    "fewer symbols",
    "fewer versions",
    "filter",
    "flag: initfirst",
    "flag: nocombreloc",
    "flag: nodefaultlib",
    "flag: nodelete",
    "flag: norelro",
    "flag: noseparate-code",
    "flag: now",
    "flag: relr",
    "flag: symbolic",
    "flag: symbolic functions",
    "glibc-hwcaps",
    "hard link",
    "legacy subdirectory",
    "libc",
    "library is text",
    "library of another class",
    "library removed",
    "library unchanged",
    "link in another directory",
    "need back (cycle)",
    "need without library",
    "needed by $ORIGIN path",
    "needed by absolute path",
    "needed by relative path",
    "no search path",
    "no soname",
    "no versions",
    "nodefaultlib, libc by path",
    "old version beside the default",
    "other sizes",
    "patch: no hash table",
    "patch: no section headers",
    "patch: weak version needs",
    "program: PIE",
    "program: another interpreter",
    "program: not PIE",
    "reference: version by name",
    "reference: weak",
    "soname = file name",
    "soname unlike the file name",
    "soname with link",
    "two libraries of one name",
    "use: GOT",
    "use: TLS descriptor",
    "use: TLS general dynamic",
    "use: TLS initial exec",
    "use: call",
    "use: copy",
    "use: function address",
    "use: pointer",
    "versions defined",
];

/// Answers of the loader; each must occur too, otherwise the graphs test too little.
const ANSWERS: &[(&str, &str)] = &[
    ("answer: found", " => "),
    ("answer: missing library", " => not found"),
    ("answer: undefined symbol", "undefined symbol: "),
    ("answer: undefined symbol with version", ", version "),
    ("answer: version not found", ": version `"),
    ("answer: weak version", ": weak version `"),
    ("answer: no version information", "no version information available"),
    ("answer: size", "has different size"),
    ("answer: fatal", "error while loading shared libraries"),
    ("answer: statically linked", "statically linked"),
    ("answer: not dynamic", "not a dynamic executable"),
];

#[test]
fn random_graphs() {
    if !cfg!(all(target_arch = "x86_64", target_os = "linux")) {
        support::skip("random_graphs", "the generator writes x86 assembly text");
        return;
    }
    let wanted = random::number("LINKAUDIT_GRAPHS", 50);
    let first = random::number("LINKAUDIT_SEED", 1);
    let shared = support::scratch::tempdir().expect("a temporary directory");
    let tools = build::Tools::new(shared.path());
    if tools.libc32.is_none() {
        support::skip("random_graphs_32_bit", "needs a 32-bit libc and its loader");
    }
    if !tools.environment {
        println!("linkaudit has no --ld-library-path and --ld-preload yet: graphs go without them");
    }
    let mut all: Vec<Compared> = Vec::new();
    let mut seed = first;
    loop {
        let good = all.iter().filter(|graph| graph.crashes.is_empty()).count() as u64;
        if good >= wanted {
            break;
        }
        let batch = seed..seed + (wanted - good);
        seed = batch.end;
        all.extend(run(&tools, batch));
    }
    report(&mut all, first, wanted);
}

/// Builds and compares the graphs of these seeds on all processors.
fn run(tools: &build::Tools, seeds: std::ops::Range<u64>) -> Vec<Compared> {
    let next = AtomicU64::new(seeds.start);
    let done = Mutex::new(BTreeMap::new());
    let workers = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
    std::thread::scope(|scope| {
        for _ in 0..workers {
            scope.spawn(|| {
                loop {
                    let seed = next.fetch_add(1, Ordering::Relaxed);
                    if !seeds.contains(&seed) {
                        break;
                    }
                    let compared = compare(tools, seed);
                    done.lock().expect("no worker panicked").insert(seed, compared);
                }
            });
        }
    });
    done.into_inner().expect("no worker panicked").into_values().collect()
}

fn report(all: &mut [Compared], first: u64, wanted: u64) {
    let mut features: BTreeMap<&str, usize> = BTreeMap::new();
    for graph in all.iter() {
        for (name, count) in &graph.features {
            *features.entry(name).or_default() += count;
        }
    }
    for (name, count) in &features {
        println!("{count:8} {name}");
    }
    let crashes: Vec<&String> = all.iter().flat_map(|graph| &graph.crashes).collect();
    for crash in &crashes {
        println!("loader crash: {crash}");
    }
    let differences: Vec<&String> = all.iter().flat_map(|graph| &graph.differences).collect();
    for difference in differences.iter().take(20) {
        println!("{difference}");
    }
    let crashed = all.iter().filter(|graph| !graph.crashes.is_empty()).count();
    println!(
        "random graphs: {} graphs, {} files, {} differences, {crashed} loader crashes",
        all.len() - crashed,
        all.iter().map(|graph| graph.files).sum::<usize>(),
        differences.len(),
    );
    let absent = |name: &&str| !features.contains_key(name);
    let unused: Vec<&str> = FEATURES.iter().copied().filter(absent).collect();
    let unheard: Vec<&str> = ANSWERS.iter().map(|(name, _)| *name).filter(absent).collect();
    let allowed = (all.len() / 20).max(3);
    assert!(crashed <= allowed, "the real loader crashed on {crashed} graphs");
    if first == 1 && wanted >= 50 {
        assert!(unused.is_empty(), "never drawn: {unused:?}");
        assert!(unheard.is_empty(), "never answered: {unheard:?}");
    }
    assert!(differences.is_empty(), "{} differences, see above", differences.len());
    let traced: usize = all.iter().map(|graph| graph.traced).sum();
    println!("random graphs: {traced} bindings of the loader");
    let mut queries = queries::Compared::default();
    for graph in all.iter_mut() {
        queries.add(std::mem::take(&mut graph.queries));
    }
    queries.finish("random graphs");
}
