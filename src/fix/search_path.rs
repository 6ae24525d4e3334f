//! Adds search-path entries through which the loader finds missing libraries of the same prefix.
//! `patch` verifies the entries. `propose` calls this module.
//!
//! An entry is tried in up to three places, the smallest change first:
//! 1. In the search path of the object that needs the library. If the object has none, a new
//!    DT_RUNPATH serves this object alone, but turns off every DT_RPATH that the object inherits.
//! 2. In a new DT_RPATH of the object. Inherited DT_RPATHs stay in effect, but the loader searches
//!    the new one first, also for the needs of all libraries that the object loads.
//! 3. At the end of the DT_RPATH of each program. The loader searches the entry last, but the fix
//!    changes other files.

use super::patch::{Patch, Patcher, PathTag, Step, Verified};
use crate::audit::{Audit, LoadError};
use crate::bind::lookup::definition;
use crate::finding::{EvidenceKind, Finding, Findings, Fix, FixKind, Proof};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{EVERY_VERSION, Object, hash};
use crate::id::{FastSet, FileId};
use crate::package::{search_entry, searched_directory};
use crate::plan::Plan;
use crate::resolve::ROOT;
use crate::text::last_part;
use crate::tree::{Tree, is_set_id, without_dots};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of entries, of directories and of programs that are tried for one library.
const MOST: usize = 4;

/// Words for a verified entry.
const SAID: &str = "resolved and bound again with the new search paths";
/// The rules that report needs for which the loader finds no file that it accepts.
const RULES: [&str; 2] = ["missing-library", "wrong-architecture"];

/// The ways to find a missing library of one file, the best first.
#[derive(Default)]
struct Ways {
    /// Entries for the file that needs the library.
    entries: Vec<Vec<u8>>,
    /// The directories of the candidates.
    directories: Vec<PathBuf>,
}

/// A verified or refused entry for one missing library.
struct Tried {
    entry: Option<Vec<u8>>,
    /// True if the entry is in a new DT_RPATH of the file.
    is_rpath: bool,
    /// The programs that get the entry instead of the object.
    programs: Vec<(FileId, Vec<u8>)>,
    proof: Proof,
}

/// Attaches fixes to findings about missing libraries. Returns `verified` with the verified changes
/// of these fixes added.
pub(super) fn attach(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    findings: &mut Findings,
    verified: Verified,
) -> Verified {
    let wanted = wanted(audit, tree, findings);
    let steps: Vec<Step> = wanted.iter().map(|(place, ways)| step(audit, place, ways)).collect();
    let (settled, mut verified) = Patcher::new(audit, plan, tree, verified).run(&steps);
    for ((place, ways), settled) in wanted.iter().zip(settled) {
        let (file, name) = place;
        let tried = match settled {
            Ok(patch) => {
                let is_rpath = patch.tag == Some(PathTag::Rpath);
                let entry = patch.entries.get(name).cloned();
                Tried { entry, is_rpath, programs: Vec::new(), proof: Proof::Proven(SAID.into()) }
            }
            Err(why) => {
                let programs = in_programs((&mut *audit, plan, tree), place, ways, &mut verified);
                let entry = ways.entries.first().cloned();
                let proof = match &programs[..] {
                    [] => Proof::Unknown(why.into()),
                    _ => Proof::Proven(SAID.into()),
                };
                Tried { entry, is_rpath: false, programs, proof }
            }
        };
        note(audit, (*file, name), &tried, findings);
    }
    verified
}

/// The step that adds an entry to the file itself. The first alternatives use the tag that the file
/// has, or DT_RUNPATH. A new DT_RPATH follows if the file has no search path and may inherit a
/// DT_RPATH.
fn step(audit: &Audit, (file, name): &(FileId, Vec<u8>), ways: &Ways) -> Step {
    let object = audit.corpus.files[*file].object();
    let has_path = object.and_then(Object::search_path).is_some_and(|path| !path.is_empty());
    let inherits = !has_path && programs(audit, *file, name).next().is_some();
    let tags = [None, Some(PathTag::Rpath)].into_iter().take(1 + usize::from(inherits));
    let patch = |tag, entry: &Vec<u8>| Patch {
        entries: [(name.clone(), entry.clone())].into_iter().collect(),
        tag,
        ..Patch::default()
    };
    let all = tags.flat_map(|tag| ways.entries.iter().map(move |entry| patch(tag, entry)));
    let cures = vec![LoadError::new(*file, "missing", name, None)];
    Step { file: *file, ways: all.collect(), cures }
}

/// The entry points under which the library `name` that `file` needs is missing. Only entry points
/// that use a DT_RPATH are included. Plugins of a host program and `file` itself are left out.
fn programs<'a>(
    audit: &'a Audit,
    file: FileId,
    name: &'a [u8],
) -> impl Iterator<Item = FileId> + 'a {
    let missing = audit.diagnosis.missing.iter();
    let missing = missing.filter(move |one| one.file == file && one.name == name);
    let roots = missing.flat_map(|one| &one.roots).map(|root| &audit.closures.roots[*root].root);
    let roots = roots.filter(move |root| root.host.is_none() && root.file != file);
    roots.map(|root| root.file).filter(|file| {
        let object = audit.corpus.files[*file].object();
        object.is_some_and(|object| object.rpath.is_some() && object.runpath.is_none())
    })
}

