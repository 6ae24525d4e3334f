//! A link map that is being built: what is mapped, which names it answers to, and how far the walk
//! came. It is owned and whole, so that a build that lacks a fact is suspended by moving it. It asks
//! nobody; `mapping` and `closure` fill it.

use super::names::Names;
use super::paths::DirList;
use super::search::Requester;
use super::{Closure, Edge, Fatal, LOADER, Module, PreloadFailure, ROOT, Root};
use crate::format::elf::GlibcVersion;
use crate::id::{FastMap, FileId, Id as _, IdVec, ModuleId, StrId};
use std::sync::Arc;

/// What the loader does with a filter that is its own target, by whatever way; it has no message.
const ENDLESS: &str = "is a filter of itself: the loader goes round until its memory ends";

/// The glibc release in which the loader has its place even where nothing needs it (8f8dd904c4).
const LOADER_LISTED: GlibcVersion = GlibcVersion::new(2, 41);

/// The state of one breadth-first run.
pub(super) struct LinkMapState {
    pub(super) root: Root,
    /// What the root's host has loaded.
    pub(super) base: Option<Arc<Closure>>,
    /// The module of the root's file.
    pub(super) start: ModuleId,
    pub(super) modules: IdVec<ModuleId, Module>,
    /// What only the build needs of each module.
    pub(super) working: IdVec<ModuleId, Working>,
    /// Some module has a DT_RPATH that counts, or came with a host.
    pub(super) has_rpath: bool,
    /// Modules by the names they answer to.
    pub(super) by_name: FastMap<StrId, ModuleId>,
    /// Modules by file.
    pub(super) by_file: FastMap<FileId, ModuleId>,
    pub(super) edges: Vec<Edge>,
    pub(super) list: Vec<ModuleId>,
    pub(super) queue: Vec<Queued>,
    /// How far the walk came.
    pub(super) place: Place,
    pub(super) preload_failures: Vec<PreloadFailure>,
    /// A filter has moved objects: list order is not the order of loading any more.
    pub(super) moved: bool,
    /// Filtees of the root. They stand before it in the loader's list, of which every walk begins at
    /// the root: no later need finds them, and their versions are not looked at.
    pub(super) hidden: Vec<ModuleId>,
    pub(super) by_cpu: bool,
    pub(super) by_cwd: bool,
}

/// What the build remembers of one module.
#[derive(Clone, Default)]
pub(super) struct Working {
    /// Nothing for a stub.
    pub(super) names: Option<Arc<Names>>,
    /// `$ORIGIN`
    pub(super) origin: Option<StrId>,
    /// DT_RPATH lists that hold for its needs.
    pub(super) rpaths: Option<Inherited>,
    /// How its needs are searched for.
    pub(super) requester: Option<Arc<Requester>>,
    /// It is in the queue.
    pub(super) queued: bool,
}

/// DT_RPATH as one module's needs see it.
#[derive(Clone)]
pub(super) struct Inherited {
    /// The module's own list.
    pub(super) own: Option<Arc<DirList>>,
    /// The next module above it that has a list, and another one.
    pub(super) next: Option<ModuleId>,
}

/// One entry of the breadth-first list.
#[derive(Clone, Copy)]
pub(super) struct Queued {
    pub(super) module: ModuleId,
    pub(super) done: bool,
}

/// Where a walk goes on.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    /// The entry of the queue.
    pub(super) at: usize,
    /// The entry that is being visited: it moves when a filter's target comes before it.
    here: usize,
    /// The module that is being visited and its next need.
    pub(super) visiting: Option<(ModuleId, usize)>,
}

