//! The human-readable output of `tree`: a page for each entry point. The needs of a file are listed
//! where the loader first loads the file. Needs for objects that were loaded earlier share one
//! line. Missing libraries and the summary come last.
//!
//! The number of lines grows with the number of nodes and edges. A file deeper than [`DEEPEST`]
//! starts again at the left margin, so long chains do not make the page wider.

use super::{LoadTree, Tag, TreeEdge};
use crate::audit::Audit;
use crate::id::{FastMap, FastSet, FileId, Id as _, RootId};
use crate::order;
use crate::report::layout::{name as glued, painted, wrap};
use crate::report::{Style, is_empty, nothing_audited};
use crate::resolve::{Closure, FoundBy};
use crate::rules::tried_in_words;
use crate::text::{show, show_path};
use crate::views::Subject;
use crate::views::{count, typed_input};
use std::collections::BTreeSet;
use std::io::{self, Write};

/// Maximum number of levels below a heading.
const DEEPEST: usize = 12;
/// Maximum indent of the column that says how a library was found, as a fraction of the line.
const NAMES: (usize, usize) = (1, 2);
/// Maximum number of missing needs that the summary names.
const MOST_MISSING: usize = 20;

pub(super) fn render(
    subject: &Subject<'_>,
    tree: &LoadTree,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let mut page =
        TreePage { audit: subject.audit, style, shown: FastSet::default(), rows: Vec::new() };
    if !style.quiet {
        let mut rest = tree.edges.as_slice();
        for root in subject.audit.closures.roots.ids() {
            let end = rest.partition_point(|edge| edge.root.index() <= root.index());
            let (edges, later) = rest.split_at(end);
            rest = later;
            page.root(root, edges);
            page.write(out)?;
        }
    }
    summary(subject, tree, style, out)
}

/// One line of a page.
enum Row<'t> {
    Heading(String),
    Need {
        lines: String,
        edge: &'t TreeEdge,
        note: &'static str,
    },
    /// Needs of one file for objects that were loaded earlier.
    Loaded {
        lines: String,
        names: Vec<&'t TreeEdge>,
    },
    Note {
        lines: String,
        text: String,
    },
}

struct TreePage<'a, 't> {
    audit: &'a Audit,
    style: Style,
    /// Files whose needs are on this page or an earlier one.
    shown: FastSet<FileId>,
    rows: Vec<Row<'t>>,
}

/// The needs under one entry point that are not on the page yet, grouped by the file that has them.
type ByFile<'t> = FastMap<FileId, Vec<&'t TreeEdge>>;

