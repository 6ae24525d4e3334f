//! The human-readable output of `archive`: the archives with their needed members, the ties
//! (symbols that several archives define), the undefined names with their referrers, and the
//! summary.

use super::{ArchiveAnswer, ShownHints};
use crate::audit::ArchiveOwner;
use crate::cover::{ArchiveSet, NeededMember, ReferredBy, ReferringFile, UndefinedName};
use crate::demangle::demangle;
use crate::format::archive::{Member, MemberKind};
use crate::id::{ArchiveId, MemberId};
use crate::policy::source_in_words;
use crate::report::layout::wrap;
use crate::report::{Style, incomplete, repair};
use crate::text::{show, show_path};
use crate::views::Subject;
use crate::views::count;
use std::io::{self, Write};

/// Maximum number of lines of one kind without `-v`.
pub(super) const MOST: usize = 20;
/// Maximum number of referrers that are listed for one symbol without `-v`.
pub(super) const MOST_BY: usize = 3;

/// The parts of the answer that [`render`] shows.
pub(super) fn shown(style: Style) -> ShownHints {
    let (names, referrers) = if style.verbose { (usize::MAX, usize::MAX) } else { (MOST, MOST_BY) };
    ShownHints { names, referrers, owners: !style.quiet }
}

pub(super) fn render(
    subject: &Subject<'_>,
    view: &ArchiveAnswer,
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

/// A name as text: demangled, with the mangled name in brackets. Other names stay as they are.
pub(super) fn symbol(name: &[u8]) -> String {
    match demangle(name) {
        Some(text) => format!("{text} [{}]", show(name)),
        None => show(name),
    }
}

fn reason(view: &ArchiveAnswer, library: &ArchiveSet, needed: &NeededMember) -> String {
    let member = show(library.member_name(needed.member));
    if needed.symbol.is_empty() {
        return member;
    }
    let who = view.who(library, needed.by);
    let is_asked = matches!(needed.by, ReferredBy::Asked | ReferredBy::EntryPoint);
    let who = if is_asked { who } else { format!("for {who}") };
    format!("{member}  {}  {who}", symbol(&needed.symbol))
}

fn needed(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    for (archive, count) in view.coverage.archives(library) {
        let entry = library.entry(archive);
        let heading = style.bold(&show_path(&entry.path));
        let of = entry.members.list.len();
        let members = if of == 1 { "member" } else { "members" };
        let owner = view.hints.owners.of(&entry.path).and_then(packages);
        let owner = owner.map(|words| format!(" ({words})")).unwrap_or_default();
        writeln!(out, "{heading}: {count} of {of} {members}{owner}")?;
        let all = view.coverage.needed.iter();
        let here: Vec<&NeededMember> = if style.verbose {
            all.filter(|needed| library.archive_of(needed.member) == archive).collect()
        } else {
            first(view, library, archive).into_iter().collect()
        };
        for needed in here {
            writeln!(out, "    {}", style.fit(&reason(view, library, needed), 4))?;
        }
        if !style.verbose && count > 1 {
            write!(out, "    ")?;
            more(count - 1, style, out)?;
        }
    }
    if !view.coverage.needed.is_empty() {
        writeln!(out)?;
    }
    Ok(())
}

/// The needed member that best explains why an archive is needed. A member that an option, an
/// object or a shared object needs comes first, then one that another archive needs, then any
/// other. `None` if no member is needed.
pub(super) fn first<'v>(
    view: &'v ArchiveAnswer,
    library: &ArchiveSet,
    archive: ArchiveId,
) -> Option<&'v NeededMember> {
    let inner = |needed: &&NeededMember| match needed.by {
        ReferredBy::Asked
        | ReferredBy::EntryPoint
        | ReferredBy::LibraryCall
        | ReferredBy::Root(_) => 0,
        ReferredBy::Member(member) => 1 + usize::from(library.archive_of(member) == archive),
    };
    let here = |needed: &&NeededMember| library.archive_of(needed.member) == archive;
    view.coverage.needed.iter().filter(here).min_by_key(inner)
}

