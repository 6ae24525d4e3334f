//! The search for one need (`elf/dl-load.c`, `_dl_map_object`, `open_path`, `fillin_rpath`): the
//! steps in order, the directories of each step, and the loader's reaction to every path. Results
//! are memoised by name and by the search paths of the requester.

use super::FoundBy;
use super::cache::Cache;
use super::loader::{ConfigDefect, Loader};
use super::paths::{Ask, DirList, DirLists, Probe};
use super::probe_batch::{self, Passed, batch};
use super::search_result::{Requester, SearchFlags, SearchOutcome, SearchResult};
use super::trace::{Trace, TriedOutcome};
use crate::facts::{FactStore, Need, PathState};
use crate::format::elf::{GlibcVersion, LoaderReaction};
use crate::id::{ContextId, FastMap, FileId, Id as _, StrId, Strings};
use crate::plan::Plan;
use crate::policy::Arch;
use crate::tree::{Errno, Special};
use std::ops::Range;
use std::sync::Arc;

/// The first glibc release in which ENOTDIR does not end the search of a path list (a8dcffb306).
const NOTDIR_GOES_ON: GlibcVersion = GlibcVersion::new(2, 39);

/// The values, besides the name, on which the result of a search depends: the path of the loader,
/// the ids of the lists of LD_LIBRARY_PATH, DT_RPATH and DT_RUNPATH, and DF_1_NODEFLIB.
type SearchContext = (StrId, Option<u64>, Box<[u64]>, Option<u64>, bool);

/// The state of a memoised search.
#[derive(Clone, Copy)]
enum MemoisedSearch {
    Done(SearchResult),
    /// A fact is missing. The search requested it in the round with this number.
    Asked(u32),
}

/// Memoised searches and lists of directories, for all entry points of a run.
#[derive(Default)]
pub(super) struct SearchCache {
    pub(super) lists: DirLists,
    contexts: FastMap<SearchContext, ContextId>,
    /// Memoised searches. `FoundBy::Rpath` holds the index of a list in `Requester::rpaths` instead
    /// of a module.
    searches: FastMap<(ContextId, StrId), MemoisedSearch>,
    /// Progress of searches in long lists, by the id of the list and the name.
    pub(super) passed: FastMap<(u64, StrId), Passed>,
    /// Ids of musl's long lists of directories, by the text of the list.
    pub(super) long: FastMap<StrId, u64>,
    /// The ld.so.cache files of Guix packages, by path; `None` for a file that cannot be used.
    pub(super) packages: FastMap<StrId, Option<Arc<Cache>>>,
    /// Defects in the ld.so.cache files of Guix packages.
    pub(super) package_faults: Vec<ConfigDefect>,
    round: u32,
}

impl SearchCache {
    /// Starts a round: the requested facts have been read, so searches that lacked a fact may run
    /// again.
    pub(super) fn new_round(&mut self) {
        self.lists.new_round();
        self.round += 1;
    }

    /// The id of the context in which this requester's needs are searched for. `None` if the loader
    /// reads the cache of a package.
    pub(super) fn context(&mut self, loader: &Loader, requester: &Requester) -> Option<ContextId> {
        if loader.package_cache {
            return None;
        }
        let id = |list: &Option<Arc<DirList>>| list.as_ref().map(|list| list.id);
        let rpaths = requester.rpaths.iter().map(|(_, list)| list.id).collect();
        let (library_path, runpath) = (id(&requester.library_path), id(&requester.runpath));
        let key = (loader.path, library_path, rpaths, runpath, requester.nodeflib);
        let next = ContextId::from_index(self.contexts.len());
        Some(*self.contexts.entry(key).or_insert(next))
    }
}

