//! Entries of search paths with which the loader finds missing libraries of the same prefix.
//! `patch` verifies the entries. `propose` calls this module.

use super::patch::{Patch, Patcher, Step, Verified};
use crate::audit::{Audit, LoadError};
use crate::bind::lookup::definition;
use crate::finding::{EvidenceKind, Finding, Findings, Fix, FixKind, Proof};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{EVERY_VERSION, Object, hash};
use crate::id::FileId;
use crate::package::search_entry;
use crate::plan::Plan;
use crate::text::last_part;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

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
    let wanted = wanted(audit, findings).into_iter();
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
/// come first, then shorter entries.
fn wanted(audit: &Audit, findings: &Findings) -> BTreeMap<FileId, Ways> {
    let mut out: BTreeMap<FileId, Ways> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.rule == *"missing-library") {
        let (path, library) = (finding.full_path(), finding.library.as_deref());
        let (Some(file), Some(library)) = (audit.corpus.file_at(&path), library) else { continue };
        let is_patchable = audit.corpus.files[file].object().is_some_and(Object::is_dynamic);
        if !is_patchable || library.contains(&b'/') {
            continue;
        }
        let mut ways: Vec<(usize, Vec<u8>)> = candidates(finding, library)
            .filter_map(|candidate| {
                let way = search_entry(&path, candidate.parent()?)?;
                let way = way.into_os_string().as_bytes().to_vec();
                (!way.contains(&b':')).then(|| (lacks(audit, finding, candidate), way))
            })
            .collect();
        ways.sort_by(|(lacks, a), (more, b)| (lacks, a.len(), a).cmp(&(more, b.len(), b)));
        let mut ways: Vec<Vec<u8>> = ways.into_iter().map(|(_, way)| way).collect();
        ways.dedup();
        ways.truncate(MOST);
        if !ways.is_empty() {
            out.entry(file).or_default().insert(library.to_vec(), ways);
        }
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
