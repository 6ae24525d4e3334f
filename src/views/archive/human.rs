//! `archive` for people: the archives with what is needed of each, choices that only names made, what
//! stays undefined with everybody who refers to it, and the summary last.

use super::Archive;
use crate::cover::{By, Library, Needed};
use crate::demangle::demangle;
use crate::format::archive::MemberKind;
use crate::id::ArchiveId;
use crate::report::{Style, incomplete};
use crate::text::{show, show_path};
use crate::views::Subject;
use crate::views::count;
use std::io::{self, Write};

/// Lines of one kind that are shown unless everything is wanted.
const MOST: usize = 20;
/// Referrers that are named for one symbol.
const MOST_BY: usize = 3;

pub(super) fn render(
    subject: &Subject<'_>,
    view: &Archive,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let library = &subject.audit.library;
    if !style.quiet {
        needed(view, library, style, out)?;
        ties(view, library, style, out)?;
    }
    undefined(view, library, style, out)?;
    summary(subject, view, style, out)
}

fn symbol(name: &[u8]) -> String {
    demangle(name).unwrap_or_else(|| show(name))
}

fn reason(view: &Archive, library: &Library, needed: &Needed) -> String {
    let member = show(library.member_name(needed.member));
    if needed.symbol.is_empty() {
        return member;
    }
    let who = view.who(library, needed.by);
    let who = if needed.by == By::Asked { who } else { format!("for {who}") };
    format!("{member}  {}  {who}", symbol(&needed.symbol))
}

fn needed(view: &Archive, library: &Library, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (archive, count) in view.coverage.archives(library) {
        let shelf = library.shelf(archive);
        let heading = style.bold(&show_path(&shelf.path));
        let of = shelf.members.list.len();
        writeln!(out, "{heading}: {count} of {of} {}", if of == 1 { "member" } else { "members" })?;
        let here = |needed: &&Needed| library.archive_of(needed.member) == archive;
        let mut here: Vec<&Needed> = view.coverage.needed.iter().filter(here).collect();
        if !style.verbose {
            // What leads from the outside into the archive says most.
            let inner = |needed: &&Needed| match needed.by {
                By::Asked | By::Root(_) => 0,
                By::Member(member) => 1 + usize::from(library.archive_of(member) == archive),
            };
            here.sort_by_key(inner);
            here.truncate(1);
        }
        for needed in here {
            writeln!(out, "    {}", style.fit(&reason(view, library, needed), 4))?;
        }
    }
    if !view.coverage.needed.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

fn ties(view: &Archive, library: &Library, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let most = if style.verbose { usize::MAX } else { MOST };
    let name = |archive: &ArchiveId| super::file_name(&library.shelf(*archive).path);
    for tie in view.coverage.ties.iter().take(most) {
        let others: Vec<String> = tie.others.iter().map(name).collect();
        let (symbol, taken) = (symbol(&tie.symbol), name(&tie.taken));
        writeln!(out, "tie      {symbol}: {taken}, as well as {}", others.join(", "))?;
    }
    more(view.coverage.ties.len().saturating_sub(most), style, out)
}

fn more(hidden: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if hidden > 0 {
        writeln!(out, "{}", style.dim(&format!("… and {hidden} more (-v shows all)")))?;
    }
    Ok(())
}

/// What stays undefined, with who refers to it.
pub(super) fn undefined(
    view: &Archive,
    library: &Library,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if style.verbose { usize::MAX } else { MOST };
    let most_by = if style.verbose { usize::MAX } else { MOST_BY };
    for undefined in view.coverage.undefined.iter().take(most) {
        let label = style.alarm("undefined");
        writeln!(out, "{label} {}: no archive defines it", symbol(&undefined.symbol))?;
        for by in undefined.by.iter().take(most_by) {
            writeln!(out, "    by {}", view.who(library, *by))?;
        }
        more(undefined.by.len().saturating_sub(most_by), style, out)?;
    }
    more(view.coverage.undefined.len().saturating_sub(most), style, out)
}

/// What it came to.
pub(super) fn summary(
    subject: &Subject<'_>,
    view: &Archive,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let library = &subject.audit.library;
    let archives = view.coverage.archives(library);
    let added: Vec<_> = archives.iter().filter(|(archive, _)| !view.is_linked(*archive)).collect();
    let members: usize = archives.iter().map(|(_, count)| count).sum();
    let of_added: usize = added.iter().map(|(_, count)| count).sum();
    let undefined = view.coverage.undefined.len();
    let text = match undefined {
        0 if !view.coverage.opaque.is_empty() => {
            "nothing stays undefined as far as is known".to_owned()
        }
        0 => "nothing stays undefined".to_owned(),
        n => format!("{} undefined", count(n, "symbol stays", "symbols stay")),
    };
    let code = match (view.fails(), view.is_complete(subject.report.complete)) {
        (true, _) => "1;31",
        (false, true) => "1;32",
        (false, false) => "1;35",
    };
    writeln!(
        out,
        "{}: {} of {} needed, of these {} of {}",
        style.paint(code, &text),
        count(members, "member", "members"),
        count(archives.len(), "archive is", "archives are").replace(" is", "").replace(" are", ""),
        count(of_added, "member", "members"),
        count(added.len(), "candidate", "candidates"),
    )?;
    notes(view, library, out)?;
    incomplete(subject.report, style, out)
}

type IsKind = fn(MemberKind) -> bool;

/// What was not looked into.
fn notes(view: &Archive, library: &Library, out: &mut dyn Write) -> io::Result<()> {
    let shelves = || view.archives.iter().chain(&view.candidates).map(|(a, _)| library.shelf(*a));
    let members = || shelves().flat_map(|shelf| &shelf.members.list);
    let opaque = members().filter(|member| member.is_opaque()).count();
    if opaque > 0 {
        let needed = view.coverage.opaque.len();
        let text = count(opaque, "member is", "members are");
        writeln!(
            out,
            "{text} opaque (LTO or bitcode), {needed} of them needed: what they refer to is not known"
        )?;
        if needed > 0 {
            writeln!(out, "incomplete: only their compiler knows what these members refer to")?;
        }
    }
    let notes: [(IsKind, &str, &str); 4] = [
        (
            |kind| kind == MemberKind::Missing,
            "member that a thin archive names is not there",
            "members that thin archives name are not there",
        ),
        (
            |kind| matches!(kind, MemberKind::NoFile(_)),
            "member that a thin archive names is not a file that can be read",
            "members that thin archives name are not files that can be read",
        ),
        (
            |kind| kind == MemberKind::Outside,
            "member of a thin archive lies outside of what was named, and was not opened",
            "members of thin archives lie outside of what was named, and were not opened",
        ),
        (|kind| kind == MemberKind::Damaged, "member is damaged", "members are damaged"),
    ];
    for (is_kind, one, many) in notes {
        let n = members().filter(|member| is_kind(member.kind)).count();
        if n > 0 {
            writeln!(out, "{}", count(n, one, many))?;
        }
    }
    if let Some(first) = view.foreign.first() {
        let text = count(view.foreign.len(), "member is", "members are");
        let name = view.member(library, *first);
        writeln!(out, "{text} for another class or machine and skipped, {name} first")?;
    }
    Ok(())
}
