//! Dependents of an old library with the new one: the losses of each file in `diff --against`,
//! compared with the names that the loader of their release newly misses in a chroot.

use super::oracle::dynamic;
use super::{NEW, OLD, Pair, fetched, is_data, pairs};
use crate::support;
use crate::support::debian::{self, Debian};
use rayon::prelude::*;
use serde_json::Value;
use std::collections::{BTreeMap, BTreeSet};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use support::{Lab, clean, skip};

const LOADER: &str = "/lib64/ld-linux-x86-64.so.2";

/// The losses of each file: libraries that it needs, and symbols.
type Losses = BTreeMap<String, BTreeSet<String>>;

#[test]
fn dependents_miss_in_the_loader_what_is_said() {
    let chroot = clean("chroot").args(["/", "true"]).status();
    if !chroot.is_ok_and(|status| status.success()) {
        return skip("pair_dependents", "needs root for chroot");
    }
    let releases = || Ok((Debian::new(OLD, "amd64")?, Debian::new(NEW, "amd64")?));
    let Some((bookworm, trixie)) = fetched("pairs", releases) else { return };
    let mut all = Vec::new();
    for pair in pairs().iter().filter(|pair| !pair.users.is_empty()) {
        let get = || {
            let (old, new) = (bookworm.download(&[pair.old])?, trixie.download(&[pair.new])?);
            // env sets the variables of the loader.
            Ok((bookworm.fetch(&[pair.users, &["coreutils"]].concat())?, old, new))
        };
        let Some(packages) = fetched("pairs", get) else { return };
        all.push((pair, packages));
    }
    let cases = all.len();
    let results: Vec<_> =
        { all }.into_par_iter().map(|(pair, packages)| one(pair, packages)).collect();
    let (mut files, mut losses, mut wrong) = (0, 0, Vec::new());
    for (own_files, own_losses, own) in results {
        (files, losses) = (files + own_files, losses + own_losses);
        wrong.extend(own);
    }
    println!(
        "debian dependents: {cases} cases, {files} files, {losses} losses, {} differences",
        wrong.len()
    );
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(losses > 0);
}

/// The files and losses of one case, and the differences.
fn one(
    pair: &Pair,
    (users, old, new): (Vec<PathBuf>, Vec<PathBuf>, Vec<PathBuf>),
) -> (usize, usize, Vec<String>) {
    let case = Case::new(users, &old, &new);
    let (ours, theirs) = (case.ours(), case.theirs());
    let own = differences(&ours, &theirs);
    let count: usize = theirs.values().map(BTreeSet::len).sum();
    println!(
        "{} {} under {}: {} files, {} lose {count}, {} differences",
        pair.old,
        pair.new,
        pair.users.join(" "),
        case.files.len(),
        theirs.len(),
        own.len()
    );
    assert!(case.is_used(), "{}: nothing needs it", pair.old);
    let wrong = own.into_iter().map(|text| format!("{}: {text}", pair.old)).collect();
    (case.files.len(), count, wrong)
}

fn differences(ours: &Losses, theirs: &Losses) -> Vec<String> {
    let none = BTreeSet::new();
    let files: BTreeSet<&String> = ours.keys().chain(theirs.keys()).collect();
    let mut out = Vec::new();
    for file in files {
        let (said, met) = (ours.get(file).unwrap_or(&none), theirs.get(file).unwrap_or(&none));
        if said != met {
            let only: Vec<_> = said.difference(met).take(5).collect();
            let missed: Vec<_> = met.difference(said).take(5).collect();
            out.push(format!("{file}: only said {only:?}, only met {missed:?}"));
        }
    }
    out
}

/// Three roots: without the library, with the old one, and with the new one.
struct Case {
    _lab: Lab,
    without: PathBuf,
    with_old: PathBuf,
    with_new: PathBuf,
    /// The packages of the library, unpacked.
    old: PathBuf,
    new: PathBuf,
    /// The files of the dependents, without the library, by path inside the root.
    files: Vec<String>,
}

impl Case {
    fn new(users: Vec<PathBuf>, old: &[PathBuf], new: &[PathBuf]) -> Self {
        let lab = Lab::new();
        let package = |file: &PathBuf| {
            let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
            name.split('_').next().unwrap_or_default().to_owned()
        };
        let is_old = |file: &PathBuf| old.iter().any(|own| package(own) == package(file));
        let rest: Vec<PathBuf> = users.into_iter().filter(|file| !is_old(file)).collect();
        let [without, with_old, with_new] =
            ["without", "with-old", "with-new"].map(|n| lab.path(n));
        for (root, library) in [(&without, &[][..]), (&with_old, old), (&with_new, new)] {
            let all = [&rest[..], library].concat();
            debian::unpack_merged(&all, root).expect("packages that unpack");
        }
        let [before, now] = ["old", "new"].map(|name| lab.path(name));
        debian::unpack_merged(old, &before).expect("packages that unpack");
        debian::unpack_merged(new, &now).expect("packages that unpack");
        let files = elf_files(&without);
        Self { _lab: lab, without, with_old, with_new, old: before, new: now, files }
    }

