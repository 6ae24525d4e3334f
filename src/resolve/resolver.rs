//! Resolves the entry points of a run, and holds the state that all entry points share: strings,
//! loaders, names of objects and search results. `candidate` and `audit` request closures from
//! [`Resolver`]; `closure` and `musl` build them.

use super::closure::Built;
use super::loader::{ConfigDefect, Family, Loaders};
use super::mapping::{LinkMapBuilder, RequestedNeed};
use super::musl::MuslLoad;
use super::names::NameTable;
use super::search::{Search, SearchCache};
use super::search_result::{Opening, Requester, SearchOutcome};
use super::state::LinkMapState;
use super::trace::{Trace, Tried};
use super::{Closure, Edge, EntryPoint, LinkMap, Module, tokens};
use crate::facts::{FactStore, Need};
use crate::format::elf::{Object, Target, machine};
use crate::id::{
    FastMap, FastSet, FileId, Id as _, IdSet, LoaderId, ModuleId, SignatureId, StrId, Strings,
};
use crate::plan::Plan;
use crate::policy::Arch;
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

/// The key of a shared link map: the loader, and the signature of the entry point's object
/// (`names`).
type ShareKey = (LoaderId, SignatureId);

/// Estimated number of strings per file: its paths, and its name in needs.
const STRINGS_A_FILE: usize = 3;

/// Maximum number of needed names that the look-ahead searches for under one loader.
const MOST_AHEAD: usize = 1 << 13;

/// A link map that waits for missing facts.
pub(super) struct Suspended(Box<LinkMapState>);

/// Resolves entry points one after the other, with caches that all of them share.
#[derive(Default)]
pub struct Resolver {
    /// The strings of all closures: names and paths.
    pub strings: Strings,
    /// The loaders of all entry points, each read once.
    pub loaders: Loaders,
    names: NameTable,
    searches: SearchCache,
    /// Link maps that entry points with the same loader and signature share.
    shared: FastMap<ShareKey, Arc<LinkMap>>,
    /// Keys of link maps that wait for a fact. The fact was requested in this round.
    waiting: FastSet<ShareKey>,
    /// For each loader, the names of the look-ahead that are not resolved yet.
    ahead: FastMap<LoaderId, Vec<StrId>>,
    /// Buffers of the last build, for reuse.
    spare: Option<Box<LinkMapState>>,
}

impl Resolver {
    /// Defects in the ld.so.cache files of Guix packages.
    pub fn package_faults(&self) -> &[ConfigDefect] {
        &self.searches.package_faults
    }

    /// Reserves space for the strings of `files` files.
    pub fn expect(&mut self, files: usize) {
        self.strings.reserve(STRINGS_A_FILE * files);
    }

    /// The directories of an object's own DT_RUNPATH, or else of its DT_RPATH, for the choice of
    /// its loader. `$LIB` is assumed to be `lib`, and entries with `$PLATFORM` are dropped, because
    /// both depend on the loader.
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

    /// The closure of `root`, or the missing facts. If `host` is given, the program of that closure
    /// opens `root` as a plugin. The list of missing facts is empty if an entry point that shares
    /// the link map has already requested them in this round. A suspended build stays in `before`
    /// until the next round.
    pub(super) fn closure(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        root: EntryPoint,
        host: Option<&Arc<Closure>>,
        before: &mut Option<Suspended>,
    ) -> Result<Closure, Vec<Need>> {
        let key =
            if plan.reuse && host.is_none() { self.share_key(store, plan, root) } else { None };
        if let Some(links) = key.and_then(|key| self.shared.get(&key)) {
            return Ok(Closure::new(root, Arc::clone(links)));
        }
        if key.is_some_and(|key| self.waiting.contains(&key)) {
            return Err(Vec::new());
        }
        let mut needs = Vec::new();
        if let Family::Musl(_) = self.loaders.get(root.loader).family {
            let (search, names) = self.tools(store, plan, root.loader, &mut needs);
            let load = MuslLoad::new(search, names, root);
            let links = match host {
                Some(host) => load.run_plugin(host),
                None => load.run(),
            };
            let mut links = links.ok_or(needs)?;
            links.by_cwd |= host.is_none() && has_relative_loader(store, plan, root.file);
            return Ok(self.share(root, key, links));
        }
        let begun = before.take().map(|suspended| suspended.0);
        let is_begun = begun.is_some();
        let state = begun.unwrap_or_else(|| match self.spare.take() {
            Some(mut spare) => {
                spare.reset(root, host.cloned());
                spare
            }
            None => Box::new(LinkMapState::new(root, host.cloned())),
        });
        let builder = self.builder(store, plan, state, &mut needs);
        match if is_begun { builder.go_on() } else { builder.run() } {
            Built::Links(mut links, spare) => {
                self.spare = Some(spare);
                links.by_cwd |= host.is_none() && has_relative_loader(store, plan, root.file);
                Ok(self.share(root, key, *links))
            }
            Built::Suspended(state) => {
                *before = state.map(Suspended);
                self.waiting.extend(key);
                Err(needs)
            }
        }
    }

