//! Finds the file that the loader loads for each need of an entry point, in load order. The module
//! `musl` follows musl's loader; the other modules follow glibc's loader (`elf/dl-load.c`,
//! `elf/dl-deps.c`, `elf/dl-cache.c`). Each file of this folder cites its sources.
//!
//! The stage opens no file. It takes facts from a [`FactStore`](crate::facts::FactStore) and
//! returns a [`Need`](crate::facts::Need) for each missing fact. `audit` reads the missing facts
//! and runs the stage again.

pub mod cache;
pub mod candidate;
mod chain;
mod closure;
pub mod entry_points;
mod found_by;
mod host_lists;
pub mod hosts;
mod hwcaps;
pub mod loader;
mod mapping;
pub mod musl;
mod names;
mod opened;
mod order;
mod paths;
mod probe_batch;
pub mod resolver;
mod runtime_libraries;
mod search;
mod search_result;
pub mod start;
mod state;
mod tokens;
pub mod trace;
pub mod versions;

pub use chain::Chain;
pub use found_by::FoundBy;
pub(crate) use paths::{entries, expanded, is_of_origin};
pub(crate) use runtime_libraries::{is_all_versioned, is_of_glibc};
pub use search_result::Opening;
pub use tokens::has_token;

use crate::format::elf::{EVERY_VERSION, NeedKind, machine};
use crate::id::{FileId, Id as _, LoaderId, ModuleId, StrId};
use std::ops::Range;
use std::sync::Arc;

/// A file from which a closure starts: a program or shared object, with its loader and, for a
/// plugin, its host program.
#[derive(Clone, Copy, Debug)]
pub struct EntryPoint {
    /// The file.
    pub file: FileId,
    /// The path by which the file is started or opened. It appears in messages, and `$ORIGIN` may
    /// be the directory of this path.
    pub path: StrId,
    /// The loader whose rules apply.
    pub loader: LoaderId,
    /// The program that loads the file with dlopen; `None` if the file is started directly.
    pub host: Option<FileId>,
}

impl EntryPoint {
    /// The first file of the process: the host program, or else the entry point itself.
    pub fn program(&self) -> FileId {
        self.host.unwrap_or(self.file)
    }
}

/// One object of a link map, or a stub for a library that was not found or not searched for.
#[derive(Clone, Debug)]
pub struct Module {
    /// The file; `None` for a stub, and for a loader whose binary is absent.
    pub file: Option<FileId>,
    /// The name by which the object was first requested; empty for the program.
    pub name: StrId,
    /// The path by which the object was opened. DT_NEEDED entries match objects by this path too.
    /// The program is an exception, because glibc removes its path (`elf/rtld.c`).
    pub path: StrId,
    /// Further names by which DT_NEEDED entries match the object.
    pub aliases: Vec<StrId>,
    /// The module whose need first loaded the object; `None` for the program, the loader, a plugin
    /// under glibc and a preloaded library under musl.
    pub requester: Option<ModuleId>,
    /// How the object was found.
    pub how: FoundBy,
    /// The range of the object's needs in [`Closure::edges`].
    pub edges: Range<usize>,
    /// The highest version index in the loader's version table for the object, or
    /// [`EVERY_VERSION`]. See `versions`.
    pub version_limit: u16,
}

impl Module {
    /// An object whose needs have not been resolved yet.
    fn new(
        file: Option<FileId>,
        name: StrId,
        path: StrId,
        requester: Option<ModuleId>,
        how: FoundBy,
    ) -> Self {
        let (aliases, edges, version_limit) = (Vec::new(), 0..0, EVERY_VERSION);
        Self { file, name, path, aliases, requester, how, edges, version_limit }
    }

    /// True if the module is the stub of a need that was not found or not searched for.
    pub fn is_stub(&self) -> bool {
        matches!(self.how, FoundBy::Missing | FoundBy::Provided)
    }

    /// `_dl_name_match_p`: true if the loader knows the object by this name.
    pub fn answers(&self, name: StrId) -> bool {
        self.name == name
            || (self.path == name && self.how != FoundBy::Root)
            || self.aliases.contains(&name)
    }
}

