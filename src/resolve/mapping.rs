//! Maps one need of one module: to an object loaded before, to the file that a search finds, or to
//! a stub (`elf/dl-load.c`, `_dl_map_object`). `closure` decides the order of needs.

use super::cache::Cache;
use super::loader::config;
use super::names::{NameTable, ObjectNames};
use super::paths;
use super::search::Search;
use super::search_result::{Requester, SearchFlags, SearchOutcome};
use super::state::{Inherited, LinkMapState};
use super::trace::Trace;
use super::{Fatal, FoundBy, Module, ROOT, tokens};
use crate::format::elf::GlibcVersion;
use crate::id::{FileId, ModuleId, StrId};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// The first glibc release in which ldd, too, takes the program's `$ORIGIN` from its real path
/// (9b646f5dc9).
const LDD_REAL_ORIGIN: GlibcVersion = GlibcVersion::new(2, 42);

/// Builds a link map: its state, the search for files, and the names of objects.
pub(super) struct LinkMapBuilder<'a> {
    pub(super) state: Box<LinkMapState>,
    pub(super) search: Search<'a>,
    pub(super) names: &'a mut NameTable,
    /// Cached [`Requester`] of objects without RPATH, RUNPATH and DF_1_NODEFLIB.
    pub(super) plain: Option<Arc<Requester>>,
    /// True if the last search skipped a file of another ELF class.
    pub(super) other_class: bool,
    /// True if the last search tried a path that leads to a different file in each process.
    pub(super) by_process: bool,
    /// True once a fact is missing. The fact has been requested.
    pub(super) incomplete: bool,
}

/// The result of mapping one need.
pub(super) enum Mapped {
    Module(ModuleId, FoundBy),
    Fatal(Fatal),
    Unknown,
}

/// A file that a search found, or that is opened by its path.
#[derive(Clone, Copy)]
pub(super) struct FileToMap {
    pub(super) file: FileId,
    pub(super) path: StrId,
    pub(super) how: FoundBy,
}

/// A needed name after tokens are replaced, and the module that needs it.
#[derive(Clone, Copy)]
pub(super) struct RequestedNeed {
    pub(super) name: StrId,
    pub(super) requester: ModuleId,
}

