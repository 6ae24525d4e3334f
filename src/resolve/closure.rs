//! Builds the link map of one entry point. The walk visits all needs breadth first, and
//! deduplicates objects by name and inode. Filtees come before the object that names them
//! (`elf/dl-deps.c`, `elf/dl-load.c`). Preloaded libraries come directly after the entry point
//! (`elf/rtld.c`). The objects of a host program come before its plugin (`elf/dl-open.c`).
//!
//! If a fact is missing, the build returns its state, and the next round resumes at the same need.
//! The build also requests facts that the walk will probably need later. This guess changes only
//! the number of rounds.

use super::chain::Depths;
use super::mapping::{FileToMap, LinkMapBuilder, Mapped, RequestedNeed};
use super::search_result::SearchOutcome;
use super::state::{LinkMapState, Queued};
use super::{
    Closure, Edge, EntryPoint, Fatal, FoundBy, LinkMap, Module, PreloadFailure, ROOT, order,
    versions,
};
use crate::format::elf::NeedKind;
use crate::id::{FastSet, FileId, Id as _, ModuleId, StrId};

/// Maximum number of needs that one look-ahead visits without requesting a fact.
const MOST_AHEAD: usize = 500;

/// Maximum number of needs for which one look-ahead requests facts. One need may be tried at
/// hundreds of paths.
const MOST_ASKED: usize = 512;

/// The result of one run of the builder.
pub(super) enum Built {
    /// The link map is complete. The state holds buffers for the next build.
    Links(Box<LinkMap>, Box<LinkMapState>),
    /// Facts are missing, and the next round resumes from this state. `None` if the walk has not
    /// begun: the next round then starts from the beginning.
    Suspended(Option<Box<LinkMapState>>),
}

