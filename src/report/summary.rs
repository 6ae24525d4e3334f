//! The last lines of a report for people: causes, totals, audited files, assumed references, and
//! the next command to type. Build logs may show only these lines.

use super::entry::Entries;
use super::layout::{LabelledLines, count, name, painted};
use super::model::{AssumedBy, Assumption, CauseKind, Report, ReportFinding};
use super::{Style, layers, platforms, waived};
use crate::order::Arrange as _;
use crate::text::{shell, show, show_path};
use crate::tree::walk::CACHED_PACKAGE;
use std::io::{self, Write};

/// Upper bound for the findings that `incomplete` lists without `-v`.
const MOST: usize = 20;

/// Maximum number of causes in the list if neither `-v` nor `-q` is given.
const MOST_CAUSES: usize = 5;
/// Maximum number of causes in the list with `-q`, when no entries precede the list.
const MOST_QUIET: usize = 40;

/// Writes the summary, without the next command. With `-q`, leaves out less important lines.
pub(super) fn write(
    report: &Report,
    entries: &Entries<'_>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    waived::list(report, entries, style, out)?;
    causes(entries, style, out)?;
    totals(report, style, out)?;
    waived::totals(report, style, out)?;
    foreign(report, style, out)?;
    if !style.quiet {
        explained(report, style, out)?;
    }
    if let Some(found) = &report.cross_check {
        let not: Vec<String> = found.not_read.iter().map(|(why, n)| format!("{n} {why}")).collect();
        let not = if not.is_empty() { String::new() } else { format!("; not: {}", not.join(", ")) };
        let files = count(found.read, "file", "files");
        writeln!(out, "{files} read by a second reader{not}")?;
    }
    if report.counts.incomplete > 0 {
        writeln!(out, "{}", incomplete_line(report.counts.incomplete))?;
    } else if !report.complete {
        // A rule outside of the group `input` left the run incomplete, such as
        // `thin-member-missing`.
        writeln!(out, "incomplete: not everything could be read")?;
    }
    if style.quiet {
        return Ok(());
    }
    if style.verbose {
        archives(report, out)?;
    } else {
        unread_archives(report, out)?;
    }
    cached_packages(report, out)?;
    platforms::write(report, style, out)?;
    layers::write(report, style, out)
}

/// Writes the next command to type, after everything else.
pub(super) fn next(entries: &Entries<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    match entries.all.first().filter(|_| style.next_step && !style.quiet) {
        Some(first) => {
            writeln!(out, "next: linkaudit explain {}", shell(first.cause.rule.as_bytes()))
        }
        None => Ok(()),
    }
}

/// Writes the numbered list of causes: errors, then warnings, then causes that make the run
/// incomplete. Within each of these three kinds, the cause with the most findings is first. A
/// single cause is listed only with `-q`; otherwise its entry is directly above.
fn causes(entries: &Entries<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let all = &entries.all;
    if all.is_empty() || (all.len() == 1 && !style.quiet) {
        return Ok(());
    }
    let most = if style.quiet { MOST_QUIET } else { MOST_CAUSES };
    let most = if style.verbose { usize::MAX } else { most };
    let page = &mut LabelledLines::new(style, out);
    page.line("causes, by level and size:")?;
    for (at, entry) in all.iter().take(most).enumerate() {
        let (subject, rest) = entries.heading(entry);
        let n = entry.findings.len();
        let findings = match entry.group {
            None if n > 1 && entry.cause.kind == CauseKind::LibraryNotFound => {
                format!(" ({n} findings)")
            }
            _ => String::new(),
        };
        let number = format!("{:>3}.", at + 1);
        let (_, level) = entry.level_name();
        let rule = &entry.cause.rule;
        let text = format!("{level}[{rule}] {}: {rest}{findings}", name(&subject));
        page.numbered(&number, &text)?;
    }
    let hidden: usize = all.iter().skip(most).map(|e| e.group.map_or(1, |g| g.causes)).sum();
    if hidden > 0 {
        page.line(&format!("     {hidden} more"))?;
    }
    page.blank()
}

