//! Wraps pages in Markdown to the width of the terminal.

use crate::report::layout::{name, wrap};
use std::fmt::Write as _;

/// Wraps the paragraphs and list items of a page to `width` columns. Headings, tables and code keep
/// their lines. `width` is `None` if stdout is not a terminal; the page then stays as it is.
pub(super) fn wrapped(page: &str, width: Option<usize>) -> String {
    let Some(width) = width else { return page.to_owned() };
    let mut out = WrappedPage { width, text: String::new(), open: None };
    let mut in_code = false;
    for line in page.lines() {
        let text = line.trim_start();
        let indent = line.len() - text.len();
        let is_fence = text.starts_with("```");
        in_code ^= is_fence;
        if in_code || is_fence || text.is_empty() || text.starts_with(['#', '|']) {
            out.whole(line);
        } else if let Some(mark) = mark(text) {
            out.start(indent, indent + mark, text);
        } else if let Some((.., open)) = &mut out.open {
            open.push(' ');
            open.push_str(text);
        } else {
            out.start(indent, indent, text);
        }
    }
    out.flush();
    out.text
}

/// The width of the mark of a list item, such as `- ` or `12. `.
fn mark(text: &str) -> Option<usize> {
    let after_number = text.trim_start_matches(|c: char| c.is_ascii_digit());
    let digits = text.len() - after_number.len();
    if text.starts_with("- ") {
        return Some(2);
    }
    (digits > 0 && after_number.starts_with(". ")).then_some(digits + 2)
}

struct WrappedPage {
    width: usize,
    text: String,
    /// The open paragraph or list item: the indent of its first line, the indent of its other
    /// lines, and its text.
    open: Option<(usize, usize, String)>,
}

impl WrappedPage {
    fn start(&mut self, first: usize, rest: usize, text: &str) {
        self.flush();
        self.open = Some((first, rest, text.to_owned()));
    }

    /// Adds a line that is never wrapped.
    fn whole(&mut self, line: &str) {
        self.flush();
        self.text += line;
        self.text.push('\n');
    }

    /// Wraps the open paragraph or list item and adds it to the text. Does nothing if none is open.
    fn flush(&mut self) {
        let Some((first, rest, text)) = self.open.take() else { return };
        // The backticks and the punctuation around a span take up to four columns.
        let text = with_whole_spans(&text, self.width.saturating_sub(rest + 4));
        for (at, line) in wrap(&text, self.width, first, rest).iter().enumerate() {
            let indent = if at == 0 { first } else { rest };
            let _ = writeln!(self.text, "{:indent$}{line}", "");
        }
    }
}

/// `text` with its code spans protected from line breaks, so that commands can be copied. A span
/// longer than `room` columns is not protected. A text with double backticks is not protected at
/// all: double backticks mark spans that contain a backtick.
fn with_whole_spans(text: &str, room: usize) -> String {
    let parts: Vec<&str> = text.split('`').collect();
    // Backticks in pairs leave an odd number of parts.
    if parts.len().is_multiple_of(2) || text.contains("``") {
        return text.to_owned();
    }
    let whole = |(at, part): (usize, &&str)| {
        let is_span = at % 2 == 1 && part.chars().count() <= room;
        if is_span { name(part) } else { (*part).to_owned() }
    };
    parts.iter().enumerate().map(whole).collect::<Vec<_>>().join("`")
}

#[cfg(test)]
mod tests {
    use super::wrapped;
    use crate::rules::RULES;

    #[test]
    fn paragraphs_and_items_are_wrapped() {
        let page = "# A long heading stays\n\nOne two three\nfour five.\n\n- one two three\n  four\n\
                    12. one two three\n\n```text\nlong lines of code stay\n```\n| a | b | c | d |\n";
        let expected = "# A long heading stays\n\nOne two\nthree four\nfive.\n\n- one two\n  three\n  \
                        four\n12. one\n    two\n    three\n\n```text\nlong lines of code \
                        stay\n```\n| a | b | c | d |\n";
        assert_eq!(wrapped(page, Some(10)), expected);
        assert_eq!(wrapped(page, None), page);
    }

    #[test]
    fn code_spans_stay_whole() {
        let of = |page: &str| wrapped(page, Some(16));
        assert_eq!(of("Build it: `nix build`.\n"), "Build it:\n`nix build`.\n");
        // The source also has a line break inside the span.
        assert_eq!(of("- run `ls\n  bin` now\n"), "- run `ls bin`\n  now\n");
        assert_eq!(of("Span `longer than one line`\n"), "Span `longer\nthan one line`\n");
        assert_eq!(of("One ` two three four\n"), "One ` two three\nfour\n");
        assert_eq!(of("Or `` a ` b c d e f ``\n"), "Or `` a ` b c d\ne f ``\n");
    }

    #[test]
    fn pages_of_rules_fit_a_terminal() {
        let words = |page: &str| page.split_whitespace().map(str::to_owned).collect::<Vec<_>>();
        for rule in RULES {
            let page = wrapped(rule.docs, Some(80));
            assert_eq!(words(&page), words(rule.docs), "{}", rule.id);
            let text = page.split("```").step_by(2).flat_map(str::lines);
            let long = text.filter(|line| line.chars().count() > 80 && !line.starts_with('|'));
            assert_eq!(long.collect::<Vec<_>>(), [""; 0], "{}", rule.id);
        }
    }
}
