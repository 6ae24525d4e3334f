//! Compares the findings of two audits: finds the findings that only one of the reports has, and
//! counts the common findings. A rule that ran in only one of the audits is not compared.

use super::pairs::FilePairs;
use super::sides::Side;
use crate::catalogue::{Level, WAIVERS};
use crate::finding::EvidenceKind;
use crate::id::{FastMap, FastSet};
use crate::report::model::{ReportFinding, RuleRun};
use crate::rules;
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The findings of two audits, compared.
pub(super) struct Audited<'a> {
    /// Findings that only the new report has.
    pub(super) fresh: Vec<ReportFinding>,
    /// Findings that only the old report has.
    pub(super) fixed: Vec<ReportFinding>,
    /// Number of findings in both reports, including findings that the old report waived.
    pub(super) unchanged: usize,
    /// Rules that were not compared. The first list has rules that ran only for the old report. The
    /// second has rules that ran only for the new report and have findings.
    pub(super) apart: [Vec<String>; 2],
    /// Findings about paths that one side could not read. The other side's findings about these
    /// paths are left out of `fresh` and `fixed`.
    pub(super) unread: Vec<&'a ReportFinding>,
}

/// Compares the findings of two audits. A renamed file keeps its findings. Findings of
/// `stale-waiver` are skipped, because they are about the policy.
pub(super) fn audited<'a>(old: &Side<'a>, new: &Side<'a>, pairs: &FilePairs<'_>) -> Audited<'a> {
    let ran = |side: &Side<'_>| -> FastSet<String> {
        side.report.rules.iter().map(|rule| rule.id.clone()).collect()
    };
    let (before, now) = (ran(old), ran(new));
    let counterpart: FastMap<&Path, &Path> =
        pairs.both.iter().map(|(old, new)| (&*new.path, &*old.path)).collect();
    let path_before = |finding: &ReportFinding| {
        let path = finding.full_path();
        counterpart.get(&*path).map_or(path, |path| path.to_path_buf())
    };
    let (mut fixed, mut fresh) = (of_prefix(old), of_prefix(new));
    let count = fresh.len();
    // Files with the same soname may have findings with the same fingerprint. The first key pairs
    // findings of the same file.
    let keys: [[&MakeKey<'_, '_>; 2]; 4] = [
        [&|one| printed(one, one.full_path()), &|one| printed(one, path_before(one))],
        [&|one| printed(one, one.file.path.clone()), &|one| printed(one, one.file.path.clone())],
        [&|one| printed(one, PathBuf::new()), &|one| printed(one, PathBuf::new())],
        [&|one| facts(one, one.full_path()), &|one| facts(one, path_before(one))],
    ];
    for keys in keys {
        cancel(&mut fixed, &mut fresh, keys);
    }
    let mut waived = waived_of_prefix(old);
    // A finding that the old report waived, for example by a baseline, is not new.
    for keys in keys {
        cancel(&mut waived, &mut fresh, keys);
    }
    let unchanged = count - fresh.len();
    let split = |all: Vec<&ReportFinding>, ran: &FastSet<String>| {
        let (both, alone): (Vec<_>, Vec<_>) =
            all.into_iter().partition(|finding| ran.contains(&*finding.rule));
        let rules: BTreeSet<String> =
            alone.iter().map(|finding| finding.rule.to_string()).collect();
        (both.into_iter().cloned().collect::<Vec<_>>(), rules.into_iter().collect::<Vec<_>>())
    };
    let unread = leave_unread_out((old, &mut fixed), (new, &mut fresh), pairs);
    let (fresh, of_new) = split(fresh, &before);
    let (fixed, of_old) = split(fixed, &now);
    Audited { fresh, fixed, unchanged, apart: [with_those_left(old, &now, of_old), of_new], unread }
}

/// Removes findings about files that the other side could not read in full: such findings are
/// neither fixed nor new. Findings of the new side in the group `input` stay. Returns the
/// findings about the unread paths.
fn leave_unread_out<'a>(
    (old, fixed): (&Side<'a>, &mut Vec<&'a ReportFinding>),
    (new, fresh): (&Side<'a>, &mut Vec<&'a ReportFinding>),
    pairs: &FilePairs<'_>,
) -> Vec<&'a ReportFinding> {
    let mut hidden: FastSet<&Path> = pairs.unread.iter().map(|(file, _)| &*file.path).collect();
    for (before, now) in &pairs.both {
        hidden.extend(old.unread.is_damaged(before).then_some(&*now.path));
        hidden.extend(new.unread.is_damaged(now).then_some(&*before.path));
    }
    let mut unread = Vec::new();
    let mut is_left_out = |other: &Side<'a>, finding: &ReportFinding| {
        let found = other.unread.hides(finding);
        unread.extend(found);
        found.is_some() || hidden.contains(&*finding.full_path())
    };
    fixed.retain(|finding| !is_left_out(new, finding));
    let is_input = |id: &str| rules::find(id).is_some_and(|rule| rule.group.is_input);
    fresh.retain(|finding| is_input(&finding.rule) || !is_left_out(old, finding));
    unread
}

