//! Finds the archives that define a library's undefined symbols, directly or through other
//! archives. `cover` computes the coverage of all symbols, and this module splits it by symbol.
//! `fix::propose` and the rule about lists share the result, which [`Solved`] caches.

use super::link::{output_kind, root, without_version};
use super::runtime::{is_of_compiler, is_of_tool, is_runtime};
use super::shared::{drop_embedding, for_members, has_copy, shared_definers, without_libraries};
use crate::audit::{Audit, LIBC_NONSHARED, Libraries};
use crate::cover::{
    ArchiveSet, Coverage, CoverageQuestion, LinkOutput, LinkerDefined, OutputKind, ReferredBy, Tie,
    cover,
};
use crate::format::archive::SymbolKind;
use crate::format::elf::{Object, Target};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId, NameId};
use crate::order;
use crate::order::Arrange as _;
use crate::plan::{MergedFrom, Plan};
use rayon::prelude::*;
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

/// The archives that define the undefined symbols of one library.
pub struct Solution {
    /// The library with the undefined symbols.
    pub file: FileId,
    /// The members of the coverage, and the references between them.
    graph: Graph,
    /// The members that the link takes, and the names that stay undefined.
    pub coverage: Coverage,
    /// For each undefined symbol of the library that has a candidate, the archives to add.
    pub by_symbol: BTreeMap<Vec<u8>, Arc<SymbolClosure>>,
    /// The shared libraries that define names for the added members.
    pub libraries: Vec<FileId>,
    /// The names that all closures in `by_symbol` add to the library.
    gain: Gain,
}

/// The names that members add to a library when the link of the library takes these members.
#[derive(Clone, Default)]
pub struct Gain {
    /// Names that the added members define.
    inside: FastSet<NameId>,
    /// Names that the members refer to and that stay undefined.
    pub outside: Vec<Vec<u8>>,
}

/// The members and archives that a link takes for one symbol.
#[derive(Debug)]
pub struct SymbolClosure {
    /// The member that defines the symbol in this link.
    pub first: MemberId,
    /// The archive of the member `first`; `None` if the archive is already linked.
    pub provider: Option<ArchiveId>,
    /// The archives of all members that the link takes, except archives that are already linked.
    pub archives: BTreeSet<ArchiveId>,
    /// The shared libraries that define names to which the members refer, except libraries that are
    /// already linked.
    pub libraries: BTreeSet<FileId>,
    /// Number of members that the link takes for the symbol.
    pub members: usize,
    /// Names that the members refer to and that stay undefined.
    pub undefined: BTreeSet<Vec<u8>>,
    /// A member whose references are unknown, if there is one.
    pub opaque: Option<MemberId>,
}

/// Cached results for rules and fixes. The key of `known` is a library, with the merged archive
/// from which the library was linked, if any. `merged` has, for each list, the archives that are
/// merged from the list.
#[derive(Default)]
pub struct Solved {
    known: Mutex<FastMap<(FileId, Option<ArchiveId>), SolveResult>>,
    merged: OnceLock<Vec<Vec<ArchiveId>>>,
}

/// `None` for a file that is not an object.
type SolveResult = Option<Arc<Solution>>;

