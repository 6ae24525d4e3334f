//! Package files of Debian: pkgconf prints their flags and unmet requirements, and the linker shows
//! the libraries that it finds. Then files that the package files name are removed, one at a time.

use super::debian::{Debian, unpack_merged};
use super::random::{Random, amount, is_sweep, number, step};
use super::report::{Report, text};
use crate::support::{Lab, clean, has, linkaudit, skip};
use linkaudit::format::pkg_config::{FlagKind, PkgConfig, parse};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Directories of package files in the order in which pkgconf searches them.
const DIRS: [&str; 3] =
    ["usr/lib/x86_64-linux-gnu/pkgconfig", "usr/lib/pkgconfig", "usr/share/pkgconfig"];
/// Libraries that linkaudit leaves to the compiler.
const OF_COMPILER: [&str; 9] =
    ["gcc", "gcc_s", "stdc++", "gomp", "quadmath", "gfortran", "atomic", "objc", "omp"];

/// The package files of a root, by name; the first directory counts.
fn packages_of(root: &Path) -> BTreeMap<String, PathBuf> {
    let mut out = BTreeMap::new();
    for dir in DIRS.map(|dir| root.join(dir)) {
        for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
            let path = entry.path();
            if path.extension().is_some_and(|end| end == "pc") {
                let name = path.file_stem().expect("a name").to_str().expect("UTF-8").to_owned();
                out.entry(name).or_insert(path);
            }
        }
    }
    out
}

fn pkgconf(root: &Path, args: &[&str]) -> (bool, String, String) {
    let dirs: Vec<String> = DIRS.iter().map(|dir| root.join(dir).display().to_string()).collect();
    let output = clean("pkgconf")
        .env("PKG_CONFIG_LIBDIR", dirs.join(":"))
        .env_remove("PKG_CONFIG_PATH")
        .args(["--keep-system-libs", "--keep-system-cflags"])
        .args(args)
        .output()
        .expect("pkgconf");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.success(), text(&output.stdout), text(&output.stderr))
}

/// Words of a line that a shell would read.
fn words(line: &str) -> Vec<String> {
    let (mut out, mut word, mut escaped) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            c if escaped => {
                word.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            c if c.is_whitespace() => out.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    out.push(word);
    out.retain(|word| !word.is_empty());
    out
}

/// The directories, libraries and files of flags, each written as one word.
fn flags(content: &PkgConfig) -> BTreeSet<String> {
    let all = content.cflags.iter().chain(&content.libs);
    let written = all.filter_map(|flag| {
        let (start, value) = match &flag.kind {
            FlagKind::Include(dir) => ("-I", dir),
            FlagKind::LibDir(dir) => ("-L", dir),
            FlagKind::Lib(name) => ("-l", name),
            FlagKind::File(path) => ("", path),
            FlagKind::Other(_) => return None,
        };
        Some(format!("{start}{}", String::from_utf8_lossy(value)))
    });
    written.collect()
}

/// The directories, libraries and files in the output of pkgconf, each written as one word.
fn printed(line: &str) -> BTreeSet<String> {
    let mut out = BTreeSet::new();
    let mut words = words(line).into_iter();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-I" | "-L" | "-l" => {
                out.insert(word + &words.next().unwrap_or_default());
            }
            "-isystem" | "-idirafter" => {
                out.insert("-I".to_owned() + &words.next().unwrap_or_default());
            }
            "-framework" | "-include" | "-Xlinker" | "-u" => drop(words.next()),
            one if one.starts_with("-I") || one.starts_with("-L") || one.starts_with("-l") => {
                out.insert(word);
            }
            one if one.starts_with('/') => {
                out.insert(word);
            }
            _ => {}
        }
    }
    out
}

struct System {
    lab: Lab,
    root: PathBuf,
    packages: BTreeMap<String, PathBuf>,
    contents: BTreeMap<String, PkgConfig>,
}

impl System {
    fn new() -> Result<Self, String> {
        let lab = Lab::new();
        let files = Debian::new("bookworm", "amd64")?.fetch(super::packages())?;
        let root = lab.path("root");
        unpack_merged(&files, &root)?;
        let packages = packages_of(&root);
        let read = |(name, path): (&String, &PathBuf)| {
            let dir = path.parent().expect("a directory").to_str().expect("UTF-8");
            (name.clone(), parse(&std::fs::read(path).expect("a file"), dir.as_bytes()))
        };
        let contents = packages.iter().map(read).collect();
        Ok(Self { lab, root, packages, contents })
    }