/// The inputs and the cache of the searches for one entry point.
pub(super) struct Search<'a> {
    /// Facts about all files read so far.
    pub(super) store: &'a dyn FactStore,
    /// The plan of the run.
    pub(super) plan: &'a Plan,
    /// The loader whose rules apply.
    pub(super) loader: &'a Loader,
    /// The strings behind all string ids.
    pub(super) strings: &'a mut Strings,
    /// Results of earlier searches.
    pub(super) cache: &'a mut SearchCache,
    /// Receives the facts that are missing.
    pub(super) needs: &'a mut Vec<Need>,
}

/// The result of one step of a search.
enum ListEnd {
    Found(SearchOutcome),
    NextStep,
    /// A fact is missing and has been requested.
    Unknown,
}

impl ListEnd {
    /// `Some` if the search ends at this step. The inner option is `None` if a fact is missing.
    #[expect(clippy::option_option, reason = "going on, not knowing, and an answer")]
    fn end(self) -> Option<Option<SearchOutcome>> {
        match self {
            Self::Found(found) => Some(Some(found)),
            Self::Unknown => Some(None),
            Self::NextStep => None,
        }
    }
}

impl Search<'_> {
    /// The cached lists of directories, and the inputs from which lists are made.
    pub(super) fn lists(&mut self) -> (&mut DirLists, Ask<'_>) {
        let Search { store, loader, strings, cache, needs, .. } = self;
        (&mut cache.lists, Ask { store: *store, loader, strings, needs })
    }

    /// The directories of the path list `text` in an object whose `$ORIGIN` is `origin`.
    pub(super) fn dirs(&mut self, text: StrId, origin: StrId) -> Arc<DirList> {
        let (lists, mut ask) = self.lists();
        lists.of(text, origin, &mut ask)
    }

    /// True if the policy says that the target system provides a library of this name.
    pub(super) fn provides(&self, name: StrId) -> bool {
        let arch = Arch::of_machine(self.loader.machine.name);
        self.plan.policy.provides(self.strings.text(name), arch)
    }

    /// Searches for `name`; `None` if a fact is missing. A search with a trace neither uses nor
    /// stores memoised results.
    pub(super) fn find(
        &mut self,
        name: StrId,
        requester: &Requester,
        trace: Option<&mut Trace>,
    ) -> Option<SearchResult> {
        let key = requester.context.filter(|_| trace.is_none()).map(|context| (context, name));
        match key.and_then(|key| self.cache.searches.get(&key)) {
            Some(MemoisedSearch::Done(answer)) => return Some(answer.under(requester)),
            Some(MemoisedSearch::Asked(round)) if *round == self.cache.round => return None,
            Some(MemoisedSearch::Asked(_)) | None => {}
        }
        let mut steps =
            Steps { search: self, name, requester, trace, seen: SearchFlags::default() };
        let found = steps.run();
        let answer = found.map(|found| SearchResult { found, seen: steps.seen });
        if let Some(key) = key {
            let kept = answer.map_or(MemoisedSearch::Asked(self.cache.round), |answer| {
                MemoisedSearch::Done(answer.by_place(requester))
            });
            self.cache.searches.insert(key, kept);
        }
        answer
    }

    /// `open_verify`: the loader's reaction to the state of a path in the file system.
    fn judge(&self, place: PathState) -> TriedOutcome {
        match place {
            PathState::Failed(errno) => TriedOutcome::Failed(errno),
            PathState::OfProcess => TriedOutcome::OfProcess,
            PathState::Directory => TriedOutcome::Fatal("cannot read file data: Error 21"),
            // open(2) of a socket fails with ENXIO, open(2) of a FIFO waits, and a device reads as
            // empty.
            PathState::Special(Special::Socket) => TriedOutcome::Failed(Errno::NXIO),
            PathState::Special(Special::Fifo) => {
                TriedOutcome::Fatal("is a FIFO: the loader waits for a writer")
            }
            PathState::Special(Special::Device) => TriedOutcome::Fatal("file too short"),
            PathState::File(file) => {
                match self.store.file(file).content.reaction(self.loader.target) {
                    LoaderReaction::Accepted => TriedOutcome::Taken,
                    LoaderReaction::WrongClass => TriedOutcome::WrongClass,
                    LoaderReaction::WrongMachine => TriedOutcome::WrongMachine,
                    LoaderReaction::Fatal(text) => TriedOutcome::Fatal(text),
                }
            }
        }
    }
}

