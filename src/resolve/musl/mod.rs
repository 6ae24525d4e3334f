//! Builds the link map of one entry point by the rules of musl's loader (`ldso/dynlink.c`). musl
//! has its own search order, its own built-in names, and its own rule to recognise a loaded
//! library. It never reads DT_SONAME. For a need, it searches the search paths of the requester, of
//! the requester's own requester, and so on. It loads the first file that it can open.
//!
//! `resolver` uses this module for entry points whose loader is musl's; `bind::musl` binds by
//! musl's rules.

mod find;
pub(super) mod names;

pub use names::builtin;

use self::find::errno_text;
use super::chain::Depths;
use super::names::NameTable;
use super::search::Search;
use super::search_result::Opening;
use super::trace::{Trace, Tried};
use super::{
    Closure, Edge, EntryPoint, Fatal, FoundBy, LOADER, LinkMap, LoadFailure, Module, ROOT,
};
use crate::facts::{Content, Need, PathState};
use crate::format::elf::{NeedKind, Object, Role};
use crate::id::{FastMap, FileId, Id as _, ModuleId, StrId};
use crate::text::last_part;
use std::sync::Arc;

/// Maximum length of a file name, in bytes (`NAME_MAX` of `limits.h`).
const NAME_MAX: usize = 255;

/// The state of the build of one link map.
pub(super) struct MuslLoad<'a> {
    search: Search<'a>,
    table: &'a mut NameTable,
    root: EntryPoint,
    modules: Vec<Module>,
    edges: Vec<Edge>,
    failures: Vec<LoadFailure>,
    /// The loader's list, the program first.
    chain: Vec<ModuleId>,
    /// The module with each `shortname`: the file name by which a search found an object.
    by_name: FastMap<StrId, ModuleId>,
    /// For each module, true if it has a `shortname`.
    named: Vec<bool>,
    by_file: FastMap<FileId, ModuleId>,
    by_cwd: bool,
    by_process: bool,
    /// musl's text for the last value of `errno`.
    errno: &'static str,
    trace: Option<Trace>,
}

/// The result of loading the library with one name.
enum Loaded {
    Module(ModuleId, FoundBy),
    /// The library was not loaded. The fields are the file that was opened, if any, and musl's text
    /// for the error number.
    Failed(Option<FileId>, &'static str),
    /// A fact is missing and has been requested.
    Unknown,
}

impl<'a> MuslLoad<'a> {
    pub(super) fn new(search: Search<'a>, table: &'a mut NameTable, root: EntryPoint) -> Self {
        let (path, file) = (search.loader.path, search.loader.file);
        let empty = search.strings.id(b"");
        let module = |file, name, path, how| Module::new(file, name, path, None, how);
        let modules = vec![
            module(Some(root.file), empty, root.path, FoundBy::Root),
            module(file, path, path, FoundBy::Builtin),
        ];
        Self {
            search,
            table,
            root,
            modules,
            edges: Vec::new(),
            failures: Vec::new(),
            chain: vec![ROOT],
            by_name: FastMap::default(),
            named: vec![true, true],
            by_file: FastMap::default(),
            by_cwd: false,
            by_process: false,
            errno: "No error information",
            trace: None,
        }
    }

    pub(super) fn run(mut self) -> Option<LinkMap> {
        let complete = self.preload();
        if !self.visit_from(0) || !complete {
            return None;
        }
        if !self.chain.contains(&LOADER) && !self.search.loader.is_absent {
            self.chain.push(LOADER);
        }
        // musl relocates the program last: its copy relocations copy data that the libraries' own
        // relocations fill.
        let mut order = self.chain[1..].to_vec();
        order.push(ROOT);
        Some(LinkMap {
            base: None,
            renamed: Vec::new(),
            start: ROOT,
            moved: false,
            hidden: Vec::new(),
            modules: self.modules,
            edges: self.edges,
            list: self.chain[1..].to_vec(),
            scope: self.chain,
            found: Vec::new(),
            order,
            fatal: None,
            preload_failures: Vec::new(),
            failures: self.failures,
            by_cpu: false,
            by_cwd: self.by_cwd,
            by_process: self.by_process,
            depths: Depths::default(),
        })
    }

