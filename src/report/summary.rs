//! The last lines of a report for people: what it came to, what was read, and the next command to
//! type. Build logs show only these.

use super::model::{AssumedBy, Assumption, Finding, Report};
use super::{Style, platforms, waived};
use crate::text::{shell, show, show_path};
use std::io::{self, Write};

/// Things shown unless everything is wanted.
const MOST: usize = 20;

/// Writes them.
pub(super) fn write(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    waived::list(report, style, out)?;
    let counts = &report.counts;
    let (errors, warnings, open) = (counts.errors, counts.warnings, counts.incomplete);
    let totals = &report.totals;
    let mut read = vec![plural(totals.audited, "ELF file", "ELF files")];
    if totals.archives > 0 {
        read.push(plural(totals.archives, "archive", "archives"));
    }
    read.push(plural(totals.roots, "root", "roots"));
    let verdict = match (errors, warnings) {
        (0, 0) if open > 0 => "no defects found, but the run is incomplete".to_owned(),
        (0, 0) => "nothing wrong".to_owned(),
        _ => format!(
            "{}, {}",
            plural(errors, "error", "errors"),
            plural(warnings, "warning", "warnings")
        ),
    };
    let code = match (errors, open) {
        (0, 0) => "1;32",
        (0, _) => "1;35",
        _ => "1;31",
    };
    writeln!(out, "{}: {}", style.paint(code, &verdict), read.join(", "))?;
    waived::count(report, style, out)?;
    let by = |by: AssumedBy| -> Vec<&Assumption> {
        report.assumptions.iter().filter(|assumption| assumption.by == by).collect()
    };
    for accepted in by(AssumedBy::AcceptedMissingLibrary) {
        let n = accepted.references;
        let text = plural(n, "undefined reference is", "undefined references are");
        writeln!(
            out,
            "{text} assumed to be defined by missing libraries that are allowed or waived"
        )?;
    }
    if totals.explained > 0 {
        let n = totals.explained;
        let text = plural(n, "undefined reference is", "undefined references are");
        writeln!(out, "{text} explained by missing libraries")?;
    }
    let hosts = by(AssumedBy::HostProgram);
    assumed_of("the programs that load these plugins", &hosts, style, out)?;
    let provided = by(AssumedBy::ProvidedLibrary);
    assumed_of("libraries that the system provides", &provided, style, out)?;
    inferred(&by(AssumedBy::InferredHost), style, out)?;
    if let Some(found) = &report.cross_check {
        let not: Vec<String> = found.not_read.iter().map(|(why, n)| format!("{n} {why}")).collect();
        let not = if not.is_empty() { String::new() } else { format!("; not: {}", not.join(", ")) };
        let files = plural(found.read, "file", "files");
        writeln!(out, "{files} read by a second reader{not}")?;
    }
    if open > 0 {
        let text = plural(open, "thing", "things");
        writeln!(out, "incomplete: {text} could not be read or decided")?;
    }
    if style.verbose {
        archives(report, out)?;
    } else {
        unread_archives(report, out)?;
    }
    platforms::write(report, style, out)?;
    // What fails the run is explained before what only leaves it incomplete.
    let worst = report.faults().max_by_key(|finding| finding.level);
    if let Some(first) = worst.or(report.findings.first()) {
        writeln!(out, "next: linkaudit explain {}", shell(&first.rule))?;
    }
    Ok(())
}

/// What could not be read or decided, for views that do not write findings themselves.
pub(crate) fn incomplete(report: &Report, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let open: Vec<&Finding> = report.inputs().collect();
    let most = if style.verbose { usize::MAX } else { MOST };
    for finding in open.iter().take(most) {
        let (rule, path) = (&finding.rule, show_path(&finding.full_path()));
        writeln!(out, "incomplete[{rule}] {path}: {}", finding.message)?;
    }
    if !open.is_empty() {
        let text = plural(open.len(), "thing", "things");
        writeln!(out, "incomplete: {text} could not be read or decided")?;
    }
    Ok(())
}

/// What is taken from programs or libraries that are not at hand: one line for all of them, or one
/// for each.
fn assumed_of(
    definers: &str,
    hosts: &[&Assumption],
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let all: usize = hosts.iter().map(|host| host.references).sum();
    if all == 0 {
        return Ok(());
    }
    let text = plural(all, "reference is", "references are");
    let text = format!("{text} assumed to be defined by {definers}:");
    if !style.verbose {
        let name = |host: &&Assumption| format!("{} {}", name(host), host.references);
        let names: Vec<String> = hosts.iter().map(name).collect();
        let line = format!("{text} {}", names.join(", "));
        if line.chars().count() <= style.columns() {
            return writeln!(out, "{line}");
        }
        writeln!(out, "{text}")?;
        return folded(&names, style.columns(), out);
    }
    writeln!(out, "{text}")?;
    for host in hosts {
        let references = plural(host.references, "reference", "references");
        let files = plural(host.files.unwrap_or(0), "file", "files");
        writeln!(out, "    {:<12} {references} of {files}", name(host))?;
    }
    Ok(())
}

/// Plugins of inferred host programs; in full, each with the option that names its program.
fn inferred(hosts: &[&Assumption], style: Style, out: &mut dyn Write) -> io::Result<()> {
    let plugins: usize = hosts.iter().map(|host| host.plugins.len()).sum();
    if plugins == 0 {
        return Ok(());
    }
    let files = plural(plugins, "file is", "files are");
    let text = format!("{files} assumed to be plugins of these programs:");
    writeln!(out, "{text}")?;
    if !style.verbose {
        let name = |host: &&Assumption| format!("{} {}", name(host), host.plugins.len());
        let names: Vec<String> = hosts.iter().map(name).collect();
        return folded(&names, style.columns(), out);
    }
    for host in hosts {
        for plugin in &host.plugins {
            let host = shell(&name(host));
            writeln!(out, "    --host {host}={}", shell(&show(&plugin.pattern)))?;
        }
    }
    Ok(())
}

fn name(assumption: &Assumption) -> String {
    show(assumption.name.as_deref().unwrap_or_default().as_bytes())
}

/// A list in as many lines as it takes.
fn folded(names: &[String], columns: usize, out: &mut dyn Write) -> io::Result<()> {
    let mut line = String::new();
    for (number, name) in names.iter().enumerate() {
        let comma = if number + 1 < names.len() { "," } else { "" };
        if !line.is_empty() && line.chars().count() + name.chars().count() + 6 > columns {
            writeln!(out, "   {line}")?;
            line.clear();
        }
        line.extend([" ", name, comma]);
    }
    writeln!(out, "   {line}")
}

fn plural(n: usize, one: &str, many: &str) -> String {
    format!("{n} {}", if n == 1 { one } else { many })
}

/// Archives that were met and not looked into, in one line.
fn unread_archives(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    let unread = report.totals.unread_archives;
    if unread > 0 {
        let text = plural(unread, "archive was", "archives were");
        writeln!(out, "{text} not read to the members: name one to have it looked into")?;
    }
    Ok(())
}

/// One line of coverage for each archive.
fn archives(report: &Report, out: &mut dyn Write) -> io::Result<()> {
    for archive in &report.archives {
        let path = show_path(&archive.path);
        match (archive.members, archive.opaque, archive.references) {
            (Some(members), Some(opaque), Some(references)) => writeln!(
                out,
                "archive {path}: {members} members, {opaque} opaque, {references} names \
                 that nothing here defines"
            )?,
            _ => writeln!(out, "archive {path}: skipped, members not read")?,
        }
    }
    Ok(())
}