/// A search for one name, which goes through its steps in order.
struct Steps<'s, 'a> {
    search: &'s mut Search<'a>,
    name: StrId,
    requester: &'s Requester,
    trace: Option<&'s mut Trace>,
    seen: SearchFlags,
}

impl Steps<'_, '_> {
    fn run(&mut self) -> Option<SearchOutcome> {
        if self.search.strings.text(self.name).contains(&b'/') {
            return self.open();
        }
        let requester = self.requester;
        let own = requester.rpaths.iter().map(|(module, list)| (list, FoundBy::Rpath(*module)));
        let named = requester.library_path.iter().map(|list| (list, FoundBy::LdLibraryPath));
        for (list, how) in own.chain(named) {
            if let Some(end) = self.list(list, how).end() {
                return end;
            }
        }
        let cache_first = self.search.loader.package_cache;
        if cache_first && let Some(end) = self.cache().end() {
            return end;
        }
        if let Some(list) = &requester.runpath
            && let Some(end) = self.list(list, FoundBy::Runpath).end()
        {
            return end;
        }
        if !cache_first && let Some(end) = self.cache().end() {
            return end;
        }
        if requester.nodeflib {
            return Some(SearchOutcome::Nothing);
        }
        let Search { loader, store, cache, .. } = &mut *self.search;
        let system = cache.lists.system(loader, *store);
        self.list(&system, FoundBy::Default).end().unwrap_or(Some(SearchOutcome::Nothing))
    }

    /// Opens a name with a slash as a path. A relative path starts at the current directory.
    fn open(&mut self) -> Option<SearchOutcome> {
        let text = self.search.strings.text(self.name);
        self.seen.by_cwd |= !text.starts_with(b"/");
        let Some(place) = self.search.store.place(text) else {
            let need = Need::path(text.to_vec(), Some(self.search.loader.target));
            self.search.needs.push(need);
            return None;
        };
        Some(self.only(place, self.name, FoundBy::Path).unwrap_or(SearchOutcome::Nothing))
    }

    /// The result of a step that tries only one path; `None` if the search continues.
    fn only(&mut self, place: PathState, path: StrId, how: FoundBy) -> Option<SearchOutcome> {
        let outcome = self.judge(place);
        self.tell(how, outcome, false, (path, None));
        let ends = matches!(outcome, TriedOutcome::Taken | TriedOutcome::Fatal(_));
        ends.then(|| end(place, outcome, path, how))
    }

    fn judge(&mut self, place: PathState) -> TriedOutcome {
        let outcome = self.search.judge(place);
        self.seen.other_class |= outcome == TriedOutcome::WrongClass;
        self.seen.by_process |= outcome == TriedOutcome::OfProcess;
        outcome
    }

