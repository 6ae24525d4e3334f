//! Needed libraries that an object does not use. `patch` verifies that all bindings stay the same
//! without them, and that no constructor is lost.

use super::patch::{Patch, Step, Verified};
use super::steps::{self, Cure, Work};
use crate::audit::Audit;
use crate::finding::{Finding, Findings, FixKind};

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
    // patchelf leaves the needed versions in the file. The loader then stops, because it expects
    // their library.
    let mut versions = object.versions.needs.iter();
    let doubt = versions
        .any(|version| object.str(version.file) == library)
        .then_some("the file needs versions of the library: link it again with --as-needed");
    let dropped_needs = [library.clone()].into_iter().collect();
    let ways = vec![Patch { dropped_needs, ..Patch::default() }];
    let step = Step { file, ways, cures: Vec::new() };
    Some(Cure { place, intent: FixKind::DropNeed, entry: Some(library), step, doubt })
}
