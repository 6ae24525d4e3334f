//! The link map of one root: breadth first over all needs, names and inodes de-duplicated, filters
//! and auxiliaries before the object that names them (`elf/dl-deps.c`, `elf/dl-load.c`).

use super::index::Index;
use super::loader::Loader;
use super::mapping::Inherited;
use super::resolver::{Names, Resolver};
use super::suspend::Suspended;
use super::{
    Closure, Edge, Fatal, How, LOADER, Links, Module, PreloadFailure, ROOT, Root, order, versions,
};
use crate::facts::{Need, View};
use crate::format::elf::NeedKind;
use crate::id::{FileId, Id as _, ModuleId, StrId};
use crate::plan::Plan;
use std::sync::Arc;

/// What the loader does with a filter that is its own target, by whatever way; it has no message.
const ENDLESS: &str = "is a filter of itself: the loader goes round until its memory ends";

/// Room for the modules of most programs.
const FEW: usize = 10;

/// The state of one breadth-first run.
pub(super) struct Builder<'a, 'v> {
    pub(super) resolver: &'a mut Resolver,
    pub(super) view: View<'v>,
    pub(super) plan: &'a Plan,
    pub(super) root: Root,
    /// What the root's host has loaded.
    pub(super) base: Option<Arc<Closure>>,
    /// The module of the root's file.
    pub(super) start: ModuleId,
    pub(super) needs: &'a mut Vec<Need>,
    pub(super) modules: Vec<Module>,
    /// `$ORIGIN` of each module.
    pub(super) origins: Vec<Option<StrId>>,
    /// DT_RPATH lists that hold for each module's needs.
    pub(super) rpaths: Vec<Option<Inherited>>,
    /// Some module has a DT_RPATH that counts.
    pub(super) has_rpath: bool,
    /// Modules by the names they answer to.
    pub(super) by_name: Index,
    /// Modules by file.
    pub(super) by_file: Index,
    pub(super) edges: Vec<Edge>,
    pub(super) list: Vec<ModuleId>,
    pub(super) queue: Vec<Queued>,
    /// How far the walk came.
    pub(super) place: Place,
    pub(super) preload_failures: Vec<PreloadFailure>,
    /// Which modules are in `queue`.
    pub(super) queued: Vec<bool>,
    /// A filter has moved objects: list order is not the order of loading any more.
    pub(super) moved: bool,
    /// Filtees of the root. They stand before it in the loader's list, of which every walk begins at
    /// the root: no later need finds them, and their versions are not looked at.
    pub(super) hidden: Vec<ModuleId>,
    pub(super) by_cpu: bool,
    pub(super) by_cwd: bool,
    /// The last search passed over a file of another class.
    pub(super) other_class: bool,
    /// A fact is missing; somebody has asked for it.
    pub(super) incomplete: bool,
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

/// What a run came to.
pub(super) enum Built {
    Links(Box<Links>),
    /// Facts are missing. Nothing to go on from if that was before the walk.
    Suspended(Option<Box<Suspended>>),
}

/// How `Builder::map` ended.
pub(super) enum Mapped {
    Module(ModuleId, How),
    Fatal(Fatal),
    Unknown,
}

impl<'a, 'v> Builder<'a, 'v> {
    pub(super) fn new(
        resolver: &'a mut Resolver,
        view: View<'v>,
        plan: &'a Plan,
        root: Root,
        base: Option<Arc<Closure>>,
        needs: &'a mut Vec<Need>,
    ) -> Self {
        let by_name = Index::borrow(&mut resolver.by_name);
        let by_file = Index::borrow(&mut resolver.by_file);
        Self {
            resolver,
            view,
            plan,
            root,
            start: ROOT,
            needs,
            modules: Vec::with_capacity(FEW),
            origins: Vec::with_capacity(FEW),
            rpaths: Vec::with_capacity(FEW),
            // A host's modules are there already.
            has_rpath: base.is_some(),
            base,
            by_name,
            by_file,
            edges: Vec::with_capacity(2 * FEW),
            list: Vec::with_capacity(FEW),
            queue: Vec::with_capacity(FEW),
            place: Place::default(),
            preload_failures: Vec::new(),
            queued: Vec::with_capacity(FEW),
            moved: false,
            hidden: Vec::new(),
            by_cpu: false,
            by_cwd: false,
            other_class: false,
            incomplete: false,
        }
    }

