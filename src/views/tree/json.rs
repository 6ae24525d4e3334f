//! The JSON output of `tree`, with the schema `linkaudit.tree/1` (`docs/tree.schema.json`). Nodes
//! are sorted by path. Edges are sorted by the path of the file with the need. Edges of one file
//! are in the order of the entry points, and then of the loader's search.

use super::{LoadTree, TreeEdge};
use crate::audit::Audit;
use crate::id::{FileId, RootId};
use crate::order::Arrange as _;
use crate::report::Style;
use crate::resolve::trace::Tried;
use crate::rules::outcome;
use crate::text::Text;
use crate::views::Subject;
use serde::Serialize;
use std::io::{self, Write};

/// The name and version of the schema of the JSON output.
pub const SCHEMA: &str = "linkaudit.tree/1";

#[derive(Serialize)]
struct TreeOut<'a> {
    schema: &'static str,
    complete: bool,
    roots: Vec<RootOut<'a>>,
    nodes: Vec<NodeOut<'a>>,
    edges: Vec<EdgeOut<'a>>,
}

#[derive(Serialize)]
struct RootOut<'a> {
    path: Text<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    host: Option<Text<'a>>,
    loader: Text<'a>,
    stopped: Option<StoppedOut<'a>>,
}

/// The error at which the loader stops.
#[derive(Serialize)]
struct StoppedOut<'a> {
    object: Text<'a>,
    by: Option<Text<'a>>,
    reason: &'static str,
}

#[derive(Serialize)]
struct NodeOut<'a> {
    path: Text<'a>,
    soname: Option<Text<'a>>,
}

#[derive(Serialize)]
struct EdgeOut<'a> {
    from: Text<'a>,
    name: Text<'a>,
    to: Option<Text<'a>>,
    opened: Option<Text<'a>>,
    how: &'static str,
    rpath_of: Option<Text<'a>>,
    tag: &'static str,
    loads: bool,
    root: Option<Text<'a>>,
    tried: Vec<TriedOut<'a>>,
}

/// A path that the loader tried and skipped.
#[derive(Serialize)]
pub(in crate::views) struct TriedOut<'a> {
    path: Text<'a>,
    how: &'static str,
    reason: String,
}

impl<'a> TriedOut<'a> {
    pub(in crate::views) fn new(tried: &'a Tried) -> Self {
        let (path, how) = (Text(&tried.path), tried.how.name());
        Self { path, how, reason: outcome(tried.outcome) }
    }
}

pub(super) fn render(
    subject: &Subject<'_>,
    tree: &LoadTree,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let audit = subject.audit;
    let mut edges: Vec<&TreeEdge> = tree.edges.iter().collect();
    // The sort is stable, so needs of one file keep the loader's order.
    edges.arrange_by_key(|edge| audit.corpus.files[edge.from].path.as_os_str());
    let whole = TreeOut {
        schema: SCHEMA,
        complete: subject.report.complete,
        roots: audit.closures.roots.ids().map(|root| root_out(audit, root)).collect(),
        nodes: tree.nodes.iter().map(|node| node_out(audit, *node)).collect(),
        edges: edges.into_iter().map(|edge| edge_out(audit, edge)).collect(),
    };
    crate::text::json(out, &whole)?;
    out.write_all(b"\n")
}

fn path(audit: &Audit, file: FileId) -> Text<'_> {
    Text::path(&audit.corpus.files[file].path)
}

fn root_out(audit: &Audit, root: RootId) -> RootOut<'_> {
    let closure = &audit.closures.roots[root];
    let stopped = closure.fatal().map(|fatal| StoppedOut {
        object: Text(audit.text(fatal.object)),
        by: closure.module(fatal.requester).file.map(|file| path(audit, file)),
        reason: fatal.text,
    });
    let loader = audit.resolver.loaders.get(closure.root.loader);
    RootOut {
        path: path(audit, closure.root.file),
        host: closure.root.host.map(|host| path(audit, host)),
        loader: Text(audit.text(loader.path)),
        stopped,
    }
}

fn node_out(audit: &Audit, node: FileId) -> NodeOut<'_> {
    let soname = audit.corpus.files[node].object().and_then(|object| object.soname());
    NodeOut { path: path(audit, node), soname: soname.map(Text) }
}

fn edge_out<'a>(audit: &'a Audit, edge: &'a TreeEdge) -> EdgeOut<'a> {
    EdgeOut {
        from: path(audit, edge.from),
        name: Text(audit.text(edge.name)),
        to: edge.to.map(|to| path(audit, to)),
        opened: edge.to.map(|_| Text(audit.text(edge.path))),
        how: edge.how.name(),
        rpath_of: edge.rpath_of.map(|owner| path(audit, owner)),
        tag: edge.tag.name(),
        loads: edge.loads,
        root: edge.differs.then(|| Text::path(audit.root_path(edge.root))),
        tried: edge.tried.iter().map(TriedOut::new).collect(),
    }
}
