//! The link map of one root: breadth first over all needs, names and inodes de-duplicated, filters
//! and auxiliaries before the object that names them (`elf/dl-deps.c`, `elf/dl-load.c`).

use super::loader::Loader;
use super::resolver::{Names, Resolver};
use super::{Edge, Fatal, How, LOADER, Links, Module, PreloadFailure, ROOT, Root, order, versions};
use crate::facts::{Need, View};
use crate::format::elf::{NeedKind, Object};
use crate::id::{FileId, Id as _, StrId};
use crate::plan::Plan;
use std::sync::Arc;

/// Room for the modules of most programs.
const FEW: usize = 10;

/// The state of one breadth-first run.
pub(super) struct Builder<'a, 'v> {
    pub(super) resolver: &'a mut Resolver,
    pub(super) view: View<'v>,
    pub(super) plan: &'a Plan,
    pub(super) root: Root,
    pub(super) needs: &'a mut Vec<Need>,
    pub(super) modules: Vec<Module>,
    /// `$ORIGIN` of each module.
    pub(super) origins: Vec<Option<StrId>>,
    pub(super) edges: Vec<Edge>,
    pub(super) list: Vec<u32>,
    queue: Vec<Queued>,
    /// Which modules are in `queue`.
    pub(super) queued: Vec<bool>,
    /// A filter has moved objects: list order is not the order of loading any more.
    pub(super) moved: bool,
    /// Filtees of the root. They stand before it in the loader's list, of which every walk begins at
    /// the root: no later need finds them, and their versions are not looked at.
    pub(super) hidden: Vec<u32>,
    pub(super) by_cpu: bool,
    pub(super) by_cwd: bool,
    /// The last search passed over a file of another class.
    pub(super) other_class: bool,
    /// A fact is missing; somebody has asked for it.
    pub(super) incomplete: bool,
}

/// One entry of the breadth-first list.
#[derive(Clone, Copy)]
struct Queued {
    module: u32,
    done: bool,
}

/// How `Builder::map` ended.
pub(super) enum Mapped {
    Module(u32, How),
    Fatal(Fatal),
    Unknown,
}

