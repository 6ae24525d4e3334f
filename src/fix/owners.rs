//! Names the packages of archives in findings and in the proposal, so that a person can add these
//! packages to the dependencies of a build. In findings, a package is evidence, which does not
//! change levels, causes and fingerprints. `cli::run` calls this module after `propose`.

use super::propose::Proposal;
use crate::audit::{ArchiveOwner, ArchiveOwners, Audit};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings, FixKind, INSTALLED, REMOVED};
use crate::format::deps_list::bare_name;
use crate::id::FastSet;
use crate::merged::runtime::is_runtime;
use crate::order;
use crate::plan::Plan;
use crate::tree::Tree;
use crate::wants::Wants;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Attaches the packages of candidate archives to the evidence about these archives. If a finding
/// names an archive that was not read, installed archives of that name are attached too.
pub fn attach(
    (audit, plan, tree): (&Audit, &Plan, &dyn Tree),
    findings: &mut Findings,
    proposal: Option<&mut Proposal>,
) {
    // If the policy lists the allowed libraries of the system, the report must be the same on every
    // machine.
    if !plan.rule_wants.holds(Wants::INSTALLED)
        || plan.policy.is_closed()
        || plan.every_file_is_root
    {
        return;
    }
    let entries = audit.library.entries();
    let files = entries.filter_map(|(_, entry)| Some(entry.path.file_name()?.as_bytes()));
    let read: FastSet<&[u8]> =
        files.flat_map(|file| [file, bare_name(file).unwrap_or(file)]).collect();
    let missing = |finding: &Finding| missing(finding, &read);
    // Thousands of findings name the same few archives.
    let found: FastSet<&Path> =
        findings.iter().flat_map(|finding| &finding.evidence).filter_map(candidate).collect();
    let mut paths: BTreeSet<PathBuf> = order::set(found.into_iter().map(Path::to_path_buf));
    let added = proposal.iter().flat_map(|one| one.remedy.added());
    paths.extend(added.cloned());
    // A build needs the package that has the development link of a library.
    paths.extend(proposal.iter().flat_map(|one| one.remedy.libraries.values().cloned()));
    let names: BTreeSet<Vec<u8>> = findings.iter().flat_map(|f| missing(f)).collect();
    let owners = ArchiveOwners::find(tree, &paths, &names);
    let is_there = |path: &Path| tree.kind(path).is_ok();
    for finding in findings.iter_mut() {
        for evidence in &mut finding.evidence {
            if let Some(owner) = candidate(evidence).and_then(|path| owners.of(path)) {
                name(evidence, owner);
            }
        }
        let names = missing(finding);
        let found = names.iter().flat_map(|name| owners.named(name));
        let found = found.filter(|owner| !is_runtime(&owner.path, &is_there));
        finding.evidence.extend(found.map(installed));
    }
    if let Some(proposal) = proposal {
        let owner = |path: &PathBuf| {
            let owner = owners.of(proposal.remedy.link_path(path))?;
            Some((path.clone(), owner.clone()))
        };
        proposal.owners = proposal.remedy.added().filter_map(owner).collect();
    }
}

fn is_archive(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().ends_with(b".a"))
}

/// The archive of a candidate that was read; `None` for other evidence.
fn candidate(evidence: &Evidence) -> Option<&Path> {
    let is_it = evidence.kind == EvidenceKind::Candidate && !evidence.is_of_system();
    let path = evidence.path.as_deref().filter(|_| is_it)?;
    (evidence.member.is_some() || is_archive(path)).then_some(path)
}

/// Names of archives that an unverified fix of the finding suggests, or that `deps-list-drift`
/// expects on a list. Names in `read` are left out: the file names and bare names of archives that
/// were read.
fn missing(finding: &Finding, read: &FastSet<&[u8]>) -> BTreeSet<Vec<u8>> {
    let is_suggestion =
        |intent: FixKind| matches!(intent, FixKind::AddToList | FixKind::LinkArchive);
    let fixes = finding.fix.iter().filter(|fix| is_suggestion(fix.intent) && !fix.is_proven());
    let suggested = fixes.filter_map(|fix| fix.entry.clone());
    let is_list = finding.rule == *"deps-list-drift";
    let listed = finding.evidence_of(EvidenceKind::Provider).filter(|_| is_list);
    let listed = listed.filter_map(|evidence| evidence.name.clone());
    let names = suggested.chain(listed);
    names.filter(|name| !name.contains(&b'/') && !read.contains(&**name)).collect()
}

fn name(evidence: &mut Evidence, owner: &ArchiveOwner) {
    evidence.package.clone_from(&owner.package);
    evidence.pkg_config = owner.pkg_config.as_deref().map(Box::from);
    evidence.cmake = owner.cmake.clone().map(Box::new);
}

/// The evidence for an installed archive: a candidate that was not read.
fn installed(owner: &ArchiveOwner) -> Evidence {
    let how = if owner.exists { INSTALLED } else { REMOVED };
    let path = Arc::clone(&owner.path);
    let mut out = Evidence {
        how: Some(Cow::Borrowed(how)),
        minor: true,
        ..Evidence::at(EvidenceKind::Candidate, path)
    };
    name(&mut out, owner);
    out
}
