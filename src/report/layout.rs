//! Wraps and writes lines of text for people. Lines break at blanks, but never inside of a name.
//! Reports and the summary supply the text.

use super::Style;
use std::io::{self, Write};

/// Replaces a blank inside of a name until the line is written. Control characters in names are
/// escaped, so no name contains this character.
const GLUE: char = '\u{1f}';
/// Width of the column for labels.
const LABEL: usize = 10;
/// Number of blanks before a label.
const INDENT: usize = 2;

/// Marks the text as a name, which [`wrap`] does not split.
pub(crate) fn name(text: &str) -> String {
    text.chars().map(|c| if c == ' ' { GLUE } else { c }).collect()
}

/// The number `n`, followed by `one` (the singular noun) or `many` (the plural).
pub(crate) fn count(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// The first `most` of `names`, and the number of hidden names. If only one would be hidden, all
/// are shown.
pub(crate) fn some(names: &[String], most: usize) -> String {
    // One more name is about as short as `and 1 more`.
    let most = if names.len().checked_sub(1) == Some(most) { names.len() } else { most };
    let shown = names.iter().take(most).map(|text| name(text)).collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(most) {
        0 => shown,
        hidden => format!("{shown} and {hidden} more"),
    }
}

/// Wraps text into lines of at most `width` columns. The caller has written `first` columns of the
/// first line, and indents the other lines by `rest` columns. A name that is longer than a line
/// gets its own line.
pub(crate) fn wrap(text: &str, width: usize, first: usize, rest: usize) -> Vec<String> {
    let mut out = Vec::new();
    let mut line = String::new();
    let mut used = first;
    for word in text.split(' ').filter(|word| !word.is_empty()) {
        let length = word.chars().count();
        if !line.is_empty() && used + 1 + length > width {
            out.push(std::mem::take(&mut line));
            used = rest;
        }
        if !line.is_empty() {
            line.push(' ');
            used += 1;
        }
        line.extend(word.chars().map(|c| if c == GLUE { ' ' } else { c }));
        used += length;
    }
    out.push(line);
    out
}

/// Writes wrapped text, with the words `result` in the colour `code` (ECMA-48). If a line break
/// splits these words, they have no colour.
pub(crate) fn painted(
    text: &str,
    (result, code): (&str, &str),
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut indent = 0;
    for line in wrap(text, style.columns(), 0, 4) {
        let line = line.replacen(result, &style.paint(code, result), 1);
        writeln!(out, "{:indent$}{line}", "")?;
        indent = 4;
    }
    Ok(())
}

/// Writes an entry of a report: a heading, then items with a label before their wrapped text.
pub(super) struct LabelledLines<'a> {
    /// Colours, line width and level of detail of the text.
    pub(super) style: Style,
    out: &'a mut dyn Write,
    /// The label of the previous line, which is not repeated.
    label: &'static str,
}

impl<'a> LabelledLines<'a> {
    pub(super) fn new(style: Style, out: &'a mut dyn Write) -> Self {
        Self { style, out, label: "" }
    }

    /// Maximum length of a list: `most`, or no maximum with `-v`.
    pub(super) fn limit(&self, most: usize) -> usize {
        if self.style.verbose { usize::MAX } else { most }
    }

    /// Writes an empty line.
    pub(super) fn blank(&mut self) -> io::Result<()> {
        self.label = "";
        writeln!(self.out)
    }

    /// Writes a heading: `tag` (a colour code and a text), then `subject` in bold, then `rest`. If
    /// the subject is wrapped, the whole first line is bold.
    pub(super) fn heading(
        &mut self,
        tag: (&str, &str),
        subject: &str,
        rest: &str,
    ) -> io::Result<()> {
        self.label = "";
        let (code, tag) = tag;
        let columns = tag.chars().count() + 1;
        let text = format!("{}: {rest}", name(subject));
        let mut lines = wrap(&text, self.style.columns(), columns, 4).into_iter();
        let first = lines.next().unwrap_or_default();
        let (bold, plain) = match first.strip_prefix(subject) {
            Some(rest) => (subject, rest),
            None => (&*first, ""),
        };
        let (tag, bold) = (self.style.paint(code, tag), self.style.bold(bold));
        writeln!(self.out, "{tag} {bold}{plain}")?;
        lines.try_for_each(|line| writeln!(self.out, "    {line}"))
    }

