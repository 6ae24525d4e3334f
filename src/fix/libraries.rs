//! Fixes that link a shared library which defines undefined symbols. The audit verifies a fix: it
//! resolves and binds again with the library as an additional need. Names that the archives of
//! verified fixes define are treated as defined. `merged::solve` finds the archives that define
//! undefined symbols.

use super::prove::Proofs;
use crate::audit::{Audit, LoadError, LoadsAfterFix, refusal};
use crate::facts::Edits;
use crate::finding::{Evidence, EvidenceKind, Findings, Fix, FixKind, Proof};
use crate::format::elf::edit::Relink;
use crate::id::{FastSet, FileId, NameId};
use crate::merged::shared::{Choice, ChosenLibrary, Definers, choose, shared_definers};
use crate::merged::solve::{Solution, SymbolClosure};
use crate::order;
use crate::plan::Plan;
use crate::text::show;
use crate::tree::Tree;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// Attaches fixes to findings about undefined symbols, and returns the libraries to link. If
/// `solutions` has archives for a symbol, a library is chosen only if the fix with the library is
/// verified, and the fix with the archives is not (`proofs`).
pub(super) fn attach(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    (findings, solutions, proofs): (&mut Findings, &[Arc<Solution>], &Proofs),
) -> BTreeSet<FileId> {
    let files: BTreeSet<FileId> = order::set(audit.diagnosis.undefined.iter().map(|u| u.file));
    let mut libraries = BTreeSet::new();
    for file in files {
        let solution = solutions.iter().find(|solution| solution.file == file);
        let part = |symbol: &[u8]| solution.and_then(|solution| solution.by_symbol.get(symbol));
        let is_solved = |symbol: &[u8]| {
            part(symbol).is_some_and(|part| proofs.doubt(file, symbol, part).is_none())
        };
        let mut choice = candidates(audit, file, &is_solved);
        if choice.is_empty() {
            continue;
        }
        let mut doubts = verify(audit, plan, tree, file, &choice);
        let of_archives = solution.map(|solution| exports(audit, solution, proofs));
        if let (Some(doubts), Some(exports)) = (&mut doubts, of_archives) {
            let library = &audit.library;
            let is_defined = |name: &[u8]| library.find(name).is_some_and(|n| exports.contains(&n));
            doubts.new.retain(|error| {
                let is_plain = error.kind == "undefined" && error.detail.is_none();
                !(is_plain && error.file != file && is_defined(&error.name))
            });
        }
        for (library, ChosenLibrary { symbols, rivals }) in &mut choice {
            let is_better = |symbol: &Vec<u8>| {
                let proof = || proof(audit, doubts.as_ref(), (file, *library), (symbol, rivals));
                part(symbol).is_none() || matches!(proof(), Proof::Proven(_))
            };
            symbols.retain(is_better);
        }
        choice.retain(|_, library| !library.symbols.is_empty());
        for (library, ChosenLibrary { symbols, rivals }) in &choice {
            let path = audit.corpus.files[*library].path.clone();
            let attached = findings.iter_mut().filter(|finding| {
                let is_here = || audit.corpus.file_at(&finding.full_path()) == Some(file);
                let symbol = finding.symbol.as_ref();
                finding.rule == *"undefined-symbol"
                    && finding.version.is_none()
                    && symbol.is_some_and(|symbol| symbols.contains(symbol))
                    && is_here()
            });
            for finding in attached {
                let symbol = finding.symbol.clone().unwrap_or_default();
                let proof = proof(audit, doubts.as_ref(), (file, *library), (&symbol, rivals));
                let (Proof::Proven(said) | Proof::Unknown(said)) = proof.clone();
                let entry = Some(path.as_os_str().as_bytes().to_vec());
                finding.fix = vec![Fix::new(FixKind::LinkLibrary, entry, proof)];
                finding.evidence.push(Evidence {
                    symbol: Some(symbol),
                    reason: Some(said.to_string()),
                    ..Evidence::at(EvidenceKind::Provider, path.clone())
                });
            }
            libraries.insert(*library);
        }
    }
    libraries
}

/// Selects a small set of libraries that define undefined symbols of `file`. Symbols with a
/// version, and symbols for which `is_solved` is true, are skipped.
fn candidates(audit: &Audit, file: FileId, is_solved: &dyn Fn(&[u8]) -> bool) -> Choice {
    let mut definers = Definers::new();
    let of_file = audit.diagnosis.undefined.iter().filter(|undefined| undefined.file == file);
    for undefined in of_file.filter(|undefined| undefined.version.is_none()) {
        if is_solved(&undefined.symbol) {
            continue;
        }
        for library in shared_definers((audit, &audit.providers), file, &undefined.symbol) {
            definers.entry(library).or_default().insert(undefined.symbol.clone());
        }
    }
    choose(audit, file, definers)
}

/// All load errors with the libraries as additional needs, and the errors that are new.
struct Verified {
    after: BTreeSet<LoadError>,
    new: BTreeSet<LoadError>,
    /// The libraries that the loader searches for by their soname. For each, the loader may find
    /// another file that has the same soname.
    searched: BTreeSet<FileId>,
    /// An added library that needs symbols of a host program, although the file itself needs none.
    plugin: Option<FileId>,
}

