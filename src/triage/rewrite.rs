//! Rewrites a baseline. Stale lines are removed. Other lines and all comments stay, in their order.
//! New lines are added only if the user allows it, and the run lists the added lines.

use super::baseline::{Baseline, BaselineLine, line};
use super::lines::{LineRequest, Lines};
use super::{Triage, Triaged};
use crate::id::FastSet;
use crate::order::Arrange as _;

/// The result of rewriting a baseline.
#[derive(Debug, Default)]
pub struct Rewrite {
    /// The new content of the baseline file.
    pub text: Vec<u8>,
    /// The lines that were added, sorted.
    pub added: Vec<String>,
    /// The stale lines that were removed, safe to show.
    pub removed: Vec<String>,
    /// Number of findings that got no line because new lines were not allowed; 0 if new lines were
    /// allowed.
    pub left_out: usize,
}

/// Makes the new baseline after a run with the result `triage`. `known` is the baseline of the run;
/// `None` starts an empty one. `may_add` allows new lines for findings without a line.
pub fn rewrite(known: Option<&Baseline>, triage: &Triage, may_add: bool) -> Rewrite {
    let old = known.map_or(&[][..], |baseline| &baseline.entries);
    let new = without_line(known, triage);
    let new = new.map(|judged| line(&judged.fingerprint, &judged.finding));
    let mut new: Vec<String> = new.collect();
    new.arrange();
    let left_out = if may_add { 0 } else { std::mem::take(&mut new).len() };
    let stale: FastSet<u32> = triage.stale.iter().map(|stale| stale.entry.line).collect();
    let mut out = Rewrite { left_out, ..Rewrite::default() };
    let mut lines: Vec<&[u8]> = Vec::new();
    let sorted = old.is_sorted_by(|a, b| a.text <= b.text);
    let mut rest = new.iter().peekable();
    for (at, entry) in old.iter().enumerate() {
        let (header, own) = if at == 0 { header(entry) } else { (&[][..], &entry.above[..]) };
        lines.extend(header.iter().map(Vec::as_slice));
        while let Some(new) = rest.next_if(|new| sorted && new.as_bytes() < &*entry.text) {
            lines.push(new.as_bytes());
        }
        lines.extend(own.iter().map(Vec::as_slice));
        if stale.contains(&entry.line) {
            out.removed.push(entry.shown());
        } else {
            lines.push(&entry.text);
        }
    }
    lines.extend(rest.map(String::as_bytes));
    lines.extend(known.iter().flat_map(|baseline| &baseline.tail).map(Vec::as_slice));
    // An editor on Windows ends lines with CRLF. New lines then end with CRLF too.
    let is_crlf = old.first().is_some_and(|entry| entry.text.ends_with(b"\r"));
    let is_new = |line: &[u8]| new.binary_search_by(|added| added.as_bytes().cmp(line)).is_ok();
    let end = |line: &[u8]| if is_crlf && is_new(line) { "\r\n" } else { "\n" };
    out.text = lines.iter().flat_map(|line| [line, end(line).as_bytes()].concat()).collect();
    out.added = new;
    out
}

/// The findings of `triage.findings` for which `known` has no line. All of them if `known` is
/// `None`.
fn without_line<'a>(
    known: Option<&Baseline>,
    triage: &'a Triage,
) -> impl Iterator<Item = &'a Triaged> {
    // If the baseline waives findings, these findings get their lines first.
    let waives = triage.waived.iter().any(|waived| waived.by.baseline);
    let waived = triage.waived.iter().map(|waived| (&waived.judged, waived.by.baseline));
    let all = triage.findings.iter().map(|judged| (judged, !waives)).chain(waived);
    let (all, askers): (Vec<&Triaged>, Vec<LineRequest<'_>>) = all
        .map(|(judged, needs_line)| {
            let (finding, fingerprint) = (&*judged.finding, &*judged.fingerprint);
            (judged, LineRequest { finding, fingerprint, of_links: &judged.of_links, needs_line })
        })
        .unzip();
    let taken = match known {
        Some(baseline) => Lines::give(baseline, &askers).1,
        None => vec![None; askers.len()],
    };
    let open = triage.findings.len();
    all.into_iter().zip(taken).take(open).filter(|(_, line)| line.is_none()).map(|(one, _)| one)
}

/// Splits the comments before the first line in two. The comments up to the last empty line belong
/// to the file. The comments after that empty line belong to the first line.
fn header(first: &BaselineLine) -> (&[Vec<u8>], &[Vec<u8>]) {
    let empty = first.above.iter().rposition(|line| line.trim_ascii().is_empty());
    first.above.split_at(empty.map_or(0, |at| at + 1))
}
