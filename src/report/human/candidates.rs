//! The files that could satisfy an entry, the archive members that refer to its symbols, and the
//! fixes. A candidate has the reason why the loader did not use it.

use super::Sheet;
use crate::demangle::demangle;
use crate::finding::{Evidence, EvidenceKind, Fix, Proof, REMOVED};
use crate::order::Arrange as _;
use crate::report::entry::ReportEntry;
use crate::report::layout::{LabelledLines, name};
use crate::report::model::CauseKind;
use crate::report::{repair, unread};
use crate::text::{show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::path::Path;

/// Maximum number of candidates, and of members, that are listed without `-v`.
const MOST: usize = 5;
/// Maximum number of fixes that are listed without `-v`.
const MOST_FIXES: usize = 20;

/// A candidate with its package, and the symbols that the candidate defines. `reason` says why the
/// loader did not use the candidate.
struct CandidateFile<'a> {
    name: String,
    /// The label of the candidate's line.
    label: &'static str,
    reason: Option<&'a str>,
    symbols: BTreeSet<&'a [u8]>,
}

impl Sheet<'_> {
    /// Writes the members that refer to the symbols, each once, with the archive from which the
    /// member was merged.
    pub(super) fn referrers(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let base = |path: &Path| show_path(path.file_name().map_or(path, Path::new));
        let mut known: BTreeSet<String> = BTreeSet::new();
        let mut shown: Vec<String> = Vec::new();
        for evidence in self.entries.evidence(entry, EvidenceKind::Reference) {
            let (Some(path), Some(member)) = (&evidence.path, &evidence.member) else { continue };
            let from = evidence.archive.as_deref().map(|path| format!(" from {}", base(path)));
            let member = name(&format!("{}({})", base(path), show(member)));
            let text = format!("{member}{}", from.unwrap_or_default());
            if known.insert(text.clone()) {
                shown.push(text);
            }
        }
        let most = page.limit(MOST);
        for text in shown.iter().take(most) {
            page.item("used by", text)?;
        }
        page.more(shown.len().saturating_sub(most), "member", "members")
    }

    /// Writes the candidates, each once, with the number of symbols that they define.
    pub(super) fn candidates(
        &self,
        entry: &ReportEntry<'_>,
        page: &mut LabelledLines<'_>,
    ) -> io::Result<()> {
        let mut places: BTreeMap<(String, Option<&str>), usize> = BTreeMap::new();
        let mut files: Vec<CandidateFile<'_>> = Vec::new();
        let mut all = self.entries.evidence(entry, EvidenceKind::Candidate);
        // A shadowed library may be one of the audited files.
        let is_own = |evidence: &Evidence| {
            let path = evidence.path.as_deref();
            let prefixes = entry.findings.iter().filter_map(|one| one.file.prefix.as_deref());
            path.is_some_and(|path| { prefixes }.any(|prefix| path.starts_with(prefix)))
        };
        // Findings about symbols name members of archives. Findings about lists name the same
        // archives without members. The names without members are dropped.
        let has_members = all.iter().any(|evidence| evidence.member.is_some());
        let by_member = has_members && entry.cause.kind == CauseKind::ArchiveNotListed;
        let unread = unread::lines(all.iter().copied(), page.style.verbose);
        all.retain(|e| !e.is_unread_archive() && (!by_member || e.member.is_some()));
        for evidence in all {
            let mut file = evidence.path.as_deref().map(show_path).unwrap_or_default();
            if let Some(member) = &evidence.member {
                file = format!("{file}({})", show(member));
            }
            let mut file = name(&file);
            if let Some(packages) = repair::packages(evidence) {
                let words: Vec<String> = packages.split(", ").map(name).collect();
                file = format!("{file} ({})", words.join(", "));
            }
            // The reason for an installed file names one program. In a group, each object has a
            // different program.
            let is_installed = evidence.is_of_system();
            let is_kept = !is_installed || entry.group.is_none();
            let reason = evidence.reason.as_deref().filter(|_| is_kept);
            let place = *places.entry((file.clone(), reason)).or_insert(files.len());
            if place == files.len() {
                let label = match evidence.how.as_deref() {
                    Some(REMOVED) => "removed",
                    _ if evidence.is_program() => "program",
                    _ if is_installed && !is_own(evidence) => "installed",
                    _ => "candidate",
                };
                files.push(CandidateFile { name: file, label, reason, symbols: BTreeSet::new() });
            }
            files[place].symbols.extend(evidence.symbol.as_deref());
        }
        files.arrange_by_key(|file| std::cmp::Reverse(file.symbols.len()));
        let most = page.limit(MOST);
        for CandidateFile { name: file, label, reason, symbols } in files.iter().take(most) {
            let defines = match (symbols.len(), entry.symbols()) {
                (1, 1) if matches!(*label, "installed" | "program") => {
                    Some("defines it".to_owned())
                }
                (0, _) | (_, 0 | 1) => None,
                (some, all) if some == all => Some(format!("defines all {all}")),
                (1, _) => symbols.first().map(|raw| format!("defines {}", name(&readable(raw)))),
                (some, all) => Some(format!("defines {some} of {all}")),
            };
            // The heading of a group already says that the list omits these archives.
            let reason = reason.filter(|_| entry.group.is_none());
            let words: Vec<&str> = defines.as_deref().into_iter().chain(reason).collect();
            let words =
                if words.is_empty() { String::new() } else { format!(": {}", words.join(", ")) };
            page.item(label, &format!("{file}{words}"))?;
        }
        page.more(files.len().saturating_sub(most), "candidate", "candidates")?;
        if page.style.verbose {
            for (how, text) in unread {
                page.item(if how == REMOVED { "removed" } else { "installed" }, &text)?;
            }
        }
        Ok(())
    }
}