impl LinkMapBuilder<'_> {
    /// Builds the link map from the start.
    pub(super) fn run(mut self) -> Built {
        if let Some(host) = self.state.base.clone() {
            self.take_over(&host);
            let refused = self.open();
            return if refused.is_some() { self.finish(refused) } else { self.go_on() };
        }
        self.add_root();
        self.add_loader();
        self.preload();
        if self.incomplete {
            self.look_ahead();
            return Built::Suspended(None);
        }
        self.go_on()
    }

    /// Continues the walk at the need where it was suspended.
    pub(super) fn go_on(mut self) -> Built {
        let stopped = self.walk();
        if self.incomplete {
            self.look_ahead();
            return Built::Suspended(Some(self.state));
        }
        self.finish(stopped)
    }

    fn finish(self, stopped: Option<Fatal>) -> Built {
        let Self { mut state, search, .. } = self;
        let scope = state.scope();
        let mut renamed = Vec::new();
        let base = state.base.take();
        match &base {
            Some(host) => renamed = state.leave_to(host),
            None => state.place_loader(&scope, search.loader.release),
        }
        let first = base.as_ref().map_or(0, |host| host.module_count());
        let mut links = LinkMap {
            base,
            renamed,
            start: state.start,
            moved: state.moved,
            order: Vec::new(),
            modules: state.modules.take_from(first),
            edges: state.edges.drain(..).collect(),
            list: state.list.drain(..).collect(),
            scope,
            found: Vec::new(),
            hidden: std::mem::take(&mut state.hidden),
            fatal: stopped,
            preload_failures: std::mem::take(&mut state.preload_failures),
            failures: Vec::new(),
            by_cpu: state.by_cpu,
            by_cwd: state.by_cwd,
            by_process: state.by_process,
            depths: Depths::default(),
        };
        links.order = order::relocation_order(&links, search.loader.release);
        if search.plan.as_ldd {
            for module in &links.hidden {
                links.modules[module.index()].version_limit = 0;
            }
            versions::limit_tables(&mut links, search.store, search.strings);
        }
        Built::Links(Box::new(links), state)
    }

    fn add_root(&mut self) {
        let EntryPoint { file, path, .. } = self.state.root;
        // elf/rtld.c removes the program's name. A DT_NEEDED entry matches the program only by
        // DT_SONAME or by the empty name.
        let empty = self.search.strings.id(b"");
        let root = self.push(Module::new(Some(file), empty, path, None, FoundBy::Root));
        let soname = self.state.names(root).and_then(|names| names.soname);
        for name in [empty].into_iter().chain(soname) {
            self.state.register(name, root);
        }
        self.state.append(root);
    }

    /// Adds the loader, which the kernel maps before the program runs. A DT_NEEDED entry matches
    /// the loader by the text of PT_INTERP, or by the loader's path or DT_SONAME. `place_loader`
    /// decides whether the loader is in the list.
    fn add_loader(&mut self) {
        let (path, file) = (self.search.loader.path, self.search.loader.file);
        let interp = self.state.names(ROOT).and_then(|names| names.interp);
        let name = interp.unwrap_or(path);
        let loader = self.push(Module::new(file, name, path, None, FoundBy::Loaded));
        let soname = self.state.names(loader).and_then(|names| names.soname);
        self.state.modules[loader].aliases.extend(soname);
        for name in [name, path].into_iter().chain(soname) {
            self.state.register(name, loader);
        }
    }

    /// Visits the modules of the queue in order. Stops at the end of the queue, at a missing fact,
    /// or at a fatal error. Returns the fatal error.
    fn walk(&mut self) -> Option<Fatal> {
        while let Some((module, next)) = self.state.next() {
            let fatal = self.visit(module, next);
            if fatal.is_some() || self.incomplete {
                return fatal;
            }
            self.state.place.visiting = None;
            // A filter may have inserted a filtee at this position. The walk then visits the filtee
            // next.
        }
        None
    }

    /// Resolves the needs of `module`, starting at index `next`.
    fn visit(&mut self, module: ModuleId, next: usize) -> Option<Fatal> {
        let names = self.state.names(module).cloned()?;
        for (i, need) in names.needs.iter().enumerate().skip(next) {
            self.state.place.visiting = Some((module, i));
            let Some(name) = self.expand_need(need.raw, need.has_token, module) else { continue };
            match self.map(RequestedNeed { name, requester: module }, FoundBy::Loaded) {
                Mapped::Fatal(_) if need.kind == NeedKind::Auxiliary => {}
                Mapped::Fatal(fatal) => return Some(fatal),
                Mapped::Unknown => return None,
                Mapped::Module(to, how) => {
                    let (raw, kind) = (need.raw, need.kind);
                    self.state.add_edge(Edge { from: module, raw, name, kind, to, how });
                    match kind {
                        NeedKind::Needed => self.state.append(to),
                        NeedKind::Auxiliary | NeedKind::Filter => {
                            let endless = self.state.insert_before(to, module);
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
}

/// Preloads come after the entry point and before its needs.
impl LinkMapBuilder<'_> {
    /// Preloads the entries of LD_PRELOAD and then of ld.so.preload, with the entry point as
    /// requester (`elf/rtld.c`, `handle_preload_list` and `do_preload`). Tokens are expanded only
    /// in entries with a slash.
    fn preload(&mut self) {
        let typed = self.search.plan.ld_preload.split(|b| matches!(b, b':' | b' '));
        let typed = typed.filter(|entry| !entry.is_empty());
        let strings = &mut *self.search.strings;
        let mut list: Vec<(StrId, &str)> =
            typed.map(|entry| (strings.id(entry), "LD_PRELOAD")).collect();
        let listed = self.search.loader.preload.iter();
        list.extend(listed.map(|name| (*name, "/etc/ld.so.preload")));
        for (name, source) in list {
            let text = self.search.strings.text(name);
            let has_token = text.contains(&b'/') && text.contains(&b'$');
            let expanded = self.expand_need(name, has_token, ROOT).unwrap_or(name);
            let new = self.state.modules.len();
            let asking = RequestedNeed { name: expanded, requester: ROOT };
            let failed = match self.map(asking, FoundBy::Preload) {
                Mapped::Module(module, _) if self.state.modules[module].is_stub() => {
                    self.state.drop_stub(module);
                    match (self.other_class, self.search.loader.target.is_64) {
                        (false, _) => "cannot open shared object file",
                        (true, true) => "wrong ELF class: ELFCLASS32",
                        (true, false) => "wrong ELF class: ELFCLASS64",
                    }
                }
                Mapped::Module(module, _) => {
                    if module.index() == new {
                        // A preloaded object keeps the unexpanded entry as its name.
                        self.state.modules[module].name = name;
                        self.state.register(name, module);
                    }
                    self.state.append(module);
                    continue;
                }
                // `do_preload` drops the error number from the message.
                Mapped::Fatal(Fatal { text, .. }) => {
                    text.strip_suffix(": Error 21").unwrap_or(text)
                }
                Mapped::Unknown => continue,
            };
            self.state.preload_failures.push(PreloadFailure { name, source, text: failed });
        }
    }
}

/// Plugins: the host program opens the plugin by its path. Objects of the host program keep their
/// positions, and satisfy needs without a search. The audit assumes RTLD_NOW and RTLD_LOCAL. It
/// also assumes that the host program has opened nothing before the plugin, except the libraries of
/// `HostProgram::after`.
impl LinkMapBuilder<'_> {
    fn take_over(&mut self, host: &Closure) {
        let Self { state, search, names, .. } = self;
        state.take_over(host, |file| names.of(file, search.store, search.strings).cloned());
    }

    /// `_dl_map_object` for the plugin itself. The name is a path, so the loader does not search
    /// for it. The real caller of dlopen is unknown, so error messages name the host program as
    /// requester. The module of the plugin gets no requester.
    fn open(&mut self) -> Option<Fatal> {
        let EntryPoint { file, path, .. } = self.state.root;
        let before = self.state.modules.len();
        let mapped = if let Some(module) = self.state.known(path) {
            Mapped::Module(module, FoundBy::Loaded)
        } else {
            let asking = RequestedNeed { name: path, requester: ROOT };
            self.map_file(asking, FileToMap { file, path, how: FoundBy::Dlopen })
        };
        match mapped {
            Mapped::Module(module, _) => {
                self.state.start = module;
                if module.index() >= before {
                    self.state.modules[module].requester = None;
                    self.state.append(module);
                }
                None
            }
            Mapped::Fatal(fatal) => Some(fatal),
            Mapped::Unknown => None,
        }
    }
}

/// The look-ahead of a build in which a fact is missing.
impl LinkMapBuilder<'_> {
    /// Requests facts that the walk will probably need after the missing fact, so that one round
    /// reads all of them.
    fn look_ahead(&mut self) {
        let state = &self.state;
        let (by_cpu, by_cwd, by_process) = (state.by_cpu, state.by_cwd, state.by_process);
        let (has_rpath, real) = (self.state.has_rpath, self.state.modules.len());
        let mut ahead = LookAhead::default();
        if let Some((module, next)) = self.state.place.visiting {
            self.ask_needs(module, next + 1, &mut ahead);
        }
        for at in self.state.place.at..self.state.queue.len() {
            // The queue may be long, and each round runs this loop.
            if ahead.is_full() {
                break;
            }
            let Queued { module, done } = self.state.queue[at];
            if !done {
                self.ask_needs(module, 0, &mut ahead);
            }
        }
        let mut at = real;
        while at < self.state.modules.len() && !ahead.is_full() {
            self.ask_needs(ModuleId::from_index(at), 0, &mut ahead);
            at += 1;
        }
        self.state.truncate(real);
        (self.state.by_cpu, self.state.by_cwd) = (by_cpu, by_cwd);
        self.state.by_process = by_process;
        self.state.has_rpath = has_rpath;
    }

    /// Searches for the needs of one module from `next` on. If a search finds a file that was
    /// already read, the file is added as a module. `look_ahead` removes this module again.
    fn ask_needs(&mut self, module: ModuleId, next: usize, ahead: &mut LookAhead) {
        let Some(names) = self.state.names(module).cloned() else { return };
        for need in names.needs.iter().skip(next) {
            if ahead.is_full() {
                return;
            }
            ahead.known += 1;
            let Some(name) = self.expand_need(need.raw, need.has_token, module) else { continue };
            if self.state.by_name.contains_key(&name) || !ahead.names.insert(name) {
                continue;
            }
            match self.search(RequestedNeed { name, requester: module }, None) {
                Some(SearchOutcome::File(file, path, how)) => {
                    if !self.state.by_file.contains_key(&file) && ahead.files.insert(file) {
                        self.push(Module::new(Some(file), name, path, Some(module), how));
                    }
                }
                Some(SearchOutcome::Nothing | SearchOutcome::Stop(..)) => {}
                // The search has requested the fact for the next round.
                None => {
                    ahead.known -= 1;
                    ahead.asked += 1;
                }
            }
        }
    }
}

/// The names and files that one look-ahead has visited. `known` counts needs that required no new
/// fact, and `asked` counts needs for which facts were requested.
#[derive(Default)]
struct LookAhead {
    names: FastSet<StrId>,
    files: FastSet<FileId>,
    known: usize,
    asked: usize,
}

impl LookAhead {
    fn is_full(&self) -> bool {
        self.known >= MOST_AHEAD || self.asked >= MOST_ASKED
    }
}