    /// Findings by package: requirements and libraries.
    fn findings(&self) -> BTreeMap<String, BTreeSet<String>> {
        let root = self.root.to_str().expect("UTF-8");
        let args = ["--root", root, "--isolated", "-D", "package-text"];
        let report = Report::of(
            linkaudit().args(args).args(
                DIRS.map(|dir| format!("/{dir}"))
                    .iter()
                    .filter(|dir| self.root.join(&dir[1..]).is_dir()),
            ),
        );
        let mut out: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
        for finding in report.findings() {
            let what = match text(&finding["rule"]) {
                "pkgconfig-missing-requirement" => format!("needs {}", text(&finding["library"])),
                "pkgconfig-missing-file" => text(&finding["detail"]).to_owned(),
                _ => continue,
            };
            let path = Path::new(text(&finding["path"]));
            let name = path.file_stem().expect("a name").to_str().expect("UTF-8");
            out.entry(name.to_owned()).or_default().insert(what);
        }
        out
    }

    /// A package and all packages that it requires; with private requirements too, if `private`
    /// is set.
    fn closure(&self, name: &str, private: bool) -> BTreeSet<String> {
        let (mut out, mut todo) = (BTreeSet::new(), vec![name.to_owned()]);
        while let Some(name) = todo.pop() {
            if !out.insert(name.clone()) {
                continue;
            }
            let requires = self.contents.get(&name).into_iter().flat_map(|one| &one.requires);
            let requires = requires.filter(|one| private || !one.private);
            todo.extend(requires.map(|one| String::from_utf8_lossy(&one.name).into_owned()));
        }
        out
    }

    /// The defects of a package according to pkgconf and the linker.
    fn oracle(&self, name: &str) -> (bool, BTreeSet<String>) {
        let (exists, ..) = pkgconf(&self.root, &["--exists", name]);
        let (known, libs, _) = pkgconf(&self.root, &["--libs", name]);
        if !known {
            return (exists, BTreeSet::new());
        }
        // Absolute paths are those of the root.
        let moved = words(&libs).into_iter().map(|word| match word.strip_prefix("-L/") {
            Some(rest) => format!("-L{}/{rest}", self.root.display()),
            None if word.starts_with('/') => format!("{}{word}", self.root.display()),
            None => word,
        });
        let keep = |word: &String| {
            let library = word.strip_prefix("-l");
            word.starts_with("-L")
                || word.starts_with('/')
                || library.is_some_and(|name| !OF_COMPILER.contains(&name))
        };
        let output = clean("ld")
            .arg(format!("--sysroot={}", self.root.display()))
            .args(["-shared", "-o", "/dev/null"])
            .args(moved.filter(keep))
            .output()
            .expect("ld");
        let errors = String::from_utf8_lossy(&output.stderr);
        let lost = errors.lines().filter_map(|line| {
            let what = line.split_once("cannot find ")?.1;
            let what = what.split(": ").next().unwrap_or(what);
            let root = self.root.display().to_string();
            Some(what.strip_prefix(&root).unwrap_or(what).to_owned())
        });
        (exists, lost.collect())
    }

    /// The defects of the package according to linkaudit.
    fn ours(
        &self,
        name: &str,
        findings: &BTreeMap<String, BTreeSet<String>>,
    ) -> (bool, BTreeSet<String>) {
        let of = |private: bool| {
            let closure = self.closure(name, private);
            closure
                .iter()
                .flat_map(|name| findings.get(name).into_iter().flatten())
                .collect::<Vec<_>>()
        };
        let exists = !of(true).iter().any(|what| what.starts_with("needs "));
        let public = of(false);
        // pkgconf prints no flags then.
        if public.iter().any(|what| what.starts_with("needs ")) {
            let is_public = self.closure(name, false).iter().any(|one| {
                let requires = self.contents.get(one).into_iter().flat_map(|one| &one.requires);
                let unmet = |what: &str| {
                    findings.get(one).is_some_and(|all| all.contains(&format!("needs {what}")))
                };
                requires
                    .filter(|one| !one.private)
                    .any(|one| unmet(&String::from_utf8_lossy(&one.name)))
            });
            if is_public {
                return (exists, BTreeSet::new());
            }
        }
        let is_library = |what: &&&String| what.starts_with("-l") || what.starts_with('/');
        (exists, public.iter().filter(is_library).map(|what| (*what).clone()).collect())
    }

    /// Compares the results for some packages; returns the differences.
    fn compare(&self, names: &[&String]) -> Vec<String> {
        let findings = self.findings();
        let differs = |name: &&&String| self.oracle(name) != self.ours(name, &findings);
        let differ = names.iter().filter(differs).map(|name| {
            let (ours, theirs) = (self.ours(name, &findings), self.oracle(name));
            format!("{name}: pkgconf and ld {theirs:?}, linkaudit {ours:?}")
        });
        differ.collect()
    }
}