    /// The key of the entry point's link map; `None` if other entry points cannot share the map.
    fn share_key(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        root: EntryPoint,
    ) -> Option<ShareKey> {
        if plan.environment_varies() || self.loaders.get(root.loader).package_cache {
            return None;
        }
        let names = self.names.of(root.file, store, &mut self.strings)?;
        Some((root.loader, names.signature?))
    }

    fn share(&mut self, root: EntryPoint, key: Option<ShareKey>, mut links: LinkMap) -> Closure {
        links.note_found();
        let links = Arc::new(links);
        // If a library is missing, version limits depend on the entry point, so the map is not
        // shared.
        if let Some(key) = key.filter(|_| !links.lacks_any()) {
            self.shared.insert(key, Arc::clone(&links));
        }
        Closure::new(root, links)
    }

    fn tools<'a>(
        &'a mut self,
        store: &'a dyn FactStore,
        plan: &'a Plan,
        loader: LoaderId,
        needs: &'a mut Vec<Need>,
    ) -> (Search<'a>, &'a mut NameTable) {
        let Self { strings, loaders, names, searches, .. } = self;
        let loader = loaders.get(loader);
        (Search { store, plan, loader, strings, cache: searches, needs }, names)
    }

    fn builder<'a>(
        &'a mut self,
        store: &'a dyn FactStore,
        plan: &'a Plan,
        state: Box<LinkMapState>,
        needs: &'a mut Vec<Need>,
    ) -> LinkMapBuilder<'a> {
        let (search, names) = self.tools(store, plan, state.root.loader, needs);
        LinkMapBuilder {
            state,
            search,
            names,
            plain: None,
            other_class: false,
            by_process: false,
            incomplete: false,
        }
    }

    /// Starts a round: the facts that the last round requested have been read.
    pub(super) fn new_round(&mut self) {
        self.searches.new_round();
        self.waiting.clear();
    }

    /// Searches ahead, under each glibc loader, for the needs of those `files` that have no search
    /// path. Returns the missing facts. Entry points will need most of these facts: reading them
    /// early saves rounds. Does nothing if LD_LIBRARY_PATH is set, and skips Guix's loader.
    pub(super) fn look_ahead(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        files: &(impl Iterator<Item = FileId> + Clone),
    ) -> Vec<Need> {
        let mut needs = Vec::new();
        if !plan.ld_library_path.is_empty() {
            return needs;
        }
        for id in self.loaders.ids() {
            let loader = self.loaders.get(id);
            if loader.family != Family::Glibc || loader.package_cache {
                continue;
            }
            let target = loader.target;
            let mut left = match self.ahead.remove(&id) {
                Some(left) => left,
                None => self.plain_needs(store, plan, target, files.clone()),
            };
            let (mut search, _) = self.tools(store, plan, id, &mut needs);
            let mut requester = Requester::default();
            requester.context = search.cache.context(search.loader, &requester);
            left.retain(|name| search.find(*name, &requester, None).is_none());
            self.ahead.insert(id, left);
        }
        needs
    }

    /// The first [`MOST_AHEAD`] needed names of objects for `target` without a search path. Names
    /// with tokens are skipped. Unless the policy is a whitelist, names that the policy provides
    /// are skipped too.
    fn plain_needs(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        target: Target,
        files: impl Iterator<Item = FileId>,
    ) -> Vec<StrId> {
        let mut out = Vec::new();
        let mut seen = IdSet::default();
        let fits = |object: &Object| object.header.target().links_with(target);
        for file in files.filter(|file| store.object(*file).is_some_and(fits)) {
            let Some(names) = self.names.of(file, store, &mut self.strings) else { continue };
            for need in names.needs.iter().filter(|need| names.is_plain() && !need.has_token) {
                let arch = machine::of(target).and_then(|row| Arch::of_machine(row.name));
                let provided = || plan.policy.provides(self.strings.text(need.raw), arch);
                if seen.insert(need.raw) && (plan.policy.is_closed() || !provided()) {
                    out.push(need.raw);
                }
            }
        }
        out.truncate(MOST_AHEAD);
        out
    }

    /// The result of a call of dlopen for `name` by the module `from`, or the missing facts. The
    /// library is searched for like a need of the module (`elf/dl-load.c`, `_dl_map_object`), and
    /// under musl like a need of the program (`ldso/dynlink.c`, `dlopen`).
    pub fn open(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        closure: &Closure,
        from: ModuleId,
        name: &[u8],
    ) -> Result<Opening, Vec<Need>> {
        self.new_round();
        let name = self.strings.id(name);
        let modules: Vec<Module> = closure.all_modules().collect();
        let mut loaded = (0..modules.len()).map(ModuleId::from_index);
        if loaded.any(|module| closure.answers(module, name)) {
            return Ok(Opening::Opened);
        }
        let mut needs = Vec::new();
        let root = closure.root;
        if let Family::Musl(_) = self.loaders.get(root.loader).family {
            let (search, names) = self.tools(store, plan, root.loader, &mut needs);
            if search.provides(name) {
                return Ok(Opening::Opened);
            }
            let opening = MuslLoad::new(search, names, root).open(modules, name);
            return opening.ok_or(needs);
        }
        let mut state = Box::new(LinkMapState::new(root, closure.host().cloned()));
        state.start = closure.start();
        let mut builder = self.builder(store, plan, state, &mut needs);
        if builder.search.provides(name) {
            return Ok(Opening::Opened);
        }
        for module in modules {
            builder.push(module);
        }
        // If `name` is a path, its tokens have the values of the object that calls dlopen. If a
        // token has no value, the library is assumed to open.
        let text = builder.search.strings.text(name);
        let has_token = text.contains(&b'/') && text.contains(&b'$');
        let Some(name) = builder.expand_need(name, has_token, from) else {
            return Ok(Opening::Opened);
        };
        let found = builder.search(RequestedNeed { name, requester: from }, None);
        match found {
            Some(SearchOutcome::File(..)) => Ok(Opening::Opened),
            Some(SearchOutcome::Nothing) => Ok(Opening::NotFound),
            Some(SearchOutcome::Stop(_, _, text)) => Ok(Opening::Stopped(text)),
            None => Err(needs),
        }
    }

    /// For each of `edges`, the paths that the loader tries, as evidence. All facts must have been
    /// read.
    pub fn tried(
        &mut self,
        store: &dyn FactStore,
        plan: &Plan,
        closure: &Closure,
        edges: &[Edge],
    ) -> Vec<Vec<Tried>> {
        let mut needs = Vec::new();
        let root = closure.root;
        let trace = || Trace::of_one_in(edges.len());
        if let Family::Musl(_) = self.loaders.get(root.loader).family {
            let tried = |edge: &Edge| {
                let (search, names) = self.tools(store, plan, root.loader, &mut needs);
                let load = MuslLoad::new(search, names, root);
                load.tried(closure.all_modules().collect(), edge, trace())
            };
            return edges.iter().map(tried).collect();
        }
        let mut state = Box::new(LinkMapState::new(root, closure.host().cloned()));
        state.start = closure.start();
        let mut builder = self.builder(store, plan, state, &mut needs);
        for module in closure.all_modules() {
            builder.push(module);
        }
        let tried = |edge: &Edge| {
            let mut trace = trace();
            let asking = RequestedNeed { name: edge.name, requester: edge.from };
            builder.search(asking, Some(&mut trace));
            trace.kept
        };
        edges.iter().map(tried).collect()
    }
}

/// True if the kernel looks for the program's loader in the current directory. `ldd` ignores
/// PT_INTERP.
pub(super) fn has_relative_loader(store: &dyn FactStore, plan: &Plan, file: FileId) -> bool {
    let interp = store.object(file).and_then(Object::interp);
    !plan.as_ldd && interp.is_some_and(|path| !path.starts_with(b"/"))
}
