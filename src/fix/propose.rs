//! Fixes for the findings of a run. This module looks up undefined symbols of libraries in the
//! candidate archives, verifies fixes and attaches them to the findings. `cli::run` calls this
//! module between rules and triage.

use super::dead_entries;
use super::files;
use super::fix_plan::{FixPlan, ListChange};
use super::inside::OwnNames;
use super::known;
use super::libraries;
use super::link_order;
use super::minimal::{needless, of_others};
use super::needs;
use super::patch::{self, Verified};
use super::place::{ListPosition, Listed, doubt_order, find_merged, no_candidate, place};
use super::prove::{Proofs, prove};
use super::referrers::MergedReferrers;
use super::renamed_needs;
use super::rivals;
use super::search_path;
use super::search_policy;
use super::steps::Work;
use super::targets::LinkNeeds;
use super::unused_needs;
use crate::audit::{ArchiveOwner, Audit};
use crate::finding::{COMPILER_ADDS_LIBC, Fix, FixKind, Proof, STRIPPED};
use crate::finding::{Evidence, EvidenceKind, Finding, Findings};
use crate::format::deps_list::{SetChange, SetCommand};
use crate::format::elf::Object;
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId};
use crate::merged::shared::link_path;
use crate::merged::solve::{Solution, Solved, SymbolClosure};
use crate::order;
use crate::order::Arrange as _;
use crate::plan::FixRequest;
use crate::plan::Plan;
use crate::text::{show, show_path};
use crate::tree::Tree;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The fix plan, and facts about it that the findings do not have.
#[derive(Debug, Default)]
pub struct Proposal {
    /// The fix plan, which emitters write.
    pub remedy: FixPlan,
    /// Number of needed members in the archives that are added.
    pub members: usize,
    /// The undefined symbols that were looked up, grouped by library and sorted by symbol.
    pub wanted: Vec<MissingSymbol>,
    /// The packages of the added archives, keyed by the archive's path.
    pub owners: BTreeMap<PathBuf, ArchiveOwner>,
}

/// An undefined symbol that was looked up in archives.
#[derive(Debug)]
pub struct MissingSymbol {
    /// The path of the library in which the symbol is undefined.
    pub library: Arc<Path>,
    /// The name of the undefined symbol.
    pub symbol: Vec<u8>,
    /// The archive that defines the symbol; `None` if no candidate does.
    pub provider: Option<Arc<Path>>,
    /// Members of the merged archive that refer to the symbol, with their origin, in words. At most
    /// three are listed, then the number of others.
    pub by: Vec<String>,
}

/// Attaches fixes to findings. The error is a message about the request.
pub fn propose(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    request: &FixRequest,
    (findings, solved): (&mut Findings, &Solved),
) -> Result<Proposal, String> {
    if request.merged_only {
        return of_symbols(audit, plan, tree, request, (findings, solved));
    }
    let verified = search_path::attach(audit, plan, tree, findings, Verified::new());
    let mut out = of_symbols(audit, plan, tree, request, (findings, solved))?;
    let verified = needs::attach(audit, plan, tree, findings, verified);
    let mut work = Work { audit, plan, tree };
    let verified = needs::attach_indirect(&mut work, findings, verified);
    let verified = renamed_needs::attach(&mut work, findings, verified);
    let verified = dead_entries::attach(&mut work, findings, verified);
    let verified = search_policy::attach(&mut work, findings, verified);
    let verified = unused_needs::attach(&mut work, findings, verified);
    out.remedy.patches = patch::plan(audit, tree, &verified);
    files::attach(plan, tree, findings);
    Ok(out)
}

