//! The result of `fix` in a few lines for people: the archives that join each set, the verified
//! fixes, and the symbols without a candidate. `cli::fix` writes it after the report.

use super::model::{Finding, Report};
use super::{Style, incomplete};
use crate::finding::Proof;
use crate::fix::fix_plan::FixPlan;
use crate::fix::propose::{Proposal, Wanted};
use crate::order;
use crate::text::{shell, show, show_path};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Symbols shown for one library without `-v`.
const MOST: usize = 20;

/// Writes the result.
pub fn write(
    proposal: &Proposal,
    report: &Report,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let verbose = style.verbose;
    for wanted in proposal.wanted.chunk_by(|a, b| a.library == b.library) {
        symbols(wanted, verbose, out)?;
    }
    changes(&proposal.remedy, out)?;
    let found: Vec<&Finding> = report.faults().collect();
    let proofs: BTreeSet<&Proof> =
        order::set(found.iter().flat_map(|finding| &finding.fix).map(|fix| &fix.proof));
    for proof in &proofs {
        if let Proof::Unknown(why) = proof {
            writeln!(out, "not verified: {why}")?;
        }
    }
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let (archives, members) = (proposal.remedy.add.len(), proposal.members);
    let proven = found.iter().filter(|finding| finding.has_proven_fix()).count();
    let all = found.len();
    if proven > 0 && proven < all {
        writeln!(out, "verified: audited again with the verified fixes, no new undefined symbols")?;
    } else if proven > 0 && archives == 0 && !proposal.remedy.patches.is_empty() {
        writeln!(out, "verified: audited again with the patched files, no new errors")?;
    } else if proven > 0 && members == 0 && archives > 0 {
        let noun = if archives == 1 { "library" } else { "libraries" };
        writeln!(out, "verified: audited again with {archives} {noun}, no new undefined symbols")?;
    } else if proven > 0 {
        writeln!(
            out,
            "verified: audited again with {archives} archive{} ({members} member{}), \
             no new undefined symbols",
            plural(archives),
            plural(members)
        )?;
    }
    let have = if all == 1 { "finding has" } else { "findings have" };
    writeln!(out, "{proven} of {all} {have} a verified fix")?;
    incomplete(report, style, out)
}

/// The undefined symbols of one library.
fn symbols(wanted: &[Wanted], verbose: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = wanted.first() else { return Ok(()) };
    let plural = if wanted.len() == 1 { "" } else { "s" };
    writeln!(out, "{}: {} undefined symbol{plural}", show_path(&first.library), wanted.len())?;
    let most = if verbose { usize::MAX } else { MOST };
    // The reader must act on symbols without a candidate, so they come first.
    let (none, some): (Vec<&Wanted>, Vec<&Wanted>) =
        wanted.iter().partition(|wanted| wanted.provider.is_none());
    for wanted in none.iter().chain(some.iter().take(most)) {
        let symbol = show(&wanted.symbol);
        match &wanted.provider {
            Some(archive) => {
                let name = archive.file_name().map_or(&**archive, Path::new);
                writeln!(out, "    {symbol}: in {}", show_path(name))?;
            }
            None => writeln!(out, "    no candidate defines {symbol}")?,
        }
        for by in &wanted.by {
            writeln!(out, "        referenced by {by}")?;
        }
    }
    match some.len().saturating_sub(most) {
        0 => Ok(()),
        n => writeln!(out, "    … and {n} more (-v shows all)"),
    }
}

fn changes(remedy: &FixPlan, out: &mut dyn Write) -> io::Result<()> {
    links(remedy, out)?;
    let adds_needs = remedy.patches.iter().any(|patch| !patch.new_needs.is_empty());
    if adds_needs {
        writeln!(out, "or, without another link:")?;
    }
    for patch in &remedy.patches {
        let file = shell(&show_path(&patch.file));
        for (options, value) in patch.calls() {
            let value = value.map(|value| format!(" {}", shell(&show(value)))).unwrap_or_default();
            writeln!(out, "patchelf {options}{value} {file}")?;
        }
    }
    Ok(())
}

/// What joins lists and links.
fn links(remedy: &FixPlan, out: &mut dyn Write) -> io::Result<()> {
    let Some(change) = &remedy.list else {
        for archive in &remedy.add {
            writeln!(out, "link with {}", show_path(archive))?;
        }
        return Ok(());
    };
    for (set, change) in &change.changes {
        let Some(found) = remedy.list.as_ref().and_then(|list| list.list.sets().get(*set)) else {
            continue;
        };
        let set = show(&found.name);
        for name in &change.add {
            writeln!(out, "add {} to {set}", show(name))?;
        }
        for name in &change.drop {
            writeln!(out, "drop {} from {set}", show(name))?;
        }
    }
    for (archive, reason) in &change.unlisted {
        writeln!(out, "{} is needed, and {reason}", show_path(archive))?;
    }
    Ok(())
}
