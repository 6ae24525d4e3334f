//! `archive` as a table: a row for each archive with needed members, with the reference that
//! `human` shows for the archive. As in `human`, the summary comes last.

use super::{ArchiveAnswer, human};
use crate::demangle::demangle;
use crate::report::Style;
use crate::text::{show, show_path};
use crate::views::Subject;
use comfy_table::{ContentArrangement, Table, presets};
use std::io::{self, Write};

pub(super) fn render(
    subject: &Subject<'_>,
    view: &ArchiveAnswer,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let library = &subject.audit.library;
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(style.columns()).unwrap_or(u16::MAX))
        .set_header(["archive", "members", "needed", "first symbol", "referenced by"]);
    let archives = view.coverage.archives(library);
    for (archive, count) in &archives {
        let entry = library.entry(*archive);
        let needed = human::first(view, library, *archive);
        let symbol = needed.map(|n| demangle(&n.symbol).unwrap_or_else(|| show(&n.symbol)));
        table.add_row([
            show_path(&entry.path),
            entry.members.list.len().to_string(),
            count.to_string(),
            symbol.unwrap_or_default(),
            needed.map(|n| view.who(library, n.by)).unwrap_or_default(),
        ]);
    }
    if !style.quiet && !archives.is_empty() {
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
    }
    human::undefined(view, library, style, out)?;
    human::summary(subject, view, style, out)
}