/// One need of one module.
#[derive(Clone, Copy, Debug)]
pub struct Edge {
    /// The module that has the need.
    pub from: ModuleId,
    /// The needed name as written in the file, before tokens such as `$ORIGIN` are replaced.
    pub raw: StrId,
    /// The needed name after tokens are replaced.
    pub name: StrId,
    /// The tag: DT_NEEDED, DT_AUXILIARY or DT_FILTER.
    pub kind: NeedKind,
    /// The module that satisfies the need, or the stub for a library that was not found or not
    /// searched for.
    pub to: ModuleId,
    /// How this need was satisfied: `Loaded` if an already loaded module has the name.
    pub how: FoundBy,
}

/// The error that stops the loader while it maps the objects of an entry point.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fatal {
    /// The subject of the message: a path, or a need as written.
    pub object: StrId,
    /// The defective file, if one was opened.
    pub file: Option<FileId>,
    /// The module whose need the loader was mapping.
    pub requester: ModuleId,
    /// The loader's message, without its subject.
    pub text: &'static str,
}

/// An entry of LD_PRELOAD or ld.so.preload that the loader could not load and skipped.
#[derive(Clone, Debug)]
pub struct PreloadFailure {
    /// The entry as written in the list.
    pub name: StrId,
    /// The variable or file that lists the entry, as in the loader's message.
    pub source: &'static str,
    /// The reason in the loader's message.
    pub text: &'static str,
}

/// A need that musl's loader could not satisfy. The loader reports the failure, continues with the
/// other needs, and then does not start the program.
#[derive(Clone, Debug)]
pub struct LoadFailure {
    /// The stub of the missing library.
    pub module: ModuleId,
    /// The file that was opened and is not a library, if any.
    pub file: Option<FileId>,
    /// musl's text for the error number.
    pub text: &'static str,
}

/// All objects that the loader maps for one entry point. For a plugin, modules, edges, list, scope
/// and order hold only what dlopen adds to the closure of the host program.
#[derive(Clone, Debug)]
pub struct Closure {
    /// The entry point.
    pub root: EntryPoint,
    /// The program's module.
    main: Module,
    /// The link map with the other modules. Entry points with the same needs and without a search
    /// path share one link map.
    links: Arc<LinkMap>,
}

/// A link map: the mapped objects, their order, and the needs between them.
#[derive(Clone, Debug)]
struct LinkMap {
    /// The closure of the host program. Its modules precede those of this link map.
    base: Option<Arc<Closure>>,
    /// Names that DT_NEEDED entries of the plugin and its libraries added to modules of the host
    /// program, each with the module that has it.
    renamed: Vec<(ModuleId, StrId)>,
    /// The module of the entry point's own file.
    start: ModuleId,
    /// True if a DT_FILTER or DT_AUXILIARY entry moved an object in the list.
    moved: bool,
    /// Filtees of the entry point. No DT_NEEDED entry matches them by name.
    hidden: Vec<ModuleId>,
    /// Modules in the order in which they were mapped. Without a host program, index 0 is the entry
    /// point that this link map was built for, and index 1 the loader.
    modules: Vec<Module>,
    /// Needs in the order of resolution.
    edges: Vec<Edge>,
    /// The loader's list (`l_next`) without the program. Under glibc, it also holds the stubs.
    list: Vec<ModuleId>,
    /// The search scope: the entry point and all found objects, breadth first. Filtees precede the
    /// object that names them.
    scope: Vec<ModuleId>,
    /// The modules of `scope` that have a file, each with that file, cached for speed. The file of
    /// the program is that of the entry point that this link map was built for.
    found: Vec<(ModuleId, FileId)>,
    /// Order of relocation. Under glibc, dependencies precede the objects that need them. Under
    /// musl, objects are in list order, and the program comes last.
    order: Vec<ModuleId>,
    /// The error that stops the loader, if any. `list`, `scope` and `order` end where the loader
    /// stops.
    fatal: Option<Fatal>,
    /// Libraries to preload that the loader skipped.
    preload_failures: Vec<PreloadFailure>,
    /// Needs that musl's loader could not satisfy: the loader reports each and continues. Empty
    /// under glibc.
    failures: Vec<LoadFailure>,
    /// True if the link map depends on the processor: a library was found in a hwcaps directory or
    /// by a hwcaps entry of ld.so.cache.
    by_cpu: bool,
    /// True if the link map depends on the working directory: a search tried a relative path, or the
    /// program's PT_INTERP is relative.
    by_cwd: bool,
    /// True if the link map depends on the process: a tried path leads to `/proc/self` or a similar
    /// path.
    by_process: bool,
    /// The depth of each module in its chain of needs, computed when the ends of a long chain are
    /// first requested.
    depths: chain::Depths,
}

