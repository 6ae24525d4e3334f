//! Messages for the user on stderr, in one style: `error: …` or `warning: …` in lower case, or a
//! fact about the run without a word in front. If there is a next step, the text ends with a line
//! `help: …`. `main` and the commands call this module.

use crate::text::show;
use crate::tree::Errno;
use crate::tree::walk::describe;
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicBool, Ordering};

/// True if messages are coloured. [`set_color`] sets it when the options are parsed, before any
/// message.
static COLOR: AtomicBool = AtomicBool::new(false);

/// The words that are coloured at the start of a line, each with its colour code (ECMA-48).
const WORDS: [(&str, &str); 3] = [("error:", "1;31"), ("warning:", "1;33"), ("help:", "1;36")];

/// Turns colours in messages on or off.
pub(super) fn set_color(color: bool) {
    COLOR.store(color, Ordering::Relaxed);
}

/// Reports the error that ends the run.
pub fn error(text: &str) {
    write(&format!("error: {}", escaped(text)));
}

/// Reports a condition that the user should look at, without ending the run.
pub(super) fn warning(text: &str) {
    write(&format!("warning: {}", escaped(text)));
}

/// Reports a fact about the run, such as an assumption or a written file.
pub(super) fn fact(text: &str) {
    write(&escaped(text));
}

/// Writes a text unchanged. Names in the text are already escaped. The text may have colour codes.
pub(super) fn raw(text: &str) {
    // A failed write to stderr is ignored: there is nowhere to report it.
    let _ = io::stderr().write_all(text.as_bytes());
}

/// An error and its causes, separated by `: `. Errors of the system are described without their
/// numbers.
pub fn of(error: &anyhow::Error) -> String {
    let errno = |cause: &(dyn std::error::Error + 'static)| {
        let of_io = cause.downcast_ref::<io::Error>().and_then(Errno::from_io_error);
        of_io.or(cause.downcast_ref::<Errno>().copied())
    };
    let causes =
        error.chain().map(|cause| errno(cause).map_or_else(|| cause.to_string(), describe));
    causes.collect::<Vec<_>>().join(": ")
}

/// The text with terminal control characters escaped. Line breaks stay.
fn escaped(text: &str) -> String {
    text.split('\n').map(|line| show(line.as_bytes())).collect::<Vec<_>>().join("\n")
}

fn write(text: &str) {
    let color = COLOR.load(Ordering::Relaxed);
    let lines: Vec<String> = text.lines().map(|line| painted(line, color)).collect();
    raw(&format!("{}\n", lines.join("\n")));
}

/// A line whose first word is coloured if it is one of [`WORDS`].
fn painted(line: &str, color: bool) -> String {
    let word = WORDS.iter().find(|(word, _)| color && line.starts_with(word));
    match word {
        Some((word, code)) => format!("\x1b[{code}m{word}\x1b[0m{}", &line[word.len()..]),
        None => line.to_owned(),
    }
}