impl<'a, 'v> Builder<'a, 'v> {
    pub(super) fn new(
        resolver: &'a mut Resolver,
        view: View<'v>,
        plan: &'a Plan,
        root: Root,
        needs: &'a mut Vec<Need>,
    ) -> Self {
        resolver.by_name.clear();
        resolver.by_file.clear();
        Self {
            resolver,
            view,
            plan,
            root,
            needs,
            modules: Vec::with_capacity(FEW),
            origins: Vec::with_capacity(FEW),
            edges: Vec::with_capacity(2 * FEW),
            list: Vec::with_capacity(FEW),
            queue: Vec::with_capacity(FEW),
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

    pub(super) fn run(mut self) -> Option<Links> {
        self.add_root();
        self.add_loader();
        let mut preload_failures = Vec::new();
        let stopped = self.preload(&mut preload_failures).or_else(|| self.walk());
        if self.incomplete {
            return None;
        }
        let scope: Vec<u32> = self
            .queue
            .iter()
            .map(|queued| queued.module)
            .filter(|module| self.modules[*module as usize].how != How::Missing)
            .collect();
        self.place_loader(&scope);
        let mut links = Links {
            order: Vec::new(),
            modules: self.modules,
            edges: self.edges,
            list: self.list,
            scope,
            fatal: stopped,
            preload_failures,
            by_cpu: self.by_cpu,
            by_cwd: self.by_cwd,
        };
        let release = self.resolver.loaders.get(self.root.loader).release;
        links.order = order::relocation_order(&links, release);
        if self.plan.as_ldd {
            for module in &self.hidden {
                links.modules[*module as usize].version_limit = 0;
            }
            versions::limit_tables(&mut links, self.view, &self.resolver.strings);
        }
        Some(links)
    }

    fn add_root(&mut self) {
        let Root { file, path, .. } = self.root;
        let names = self.names(file);
        // elf/rtld.c takes the program's name away: it answers to the empty one only.
        let empty = self.resolver.strings.id(b"");
        let soname = names.as_ref().and_then(|names| names.soname);
        self.push(Module {
            file: Some(file),
            name: empty,
            path,
            aliases: Vec::new(),
            requester: None,
            how: How::Root,
            edges: (0, 0),
            version_limit: u16::MAX,
        });
        self.register(empty, ROOT);
        if let Some(soname) = soname {
            self.register(soname, ROOT);
        }
        self.append(ROOT);
    }

    /// The loader is there from the start, answers to three names and is listed only when needed.
    fn add_loader(&mut self) {
        let (path, file) = (self.loader().path, self.loader().file);
        let interp = self.view.object(self.root.file).and_then(Object::interp);
        let name = match interp {
            Some(interp) => self.resolver.strings.id(interp),
            None => path,
        };
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

    pub(super) fn register(&mut self, name: StrId, module: u32) {
        self.resolver.by_name.add(name.index(), module);
    }

    pub(super) fn push(&mut self, module: Module) -> u32 {
        self.modules.push(module);
        self.origins.push(None);
        self.queued.push(false);
        u32::try_from(self.modules.len() - 1).unwrap_or(u32::MAX)
    }

    pub(super) fn names(&mut self, file: FileId) -> Option<Arc<Names>> {
        let object = self.view.object(file)?;
        Some(self.resolver.names(file, object))
    }

    /// Entries of ld.so.preload, with the root as requester (`elf/rtld.c`, `do_preload`).
    fn preload(&mut self, failures: &mut Vec<PreloadFailure>) -> Option<Fatal> {
        for name in self.loader().preload.clone() {
            match self.map(name, ROOT, How::Preload) {
                Mapped::Module(module, _) => {
                    if self.modules[module as usize].how == How::Missing {
                        let text = match (self.other_class, self.loader().target.is_64) {
                            (false, _) => "cannot open shared object file",
                            (true, true) => "wrong ELF class: ELFCLASS32",
                            (true, false) => "wrong ELF class: ELFCLASS64",
                        };
                        self.drop_stub(module);
                        failures.push(PreloadFailure { name, text });
                    } else {
                        self.append(module);
                    }
                }
                Mapped::Fatal(fatal) => failures.push(PreloadFailure { name, text: fatal.text }),
                Mapped::Unknown => {}
            }
        }
        None
    }

    /// A preload that was not found leaves no stub behind.
    fn drop_stub(&mut self, module: u32) {
        if self.modules.len() == module as usize + 1 {
            self.modules.pop();
            self.origins.pop();
            self.queued.pop();
            self.list.retain(|entry| *entry != module);
        }
    }

    fn walk(&mut self) -> Option<Fatal> {
        let mut at = 0;
        while at < self.queue.len() {
            if self.queue[at].done {
                at += 1;
                continue;
            }
            self.queue[at].done = true;
            if let Some(fatal) = self.visit(at) {
                return Some(fatal);
            }
            // A filter's target may now stand at this place, not yet visited.
        }
        None
    }

    /// All needs of the module at `at` in the queue.
    fn visit(&mut self, at: usize) -> Option<Fatal> {
        let module = self.queue[at].module;
        let names = self.modules[module as usize].file.and_then(|file| self.names(file))?;
        let mut here = at;
        let first = u32::try_from(self.edges.len()).unwrap_or(u32::MAX);
        self.modules[module as usize].edges = (first, first);
        for (kind, raw, has_token) in &names.needs {
            let Some(name) = self.expand_need(*raw, *has_token, module) else { continue };
            match self.map(name, module, How::Loaded) {
                Mapped::Fatal(_) if *kind == NeedKind::Auxiliary => {}
                Mapped::Fatal(fatal) => return Some(fatal),
                Mapped::Unknown => {}
                Mapped::Module(to, how) => {
                    self.edges.push(Edge { from: module, raw: *raw, name, kind: *kind, to, how });
                    self.modules[module as usize].edges.1 += 1;
                    match kind {
                        NeedKind::Needed => self.append(to),
                        NeedKind::Auxiliary | NeedKind::Filter => {
                            self.insert_before(to, module, &mut here);
                        }
                    }
                }
            }
        }
        None
    }

    fn append(&mut self, module: u32) {
        if !std::mem::replace(&mut self.queued[module as usize], true) {
            self.queue.push(Queued { module, done: false });
        }
    }

    /// Puts a filter's target before the filter in scope and list, unless it already is
    /// (`_dl_map_object_deps`).
    fn insert_before(&mut self, target: u32, filter: u32, here: &mut usize) {
        match self.queue.iter().position(|queued| queued.module == target) {
            Some(place) if place <= *here => return,
            Some(place) => {
                self.queue.remove(place);
            }
            None => {}
        }
        self.queued[target as usize] = true;
        self.queue.insert(*here, Queued { module: target, done: false });
        *here += 1;
        self.moved = true;
        self.list.retain(|entry| *entry != target);
        match self.list.iter().position(|entry| *entry == filter) {
            Some(before) => self.list.insert(before, target),
            None => self.hidden.push(target),
        }
    }

    /// The loader's place in the list: behind its predecessor in the scope if something needs it,
    /// and since glibc 2.41 always, behind the last found object (8f8dd904c4).
    fn place_loader(&mut self, scope: &[u32]) {
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
