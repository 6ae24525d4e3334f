//! Which objects are roots, and the closures of all of them.
//!
//! A root is a program, a file that was given by name, or a shared object that no other root of
//! what is audited loads. `audit` calls [`Resolving::step`] until no fact is missing.

use super::closure::Resolver;
use super::loader::{Choice, NoLoader};
use super::{Closure, Root};
use crate::facts::{Need, View};
use crate::format::elf::Role;
use crate::id::{FastMap, FastSet, FileId, IdVec, RootId};
use crate::plan::Plan;

/// All closures of a run.
#[derive(Default)]
pub struct Closures {
    /// Closures of roots, in the order of the roots' paths.
    pub roots: IdVec<RootId, Closure>,
    /// Closures of libraries as roots of their own, for the reuse of answers.
    pub lone: FastMap<FileId, Closure>,
    /// Files that no loader rules are known for.
    pub no_loader: Vec<(FileId, NoLoader)>,
    /// Programs whose PT_INTERP leads nowhere.
    pub missing_interp: Vec<FileId>,
}

impl Closures {
    /// `lone` in the order of file ids.
    pub fn lone_in_order(&self) -> Vec<(FileId, &Closure)> {
        let mut list: Vec<_> = self.lone.iter().map(|(file, closure)| (*file, closure)).collect();
        list.sort_unstable_by_key(|(file, _)| *file);
        list
    }
}

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
    sure: Vec<Start>,
    /// Shared objects below a given directory: roots if nothing else loads them.
    perhaps: Vec<Start>,
    closures: FastMap<(FileId, Vec<u8>), Outcome>,
}

enum Outcome {
    Closure(Box<Closure>),
    NoLoader(NoLoader),
}

impl Resolving {
    /// Begins with what the walk found: `given` are started by the names that were typed, `walked`
    /// lie in given directories.
    pub fn new(view: View<'_>, plan: &Plan, given: Vec<Start>, walked: Vec<Start>) -> Self {
        let dynamic = |start: &Start| view.object(start.file).is_some_and(|o| o.is_dynamic());
        let mut sure: Vec<Start> = given.into_iter().filter(dynamic).collect();
        let mut perhaps = Vec::new();
        for start in walked.into_iter().filter(dynamic) {
            let program = view.object(start.file).is_some_and(|o| o.role == Role::Program);
            if program || plan.every_file_is_root {
                sure.push(start);
            } else {
                perhaps.push(start);
            }
        }
        Self { sure, perhaps, closures: FastMap::default() }
    }

    /// Resolves what can be resolved; answers the facts that are missing, none when all is done.
    pub fn step(
        &mut self,
        resolver: &mut Resolver,
        view: View<'_>,
        plan: &Plan,
        missing_interp: &mut FastSet<FileId>,
    ) -> Vec<Need> {
        let mut needs = Vec::new();
        for i in 0..self.sure.len() {
            let start = self.sure[i].clone();
            self.resolve(resolver, view, plan, start, missing_interp, &mut needs);
        }
        if !needs.is_empty() {
            return needs;
        }
        let loaded = self.loaded();
        for i in 0..self.perhaps.len() {
            let start = self.perhaps[i].clone();
            if !loaded.contains(&start.file) {
                self.resolve(resolver, view, plan, start, missing_interp, &mut needs);
            }
        }
        needs
    }

    fn resolve(
        &mut self,
        resolver: &mut Resolver,
        view: View<'_>,
        plan: &Plan,
        start: Start,
        missing_interp: &mut FastSet<FileId>,
        needs: &mut Vec<Need>,
    ) {
        let key = (start.file, start.path);
        if self.closures.contains_key(&key) {
            return;
        }
        let outcome = match choose(resolver, view, plan, key.0, &key.1) {
            Err(need) => return needs.push(need),
            Ok(Choice { loader: Err(why), .. }) => Outcome::NoLoader(why),
            Ok(Choice { loader: Ok(loader), missing_interp: missing }) => {
                if missing {
                    missing_interp.insert(key.0);
                }
                let path = resolver.strings.id(&key.1);
                match resolver.closure(view, plan, Root { file: key.0, path, loader }) {
                    Ok(closure) => Outcome::Closure(Box::new(closure)),
                    Err(missing) => return needs.extend(missing),
                }
            }
        };
        self.closures.insert(key, outcome);
    }

    /// Files that roots for certain load.
    fn loaded(&self) -> FastSet<FileId> {
        let mut out = FastSet::default();
        for start in &self.sure {
            if let Some(Outcome::Closure(closure)) = self.closures.get(&key(start)) {
                out.extend(closure.found().skip(1).map(|(_, file)| file));
            }
        }
        out
    }

