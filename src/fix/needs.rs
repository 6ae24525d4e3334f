//! Adds missing needs (DT_NEEDED) for shared libraries that objects use, as patchelf does.
//! `libraries` finds the libraries that define undefined symbols. Findings of `indirect-library`
//! name the libraries that a file uses without needing them. A need is verified without linking the
//! file again.

use super::patch::{Patch, Patcher, Step, Verified};
use super::search_path::entry;
use super::steps::{self, Cure, Work};
use crate::audit::{Audit, LoadError};
use crate::finding::{EvidenceKind, Finding, Findings, FixKind};
use crate::id::FileId;
use crate::plan::Plan;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Tries a need for each library of a verified `LinkLibrary` fix, and adds the verified needs to
/// `verified`.
pub(super) fn attach(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    findings: &Findings,
    verified: Verified,
) -> Verified {
    let mut wanted: BTreeMap<(FileId, FileId), Vec<LoadError>> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.rule == *"undefined-symbol") {
        // A fix that also adds an archive requires a new link of the file.
        let [fix] = finding.fix.as_slice() else { continue };
        let is_library = fix.intent == FixKind::LinkLibrary && fix.is_proven();
        let library = fix.entry.as_deref().filter(|_| is_library);
        let at = |path: &[u8]| audit.corpus.file_at(Path::new(OsStr::from_bytes(path)));
        let file = audit.corpus.file_at(&finding.full_path());
        let Some((file, library)) = file.zip(library.and_then(at)) else { continue };
        let symbol = finding.symbol.as_deref().unwrap_or_default();
        let error = LoadError::new(file, "undefined", symbol, finding.version.as_deref());
        wanted.entry((file, library)).or_default().push(error);
    }
    let steps = wanted.into_iter().filter_map(|((file, library), cures)| {
        let ways = ways(audit, tree, file, library)?;
        Some(Step { file, ways, cures })
    });
    let steps: Vec<Step> = steps.collect();
    Patcher::new(audit, plan, tree, verified).run(&steps).1
}

/// Attaches fixes that add needs for indirect libraries. A file uses such a library, which is
/// loaded only because other libraries need it. Adds the verified needs to `verified`.
pub(super) fn attach_indirect(
    work: &mut Work<'_>,
    findings: &mut Findings,
    verified: Verified,
) -> Verified {
    let found = findings.iter().enumerate();
    let cures = found.filter_map(|(place, finding)| indirect(work, place, finding)).collect();
    let said = "resolved and bound again with the library as a need";
    steps::attach(work, findings, verified, cures, said)
}

fn indirect(work: &Work<'_>, place: usize, finding: &Finding) -> Option<Cure> {
    let audit = &*work.audit;
    let mut providers = finding.evidence_of(EvidenceKind::Provider);
    let provider =
        providers.next().filter(|_| finding.rule == *"indirect-library")?.path.clone()?;
    let file = audit.corpus.file_at(&finding.full_path())?;
    let ways = ways(audit, work.tree, file, audit.corpus.file_at(&provider)?)?;
    let entry = Some(provider.as_os_str().as_bytes().to_vec());
    let step = Step { file, ways, cures: Vec::new() };
    Some(Cure { place, intent: FixKind::LinkLibrary, entry, step, doubt: None })
}

/// The alternatives: the need alone, and, if both files are in one prefix, the need with a
/// search-path entry. `None` if the file already needs the name.
fn ways(audit: &Audit, tree: &dyn Tree, file: FileId, library: FileId) -> Option<Vec<Patch>> {
    let facts = &audit.corpus.files[library];
    let name = facts.library_name().to_vec();
    let object = audit.corpus.files[file].object()?;
    if object.needs.iter().any(|need| object.str(need.name) == name) {
        // The loader found another file of this name.
        return None;
    }
    let need = Patch { needs: [name.clone()].into_iter().collect(), ..Patch::default() };
    let prefix = |file: FileId| audit.prefixes.locate(&audit.corpus.files[file].path).prefix;
    let mut out = vec![need.clone()];
    if prefix(file) == prefix(library) {
        let entry = entry(tree, &audit.corpus.files[file].path, facts.path.parent()?)?;
        let entry = entry.into_os_string().as_bytes().to_vec();
        if !entry.contains(&b':') {
            out.push(Patch { entries: [(name, entry)].into_iter().collect(), ..need });
        }
    }
    Some(out)
}
