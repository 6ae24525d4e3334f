//! The scope of an entry point and the search through it (`elf/dl-lookup.c`, `_dl_lookup_symbol_x`
//! and `do_lookup_x`).

use super::definers::Definers;
use crate::facts::{Need, View};
use crate::format::elf::find::{FoundSymbol, SymbolQuery, WantedVersion};
use crate::format::elf::tables::{Bloom, Tables, binds_local};
use crate::format::elf::{Object, SymbolIndex};
use crate::id::{FastMap, Id as _, ModuleId};
use crate::resolve::{Closure, ROOT};
use object::elf;
use std::cell::{Cell, OnceCell};

/// Minimum number of objects for an index. In a smaller scope, it is faster to ask the Bloom filter
/// of every object.
const WIDE: usize = 1000;

/// The objects that the lookups of one entry point search, in search order.
pub struct Scope<'v> {
    /// The objects, each with its module.
    entries: Vec<ScopeObject<'v>>,
    /// Upper bound on the number of Bloom filters that lookups have asked: each lookup is counted
    /// as if it asked all objects.
    questions: Cell<usize>,
    /// Number of symbols in all objects. Building an index costs about as much as asking this many
    /// filters.
    symbols: OnceCell<usize>,
    definers: OnceCell<Option<Definers>>,
    /// The entries that may define an indexed name, keyed by the hash of the name; see
    /// [`Scope::defining`].
    known: FastMap<u32, Vec<usize>>,
    /// Index into `entries`, by module.
    places: OnceCell<Vec<usize>>,
}

struct ScopeObject<'v> {
    module: ModuleId,
    object: &'v Object,
    bloom: Bloom<'v>,
    limit: u16,
}

/// The definition that a lookup finds, with its module.
#[derive(Clone, Copy, Debug)]
pub struct Winner {
    /// The module with the definition.
    pub module: ModuleId,
    /// The definition, in the symbol table of that module.
    pub candidate: FoundSymbol,
}

impl Winner {
    /// True for STV_PROTECTED: a copy relocation or a canonical address breaks the object that
    /// defines the symbol.
    pub fn is_protected(&self) -> bool {
        elf::SymbolVisibility(self.candidate.visibility) == elf::STV_PROTECTED
    }
}

/// A reference that is looked up together with other references of its object.
#[derive(Clone, Copy, Debug)]
pub struct Pending {
    /// Index of the reference in `Object::references`.
    pub index: u32,
    /// GNU hash of the name of the reference.
    pub hash: u32,
}

/// The order in which one lookup searches a scope.
#[derive(Clone, Copy, Debug, Default)]
pub struct Route {
    /// The module that is searched first: the referring module, if it has DT_SYMBOLIC and is not
    /// [`ROOT`].
    pub first: Option<ModuleId>,
    /// True for a copy relocation, which skips the program.
    pub skip_root: bool,
}

impl ScopeObject<'_> {
    /// The definition that `query` finds in this object. `first` is the first symbol with the hash
    /// of the name, if the caller has looked it up.
    fn ask(
        &self,
        query: &SymbolQuery<'_>,
        route: Route,
        first: Option<SymbolIndex>,
    ) -> Option<Winner> {
        if route.skip_root && self.module == ROOT {
            return None;
        }
        let candidate = self.object.find_from(query, self.limit, first)?;
        can_win(&candidate).then_some(Winner { module: self.module, candidate })
    }
}

/// False for a hidden or local definition: the search continues with the next object.
fn can_win(candidate: &FoundSymbol) -> bool {
    !binds_local(candidate.visibility) && is_global(candidate.bind)
}

/// The definition that a lookup finds in `object`. The loader knows the object's versions up to the
/// index `limit`.
pub fn definition(object: &Object, query: &SymbolQuery<'_>, limit: u16) -> Option<FoundSymbol> {
    let bloom = object.tables.as_ref().map_or(Bloom::Never, Tables::bloom);
    let candidate = bloom.may_hold(query.hash).then(|| object.find(query, limit)).flatten()?;
    can_win(&candidate).then_some(candidate)
}

