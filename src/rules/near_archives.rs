//! Near misses in archives: definitions that nearly fit a symbol. They are evidence for
//! `uncovered-symbol`, and for `undefined-symbol` if archive members refer to the symbol. The
//! lookup runs after the rules, because it must read the indices of the archives again.

use super::near::{NearMisses, NearQuery};
use crate::audit::Audit;
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::elf::Target;
use crate::id::ArchiveId;
use crate::tree::Tree;
use std::sync::Arc;

/// The target of a finding's file; for an archive, the target of the first member that has one.
/// `None` if the target is not known.
fn target(audit: &Audit, finding: &Finding) -> Option<Target> {
    let file = audit.corpus.file_at(&finding.full_path())?;
    let object = audit.corpus.files[file].object().map(|object| object.header.target());
    object.or_else(|| {
        let archive = audit.library.archive(file)?;
        audit.library.entry(archive).members.list.iter().find_map(|member| member.target)
    })
}

/// Adds near misses to findings about references of archive members. Findings that already have a
/// candidate or a near miss are left out.
pub fn attach(audit: &Audit, tree: &dyn Tree, findings: &mut Findings) {
    if audit.library.members() == 0 {
        return;
    }
    let asked = |finding: &Finding| {
        let mut of = finding.evidence.iter();
        let is_traced = || {
            let mut of = finding.evidence_of(EvidenceKind::Reference);
            of.any(|evidence| evidence.member.is_some())
        };
        let has_other =
            of.any(|e| matches!(e.kind, EvidenceKind::Candidate | EvidenceKind::NearMiss));
        let is_about_archives = finding.rule == *"uncovered-symbol"
            || finding.rule == *"undefined-symbol" && is_traced();
        is_about_archives && !has_other
    };
    let open = findings.iter().filter(|finding| asked(finding));
    let names: Vec<&[u8]> = open.filter_map(|finding| finding.symbol.as_deref()).collect();
    if names.is_empty() {
        return;
    }
    let wanted = NearQuery::new(names.into_iter());
    let archives: Vec<ArchiveId> = audit.library.entries().map(|(archive, _)| archive).collect();
    let members = wanted.in_archives((audit, tree), &archives);
    let members = members.iter().map(|(file, definition)| (*file, definition));
    let near = NearMisses::in_link(&wanted, std::iter::empty(), members);
    for finding in findings.iter_mut().filter(|finding| asked(finding)) {
        let found =
            finding.symbol.as_deref().map(|symbol| near.of_link(symbol, target(audit, finding)));
        finding.evidence.extend(found.into_iter().flatten().map(|miss| Evidence {
            symbol: Some(miss.symbol.to_vec()),
            version: miss.version.map(<[u8]>::to_vec),
            member: miss.member.map(<[u8]>::to_vec),
            reason: Some(miss.reason.to_owned()),
            minor: miss.is_minor,
            ..Evidence::at(EvidenceKind::NearMiss, Arc::clone(&audit.corpus.files[miss.file].path))
        }));
    }
}
