//! `archive --self` as a table: a row for each archive with undefined or unknown names.

use super::super::ArchiveAnswer;
use super::{InstalledArchives, human};
use crate::demangle::demangle;
use crate::report::Style;
use crate::text::{show, show_path};
use crate::views::Subject;
use comfy_table::{ContentArrangement, Table, presets};
use std::io::{self, Write};

pub(in super::super) fn render(
    subject: &Subject<'_>,
    (view, installed): (&ArchiveAnswer, &InstalledArchives),
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let library = &subject.audit.library;
    let mut table = Table::new();
    table
        .load_style(presets::UTF8_HORIZONTAL_ONLY)
        .set_content_arrangement(ContentArrangement::Dynamic)
        .set_width(u16::try_from(style.columns()).unwrap_or(u16::MAX))
        .set_header([
            "archive",
            "members",
            "undefined",
            "unknown",
            "first symbol",
            "referenced by",
        ]);
    for broken in &installed.broken {
        let found = &broken.found;
        let entry = library.entry(found.archive);
        let first = found.undefined.first().or(found.unknown.first());
        let name = first.map(|one| demangle(&one.symbol).unwrap_or_else(|| show(&one.symbol)));
        let by = first.and_then(|one| one.by.first()?.member());
        table.add_row([
            show_path(&entry.path),
            entry.members.list.len().to_string(),
            found.undefined.len().to_string(),
            found.unknown.len().to_string(),
            name.unwrap_or_default(),
            by.map(|member| show(library.member_name(member))).unwrap_or_default(),
        ]);
    }
    if !style.quiet && !installed.broken.is_empty() {
        for line in table.lines() {
            writeln!(out, "{}", line.trim_end())?;
        }
        writeln!(out)?;
    }
    human::summary(subject, (view, installed), style, out)
}
