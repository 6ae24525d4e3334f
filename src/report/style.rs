//! How text for people looks: colours, and what fits in a line. Reports and views use it; what is said
//! is theirs.

/// Columns of text for people where there is no terminal to ask.
const PLAIN_WIDTH: usize = 100;

/// How text for people looks.
#[derive(Clone, Copy, Debug)]
pub struct Style {
    /// Colours are wanted.
    pub color: bool,
    /// Everything is shown, however much.
    pub verbose: bool,
    /// Only the list of causes with errors and the totals are shown.
    pub quiet: bool,
    /// The report ends with the next command to type.
    pub next_step: bool,
    /// Columns of the terminal; nothing when it is none.
    pub width: Option<usize>,
}

impl Style {
    /// The same for a file: nobody looks at it yet.
    pub(crate) fn plain(self) -> Self {
        Self { color: false, width: None, ..self }
    }

    /// Columns to lay text out in.
    pub(crate) fn columns(self) -> usize {
        self.width.unwrap_or(PLAIN_WIDTH)
    }

    /// Something that is not there.
    pub(crate) fn alarm(self, text: &str) -> String {
        self.paint("1;31", text)
    }

    /// `text` in a colour by its code of ECMA-48, if colours are wanted.
    pub(crate) fn paint(self, code: &str, text: &str) -> String {
        if self.color { format!("\x1b[{code}m{text}\x1b[0m") } else { text.to_owned() }
    }

    /// What a line is about.
    pub(crate) fn bold(self, text: &str) -> String {
        self.paint("1", text)
    }

    /// What may be read over.
    pub(crate) fn dim(self, text: &str) -> String {
        self.paint("2", text)
    }

    /// Text cut to the terminal, if there is one and not everything is wanted. What is left out is in the
    /// middle: lines end with the answer.
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
        let style =
            Style { color: false, verbose: false, quiet: false, next_step: true, width: Some(80) };
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
