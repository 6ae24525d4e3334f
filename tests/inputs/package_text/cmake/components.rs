//! `find_package(X CONFIG COMPONENTS y)`: the answer of a real CMake for each component of each
//! package. The components are found without linkaudit: by the names of targets, of files and of
//! other packages.

use super::{CMakePackage, System, Verdict, difference, dirs, has_chroot, ours};
use crate::package_text::random::{Random, number, step};
use crate::support::skip;
use linkaudit::policy::{Origin, Policy, RequiredPackage};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// A component that no package has.
const ABSENT: &str = "nosuchcomponent";

/// The text of the CMake files in a directory whose names begin with that of the package.
fn text_of(dir: &Path, package: &str) -> String {
    let mut out = String::new();
    for entry in std::fs::read_dir(dir).into_iter().flatten().flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let start = name.get(..package.len()).unwrap_or_default();
        if name.ends_with(".cmake") && start.eq_ignore_ascii_case(package) {
            out += &String::from_utf8_lossy(&std::fs::read(entry.path()).unwrap_or_default());
        }
    }
    out
}

/// The longest start of `text` that is a name of a component.
fn word(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-+".contains(c);
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

/// Components that a consumer may request of a package. `others` are the names of all packages.
fn components(root: &Path, package: &CMakePackage, others: &BTreeSet<String>) -> BTreeSet<String> {
    let name = String::from_utf8_lossy(&package.name).into_owned();
    let dir = package.path.parent().expect("a directory");
    let text = text_of(&root.join(dir.strip_prefix("/").expect("a path")), &name);
    let mut out: BTreeSet<String> = BTreeSet::from([ABSENT.to_owned()]);
    out.extend(
        package.components.iter().map(|(name, _)| String::from_utf8_lossy(name).into_owned()),
    );
    if !text.contains("_FIND_COMPONENTS") {
        return out;
    }
    for target in text.split("add_library(").skip(1) {
        let target = target.split_whitespace().next().unwrap_or_default();
        out.insert(word(target.rsplit("::").next().unwrap_or_default()).to_owned());
    }
    for component in text.split("_FIND_REQUIRED_").skip(1) {
        out.insert(word(component).to_owned());
    }
    for other in others {
        let start = other.get(..name.len()).filter(|start| start.eq_ignore_ascii_case(&name));
        let rest = start.map(|start| other[start.len()..].trim_start_matches(['_', '-']));
        out.extend(rest.map(str::to_owned));
    }
    // `find_package` takes these words as options.
    out.retain(|name| {
        !name.is_empty() && !["MODULE", "CONFIG", "REQUIRED"].contains(&name.as_str())
    });
    out
}

/// A policy that requires components, so that linkaudit evaluates them too.
fn policy(wanted: &BTreeMap<String, BTreeSet<String>>) -> Policy {
    let required = wanted.iter().map(|(name, components)| RequiredPackage {
        name: name.clone(),
        components: components.iter().cloned().collect(),
        reason: None,
        origin: Origin { source: "a test".into(), line: 0 },
    });
    Policy { required_packages: required.collect(), ..Policy::default() }
}

#[test]
fn components_are_found_alike() {
    if !has_chroot() {
        return skip("cmake_packages", "needs root for chroot");
    }
    let system = System::new().expect("packages");
    let before = system.audit(dirs(&system.root));
    let packages = &before.package_text.cmake;
    let name_of = |package: &CMakePackage| String::from_utf8_lossy(&package.name).into_owned();
    let names: BTreeSet<String> = packages.iter().map(name_of).collect();
    let mut cases = Vec::new();
    for (at, package) in packages.iter().enumerate() {
        let components = components(&system.root, package, &names);
        cases.extend(components.into_iter().map(|component| (at, component)));
    }
    let all = cases.len();
    Random::new(number("LINKAUDIT_SEED", 23)).shuffle(&mut cases);
    // With the number of `.ci/nightly`, these are all.
    let count = 3 * number("LINKAUDIT_TEXTS", 15);
    cases.truncate(usize::try_from(count).expect("a number"));
    let mut wanted: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (at, component) in &cases {
        wanted.entry(name_of(&packages[*at])).or_default().insert(component.clone());
    }
    let after = system.audit_with(dirs(&system.root), policy(&wanted));
    let (mut differ, mut unknown, mut counts) = (Vec::new(), 0, BTreeMap::new());
    for (at, component) in &cases {
        let package = &packages[*at];
        let label = format!("{} with {component}", package.path.display());
        let again = after.package_text.cmake.iter().find(|one| one.path == package.path);
        let mut evaluated = again.expect("the package").components.iter();
        let Some((_, outcome)) = evaluated.find(|(name, _)| name == component.as_bytes()) else {
            differ.push(format!("{label}: not evaluated"));
            continue;
        };
        let answer = system.answer(package, &[format!("-DCOMPONENT={component}")]);
        *counts.entry(format!("{:?}", answer.verdict)).or_insert(0) += 1;
        if ours(outcome.found) == Verdict::Unknown {
            unknown += 1;
            println!("unknown: {label}: CMake {:?}", answer.verdict);
        }
        differ.extend(difference(&label, outcome, &answer));
    }
    println!(
        "find_package with a component: {} cases of {all}, {counts:?}, {unknown} unknown, {} differ",
        cases.len(),
        differ.len()
    );
    assert!(cases.len() >= 20 / step(2), "{} cases", cases.len());
    assert!(differ.is_empty(), "{}", differ.join("\n"));
}
