//! The search for one need (`elf/dl-load.c`, `_dl_map_object`, `open_path`, `fillin_rpath`): the
//! steps in their order, the directories of each, and what every candidate makes the loader do.

use super::cache::Cache;
use super::loader::Loader;
use super::paths::{DirList, Memo};
use super::portions::{self, Passed};
use super::tokens::Tokens;
use super::trace::{Outcome, Trace};
use super::{Fatal, How};
use crate::facts::{Need, Place, View};
use crate::format::elf::Verdict;
use crate::id::{FileId, ModuleId, StrId, Strings};
use crate::plan::Plan;
use crate::tree::Errno;
use std::ops::Range;
use std::sync::Arc;

/// The glibc release in which ENOTDIR no longer ends a path list (a8dcffb306).
const NOTDIR_GOES_ON: (u16, u16) = (2, 39);

/// What a search came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Found {
    /// A file, the path it was opened by and the step that found it.
    File(FileId, StrId, How),
    /// Nothing.
    Nothing,
    /// The loader stops: what its message names, the file if any, the text.
    Stop(StrId, Option<FileId>, &'static str),
}

/// Who asks: the object whose need is searched for.
pub struct Requester<'a> {
    /// DT_RPATH lists in the order in which they are walked: its own, its requester's and so on,
    /// each with the module it belongs to. Empty if the object has DT_RUNPATH.
    pub rpaths: &'a [(ModuleId, Arc<DirList>)],
    /// LD_LIBRARY_PATH's list.
    pub library_path: Option<Arc<DirList>>,
    /// DT_RUNPATH's list.
    pub runpath: Option<Arc<DirList>>,
    /// DF_1_NODEFLIB
    pub nodeflib: bool,
    /// The cache of the program's package, where that is what the loader asks.
    pub package_cache: Option<Arc<Cache>>,
}

/// One search in one root.
pub struct Search<'a, 'v> {
    /// The facts.
    pub view: View<'v>,
    /// What the run is to do.
    pub plan: &'a Plan,
    /// The rules.
    pub loader: &'a Loader,
    /// All strings.
    pub strings: &'a mut Strings,
    /// Earlier results.
    pub memo: &'a mut Memo,
    /// Facts that are missing.
    pub needs: &'a mut Vec<Need>,
    /// What was tried, if anybody wants to know.
    pub trace: Option<&'a mut Trace>,
    /// A hwcaps directory decided, or a directory relative to the current one was searched.
    pub by_cpu: bool,
    /// A directory relative to the current one was searched.
    pub by_cwd: bool,
    /// A file of another ELFCLASS was passed over.
    pub other_class: bool,
}

/// How one path list ended.
enum ListEnd {
    Found(Found),
    NextStep,
    /// A fact is missing; it is in `needs`.
    Unknown,
}

impl ListEnd {
    /// What the search ends with, if it ends here: nothing inside if a fact is missing.
    #[expect(clippy::option_option, reason = "going on, not knowing, and an answer")]
    fn end(self) -> Option<Option<Found>> {
        match self {
            Self::Found(found) => Some(Some(found)),
            Self::Unknown => Some(None),
            Self::NextStep => None,
        }
    }
}

impl Search<'_, '_> {
    /// What tokens stand for in an object with this origin.
    pub fn tokens<'t>(&'t self, origin: &'t [u8]) -> Tokens<'t> {
        Tokens { origin, lib: &self.loader.lib, platform: self.loader.platform.map(str::as_bytes) }
    }

    /// Searches for `name`. Nothing if a fact is missing.
    pub fn find(&mut self, name: StrId, requester: &Requester<'_>) -> Option<Found> {
        if self.strings.text(name).contains(&b'/') {
            return self.open(name);
        }
        let plain = requester.rpaths.is_empty()
            && requester.runpath.is_none()
            && !requester.nodeflib
            && !self.plan.environment_varies()
            && !self.loader.package_cache
            && self.trace.is_none();
        if !plain {
            return self.steps(name, requester);
        }
        let key = (self.loader.path, name);
        if let Some((found, by_cpu)) = self.memo.plain.get(&key) {
            self.by_cpu |= by_cpu;
            return Some(*found);
        }
        if self.memo.asked.contains(&key) {
            return None;
        }
        let before = std::mem::take(&mut self.by_cpu);
        let found = self.steps(name, requester);
        match found {
            Some(found) => {
                self.memo.plain.insert(key, (found, self.by_cpu));
            }
            None => {
                self.memo.asked.insert(key);
            }
        }
        self.by_cpu |= before;
        found
    }

