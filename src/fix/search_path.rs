//! Entries of search paths that let the loader find missing libraries of the same prefix. A fix is
//! verified by resolving and binding with the new search path: the library must be found, no error may
//! be new, and every file that was loaded before must be loaded still, so that the entry hides none.
//! `propose` calls it.

use super::fix_plan::SearchPath;
use crate::audit::{Audit, LoadError};
use crate::bind::lookup::definition;
use crate::facts::Edits;
use crate::finding::{EvidenceKind, Finding, Findings, Fix, Intent, Proof};
use crate::format::elf::find::Query;
use crate::format::elf::{EVERY_VERSION, Object, hash};
use crate::id::{FastSet, FileId};
use crate::package::search_entry;
use crate::plan::Plan;
use crate::text::{last_part, show, show_path};
use crate::tree::{Handle, Tree};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Directories that are tried for one library.
const MOST: usize = 4;

/// Verifications in one run; each is another audit of the entry points that load the files.
const MOST_LOOKS: usize = 500;

/// The new entries of one file by needed name.
type Entries = BTreeMap<Vec<u8>, Vec<u8>>;

/// The entries that would find each missing library of one file, the best first.
type Ways = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// Attaches fixes to findings, and returns the search paths that were verified.
pub(super) fn attach(
    audit: &mut Audit,
    plan: &Plan,
    tree: &dyn Tree,
    findings: &mut Findings,
) -> Vec<SearchPath> {
    let wanted: Vec<(FileId, Ways)> = wanted(audit, findings).into_iter().collect();
    let files: Vec<FileId> = wanted.iter().map(|(file, _)| *file).collect();
    audit.read_for_edits(plan, tree, &files);
    let before = Audit::faults(&audit.diagnosis);
    let (verified, refused) = (BTreeMap::new(), Vec::new());
    let mut search = Search { before, audit, plan, tree, looks: 0, verified, refused };
    search.settle(&wanted);
    let Search { audit, verified, refused, .. } = search;
    for (file, entries, why) in &refused {
        note(audit, *file, entries, &Proof::Unknown(why.as_str().into()), findings);
    }
    let proof = Proof::Proven("resolved and bound again with the new search paths".into());
    let mut out = Vec::new();
    for (file, entries) in &verified {
        if let Some(prefix) = note(audit, *file, entries, &proof, findings) {
            out.extend(search_path(audit, tree, (*file, prefix), entries));
        }
    }
    out.sort_by(|a, b| a.file.as_os_str().cmp(b.file.as_os_str()));
    out
}

/// By file and needed name: the entries that would find a candidate of the same prefix. A candidate that
/// defines more of what the missing library explains comes first, then the shortest entry.
fn wanted(audit: &Audit, findings: &Findings) -> BTreeMap<FileId, Ways> {
    let mut out: BTreeMap<FileId, Ways> = BTreeMap::new();
    for finding in findings.iter().filter(|finding| finding.rule == *"missing-library") {
        let (path, library) = (finding.full_path(), finding.library.as_deref());
        let (Some(file), Some(library)) = (audit.corpus.file_at(&path), library) else { continue };
        let is_patchable = audit.corpus.files[file].object().is_some_and(Object::is_dynamic);
        if !is_patchable || library.contains(&b'/') {
            continue;
        }
        let mut ways: Vec<(usize, Vec<u8>)> = candidates(finding, library)
            .filter_map(|candidate| {
                let way = search_entry(&path, candidate.parent()?)?;
                let way = way.into_os_string().as_bytes().to_vec();
                (!way.contains(&b':')).then(|| (lacks(audit, finding, candidate), way))
            })
            .collect();
        ways.sort_by(|(lacks, a), (more, b)| (lacks, a.len(), a).cmp(&(more, b.len(), b)));
        let mut ways: Vec<Vec<u8>> = ways.into_iter().map(|(_, way)| way).collect();
        ways.dedup();
        ways.truncate(MOST);
        if !ways.is_empty() {
            out.entry(file).or_default().insert(library.to_vec(), ways);
        }
    }
    out
}

/// How many of the symbols that a missing library explains a candidate does not define itself.
fn lacks(audit: &Audit, finding: &Finding, candidate: &Path) -> usize {
    let file = audit.corpus.file_at(candidate);
    let object = file.and_then(|file| audit.corpus.files[file].object());
    let explained =
        finding.evidence_of(EvidenceKind::Explained).filter_map(|e| e.symbol.as_deref());
    let Some(object) = object else { return explained.count() };
    let lacks = |name: &&[u8]| {
        definition(object, &Query::new(name, hash::gnu(name), None), EVERY_VERSION).is_none()
    };
    explained.filter(lacks).count()
}

/// The candidates that have the needed name and lie in the finding's prefix.
fn candidates<'f>(finding: &'f Finding, library: &'f [u8]) -> impl Iterator<Item = &'f Path> {
    let prefix = finding.file.prefix.as_deref();
    let paths = finding.evidence_of(EvidenceKind::Candidate).filter_map(|e| e.path.as_deref());
    let named = paths.filter(move |path| last_part(path.as_os_str().as_bytes()) == library);
    named.filter(move |path| prefix.is_some_and(|prefix| path.starts_with(prefix)))
}

struct Search<'a> {
    audit: &'a mut Audit,
    plan: &'a Plan,
    tree: &'a dyn Tree,
    before: BTreeSet<LoadError>,
    looks: usize,
    /// Entries that were verified together.
    verified: BTreeMap<FileId, Entries>,
    /// Entries that were not, with the reason.
    refused: Vec<(FileId, Entries, String)>,
}

