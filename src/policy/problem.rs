//! Mistakes in policies: where each is, what is wrong and what would be right, and how that is shown.
//! The parser and the loader make them; the command line shows them all and ends.

use crate::text::show;
use annotate_snippets::{AnnotationKind, Level, Renderer, Snippet};
use std::fmt::Write as _;
use std::ops::Range;
use std::sync::Arc;

/// More mistakes than these are counted, not shown: a file of another kind has thousands.
const MOST: usize = 200;

/// The text of one policy.
#[derive(Debug)]
pub(super) struct Source {
    /// As it was named.
    pub(super) name: Arc<str>,
    /// What stands in it.
    pub(super) text: String,
    /// Where its lines end: every entry of a policy asks in which line it stands.
    ends: Vec<usize>,
}

impl Source {
    /// The text of a policy and the name under which mistakes in it are shown.
    pub(super) fn new(name: Arc<str>, text: String) -> Self {
        let ends = text.match_indices('\n').map(|(at, _)| at).collect();
        Self { name, text, ends }
    }

    /// The line, from 1, in which the byte at `offset` stands.
    pub(super) fn line(&self, offset: usize) -> u32 {
        let before = self.ends.partition_point(|end| *end < offset);
        u32::try_from(before + 1).expect("policies are read up to some megabytes")
    }

    /// The byte at a column, from 1 in bytes, of a line.
    pub(super) fn offset(&self, line: usize, column: usize) -> usize {
        let before = self.text.split_inclusive('\n').take(line.saturating_sub(1));
        before.map(str::len).sum::<usize>() + column.saturating_sub(1)
    }

    /// The bytes of the line in which the byte at `offset` stands, without its end.
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

/// One mistake.
#[derive(Debug)]
pub(super) struct Problem {
    /// Where it is; nothing if it is in no policy's text.
    pub(super) place: Option<(Arc<Source>, Range<usize>)>,
    /// What is wrong.
    pub(super) wrong: String,
    /// What would be right.
    pub(super) right: String,
    /// Something is not there. Where a file is no TOML that says nothing: it may stand in what could
    /// not be read.
    pub(super) lacking: bool,
}

/// All mistakes in the policies of a run.
#[derive(Debug)]
pub struct Mistakes {
    problems: Vec<Problem>,
}

impl Mistakes {
    /// Nothing if there are none.
    pub(super) fn of(mut problems: Vec<Problem>) -> Result<(), Self> {
        problems
            .dedup_by(|a, b| a.wrong == b.wrong && a.start() == b.start() && a.name() == b.name());
        if problems.is_empty() { Ok(()) } else { Err(Self { problems }) }
    }

    /// How many there are.
    pub fn count(&self) -> usize {
        self.problems.len()
    }

    /// All of them with the lines they are in, for people.
    pub fn render(&self, color: bool) -> String {
        let renderer = if color { Renderer::styled() } else { Renderer::plain() };
        let shown = self.problems.iter().take(MOST).map(|problem| problem.render(&renderer));
        let mut out = shown.collect::<Vec<_>>().join("\n\n");
        out.push('\n');
        if let Some(more) = self.problems.len().checked_sub(MOST).filter(|more| *more > 0) {
            let _ = writeln!(out, "\n{more} more are not shown");
        }
        out
    }
}

impl Problem {
    fn start(&self) -> Option<usize> {
        self.place.as_ref().map(|(_, span)| span.start)
    }

    fn name(&self) -> Option<&str> {
        self.place.as_ref().map(|(source, _)| &*source.name)
    }

    fn render(&self, renderer: &Renderer) -> String {
        let title = Level::ERROR.primary_title(&*self.wrong);
        let Some((source, span)) = &self.place else {
            let help = Level::HELP.message(&*self.right);
            return renderer.render(&[title.element(help)]);
        };
        // Only the line is given to the renderer, which goes through all that it is given.
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

/// The character that the byte at `at` is part of begins here.
fn floor(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

/// It ends here.
fn ceil(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at += 1;
    }
    at
}