impl LinkMapBuilder<'_> {
    /// The names of a file's object; `None` if the file is not an object.
    pub(super) fn names_of(&mut self, file: FileId) -> Option<Arc<ObjectNames>> {
        self.names.of(file, self.search.store, self.search.strings).cloned()
    }

    /// Adds a module without registering a name.
    pub(super) fn push(&mut self, module: Module) -> ModuleId {
        let names = module.file.and_then(|file| self.names_of(file));
        self.state.push(module, names)
    }

    /// Replaces the tokens in a needed name (`expand_dst`). `None` if a token has no value, or if
    /// the result is empty.
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
        let Search { loader, strings, .. } = &mut self.search;
        let values = paths::values(loader, strings.text(origin));
        let text = tokens::expand(strings.text(raw), values)?;
        (!text.is_empty()).then(|| strings.id(&text))
    }

    /// `$ORIGIN` of a module. For a program that the kernel starts, the value is the directory of
    /// the real path (since glibc 2.42 under ldd too). If the program has several hard links, the
    /// directory is that of the link that is started. For any other module, the value is the
    /// directory of the path that was opened.
    fn origin(&mut self, module: ModuleId) -> StrId {
        if let Some(origin) = self.state.working[module].origin {
            return origin;
        }
        let Search { store, plan, loader, strings, .. } = &mut self.search;
        let file = self.state.root.program();
        let program = store.object(file).is_some_and(|object| object.interp.is_some());
        let real =
            module == ROOT && if plan.as_ldd { loader.release >= LDD_REAL_ORIGIN } else { program };
        let cwd = plan.cwd.as_os_str().as_bytes();
        let text = if real {
            let facts = store.file(file);
            let started = strings.text(self.state.modules[module].path);
            let path = facts.started_as(started, &plan.cwd);
            tokens::origin(path.as_os_str().as_bytes(), cwd)
        } else {
            tokens::origin(strings.text(self.state.modules[module].path), cwd)
        };
        let id = strings.id(&text);
        self.state.working[module].origin = Some(id);
        id
    }

    /// `_dl_map_object`: finds an object loaded before, searches for a file, or makes a stub.
    pub(super) fn map(&mut self, asking: RequestedNeed, how: FoundBy) -> Mapped {
        let RequestedNeed { name, requester } = asking;
        if let Some(module) = self.state.known(name) {
            return Mapped::Module(module, FoundBy::Loaded);
        }
        // If the policy is a whitelist, a search finds only files of the prefix, and a found file
        // wins over a provided library.
        let is_closed = self.search.plan.policy.is_closed();
        let is_provided = self.search.provides(name);
        if is_provided && !is_closed {
            return self.add_stub(asking, FoundBy::Provided);
        }
        let Some(found) = self.search(asking, None) else {
            self.incomplete = true;
            return Mapped::Unknown;
        };
        match found {
            SearchOutcome::File(file, path, found_how) => {
                let how = if how == FoundBy::Preload { how } else { found_how };
                self.map_file(asking, FileToMap { file, path, how })
            }
            // If a path leads to a different file in each process, the need is treated as provided.
            SearchOutcome::Nothing
                if is_provided || self.search.loader.is_absent || self.by_process =>
            {
                self.add_stub(asking, FoundBy::Provided)
            }
            SearchOutcome::Nothing => self.add_stub(asking, FoundBy::Missing),
            SearchOutcome::Stop(object, file, text) => {
                Mapped::Fatal(Fatal { object, file, requester, text })
            }
        }
    }

    fn add_stub(
        &mut self,
        RequestedNeed { name, requester }: RequestedNeed,
        how: FoundBy,
    ) -> Mapped {
        let module = self.push(Module::new(None, name, name, Some(requester), how));
        self.state.list.push(module);
        Mapped::Module(module, how)
    }

    /// `_dl_map_object_from_fd`: reuses the object with the same inode, or else maps the file.
    pub(super) fn map_file(&mut self, asking: RequestedNeed, opened: FileToMap) -> Mapped {
        let (RequestedNeed { name, requester }, FileToMap { file, path, how }) = (asking, opened);
        let state = &mut self.state;
        let known = state.by_file.get(&file).copied();
        if let Some(module) = known.filter(|module| !state.hidden.contains(module)) {
            state.modules[module].aliases.push(name);
            state.register(name, module);
            return Mapped::Module(module, how);
        }
        let names = self.names_of(file);
        let names = names.as_ref();
        let fatal = |text| Mapped::Fatal(Fatal { object: name, file: Some(file), requester, text });
        if let Some(text) = names.and_then(|names| names.refused) {
            return fatal(text);
        }
        if self.state.base.is_some() && names.is_some_and(|names| names.noopen) {
            return fatal("shared object cannot be dlopen()ed");
        }
        let state = &mut self.state;
        let module = Module::new(Some(file), name, path, Some(requester), how);
        let module = state.push(module, names.cloned());
        state.list.push(module);
        state.by_file.insert(file, module);
        let soname = names.and_then(|names| names.soname).filter(|soname| *soname != name);
        for name in [name, path].into_iter().chain(soname) {
            state.register(name, module);
        }
        Mapped::Module(module, how)
    }

    /// Searches for a need; `None` if a fact is missing.
    pub(super) fn search(
        &mut self,
        asking: RequestedNeed,
        trace: Option<&mut Trace>,
    ) -> Option<SearchOutcome> {
        let requester = self.requester(asking.requester)?;
        let answer = self.search.find(asking.name, &requester, trace)?;
        let SearchFlags { by_cpu, by_cwd, by_process, other_class } = answer.seen;
        self.state.by_cpu |= by_cpu;
        self.state.by_cwd |= by_cwd;
        self.state.by_process |= by_process;
        self.by_process = by_process;
        self.other_class = other_class;
        Some(answer.found)
    }

    /// The [`Requester`] for the needs of a module; `None` if a fact is missing.
    fn requester(&mut self, module: ModuleId) -> Option<Arc<Requester>> {
        if let Some(known) = &self.state.working[module].requester {
            return Some(Arc::clone(known));
        }
        let is_plain = self.state.names(module).is_none_or(|names| names.is_plain());
        let is_plain = is_plain && !self.state.has_rpath;
        if let Some(plain) = self.plain.as_ref().filter(|_| is_plain) {
            return Some(Arc::clone(plain));
        }
        let package_cache = self.package_cache().ok()?;
        let names = self.state.names(module).cloned();
        let runpath = names.as_ref().and_then(|names| names.runpath);
        let asks_above = runpath.is_none() && self.state.has_rpath;
        let rpaths = if asks_above { self.inherited(module) } else { Vec::new() };
        let origin = runpath.map(|text| (text, self.origin(module)));
        let library_path = self.library_path();
        let mut requester = Requester {
            rpaths,
            library_path,
            runpath: origin.map(|(text, origin)| self.search.dirs(text, origin)),
            nodeflib: names.is_some_and(|names| names.nodeflib),
            package_cache,
            context: None,
        };
        requester.context = self.search.cache.context(self.search.loader, &requester);
        let requester = Arc::new(requester);
        if is_plain {
            self.plain = Some(Arc::clone(&requester));
        } else {
            self.state.working[module].requester = Some(Arc::clone(&requester));
        }
        Some(requester)
    }

    /// DT_RPATH lists for the needs of `module`: the list of the module, of its requester, of the
    /// requester's requester and so on. A list that directly repeats the previous one is dropped,
    /// because it cannot find another file.
    fn inherited(&mut self, module: ModuleId) -> Vec<(ModuleId, Arc<paths::DirList>)> {
        let mut todo = Vec::new();
        let mut here = Some(module);
        while let Some(module) = here.filter(|at| self.state.working[*at].rpaths.is_none()) {
            todo.push(module);
            here = self.state.above(module);
        }
        for module in todo.into_iter().rev() {
            let text = self.state.names(module).and_then(|names| names.counting_rpath());
            let origin = text.map(|text| (text, self.origin(module)));
            let own = origin.map(|(text, origin)| self.search.dirs(text, origin));
            let mut next = self.state.above(module).and_then(|above| self.first_list(above));
            if let (Some(own), Some((_, above))) = (&own, next.and_then(|at| self.list_of(at)))
                && Arc::ptr_eq(own, &above)
            {
                next = next.and_then(|at| self.state.working[at].rpaths.as_ref()?.next);
            }
            self.state.working[module].rpaths = Some(Inherited { own, next });
        }
        let first = self.first_list(module).and_then(|at| self.list_of(at));
        let next =
            |(at, _): &(ModuleId, _)| self.list_of(self.state.working[*at].rpaths.as_ref()?.next?);
        std::iter::successors(first, next).collect()
    }

    /// The first module whose DT_RPATH applies to the needs of `module`: the module itself, or one
    /// of its requesters.
    fn first_list(&self, module: ModuleId) -> Option<ModuleId> {
        let inherited = self.state.working[module].rpaths.as_ref()?;
        if inherited.own.is_some() { Some(module) } else { inherited.next }
    }

    fn list_of(&self, module: ModuleId) -> Option<(ModuleId, Arc<paths::DirList>)> {
        let list = self.state.working[module].rpaths.as_ref()?.own.as_ref()?;
        Some((module, Arc::clone(list)))
    }

    /// For Guix's loader: the ld.so.cache in the program's store item. `None` for other loaders,
    /// and if that cache cannot be used. `Err` if the file has not been read yet.
    fn package_cache(&mut self) -> Result<Option<Arc<Cache>>, ()> {
        const STORE: &[u8] = b"/gnu/store/";
        let Search { store, loader, strings, cache, needs, .. } = &mut self.search;
        if !loader.package_cache {
            return Ok(None);
        }
        let real = store.file(self.state.root.program()).real.as_os_str().as_bytes();
        let Some(below) = real.strip_prefix(STORE) else { return Ok(None) };
        let item = below.split(|b| *b == b'/').next().unwrap_or_default();
        let path = [STORE, item, b"/etc/ld.so.cache"].concat();
        let id = strings.id(&path);
        if let Some(cache) = cache.packages.get(&id) {
            return Ok(cache.clone());
        }
        let package = config::cache(*store, &path, loader.target.big, &mut cache.package_faults);
        let package = package.map_err(|need| needs.push(need))?.map(Arc::new);
        cache.packages.insert(id, package.clone());
        Ok(package)
    }

    /// The directories of LD_LIBRARY_PATH; `None` if it is empty. `$ORIGIN` has the value that it
    /// has in the program (`_dl_init_paths`), and semicolons separate entries as colons do.
    fn library_path(&mut self) -> Option<Arc<paths::DirList>> {
        let text = &self.search.plan.ld_library_path;
        if text.is_empty() {
            return None;
        }
        let text: Vec<u8> = text.iter().map(|b| if *b == b';' { b':' } else { *b }).collect();
        let varies = text.contains(&b'$');
        let text = self.search.strings.id(&text);
        let origin = if varies { self.origin(ROOT) } else { text };
        Some(self.search.dirs(text, origin))
    }
}