    /// Resolves the needs of the objects in `chain` from index `at` on, and of the objects that
    /// they load (`load_deps`). False if a fact is missing.
    fn visit_from(&mut self, mut at: usize) -> bool {
        let mut complete = true;
        while at < self.chain.len() {
            let module = self.chain[at];
            at += 1;
            if module != LOADER {
                complete &= self.visit(module);
            }
        }
        complete
    }

    /// The result of a call of dlopen for `name`; `None` if a fact is missing. The calling module
    /// does not matter: musl searches as for a need of the program.
    pub(super) fn open(mut self, modules: Vec<Module>, name: StrId) -> Option<Opening> {
        self.modules = modules;
        match self.find(name, Some(ROOT)) {
            Ok((_, PathState::File(_), _)) | Err(Loaded::Module(..)) => Some(Opening::Opened),
            Ok(_) | Err(Loaded::Failed(..)) => Some(Opening::NotFound),
            Err(Loaded::Unknown) => None,
        }
    }

    /// The paths that musl tries for a need, as evidence.
    pub(super) fn tried(mut self, modules: Vec<Module>, edge: &Edge, trace: Trace) -> Vec<Tried> {
        self.modules = modules;
        self.trace = Some(trace);
        // All facts are known by now, and only the trace is of interest.
        let _ = self.find(edge.name, Some(edge.from));
        self.trace.map_or_else(Vec::new, |trace| trace.kept)
    }

    /// Loads the libraries of LD_PRELOAD (`load_preload`). musl silently skips a library that it
    /// cannot load. False if a fact is missing.
    fn preload(&mut self) -> bool {
        let plan = self.search.plan;
        let names = plan.ld_preload.split(|b| b.is_ascii_whitespace() || *b == b':');
        let mut complete = true;
        for name in names.filter(|name| !name.is_empty()) {
            let name = self.search.strings.id(name);
            if matches!(self.load(name, None), Loaded::Unknown) {
                complete = false;
            }
        }
        complete
    }

    /// Resolves the needs of one module (`load_direct_deps`). False if a fact is missing.
    fn visit(&mut self, module: ModuleId) -> bool {
        let Some(file) = self.modules[module.index()].file else { return true };
        let Search { store, strings, .. } = &mut self.search;
        let Some(names) = self.table.of(file, *store, strings).cloned() else { return true };
        let first = self.edges.len();
        let mut complete = true;
        for need in names.needs.iter().filter(|need| need.kind == NeedKind::Needed) {
            let (name, kind) = (need.raw, need.kind);
            let (to, how) = match self.load(name, Some(module)) {
                Loaded::Module(to, how) => (to, how),
                Loaded::Unknown => {
                    complete = false;
                    continue;
                }
                Loaded::Failed(file, text) => {
                    self.errno = text;
                    let to = self.push(None, name, name, Some(module), FoundBy::Missing);
                    self.failures.push(LoadFailure { module: to, file, text });
                    (to, FoundBy::Missing)
                }
            };
            self.edges.push(Edge { from: module, raw: name, name, kind, to, how });
        }
        let end = self.edges.len();
        self.modules[module.index()].edges = first..end;
        complete
    }

    /// Loads one library (`load_library`). If the system has no musl loader, a library that was not
    /// found is treated as provided.
    fn load(&mut self, name: StrId, requester: Option<ModuleId>) -> Loaded {
        match self.load_library(name, requester) {
            Loaded::Failed(None, _) if self.search.loader.is_absent => {
                let module = self.push(None, name, name, requester, FoundBy::Provided);
                Loaded::Module(module, FoundBy::Provided)
            }
            loaded => loaded,
        }
    }