fn ties(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if style.verbose { usize::MAX } else { MOST };
    let name = |archive: &ArchiveId| super::file_name(&library.entry(*archive).path);
    for tie in view.coverage.ties.iter().take(most) {
        let others: Vec<String> = tie.others.iter().map(name).collect();
        let (symbol, taken) = (symbol(&tie.symbol), name(&tie.taken));
        writeln!(out, "tie      {symbol}: taken from {taken}, also in {}", others.join(", "))?;
    }
    more(view.coverage.ties.len().saturating_sub(most), style, out)
}

fn more(hidden: usize, style: Style, out: &mut dyn Write) -> io::Result<()> {
    if hidden > 0 {
        writeln!(out, "{}", style.dim(&format!("… and {hidden} more (-v shows all)")))?;
    }
    Ok(())
}

/// The packages of an archive, in words; `None` if none is known.
fn packages(owner: &ArchiveOwner) -> Option<String> {
    let ArchiveOwner { package, pkg_config, cmake, .. } = owner;
    repair::owner(package.as_deref(), pkg_config.as_deref(), cmake.as_ref())
}

/// Writes the hints about an undefined name, indented by `indent` columns.
pub(super) fn hints(
    view: &ArchiveAnswer,
    (name, indent): (&[u8], usize),
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Some(hints) = view.hints.of(name) else { return Ok(()) };
    let mut lines = Vec::new();
    for (archive, source) in &hints.archives {
        let (archive_name, source) = (show(archive.as_bytes()), source_in_words(source));
        lines.push(format!("defined by {archive_name}, according to {source}"));
        for owner in view.hints.owners.named(archive.as_bytes()) {
            let packages = packages(owner).map(|words| format!(" ({words})"));
            let how = if owner.exists { "installed" } else { "removed" };
            let path = show_path(&owner.path);
            lines.push(format!("{how}: {path}{}", packages.unwrap_or_default()));
        }
    }
    for near in &hints.near {
        let version = near.version.as_deref().map(|v| format!(", version {}", show(v)));
        let member = near.member.as_deref().map(|member| format!("({})", show(member)));
        let (version, member) = (version.unwrap_or_default(), member.unwrap_or_default());
        let (found, file) = (symbol(&near.symbol), super::file_name(&near.path));
        lines.push(format!("near miss: {found}{version} in {file}{member}: {}", near.reason));
    }
    lines.iter().try_for_each(|line| paragraph(line, indent, style, out))
}

/// Writes wrapped text; lines after the first are indented further.
pub(super) fn paragraph(
    text: &str,
    indent: usize,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let (mut indent, rest) = (indent, indent + 4);
    for line in wrap(text, style.columns(), indent, rest) {
        writeln!(out, "{:indent$}{line}", "")?;
        indent = rest;
    }
    Ok(())
}

/// The reason why no definition of a name is in the link.
fn missing(view: &ArchiveAnswer, library: &ArchiveSet, undefined: &UndefinedName) -> String {
    let name = &undefined.symbol;
    // A name that an object defines stays undefined if the linker discards the definition, LTO drops
    // it, or the output does not export it to shared objects.
    let is_shared = |by: &ReferredBy| match by {
        ReferredBy::Root(at) => view.roots.get(*at).is_some_and(|root| root.linked && root.input),
        ReferredBy::Asked
        | ReferredBy::EntryPoint
        | ReferredBy::LibraryCall
        | ReferredBy::Member(_) => false,
    };
    let defined = |file: String| {
        if undefined.by.iter().all(is_shared) {
            format!("defined in {file} and hidden from shared objects")
        } else if view.coverage.only_lto_defines.contains(name) {
            format!("defined in {file}")
        } else {
            format!("the linker discards the COMDAT group of {file} that defines it")
        }
    };
    let defines = |root: &&ReferringFile| {
        !root.linked && root.symbols.iter().any(|(n, kind)| kind.is_definition() && n == name)
    };
    match view.untaken(library, name) {
        None => match view.roots.iter().find(defines) {
            Some(root) => defined(show_path(&root.path)),
            None => "no archive defines it".to_owned(),
        },
        Some(member) if view.coverage.order.contains(&member) => {
            defined(view.member(library, member))
        }
        Some(member) => {
            let unlisted = view.is_unlisted(library, member, name);
            let why = if unlisted { ": the index of the archive lacks it" } else { "" };
            format!("not taken from {}{why}", view.member(library, member))
        }
    }
}

