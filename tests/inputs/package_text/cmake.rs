//! CMake packages of Debian. For each, a real CMake in a chroot shows if `find_package` finds it,
//! and which file or package is missing, alone and with each component (`components`). Then files
//! that the packages name are removed, one at a time (`deletions`).

mod components;
mod deletions;
mod small;

use super::debian::{Debian, unpack_merged};
use super::random::step;
use crate::staged::has_chroot;
use crate::support::{Lab, clean, skip};
use linkaudit::audit::{self, Audit, CMakePackage};
use linkaudit::cmake::{EventKind, FindResult, GaveUp, PackageOutcome, Truth};
use linkaudit::plan::Plan;
use linkaudit::policy::Policy;
use linkaudit::tree::DiskTree;
use linkaudit::wants::Wants;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

/// CMake and a compiler for the chroot.
const TOOLS: [&str; 5] = ["cmake", "dash", "g++", "gcc", "ninja-build"];

/// Development packages of ROCm, with device code and compilers.
const ROCM: &[&str] = &[
    "hipcc",
    "libamd-comgr-dev",
    "libamd-smi-dev",
    "libamdhip64-dev",
    "libhalf-dev",
    "libhipblas-dev",
    "libhipblaslt-dev",
    "libhipcub-dev",
    "libhipfft-dev",
    "libhiprand-dev",
    "libhipsolver-dev",
    "libhipsparse-dev",
    "libhsa-runtime-dev",
    "libmigraphx-c-dev",
    "libmiopen-dev",
    "librocalution-dev",
    "librocblas-dev",
    "librocfft-dev",
    "librocm-smi-dev",
    "librocprim-dev",
    "librocrand-dev",
    "librocsolver-dev",
    "librocsparse-dev",
    "librocthrust-dev",
    "migraphx-dev",
    "rocm-cmake",
    "rocm-device-libs-21",
];

/// The project of a consumer: it finds one package, then links to one target, or to all that the
/// package imports.
const PROJECT: &str = r#"cmake_minimum_required(VERSION 3.25)
project(consumer C CXX)
if(PKG)
  if(COMPONENT)
    find_package(${PKG} CONFIG COMPONENTS ${COMPONENT})
  else()
    find_package(${PKG} CONFIG)
  endif()
  message(STATUS "FOUND<${${PKG}_FOUND}> DIR<${${PKG}_DIR}> WHY<${${PKG}_NOT_FOUND_MESSAGE}>")
  if(LINK)
    add_executable(consumer main.c)
    if(TARGET_NAME)
      set(targets ${TARGET_NAME})
    else()
      get_property(targets DIRECTORY PROPERTY IMPORTED_TARGETS)
    endif()
    foreach(target IN LISTS targets)
      get_target_property(kind ${target} TYPE)
      if(NOT kind STREQUAL "EXECUTABLE" AND NOT kind STREQUAL "MODULE_LIBRARY")
        target_link_libraries(consumer PRIVATE ${target})
      endif()
    endforeach()
  endif()
endif()
"#;

struct System {
    lab: Lab,
    root: PathBuf,
}

/// CMake's result for a package.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Found,
    NotFound,
    Fatal,
    Unknown,
}

struct Answer {
    verdict: Verdict,
    text: String,
}

impl System {
    fn new() -> Result<Self, String> {
        Self::of("bookworm", super::cmake_packages())
    }

    fn of(suite: &str, packages: &[&str]) -> Result<Self, String> {
        let lab = Lab::new();
        let wanted: Vec<&str> = packages.iter().copied().chain(TOOLS).collect();
        let files = Debian::new(suite, "amd64")?.fetch(&wanted)?;
        let root = lab.path("root");
        unpack_merged(&files, &root)?;
        // Maintainer scripts make these links.
        let links = [
            ("dash", "usr/bin/sh"),
            ("blas/libblas.so", "usr/lib/x86_64-linux-gnu/libblas.so"),
            ("lapack/liblapack.so", "usr/lib/x86_64-linux-gnu/liblapack.so"),
        ];
        for (target, link) in links {
            let link = root.join(link);
            let there = link.parent().expect("a directory").join(target);
            if there.exists() && !link.exists() {
                std::os::unix::fs::symlink(target, link).map_err(|error| error.to_string())?;
            }
        }
        let source = root.join("consumer");
        std::fs::create_dir_all(&source).map_err(|error| error.to_string())?;
        std::fs::write(source.join("CMakeLists.txt"), PROJECT)
            .map_err(|error| error.to_string())?;
        std::fs::write(source.join("main.c"), "int main(void){return 0;}\n").expect("a file");
        std::fs::create_dir_all(root.join("tmp")).expect("a directory");
        std::fs::create_dir_all(root.join("dev")).expect("a directory");
        std::fs::write(root.join("dev/null"), "").expect("a file");
        let system = Self { lab, root };
        // hipconfig finds the platform of ROCm by files below /proc, which the chroot does not
        // have.
        let options = ["-DCMAKE_C_COMPILER=gcc", "-DCMAKE_CXX_COMPILER=g++", "-DHIP_PLATFORM=amd"];
        let out = system.cmake(&options, "template");
        if out.contains("Generating done") { Ok(system) } else { Err(out) }
    }