/// The index of the program among the modules of a closure: the entry point, or its host program.
pub const ROOT: ModuleId = ModuleId::ROOT;
/// The index of the loader among the modules of a closure.
pub const LOADER: ModuleId = ModuleId::LOADER;

impl LinkMap {
    /// Fills `found` from `scope`.
    fn note_found(&mut self) {
        let file = |module: &ModuleId| Some((*module, self.module(*module).file?));
        self.found = self.scope.iter().filter_map(file).collect();
    }

    /// The module at `index`. Without a host program, index 0 is the entry point that this link map
    /// was built for.
    fn module(&self, index: ModuleId) -> &Module {
        match &self.base {
            Some(base) if index.index() < self.base_count() => base.module(index),
            _ => &self.modules[index.index() - self.base_count()],
        }
    }

    /// Number of modules of the host program; they come first.
    fn base_count(&self) -> usize {
        self.base.as_ref().map_or(0, |base| base.module_count())
    }

    /// `_dl_name_match_p`: true if the loader knows the module by this name.
    fn answers(&self, index: ModuleId, name: StrId) -> bool {
        self.module(index).answers(name) || self.renamed.contains(&(index, name))
    }

    /// The loader's whole list, without the program.
    fn whole_list(&self) -> impl Iterator<Item = ModuleId> + '_ {
        let base = self.base.as_ref().map_or(&[][..], |base| base.list());
        base.iter().chain(&self.list).copied()
    }

    /// The whole search scope: the scope of the host program, then the entry point's own scope.
    fn whole_scope(&self) -> impl Iterator<Item = ModuleId> + '_ {
        let base = self.base.as_ref().map_or(&[][..], |base| base.scope());
        base.iter().chain(&self.scope).copied()
    }

    /// All needs; the needs of the host program's modules come first.
    fn whole_edges(&self) -> impl Iterator<Item = &Edge> {
        let base = self.base.as_ref().map_or(&[][..], |base| base.edges());
        base.iter().chain(&self.edges)
    }

    /// The needs of the module at `index`, in order.
    fn needs(&self, index: ModuleId) -> &[Edge] {
        match &self.base {
            Some(base) if index.index() < self.base_count() => base.needs(index),
            _ => &self.edges[self.module(index).edges.clone()],
        }
    }

    /// True if a need of a module was not found or not searched for. The modules of a host program
    /// do not count.
    fn lacks_any(&self) -> bool {
        self.modules.iter().any(Module::is_stub)
    }

    /// Number of modules, including the host program's.
    fn module_count(&self) -> usize {
        self.base_count() + self.modules.len()
    }
}

impl Closure {
    /// The closure of `root`. `links` is the link map that was built for `root` or for an entry
    /// point with equal needs.
    fn new(root: EntryPoint, links: Arc<LinkMap>) -> Self {
        let main = match &links.base {
            Some(base) => base.main.clone(),
            None => Module { file: Some(root.file), path: root.path, ..links.module(ROOT).clone() },
        };
        Self { root, main, links }
    }

    /// The module of the entry point's own file.
    pub fn start(&self) -> ModuleId {
        self.links.start
    }

    /// The needs in the order of resolution, without those of the host program's modules.
    pub fn edges(&self) -> &[Edge] {
        &self.links.edges
    }

    /// The loader's list (`l_next`) without the program and without the host program's modules.
    /// Under glibc, the list also holds the stubs.
    pub fn list(&self) -> &[ModuleId] {
        &self.links.list
    }

    /// The search scope: the entry point and all found objects, breadth first, without the scope of
    /// the host program. Filtees precede the object that names them.
    pub fn scope(&self) -> &[ModuleId] {
        &self.links.scope
    }

    /// Order of relocation. Under glibc, dependencies precede the objects that need them. Under
    /// musl, objects are in list order, and the program comes last.
    pub fn order(&self) -> &[ModuleId] {
        &self.links.order
    }

    /// The error that stops the loader, if any. The list, the scope and the order of relocation end
    /// where the loader stops.
    pub fn fatal(&self) -> Option<&Fatal> {
        self.links.fatal.as_ref()
    }

