//! The lists of the Debian sysroot: findings with their reasons, packages with their versions.

use super::report::Report;
use crate::support::clean;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::{self, Display};
use std::path::{Path, PathBuf};

const FINDINGS: &str = include_str!("findings.txt");
const PACKAGES: &str = include_str!("packages.txt");

/// The facts of one finding.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Fact {
    pub rule: String,
    /// Below `/usr`.
    pub path: String,
    /// The symbol or the library.
    pub name: String,
}

impl Fact {
    pub fn new(finding: &Value) -> Self {
        let text = |key: &str| finding[key].as_str().map(str::to_owned);
        let name = text("symbol").or_else(|| text("library")).or_else(|| text("detail"));
        Self {
            rule: text("rule").expect("a rule"),
            path: text("path").expect("a path in UTF-8"),
            name: name.unwrap_or_default(),
        }
    }
}

impl Display for Fact {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {} {}", self.rule, self.path, self.name)
    }
}

/// The findings of a report.
pub fn facts(report: &Report) -> BTreeSet<Fact> {
    let findings = report.value["findings"].as_array().expect("findings");
    findings.iter().map(Fact::new).collect()
}

/// Paths of the programs and libraries of a report.
pub fn elf_files(report: &Report) -> Vec<String> {
    let files = report.value["files"].as_array().expect("files").iter();
    files.filter_map(below).map(|path| format!("/usr/{path}")).collect()
}

/// The path of a file of a report below `/usr`, if it lies there.
pub fn below(file: &Value) -> Option<&str> {
    file["path"].as_str().expect("a path in UTF-8").strip_prefix("/usr/")
}

/// Reads `findings.txt`: one `RULE PATH NAME…` per line, below a comment with the reason. Lines
/// that begin with `many` count only for all packages.
fn expected(many: bool) -> BTreeSet<Fact> {
    let mut out = BTreeSet::new();
    let mut reason = false;
    for line in FINDINGS.lines() {
        let of_many = line.strip_prefix("many ");
        if of_many.is_some() && !many {
            continue;
        }
        let line = of_many.unwrap_or(line);
        let mut words = line.split_whitespace().map(str::to_owned);
        match (line.is_empty(), line.starts_with('#'), words.next(), words.next()) {
            (true, ..) => reason = false,
            (_, true, ..) => reason = true,
            (_, _, Some(rule), Some(path)) => {
                assert!(reason, "{line}: there is no reason");
                let fact = |name| Fact { rule: rule.clone(), path: path.clone(), name };
                out.extend(words.map(fact));
            }
            _ => panic!("{line}: write RULE PATH NAME…"),
        }
    }
    out
}

/// Compares findings with the list. Lines about packages that are not installed are skipped.
pub fn held_against_the_list(
    root: &Path,
    found: &BTreeSet<Fact>,
    moved: &Moved,
    many: bool,
) -> Vec<String> {
    let expected = expected(many);
    let there = |fact: &&Fact| root.join("usr").join(&fact.path).exists();
    let listed: BTreeSet<&Fact> = expected.iter().filter(there).collect();
    let found: BTreeSet<&Fact> = found.iter().collect();
    println!("the list has {} of the findings", listed.len());
    let new = found.difference(&listed).map(|fact| (fact, "not on the list"));
    let gone = listed.difference(&found).map(|fact| (fact, "on the list and not found"));
    let (excused, wrong): (Vec<_>, Vec<_>) =
        new.chain(gone).partition(|(fact, _)| moved.files.contains(&fact.path));
    for (fact, what) in excused {
        println!("of a package that moved on: {what}: {fact}");
    }
    wrong.into_iter().map(|(fact, what)| format!("{what}: {fact}")).collect()
}

/// Packages whose version differs from `packages.txt`.
pub struct Moved {
    packages: Vec<String>,
    /// Below `/usr`.
    files: BTreeSet<String>,
}

impl Moved {
    /// Compares names of package files, `NAME_VERSION_ARCH.deb`.
    pub fn new(packages: &[PathBuf], all: bool) -> Self {
        let name = |path: &PathBuf| {
            let name = path.file_name().and_then(|name| name.to_str()).expect("a name in UTF-8");
            name.trim_end_matches(".deb").replace("%3a", ":")
        };
        let names: BTreeMap<String, &PathBuf> = packages.iter().map(|p| (name(p), p)).collect();
        if all && std::env::var_os("UPDATE").is_some() {
            let text: String = names.keys().map(|name| format!("{name}\n")).collect();
            let list =
                Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hosts/debian_hosts/packages.txt");
            std::fs::write(list, text).expect("the list is written");
        }
        let recorded: BTreeSet<&str> = PACKAGES.lines().collect();
        let moved = names.into_iter().filter(|(name, _)| !recorded.contains(&**name));
        let (packages, paths): (Vec<String>, Vec<&PathBuf>) = moved.unzip();
        Self { files: paths.into_iter().flat_map(contents).collect(), packages }
    }
}

impl Display for Moved {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.packages.as_slice() {
            [] => write!(f, "all packages are those of tests/hosts/debian_hosts/packages.txt"),
            moved => write!(f, "packages that moved on: {}", moved.join(" ")),
        }
    }
}

/// Files of a package, below `/usr`.
fn contents(package: &PathBuf) -> Vec<String> {
    let output = clean("sh")
        .args(["-c", "dpkg --fsys-tarfile \"$1\" | tar -t", "sh"])
        .arg(package)
        .output()
        .expect("dpkg runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    let below = |line: &str| {
        let path = line.trim_start_matches("./");
        path.strip_prefix("usr/").unwrap_or(path).to_owned()
    };
    text.lines().map(below).collect()
}
