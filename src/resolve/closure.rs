//! The link map of one root: breadth first over all needs, names and inodes de-duplicated, filters
//! and auxiliaries before the object that names them (`elf/dl-deps.c`, `elf/dl-load.c`).

use super::loader::{Loader, Loaders};
use super::search::{DirList, Found, Memo, Requester, Search, Tried, fatal};
use super::{Closure, Edge, Fatal, How, LOADER, Module, PreloadFailure, ROOT, Root, order, tokens, versions};
use crate::facts::{Need, View};
use crate::format::elf::{NeedKind, Object};
use crate::id::{FileId, Id as _, StrId, Strings};
use crate::plan::Plan;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// Names of one object as string ids, made once a run.
struct Names {
    needs: Vec<(NeedKind, StrId, bool)>,
    soname: Option<StrId>,
    rpath: Option<StrId>,
    runpath: Option<StrId>,
}

/// Resolves roots one after the other; what holds for all of them is remembered.
#[derive(Default)]
pub struct Resolver {
    /// All strings of closures.
    pub strings: Strings,
    /// All loaders.
    pub loaders: Loaders,
    names: Vec<Option<Arc<Names>>>,
    memo: Memo,
    by_name: Stamped,
    by_file: Stamped,
}

/// A map from small numbers to modules that is emptied at no cost: entries of an earlier root carry
/// an old stamp.
#[derive(Default)]
struct Stamped {
    stamp: u32,
    entries: Vec<(u32, u32)>,
}

impl Stamped {
    fn clear(&mut self) {
        self.stamp += 1;
    }

    fn get(&self, index: usize) -> Option<u32> {
        self.entries.get(index).filter(|(stamp, _)| *stamp == self.stamp).map(|(_, value)| *value)
    }

    /// Keeps the entry that is there.
    fn add(&mut self, index: usize, value: u32) {
        if index >= self.entries.len() {
            self.entries.resize((index + 1).next_power_of_two(), (0, 0));
        }
        if self.entries[index].0 != self.stamp {
            self.entries[index] = (self.stamp, value);
        }
    }
}

impl Resolver {
    /// The directories of an object's own RPATH or RUNPATH, as its loader's choice needs them:
    /// before a loader is known, `$LIB` and `$PLATFORM` have no value.
    pub fn own_dirs(&mut self, object: &Object, path: &[u8], plan: &Plan) -> Vec<StrId> {
        let Some(list) = object.runpath.or(object.rpath) else { return Vec::new() };
        let origin = tokens::origin(path, plan.cwd.as_os_str().as_bytes());
        let values = tokens::Tokens { origin: &origin, lib: b"lib", platform: None };
        object
            .str(list)
            .split(|b| *b == b':')
            .filter_map(|element| tokens::expand(element, values))
            .filter(|dir| !dir.is_empty())
            .map(|mut dir| {
                if !dir.ends_with(b"/") {
                    dir.push(b'/');
                }
                self.strings.id(&dir)
            })
            .collect()
    }

    fn names(&mut self, file: FileId, object: &Object) -> Arc<Names> {
        if let Some(Some(names)) = self.names.get(file.index()) {
            return Arc::clone(names);
        }
        let strings = &mut self.strings;
        let names = Arc::new(Names {
            needs: object
                .needs
                .iter()
                .map(|need| {
                    let text = object.str(need.name);
                    (need.kind, strings.id(text), text.contains(&b'$'))
                })
                .collect(),
            soname: object.soname().map(|text| strings.id(text)),
            rpath: object.rpath.map(|text| strings.id(object.str(text))),
            runpath: object.runpath.map(|text| strings.id(object.str(text))),
        });
        if file.index() >= self.names.len() {
            self.names.resize(file.index() + 1, None);
        }
        self.names[file.index()] = Some(Arc::clone(&names));
        names
    }

    /// Everything the loader maps for `root`, or the facts that are missing to say it.
    pub fn closure(&mut self, view: View<'_>, plan: &Plan, root: Root) -> Result<Closure, Vec<Need>> {
        let mut needs = Vec::new();
        Builder::new(self, view, plan, root, &mut needs).run().ok_or(needs)
    }

    /// Facts that were missing have been read.
    pub fn new_round(&mut self) {
        self.memo.new_round();
    }

    /// What is tried for the need `name` of module `from`, for evidence. All facts are known.
    pub fn tried(&mut self, view: View<'_>, plan: &Plan, closure: &Closure, edge: Edge) -> Vec<Tried> {
        let (mut needs, mut trace) = (Vec::new(), Vec::new());
        let mut builder = Builder::new(self, view, plan, closure.root, &mut needs);
        builder.modules.clone_from(&closure.modules);
        builder.search(edge.name, edge.from, Some(&mut trace));
        trace
    }
}

