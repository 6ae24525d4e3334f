//! A unified diff of two short texts.

use similar::algorithms::{Capture, Compact, Replace, myers};
use similar::{ChangeTag, DiffOp};
use std::fmt::Write as _;
use std::ops::Range;

/// Lines of context around a change.
const CONTEXT: usize = 3;

/// A unified diff as `diff -u` prints it, without the two lines of file names; empty if the texts
/// are equal.
pub fn unified(old: &str, new: &str) -> String {
    let [old, new]: [Vec<&str>; 2] = [old, new].map(|text| text.split_inclusive('\n').collect());
    // `TextDiff` would compile every diff algorithm of the crate, and add 0.8 MB to the program.
    let mut diff = Compact::new(Replace::new(Capture::new()), &*old, &*new);
    let Ok(()) = myers::diff(&mut diff, &*old, 0..old.len(), &*new, 0..new.len());
    let mut out = String::new();
    for hunk in diff.into_inner().into_inner().into_grouped_ops(CONTEXT) {
        let [Some(first), Some(last)] = [hunk.first(), hunk.last()] else { continue };
        let before = first.old_range().start..last.old_range().end;
        let after = first.new_range().start..last.new_range().end;
        let _ = writeln!(out, "@@ -{} +{} @@", range(before), range(after));
        for op in &hunk {
            lines(op, &old, &new, &mut out);
        }
    }
    out
}

/// `FIRST,COUNT` as in the heading of a hunk; a count of 1 is omitted.
fn range(lines: Range<usize>) -> String {
    match lines.len() {
        0 => format!("{},0", lines.start),
        1 => format!("{}", lines.start + 1),
        count => format!("{},{count}", lines.start + 1),
    }
}

fn lines(op: &DiffOp, old: &[&str], new: &[&str], out: &mut String) {
    for change in op.iter_changes(old, new) {
        let sign = match change.tag() {
            ChangeTag::Equal => ' ',
            ChangeTag::Delete => '-',
            ChangeTag::Insert => '+',
        };
        let line = change.value();
        let end = if line.ends_with('\n') { "" } else { "\n\\ No newline at end of file\n" };
        let _ = write!(out, "{sign}{line}{end}");
    }
}
