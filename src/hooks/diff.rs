//! The difference of two short texts as people read it.

use similar::TextDiff;

/// A unified diff without headings, as `diff -u` prints it; empty if the texts are equal.
pub fn unified(old: &str, new: &str) -> String {
    TextDiff::from_lines(old, new).unified_diff().context_radius(3).to_string()
}