/// Writes the undefined names and the unknown names, each with its referrers.
pub(super) fn undefined(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let most = if style.verbose { usize::MAX } else { MOST };
    let most_by = if style.verbose { usize::MAX } else { MOST_BY };
    for undefined in view.coverage.undefined.iter().take(most) {
        let label = style.alarm("undefined");
        let name = symbol(&undefined.symbol);
        let reason = missing(view, library, undefined);
        writeln!(out, "{label} {name}: {reason}")?;
        for by in undefined.by.iter().take(most_by) {
            writeln!(out, "    by {}", view.who(library, *by))?;
        }
        let hidden = undefined.by.len().saturating_sub(most_by);
        if undefined.unread > 0 {
            let text = format!("… and up to {hidden} more (-v shows all)");
            writeln!(out, "{}", style.dim(&text))?;
        } else {
            more(hidden, style, out)?;
        }
        hints(view, (&undefined.symbol, 4), style, out)?;
    }
    more(view.coverage.undefined.len().saturating_sub(most), style, out)?;
    for unknown in view.unknown.iter().take(most) {
        let is_only_lto = view.unread.is_empty()
            && view.opaque_roots().next().is_none()
            && view.not_found.is_empty();
        let reason = if is_only_lto {
            let missing = missing(view, library, unknown);
            let is_defined = view.coverage.only_lto_defines.contains(&unknown.symbol);
            let dropped = if is_defined { "definition" } else { "references" };
            format!("{missing}, and LTO may drop the {dropped}")
        } else {
            "no archive is known to define it".to_owned()
        };
        writeln!(out, "unknown   {}: {reason}", symbol(&unknown.symbol))?;
        for by in unknown.by.iter().take(most_by) {
            writeln!(out, "    by {}", view.who(library, *by))?;
        }
        hints(view, (&unknown.symbol, 4), style, out)?;
    }
    more(view.unknown.len().saturating_sub(most), style, out)?;
    let unread = view
        .unread
        .iter()
        .map(|member| (view.member(library, *member), super::reason(library.member(*member).kind)));
    let roots =
        view.opaque_roots().map(|(root, kind)| (show_path(&root.path), super::reason(kind)));
    let may_define = unread.chain(roots).filter(|_| !view.unknown.is_empty());
    for (file, reason) in may_define.take(most_by) {
        writeln!(out, "    {file} may define it: {reason}")?;
    }
    let not_found = view.not_found.iter().filter(|_| !view.unknown.is_empty());
    for (name, by) in not_found.clone().take(most_by) {
        let (name, by) = (show(name), show_path(by));
        writeln!(out, "    {name} may define it: not found, and {by} needs it")?;
    }
    if not_found.count() > 0 {
        writeln!(out, "help: add the directory of the library: -rpath-link DIR")?;
    }
    Ok(())
}

/// Writes the totals, and notes about members that could not be read.
pub(super) fn summary(
    subject: &Subject<'_>,
    view: &ArchiveAnswer,
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
        0 if !view.is_certain() => "no undefined symbols, as far as known".to_owned(),
        0 => "no undefined symbols".to_owned(),
        n => count(n, "undefined symbol", "undefined symbols"),
    };
    let code = match (view.fails(), view.is_complete(subject.report.complete)) {
        (true, _) => "1;31",
        (false, true) => "1;32",
        (false, false) => "1;35",
    };
    write!(
        out,
        "{}: {} of {} needed",
        style.paint(code, &text),
        count(members, "member", "members"),
        count(archives.len(), "archive", "archives"),
    )?;
    if !added.is_empty() {
        let members = count(of_added, "member", "members");
        let archives = count(added.len(), "candidate archive", "candidate archives");
        write!(out, ", including {members} of {archives}")?;
    }
    writeln!(out)?;
    if view.roots.is_empty() && view.coverage.needed.is_empty() && undefined == 0 {
        paragraph(
            "no object and no symbol needs the archives: add an object to the link",
            0,
            style,
            out,
        )?;
    }
    notes(view, library, out)?;
    incomplete(subject.report, style, out)
}

