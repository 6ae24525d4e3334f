//! The exports of libraries by readelf, and their differences by readelf and by abidiff.

use super::Said;
use crate::support::clean;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// A library with a soname.
#[derive(Clone, Debug)]
pub(super) struct Library {
    pub(super) path: PathBuf,
    pub(super) soname: String,
    needed: BTreeSet<String>,
    /// Other paths under which findings name it.
    pub(super) others: Vec<PathBuf>,
}

impl Library {
    /// True if a path below a prefix is that of the library.
    pub(super) fn is_at(&self, path: &str) -> bool {
        let mut all = self.others.iter().chain([&self.path]);
        all.any(|own| own.ends_with(path.trim_start_matches('/')))
    }
}

/// The libraries of a prefix in the directories of the loader, by soname without numbers.
pub(super) fn libraries(prefix: &Path) -> BTreeMap<String, Library> {
    let mut out: BTreeMap<String, Option<Library>> = BTreeMap::new();
    for entry in walkdir::WalkDir::new(prefix).sort_by_file_name().into_iter().flatten() {
        let path = entry.path();
        let dir = path.parent().and_then(Path::file_name);
        let is_there = dir.is_some_and(|dir| dir == "x86_64-linux-gnu" || dir == "lib");
        if !entry.file_type().is_file() || !is_there {
            continue;
        }
        let dynamic = dynamic(path);
        let Some(soname) = dynamic.get("SONAME").and_then(|all| all.first()) else { continue };
        let library = Library {
            path: path.to_path_buf(),
            soname: soname.clone(),
            needed: dynamic.get("NEEDED").cloned().unwrap_or_default().into_iter().collect(),
            others: Vec::new(),
        };
        let base = soname.split(".so").next().unwrap_or(soname);
        let stem = base.trim_end_matches(|c: char| c.is_ascii_digit() || ".-_".contains(c));
        // Two libraries with one stem are not compared.
        out.entry(stem.to_owned()).and_modify(|own| *own = None).or_insert(Some(library));
    }
    out.into_iter().filter_map(|(stem, library)| Some((stem, library?))).collect()
}

/// The strings of a dynamic section by tag.
pub(super) fn dynamic(path: &Path) -> BTreeMap<String, Vec<String>> {
    let output = clean("readelf").args(["-dW"]).arg(path).output().expect("readelf runs");
    let mut out: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        let tag = line.split_once('(').and_then(|(_, rest)| rest.split_once(')'));
        let value = line.split_once('[').and_then(|(_, rest)| rest.rsplit_once(']'));
        if let (Some((tag, _)), Some((value, _))) = (tag, value) {
            out.entry(tag.to_owned()).or_default().push(value.to_owned());
        }
    }
    out
}

/// An exported symbol.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) struct Export {
    pub(super) name: String,
    pub(super) version: String,
    /// True if linkers find it without a version.
    is_default: bool,
    pub(super) kind: String,
    /// The size, for data only.
    size: String,
    binding: String,
    visibility: String,
}

impl Export {
    pub(super) fn versioned(&self) -> String {
        format!("{}@{}", self.name, self.version)
    }
}

/// The symbols that a library exports, as readelf prints them.
pub(super) fn exports(library: &Path) -> BTreeSet<Export> {
    let output = clean("readelf").args(["-W", "--dyn-syms"]).arg(library).output();
    let text = String::from_utf8(output.expect("readelf runs").stdout).expect("text");
    let mut out = BTreeSet::new();
    for line in text.lines() {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [number, value, size, kind, bind, visibility, section, name, ..] = words[..] else {
            continue;
        };
        let is_local = bind == "LOCAL" || ["HIDDEN", "INTERNAL"].contains(&visibility);
        if !number.ends_with(':') || section == "UND" || is_local {
            continue;
        }
        let (name, version) = name.split_once('@').unwrap_or((name, ""));
        let is_default = version.is_empty() || version.starts_with('@');
        let version = version.trim_start_matches('@');
        // Linkers make a symbol of each version, which readelf prints without its version.
        if section == "ABS" && size == "0" && value.bytes().all(|digit| digit == b'0') {
            continue;
        }
        let is_data = kind == "OBJECT" || kind == "TLS";
        out.insert(Export {
            name: name.to_owned(),
            version: version.to_owned(),
            is_default,
            kind: if kind == "IFUNC" { "FUNC" } else { kind }.to_owned(),
            size: if is_data { size } else { "" }.to_owned(),
            binding: bind.to_owned(),
            visibility: visibility.to_owned(),
        });
    }
    out
}