/// Attaches fixes to findings about undefined symbols and about lists.
fn of_symbols(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    request: &FixRequest,
    (findings, solved): (&mut Findings, &Solved),
) -> Result<Proposal, String> {
    if audit.library.entries().next().is_none() {
        if !request.merged_only && !request.must_find && !request.is_list_named {
            let add = libraries::attach(audit, plan, tree, (findings, &[], &Proofs::default()));
            known::attach(plan, findings);
            let mut remedy = FixPlan::default();
            add_libraries(audit, tree, add, &mut remedy);
            return Ok(Proposal { remedy, ..Proposal::default() });
        }
        known::attach(plan, findings);
        let must = request.must_find || request.is_list_named;
        return if must { Err(no_candidate(plan, request)) } else { Ok(Proposal::default()) };
    }
    let (fat, listed) = find_merged(audit, plan, request, solved)?;
    if fat.is_none() && request.merged_only {
        known::attach(plan, findings);
        return Ok(Proposal::default());
    }
    let linked: Vec<ArchiveId> = fat.into_iter().collect();
    let files: BTreeSet<FileId> = order::set(audit.diagnosis.undefined.iter().map(|u| u.file));
    let solutions = files.iter().filter_map(|file| solved.solve(audit, *file, fat));
    let (solutions, mut all): (Vec<Arc<Solution>>, Vec<Arc<Solution>>) =
        solutions.partition(|solution| !solution.by_symbol.is_empty());
    let proofs = prove(audit, plan, tree, (&solutions, fat));
    // With a merged archive, its missing parts are added, and rivals are not tried.
    let (solutions, proofs) = match fat {
        None => rivals::choose(audit, plan, tree, (solutions, proofs)),
        Some(_) => (solutions, proofs),
    };
    all.extend(solutions.iter().cloned());
    all.arrange_by_key(|solution| solution.file);
    let wanted = wanted(audit, fat, &all);
    let shared = match fat {
        None => libraries::attach(audit, plan, tree, (findings, &solutions, &proofs)),
        Some(_) => BTreeSet::new(),
    };
    let add: BTreeSet<ArchiveId> =
        order::set(solutions.iter().flat_map(|solution| solution.archives()));
    // The order of a merged archive's parts has no effect.
    let list = listed.as_ref().map(|listed| &listed.list).filter(|_| fat.is_none());
    let needs = LinkNeeds::new(audit, list, &solutions);
    let mut places: BTreeMap<ArchiveId, ListPosition> = order::map(
        add.iter()
            .map(|archive| (*archive, place(audit, (listed.as_ref(), fat), *archive, &needs))),
    );
    doubt_order(&mut places);
    let list_path = listed.as_ref().map(|listed| Arc::from(listed.entry.path.as_path()));
    let context = Context {
        audit,
        fat,
        listed: listed.as_ref(),
        list_path,
        places: &places,
        proofs: &proofs,
        own: own_names(audit, tree, (&solutions, fat)),
        verified: RefCell::default(),
    };
    for finding in findings.iter_mut().filter(|finding| finding.rule == *"undefined-symbol") {
        let file = audit.corpus.file_at(&finding.full_path());
        let solution = solutions.iter().find(|solution| Some(solution.file) == file);
        let (Some(solution), Some(symbol)) = (solution, &finding.symbol) else { continue };
        if finding.version.is_none()
            && !finding.fix.iter().any(Fix::is_proven)
            && let Some(part) = solution.by_symbol.get(symbol)
        {
            let (fixes, evidence) = context.fixes(solution.file, symbol, part);
            finding.fix = fixes;
            finding.evidence.extend(evidence);
        }
    }
    share(findings);
    known::attach(plan, findings);
    let members = solutions.iter().map(|s| added_members(audit, s, &linked)).sum();
    let (mut drop, mut others) = (BTreeSet::new(), BTreeSet::new());
    if let (true, Some(fat), Some(listed)) = (request.minimal, fat, &listed) {
        let names = listed.list.names().collect();
        drop = needless(audit, tree, fat, &names, &solutions)?;
        let sets = places.values().flat_map(|place| &place.sets);
        let chosen = order::set(sets.map(|set| &*listed.list.sets()[*set].name));
        others = of_others(audit, (listed, &chosen), fat);
    }
    let mut remedy = remedy(audit, listed, fat, &places);
    remedy.order = in_link_order(audit, fat, &add, &solutions);
    let parts = solutions.iter().flat_map(|solution| solution.parts());
    let of_archives = parts.flat_map(|part| part.libraries.iter().copied());
    let libraries = shared.into_iter().chain(of_archives).collect();
    add_libraries(audit, tree, libraries, &mut remedy);
    if let Some(change) = &mut remedy.list {
        change.drop(&drop, &others);
    }
    Ok(Proposal { remedy, members, wanted, ..Proposal::default() })
}

