//! Entries of search paths that can go: of directories that do not exist, and of unsafe directories in
//! which no library is found. `patch` verifies that the same files are loaded without them.

use super::patch::{Patch, Patcher, Step, Verified};
use crate::audit::{Audit, EntryState};
use crate::finding::{Finding, Findings, Fix, Intent, Proof};
use crate::id::FileId;
use crate::plan::Plan;
use crate::tree::Tree;

const DEAD: &str = "dead-search-entry";
const UNSAFE: &str = "unsafe-search-entry";
/// The finding of an entry that the audit did not check has this detail.
const UNCHECKED: &[u8] = b"more";

/// Why an entry stays although nothing is found there now.
const MAY_OPEN: &str = "a library that is opened with dlopen may lie there";
const MAY_BRING: &str = "another package may bring the directory";

/// Attaches fixes to findings, and adds those that were verified.
pub(super) fn attach(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    findings: &mut Findings,
    verified: Verified,
) -> Verified {
    let (mut certain, mut doubtful) = (Vec::new(), Vec::new());
    for (place, finding) in findings.iter().enumerate() {
        let Some((file, entry)) = entry(audit, finding) else { continue };
        let dropped = [entry.to_vec()].into_iter().collect();
        let ways = vec![Patch { dropped, ..Patch::default() }];
        let step = Step { file, ways, cures: Vec::new() };
        match doubt(audit, finding, file, entry) {
            None => certain.push((step, place)),
            Some(doubt) => doubtful.push((step, (place, doubt))),
        }
    }
    let (steps, places): (Vec<Step>, Vec<usize>) = certain.into_iter().unzip();
    let (settled, verified) = Patcher::new(audit, plan, tree, verified).run(&steps);
    for (place, settled) in places.into_iter().zip(settled) {
        let proof = match settled {
            Ok(_) => Proof::Proven("resolved and bound again without the entry".into()),
            Err(why) => Proof::Unknown(why.into()),
        };
        drop_entry(&mut findings[place], proof);
    }
    let (steps, places): (Vec<Step>, Vec<(usize, &str)>) = doubtful.into_iter().unzip();
    let (settled, _) = Patcher::new(audit, plan, tree, verified.clone()).run(&steps);
    for ((place, doubt), settled) in places.into_iter().zip(settled) {
        let why = settled.err().unwrap_or_else(|| doubt.to_owned());
        drop_entry(&mut findings[place], Proof::Unknown(why.into()));
    }
    verified
}

/// The file and the entry of a finding about an entry that is of no use.
fn entry<'f>(audit: &Audit, finding: &'f Finding) -> Option<(FileId, &'f [u8])> {
    let is_about = finding.rule == *DEAD || finding.rule == *UNSAFE;
    let entry = finding.detail.as_deref().filter(|entry| is_about && *entry != UNCHECKED)?;
    Some((audit.corpus.file_at(&finding.full_path())?, entry))
}

/// Why it is not certain that nothing will be found through an entry.
fn doubt(audit: &Audit, finding: &Finding, file: FileId, text: &[u8]) -> Option<&'static str> {
    let mut entries = audit.search_entries.get(&file)?.entries.iter();
    let entry = entries.find(|entry| entry.text == text)?;
    if entry.state != EntryState::Absent {
        return Some(MAY_OPEN);
    }
    // Nothing is installed into the directory of a build or of one user, and the prefix is complete.
    let prefix = audit.prefixes.locate(&audit.corpus.files[file].path).prefix;
    let is_own = prefix.is_some_and(|prefix| entry.directory.starts_with(prefix));
    (finding.rule != *UNSAFE && !is_own).then_some(MAY_BRING)
}

fn drop_entry(finding: &mut Finding, proof: Proof) {
    finding.fix = vec![Fix::new(Intent::DropSearchEntry, finding.detail.clone(), proof)];
}