    /// The dependents in the evidence of each finding, with what they lose. Data of another size
    /// is not an error for the loader.
    fn ours(&self) -> Losses {
        let mut command = support::linkaudit();
        command.args(["diff", "--isolated", "--format", "json", "--stages", "--root"]);
        command.arg(&self.without).args([&self.old, &self.new]).args(["--against", "/usr"]);
        let output = command.output().expect("linkaudit runs");
        let value: Value = serde_json::from_slice(&output.stdout)
            .unwrap_or_else(|error| panic!("{error}: {}", String::from_utf8_lossy(&output.stderr)));
        let files: BTreeSet<&str> = self.files.iter().map(|file| &**file).collect();
        let mut out = Losses::new();
        for finding in value["findings"].as_array().expect("findings") {
            let rule = finding["rule"].as_str().expect("a rule");
            let library = finding["library"].as_str().unwrap_or_default();
            for evidence in finding["evidence"].as_array().expect("evidence") {
                let path = evidence["path"].as_str().filter(|path| files.contains(path));
                let Some(path) = path else { continue };
                let loss = match (rule, evidence["symbol"].as_str()) {
                    ("removed-library" | "changed-soname", None) => library,
                    ("removed-symbol", Some(symbol)) => symbol,
                    ("changed-symbol", Some(symbol)) if !is_data(evidence) => symbol,
                    _ => continue,
                };
                out.entry(path.to_owned()).or_default().insert(loss.to_owned());
            }
        }
        out
    }

    /// Names that the loader finds with the old library and misses with the new one.
    fn theirs(&self) -> Losses {
        let sonames = self.sonames();
        let one = |file: &String| {
            let before = misses(&self.with_old, file, &sonames);
            let now = misses(&self.with_new, file, &sonames);
            let new: BTreeSet<String> = now.difference(&before).cloned().collect();
            (!new.is_empty()).then(|| (file.clone(), new))
        };
        self.files.par_iter().filter_map(one).collect()
    }

    /// The sonames of the old library.
    fn sonames(&self) -> BTreeSet<String> {
        let libraries = super::oracle::libraries(&self.old).into_values();
        libraries.map(|library| library.soname).collect()
    }

    /// True if a file of the dependents needs the library.
    fn is_used(&self) -> bool {
        let sonames = self.sonames();
        self.files.iter().any(|file| {
            let path = self.without.join(&file[1..]);
            let needed = dynamic(&path).remove("NEEDED").unwrap_or_default();
            needed.iter().any(|name| sonames.contains(name))
        })
    }
}

/// The programs and shared objects of a root for its loader, by their paths inside of it.
fn elf_files(root: &Path) -> Vec<String> {
    let mut out = Vec::new();
    for entry in walkdir::WalkDir::new(root.join("usr")).into_iter().flatten() {
        let mut head = [0; 20];
        let is_elf = entry.file_type().is_file()
            && std::fs::File::open(entry.path()).is_ok_and(|mut f| f.read_exact(&mut head).is_ok())
            && head.starts_with(b"\x7fELF\x02")
            && matches!(head[16], 2 | 3)
            && dynamic(entry.path()).contains_key("NEEDED");
        if is_elf {
            let inside = entry.path().strip_prefix(root).expect("a path below the root");
            out.push(format!("/{}", inside.to_str().expect("a name in UTF-8")));
        }
    }
    out.sort();
    out
}

/// The needs of a file that its loader does not find, and its undefined symbols. If one of
/// `sonames` is absent, symbols are not counted, because those of that library are among them.
fn misses(root: &Path, file: &str, sonames: &BTreeSet<String>) -> BTreeSet<String> {
    let variables = ["-i", "LD_TRACE_LOADED_OBJECTS=1", "LD_WARN=yes", "LD_BIND_NOW=yes"];
    let mut command = clean("chroot");
    command.arg(root).arg("/usr/bin/env").args(variables).args([LOADER, file]);
    let output = command.output().expect("chroot runs");
    let status = output.status.code();
    let has_run = !status.is_some_and(|status| (125..=127).contains(&status));
    assert!(has_run, "{file}: {}", String::from_utf8_lossy(&output.stderr));
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8_lossy(&text);
    let absent: BTreeSet<&str> =
        text.lines().filter_map(|line| line.trim().strip_suffix(" => not found")).collect();
    let mut out: BTreeSet<String> = BTreeSet::new();
    if !absent.is_empty() {
        let needed = dynamic(&root.join(&file[1..])).remove("NEEDED").unwrap_or_default();
        out.extend(needed.into_iter().filter(|name| absent.contains(&**name)));
    }
    if absent.iter().any(|name| sonames.contains(*name)) {
        return out;
    }
    let undefined = text.lines().filter_map(|line| {
        let (symbol, of) = line.strip_prefix("undefined symbol: ")?.split_once("\t(")?;
        let symbol = symbol.split(',').next().unwrap_or(symbol);
        (of.trim_end_matches(')') == file).then(|| symbol.to_owned())
    });
    out.extend(undefined);
    out
}
