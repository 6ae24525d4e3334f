//! Selects the entry points and resolves their closures.
//!
//! An entry point is a program, a file given by name, or a plugin with one of its host programs. A
//! shared object found by the walk is an entry point only if no other entry point loads it. `audit`
//! calls [`Resolving::step`] until no fact is missing.

use super::candidate::{
    BadInterps, EntryPointCandidate, Resolution, Round, choose_loader, resolve,
};
use super::hosts::{HostPrograms, Unhosted};
use super::loader::{InterpreterDefect, NoLoader};
use super::start::Start;
use super::{Closure, EntryPoint};
use crate::facts::{FactStore, Need};
use crate::format::elf::{Foreign, Object, Role};
use crate::id::{FastMap, FastSet, FileId, IdSet, IdVec, RootId};
use crate::order::Arrange as _;
use crate::plan::Plan;
use std::collections::BTreeMap;
use std::os::unix::ffi::OsStrExt as _;
use std::path::PathBuf;
use std::sync::Arc;

/// All closures of a run.
#[derive(Default)]
pub struct Closures {
    /// Closures of entry points, ordered by the entry points' paths.
    pub roots: IdVec<RootId, Closure>,
    /// The closure of each library that is not an entry point, resolved as if it were one. A
    /// library is bound once in this closure, and the result is reused under every entry point.
    pub lone: FastMap<FileId, Closure>,
    /// Files for which no loader was found, each with the reason.
    pub no_loader: Vec<(FileId, NoLoader)>,
    /// Files of the command line that are foreign, such as objects of FreeBSD, each with its kind.
    pub foreign: Vec<(FileId, Foreign)>,
    /// Programs whose PT_INTERP cannot be used, each with the reason.
    pub bad_interps: Vec<(FileId, InterpreterDefect)>,
    /// Host programs and plugins that could not be combined as requested.
    pub unhosted: Unhosted,
}

impl Closures {
    /// The closures of `lone`, in the order of file ids.
    pub fn lone_in_order(&self) -> Vec<(FileId, &Closure)> {
        let mut list: Vec<_> = self.lone.iter().map(|(file, closure)| (*file, closure)).collect();
        list.arrange_by_key(|(file, _)| *file);
        list
    }
}

/// True if the user typed the path of this file. A path from a list of files does not count as
/// typed: the list names all files of a package, as a directory does.
fn is_typed(start: &Start, plan: &Plan) -> bool {
    let name = start.path.strip_prefix(b"./").unwrap_or(&start.path);
    let is_name = |path: &PathBuf| {
        let path = path.as_os_str().as_bytes();
        path == start.path || path == name
    };
    plan.listed.is_empty() || plan.paths.iter().any(is_name)
}

/// The state of the selection of entry points between rounds.
pub struct Resolving {
    /// Definite entry points: programs, and files that the user named.
    sure: Vec<EntryPointCandidate>,
    /// Shared objects below a given directory. Each becomes an entry point if no other entry point
    /// loads it. Objects that no DT_NEEDED entry names come first, then the others. Both parts are
    /// in byte order of the path.
    perhaps: Vec<EntryPointCandidate>,
    /// Number of objects in `perhaps` that no DT_NEEDED entry names. The objects after them are
    /// resolved one at a time, each only if no entry point loads it yet. A cycle of hundreds of
    /// libraries then takes one closure.
    unnamed: usize,
    /// The indices in `perhaps` of each file. A file has several if it has hard links.
    places: FastMap<FileId, Vec<usize>>,
    /// The files of the entry points chosen from `perhaps`. Each name of a file is an entry point,
    /// or none is.
    roots: FastSet<FileId>,
    /// Files that entry points load, besides the entry points' own files.
    loaded: IdSet<FileId>,
    hosts: HostPrograms,
    /// Closures of the host programs; `None` for a host program that stops before it can load a
    /// plugin.
    host_closures: Vec<Option<Arc<Closure>>>,
    /// The plugins: each once for each of its host programs.
    plugins: Vec<EntryPointCandidate>,
    /// Files that became plugins of a `--host` program because no other object needs them.
    given_away: FastSet<FileId>,
    /// Files of the command line that belong to another system; they never become entry points.
    foreign: BTreeMap<FileId, Foreign>,
    bad_interps: BadInterps,
    pass: Pass,
}

