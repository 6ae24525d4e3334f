//! The human-readable output of a comparison: the new findings as a report, then fixed findings,
//! added files and counts. The table and the Markdown page have only the new findings and the
//! counts.

use super::Difference;
use super::words::without_symbols;
use crate::report::layout::wrap;
use crate::report::markdown::{code, page};
use crate::report::{self, Rendering, Style, count};
use crate::text::show_path;
use std::io::{self, Write};

/// The text for a comparison without new findings.
const NOTHING: &str = "nothing became worse";
/// Maximum number of fixed findings, and of added files, that are listed without `-v`.
const MOST: usize = 10;

/// Writes the human-readable output: the new findings as a report, then fixed findings, added files
/// and counts.
pub fn render(difference: &Difference, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Difference { names: [old, new], worse, .. } = difference;
    let style = how.style;
    let rest =
        |out: &mut dyn Write| if style.quiet { Ok(()) } else { rest(difference, style, out) };
    writeln!(out, "{}", style.bold(&format!("{old} -> {new}")))?;
    if worse.findings.is_empty() {
        writeln!(out, "{NOTHING}")?;
        return rest(out);
    }
    let mut worse = worse.clone();
    worse.findings.iter_mut().for_each(without_symbols);
    report::render_with(&worse, how, out, rest)
}

/// Writes fixed findings, added files and counts.
fn rest(difference: &Difference, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Difference { fixed, added, .. } = difference;
    let most = if style.verbose { usize::MAX } else { MOST };
    if !fixed.is_empty() {
        writeln!(out, "\nfixed:")?;
        for finding in fixed.iter().take(most) {
            let path = show_path(&finding.file.path);
            let text = format!("{path}: {} [{}]", finding.message, finding.rule);
            let mut indent = 2;
            for line in wrap(&text, style.columns(), indent, 6) {
                writeln!(out, "{:indent$}{line}", "")?;
                indent = 6;
            }
        }
        more(fixed.len(), most, out)?;
    }
    if !added.is_empty() {
        writeln!(out, "\nadded files:")?;
        for path in added.iter().take(most) {
            writeln!(out, "  {path}")?;
        }
        more(added.len(), most, out)?;
    }
    writeln!(out)?;
    totals(difference, style, out)
}

/// Writes the counts, wrapped.
fn totals(difference: &Difference, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for text in counts(difference).lines() {
        let mut indent = 0;
        for line in wrap(text, style.columns(), 0, 4) {
            writeln!(out, "{:indent$}{line}", "")?;
            indent = 4;
        }
    }
    Ok(())
}

/// Writes the new findings as a table, then the counts.
pub fn table(difference: &Difference, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    new_findings(difference, how, out)?;
    if how.style.quiet {
        return Ok(());
    }
    writeln!(out)?;
    totals(difference, how.style, out)
}

/// Writes the new findings as a Markdown page, with the names of both sides and the counts.
pub fn markdown(
    difference: &Difference,
    how: &Rendering<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Difference { names, worse, .. } = difference;
    let result = worse.findings.is_empty().then_some(NOTHING);
    let [old, new] = names.each_ref().map(|name| code(name));
    let counts = counts(difference).replace('\n', "; ");
    page(worse, result, &format!("{old} -> {new}: {counts}."), how, out)
}

/// Writes the names of both sides and the new findings.
fn new_findings(
    difference: &Difference,
    how: &Rendering<'_>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Difference { names: [old, new], worse, .. } = difference;
    writeln!(out, "{}", how.style.bold(&format!("{old} -> {new}")))?;
    if worse.findings.is_empty() {
        return writeln!(out, "{NOTHING}");
    }
    report::render("table", worse, how, out)
}

/// The numbers of new, fixed, unchanged and waived findings and of unchanged files, as text.
fn counts(difference: &Difference) -> String {
    let symbols = if difference.compares_symbols { "" } else { " (symbols were not compared)" };
    let counts = format!(
        "{} new, {} fixed, {}, {}{symbols}",
        difference.worse.findings.len(),
        difference.fixed.len(),
        count(difference.unchanged, "unchanged finding", "unchanged findings"),
        count(difference.same_files, "unchanged file", "unchanged files")
    );
    match difference.waived {
        0 => counts,
        waived => format!("{counts}\nwaived: {}", count(waived, "finding", "findings")),
    }
}

fn more(count: usize, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if count > most {
        writeln!(out, "  and {} more (-v shows all)", count - most)?;
    }
    Ok(())
}
