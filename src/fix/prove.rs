//! Verifies fixes: models the library as linked again with the members that a fix adds, and
//! resolves and binds the result. The added members define some symbols and refer to others. The
//! loader's rules decide which symbols are then undefined.
//!
//! All fixes are verified together. A group with new errors is split in halves, until only the
//! fixes that cause new errors stay unverified. Beyond a limit, groups are not split, and all fixes
//! of a group with new errors stay unverified. `propose` calls this module.

use super::linkable::{Refusals, refusals};
use super::{as_linked, link_order, sections};
use crate::audit::{Audit, LoadError};
use crate::facts::Edits;
use crate::format::elf::edit::Relink;
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId};
use crate::merged::solve::{Solution, SymbolClosure};
use crate::order;
use crate::plan::Plan;
use crate::text::show;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// Number of verifications after which no group of fixes is split. Both halves of an earlier split
/// are still verified once.
const MOST_LOOKS: usize = 100;

/// The results of verification for each part of each solution.
#[derive(Default)]
pub struct Proofs {
    shown: FastMap<(FileId, MemberId), Arc<ProofResult>>,
    refusals: Refusals,
    /// Parts whose remaining undefined names are defined by linkers, because the members have the
    /// sections for these names (`foo` for `__start_foo`).
    with_sections: FastSet<(FileId, MemberId)>,
    /// Parts with a reference to the C library that a compiler adds to the link.
    with_libc: FastSet<(FileId, MemberId)>,
}

/// The result of resolving and binding with a group of fixes.
#[derive(Default)]
struct ProofResult {
    /// Libraries that could be linked again in the model.
    edited: FastSet<FileId>,
    /// All load errors after the libraries in `edited` are linked again.
    after: BTreeSet<LoadError>,
    /// The errors that occur only after the fixes.
    new: BTreeSet<LoadError>,
    /// Number of other fixes in the group.
    others: usize,
}

impl Proofs {
    /// True if all references of the members of `part` are known and defined.
    pub fn closes(&self, file: FileId, part: &SymbolClosure) -> bool {
        part.is_closed() || self.with_sections.contains(&(file, part.first))
    }

    /// True if the members of `part` refer to the C library, which the file does not need yet and
    /// which a compiler adds to the link (`Audit::implied_libc`).
    pub fn assumes_libc(&self, file: FileId, part: &SymbolClosure) -> bool {
        self.with_libc.contains(&(file, part.first))
    }

    /// The reason why the fix `part` for `symbol` of `file` is not verified; `None` if the fix is
    /// verified.
    pub fn doubt(&self, file: FileId, symbol: &[u8], part: &SymbolClosure) -> Option<String> {
        if let Some(refusal) = self.refusals.get(&(file, part.first)) {
            return Some(refusal.clone());
        }
        let shown = self.shown.get(&(file, part.first));
        let Some(shown) = shown.filter(|shown| shown.edited.contains(&file)) else {
            return Some("the library could not be read again".to_owned());
        };
        if shown.after.contains(&LoadError::new(file, "undefined", symbol, None)) {
            return Some("still undefined with the fix".to_owned());
        }
        let LoadError { name, .. } = shown.new.first()?;
        let more = match shown.new.len() {
            1 => String::new(),
            n => format!(" and {} more", n - 1),
        };
        let limit = format!(": the limit of {MOST_LOOKS} verifications is reached");
        let (fixes, limit) = match shown.others {
            0 => ("the fix".to_owned(), String::new()),
            1 => ("this fix or another one".to_owned(), limit),
            n => (format!("this fix or one of {n} others"), limit),
        };
        Some(format!("{}{more} would be undefined with {fixes}{limit}", show(name)))
    }
}

/// One fix: a part of the solution for a library.
type Step<'s> = (&'s Solution, &'s SymbolClosure);

/// Verifies the parts of the solutions. Parts with undefined or unknown references, or with
/// rejected members, are skipped. `fat` is the merged archive, if there is one.
pub fn prove(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    (solutions, fat): (&[Arc<Solution>], Option<ArchiveId>),
) -> Proofs {
    let mut proofs = Proofs {
        refusals: refusals(audit, tree, solutions, fat),
        with_sections: with_sections(audit, tree, solutions),
        with_libc: with_libc(audit, solutions),
        shown: FastMap::default(),
    };
    let alone = if fat.is_none() { solutions } else { &[] };
    let references = link_order::of_solutions(&audit.library, alone);
    for solution in alone {
        let key = |first| (solution.file, first);
        let doubtful = |part: &SymbolClosure| {
            !proofs.closes(solution.file, part) || proofs.refusals.contains_key(&key(part.first))
        };
        let found = as_linked::refusals(audit, tree, (solution, &references), &doubtful);
        proofs.refusals.extend(found.into_iter().map(|(first, why)| (key(first), why)));
    }
    for solution in solutions.iter().filter(|_| fat.is_some()) {
        for (first, why) in as_linked::indirect(audit, solution) {
            proofs.refusals.entry((solution.file, first)).or_insert(why);
        }
    }
    let steps = |solution| Solution::parts(solution).into_iter().map(move |part| (solution, part));
    let all = solutions.iter().map(|solution| &**solution).flat_map(steps);
    let fits = |(solution, part): &Step<'_>| {
        proofs.closes(solution.file, part)
            && !proofs.refusals.contains_key(&(solution.file, part.first))
    };
    let steps: Vec<Step<'_>> = all.filter(fits).collect();
    let mut files: Vec<FileId> = steps.iter().map(|(solution, _)| solution.file).collect();
    files.dedup();
    audit.read_for_edits(plan, tree, &files);
    let before = Audit::faults(&audit.diagnosis);
    let mut prover = Prover { audit, plan, tree, before, looks: 0, proofs };
    prover.settle(&steps);
    prover.proofs
}