    fn load_library(&mut self, name: StrId, requester: Option<ModuleId>) -> Loaded {
        let text = self.search.strings.text(name);
        if text.is_empty() {
            return Loaded::Failed(None, "Invalid argument");
        }
        // musl's libc is the loader itself. If the loader's binary is absent, the names of musl's
        // libc are treated like any other name.
        let is_own = builtin(text).is_some() || name == self.modules[LOADER.index()].path;
        if is_own && self.search.loader.file.is_some() {
            if !self.chain.contains(&LOADER) {
                self.chain.push(LOADER);
            }
            return Loaded::Module(LOADER, FoundBy::Builtin);
        }
        let is_provided = self.search.provides(name);
        if is_provided && !self.search.plan.policy.is_closed() {
            return self.provided(name, requester);
        }
        let is_path = text.contains(&b'/');
        if !is_path {
            if let Some(module) = self.by_name.get(&name) {
                return Loaded::Module(*module, FoundBy::Loaded);
            }
            // For a longer name, musl fails and leaves `errno` unchanged.
            if text.len() > NAME_MAX {
                return Loaded::Failed(None, self.errno);
            }
        }
        let (path, place, how) = match self.find(name, requester) {
            Ok(found) => found,
            Err(Loaded::Failed(None, _)) if is_provided => return self.provided(name, requester),
            Err(failed) => return failed,
        };
        let file = match place {
            PathState::File(file) => file,
            PathState::Directory => return Loaded::Failed(None, "Is a directory"),
            PathState::Special(_) => return Loaded::Failed(None, "it is a special file"),
            PathState::OfProcess => {
                self.by_process = true;
                return self.provided(name, requester);
            }
            PathState::Failed(errno) => return Loaded::Failed(None, errno_text(errno)),
        };
        if let Some(module) = self.by_file.get(&file).copied() {
            if !is_path && !self.named[module.index()] {
                self.name(module);
            }
            return Loaded::Module(module, how);
        }
        match self.is_mappable(file) {
            Err(()) => return Loaded::Unknown,
            Ok(Mapped::Refused) => return Loaded::Failed(Some(file), "Exec format error"),
            Ok(Mapped::OtherMachine) => {
                return Loaded::Failed(Some(file), "is mapped, and its relocations are foreign");
            }
            Ok(Mapped::OtherLibc) => {
                let libc = self.search.strings.id(b"libc.so");
                return self.load(libc, requester);
            }
            Ok(Mapped::Library) => {}
        }
        let how = if requester.is_none() { FoundBy::Preload } else { how };
        let module = self.push(Some(file), name, path, requester, how);
        self.by_file.insert(file, module);
        self.chain.push(module);
        if !is_path {
            self.name(module);
        }
        Loaded::Module(module, how)
    }

    fn provided(&mut self, name: StrId, requester: Option<ModuleId>) -> Loaded {
        let module = self.push(None, name, name, requester, FoundBy::Provided);
        Loaded::Module(module, FoundBy::Provided)
    }

    fn push(
        &mut self,
        file: Option<FileId>,
        name: StrId,
        path: StrId,
        requester: Option<ModuleId>,
        how: FoundBy,
    ) -> ModuleId {
        self.modules.push(Module::new(file, name, path, requester, how));
        self.named.push(false);
        ModuleId::from_index(self.modules.len() - 1)
    }

    /// Sets the `shortname` of an object: the last part of its path. Later DT_NEEDED entries match
    /// the object by this name.
    fn name(&mut self, module: ModuleId) {
        let path = self.search.strings.text(self.modules[module.index()].path);
        let short = last_part(path).to_vec();
        let short = self.search.strings.id(&short);
        self.by_name.entry(short).or_insert(module);
        self.named[module.index()] = true;
    }