    /// `open_path` over one list of directories.
    fn list(&mut self, list: &DirList, how: FoundBy) -> ListEnd {
        let (lists, mut ask) = self.search.lists();
        if !lists.prepare(list, &mut ask) {
            return ListEnd::Unknown;
        }
        let probes = list.probes().unwrap_or_default();
        let name = self.name;
        let mut passed = self.passed(list, probes.len());
        // One request covers the unknown paths up to the end of the batch, or up to a known path at
        // which the loader would stop.
        let mut unknown: Vec<Vec<u8>> = Vec::new();
        let (mut told, mut ended) = (0, false);
        let mut path: Vec<u8> = Vec::new();
        for (i, probe) in probes.iter().enumerate().skip(passed.done) {
            if unknown.is_empty() {
                passed.done = i;
            } else if i == probe_batch::end_of(passed.done) {
                break;
            }
            self.trace_absent(list, told..probe.dir, how);
            told = probe.dir + 1;
            self.seen.by_cwd |= probe.relative;
            let last = probes.get(i + 1).is_none_or(|next| next.dir != probe.dir);
            path.clear();
            path.extend_from_slice(self.search.strings.text(probe.path));
            path.extend_from_slice(self.search.strings.text(name));
            match self.met(list.id, i, &path) {
                None => unknown.push(path.clone()),
                Some(place) => match self.judge(place) {
                    outcome @ (TriedOutcome::Taken | TriedOutcome::Fatal(_)) => {
                        if !unknown.is_empty() {
                            break;
                        }
                        self.seen.by_cpu |= outcome == TriedOutcome::Taken && probe.by_cpu;
                        self.tell(how, outcome, probe.subdir, (probe.path, Some(name)));
                        let path = self.search.strings.id(&path);
                        return ListEnd::Found(end(place, outcome, path, how));
                    }
                    // The loader looks only at the error of the last probe of a directory to decide
                    // whether the search of the list continues.
                    TriedOutcome::Failed(errno) if last && !self.goes_on(errno) => {
                        let outcome = TriedOutcome::Ended(errno);
                        self.tell(how, outcome, probe.subdir, (probe.path, Some(name)));
                        ended = true;
                        break;
                    }
                    outcome => {
                        let is_passed = unknown.is_empty();
                        passed.other_class |= is_passed && outcome == TriedOutcome::WrongClass;
                        passed.by_process |= is_passed && outcome == TriedOutcome::OfProcess;
                        self.tell(how, outcome, probe.subdir, (probe.path, Some(name)));
                    }
                },
            }
        }
        self.keep_passed(list, probes, passed);
        if unknown.is_empty() {
            if !ended {
                self.trace_absent(list, told..list.dirs.len(), how);
            }
            return ListEnd::NextStep;
        }
        let (target, batch) = (Some(self.search.loader.target), batch(list.id, name, passed.done));
        self.search.needs.push(Need::First { paths: unknown, target, batch });
        ListEnd::Unknown
    }

    /// The result of one probe: the state of `path` in the file system. `at` is the index of the
    /// probe in the list with the id `list`. `None` if the state is not known yet.
    fn met(&self, list: u64, at: usize, path: &[u8]) -> Option<PathState> {
        let Search { store, .. } = &*self.search;
        store.place(path).or_else(|| {
            // Once a batch was probed, the store knows all its paths that exist.
            let batch = batch(list, self.name, at)?;
            store.is_looked_through(&batch).then_some(PathState::Failed(Errno::NOENT))
        })
    }

    /// Progress of this search in earlier rounds. A search with a trace starts at the first probe.
    fn passed(&mut self, list: &DirList, probes: usize) -> Passed {
        if probes <= probe_batch::FIRST || self.trace.is_some() {
            return Passed::default();
        }
        let key = (list.id, self.name);
        let passed = self.search.cache.passed.get(&key).copied().unwrap_or_default();
        self.seen.by_cwd |= passed.by_cwd;
        self.seen.other_class |= passed.other_class;
        self.seen.by_process |= passed.by_process;
        passed
    }

    fn keep_passed(&mut self, list: &DirList, probes: &[Probe], mut passed: Passed) {
        if probes.len() > probe_batch::FIRST {
            passed.by_cwd = probes[..passed.done].iter().any(|probe| probe.relative);
            self.search.cache.passed.insert((list.id, self.name), passed);
        }
    }

    /// Adds the directories at the indices `places` of the list to the trace. These directories
    /// have no probe, because they do not exist.
    fn trace_absent(&mut self, list: &DirList, places: Range<usize>, how: FoundBy) {
        if self.trace.is_some() {
            for dir in list.dirs.get(places).unwrap_or_default() {
                self.tell(how, TriedOutcome::NoDirectory, false, (*dir, Some(self.name)));
            }
        }
    }