    fn steps(&mut self, name: StrId, requester: &Requester<'_>) -> Option<Found> {
        let own = requester.rpaths.iter().map(|(module, list)| (list, How::Rpath(*module)));
        let named = requester.library_path.iter().map(|list| (list, How::LdLibraryPath));
        for (list, how) in own.chain(named) {
            if let Some(end) = self.list(list, name, how).end() {
                return end;
            }
        }
        let cache_first = self.loader.package_cache;
        if cache_first && let Some(end) = self.cache(name, requester).end() {
            return end;
        }
        if let Some(list) = &requester.runpath
            && let Some(end) = self.list(list, name, How::Runpath).end()
        {
            return end;
        }
        if !cache_first && let Some(end) = self.cache(name, requester).end() {
            return end;
        }
        if requester.nodeflib {
            return Some(Found::Nothing);
        }
        let system = self.system();
        self.list(&system, name, How::Default).end().unwrap_or(Some(Found::Nothing))
    }

    /// A need with a slash: opened as it is, relative to the current directory.
    fn open(&mut self, path: StrId) -> Option<Found> {
        let text = self.strings.text(path).to_vec();
        self.by_cwd |= !text.starts_with(b"/");
        let Some(place) = self.view.place(&text) else {
            self.needs.push(Need::path(text, Some(self.loader.target)));
            return None;
        };
        Some(self.only(place, path, How::Path).unwrap_or(Found::Nothing))
    }

    /// What the one path of a step makes the loader do; nothing if it goes on.
    fn only(&mut self, place: Place, path: StrId, how: How) -> Option<Found> {
        let outcome = self.judge(place);
        self.tell(how, outcome, false, (path, None));
        let ends = matches!(outcome, Outcome::Taken | Outcome::Fatal(_));
        ends.then(|| end(place, outcome, path, how))
    }

    /// `open_path` over one list of directories.
    fn list(&mut self, list: &DirList, name: StrId, how: How) -> ListEnd {
        if list.ready.get().is_none() && !self.prepare(list) {
            return ListEnd::Unknown;
        }
        let probes = list.ready.get().map_or(&[][..], |probes| &**probes);
        let mut passed = self.passed(list, name, probes.len());
        // Unknown candidates are asked for in one go, as far as the loader would go.
        let mut unknown: Vec<Vec<u8>> = Vec::new();
        let mut told = 0;
        for (i, probe) in probes.iter().enumerate().skip(passed.done) {
            if unknown.is_empty() {
                passed.done = i;
            } else if i == portions::end_of(passed.done) {
                break;
            }
            self.trace_absent(list, told..probe.dir as usize, name, how);
            told = probe.dir as usize + 1;
            self.by_cwd |= probe.relative;
            let mut error = Errno::NOENT;
            match self.met(list.id, i, probe, name) {
                None => unknown.push(self.path(probe.path, name)),
                Some(place) => match self.judge(place) {
                    outcome @ (Outcome::Taken | Outcome::Fatal(_)) => {
                        if !unknown.is_empty() {
                            break;
                        }
                        self.by_cpu |= outcome == Outcome::Taken && probe.by_cpu;
                        self.tell(how, outcome, probe.subdir, (probe.path, Some(name)));
                        let path = self.strings.id(&self.path(probe.path, name));
                        return ListEnd::Found(end(place, outcome, path, how));
                    }
                    outcome => {
                        passed.other_class |= unknown.is_empty() && outcome == Outcome::WrongClass;
                        self.tell(how, outcome, probe.subdir, (probe.path, Some(name)));
                        if let Outcome::Failed(errno) = outcome {
                            error = errno;
                        }
                    }
                },
            }
            // The error of the last probe of a directory decides whether the list goes on.
            let last = probes.get(i + 1).is_none_or(|next| next.dir != probe.dir);
            if last && !self.goes_on(error) {
                break;
            }
        }
        if probes.len() > portions::FIRST {
            passed.by_cwd = probes[..passed.done].iter().any(|probe| probe.relative);
            self.memo.passed.insert((list.id, name), passed);
        }
        if unknown.is_empty() {
            self.trace_absent(list, told..list.dirs.len(), name, how);
            return ListEnd::NextStep;
        }
        self.ask(list.id, name, passed.done, unknown);
        ListEnd::Unknown
    }

    /// How far earlier searches have come; a trace begins anew.
    fn passed(&mut self, list: &DirList, name: StrId, probes: usize) -> Passed {
        if probes <= portions::FIRST || self.trace.is_some() {
            return Passed::default();
        }
        let passed = self.memo.passed.get(&(list.id, name)).copied().unwrap_or_default();
        self.by_cwd |= passed.by_cwd;
        self.other_class |= passed.other_class;
        passed
    }

    /// Tells of directories that do not exist, in their place among those that do.
    fn trace_absent(&mut self, list: &DirList, places: Range<usize>, name: StrId, how: How) {
        if self.trace.is_some() {
            for dir in list.dirs.get(places).unwrap_or_default() {
                self.tell(how, Outcome::NoDirectory, false, (*dir, Some(name)));
            }
        }
    }

