//! Finds the archives that define a library's undefined symbols, directly or through other
//! archives. `cover` computes the answer, and this module splits it by symbol. The rule about lists
//! and `fix::propose` share the result, which [`Solved`] caches.

use super::runtime::{is_of_tool, is_runtime};
use crate::audit::{Audit, LIBC_NONSHARED, Libraries, link_references};
use crate::cover::{
    ArchiveSet, Coverage, CoverageQuestion, Link, LinkInput, LinkOutput, Linker, LinkerDefined,
    OutputKind, ReferredBy, ReferringFile, ShownReferrers, cover, in_order,
};
use crate::format::archive::SymbolKind;
use crate::format::elf::{Object, Role, Target};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId, NameId};
use crate::order;
use crate::order::Arrange as _;
use crate::plan::{MergedFrom, Plan};
use crate::tree::Tree;
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The archives that define the undefined symbols of one library.
pub struct Solution {
    /// The library.
    pub file: FileId,
    /// The members of the coverage, and the references between them.
    graph: Graph,
    /// The answer of `cover`.
    pub coverage: Coverage,
    /// For each undefined symbol of the library that has a candidate, the archives to add.
    pub by_symbol: BTreeMap<Vec<u8>, Arc<SymbolClosure>>,
    /// The names that all closures in `by_symbol` add to the library.
    gain: Gain,
}

/// The names that members add to a library when its link takes them.
#[derive(Clone, Default)]
pub struct Gain {
    /// Names that the members define.
    inside: FastSet<NameId>,
    /// Names that the members refer to and that stay undefined.
    pub outside: Vec<Vec<u8>>,
}

/// The members and archives that a link takes for one symbol.
#[derive(Debug)]
pub struct SymbolClosure {
    /// The member that defines the symbol.
    pub first: MemberId,
    /// The archive of that member; `None` if it is already linked.
    pub provider: Option<ArchiveId>,
    /// The archives of all members that the link takes, except those already linked.
    pub archives: BTreeSet<ArchiveId>,
    /// Number of members that the link takes.
    pub members: usize,
    /// Names that the members refer to and that stay undefined.
    pub undefined: BTreeSet<Vec<u8>>,
    /// A member whose references are unknown, if there is one.
    pub opaque: Option<MemberId>,
}

/// Cached results for rules and fixes. `known` has a result for each pair of a library and the
/// merged archive that it was linked from, if any. `merged` has, for each list, the archives that
/// are merged from it.
#[derive(Default)]
pub struct Solved {
    known: Mutex<FastMap<(FileId, Option<ArchiveId>), SolveResult>>,
    merged: OnceLock<Vec<Vec<ArchiveId>>>,
}

/// `None` for a file that is not an object.
type SolveResult = Option<Arc<Solution>>;

impl Solved {
    /// The archives that `file` lacks; `fat` is the merged archive that it was linked from.
    pub fn solve(&self, audit: &Audit, file: FileId, fat: Option<ArchiveId>) -> SolveResult {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = known.entry((file, fat));
        answer.or_insert_with(|| solve(audit, file, fat).map(Arc::new)).clone()
    }

    /// The lists of the plan, each with the archives that are merged from it.
    pub fn merged<'p>(
        &self,
        audit: &Audit,
        plan: &'p Plan,
    ) -> impl Iterator<Item = (&'p MergedFrom, &[ArchiveId])> {
        let find = || plan.lists.iter().map(|list| list.archives(audit)).collect();
        plan.lists.iter().zip(self.merged.get_or_init(find).iter().map(Vec::as_slice))
    }
}

