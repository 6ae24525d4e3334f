//! The relocation pass: visits the relocations in the loader's order and looks up their symbols
//! under the rules of the relocation's class (`elf/do-rel.h`, `elf/dl-reloc.c`, `elf/dl-lookup.c`).
//!
//! `entry_point` runs the pass for modules with unresolved references, and for all modules if
//! bindings are requested.

use super::lookup::{Route, Scope, Winner, wanted};
use super::{Abort, Binding, MOST_REPORTS, RelocationMessage, Unique};
use crate::format::elf::find::{SymbolQuery, WantedVersion};
use crate::format::elf::machine::{self, LookupClass};
use crate::format::elf::relocs::{Relocation, Relocations};
use crate::format::elf::tables::binds_local;
use crate::format::elf::{GlibcVersion, Object, RefKind, SymbolIndex, hash};
use crate::id::{FastMap, FastSet, ModuleId, Strings};
use crate::resolve::{Closure, ROOT};
use object::elf;

/// The glibc release since which a definition without a version satisfies a versioned reference
/// only if the object has no definition with that version (46d3198094).
pub const EXACT_FIRST: GlibcVersion = GlibcVersion::new(2, 42);
/// The first glibc release that warns about copies of protected symbols (7374c02b68).
const PROTECTED_CHECK: GlibcVersion = GlibcVersion::new(2, 36);
/// The glibc release since which the loader no longer asserts on a provider without versions
/// (bdaf500353).
pub const NO_ASSERT: GlibcVersion = GlibcVersion::new(2, 41);

/// The glibc release since which the loader uses the program's allocator.
const ALLOCATOR: GlibcVersion = GlibcVersion::new(2, 31);

/// The version of libc's allocator functions: the oldest version that glibc has for the object's
/// machine, or `GLIBC_2.0` if the machine is unknown.
pub fn allocator_version(object: Option<&Object>) -> &'static [u8] {
    let row = object.and_then(|object| machine::of(object.header.target()));
    row.map_or("GLIBC_2.0", |row| row.oldest).as_bytes()
}

/// The input of the relocation pass for one entry point, and the STB_GNU_UNIQUE definitions that
/// the lookups of this pass reach.
pub struct RelocationPass<'a, 'v> {
    /// The link map of the entry point.
    pub closure: &'a Closure,
    /// The scope of the link map, with tables for every object that lookups ask.
    pub scope: &'a Scope<'v>,
    /// The texts of the names in closures.
    pub strings: &'a Strings,
    /// The release of glibc whose rules apply.
    pub release: GlibcVersion,
    /// The STB_GNU_UNIQUE definitions that earlier lookups reached.
    pub unique: Unique,
}

/// The symbol of a relocation.
struct LookedUpSymbol<'o> {
    name: &'o [u8],
    hash: u32,
    version: u16,
    weak: bool,
    protected: bool,
    /// True for an undefined function with a non-zero `st_value`.
    canonical: bool,
    size: u64,
}

