//! The state of a link map under construction: modules, their names, and the position of the walk.
//! `LinkMapState` owns its data, so that a suspended build can be moved. `mapping` and `closure`
//! fill it.

use super::names::ObjectNames;
use super::paths::DirList;
use super::search_result::Requester;
use super::{Closure, Edge, EntryPoint, Fatal, LOADER, Module, PreloadFailure, ROOT};
use crate::format::elf::GlibcVersion;
use crate::id::{FastMap, FileId, Id as _, IdVec, ModuleId, StrId};
use std::sync::Arc;

/// Our text for a filter that is its own filtee, directly or through others. The loader has no
/// message for this defect.
const ENDLESS: &str = "is a filter of itself: the loader loops until it runs out of memory";

/// The first glibc release whose list always holds the loader, needed or not (8f8dd904c4).
const LOADER_LISTED: GlibcVersion = GlibcVersion::new(2, 41);

/// The state of one breadth-first build of a link map.
pub(super) struct LinkMapState {
    pub(super) root: EntryPoint,
    /// The closure of the entry point's host program.
    pub(super) base: Option<Arc<Closure>>,
    /// The module of the entry point's own file.
    pub(super) start: ModuleId,
    pub(super) modules: IdVec<ModuleId, Module>,
    /// Data of each module; only the build needs it.
    pub(super) working: IdVec<ModuleId, Working>,
    /// True if the loader uses the DT_RPATH of any module, or if there is a host program.
    pub(super) has_rpath: bool,
    /// The first module with each name by which DT_NEEDED entries match.
    pub(super) by_name: FastMap<StrId, ModuleId>,
    /// The module of each mapped file.
    pub(super) by_file: FastMap<FileId, ModuleId>,
    pub(super) edges: Vec<Edge>,
    pub(super) list: Vec<ModuleId>,
    pub(super) queue: Vec<Queued>,
    /// The position of the breadth-first walk over `queue`.
    pub(super) place: WalkPosition,
    pub(super) preload_failures: Vec<PreloadFailure>,
    /// True once a filter has moved objects: list order and load order then differ.
    pub(super) moved: bool,
    /// Filtees of the entry point. They precede the entry point in the loader's list, but every
    /// walk of that list starts at the entry point. Therefore no later DT_NEEDED entry matches a
    /// filtee, and the loader does not check the versions of filtees.
    pub(super) hidden: Vec<ModuleId>,
    pub(super) by_cpu: bool,
    pub(super) by_cwd: bool,
    pub(super) by_process: bool,
}

/// Data of one module that only the build needs.
#[derive(Clone, Default)]
pub(super) struct Working {
    /// The names of the module's object; `None` for a stub, and for a loader whose binary is
    /// absent.
    pub(super) names: Option<Arc<ObjectNames>>,
    /// The value of `$ORIGIN`; `None` until it is computed.
    pub(super) origin: Option<StrId>,
    /// DT_RPATH lists that apply to the module's needs; `None` until they are computed.
    pub(super) rpaths: Option<Inherited>,
    /// The search paths and flags that apply to the module's needs; `None` until they are computed.
    pub(super) requester: Option<Arc<Requester>>,
    /// True if the module is in the queue.
    pub(super) queued: bool,
}

/// The DT_RPATH lists that apply to one module's needs.
#[derive(Clone)]
pub(super) struct Inherited {
    /// The list of the module's own DT_RPATH; `None` if the module has no DT_RPATH that the loader
    /// uses.
    pub(super) own: Option<Arc<DirList>>,
    /// The nearest requester, or the host program, whose DT_RPATH list applies next. Its list
    /// differs from `own`.
    pub(super) next: Option<ModuleId>,
}

/// Capacity, in entries, up to which [`clear`] always keeps a map.
const ROOM: usize = 4096;

/// Empties a map. Clearing takes time proportional to the capacity, so a large map that holds few
/// entries is replaced by a new one.
fn clear<K, V>(map: &mut FastMap<K, V>) {
    if map.capacity() > ROOM && map.len() < map.capacity() / 16 {
        *map = FastMap::default();
    } else {
        map.clear();
    }
}

/// One entry of the breadth-first queue.
#[derive(Clone, Copy)]
pub(super) struct Queued {
    pub(super) module: ModuleId,
    pub(super) done: bool,
}

/// The position of a breadth-first walk over the queue of modules.
#[derive(Clone, Copy, Default)]
pub(super) struct WalkPosition {
    /// Index in the queue at which the walk looks for its next entry.
    pub(super) at: usize,
    /// Index in the queue of the entry that is being visited. The index grows when a filtee is
    /// inserted before that entry.
    here: usize,
    /// The module that is being visited, and the index of its next need.
    pub(super) visiting: Option<(ModuleId, usize)>,
}