/// Adds an entry to the DT_RPATH of each program under which the library is missing. Returns the
/// programs with their entries if the library is then found under all of them, else an empty list.
fn in_programs(
    (audit, plan, tree): (&mut Audit, &Plan, &dyn Tree),
    (file, name): &(FileId, Vec<u8>),
    ways: &Ways,
    verified: &mut Verified,
) -> Vec<(FileId, Vec<u8>)> {
    let missing = audit.diagnosis.missing.iter();
    let missing = missing.filter(|one| one.file == *file && one.name == *name);
    let roots = missing.map(|one| one.roots.len()).sum::<usize>();
    let programs: Vec<FileId> = programs(audit, *file, name).collect();
    if programs.len() != roots || programs.len() > MOST {
        return Vec::new();
    }
    let patch = |program: FileId, directory: &PathBuf| {
        let entry = entry(tree, &audit.corpus.files[program].path, directory)?;
        let entry = entry.into_os_string().into_vec();
        let entries = [(name.clone(), entry)].into_iter().collect();
        Some(Patch { entries, ..Patch::default() })
    };
    let step = |program: &FileId| Step {
        file: *program,
        ways: ways.directories.iter().filter_map(|dir| patch(*program, dir)).collect(),
        cures: vec![LoadError::new(*file, "missing", name, None)],
    };
    let steps: Vec<Step> = programs.iter().map(step).collect();
    let (settled, all) = Patcher::new(audit, plan, tree, verified.clone()).run(&steps);
    let entry = |settled: Result<Patch, String>| settled.ok()?.entries.remove(name);
    let entries: Option<Vec<Vec<u8>>> = settled.into_iter().map(entry).collect();
    let Some(entries) = entries else { return Vec::new() };
    *verified = all;
    programs.into_iter().zip(entries).collect()
}

/// For each file and needed name, the entries that would find a candidate of the same prefix. The
/// entries are sorted by the number of expected symbols that the candidate lacks, then in the order
/// of [`entries`], then by length.
fn wanted(
    audit: &Audit,
    tree: &dyn Tree,
    findings: &Findings,
) -> BTreeMap<(FileId, Vec<u8>), Ways> {
    let mut out = BTreeMap::new();
    let opened = opened(audit, findings);
    for finding in findings.iter().filter(|finding| is_missing(finding)) {
        let (path, library) = (finding.full_path(), finding.library.as_deref());
        let (Some(file), Some(library)) = (audit.corpus.file_at(&path), library) else { continue };
        let is_patchable = audit.corpus.files[file].object().is_some_and(Object::is_dynamic);
        if !is_patchable || library.contains(&b'/') {
            continue;
        }
        let mut ways: Vec<(usize, usize, Vec<u8>)> = Vec::new();
        let mut directories: BTreeSet<(usize, PathBuf)> = BTreeSet::new();
        for candidate in candidates(finding, library) {
            let lacks = lacks(audit, finding, candidate);
            for name in names(audit, finding, candidate) {
                let Some(directory) = name.parent().map(searched_directory) else { continue };
                if !directory.as_os_str().as_bytes().contains(&b':') {
                    directories.insert((lacks, directory.to_path_buf()));
                }
                let ranked =
                    entries(tree, &path, opened.get(&file), directory).into_iter().enumerate();
                let bytes =
                    ranked.map(|(rank, way)| (lacks, rank, way.into_os_string().into_vec()));
                ways.extend(bytes.filter(|(_, _, way)| !way.contains(&b':')));
            }
        }
        ways.sort_by(|(lacks, rank, a), (more, other, b)| {
            (lacks, rank, a.len(), a).cmp(&(more, other, b.len(), b))
        });
        let mut entries: Vec<Vec<u8>> = ways.into_iter().map(|(_, _, way)| way).collect();
        entries.dedup();
        entries.truncate(MOST);
        let directories = directories.into_iter().map(|(_, directory)| directory).take(MOST);
        if !entries.is_empty() {
            let ways = Ways { entries, directories: directories.collect() };
            out.insert((file, library.to_vec()), ways);
        }
    }
    out
}

fn is_missing(finding: &Finding) -> bool {
    RULES.iter().any(|rule| finding.rule == **rule)
}

/// The paths by which loaders open the files of findings about missing libraries, and the hard
/// links of files that are started. Their directories are the values of `$ORIGIN`.
fn opened(audit: &Audit, findings: &Findings) -> BTreeMap<FileId, BTreeSet<PathBuf>> {
    let missing = findings.iter().filter(|finding| is_missing(finding));
    let files = missing.filter_map(|finding| audit.corpus.file_at(&finding.full_path()));
    let mut out: BTreeMap<FileId, BTreeSet<PathBuf>> =
        files.map(|file| (file, BTreeSet::new())).collect();
    let mut met = FastSet::default();
    for closure in audit.closures.roots.iter().filter(|closure| met.insert(closure.links_id())) {
        for (module, file) in closure.found().filter(|(module, _)| *module != ROOT) {
            if let Some(paths) = out.get_mut(&file) {
                let path = audit.text(closure.module(module).path);
                paths.insert(without_dots(Path::new(OsStr::from_bytes(path))));
            }
        }
    }
    for file in audit.closures.roots.iter().map(|closure| closure.root.file) {
        if let Some(paths) = out.get_mut(&file) {
            paths.extend(audit.corpus.files[file].hard_links().map(Path::to_path_buf));
        }
    }
    out
}

