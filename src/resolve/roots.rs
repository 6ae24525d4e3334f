//! Which objects are roots, and the closures of all of them.
//!
//! A root is a program, a file that was given by name, or a shared object that no other root of
//! what is audited loads. `audit` calls [`Resolving::step`] until no fact is missing.

use super::loader::{Choice, InterpFault, NoLoader};
use super::resolver::Resolver;
use super::suspend::Suspended;
use super::{Closure, Root};
use crate::facts::{Need, View};
use crate::format::elf::{Object, Role};
use crate::id::{FastMap, FastSet, FileId, IdVec, LoaderId, RootId, StrId};
use crate::plan::Plan;
use std::os::unix::ffi::OsStrExt as _;

/// All closures of a run.
#[derive(Default)]
pub struct Closures {
    /// Closures of roots, in the order of the roots' paths.
    pub roots: IdVec<RootId, Closure>,
    /// Closures of libraries as roots of their own, for the reuse of answers.
    pub lone: FastMap<FileId, Closure>,
    /// Files that no loader rules are known for.
    pub no_loader: Vec<(FileId, NoLoader)>,
    /// Programs whose PT_INTERP leads to no loader.
    pub bad_interps: Vec<(FileId, InterpFault)>,
}

impl Closures {
    /// `lone` in the order of file ids.
    pub fn lone_in_order(&self) -> Vec<(FileId, &Closure)> {
        let mut list: Vec<_> = self.lone.iter().map(|(file, closure)| (*file, closure)).collect();
        list.sort_unstable_by_key(|(file, _)| *file);
        list
    }
}

/// Programs whose PT_INTERP leads to no loader, between rounds.
pub type BadInterps = FastMap<FileId, InterpFault>;

/// One file with the name it is started by.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The file.
    pub file: FileId,
    /// The name.
    pub path: Vec<u8>,
}

/// The state between rounds.
pub struct Resolving {
    /// Roots for certain: given files and programs.
    sure: Vec<Candidate>,
    /// Shared objects below a given directory: roots if nothing else loads them. Those come first
    /// that no need names, each part in byte order.
    perhaps: Vec<Candidate>,
    /// How many no need names. Of the others mostly none is a root, and none is resolved before it
    /// is known that no root loads it: in a circle of hundreds one closure is enough.
    unnamed: usize,
    /// Which of `perhaps` are roots, by file.
    roots: FastMap<FileId, usize>,
    /// What roots load besides themselves.
    loaded: FastSet<FileId>,
    pass: Pass,
}

/// How far the choice among `perhaps` is.
#[derive(Clone, Copy)]
enum Pass {
    /// Before it.
    Sure,
    /// At this one. A root that a later one loads is none.
    Choice(usize),
    /// Once more, at this one: what only such a root loaded.
    Rest(usize),
}

/// What may become a root, and what resolving it came to.
struct Candidate {
    start: Start,
    /// The loader, once it is chosen, and the name it is started by.
    chosen: Option<(LoaderId, StrId)>,
    /// Its link map as far as it is known.
    before: Option<Box<Suspended>>,
    outcome: Option<Outcome>,
}

impl Candidate {
    fn closure(&self) -> Option<&Closure> {
        match &self.outcome {
            Some(Outcome::Closure(closure)) => Some(closure),
            _ => None,
        }
    }

    fn files(&self) -> impl Iterator<Item = FileId> + '_ {
        self.closure().into_iter().flat_map(|closure| closure.found().map(|(_, file)| file))
    }

    /// What it loads besides itself.
    fn loads(&self) -> impl Iterator<Item = FileId> + '_ {
        self.files().filter(|file| *file != self.start.file)
    }
}

enum Outcome {
    Closure(Box<Closure>),
    NoLoader(NoLoader),
}

impl Resolving {
    /// Begins with what the walk found: `given` are started by the names that were typed, `walked`
    /// lie in given directories.
    pub fn new(view: View<'_>, plan: &Plan, given: Vec<Start>, walked: Vec<Start>) -> Self {
        let dynamic = |start: &Start| view.object(start.file).is_some_and(Object::is_dynamic);
        let candidate = |start| Candidate { start, chosen: None, before: None, outcome: None };
        let mut sure: Vec<Candidate> = given.into_iter().filter(dynamic).map(candidate).collect();
        let mut perhaps = Vec::new();
        for start in walked.into_iter().filter(dynamic) {
            let program = view.object(start.file).is_some_and(|o| o.role == Role::Program);
            let list = if program || plan.every_file_is_root { &mut sure } else { &mut perhaps };
            list.push(candidate(start));
        }
        sure.sort_by(|a, b| a.start.path.cmp(&b.start.path));
        sure.dedup_by(|b, a| a.start == b.start);
        let named = named(view, &perhaps);
        perhaps.sort_by(|a, b| a.start.path.cmp(&b.start.path));
        let (mut first, rest): (Vec<_>, Vec<_>) =
            perhaps.into_iter().partition(|candidate| !named.contains(&candidate.start.file));
        let unnamed = first.len();
        first.extend(rest);
        let (roots, loaded) = (FastMap::default(), FastSet::default());
        Self { sure, perhaps: first, unnamed, roots, loaded, pass: Pass::Sure }
    }

