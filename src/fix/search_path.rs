//! Entries of search paths with which the loader finds missing libraries of the same prefix.
//! `patch` verifies the entries. `propose` calls this module.

use super::patch::{Patch, Patcher, Step, Verified};
use crate::audit::{Audit, LoadError};
use crate::bind::lookup::definition;
use crate::finding::{EvidenceKind, Finding, Findings, Fix, FixKind, Proof};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{EVERY_VERSION, Object, hash};
use crate::id::{FastSet, FileId};
use crate::package::search_entry;
use crate::plan::Plan;
use crate::resolve::ROOT;
use crate::text::last_part;
use crate::tree::{Tree, without_dots};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};

/// Upper bound for the directories that are tried for one library.
const MOST: usize = 4;

/// For each missing library of one file, the entries that would find it, the best first.
type Ways = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// Attaches fixes to findings, and adds the verified changes to `verified`.
pub(super) fn attach(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    findings: &mut Findings,
    verified: Verified,
) -> Verified {
    let wanted = wanted(audit, tree, findings).into_iter();
    let wanted = wanted.flat_map(|(file, ways)| ways.into_iter().map(move |way| (file, way)));
    let (mut steps, mut names) = (Vec::new(), Vec::new());
    for (file, (name, ways)) in wanted {
        let patch = |way: Vec<u8>| Patch {
            entries: [(name.clone(), way)].into_iter().collect(),
            ..Patch::default()
        };
        let cures = vec![LoadError::new(file, "missing", &name, None)];
        steps.push(Step { file, ways: ways.into_iter().map(patch).collect(), cures });
        names.push(name);
    }
    let (settled, verified) = Patcher::new(audit, plan, tree, verified).run(&steps);
    for ((step, name), settled) in steps.iter().zip(&names).zip(settled) {
        let (patch, proof) = match settled {
            Ok(patch) => {
                let said = "resolved and bound again with the new search paths";
                (patch, Proof::Proven(said.into()))
            }
            Err(why) => {
                let first = step.ways.first().cloned().unwrap_or_default();
                (first, Proof::Unknown(why.into()))
            }
        };
        note(audit, (step.file, name), patch.entries.get(name), &proof, findings);
    }
    verified
}

/// For each file and needed name, the entries that would find a candidate of the same prefix.
/// Entries for candidates that define more of the undefined symbols that the library should define
/// come first, then entries by the place of the file, then shorter entries.
fn wanted(audit: &Audit, tree: &dyn Tree, findings: &Findings) -> BTreeMap<FileId, Ways> {
    let mut out: BTreeMap<FileId, Ways> = BTreeMap::new();
    let opened = opened(audit, findings);
    for finding in findings.iter().filter(|finding| finding.rule == *"missing-library") {
        let (path, library) = (finding.full_path(), finding.library.as_deref());
        let (Some(file), Some(library)) = (audit.corpus.file_at(&path), library) else { continue };
        let is_patchable = audit.corpus.files[file].object().is_some_and(Object::is_dynamic);
        if !is_patchable || library.contains(&b'/') {
            continue;
        }
        let mut ways: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        for candidate in candidates(finding, library) {
            let Some(directory) = candidate.parent() else { continue };
            let lacks = lacks(audit, finding, candidate);
            let entries = entries(tree, &path, opened.get(&file), directory);
            let entries = entries.into_iter().enumerate();
            let bytes = entries.map(|(rank, way)| (lacks, rank, way.into_os_string().into_vec()));
            ways.extend(bytes.filter(|(_, _, way)| !way.contains(&b':')));
        }
        ways.sort_by(|(lacks, rank, a), (more, other, b)| {
            (lacks, rank, a.len(), a).cmp(&(more, other, b.len(), b))
        });
        let mut ways: Vec<Vec<u8>> = ways.into_iter().map(|(_, _, way)| way).collect();
        ways.dedup();
        ways.truncate(MOST);
        if !ways.is_empty() {
            out.entry(file).or_default().insert(library.to_vec(), ways);
        }
    }
    out
}