    /// Writes a labelled item, wrapped.
    pub(super) fn item(&mut self, label: &'static str, text: &str) -> io::Result<()> {
        let shown = if self.label == label { "" } else { label };
        self.label = label;
        let taken = INDENT + LABEL + 1;
        let mut lines = wrap(text, self.style.columns(), taken, taken).into_iter();
        let first = lines.next().unwrap_or_default();
        let label = self.style.dim(&format!("{shown:<LABEL$}"));
        writeln!(self.out, "{:INDENT$}{label} {first}", "")?;
        lines.try_for_each(|line| writeln!(self.out, "{:taken$}{line}", ""))
    }

    /// Writes the number of hidden items, under the label of the last item.
    pub(super) fn more(&mut self, hidden: usize, one: &str, many: &str) -> io::Result<()> {
        if hidden == 0 {
            return Ok(());
        }
        let noun = if hidden == 1 { one } else { many };
        self.item(self.label, &format!("… and {hidden} more {noun} (-v shows all)"))
    }

    /// Writes a note that only `shown` of `all` items are written. The report itself may have only
    /// `listed` items, fewer than `all`. The note says that `-v` shows these.
    pub(super) fn more_of(
        &mut self,
        (shown, listed, all): (usize, usize, usize),
        one: &str,
        many: &str,
    ) -> io::Result<()> {
        if listed == all {
            return self.more(all - shown, one, many);
        }
        let rest = if shown < listed { format!(" (-v shows {listed})") } else { String::new() };
        self.item(self.label, &format!("… {shown} of {all} {many} are shown{rest}"))
    }

    /// Writes the next step: advice, and a command on the same line if there is room.
    pub(super) fn help(&mut self, text: &str, command: Option<&str>) -> io::Result<()> {
        self.label = "";
        let (word, indent) = (self.style.paint("1;36", "help:"), INDENT + 6);
        let width = self.style.columns();
        let whole = command.map(|command| format!("{text}: {}", name(command)));
        let fits = |whole: &String| indent + whole.chars().count() <= width;
        let (text, below) = match whole.filter(fits) {
            Some(whole) => (whole, None),
            None => (text.to_owned(), command),
        };
        let colon = if below.is_some() { ":" } else { "" };
        let mut lines = wrap(&format!("{text}{colon}"), width, indent, indent).into_iter();
        writeln!(self.out, "{:INDENT$}{word} {}", "", lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| writeln!(self.out, "{:indent$}{line}", ""))?;
        // A command stays on one line so that it can be copied.
        below.map_or(Ok(()), |command| writeln!(self.out, "{:indent$}    {command}", ""))
    }

    /// Writes wrapped text; all lines after the first are indented.
    pub(super) fn text(&mut self, text: &str, indent: usize) -> io::Result<()> {
        self.label = "";
        let mut lines = wrap(text, self.style.columns(), 0, indent).into_iter();
        writeln!(self.out, "{}", lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| writeln!(self.out, "{:indent$}{line}", ""))
    }

    /// Writes an item of a numbered list.
    pub(super) fn numbered(&mut self, number: &str, text: &str) -> io::Result<()> {
        let indent = number.chars().count() + 1;
        let mut lines = wrap(text, self.style.columns(), indent, indent).into_iter();
        writeln!(self.out, "{number} {}", lines.next().unwrap_or_default())?;
        lines.try_for_each(|line| writeln!(self.out, "{:indent$}{line}", ""))
    }

    /// Writes lines that another [`LabelledLines`] has already laid out.
    pub(super) fn written(&mut self, text: &[u8]) -> io::Result<()> {
        self.label = "";
        self.out.write_all(text)
    }

    /// Writes one line, unchanged.
    pub(super) fn line(&mut self, line: &str) -> io::Result<()> {
        self.label = "";
        writeln!(self.out, "{line}")
    }
}

#[cfg(test)]
mod tests {
    use super::{name, some, wrap};

    #[test]
    fn names_are_never_divided() {
        let long = "llvm::lookup(llvm::Triple const&, int)";
        let text = format!("in lib/a.so: {} is gone", name(long));
        let lines = wrap(&text, 24, 0, 4);
        assert_eq!(lines, ["in lib/a.so:", long, "is gone"]);
        assert_eq!(wrap("", 10, 0, 0), [""]);
    }

    #[test]
    fn one_hidden_name_is_shown() {
        let names = ["a", "b", "c", "d"].map(str::to_owned);
        assert_eq!(some(&names, 3), "a, b, c, d");
        assert_eq!(some(&names, 2), "a, b and 2 more");
    }
}