/// Adds to `named` the rules that ran only for the old report. The audit of the new version did not
/// run these rules, so it may have missed findings. `now` has the rules of the new report. Rules
/// about waivers and input, and rules that this version of linkaudit does not know, are left out.
fn with_those_left(old: &Side<'_>, now: &FastSet<String>, named: Vec<String>) -> Vec<String> {
    let of_files = |run: &&RuleRun| !run.input && run.group != WAIVERS.name;
    let of_this_version = |run: &&RuleRun| rules::find(&run.id).is_some();
    let ran = old.report.rules.iter().filter(of_files).filter(of_this_version);
    let left = ran.map(|run| run.id.clone()).filter(|id| !now.contains(id));
    left.chain(named).collect::<BTreeSet<_>>().into_iter().collect()
}

fn of_prefix<'a>(side: &Side<'a>) -> Vec<&'a ReportFinding> {
    side.report.findings.iter().filter(|finding| finding.rule != "stale-waiver").collect()
}

fn waived_of_prefix<'a>(side: &Side<'a>) -> Vec<&'a ReportFinding> {
    let all = side.report.waived.iter().map(|waived| &waived.finding);
    all.filter(|finding| finding.rule != "stale-waiver").collect()
}

/// The properties that must be equal in an old and a new finding to pair them.
type FindingKey<'f> = (PathBuf, &'f str, [Option<&'f [u8]>; 6]);
type MakeKey<'k, 'f> = dyn Fn(&'f ReportFinding) -> FindingKey<'f> + 'k;

/// Removes pairs of an old and a new finding with the same key.
fn cancel<'f>(
    old: &mut Vec<&'f ReportFinding>,
    new: &mut Vec<&'f ReportFinding>,
    [key_of_old, key_of_new]: [&MakeKey<'_, 'f>; 2],
) {
    let mut left: BTreeMap<FindingKey<'_>, Vec<&ReportFinding>> = BTreeMap::new();
    for finding in old.drain(..) {
        left.entry(key_of_old(finding)).or_default().push(finding);
    }
    new.retain(|finding| left.get_mut(&key_of_new(finding)).and_then(Vec::pop).is_none());
    old.extend(left.into_values().flatten());
}

fn printed(finding: &ReportFinding, path: PathBuf) -> FindingKey<'_> {
    (path, &finding.fingerprint, [None; 6])
}

fn facts(finding: &ReportFinding, path: PathBuf) -> FindingKey<'_> {
    let ReportFinding { rule, symbol, version, library, target, member, detail, .. } = finding;
    let keys = [symbol, version, library, target, member, detail].map(Option::as_deref);
    (path, rule, keys)
}

/// Removes a new finding about a missing library or an undefined symbol if a finding in `gone`
/// explains it. The finding in `gone` must name the same file and the same library or symbol, and
/// must have at least the same level.
pub(super) fn consequences_apart(
    fresh: Vec<ReportFinding>,
    gone: &[ReportFinding],
) -> Vec<ReportFinding> {
    let mut named: FastMap<(&Path, &[u8]), Level> = FastMap::default();
    for finding in gone {
        let of_library = matches!(&*finding.rule, "removed-library" | "changed-soname");
        if !of_library && finding.rule != "removed-symbol" {
            continue;
        }
        for evidence in finding.evidence_of(EvidenceKind::Change) {
            let name = evidence.symbol.as_deref();
            let name = name.or(finding.library.as_deref().filter(|_| of_library));
            if let (Some(path), Some(name)) = (evidence.path.as_deref(), name) {
                let level = named.entry((path, name)).or_insert(finding.level);
                *level = finding.level.max(*level);
            }
        }
    }
    let follows = |finding: &ReportFinding| {
        let name = match &*finding.rule {
            "missing-library" | "wrong-architecture" => finding.library.as_deref(),
            "undefined-symbol" => finding.symbol.as_deref(),
            _ => None,
        };
        let path = finding.full_path();
        name.and_then(|name| named.get(&(&*path, name)))
            .is_some_and(|level| *level >= finding.level)
    };
    fresh.into_iter().filter(|finding| !follows(finding)).collect()
}

/// Number of new files that do not differ from any of their old versions. A new file may have
/// several old versions. A finding that only one report has is a difference too.
pub(super) fn same_files(
    pairs: &FilePairs<'_>,
    changed: &FastSet<&Path>,
    [fixed, fresh]: [&[ReportFinding]; 2],
) -> usize {
    let paths = |findings: &[ReportFinding]| -> FastSet<PathBuf> {
        findings.iter().map(ReportFinding::full_path).collect()
    };
    let (before, now) = (paths(fixed), paths(fresh));
    let mut is_same: FastMap<&Path, bool> = FastMap::default();
    for (old, new) in &pairs.both {
        let (old, new) = (&*old.path, &*new.path);
        let differs = changed.contains(new) || before.contains(old) || now.contains(new);
        *is_same.entry(new).or_insert(true) &= !differs;
    }
    is_same.into_values().filter(|same| *same).count()
}
