//! The result of `fix` in a few lines for people: undefined symbols with their candidates, archives
//! to add, and the number of verified fixes. `cli::fix` writes these lines to stdout in place of
//! the human report, or to stderr if an emitter writes to stdout.

use super::layout::{count, name, wrap};
use super::model::{Causes, Report, ReportFinding};
use super::referring::ReferringMembers;
use super::{Paths, Style, incomplete, is_empty, nothing_audited, repair, unread};
use crate::audit::ArchiveOwner;
use crate::finding::{COMPILER_ADDS_LIBC, EvidenceKind, Proof, STRIPPED};
use crate::fix::propose::{MissingSymbol, Proposal};
use crate::format::deps_list::bare_name;
use crate::order;
use crate::text::{shell, show, show_path};
use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Maximum number of symbols with a candidate that are listed for one library without `-v`.
const MOST: usize = 20;

/// Writes the result of `fix`. Paths in commands are valid on this machine, see `Paths::word`.
pub fn write(
    proposal: &Proposal,
    report: &Report,
    (style, paths): (Style, &Paths),
    out: &mut dyn Write,
) -> io::Result<()> {
    let verbose = style.verbose;
    for wanted in proposal.wanted.chunk_by(|a, b| a.library == b.library) {
        symbols(wanted, verbose, out)?;
    }
    changes(proposal, (report, paths), out)?;
    let found: Vec<&ReportFinding> = report.faults().collect();
    let causes = Causes::of(report);
    let referring = ReferringMembers::of(&causes, found.iter().copied());
    if let Some(members) = referring.words(verbose) {
        let or = if has_changes(proposal) { "or " } else { "" };
        let text = format!("{or}stop building the members that refer to them: {members}");
        wrapped(&text, style, out)?;
    }
    not_read(report, &found, style, out)?;
    let proofs: BTreeSet<&Proof> =
        order::set(found.iter().flat_map(|finding| &finding.fix).map(|fix| &fix.proof));
    for proof in &proofs {
        if let Proof::Unknown(why) = proof {
            writeln!(out, "not verified: {why}")?;
        }
    }
    let libraries = proposal.remedy.libraries.len();
    let archives = proposal.remedy.added().count() - libraries;
    let members = proposal.members;
    let proven = found.iter().filter(|finding| finding.has_proven_fix()).count();
    let all = found.len();
    if proven > 0 && proven < all {
        writeln!(out, "verified: audited again with these fixes, no new undefined symbols")?;
    } else if proven > 0 && archives + libraries == 0 && !proposal.remedy.patches.is_empty() {
        writeln!(out, "verified: audited again with the patched files, no new errors")?;
    } else if proven > 0 {
        let of_archives = (archives + members > 0 || libraries == 0).then(|| {
            let members = count(members, "member", "members");
            format!("{} ({members})", count(archives, "archive", "archives"))
        });
        let shared = (libraries > 0).then(|| count(libraries, "library", "libraries"));
        let with: Vec<String> = of_archives.into_iter().chain(shared).collect();
        let with = with.join(" and ");
        writeln!(out, "verified: audited again with {with}, no new undefined symbols")?;
    }
    for said in [COMPILER_ADDS_LIBC, STRIPPED] {
        let says = |proof: &&Proof| matches!(proof, Proof::Proven(text) if text.contains(said));
        if proofs.iter().any(says) {
            wrapped(said, style, out)?;
        }
    }
    if all == 0 && report.complete && is_empty(report) {
        return nothing_audited(report, out);
    }
    if all == 0 && report.complete {
        return writeln!(out, "nothing to fix");
    }
    let findings = count(all, "finding", "findings");
    let have = if proven == 1 || all == 1 { "has" } else { "have" };
    let rules = by_rule(&found);
    wrapped(&format!("{proven} of {findings} {have} a verified fix{rules}"), style, out)?;
    if proven < all && !has_changes(proposal) && style.next_step && !style.quiet {
        let text = match common_prefix(&found) {
            Some(prefix) => format!(
                "help: the missing libraries are in another PATH; search paths may lead from one PATH \
                 to another only in a common prefix: {}",
                name(&format!("--prefix {}", paths.word(report, &prefix)))
            ),
            None if !found.iter().any(|finding| may_be_elsewhere(&causes, finding)) => {
                "help: `linkaudit check` shows the causes".to_owned()
            }
            None => format!(
                "help: `linkaudit check` shows the causes; name directories with more libraries and \
                 archives: {}",
                name("--lib-path DIR")
            ),
        };
        wrapped(&text, style, out)?;
    }
    incomplete(report, style, out)
}

