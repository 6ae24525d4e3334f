//! Needed libraries that an object does not use. `patch` verifies that all bindings stay the same
//! without them, and that no constructor is lost.

use super::patch::{Patch, Step, Verified, below};
use super::steps::{self, Cure, Work};
use crate::audit::Audit;
use crate::finding::{EvidenceKind, Finding, Findings, FixKind};
use crate::format::elf::{Object, RefKind};
use crate::id::FileId;

/// Attaches fixes to findings, and adds the verified changes to `verified`.
pub(super) fn attach(work: &mut Work<'_>, findings: &mut Findings, verified: Verified) -> Verified {
    let unused = findings.iter().enumerate();
    let cures = unused.filter_map(|(place, finding)| cure(work.audit, place, finding)).collect();
    let said = "resolved and bound again without the library";
    steps::attach(work, findings, verified, cures, said)
}

fn cure(audit: &Audit, place: usize, finding: &Finding) -> Option<Cure> {
    let library = finding.library.clone().filter(|_| finding.rule == *"unused-library")?;
    let file = audit.corpus.file_at(&finding.full_path())?;
    let object = audit.corpus.files[file].object()?;
    let dropped_needs = [library.clone()].into_iter().collect();
    let patch = Patch { dropped_needs, ..Patch::default() };
    // patchelf leaves the needed versions in the file. The loader then stops, because it expects
    // their library.
    let mut versions = object.versions.needs.iter();
    let doubt = if versions.any(|version| object.str(version.file) == library) {
        Some("the file needs versions of the library: link it again with --as-needed")
    } else if is_only_definer(audit, finding, file, &patch) {
        Some("another program may need the library for its symbols")
    } else {
        None
    };
    let ways = vec![patch];
    let step = Step { file, ways, cures: Vec::new() };
    Some(Cure { place, intent: FixKind::DropNeed, entry: Some(library), step, doubt })
}

/// True if the file refers to a symbol that only this library defines among the libraries that the
/// file loads. Now the reference binds to a program that defines the symbol too. Another program
/// may lack the symbol.
fn is_only_definer(audit: &Audit, finding: &Finding, file: FileId, patch: &Patch) -> bool {
    let object_of = |file: FileId| audit.corpus.files[file].object();
    let mut providers = finding.evidence_of(EvidenceKind::Provider);
    let library = providers.find_map(|one| object_of(audit.corpus.file_at(one.path.as_deref()?)?));
    let sites = audit.closures.roots.iter().find_map(|closure| {
        let (module, _) = closure.found().find(|(_, found)| *found == file)?;
        Some((closure, module))
    });
    let Some((object, library)) = object_of(file).zip(library) else { return false };
    let Some((closure, module)) = sites else { return false };
    let files: Verified = [(file, patch.clone())].into_iter().collect();
    let others: Vec<&Object> = below(audit, closure, &files, vec![module])
        .into_iter()
        .filter_map(|module| object_of(closure.module(module).file?))
        .collect();
    let is_bound = |kind| matches!(kind, RefKind::Strong | RefKind::Weak);
    let names = object.references.iter().filter(|one| is_bound(one.kind));
    names.map(|one| object.reference_name(one)).any(|name| {
        library.satisfies_link(name) && !others.iter().any(|other| other.satisfies_link(name))
    })
}
