//! One need of one module: an object that is there already, the file a search leads to, or a stub
//! (`elf/dl-load.c`, `_dl_map_object`). The order of needs is `closure`'s business.

use super::cache::Cache;
use super::closure::{Builder, Mapped};
use super::paths::DirList;
use super::resolver::Resolver;
use super::search::{Found, Requester, Search, fatal};
use super::trace::Trace;
use super::{Fatal, How, LOADER, Module, ROOT, tokens};
use crate::format::elf::Object;
use crate::id::{FileId, Id as _, ModuleId, StrId};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// DT_RPATH as one module's needs see it.
#[derive(Clone)]
pub(super) struct Inherited {
    /// The module's own list.
    own: Option<Arc<DirList>>,
    /// The next module above it that has a list, and another one.
    next: Option<ModuleId>,
}

impl Builder<'_, '_> {
    /// Tokens in a need (`expand_dst`); nothing if one has no value.
    pub(super) fn expand_need(
        &mut self,
        raw: StrId,
        has_token: bool,
        module: ModuleId,
    ) -> Option<StrId> {
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
    fn origin(&mut self, module: ModuleId) -> StrId {
        if let Some(origin) = self.origins.get(module.index()).copied().flatten() {
            return origin;
        }
        let m = &self.modules[module.index()];
        let file = self.root.program();
        let program = self.view.object(file).is_some_and(|object| object.interp.is_some());
        let real = module == ROOT
            && if self.plan.as_ldd { self.loader().release >= (2, 42) } else { program };
        let cwd = self.plan.cwd.as_os_str().as_bytes();
        let text = if real {
            let path = self.view.file(file).real.as_os_str().as_bytes();
            tokens::origin(path, cwd)
        } else {
            tokens::origin(self.resolver.strings.text(m.path), cwd)
        };
        let id = self.resolver.strings.id(&text);
        if let Some(slot) = self.origins.get_mut(module.index()) {
            *slot = Some(id);
        }
        id
    }

    /// `_dl_map_object`: an object that is there already, one that a search finds, or a stub.
    pub(super) fn map(&mut self, name: StrId, requester: ModuleId, how: How) -> Mapped {
        if let Some(module) = self.known(name) {
            return Mapped::Module(module, How::Loaded);
        }
        if self.plan.policy.provides(self.resolver.strings.text(name)) {
            let module = self.add_module(None, name, name, requester, How::Provided);
            return Mapped::Module(module, How::Provided);
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
    pub(super) fn known(&mut self, name: StrId) -> Option<ModuleId> {
        let mut hit = self.by_name.get(name.index())?;
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
        let module = &mut self.modules[hit.index()];
        if !module.answers(name) {
            module.aliases.push(name);
        }
        Some(hit)
    }

    /// True if an object that was found answers to `name` by a name or its DT_SONAME.
    fn is_called(&self, index: ModuleId, name: StrId) -> bool {
        let module = &self.modules[index.index()];
        let soname = || {
            let object = module.file.and_then(|file| self.view.object(file));
            object.and_then(Object::soname) == Some(self.resolver.strings.text(name))
        };
        !module.is_stub() && (module.answers(name) || soname())
    }

    pub(super) fn search(
        &mut self,
        name: StrId,
        requester: ModuleId,
        trace: Option<&mut Trace>,
    ) -> Option<Found> {
        self.origins.resize(self.modules.len(), None);
        self.rpaths.resize(self.modules.len(), None);
        let names = self.modules[requester.index()].file.and_then(|file| self.names(file));
        let runpath = names.as_ref().and_then(|names| names.runpath);
        let asks_above = runpath.is_none() && self.has_rpath;
        let rpaths = if asks_above { self.inherited(requester) } else { Vec::new() };
        let runpath = runpath.map(|text| self.dirs_of(text, requester));
        let library_path = self.library_path();
        let package_cache = self.package_cache().ok()?;
        let nodeflib = self.modules[requester.index()]
            .file
            .and_then(|file| self.view.object(file))
            .is_some_and(|object| object.nodeflib);
        let mut search = self.searcher(trace);
        let requester =
            Requester { rpaths: &rpaths, library_path, runpath, nodeflib, package_cache };
        let found = search.find(name, &requester);
        let Search { by_cpu, by_cwd, other_class, .. } = search;
        self.by_cpu |= by_cpu;
        self.by_cwd |= by_cwd;
        self.other_class = other_class;
        found
    }

    fn searcher<'s>(&'s mut self, trace: Option<&'s mut Trace>) -> Search<'s, 's> {
        let Resolver { strings, loaders, memo, .. } = &mut *self.resolver;
        Search {
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
        }
    }

    /// The directories of a path list of `module`.
    fn dirs_of(&mut self, text: StrId, module: ModuleId) -> Arc<DirList> {
        let origin = self.origin(module);
        self.searcher(None).dirs(text, origin)
    }

    /// DT_RPATH lists for the needs of `module`: its own, its requester's and so on. A list that
    /// comes again right behind itself finds nothing new.
    fn inherited(&mut self, module: ModuleId) -> Vec<(ModuleId, Arc<DirList>)> {
        let mut todo = Vec::new();
        let mut here = Some(module);
        while let Some(module) = here.filter(|module| self.rpaths[module.index()].is_none()) {
            todo.push(module);
            here = self.above(module);
        }
        for module in todo.into_iter().rev() {
            let file = self.modules[module.index()].file;
            let names = file.and_then(|file| self.names(file));
            let text = names.filter(|names| names.runpath.is_none()).and_then(|names| names.rpath);
            let own = text.map(|text| self.dirs_of(text, module));
            let mut next = self.above(module).and_then(|above| self.first_list(above));
            if let (Some(own), Some((_, above))) = (&own, next.and_then(|at| self.list_of(at)))
                && Arc::ptr_eq(own, &above)
            {
                next = next.and_then(|at| self.rpaths[at.index()].as_ref()?.next);
            }
            self.rpaths[module.index()] = Some(Inherited { own, next });
        }
        let first = self.first_list(module).and_then(|at| self.list_of(at));
        let next =
            |(at, _): &(ModuleId, _)| self.list_of(self.rpaths.get(at.index())?.as_ref()?.next?);
        std::iter::successors(first, next).collect()
    }

    /// Whose DT_RPATH comes next: the requester's, and at the end the program's.
    fn above(&self, module: ModuleId) -> Option<ModuleId> {
        let hosted = self.base.is_some() && module == self.start && module != ROOT;
        self.modules[module.index()].requester.or(hosted.then_some(ROOT))
    }

    /// The module whose list is the first for the needs of `module`.
    fn first_list(&self, module: ModuleId) -> Option<ModuleId> {
        let inherited = self.rpaths.get(module.index())?.as_ref()?;
        if inherited.own.is_some() { Some(module) } else { inherited.next }
    }

    fn list_of(&self, module: ModuleId) -> Option<(ModuleId, Arc<DirList>)> {
        let list = self.rpaths.get(module.index())?.as_ref()?.own.as_ref()?;
        Some((module, Arc::clone(list)))
    }

    /// The cache of the store item that the root lies in, under Guix's loader; an error if it has
    /// not been read.
    fn package_cache(&mut self) -> Result<Option<Arc<Cache>>, ()> {
        const STORE: &[u8] = b"/gnu/store/";
        if !self.loader().package_cache {
            return Ok(None);
        }
        let real = self.view.file(self.root.program()).real.as_os_str().as_bytes();
        let Some(below) = real.strip_prefix(STORE) else { return Ok(None) };
        let item = below.split(|b| *b == b'/').next().unwrap_or_default();
        let path = [STORE, item, b"/etc/ld.so.cache"].concat();
        let id = self.resolver.strings.id(&path);
        if let Some(cache) = self.resolver.memo.caches.get(&id) {
            return Ok(cache.clone());
        }
        let bytes = self.view.bytes(&path).map_err(|need| self.needs.push(need))?;
        let big = self.loader().target.big;
        let cache = bytes.ok().and_then(|bytes| Cache::parse(bytes.into(), big)).map(Arc::new);
        self.resolver.memo.caches.insert(id, cache.clone());
        Ok(cache)
    }

    /// LD_LIBRARY_PATH with the root's `$ORIGIN` (`_dl_init_paths`), a semicolon made a colon.
    fn library_path(&mut self) -> Option<Arc<DirList>> {
        let text = &self.plan.ld_library_path;
        if text.is_empty() {
            return None;
        }
        let text: Vec<u8> = text.iter().map(|b| if *b == b';' { b':' } else { *b }).collect();
        let varies = text.contains(&b'$');
        let text = self.resolver.strings.id(&text);
        let origin = if varies { self.origin(ROOT) } else { text };
        Some(self.searcher(None).dirs(text, origin))
    }

    /// `_dl_map_object_from_fd`: the same inode is the same object, else the file is mapped.
    pub(super) fn map_file(
        &mut self,
        file: FileId,
        path: StrId,
        name: StrId,
        requester: ModuleId,
        how: How,
    ) -> Mapped {
        let known = self.by_file.get(file.index());
        if let Some(module) = known.filter(|module| !self.hidden.contains(module)) {
            self.modules[module.index()].aliases.push(name);
            self.register(name, module);
            return Mapped::Module(module, how);
        }
        if let Some(text) = self.view.object(file).and_then(|object| object.refused) {
            return Mapped::Fatal(Fatal { object: name, file: Some(file), requester, text });
        }
        if self.base.is_some() && self.view.object(file).is_some_and(|object| object.noopen) {
            let text = "shared object cannot be dlopen()ed";
            return Mapped::Fatal(Fatal { object: name, file: Some(file), requester, text });
        }
        let module = self.add_module(Some(file), name, path, requester, how);
        self.by_file.set(file.index(), module);
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
        requester: ModuleId,
        how: How,
    ) -> ModuleId {
        let module = self.push(Module::new(file, name, path, Some(requester), how));
        self.list.push(module);
        module
    }
}