    pub(super) fn loader(&self) -> &Loader {
        self.resolver.loaders.get(self.root.loader)
    }

    pub(super) fn run(mut self) -> Built {
        if let Some(host) = self.base.clone() {
            self.take_over(&host);
            let refused = self.open();
            return if refused.is_some() { self.finish(refused) } else { self.go_on() };
        }
        self.add_root();
        self.add_loader();
        self.preload();
        if self.incomplete {
            self.look_ahead();
            self.by_name.give_back(&mut self.resolver.by_name);
            self.by_file.give_back(&mut self.resolver.by_file);
            return Built::Suspended(None);
        }
        self.go_on()
    }

    /// Walks on from where the last round ended.
    pub(super) fn go_on(mut self) -> Built {
        let stopped = self.walk();
        if self.incomplete { self.suspend() } else { self.finish(stopped) }
    }

    fn finish(mut self, stopped: Option<Fatal>) -> Built {
        let scope: Vec<ModuleId> = self
            .queue
            .iter()
            .map(|queued| queued.module)
            .filter(|module| !self.modules[module.index()].is_stub())
            .collect();
        let mut renamed = Vec::new();
        match self.base.clone() {
            Some(host) => renamed = self.leave_to(&host),
            None => self.place_loader(&scope),
        }
        let mut links = Links {
            base: self.base,
            renamed,
            start: self.start,
            moved: self.moved,
            order: Vec::new(),
            modules: self.modules,
            edges: self.edges,
            list: self.list,
            scope,
            hidden: self.hidden,
            fatal: stopped,
            preload_failures: self.preload_failures,
            failures: Vec::new(),
            by_cpu: self.by_cpu,
            by_cwd: self.by_cwd,
        };
        let release = self.resolver.loaders.get(self.root.loader).release;
        links.order = order::relocation_order(&links, release);
        if self.plan.as_ldd {
            for module in &links.hidden {
                links.modules[module.index()].version_limit = 0;
            }
            versions::limit_tables(&mut links, self.view, &self.resolver.strings);
        }
        self.by_name.give_back(&mut self.resolver.by_name);
        self.by_file.give_back(&mut self.resolver.by_file);
        Built::Links(Box::new(links))
    }

    fn add_root(&mut self) {
        let Root { file, path, .. } = self.root;
        let names = self.names(file);
        // elf/rtld.c takes the program's name away: it answers to the empty one only.
        let empty = self.resolver.strings.id(b"");
        let soname = names.as_ref().and_then(|names| names.soname);
        self.push(Module::new(Some(file), empty, path, None, How::Root));
        self.register(empty, ROOT);
        if let Some(soname) = soname {
            self.register(soname, ROOT);
        }
        self.append(ROOT);
    }

    /// The loader is there from the start, answers to three names and is listed only when needed.
    fn add_loader(&mut self) {
        let (path, file) = (self.loader().path, self.loader().file);
        let interp = self.names(self.root.file).and_then(|names| names.interp);
        let name = interp.unwrap_or(path);
        let soname = file.and_then(|file| self.names(file)).and_then(|names| names.soname);
        for name in [name, path].into_iter().chain(soname) {
            self.register(name, LOADER);
        }
        self.push(Module {
            file,
            name,
            path,
            aliases: soname.into_iter().collect(),
            requester: None,
            how: How::Loaded,
            edges: (0, 0),
            version_limit: u16::MAX,
        });
    }

    pub(super) fn register(&mut self, name: StrId, module: ModuleId) {
        self.by_name.add(name.index(), module);
    }

    pub(super) fn push(&mut self, module: Module) -> ModuleId {
        let names = module.file.and_then(|file| self.names(file));
        self.has_rpath |=
            names.is_some_and(|names| names.runpath.is_none() && names.rpath.is_some());
        self.modules.push(module);
        self.origins.push(None);
        self.rpaths.push(None);
        self.queued.push(false);
        ModuleId::from_index(self.modules.len() - 1)
    }