#[test]
fn flags_are_those_that_pkgconf_prints() {
    if !has("pkgconf") {
        return skip("pkg_config", "pkgconf is not installed");
    }
    let system = System::new().expect("packages");
    let copies = system.lab.mkdir("copies");
    let (mut differ, mut flags_seen) = (Vec::new(), 0);
    for (name, path) in &system.packages {
        // Without requirements, pkgconf prints the file's own flags.
        let bytes = std::fs::read(path).expect("a file");
        let content = String::from_utf8_lossy(&bytes);
        let own: Vec<&str> = content.lines().filter(|l| !l.starts_with("Requires")).collect();
        let copy = copies.join(format!("{name}.pc"));
        std::fs::write(&copy, own.join("\n") + "\n").expect("a copy");
        let file = copy.to_str().expect("UTF-8");
        let (known, theirs, error) = pkgconf(&system.root, &["--cflags", "--libs", file]);
        if !known {
            differ.push(format!("{name}: {error}"));
            continue;
        }
        let dir = copies.to_str().expect("UTF-8").as_bytes();
        let ours = flags(&parse(&std::fs::read(&copy).expect("a copy"), dir));
        flags_seen += ours.len();
        if ours != printed(&theirs) {
            differ.push(format!("{name}: pkgconf {theirs}, linkaudit {ours:?}"));
        }
    }
    let cases = system.packages.len();
    println!(
        "package files against pkgconf: {cases} files, {flags_seen} flags, {} differ",
        differ.len()
    );
    assert!(cases > 50 / step(3), "{cases} package files");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

#[test]
fn verdicts_are_those_of_pkgconf_and_the_linker() {
    if !has("pkgconf") {
        return skip("pkg_config", "pkgconf is not installed");
    }
    let system = System::new().expect("packages");
    let names: Vec<&String> = system.packages.keys().collect();
    let differ = system.compare(&names);
    println!("packages against pkgconf and ld: {} cases, {} differ", names.len(), differ.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));

    let count = amount("LINKAUDIT_TEXTS", 30);
    let mut random = Random::new(number("LINKAUDIT_SEED", 23));
    let (mut noticed, mut differ) = (0, Vec::new());
    let before = system.findings();
    for _ in 0..count {
        let name = *random.pick(&names);
        let content = &system.contents[name];
        let mut paths: Vec<PathBuf> = Vec::new();
        for one in &content.requires {
            let required = String::from_utf8_lossy(&one.name).into_owned();
            paths.extend(system.packages.get(&required).cloned());
        }
        for flag in &content.libs {
            let FlagKind::Lib(library) = &flag.kind else { continue };
            let library = String::from_utf8_lossy(library);
            for end in ["so", "a"] {
                let file = format!("usr/lib/x86_64-linux-gnu/lib{library}.{end}");
                paths.push(system.root.join(file));
            }
        }
        paths.retain(|path| path.symlink_metadata().is_ok());
        if paths.is_empty() {
            continue;
        }
        let path = random.pick(&paths);
        let aside = system.lab.path("aside");
        std::fs::rename(path, &aside).expect("a file");
        let changed = system.compare(&[name]);
        noticed += usize::from(system.findings() != before);
        differ
            .extend(changed.into_iter().map(|what| format!("without {}: {what}", path.display())));
        std::fs::rename(&aside, path).expect("a file");
    }
    println!("deletions: {count} cases, {noticed} noticed, {} differ", differ.len());
    assert!(noticed > 0 || !is_sweep(), "no deletion was noticed");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}

/// The libraries of a package may lie in a directory that its requirement names.
/// Debian has the package files of Kerberos in `pkgconfig/mit-krb5`, and links to them.
#[test]
fn package_files_behind_links_are_judged() {
    let lab = Lab::new();
    lab.write("p/lib/pkgconfig/mit/w.pc", "Name: w\nVersion: 1\nRequires: nowhere\n");
    let findings = || {
        let mut command = linkaudit();
        command.current_dir(lab.root()).args(["--isolated", "-D", "package-text", "p"]);
        let report = Report::of(&mut command);
        report.of_rule("pkgconfig-missing-requirement").count()
    };
    assert_eq!(findings(), 0);
    std::os::unix::fs::symlink("mit/w.pc", lab.path("p/lib/pkgconfig/w.pc")).expect("a link");
    assert_eq!(findings(), 1);
}

#[test]
fn a_requirement_that_cannot_be_read_is_reported_and_decides_nothing() {
    let lab = Lab::new();
    lab.write("p/lib/pkgconfig/w.pc", "Name: w\nVersion: 1\nRequires: dep\nLibs: -lwood\n");
    let long = "# a line\n".repeat(200_000);
    lab.write("p/share/pkgconfig/dep.pc", format!("Name: dep\nVersion: 1\n{long}"));
    let mut command = linkaudit();
    command.current_dir(lab.root()).args(["--isolated", "-D", "package-text", "p/lib"]);
    let report = Report::of(&mut command);
    let unread: Vec<&str> = report.of_rule("unreadable").map(|f| text(&f["path"])).collect();
    assert_eq!((unread.len(), report.findings().count()), (1, 1), "{}", report.outline());
    assert!(unread[0].ends_with("share/pkgconfig/dep.pc"), "{unread:?}");
}