fn verify(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    file: FileId,
    choice: &Choice,
) -> Option<Verified> {
    audit.read_for_edits(plan, tree, &[file]);
    let before = Audit::faults(&audit.diagnosis);
    let all: BTreeSet<FileId> = choice.keys().copied().collect();
    let mut searched = all.clone();
    searched.retain(|library| soname(audit, *library).is_some());
    let mut loaded = loads(audit, plan, tree, file, (&all, &searched))?;
    // The loader does not find these libraries by their soname. The link would add a search path,
    // so the model opens them by their path.
    let lost = |library: &FileId| {
        let missing =
            soname(audit, *library).map(|name| LoadError::new(file, "missing", name, None));
        missing.is_some_and(|error| loaded.errors.contains(&error) && !before.contains(&error))
    };
    let found: BTreeSet<FileId> =
        searched.iter().copied().filter(|library| !lost(library)).collect();
    if found.len() < searched.len() {
        loaded = loads(audit, plan, tree, file, (&all, &found))?;
        searched = found;
    }
    let LoadsAfterFix { errors: after, hosted, .. } = loaded;
    let new = after.difference(&before).cloned().collect();
    let mut plugins = choice.keys().copied().filter(|library| hosted.contains(library));
    let plugin = plugins.find(|_| !hosted.contains(&file));
    Some(Verified { after, new, searched, plugin })
}

/// The name by which a linker records the library as needed; `None` for a library without
/// DT_SONAME.
fn soname(audit: &Audit, library: FileId) -> Option<&[u8]> {
    audit.corpus.files[library].object().and_then(|object| object.soname())
}

/// The result of loading everything again after `file` was linked with the libraries `all`. The
/// loader searches for those in `searched` by their soname, and opens the others by their path.
fn loads(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    file: FileId,
    (all, searched): (&BTreeSet<FileId>, &BTreeSet<FileId>),
) -> Option<LoadsAfterFix> {
    let name = |library: &FileId| {
        let path = || audit.corpus.files[*library].path.as_os_str().as_bytes();
        let soname = soname(audit, *library).filter(|_| searched.contains(library));
        soname.unwrap_or_else(path).to_vec()
    };
    let names: Vec<Vec<u8>> = all.iter().map(name).collect();
    let needs: Vec<&[u8]> = names.iter().map(Vec::as_slice).collect();
    let relink = Relink { inside: &|_| false, outside: &[], needs: &needs };
    let relocations = audit.corpus.relocations(file).ok()?;
    let edited = audit.corpus.files[file].object()?.linked_again(relocations, &relink)?;
    let edits: Edits = [(file, edited)].into_iter().collect();
    Some(audit.loaded_again(plan, tree, &edits))
}

/// The names that the file exports once it is linked with the archives of its verified fixes. The
/// added libraries can use these definitions, because they are loaded with the file. Empty for a
/// file with a version script, which may hide names.
fn exports(audit: &Audit, solution: &Solution, proofs: &Proofs) -> FastSet<NameId> {
    let library = &audit.library;
    let object = audit.corpus.files[solution.file].object();
    if object.is_none_or(|object| !object.versions.defs.is_empty()) {
        return FastSet::default();
    }
    let of_symbol = solution.by_symbol.iter();
    let parts =
        of_symbol.filter(|(symbol, part)| proofs.doubt(solution.file, symbol, part).is_none());
    let parts: Vec<&SymbolClosure> = parts.map(|(_, part)| &**part).collect();
    let members = solution.members_of(&parts);
    let symbols = || members.iter().flat_map(|member| library.symbols(*member));
    let defined = symbols().filter(|(_, symbol)| symbol.kind.is_definition());
    let mut out: FastSet<NameId> = defined.map(|(name, _)| name).collect();
    for (name, _) in symbols().filter(|(_, symbol)| symbol.is_unexported()) {
        out.remove(&name);
    }
    out
}

fn proof(
    audit: &Audit,
    verified: Option<&Verified>,
    (file, library): (FileId, FileId),
    (symbol, rivals): (&[u8], &[FileId]),
) -> Proof {
    let name = |library: &FileId| show(audit.corpus.files[*library].library_name());
    let Some(Verified { after, new, searched, plugin }) = verified else {
        return Proof::Unknown("the library could not be read again".into());
    };
    if after.contains(&LoadError::new(file, "undefined", symbol, None)) {
        let soname = soname(audit, library).filter(|_| searched.contains(&library));
        let why = match soname.map(show) {
            Some(name) => format!("it stays undefined: the loader takes another file for {name}"),
            None => "it stays undefined with the fix".to_owned(),
        };
        return Proof::Unknown(why.into());
    }
    if let Some(why) = refusal(new) {
        return Proof::Unknown(why.into());
    }
    if let Some(plugin) = plugin {
        let what = format!("{} is a plugin: only its program defines its symbols", name(plugin));
        return Proof::Unknown(what.into());
    }
    if rivals.is_empty() {
        return Proof::Proven("resolved and bound again with the library as a need".into());
    }
    let names: Vec<String> = rivals.iter().map(name).collect();
    let define = if names.len() == 1 { "defines" } else { "define" };
    let what = format!("{} {define} the same symbols: choose one library", names.join(", "));
    Proof::Unknown(what.into())
}
