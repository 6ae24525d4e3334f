//! Headers of packages are removed, one at a time, and a real compiler shows that each new finding
//! is an error. Each audit reads only one package with the packages that it depends on.

use super::{System, has_chroot, missing};
use crate::package_text::random::{Random, number};
use crate::support::{clean, skip};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// Findings about one deleted header that the compiler checks.
const AGAIN: usize = 4;
/// Headers of one package that are removed before the next package is taken.
const OF_ONE: u64 = 8;

/// A Debian package.
struct Package {
    name: String,
    /// Names of the packages that it depends on.
    depends: Vec<String>,
    provides: Vec<String>,
    /// Files of which an audit of headers reads the text, below the root.
    files: Vec<PathBuf>,
}

fn run(command: &mut std::process::Command) -> String {
    let output = command.output().expect("a program of dpkg");
    assert!(output.status.success(), "{command:?}");
    String::from_utf8_lossy(&output.stdout).into_owned()
}

impl Package {
    fn new(deb: &Path) -> Self {
        let format = "${Package}\n${Depends}, ${Pre-Depends}\n${Provides}\n";
        let text = run(clean("dpkg-deb").arg("--show").arg("--showformat").arg(format).arg(deb));
        let mut lines = text.lines();
        let name = lines.next().unwrap_or_default().to_owned();
        // `a (>= 1) | b, c:any`
        let names = |line: Option<&str>| {
            let items = line.unwrap_or_default().split([',', '|']);
            let names = items.filter_map(|item| item.trim().split([' ', ':', '(']).next());
            names.filter(|name| !name.is_empty()).map(str::to_owned).collect::<Vec<String>>()
        };
        let (depends, provides) = (names(lines.next()), names(lines.next()));
        let list =
            run(clean("sh").args(["-c", "dpkg-deb --fsys-tarfile \"$1\" | tar -t", "sh"]).arg(deb));
        let files = list.lines().filter(|line| is_read(line));
        let files = files.map(|line| PathBuf::from(line.trim_start_matches("./"))).collect();
        Self { name, depends, provides, files }
    }
}

/// True for headers and for the package files that name their directories.
fn is_read(path: &str) -> bool {
    let ends = [".h", ".hh", ".hpp", ".hxx", ".pc", ".cmake"];
    path.contains("/include/") && !path.ends_with('/') || ends.iter().any(|end| path.ends_with(end))
}

/// A root with the headers and package files of some packages, as links to the files of `root`.
fn tree(root: &Path, packages: &[&Package], into: &Path) {
    for file in packages.iter().flat_map(|package| &package.files) {
        let (from, to) = (root.join(file), into.join(file));
        let Ok(meta) = from.symlink_metadata() else { continue };
        std::fs::create_dir_all(to.parent().expect("a directory")).expect("a directory");
        if meta.is_symlink() {
            let target = std::fs::read_link(&from).expect("a link");
            // Two packages may have one link.
            let _ = std::os::unix::fs::symlink(target, &to);
        } else if meta.is_file() {
            let _ = std::fs::hard_link(&from, &to);
        }
    }
}

/// The packages that `first` needs, and those of the C and C++ compilers' headers.
fn closure<'a>(first: &'a Package, all: &BTreeMap<&str, &'a Package>) -> Vec<&'a Package> {
    let mut out: Vec<&Package> = Vec::new();
    let mut open = vec![first];
    open.extend(["libc6-dev", "libstdc++-12-dev", "g++"].iter().filter_map(|name| all.get(name)));
    while let Some(package) = open.pop() {
        if !out.iter().any(|one| one.name == package.name) {
            out.push(package);
            open.extend(package.depends.iter().filter_map(|name| all.get(name.as_str())));
        }
    }
    out
}

#[test]
fn removed_headers_are_noticed() {
    if !has_chroot() {
        return skip("headers", "needs root for chroot");
    }
    let system = System::new().expect("packages");
    let packages: Vec<Package> = system.files.iter().map(|deb| Package::new(deb)).collect();
    let mut by_name = BTreeMap::new();
    for package in &packages {
        by_name.extend(package.provides.iter().map(|name| (name.as_str(), package)));
    }
    by_name.extend(packages.iter().map(|package| (package.name.as_str(), package)));
    let public: BTreeSet<PathBuf> = system.headers().into_iter().collect();
    let headers_of = |package: &Package| {
        let files = package.files.iter().map(|file| Path::new("/").join(file));
        files.filter(|file| public.contains(file)).collect::<Vec<PathBuf>>()
    };
    let owners: Vec<(&Package, Vec<PathBuf>)> = packages
        .iter()
        .map(|package| (package, headers_of(package)))
        .filter(|(_, headers)| headers.len() > 1)
        .collect();
    let mut random = Random::new(number("LINKAUDIT_SEED", 23));
    let count = number("LINKAUDIT_TEXTS", 16);
    let (mut differ, mut noticed, mut cases, mut done, mut trees) = (Vec::new(), 0, 0, 0, 0);
    while done < count {
        let (package, headers) = random.pick(&owners);
        let small = system.lab.path("small");
        tree(&system.root, &closure(package, &by_name), &small);
        trees += 1;
        let before = missing(&system.audit_in(&small));
        for _ in 0..OF_ONE.min(count - done) {
            done += 1;
            let header = random.pick(headers);
            let below = header.strip_prefix("/").expect("a path");
            let (victim, copy) = (system.root.join(below), small.join(below));
            let aside = system.lab.path("aside");
            std::fs::rename(&victim, &aside).expect("a file");
            std::fs::remove_file(&copy).expect("a link to the file");
            let now = missing(&system.audit_in(&small));
            let new: Vec<&(PathBuf, Vec<u8>)> = now.difference(&before).collect();
            noticed += usize::from(!new.is_empty());
            cases += new.len().min(AGAIN);
            for (file, name) in new.into_iter().take(AGAIN) {
                let name = String::from_utf8_lossy(name).into_owned();
                let answer = system.compile_one(file, true);
                if !answer.needs.contains(&name) && !answer.failed && answer.fatal.is_none() {
                    let (gone, file) = (header.display(), file.display());
                    differ.push(format!("without {gone}: {file} finds {name}"));
                }
            }
            std::fs::rename(&aside, &victim).expect("a file");
            std::fs::hard_link(&victim, &copy).expect("a link to the file");
        }
        std::fs::remove_dir_all(&small).expect("a directory");
    }
    println!(
        "deleted headers: {count} in {trees} trees, {noticed} noticed, {cases} cases compiled, {} differ",
        differ.len()
    );
    assert!(noticed > 0, "no deletion was noticed");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