impl Search<'_> {
    /// Verifies the entries of some files together with those that are verified already. One library may
    /// need the next, so that all are tried at once first, then halves.
    fn settle(&mut self, wanted: &[(FileId, Ways)]) {
        let best = |ways: &Ways| -> Entries {
            let first = ways.iter().filter_map(|(name, ways)| Some((name, ways.first()?)));
            first.map(|(name, way)| (name.clone(), way.clone())).collect()
        };
        let new: BTreeMap<FileId, Entries> =
            wanted.iter().map(|(file, ways)| (*file, best(ways))).collect();
        match (self.verify(&new), wanted) {
            (_, []) => {}
            (Ok(()), _) => self.verified.extend(new),
            (Err(_), [(file, ways)]) => self.choose(*file, ways),
            (Err(_), _) => {
                let (some, others) = wanted.split_at(wanted.len() / 2);
                self.settle(some);
                self.settle(others);
            }
        }
    }

    /// The entries for one file: of each library the first that can be verified with those before it.
    fn choose(&mut self, file: FileId, names: &Ways) {
        let mut entries = Entries::new();
        for (name, ways) in names {
            let mut refusal = None;
            for way in ways {
                let mut tried = entries.clone();
                tried.insert(name.clone(), way.clone());
                match self.verify(&[(file, tried.clone())].into_iter().collect()) {
                    Ok(()) => {
                        entries = tried;
                        refusal = None;
                        break;
                    }
                    Err(why) => {
                        refusal.get_or_insert((way, why));
                    }
                }
            }
            if let Some((way, why)) = refusal {
                let entry = [(name.clone(), way.clone())].into_iter().collect();
                self.refused.push((file, entry, why));
            }
        }
        if !entries.is_empty() {
            self.verified.insert(file, entries);
        }
    }

    /// Resolves and binds again with these entries and those that are verified. The error is the reason why
    /// they are not.
    fn verify(&mut self, new: &BTreeMap<FileId, Entries>) -> Result<(), String> {
        if self.looks == MOST_LOOKS {
            return Err("too many others were tried".to_owned());
        }
        self.looks += 1;
        let mut files = self.verified.clone();
        files.extend(new.clone());
        let mut edits = Edits::default();
        for (file, entries) in &files {
            let object = self.audit.corpus.files[*file].object();
            let relocations = self.audit.corpus.relocations(*file).ok();
            let edited = object
                .zip(relocations)
                .and_then(|(o, r)| o.with_search_path(r, &whole(self.audit, *file, entries)));
            let edited = edited.ok_or("the file could not be read again")?;
            edits.insert(*file, edited);
        }
        let again = self.audit.loaded_again(self.plan, self.tree, &edits);
        for (file, entries) in &files {
            for name in entries.keys() {
                if again.errors.contains(&LoadError::new(*file, "missing", name, None)) {
                    return Err(format!("{} would still be missing", show(name)));
                }
            }
        }
        if let Some(error) = again.errors.difference(&self.before).next() {
            return Err(format!("with the fix {} would fail", show(&error.name)));
        }
        match again.lost.iter().min() {
            Some(lost) => {
                let lost = show_path(&self.audit.corpus.files[*lost].path);
                Err(format!("another file would be loaded instead of {lost}"))
            }
            None => Ok(()),
        }
    }
}

/// The search path of a file with new entries at its end.
fn whole(audit: &Audit, file: FileId, entries: &Entries) -> Vec<u8> {
    let object = audit.corpus.files[file].object();
    let old = object.and_then(|object| Some(object.str(object.runpath.or(object.rpath)?)));
    let mut out = old.unwrap_or_default().to_vec();
    let mut known: FastSet<&[u8]> = FastSet::default();
    for entry in entries.values().filter(|entry| known.insert(entry)) {
        if !out.is_empty() {
            out.push(b':');
        }
        out.extend(entry);
    }
    out
}

/// Attaches the fixes of one file to its findings, and returns the file's prefix.
fn note(
    audit: &Audit,
    file: FileId,
    entries: &Entries,
    proof: &Proof,
    findings: &mut Findings,
) -> Option<PathBuf> {
    let mut prefix = None;
    for finding in findings.iter_mut().filter(|finding| finding.rule == *"missing-library") {
        let entry = finding.library.as_ref().and_then(|library| entries.get(library));
        if let Some(entry) = entry
            && audit.corpus.file_at(&finding.full_path()) == Some(file)
        {
            finding.fix = vec![Fix {
                intent: Intent::AddSearchPath,
                list: None,
                set: None,
                entry: Some(entry.clone()),
                proof: proof.clone(),
            }];
            prefix.clone_from(&finding.file.prefix);
        }
    }
    prefix
}

fn search_path(
    audit: &Audit,
    tree: &dyn Tree,
    (file, prefix): (FileId, PathBuf),
    entries: &Entries,
) -> Option<SearchPath> {
    let path = whole(audit, file, entries);
    let facts = &audit.corpus.files[file];
    let is_rpath = facts.object()?.has_rpath_alone();
    let sha256 = digest(&tree.open_regular(&facts.path).ok()?)?;
    Some(SearchPath { file: PathBuf::from(&*facts.path), prefix, path, is_rpath, sha256 })
}

/// SHA-256 of a file in hexadecimal; `None` if it cannot be read.
fn digest(file: &Handle) -> Option<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    loop {
        let read = file.read_at(&mut buffer, offset).ok()?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        offset += u64::try_from(read).ok()?;
    }
    let mut out = String::new();
    for byte in hash.finalize() {
        write!(out, "{byte:02x}").ok()?;
    }
    Some(out)
}