    /// Resolves what can be resolved; answers the facts that are missing, none when all is done.
    pub fn step(
        &mut self,
        resolver: &mut Resolver,
        view: View<'_>,
        plan: &Plan,
        bad_interps: &mut BadInterps,
    ) -> Vec<Need> {
        let mut needs = Vec::new();
        resolver.new_round();
        // What the first waits for, the loader and its directories, nearly all wait for.
        let first = self.sure.iter().all(|candidate| candidate.outcome.is_none());
        for candidate in self.sure.iter_mut().filter(|c| c.outcome.is_none()) {
            resolve(resolver, view, plan, candidate, bad_interps, &mut needs);
            if first && !needs.is_empty() {
                return needs;
            }
        }
        if !needs.is_empty() {
            return needs;
        }
        if let Pass::Sure = self.pass {
            self.loaded = self.loaded();
            let loaded = &self.loaded;
            let open = |c: &&mut Candidate| c.outcome.is_none() && !loaded.contains(&c.start.file);
            for candidate in self.perhaps.iter_mut().take(self.unnamed).filter(open) {
                resolve(resolver, view, plan, candidate, bad_interps, &mut needs);
            }
            if !needs.is_empty() {
                return needs;
            }
            self.pass = Pass::Choice(0);
        }
        while let Pass::Choice(at) | Pass::Rest(at) = self.pass {
            let Some(candidate) = self.perhaps.get_mut(at) else {
                if let Pass::Rest(_) = self.pass {
                    break;
                }
                self.loaded = self.loaded();
                self.pass = Pass::Rest(0);
                continue;
            };
            let file = candidate.start.file;
            if !self.loaded.contains(&file) && !self.roots.contains_key(&file) {
                if candidate.outcome.is_none() {
                    resolve(resolver, view, plan, candidate, bad_interps, &mut needs);
                }
                if !needs.is_empty() {
                    break;
                }
                self.choose(at);
            }
            self.pass = match self.pass {
                Pass::Choice(at) => Pass::Choice(at + 1),
                Pass::Sure | Pass::Rest(_) => Pass::Rest(at + 1),
            };
        }
        needs
    }

    /// Makes one of `perhaps` a root.
    fn choose(&mut self, at: usize) {
        let candidate = &self.perhaps[at];
        let loads: Vec<FileId> = candidate.loads().collect();
        self.roots.insert(candidate.start.file, at);
        if let Pass::Choice(_) = self.pass {
            for file in &loads {
                if let Some(other) = self.roots.remove(file) {
                    self.perhaps[other].outcome = None;
                }
            }
        }
        self.loaded.extend(loads);
    }

    /// Files that roots load besides themselves.
    fn loaded(&self) -> FastSet<FileId> {
        let mut out = FastSet::default();
        let chosen = self.perhaps.iter().filter(|c| self.roots.contains_key(&c.start.file));
        for candidate in self.sure.iter().chain(chosen) {
            out.extend(candidate.loads());
        }
        out
    }

    /// Chooses the roots when nothing is missing any more.
    pub fn finish(
        mut self,
        resolver: &mut Resolver,
        view: View<'_>,
        plan: &Plan,
        bad_interps: &BadInterps,
    ) -> Closures {
        let mut out = Closures::default();
        let mut roots = std::mem::take(&mut self.sure);
        let chosen = |at: usize, file: &FileId| self.roots.get(file) == Some(&at);
        let perhaps = self.perhaps.into_iter().enumerate();
        roots.extend(perhaps.filter(|(at, c)| chosen(*at, &c.start.file)).map(|(_, c)| c));
        let real = |c: &Candidate| view.file(c.start.file).path.as_os_str().as_bytes();
        roots.sort_by(|a, b| real(a).cmp(real(b)).then_with(|| a.start.path.cmp(&b.start.path)));
        for Candidate { start, outcome, .. } in roots {
            if let Some(fault) = bad_interps.get(&start.file) {
                out.bad_interps.push((start.file, *fault));
            }
            match outcome {
                Some(Outcome::Closure(closure)) => {
                    out.roots.push(*closure);
                }
                Some(Outcome::NoLoader(why)) => out.no_loader.push((start.file, why)),
                None => {}
            }
        }
        if plan.reuse {
            add_lone(&mut out, resolver, view, plan);
        }
        out
    }
}

