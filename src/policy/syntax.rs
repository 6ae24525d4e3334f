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

/// True if a problem only follows from one of the lines in `torn`, which are no TOML: it is on such a
/// line or below such a heading, or it misses something in a table of which such a line is part.
pub(super) fn follows(source: &Source, problem: &Problem, torn: &[u32]) -> bool {
    let Some((_, span)) = &problem.place else { return false };
    let line = source.line(span.start);
    let is_heading = |(_, text): &(u32, &str)| text.trim().starts_with('[');
    let headings = || (1..).zip(source.text.lines()).filter(is_heading).map(|(at, _)| at);
    if torn.contains(&line)
        || headings().take_while(|at| *at < line).last().is_some_and(|at| torn.contains(&at))
    {
        return true;
    }
    // The table of the whole file has no heading, and begins before the first line.
    let first = if span.is_empty() { 0 } else { line };
    let next = headings().find(|at| *at > first);
    problem.lacking
        && torn.iter().any(|torn| first <= *torn && next.is_none_or(|next| *torn < next))
}