/// Writes the number of ELF files of other systems, by kind, if `-v` is given or no file was
/// audited.
fn foreign(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let totals = &report.totals;
    let all: usize = totals.foreign.values().sum();
    if all == 0 || !style.verbose && totals.audited + totals.audited_archives > 0 {
        return Ok(());
    }
    let kinds: Vec<String> = totals.foreign.iter().map(|(kind, n)| format!("{n} {kind}")).collect();
    let files = count(all, "foreign ELF file", "foreign ELF files");
    writeln!(out, "{files} not audited: {}", kinds.join(", "))
}

/// True if the run had no ELF file and no archive to audit.
pub(crate) fn is_empty(report: &Report) -> bool {
    report.totals.audited + report.totals.audited_archives == 0
}

/// Writes the result of a run without files to audit.
pub(crate) fn nothing_audited(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let entries = count(report.totals.entries, "entry", "entries");
    writeln!(out, "no ELF files: {entries} seen")
}

/// Writes the totals of causes and findings, and the number of audited files.
fn totals(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let counts = &report.counts;
    let (errors, warnings, open) = (counts.errors, counts.warnings, counts.incomplete);
    let audited = audited(report);
    let stale = report.stale.iter().filter(|line| style.fails(line)).count();
    let result = match (errors, warnings) {
        (0, 0) if open > 0 => "no errors found, audit incomplete".to_owned(),
        (0, 0) if is_empty(report) => {
            return nothing_audited(report, out);
        }
        (0, 0) if stale > 0 => {
            let fail = if stale == 1 { "fails" } else { "fail" };
            let lines = count(stale, "stale baseline line", "stale baseline lines");
            format!("no findings, but {lines} {fail} the run")
        }
        (0, 0) => "nothing wrong".to_owned(),
        _ => {
            let causes = count(report.causes.len(), "cause", "causes");
            let findings = count(report.findings.len(), "finding", "findings");
            let (errors, warnings) =
                (count(errors, "error", "errors"), count(warnings, "warning", "warnings"));
            let open = if open > 0 { format!(", {open} incomplete") } else { String::new() };
            format!("{causes}, {findings} ({errors}, {warnings}{open})")
        }
    };
    let code = match (errors + stale, open) {
        (0, 0) => "1;32",
        (0, _) => "1;35",
        _ => "1;31",
    };
    painted(&format!("{result}: {audited}"), (&result, code), style, out)
}

/// The number of files and entry points that were audited.
pub(super) fn audited(report: &Report) -> String {
    let totals = &report.totals;
    let mut read = vec![count(totals.audited, "ELF file", "ELF files")];
    if totals.audited_archives > 0 {
        read.push(count(totals.audited_archives, "archive", "archives"));
    }
    read.push(count(totals.roots, "entry point", "entry points"));
    read.join(", ")
}

/// Writes the number of undefined references that are not findings.
fn explained(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let by = |by: AssumedBy| -> Vec<&Assumption> {
        report.assumptions.iter().filter(|assumption| assumption.by == by).collect()
    };
    let undefined = |n: usize| count(n, "undefined reference", "undefined references");
    for accepted in by(AssumedBy::AcceptedMissingLibrary) {
        let text = undefined(accepted.references);
        let text = format!("{text} assumed to be in missing libraries that are allowed or waived");
        LabelledLines::new(style, out).text(&text, 4)?;
    }
    if report.totals.explained > 0 {
        let text = undefined(report.totals.explained);
        let text = format!("{text} explained by missing libraries");
        LabelledLines::new(style, out).text(&text, 4)?;
    }
    let hosts = by(AssumedBy::HostProgram);
    assumed_of("in host programs that were not given", hosts, style, out)?;
    let provided = by(AssumedBy::ProvidedLibrary);
    assumed_of("in libraries that the target system provides", provided, style, out)?;
    inferred(&by(AssumedBy::InferredHost), style, out)
}

/// The line with the number of findings about unread files and undecided questions.
fn incomplete_line(findings: usize) -> String {
    format!("incomplete: {} unread or undecided", count(findings, "item", "items"))
}

