//! The human-readable output of `archive --self`: an entry for each archive with undefined or
//! unknown names, and the summary. An entry lists these names and the members that refer to them.

use super::super::ArchiveAnswer;
use super::super::human::{MOST, MOST_BY, hints, notes, paragraph, symbol};
use super::{BrokenArchive, InstalledArchives};
use crate::cover::{ArchiveSet, UndefinedName};
use crate::report::layout::{name as glued, wrap};
use crate::report::{Style, incomplete};
use crate::text::{show, show_path};
use crate::views::Subject;
use crate::views::count;
use std::io::{self, Write};

pub(in super::super) fn render(
    subject: &Subject<'_>,
    (view, installed): (&ArchiveAnswer, &InstalledArchives),
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let library = &subject.audit.library;
    for broken in &installed.broken {
        entry(view, broken, library, style, out)?;
    }
    unread(view, library, style, out)?;
    summary(subject, (view, installed), style, out)
}

/// Writes the entry of one archive.
fn entry(
    view: &ArchiveAnswer,
    broken: &BrokenArchive,
    library: &ArchiveSet,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let entry = library.entry(broken.found.archive);
    let (path, of) = (show_path(&entry.path), entry.members.list.len());
    let heading = |list: &[UndefinedName], one: &str, many: &str| {
        let members = BrokenArchive::members(list).len();
        format!(
            "{}, referenced by {members} of {}",
            count(list.len(), one, many),
            count(of, "member", "members")
        )
    };
    let found = &broken.found;
    if !found.undefined.is_empty() {
        let text = heading(&found.undefined, "undefined symbol", "undefined symbols");
        title(&path, &text, true, style, out)?;
        names(view, &found.undefined, library, style, out)?;
    }
    if !found.unknown.is_empty() {
        let text = heading(&found.unknown, "unknown symbol", "unknown symbols");
        title(&path, &text, false, style, out)?;
        names(view, &found.unknown, library, style, out)?;
    }
    let most = if style.verbose { usize::MAX } else { MOST_BY };
    for part in broken.parts.iter().take(most) {
        let text = format!("members also in {}", glued(&show_path(&library.entry(*part).path)));
        paragraph(&text, 4, style, out)?;
    }
    let hidden = broken.parts.len().saturating_sub(most);
    if hidden > 0 {
        let archives = count(hidden, "more archive", "more archives");
        writeln!(out, "    {}", style.dim(&format!("… and in {archives} (-v shows all)")))?;
    }
    if style.quiet { Ok(()) } else { writeln!(out) }
}

/// Writes the heading of an archive, wrapped. The path in the heading is never split.
fn title(
    path: &str,
    text: &str,
    is_alarm: bool,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let taken = path.chars().count() + 2;
    let is_long = taken + text.chars().count() > style.columns();
    let lines = wrap(text, style.columns(), if is_long { 4 } else { taken }, 4);
    let shown = |line: &String| if is_alarm { style.alarm(line) } else { line.clone() };
    let path = style.bold(path);
    match &lines[..] {
        [one] if !is_long => writeln!(out, "{path}: {}", shown(one)),
        _ => {
            writeln!(out, "{path}:")?;
            lines.iter().try_for_each(|line| writeln!(out, "    {}", shown(line)))
        }
    }
}

/// Writes undefined or unknown names, each with the members that refer to it.
fn names(
    view: &ArchiveAnswer,
    list: &[UndefinedName],
    library: &ArchiveSet,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if style.verbose { usize::MAX } else { MOST };
    // With `-q`, no names are shown.
    let most = if style.quiet { 0 } else { most };
    for undefined in list.iter().take(most) {
        let (name, by) = (symbol(&undefined.symbol), referrers(undefined, library, style));
        let line = format!("{name}  by {by}");
        if line.chars().count() + 4 <= style.columns() {
            writeln!(out, "    {line}")?;
        } else {
            paragraph(&name, 4, style, out)?;
            paragraph(&format!("by {by}"), 8, style, out)?;
        }
        hints(view, (&undefined.symbol, 8), style, out)?;
    }
    match list.len().saturating_sub(most) {
        hidden if hidden > 0 && !style.quiet => {
            let text = format!("… and {hidden} more (-v shows all)");
            writeln!(out, "    {}", style.dim(&text))
        }
        _ => Ok(()),
    }
}

/// The names of the members that refer to an undefined name, as one text.
fn referrers(undefined: &UndefinedName, library: &ArchiveSet, style: Style) -> String {
    let most = if style.verbose { usize::MAX } else { MOST_BY };
    let members = undefined.by.iter().filter_map(|by| by.member());
    let names: Vec<String> =
        members.take(most).map(|member| show(library.member_name(member))).collect();
    match undefined.by.len().saturating_sub(most) {
        0 => names.join(", "),
        rest => format!("{} and {rest} more", names.join(", ")),
    }
}

/// Writes unread members that may define the unknown names.
fn unread(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let unread = view.unread.iter().filter(|_| !view.unknown.is_empty());
    for member in unread.take(MOST_BY) {
        let reason = super::super::reason(library.member(*member).kind);
        let member = glued(&view.member(library, *member));
        paragraph(&format!("{member} may define unknown symbols: {reason}"), 0, style, out)?;
    }
    Ok(())
}

/// Writes the number of undefined symbols and of archives that cannot be linked, notes about
/// members, and the parts of the audit that are incomplete.
pub(super) fn summary(
    subject: &Subject<'_>,
    (view, installed): (&ArchiveAnswer, &InstalledArchives),
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let library = &subject.audit.library;
    let is_complete = view.is_complete(subject.report.complete);
    let undefined = view.coverage.undefined.len();
    let text = match undefined {
        0 if !is_complete => "no undefined symbols, as far as known".to_owned(),
        0 => "no undefined symbols".to_owned(),
        n => count(n, "undefined symbol", "undefined symbols"),
    };
    let code = match (view.fails(), is_complete) {
        (true, _) => "1;31",
        (false, true) => "1;32",
        (false, false) => "1;35",
    };
    let is_bad = |broken: &&BrokenArchive| !broken.found.undefined.is_empty();
    let bad: usize = installed.broken.iter().filter(is_bad).map(|one| 1 + one.parts.len()).sum();
    let archives = count(view.archives.len(), "archive", "archives");
    let archives = if bad > 0 { format!("{bad} of {archives}") } else { archives };
    let libraries = count(installed.libraries, "shared library", "shared libraries");
    let cannot = if bad > 0 { " cannot be linked" } else { "" };
    let rest = format!(": {archives}{cannot}; {libraries} searched");
    let mut lines = wrap(&rest, style.columns(), text.chars().count(), 4).into_iter();
    writeln!(out, "{}{}", style.paint(code, &text), lines.next().unwrap_or_default())?;
    lines.try_for_each(|line| writeln!(out, "    {line}"))?;
    notes(view, library, out)?;
    if undefined > 0 && !installed.has_libc {
        writeln!(out, "help: no C library was read: add its directory: --from /usr/lib")?;
    }
    incomplete(subject.report, style, out)
}