    /// True if this error of `open` lets the loader try the next directory of the list.
    fn goes_on(&self, errno: Errno) -> bool {
        errno == Errno::NOENT
            || errno == Errno::ACCESS
            || (errno == Errno::NOTDIR && self.loader.release >= NOTDIR_GOES_ON)
    }

    pub(super) fn path(&self, dir: StrId, name: StrId) -> Vec<u8> {
        [self.strings.text(dir), self.strings.text(name)].concat()
    }

    /// The step over ld.so.cache: one path, and none but that.
    fn cache(&mut self, name: StrId, requester: &Requester<'_>) -> ListEnd {
        let Some((id, by_cpu)) = self.cached(name, requester) else { return ListEnd::NextStep };
        let path = self.strings.text(id);
        let forbidden = requester.nodeflib
            && self.loader.system_dirs.iter().any(|dir| path.starts_with(self.strings.text(*dir)));
        if forbidden {
            self.tell(How::Cache, Outcome::Forbidden, false, (id, None));
            return ListEnd::NextStep;
        }
        let Some(place) = self.view.place(path) else {
            self.needs.push(Need::path(path.to_vec(), Some(self.loader.target)));
            return ListEnd::Unknown;
        };
        match self.only(place, id, How::Cache) {
            Some(found) => {
                self.by_cpu |= by_cpu && matches!(found, Found::File(..));
                ListEnd::Found(found)
            }
            None => ListEnd::NextStep,
        }
    }

    /// The path that the cache has for a name, and whether a hwcaps entry decided.
    fn cached(&mut self, name: StrId, requester: &Requester<'_>) -> Option<(StrId, bool)> {
        let asker = self.loader.asker(&self.plan.cpu);
        if self.loader.package_cache {
            let cache = requester.package_cache.as_deref()?;
            let (path, by_cpu) = cache.lookup(self.strings.text(name), &asker)?;
            return Some((self.strings.id(path), by_cpu));
        }
        let cache = self.loader.cache.as_ref()?;
        let key = (self.loader.path, name);
        if let Some(known) = self.memo.cached.get(&key) {
            return *known;
        }
        let found = cache.lookup(self.strings.text(name), &asker);
        let found = found.map(|(path, by_cpu)| (self.strings.id(path), by_cpu));
        self.memo.cached.insert(key, found);
        found
    }

    /// `open_verify`: what the loader does with what lies at a path.
    fn judge(&mut self, place: Place) -> Outcome {
        match place {
            Place::Failed(errno) => Outcome::Failed(errno),
            Place::Directory => Outcome::Fatal("cannot read file data: Error 21"),
            // open(2) of a socket fails with ENXIO, that of a FIFO waits, a device reads as empty.
            Place::Special(crate::tree::Special::Socket) => Outcome::Failed(Errno::NXIO),
            Place::Special(crate::tree::Special::Fifo) => {
                Outcome::Fatal("is a FIFO: the loader waits for a writer")
            }
            Place::Special(crate::tree::Special::Device) => Outcome::Fatal("file too short"),
            Place::File(file) => match self.view.file(file).content.verdict(self.loader.target) {
                Verdict::Accepted => Outcome::Taken,
                Verdict::WrongClass => {
                    self.other_class = true;
                    Outcome::WrongClass
                }
                Verdict::WrongMachine => Outcome::WrongMachine,
                Verdict::Fatal(text) => Outcome::Fatal(text),
            },
        }
    }

    /// Writes down what came of a path, or a directory and a name, if anybody wants to know.
    fn tell(&mut self, how: How, outcome: Outcome, subdir: bool, path: (StrId, Option<StrId>)) {
        if let Some(trace) = &mut self.trace {
            let text = |id| self.strings.text(id);
            let path = || [text(path.0), path.1.map_or(&b""[..], text)].concat();
            trace.push(how, outcome, subdir, path);
        }
    }
}

/// How a search ends at what was taken or makes the loader stop.
fn end(place: Place, outcome: Outcome, path: StrId, how: How) -> Found {
    match (place, outcome) {
        (Place::File(file), Outcome::Taken) => Found::File(file, path, how),
        (_, Outcome::Fatal(text)) => Found::Stop(path, file_of(place), text),
        _ => Found::Nothing,
    }
}

fn file_of(place: Place) -> Option<FileId> {
    match place {
        Place::File(file) => Some(file),
        Place::Directory | Place::Special(_) | Place::Failed(_) => None,
    }
}

/// The fatal end of a search, as part of a closure.
pub fn fatal(found: Found, requester: ModuleId) -> Option<Fatal> {
    match found {
        Found::Stop(object, file, text) => Some(Fatal { object, file, requester, text }),
        Found::File(..) | Found::Nothing => None,
    }
}