/// The passes that choose entry points from `Resolving::perhaps`, in order.
#[derive(Clone, Copy)]
enum Pass {
    /// The choice has not begun.
    Sure,
    /// First pass, at this index of `perhaps`. An entry point is dropped if a later entry point
    /// loads it.
    Choice(usize),
    /// Second pass, at this index of `perhaps`. It covers objects that only a dropped entry point
    /// loaded.
    Rest(usize),
    /// The pass in which host programs open the objects that no other object needs.
    Plugins,
    /// Last pass, at this index of `perhaps`. It covers objects that a plugin loads when it is
    /// resolved alone, but not under its host program.
    Last(usize),
}

impl Resolving {
    /// The state before the first round. `given` has the files that the user named, with the names
    /// as typed; `walked` has the files found in given directories.
    pub fn new(
        store: &dyn FactStore,
        plan: &Plan,
        hosts: HostPrograms,
        given: Vec<Start>,
        walked: Vec<Start>,
    ) -> Self {
        let (mut sure, mut perhaps, mut plugins) = (Vec::new(), Vec::new(), Vec::new());
        let mut foreign_files = BTreeMap::new();
        let given = given.into_iter().map(|start| (start, true));
        for (start, given) in given.chain(walked.into_iter().map(|start| (start, false))) {
            // `ldd` passes any file to the loader.
            let foreign = store.file(start.file).foreign().filter(|_| !plan.every_file_is_root);
            if let Some(foreign) = foreign {
                if given && is_typed(&start, plan) {
                    foreign_files.insert(start.file, foreign);
                }
                continue;
            }
            let Some(object) = store.object(start.file).filter(|object| object.is_dynamic()) else {
                continue;
            };
            if !hosts.of(start.file).is_empty() {
                let opened = |host: &usize| EntryPointCandidate::plugin(start.clone(), *host);
                plugins.extend(hosts.of(start.file).iter().map(opened));
                continue;
            }
            let sure_root = given || object.role == Role::Program || plan.every_file_is_root;
            let list = if sure_root { &mut sure } else { &mut perhaps };
            list.push(EntryPointCandidate::new(start));
        }
        for (host, library) in hosts.list.iter().filter_map(|host| host.after.as_ref()) {
            if !plugins.iter().any(|plugin| plugin.start.file == library.file) {
                plugins.push(EntryPointCandidate::plugin(library.clone(), *host));
            }
        }
        for host in &hosts.list {
            if !sure.iter().any(|candidate| candidate.start.file == host.file) {
                let start = Start { file: host.file, path: host.path.clone() };
                sure.push(EntryPointCandidate::new(start));
            }
        }
        for list in [&mut sure, &mut plugins] {
            list.arrange_by(|a, b| (&a.start.path, a.host).cmp(&(&b.start.path, b.host)));
            list.dedup_by(|b, a| a.start == b.start && a.host == b.host);
        }
        let named = named(store, &perhaps);
        perhaps.arrange_by(|a, b| a.start.path.cmp(&b.start.path));
        let (mut first, rest): (Vec<_>, Vec<_>) =
            perhaps.into_iter().partition(|candidate| !named.contains(&candidate.start.file));
        let unnamed = first.len();
        first.extend(rest);
        let mut places: FastMap<FileId, Vec<usize>> = FastMap::default();
        for (at, candidate) in first.iter().enumerate() {
            places.entry(candidate.start.file).or_default().push(at);
        }
        let (roots, loaded) = (FastSet::default(), IdSet::default());
        let (perhaps, host_closures) = (first, Vec::new());
        let (given_away, bad_interps) = (FastSet::default(), BadInterps::default());
        Self {
            sure,
            perhaps,
            unnamed,
            places,
            roots,
            loaded,
            hosts,
            host_closures,
            plugins,
            given_away,
            foreign: foreign_files,
            bad_interps,
            pass: Pass::Sure,
        }
    }

