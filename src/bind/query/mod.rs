//! Two binding queries: the names that two libraries of a scope define differently, and the
//! libraries that each object binds to. Under glibc's rules, neither query binds every reference.
//!
//! Both queries give the same answers as `relocation_pass`, which binds every relocation
//! (`elf/dl-lookup.c`, `elf/dl-reloc.c`, `elf/do-rel.h`; for musl `ldso/dynlink.c`). Both queries
//! find the names that several objects of one scope define. They compare the words of hash tables:
//! GNU hashes without the lowest bit (`words`, `together`).
//!
//! - [`contested`] answers the first query.
//! - For the second query, `names` finds the names with several definitions, and `standalone` binds
//!   each object in its own closure. Under each entry point, `scope` repeats a lookup only if
//!   another object can change the binding. Equal references are looked up once (`question`).
//!
//! `audit` runs [`QueryAnswers::find_duplicates`] and [`QueryAnswers::find_bound`], and reads the
//! missing facts.

pub mod alike;
pub mod contested;
mod decisive;
mod musl;
mod names;
mod present;
mod question;
mod round_set;
mod scope;
mod standalone;
mod together;
mod words;

use super::{Binding, OwnBindings, RootBinding};
use crate::facts::{Need, View};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, SymbolIndex};
use crate::id::{FastMap, FastSet, FileId, Id as _, IdSet, IdVec, ModuleId, RootId, Strings};
use crate::resolve::entry_points::Closures;
use crate::resolve::loader::{Family, Loader, Loaders};
use crate::resolve::{Closure, LOADER, ROOT};
use crate::wants::Wants;
use contested::{Contested, Marks};
use decisive::Decisive;
use names::VaryingNames;
use object::elf;
use rayon::prelude::*;
use scope::QueryWorker;
use standalone::Standalone;

/// The queries that the enabled rules request.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct RequestedQueries {
    /// True for the query about names that two libraries of a scope define differently.
    pub duplicates: bool,
    /// True for the query about the libraries to which each object binds.
    pub bound: bool,
}

impl RequestedQueries {
    /// The queries that `wants` asks for.
    pub fn by(wants: Wants) -> Self {
        Self {
            duplicates: wants.holds(Wants::DUPLICATE_DEFINITIONS),
            bound: wants.holds(Wants::BOUND_LIBRARIES),
        }
    }
}

/// The input of both queries.
#[derive(Clone, Copy)]
pub struct QueryInput<'a> {
    /// The facts of all files.
    pub view: View<'a>,
    /// The entry points with their closures.
    pub closures: &'a Closures,
    /// The bindings of each entry point, in the order of `closures`.
    pub bindings: &'a [RootBinding],
    /// By file: the undefined references and the providers in its own closure. Empty if results may
    /// not be reused.
    pub own: &'a OwnBindings,
    /// The texts of the names in closures.
    pub strings: &'a Strings,
    /// The loaders of the entry points, whose rules decide the lookups.
    pub loaders: &'a Loaders,
    /// True if the loader starts programs, false if it only traces them as `ldd` does.
    pub started: bool,
}

impl<'a> QueryInput<'a> {
    fn loader(&self, closure: &Closure) -> &'a Loader {
        self.loaders.get(closure.root.loader)
    }
}

/// True if an entry point is bound by glibc's rules.
fn is_glibc(source: QueryInput<'_>, closure: &Closure) -> bool {
    source.loader(closure).family == Family::Glibc
}

/// The answers for all entry points; empty for a query that was not requested.
#[derive(Debug, Default)]
pub struct QueryAnswers {
    duplicates: IdVec<RootId, Vec<DuplicateName>>,
    /// By entry point: the key that decides its answer to the query about duplicate names; `None`
    /// if facts are missing. Kept until all entry points have an answer.
    decisive_so_far: Vec<Option<Decisive>>,
    /// By entry point: its answer to the query about duplicate names; `None` if facts are missing.
    /// Kept until all entry points have an answer.
    duplicates_so_far: Vec<Option<Vec<DuplicateName>>>,
    bound: IdVec<RootId, Vec<BoundLibrary>>,
}