    /// True if the loader tries the next directory of the list after this error of `open`.
    fn goes_on(&self, errno: Errno) -> bool {
        errno == Errno::NOENT
            || errno == Errno::ACCESS
            || (errno == Errno::NOTDIR && self.search.loader.release >= NOTDIR_GOES_ON)
    }

    /// The step that looks up the name in ld.so.cache. It tries at most one path.
    fn cache(&mut self) -> ListEnd {
        let Some((id, by_cpu)) = self.cached() else {
            let Search { loader, .. } = &*self.search;
            let is_read = loader.cache.is_some();
            let outcome = if is_read { TriedOutcome::NoEntry } else { TriedOutcome::NoCache };
            if let Some(path) = loader.cache_path {
                self.tell(FoundBy::Cache, outcome, false, (path, None));
            }
            return ListEnd::NextStep;
        };
        let Search { loader, strings, store, .. } = &*self.search;
        let path = strings.text(id);
        let forbidden = self.requester.nodeflib
            && loader.system_dirs.iter().any(|dir| path.starts_with(strings.text(*dir)));
        if forbidden {
            self.tell(FoundBy::Cache, TriedOutcome::Forbidden, false, (id, None));
            return ListEnd::NextStep;
        }
        let Some(place) = store.place(path) else {
            let need = Need::path(path.to_vec(), Some(loader.target));
            self.search.needs.push(need);
            return ListEnd::Unknown;
        };
        match self.only(place, id, FoundBy::Cache) {
            Some(found) => {
                self.seen.by_cpu |= by_cpu && matches!(found, SearchOutcome::File(..));
                ListEnd::Found(found)
            }
            None => ListEnd::NextStep,
        }
    }

    /// The path that ld.so.cache has for the name, and true if the cache entry is for a hwcaps
    /// subdirectory.
    fn cached(&mut self) -> Option<(StrId, bool)> {
        let Search { loader, strings, plan, .. } = &mut *self.search;
        let cache = if loader.package_cache {
            self.requester.package_cache.as_deref()?
        } else {
            loader.cache.as_ref()?
        };
        let (path, by_cpu) = cache.lookup(strings.text(self.name), &loader.asker(&plan.cpu))?;
        Some((strings.id(path), by_cpu))
    }

    /// Adds an outcome to the trace, if the search has a trace. `path` is a whole path, or a
    /// directory and the name of a file in it.
    fn tell(
        &mut self,
        how: FoundBy,
        outcome: TriedOutcome,
        subdir: bool,
        path: (StrId, Option<StrId>),
    ) {
        if let Some(trace) = &mut self.trace {
            let text = |id| self.search.strings.text(id);
            let path = || [text(path.0), path.1.map_or(&b""[..], text)].concat();
            trace.push(how, outcome, subdir, path);
        }
    }
}

/// The result of a search that ends at this path: the loader accepts the file, or stops.
fn end(place: PathState, outcome: TriedOutcome, path: StrId, how: FoundBy) -> SearchOutcome {
    match (place, outcome) {
        (PathState::File(file), TriedOutcome::Taken) => SearchOutcome::File(file, path, how),
        (_, TriedOutcome::Fatal(text)) => SearchOutcome::Stop(path, file_of(place), text),
        _ => SearchOutcome::Nothing,
    }
}

