//! An error in a policy has a position, a message and a correction. The modules that parse and
//! load policies make these errors. The command line shows them and exits.

use crate::text::show;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// Maximum number of errors that are shown; the others are only counted. A file in another format
/// may have thousands.
const MOST: usize = 200;

/// The text of one policy, with an index of its lines.
#[derive(Debug)]
pub(super) struct PolicySource {
    /// The name of the policy, as given.
    pub(super) name: Arc<str>,
    /// The content of the policy.
    pub(super) text: String,
    /// Offsets of line ends, for fast lookup: every entry needs its line number.
    ends: Vec<usize>,
}

impl PolicySource {
    /// Indexes the lines of `text`. `name` is the name of the policy in error messages.
    pub(super) fn new(name: Arc<str>, text: String) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { name, text, ends }
    }

    /// The line number, from 1, of the byte at `offset`.
    pub(super) fn line(&self, offset: usize) -> u32 {
        let before = self.ends.partition_point(|end| *end < offset);
        u32::try_from(before + 1).expect("policies are read up to some megabytes")
    }

    /// The byte offset of a line and a column. Both are counted from 1; the column is in bytes.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        let before = self.text.split_inclusive('\n').take(line.saturating_sub(1));
        before.map(str::len).sum::<usize>() + column.saturating_sub(1)
    }

    /// The range of the line with the byte at `offset`, without its line end.
    fn line_around(&self, offset: usize) -> Range<usize> {
        let offset = offset.min(self.text.len());
        let bytes = self.text.as_bytes();
        let start = bytes[..offset].iter().rposition(|b| *b == b'\n').map_or(0, |at| at + 1);
        let end =
            bytes[start..].iter().position(|b| *b == b'\n').map_or(bytes.len(), |at| start + at);
        let end = if bytes[start..end].ends_with(b"\r") { end - 1 } else { end };
        start..end
    }
}

/// An error in the text of a policy, or an error that prevents its loading.
#[derive(Debug)]
pub(super) struct PolicyError {
    /// The policy and the byte range of the error; `None` if the error is outside of any policy's
    /// text.
    pub(super) place: Option<(Arc<PolicySource>, Range<usize>)>,
    /// The message, without the correction.
    pub(super) wrong: String,
    /// The correction, as an instruction to the author.
    pub(super) right: String,
    /// True for an error about a missing key. If the file is not valid TOML, the key may be in a
    /// part that could not be parsed.
    pub(super) lacking: bool,
}

/// All errors in the policies of a run.
#[derive(Debug)]
pub struct PolicyErrors {
    problems: Vec<PolicyError>,
}

impl PolicyErrors {
    /// Collects errors, each once; `Ok` if there are none.
    pub(super) fn of(mut problems: Vec<PolicyError>) -> Result<(), Self> {
        let mut seen = BTreeSet::new();
        problems.retain(|problem| {
            let name = problem.name().map(str::to_owned);
            seen.insert((name, problem.start(), problem.wrong.clone()))
        });
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// Number of errors, without the repeated ones.
    pub fn count(&self) -> usize {
        self.problems.len()
    }

    /// The errors with their lines, as text for the terminal. Errors after the first 200 are only
    /// counted. `color` adds ANSI colours.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let shown = self.problems.iter().take(MOST);
        let shown = shown.map(|problem| match &problem.place {
            Some(place) => problem.render(place, &renderer),
            None => problem.message(color),
        });
        let mut out = shown.collect::<Vec<_>>().join("\n\n");
        out.push('\n');
        if let Some(more) = self.problems.len().checked_sub(MOST).filter(|more| *more > 0) {
            let _ = writeln!(out, "\n{more} more are not shown");
        }
        out
    }
}

impl PolicyError {
    fn start(&self) -> Option<usize> {
        self.place.as_ref().map(|(_, span)| span.start)
    }

    fn name(&self) -> Option<&str> {
        self.place.as_ref().map(|(source, _)| &*source.name)
    }

    /// An error outside of any policy's text, in the style of the program's other messages.
    fn message(&self, color: bool) -> String {
        let word = |code: &str, word: &str| {
            if color { format!("\x1b[{code}m{word}\x1b[0m") } else { word.to_owned() }
        };
        let (error, help) = (word("1;31", "error:"), word("1;36", "help:"));
        let shown = |text: &str| show(text.as_bytes());
        format!("{error} {}\n{help} {}", shown(&self.wrong), shown(&self.right))
    }

    /// The error as text, with the line of the policy at its position.
    fn render(
        &self,
        (source, span): &(Arc<PolicySource>, Range<usize>),
        renderer: &Renderer,
    ) -> String {
        let title = Level::ERROR.primary_title(&*self.wrong);
        // The renderer gets only this line, because rendering time grows with the size of its
        // input.
        let line = source.line_around(span.start);
        let start = floor(&source.text, span.start.clamp(line.start, line.end));
        let end = ceil(&source.text, span.end.clamp(start, line.end));
        let marks = AnnotationKind::Primary.span(start - line.start..end - line.start);
        let number = source.line(span.start) as usize;
        let snippet = Snippet::source(&source.text[line])
            .line_start(number)
            .path(show(source.name.as_bytes()))
            .annotation(marks.label(&*self.right));
        renderer.render(&[title.element(snippet)])
    }
}

/// The last character boundary at or before `at`.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// The first character boundary at or after `at`.
fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
