//! The texts of fixes, shared by all outputs that show them.

use crate::finding::{CMakeTarget, Evidence, Fix, FixKind};
use crate::text::{show, show_path};

/// The action of a fix, without the name that follows: `link with`.
pub(crate) fn action(fix: &Fix) -> String {
    let list = fix.list.as_deref().map(show_path).unwrap_or_default();
    match (fix.intent, &fix.set) {
        (FixKind::AddToList, Some(set)) => format!("add to {} of {list}", show(set)),
        (FixKind::AddToList, None) => format!("add to {list}"),
        (FixKind::LinkArchive | FixKind::LinkLibrary, _) => "link with".to_owned(),
        (FixKind::AddSearchPath, _) => match &fix.file {
            Some(file) => format!("add to the search path of {}", show_path(file)),
            None => "add to the search path".to_owned(),
        },
        (FixKind::DropSearchEntry, _) => "drop from the search path".to_owned(),
        (FixKind::SetSearchTag, _) => "change the search path to".to_owned(),
        (FixKind::DropNeed, _) => "drop from the needed libraries".to_owned(),
        (FixKind::RenameNeed, _) => "change the needed name to".to_owned(),
        (FixKind::InstallFile, _) => "install".to_owned(),
        (FixKind::BuildComponent, _) => "build and install the component".to_owned(),
    }
}

/// A fix in one line, marked as verified or not verified; `None` if the field `entry` of the fix is
/// empty.
pub(crate) fn sentence(fix: &Fix) -> Option<String> {
    let entry = show(fix.entry.as_deref()?);
    let entry = match &fix.from {
        Some(from) => format!("{entry}, from {}", show_path(from)),
        None => entry,
    };
    let sure = if fix.is_proven() { "verified" } else { "not verified" };
    Some(format!("{}: {entry} ({sure})", action(fix)))
}

/// The packages that install a candidate, in words: `package libfoo-dev, pkg-config package foo`.
/// `None` if no package is known.
pub(crate) fn packages(evidence: &Evidence) -> Option<String> {
    owner(evidence.package.as_deref(), evidence.pkg_config.as_deref(), evidence.cmake.as_deref())
}

/// The Debian package, the pkg-config package and the CMake target of an archive, in words. `None`
/// if all three are unknown.
pub(crate) fn owner(
    package: Option<&str>,
    pkg_config: Option<&str>,
    cmake: Option<&CMakeTarget>,
) -> Option<String> {
    let shown = |text: &str| show(text.as_bytes());
    let cmake = cmake.map(|CMakeTarget { package, target }| {
        format!("CMake package {} with target {}", shown(package), shown(target))
    });
    let words = [
        package.map(|package| format!("package {}", shown(package))),
        pkg_config.map(|package| format!("pkg-config package {}", shown(package))),
        cmake,
    ];
    let words: Vec<String> = words.into_iter().flatten().collect();
    (!words.is_empty()).then(|| words.join(", "))
}
