//! Style of human-readable output: colours, line width and level of detail. Reports and views
//! supply the text.

use super::model::StaleLine;

/// Width of text for people if there is no terminal, in columns.
const PLAIN_WIDTH: usize = 100;

/// Style of human-readable output: colours, line width and level of detail.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// True if text is coloured with codes of ECMA-48.
    pub color: bool,
    /// True with `-v`: lists are not shortened, and lines are not cut.
    pub verbose: bool,
    /// True if the report has only the causes that fail the run, and the totals (`-q`).
    pub quiet: bool,
    /// True if the report ends with the next command to type. False with `--isolated`, because
    /// readers of CI output cannot change the options.
    pub next_step: bool,
    /// True if warnings fail the run (`--fail-on warning`).
    pub warnings_fail: bool,
    /// True if stale lines of the baseline fail the run (`--fail-on-stale`).
    pub stale_fails: bool,
    /// True if stale lines about files that are gone fail the run (`--fail-on-gone`).
    pub gone_fails: bool,
    /// Width of the terminal in columns; `None` without a terminal.
    pub width: Option<usize>,
}

impl Style {
    /// The style for a file, which has no terminal.
    pub(crate) fn plain(self) -> Self {
        Self { color: false, width: None, ..self }
    }

    /// Width to which text is wrapped, in columns.
    pub(crate) fn columns(self) -> usize {
        self.width.unwrap_or(PLAIN_WIDTH)
    }

    /// True if this stale line of the baseline fails the run.
    pub(crate) fn fails(self, line: &StaleLine) -> bool {
        self.stale_fails || self.gone_fails && line.gone
    }

    /// `text` in red, for a missing file or symbol, if colours are on.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// `text` in the colour with this ECMA-48 code, if colours are on.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// `text` in bold, for the subject of a line, if colours are on.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// `text` dimmed, because it is less important, if colours are on.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Text cut to the terminal's width less `indent` columns. Text is not cut without a terminal,
    /// or with `-v`. The middle is cut, because the most specific part is at the end.
    pub(crate) fn fit(self, text: &str, indent: usize) -> String {
        let Some(width) = self.width.filter(|_| !self.verbose) else { return text.to_owned() };
        let room = width.saturating_sub(indent).max(20);
        if text.chars().count() <= room {
            return text.to_owned();
        }
        let (begin, end) = ((room - 1) / 3, (room - 1) - (room - 1) / 3);
        let left_out = text.chars().count() - end;
        let begin = text.chars().take(begin);
        begin.chain(['…']).chain(text.chars().skip(left_out)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::Style;

    #[test]
    fn a_line_that_is_cut_keeps_its_end() {
        let style = Style {
            color: false,
            verbose: false,
            quiet: false,
            next_step: true,
            warnings_fail: false,
            stale_fails: false,
            gone_fails: false,
            width: Some(80),
        };
        let way = "a/very/long/way/".repeat(10);
        for line in [
            format!("/{way}libgone.so (runpath): another machine"),
            format!("{way}app > {way}libmiddle.so > lib/libend.so"),
        ] {
            let fit = style.fit(&line, 13);
            assert_eq!(fit.chars().count(), 80 - 13, "{fit}");
            let (begin, end) = fit.split_once('…').expect("something is left out");
            assert!(line.starts_with(begin) && line.ends_with(end), "{fit}");
            assert!(end.ends_with("another machine") || end.ends_with("lib/libend.so"), "{fit}");
        }
        assert_eq!(style.fit("short", 13), "short");
    }
}
