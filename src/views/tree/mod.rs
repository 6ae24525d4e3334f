//! `linkaudit tree`: the files that the entry points load, as one graph. A file is one node, even
//! if several entry points and chains of needs lead to it. A need of a file is one edge.
//!
//! An edge starts at the file with the need. It leads to the file that satisfies the need under the
//! first entry point that loads the file with the need. If another file satisfies the need under a
//! later entry point, there is a further edge.

mod dot;
mod human;
mod json;

use crate::order::Arrange as _;
pub use json::SCHEMA;
pub(super) use json::TriedOut;

use super::ViewOutput;
use crate::audit::Audit;
use crate::facts::View;
use crate::format::elf::NeedKind;
use crate::id::{FastSet, FileId, Id as _, IdVec, RootId, StrId};
use crate::plan::Plan;
use crate::resolve::trace::{Tried, TriedOutcome};
use crate::resolve::{self, Closure, FoundBy, ROOT};

/// The output formats of `tree`.
pub const OUTPUTS: &[ViewOutput<LoadTree>] = &[
    ViewOutput { name: "human", render: human::render },
    ViewOutput { name: "json", render: json::render },
    ViewOutput { name: "dot", render: dot::render },
];

/// The reason why an object needs another.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum Tag {
    /// An entry of the object's dynamic section names the other object.
    Need(NeedKind),
    /// LD_PRELOAD or ld.so.preload names the other object.
    Preload,
}

impl Tag {
    /// The name of the tag in the JSON and Graphviz outputs.
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
pub struct TreeEdge {
    /// The first entry point under which the need leads to `to`.
    pub root: RootId,
    /// True for a further edge: another file satisfies the need under the first entry point that
    /// loads `from`.
    pub differs: bool,
    /// The file that has the need; for a preloaded object, the entry point.
    pub from: FileId,
    /// The needed name, as written in the file or the preload list.
    pub name: StrId,
    /// The file that satisfies the need; `None` if none was found.
    pub to: Option<FileId>,
    /// The path by which the loader opened `to`; not used if `to` is `None`.
    pub path: StrId,
    /// How the loader found the file; [`FoundBy::Missing`] if it found none.
    pub how: FoundBy,
    /// The object whose DT_RPATH led to the file; `None` if another step of the search found the
    /// file.
    pub rpath_of: Option<FileId>,
    /// The kind of the need: an entry of the dynamic section, or a preload list.
    pub tag: Tag,
    /// True if this need loaded `to` under `root`; false if `to` was loaded before, or is `None`.
    pub loads: bool,
    /// Paths that the search skipped, in order.
    pub tried: Vec<Tried>,
}

impl TreeEdge {
    /// True if no file was found and the loader requires one.
    pub fn is_missing(&self) -> bool {
        self.how == FoundBy::Missing && self.tag != Tag::Need(NeedKind::Auxiliary)
    }
}

/// The graph of all files that entry points load.
#[derive(Debug, Default)]
pub struct LoadTree {
    /// All files, in byte order of their paths.
    pub nodes: Vec<FileId>,
    /// Needs, by entry point and then in the loader's order.
    pub edges: Vec<TreeEdge>,
}

/// A need of one file, whichever file satisfies it.
type NeedKey = (FileId, StrId, Tag);

#[derive(Default)]
struct TreeBuilder {
    nodes: FastSet<FileId>,
    known: FastSet<NeedKey>,
    led: FastSet<(NeedKey, Option<FileId>)>,
    edges: Vec<TreeEdge>,
    /// For each entry point, the edges for which the loader searched: the index in `edges`, and the
    /// resolver's edge.
    searched: IdVec<RootId, Vec<(usize, resolve::Edge)>>,
}

impl LoadTree {
    /// The graph of all entry points of an audit.
    pub fn new(audit: &mut Audit, plan: &Plan) -> Self {
        Self::under(audit, plan, None)
    }

    /// The graph of the entry points in `only`, or of all if it is `None`.
    pub(super) fn under(audit: &mut Audit, plan: &Plan, only: Option<&[RootId]>) -> Self {
        let mut maker = TreeBuilder::default();
        for (root, closure) in audit.closures.roots.entries() {
            maker.searched.push(Vec::new());
            if only.is_none_or(|only| only.contains(&root)) {
                maker.root(root, closure);
            }
        }
        maker.trace(audit, plan);
        let TreeBuilder { nodes, edges, .. } = maker;
        let mut nodes: Vec<FileId> = nodes.into_iter().collect();
        nodes.arrange_by_key(|node| audit.corpus.files[*node].path.as_os_str());
        Self { nodes, edges }
    }
}

impl TreeBuilder {
    fn root(&mut self, root: RootId, closure: &Closure) {
        self.nodes.extend(closure.found().map(|(_, file)| file));
        self.nodes.insert(closure.root.file);
        for (index, module) in closure.modules() {
            if module.how == FoundBy::Preload {
                let (name, to) = (module.name, index);
                let kind = NeedKind::Needed;
                let edge =
                    resolve::Edge { from: ROOT, raw: name, name, kind, to, how: FoundBy::Preload };
                self.edge(root, closure, edge, Tag::Preload, true);
            }
        }
        let mut loaded = vec![false; closure.module_count()];
        let before = closure.host().map_or(0, |host| host.module_count());
        loaded[..before].fill(true);
        for edge in closure.edges() {
            let seen = std::mem::replace(&mut loaded[edge.to.index()], true);
            let loads = !seen && edge.how != FoundBy::Loaded;
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
            FoundBy::Rpath(owner) => closure.module(owner).file,
            _ => None,
        };
        if edge.how != FoundBy::Loaded {
            self.searched[root].push((self.edges.len(), edge));
        }
        self.edges.push(TreeEdge {
            root,
            differs: !self.known.insert(key),
            from,
            name: edge.raw,
            to: module.file,
            path: module.path,
            how: edge.how,
            rpath_of,
            tag,
            loads: loads && module.file.is_some(),
            tried: Vec::new(),
        });
    }

    /// Stores in each edge the paths that the loader tried and skipped.
    fn trace(&mut self, audit: &mut Audit, plan: &Plan) {
        let Audit { corpus, resolver, closures, .. } = audit;
        for (root, searched) in self.searched.entries().filter(|(_, list)| !list.is_empty()) {
            let needs: Vec<_> = searched.iter().map(|(_, edge)| *edge).collect();
            let tried = resolver.tried(&View::new(corpus), plan, &closures.roots[root], &needs);
            for ((at, _), mut tried) in searched.iter().zip(tried) {
                tried.retain(|tried| tried.outcome != TriedOutcome::Taken);
                self.edges[*at].tried = tried;
            }
        }
    }
}