impl LinkMapState {
    /// The state before a build, without any module.
    pub(super) fn new(root: EntryPoint, base: Option<Arc<Closure>>) -> Self {
        Self {
            root,
            start: ROOT,
            modules: IdVec::default(),
            working: IdVec::default(),
            has_rpath: base.is_some(),
            base,
            by_name: FastMap::default(),
            by_file: FastMap::default(),
            edges: Vec::new(),
            list: Vec::new(),
            queue: Vec::new(),
            place: WalkPosition::default(),
            preload_failures: Vec::new(),
            moved: false,
            hidden: Vec::new(),
            by_cpu: false,
            by_cwd: false,
            by_process: false,
        }
    }

    /// Starts a new build in the buffers of a finished build.
    pub(super) fn reset(&mut self, root: EntryPoint, base: Option<Arc<Closure>>) {
        let old = std::mem::replace(self, Self::new(root, base));
        let Self { mut modules, mut working, mut by_name, mut by_file, .. } = old;
        let Self { mut edges, mut list, mut queue, .. } = old;
        modules.truncate(0);
        working.truncate(0);
        clear(&mut by_name);
        clear(&mut by_file);
        edges.clear();
        list.clear();
        queue.clear();
        (self.modules, self.working) = (modules, working);
        (self.by_name, self.by_file) = (by_name, by_file);
        (self.edges, self.list, self.queue) = (edges, list, queue);
    }

    /// Registers a name of an object, unless an earlier object has that name.
    pub(super) fn register(&mut self, name: StrId, module: ModuleId) {
        self.by_name.entry(name).or_insert(module);
    }

    /// Adds an object without registering a name.
    pub(super) fn push(&mut self, module: Module, names: Option<Arc<ObjectNames>>) -> ModuleId {
        self.has_rpath |= names.as_ref().is_some_and(|names| names.counting_rpath().is_some());
        self.working.push(Working { names, ..Working::default() });
        self.modules.push(module)
    }

    /// Keeps only the first `count` modules.
    pub(super) fn truncate(&mut self, count: usize) {
        self.modules.truncate(count);
        self.working.truncate(count);
    }

    pub(super) fn names(&self, module: ModuleId) -> Option<&Arc<ObjectNames>> {
        self.working[module].names.as_ref()
    }

    /// The first object in list order that has this name or DT_SONAME; `None` if there is none. The
    /// name becomes an alias of the object.
    pub(super) fn known(&mut self, name: StrId) -> Option<ModuleId> {
        let mut hit = *self.by_name.get(&name)?;
        if self.moved {
            let found = [ROOT, LOADER]
                .into_iter()
                .chain(self.list.iter().copied())
                .find(|index| self.is_called(*index, name));
            hit = match found {
                Some(found) => found,
                None if self.hidden.contains(&hit) => return None,
                None => hit,
            };
        }
        let module = &mut self.modules[hit];
        if !module.answers(name) {
            module.aliases.push(name);
        }
        Some(hit)
    }

    /// True if the object was found and has this name or DT_SONAME.
    fn is_called(&self, index: ModuleId, name: StrId) -> bool {
        let module = &self.modules[index];
        let soname = || self.names(index).and_then(|names| names.soname) == Some(name);
        !module.is_stub() && (module.answers(name) || soname())
    }

    /// The module whose DT_RPATH is searched after the DT_RPATH of `module`: its requester or, for
    /// a plugin, the host program.
    pub(super) fn above(&self, module: ModuleId) -> Option<ModuleId> {
        let hosted = self.base.is_some() && module == self.start && module != ROOT;
        self.modules[module].requester.or(hosted.then_some(ROOT))
    }

    /// The module that is being visited, and the index of its next need. If no visit is in
    /// progress, starts one at the next entry of the queue. `None` at the end of the queue.
    pub(super) fn next(&mut self) -> Option<(ModuleId, usize)> {
        while self.place.visiting.is_none() {
            let at = self.place.at;
            let queued = self.queue.get_mut(at)?;
            if std::mem::replace(&mut queued.done, true) {
                self.place.at += 1;
                continue;
            }
            let module = queued.module;
            let first = self.edges.len();
            self.modules[module].edges = first..first;
            self.place.here = at;
            self.place.visiting = Some((module, 0));
        }
        self.place.visiting
    }

    /// Records how a need of a module was satisfied.
    pub(super) fn add_edge(&mut self, edge: Edge) {
        self.edges.push(edge);
        self.modules[edge.from].edges.end += 1;
    }

    /// Appends an object to the queue, unless it is already there.
    pub(super) fn append(&mut self, module: ModuleId) {
        if !std::mem::replace(&mut self.working[module].queued, true) {
            self.queue.push(Queued { module, done: false });
        }
    }

