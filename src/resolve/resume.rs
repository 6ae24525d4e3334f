//! A link map that waits for a fact: what was mapped before it is kept for the next round. A chain of
//! libraries asks for one fact a round, and would be built anew for each of its members.

use super::closure::{Builder, Queued};
use super::mapping::Inherited;
use super::{Edge, LOADER, Module, PreloadFailure, ROOT};
use crate::id::{Id as _, StrId};

/// With fewer modules it is quicker to begin anew.
const MANY: usize = 128;

/// A breadth-first run that stopped before a need.
pub(super) struct Saved {
    modules: Vec<Module>,
    origins: Vec<Option<StrId>>,
    inherited: Inherited,
    edges: Vec<Edge>,
    list: Vec<u32>,
    queue: Vec<Queued>,
    queued: Vec<bool>,
    registered: Vec<(StrId, u32)>,
    moved: bool,
    hidden: Vec<u32>,
    by_cpu: bool,
    by_cwd: bool,
    pub(super) preload_failures: Vec<PreloadFailure>,
    next: Next,
}

/// The need at which a run goes on.
#[derive(Clone, Copy)]
pub(super) struct Next {
    /// Where the walk through the queue is.
    pub(super) at: usize,
    /// The number of the need among those of its module.
    pub(super) need: usize,
    /// Where the module is by now: its filtees are put before it.
    pub(super) here: usize,
}

impl Builder<'_, '_> {
    /// Takes over what an earlier round mapped. Others have used the maps of names and files since.
    pub(super) fn resume(&mut self, saved: Saved) -> Next {
        (self.modules, self.origins) = (saved.modules, saved.origins);
        self.inherited = saved.inherited;
        self.edges = saved.edges;
        self.list = saved.list;
        self.queue = saved.queue;
        self.queued = saved.queued;
        (self.moved, self.hidden) = (saved.moved, saved.hidden);
        (self.by_cpu, self.by_cwd) = (saved.by_cpu, saved.by_cwd);
        for (name, module) in saved.registered {
            self.register(name, module);
        }
        for (number, module) in (0..).zip(&self.modules) {
            if let Some(file) = module.file.filter(|_| number != ROOT && number != LOADER) {
                self.resolver.by_file.set(file.index(), number);
            }
        }
        saved.next
    }

    /// Keeps what is mapped so far, unless it is little. A later round goes on at `next`.
    pub(super) fn save(&mut self, next: Next) {
        if self.modules.len() < MANY {
            return;
        }
        self.saved = Some(Box::new(Saved {
            modules: self.modules.clone(),
            origins: self.origins.clone(),
            inherited: self.inherited.clone(),
            edges: self.edges.clone(),
            list: self.list.clone(),
            queue: self.queue.clone(),
            queued: self.queued.clone(),
            registered: self.registered.clone(),
            moved: self.moved,
            hidden: self.hidden.clone(),
            by_cpu: self.by_cpu,
            by_cwd: self.by_cwd,
            preload_failures: Vec::new(),
            next,
        }));
    }
}