    /// Chooses the roots when nothing is missing any more.
    pub fn finish(
        mut self,
        resolver: &mut Resolver,
        view: View<'_>,
        plan: &Plan,
        missing_interp: &FastSet<FileId>,
    ) -> Closures {
        let mut out = Closures::default();
        let mut starts = std::mem::take(&mut self.sure);
        starts.extend(self.unloaded());
        let in_order = |a: &Start, b: &Start| a.path.cmp(&b.path);
        starts.sort_by(in_order);
        starts.dedup();
        for start in &starts {
            match self.closures.remove(&key(start)) {
                Some(Outcome::Closure(closure)) => {
                    out.roots.push(*closure);
                }
                Some(Outcome::NoLoader(why)) => out.no_loader.push((start.file, why)),
                None => {}
            }
        }
        for start in &self.perhaps {
            if let Some(Outcome::Closure(closure)) = self.closures.remove(&key(start)) {
                out.lone.insert(closure.root.file, *closure);
            }
        }
        out.missing_interp = starts
            .iter()
            .map(|start| start.file)
            .filter(|file| missing_interp.contains(file))
            .collect();
        if plan.reuse {
            add_lone(&mut out, resolver, view, plan);
        }
        out
    }

    /// Shared objects that no root loads: of those that only load each other the first in byte
    /// order, until every one is loaded by some root or is one.
    fn unloaded(&self) -> Vec<Start> {
        let mut loaded = self.loaded();
        let mut rest: Vec<&Start> =
            self.perhaps.iter().filter(|start| !loaded.contains(&start.file)).collect();
        rest.sort_by(|a, b| a.path.cmp(&b.path));
        let mut roots = Vec::new();
        // First those that nothing among the rest loads, then the first of each circle.
        let wanted = |of: &Start, by: &Start| self.loads(by, of.file);
        let sources: Vec<&Start> = {
            let mut by_others: FastSet<FileId> = FastSet::default();
            for start in &rest {
                by_others.extend(self.files(start).filter(|file| *file != start.file));
            }
            rest.iter().copied().filter(|start| !by_others.contains(&start.file)).collect()
        };
        for start in sources {
            loaded.extend(self.files(start));
            roots.push(start.clone());
        }
        while let Some(start) = rest.iter().copied().find(|start| !loaded.contains(&start.file)) {
            // Something outside the circle that loads it comes first.
            let first = rest
                .iter()
                .copied()
                .filter(|other| !loaded.contains(&other.file))
                .find(|other| wanted(start, other) && !wanted(other, start))
                .unwrap_or(start);
            loaded.insert(first.file);
            loaded.extend(self.files(first));
            roots.push(first.clone());
        }
        roots
    }

    fn files(&self, start: &Start) -> impl Iterator<Item = FileId> + '_ {
        let closure = match self.closures.get(&key(start)) {
            Some(Outcome::Closure(closure)) => Some(closure),
            _ => None,
        };
        closure.into_iter().flat_map(|closure| closure.found().map(|(_, file)| file))
    }

    fn loads(&self, start: &Start, file: FileId) -> bool {
        start.file != file && self.files(start).any(|loaded| loaded == file)
    }
}

fn key(start: &Start) -> (FileId, Vec<u8>) {
    (start.file, start.path.clone())
}

fn choose(
    resolver: &mut Resolver,
    view: View<'_>,
    plan: &Plan,
    file: FileId,
    path: &[u8],
) -> Result<Choice, Need> {
    let Some(object) = view.object(file) else {
        return Ok(Choice { loader: Err(NoLoader::UnknownMachine), missing_interp: false });
    };
    let dirs = match object.interp {
        None if !plan.as_ldd => resolver.own_dirs(object, path, plan),
        _ => Vec::new(),
    };
    let Resolver { loaders, strings, .. } = resolver;
    loaders.choose(view, plan, strings, &object.header, object.interp(), &dirs)
}

/// Closures of libraries that are no roots, as far as no new file must be looked at for them.
fn add_lone(out: &mut Closures, resolver: &mut Resolver, view: View<'_>, plan: &Plan) {
    let mut todo: Vec<Root> = Vec::new();
    let mut seen: FastSet<FileId> = out.roots.iter().map(|closure| closure.root.file).collect();
    seen.extend(out.lone.keys());
    for closure in out.roots.iter() {
        for (module, file) in closure.found().skip(1) {
            if seen.insert(file) {
                let path = closure.module(module).path;
                todo.push(Root { file, path, loader: closure.root.loader });
            }
        }
    }
    for root in todo {
        if let Ok(closure) = resolver.closure(view, plan, root) {
            out.lone.insert(root.file, closure);
        }
    }
}