impl<'v> Scope<'v> {
    /// The scope of `closure`. Returns missing tables as needs. The table of the program ([`ROOT`])
    /// is needed only if `with_root` is set.
    pub fn new(closure: &Closure, view: View<'v>, with_root: bool) -> Result<Self, Vec<Need>> {
        let mut needs = Vec::new();
        let mut entries = Vec::with_capacity(closure.scope().len());
        for (module, file) in closure.in_scope() {
            let Some(object) = view.object(file) else { continue };
            if object.tables.is_none() && (module != ROOT || with_root) {
                needs.push(Need::Tables(file));
            }
            let limit = closure.module(module).version_limit;
            let bloom = object.tables.as_ref().map_or(Bloom::Never, Tables::bloom);
            entries.push(ScopeObject { module, object, bloom, limit });
        }
        let scope = Self {
            entries,
            questions: Cell::new(0),
            symbols: OnceCell::new(),
            definers: OnceCell::new(),
            known: FastMap::default(),
            places: OnceCell::new(),
        };
        if needs.is_empty() { Ok(scope) } else { Err(needs) }
    }

    /// Adds an index of some names. For a module, `hashes` returns the GNU hashes, without their
    /// lowest bit, of the indexed names that the module defines. Names that are not indexed are
    /// looked up in all objects. The program ([`ROOT`]) is searched for every indexed name too.
    #[must_use]
    pub fn defining<'h>(mut self, hashes: impl Fn(ModuleId) -> &'h [u32]) -> Self {
        for (position, entry) in self.entries.iter().enumerate() {
            for hash in hashes(entry.module) {
                self.known.entry(*hash).or_default().push(position);
            }
        }
        let roots = self.entries.iter().enumerate().filter(|(_, entry)| entry.module == ROOT);
        for (root, _) in roots {
            for positions in self.known.values_mut() {
                let at = positions.partition_point(|position| *position < root);
                if positions.get(at) != Some(&root) {
                    positions.insert(at, root);
                }
            }
        }
        self
    }

    /// The entries that may define a name with this GNU hash. `None` if the name is not indexed.
    fn known(&self, hash: u32) -> Option<&[usize]> {
        self.known.get(&(hash & !1)).map(Vec::as_slice)
    }

    /// The index of a wide scope. Builds the index once all lookups so far, and the next `more`
    /// lookups, cost as much as building the index. `None` before the index is built, and if the
    /// scope has fewer than [`WIDE`] objects or too many definitions.
    fn definers(&self, more: usize) -> Option<&Definers> {
        let objects = self.entries.len();
        if objects < WIDE {
            return None;
        }
        let tables = || self.entries.iter().map(|entry| entry.object.tables.as_ref());
        if self.definers.get().is_none() {
            let questions = self.questions.get().saturating_add(more.saturating_mul(objects));
            self.questions.set(questions);
            let symbols = || tables().flatten().map(|tables| tables.indices().len());
            if questions < *self.symbols.get_or_init(|| symbols().sum()) {
                return None;
            }
        }
        self.definers.get_or_init(|| Definers::new(tables())).as_ref()
    }

    /// The definition in the first object that has one.
    fn first_of(
        &self,
        definers: &Definers,
        query: &SymbolQuery<'_>,
        route: Route,
    ) -> Option<Winner> {
        let entries = definers.of(query.hash).map(|position| &self.entries[position]);
        let mut let_through = entries.filter(|entry| entry.bloom.may_hold(query.hash));
        let_through.find_map(|entry| entry.ask(query, route, None))
    }

    /// The definition that `query` finds in the scope; `None` if no object has one.
    pub fn lookup(&self, query: &SymbolQuery<'_>, route: Route) -> Option<Winner> {
        let first = route.first.and_then(|module| self.entry(module));
        if let Some(winner) = first.and_then(|entry| entry.ask(query, route, None)) {
            return Some(winner);
        }
        if let Some(positions) = self.known(query.hash) {
            let mut entries = positions.iter().map(|position| &self.entries[*position]);
            return entries.find_map(|entry| entry.ask(query, route, None));
        }
        if let Some(definers) = self.definers(1) {
            return self.first_of(definers, query, route);
        }
        let mut let_through = self.entries.iter().filter(|entry| entry.bloom.may_hold(query.hash));
        let_through.find_map(|entry| entry.ask(query, route, None))
    }

    /// The modules that the loader searches for this query, in order. The last of these modules has
    /// the definition, if any module has one.
    pub fn asked(&self, query: &SymbolQuery<'_>, route: Route) -> Vec<ModuleId> {
        let first = route.first.and_then(|module| self.entry(module));
        let is_asked = |entry: &&ScopeObject<'_>| !(route.skip_root && entry.module == ROOT);
        let mut out = Vec::new();
        for entry in first.into_iter().chain(&self.entries).filter(is_asked) {
            out.push(entry.module);
            if entry.bloom.may_hold(query.hash) && entry.ask(query, route, None).is_some() {
                break;
            }
        }
        out
    }

    /// Looks up all of `left`; references without a definition stay in `left`. Without an index,
    /// each object is asked for all references before the next object. Each filter then stays in
    /// the cache, and memory accesses overlap.
    pub fn lookup_all<'q>(
        &self,
        left: &mut Vec<Pending>,
        question: impl Fn(&Pending) -> (SymbolQuery<'q>, Route),
        mut found: impl FnMut(Pending, Winner),
    ) {
        if let Some(definers) = self.definers(left.len()) {
            left.retain(|pending| {
                let (query, route) = question(pending);
                let winner = self.first_of(definers, &query, route);
                if let Some(winner) = winner {
                    found(*pending, winner);
                }
                winner.is_none()
            });
            return;
        }
        let mut let_through = Vec::with_capacity(left.len());
        let mut firsts = Vec::with_capacity(left.len());
        for entry in &self.entries {
            if left.is_empty() {
                break;
            }
            entry.bloom.sift(left, |pending| pending.hash, &mut let_through);
            let tables = entry.object.tables.as_ref();
            let hashes = let_through.iter().map(|pending: &Pending| pending.hash);
            let firsts = tables.and_then(|tables| tables.first_of_each(hashes, &mut firsts));
            for (at, pending) in let_through.drain(..).enumerate() {
                let first = firsts.map(|firsts| firsts[at]);
                if first == Some(SymbolIndex::UNDEFINED) {
                    left.push(pending);
                    continue;
                }
                let (query, route) = question(&pending);
                match entry.ask(&query, route, first) {
                    Some(winner) => found(pending, winner),
                    None => left.push(pending),
                }
            }
        }
    }

    /// The definitions that `query` finds, one for each object that has one, in search order. The
    /// loader takes the first of these definitions.
    pub fn answers(&self, query: &SymbolQuery<'_>) -> impl Iterator<Item = Winner> {
        let known = self.known(query.hash);
        let indexed = if known.is_none() { self.definers(1) } else { None };
        let indexed = indexed.map(|definers| definers.of(query.hash));
        let all = (known.is_none() && indexed.is_none()).then_some(0..self.entries.len());
        let known = known.unwrap_or_default().iter().copied();
        let positions = known.chain(indexed.into_iter().flatten()).chain(all.into_iter().flatten());
        let entries = positions.map(|position| &self.entries[position]);
        let let_through = entries.filter(|entry| entry.bloom.may_hold(query.hash));
        let_through.filter_map(|entry| entry.ask(query, Route::default(), None))
    }

    /// The object of a module; `None` if the module is not in the scope.
    pub fn object(&self, module: ModuleId) -> Option<&'v Object> {
        self.entry(module).map(|entry| entry.object)
    }

    fn entry(&self, module: ModuleId) -> Option<&ScopeObject<'v>> {
        let places = self.places.get_or_init(|| {
            let last = self.entries.iter().map(|entry| entry.module.index()).max();
            let mut places = vec![usize::MAX; last.map_or(0, |last| last + 1)];
            for (place, entry) in self.entries.iter().enumerate().rev() {
                places[entry.module.index()] = place;
            }
            places
        });
        self.entries.get(*places.get(module.index())?)
    }
}

fn is_global(bind: u8) -> bool {
    matches!(elf::SymbolBind(bind), elf::STB_GLOBAL | elf::STB_WEAK | elf::STB_GNU_UNIQUE)
}

/// The version that a reference of `object` with this version index requires; `None` if the loader
/// does not know that version.
pub fn wanted(object: &Object, index: u16, limit: u16) -> Option<WantedVersion<'_>> {
    let entry = object.versions.entry(index).filter(|_| index <= limit)?;
    Some(WantedVersion { hash: entry.hash, name: object.str(entry.name), hidden: entry.hidden })
}