impl<'t> TreePage<'_, 't> {
    fn path(&self, file: FileId) -> String {
        show_path(&self.audit.corpus.files[file].path)
    }

    fn root(&mut self, root: RootId, edges: &'t [TreeEdge]) {
        let closure = &self.audit.closures.roots[root];
        let file = closure.root.file;
        let mut heading = self.style.bold(&self.path(file));
        if let Some(host) = closure.root.host {
            heading += &self.style.dim(&format!("  opened by {}", self.path(host)));
        }
        let faults = &self.audit.closures.bad_interps;
        let interp = self.audit.corpus.files[file].object().and_then(|object| object.interp());
        if let Some(interp) = interp {
            let fault = faults.iter().any(|(bad, _)| *bad == file);
            let word = format!("  interpreter {}", show(interp));
            heading += &self.style.dim(&word);
            if fault {
                heading += &self.style.alarm("  NOT FOUND");
            }
        }
        let mut by_file: ByFile<'t> = FastMap::default();
        let mut order: Vec<FileId> = Vec::new();
        for edge in edges {
            by_file.entry(edge.from).or_insert_with(|| {
                order.push(edge.from);
                Vec::new()
            });
            by_file.entry(edge.from).and_modify(|list| list.push(edge));
        }
        if self.shown.contains(&file) && !by_file.contains_key(&file) {
            heading += &self.style.dim("  see above");
        }
        self.rows.push(Row::Heading(heading));
        self.blocks(file, &mut by_file);
        // The other files are on the page of an earlier entry point. Under this entry point, some
        // of their needs find other files.
        for file in order.into_iter().filter(|file| *file != root_file(self.audit, root)) {
            if by_file.contains_key(&file) {
                let path = self.path(file);
                let text = format!("{path}  here some of its needs resolve to other files:");
                self.rows.push(Row::Note { lines: "   ".to_owned(), text });
                self.blocks(file, &mut by_file);
            }
        }
        if let Some(fatal) = closure.fatal() {
            let object = show(self.audit.text(fatal.object));
            let requester = closure.module(fatal.requester).file.unwrap_or(file);
            let by = self.path(requester);
            let text = self.style.alarm(&format!("THE LOADER STOPS at {object}: {}", fatal.text));
            let text = format!("{text}  needed by {by}");
            self.rows.push(Row::Note { lines: "   ".to_owned(), text });
        }
        self.shown.insert(file);
    }

    /// Adds the needs of `file`, and of the files that these needs load. A file deeper than
    /// [`DEEPEST`] starts a block at the left margin.
    fn blocks(&mut self, file: FileId, by_file: &mut ByFile<'t>) {
        let mut deeper = vec![file];
        let mut first = true;
        while let Some(file) = deeper.pop() {
            if !first {
                let text = self.style.bold(&self.path(file));
                let mut text = format!("   {text}");
                text += &self.style.dim("  continued");
                self.rows.push(Row::Heading(text));
            }
            first = false;
            let mut below = Vec::new();
            self.needs(file, "   ", 1, by_file, &mut below);
            // `pop` takes the last element, so the reversed order keeps the files in load order.
            deeper.extend(below.into_iter().rev());
        }
    }

    fn needs(
        &mut self,
        file: FileId,
        lines: &str,
        depth: usize,
        by_file: &mut ByFile<'t>,
        deeper: &mut Vec<FileId>,
    ) {
        let Some(edges) = by_file.remove(&file) else { return };
        self.shown.insert(file);
        let folds = |edge: &&TreeEdge| edge.how == FoundBy::Loaded && !self.style.verbose;
        let (loaded, own): (Vec<&'t TreeEdge>, Vec<&'t TreeEdge>) =
            edges.into_iter().partition(folds);
        let last = own.len() - usize::from(loaded.is_empty()).min(own.len());
        for (number, edge) in own.into_iter().enumerate() {
            let (branch, below) =
                if number == last { ("└─ ", "   ") } else { ("├─ ", "│  ") };
            let here = format!("{lines}{branch}");
            let below = format!("{lines}{below}");
            let to = edge.to.filter(|_| edge.loads);
            let children = to.is_some_and(|to| by_file.contains_key(&to));
            let is_shown = edge.to.is_some_and(|to| self.shown.contains(&to));
            let note = match edge.how {
                FoundBy::Missing if edge.is_missing() => "NOT FOUND",
                FoundBy::Missing => "not found, optional",
                FoundBy::Loaded => "",
                FoundBy::Provided => "by the system",
                _ if !edge.loads && edge.tag != Tag::Preload => "  same file as for another need",
                _ if children && depth == DEEPEST => "  see below",
                _ if is_shown => "  see above",
                _ => "",
            };
            self.rows.push(Row::Need { lines: here, edge, note });
            if self.style.verbose {
                // A vertical line leads from the row past the tried paths to the needs of the file.
                let line = if children && depth < DEEPEST { "│  " } else { "   " };
                self.tried(edge, &format!("{below}{line}"));
            }
            match to {
                Some(to) if children && depth == DEEPEST => deeper.push(to),
                Some(to) if children => self.needs(to, &below, depth + 1, by_file, deeper),
                _ => {}
            }
        }
        if !loaded.is_empty() {
            self.rows.push(Row::Loaded { lines: format!("{lines}└─ "), names: loaded });
        }
    }

    fn tried(&mut self, edge: &TreeEdge, lines: &str) {
        for tried in &edge.tried {
            let text = self.style.dim(&format!("tried {}", tried_in_words(tried)));
            self.rows.push(Row::Note { lines: lines.to_owned(), text });
        }
    }

    /// Writes the rows of one entry point with aligned columns.
    fn write(&mut self, out: &mut dyn Write) -> io::Result<()> {
        let name = |edge: &TreeEdge| show(self.audit.text(edge.name));
        let width =
            |lines: &str, edge: &TreeEdge| lines.chars().count() + name(edge).chars().count();
        let most = self.style.columns() * NAMES.0 / NAMES.1;
        let widths = self.rows.iter().filter_map(|row| match row {
            Row::Need { lines, edge, .. } => Some(width(lines, edge)),
            _ => None,
        });
        let column = widths.filter(|width| *width <= most).max().unwrap_or(0);
        for row in &self.rows {
            match row {
                Row::Heading(text) => writeln!(out, "{text}")?,
                Row::Note { lines, text } => writeln!(out, "{}{text}", self.style.dim(lines))?,
                Row::Need { lines, edge, note } => {
                    let room = column.saturating_sub(width(lines, edge));
                    let start = format!("{}{}{:room$}", self.style.dim(lines), name(edge), "");
                    writeln!(out, "{start}  {}", self.found(edge, note))?;
                }
                Row::Loaded { lines, names } => {
                    let names: Vec<String> = names.iter().map(|edge| name(edge)).collect();
                    self.loaded(lines, &names, out)?;
                }
            }
        }
        self.rows.clear();
        writeln!(out)
    }

    /// The text about a need: how the loader found the file that satisfies it, and the path of this
    /// file.
    fn found(&self, edge: &TreeEdge, note: &str) -> String {
        let how = format!("{:<8}", edge.how.name());
        if edge.is_missing() {
            return format!("{} {}", self.style.alarm(&how), self.style.alarm(note));
        }
        let path = if matches!(edge.how, FoundBy::Missing | FoundBy::Provided) {
            String::new()
        } else {
            self.opened(edge)
        };
        let of = edge.rpath_of.filter(|owner| *owner != edge.from);
        let of = of.map(|owner| format!("  by RPATH of {}", self.path(owner)));
        let of = self.style.dim(&of.unwrap_or_default());
        format!("{} {path}{of}{}", self.style.dim(&how), self.style.dim(note))
    }

    fn opened(&self, edge: &TreeEdge) -> String {
        show(self.audit.text(edge.path))
    }

    /// Writes the names of needs for objects that were loaded earlier, packed into lines.
    fn loaded(&self, lines: &str, names: &[String], out: &mut dyn Write) -> io::Result<()> {
        let start = format!("{lines}loaded:");
        let indent = start.chars().count();
        write!(out, "{}", self.style.dim(&start))?;
        let mut here = indent;
        for (number, name) in names.iter().enumerate() {
            let comma = if number + 1 == names.len() { "" } else { "," };
            let width = 1 + name.chars().count() + comma.len();
            if here + width > self.style.columns() && here > indent {
                write!(out, "\n{:indent$}", "")?;
                here = indent;
            }
            write!(out, "{}", self.style.dim(&format!(" {name}{comma}")))?;
            here += width;
        }
        writeln!(out)
    }
}