type IsKind = fn(MemberKind) -> bool;

/// Writes notes about members that could not be read or were skipped.
pub(super) fn notes(
    view: &ArchiveAnswer,
    library: &ArchiveSet,
    out: &mut dyn Write,
) -> io::Result<()> {
    let entries = || view.archives.iter().chain(&view.candidates).map(|(a, _)| library.entry(*a));
    let members = || entries().flat_map(|entry| &entry.members.list);
    let opaque = members().filter(|member| member.is_opaque()).count();
    if opaque > 0 {
        let is_opaque = |member: &&MemberId| library.member(**member).is_opaque();
        let needed = view.coverage.opaque.iter().filter(is_opaque).count();
        let text = count(opaque, "member is", "members are");
        writeln!(
            out,
            "{text} opaque (LTO or bitcode), {needed} of them needed: references unknown"
        )?;
        if needed > 0 {
            writeln!(out, "incomplete: only their compiler knows the references of these members")?;
        }
    }
    let roots = view.opaque_roots().count();
    if roots > 0 {
        let text = count(roots, "object is", "objects are");
        writeln!(out, "{text} opaque (LTO or bitcode): symbols unknown")?;
    }
    let notes: [(IsKind, &str, &str); 5] = [
        (
            |kind| kind == MemberKind::Nested,
            "member is an archive, which linkers do not open",
            "members are archives, which linkers do not open",
        ),
        (
            |kind| kind == MemberKind::Missing,
            "thin archive member does not exist",
            "thin archive members do not exist",
        ),
        (
            |kind| matches!(kind, MemberKind::NoFile(_)),
            "thin archive member cannot be read",
            "thin archive members cannot be read",
        ),
        (
            |kind| kind == MemberKind::Outside,
            "thin archive member outside the given paths: not opened",
            "thin archive members outside the given paths: not opened",
        ),
        (|kind| kind == MemberKind::Damaged, "member is damaged", "members are damaged"),
    ];
    for (is_kind, one, many) in notes {
        let found: Vec<&Member> = members().filter(|member| is_kind(member.kind)).collect();
        if let Some(first) = found.first() {
            let text = count(found.len(), one, many);
            let entry =
                entries().find(|entry| entry.members.list.iter().any(|m| std::ptr::eq(m, *first)));
            let name = entry.map(|entry| {
                let archive = super::file_name(&entry.path);
                format!("{archive}({})", show(entry.members.name(first)))
            });
            writeln!(out, "{text}: {}", name.unwrap_or_default())?;
        }
    }
    if view.lto.objects > 0 {
        let text = count(view.lto.objects, "LTO object", "LTO objects");
        let more = "code generation may add references to the C library and the compiler's runtime";
        writeln!(out, "{text}: {more}, such as memcpy")?;
        if let Some(name) = view.lto.unlisted {
            let text = "GCC does not list references to builtins";
            writeln!(out, "{text}: the link may need the member that defines {name}")?;
        }
    }
    for archive in &view.unindexed {
        let path = show_path(&library.entry(*archive).path);
        writeln!(out, "{path}: archive has no index: GNU ld refuses it")?;
        writeln!(out, "help: add one: ranlib {path}; with LTO objects: gcc-ranlib {path}")?;
    }
    super::rejected::write(view, library, out)?;
    super::mixed_tls::write(view, library, out)?;
    let refused = view.refused();
    if let Some(first) = refused.first().or(view.foreign.first()) {
        let (members, what) = match view.linker {
            Some(linker) if !refused.is_empty() => {
                (refused, format!(": {} refuses the link", linker.title()))
            }
            _ => (&*view.foreign, " and skipped".to_owned()),
        };
        let text = count(members.len(), "member is", "members are");
        let name = view.member(library, *first);
        writeln!(out, "{text} for another class or machine{what}, {name} first")?;
    }
    if let Some(first) = view.foreign_roots.first() {
        let text = count(
            view.foreign_roots.len(),
            "object is for another class or machine and satisfies no reference",
            "objects are for another class or machine and satisfy no reference",
        );
        let name = view.who(library, ReferredBy::Root(*first));
        writeln!(out, "{text}, {name} first")?;
    }
    Ok(())
}