fn file_of(place: PathState) -> Option<FileId> {
    match place {
        PathState::File(file) => Some(file),
        PathState::Directory
        | PathState::Special(_)
        | PathState::OfProcess
        | PathState::Failed(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::{Requester, Search, SearchCache, SearchOutcome};
    use crate::facts::{FactStore, FileFacts, Need, PathState, ProbeBatch};
    use crate::format::elf::GlibcVersion;
    use crate::format::elf::interpreter::Interpreter;
    use crate::format::elf::{Object, Target, machine};
    use crate::id::{FastMap, FileId, Strings};
    use crate::plan::Plan;
    use crate::resolve::loader::{Family, Loader};
    use crate::tree::Errno;

    /// A fact store that knows some paths and has read no file.
    #[derive(Default)]
    struct Few {
        dirs: FastMap<&'static [u8], bool>,
        places: FastMap<&'static [u8], PathState>,
    }

    impl FactStore for Few {
        fn file(&self, file: FileId) -> &FileFacts {
            panic!("{file:?} was not read")
        }

        fn object(&self, _: FileId) -> Option<&Object> {
            None
        }

        fn place(&self, path: &[u8]) -> Option<PathState> {
            self.places.get(path).copied()
        }

        fn is_looked_through(&self, _: &ProbeBatch) -> bool {
            false
        }

        fn is_directory(&self, path: &[u8]) -> Result<bool, Need> {
            self.dirs.get(path).copied().ok_or_else(|| Need::Directory(path.to_vec()))
        }

        fn bytes(&self, path: &[u8]) -> Result<Result<&[u8], Errno>, Need> {
            Err(Need::Bytes(path.to_vec()))
        }

        fn interpreter(&self, file: FileId) -> Result<&Interpreter, Need> {
            Err(Need::Interpreter(file))
        }

        fn new_list(&self) -> u64 {
            0
        }
    }

    fn loader(strings: &mut Strings) -> Loader {
        let target =
            Target { is_64: true, big: false, machine: 62, flags: 0, machine_first: false };
        Loader {
            family: Family::Glibc,
            path: strings.id(b"/lib64/ld-linux-x86-64.so.2"),
            file: None,
            target,
            machine: machine::of(target).expect("x86-64"),
            release: GlibcVersion::new(2, 41),
            system_dirs: vec![strings.id(b"/a/"), strings.id(b"/b/")],
            lib: b"lib".to_vec(),
            platform: None,
            subdirs: vec![strings.id(b"")],
            active: Vec::new(),
            cache_path: None,
            cache: None,
            preload: Vec::new(),
            package_cache: false,
            is_absent: false,
            config_faults: Vec::new(),
            guessed: None,
        }
    }

    #[test]
    fn a_search_asks_until_it_knows() {
        let (mut strings, mut cache) = (Strings::default(), SearchCache::default());
        let (loader, plan) = (loader(&mut strings), Plan::new(Vec::new(), "/".into()));
        let name = strings.id(b"libx.so");
        let mut requester = Requester::default();
        requester.context = cache.context(&loader, &requester);
        let mut store = Few::default();
        let mut find = |store: &Few, is_new_round: bool| {
            let mut needs = Vec::new();
            if is_new_round {
                cache.new_round();
            }
            let (strings, cache) = (&mut strings, &mut cache);
            let needed = &mut needs;
            let mut search =
                Search { store, plan: &plan, loader: &loader, strings, cache, needs: needed };
            let found = search.find(name, &requester, None).map(|answer| answer.found);
            (found, needs)
        };
        // The existence of directories is unknown, and requested once a round.
        let dirs = ["/a/", "/b/"].map(|dir| Need::Directory(dir.into()));
        assert_eq!(find(&store, true), (None, dirs.to_vec()));
        assert_eq!(find(&store, false), (None, Vec::new()));
        // The next round requests the paths in them.
        store.dirs.extend([(&b"/a/"[..], true), (b"/b/", true)]);
        let paths = vec![b"/a/libx.so".to_vec(), b"/b/libx.so".to_vec()];
        let first = Need::First { paths, target: Some(loader.target), batch: None };
        assert_eq!(find(&store, true), (None, vec![first]));
        // Unreadable entries are skipped.
        store.places.insert(b"/a/libx.so", PathState::Failed(Errno::ACCESS));
        store.places.insert(b"/b/libx.so", PathState::Directory);
        let (found, needs) = find(&store, true);
        assert!(matches!(found, Some(SearchOutcome::Stop(_, None, _))) && needs.is_empty());
        // The result is memoised.
        store.places.clear();
        assert_eq!(find(&store, true).0, found);
    }
}