/// Adds shared libraries to the plan. A library follows the archives that refer to it.
fn add_libraries(
    audit: &Audit,
    tree: &dyn Tree,
    libraries: BTreeSet<FileId>,
    remedy: &mut FixPlan,
) {
    let paths = |library: FileId| {
        let facts = &audit.corpus.files[library];
        (facts.path.to_path_buf(), link_path(facts))
    };
    remedy.libraries = order::map(libraries.into_iter().map(paths));
    remedy.order.extend(remedy.libraries.keys().map(|path| vec![path.clone()]));
    remedy.find_link_forms(tree);
}

/// If a fix adds an archive to the list, findings of `deps-list-drift` about this archive get a
/// copy of the fix. Findings that have a fix keep it.
fn share(findings: &mut Findings) {
    let all = findings.iter().flat_map(|finding| &finding.fix);
    let listed = all.filter(|fix| fix.intent == FixKind::AddToList);
    // If several fixes add the same archive, one that is not verified takes precedence.
    let (safe, doubtful): (Vec<&Fix>, Vec<&Fix>) = listed.partition(|fix| fix.is_proven());
    let fixes = safe.into_iter().chain(doubtful);
    let fixes: BTreeMap<Vec<u8>, Fix> =
        order::map(fixes.filter_map(|fix| Some((fix.entry.clone()?, fix.clone()))));
    let open =
        |finding: &&mut Box<Finding>| finding.fix.is_empty() && finding.rule == *"deps-list-drift";
    for finding in findings.iter_mut().filter(open) {
        let same = finding.detail.as_ref().and_then(|name| fixes.get(name));
        finding.fix.extend(same.cloned());
    }
}

/// The names that parts of the solutions leave undefined, in the symbol table of each file. With a
/// merged archive, a file without such names is not read.
fn own_names(
    audit: &Audit,
    tree: &dyn Tree,
    (solutions, fat): (&[Arc<Solution>], Option<ArchiveId>),
) -> FastMap<FileId, OwnNames> {
    let of = |solution: &Arc<Solution>| {
        let parts = solution.parts();
        let names = parts.iter().flat_map(|part| part.undefined.iter().map(|name| &**name));
        let names: FastSet<&[u8]> = names.collect();
        let path = &audit.corpus.files[solution.file].path;
        let is_used = fat.is_none() || !names.is_empty();
        is_used.then(|| (solution.file, OwnNames::new(tree, path, &names)))
    };
    solutions.iter().filter_map(of).collect()
}

fn added_members(audit: &Audit, solution: &Solution, linked: &[ArchiveId]) -> usize {
    let owner = |needed: &crate::cover::NeededMember| audit.library.archive_of(needed.member);
    solution.coverage.needed.iter().filter(|needed| !linked.contains(&owner(needed))).count()
}

/// The facts of a run from which the fixes of a finding are made.
struct Context<'a> {
    audit: &'a Audit,
    fat: Option<ArchiveId>,
    listed: Option<&'a Listed<'a>>,
    list_path: Option<Arc<Path>>,
    places: &'a BTreeMap<ArchiveId, ListPosition>,
    proofs: &'a Proofs,
    /// The names that added members would leave undefined, in the symbol table of each file.
    own: FastMap<FileId, OwnNames>,
    /// Cached results of [`Self::verified`].
    verified: RefCell<FastMap<(FileId, MemberId), Arc<str>>>,
}