/// Writes the fixes, each once. Fixes with equal kind, list, set, file and proof share an item.
pub(super) fn fixes(entry: &ReportEntry<'_>, page: &mut LabelledLines<'_>) -> io::Result<()> {
    let mut fixes: Vec<&Fix> = entry.findings.iter().flat_map(|finding| &finding.fix).collect();
    // A fix that is verified for only some of its findings is shown as unverified.
    fixes.arrange_by(|a, b| {
        let [of_a, of_b] = [a, b].map(|fix| key(fix));
        of_a.cmp(&of_b).then(b.proof.cmp(&a.proof))
    });
    fixes.dedup_by_key(|fix| key(fix));
    let hidden = fixes.len().saturating_sub(page.limit(MOST_FIXES));
    fixes.truncate(page.limit(MOST_FIXES));
    let place = |fix: &Fix| (fix.intent, fix.list.clone(), fix.set.clone(), fix.file.clone());
    fixes.sort_by_cached_key(|fix| (place(fix), fix.proof.clone()));
    for alike in fixes.chunk_by(|a, b| place(a) == place(b) && a.proof == b.proof) {
        let Some(first) = alike.first() else { continue };
        let what = repair::action(first);
        let sure = match &first.proof {
            Proof::Proven(_) => "(verified)".to_owned(),
            Proof::Unknown(why) => format!("(not verified: {why})"),
        };
        let shown = |fix: &Fix| {
            let entry = name(&show(fix.entry.as_deref()?));
            let from = fix.from.as_deref().map(|from| format!(" from {}", name(&show_path(from))));
            Some(format!("{entry}{}", from.unwrap_or_default()))
        };
        let entries: Vec<String> = alike.iter().filter_map(|fix| shown(fix)).collect();
        page.item("fix", &format!("{what} {sure}: {}", entries.join(", ")))?;
    }
    page.more(hidden, "fix", "fixes")
}

/// The fields that identify a fix: all but its verification.
fn key(fix: &Fix) -> impl Ord + '_ {
    (fix.intent, &fix.list, &fix.set, &fix.file, &fix.entry, &fix.from)
}

fn readable(raw: &[u8]) -> String {
    demangle(raw).unwrap_or_else(|| show(raw))
}
