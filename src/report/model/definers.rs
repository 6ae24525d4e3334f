//! Chooses among the files that define an undefined symbol. An object should be linked with the
//! file that defines the most of its undefined symbols. Other candidates may be unrelated libraries
//! that define a function with a common name, such as `xstrdup`. `build` counts the definitions
//! before `cause` names the causes.

use super::finding::ReportFinding;
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding};
use crate::id::FastMap;
use crate::package::Located;
use std::path::Path;
use std::sync::Arc;

/// For each object, the number of its undefined symbols that each candidate defines.
#[derive(Default)]
pub(super) struct Definers(FastMap<Arc<Located>, FastMap<Arc<Path>, usize>>);

impl Definers {
    /// Counts the candidates of a finding about an undefined symbol of a linked object. Findings
    /// about archives are left out, because each member is linked with the libraries that it needs
    /// itself.
    pub(super) fn count(&mut self, finding: &Finding) {
        if !matches!(finding.cause, Some(CauseHint::UndefinedIn)) {
            return;
        }
        // Several members of an archive may define the symbol. The archive is counted once.
        let mut met: Vec<&Arc<Path>> = Vec::new();
        for path in linkable(&finding.evidence) {
            if !met.contains(&path) {
                met.push(path);
            }
        }
        if met.is_empty() {
            return;
        }
        let counts = self.0.entry(Arc::clone(&finding.file)).or_default();
        for path in met {
            *counts.entry(Arc::clone(path)).or_default() += 1;
        }
    }

    /// The candidate that defines the most undefined symbols of the finding's object. If several
    /// candidates define equally many, the first of them. `None` if there is no candidate.
    pub(super) fn preferred<'f>(&self, finding: &'f ReportFinding) -> Option<&'f Path> {
        let counts = self.0.get(&finding.file);
        let count = |path: &&Arc<Path>| counts.and_then(|counts| counts.get(*path)).copied();
        // `max_by_key` returns the last of equal candidates, so the order is reversed.
        linkable(&finding.evidence).rev().max_by_key(count).map(|path| &**path)
    }
}

/// The candidates outside of the system that are not programs.
fn linkable(evidence: &[Evidence]) -> impl DoubleEndedIterator<Item = &Arc<Path>> {
    let candidates = evidence.iter().filter(|one| one.kind == EvidenceKind::Candidate);
    let linkable = candidates.filter(|one| !one.is_of_system() && !one.is_program());
    linkable.filter_map(|one| one.path.as_ref())
}
