//! The human-readable output of `why`: the files that provide a name, the files that need it, and
//! the summary. The pages of libraries and symbols are in `library_page`, `symbol_page` and
//! `undefined_page`.

use super::{Answer, VersionAnswer, Why};
use crate::audit::Audit;
use crate::demangle::demangle;
use crate::facts::{Content, FileFacts};
use crate::format::elf::Role;
use crate::id::{FileId, RootId};
use crate::report::Style;
use crate::report::layout::{name as glued, wrap};
use crate::resolve::EntryPoint;
use crate::text::{show, show_path};
use crate::views::Subject;
use crate::views::{count, typed_input};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Maximum number of lines of one kind without `-v`.
const MOST: usize = 20;
/// Indent before a detail, in columns.
const DETAIL: usize = 6;
/// Minimum width of the label of a detail, in columns.
const LABEL: usize = 8;
/// Gap between the cells of a row, in columns.
const GAP: usize = 2;

pub(super) fn render(
    subject: &Subject<'_>,
    why: &Why,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let repeated = BTreeSet::new();
    let mut page = WhyPage { audit: subject.audit, subject, style, repeated, out };
    let under = why.under.as_ref().map(|under| page.path(under.file));
    match &why.answer {
        Answer::Library(library) => page.library(&why.name, library, under.as_deref())?,
        Answer::Symbol(symbol) => page.symbol(&why.name, symbol, under.as_deref())?,
        Answer::Version(version) => page.version(&why.name, version, subject)?,
        Answer::Unknown(near) => page.unknown(&why.name, near, subject)?,
    }
    let open = subject.report.counts.incomplete;
    if open > 0 {
        writeln!(page.out, "incomplete: {} unread or undecided", count(open, "item", "items"))?;
        writeln!(page.out, "next: linkaudit check {}", typed_input(subject))?;
    }
    Ok(())
}

pub(super) struct WhyPage<'a> {
    pub(super) audit: &'a Audit,
    pub(super) subject: &'a Subject<'a>,
    pub(super) style: Style,
    /// Demangled names that several symbols of the answer share.
    pub(super) repeated: BTreeSet<String>,
    pub(super) out: &'a mut dyn Write,
}

