//! Paths that one side could not read in full. If the other side has a file at one of these
//! paths, the file is neither gone nor added. Findings about this file are neither new nor fixed.

use super::numbers::without_numbers;
use crate::id::{FastMap, FastSet};
use crate::package::without_hashes;
use crate::report::Report;
use crate::report::model::{File, ReportFinding};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Rules about files that could not be read completely.
pub(super) const RULES: [&str; 2] = ["malformed", "unreadable"];

/// Findings of [`RULES`], including waived and allowed ones, because the files stay unread. The
/// keys are paths below the prefix, without store hashes.
#[derive(Default)]
pub(super) struct UnreadPaths<'a> {
    by_path: FastMap<Vec<u8>, &'a ReportFinding>,
    /// The paths of `by_path` at which the report has no file.
    lacking: FastSet<Vec<u8>>,
    /// The paths of `lacking` without version numbers, each with its finding.
    releases: FastMap<Vec<u8>, &'a ReportFinding>,
    /// Full paths of files that are in the report, but were read only in part.
    damaged: FastSet<PathBuf>,
}

impl<'a> UnreadPaths<'a> {
    /// The unread paths of a report. `allowed` has findings of [`RULES`] that are not in the
    /// report. `has_file` is true for the paths of files in the report.
    pub(super) fn of(
        report: &'a Report,
        allowed: &'a [ReportFinding],
        has_file: impl Fn(&Path) -> bool,
    ) -> Self {
        let waived = report.waived.iter().map(|waived| &waived.finding);
        // A given directory that cannot be listed has no prefix, and hides all files.
        let is_bare = report.files.is_empty();
        let all = report.findings.iter().chain(waived).chain(allowed);
        let mut out = Self::default();
        for finding in all.filter(|finding| RULES.contains(&&*finding.rule)) {
            let is_whole = is_bare && finding.file.prefix.is_none() && finding.rule == "unreadable";
            let below = if is_whole { Vec::new() } else { below(finding) };
            out.by_path.entry(below.clone()).or_insert(finding);
            let full = finding.full_path();
            if has_file(&full) {
                out.damaged.insert(full);
            } else {
                out.releases.entry(without_numbers(&below)).or_insert(finding);
                out.lacking.insert(below);
            }
        }
        out
    }

    /// True if the side read all files completely.
    pub(super) fn is_empty(&self) -> bool {
        self.by_path.is_empty()
    }

    /// True if `file` is in the report, but was read only in part.
    pub(super) fn is_damaged(&self, file: &File) -> bool {
        self.damaged.contains(&*file.path)
    }

    /// The finding about `path` or a directory above it. `None` if the report has a file at the
    /// path of the finding.
    pub(super) fn lacks(&self, path: &[u8]) -> Option<&'a ReportFinding> {
        let at = |path: &[u8]| {
            let finding = self.by_path.get(path)?;
            self.lacking.contains(path).then_some(*finding)
        };
        around(path, at)
    }

    /// The finding about another version of the file at `path`.
    pub(super) fn lacks_release(&self, path: &[u8]) -> Option<&'a ReportFinding> {
        self.releases.get(&without_numbers(path)).copied()
    }

    /// `finding` is a finding of the other side. If this side could not read the path of `finding`
    /// or a directory above it, returns this side's finding about the unread path.
    pub(super) fn hides(&self, finding: &ReportFinding) -> Option<&'a ReportFinding> {
        around(&below(finding), |path| self.by_path.get(path).copied())
    }
}

/// The first result of `at` for `path` and the directories above it. An absolute path is outside of
/// the prefix, so `at` is not called for the prefix itself.
fn around<T>(path: &[u8], at: impl Fn(&[u8]) -> Option<T>) -> Option<T> {
    let ends = memchr::memrchr_iter(b'/', path).filter(|end| *end > 0);
    let whole = (!path.starts_with(b"/")).then_some(0);
    let mut ends = [path.len()].into_iter().chain(ends).chain(whole);
    ends.find_map(|end| at(&path[..end]))
}

/// The path of a finding below its prefix, without store hashes.
fn below(finding: &ReportFinding) -> Vec<u8> {
    without_hashes(finding.file.path.as_os_str().as_bytes()).into_owned()
}

/// The reason why nothing at the path of a finding of [`RULES`] is compared.
pub(super) fn reason(finding: &ReportFinding) -> &'static str {
    if finding.rule == "malformed" { DAMAGED } else { "not read, not compared" }
}

/// The reason why a file that was read only in part is not compared.
pub(super) const DAMAGED: &str = "damaged, not compared";