/// Finds the candidate archives that define the undefined symbols of `file`, which was linked from
/// `fat`. If a shared library defines a symbol, no archive is added for it, unless the link needs
/// archives anyway that define all symbols of this library: with both, the process would have two
/// copies of its code. A merged archive is different: its missing parts are added anyway.
fn solve(audit: &Audit, file: FileId, fat: Option<ArchiveId>) -> Option<Solution> {
    let library = &audit.library;
    let object = audit.corpus.files[file].object()?;
    let mut candidates: Vec<ArchiveId> =
        library.entries().map(|(archive, _)| archive).filter(|a| Some(*a) != fat).collect();
    let is_dynamic = output_kind(object) != OutputKind::Any && object.is_dynamic();
    let is_there = |path: &Path| audit.corpus.file_at(path).is_some();
    candidates.retain(|archive| {
        let path = &library.entry(*archive).path;
        !(is_of_tool(path) || is_dynamic && is_runtime(path, &is_there))
    });
    candidates.arrange_by_key(|archive| library.entry(*archive).path.as_os_str());
    let of_file = audit.diagnosis.undefined.iter().filter(|undefined| undefined.file == file);
    let mut symbols: BTreeSet<&[u8]> =
        order::set(of_file.filter(|u| u.version.is_none()).map(|u| &*u.symbol));
    let mut shared: BTreeMap<&[u8], Vec<FileId>> = BTreeMap::new();
    if fat.is_none() {
        let all = symbols.iter().copied();
        shared = all.map(|name| (name, shared_definers(audit, file, name).collect())).collect();
        shared.retain(|_, definers| !definers.is_empty());
        symbols.retain(|name| !shared.contains_key(name));
    }
    let solution = solve_for((audit, file, object), fat, &candidates, &symbols);
    let closed = solution.by_symbol.values().filter(|part| part.is_closed());
    let needed: BTreeSet<ArchiveId> = closed.flat_map(|part| part.archives.clone()).collect();
    let moved = without_libraries(library, &needed, &shared);
    if moved.is_empty() {
        return Some(solution);
    }
    symbols.extend(&moved);
    // An archive that the link does not need yet might bring a second copy of the library's code.
    let archives = solution.archives();
    candidates.retain(|archive| archives.contains(archive));
    let whole = solve_for((audit, file, object), fat, &candidates, &symbols);
    let known: BTreeSet<&[u8]> = order::set(solution.coverage.undefined.iter().map(|u| &*u.symbol));
    let fits = moved.iter().all(|name| whole.by_symbol.contains_key(*name))
        && whole.coverage.undefined.iter().all(|undefined| known.contains(&*undefined.symbol));
    Some(if fits { whole } else { solution })
}

/// The symbols of shared libraries that the link does not need, because these archives define all
/// symbols that it would take from them. `shared` has the libraries that define each symbol.
fn without_libraries<'s>(
    library: &ArchiveSet,
    archives: &BTreeSet<ArchiveId>,
    shared: &BTreeMap<&'s [u8], Vec<FileId>>,
) -> Vec<&'s [u8]> {
    if archives.is_empty() {
        return Vec::new();
    }
    let is_in_archive = |name: &[u8]| {
        let mut definitions = library.find(name).into_iter().flat_map(|n| library.definitions(n));
        definitions.any(|definition| archives.contains(&library.archive_of(definition.member)))
    };
    let (inside, outside): (Vec<_>, Vec<_>) =
        shared.iter().partition(|(name, _)| is_in_archive(name));
    let kept: FastSet<FileId> =
        outside.into_iter().flat_map(|(_, definers)| definers.iter().copied()).collect();
    let moved = inside.into_iter();
    let moved = moved.filter(|(_, definers)| definers.iter().all(|file| !kept.contains(file)));
    moved.map(|(name, _)| *name).collect()
}

/// The archives among `candidates` that define `symbols` for the file.
fn solve_for(
    (audit, file, object): (&Audit, FileId, &Object),
    fat: Option<ArchiveId>,
    candidates: &[ArchiveId],
    symbols: &BTreeSet<&[u8]>,
) -> Solution {
    let linked = fat.as_slice();
    let undefined = symbols.iter().map(|name| ((*name).into(), SymbolKind::Undefined));
    let root = root(audit, (file, object), undefined.collect());
    let libraries = audit.libraries_of(&[file]);
    let output = LinkOutput { kind: output_kind(object), ..LinkOutput::default() };
    let coverage = cover(&CoverageQuestion {
        library: &audit.library,
        roots: &[root],
        symbols: &[],
        all_members: false,
        archives: linked,
        candidates,
        objects: &[Some(object)],
        provided: &|name| libraries.define(name),
        output,
        gc_sections: false,
        link: None,
    });
    let output = (output, object.header.target());
    Graph::new(&audit.library, &coverage, output).solution(
        (&audit.library, file),
        symbols,
        linked,
        coverage,
    )
}

