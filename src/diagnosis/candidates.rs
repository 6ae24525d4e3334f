//! Candidates for missing libraries: files with the name of a missing library. A candidate is an
//! audited file, a file in a `--lib-path` directory, or another file in a prefix. Symbols are
//! looked up in a candidate and in the libraries that it needs. If all these libraries were
//! found, the missing library explains only symbols that the candidate or one of these libraries
//! defines. [`super::reference_state`] is the caller. This module opens no file: it returns the
//! facts that must be read first ([`Need`]).

use super::{DiagnosisInput, MissingNeed};
use crate::facts::{Corpus, FileFacts, Need};
use crate::format::elf::{EVERY_VERSION, NeedKind, Target, hash};
use crate::id::{FastMap, FastSet, FileId};
use crate::text::last_part;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Maximum number of files that one candidate contributes to a symbol look-up: itself and the
/// libraries that it loads. No process loads as many.
const MOST_BROUGHT: usize = 4096;

/// Candidates by the name of the missing library, without directories.
#[derive(Default)]
pub struct LibraryCandidates {
    by_name: FastMap<Box<[u8]>, Vec<Candidate>>,
}

/// A candidate for a missing library, with the libraries that it loads.
struct Candidate {
    /// The machine and ABI for which the file is built.
    target: Target,
    /// The file of the candidate, then the libraries that it loads.
    files: Vec<FileId>,
    /// True if every library that the candidate needs was found.
    complete: bool,
}

/// The result of looking up one symbol in the candidates for a missing library.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum CandidateAnswer {
    /// A candidate defines the symbol.
    Defined,
    /// No candidate defines the symbol.
    Absent,
    /// No candidate is built for the target of the referring object, or a candidate for this target
    /// needs libraries that were not found.
    Unknown,
}

impl LibraryCandidates {
    /// Finds the candidates for the `missing` libraries, or returns the facts that must be read
    /// first. `listed` holds files from the prefixes. Each of these files has the name of a missing
    /// library.
    pub fn find(
        corpus: &Corpus,
        missing: &[MissingNeed],
        listed: &FastSet<FileId>,
    ) -> Result<Self, Vec<Need>> {
        if missing.is_empty() {
            return Ok(Self::default());
        }
        let libraries = Libraries::new(corpus);
        let mut names: Vec<&[u8]> = missing.iter().map(|need| last_part(&need.name)).collect();
        names.sort_unstable();
        names.dedup();
        let mut needs = Vec::new();
        let mut out = Self::default();
        for name in names {
            let is_candidate = |file: &&FileId| {
                let facts = &corpus.files[**file];
                facts.audited || facts.provider || listed.contains(*file)
            };
            let files = libraries.named(name).iter().filter(is_candidate);
            let found: Vec<Candidate> =
                files.filter_map(|file| libraries.candidate(*file, &mut needs)).collect();
            out.by_name.insert(name.into(), found);
        }
        if needs.is_empty() { Ok(out) } else { Err(needs) }
    }

    /// The candidates, without the libraries that they load.
    pub fn files(&self) -> impl Iterator<Item = FileId> {
        let first = |candidate: &Candidate| candidate.files.first().copied();
        self.by_name.values().flatten().filter_map(first)
    }

    /// Looks up an unversioned reference from an object of `target` in the candidates for
    /// `library`.
    pub(super) fn ask(
        &self,
        source: DiagnosisInput<'_>,
        library: &[u8],
        target: Target,
        symbol: &[u8],
    ) -> CandidateAnswer {
        let hash = hash::gnu(symbol);
        let found = self.by_name.get(last_part(library)).map(Vec::as_slice).unwrap_or_default();
        let mut answer = None;
        for candidate in found.iter().filter(|found| found.target.links_with(target)) {
            let object = |file: &FileId| source.view.object(*file);
            let mut objects = candidate.files.iter().filter_map(object);
            if objects.any(|object| object.defines(symbol, hash, EVERY_VERSION)) {
                return CandidateAnswer::Defined;
            }
            let this =
                if candidate.complete { CandidateAnswer::Absent } else { CandidateAnswer::Unknown };
            answer = answer.filter(|known| *known == CandidateAnswer::Unknown).or(Some(this));
        }
        answer.unwrap_or(CandidateAnswer::Unknown)
    }
}

/// Dynamically linked objects, by the names with which a DT_NEEDED entry may request them.
struct Libraries<'c> {
    corpus: &'c Corpus,
    by_name: FastMap<&'c [u8], Vec<FileId>>,
}

impl<'c> Libraries<'c> {
    fn new(corpus: &'c Corpus) -> Self {
        let mut by_name: FastMap<&[u8], Vec<FileId>> = FastMap::default();
        for (file, facts) in corpus.files.entries() {
            for name in names(facts) {
                let files = by_name.entry(name).or_default();
                if files.last() != Some(&file) {
                    files.push(file);
                }
            }
        }
        Self { corpus, by_name }
    }

    fn named(&self, name: &[u8]) -> &[FileId] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// A candidate with the libraries that it loads; `None` if the file is not an ELF object. The
    /// libraries are found by name alone. If several files have the same name, all are used,
    /// because the loader may load any of them.
    fn candidate(&self, file: FileId, needs: &mut Vec<Need>) -> Option<Candidate> {
        let target = self.corpus.files[file].object()?.header.target();
        let mut out = Candidate { target, files: vec![file], complete: true };
        let mut known: FastSet<FileId> = [file].into_iter().collect();
        let mut next = 0;
        while let Some(file) = out.files.get(next).copied() {
            next += 1;
            let Some(object) = self.corpus.files[file].object() else { continue };
            if object.tables.is_none() {
                needs.push(Need::Tables(file));
            }
            let required = object.needs.iter().filter(|need| need.kind != NeedKind::Auxiliary);
            for need in required {
                let named = self.named(last_part(object.str(need.name))).iter().copied();
                let fits = |file: &FileId| {
                    let object = self.corpus.files[*file].object();
                    object.is_some_and(|object| object.header.target().links_with(target))
                };
                let before = known.len();
                let mut is_found = false;
                for file in named.filter(fits) {
                    is_found = true;
                    if known.insert(file) {
                        out.files.push(file);
                    }
                }
                out.complete &= is_found && before < MOST_BROUGHT;
            }
            if known.len() >= MOST_BROUGHT {
                break;
            }
        }
        Some(out)
    }
}

/// The soname and the file names of a dynamically linked object; empty for other files.
fn names(facts: &FileFacts) -> impl Iterator<Item = &[u8]> {
    let object = facts.object().filter(|object| object.is_dynamic());
    let soname = object.and_then(|object| object.soname());
    let paths = facts.names.iter().map(|name| name.path.as_path()).chain([&*facts.path]);
    let paths = paths.filter(move |_| object.is_some()).filter_map(Path::file_name);
    soname.into_iter().chain(paths.map(OsStrExt::as_bytes))
}