/// The paths by which loaders open the files of findings about missing libraries. Their directories
/// are the values of `$ORIGIN`.
fn opened(audit: &Audit, findings: &Findings) -> BTreeMap<FileId, BTreeSet<PathBuf>> {
    let missing = findings.iter().filter(|finding| finding.rule == *"missing-library");
    let files = missing.filter_map(|finding| audit.corpus.file_at(&finding.full_path()));
    let mut out: BTreeMap<FileId, BTreeSet<PathBuf>> =
        files.map(|file| (file, BTreeSet::new())).collect();
    let mut met = FastSet::default();
    for closure in audit.closures.roots.iter().filter(|closure| met.insert(closure.links_id())) {
        for (module, file) in closure.found().filter(|(module, _)| *module != ROOT) {
            if let Some(paths) = out.get_mut(&file) {
                let path = audit.text(closure.module(module).path);
                paths.insert(without_dots(Path::new(OsStr::from_bytes(path))));
            }
        }
    }
    out
}

/// The entry with which the file at `path` finds libraries in `directory`. It is absolute if another
/// user may start the file with rights that this user does not have: the loader then ignores
/// entries with `$ORIGIN` (`elf/dl-load.c`, `_dl_dst_substitute`).
pub(super) fn entry(tree: &dyn Tree, path: &Path, directory: &Path) -> Option<PathBuf> {
    const SETUID: u32 = 0o4000;
    // Without the right of the group to execute, the bit has another meaning.
    const SETGID: u32 = 0o2010;
    let mode = tree.mode(path).unwrap_or(0);
    if mode & SETUID != 0 || mode & SETGID == SETGID || tree.has_capabilities(path) {
        return Some(directory.to_path_buf());
    }
    search_entry(path, directory)
}

/// The entries with which the file at `path` finds libraries in `directory`, the best first. If
/// links in other directories lead to the file, these are entries by its own place, by the places
/// of the links, and the absolute path.
fn entries(
    tree: &dyn Tree,
    path: &Path,
    opened: Option<&BTreeSet<PathBuf>>,
    directory: &Path,
) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = entry(tree, path, directory).into_iter().collect();
    let opened = opened.into_iter().flatten().filter(|opened| opened.is_absolute());
    let links = opened.filter(|opened| opened.parent() != path.parent());
    out.extend(links.filter_map(|link| search_entry(link, directory)));
    if out.len() > 1 {
        out.push(directory.to_path_buf());
    }
    out
}

/// Number of undefined symbols that the missing library should define and the candidate does not.
fn lacks(audit: &Audit, finding: &Finding, candidate: &Path) -> usize {
    let file = audit.corpus.file_at(candidate);
    let object = file.and_then(|file| audit.corpus.files[file].object());
    let explained =
        finding.evidence_of(EvidenceKind::Explained).filter_map(|e| e.symbol.as_deref());
    let Some(object) = object else { return explained.count() };
    let lacks = |name: &&[u8]| {
        definition(object, &SymbolQuery::new(name, hash::gnu(name), None), EVERY_VERSION).is_none()
    };
    explained.filter(lacks).count()
}

/// The candidates that have the needed name and are in the prefix of the finding.
fn candidates<'f>(finding: &'f Finding, library: &'f [u8]) -> impl Iterator<Item = &'f Path> {
    let prefix = finding.file.prefix.as_deref();
    let candidates = finding.evidence_of(EvidenceKind::Candidate).filter(|e| !e.is_of_system());
    let paths = candidates.filter_map(|e| e.path.as_deref());
    let named = paths.filter(move |path| last_part(path.as_os_str().as_bytes()) == library);
    named.filter(move |path| prefix.is_some_and(|prefix| path.starts_with(prefix)))
}

/// Attaches the fix for one missing library of a file.
fn note(
    audit: &Audit,
    (file, name): (FileId, &[u8]),
    entry: Option<&Vec<u8>>,
    proof: &Proof,
    findings: &mut Findings,
) {
    for finding in findings.iter_mut().filter(|finding| finding.rule == *"missing-library") {
        if finding.library.as_deref() == Some(name)
            && audit.corpus.file_at(&finding.full_path()) == Some(file)
        {
            finding.fix = vec![Fix::new(FixKind::AddSearchPath, entry.cloned(), proof.clone())];
        }
    }
}