fn root_file(audit: &Audit, root: RootId) -> FileId {
    audit.closures.roots[root].root.file
}

fn summary(
    subject: &Subject<'_>,
    tree: &LoadTree,
    style: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let audit = subject.audit;
    let path = |file: FileId| show_path(&audit.corpus.files[file].path);
    let missing: Vec<&TreeEdge> = tree.edges.iter().filter(|edge| edge.is_missing()).collect();
    let most = if style.verbose { usize::MAX } else { MOST_MISSING };
    for edge in missing.iter().take(most) {
        let name = show(audit.text(edge.name));
        let root = audit.closures.roots[edge.root].root.file;
        let under = if root == edge.from {
            String::new()
        } else {
            format!(" under {}", glued(&path(root)))
        };
        let taken = format!("missing {name}  ").chars().count();
        let text = format!("{} {}{under}", glued("needed by"), glued(&path(edge.from)));
        let mut lines = wrap(&text, style.columns(), taken, 4).into_iter();
        let first = lines.next().unwrap_or_default();
        writeln!(out, "missing {}  {first}", style.alarm(&name))?;
        lines.try_for_each(|line| writeln!(out, "    {line}"))?;
    }
    if missing.len() > most {
        writeln!(out, "… and {} more (-v shows all)", missing.len() - most)?;
    }
    for (name, source, text) in skipped_preloads(audit) {
        writeln!(out, "skipped {}  named by {source}: {text}", style.alarm(&show(name)))?;
    }
    let stops = audit.closures.roots.iter().filter(|closure| closure.fatal().is_some()).count();
    let interps = audit.closures.bad_interps.len();
    let mut bad = Vec::new();
    if !missing.is_empty() {
        bad.push(count(missing.len(), "library not found", "libraries not found"));
    }
    if interps > 0 {
        bad.push(count(interps, "interpreter not found", "interpreters not found"));
    }
    if stops > 0 {
        bad.push(format!("the loader stops for {}", count(stops, "entry point", "entry points")));
    }
    let open = audit_open(subject);
    if tree.nodes.is_empty() && open == 0 && is_empty(subject.report) {
        return nothing_audited(subject.report, out);
    }
    let (code, result) = match (bad.is_empty(), open) {
        (false, _) => ("1;31", bad.join(", ")),
        (true, 0) => ("1;32", "nothing missing".to_owned()),
        (true, _) => ("1;35", "nothing missing, audit incomplete".to_owned()),
    };
    let needs = tree.edges.iter().filter(|edge| !edge.differs).count();
    let sizes = [
        count(tree.nodes.len(), "file", "files"),
        count(needs, "need", "needs"),
        count(audit.closures.roots.len(), "entry point", "entry points"),
    ];
    painted(&format!("{result}: {}", sizes.join(", ")), (&result, code), style, out)?;
    if open > 0 {
        writeln!(out, "incomplete: {} unread or undecided", count(open, "item", "items"))?;
    }
    let input = typed_input(subject);
    match missing.first() {
        Some(edge) => {
            let name = crate::rules::typeable(audit.text(edge.name));
            let name = name.unwrap_or_else(|| "NAME".to_owned());
            writeln!(out, "next: linkaudit why {name} {input}")
        }
        None if !bad.is_empty() || open > 0 => writeln!(out, "next: linkaudit check {input}"),
        None => Ok(()),
    }
}

/// The entries that the loader skips in preload lists: name, list and reason.
fn skipped_preloads(audit: &Audit) -> BTreeSet<(&[u8], &'static str, &'static str)> {
    let failures = audit.closures.roots.iter().flat_map(Closure::preload_failures);
    order::set(failures.map(|one| (audit.text(one.name), one.source, one.text)))
}

/// The number of findings that make the run incomplete.
fn audit_open(subject: &Subject<'_>) -> usize {
    subject.report.counts.incomplete
}
