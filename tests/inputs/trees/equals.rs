//! The same content on disk, under a sysroot, in memory and split over two layers is listed,
//! opened, resolved and walked with the same answers.

use super::answers::{Kernel, of_tree, without};
use super::content::Content;
use super::random::Random;
use crate::support::Lab;
use crate::support::random::step;
use linkaudit::package::Prefixes;
use linkaudit::sniff::Classes;
use linkaudit::tree::walk::{Visit, WalkTotals, WalkedFile, walk};
use linkaudit::tree::{DiskTree, InsideTree, OverlayTree, Tree};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

const CASES: u64 = 150;

/// One content in all kinds of trees. The first is the sysroot.
struct Trees {
    all: Vec<(&'static str, Box<dyn Tree>)>,
    kernel: Kernel,
    top: PathBuf,
}

impl Trees {
    fn new(lab: &Lab, case: u64, content: &Content, random: &mut Random) -> Self {
        let dir = |name: &str| lab.path(&format!("{case}/{name}"));
        let (upper, lower) = content.split(random);
        let top = dir("whole");
        content.on_disk(&top);
        upper.on_disk(&dir("upper"));
        lower.on_disk(&dir("lower"));
        let disk = |name| Box::new(DiskTree::within(&dir(name)).expect("a directory"));
        let overlay = |upper, lower| Box::new(OverlayTree::new(upper, lower).expect("two trees"));
        let memory = |content: &Content, device| Box::new(content.in_memory(device));
        let all: Vec<(&'static str, Box<dyn Tree>)> = vec![
            ("sysroot", disk("whole")),
            ("memory", memory(content, 1)),
            ("overlay on disk", overlay(disk("upper"), disk("lower"))),
            ("overlay in memory", overlay(memory(&upper, 1), memory(&lower, 2))),
            ("memory over disk", overlay(memory(&upper, 1), disk("lower"))),
            ("all of a prefix", all_inside(disk("whole"))),
        ];
        Self { all, kernel: Kernel::new(&top), top }
    }
}

/// A tree whose prefix has everything. It lives as long as the tests.
fn all_inside(tree: Box<dyn Tree>) -> Box<dyn Tree> {
    let mut prefixes = Prefixes::default();
    prefixes.add_dir(PathBuf::from("/"));
    Box::new(InsideTree::new(Box::leak(tree), prefixes))
}

/// Paths of all items, and paths that lead through, beside and out of them.
fn paths(random: &mut Random, content: &Content) -> Vec<String> {
    let items: Vec<String> =
        content.items.keys().map(|path| path.to_str().expect("UTF-8").to_owned()).collect();
    let mut paths = vec!["/".to_owned(), "//".to_owned(), "/..".to_owned(), "/.".to_owned()];
    let ends = ["", "/", "/.", "/..", "/../a", "/nothing", "/x.so", "//lib", "/../../usr/"];
    for item in &items {
        paths.push(item.clone());
        paths.push(format!("{item}{}", random.pick(&ends)));
        paths.push(format!("{item}/{}", random.pick(&items).trim_start_matches('/')));
    }
    paths.push(format!("/{}", "l".repeat(256)));
    if let Some(item) = items.first() {
        paths.push(format!("{item}/{}", "l".repeat(256)));
    }
    paths
}

#[test]
fn every_tree_answers_as_the_kernel_does() {
    let (lab, mut asked, mut plain, mut differences) = (Lab::new(), 0, 0, Vec::new());
    for case in (0..CASES).step_by(step(5)) {
        let mut random = Random::new(case);
        let content = Content::random(&mut random, case % 2 == 0);
        let trees = Trees::new(&lab, case, &content, &mut random);
        for path in paths(&mut random, &content) {
            let path = Path::new(&path);
            let expected = trees.kernel.answers(path);
            asked += 1;
            for (name, tree) in &trees.all {
                let found = of_tree(&**tree, path, Path::new("/"));
                if found != expected {
                    differences.push(format!(
                        "case {case}, {name}, {}:\n  {found:?}\n  {expected:?}",
                        path.display()
                    ));
                }
            }
            if !trees.kernel.climbs(path) {
                plain += 1;
                let outside = format!("{}{}", trees.top.display(), path.display());
                let found = of_tree(&DiskTree::new(), Path::new(&outside), &trees.top);
                if found != expected {
                    differences.push(format!(
                        "case {case}, disk, {outside}:\n  {found:?}\n  {expected:?}"
                    ));
                }
            }
        }
        assert!(differences.len() < 10, "{}", differences.join("\n"));
    }
    println!(
        "trees: {CASES} contents, {asked} paths in 5 trees and {plain} on the plain disk, \
         {} differences",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

/// A walk as text: entries, what was read, counts and problems.
#[derive(Debug, PartialEq, Eq)]
struct Seen {
    entries: Vec<(PathBuf, bool, bool, bool)>,
    /// Contents, one for each inode: the name by which it was read depends on timing.
    read: Vec<Vec<u8>>,
    totals: WalkTotals,
    problems: BTreeSet<(PathBuf, String)>,
    linked: Vec<PathBuf>,
    named: Vec<PathBuf>,
}

fn seen(tree: &dyn Tree, given: &[PathBuf], top: &Path, threads: usize) -> Seen {
    let consume = |candidate: WalkedFile<'_>| {
        let len = usize::try_from(candidate.handle.stat().len).expect("small");
        candidate.handle.read_new(len, 0).expect("it can be read")
    };
    let is_named = |path: &Path| path.to_string_lossy().ends_with(".so");
    let visit = Visit {
        classes: Classes::default(),
        consume: &consume,
        is_named: &is_named,
        keeps_met: false,
    };
    let walked = walk(tree, given, threads, &AtomicUsize::new(0), &visit);
    let paths = |paths: Vec<PathBuf>| paths.iter().map(|path| without(path, top)).collect();
    let mut read: Vec<Vec<u8>> =
        walked.entries.iter().filter_map(|entry| entry.item.clone()).collect();
    read.sort_unstable();
    let entry = |entry: &linkaudit::tree::walk::WalkedName<Vec<u8>>| {
        (without(&entry.path, top), entry.is_link, entry.given_link, entry.listed)
    };
    let problem = |problem: linkaudit::tree::walk::UnreadablePath| {
        (without(&problem.path, top), problem.reason)
    };
    Seen {
        entries: walked.entries.iter().map(entry).collect(),
        read,
        totals: walked.totals,
        problems: walked.problems.into_iter().map(problem).collect(),
        linked: paths(walked.linked),
        named: paths(walked.named),
    }
}

#[test]
fn every_tree_is_walked_alike() {
    let (lab, mut walks, mut plain, mut differences) = (Lab::new(), 0, 0, Vec::new());
    for case in (0..CASES).step_by(step(5)) {
        let mut random = Random::new(case + 1000);
        let content = Content::random(&mut random, case % 4 == 0);
        let trees = Trees::new(&lab, case, &content, &mut random);
        let items: Vec<&PathBuf> = content.items.keys().collect();
        let mut given = vec![PathBuf::from("/")];
        if random.chance(60) && !items.is_empty() {
            given = (0..3).map(|_| (*random.pick(&items)).clone()).collect();
        }
        let threads = random.between(1, 3);
        let first = seen(&*trees.all[0].1, &given, Path::new("/"), threads);
        for (name, tree) in &trees.all[1..] {
            walks += 1;
            let found = seen(&**tree, &given, Path::new("/"), threads);
            if found != first {
                differences.push(format!("case {case}, {name}:\n  {found:?}\n  {first:?}"));
            }
        }
        if !content.items.keys().any(|path| trees.kernel.climbs(path)) {
            plain += 1;
            let outside = |path: &PathBuf| trees.top.join(path.strip_prefix("/").expect("a path"));
            let given: Vec<PathBuf> = given.iter().map(outside).collect();
            let found = seen(&DiskTree::new(), &given, &trees.top, threads);
            if found != first {
                differences.push(format!("case {case}, disk:\n  {found:?}\n  {first:?}"));
            }
        }
        assert!(differences.len() < 5, "{}", differences.join("\n"));
    }
    println!(
        "walks: {CASES} contents, {walks} walks of other trees and {plain} of the plain disk, \
         {} differences",
        differences.len()
    );
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}
