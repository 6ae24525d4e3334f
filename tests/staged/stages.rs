//! Random stages over random systems, and what they become once they are installed.

use crate::random::{Random, number};
use crate::support::{Lab, Tally, clean, linkaudit, skip};
use crate::system::{BUILDS, LETTERS, PROGRAMS, bare, build, ldconfig, sh, traced};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

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

struct Case {
    lab_dir: String,
    stages: usize,
    /// Installed paths of what the stages bring.
    files: Vec<String>,
}

impl Case {
    fn new(lab: &Lab, number: usize, random: &mut Random) -> Self {
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
            std::fs::create_dir_all(lab.path(&format!("{dir}/stage{stage}"))).expect("a directory");
            write(lab, &format!("{dir}/stage{stage}"), &tree);
        }
        let removed: Vec<&String> = system
            .keys()
            .filter(|path| !brought.contains(*path) && random.chance(25))
            .collect();
        let list: String = removed.iter().map(|path| format!("/{path}\n")).collect();
        lab.write(&format!("{dir}/replaces"), list);
        sh(lab, &format!("cp -a {dir}/root {dir}/whole"));
        for path in removed {
            sh(lab, &format!("rm -f {dir}/whole/{path}"));
        }
        for stage in 0..stages {
            sh(lab, &format!("tar -C {dir}/stage{stage} -c . | tar -C {dir}/whole --keep-directory-symlink -x"));
        }
        if caches {
            ldconfig(&lab.path(&format!("{dir}/whole")));
        }
        files.sort();
        Self { lab_dir: dir, stages, files }
    }

    /// Our answers by file.
    fn ours(&self, lab: &Lab) -> BTreeMap<String, String> {
        let dir = &self.lab_dir;
        let list = lab.write(&format!("{dir}/list"), self.files.join("\n"));
        let mut command = linkaudit();
        command.current_dir(lab.path(dir)).args(["--isolated", "--root", "root", "--as-ldd"]);
        for stage in 0..self.stages {
            command.arg("--staged").arg(format!("stage{stage}"));
        }
        command.args(["--replaces", "replaces", "--format", "ldd", "--files-from"]).arg(list);
        let output = command.output().expect("linkaudit runs");
        let code = output.status.code();
        assert!(matches!(code, Some(0 | 1 | 3)), "{}", String::from_utf8_lossy(&output.stderr));
        let text = String::from_utf8_lossy(&output.stdout).into_owned();
        let mut out: BTreeMap<String, String> = BTreeMap::new();
        let mut here = self.files.first().cloned().unwrap_or_default();
        for line in text.lines() {
            let heading = line.strip_suffix(':').filter(|path| self.files.iter().any(|f| f == path));
            match heading {
                Some(path) => path.clone_into(&mut here),
                None => out.entry(here.clone()).or_default().push_str(&format!("{line}\n")),
            }
        }
        out
    }
}

#[test]
fn random_stages_become_what_was_said() {
    if !clean("chroot").args(["/", "true"]).status().is_ok_and(|status| status.success()) {
        return skip("staged", "needs root for chroot");
    }
    let lab = Lab::new();
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let count = usize::try_from(number("LINKAUDIT_STAGES", 60)).expect("a count");
    build(&lab, &mut random);
    let mut tally = Tally::default();
    for number in 0..count {
        let case = Case::new(&lab, number, &mut random);
        let mut ours = case.ours(&lab);
        let whole = lab.path(&format!("{}/whole", case.lab_dir));
        for file in &case.files {
            let theirs = traced(&whole, file);
            let name = format!("stage {number}: {file}");
            tally.compare(&name, &ours.remove(file).unwrap_or_default(), &theirs);
        }
        remove(&lab.path(&case.lab_dir), tally.differences.is_empty());
    }
    tally.finish(&format!("{count} random stages"));
}

/// Removes what a case wrote, unless it shows a difference.
fn remove(dir: &Path, is_equal: bool) {
    if is_equal {
        std::fs::remove_dir_all(dir).expect("the case");
    }
}