    pub(super) fn names(&mut self, file: FileId) -> Option<Arc<Names>> {
        let object = self.view.object(file)?;
        Some(self.resolver.names(file, object))
    }

    /// Visits the queue until its end, a fatal error or a missing fact.
    fn walk(&mut self) -> Option<Fatal> {
        while self.place.at < self.queue.len() {
            if self.place.visiting.is_none() {
                if self.queue[self.place.at].done {
                    self.place.at += 1;
                    continue;
                }
                self.begin();
            }
            let fatal = self.visit();
            if fatal.is_some() || self.incomplete {
                return fatal;
            }
            self.place.visiting = None;
            // A filter's target may now stand at this place, not yet visited.
        }
        None
    }

    fn begin(&mut self) {
        let at = self.place.at;
        self.queue[at].done = true;
        let module = self.queue[at].module;
        let first = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        self.modules[module.index()].edges = (first, first);
        self.place.here = at;
        self.place.visiting = Some((module, 0));
    }

    /// The needs of the module that is being visited, from the next one on.
    fn visit(&mut self) -> Option<Fatal> {
        let (module, next) = self.place.visiting?;
        let names = self.modules[module.index()].file.and_then(|file| self.names(file))?;
        for (i, (kind, raw, has_token)) in names.needs.iter().enumerate().skip(next) {
            self.place.visiting = Some((module, i));
            let Some(name) = self.expand_need(*raw, *has_token, module) else { continue };
            match self.map(name, module, How::Loaded) {
                Mapped::Fatal(_) if *kind == NeedKind::Auxiliary => {}
                Mapped::Fatal(fatal) => return Some(fatal),
                Mapped::Unknown => return None,
                Mapped::Module(to, how) => {
                    self.edges.push(Edge { from: module, raw: *raw, name, kind: *kind, to, how });
                    self.modules[module.index()].edges.1 += 1;
                    match kind {
                        NeedKind::Needed => self.append(to),
                        NeedKind::Auxiliary | NeedKind::Filter => {
                            let endless = self.insert_before(to, module);
                            if endless.is_some() {
                                return endless;
                            }
                        }
                    }
                }
            }
        }
        None
    }

    pub(super) fn append(&mut self, module: ModuleId) {
        if !std::mem::replace(&mut self.queued[module.index()], true) {
            self.queue.push(Queued { module, done: false });
        }
    }

    /// Puts a filter's target before the filter in scope and list, unless it already is
    /// (`_dl_map_object_deps`). Where that never ends, it is the error that stops the loader.
    fn insert_before(&mut self, target: ModuleId, filter: ModuleId) -> Option<Fatal> {
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
            None if self.queued[target.index()] => return None,
            None => {}
        }
        self.queued[target.index()] = true;
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
        let file = |module: ModuleId| self.modules[module.index()].file;
        let mut above =
            std::iter::successors(Some(filter), |at| self.modules[at.index()].requester);
        above.any(|module| file(module) == file(target))
    }

    fn endless(&self, target: ModuleId, filter: ModuleId) -> Fatal {
        let Module { name, path, file, .. } = self.modules[target.index()];
        let object = if target == ROOT { path } else { name };
        Fatal { object, file, requester: filter, text: ENDLESS }
    }

    /// The loader's place in the list: behind its predecessor in the scope if something needs it,
    /// and since glibc 2.41 always, behind the last found object (8f8dd904c4).
    fn place_loader(&mut self, scope: &[ModuleId]) {
        let after = match scope.iter().position(|module| *module == LOADER) {
            Some(place) => place.checked_sub(1).map(|before| scope[before]),
            None if self.loader().release >= (2, 41) => scope.last().copied(),
            None => return,
        };
        match after.map(|module| (module, self.list.iter().position(|entry| *entry == module))) {
            None | Some((ROOT, _)) => self.list.insert(0, LOADER),
            Some((_, Some(place))) => self.list.insert(place + 1, LOADER),
            // Behind a filtee of the root: before what is shown.
            Some((_, None)) => {}
        }
    }
}
