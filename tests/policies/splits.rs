//! Random parts of a real prefix, audited alone and with more paths. More paths add a finding to an
//! object only if a new candidate or archive shows that a missing library does not explain a
//! reference.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;
use crate::support::elf_file;
use crate::support::random;
use crate::support::report;

use random::{Random, amount, number};
use report::{Report, text};
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::Command;
use support::{Lab, linkaudit};

/// Number of directories of the laboratory, all outside of search paths.
const DIRECTORIES: usize = 12;
/// Number of libraries of this system that are spread over the directories.
const LIBRARIES: usize = 60;

/// A sysroot with libraries of this system in directories outside of search paths: nearly every
/// need is missing and has a candidate somewhere. It has archives too.
struct Prefix {
    lab: Lab,
    files: Vec<PathBuf>,
    /// File names and sonames of each file.
    names: BTreeMap<PathBuf, BTreeSet<String>>,
    /// By file name or soname: the names that the files of this name need.
    needs: BTreeMap<String, BTreeSet<String>>,
}

impl Prefix {
    fn new(random: &mut Random) -> Self {
        let lab = Lab::new();
        let libraries = libraries(random);
        for (name, place) in
            [("ld-linux-x86-64.so.2", "lib64"), ("libc.so.6", "lib/x86_64-linux-gnu")]
        {
            let bytes = std::fs::read(format!("/usr/lib/x86_64-linux-gnu/{name}")).expect("a libc");
            lab.write(&format!("root/{place}/{name}"), bytes);
        }
        let mut out =
            Self { lab, files: Vec::new(), names: BTreeMap::new(), needs: BTreeMap::new() };
        for library in libraries {
            let name = library.file_name().expect("a name").to_str().expect("UTF-8").to_owned();
            let place = format!("root/opt/d{}/{name}", random.below(DIRECTORIES));
            let mut bytes = std::fs::read(&library).expect("a library");
            if random.chance(70) {
                bytes = elf_file::with_lost_symbol(bytes, |count| random.below(count));
            }
            let path = out.lab.write(&place, bytes);
            let sonames = names(&path, "(SONAME)");
            let all: BTreeSet<String> = [name].into_iter().chain(sonames).collect();
            for name in &all {
                out.needs.entry(name.clone()).or_default().extend(names(&path, "(NEEDED)"));
            }
            out.names.insert(path.clone(), all);
            out.files.push(path);
        }
        out
    }

    /// The path inside the root.
    fn inside(&self, path: &Path) -> String {
        let below = path.strip_prefix(self.lab.path("root")).expect("a path in the root");
        format!("/{}", below.to_str().expect("UTF-8"))
    }

    /// The names that an object needs, and those that the files of these names need.
    fn closure(&self, object: &str) -> BTreeSet<&str> {
        let mut out = BTreeSet::new();
        let mut todo = vec![object.rsplit('/').next().expect("a name")];
        while let Some(name) = todo.pop() {
            for need in self.needs.get(name).into_iter().flatten() {
                if out.insert(need.as_str()) {
                    todo.push(need);
                }
            }
        }
        out
    }

    fn run(&self, files: &[&PathBuf], more: &[&str]) -> Report {
        let list: Vec<String> = files.iter().map(|path| self.inside(path)).collect();
        let listed = self.lab.write("files", list.join("\n"));
        let mut command: Command = linkaudit();
        command.arg("--isolated").arg("--root").arg(self.lab.path("root"));
        command.arg("--files-from").arg(listed).args(more);
        Report::of(&mut command)
    }
}

