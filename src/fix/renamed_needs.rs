//! Renames needs for missing libraries that the prefix has under another name. The need is a path
//! into a build directory, or the library lacks the link for its soname. `patch` verifies that the
//! new name is found.

use super::patch::{Patch, Step, Verified};
use super::search_path::entry;
use super::steps::{self, Cure, Work};
use crate::audit::{Audit, LoadError};
use crate::finding::{EvidenceKind, Finding, Findings, FixKind};
use crate::format::elf::Object;
use crate::text::last_part;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Attaches fixes to findings about missing libraries. Findings that have a fix keep it. Returns
/// `verified` with the verified changes of these fixes added.
pub(super) fn attach(work: &mut Work<'_>, findings: &mut Findings, verified: Verified) -> Verified {
    let found = findings.iter().enumerate();
    let cures = found.filter_map(|(place, finding)| cure(work, place, finding)).collect();
    steps::attach(work, findings, verified, cures, "resolved and bound again with the new name")
}

fn cure(work: &Work<'_>, place: usize, finding: &Finding) -> Option<Cure> {
    let audit = &*work.audit;
    let is_open = finding.rule == *"missing-library" && finding.fix.is_empty();
    let library = finding.library.as_deref().filter(|_| is_open)?;
    let path = finding.full_path();
    let file = audit.corpus.file_at(&path)?;
    let object = audit.corpus.files[file].object().filter(|object| object.is_dynamic())?;
    // The finding may be about PT_INTERP, which is not a need.
    object.needs.iter().find(|need| object.str(need.name) == library)?;
    let prefix = finding.file.prefix.as_deref()?;
    let candidates = finding.evidence_of(EvidenceKind::Candidate).filter(|e| !e.is_of_system());
    let mut paths = candidates.filter_map(|e| e.path.as_deref());
    let candidate = paths.find(|path| path.starts_with(prefix) && is_it(audit, path, library))?;
    let new = last_part(candidate.as_os_str().as_bytes());
    let renamed_needs = [(library.to_vec(), new.to_vec())].into_iter().collect();
    let rename = Patch { renamed_needs, ..Patch::default() };
    let mut ways = vec![rename.clone()];
    let entry = entry(work.tree, &path, candidate.parent()?)?.into_os_string();
    if !entry.as_bytes().contains(&b':') {
        let entries = [(new.to_vec(), entry.as_bytes().to_vec())].into_iter().collect();
        ways.push(Patch { entries, ..rename });
    }
    let cures = vec![LoadError::new(file, "missing", library, None)];
    let step = Step { file, ways, cures };
    Some(Cure { place, intent: FixKind::RenameNeed, entry: Some(new.to_vec()), step, doubt: None })
}

/// True if a candidate is the needed library. Its file name is the last part of a needed path, or
/// its soname is the needed name.
fn is_it(audit: &Audit, candidate: &Path, library: &[u8]) -> bool {
    let has_name = last_part(candidate.as_os_str().as_bytes()) == last_part(library);
    let file = audit.corpus.file_at(candidate);
    let object = file.and_then(|file| audit.corpus.files[file].object());
    let soname = object.and_then(Object::soname);
    if library.contains(&b'/') { has_name } else { !has_name && soname == Some(library) }
}