impl<'v> RelocationPass<'_, 'v> {
    /// Looks up the symbols of the relocations of `module`. If `only` is given, skips relocations
    /// against symbols that are not in `only`. Returns the messages and, if the loader stops at a
    /// relocation, the reason. If `bindings` is given, appends the bindings to this list.
    pub fn relocate(
        &mut self,
        module: ModuleId,
        relocations: &Relocations,
        only: Option<&FastSet<SymbolIndex>>,
        mut bindings: Option<&mut Vec<Binding>>,
    ) -> (Reports, Option<Abort>) {
        let mut reports = Reports::default();
        let Some(object) = self.scope.object(module) else { return (reports, None) };
        let mut done: FastSet<Relocation> = FastSet::default();
        let is_asked = only.map(table);
        for relocation in &relocations.list {
            let symbol = relocation.symbol();
            let holds = |table: &Vec<bool>| table.get(symbol.position()) == Some(&true);
            if !is_asked.as_ref().is_none_or(holds) || !done.insert(*relocation) {
                continue;
            }
            let Some(asked) = asked(object, symbol) else { continue };
            if self.no_version_table(module, object) && asked.version != 0 {
                return (reports, Some(Abort::NoVersionTable));
            }
            match self.lookup(module, object, &asked, *relocation) {
                Err(abort) => return (reports, Some(abort)),
                Ok(Some(winner)) => {
                    if module == ROOT
                        && self.release >= PROTECTED_CHECK
                        && let Some(report) = self.protected(symbol, &asked, winner, *relocation)
                    {
                        reports.push(report);
                    }
                    if relocation.class() == LookupClass::Copy
                        && winner.candidate.size != asked.size
                    {
                        let sizes = (asked.size, winner.candidate.size);
                        let provider = winner.module;
                        reports.push(RelocationMessage::Size { symbol, provider, sizes });
                    }
                    if let Some(bindings) = &mut bindings {
                        let provider = winner.module;
                        bindings.push(Binding { module, symbol, provider });
                    }
                }
                Ok(None) if asked.weak => {}
                Ok(None) => {
                    reports.push(self.undefined(module, object, symbol, &asked, *relocation));
                }
            }
        }
        (reports, None)
    }

    /// The functions with which the loader allocates once the program runs, each with the module
    /// that defines it (`elf/rtld-malloc.h`, `__rtld_malloc_init_real`; since glibc 2.31).
    pub fn allocator(&mut self) -> Vec<(&'static str, ModuleId)> {
        if self.release < ALLOCATOR {
            return Vec::new();
        }
        let version = allocator_version(self.scope.object(ROOT));
        let wanted = WantedVersion { hash: hash::sysv(version), name: version, hidden: false };
        let names = ["calloc", "free", "malloc", "realloc"];
        let find = |name: &'static str| {
            let mut query =
                SymbolQuery::new(name.as_bytes(), hash::gnu(name.as_bytes()), Some(wanted));
            query.plt = false;
            Some((name, self.scope.lookup(&query, Route::default())?.module))
        };
        names.into_iter().filter_map(find).collect()
    }

    /// The message about a reference to a protected symbol, if any (`_dl_check_protected_symbol` in
    /// `elf/dl-protected.h`).
    fn protected(
        &self,
        symbol: SymbolIndex,
        asked: &LookedUpSymbol<'_>,
        winner: Winner,
        relocation: Relocation,
    ) -> Option<RelocationMessage> {
        let copy = relocation.class() == LookupClass::Copy;
        let provider = winner.module;
        let refused = || self.scope.object(provider).is_some_and(|object| object.indirect_access);
        (winner.is_protected() && (copy || asked.canonical)).then(|| RelocationMessage::Protected {
            symbol,
            provider,
            copy,
            refused: refused(),
        })
    }

    fn undefined(
        &self,
        module: ModuleId,
        object: &Object,
        symbol: SymbolIndex,
        asked: &LookedUpSymbol<'_>,
        relocation: Relocation,
    ) -> RelocationMessage {
        let slot = relocation.class() == LookupClass::Plt { slot: true };
        RelocationMessage::Undefined {
            symbol,
            version: asked.version,
            version_known: asked.version <= self.closure.module(module).version_limit,
            at_load: !slot || object.bind_now,
        }
    }

    /// True if the loader follows a null pointer: the object has version indices, but no version
    /// table.
    fn no_version_table(&self, module: ModuleId, object: &Object) -> bool {
        object.versions.has_versym
            && (self.closure.module(module).version_limit == 0
                || object.versions.highest_index() == 0)
    }

    fn lookup(
        &mut self,
        module: ModuleId,
        object: &'v Object,
        asked: &LookedUpSymbol<'_>,
        relocation: Relocation,
    ) -> Result<Option<Winner>, Abort> {
        let limit = self.closure.module(module).version_limit;
        let version = wanted(object, asked.version, limit);
        let mut query = SymbolQuery::new(asked.name, asked.hash, version);
        query.plt = matches!(relocation.class(), LookupClass::Plt { .. });
        query.exact_first = self.release >= EXACT_FIRST;
        let copy = relocation.class() == LookupClass::Copy;
        let route =
            Route { first: (object.symbolic && module != ROOT).then_some(module), skip_root: copy };
        let Some(mut winner) = self.scope.lookup(&query, route) else { return Ok(None) };
        if winner.candidate.versionless && self.lost_versions(object, asked.version, winner.module)
        {
            return Err(Abort::ProviderLostVersions);
        }
        if elf::SymbolBind(winner.candidate.bind) == elf::STB_GNU_UNIQUE {
            winner = self.unique(asked.name, winner, copy, module);
        }
        if asked.protected && winner.module != module {
            // A definition in another object never replaces a protected definition. But the
            // program's canonical PLT entry replaces it if no other object defines the function
            // (`_dl_lookup_symbol_x`).
            query.plt = true;
            let defined = self.scope.lookup(&query, route);
            if defined.is_some_and(|defined| defined.module != module) {
                winner.module = module;
            }
        }
        Ok(Some(winner))
    }

    /// True if an assertion in the loader's `check_match` fails: the object requires the version
    /// of the reference from a file with a name of `provider`, but `provider` has no versions.
    fn lost_versions(&self, object: &Object, version: u16, provider: ModuleId) -> bool {
        let Some(file) = object.versions.entry(version).and_then(|entry| entry.file) else {
            return false;
        };
        let answers = |name| self.closure.answers(provider, name);
        self.release < NO_ASSERT && self.strings.find(object.str(file)).is_some_and(answers)
    }

    /// Replaces an STB_GNU_UNIQUE definition of `name` by the first such definition that the
    /// process reached (`do_lookup_unique`).
    fn unique(&mut self, name: &[u8], found: Winner, copy: bool, module: ModuleId) -> Winner {
        match self.unique.get(name) {
            // The source of a copy is the definition just found, not the process-wide one.
            Some(_) if copy => found,
            Some(first) => *first,
            None => {
                let central = if copy { Winner { module, ..found } } else { found };
                self.unique.insert(name.to_vec(), central);
                found
            }
        }
    }
}

