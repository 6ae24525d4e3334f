//! The Graphviz output of `tree`: entry points have bold frames, and missing libraries are red. The
//! label of an edge says how the library was found. Names appear only in quoted strings.

use super::{LoadTree, Tag, TreeEdge};
use crate::format::elf::NeedKind;
use crate::id::{FastMap, FastSet, FileId, StrId};
use crate::order::Arrange as _;
use crate::report::{Style, quoted};
use crate::resolve::FoundBy;
use crate::text::{show, show_path};
use crate::views::Subject;
use std::io::{self, Write};

pub(super) fn render(
    subject: &Subject<'_>,
    tree: &LoadTree,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let audit = subject.audit;
    let file = |node: FileId| &audit.corpus.files[node];
    writeln!(out, "digraph linkaudit {{\n  rankdir=LR;\n  node [shape=box];")?;
    let roots: FastSet<FileId> = audit.closures.roots.iter().map(|root| root.root.file).collect();
    let mut numbers: FastMap<FileId, usize> = FastMap::default();
    for (number, node) in tree.nodes.iter().enumerate() {
        numbers.insert(*node, number);
        let label = quoted(&show_path(file(*node).file_name()));
        let tooltip = quoted(&show_path(&file(*node).path));
        let bold = if roots.contains(node) { ", style=bold" } else { "" };
        writeln!(out, "  n{number} [label={label}, tooltip={tooltip}{bold}];")?;
    }
    let mut edges: Vec<&TreeEdge> = tree.edges.iter().collect();
    edges.arrange_by_key(|edge| file(edge.from).path.as_os_str());
    let mut missing: FastMap<StrId, usize> = FastMap::default();
    for edge in &edges {
        if edge.to.is_none() && !missing.contains_key(&edge.name) {
            let number = missing.len();
            missing.insert(edge.name, number);
            let label = quoted(&show(audit.text(edge.name)));
            writeln!(out, "  m{number} [label={label}, style=dashed, color=red];")?;
        }
    }
    for edge in edges {
        let to = match edge.to {
            Some(to) => format!("n{}", numbers[&to]),
            None => format!("m{}", missing[&edge.name]),
        };
        let mut words = vec![edge.how.name().to_owned()];
        if edge.tag == Tag::Need(NeedKind::Auxiliary) || edge.tag == Tag::Need(NeedKind::Filter) {
            words.push(edge.tag.name().to_owned());
        }
        if edge.differs {
            words.push(format!("under {}", show_path(audit.root_path(edge.root))));
        }
        let label = quoted(&words.join(", "));
        let style = match edge.how {
            FoundBy::Missing => ", color=red",
            FoundBy::Loaded => ", style=dotted",
            _ => "",
        };
        writeln!(out, "  n{} -> {to} [label={label}{style}];", numbers[&edge.from])?;
    }
    writeln!(out, "}}")
}