impl WhyPage<'_> {
    pub(super) fn path(&self, file: FileId) -> String {
        show_path(&self.audit.corpus.files[file].path)
    }

    fn root(&self, root: RootId) -> String {
        let EntryPoint { file, host, .. } = self.audit.closures.roots[root].root;
        let host = host.map(|host| format!(" opened by {}", self.path(host)));
        self.path(file) + &host.unwrap_or_default()
    }

    /// The first entry point and the number of others.
    pub(super) fn roots(&self, first: RootId, all: usize) -> String {
        match all - 1 {
            0 => self.root(first),
            more => format!(
                "{} and {}",
                self.root(first),
                count(more, "more entry point", "more entry points")
            ),
        }
    }

    pub(super) fn most(&self) -> usize {
        if self.style.verbose { usize::MAX } else { MOST }
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = self.style.bold(text);
        writeln!(self.out, "{text}")
    }

    /// Writes a sentence, wrapped.
    fn text(&mut self, text: &str) -> io::Result<()> {
        let lines = wrap(text, self.style.columns(), 0, DETAIL);
        lines.iter().enumerate().try_for_each(|(at, line)| {
            let indent = if at == 0 { 0 } else { DETAIL };
            writeln!(self.out, "{:indent$}{line}", "")
        })
    }

    /// Writes a detail of the row above, wrapped.
    pub(super) fn detail(&mut self, label: &str, text: &str) -> io::Result<()> {
        let taken = DETAIL + LABEL + 1;
        let mut shown = label;
        for line in wrap(text, self.style.columns(), taken, taken) {
            let line = self.style.dim(&format!("{:DETAIL$}{shown:<LABEL$} {line}", ""));
            writeln!(self.out, "{line}")?;
            shown = "";
        }
        Ok(())
    }

    /// Writes cells in columns. A row that is wider than the output continues on the next line, and
    /// names are never cut.
    pub(super) fn row(&mut self, indent: usize, cells: &[Cell]) -> io::Result<()> {
        let columns = self.style.columns();
        let last = cells.iter().rposition(|cell| !cell.text.is_empty()).map_or(0, |at| at + 1);
        let mut line = " ".repeat(indent);
        let mut used = 0;
        for (at, cell) in cells[..last].iter().enumerate() {
            let wide = cell.text.chars().count();
            let gap = if at == 0 { indent } else { GAP };
            if at > 0 && used + gap + wide > columns && wide > 0 {
                writeln!(self.out, "{}", line.trim_end())?;
                (line, used) = (" ".repeat(DETAIL), DETAIL);
            } else if at > 0 {
                line.push_str(&" ".repeat(gap));
                used += gap;
            } else {
                used = indent;
            }
            let parts = if used + wide <= columns {
                vec![cell.text.clone()]
            } else {
                wrap(&cell.text, columns, used, DETAIL + GAP)
            };
            for (at, part) in parts.iter().enumerate() {
                if at > 0 {
                    writeln!(self.out, "{line}")?;
                    (line, used) = (" ".repeat(DETAIL + GAP), DETAIL + GAP);
                }
                line.push_str(&cell.painted(self.style, part));
                used += part.chars().count();
            }
            if at + 1 < last && parts.len() == 1 {
                let pad = cell.width.saturating_sub(wide);
                line.push_str(&" ".repeat(pad));
                used += pad;
            }
        }
        writeln!(self.out, "{line}")
    }

    pub(super) fn more(&mut self, all: usize) -> io::Result<()> {
        match all.saturating_sub(self.most()) {
            0 => Ok(()),
            hidden => {
                let text = self.style.dim(&format!("   … and {hidden} more (-v shows all)"));
                writeln!(self.out, "{text}")
            }
        }
    }

    fn unknown(&mut self, name: &[u8], near: &[Vec<u8>], subject: &Subject<'_>) -> io::Result<()> {
        let files = self.audit.corpus.files.iter().filter(|facts| facts.object().is_some());
        let files = count(files.count(), "ELF file", "ELF files");
        let text = format!(
            "{}: unknown name; none of {files} needs, refers to or defines it",
            glued(&show(name))
        );
        self.text(&text)?;
        let is_unlinked = |facts: &&FileFacts| match &facts.content {
            Content::Elf(object) => object.role == Role::Relocatable,
            Content::Archive(_) => true,
            Content::Other(_) => false,
        };
        let unlinked = self.audit.corpus.files.iter().filter(is_unlinked).count();
        if unlinked > 0 {
            let files = count(unlinked, "archive or object file", "archives or object files");
            let command = glued("linkaudit archive FILE");
            self.text(&format!("not searched: {files}; {command} lists undefined names"))?;
        }
        self.next_names("help: similar names", (near, 0), subject)
    }

    fn version(
        &mut self,
        name: &[u8],
        version: &VersionAnswer,
        subject: &Subject<'_>,
    ) -> io::Result<()> {
        self.text(&format!("{}: a version of symbols, not a symbol", glued(&show(name))))?;
        self.next_names("needed for", (&version.symbols, version.more), subject)
    }

    /// Writes names, the number of further names, and a command that asks about the first name.
    fn next_names(
        &mut self,
        label: &str,
        (names, more): (&[Vec<u8>], usize),
        subject: &Subject<'_>,
    ) -> io::Result<()> {
        let names: Vec<String> = names.iter().map(|name| display(name)).collect();
        if let Some(first) = names.first() {
            let mut glued: Vec<String> = names.iter().map(|name| glued(name)).collect();
            glued.extend((more > 0).then(|| format!("and {more} more")));
            self.text(&format!("{label}: {}", glued.join(", ")))?;
            let first = crate::text::shell(first.as_bytes());
            writeln!(self.out, "next: linkaudit why {first} {}", typed_input(subject))?;
        }
        Ok(())
    }
}

/// A cell of a row: its text, the minimum width of its column, and its colour.
pub(super) struct Cell {
    text: String,
    width: usize,
    code: Option<&'static str>,
}

impl Cell {
    /// Text in a column of at least `width`.
    pub(super) fn new(text: impl Into<String>, width: usize) -> Self {
        Self { text: text.into(), width, code: None }
    }

    /// Text that is less important, shown dim.
    pub(super) fn dim(text: impl Into<String>) -> Self {
        Self { code: Some("2"), ..Self::new(text, 0) }
    }

    /// Text about something missing, shown in red.
    pub(super) fn alarm(text: impl Into<String>) -> Self {
        Self { code: Some("1;31"), ..Self::new(text, 0) }
    }

    /// The text, without colour.
    pub(super) fn text(&self) -> &str {
        &self.text
    }

    fn painted(&self, style: Style, text: &str) -> String {
        self.code.map_or_else(|| text.to_owned(), |code| style.paint(code, text))
    }
}

/// The width of a column of paths. Paths longer than half of the line are ignored.
pub(super) fn column(style: Style, paths: impl Iterator<Item = String>) -> usize {
    let most = style.columns() / 2;
    paths.map(|path| path.chars().count()).filter(|width| *width <= most).max().unwrap_or(0)
}

/// A symbol, demangled if possible.
pub(super) fn display(raw: &[u8]) -> String {
    demangle(raw).unwrap_or_else(|| show(raw))
}