/// Repeats the link of `file` by the rules of one linker, with further archives before the shared
/// libraries that it needs. The archives may define names for the file and for these libraries.
/// `libraries` define the other names.
pub fn link_again(
    (audit, tree): (&Audit, &dyn Tree),
    (file, needed, libraries): (FileId, &[FileId], &Libraries<'_>),
    linker: Linker,
    archives: &[LinkInput],
) -> Coverage {
    let Some(object) = audit.corpus.files[file].object() else { return Coverage::default() };
    // The objects that the file was linked from had references without versions.
    let symbols = link_references(object, false);
    let first = (root(audit, (file, object), symbols), Some(object));
    let inputs = needed.iter().filter_map(|library| {
        Some((audit.cover_root(*library, true)?, audit.corpus.files[*library].object()))
    });
    let (roots, objects): (Vec<ReferringFile>, Vec<Option<&Object>>) =
        std::iter::once(first).chain(inputs).unzip();
    let added = archives.iter().filter_map(|input| match input {
        LinkInput::Archive(archive) => Some(*archive),
        _ => None,
    });
    let added: Vec<ArchiveId> = added.collect();
    let inputs = std::iter::once(LinkInput::Root(0)).chain(archives.iter().cloned());
    let inputs = inputs.chain((1..roots.len()).map(LinkInput::Root)).collect();
    let link = Link { linker, inputs, ..Link::default() };
    let question = CoverageQuestion {
        library: &audit.library,
        roots: &roots,
        symbols: &[],
        all_members: false,
        archives: &added,
        candidates: &[],
        objects: &objects,
        provided: &|name| libraries.define(name),
        output: LinkOutput {
            kind: output_kind(object),
            linker: Some(linker),
            has_start_files: false,
        },
        gc_sections: false,
        link: Some(&link),
    };
    let mut coverage = in_order(&question, &link);
    // `refine` needs only the files of relocatable objects, and all roots are linked files.
    let shown = ShownReferrers { names: 0, of_name: 1 };
    audit.refine(tree, (&question, &[]), shown, &mut coverage);
    coverage
}

/// The object as a root for `cover`: a linked file that refers to `symbols`.
fn root(
    audit: &Audit,
    (file, object): (FileId, &Object),
    symbols: Vec<(Box<[u8]>, SymbolKind)>,
) -> ReferringFile {
    ReferringFile {
        path: Arc::clone(&audit.corpus.files[file].path),
        linked: true,
        input: false,
        lto: false,
        opaque: None,
        target: Some(object.header.target()),
        symbols,
        default_versions: Vec::new(),
        hidden: Vec::new(),
        unexported: Vec::new(),
        beside_weak: Vec::new(),
    }
}

/// Audited or candidate shared libraries from which a linker takes `symbol`.
pub fn shared_definers<'a>(
    audit: &'a Audit,
    file: FileId,
    symbol: &'a [u8],
) -> impl Iterator<Item = FileId> + 'a {
    let target = audit.corpus.files[file].object().map(|object| object.header.target());
    let found = target.into_iter().flat_map(move |t| audit.providers.of(symbol, file, t));
    found.filter(|provider| provider.member.is_none()).map(|provider| provider.file).filter(
        move |library| {
            let object = audit.corpus.files[*library].object();
            object.is_some_and(|object| object.is_library() && object.satisfies_link(symbol))
        },
    )
}

/// `e_type` of shared objects and position-independent programs.
const ET_DYN: u16 = 3;

/// The kind of file that was linked.
pub fn output_kind(object: &Object) -> OutputKind {
    match object.role {
        Role::Program if object.is_library() => OutputKind::Shared,
        Role::Program if object.header.kind == ET_DYN => OutputKind::Pie,
        Role::Program | Role::Static => OutputKind::Executable,
        Role::Shared => OutputKind::Shared,
        _ => OutputKind::Any,
    }
}

/// The members that a link takes, and the references between them.
struct Graph {
    members: Vec<MemberId>,
    definers: FastMap<NameId, Definer>,
    /// The references of each member, by index into `members`.
    links: Vec<MemberReferences>,
    undefined: FastSet<NameId>,
    output: (LinkOutput, Target),
}

/// The definition of a name that counts: the first strong one, else the first.
#[derive(Clone, Copy)]
struct Definer {
    /// Index of the member in the graph.
    at: u32,
    is_strong: bool,
}

impl Definer {
    fn index(self) -> usize {
        self.at as usize
    }
}

/// The references of one member.
struct MemberReferences {
    /// The members that define names that it refers to, each once, by index in the graph.
    members: Vec<u32>,
    /// Names that it refers to and that no member of the graph defines.
    open: Vec<NameId>,
}

impl MemberReferences {
    fn new(library: &ArchiveSet, member: MemberId, definers: &FastMap<NameId, Definer>) -> Self {
        let (mut members, mut open) = (Vec::new(), Vec::new());
        for (name, _) in library.symbols(member).filter(|(_, s)| s.kind == SymbolKind::Undefined) {
            match definers.get(&name) {
                Some(definer) => members.push(definer.at),
                None => open.push(name),
            }
        }
        members.sort_unstable();
        members.dedup();
        Self { members, open }
    }