/// True if a library or archive of another directory may remove a finding without a verified fix.
/// A file that patchelf cannot change keeps its missing library.
fn may_be_elsewhere(causes: &Causes<'_>, finding: &ReportFinding) -> bool {
    match &*finding.rule {
        _ if finding.has_proven_fix() => false,
        "missing-library" | "wrong-architecture" => finding.fix.is_empty(),
        "missing-version" => causes.evidence(finding, EvidenceKind::Candidate).next().is_none(),
        _ => true,
    }
}

/// The deepest directory that contains the files of all PATHs with an unfixed missing library, and
/// the candidates for this library in other PATHs. `None` without such a candidate, and if only the
/// top directory contains all files.
fn common_prefix(found: &[&ReportFinding]) -> Option<PathBuf> {
    let mut out: Option<PathBuf> = None;
    for finding in found.iter().filter(|one| one.rule == "missing-library" && one.fix.is_empty()) {
        let Some(prefix) = finding.file.prefix.as_deref() else { continue };
        let candidates = finding.evidence.iter().filter(|one| {
            one.kind == EvidenceKind::Candidate && one.member.is_none() && !one.is_of_system()
        });
        for path in candidates.filter_map(|one| one.path.as_deref()) {
            if path.starts_with(prefix) {
                continue;
            }
            for path in [prefix, path.parent().unwrap_or(path)] {
                let other = out.as_deref().unwrap_or(path);
                let same = path.ancestors().find(|ancestor| other.starts_with(ancestor));
                out = same.map(Path::to_path_buf);
            }
        }
    }
    out.filter(|prefix| prefix.parent().is_some())
}

/// The end of the sentence about verified fixes: for each rule, the number of findings with a
/// verified fix. Empty if all findings have the same rule.
fn by_rule(found: &[&ReportFinding]) -> String {
    let mut rules: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
    for finding in found {
        let (proven, all) = rules.entry(&*finding.rule).or_default();
        *proven += usize::from(finding.has_proven_fix());
        *all += 1;
    }
    if rules.len() < 2 {
        return String::new();
    }
    let one = |(rule, (proven, all))| name(&format!("{rule} {proven} of {all}"));
    format!(": {}", rules.into_iter().map(one).collect::<Vec<String>>().join(", "))
}

