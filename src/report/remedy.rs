//! What a run of `fix` came to, in a few lines for people: what joins which set, what is proven,
//! what no candidate defines. `cli::fix` writes it behind the report.

use super::model::{Finding, Report};
use super::{Style, incomplete};
use crate::finding::Proof;
use crate::fix::propose::{Proposal, Wanted};
use crate::fix::remedy::Remedy;
use crate::text::{show, show_path};
use std::collections::BTreeSet;
use std::io::{self, Write};
use std::path::Path;

/// Symbols shown for one library unless everything is wanted.
const MOST: usize = 20;

/// Writes it.
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
        found.iter().flat_map(|finding| &finding.fix).map(|fix| &fix.proof).collect();
    for proof in &proofs {
        if let Proof::Unknown(why) = proof {
            writeln!(out, "not proven: {why}")?;
        }
    }
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let (archives, members) = (proposal.remedy.add.len(), proposal.members);
    let proven = found.iter().filter(|finding| finding.has_proven_fix()).count();
    let all = found.len();
    if proven > 0 && proven < all {
        writeln!(out, "proven: resolved and bound again, and what is proven opens nothing new")?;
    } else if proven > 0 {
        writeln!(
            out,
            "proven: resolved and bound again with {archives} archive{} ({members} member{}), \
             nothing new is undefined",
            plural(archives),
            plural(members)
        )?;
    }
    writeln!(out, "{proven} of {all} finding{} have a proven fix", plural(all))?;
    incomplete(report, style, out)
}

/// What was undefined in one library.
fn symbols(wanted: &[Wanted], verbose: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = wanted.first() else { return Ok(()) };
    let plural = if wanted.len() == 1 { "" } else { "s" };
    writeln!(out, "{}: {} undefined symbol{plural}", show_path(&first.library), wanted.len())?;
    let most = if verbose { usize::MAX } else { MOST };
    // What has no candidate is what somebody has to look at.
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

fn changes(remedy: &Remedy, out: &mut dyn Write) -> io::Result<()> {
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
    for archive in &change.unlisted {
        writeln!(
            out,
            "{} is needed, and its name cannot be written in a list",
            show_path(archive)
        )?;
    }
    Ok(())
}