impl Solved {
    /// The archives that `file` lacks; `fat` is the merged archive from which the file was linked.
    pub fn solve(&self, audit: &Audit, file: FileId, fat: Option<ArchiveId>) -> SolveResult {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        let answer = known.entry((file, fat));
        let none = FastSet::default();
        answer.or_insert_with(|| solve(audit, file, fat, &none).map(Arc::new)).clone()
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

/// Finds the candidate archives that define the undefined symbols of `file`. `fat` is the merged
/// archive that the file was linked from. Without `fat`, a symbol that a shared library defines
/// gets no archive, unless archives that the link needs anyway define all symbols that the link
/// would take from that library. With that library too, the process would have two copies of the
/// code. With `fat`, the missing parts of the merged archive are added even if a shared library
/// defines them. The archives in `without` are not candidates. `None` if `file` is not an object.
pub fn solve(
    audit: &Audit,
    file: FileId,
    fat: Option<ArchiveId>,
    without: &FastSet<ArchiveId>,
) -> Option<Solution> {
    let library = &audit.library;
    let object = audit.corpus.files[file].object()?;
    let mut candidates: Vec<ArchiveId> =
        library.entries().map(|(archive, _)| archive).filter(|a| Some(*a) != fat).collect();
    let is_dynamic = output_kind(object) != OutputKind::Any && object.is_dynamic();
    let is_there = |path: &Path| audit.corpus.file_at(path).is_some();
    candidates.retain(|archive| {
        let path = &library.entry(*archive).path;
        !(without.contains(archive)
            || is_of_tool(path)
            || is_dynamic && is_runtime(path, &is_there))
    });
    candidates.arrange_by_key(|archive| library.entry(*archive).path.as_os_str());
    let of_file = audit.diagnosis.undefined.iter().filter(|undefined| undefined.file == file);
    let mut symbols: BTreeSet<&[u8]> =
        order::set(of_file.filter(|u| u.version.is_none()).map(|u| &*u.symbol));
    let mut shared: BTreeMap<&[u8], Vec<FileId>> = BTreeMap::new();
    if fat.is_none() {
        let all = symbols.iter().copied();
        let of = (audit, &audit.providers);
        shared = all.map(|name| (name, shared_definers(of, file, name).collect())).collect();
        drop_embedding(audit, &candidates, &mut shared);
        shared.retain(|_, definers| !definers.is_empty());
        symbols.retain(|name| !shared.contains_key(name));
    }
    let solution = solve_linked((audit, file, object), fat, &candidates, &symbols);
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
    let linked = (fat, &*solution.libraries);
    let whole = solve_for((audit, file, object), linked, &candidates, &symbols);
    let known: BTreeSet<&[u8]> = order::set(solution.coverage.undefined.iter().map(|u| &*u.symbol));
    let fits = moved.iter().all(|name| whole.by_symbol.contains_key(*name))
        && whole.coverage.undefined.iter().all(|undefined| known.contains(&*undefined.symbol));
    Some(if fits { whole } else { solution })
}

/// The archives among `candidates` that define `symbols` for the file. Shared libraries are
/// preferred for names that one archive takes from another, and for names that no archive defines.
/// A shared library is left out if it has a copy of code that the link takes from an archive.
fn solve_linked(
    of: (&Audit, FileId, &Object),
    fat: Option<ArchiveId>,
    candidates: &[ArchiveId],
    symbols: &BTreeSet<&[u8]>,
) -> Solution {
    let (audit, file, _) = of;
    let (mut libraries, mut banned) = (Vec::new(), FastSet::default());
    let mut solution = solve_for(of, (fat, &libraries), candidates, symbols);
    let large = if fat.is_none() { solution.larger_archives(audit) } else { FastSet::default() };
    let mut candidates = candidates.to_vec();
    if !large.is_empty() {
        let small: Vec<ArchiveId> =
            candidates.iter().copied().filter(|a| !large.contains(a)).collect();
        let other = solve_for(of, (fat, &libraries), &small, symbols);
        if other.is_as_good_as(&solution) {
            (solution, candidates) = (other, small);
        }
    }
    while fat.is_none() {
        let found = for_members(audit, file, (&solution.names_between_archives(audit), &banned));
        // No library satisfies a restricted reference, so the search may find a library again.
        let mut new: Vec<FileId> = found.into_keys().collect();
        new.retain(|library| !libraries.contains(library));
        if new.is_empty() {
            break;
        }
        libraries.extend(new);
        let mut kept = solution.members_for_library(audit);
        solution = solve_for(of, (fat, &libraries), &candidates, symbols);
        kept.extend(solution.coverage.needed.iter().map(|needed| needed.member));
        let copies = libraries.iter().copied().filter(|l| has_copy(audit, *l, &kept));
        let copies: FastSet<FileId> = copies.collect();
        if !copies.is_empty() {
            libraries.retain(|library| !copies.contains(library));
            banned.extend(copies);
            solution = solve_for(of, (fat, &libraries), &candidates, symbols);
        }
    }
    solution
}

/// The archives among `candidates` that define `symbols` for the file. The link includes the merged
/// archive `fat` and the shared libraries `added`.
fn solve_for(
    (audit, file, object): (&Audit, FileId, &Object),
    (fat, added): (Option<ArchiveId>, &[FileId]),
    candidates: &[ArchiveId],
    symbols: &BTreeSet<&[u8]>,
) -> Solution {
    let linked = fat.as_slice();
    let undefined = symbols.iter().map(|name| ((*name).into(), SymbolKind::Undefined));
    let root = root(audit, (file, object), undefined.collect());
    let mut libraries = audit.libraries_of(&[file]);
    libraries.add(audit, added);
    let output = LinkOutput { kind: output_kind(object), ..LinkOutput::default() };
    let target = object.header.target();
    let coverage = cover(&CoverageQuestion {
        library: &audit.library,
        roots: &[root],
        symbols: &[],
        all_members: false,
        archives: linked,
        candidates,
        objects: &[Some(object)],
        provided: &|name| libraries.define(name) || is_of_compiler(target, name),
        output,
        gc_sections: false,
        link: None,
    });
    let output = (output, target);
    let mut graph = Graph::new(&audit.library, &coverage, output);
    graph.supply(audit, &audit.libraries_of(&[file]), added);
    let solution = graph.solution((&audit.library, file), symbols, linked, coverage);
    Solution { libraries: added.to_vec(), ..solution }
}

/// The members that a link takes, and the references between them.
struct Graph {
    members: Vec<MemberId>,
    definers: FastMap<NameId, Definer>,
    /// The references of each member, by index into `members`.
    links: Vec<MemberReferences>,
    undefined: FastSet<NameId>,
    /// Names that no member defines, each with the added shared library that defines it.
    supplied: FastMap<NameId, FileId>,
    output: (LinkOutput, Target),
}

/// The link's definition of a name: the first strong definition, else the first definition.
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
    /// The members that define names to which the member refers, each once, by index in the graph.
    members: Vec<u32>,
    /// Names to which the member refers and that no member of the graph defines.
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
        let supplied = FastMap::default();
        Self { members, definers, links, undefined, supplied, output }
    }

