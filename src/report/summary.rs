//! The last lines of a report for people: what it came to, what was read, and the next command to
//! type. Build logs show only these.

use super::{Report, Style, waived};
use crate::blame::Assumed;
use crate::catalogue::Level;
use crate::facts::FileFacts;
use crate::judge::{Judged, Verdict};
use crate::text::{shell, show, show_path};
use std::io::{self, Write};

/// Things shown unless everything is wanted.
const MOST: usize = 20;

/// Writes them.
pub(super) fn write(report: &Report<'_>, style: Style, out: &mut dyn Write) -> io::Result<()> {
    waived::list(report, style, out)?;
    let findings = &report.verdict.findings;
    let count = |level: Level, input: bool| {
        findings.iter().filter(|f| f.level == level && f.rule.group.is_input == input).count()
    };
    let (errors, warnings) = (count(Level::Error, false), count(Level::Warning, false));
    let open = count(Level::Error, true) + count(Level::Warning, true);
    let totals = &report.audit.totals;
    let roots = report.audit.closures.roots.len();
    // Files that only links lead to were read too.
    let is_elf = |facts: &&FileFacts| facts.audited && facts.object().is_some();
    let elf = report.audit.corpus.files.iter().filter(is_elf).count();
    let mut read = vec![plural(elf, "ELF file", "ELF files")];
    if totals.archives > 0 {
        read.push(plural(totals.archives, "archive", "archives"));
    }
    read.push(plural(roots, "root", "roots"));
    let verdict = match (errors, warnings) {
        (0, 0) if open > 0 => "nothing wrong in what could be decided".to_owned(),
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
    let assumed = report.verdict.assumed;
    if assumed > 0 {
        let text = plural(assumed, "undefined reference is", "undefined references are");
        writeln!(
            out,
            "{text} assumed to be defined by missing libraries that are allowed or waived"
        )?;
    }
    let explained = report.audit.blame.explained - assumed;
    if explained > 0 {
        let text = plural(explained, "undefined reference is", "undefined references are");
        writeln!(out, "{text} explained by missing libraries")?;
    }
    let blame = &report.audit.blame;
    assumed_of("the programs that load these plugins", &blame.assumed, style, out)?;
    assumed_of("libraries that the system provides", &blame.provided, style, out)?;
    if let Some(found) = &report.audit.cross_check {
        let not: Vec<String> = found.gave_up.iter().map(|(why, n)| format!("{n} {why}")).collect();
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
    // What fails the run is explained before what only leaves it incomplete.
    let worst = findings.iter().filter(|f| !f.rule.group.is_input).max_by_key(|f| f.level);
    if let Some(first) = worst.or(findings.first()) {
        writeln!(out, "next: linkaudit explain {}", shell(first.rule.id))?;
    }
    Ok(())
}

/// What could not be read or decided, for views that do not write findings themselves.
pub(crate) fn incomplete(verdict: &Verdict, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let open: Vec<&Judged> = verdict.findings.iter().filter(|f| f.rule.group.is_input).collect();
    let most = if style.verbose { usize::MAX } else { MOST };
    for judged in open.iter().take(most) {
        let (rule, finding) = (judged.rule.id, &judged.finding);
        writeln!(
            out,
            "incomplete[{rule}] {}: {}",
            show_path(&finding.full_path()),
            finding.message
        )?;
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
    hosts: &[Assumed],
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
        let name = |host: &Assumed| format!("{} {}", show(host.host.as_bytes()), host.references);
        let names: Vec<String> = hosts.iter().map(name).collect();
        let line = format!("{text} {}", names.join(", "));
        if line.chars().count() <= style.columns() {
            return writeln!(out, "{line}");
        }
        writeln!(out, "{text}")?;
        return folded(&names, style.columns(), out);
    }
    writeln!(out, "{text}")?;
    for Assumed { host, references, files } in hosts {
        let references = plural(*references, "reference", "references");
        let files = plural(*files, "file", "files");
        writeln!(out, "    {:<12} {references} of {files}", show(host.as_bytes()))?;
    }
    Ok(())
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

/// One line of coverage for each archive.
/// Archives that were met and not looked into, in one line.
fn unread_archives(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let unread = report.audit.unread_archives();
    if unread > 0 {
        let text = plural(unread, "archive was", "archives were");
        writeln!(out, "{text} not read to the members: name one to have it looked into")?;
    }
    Ok(())
}

fn archives(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    for line in report.audit.archive_lines() {
        let path = show_path(&report.audit.corpus.files[line.file].path);
        match line.counts {
            Some((members, opaque, references)) => writeln!(
                out,
                "archive {path}: {members} members, {opaque} opaque, {references} names \
                 that nothing here defines"
            )?,
            None => writeln!(out, "archive {path}: not read to its members")?,
        }
    }
    Ok(())
}