/// A name with definitions of one version in at least two libraries of a scope. A relocation of a
/// library uses the name, and the definitions are not interchangeable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DuplicateName {
    /// The name, without its version.
    pub name: Box<[u8]>,
    /// The version that the referrers ask for; `None` if they ask for no version.
    pub version: Option<Box<[u8]>>,
    /// The definitions that can satisfy the references, in scope order. A lookup with the default
    /// [route](super::lookup::Route) gets the first definition. A lookup for a PLT relocation skips
    /// definitions with `is_address`.
    pub definitions: Box<[Definition]>,
    /// The references of libraries, by module and symbol.
    pub referrers: Vec<Referrer>,
}

impl DuplicateName {
    /// The definitions that `referrer` does not get, because another definition comes first.
    pub fn losers(&self, referrer: Referrer) -> impl Iterator<Item = &Definition> {
        self.definitions.iter().filter(move |definition| definition.module != referrer.winner)
    }
}

/// One of several definitions of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Definition {
    /// The module with the definition.
    pub module: ModuleId,
    /// Index of the definition in the module's dynamic symbol table.
    pub symbol: SymbolIndex,
    /// True if the program determines the address of the function without defining it (a canonical
    /// PLT entry).
    pub is_address: bool,
    /// For data that the program copies, or a function whose address the program determines: the
    /// module that defines the data or the function. `None` for the program's own definitions and
    /// for definitions of libraries.
    pub source: Option<ModuleId>,
}

impl Definition {
    fn of(module: ModuleId, symbol: &Symbol<'_>, sources: &Sources) -> Self {
        let is_address = symbol.section == elf::SHN_UNDEF.0;
        let source = sources.of(symbol).filter(|_| module == ROOT);
        Self { module, symbol: symbol.index, is_address, source }
    }
}

/// For symbols of the program: the module to which a relocation of the program binds the symbol.
/// For a symbol that the program defines, the relocation is a copy relocation. For an undefined
/// symbol with a value, the relocation fills the slot of a canonical PLT entry.
#[derive(Default)]
struct Sources {
    by_symbol: FastMap<SymbolIndex, ModuleId>,
    /// By address of the copied data. Linkers copy data under one of its names, and define the
    /// other names in the program at the same address (`environ` and `__environ`).
    copies: FastMap<u64, ModuleId>,
}

impl Sources {
    /// Collects the sources from `bindings`; `program` is the object of [`ROOT`].
    fn new(bindings: &[Binding], program: Option<&Object>) -> Self {
        let mut out = Self::default();
        let tables = program.and_then(|program| program.tables.as_ref());
        for one in bindings.iter().filter(|one| one.module == ROOT && one.provider != ROOT) {
            out.by_symbol.insert(one.symbol, one.provider);
            let symbol = tables.and_then(|tables| tables.symbol(one.symbol));
            if let Some(copy) = symbol.filter(is_data) {
                out.copies.insert(copy.value, one.provider);
            }
        }
        out
    }

    fn of(&self, symbol: &Symbol<'_>) -> Option<ModuleId> {
        let of_copy = || self.copies.get(&symbol.value).filter(|_| is_data(symbol));
        self.by_symbol.get(&symbol.index).or_else(of_copy).copied()
    }
}

/// True if the symbol is data that the object defines.
fn is_data(symbol: &Symbol<'_>) -> bool {
    symbol.section != elf::SHN_UNDEF.0 && elf::SymbolType(symbol.kind) == elf::STT_OBJECT
}

/// One reference to a name that several modules define.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Referrer {
    /// The referring module.
    pub module: ModuleId,
    /// Index of the reference in the module's dynamic symbol table.
    pub symbol: SymbolIndex,
    /// The module whose definition the reference gets.
    pub winner: ModuleId,
}

/// An object, and a library to which at least one relocation of the object binds. Strong and
/// weak references count, to data and to functions, and so do copy relocations. References
/// within the object do not count, nor do functions that the loader looks up for itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct BoundLibrary {
    /// The module whose relocations bind to the library.
    pub module: ModuleId,
    /// The module of the library.
    pub provider: ModuleId,
}