/// The entry with which the file at `path` finds libraries in `directory`. The entry is absolute
/// for a set-user-ID or set-group-ID file, and for a file with capabilities: the loader then
/// ignores entries with `$ORIGIN` (`elf/dl-load.c`, `_dl_dst_substitute`).
pub(super) fn entry(tree: &dyn Tree, path: &Path, directory: &Path) -> Option<PathBuf> {
    if tree.mode(path).is_some_and(is_set_id) || tree.has_capabilities(path) {
        return Some(directory.to_path_buf());
    }
    search_entry(path, directory)
}

/// The entries with which the file at `path` finds libraries in `directory`, the best first. If
/// links in other directories point to the file, there are several entries: relative to the file,
/// relative to each link, and absolute.
fn entries(
    tree: &dyn Tree,
    path: &Path,
    opened: Option<&BTreeSet<PathBuf>>,
    directory: &Path,
) -> Vec<PathBuf> {
    let mut out: Vec<PathBuf> = entry(tree, path, directory).into_iter().collect();
    let opened = opened.into_iter().flatten().filter(|opened| opened.is_absolute());
    let links = opened.filter(|opened| opened.parent() != path.parent());
    out.extend(links.filter_map(|link| entry(tree, link, directory)));
    if out.len() > 1 {
        out.push(directory.to_path_buf());
    }
    out
}

/// Number of undefined symbols that the missing library should define and the candidate does not.
fn lacks(audit: &Audit, finding: &Finding, candidate: &Path) -> usize {
    let file = audit.corpus.file_at(candidate);
    let object = file.and_then(|file| audit.corpus.files[file].object());
    let explained =
        finding.evidence_of(EvidenceKind::Explained).filter_map(|e| e.symbol.as_deref());
    let Some(object) = object else { return explained.count() };
    let lacks = |name: &&[u8]| {
        definition(object, &SymbolQuery::new(name, hash::gnu(name), None), EVERY_VERSION).is_none()
    };
    explained.filter(lacks).count()
}

/// The candidates that have the needed name and are in the prefix of the finding.
fn candidates<'f>(finding: &'f Finding, library: &'f [u8]) -> impl Iterator<Item = &'f Path> {
    let prefix = finding.file.prefix.as_deref();
    let candidates = finding.evidence_of(EvidenceKind::Candidate).filter(|e| !e.is_of_system());
    let paths = candidates.filter_map(|e| e.path.as_deref());
    let named = paths.filter(move |path| last_part(path.as_os_str().as_bytes()) == library);
    named.filter(move |path| prefix.is_some_and(|prefix| path.starts_with(prefix)))
}

/// The path of a candidate, and its links of the same name in the prefix of the finding. A farm of
/// links has a directory that stays when a package gets another release.
fn names<'a>(
    audit: &'a Audit,
    finding: &'a Finding,
    candidate: &'a Path,
) -> impl Iterator<Item = &'a Path> {
    let facts = audit.corpus.file_at(candidate).map(|file| &audit.corpus.files[file]);
    let links = facts.into_iter().flat_map(|facts| facts.same_named(candidate));
    let prefix = finding.file.prefix.as_deref();
    let fits = move |link: &&Path| prefix.is_some_and(|dir| link.starts_with(dir));
    std::iter::once(candidate).chain(links.filter(fits))
}

/// Attaches the fixes for one missing library of a file.
fn note(audit: &Audit, (file, name): (FileId, &[u8]), tried: &Tried, findings: &mut Findings) {
    let Tried { entry, is_rpath, programs, proof } = tried;
    let fix = |kind, entry| Fix::new(kind, entry, proof.clone());
    let of_program = |(program, entry): &(FileId, Vec<u8>)| {
        let file = Some(Arc::clone(&audit.corpus.files[*program].path));
        Fix { file, ..fix(FixKind::AddSearchPath, Some(entry.clone())) }
    };
    let mut fixes: Vec<Fix> = programs.iter().map(of_program).collect();
    if fixes.is_empty() {
        fixes.push(fix(FixKind::AddSearchPath, entry.clone()));
    }
    if *is_rpath {
        fixes.push(fix(FixKind::SetSearchTag, Some(b"DT_RPATH".to_vec())));
    }
    for finding in findings.iter_mut().filter(|finding| is_missing(finding)) {
        if finding.library.as_deref() == Some(name)
            && audit.corpus.file_at(&finding.full_path()) == Some(file)
        {
            finding.fix.clone_from(&fixes);
        }
    }
}
