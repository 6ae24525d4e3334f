//! Repairs search paths that a policy does not allow: changes the tag, or drops entries. `patch`
//! verifies that the same files are loaded.

use super::patch::{Patch, PathTag, Step, Verified};
use super::steps::{self, Cure, Work};
use crate::audit::Audit;
use crate::finding::{Finding, Findings, FixKind};
use crate::plan::Plan;
use crate::policy::SearchTag;

/// Attaches fixes to findings of `search-path-policy`. Returns `verified` with the verified changes
/// of these fixes added.
pub(super) fn attach(work: &mut Work<'_>, findings: &mut Findings, verified: Verified) -> Verified {
    let found = findings.iter().enumerate();
    let (audit, plan) = (&*work.audit, work.plan);
    let cures = found.filter_map(|(place, finding)| cure(audit, plan, place, finding)).collect();
    let said = "resolved and bound again with the new search paths";
    steps::attach(work, findings, verified, cures, said)
}

fn cure(audit: &Audit, plan: &Plan, place: usize, finding: &Finding) -> Option<Cure> {
    if finding.rule != *"search-path-policy" {
        return None;
    }
    let file = audit.corpus.file_at(&finding.full_path())?;
    let required = plan.policy.search_path.require.as_ref().map(|(tag, _)| *tag);
    let (intent, entry, way) = match (&finding.detail, required) {
        (Some(entry), _) => {
            let dropped = [entry.clone()].into_iter().collect();
            let way = Patch { dropped, ..Patch::default() };
            (FixKind::DropSearchEntry, Some(entry.clone()), way)
        }
        (None, Some(SearchTag::Rpath)) => set(PathTag::Rpath, b"DT_RPATH"),
        (None, Some(SearchTag::Runpath)) => set(PathTag::Runpath, b"DT_RUNPATH"),
        (None, Some(SearchTag::None)) => {
            let object = audit.corpus.files[file].object()?;
            let path = object.search_path().map(<[u8]>::to_vec);
            (FixKind::DropSearchEntry, path, Patch { no_path: true, ..Patch::default() })
        }
        (None, None) => return None,
    };
    let step = Step { file, ways: vec![way], cures: Vec::new() };
    Some(Cure { place, intent, entry, step, doubt: None })
}

fn set(tag: PathTag, name: &[u8]) -> (FixKind, Option<Vec<u8>>, Patch) {
    let way = Patch { tag: Some(tag), ..Patch::default() };
    (FixKind::SetSearchTag, Some(name.to_vec()), way)
}
