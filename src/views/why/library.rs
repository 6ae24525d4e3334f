//! `why` for a library: the files with the name of the library, and the needs for the library. A
//! need is listed if it has this name, or if one of these files satisfies it.

use super::elsewhere::{Copy, copies, instead};
use super::under::position;
use crate::audit::Audit;
use crate::facts::{FileFacts, PathState};
use crate::id::{FastMap, FastSet, FileId, ModuleId, RootId, StrId};
use crate::order::Arrange as _;
use crate::resolve::trace::Tried;
use crate::resolve::{FoundBy, ROOT};
use crate::text::last_part;
use crate::views::tree::{LoadTree, Tag, TreeEdge};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// A file that has the requested name, or that the loader found for a need of this name.
#[derive(Debug)]
pub struct LibraryProvider {
    /// The file of the library.
    pub file: FileId,
    /// The entry points that load the file, in order.
    pub places: Vec<LibraryLoad>,
}

/// How the process of one entry point loads a file.
#[derive(Clone, Copy, Debug)]
pub struct LibraryLoad {
    /// The entry point of the process.
    pub root: RootId,
    /// The index of the file in the scope, which starts with the entry point; `None` for a file
    /// that is not in the scope.
    pub position: Option<u32>,
    /// How the loader found the file, such as by DT_RUNPATH.
    pub how: FoundBy,
}

/// A need of one file for the library.
#[derive(Debug)]
pub struct LibraryRequester {
    /// The file that has the need.
    pub file: FileId,
    /// The needed name, as written in the file.
    pub name: StrId,
    /// The kind of the need: an entry of the dynamic section, or a preload list.
    pub tag: Tag,
    /// The file that satisfies the need; `None` if none was found.
    pub to: Option<FileId>,
    /// The path by which the loader opened that file.
    pub opened: StrId,
    /// How the loader found that file; [`FoundBy::Missing`] if it found none.
    pub how: FoundBy,
    /// The object whose DT_RPATH led to the file; `None` if another step of the search found the
    /// file.
    pub rpath_of: Option<FileId>,
    /// The entry points under which the need leads to `to`. With `--under`, only the selected one.
    pub roots: Vec<RootId>,
    /// The chain of needs from the first entry point to `file`, both included.
    pub chain: Vec<FileId>,
    /// Paths that the loader tried and skipped.
    pub tried: Vec<Tried>,
    /// With `--under`: the files that the loader would find if LD_LIBRARY_PATH contained their
    /// directory. `None` if LD_LIBRARY_PATH does not affect the need.
    pub instead: Option<Vec<FileId>>,
}

impl LibraryRequester {
    /// True if no file was found.
    pub fn is_missing(&self) -> bool {
        self.how == FoundBy::Missing
    }
}

/// The answer about a library.
#[derive(Debug)]
pub struct LibraryAnswer {
    /// The files of the library, in byte order of their paths.
    pub providers: Vec<LibraryProvider>,
    /// The needs for the library, sorted by the path of the file that has the need (in byte
    /// order).
    pub requesters: Vec<LibraryRequester>,
    /// Entry points that have the library as interpreter.
    pub programs: Vec<FileId>,
    /// With `--under`: other files of the library in the process.
    pub copies: Vec<Copy>,
}

impl LibraryAnswer {
    /// The answer about the library `name`; `None` if no file, need or interpreter has this name.
    /// File names are compared only if `by_file` is true. `graph` has the needs of the entry points
    /// in `under`.
    pub(super) fn new(
        name: &[u8],
        audit: &Audit,
        graph: &LoadTree,
        by_file: bool,
        under: Option<&[RootId]>,
    ) -> Option<Self> {
        let mut files = named(name, audit, by_file);
        let is_meant = |edge: &&TreeEdge| {
            audit.text(edge.name) == name
                || audit.text(edge.path) == name
                || edge.to.is_some_and(|to| files.contains(&to))
        };
        let edges: Vec<&TreeEdge> = graph.edges.iter().filter(is_meant).collect();
        let mut programs = programs(name, audit, &files);
        if files.is_empty() && edges.is_empty() && programs.is_empty() {
            return None;
        }
        files.extend(edges.iter().filter_map(|edge| edge.to));
        let is_meant = |root: RootId| under.is_none_or(|under| under.contains(&root));
        let mut requesters: Vec<LibraryRequester> = requesters(audit, &edges, is_meant);
        let path = |file: FileId| audit.corpus.files[file].path.as_os_str();
        requesters.arrange_by_key(|requester| path(requester.file));
        let mut providers = providers(audit, &files, is_meant);
        providers.arrange_by_key(|provider| path(provider.file));
        if let Some(under) = under {
            let file = |root: &RootId| audit.closures.roots[*root].root.file;
            programs.retain(|program| under.iter().any(|root| file(root) == *program));
            providers.retain(|provider| !provider.places.is_empty());
            // Closures of one entry point under several host programs have the same loader.
            let is_musl = under.iter().any(|root| audit.loader(*root).is_musl());
            for requester in &mut requesters {
                let name = audit.text(requester.name);
                let yields = requester.how.yields_to_ld_library_path(is_musl);
                let yields = yields && !name.contains(&b'/');
                requester.instead =
                    yields.then(|| instead(audit, name, requester.file, requester.to));
            }
        }
        let known = providers.iter().map(|provider| provider.file).collect();
        let copies = under.map(|under| copies(audit, &known, under)).unwrap_or_default();
        Some(Self { providers, requesters, programs, copies })
    }
}