    /// Fills `supplied` with names that libraries of `added` define, but no library of `linked`.
    fn supply(&mut self, audit: &Audit, linked: &Libraries<'_>, added: &[FileId]) {
        let names = self.links.iter().filter(|_| !added.is_empty()).flat_map(|links| &links.open);
        let supplied = names.filter_map(|name| {
            let text = audit.library.text(*name);
            let defines = |file: &FileId| {
                let object = audit.corpus.files[*file].object();
                object.is_some_and(|object| object.satisfies_link(text))
            };
            let library = added.iter().copied().find(defines)?;
            (!linked.define(text)).then_some((*name, library))
        });
        self.supplied = supplied.collect();
    }

    /// True if the linker, `libc_nonshared.a` and `libgcc.a` do not define the name.
    fn is_open(&self, name: &[u8]) -> bool {
        let (output, target) = self.output;
        let is_of_others = LIBC_NONSHARED.contains(&name) || is_of_compiler(target, name);
        output.defines(Some(target), name) == LinkerDefined::No && !is_of_others
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
        Solution { file, graph: self, coverage, by_symbol, libraries: Vec::new(), gain }
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

    /// Visits the members at `firsts` and all members that these need, transitively. Calls `taken`
    /// with each member, and `open` with each name that no member defines.
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

    /// The closure of the member at `first`: this member and, transitively, those that it needs.
    fn part(&self, library: &ArchiveSet, first: usize, linked: &[ArchiveId]) -> SymbolClosure {
        let archive = |at: usize| library.archive_of(self.members[at]);
        let mut out = SymbolClosure {
            first: self.members[first],
            provider: Some(archive(first)).filter(|found| !linked.contains(found)),
            archives: BTreeSet::new(),
            libraries: BTreeSet::new(),
            members: 0,
            undefined: BTreeSet::new(),
            opaque: None,
        };
        let mut undefined: FastSet<NameId> = FastSet::default();
        let mut libraries: BTreeSet<FileId> = BTreeSet::new();
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
            libraries.extend(self.supplied.get(&name));
        };
        self.follow(vec![first], taken, open);
        out.libraries = libraries;
        out.undefined = undefined.into_iter().map(|name| library.text(name).to_vec()).collect();
        out
    }
}