/// Finds the parts for [`Proofs::with_sections`]. A part is identified by the file and by its first
/// member.
fn with_sections(
    audit: &Audit,
    tree: &dyn Tree,
    solutions: &[Arc<Solution>],
) -> FastSet<(FileId, MemberId)> {
    let mut out = FastSet::default();
    for solution in solutions {
        let mut parts = solution.parts();
        parts.retain(|part| part.opaque.is_none() && !part.undefined.is_empty());
        parts.retain(|part| sections::define_rest(audit, tree, solution, part));
        out.extend(parts.into_iter().map(|part| (solution.file, part.first)));
    }
    out
}

/// Finds the parts for [`Proofs::with_libc`].
fn with_libc(audit: &Audit, solutions: &[Arc<Solution>]) -> FastSet<(FileId, MemberId)> {
    let mut out = FastSet::default();
    for solution in solutions {
        let Some(libc) = audit.implied_libc(solution.file) else { continue };
        let libc = audit.corpus.files[libc].object();
        let mut parts = solution.parts();
        parts.retain(|part| {
            let gain = solution.gain(audit, &[part]);
            libc.is_some_and(|libc| gain.outside.iter().any(|name| libc.satisfies_link(name)))
        });
        out.extend(parts.into_iter().map(|part| (solution.file, part.first)));
    }
    out
}

struct Prover<'a> {
    audit: &'a mut Audit,
    plan: &'a Plan,
    tree: &'a dyn Tree,
    before: BTreeSet<LoadError>,
    looks: usize,
    proofs: Proofs,
}

impl Prover<'_> {
    fn settle(&mut self, steps: &[Step<'_>]) {
        let shown = self.show(steps);
        if !shown.new.is_empty() && steps.len() > 1 && self.looks < MOST_LOOKS {
            let (some, others) = steps.split_at(steps.len() / 2);
            self.settle(some);
            self.settle(others);
            return;
        }
        let others = steps.len().saturating_sub(1);
        let shown = Arc::new(ProofResult { others, ..shown });
        let keys = steps.iter().map(|(solution, part)| (solution.file, part.first));
        self.proofs.shown.extend(keys.map(|key| (key, Arc::clone(&shown))));
    }

    /// Resolves and binds again with all steps applied at once. The steps must be sorted by
    /// library.
    fn show(&mut self, steps: &[Step<'_>]) -> ProofResult {
        let mut edits = Edits::default();
        for steps in steps.chunk_by(|(a, _), (b, _)| a.file == b.file) {
            let Some((solution, _)) = steps.first() else { continue };
            let parts: Vec<&SymbolClosure> = steps.iter().map(|(_, part)| *part).collect();
            let gain = solution.gain(self.audit, &parts);
            let outside: Vec<&[u8]> = gain.outside.iter().map(Vec::as_slice).collect();
            let inside = |name: &[u8]| gain.defines(&self.audit.library, name);
            let libraries: BTreeSet<FileId> =
                order::set(parts.iter().flat_map(|part| part.libraries.iter().copied()));
            let path = |file: &FileId| self.audit.corpus.files[*file].path.as_os_str().as_bytes();
            let uses_libc = parts.iter().any(|part| self.proofs.assumes_libc(solution.file, part));
            let libc = self.audit.implied_libc(solution.file).filter(|_| uses_libc);
            let soname = libc.and_then(|libc| self.audit.corpus.files[libc].object()?.soname());
            let needs: Vec<&[u8]> = libraries.iter().map(path).chain(soname).collect();
            let relink = Relink { inside: &inside, outside: &outside, needs: &needs };
            let object = self.audit.corpus.files[solution.file].object();
            let relocations = self.audit.corpus.relocations(solution.file).ok();
            let edited = object.zip(relocations).and_then(|(o, r)| o.linked_again(r, &relink));
            edits.extend(edited.map(|edited| (solution.file, edited)));
        }
        if edits.is_empty() {
            return ProofResult::default();
        }
        self.looks += 1;
        let after = self.audit.again(self.plan, self.tree, &edits);
        let new = after.difference(&self.before).cloned().collect();
        ProofResult { edited: edits.into_keys().collect(), after, new, others: 0 }
    }
}