/// Lists the findings about unread files and undecided questions, for outputs that list no other
/// findings.
pub(crate) fn incomplete(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let open: Vec<&ReportFinding> = report.inputs().collect();
    let most = if style.verbose { usize::MAX } else { MOST };
    let page = &mut LabelledLines::new(style, out);
    for finding in open.iter().take(most) {
        let (rule, path) = (&finding.rule, name(&show_path(&finding.full_path())));
        page.text(&format!("incomplete[{rule}] {path}: {}", finding.message), 4)?;
    }
    match open.len() {
        0 => Ok(()),
        all => page.line(&incomplete_line(all)),
    }
}

/// Writes the number of assumed references: programs or libraries that were not read may define
/// them. The provider with the most references is first. With `-v`, each provider has a line.
fn assumed_of(
    place: &str,
    mut hosts: Vec<&Assumption>,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all: usize = hosts.iter().map(|host| host.references).sum();
    if all == 0 {
        return Ok(());
    }
    hosts.arrange_by_key(|host| std::cmp::Reverse(host.references));
    let text = count(all, "reference", "references");
    let text = format!("{text} assumed to be {place}:");
    if !style.verbose {
        let one = |host: &&Assumption| name(&format!("{} ({})", of(host), host.references));
        let names: Vec<String> = hosts.iter().map(one).collect();
        return LabelledLines::new(style, out).text(&format!("{text} {}", names.join(", ")), 4);
    }
    writeln!(out, "{text}")?;
    for host in hosts {
        let references = count(host.references, "reference", "references");
        let files = count(host.files.unwrap_or(0), "file", "files");
        writeln!(out, "    {:<12} {references} of {files}", of(host))?;
    }
    Ok(())
}

/// Writes the number of plugins of inferred host programs. With `-v`, writes the `--host` option
/// for each plugin and its program.
fn inferred(hosts: &[&Assumption], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let plugins: usize = hosts.iter().map(|host| host.plugins.len()).sum();
    if plugins == 0 {
        return Ok(());
    }
    let files = count(plugins, "file", "files");
    let text = format!("{files} assumed to be loaded by these programs:");
    if !style.verbose {
        let one = |host: &&Assumption| name(&format!("{} ({})", of(host), host.plugins.len()));
        let names: Vec<String> = hosts.iter().map(one).collect();
        return LabelledLines::new(style, out).text(&format!("{text} {}", names.join(", ")), 4);
    }
    writeln!(out, "{text}")?;
    for host in hosts {
        for plugin in &host.plugins {
            let host = shell(of(host).as_bytes());
            writeln!(out, "    --host {host}={}", shell(&plugin.pattern))?;
        }
    }
    Ok(())
}

fn of(assumption: &Assumption) -> String {
    show(assumption.name.as_deref().unwrap_or_default().as_bytes())
}

/// Writes the number of archives whose members were not audited. Some of these archives may have
/// been read as candidates.
fn unread_archives(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let unread = report.totals.unread_archives;
    if unread > 0 {
        let text = count(unread, "archive", "archives");
        let next = "name an archive to audit its members";
        writeln!(out, "{text} skipped: members not audited ({next})")?;
    }
    Ok(())
}

/// Writes the number of extracted packages in the caches of conda roots, which were not audited.
fn cached_packages(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let Some(skipped) = report.totals.skipped.get(CACHED_PACKAGE) else { return Ok(()) };
    let text = count(*skipped, "package", "packages");
    writeln!(out, "{text} of a conda cache skipped: to audit them, name the directory pkgs")
}

/// One line for each archive: its members, and the referenced names that no audited file defines.
fn archives(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for archive in &report.archives {
        let path = show_path(&archive.path);
        match (archive.members, archive.opaque, archive.references) {
            (Some(members), Some(opaque), Some(references)) => writeln!(
                out,
                "archive {path}: {}, {opaque} opaque (LTO or bitcode), {} that no audited file \
                 defines",
                count(members, "member", "members"),
                count(references, "referenced name", "referenced names")
            )?,
            _ => writeln!(out, "archive {path}: skipped, members not read")?,
        }
    }
    Ok(())
}