impl SymbolClosure {
    /// True if all references of the closure's members are known and defined.
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
    /// The closures of all symbols, each closure once, in the order of their first members.
    pub fn parts(&self) -> Vec<&SymbolClosure> {
        let mut parts: Vec<&SymbolClosure> = self.by_symbol.values().map(|part| &**part).collect();
        parts.arrange_by_key(|part| part.first);
        parts.dedup_by_key(|part| part.first);
        parts
    }

    /// The names that the closures `parts` add to the library, if the link takes only these.
    pub fn gain(&self, audit: &Audit, parts: &[&SymbolClosure]) -> Cow<'_, Gain> {
        if parts.len() == self.parts().len() {
            return Cow::Borrowed(&self.gain);
        }
        Cow::Owned(self.graph.gain(&audit.library, self.graph.firsts(parts)))
    }

    /// All members that the link takes for the symbols of the solution, sorted.
    pub fn members(&self) -> Vec<MemberId> {
        self.members_of(&self.parts())
    }

    /// All members that the link takes for `parts`, sorted.
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

    /// The archives that define symbols for the library itself, although a smaller archive defines
    /// the same symbols: a special-purpose archive is preferred to one that contains its members.
    fn larger_archives(&self, audit: &Audit) -> FastSet<ArchiveId> {
        let archives = &audit.library;
        let size = |archive: ArchiveId| archives.members_of(archive).count();
        let defines = |archive: ArchiveId, symbol: &[u8]| {
            let name = archives.find(symbol).into_iter();
            let mut found = name.flat_map(|name| archives.definitions(name));
            found.any(|definition| archives.archive_of(definition.member) == archive)
        };
        let is_larger = |tie: &&Tie| {
            let own = self.by_symbol.iter().filter(|(_, part)| part.provider == Some(tie.taken));
            let own: Vec<&[u8]> = own.map(|(symbol, _)| symbol.as_slice()).collect();
            let mut smaller = tie.others.iter().filter(|other| size(**other) < size(tie.taken));
            !own.is_empty() && smaller.any(|other| own.iter().all(|symbol| defines(*other, symbol)))
        };
        self.coverage.ties.iter().filter(is_larger).map(|tie| tie.taken).collect()
    }

    /// True if this solution defines as many symbols as `other`, and has at most as many archives
    /// and undefined names.
    fn is_as_good_as(&self, other: &Self) -> bool {
        self.by_symbol.len() == other.by_symbol.len()
            && self.coverage.undefined.len() <= other.coverage.undefined.len()
            && self.archives().len() <= other.archives().len()
    }

    /// The archives that define symbols for the library itself.
    fn archives_for_library(&self, audit: &Audit) -> FastSet<ArchiveId> {
        let is_root = |by: ReferredBy| matches!(by, ReferredBy::Root(_));
        let first = self.coverage.needed.iter().filter(|needed| is_root(needed.by));
        first.map(|needed| audit.library.archive_of(needed.member)).collect()
    }

    /// The members that the link takes from the archives of [`Self::archives_for_library`].
    fn members_for_library(&self, audit: &Audit) -> Vec<MemberId> {
        let first = self.archives_for_library(audit);
        let members = self.coverage.needed.iter().map(|needed| needed.member);
        members.filter(|member| first.contains(&audit.library.archive_of(*member))).collect()
    }

    /// The names that a member takes from another archive, unless that archive also defines names
    /// for the library itself. Includes names to which members refer and that no archive defines.
    fn names_between_archives(&self, audit: &Audit) -> FastSet<&[u8]> {
        let archive = |member: MemberId| audit.library.archive_of(member);
        let first = self.archives_for_library(audit);
        let crossing = self.coverage.needed.iter().filter(|needed| {
            let from = needed.by.member().map(archive);
            let to = archive(needed.member);
            from.is_some_and(|from| from != to) && !first.contains(&to)
        });
        let undefined = self.coverage.undefined.iter();
        let undefined = undefined.filter(|name| name.by.iter().any(|by| by.member().is_some()));
        let crossing = crossing.map(|needed| &*needed.symbol);
        crossing.chain(undefined.map(|name| &*name.symbol)).collect()
    }

    /// The archives that the link lacks, for all symbols together.
    pub fn archives(&self) -> BTreeSet<ArchiveId> {
        self.by_symbol.values().flat_map(|part| part.archives.iter().copied()).collect()
    }
}