/// Libraries of this system with the libraries that they need, in turn.
fn libraries(random: &mut Random) -> Vec<PathBuf> {
    let dir = Path::new("/usr/lib/x86_64-linux-gnu");
    let is_library = |path: &PathBuf| {
        let small = path.metadata().is_ok_and(|stat| stat.len() < 4 << 20);
        small && std::fs::read(path).is_ok_and(|bytes| bytes.starts_with(b"\x7fELF"))
    };
    let mut all: Vec<PathBuf> = std::fs::read_dir(dir)
        .expect("the libraries of this system")
        .flatten()
        .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_file()))
        .map(|entry| entry.path())
        .filter(|path| path.to_string_lossy().contains(".so") && is_library(path))
        .collect();
    all.sort();
    random.shuffle(&mut all);
    let mut out: Vec<PathBuf> = Vec::new();
    let mut todo: Vec<PathBuf> = Vec::new();
    while out.len() < LIBRARIES {
        let Some(next) = todo.pop().or_else(|| all.pop()) else { break };
        if out.contains(&next) || !is_library(&next) {
            continue;
        }
        let found = names(&next, "(NEEDED)").into_iter();
        todo.extend(found.filter_map(|name| dir.join(name).canonicalize().ok()));
        out.push(next);
    }
    out
}

/// The names that entries of the dynamic table with this tag hold.
fn names(path: &Path, tag: &str) -> Vec<String> {
    let output = Command::new("readelf").arg("-dW").arg(path).output().expect("readelf");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let lines = text.lines().filter(|line| line.contains(tag));
    lines.filter_map(|line| Some(line.split(['[', ']']).nth(1)?.to_owned())).collect()
}

/// Undefined symbols: object and symbol.
fn undefined(report: &Report) -> BTreeSet<(String, String)> {
    let whole = |finding: &Value| {
        let path = text(&finding["path"]);
        finding["prefix"].as_str().map_or(path.to_owned(), |prefix| format!("{prefix}/{path}"))
    };
    let of = report.of_rule("undefined-symbol");
    of.map(|finding| (whole(finding), finding["symbol"].to_string())).collect()
}

/// Sonames that are missing anywhere in a report.
fn missing(report: &Report) -> BTreeSet<String> {
    let of = report.of_rule("missing-library");
    of.map(|finding| text(&finding["library"]).to_owned()).collect()
}

#[test]
fn more_paths_add_what_a_candidate_shows() {
    let mut random = Random::new(number("LINKAUDIT_SEED", 1));
    let count = usize::try_from(amount("LINKAUDIT_SPLITS", 100)).expect("a count");
    let prefix = Prefix::new(&mut random);
    let (mut added, mut differences, mut same) = (0, 0, 0);
    for round in 0..count {
        let mut files: Vec<&PathBuf> = prefix.files.iter().collect();
        random.shuffle(&mut files);
        let (part, rest) = files.split_at(1 + random.below(20));
        // A missing library explains until all candidates are known: often everything is named.
        let more = if random.chance(50) { rest } else { &rest[..=random.below(rest.len())] };
        let root = prefix.lab.path("root");
        let stated = ["--prefix", root.to_str().expect("UTF-8")];
        // Below a stated prefix, candidates count even if they are not named.
        let options = if round % 2 == 0 { &stated[..] } else { &[] };
        let alone = prefix.run(part, options);
        let together = prefix.run(&[part, more].concat(), options);
        let in_part: BTreeSet<String> = part.iter().map(|path| prefix.inside(path)).collect();
        let (before, after) = (undefined(&alone), undefined(&together));
        let named: BTreeSet<&String> = more.iter().flat_map(|path| &prefix.names[*path]).collect();
        let lacks = missing(&alone);
        same += before.intersection(&after).count();
        for (object, symbol) in after.difference(&before) {
            if !in_part.contains(object) {
                continue;
            }
            added += 1;
            // A missing library that the object needs is newly named.
            let needed = prefix.closure(object);
            let shown =
                lacks.iter().any(|name| named.contains(name) && needed.contains(name.as_str()));
            if options.is_empty() && shown {
                continue;
            }
            differences += 1;
            println!("split {round}: {object} {symbol}, and no candidate was newly named");
        }
    }
    println!(
        "{count} splits of {} libraries: {same} findings in both, {added} added by candidates, \
         {differences} differences (findings without a new candidate)",
        prefix.files.len()
    );
    assert_eq!(differences, 0);
    assert!(same > count / 4 && added > count / 10, "hardly anything was compared");
}