    /// Configures in a build directory of the chroot.
    fn cmake(&self, options: &[&str], build: &str) -> String {
        let build = format!("/build-{build}");
        let output = clean("chroot")
            .arg(&self.root)
            .args(["/usr/bin/cmake", "-G", "Ninja", "-S", "/consumer", "-B", &build])
            .args(options)
            .env("HOME", "/")
            .output()
            .expect("chroot");
        let text = [output.stdout, output.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    }

    /// The answer for a package; `options` may name a component and ask for a link.
    fn answer(&self, package: &CMakePackage, options: &[String]) -> Answer {
        let build = self.root.join("build-one");
        let _ = std::fs::remove_dir_all(&build);
        let copied =
            clean("cp").arg("-r").arg(self.root.join("build-template")).arg(&build).status();
        assert!(copied.expect("cp").success());
        // The template knows its own directory.
        let cache = build.join("CMakeCache.txt");
        let text = std::fs::read_to_string(&cache)
            .expect("a cache")
            .replace("build-template", "build-one");
        std::fs::write(&cache, text).expect("a cache");
        let name = String::from_utf8_lossy(&package.name).into_owned();
        let dir = package.path.parent().expect("a directory").display().to_string();
        let all = [vec![format!("-DPKG={name}"), format!("-D{name}_DIR={dir}")], options.to_vec()]
            .concat();
        let all: Vec<&str> = all.iter().map(String::as_str).collect();
        let text = self.cmake(&all, "one");
        let found = text.lines().find_map(|line| line.split_once("FOUND<")?.1.split_once('>'));
        let verdict = match found.map(|(found, _)| found.to_ascii_uppercase()) {
            None => Verdict::Fatal,
            Some(_) if text.contains("errors occurred") => Verdict::Fatal,
            Some(word) if ["1", "TRUE", "ON", "YES"].contains(&word.as_str()) => Verdict::Found,
            Some(_) => Verdict::NotFound,
        };
        Answer { verdict, text }
    }

    /// The answer for a consumer that links, followed by the file that Ninja misses, if any.
    /// `target` is one target instead of all.
    fn link(&self, package: &CMakePackage, target: Option<&str>) -> String {
        let target = target.map(|target| format!("-DTARGET_NAME={target}"));
        let options: Vec<String> = target.into_iter().chain(["-DLINK=1".to_owned()]).collect();
        let configured = self.answer(package, &options).text;
        let ninja = clean("chroot")
            .arg(&self.root)
            .args(["/usr/bin/ninja", "-n", "-C", "/build-one"])
            .output()
            .expect("chroot");
        let text = [configured.into_bytes(), ninja.stdout, ninja.stderr].concat();
        String::from_utf8_lossy(&text).into_owned()
    }

    fn audit(&self, paths: Vec<PathBuf>) -> Audit {
        self.audit_with(paths, Policy::default())
    }

    fn audit_with(&self, paths: Vec<PathBuf>, policy: Policy) -> Audit {
        let cwd = self.lab.root();
        let plan = Plan {
            has_root: true,
            rule_wants: Wants::CMAKE,
            threads: 2,
            policy: policy.into(),
            ..Plan::new(paths, cwd)
        };
        let tree = DiskTree::within(&self.root).expect("a root");
        let input = audit::read(&plan, &tree, &AtomicUsize::new(0));
        audit::audit(&plan, &tree, audit::collect(&plan, &tree, input))
    }
}

/// Directories with CMake packages.
fn dirs(root: &Path) -> Vec<PathBuf> {
    let all =
        ["x86_64-linux-gnu", "cmake", "llvm-14", "llvm-21"].map(|dir| format!("/usr/lib/{dir}"));
    let all = all.into_iter().chain(["/usr/share".to_owned()]);
    all.filter(|dir| root.join(&dir[1..]).is_dir()).map(PathBuf::from).collect()
}

fn ours(found: Option<Truth>) -> Verdict {
    match found {
        Some(Truth::True) => Verdict::Found,
        Some(Truth::False) => Verdict::NotFound,
        Some(Truth::Unknown) => Verdict::Unknown,
        None => Verdict::Fatal,
    }
}

/// The difference between CMake's answer and ours for one request, if any. `at` names the request.
fn difference(at: &str, outcome: &PackageOutcome, answer: &Answer) -> Option<String> {
    let ours = ours(outcome.found);
    let tail = || {
        let lines: Vec<&str> =
            answer.text.lines().filter(|line| !line.starts_with("-- Gen")).collect();
        lines[lines.len().saturating_sub(12)..].join(" | ")
    };
    if ours == Verdict::Unknown {
        return None;
    }
    // A CMake module looks for a package, and linkaudit assumes that the package is found.
    // linkaudit then reports defects that follow later.
    let text = answer.text.to_ascii_lowercase();
    let names_assumed =
        |name: &Vec<u8>| text.contains(&String::from_utf8_lossy(name).to_ascii_lowercase());
    let is_assumed = answer.verdict == Verdict::NotFound
        && matches!(ours, Verdict::Found | Verdict::Fatal)
        && outcome.package.assumed.iter().any(names_assumed);
    if ours != answer.verdict && !is_assumed {
        let message = String::from_utf8_lossy(&outcome.message);
        return Some(format!(
            "{at}: CMake {:?}, linkaudit {ours:?} ({message}): {}",
            answer.verdict,
            tail()
        ));
    }
    // A fatal error names what is missing, and so do we.
    let squeezed: String = answer.text.split_whitespace().collect();
    let names = |text: String| squeezed.contains(&text.split_whitespace().collect::<String>());
    // The error may be about a package that this package requests.
    let is_same = names(String::from_utf8_lossy(&outcome.message).into_owned());
    let is_named = is_same
        || outcome.events.iter().any(|event| match &event.kind {
            EventKind::Include(path)
            | EventKind::Check(path)
            | EventKind::Property { path, .. } => names(path.display().to_string()),
            EventKind::Dependency { wanted, found } => {
                *found == FindResult::Absent
                    && names(String::from_utf8_lossy(&wanted.name).into_owned())
            }
            EventKind::Target { .. } => false,
        });
    let says_file =
        squeezed.contains("doesnotexist") || squeezed.contains("couldnotfindrequestedfile");
    (ours == Verdict::Fatal && says_file && !is_named)
        .then(|| format!("{at}: not named: {}", tail()))
}

#[test]
fn find_package_says_the_same() {
    if !has_chroot() {
        return skip("cmake_packages", "needs root for chroot");
    }
    let count = compare(&System::new().expect("packages"));
    assert!(count >= 20 / step(4), "{count} packages");
}

#[test]
#[ignore = "fetches 3 GB"]
fn find_package_says_the_same_of_rocm() {
    if !has_chroot() {
        return skip("rocm_packages", "needs root for chroot");
    }
    let count = compare(&System::of("sid", ROCM).expect("packages"));
    assert!(count >= 30, "{count} packages");
}

/// Compares each package of a system, and returns their number.
fn compare(system: &System) -> usize {
    let audit = system.audit(dirs(&system.root));
    let packages = &audit.package_text.cmake;
    let (mut differ, mut unknown, mut counts) = (Vec::new(), Vec::new(), BTreeMap::new());
    for package in packages {
        let answer = system.answer(package, &[]);
        *counts.entry(format!("{:?}", answer.verdict)).or_insert(0) += 1;
        if package.outcome.found == Some(Truth::Unknown) {
            let why = package.outcome.gave_up.map_or("a condition is not known", GaveUp::reason);
            unknown.push(format!("{}: {why}", package.path.display()));
        }
        differ.extend(difference(&package.path.display().to_string(), &package.outcome, &answer));
    }
    println!(
        "find_package: {} packages, {counts:?}, {} unknown, {} differ",
        packages.len(),
        unknown.len(),
        differ.len()
    );
    println!("unknown:\n{}", unknown.join("\n"));
    let (mut targets, mut lost) = (0, Vec::new());
    for package in packages {
        let events = package.outcome.events.iter().filter_map(|event| match &event.kind {
            EventKind::Target { to, .. } => Some(String::from_utf8_lossy(to).into_owned()),
            _ => None,
        });
        let names: Vec<String> = events.collect();
        if names.is_empty() {
            continue;
        }
        let text = system.answer(package, &["-DLINK=1".to_owned()]).text;
        targets += names.len();
        let is_said = |name: &String| text.contains(name) && text.contains("target was not found");
        let unsaid = names.iter().filter(|name| !is_said(name));
        lost.extend(unsaid.map(|name| format!("{}: {name} is defined", package.path.display())));
    }
    println!("targets that nothing defines: {targets} cases, {} differ", lost.len());
    differ.extend(lost);
    let (files, unsaid) = named_files(system, packages);
    println!("files that targets name: {files} cases, {} differ", unsaid.len());
    differ.extend(unsaid);
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    packages.len()
}

/// Compares each missing file of a package with a consumer that links to the first target that
/// names it: CMake rejects a missing directory of headers, and Ninja misses any other file.
/// Returns the number of files, and the differences.
fn named_files(system: &System, packages: &[CMakePackage]) -> (usize, Vec<String>) {
    let (mut cases, mut differ) = (0, Vec::new());
    for package in packages {
        // CMake fails before it comes to the targets.
        if package.outcome.found.is_none() {
            continue;
        }
        let mut met = BTreeSet::new();
        for event in &package.outcome.events {
            let EventKind::Property { target, path, .. } = &event.kind else { continue };
            if !met.insert(path) {
                continue;
            }
            cases += 1;
            let target = String::from_utf8_lossy(target).into_owned();
            let text = system.link(package, Some(&target));
            let path = path.display().to_string();
            if !text.split_whitespace().collect::<String>().contains(&path) {
                let tail: Vec<&str> = text.lines().rev().take(8).collect();
                let at = package.path.display();
                differ.push(format!("{at}: {target} names {path}: {}", tail.join(" | ")));
            }
        }
    }
    (cases, differ)
}