/// The symbols of other libraries of the new side that the library needs. If a lost symbol is
/// among them, no reference breaks.
pub(super) struct Moved(BTreeSet<String>);

impl Moved {
    pub(super) fn new(now: &BTreeMap<String, Library>, library: &Library) -> Self {
        let needed = now.values().filter(|other| library.needed.contains(&other.soname));
        Self(needed.flat_map(|other| exports(&other.path)).map(|export| export.name).collect())
    }

    /// True for a symbol with or without version.
    pub(super) fn has(&self, symbol: &str) -> bool {
        self.0.contains(symbol.split('@').next().unwrap_or(symbol))
    }
}

/// The difference of two sets of exports.
pub(super) fn readelf(old: &BTreeSet<Export>, new: &BTreeSet<Export>, moved: &Moved) -> Said {
    let mut now: BTreeMap<&str, Vec<&Export>> = BTreeMap::new();
    for export in new {
        now.entry(&export.name).or_default().push(export);
    }
    let mut out = Said::default();
    for export in old {
        let Some(all) = now.get(&*export.name) else {
            if !moved.has(&export.name) {
                out.lost.insert(export.versioned());
            }
            continue;
        };
        match all.iter().find(|other| other.version == export.version) {
            None => _ = out.lost.insert(export.versioned()),
            Some(other) => {
                let has_kind = export.kind != "NOTYPE" && other.kind != "NOTYPE";
                let differs = (&other.kind, &other.size) != (&export.kind, &export.size);
                let is_bound_else =
                    (&other.binding, &other.visibility) != (&export.binding, &export.visibility);
                let is_hidden = export.is_default && !all.iter().any(|one| one.is_default);
                // One change of a symbol is reported.
                if has_kind && differs || is_bound_else && !is_hidden {
                    out.data.insert(export.versioned());
                } else if is_hidden {
                    out.hidden.insert(export.versioned());
                    out.lost.insert(export.versioned());
                }
            }
        }
    }
    out
}

/// The symbols and the soname that the second library lacks, according to abidiff.
pub(super) fn abidiff(old: &Path, new: &Path) -> Said {
    // Debug information of one side on this machine would hide symbols. This directory has none.
    let nowhere = old.parent().expect("a directory");
    let mut command = clean("abidiff");
    command.arg("--d1").arg(nowhere).arg("--d2").arg(nowhere).args([old, new]);
    let output = command.output().expect("abidiff runs");
    // Bits 0 and 1 are errors of the tool and of its use.
    let status = output.status.code().expect("a status");
    assert!(
        status.trailing_zeros() >= 2,
        "abidiff {}: {}",
        old.display(),
        String::from_utf8_lossy(&output.stderr)
    );
    let mut out = Said::default();
    for line in String::from_utf8_lossy(&output.stdout).lines() {
        if let Some(rest) = line.trim().strip_prefix("[D] ") {
            let symbol = rest.split(", aliases ").next().unwrap_or(rest);
            let (name, version) = symbol.split_once('@').unwrap_or((symbol, ""));
            out.lost.insert(format!("{name}@{}", version.trim_start_matches('@')));
        }
        if let Some((_, rest)) = line.split_once("SONAME changed from ") {
            out.soname = rest.rsplit('\'').nth(1).map(str::to_owned);
        }
    }
    out
}