/// A set of symbols as a table, for a fast test of every relocation.
fn table(only: &FastSet<SymbolIndex>) -> Vec<bool> {
    let mut out = vec![false; only.iter().max().map_or(0, |last| last.position() + 1)];
    only.iter().for_each(|symbol| out[symbol.position()] = true);
    out
}

/// Messages about one module, one for each symbol and kind.
#[derive(Default)]
pub struct Reports {
    /// At most [`MOST_REPORTS`] messages.
    pub list: Vec<RelocationMessage>,
    /// Index in `list` by kind and symbol. Messages beyond the limit have indices after the end
    /// of `list`.
    places: FastMap<(MessageKind, SymbolIndex), u32>,
}

/// The kind of a message.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum MessageKind {
    Undefined,
    Size,
    Protected,
}

impl Reports {
    /// Number of messages beyond the limit.
    pub fn left_out(&self) -> usize {
        self.places.len() - self.list.len()
    }

    /// Adds a message. A symbol with relocations of several classes gets only one message of each
    /// kind. If an undefined symbol fails both at load and at the first call, its message reports
    /// the failure at load.
    pub(super) fn push(&mut self, report: RelocationMessage) {
        let key = match report {
            RelocationMessage::Undefined { symbol, .. } => (MessageKind::Undefined, symbol),
            RelocationMessage::Size { symbol, .. } => (MessageKind::Size, symbol),
            RelocationMessage::Protected { symbol, .. } => (MessageKind::Protected, symbol),
        };
        let next = self.places.len();
        let new = u32::try_from(next).unwrap_or(u32::MAX);
        let place = *self.places.entry(key).or_insert(new) as usize;
        match (self.list.get_mut(place), report) {
            (None, report) if place == next && next < MOST_REPORTS => self.list.push(report),
            (
                Some(RelocationMessage::Undefined { at_load, .. }),
                RelocationMessage::Undefined { at_load: now, .. },
            ) => {
                *at_load |= now;
            }
            _ => {}
        }
    }
}

/// The symbol of a relocation; `None` if the loader resolves the symbol within the object, without
/// a lookup (`RESOLVE_MAP`).
fn asked(object: &Object, symbol: SymbolIndex) -> Option<LookedUpSymbol<'_>> {
    if let Some(tables) = &object.tables
        && let Some(s) = tables.symbol(symbol)
    {
        let bind = elf::SymbolBind(s.bind);
        return (bind != elf::STB_LOCAL && !binds_local(s.visibility)).then(|| LookedUpSymbol {
            name: s.name,
            hash: hash::gnu(s.name),
            version: if object.versions.has_versym { s.versym & 0x7fff } else { 0 },
            weak: bind == elf::STB_WEAK,
            protected: elf::SymbolVisibility(s.visibility) == elf::STV_PROTECTED,
            canonical: s.is_canonical(),
            size: s.size,
        });
    }
    let at = object.references.binary_search_by_key(&symbol, |r| r.symbol).ok()?;
    let reference = &object.references[at];
    Some(LookedUpSymbol {
        name: object.reference_name(reference),
        hash: reference.hash,
        version: if object.versions.has_versym { reference.version } else { 0 },
        weak: matches!(reference.kind, RefKind::Weak | RefKind::Copy { weak: true, .. }),
        protected: false,
        canonical: reference.kind == RefKind::Canonical,
        size: match reference.kind {
            RefKind::Copy { size, .. } => size.get(),
            _ => 0,
        },
    })
}