    fn members(&self) -> impl Iterator<Item = usize> {
        self.members.iter().map(|at| *at as usize)
    }
}

impl Graph {
    fn new(library: &ArchiveSet, coverage: &Coverage, output: (LinkOutput, Target)) -> Self {
        let members: Vec<MemberId> = coverage.needed.iter().map(|needed| needed.member).collect();
        let mut definers: FastMap<NameId, Definer> = FastMap::default();
        for (at, member) in (0..).zip(&members) {
            let symbols = library.symbols(*member);
            for (name, symbol) in symbols.filter(|(_, symbol)| symbol.kind.is_definition()) {
                let is_strong = symbol.kind == SymbolKind::Strong;
                let known = definers.entry(name).or_insert(Definer { at, is_strong });
                if is_strong && !known.is_strong {
                    *known = Definer { at, is_strong };
                }
            }
        }
        let names = coverage.undefined.iter().filter_map(|u| library.find(&u.symbol));
        let undefined = names.collect();
        let links = |member: &MemberId| MemberReferences::new(library, *member, &definers);
        let links = members.par_iter().map(links).collect();
        Self { members, definers, links, undefined, output }
    }

    /// True if neither the linker nor `libc_nonshared.a` defines the name.
    fn is_open(&self, name: &[u8]) -> bool {
        let (output, target) = self.output;
        output.defines(Some(target), name) == LinkerDefined::No && !LIBC_NONSHARED.contains(&name)
    }

    fn solution(
        self,
        (library, file): (&ArchiveSet, FileId),
        symbols: &BTreeSet<&[u8]>,
        linked: &[ArchiveId],
        coverage: Coverage,
    ) -> Solution {
        let (mut by_symbol, mut parts) = (BTreeMap::new(), FastMap::default());
        for symbol in symbols {
            let definer = library.find(symbol).and_then(|name| self.definers.get(&name));
            if let Some(definer) = definer {
                // A member that defines several symbols is visited once.
                let part = parts.entry(definer.index());
                let make = || Arc::new(self.part(library, definer.index(), linked));
                let part = part.or_insert_with(make);
                by_symbol.insert(symbol.to_vec(), Arc::clone(part));
            }
        }
        let gain = self.gain(library, parts.into_keys().collect());
        Solution { file, graph: self, coverage, by_symbol, gain }
    }

    /// The names that the members at `firsts`, and all members that they need, add to the library.
    fn gain(&self, library: &ArchiveSet, firsts: Vec<usize>) -> Gain {
        let mut taken = vec![false; self.members.len()];
        let mut outside: FastSet<NameId> = FastSet::default();
        self.follow(
            firsts,
            |at| taken[at] = true,
            |name| {
                outside.insert(name);
            },
        );
        let outside = outside.into_iter().map(|name| library.text(name));
        let outside = outside.filter(|text| self.is_open(text)).map(without_version);
        let mut outside: Vec<Vec<u8>> = outside.map(<[u8]>::to_vec).collect();
        outside.arrange();
        outside.dedup();
        let mut inside: FastSet<NameId> = FastSet::default();
        inside.reserve(self.definers.len());
        let definers = self.definers.iter().filter(|(_, definer)| taken[definer.index()]);
        inside.extend(definers.map(|(name, _)| *name));
        Gain { inside, outside }
    }

    /// Visits the members at `firsts` and all that these need, transitively. `taken` gets each
    /// member, and `open` the names that no member defines.
    fn follow(
        &self,
        firsts: Vec<usize>,
        mut taken: impl FnMut(usize),
        mut open: impl FnMut(NameId),
    ) {
        let (mut seen, mut todo) = (vec![false; self.members.len()], firsts);
        for at in &todo {
            seen[*at] = true;
        }
        while let Some(at) = todo.pop() {
            taken(at);
            let links = &self.links[at];
            links.open.iter().for_each(|name| open(*name));
            for next in links.members() {
                if !std::mem::replace(&mut seen[next], true) {
                    todo.push(next);
                }
            }
        }
    }

    /// The indices of the first members of `parts`.
    fn firsts(&self, parts: &[&SymbolClosure]) -> Vec<usize> {
        let wanted: FastSet<MemberId> = parts.iter().map(|part| part.first).collect();
        let members = self.members.iter().enumerate();
        members.filter(|(_, member)| wanted.contains(*member)).map(|(at, _)| at).collect()
    }