    /// Moves the filtee `target` before its filter in the scope and in the list, unless the filtee
    /// already precedes the filter (`_dl_map_object_deps`). Returns an error if the loader would
    /// loop.
    pub(super) fn insert_before(&mut self, target: ModuleId, filter: ModuleId) -> Option<Fatal> {
        let here = self.place.here;
        match self.queue.iter().position(|queued| queued.module == target) {
            Some(place) if place <= here => return None,
            // The filtee was visited already, so the filter is its own filtee, directly or through
            // others. The loader moves each before the other until its stack overflows.
            Some(place) if self.queue[place].done => return Some(self.endless(target, filter)),
            Some(place) => {
                self.queue.remove(place);
            }
            // The filtee is an object of the host program, which precedes all new objects.
            None if self.working[target].queued => return None,
            None => {}
        }
        self.working[target].queued = true;
        self.queue.insert(here, Queued { module: target, done: false });
        self.place.here += 1;
        self.moved = true;
        self.list.retain(|entry| *entry != target);
        match self.list.iter().position(|entry| *entry == filter) {
            Some(before) => self.list.insert(before, target),
            None if self.is_below_itself(target, filter) => {
                return Some(self.endless(target, filter));
            }
            None => self.hidden.push(target),
        }
        None
    }

    /// True if the filtee `target` has the file of the filter or of one of the filter's requesters.
    /// No DT_NEEDED entry matches this filtee by name, so the loader maps it again and again until
    /// memory runs out.
    fn is_below_itself(&self, target: ModuleId, filter: ModuleId) -> bool {
        let file = |module: ModuleId| self.modules[module].file;
        let mut above = std::iter::successors(Some(filter), |at| self.modules[*at].requester);
        above.any(|module| file(module) == file(target))
    }

    fn endless(&self, target: ModuleId, filter: ModuleId) -> Fatal {
        let Module { name, path, file, .. } = self.modules[target];
        let object = if target == ROOT { path } else { name };
        Fatal { object, file, requester: filter, text: ENDLESS }
    }

    /// The search scope: all found objects in breadth-first order.
    pub(super) fn scope(&self) -> Vec<ModuleId> {
        let queued = self.queue.iter().map(|queued| queued.module);
        queued.filter(|module| !self.modules[*module].is_stub()).collect()
    }

    /// Puts the loader into the list. If an object needs the loader, the loader is in the scope,
    /// and follows the same object in the list as in the scope. Otherwise, glibc 2.41 and later put
    /// the loader after the last found object; earlier releases leave it out.
    pub(super) fn place_loader(&mut self, scope: &[ModuleId], release: GlibcVersion) {
        let after = match scope.iter().position(|module| *module == LOADER) {
            Some(place) => place.checked_sub(1).map(|before| scope[before]),
            None if release >= LOADER_LISTED => scope.last().copied(),
            None => return,
        };
        match after.map(|module| (module, self.list.iter().position(|entry| *entry == module))) {
            None | Some((ROOT, _)) => self.list.insert(0, LOADER),
            Some((_, Some(place))) => self.list.insert(place + 1, LOADER),
            // The preceding object is a filtee of the entry point. The loader then also comes
            // before the entry point, where no walk of the list reaches it.
            Some((_, None)) => {}
        }
    }

    /// Removes the stub of a preload library that was not found, if the stub is the last module.
    pub(super) fn drop_stub(&mut self, module: ModuleId) {
        if self.modules.len() == module.index() + 1 {
            self.truncate(module.index());
            self.list.retain(|entry| *entry != module);
        }
    }

    /// Fills the link map with the modules of the host program, and registers their names. `names`
    /// looks up the names of a file's object.
    pub(super) fn take_over(
        &mut self,
        host: &Closure,
        mut names: impl FnMut(FileId) -> Option<Arc<ObjectNames>>,
    ) {
        for module in host.all_modules() {
            let names = module.file.and_then(&mut names);
            self.push(module, names);
        }
        for module in host.scope() {
            self.working[*module].queued = true;
        }
        self.list.extend_from_slice(host.list());
        self.moved = host.links.moved;
        self.hidden.clone_from(&host.links.hidden);
        for index in self.modules.ids() {
            let module = &self.modules[index];
            if module.is_stub() {
                continue;
            }
            let file = module.file;
            let path = (index != ROOT).then_some(module.path);
            let mut called: Vec<StrId> = [module.name].into_iter().chain(path).collect();
            called.extend(&module.aliases);
            called.extend(self.names(index).and_then(|names| names.soname));
            for name in called {
                self.register(name, index);
            }
            // The loader finds neither the program nor itself by inode.
            if let Some(file) = file.filter(|_| index != ROOT && index != LOADER) {
                self.by_file.entry(file).or_insert(index);
            }
        }
    }

    /// Removes the host program's modules from the list. Returns the names that DT_NEEDED entries
    /// of the plugin added to these modules.
    pub(super) fn leave_to(&mut self, host: &Closure) -> Vec<(ModuleId, StrId)> {
        let first = host.module_count();
        let mut renamed = Vec::new();
        for (index, module) in self.modules.entries().take(first) {
            let known = host.module(index).aliases.len();
            renamed.extend(module.aliases.iter().skip(known).map(|name| (index, *name)));
        }
        self.list.retain(|module| module.index() >= first);
        renamed
    }
}