impl Context<'_> {
    /// The fixes for one undefined symbol, starting with the fix for the archive that defines it.
    /// Also the evidence about that archive.
    fn fixes(
        &self,
        file: FileId,
        symbol: &[u8],
        part: &SymbolClosure,
    ) -> (Vec<Fix>, Option<Evidence>) {
        let proof = self.proof(file, symbol, part);
        let rest = part.archives.iter().copied().filter(|archive| Some(*archive) != part.provider);
        // Without a provider, the merged archive already has the symbol: the library must be linked
        // again.
        let again = self.fat.filter(|_| part.provider.is_none()).map(|fat| self.link(fat, &proof));
        // If the list has all names already, the names are in sets that have no effect on this
        // link.
        let adds_nothing =
            part.archives.iter().all(|archive| self.places[archive].listed.is_some());
        let fix = |archive| self.fix(archive, adds_nothing, &proof);
        let add = part.provider.into_iter().chain(rest).map(fix);
        let path = |library: &FileId| self.audit.corpus.files[*library].path.as_os_str();
        let libraries = part.libraries.iter().map(|library| {
            let entry = Some(path(library).as_bytes().to_vec());
            Fix::new(FixKind::LinkLibrary, entry, proof.clone())
        });
        let fixes = again.into_iter().chain(add).chain(libraries).collect();
        let (Proof::Proven(said) | Proof::Unknown(said)) = proof.clone();
        let entry = part.provider.or(self.fat).map(|archive| self.audit.library.entry(archive));
        let evidence = entry.map(|entry| Evidence {
            symbol: Some(symbol.to_vec()),
            reason: Some(said.to_string()),
            ..Evidence::at(EvidenceKind::Provider, Arc::clone(&entry.path))
        });
        (fixes, evidence)
    }

    fn fix(&self, archive: ArchiveId, adds_nothing: bool, proof: &Proof) -> Fix {
        let place = &self.places[&archive];
        let listed = place.listed.as_ref().filter(|_| adds_nothing);
        let proof = match place.doubt.as_ref().or(listed) {
            Some(doubt) => Proof::Unknown(doubt.as_str().into()),
            None => proof.clone(),
        };
        let path = || self.audit.library.entry(archive).path.as_os_str().as_bytes().to_vec();
        match self.listed {
            Some(Listed { list, .. }) => Fix {
                intent: FixKind::AddToList,
                list: self.list_path.clone(),
                set: place.sets.first().map(|set| list.sets()[*set].name.clone()),
                entry: Some(place.name.clone().unwrap_or_else(path)),
                from: None,
                file: None,
                proof,
            },
            None => self.link(archive, &proof),
        }
    }

    fn link(&self, archive: ArchiveId, proof: &Proof) -> Fix {
        let path = self.audit.library.entry(archive).path.as_os_str().as_bytes().to_vec();
        Fix::new(FixKind::LinkArchive, Some(path), proof.clone())
    }

    /// The soname of a C library of the corpus. The library defines all names that `part` leaves
    /// undefined; `None` if no C library does. Compilers link the C library unless `-nostdlib` is
    /// given.
    fn libc(&self, file: FileId, part: &SymbolClosure) -> Option<String> {
        let files = &self.audit.corpus.files;
        let target = files[file].object()?.header.target();
        let mut libraries = files.iter().filter_map(|facts| {
            let object = facts.object().filter(|o| o.header.target().links_with(target))?;
            let soname = object.soname().filter(|soname| soname.starts_with(b"libc."))?;
            Some((object, soname))
        });
        let defines_all =
            |object: &Object| part.undefined.iter().all(|name| object.satisfies_link(name));
        let found = libraries.find(|(object, _)| defines_all(object));
        found.map(|(_, soname)| show(soname))
    }

    fn proof(&self, file: FileId, symbol: &[u8], part: &SymbolClosure) -> Proof {
        let library = &self.audit.library;
        if let Some(opaque) = part.opaque {
            let name = show(library.member_name(opaque));
            let archive = show_path(&library.entry(library.archive_of(opaque)).path);
            let why = format!("cannot read the references of {archive}({name})");
            return Proof::Unknown(why.into());
        }
        if let Some(name) = part.undefined.first().filter(|_| !self.proofs.closes(file, part)) {
            let more = match part.undefined.len() {
                1 => String::new(),
                n => format!(" and {} more", n - 1),
            };
            let name = show(name);
            let libc =
                self.libc(file, part).map(|libc| format!(": {libc} defines them, link it too"));
            let libc = libc.unwrap_or_default();
            let own = self.own.get(&file).and_then(|own| own.reason(&part.undefined));
            let end = own.map_or_else(|| format!("would be undefined{libc}"), str::to_owned);
            let why = format!("{name}{more}, referenced by the added members, {end}");
            return Proof::Unknown(why.into());
        }
        if let Some(doubt) = self.proofs.doubt(file, symbol, part) {
            return Proof::Unknown(doubt.into());
        }
        Proof::Proven(self.verified(file, part))
    }

    /// The message for a verified fix, which is cached for all symbols with the same first member.
    fn verified(&self, file: FileId, part: &SymbolClosure) -> Arc<str> {
        let count =
            |n: usize, one: &str, many: &str| format!("{n} {}", if n == 1 { one } else { many });
        let say = || {
            let archives = count(part.archives.len(), "archive", "archives");
            let members = count(part.members, "member", "members");
            let shared = match part.libraries.len() {
                0 => String::new(),
                n => format!(" and {}", count(n, "library", "libraries")),
            };
            // A hidden symbol of a stripped file may be a duplicate of a member's symbol.
            let is_stripped = || self.own.get(&file).is_some_and(OwnNames::is_stripped);
            let stripped = if self.fat.is_none() && is_stripped() {
                format!("; {STRIPPED}")
            } else {
                String::new()
            };
            let libc = if self.proofs.assumes_libc(file, part) {
                format!("; {COMPILER_ADDS_LIBC}")
            } else {
                String::new()
            };
            let what = format!("{archives} ({members}){shared}");
            format!("audited again with {what}: no new undefined symbols{libc}{stripped}").into()
        };
        let mut known = self.verified.borrow_mut();
        Arc::clone(known.entry((file, part.first)).or_insert_with(say))
    }
}

