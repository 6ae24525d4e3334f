//! What is no TOML at all: the parser's messages as problems, and which other problems only follow
//! from them. `build` calls it.

use super::problem::{Problem, Source};
use std::sync::Arc;

/// A mistake in the TOML itself, in the parser's words: `what is wrong, expected what is right`.
pub(super) fn problem(source: &Arc<Source>, error: &toml::de::Error) -> Problem {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    let (wrong, right) = message.split_once(", expected ").unwrap_or((message, ""));
    let right = match (wrong, right) {
        ("duplicate key", _) => "it is set above already".to_owned(),
        (_, "") => "this is not expected here".to_owned(),
        _ => format!("expected {right}"),
    };
    Problem {
        place: Some((Arc::clone(source), span)),
        wrong: format!("this is no TOML: {wrong}"),
        right,
        lacking: false,
    }
}

/// The lines of a policy that are no TOML, and the headings around them.
pub(super) struct Torn {
    /// Both in order.
    lines: Vec<u32>,
    headings: Vec<u32>,
}

impl Torn {
    pub(super) fn new(source: &Source, errors: &[toml::de::Error]) -> Self {
        let place = |error: &toml::de::Error| Some(source.line(error.span()?.start));
        let mut lines: Vec<u32> = errors.iter().filter_map(place).collect();
        lines.sort_unstable();
        let is_heading = |(_, text): &(u32, &str)| text.trim().starts_with('[');
        let headings = (1..).zip(source.text.lines()).filter(is_heading).map(|(at, _)| at);
        Self { headings: headings.collect(), lines }
    }

    /// True if this line is no TOML.
    pub(super) fn holds(&self, line: u32) -> bool {
        self.lines.binary_search(&line).is_ok()
    }

    /// True if a problem only follows from one of these lines: it is on such a line or below such a
    /// heading, or it misses something in a table of which such a line is part.
    pub(super) fn explains(&self, source: &Source, problem: &Problem) -> bool {
        let Some((_, span)) = &problem.place else { return false };
        let line = source.line(span.start);
        let above = self.headings.partition_point(|at| *at < line);
        if self.holds(line) || (above > 0 && self.holds(self.headings[above - 1])) {
            return true;
        }
        // The table of the whole file has no heading, and begins before the first line.
        let first = if span.is_empty() { 0 } else { line };
        let next = self.headings.get(self.headings.partition_point(|at| *at <= first));
        let torn = self.lines.get(self.lines.partition_point(|at| *at < first));
        problem.lacking && torn.is_some_and(|torn| next.is_none_or(|next| torn < next))
    }
}