    /// Resolves as much as the known facts allow, and returns the missing facts. The list is empty
    /// once all entry points are resolved.
    pub fn step(&mut self, round: &mut Round<'_>) -> Vec<Need> {
        round.resolver.new_round();
        // Request the facts that are probably needed first: a build of a link map stops at the
        // first missing fact.
        let mut needs = self.choose_loaders(round);
        needs.extend(self.look_ahead(round));
        if !needs.is_empty() {
            return needs;
        }
        let mut needs = self.pass_on(round);
        if !needs.is_empty() {
            // The pass may have chosen further loaders, and the look-ahead is made for each loader.
            needs.extend(self.look_ahead(round));
        }
        needs
    }

    fn look_ahead(&self, round: &mut Round<'_>) -> Vec<Need> {
        let lists = [&self.sure, &self.perhaps, &self.plugins];
        let files = lists.into_iter().flatten().map(|candidate| candidate.start.file);
        round.resolver.look_ahead(round.store, round.plan, &files)
    }

    /// Chooses the loaders of the definite entry points.
    fn choose_loaders(&mut self, round: &mut Round<'_>) -> Vec<Need> {
        let mut needs = Vec::new();
        let first = self.sure.iter().all(|candidate| candidate.chosen.is_none());
        for candidate in self.sure.iter_mut().filter(|candidate| candidate.outcome.is_none()) {
            choose_loader(round, candidate, &mut self.bad_interps, &mut needs);
            // Nearly all candidates lack the same facts as the first. Read these facts before the
            // other candidates request theirs.
            if first && !needs.is_empty() {
                break;
            }
        }
        needs
    }

    fn pass_on(&mut self, round: &mut Round<'_>) -> Vec<Need> {
        let mut needs = Vec::new();
        // Nearly all candidates lack the same facts as the first: the loader and its directories.
        // Read these facts before resolving the other candidates.
        let first = self.sure.iter().all(|candidate| candidate.outcome.is_none());
        for candidate in self.sure.iter_mut().filter(|c| c.outcome.is_none()) {
            resolve(round, candidate, &mut self.bad_interps, &mut needs);
            if first && !needs.is_empty() {
                return needs;
            }
        }
        if !needs.is_empty() {
            return needs;
        }
        self.open_plugins(round, &mut needs);
        if !needs.is_empty() {
            return needs;
        }
        if let Pass::Sure = self.pass {
            self.loaded = self.loaded();
            let loaded = &self.loaded;
            let open = |c: &&mut EntryPointCandidate| {
                c.outcome.is_none() && !loaded.contains(c.start.file)
            };
            for candidate in self.perhaps.iter_mut().take(self.unnamed).filter(open) {
                resolve(round, candidate, &mut self.bad_interps, &mut needs);
            }
            if !needs.is_empty() {
                return needs;
            }
            self.pass = Pass::Choice(0);
        }
        loop {
            let at = match self.pass {
                Pass::Choice(at) | Pass::Rest(at) | Pass::Last(at) => at,
                Pass::Sure | Pass::Plugins => {
                    self.open_plugins(round, &mut needs);
                    if !needs.is_empty() {
                        break;
                    }
                    self.loaded = self.loaded();
                    self.pass = Pass::Last(0);
                    continue;
                }
            };
            let Some(file) = self.perhaps.get(at).map(|candidate| candidate.start.file) else {
                match self.pass {
                    Pass::Choice(_) => {
                        self.loaded = self.loaded();
                        self.pass = Pass::Rest(0);
                    }
                    Pass::Rest(_) if self.hosts.take_rest() => {
                        self.give_rest_to_hosts(round.store);
                        self.pass = Pass::Plugins;
                    }
                    Pass::Sure | Pass::Rest(_) | Pass::Plugins | Pass::Last(_) => break,
                }
                continue;
            };
            let known = self.loaded.contains(file) || self.roots.contains(&file);
            if !known && !self.given_away.contains(&file) {
                for at in self.places.get(&file).into_iter().flatten() {
                    let candidate = &mut self.perhaps[*at];
                    if candidate.outcome.is_none() {
                        resolve(round, candidate, &mut self.bad_interps, &mut needs);
                    }
                }
                if !needs.is_empty() {
                    break;
                }
                self.choose(file);
            }
            self.pass = match self.pass {
                Pass::Choice(at) => Pass::Choice(at + 1),
                Pass::Rest(at) => Pass::Rest(at + 1),
                Pass::Sure | Pass::Plugins | Pass::Last(_) => Pass::Last(at + 1),
            };
        }
        needs
    }

