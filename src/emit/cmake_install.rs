//! `cmake-install`: `install()` commands for files that the package names but does not install. The
//! files were found elsewhere in the prefix or below `--lib-path`. Only `checklist` lists files
//! that were not found.

use super::{Emission, Emitted};
use crate::finding::{Fix, FixKind};
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

const HEAD: &str = "\
# Installed files name these files, which are not installed. linkaudit found each by its name:
# check that it is the right one.
";

/// If a destination begins with one of these directories, its files are programs. They are
/// installed with `install(PROGRAMS)`, which makes them executable.
const OF_PROGRAMS: [&str; 3] = ["bin", "sbin", "libexec"];

/// A file and the name under which it is installed.
type InstallSource<'a> = (&'a Path, &'a Path);

pub(super) fn render(emission: &Emission<'_>) -> Emitted {
    let mut out = Emitted::default();
    let mut by_directory: BTreeMap<&Path, BTreeSet<InstallSource<'_>>> = BTreeMap::new();
    let fixes = emission.report.findings.iter().flat_map(|finding| &finding.fix);
    for fix in fixes.filter(|fix| fix.intent == FixKind::InstallFile) {
        let Some((directory, source)) = placed(fix) else { continue };
        let names = [directory.as_os_str(), source.0.as_os_str(), source.1.as_os_str()];
        match names.iter().find_map(|name| Some((name, refusal(name.as_bytes())?))) {
            Some((name, why)) => out.refuse(name.as_bytes(), why),
            None => drop(by_directory.entry(directory).or_default().insert(source)),
        }
    }
    if by_directory.is_empty() {
        return out;
    }
    out.bytes.extend(HEAD.as_bytes());
    for (directory, sources) in &by_directory {
        let first = directory.components().next().map(|part| part.as_os_str().as_bytes());
        let is_program = OF_PROGRAMS.iter().any(|name| Some(name.as_bytes()) == first);
        for (source, name) in sources {
            let kind = if is_program { "PROGRAMS" } else { "FILES" };
            out.bytes.extend(format!("install({kind} ").as_bytes());
            quote(source.as_os_str().as_bytes(), &mut out.bytes);
            out.bytes.extend(b"\n  DESTINATION ");
            quote(directory.as_os_str().as_bytes(), &mut out.bytes);
            if source.file_name() != Some(name.as_os_str()) {
                out.bytes.extend(b" RENAME ");
                quote(name.as_os_str().as_bytes(), &mut out.bytes);
            }
            out.bytes.extend(b")\n");
        }
    }
    out
}

/// The destination of a file: the directory below the prefix, the file that was found, and its new
/// name. `None` if no file was found, or if the directory is not below the prefix.
fn placed(fix: &Fix) -> Option<(&Path, InstallSource<'_>)> {
    let entry = Path::new(std::ffi::OsStr::from_bytes(fix.entry.as_deref()?));
    let from = fix.from.as_deref()?;
    // With an absolute destination, `install` would write outside of the prefix.
    let is_below = entry.components().all(|part| matches!(part, std::path::Component::Normal(_)));
    let name = Path::new(entry.file_name()?);
    let directory = entry.parent().filter(|dir| !dir.as_os_str().is_empty());
    is_below.then(|| (directory.unwrap_or(Path::new(".")), (from, name)))
}

/// The reason why a name cannot be written in `install()`; `None` if it can. A semicolon separates
/// list items in the script that CMake generates. `$<` begins a generator expression even if it is
/// escaped.
fn refusal(name: &[u8]) -> Option<&'static str> {
    if name.contains(&b';') {
        Some("has a semicolon, which divides lists of CMake")
    } else if memchr::memmem::find(name, b"$<").is_some() {
        Some("has $<, which begins a generator expression of CMake")
    } else if name.iter().any(|byte| *byte < b' ' || *byte == 0x7f) {
        Some("has a control character")
    } else {
        None
    }
}

/// Writes a quoted argument of CMake.
fn quote(name: &[u8], out: &mut Vec<u8>) {
    out.push(b'"');
    for byte in name {
        if b"\\\"$".contains(byte) {
            out.push(b'\\');
        }
        out.push(*byte);
    }
    out.push(b'"');
}
