//! Assigns baseline lines to findings. A baseline is a multiset: n lines with one fingerprint waive
//! at most n findings. Findings that need a waiver get lines before other findings. In each of
//! these two groups, a finding whose path is exactly that of a line gets this line first. Lines
//! that match only under another hard link of a file are assigned last.

use super::AppliedWaiver;
use super::baseline::{Baseline, BaselineLine};
use crate::finding::Finding;
use crate::id::FastMap;
use crate::policy::Origin;
use std::collections::VecDeque;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// A finding that may get a baseline line.
pub(super) struct LineRequest<'a> {
    pub(super) finding: &'a Finding,
    pub(super) fingerprint: &'a str,
    /// The fingerprints that the finding has under the other hard links of its file.
    pub(super) of_links: &'a [String],
    /// Findings with `true` get lines before findings with `false`. During triage, `true` means
    /// that no policy waives the finding and its level is not `allow`.
    pub(super) needs_line: bool,
}

/// Indices of lines in file order. A line may still be in one queue after a finding got it from
/// another.
type Queue = VecDeque<usize>;

/// The lines of a baseline. `used` is true for lines that a finding got.
pub(super) struct Lines<'a> {
    baseline: &'a Baseline,
    used: Vec<bool>,
}

impl<'a> Lines<'a> {
    /// Assigns the lines of `baseline` to findings. The returned list has the index of the line of
    /// each finding; `None` for a finding that gets no line.
    pub(super) fn give(
        baseline: &'a Baseline,
        askers: &[LineRequest<'_>],
    ) -> (Self, Vec<Option<usize>>) {
        let mut of_path: FastMap<(&str, &str, &[u8]), Queue> = FastMap::default();
        let mut of_any: FastMap<(&str, &str), Queue> = FastMap::default();
        for (at, entry) in baseline.entries.iter().enumerate() {
            let (print, rule) = (&*entry.fingerprint, &*entry.rule);
            of_path.entry((print, rule, &entry.path)).or_default().push_back(at);
            of_any.entry((print, rule)).or_default().push_back(at);
        }
        let mut used = vec![false; baseline.entries.len()];
        let mut first = |queue: Option<&mut Queue>| {
            let queue = queue?;
            std::iter::from_fn(|| queue.pop_front())
                .find(|at| !std::mem::replace(&mut used[*at], true))
        };
        let mut taken = vec![None; askers.len()];
        for (needs_line, very_path) in [(true, true), (true, false), (false, true), (false, false)]
        {
            for (asker, taken) in askers.iter().zip(&mut taken) {
                if asker.needs_line != needs_line || taken.is_some() {
                    continue;
                }
                let (print, rule) = (asker.fingerprint, asker.finding.rule.as_str());
                let path = asker.finding.file.path.as_os_str().as_bytes();
                *taken = if very_path {
                    first(of_path.get_mut(&(print, rule, path)))
                } else {
                    first(of_any.get_mut(&(print, rule)))
                };
            }
        }
        for needs_line in [true, false] {
            let open = askers.iter().zip(&mut taken).filter(|(_, taken)| taken.is_none());
            for (asker, taken) in open.filter(|(asker, _)| asker.needs_line == needs_line) {
                let rule = asker.finding.rule.as_str();
                let mut prints = asker.of_links.iter();
                *taken = prints.find_map(|print| first(of_any.get_mut(&(&**print, rule))));
            }
        }
        (Self { baseline, used }, taken)
    }

    /// The waiver of a finding whose line has index `at`.
    pub(super) fn by(&self, at: usize) -> AppliedWaiver {
        let entry = &self.baseline.entries[at];
        let origin = Origin { source: Arc::clone(&self.baseline.name), line: entry.line };
        AppliedWaiver { baseline: true, reason: entry.reason.clone(), origin, expires: None }
    }

    /// Sorts the lines that no finding got. Returns the indices of stale lines, and the number of
    /// the other lines. For a line, `most` returns the number of findings with its fingerprint that
    /// this run could have made. Unused lines with this fingerprint become stale in file order,
    /// until the used and stale lines together reach this number.
    pub(super) fn unused(&self, most: impl Fn(&BaselineLine) -> usize) -> (Vec<usize>, usize) {
        let entries = || self.baseline.entries.iter().zip(&self.used).enumerate();
        let mut made: FastMap<&str, usize> = FastMap::default();
        for (_, (entry, _)) in entries().filter(|(_, (_, used))| **used) {
            *made.entry(&entry.fingerprint).or_default() += 1;
        }
        let mut stale = Vec::new();
        let mut others = 0;
        for (at, (entry, _)) in entries().filter(|(_, (_, used))| !**used) {
            let made = made.entry(&entry.fingerprint).or_default();
            if *made < most(entry) {
                *made += 1;
                stale.push(at);
            } else {
                others += 1;
            }
        }
        (stale, others)
    }
}
