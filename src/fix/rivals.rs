//! Chooses between archives that define the same symbols: `merged::solve` takes the smallest one.
//! If the fix with that archive is not verified, the other archives are tried in turn. `propose`
//! calls this module.

use super::prove::{Proofs, prove};
use crate::audit::Audit;
use crate::id::{ArchiveId, FastMap, FastSet, FileId};
use crate::merged::solve::{Solution, SymbolClosure, solve};
use crate::plan::Plan;
use crate::tree::Tree;
use std::sync::Arc;

/// Maximum number of times that archives are replaced by their rivals. Each time takes as long as
/// the search for the first solutions.
const MOST_TRIES: usize = 4;

/// Selects for each library the solution with the most verified symbols, or the first of equally
/// good ones. Returns the solutions with the results of their verification.
pub(super) fn choose(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    (first, proofs): (Vec<Arc<Solution>>, Proofs),
) -> (Vec<Arc<Solution>>, Proofs) {
    let verified = |solutions: &[Arc<Solution>], proofs: &Proofs| -> usize {
        solutions.iter().map(|solution| count(solution, proofs)).sum()
    };
    let by_file: FastMap<FileId, Arc<Solution>> =
        first.iter().map(|solution| (solution.file, Arc::clone(solution))).collect();
    let mut better: FastMap<FileId, (usize, Arc<Solution>)> = FastMap::default();
    let mut without: FastMap<FileId, FastSet<ArchiveId>> = FastMap::default();
    let mut tried = next(audit, (&first, &proofs), &mut without);
    for _ in 0..MOST_TRIES {
        if tried.is_empty() {
            break;
        }
        let proofs_now = prove(audit, plan, tree, (&tried, None));
        for solution in &tried {
            let found = count(solution, &proofs_now);
            let known = by_file.get(&solution.file);
            let known = known.filter(|known| known.by_symbol.len() <= solution.by_symbol.len());
            let Some(known) = known else { continue };
            let most = better.get(&solution.file).map(|(most, _)| *most);
            if found > most.unwrap_or_else(|| count(known, &proofs)) {
                better.insert(solution.file, (found, Arc::clone(solution)));
            }
        }
        tried = next(audit, (&tried, &proofs_now), &mut without);
    }
    if better.is_empty() {
        return (first, proofs);
    }
    let best = |solution: &Arc<Solution>| {
        Arc::clone(better.get(&solution.file).map_or(solution, |(_, better)| better))
    };
    let mixed: Vec<Arc<Solution>> = first.iter().map(best).collect();
    let mixed_proofs = prove(audit, plan, tree, (&mixed, None));
    // A fix that was verified alone may fail together with the fixes of other libraries.
    if verified(&mixed, &mixed_proofs) > verified(&first, &proofs) {
        (mixed, mixed_proofs)
    } else {
        (first, proofs)
    }
}

/// True if the fix `part` for `symbol` is verified.
fn is_verified(solution: &Solution, symbol: &[u8], part: &SymbolClosure, proofs: &Proofs) -> bool {
    part.opaque.is_none()
        && proofs.closes(solution.file, part)
        && proofs.doubt(solution.file, symbol, part).is_none()
}

/// Number of symbols with a verified fix.
fn count(solution: &Solution, proofs: &Proofs) -> usize {
    let parts = solution.by_symbol.iter();
    parts.filter(|(symbol, part)| is_verified(solution, symbol, part, proofs)).count()
}

/// Solves again for the libraries with an unverified fix, without the archives of these fixes that
/// have rivals. Adds these archives to `without`.
fn next(
    audit: &Audit,
    (solutions, proofs): (&[Arc<Solution>], &Proofs),
    without: &mut FastMap<FileId, FastSet<ArchiveId>>,
) -> Vec<Arc<Solution>> {
    let mut out = Vec::new();
    for solution in solutions {
        let without = without.entry(solution.file).or_default();
        let doubtful = refused(audit, (solution, proofs), without);
        if !doubtful.is_empty() {
            without.extend(doubtful);
            out.extend(solve(audit, solution.file, None, without).map(Arc::new));
        }
    }
    out.retain(|solution| !solution.by_symbol.is_empty());
    out
}

/// The archives to replace, because they belong to fixes that are not verified. For each such fix,
/// this is the archive that defines the symbol, if another archive defines the symbol too. If no
/// fix has such an archive, the result has the archives on which these fixes depend and that were
/// chosen among rivals.
fn refused(
    audit: &Audit,
    (solution, proofs): (&Solution, &Proofs),
    without: &FastSet<ArchiveId>,
) -> FastSet<ArchiveId> {
    let library = &audit.library;
    let has_rival = |symbol: &[u8], archive: ArchiveId| {
        let found = library.find(symbol).into_iter().flat_map(|name| library.definitions(name));
        let mut others = found.map(|definition| library.archive_of(definition.member));
        others.any(|other| other != archive && !without.contains(&other))
    };
    let (mut first, mut inner) = (FastSet::default(), FastSet::default());
    for (symbol, part) in &solution.by_symbol {
        if is_verified(solution, symbol, part, proofs) {
            continue;
        }
        first.extend(part.provider.filter(|archive| has_rival(symbol, *archive)));
        inner.extend(part.archives.iter().copied());
    }
    if first.is_empty() {
        let ties = solution.coverage.ties.iter().map(|tie| tie.taken);
        first.extend(ties.filter(|archive| inner.contains(archive)));
    }
    first
}