/// Files that have this name. A name with a slash is a path. Any other name is a DT_SONAME or, if
/// `by_file` is true, a file name.
fn named(name: &[u8], audit: &Audit, by_file: bool) -> FastSet<FileId> {
    let mut out = FastSet::default();
    if name.contains(&b'/') {
        if let Some(PathState::File(file)) = audit.corpus.place(name) {
            out.insert(file);
        }
        let of = |facts: &FileFacts| facts.path.as_os_str().as_bytes() == name;
        out.extend(audit.corpus.files.entries().filter(|(_, facts)| of(facts)).map(|(id, _)| id));
        return out;
    }
    let ends = |path: &Path| path.file_name().is_some_and(|last| last.as_bytes() == name);
    for (file, facts) in audit.corpus.files.entries() {
        let soname = facts.object().and_then(|object| object.soname());
        let named = || ends(&facts.path) || facts.names.iter().any(|other| ends(&other.path));
        if soname == Some(name) || (by_file && named()) {
            out.insert(file);
        }
    }
    out
}

/// Entry points whose PT_INTERP has this name or is one of `files`.
fn programs(name: &[u8], audit: &Audit, files: &FastSet<FileId>) -> Vec<FileId> {
    let mut out: Vec<FileId> = Vec::new();
    for closure in &audit.closures.roots {
        let file = closure.root.file;
        let object = audit.corpus.files[file].object();
        let Some(interp) = object.and_then(|object| object.interp()) else { continue };
        let leads = match audit.corpus.place(interp) {
            Some(PathState::File(loader)) => files.contains(&loader),
            _ => last_part(interp) == name,
        };
        if (interp == name || leads) && out.last() != Some(&file) {
            out.push(file);
        }
    }
    out
}

fn requesters(
    audit: &Audit,
    edges: &[&TreeEdge],
    is_meant: impl Fn(RootId) -> bool,
) -> Vec<LibraryRequester> {
    type Key = (FileId, StrId, Tag, Option<FileId>);
    let mut at: FastMap<Key, usize> = FastMap::default();
    let mut out: Vec<LibraryRequester> = Vec::new();
    for edge in edges {
        at.insert((edge.from, edge.name, edge.tag, edge.to), out.len());
        out.push(LibraryRequester {
            file: edge.from,
            name: edge.name,
            tag: edge.tag,
            to: edge.to,
            opened: edge.path,
            how: edge.how,
            rpath_of: edge.rpath_of,
            roots: Vec::new(),
            chain: Vec::new(),
            tried: edge.tried.clone(),
            instead: None,
        });
    }
    for (root, closure) in audit.closures.roots.entries().filter(|(root, _)| is_meant(*root)) {
        for edge in closure.edges() {
            let Some(from) = closure.module(edge.from).file else { continue };
            let to = closure.module(edge.to).file;
            if let Some(at) = at.get(&(from, edge.raw, Tag::Need(edge.kind), to)) {
                met(audit, &mut out[*at], root, edge.from);
            }
        }
        for (_, module) in closure.modules().filter(|(_, module)| module.how == FoundBy::Preload) {
            let key = (closure.root.file, module.name, Tag::Preload, module.file);
            if let Some(at) = at.get(&key) {
                met(audit, &mut out[*at], root, ROOT);
            }
        }
    }
    out
}

fn met(audit: &Audit, requester: &mut LibraryRequester, root: RootId, module: ModuleId) {
    if requester.roots.last() == Some(&root) {
        return;
    }
    requester.roots.push(root);
    if requester.chain.is_empty() {
        let closure = &audit.closures.roots[root];
        let files = closure.chain(module).into_iter().filter_map(|hop| closure.module(hop).file);
        requester.chain = files.collect();
    }
}

fn providers(
    audit: &Audit,
    files: &FastSet<FileId>,
    is_meant: impl Fn(RootId) -> bool,
) -> Vec<LibraryProvider> {
    let mut out: Vec<LibraryProvider> = Vec::new();
    let mut at: FastMap<FileId, usize> = FastMap::default();
    let mut sorted: Vec<FileId> = files.iter().copied().collect();
    sorted.arrange();
    for file in sorted {
        at.insert(file, out.len());
        out.push(LibraryProvider { file, places: Vec::new() });
    }
    for (root, closure) in audit.closures.roots.entries().filter(|(root, _)| is_meant(*root)) {
        for (module, file) in closure.modules().map(|(index, module)| (index, module.file)) {
            let Some(place) = file.and_then(|file| at.get(&file)) else { continue };
            // The loader is mapped first, but it is in the scope only if an object needs it.
            let position = position(closure, module);
            let how = closure.module(module).how;
            out[*place].places.push(LibraryLoad { root, position, how });
        }
    }
    out
}
