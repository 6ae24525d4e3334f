//! Pages in Markdown, wrapped to the terminal.

use crate::report::layout::wrap;
use std::fmt::Write as _;

/// Wraps the paragraphs and list items of a page to `width` columns, which is known on a terminal.
/// Headings, tables and code keep their lines.
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
    /// The open paragraph or list item: the indent of its first line and of the others, and its
    /// words.
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

    /// Adds the open paragraph or list item.
    fn flush(&mut self) {
        let Some((first, rest, text)) = self.open.take() else { return };
        for (at, line) in wrap(&text, self.width, first, rest).iter().enumerate() {
            let indent = if at == 0 { first } else { rest };
            let _ = writeln!(self.text, "{:indent$}{line}", "");
        }
    }
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
