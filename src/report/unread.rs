//! Installed archives that have the name of a missing archive, by directory and package. Only `fix`
//! and reports with `-v` show them, because they depend on this machine and were not read.

use super::layout::{name, some};
use crate::finding::{CMakeTarget, Evidence};
use crate::text::{last_part, show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Maximum number of archives, and of packages, that one line lists without `-v`.
const MOST: usize = 4;

/// Archives of one package in one directory.
#[derive(Default)]
struct Archives<'r> {
    files: BTreeSet<&'r [u8]>,
    pkg_config: BTreeSet<&'r str>,
    cmake: BTreeSet<&'r str>,
}

/// The lines about unread archives among the candidates, each with the `Evidence::how` of its
/// archives. Archives with equal `how`, directory and package share a line.
pub(super) fn lines<'r>(
    candidates: impl Iterator<Item = &'r Evidence>,
    verbose: bool,
) -> Vec<(&'r str, String)> {
    let mut groups: BTreeMap<(&str, &Path, Option<&str>), Archives<'_>> = BTreeMap::new();
    for evidence in candidates.filter(|evidence| evidence.is_unread_archive()) {
        let (Some(path), Some(how)) = (evidence.path.as_deref(), evidence.how.as_deref()) else {
            continue;
        };
        let dir = path.parent().unwrap_or(Path::new("/"));
        let group = groups.entry((how, dir, evidence.package.as_deref())).or_default();
        group.files.insert(last_part(path.as_os_str().as_bytes()));
        group.pkg_config.extend(evidence.pkg_config.as_deref());
        group.cmake.extend(evidence.cmake.as_deref().map(|CMakeTarget { package, .. }| &**package));
    }
    let most = if verbose { usize::MAX } else { MOST };
    let line = |((how, dir, package), archives): ((&'r str, &Path, Option<&str>), Archives<'_>)| {
        let names = |of: &BTreeSet<&str>| -> String {
            let names: Vec<String> = of.iter().map(|name| show(name.as_bytes())).collect();
            some(&names, most)
        };
        let kind = |word: &str, of: &BTreeSet<&str>| {
            (!of.is_empty()).then(|| format!("{word} {}", names(of)))
        };
        let words = [
            package.map(|package| format!("package {}", show(package.as_bytes()))),
            kind("pkg-config", &archives.pkg_config),
            kind("CMake package", &archives.cmake),
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        let files: Vec<String> = archives.files.iter().map(|file| show(file)).collect();
        let packages =
            if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
        (how, format!("{}{packages}: {}", name(&show_path(dir)), some(&files, most)))
    };
    groups.into_iter().map(line).collect()
}
