//! Random stages over random systems, compared with the installed systems.

use super::installed::Case;
use super::random::{Random, amount, number};
use super::system::{BUILDS, LETTERS, PROGRAMS, bare, build, has_chroot, ldconfig};
use crate::support::{Lab, Tally, skip};
use std::collections::{BTreeMap, BTreeSet};

/// Directories of libraries.
const DIRS: [&str; 7] = [
    "usr/lib",
    "usr/lib/x86_64-linux-gnu",
    "usr/lib64",
    "opt/a/lib",
    "opt/b/lib",
    "usr/lib/private",
    "usr/lib/x86_64-linux-gnu/glibc-hwcaps/x86-64-v2",
];

/// Entries by path: `=NAME` is a file of the pool, `@TARGET` a link, anything else the text itself.
type Tree = BTreeMap<String, String>;

/// One library in one directory, with its links.
fn library(tree: &mut Tree, letter: char, random: &mut Random) {
    let dir = random.pick(&DIRS);
    let file = match random.below(5) {
        0 => format!("lib{letter}.so.1"),
        _ => format!("lib{letter}.so.1.{}", random.pick(&[1, 2, 9, 10])),
    };
    let build = format!("={letter}{}.so", random.below(BUILDS));
    tree.insert(format!("{dir}/{file}"), build);
    let soname = format!("{dir}/lib{letter}.so.1");
    if random.chance(75) {
        tree.entry(soname).or_insert_with(|| format!("@{file}"));
    }
    if random.chance(25) {
        tree.insert(format!("{dir}/lib{letter}.so"), format!("@{file}"));
    }
}

fn libraries(random: &mut Random, percent: usize) -> Tree {
    let mut tree = Tree::new();
    for letter in LETTERS {
        for _ in 0..2 {
            if random.chance(percent) {
                library(&mut tree, letter, random);
            }
        }
    }
    for (name, dirs) in [
        ("a", "/opt/a/lib\n"),
        ("m", "# multiarch\n/lib/x86_64-linux-gnu\n/usr/lib/x86_64-linux-gnu\n"),
        ("z", "/opt/b/lib/\n/opt/none\n"),
    ] {
        if random.chance(percent) {
            tree.insert(format!("etc/ld.so.conf.d/{name}.conf"), dirs.to_owned());
        }
    }
    tree
}

/// Writes a tree below a directory of the laboratory.
fn write(lab: &Lab, dir: &str, tree: &Tree) {
    for (path, what) in tree {
        let to = lab.path(&format!("{dir}/{path}"));
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        // A link of the same name may be there.
        let _ = std::fs::remove_file(&to);
        match (what.strip_prefix('='), what.strip_prefix('@')) {
            (Some(pool), _) => {
                std::fs::copy(lab.path(&format!("pool/{pool}")), &to).expect("a file");
            }
            (_, Some(target)) => std::os::unix::fs::symlink(target, &to).expect("a link"),
            _ => std::fs::write(&to, what).expect("a text"),
        }
    }
}

/// A stage as packages write it: some name `/usr/lib` by the link `/lib`.
fn staged(random: &mut Random, taken: &mut BTreeSet<String>) -> Tree {
    let short = random.chance(25);
    let all = libraries(random, 35).into_iter().filter(|(path, _)| taken.insert(path.clone()));
    let named = |path: String| match path.strip_prefix("usr/lib") {
        Some(rest) if short => format!("lib{rest}"),
        _ => path,
    };
    all.map(|(path, what)| (named(path), what)).collect()
}

/// A random system with one or two stages, some files of the system removed.
fn case(lab: &Lab, number: usize, random: &mut Random) -> Case {
    let dir = format!("case{number}");
    let system = libraries(random, 45);
    let root = bare(lab, &format!("{dir}/root"));
    write(lab, &format!("{dir}/root"), &system);
    let caches = random.chance(80);
    if caches {
        ldconfig(&root);
    }
    let mut taken = BTreeSet::new();
    let stages = 1 + usize::from(random.chance(30));
    let mut files = Vec::new();
    let mut brought: BTreeSet<String> = BTreeSet::new();
    for stage in 0..stages {
        let mut tree = staged(random, &mut taken);
        if stage == 0 {
            for program in 0..PROGRAMS {
                tree.insert(format!("usr/bin/p{program}"), format!("=p{program}"));
            }
        }
        for (path, what) in &tree {
            let place = path.strip_prefix("lib/").map_or(path.clone(), |p| format!("usr/lib/{p}"));
            if what.starts_with('=') {
                files.push(format!("/{place}"));
            }
            brought.insert(place);
        }
        lab.mkdir(&format!("{dir}/stage{stage}"));
        write(lab, &format!("{dir}/stage{stage}"), &tree);
    }
    let removed = system.keys().filter(|path| !brought.contains(*path) && random.chance(25));
    let list: String = removed.map(|path| format!("/{path}\n")).collect();
    lab.write(&format!("{dir}/replaces"), list);
    files.sort();
    Case { dir, stages, caches, files }
}

#[test]
fn random_stages_become_what_was_said() {
    if !has_chroot() {
        return skip("staged", "needs root for chroot");
    }
    let lab = Lab::new();
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let count = usize::try_from(amount("LINKAUDIT_STAGES", 60)).expect("a count");
    build(&lab, &mut random);
    let mut tally = Tally::default();
    for number in 0..count {
        let case = case(&lab, number, &mut random);
        case.compare(&lab, &mut tally);
        std::fs::remove_dir_all(lab.path(&case.dir)).expect("the case");
    }
    tally.finish(&format!("{count} random stages"));
}
