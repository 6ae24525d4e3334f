//! Messages for the user on stderr, in one style: `error: …`, `warning: …` or `note: …` in lower
//! case. If there is a next step, the text ends with a line `help: …`. `main` and the commands call
//! this module.

use crate::text::show;
use std::io::Write as _;

/// Reports the error that ends the run.
pub fn error(text: &str) {
    write("error", text);
}

/// Reports a condition that the user should look at, without ending the run.
pub(super) fn warning(text: &str) {
    write("warning", text);
}

/// Reports a fact about the run, such as an assumption or a written file.
pub(super) fn note(text: &str) {
    write("note", text);
}

/// Writes a message. Text from audited files is escaped, line by line.
fn write(kind: &str, text: &str) {
    let lines: Vec<String> = text.split('\n').map(|line| show(line.as_bytes())).collect();
    // A failed write to stderr is ignored: there is nowhere to report it.
    let _ = writeln!(std::io::stderr(), "{kind}: {}", lines.join("\n"));
}
