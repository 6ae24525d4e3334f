//! Which objects are roots, and the closures of all of them.
//!
//! A root is a program, a file that was given by name, or a shared object that no other root of
//! what is audited loads. `audit` calls [`Resolving::step`] until no fact is missing.

use super::loader::{Choice, InterpFault, NoLoader};
use super::resolver::Resolver;
use super::{Closure, Root};
use crate::facts::{Need, View};
use crate::format::elf::Role;
use crate::id::{FastMap, FastSet, FileId, IdVec, LoaderId, RootId};
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
    /// Shared objects below a given directory: roots if nothing else loads them.
    perhaps: Vec<Candidate>,
}

/// What may become a root, and what resolving it came to.
struct Candidate {
    start: Start,
    /// The loader, once it is chosen.
    loader: Option<LoaderId>,
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

    fn loads(&self, file: FileId) -> bool {
        self.start.file != file && self.files().any(|loaded| loaded == file)
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
        let dynamic = |start: &Start| {
            view.object(start.file).is_some_and(super::super::format::elf::Object::is_dynamic)
        };
        let candidate = |start| Candidate { start, loader: None, outcome: None };
        let mut sure: Vec<Candidate> = given.into_iter().filter(dynamic).map(candidate).collect();
        let mut perhaps = Vec::new();
        for start in walked.into_iter().filter(dynamic) {
            let program = view.object(start.file).is_some_and(|o| o.role == Role::Program);
            let list = if program || plan.every_file_is_root { &mut sure } else { &mut perhaps };
            list.push(candidate(start));
        }
        sure.sort_by(|a, b| a.start.path.cmp(&b.start.path));
        sure.dedup_by(|b, a| a.start == b.start);
        Self { sure, perhaps }
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
        let loaded = self.loaded();
        let open = |c: &&mut Candidate| c.outcome.is_none() && !loaded.contains(&c.start.file);
        for candidate in self.perhaps.iter_mut().filter(open) {
            resolve(resolver, view, plan, candidate, bad_interps, &mut needs);
        }
        needs
    }

    /// Files that roots for certain load.
    fn loaded(&self) -> FastSet<FileId> {
        let mut out = FastSet::default();
        for candidate in &self.sure {
            out.extend(candidate.files().filter(|file| *file != candidate.start.file));
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
        let more: FastSet<usize> = self.unloaded().into_iter().collect();
        let mut roots = std::mem::take(&mut self.sure);
        for (i, candidate) in self.perhaps.into_iter().enumerate() {
            if more.contains(&i) {
                roots.push(candidate);
            } else if let Some(Outcome::Closure(closure)) = candidate.outcome {
                out.lone.insert(closure.root.file, *closure);
            }
        }
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

    /// Shared objects that no root loads, as indices into `perhaps`: of those that only load each
    /// other the first in byte order, until every one is loaded by some root or is one.
    fn unloaded(&self) -> Vec<usize> {
        let mut loaded = self.loaded();
        let mut rest: Vec<usize> = (0..self.perhaps.len())
            .filter(|i| !loaded.contains(&self.perhaps[*i].start.file))
            .collect();
        rest.sort_by(|a, b| self.perhaps[*a].start.path.cmp(&self.perhaps[*b].start.path));
        // First those that nothing among the rest loads, then the first of each circle.
        let mut by_others: FastSet<FileId> = FastSet::default();
        for candidate in rest.iter().map(|i| &self.perhaps[*i]) {
            by_others.extend(candidate.files().filter(|file| *file != candidate.start.file));
        }
        let file = |i: usize| self.perhaps[i].start.file;
        let mut roots = Vec::new();
        for i in rest.iter().copied().filter(|i| !by_others.contains(&file(*i))) {
            loaded.extend(self.perhaps[i].files());
            loaded.insert(file(i));
            roots.push(i);
        }
        while let Some(i) = rest.iter().copied().find(|i| !loaded.contains(&file(*i))) {
            // Something outside the circle that loads it comes first.
            let outside = |other: &usize| {
                !loaded.contains(&file(*other))
                    && self.perhaps[*other].loads(file(i))
                    && !self.perhaps[i].loads(file(*other))
            };
            let first = rest.iter().copied().find(outside).unwrap_or(i);
            loaded.insert(file(first));
            loaded.extend(self.perhaps[first].files());
            roots.push(first);
        }
        roots
    }
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
    let loader = match candidate.loader {
        Some(loader) => loader,
        None => match choose(resolver, view, plan, *file, path) {
            Err(need) => return needs.push(need),
            Ok(Choice { loader: Err(why), .. }) => {
                candidate.outcome = Some(Outcome::NoLoader(why));
                return;
            }
            Ok(Choice { loader: Ok(loader), interp }) => {
                if let Some(fault) = interp {
                    bad_interps.insert(*file, fault);
                }
                *candidate.loader.insert(loader)
            }
        },
    };
    let path = resolver.strings.id(path);
    match resolver.closure(view, plan, Root { file: *file, path, loader }) {
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
) -> Result<Choice, Need> {
    let Some(object) = view.object(file) else {
        return Ok(Choice { loader: Err(NoLoader::UnknownMachine), interp: None });
    };
    let dirs = match object.interp {
        None if !plan.as_ldd => resolver.own_dirs(object, path, plan),
        _ => Vec::new(),
    };
    let Resolver { loaders, strings, .. } = resolver;
    loaders.choose(view, plan, strings, object, &dirs)
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
        if let Ok(closure) = resolver.closure(view, plan, root) {
            room = room.saturating_sub(closure.module_count() + closure.edges.len());
            out.lone.insert(root.file, closure);
        }
    }
}