    /// How musl treats a file that it opened (`map_library`, and the check for another libc). `Err`
    /// if the object's tables have not been read yet.
    fn is_mappable(&mut self, file: FileId) -> Result<Mapped, ()> {
        let target = self.search.loader.target;
        let facts = self.search.store.file(file);
        let Content::Elf(object) = &facts.content else { return Ok(Mapped::Refused) };
        let mapped = matches!(object.role, Role::Program | Role::Shared)
            && object.header.target().is_64 == target.is_64
            && object.header.target().big == target.big;
        if !mapped {
            return Ok(Mapped::Refused);
        }
        if object.header.machine != target.machine {
            return Ok(Mapped::OtherMachine);
        }
        if object.tables.is_none() {
            self.search.needs.push(Need::Tables(file));
            return Err(());
        }
        let defines = |object: &Object, name: &[u8]| object.find_musl(name, true).is_some();
        let libc = [&b"__libc_start_main"[..], b"stdin"];
        let is_libc = libc.iter().all(|name| defines(object, name));
        Ok(if is_libc { Mapped::OtherLibc } else { Mapped::Library })
    }
}

/// How `load_library` treats a file that it opened.
enum Mapped {
    Library,
    /// The file is a libc other than musl's. musl uses its own libc instead.
    OtherLibc,
    /// The file has the right class and byte order, but is for another machine. musl does not check
    /// the machine, and fails at the first relocation. musl's `--list` shows the file as loaded;
    /// the audit reports an error.
    OtherMachine,
    Refused,
}

/// Plugins. `dlopen` loads the file by its path, as if the program needed it. Then it loads the
/// needs of the file. All new objects follow the objects that the program has loaded.
impl MuslLoad<'_> {
    /// The link map of a plugin, on top of the link map of its host program; `None` if a fact is
    /// missing.
    pub(super) fn run_plugin(mut self, host: &Arc<Closure>) -> Option<LinkMap> {
        self.take_over(host);
        let (before, listed) = (self.modules.len(), self.chain.len());
        let path = self.root.path;
        let mut fatal = None;
        let start = match self.load(path, Some(ROOT)) {
            Loaded::Unknown => return None,
            Loaded::Module(module, _) => module,
            Loaded::Failed(file, text) => {
                fatal = Some(Fatal { object: path, file, requester: ROOT, text });
                ROOT
            }
        };
        // The host program may open the plugin by another path, so `by_cwd` and `by_process` of the
        // search for this path are dropped.
        (self.by_cwd, self.by_process) = (false, false);
        if start.index() >= before {
            self.modules[start.index()].how = FoundBy::Dlopen;
        }
        if !self.visit_from(listed) {
            return None;
        }
        let own = self.chain.split_off(listed);
        Some(LinkMap {
            base: Some(Arc::clone(host)),
            renamed: Vec::new(),
            start,
            moved: false,
            hidden: Vec::new(),
            modules: self.modules.split_off(before),
            edges: self.edges,
            list: own.clone(),
            scope: own.clone(),
            found: Vec::new(),
            order: own,
            fatal,
            preload_failures: Vec::new(),
            failures: self.failures,
            by_cpu: false,
            by_cwd: self.by_cwd,
            by_process: self.by_process,
            depths: Depths::default(),
        })
    }

    /// Starts from the host program's link map: its modules and the loader's list. Each object that
    /// the host program needs by a name without a slash gets its `shortname`. Later needs can match
    /// this name.
    fn take_over(&mut self, host: &Closure) {
        self.modules = host.all_modules().collect();
        self.named.resize(self.modules.len(), false);
        self.chain = host.whole_scope().collect();
        for (index, file) in host.found() {
            if index != ROOT && index != LOADER {
                self.by_file.insert(file, index);
            }
        }
        let plain = |name: &StrId| !self.search.strings.text(*name).contains(&b'/');
        let mut searched: Vec<ModuleId> = host.found().map(|(index, _)| index).collect();
        searched.retain(|index| plain(&host.module(*index).name));
        searched.extend(host.edges().iter().filter(|edge| plain(&edge.name)).map(|edge| edge.to));
        for index in searched {
            let is_library = !host.module(index).is_stub() && !self.named[index.index()];
            if is_library {
                self.name(index);
            }
        }
    }
}