/// The state of one breadth-first run.
struct Builder<'a, 'v> {
    resolver: &'a mut Resolver,
    view: View<'v>,
    plan: &'a Plan,
    root: Root,
    needs: &'a mut Vec<Need>,
    modules: Vec<Module>,
    /// `$ORIGIN` of each module.
    origins: Vec<Option<StrId>>,
    edges: Vec<Edge>,
    list: Vec<u32>,
    queue: Vec<Queued>,
    /// Which modules are in `queue`.
    queued: Vec<bool>,
    /// A filter has moved objects: list order is not the order of loading any more.
    moved: bool,
    by_cpu: bool,
    by_cwd: bool,
    /// The last search passed over a file of another class.
    other_class: bool,
    /// A fact is missing; somebody has asked for it.
    incomplete: bool,
}

/// One entry of the breadth-first list.
#[derive(Clone, Copy)]
struct Queued {
    module: u32,
    done: bool,
}

/// How `Builder::map` ended.
enum Mapped {
    Module(u32, How),
    Fatal(Fatal),
    Unknown,
}

impl<'a, 'v> Builder<'a, 'v> {
    fn new(
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
            modules: Vec::new(),
            origins: Vec::new(),
            edges: Vec::new(),
            list: Vec::new(),
            queue: Vec::new(),
            queued: Vec::new(),
            moved: false,
            by_cpu: false,
            by_cwd: false,
            other_class: false,
            incomplete: false,
        }
    }

    fn loader(&self) -> &Loader {
        self.resolver.loaders.get(self.root.loader)
    }

    fn run(mut self) -> Option<Closure> {
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
        let mut closure = Closure {
            root: self.root,
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
        let release = self.resolver.loaders.get(closure.root.loader).release;
        closure.order = order::relocation_order(&closure, release);
        if self.plan.as_ldd {
            versions::limit_tables(&mut closure, self.view, &self.resolver.strings);
        }
        Some(closure)
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

    fn register(&mut self, name: StrId, module: u32) {
        self.resolver.by_name.add(name.index(), module);
    }

    fn push(&mut self, module: Module) -> u32 {
        self.modules.push(module);
        self.origins.push(None);
        self.queued.push(false);
        u32::try_from(self.modules.len() - 1).unwrap_or(u32::MAX)
    }

    fn names(&mut self, file: FileId) -> Option<Arc<Names>> {
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
                    self.edges.push(Edge { from: module, name, kind: *kind, to, how });
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
        // What comes before the root is behind the begin of the list that is shown and checked.
        if let Some(before) = self.list.iter().position(|entry| *entry == filter) {
            self.list.insert(before, target);
        }
    }

    /// Tokens in a need (`expand_dst`); nothing if one has no value.
    fn expand_need(&mut self, raw: StrId, has_token: bool, module: u32) -> Option<StrId> {
        if !has_token {
            return Some(raw);
        }
        let origin = self.origin(module);
        let loader = self.resolver.loaders.get(self.root.loader);
        let values = tokens::Tokens {
            origin: self.resolver.strings.text(origin),
            lib: &loader.lib,
            platform: loader.platform.map(str::as_bytes),
        };
        let text = tokens::expand(self.resolver.strings.text(raw), values)?;
        (!text.is_empty()).then(|| self.resolver.strings.id(&text))
    }

    /// `$ORIGIN` of a module. Of a program that the kernel starts, and since glibc 2.42 under ldd
    /// too, it is the directory of its real path (9b646f5dc9).
    fn origin(&mut self, module: u32) -> StrId {
        if let Some(origin) = self.origins.get(module as usize).copied().flatten() {
            return origin;
        }
        let m = &self.modules[module as usize];
        let program =
            self.view.object(self.root.file).is_some_and(|object| object.interp.is_some());
        let real = module == ROOT
            && if self.plan.as_ldd { self.loader().release >= (2, 42) } else { program };
        let cwd = self.plan.cwd.as_os_str().as_bytes();
        let text = if real {
            let path = self.view.file(self.root.file).path.as_os_str().as_bytes();
            tokens::origin(path, cwd)
        } else {
            tokens::origin(self.resolver.strings.text(m.path), cwd)
        };
        let id = self.resolver.strings.id(&text);
        if let Some(slot) = self.origins.get_mut(module as usize) {
            *slot = Some(id);
        }
        id
    }

    /// `_dl_map_object`: an object that is there already, one that a search finds, or a stub.
    fn map(&mut self, name: StrId, requester: u32, how: How) -> Mapped {
        if let Some(module) = self.known(name) {
            return Mapped::Module(module, How::Loaded);
        }
        let Some(found) = self.search(name, requester, None) else {
            self.incomplete = true;
            return Mapped::Unknown;
        };
        match found {
            Found::File(file, path, found_how) => {
                let how = if how == How::Preload { how } else { found_how };
                self.map_file(file, path, name, requester, how)
            }
            Found::Nothing => {
                let module = self.add_module(None, name, name, requester, How::Missing);
                Mapped::Module(module, How::Missing)
            }
            Found::Stop(..) => match fatal(found, requester) {
                Some(fatal) => Mapped::Fatal(fatal),
                None => Mapped::Unknown,
            },
        }
    }

    /// The first object in list order that answers to `name` by a name or its DT_SONAME.
    fn known(&mut self, name: StrId) -> Option<u32> {
        let mut hit = self.resolver.by_name.get(name.index())?;
        if self.moved {
            let answers = |index: u32| {
                let m = &self.modules[index as usize];
                m.how != How::Missing && m.answers(name)
            };
            hit = [ROOT, LOADER]
                .into_iter()
                .chain(self.list.iter().copied())
                .find(|index| answers(*index))
                .unwrap_or(hit);
        }
        let module = &mut self.modules[hit as usize];
        if !module.answers(name) {
            module.aliases.push(name);
        }
        Some(hit)
    }

    fn search(
        &mut self,
        name: StrId,
        requester: u32,
        trace: Option<&mut Vec<Tried>>,
    ) -> Option<Found> {
        self.origins.resize(self.modules.len(), None);
        let mut walk = Vec::new();
        let names = self.modules[requester as usize].file.and_then(|file| self.names(file));
        let runpath = names.as_ref().and_then(|names| names.runpath);
        if runpath.is_none() {
            let mut here = Some(requester);
            while let Some(module) = here {
                let m = &self.modules[module as usize];
                let (file, next) = (m.file, m.requester);
                if let Some(names) = file.and_then(|file| self.names(file))
                    && let (Some(rpath), None) = (names.rpath, names.runpath)
                {
                    walk.push((module, rpath, self.origin(module)));
                }
                here = next;
            }
        }
        let runpath = runpath.map(|text| (text, self.origin(requester)));
        let nodeflib = self.modules[requester as usize]
            .file
            .and_then(|file| self.view.object(file))
            .is_some_and(|object| object.nodeflib);
        let Resolver { strings, loaders, memo, .. } = &mut *self.resolver;
        let mut search = Search {
            view: self.view,
            plan: self.plan,
            loader: loaders.get(self.root.loader),
            strings,
            memo,
            needs: self.needs,
            trace,
            by_cpu: false,
            by_cwd: false,
            other_class: false,
        };
        let rpaths: Vec<(u32, Arc<DirList>)> = walk
            .into_iter()
            .map(|(module, text, origin)| (module, search.dirs(text, origin)))
            .collect();
        let runpath = runpath.map(|(text, origin)| search.dirs(text, origin));
        let found = search.find(name, &Requester { rpaths: &rpaths, runpath, nodeflib });
        self.by_cpu |= search.by_cpu;
        self.by_cwd |= search.by_cwd;
        self.other_class = search.other_class;
        found
    }

    /// `_dl_map_object_from_fd`: the same inode is the same object, else the file is mapped.
    fn map_file(&mut self, file: FileId, path: StrId, name: StrId, requester: u32, how: How) -> Mapped {
        if let Some(module) = self.resolver.by_file.get(file.index()) {
            self.modules[module as usize].aliases.push(name);
            self.register(name, module);
            return Mapped::Module(module, how);
        }
        if let Some(text) = self.view.object(file).and_then(|object| object.refused) {
            return Mapped::Fatal(Fatal { object: name, file: Some(file), requester, text });
        }
        let module = self.add_module(Some(file), name, path, requester, how);
        self.resolver.by_file.add(file.index(), module);
        let soname = self.names(file).and_then(|names| names.soname);
        for name in [name, path].into_iter().chain(soname) {
            self.register(name, module);
        }
        Mapped::Module(module, how)
    }

    fn add_module(
        &mut self,
        file: Option<FileId>,
        name: StrId,
        path: StrId,
        requester: u32,
        how: How,
    ) -> u32 {
        let module = self.push(Module {
            file,
            name,
            path,
            aliases: Vec::new(),
            requester: Some(requester),
            how,
            edges: (0, 0),
            version_limit: u16::MAX,
        });
        self.list.push(module);
        module
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