/// Which files some need names, by soname or by file name. A hint only: what a need leads to is for
/// the search to say.
fn named(view: View<'_>, candidates: &[Candidate]) -> FastSet<FileId> {
    let mut names: FastSet<&[u8]> = FastSet::default();
    let last = |text: &'_ [u8]| text.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    for object in candidates.iter().filter_map(|c| view.object(c.start.file)) {
        names.extend(object.needs.iter().map(|need| {
            let text = object.str(need.name);
            &text[last(text)..]
        }));
    }
    let is_named = |file: &FileId| {
        let facts = view.file(*file);
        let others = facts.names.iter().filter_map(|name| name.path.file_name());
        let mut files = facts.path.file_name().into_iter().chain(others);
        files.any(|name| names.contains(name.as_bytes()))
            || facts.object().and_then(Object::soname).is_some_and(|name| names.contains(name))
    };
    candidates.iter().map(|candidate| candidate.start.file).filter(is_named).collect()
}

fn resolve(
    resolver: &mut Resolver,
    view: View<'_>,
    plan: &Plan,
    candidate: &mut Candidate,
    bad_interps: &mut BadInterps,
    needs: &mut Vec<Need>,
) {
    let Start { file, path } = &candidate.start;
    let (loader, path) = match candidate.chosen {
        Some(chosen) => chosen,
        None => match choose(resolver, view, plan, *file, path) {
            Err(missing) => return needs.extend(missing),
            Ok(Choice { loader: Err(why), .. }) => {
                candidate.outcome = Some(Outcome::NoLoader(why));
                return;
            }
            Ok(Choice { loader: Ok(loader), interp }) => {
                if let Some(fault) = interp {
                    bad_interps.insert(*file, fault);
                }
                *candidate.chosen.insert((loader, resolver.strings.id(path)))
            }
        },
    };
    let root = Root { file: *file, path, loader };
    match resolver.closure(view, plan, root, &mut candidate.before) {
        Ok(closure) => candidate.outcome = Some(Outcome::Closure(Box::new(closure))),
        Err(missing) => needs.extend(missing),
    }
}

fn choose(
    resolver: &mut Resolver,
    view: View<'_>,
    plan: &Plan,
    file: FileId,
    path: &[u8],
) -> Result<Choice, Vec<Need>> {
    let Some(object) = view.object(file) else {
        return Ok(Choice { loader: Err(NoLoader::UnknownMachine), interp: None });
    };
    let dirs = match object.interp {
        None if !plan.as_ldd => resolver.own_dirs(object, path, plan),
        _ => Vec::new(),
    };
    let Resolver { loaders, strings, .. } = resolver;
    // Asked for one at a time, ten thousand directories would be as many rounds.
    let texts = dirs.iter().map(|dir| strings.text(*dir)).filter(|dir| dir.starts_with(b"/"));
    let unknown: Vec<Need> = texts.filter_map(|dir| view.is_directory(dir).err()).collect();
    if !unknown.is_empty() {
        return Err(unknown);
    }
    loaders.choose(view, plan, strings, object, &dirs).map_err(|need| vec![need])
}

/// Modules and needs of all such closures together; in a long chain their number is quadratic, and
/// without an answer of its own an object is only bound once for each root.
const MOST_LONE: usize = 500_000;

/// Closures of libraries that are no roots, as far as no new file must be looked at for them.
fn add_lone(out: &mut Closures, resolver: &mut Resolver, view: View<'_>, plan: &Plan) {
    let mut todo: Vec<Root> = Vec::new();
    let mut seen: FastSet<FileId> = out.roots.iter().map(|closure| closure.root.file).collect();
    seen.extend(out.lone.keys());
    for closure in &out.roots {
        for (module, file) in closure.found().skip(1) {
            if seen.insert(file) {
                let path = closure.module(module).path;
                todo.push(Root { file, path, loader: closure.root.loader });
            }
        }
    }
    let mut room = MOST_LONE;
    for root in todo {
        if room == 0 {
            break;
        }
        if let Ok(closure) = resolver.closure(view, plan, root, &mut None) {
            room = room.saturating_sub(closure.module_count() + closure.edges.len());
            out.lone.insert(root.file, closure);
        }
    }
}
