//! What a run of `fix` came to, in a few lines for people: what joins which set, what is proven,
//! what no candidate defines. `cli::fix` writes it behind the report.

use super::Fix;
use super::emit::Remedy;
use super::propose::Proposal;
use crate::judge::Verdict;
use crate::text::{show, show_path};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Members that are named for one symbol.
const MOST: usize = 3;

/// Writes it.
pub fn write(proposal: &Proposal, verdict: &Verdict, out: &mut dyn Write) -> io::Result<()> {
    let Proposal { remedy, members, missing } = proposal;
    changes(remedy, out)?;
    for (name, who) in missing {
        let named: Vec<&str> = who.iter().take(MOST).map(String::as_str).collect();
        let more = match who.len().saturating_sub(MOST) {
            0 => String::new(),
            n => format!(" and {n} more"),
        };
        let who = if named.is_empty() {
            String::new()
        } else {
            format!("; referenced by {}{more}", named.join(", "))
        };
        writeln!(out, "no candidate defines {}{who}", show(name))?;
    }
    let with: Vec<&[Fix]> = verdict
        .findings
        .iter()
        .filter(|judged| !judged.rule.group.is_input)
        .map(|judged| &*judged.finding.fix)
        .collect();
    let proven = with.iter().filter(|fixes| is_proven(fixes)).count();
    let doubts: BTreeSet<&str> = with
        .iter()
        .flat_map(|fixes| fixes.iter())
        .filter_map(|fix| match &fix.proof {
            super::Proof::Unknown(what) => Some(what.as_str()),
            super::Proof::Proven(_) => None,
        })
        .collect();
    for doubt in doubts {
        writeln!(out, "not proven: {doubt}")?;
    }
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let (archives, all) = (remedy.add.len(), with.len());
    writeln!(
        out,
        "fix: {archives} archive{} ({members} member{}) to add; {proven} of {all} finding{} have a proven fix",
        plural(archives),
        plural(*members),
        plural(all)
    )
}

/// True if a finding has fixes and all are proven.
pub fn is_proven(fixes: &[Fix]) -> bool {
    !fixes.is_empty() && fixes.iter().all(Fix::is_proven)
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