impl QueryAnswers {
    /// The names that two libraries under `root` define differently, by name and version; none if
    /// the loader stops.
    pub fn duplicates(&self, root: RootId) -> &[DuplicateName] {
        self.duplicates.iter().nth(root.index()).map_or(&[], |list| list)
    }

    /// The libraries that each object under `root` binds to, by module and provider.
    pub fn bound(&self, root: RootId) -> &[BoundLibrary] {
        self.bound.iter().nth(root.index()).map_or(&[], |list| list)
    }

    /// Answers the query about duplicate names, or returns the missing facts. [`Contested::take`]
    /// must have stored the relocations of `names`.
    pub fn find_duplicates(
        &mut self,
        source: QueryInput<'_>,
        names: &Contested,
    ) -> Result<(), Vec<Need>> {
        let known = std::mem::take(&mut self.decisive_so_far);
        let found = each(source, known, |root, closure, marks: &mut Marks| {
            let binding = &source.bindings[root.index()];
            match source.loader(closure).family {
                Family::Glibc => names.decisive(source, closure, binding, marks),
                Family::Musl(_) => Ok(Decisive::default()),
            }
        });
        let decisive: Vec<Decisive> = found.map_err(|lacking| {
            self.decisive_so_far = lacking.known;
            lacking.needs
        })?;
        let firsts = decisive::firsts(&decisive);
        let known = std::mem::take(&mut self.duplicates_so_far);
        let found = each(source, known, |root, closure, marks: &mut Marks| {
            let binding = &source.bindings[root.index()];
            match source.loader(closure).family {
                Family::Glibc if firsts[root.index()] == Some(root.index()) => {
                    names.answer(source, closure, binding, marks)
                }
                Family::Glibc => Ok(Vec::new()),
                Family::Musl(release) => musl::duplicates(source, closure, release),
            }
        });
        let found = match found {
            Ok(found) => found,
            Err(lacking) => {
                self.duplicates_so_far = lacking.known;
                self.decisive_so_far = decisive.into_iter().map(Some).collect();
                return Err(lacking.needs);
            }
        };
        let of_first = |at: usize| {
            let first = firsts[at].filter(|first| *first != at)?;
            Some(decisive[at].adopt(&decisive[first], &found[first]))
        };
        let adopted: Vec<Option<Vec<DuplicateName>>> =
            (0..found.len()).into_par_iter().map(of_first).collect();
        let all = found.into_iter().zip(adopted);
        self.duplicates = all.map(|(own, adopted)| adopted.unwrap_or(own)).collect();
        Ok(())
    }

    /// Answers the query about bound libraries, or returns the missing facts.
    pub fn find_bound(&mut self, source: QueryInput<'_>) -> Result<(), Vec<Need>> {
        let shared = share(source)?;
        let found = each(source, Vec::new(), |root, closure, worker: &mut QueryWorker| {
            let binding = &source.bindings[root.index()];
            match source.loader(closure).family {
                Family::Glibc => scope::answer(&shared, closure, binding, worker),
                Family::Musl(release) => musl::bound(source, closure, release),
            }
        });
        self.bound = found.map_err(|lacking| lacking.needs)?.into_iter().collect();
        Ok(())
    }
}

/// The answers for some entry points, and the facts that the other entry points lack.
struct Lacking<T> {
    known: Vec<Option<T>>,
    needs: Vec<Need>,
}

/// Calls `answer` for all entry points without a known answer. Returns the answers for all entry
/// points.
fn each<T: Send, W: Default>(
    source: QueryInput<'_>,
    mut known: Vec<Option<T>>,
    answer: impl Fn(RootId, &Closure, &mut W) -> Result<T, Vec<Need>> + Sync,
) -> Result<Vec<T>, Lacking<T>> {
    known.resize_with(source.closures.roots.len(), || None);
    let is_open = |root: &RootId| known[root.index()].is_none();
    let open: Vec<RootId> = source.closures.roots.ids().filter(is_open).collect();
    let answers: Vec<Result<T, Vec<Need>>> = open
        .par_iter()
        .with_min_len(open.len() / (8 * rayon::current_num_threads()) + 1)
        .map_init(W::default, |worker, root| answer(*root, &source.closures.roots[*root], worker))
        .collect();
    let mut needs = Vec::new();
    for (root, answer) in open.into_iter().zip(answers) {
        match answer {
            Ok(answer) => known[root.index()] = Some(answer),
            Err(lacking) => needs.extend(lacking),
        }
    }
    if needs.is_empty() {
        Ok(known.into_iter().flatten().collect())
    } else {
        Err(Lacking { known, needs })
    }
}