    /// Resolves the plugins, once the closures of all host programs are known.
    fn open_plugins(&mut self, round: &mut Round<'_>, needs: &mut Vec<Need>) {
        self.find_host_closures(round, needs);
        if self.host_closures.len() < self.hosts.list.len() {
            return;
        }
        for plugin in self.plugins.iter_mut().filter(|plugin| plugin.outcome.is_none()) {
            let host = plugin.host.and_then(|host| self.host_closures[host].as_ref());
            plugin.open(round, host, needs);
        }
    }

    /// Finds the closures of the host programs in the order of `hosts.list`. A program that has
    /// opened a library with RTLD_GLOBAL is a separate host. It is listed after the same program
    /// without that library.
    fn find_host_closures(&mut self, round: &mut Round<'_>, needs: &mut Vec<Need>) {
        while let Some(host) = self.hosts.list.get(self.host_closures.len()) {
            let closure = match &host.after {
                None => {
                    let starts = |closure: &&Closure| closure.fatal().is_none();
                    let candidate = self.sure.iter().find(|c| c.start.file == host.file);
                    candidate
                        .and_then(EntryPointCandidate::closure)
                        .filter(starts)
                        .cloned()
                        .map(Arc::new)
                }
                Some((before, library)) => {
                    let is_it = |c: &&mut EntryPointCandidate| {
                        c.host == Some(*before) && c.start.file == library.file
                    };
                    let before = self.host_closures[*before].clone();
                    let Some(opened) = self.plugins.iter_mut().find(is_it) else {
                        self.host_closures.push(before);
                        continue;
                    };
                    if opened.outcome.is_none() {
                        opened.open(round, before.as_ref(), needs);
                    }
                    if opened.outcome.is_none() {
                        return;
                    }
                    opened.closure().and_then(Closure::after_opening).map(Arc::new).or(before)
                }
            };
            self.host_closures.push(closure);
        }
    }

    /// Turns shared objects that no other object needs into plugins, once for each host program
    /// that may load them.
    fn give_rest_to_hosts(&mut self, store: &dyn FactStore) {
        let loaded = self.loaded();
        let alone =
            |c: &&EntryPointCandidate| c.closure().is_some() && !loaded.contains(c.start.file);
        let chosen = self.perhaps.iter().filter(|c| self.roots.contains(&c.start.file));
        let mut plugins = Vec::new();
        for EntryPointCandidate { start, .. } in self.sure.iter().chain(chosen).filter(alone) {
            let hosts = self.hosts.of_rest(store, start.file).into_iter();
            plugins.extend(hosts.map(|host| EntryPointCandidate::plugin(start.clone(), host)));
        }
        self.given_away
            .extend(plugins.iter().map(|plugin: &EntryPointCandidate| plugin.start.file));
        self.sure.retain(|candidate| !self.given_away.contains(&candidate.start.file));
        self.roots.retain(|file| !self.given_away.contains(file));
        self.plugins.extend(plugins);
    }

    /// Makes the candidates with this file entry points. In the first pass, the files that they
    /// load stop being entry points.
    fn choose(&mut self, file: FileId) {
        let places = &self.places;
        let of_file = |file: &FileId| places.get(file).into_iter().flatten();
        let perhaps = &mut self.perhaps;
        let loads: Vec<FileId> = of_file(&file).flat_map(|at| perhaps[*at].loads()).collect();
        self.roots.insert(file);
        if let Pass::Choice(_) = self.pass {
            for other in loads.iter().filter(|file| self.roots.remove(*file)) {
                of_file(other).for_each(|at| perhaps[*at].outcome = None);
            }
        }
        self.loaded.extend(loads);
    }

    /// Files that entry points load, besides the entry points' own files.
    fn loaded(&self) -> IdSet<FileId> {
        let mut out = IdSet::default();
        let chosen = self.perhaps.iter().filter(|c| self.roots.contains(&c.start.file));
        for candidate in self.sure.iter().chain(chosen).chain(&self.plugins) {
            out.extend(candidate.loads());
        }
        out
    }

