//! `linkaudit tree`: what every root loads, as one graph. A file is one node and a need one edge,
//! however many roots and paths lead there, so that the graph is as large as what was read.
//!
//! An edge is what a name led to under the first root that loads the file which needs it. Where
//! another root leads the same name of the same file elsewhere, that is an edge of its own.

mod dot;
mod human;
mod json;

pub use json::SCHEMA;
pub(super) use json::TriedOut;

use super::Output;
use crate::audit::Audit;
use crate::facts::View;
use crate::format::elf::NeedKind;
use crate::id::{FastSet, FileId, Id as _, IdVec, RootId, StrId};
use crate::plan::Plan;
use crate::resolve::trace::{Outcome, Tried};
use crate::resolve::{self, Closure, How, ROOT};

/// All formats.
pub const OUTPUTS: &[Output<Tree>] = &[
    Output { name: "human", render: human::render },
    Output { name: "json", render: json::render },
    Output { name: "dot", render: dot::render },
];

/// What makes an object need another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tag {
    /// An entry of its dynamic section.
    Need(NeedKind),
    /// ld.so.preload names it: every program needs it.
    Preload,
}

impl Tag {
    /// The word in machine formats.
    pub fn name(self) -> &'static str {
        match self {
            Self::Need(NeedKind::Needed) => "needed",
            Self::Need(NeedKind::Auxiliary) => "auxiliary",
            Self::Need(NeedKind::Filter) => "filter",
            Self::Preload => "preload",
        }
    }
}

/// One need of one file.
#[derive(Debug)]
pub struct Edge {
    /// The first root under which it leads there.
    pub root: RootId,
    /// Under the first root that loads `from` it leads elsewhere.
    pub differs: bool,
    /// Who needs.
    pub from: FileId,
    /// The name as it stands in the file.
    pub name: StrId,
    /// The file it led to; nothing if none was found.
    pub to: Option<FileId>,
    /// The path by which that was opened.
    pub path: StrId,
    /// How it was found.
    pub how: How,
    /// The object whose DT_RPATH found it.
    pub rpath_of: Option<FileId>,
    /// What names it.
    pub tag: Tag,
    /// It is this need that loaded `to` under `root`; else `to` was there before.
    pub loads: bool,
    /// Paths that the search passed over, in order.
    pub tried: Vec<Tried>,
}

impl Edge {
    /// Nothing was found, and the loader does not go on without it.
    pub fn is_missing(&self) -> bool {
        self.how == How::Missing && self.tag != Tag::Need(NeedKind::Auxiliary)
    }
}

/// The graph.
#[derive(Debug, Default)]
pub struct Tree {
    /// All files, in byte order of their paths.
    pub nodes: Vec<FileId>,
    /// Needs, by root and then in the order in which the loader met them.
    pub edges: Vec<Edge>,
}

/// A need of one file, whatever it leads to.
type Key = (FileId, StrId, Tag);

#[derive(Default)]
struct Maker {
    nodes: FastSet<FileId>,
    known: FastSet<Key>,
    led: FastSet<(Key, Option<FileId>)>,
    edges: Vec<Edge>,
    /// By root: edges that a search found, as places in `edges`, with what the resolver calls them.
    searched: IdVec<RootId, Vec<(usize, resolve::Edge)>>,
}

impl Tree {
    /// The graph of all roots of an audit.
    pub fn new(audit: &mut Audit, plan: &Plan) -> Self {
        Self::under(audit, plan, None)
    }

    /// The graph of some roots.
    pub(super) fn under(audit: &mut Audit, plan: &Plan, only: Option<&[RootId]>) -> Self {
        let mut maker = Maker::default();
        for (root, closure) in audit.closures.roots.entries() {
            maker.searched.push(Vec::new());
            if only.is_none_or(|only| only.contains(&root)) {
                maker.root(root, closure);
            }
        }
        maker.trace(audit, plan);
        let Maker { nodes, edges, .. } = maker;
        let mut nodes: Vec<FileId> = nodes.into_iter().collect();
        nodes.sort_by_key(|node| audit.corpus.files[*node].path.as_os_str());
        Self { nodes, edges }
    }
}

impl Maker {
    fn root(&mut self, root: RootId, closure: &Closure) {
        self.nodes.extend(closure.found().map(|(_, file)| file));
        self.nodes.insert(closure.root.file);
        for (index, module) in closure.modules() {
            if module.how == How::Preload {
                let (name, to) = (module.name, index);
                let kind = NeedKind::Needed;
                let edge =
                    resolve::Edge { from: ROOT, raw: name, name, kind, to, how: How::Preload };
                self.edge(root, closure, edge, Tag::Preload, true);
            }
        }
        let mut loaded = vec![false; closure.module_count()];
        let before = closure.host().map_or(0, |host| host.module_count());
        loaded[..before].fill(true);
        for edge in closure.edges() {
            let seen = std::mem::replace(&mut loaded[edge.to.index()], true);
            let loads = !seen && edge.how != How::Loaded;
            self.edge(root, closure, *edge, Tag::Need(edge.kind), loads);
        }
    }

    fn edge(
        &mut self,
        root: RootId,
        closure: &Closure,
        edge: resolve::Edge,
        tag: Tag,
        loads: bool,
    ) {
        let Some(from) = closure.module(edge.from).file else { return };
        let module = closure.module(edge.to);
        let key = (from, edge.raw, tag);
        if !self.led.insert((key, module.file)) {
            return;
        }
        let rpath_of = match edge.how {
            How::Rpath(owner) => closure.module(owner).file,
            _ => None,
        };
        if edge.how != How::Loaded {
            self.searched[root].push((self.edges.len(), edge));
        }
        self.edges.push(Edge {
            root,
            differs: !self.known.insert(key),
            from,
            name: edge.raw,
            to: module.file,
            path: module.path,
            how: edge.how,
            rpath_of,
            tag,
            loads,
            tried: Vec::new(),
        });
    }

    /// What the searches passed over.
    fn trace(&mut self, audit: &mut Audit, plan: &Plan) {
        let Audit { corpus, resolver, closures, .. } = audit;
        for (root, searched) in self.searched.entries().filter(|(_, list)| !list.is_empty()) {
            let needs: Vec<_> = searched.iter().map(|(_, edge)| *edge).collect();
            let tried = resolver.tried(&View::new(corpus), plan, &closures.roots[root], &needs);
            for ((at, _), mut tried) in searched.iter().zip(tried) {
                tried.retain(|tried| tried.outcome != Outcome::Taken);
                self.edges[*at].tried = tried;
            }
        }
    }
}