/// The data that [`scope`] uses for every entry point.
struct QueryData<'a> {
    source: QueryInput<'a>,
    names: VaryingNames,
    /// Standalone bindings, by file.
    standalone: Vec<Option<Standalone<'a>>>,
}

impl<'a> QueryData<'a> {
    fn standalone(&self, file: FileId) -> Option<&Standalone<'a>> {
        self.standalone.get(file.index())?.as_ref()
    }
}

/// Binds every object under glibc's loader in its own closure, or returns the missing facts.
fn share(source: QueryInput<'_>) -> Result<QueryData<'_>, Vec<Need>> {
    let files = files(source);
    let needs = missing(source.view, &files);
    if !needs.is_empty() {
        return Err(needs);
    }
    let words = names::WordSets::count(source.view, &files.libraries, &files.entries);
    let mut bound: Vec<Standalone<'_>> = files
        .referring
        .par_iter()
        .map_init(standalone::StandaloneBuffers::default, |room, file| {
            standalone::bind(source, *file, &words, room)
        })
        .collect::<Result<_, _>>()?;
    let glibc = source.closures.roots.iter().filter(|closure| is_glibc(source, closure));
    let glibc: Vec<&Closure> = glibc.collect();
    let names = VaryingNames::find(source.view, &files.defining(), &glibc, &words);
    bound.par_iter_mut().for_each(|standalone| standalone.settle(&names));
    let standalone = by_file(files.referring, bound);
    Ok(QueryData { source, names, standalone })
}

fn by_file(files: Vec<FileId>, list: Vec<Standalone<'_>>) -> Vec<Option<Standalone<'_>>> {
    let last = files.iter().map(|file| file.index() + 1).max().unwrap_or(0);
    let mut out: Vec<Option<Standalone<'_>>> = Vec::new();
    out.resize_with(last, || None);
    for (file, standalone) in files.into_iter().zip(list) {
        out[file.index()] = Some(standalone);
    }
    out
}

/// The files that glibc binds under the entry points.
struct BoundFiles {
    /// Files that other objects load, and that may define names for them.
    libraries: Vec<FileId>,
    /// Files that are only entry points.
    entries: Vec<FileId>,
    /// Files whose references glibc's loader binds.
    referring: Vec<FileId>,
}

impl BoundFiles {
    /// All files that are in a scope, each once.
    fn defining(&self) -> Vec<FileId> {
        [&self.libraries[..], &self.entries].concat()
    }
}

fn files(source: QueryInput<'_>) -> BoundFiles {
    let (mut started, mut behind, mut relocated) =
        (IdSet::default(), IdSet::default(), IdSet::default());
    let mut files =
        BoundFiles { libraries: Vec::new(), entries: Vec::new(), referring: Vec::new() };
    for closure in source.closures.roots.iter().filter(|closure| is_glibc(source, closure)) {
        for (module, file) in closure.in_scope() {
            if source.view.object(file).is_none() {
                continue;
            }
            if module != ROOT && behind.insert(file) {
                files.libraries.push(file);
            } else if module == ROOT && started.insert(file) {
                files.entries.push(file);
            }
            let is_bound = module != LOADER || source.started;
            if is_bound && relocated.insert(file) {
                files.referring.push(file);
            }
        }
    }
    files.entries.retain(|file| !behind.contains(*file));
    files
}

fn missing(view: View<'_>, files: &BoundFiles) -> Vec<Need> {
    let bare = |file: &&FileId| view.object(**file).is_some_and(|object| object.tables.is_none());
    let defining = files.libraries.iter().chain(&files.entries);
    let tables = defining.filter(bare).map(|file| Need::Tables(*file));
    let relocations = files.referring.iter().filter_map(|file| view.relocations(*file).err());
    let mut seen: FastSet<Need> = FastSet::default();
    tables.chain(relocations).filter(|need| seen.insert(need.clone())).collect()
}