fn remedy(
    audit: &Audit,
    listed: Option<Listed<'_>>,
    fat: Option<ArchiveId>,
    places: &BTreeMap<ArchiveId, ListPosition>,
) -> FixPlan {
    let library = &audit.library;
    let path = |archive: ArchiveId| library.entry(archive).path.to_path_buf();
    let list = listed.map(|Listed { entry, list }| {
        let mut changes: BTreeMap<usize, SetChange> = BTreeMap::new();
        let mut unlisted = Vec::new();
        for (archive, place) in places {
            let Some(name) = place.name.as_ref().filter(|_| !place.sets.is_empty()) else {
                unlisted.push((path(*archive), place.refusal));
                continue;
            };
            for set in &place.open {
                changes.entry(*set).or_default().add.insert(name.clone());
            }
        }
        for (set, change) in &mut changes {
            let here = places.iter().filter(|(_, place)| place.sets.contains(set));
            let new = here.filter_map(|(archive, place)| Some((place.name.as_deref()?, *archive)));
            let new = new.filter(|(name, _)| change.add.contains(*name)).collect();
            let is_link = fat.is_none() || list.sets()[*set].origin == SetCommand::Link;
            change.order = link_order::of_set(library, (&list, *set), &new, is_link);
        }
        unlisted.arrange();
        let changes = changes.into_iter().collect();
        ListChange { path: entry.path.clone(), list, changes, unlisted, kept: BTreeSet::new() }
    });
    FixPlan { merged: fat.map(path), list, ..FixPlan::default() }
}

/// The merged archive and the added archives, in link order. Empty if no archive is added.
fn in_link_order(
    audit: &Audit,
    fat: Option<ArchiveId>,
    add: &BTreeSet<ArchiveId>,
    solutions: &[Arc<Solution>],
) -> Vec<Vec<PathBuf>> {
    let library = &audit.library;
    let mut references = link_order::of_solutions(library, solutions);
    // Members of the merged archive that the library already contains refer to the added archives.
    if let Some(fat) = fat {
        references.entry(fat).or_default().extend(add);
    }
    let path = |archive: &ArchiveId| library.entry(*archive).path.to_path_buf();
    let mut archives: Vec<ArchiveId> = if add.is_empty() {
        Vec::new()
    } else {
        fat.into_iter().chain(add.iter().copied()).collect()
    };
    archives.arrange_by_key(path);
    let sorted = link_order::sorted(&archives, &references);
    sorted.iter().map(|circle| circle.iter().map(path).collect()).collect()
}

/// All undefined symbols of the solutions, each with its provider and its referrers.
fn wanted(
    audit: &Audit,
    fat: Option<ArchiveId>,
    solutions: &[Arc<Solution>],
) -> Vec<MissingSymbol> {
    let library = &audit.library;
    let mut referrers = MergedReferrers::new(audit, fat);
    let mut out = Vec::new();
    for solution in solutions {
        let path = &audit.corpus.files[solution.file].path;
        let found =
            solution.by_symbol.iter().map(|(symbol, part)| (symbol.as_slice(), Some(&**part)));
        let none = solution.without_candidate().map(|symbol| (symbol, None));
        let mut all: Vec<(&[u8], Option<&SymbolClosure>)> = found.chain(none).collect();
        all.arrange_by_key(|(symbol, _)| *symbol);
        out.extend(all.into_iter().map(|(symbol, part)| {
            MissingSymbol {
                library: Arc::clone(path),
                symbol: symbol.to_vec(),
                provider: part
                    .and_then(|part| part.provider.or(fat))
                    .map(|archive| Arc::clone(&library.entry(archive).path)),
                by: referrers.of(symbol),
            }
        }));
    }
    out
}