    /// The closure of the member at `first`: this member and all that it needs, transitively.
    fn part(&self, library: &ArchiveSet, first: usize, linked: &[ArchiveId]) -> SymbolClosure {
        let archive = |at: usize| library.archive_of(self.members[at]);
        let mut out = SymbolClosure {
            first: self.members[first],
            provider: Some(archive(first)).filter(|found| !linked.contains(found)),
            archives: BTreeSet::new(),
            members: 0,
            undefined: BTreeSet::new(),
            opaque: None,
        };
        let mut undefined: FastSet<NameId> = FastSet::default();
        let taken = |at: usize| {
            out.members += 1;
            if library.member(self.members[at]).is_unknown() {
                out.opaque = Some(self.members[at]);
            }
            if !linked.contains(&archive(at)) {
                out.archives.insert(archive(at));
            }
        };
        let open = |name| {
            if self.undefined.contains(&name) {
                undefined.insert(name);
            }
        };
        self.follow(vec![first], taken, open);
        out.undefined = undefined.into_iter().map(|name| library.text(name).to_vec()).collect();
        out
    }
}

/// The name of a reference to `NAME@VERSION`: a linked file has the version in a table.
pub fn without_version(name: &[u8]) -> &[u8] {
    let at = memchr::memchr(b'@', name).filter(|at| *at > 0);
    &name[..at.unwrap_or(name.len())]
}

impl SymbolClosure {
    /// True if all references of its members are known and defined.
    pub fn is_closed(&self) -> bool {
        self.opaque.is_none() && self.undefined.is_empty()
    }
}

impl Gain {
    /// True for names that the members define.
    pub fn defines(&self, library: &ArchiveSet, name: &[u8]) -> bool {
        library.find(name).is_some_and(|name| self.inside.contains(&name))
    }
}

impl Solution {
    /// The closures of its symbols, each once.
    pub fn parts(&self) -> Vec<&SymbolClosure> {
        let mut parts: Vec<&SymbolClosure> = self.by_symbol.values().map(|part| &**part).collect();
        parts.arrange_by_key(|part| part.first);
        parts.dedup_by_key(|part| part.first);
        parts
    }

    /// The names that these parts alone add to the library.
    pub fn gain(&self, audit: &Audit, parts: &[&SymbolClosure]) -> Cow<'_, Gain> {
        if parts.len() == self.parts().len() {
            return Cow::Borrowed(&self.gain);
        }
        Cow::Owned(self.graph.gain(&audit.library, self.graph.firsts(parts)))
    }

    /// All members that its parts take.
    pub fn members(&self) -> Vec<MemberId> {
        self.members_of(&self.parts())
    }

    /// All members that these parts take.
    pub fn members_of(&self, parts: &[&SymbolClosure]) -> Vec<MemberId> {
        let graph = &self.graph;
        let mut taken = Vec::new();
        graph.follow(graph.firsts(parts), |at| taken.push(graph.members[at]), |_| {});
        taken.arrange();
        taken
    }

    /// Maps the first member of each part to a member in `refused` that the part takes. Parts that
    /// take no such member are left out.
    pub fn reaching<T>(&self, refused: &FastMap<MemberId, T>) -> FastMap<MemberId, MemberId> {
        let mut out = FastMap::default();
        if refused.is_empty() {
            return out;
        }
        let graph = &self.graph;
        let mut referrers: Vec<Vec<usize>> = vec![Vec::new(); graph.members.len()];
        for (at, links) in graph.links.iter().enumerate() {
            for definer in links.members() {
                referrers[definer].push(at);
            }
        }
        let mut reason: Vec<Option<MemberId>> = vec![None; graph.members.len()];
        for (at, member) in graph.members.iter().enumerate() {
            if !refused.contains_key(member) || reason[at].is_some() {
                continue;
            }
            let mut todo = vec![at];
            while let Some(at) = todo.pop() {
                if reason[at].is_none() {
                    reason[at] = Some(*member);
                    todo.extend(&referrers[at]);
                }
            }
        }
        for first in graph.firsts(&self.parts()) {
            if let Some(member) = reason[first] {
                out.insert(graph.members[first], member);
            }
        }
        out
    }

    /// Undefined symbols to which the library itself refers, and which no candidate defines.
    pub fn without_candidate(&self) -> impl Iterator<Item = &[u8]> {
        let asked_by_root =
            |by: &Vec<ReferredBy>| by.iter().any(|by| matches!(by, ReferredBy::Root(_)));
        let undefined = self.coverage.undefined.iter();
        undefined.filter(move |u| asked_by_root(&u.by)).map(|u| &*u.symbol)
    }

    /// Every archive to add.
    pub fn archives(&self) -> BTreeSet<ArchiveId> {
        self.by_symbol.values().flat_map(|part| part.archives.iter().copied()).collect()
    }
}
