//! Checks that the loader finds the libraries that an object must open with dlopen, according to
//! the notes in the object. A loop reads the paths at which the loader would search.

use super::rounds::Rounds;
use crate::facts::collect::Collector;
use crate::facts::{Corpus, View};
use crate::format::elf::RequiredLibrary;
use crate::id::{FastSet, FileId, ModuleId, RootId};
use crate::plan::Plan;
use crate::resolve::entry_points::Closures;
use crate::resolve::resolver::Resolver;
use crate::resolve::{Closure, Opening};
use crate::wants::Wants;

/// A library that the notes of an object require, and that dlopen cannot open under any of the
/// names in the notes.
#[derive(Clone, Debug)]
pub struct MissingDlopen {
    /// The object with the note.
    pub file: FileId,
    /// Index of the library among those that the object's notes require.
    pub entry: usize,
    /// The first entry point under which dlopen fails.
    pub root: RootId,
    /// The loader's message, if the loader finds a file with one of the names but refuses to
    /// load it. `None` if the loader finds no file.
    pub stopped: Option<&'static str>,
}

/// The required libraries that dlopen cannot open, ordered by file and entry. Each is listed once.
pub(super) fn find(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    resolver: &mut Resolver,
    closures: &Closures,
) -> Vec<MissingDlopen> {
    let mut out = Vec::new();
    if !plan.rule_wants.holds(Wants::DLOPEN_NOTES) {
        return out;
    }
    let noted = noted(corpus);
    if noted.is_empty() {
        return out;
    }
    let mut search = DlopenSearch { plan, corpus, collector, resolver };
    let mut asked = FastSet::default();
    let mut missing = FastSet::default();
    for (root, closure) in closures.roots.entries() {
        for (module, file) in closure.found().filter(|(_, file)| noted.contains(file)) {
            // Under entry points that share a link map, dlopen has the same result.
            if !asked.insert((closure.links_id(), file)) {
                continue;
            }
            for entry in 0..required(search.corpus, file).len() {
                if missing.contains(&(file, entry)) {
                    continue;
                }
                if let Err(stopped) = search.opens_one(closure, module, (file, entry)) {
                    missing.insert((file, entry));
                    out.push(MissingDlopen { file, entry, root, stopped });
                }
            }
        }
    }
    out.sort_by_key(|missing| (missing.file, missing.entry));
    out
}

/// The input of the checks, and the state that they change.
struct DlopenSearch<'a, 'c> {
    plan: &'a Plan,
    corpus: &'a mut Corpus,
    collector: &'a mut Collector<'c>,
    resolver: &'a mut Resolver,
}

impl DlopenSearch<'_, '_> {
    /// `Ok` if dlopen, called by `module`, opens the required library with the index `entry` under
    /// one of its names. The error is the loader's message about the first file that the loader
    /// refuses; `None` if the loader finds no file.
    fn opens_one(
        &mut self,
        closure: &Closure,
        module: ModuleId,
        (file, entry): (FileId, usize),
    ) -> Result<(), Option<&'static str>> {
        let names = required(self.corpus, file)[entry].names.clone();
        let mut stopped = None;
        for name in &names {
            match self.open(closure, module, name) {
                Opening::Opened => return Ok(()),
                Opening::NotFound => {}
                Opening::Stopped(text) => stopped = stopped.or(Some(text)),
            }
        }
        Err(stopped)
    }

    fn open(&mut self, closure: &Closure, module: ModuleId, name: &str) -> Opening {
        let rounds = Rounds::of("libraries of dlopen");
        loop {
            let view = View::new(self.corpus);
            match self.resolver.open(&view, self.plan, closure, module, name.as_bytes()) {
                Ok(opening) => return opening,
                Err(needs) => rounds.answer(self.corpus, self.collector, needs),
            }
        }
    }
}

/// The audited objects with notes that require a library.
fn noted(corpus: &Corpus) -> FastSet<FileId> {
    let files = corpus.files.entries().filter(|(_, facts)| facts.audited);
    let noted = files.filter(|(file, _)| !required(corpus, *file).is_empty());
    noted.map(|(file, _)| file).collect()
}

/// The libraries that the notes of a file require.
fn required(corpus: &Corpus, file: FileId) -> &[RequiredLibrary] {
    let object = corpus.files[file].object();
    let notes = object.and_then(|object| object.dlopen_notes.as_ref());
    notes.map(|notes| notes.required.as_slice()).unwrap_or_default()
}
