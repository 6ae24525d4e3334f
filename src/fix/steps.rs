//! Fixes that change dynamic sections, one step for each finding. `patch` verifies the steps, and
//! each finding gets its fix with the result.

use super::patch::{Patcher, Step, Verified};
use crate::audit::Audit;
use crate::finding::{Findings, Fix, FixKind, Proof};
use crate::plan::Plan;
use crate::tree::Tree;

/// The inputs of a run of `fix`.
pub(super) struct Work<'a> {
    pub(super) audit: &'a mut Audit,
    pub(super) plan: &'a Plan,
    pub(super) tree: &'a dyn Tree,
}

/// The fix for one finding, before its step is verified.
pub(super) struct Cure {
    /// The index of the finding.
    pub(super) place: usize,
    pub(super) intent: FixKind,
    /// The text that is added, dropped or set, for the report.
    pub(super) entry: Option<Vec<u8>>,
    pub(super) step: Step,
    /// The reason why the fix stays a suggestion although the verification succeeds.
    pub(super) doubt: Option<&'static str>,
}

/// Verifies the steps in addition to `verified`, attaches the fixes to their findings, and returns
/// all verified changes except the changes with a `doubt`. `said` describes the verification.
pub(super) fn attach(
    work: &mut Work<'_>,
    findings: &mut Findings,
    verified: Verified,
    cures: Vec<Cure>,
    said: &'static str,
) -> Verified {
    let (doubtful, certain): (Vec<Cure>, Vec<Cure>) =
        cures.into_iter().partition(|cure| cure.doubt.is_some());
    let verified = run(work, findings, verified, certain, said);
    run(work, findings, verified.clone(), doubtful, said);
    verified
}

fn run(
    Work { audit, plan, tree }: &mut Work<'_>,
    findings: &mut Findings,
    verified: Verified,
    cures: Vec<Cure>,
    said: &'static str,
) -> Verified {
    let mut steps = Vec::new();
    let mut fixes = Vec::new();
    for Cure { place, intent, entry, step, doubt } in cures {
        steps.push(step);
        fixes.push((place, intent, entry, doubt));
    }
    let (settled, verified) = Patcher::new(audit, plan, *tree, verified).run(&steps);
    for ((place, intent, entry, doubt), settled) in fixes.into_iter().zip(settled) {
        let proof = match (&settled, doubt) {
            (Ok(_), None) => Proof::Proven(said.into()),
            (Ok(_), Some(doubt)) => Proof::Unknown(doubt.into()),
            (Err(why), _) => Proof::Unknown(why.as_str().into()),
        };
        let replaced = settled.into_iter().flat_map(|patch| patch.replaced.into_values());
        let add = |entry| Fix::new(FixKind::AddSearchPath, Some(entry), proof.clone());
        let added: Vec<Fix> = replaced.map(add).collect();
        findings[place].fix = vec![Fix::new(intent, entry, proof)];
        findings[place].fix.extend(added);
    }
    verified
}