impl LinkMapState {
    /// A link map in which nothing is mapped.
    pub(super) fn new(root: Root, base: Option<Arc<Closure>>) -> Self {
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
            place: Place::default(),
            preload_failures: Vec::new(),
            moved: false,
            hidden: Vec::new(),
            by_cpu: false,
            by_cwd: false,
        }
    }

    /// Begins anew in the memory of a build that is done.
    pub(super) fn reset(&mut self, root: Root, base: Option<Arc<Closure>>) {
        let old = std::mem::replace(self, Self::new(root, base));
        let Self { mut modules, mut working, mut by_name, mut by_file, .. } = old;
        let Self { mut edges, mut list, mut queue, .. } = old;
        modules.truncate(0);
        working.truncate(0);
        by_name.clear();
        by_file.clear();
        edges.clear();
        list.clear();
        queue.clear();
        (self.modules, self.working) = (modules, working);
        (self.by_name, self.by_file) = (by_name, by_file);
        (self.edges, self.list, self.queue) = (edges, list, queue);
    }

    /// Makes an object answer to a name that nothing answers to yet.
    pub(super) fn register(&mut self, name: StrId, module: ModuleId) {
        self.by_name.entry(name).or_insert(module);
    }

    /// Adds an object that no name leads to yet.
    pub(super) fn push(&mut self, module: Module, names: Option<Arc<Names>>) -> ModuleId {
        self.has_rpath |= names.as_ref().is_some_and(|names| names.counting_rpath().is_some());
        self.working.push(Working { names, ..Working::default() });
        self.modules.push(module)
    }

    /// Forgets the modules from the one with this index on.
    pub(super) fn truncate(&mut self, count: usize) {
        self.modules.truncate(count);
        self.working.truncate(count);
    }

    pub(super) fn names(&self, module: ModuleId) -> Option<&Arc<Names>> {
        self.working[module].names.as_ref()
    }

    /// The first object in list order that answers to `name` by a name or its DT_SONAME.
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

    /// True if an object that was found answers to `name` by a name or its DT_SONAME.
    fn is_called(&self, index: ModuleId, name: StrId) -> bool {
        let module = &self.modules[index];
        let soname = || self.names(index).and_then(|names| names.soname) == Some(name);
        !module.is_stub() && (module.answers(name) || soname())
    }

    /// Whose DT_RPATH comes next: the requester's, and at the end the program's.
    pub(super) fn above(&self, module: ModuleId) -> Option<ModuleId> {
        let hosted = self.base.is_some() && module == self.start && module != ROOT;
        self.modules[module].requester.or(hosted.then_some(ROOT))
    }

    /// Begins with the next entry of the queue whose needs have not been looked at, or goes on with
    /// the one that was begun; nothing at the end.
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

    /// Writes down where the need of a module led.
    pub(super) fn add_edge(&mut self, edge: Edge) {
        self.edges.push(edge);
        self.modules[edge.from].edges.end += 1;
    }

    /// Puts an object behind the queue, unless it is in it.
    pub(super) fn append(&mut self, module: ModuleId) {
        if !std::mem::replace(&mut self.working[module].queued, true) {
            self.queue.push(Queued { module, done: false });
        }
    }

    /// Puts a filter's target before the filter in scope and list, unless it already is
    /// (`_dl_map_object_deps`). Where that never ends, it is the error that stops the loader.
    pub(super) fn insert_before(&mut self, target: ModuleId, filter: ModuleId) -> Option<Fatal> {
        let here = self.place.here;
        match self.queue.iter().position(|queued| queued.module == target) {
            Some(place) if place <= here => return None,
            // It was visited, and the filter came before it as its target, or as one of that: each
            // is moved before the other until the stack ends.
            Some(place) if self.queue[place].done => return Some(self.endless(target, filter)),
            Some(place) => {
                self.queue.remove(place);
            }
            // What the host has loaded comes before all that is new.
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

    /// True if the target, which no later need finds, is a file that led to it: it leads to itself
    /// again, and is mapped anew each time until the memory ends.
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

    /// The loader's place in the list: behind its predecessor in the scope if something needs it,
    /// and since glibc 2.41 always, behind the last found object.
    pub(super) fn place_loader(&mut self, scope: &[ModuleId], release: GlibcVersion) {
        let after = match scope.iter().position(|module| *module == LOADER) {
            Some(place) => place.checked_sub(1).map(|before| scope[before]),
            None if release >= LOADER_LISTED => scope.last().copied(),
            None => return,
        };
        match after.map(|module| (module, self.list.iter().position(|entry| *entry == module))) {
            None | Some((ROOT, _)) => self.list.insert(0, LOADER),
            Some((_, Some(place))) => self.list.insert(place + 1, LOADER),
            // Behind a filtee of the root: before what is shown.
            Some((_, None)) => {}
        }
    }

    /// A preload that was not found leaves no stub behind.
    pub(super) fn drop_stub(&mut self, module: ModuleId) {
        if self.modules.len() == module.index() + 1 {
            self.truncate(module.index());
            self.list.retain(|entry| *entry != module);
        }
    }

    /// Begins with the modules of the host, which answer to the names they have; `names` are theirs.
    pub(super) fn take_over(
        &mut self,
        host: &Closure,
        mut names: impl FnMut(FileId) -> Option<Arc<Names>>,
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
            // Neither the program nor the loader is known by its inode.
            if let Some(file) = file.filter(|_| index != ROOT && index != LOADER) {
                self.by_file.entry(file).or_insert(index);
            }
        }
    }

    /// Leaves the host's list to the host; answers names that needs have given its modules.
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
