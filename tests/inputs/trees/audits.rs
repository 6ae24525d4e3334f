//! An audit of a stage over a system equals an audit of the system after the real installation.

use super::content::{Content, Item};
use super::layouts::Layout;
use super::random::Random;
use crate::support::Lab;
use linkaudit::audit::{self, Audit};
use linkaudit::merged::solve::Solved;
use linkaudit::package::PackageId;
use linkaudit::plan::Plan;
use linkaudit::report::{MadeOf, OUTPUTS};
use linkaudit::rules::{self, RuleInput};
use linkaudit::tree::{DirEntryKind, DiskTree, EntryType, MemTree, Opened, OverlayTree, Tree};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

const CASES: u64 = 48;

fn audited(plan: &Plan, tree: &dyn Tree) -> Audit {
    let input = audit::read(plan, tree, &AtomicUsize::new(0));
    audit::audit(plan, tree, audit::collect(plan, tree, input))
}

/// All findings with their evidence, and the needs of each file with their files.
pub fn told(tree: &dyn Tree, paths: &[&str]) -> String {
    let paths: Vec<PathBuf> = paths.iter().map(PathBuf::from).collect();
    let plan = Plan { threads: 2, cross_check: true, ..Plan::new(paths, "/".into()) };
    let mut found = audited(&plan, tree);
    let (explained, solved) = (found.explain(&plan), Solved::default());
    let findings =
        rules::check(&found, &plan, RuleInput { explained: &explained, solved: &solved });
    let mut text = format!("{:?}\n", found.totals);
    for finding in findings {
        text.push_str(&format!("{finding:?}\n"));
    }
    let plan = Plan { as_ldd: true, every_file_is_root: true, cross_check: false, ..plan };
    let found = audited(&plan, tree);
    let mut out = Vec::new();
    let ldd = OUTPUTS.iter().find(|output| output.name == "ldd").expect("an output");
    let MadeOf::LinkMaps(render) = ldd.made_of else { panic!("`ldd` shows link maps") };
    render(&found, &mut out).expect("a vector takes all");
    text + &String::from_utf8(out).expect("reports are UTF-8")
}

/// Lines of `text` that `other` does not have.
fn only(text: &str, other: &str) -> String {
    let lines: Vec<&str> = text.lines().filter(|line| !other.contains(line)).collect();
    lines.join("\n")
}

/// A tree's files, copied into memory through its own listings.
fn copy(tree: &dyn Tree) -> MemTree {
    let mut content = Content::default();
    let mut todo = vec![PathBuf::from("/")];
    while let Some(dir) = todo.pop() {
        tree.list(&dir, &mut |name, node| {
            let path = dir.join(name);
            let item = match node {
                DirEntryKind::Link => {
                    let target = tree.read_link(&path).expect("a link");
                    Item::Link(target.to_str().expect("UTF-8").to_owned())
                }
                DirEntryKind::Kind(EntryType::Directory) => {
                    todo.push(path.clone());
                    Item::Directory
                }
                DirEntryKind::Kind(_) => {
                    let Ok(Opened::File(handle)) = tree.open(&path) else { panic!("no file") };
                    let len = usize::try_from(handle.stat().len).expect("small");
                    Item::File(handle.read_new(len, 0).expect("it can be read"))
                }
            };
            content.put(&path, item);
        })
        .expect("a directory");
    }
    content.in_memory(7)
}

#[test]
fn a_stage_over_a_system_is_audited_as_if_it_were_installed() {
    let paths = ["/usr", "/opt"];
    let (lab, mut lines, mut findings, mut differences) = (Lab::new(), 0, 0, Vec::new());
    for case in 0..CASES {
        let layout = Layout::random(&mut Random::new(case));
        let dir = |name: &str| lab.path(&format!("{case}/{name}"));
        layout.system.on_disk(&dir("system"));
        layout.stage.on_disk(&dir("stage"));
        layout.install(&dir("merged"), &dir("stage"));
        let disk = |name| Box::new(DiskTree::within(&dir(name)).expect("a directory"));
        let memory = |content: &Content, device| Box::new(content.in_memory(device));
        let overlay = |upper, lower| OverlayTree::new(upper, lower).expect("two trees");
        let installed = disk("merged");
        let expected = told(&*installed, &paths);
        lines += expected.lines().count();
        findings += expected.lines().filter(|line| line.starts_with("Finding")).count();
        let on_disk = overlay(disk("stage"), disk("system"));
        let in_memory = overlay(memory(&layout.stage, 1), memory(&layout.system, 2));
        let trees: [(&str, &dyn Tree); 4] = [
            ("overlay on disk", &on_disk),
            ("overlay in memory", &in_memory),
            ("installed, in memory", &copy(&*installed)),
            ("overlay, copied", &copy(&on_disk)),
        ];
        for (name, tree) in trees {
            let found = told(tree, &paths);
            if found != expected {
                let lines = [only(&found, &expected), only(&expected, &found)];
                differences.push(format!("case {case}, {name}:\n{}", lines.join("\n---\n")));
            }
        }
        assert!(differences.len() < 3, "{}", differences.join("\n"));
    }
    println!(
        "stages: {CASES} layouts, each audited 4 times, {findings} findings, {lines} lines, \
         {} differences",
        differences.len()
    );
    assert!(findings > 100, "there must be something to compare");
    assert!(differences.is_empty(), "{}", differences.join("\n"));
}

#[test]
fn a_stage_is_laid_over_a_root_that_is_read_as_merged() {
    let lab = Lab::new();
    lab.write("r/usr/lib/old.so", "old");
    let mut stage = MemTree::new();
    stage.file("/lib/new.so", *b"new").link("/usr/lib/link.so", "/lib/old.so");
    let root = DiskTree::within(&lab.path("r")).expect("a directory");
    let whole = OverlayTree::new(Box::new(stage), Box::new(root)).expect("two trees");
    let real = |path: &str| whole.real_path(Path::new(path));
    assert_eq!(real("/lib/new.so"), Ok(PathBuf::from("/usr/lib/new.so")));
    assert_eq!(real("/usr/lib/link.so"), Ok(PathBuf::from("/usr/lib/old.so")));
    let mut names = Vec::new();
    whole.list(Path::new("/lib"), &mut |name, _| names.push(name.to_owned())).expect("a directory");
    assert_eq!(names, ["link.so", "new.so", "old.so"]);
}

#[test]
fn files_belong_to_the_package_that_was_mounted() {
    let layout = Layout::random(&mut Random::new(3));
    let package = PackageId { prefix: PathBuf::from("/opt"), name: "app".to_owned() };
    let stage = layout.stage.in_memory(1).mounted_as(package.clone());
    let system = layout.system.in_memory(2);
    let whole = OverlayTree::new(Box::new(stage), Box::new(system)).expect("two trees");
    let plan = Plan::new(vec!["/".into()], "/".into());
    let found = audited(&plan, &whole);
    let mut mounted = 0;
    for facts in &found.corpus.files {
        let staged = layout.stage.items.contains_key(&*facts.path);
        let expected = (staged && facts.path.starts_with("/opt")).then_some(&package);
        assert_eq!(facts.package.as_deref(), expected, "{}", facts.path.display());
        let prefix = found.prefixes.locate(&facts.path).prefix;
        let below = facts.path.starts_with("/opt");
        assert_eq!(prefix.as_deref(), Some(Path::new(if below { "/opt" } else { "/" })));
        mounted += usize::from(expected.is_some());
    }
    assert!(mounted > 0, "the stage has files in its prefix");
}
