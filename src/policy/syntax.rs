//! Converts the syntax errors of the TOML parser to policy errors. Recognises other errors that
//! only follow from a syntax error, so that they are not reported. `build` calls this module.

use super::errors::{PolicyError, PolicySource};
use crate::order::Arrange as _;
use std::sync::Arc;

/// Converts a syntax error. The parser's message is `ERROR` or `ERROR, expected CORRECTION`.
pub(super) fn problem(source: &Arc<PolicySource>, error: &toml::de::Error) -> PolicyError {
    let span = error.span().unwrap_or(0..0);
    let message = error.message();
    let (wrong, right) = message.split_once(", expected ").unwrap_or((message, ""));
    let right = match (wrong, right) {
        ("duplicate key", _) => "it is set above already".to_owned(),
        (_, "") => "this is not expected here".to_owned(),
        _ => format!("expected {right}"),
    };
    PolicyError {
        place: Some((Arc::clone(source), span)),
        wrong: format!("invalid TOML: {wrong}"),
        right,
        lacking: false,
    }
}

/// The lines of a policy that are not valid TOML, and the lines of all table headings.
pub(super) struct Torn {
    /// In ascending order, like `headings`.
    lines: Vec<u32>,
    headings: Vec<u32>,
}

impl Torn {
    pub(super) fn new(source: &PolicySource, errors: &[toml::de::Error]) -> Self {
        let place = |error: &toml::de::Error| Some(source.line(error.span()?.start));
        let mut lines: Vec<u32> = errors.iter().filter_map(place).collect();
        lines.arrange();
        let is_heading = |(_, text): &(u32, &str)| text.trim().starts_with('[');
        let headings = (1..).zip(source.text.lines()).filter(is_heading).map(|(at, _)| at);
        Self { headings: headings.collect(), lines }
    }

    /// True if this line is not valid TOML.
    pub(super) fn holds(&self, line: u32) -> bool {
        self.lines.binary_search(&line).is_ok()
    }

    /// True if an error is only a consequence of invalid lines. Such an error is on an invalid
    /// line, is below a heading on an invalid line, or reports a missing key in a table with an
    /// invalid line.
    pub(super) fn explains(&self, source: &PolicySource, problem: &PolicyError) -> bool {
        let Some((_, span)) = &problem.place else { return false };
        let line = source.line(span.start);
        let above = self.headings.partition_point(|at| *at < line);
        if self.holds(line) || (above > 0 && self.holds(self.headings[above - 1])) {
            return true;
        }
        // The top-level table has no heading, and starts before the first line.
        let first = if span.is_empty() { 0 } else { line };
        let next = self.headings.get(self.headings.partition_point(|at| *at <= first));
        let torn = self.lines.get(self.lines.partition_point(|at| *at < first));
        problem.lacking && torn.is_some_and(|torn| next.is_none_or(|next| torn < next))
    }
}
