//! Suggests fixes for missing files and components. If a text file of a package names a missing
//! file, or a policy requires a missing file, the fix installs the missing file. If a component is
//! missing, the fix builds the component. The suggested source is a file of the same name in a
//! prefix with missing files, or below `--lib-path`. These fixes are never verified, because the
//! source may be a different file of the same name.

use crate::audit::named_below;
use crate::finding::{Finding, Findings, Fix, FixKind, Proof};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::tree::{EntryType, Tree};
use std::cmp::Reverse;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A finding with the possible paths of its missing file, relative to the prefix, or absolute if
/// outside of it.
struct MissingPath {
    place: usize,
    prefix: PathBuf,
    files: Vec<PathBuf>,
}

/// Attaches suggestions to findings about missing files and components, if the findings have no
/// fix.
pub(super) fn attach(plan: &Plan, tree: &dyn Tree, findings: &mut Findings) {
    let mut wanted = Vec::new();
    for (place, finding) in findings.iter_mut().enumerate().filter(|(_, f)| f.fix.is_empty()) {
        if let Some(component) = component(finding) {
            let why = "build the package with it and audit again";
            let fix = Fix::new(FixKind::BuildComponent, Some(component), unknown(why));
            finding.fix.push(fix);
            continue;
        }
        let (files, prefix) = (files(tree, finding), finding.file.prefix.clone());
        if let (false, Some(prefix)) = (files.is_empty(), prefix) {
            wanted.push(MissingPath { place, prefix, files });
        }
    }
    let names = wanted.iter().flat_map(|wanted| &wanted.files);
    let names: FastSet<OsString> =
        names.filter_map(|path| Some(path.file_name()?.into())).collect();
    if names.is_empty() {
        return;
    }
    // Paths are made absolute, because reports and scripts may be used in another directory.
    let directories = plan.lib_paths.iter().chain(wanted.iter().map(|wanted| &wanted.prefix));
    let mut directories: Vec<PathBuf> = directories.map(|dir| plan.cwd.join(dir)).collect();
    directories.arrange();
    directories.dedup();
    let mut found: FastMap<OsString, Vec<PathBuf>> = FastMap::default();
    for directory in directories {
        for (name, paths) in named_below(tree, &directory, &names) {
            found.entry(name).or_default().extend(paths);
        }
    }
    for MissingPath { place, prefix, files } in wanted {
        findings[place].fix.push(install(&plan.cwd.join(prefix), &files, &found));
    }
}

fn unknown(why: &str) -> Proof {
    Proof::Unknown(why.into())
}

/// The component that was not built, or that a policy requires, according to the finding. `None`
/// for findings of other rules.
fn component(finding: &Finding) -> Option<Vec<u8>> {
    let detail = finding.detail.as_deref()?;
    match finding.rule.as_str() {
        "cmake-unbuilt-component" => Some(detail.to_vec()),
        // The detail is `PACKAGE/COMPONENT`.
        "required-package" => {
            let slash = detail.iter().position(|byte| *byte == b'/')?;
            Some(detail[slash + 1..].to_vec())
        }
        _ => None,
    }
}

/// The possible paths of the file that a finding misses, relative to the prefix, or absolute if
/// outside of it. Empty for findings of other rules, for patterns and for directories.
fn files(tree: &dyn Tree, finding: &Finding) -> Vec<PathBuf> {
    let path = |bytes: &[u8]| PathBuf::from(OsString::from_vec(bytes.to_vec()));
    let Some(detail) = finding.detail.as_deref() else {
        let is_pattern = |text: &[u8]| text.iter().any(|byte| b"*?[{\\".contains(byte));
        let required = finding.rule == *"required-file"
            && !is_pattern(finding.file.path.as_os_str().as_bytes());
        return if required { vec![finding.file.path.clone()] } else { Vec::new() };
    };
    match finding.rule.as_str() {
        "cmake-missing-file" | "text-missing-path" => vec![path(detail)],
        "missing-header" => header(tree, finding, &path(detail)).into_iter().collect(),
        "pkgconfig-missing-file" => {
            // The parent directory of `pkgconfig` has the libraries of the package.
            let lib = finding.file.path.parent().and_then(Path::parent).unwrap_or(Path::new(""));
            match detail.strip_prefix(b"-l") {
                Some(name) => match name.strip_prefix(b":") {
                    Some(file) => vec![lib.join(path(file))],
                    None => [&b".so"[..], b".a"]
                        .map(|end| lib.join(path(&[b"lib", name, end].concat())))
                        .into(),
                },
                // A missing directory (`-L`, `-I`) gets no fix, because installing its files
                // creates it.
                None if detail.starts_with(b"-") => Vec::new(),
                None => vec![path(detail)],
            }
        }
        _ => Vec::new(),
    }
}

/// The expected path of a header in the prefix:
/// - beside the including file, if the name has no directory, or if its first directory exists
///   there (`#include "detail/b.h"`)
/// - else in the outermost `include` directory above the including file; `None` if there is none
fn header(tree: &dyn Tree, finding: &Finding, name: &Path) -> Option<PathBuf> {
    let beside = finding.file.path.parent()?;
    let prefix = finding.file.prefix.as_deref()?;
    let first = Path::new(name.iter().next()?);
    let is_beside =
        first == name || tree.kind(&prefix.join(beside).join(first)) == Ok(EntryType::Directory);
    let above = beside.ancestors();
    let include = above.filter(|dir| dir.file_name() == Some(OsStr::new("include"))).last();
    Some(if is_beside { beside } else { include? }.join(name))
}

/// The fix that installs one of `files`: the first for which a file with the same name was found.
/// If there is none, the fix names the first of `files` and has no source.
fn install(prefix: &Path, files: &[PathBuf], found: &FastMap<OsString, Vec<PathBuf>>) -> Fix {
    for file in files {
        let named = file.file_name().and_then(|name| found.get(name));
        let missing = prefix.join(file);
        let mut named: Vec<&PathBuf> =
            named.into_iter().flatten().filter(|path| **path != missing).collect();
        named.arrange_by(|a, b| {
            Reverse(common_end(a, &missing)).cmp(&Reverse(common_end(b, &missing))).then(a.cmp(b))
        });
        named.dedup();
        if let Some(from) = named.first() {
            let why = match named.len() {
                1 => "a file of this name exists, and may be another one".to_owned(),
                n => format!("{n} files have this name"),
            };
            let entry = Some(file.as_os_str().as_bytes().to_vec());
            let from = Some(Arc::from(from.as_path()));
            return Fix { from, ..Fix::new(FixKind::InstallFile, entry, unknown(&why)) };
        }
    }
    let entry = files.first().map(|file| file.as_os_str().as_bytes().to_vec());
    let why = "no file of this name is in the prefix or below --lib-path";
    Fix::new(FixKind::InstallFile, entry, unknown(why))
}

/// Number of equal components at the ends of two paths.
fn common_end(a: &Path, b: &Path) -> usize {
    a.components().rev().zip(b.components().rev()).take_while(|(a, b)| a == b).count()
}