    /// Libraries to preload that the loader skipped.
    pub fn preload_failures(&self) -> &[PreloadFailure] {
        &self.links.preload_failures
    }

    /// Needs that musl's loader could not satisfy: the loader reports each and continues. Empty
    /// under glibc.
    pub fn failures(&self) -> &[LoadFailure] {
        &self.links.failures
    }

    /// True if the link map depends on the processor: a library was found in a hwcaps directory or
    /// by a hwcaps entry of ld.so.cache.
    pub fn by_cpu(&self) -> bool {
        self.links.by_cpu
    }

    /// True if the link map depends on the working directory: a search tried a relative path, or the
    /// program's PT_INTERP is relative.
    pub fn by_cwd(&self) -> bool {
        self.links.by_cwd
    }

    /// True if the link map depends on the process: a tried path leads to `/proc/self` or a similar
    /// path.
    pub fn by_process(&self) -> bool {
        self.links.by_process
    }

    /// `_dl_name_match_p`: true if the loader knows the module by this name.
    pub fn answers(&self, index: ModuleId, name: StrId) -> bool {
        self.links.answers(index, name)
    }

    /// The whole search scope: the scope of the host program, then the entry point's own scope.
    pub fn whole_scope(&self) -> impl Iterator<Item = ModuleId> + '_ {
        self.links.whole_scope()
    }

    /// All needs; the needs of the host program's modules come first.
    pub fn whole_edges(&self) -> impl Iterator<Item = &Edge> {
        self.links.whole_edges()
    }

    /// The needs of the module at `index`, in order.
    pub fn needs(&self, index: ModuleId) -> &[Edge] {
        self.links.needs(index)
    }

    /// True if a need of a module was not found or not searched for. The modules of a host program
    /// do not count.
    pub fn lacks_any(&self) -> bool {
        self.links.lacks_any()
    }

    /// Number of modules, including the host program's.
    pub fn module_count(&self) -> usize {
        self.links.module_count()
    }

    /// The chain of needs from the program to a module, the program first.
    pub fn chain(&self, module: ModuleId) -> Vec<ModuleId> {
        self.links.chain(module)
    }

    /// The chain of needs from the program to a module. The middle of a long chain is omitted.
    pub fn ends_of_chain(&self, module: ModuleId) -> Chain {
        self.links.ends_of_chain(module)
    }

    /// An id of the link map. Closures have the same id if they share all modules except the module
    /// of the entry point.
    pub fn links_id(&self) -> usize {
        Arc::as_ptr(&self.links).addr()
    }

    /// The closure of the program that loads the entry point with dlopen; `None` if the entry point
    /// is started directly.
    pub fn host(&self) -> Option<&Arc<Self>> {
        self.links.base.as_ref()
    }

    /// The module at `index`.
    pub fn module(&self, index: ModuleId) -> &Module {
        if index == ROOT { &self.main } else { self.links.module(index) }
    }

    /// The modules of the entry point, in the order in which they were mapped, without the modules
    /// of its host program.
    pub fn modules(&self) -> impl Iterator<Item = (ModuleId, &Module)> {
        let own = (self.links.base_count()..self.module_count()).map(ModuleId::from_index);
        own.map(|index| (index, self.module(index)))
    }

    /// Copies of all modules; the modules of the host program come first.
    fn all_modules(&self) -> impl Iterator<Item = Module> + '_ {
        let all = (0..self.module_count()).map(ModuleId::from_index);
        all.map(|index| self.module(index).clone())
    }

    /// Modules of the entry point with a file, in scope order, without the modules of its host
    /// program.
    pub fn found(&self) -> impl Iterator<Item = (ModuleId, FileId)> + '_ {
        let file = |module, built_for| match module {
            ROOT => self.main.file.unwrap_or(built_for),
            _ => built_for,
        };
        self.links.found.iter().map(move |(module, built_for)| (*module, file(*module, *built_for)))
    }

    /// All modules of the scope that have a file; the modules of the host program come first.
    pub fn in_scope(&self) -> impl Iterator<Item = (ModuleId, FileId)> + '_ {
        self.host().into_iter().flat_map(|host| host.found()).chain(self.found())
    }
}

/// The table row of a machine with known loader rules.
pub type MachineRow = &'static machine::Machine;
