//! Runs a table of cases; `notation` describes how their files are linked.

use crate::support::random::step;
use std::os::unix::fs::PermissionsExt;
use std::sync::OnceLock;

pub(crate) use super::notation::{cases, exe, so};
use crate::support::{self, Lab, Tally};

/// The files of a case to compare, each with texts that the real answer must contain.
pub(crate) type Targets = Vec<Target>;
/// Makes the files of a case.
pub(crate) type Build = fn(&Lab) -> Targets;
pub(crate) type Case = (&'static str, Build);

/// A file to compare. `shows` guards the case itself: if the real loader's answer lacks one of
/// these texts, the case does not test its rule.
pub(crate) struct Target {
    pub(crate) file: String,
    shows: Vec<&'static str>,
}

/// `file` as typed after `ldd -r`. A text that begins with `!` must be absent. A text that begins
/// with `<2.N ` or `>2.N ` counts only before or since that glibc version. `$PWD` is the
/// laboratory.
pub(crate) fn see(file: &str, shows: &[&'static str]) -> Target {
    Target { file: file.to_owned(), shows: shows.to_vec() }
}

/// Builds and compares every case of a theme.
pub(crate) fn run(theme: &str, cases: &[Case]) {
    let mut tally = Tally::default();
    let mut broken = Vec::new();
    let mut other_releases = Vec::new();
    for (name, build) in cases.iter().step_by(step(3)) {
        let lab = Lab::new();
        let targets = build(&lab);
        assert!(!targets.is_empty(), "{name} has no target");
        for target in targets {
            let theirs = lab.ldd_r(&target.file);
            broken.extend(guard(name, &target, &lab, &theirs));
            let case = format!("{name}: {}", target.file);
            tally.compare(&case, &ours(&lab, &target.file), &theirs);
            let case = format!("{theme}: {case}");
            other_releases.extend(super::releases::compare(&case, &lab, &target.file, &theirs));
        }
    }
    assert!(broken.is_empty(), "{theme}: cases that miss their rule\n{}", broken.join("\n"));
    println!("loader cases: {theme}: {} builds", cases.len().div_ceil(step(3)));
    tally.finish(&format!("loader cases: {theme}"));
    println!("loader cases: {theme}: {} differences under other releases", other_releases.len());
    assert!(other_releases.is_empty(), "{}", other_releases.join("\n"));
}

/// The text that linkaudit prints for `file`, run inside the laboratory.
pub(crate) fn ours(lab: &Lab, file: &str) -> String {
    let output = lab.linkaudit(&["check", "--as-ldd", "--format", "ldd", file]);
    String::from_utf8_lossy(&output.stdout).into_owned()
}

/// The texts of a target that the real answer lacks, or has and should not have.
pub(crate) fn guard(case: &str, target: &Target, lab: &Lab, theirs: &str) -> Vec<String> {
    let here = lab.root();
    let here = here.to_str().expect("a laboratory path in UTF-8");
    let mut broken = Vec::new();
    for text in target.shows.iter().filter_map(|text| applies(text)) {
        let (wanted, text) = match text.strip_prefix('!') {
            Some(text) => (false, text),
            None => (true, text),
        };
        if theirs.contains(&text.replace("$PWD", here)) != wanted {
            let verb = if wanted { "lacks" } else { "holds" };
            broken.push(format!("{case}: {}: ldd -r {verb} {text:?}\n{theirs}", target.file));
        }
    }
    broken
}

fn applies(text: &str) -> Option<&str> {
    for (sign, below) in [("<2.", true), (">2.", false)] {
        if let Some(rest) = text.strip_prefix(sign) {
            let (minor, rest) = rest.split_once(' ').expect("a blank after the version");
            let minor: u32 = minor.parse().expect("a minor version of glibc");
            return ((glibc_minor() < minor) == below).then_some(rest);
        }
    }
    Some(text)
}

/// The N of this machine's glibc 2.N, from `ldd --version`.
pub(crate) fn glibc_minor() -> u32 {
    static MINOR: OnceLock<u32> = OnceLock::new();
    *MINOR.get_or_init(|| {
        let output = support::clean("ldd").arg("--version").output().expect("ldd runs");
        let text = String::from_utf8_lossy(&output.stdout);
        let first = text.lines().next().unwrap_or_default();
        let minor = first.rsplit_once("2.").map(|(_, minor)| minor.trim());
        minor.and_then(|minor| minor.parse().ok()).expect("ldd names a glibc version")
    })
}

/// A library that defines the function of its name (`libfig.so.1` defines `fig`), which calls those
/// of the libraries it needs. Its SONAME is its file name unless a `soname=` says otherwise.
pub(crate) fn lib(lab: &Lab, out: &str, needs: &[&str], flags: &str) {
    let name = out.rsplit('/').next().unwrap_or(out);
    let soname = if flags.contains("soname=") { String::new() } else { format!("soname={name}") };
    let source = format!("{} int {}(void){{return 1{};}}", declare(needs), stem(out), sum(needs));
    so(lab, out, &source, &format!("{soname} {} {flags}", needs.join(" ")));
}

/// A program that calls the function of each library it needs.
pub(crate) fn prog(lab: &Lab, out: &str, needs: &[&str], flags: &str) {
    let source = format!("{} int main(void){{return 0{};}}", declare(needs), sum(needs));
    exe(lab, out, &source, &format!("{} {flags}", needs.join(" ")));
}

fn stem(path: &str) -> &str {
    let name = path.rsplit('/').next().unwrap_or(path);
    let name = name.strip_prefix("lib").unwrap_or(name);
    name.split_once(".so").map_or(name, |(stem, _)| stem)
}

fn declare(needs: &[&str]) -> String {
    needs.iter().map(|need| format!("int {}(void);", stem(need))).collect()
}

fn sum(needs: &[&str]) -> String {
    needs.iter().map(|need| format!("+{}()", stem(need))).collect()
}

/// A relocatable object with the execute bit, so that `ldd` prints no warning.
pub(crate) fn relocatable(lab: &Lab, out: &str, source: &str) {
    lab.cc(out, source, &["-c", "-fPIC"], &[]);
    executable(lab, out);
}

/// Sets the execute bits of a file that was not made by the linker.
pub(crate) fn executable(lab: &Lab, name: &str) {
    std::fs::set_permissions(lab.path(name), PermissionsExt::from_mode(0o755))
        .expect("the file's permissions can be changed");
}

pub(crate) fn copy(lab: &Lab, from: &str, to: &str) {
    let to = lab.path(to);
    if let Some(parent) = to.parent() {
        std::fs::create_dir_all(parent).expect("a directory in the laboratory");
    }
    std::fs::copy(lab.path(from), to).expect("a copy in the laboratory");
}

pub(crate) fn hard_link(lab: &Lab, from: &str, to: &str) {
    std::fs::hard_link(lab.path(from), lab.path(to)).expect("a hard link in the laboratory");
}

pub(crate) fn remove(lab: &Lab, name: &str) {
    std::fs::remove_file(lab.path(name)).expect("the file was there");
}
