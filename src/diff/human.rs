//! A comparison for people: the new findings as a report, then fixed findings, added files and
//! counts.

use super::Difference;
use super::words::without_symbols;
use crate::report::layout::wrap;
use crate::report::{self, Rendering, Style, count};
use crate::text::show_path;
use std::io::{self, Write};

/// Maximum number of fixed findings, and of added files, that are listed without `-v`.
const MOST: usize = 10;

/// Writes the comparison.
pub fn render(difference: &Difference, how: &Rendering<'_>, out: &mut dyn Write) -> io::Result<()> {
    let Difference { names: [old, new], worse, .. } = difference;
    let style = how.style;
    let rest =
        |out: &mut dyn Write| if style.quiet { Ok(()) } else { rest(difference, style, out) };
    writeln!(out, "{}", style.bold(&format!("{old} -> {new}")))?;
    if worse.findings.is_empty() {
        writeln!(out, "nothing became worse")?;
        return rest(out);
    }
    let mut worse = worse.clone();
    worse.findings.iter_mut().for_each(without_symbols);
    report::render_with(&worse, how, out, rest)
}

/// Writes fixed findings, added files and counts.
fn rest(difference: &Difference, style: Style, out: &mut dyn Write) -> io::Result<()> {
    let Difference { worse, fixed, added, .. } = difference;
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
    writeln!(
        out,
        "\n{} new, {} fixed, {}, {}",
        worse.findings.len(),
        fixed.len(),
        count(difference.unchanged, "unchanged finding", "unchanged findings"),
        count(difference.same_files, "unchanged file", "unchanged files")
    )?;
    if difference.waived > 0 {
        writeln!(out, "waived: {}", count(difference.waived, "finding", "findings"))?;
    }
    Ok(())
}

fn more(count: usize, most: usize, out: &mut dyn Write) -> io::Result<()> {
    if count > most {
        writeln!(out, "  and {} more (-v shows all)", count - most)?;
    }
    Ok(())
}
