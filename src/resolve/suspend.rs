//! A link map that lacks a fact is put aside and taken up again in the next round, at the need it
//! came to: a chain of thousands of libraries, of which each round finds one, costs what it holds.
//!
//! `resolver` keeps what `closure` suspends. What lies behind the missing fact is asked for already,
//! as far as it can be guessed; nothing is built on the guess.

use super::closure::{Builder, Built, Place, Queued};
use super::index::Index;
use super::mapping::Inherited;
use super::resolver::Resolver;
use super::search::Found;
use super::{Closure, Edge, Module, PreloadFailure, Root};
use crate::facts::{Need, View};
use crate::id::{FastSet, FileId, Id as _, ModuleId, StrId};
use crate::plan::Plan;
use std::sync::Arc;

/// How many needs that lead to something known one look ahead goes through.
const MOST_AHEAD: usize = 500;

/// How many needs one look ahead asks for: each may be hundreds of paths.
const MOST_ASKED: usize = 512;

/// A link map with fewer modules is sooner built again than kept.
const FEW: usize = 16;

/// A link map that waits for facts: the state of its builder.
pub struct Suspended {
    root: Root,
    base: Option<Arc<Closure>>,
    start: ModuleId,
    modules: Vec<Module>,
    origins: Vec<Option<StrId>>,
    rpaths: Vec<Option<Inherited>>,
    by_name: Index,
    by_file: Index,
    edges: Vec<Edge>,
    list: Vec<ModuleId>,
    queue: Vec<Queued>,
    place: Place,
    preload_failures: Vec<PreloadFailure>,
    queued: Vec<bool>,
    moved: bool,
    hidden: Vec<ModuleId>,
    by_cpu: bool,
    by_cwd: bool,
}

impl<'a, 'v> Builder<'a, 'v> {
    /// The builder that was suspended; some of what it waited for is known now.
    pub(super) fn resume(
        resolver: &'a mut Resolver,
        view: View<'v>,
        plan: &'a Plan,
        needs: &'a mut Vec<Need>,
        state: Suspended,
    ) -> Self {
        Self {
            resolver,
            view,
            plan,
            root: state.root,
            base: state.base,
            start: state.start,
            needs,
            modules: state.modules,
            origins: state.origins,
            rpaths: state.rpaths,
            has_rpath: true,
            by_name: state.by_name,
            by_file: state.by_file,
            edges: state.edges,
            list: state.list,
            queue: state.queue,
            place: state.place,
            preload_failures: state.preload_failures,
            queued: state.queued,
            moved: state.moved,
            hidden: state.hidden,
            by_cpu: state.by_cpu,
            by_cwd: state.by_cwd,
            other_class: false,
            incomplete: false,
        }
    }

    /// Puts aside what was built so far.
    pub(super) fn suspend(mut self) -> Built {
        self.look_ahead();
        if self.modules.len() < FEW {
            self.by_name.give_back(&mut self.resolver.by_name);
            self.by_file.give_back(&mut self.resolver.by_file);
            return Built::Suspended(None);
        }
        Built::Suspended(Some(Box::new(Suspended {
            root: self.root,
            base: self.base,
            start: self.start,
            by_name: self.by_name.keep(&mut self.resolver.by_name),
            by_file: self.by_file.keep(&mut self.resolver.by_file),
            modules: self.modules,
            origins: self.origins,
            rpaths: self.rpaths,
            edges: self.edges,
            list: self.list,
            queue: self.queue,
            place: self.place,
            preload_failures: self.preload_failures,
            queued: self.queued,
            moved: self.moved,
            hidden: self.hidden,
            by_cpu: self.by_cpu,
            by_cwd: self.by_cwd,
        })))
    }

    /// Asks for what the walk will come to behind the missing fact, so that one round answers it.
    pub(super) fn look_ahead(&mut self) {
        let (by_cpu, by_cwd, real) = (self.by_cpu, self.by_cwd, self.modules.len());
        let mut ahead = Ahead::default();
        if let Some((module, next)) = self.place.visiting {
            self.ask_needs(module, next + 1, &mut ahead);
        }
        for at in self.place.at..self.queue.len() {
            let Queued { module, done } = self.queue[at];
            if !done {
                self.ask_needs(module, 0, &mut ahead);
            }
        }
        let mut at = real;
        while at < self.modules.len() {
            self.ask_needs(ModuleId::from_index(at), 0, &mut ahead);
            at += 1;
        }
        self.modules.truncate(real);
        self.origins.truncate(real);
        self.rpaths.truncate(real);
        self.queued.truncate(real);
        (self.by_cpu, self.by_cwd) = (by_cpu, by_cwd);
    }

    /// Searches for the needs of one module from `next` on; a file that is known becomes a module
    /// until the look ahead ends.
    fn ask_needs(&mut self, module: ModuleId, next: usize, ahead: &mut Ahead) {
        let file = self.modules[module.index()].file;
        let Some(names) = file.and_then(|file| self.names(file)) else { return };
        for (_, raw, has_token) in names.needs.iter().skip(next) {
            if ahead.known >= MOST_AHEAD || ahead.asked >= MOST_ASKED {
                return;
            }
            ahead.known += 1;
            let Some(name) = self.expand_need(*raw, *has_token, module) else { continue };
            if self.by_name.get(name.index()).is_some() || !ahead.names.insert(name) {
                continue;
            }
            match self.search(name, module, None) {
                Some(Found::File(file, path, how)) => {
                    if self.by_file.get(file.index()).is_none() && ahead.files.insert(file) {
                        self.push(Module::new(Some(file), name, path, Some(module), how));
                    }
                }
                Some(Found::Nothing | Found::Stop(..)) => {}
                // It is asked for, and will be known in the next round.
                None => {
                    ahead.known -= 1;
                    ahead.asked += 1;
                }
            }
        }
    }
}

/// What one look ahead has met.
#[derive(Default)]
struct Ahead {
    names: FastSet<StrId>,
    files: FastSet<FileId>,
    known: usize,
    asked: usize,
}