/// Writes the undefined symbols of one library, with the candidates that define them.
fn symbols(wanted: &[MissingSymbol], verbose: bool, out: &mut dyn Write) -> io::Result<()> {
    let Some(first) = wanted.first() else { return Ok(()) };
    let plural = if wanted.len() == 1 { "" } else { "s" };
    writeln!(out, "{}: {} undefined symbol{plural}", show_path(&first.library), wanted.len())?;
    let most = if verbose { usize::MAX } else { MOST };
    // Symbols without a candidate come first, because the reader must act on them.
    let (none, some): (Vec<&MissingSymbol>, Vec<&MissingSymbol>) =
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

/// True if [`changes`] writes a line.
fn has_changes(proposal: &Proposal) -> bool {
    let remedy = &proposal.remedy;
    let links = match &remedy.list {
        Some(change) => !change.changes.is_empty() || !change.unlisted.is_empty(),
        None => remedy.added().next().is_some(),
    };
    links || !remedy.patches.is_empty()
}

fn changes(
    proposal: &Proposal,
    (report, paths): (&Report, &Paths),
    out: &mut dyn Write,
) -> io::Result<()> {
    let remedy = &proposal.remedy;
    links(proposal, out)?;
    let adds_needs = remedy.patches.iter().any(|patch| !patch.new_needs.is_empty());
    if adds_needs && remedy.added().next().is_some() {
        // patchelf can add shared libraries, but not archives.
        let part = if proposal.members > 0 { " the shared libraries alone," } else { "" };
        writeln!(out, "or,{part} without linking again:")?;
    }
    if report.layers.is_some() && !remedy.patches.is_empty() {
        writeln!(out, "in the staging directory:")?;
    }
    for patch in &remedy.patches {
        let file = paths.word(report, &patch.file);
        for (options, values) in patch.calls() {
            write!(out, "patchelf {options} ")?;
            for value in values {
                write!(out, "{} ", shell(value))?;
            }
            writeln!(out, "{file}")?;
        }
    }
    Ok(())
}

/// Writes the installed archives that have the names of missing archives. These archives were not
/// read, because no option names their directory.
fn not_read(
    report: &Report,
    found: &[&ReportFinding],
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let causes = Causes::of(report);
    let candidates = found.iter().flat_map(|f| causes.evidence(f, EvidenceKind::Candidate));
    let lines = unread::lines(candidates, style.verbose);
    for (how, text) in &lines {
        wrapped(&format!("{how}: {text}"), style, out)?;
    }
    if lines.is_empty() {
        return Ok(());
    }
    writeln!(out, "help: these archives were not read: add their directory: --lib-path DIR")
}

/// Writes a wrapped paragraph.
fn wrapped(text: &str, style: Style, out: &mut dyn Write) -> io::Result<()> {
    for (at, line) in wrap(text, style.columns(), 0, 4).iter().enumerate() {
        writeln!(out, "{}{line}", if at == 0 { "" } else { "    " })?;
    }
    Ok(())
}

/// The packages that install an archive, in parentheses, for the end of a line. `None` if none is
/// known.
fn packages(owner: &ArchiveOwner) -> Option<String> {
    let ArchiveOwner { package, pkg_config, cmake, .. } = owner;
    let words = repair::owner(package.as_deref(), pkg_config.as_deref(), cmake.as_ref())?;
    Some(format!(" ({words})"))
}

/// Writes the archives to add to lists and to drop from them, then the libraries to link with.
/// Without a list, writes the archives and libraries to link with.
fn links(proposal: &Proposal, out: &mut dyn Write) -> io::Result<()> {
    let remedy = &proposal.remedy;
    let Some(change) = &remedy.list else {
        for archive in remedy.added() {
            let owner = proposal.owners.get(archive).and_then(packages).unwrap_or_default();
            writeln!(out, "link with {}{owner}", show_path(archive))?;
        }
        return Ok(());
    };
    // A list contains only names of archives, without paths.
    let by_name = proposal.owners.iter().filter_map(|(path, owner)| {
        let file = path.file_name()?.as_bytes();
        Some((bare_name(file).unwrap_or(file), packages(owner)?))
    });
    let by_name: BTreeMap<&[u8], String> = order::map(by_name);
    // Several branches of a CMake condition may add the same name.
    let mut written: BTreeSet<(&[u8], &[u8])> = BTreeSet::new();
    for (set, change) in &change.changes {
        let Some(found) = remedy.list.as_ref().and_then(|list| list.list.sets().get(*set)) else {
            continue;
        };
        let set = show(&found.name);
        for name in change
            .add
            .iter()
            .filter(|name| written.insert((found.name.as_slice(), name.as_slice())))
        {
            let owner = by_name.get(&**name).map(String::as_str).unwrap_or_default();
            writeln!(out, "add {} to {set}{owner}", show(name))?;
        }
        for name in &change.drop {
            writeln!(out, "drop {} from {set}", show(name))?;
        }
    }
    for set in &change.kept {
        writeln!(out, "--minimal drops no names from {}: other commands may use it", show(set))?;
    }
    for (archive, reason) in &change.unlisted {
        writeln!(out, "{} is needed, and {reason}", show_path(archive))?;
    }
    for library in remedy.libraries.keys() {
        writeln!(out, "link with {}", show_path(library))?;
    }
    Ok(())
}