    /// The closures of the chosen entry points. Call this method once no fact is missing.
    pub fn finish(mut self, round: &mut Round<'_>) -> Closures {
        let (store, bad_interps) = (round.store, &self.bad_interps);
        let mut out = Closures::default();
        let mut roots = std::mem::take(&mut self.sure);
        let is_chosen =
            |candidate: &EntryPointCandidate| self.roots.contains(&candidate.start.file);
        roots.extend(self.perhaps.into_iter().filter(is_chosen));
        let plugins = std::mem::take(&mut self.plugins);
        self.hosts.note_idle(|host| plugins.iter().any(|plugin| plugin.host == Some(host)));
        roots.extend(plugins);
        let hosts = &self.hosts.list;
        roots.arrange_by(|a, b| a.key(store, hosts).cmp(&b.key(store, hosts)));
        let mut stopped: BTreeMap<FileId, usize> = BTreeMap::new();
        for EntryPointCandidate { start, host, outcome, .. } in roots {
            if let Some(fault) = bad_interps.get(&start.file) {
                out.bad_interps.push((start.file, *fault));
            }
            match outcome {
                Some(Resolution::Closure(closure)) => {
                    out.roots.push(*closure);
                }
                Some(Resolution::NoLoader(why)) => out.no_loader.push((start.file, why)),
                Some(Resolution::Stopped) => {
                    let host = host.and_then(|host| hosts.get(host));
                    *stopped.entry(host.map_or(start.file, |host| host.file)).or_default() += 1;
                }
                None => {}
            }
        }
        out.foreign = self.foreign.into_iter().collect();
        out.unhosted = self.hosts.unhosted;
        out.unhosted.stopped.extend(stopped);
        if round.plan.reuse {
            add_lone(&mut out, round);
        }
        out
    }
}

/// The candidates' files whose soname or file name is in a DT_NEEDED entry of a candidate. This is
/// only a hint: the search decides which file satisfies the entry.
fn named(store: &dyn FactStore, candidates: &[EntryPointCandidate]) -> FastSet<FileId> {
    let mut names: FastSet<&[u8]> = FastSet::default();
    let last = |text: &'_ [u8]| text.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    for object in candidates.iter().filter_map(|c| store.object(c.start.file)) {
        names.extend(object.needs.iter().map(|need| {
            let text = object.str(need.name);
            &text[last(text)..]
        }));
    }
    let is_named = |file: &FileId| {
        let facts = store.file(*file);
        let others = facts.names.iter().filter_map(|name| name.path.file_name());
        let mut files = facts.path.file_name().into_iter().chain(others);
        files.any(|name| names.contains(name.as_bytes()))
            || facts.object().and_then(Object::soname).is_some_and(|name| names.contains(name))
    };
    candidates.iter().map(|candidate| candidate.start.file).filter(is_named).collect()
}

/// Once the closures of `lone` have this many modules and needs in all, no further closure is
/// added. For a chain of libraries, the number of modules and needs grows quadratically with the
/// length of the chain. An object without a closure in `lone` is bound again under each entry
/// point.
const MOST_LONE: usize = 500_000;

/// Fills `lone` with closures of libraries that are not entry points. A library is left out if its
/// closure needs a fact that was not read.
fn add_lone(out: &mut Closures, round: &mut Round<'_>) {
    let mut todo: Vec<EntryPoint> = Vec::new();
    let alone = out.roots.iter().filter(|closure| closure.root.host.is_none());
    let mut seen: IdSet<FileId> = IdSet::default();
    seen.extend(alone.map(|closure| closure.root.file).chain(out.lone.keys().copied()));
    for closure in &out.roots {
        for (module, file) in closure.found().skip(1) {
            if seen.insert(file) {
                let path = closure.module(module).path;
                todo.push(EntryPoint { file, path, loader: closure.root.loader, host: None });
            }
        }
    }
    let mut room = MOST_LONE;
    for root in todo {
        if room == 0 {
            break;
        }
        if let Ok(closure) = round.closure(root, None, &mut None) {
            room = room.saturating_sub(closure.module_count() + closure.edges().len());
            out.lone.insert(root.file, closure);
        }
    }
}
