//! `why` for people: providers first, then who asks, the summary last. The pages of libraries and of
//! symbols are in `library_page` and `symbol_page`.

use super::{Answer, Why};
use crate::audit::Audit;
use crate::demangle::demangle;
use crate::id::{FileId, RootId};
use crate::report::Style;
use crate::resolve::Root;
use crate::text::{show, show_path};
use crate::views::Subject;
use crate::views::{count, typed_paths};
use std::io::{self, Write};

/// Lines of one kind, unless everything is wanted.
const MOST: usize = 20;

pub(super) fn render(
    subject: &Subject<'_>,
    why: &Why,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page = Page { audit: subject.audit, style, out };
    match &why.answer {
        Answer::Library(library) => page.library(&why.name, library)?,
        Answer::Symbol(symbol) => page.symbol(&why.name, symbol)?,
        Answer::Unknown(near) => page.unknown(&why.name, near, subject)?,
    }
    let open = subject.report.counts.incomplete;
    if open > 0 {
        let text = count(open, "thing", "things");
        writeln!(page.out, "incomplete: {text} could not be read or decided")?;
        writeln!(page.out, "next: linkaudit check {}", typed_paths(subject))?;
    }
    Ok(())
}

pub(super) struct Page<'a> {
    pub(super) audit: &'a Audit,
    pub(super) style: Style,
    pub(super) out: &'a mut dyn Write,
}

impl Page<'_> {
    pub(super) fn path(&self, file: FileId) -> String {
        show_path(&self.audit.corpus.files[file].path)
    }

    fn root(&self, root: RootId) -> String {
        let Root { file, host, .. } = self.audit.closures.roots[root].root;
        let host = host.map(|host| format!(" opened by {}", self.path(host)));
        self.path(file) + &host.unwrap_or_default()
    }

    /// The first root and how many more there are.
    pub(super) fn roots(&self, first: RootId, all: usize) -> String {
        match all - 1 {
            0 => self.root(first),
            more => format!("{} and {}", self.root(first), count(more, "more root", "more roots")),
        }
    }

    pub(super) fn most(&self) -> usize {
        if self.style.verbose { usize::MAX } else { MOST }
    }

    pub(super) fn heading(&mut self, text: &str) -> io::Result<()> {
        let text = self.style.bold(text);
        writeln!(self.out, "{text}")
    }

    pub(super) fn detail(&mut self, label: &str, text: &str) -> io::Result<()> {
        let text = self.style.dim(&format!("      {label:<6} {text}"));
        writeln!(self.out, "{text}")
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
        let name = show(name);
        writeln!(
            self.out,
            "{name}: unknown; none of {files} needs, refers to or defines anything of this name"
        )?;
        let near: Vec<String> = near.iter().map(|name| display(name)).collect();
        if let Some(first) = near.first() {
            writeln!(self.out, "like it: {}", near.join(", "))?;
            let first = crate::text::shell(first);
            writeln!(self.out, "next: linkaudit why {first} {}", typed_paths(subject))?;
        }
        Ok(())
    }
}

/// The width of a column of paths: at most half of the line.
pub(super) fn column(style: Style, paths: impl Iterator<Item = String>) -> usize {
    let most = style.columns() / 2;
    paths.map(|path| path.chars().count()).filter(|width| *width <= most).max().unwrap_or(0)
}

/// A symbol as people read it.
pub(super) fn display(raw: &[u8]) -> String {
    demangle(raw).unwrap_or_else(|| show(raw))
}
