//! Files that an export names are removed, one at a time. CMake and linkaudit both notice, or
//! neither does, and then a link of a consumer shows that nothing is missing.

use super::{CMakePackage, System, Verdict, difference, dirs, has_chroot};
use crate::package_text::random::{Random, amount, number};
use crate::support::skip;
use linkaudit::cmake::{EventKind, PackageOutcome, Truth};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// Files that the CMake files beside the configuration name, and those CMake files.
fn victims(root: &Path, config: &Path) -> Vec<PathBuf> {
    let mut out = Vec::new();
    let dir = config.parent().expect("a directory");
    let here = root.join(dir.strip_prefix("/").expect("a path"));
    // `_IMPORT_PREFIX` is one of the directories above.
    let prefixes: Vec<PathBuf> =
        dir.ancestors().filter_map(|dir| Some(root.join(dir.strip_prefix("/").ok()?))).collect();
    for entry in std::fs::read_dir(here).into_iter().flatten().flatten() {
        let path = entry.path();
        // No request of this test reads the file with the version.
        let name = entry.file_name().to_string_lossy().to_ascii_lowercase();
        let is_other = path.file_name() == config.file_name() || name.ends_with("version.cmake");
        if !name.ends_with(".cmake") || is_other {
            continue;
        }
        let text = std::fs::read(&path).unwrap_or_default();
        out.push(path);
        for quoted in String::from_utf8_lossy(&text).split('"') {
            for item in quoted.split(';') {
                let Some(file) = item.strip_prefix("${_IMPORT_PREFIX}/") else { continue };
                let files = prefixes.iter().map(|prefix| prefix.join(file));
                out.extend(files.filter(|path| path.is_file()).take(1));
            }
        }
    }
    out.sort();
    out.dedup();
    out
}

/// The reason why a removed file changes no result; `None` if a link misses it.
fn reason(system: &System, package: &CMakePackage, gone: &str) -> Option<&'static str> {
    if system.link(package, None).contains(gone) {
        return None;
    }
    Some(if gone.ends_with(".cmake") {
        "a CMake file that this request does not include, or includes only if it exists"
    } else {
        "a file that no link of a consumer needs"
    })
}

/// True if an outcome has a defect that names a file.
fn names(outcome: &PackageOutcome, path: &Path) -> bool {
    outcome.events.iter().any(|event| match &event.kind {
        EventKind::Include(one) | EventKind::Check(one) | EventKind::Property { path: one, .. } => {
            one == path
        }
        EventKind::Target { .. } | EventKind::Dependency { .. } => false,
    })
}

#[test]
fn removed_files_are_noticed() {
    if !has_chroot() {
        return skip("cmake_packages", "needs root for chroot");
    }
    let system = System::new().expect("packages");
    let before = system.audit(dirs(&system.root));
    let mut random = Random::new(number("LINKAUDIT_SEED", 23));
    let count = amount("LINKAUDIT_TEXTS", 25);
    let packages = before.package_text.cmake.iter();
    let found = packages.filter(|package| package.outcome.found == Some(Truth::True));
    let found: Vec<(&CMakePackage, Vec<PathBuf>)> = found
        .map(|package| (package, victims(&system.root, &package.path)))
        .filter(|(_, victims)| !victims.is_empty())
        .collect();
    let (mut differ, mut results) = (Vec::new(), BTreeMap::new());
    for _ in 0..count {
        let (package, victims) = random.pick(&found);
        let victim = random.pick(victims);
        let gone = Path::new("/").join(victim.strip_prefix(&system.root).expect("a path"));
        let aside = system.lab.path("aside");
        std::fs::rename(victim, &aside).expect("a file");
        let own = package.path.parent().expect("a directory").to_path_buf();
        let after = system.audit(vec![own]);
        let again = after.package_text.cmake.iter().find(|one| one.path == package.path);
        let outcome = &again.expect("the package").outcome;
        let answer = system.answer(package, &[]);
        let label = format!("{} without {}", package.path.display(), gone.display());
        let is_known = outcome.events.len() > package.outcome.events.len();
        let text = gone.display().to_string();
        let result = match difference(&label, outcome, &answer) {
            Some(what) => Err(what),
            None if answer.verdict != Verdict::Found && is_known => Ok("noticed by both"),
            // The file belongs to a package that this one requires.
            None if answer.verdict != Verdict::Found => Ok("the same verdict"),
            None if names(outcome, &gone) => {
                let property = outcome.events.iter().find_map(|event| match &event.kind {
                    EventKind::Property { target, path, .. } if *path == gone => Some(target),
                    _ => None,
                });
                let target = property.map(|target| String::from_utf8_lossy(target).into_owned());
                let is_missed = system.link(package, target.as_deref()).contains(&text);
                if is_missed { Ok("noticed by linkaudit and the link") } else { Err(label) }
            }
            None => reason(&system, package, &text)
                .ok_or_else(|| format!("{label}: a link needs it, and linkaudit is silent")),
        };
        std::fs::rename(&aside, victim).expect("a file");
        match result {
            Ok(what) => *results.entry(what).or_insert(0) += 1,
            Err(what) => differ.push(what),
        }
    }
    println!("deletions: {count} cases, {results:?}, {} differ", differ.len());
    assert!(results.contains_key("noticed by both"), "no deletion was noticed");
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
