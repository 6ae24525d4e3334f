//! `why` for a symbol: definitions in the lookup order of each entry point, definitions in files
//! that no entry point loads, and references with their bindings. `undefined` adds details about
//! undefined references.

use super::under::position;
use crate::audit::{Audit, NamedBindings};
use crate::bind::{Binding, symbol_query};
use crate::diagnosis::{FirstLoader, ReferenceState};
use crate::format::elf::tables::{Symbol, binds_local};
use crate::format::elf::{Object, RefKind, SymbolIndex};
use crate::id::{FastMap, FileId, Id as _, ModuleId, RootId};
use crate::order;
use crate::order::Arrange as _;
use crate::resolve::Closure;
use crate::resolve::loader::Family;
use object::elf;
use std::collections::{BTreeMap, BTreeSet};

/// A definition of a symbol.
#[derive(Debug)]
pub struct SymbolProvider {
    /// The file that has the definition.
    pub file: FileId,
    /// The archive member that has the definition; `None` for an ELF file.
    pub member: Option<Vec<u8>>,
    /// The name as in the symbol table, not demangled.
    pub symbol: Vec<u8>,
    /// The version of the definition; `None` if it has none.
    pub version: Option<Vec<u8>>,
    /// True if the definition has no version or the default version of its name: linkers then
    /// bind references without a version to it. A default version is written with `@@`. Always
    /// false for an archive member.
    pub default: bool,
    /// The binding of the definition.
    pub bind: Bind,
    /// The positions of the definition in scopes, in the order of the entry points.
    pub places: Vec<InScope>,
}

/// The binding of a definition.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bind {
    /// STB_GLOBAL, with default or protected visibility.
    Global,
    /// STB_WEAK. The loader treats a weak definition like a global one.
    Weak,
    /// STB_GNU_UNIQUE: all objects of a process share one definition.
    Unique,
    /// STV_HIDDEN, STV_INTERNAL or STB_LOCAL. Lookups from other files do not find it.
    Local,
    /// A definition in an archive member.
    Member,
}

impl Bind {
    /// The name of the binding in the human-readable and JSON outputs.
    pub fn name(self) -> &'static str {
        match self {
            Self::Global => "global",
            Self::Weak => "weak",
            Self::Unique => "unique",
            Self::Local => "local",
            Self::Member => "member",
        }
    }
}

/// A definition in the scope of one entry point.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InScope {
    /// The entry point.
    pub root: RootId,
    /// The index of the definition's file in the scope.
    pub position: u32,
    /// Number of files with a reference that binds to the definition.
    pub taken: u32,
}

/// A reference of a file to a symbol.
#[derive(Debug)]
pub struct SymbolRequester {
    /// The file that has the reference.
    pub file: FileId,
    /// The name as in the symbol table, not demangled.
    pub symbol: Vec<u8>,
    /// The version that the reference requires; `None` if it requires none.
    pub version: Option<Vec<u8>>,
    /// True for a weak reference, which the loader may leave undefined without an error.
    pub weak: bool,
    /// True if the file defines the symbol itself.
    pub defined: bool,
    /// The bindings of the reference under the entry points that load the file.
    pub bound: Vec<ReferenceBinding>,
    /// Definitions that nearly fit, if the reference is undefined in the diagnosis.
    pub near: Vec<NearDefinition>,
}

/// A definition that nearly fits a reference.
#[derive(Debug)]
pub struct NearDefinition {
    /// The file that has the definition.
    pub file: FileId,
    /// The name as in the symbol table, not demangled.
    pub symbol: Vec<u8>,
    /// The version of the definition; `None` if it has none.
    pub version: Option<Vec<u8>>,
    /// The difference from the reference, in words.
    pub reason: &'static str,
}

/// The result of looking up a reference under one entry point.
#[derive(Clone, Debug)]
pub struct ReferenceBinding {
    /// The entry point.
    pub root: RootId,
    /// The index of the definition in [`SymbolAnswer::providers`]; `None` if the reference is not
    /// bound.
    pub provider: Option<usize>,
    /// True if a relocation uses the reference.
    pub used: bool,
    /// True if the loader stops before it binds the reference.
    pub stopped: bool,
    /// The diagnosis of an undefined reference; `None` for references without a diagnosis.
    pub state: Option<ReferenceState>,
    /// The files in which the loader searched, up to the definition. `Some` only with `--under`,
    /// and if a relocation uses the reference.
    pub searched: Option<Vec<FileId>>,
}

impl ReferenceBinding {
    /// True if a relocation uses the reference and the loader finds no definition. False if the
    /// loader stops before it binds the reference.
    pub fn is_open(&self) -> bool {
        self.used && self.provider.is_none() && !self.stopped
    }
}

/// The answer about a symbol.
#[derive(Debug)]
pub struct SymbolAnswer {
    /// The definitions, in byte order of the paths of their files.
    pub providers: Vec<SymbolProvider>,
    /// The references, in byte order of the paths of their files.
    pub requesters: Vec<SymbolRequester>,
    /// For each strong undefined reference: the scope of the first entry point under which it is
    /// undefined.
    pub searched: Vec<Searched>,
}

/// The files of a scope.
#[derive(Debug)]
pub struct Searched {
    /// The entry point.
    pub root: RootId,
    /// The files, in search order.
    pub files: Vec<FileId>,
}

/// A file and the index of a symbol in its symbol table.
pub(super) type SymbolId = (FileId, SymbolIndex);

/// The states of undefined references, keyed by entry point and reference.
pub(super) type ReferenceStates = FastMap<(RootId, SymbolId), ReferenceState>;

/// A reference under an entry point: a [`ReferenceBinding`] that names its definition by file and
/// index.
struct BoundReference {
    root: RootId,
    provider: Option<SymbolId>,
    used: bool,
    stopped: bool,
    searched: Option<Vec<FileId>>,
}

/// The part of the answer that the command line selects.
#[derive(Clone, Copy)]
pub(super) struct AnswerScope<'a> {
    /// The version in NAME. It selects definitions with this version, references that require it,
    /// and references without a version that bind to one of these definitions. Definitions to which
    /// a selected reference binds are selected too. `None` for all versions.
    pub(super) version: Option<&'a [u8]>,
    /// With `--under`: only these entry points. `None` for all.
    pub(super) under: Option<&'a [RootId]>,
}

struct SymbolAnswerBuilder<'a> {
    audit: &'a Audit,
    found: &'a NamedBindings,
    part: AnswerScope<'a>,
    providers: BTreeMap<SymbolId, SymbolProvider>,
    requesters: BTreeMap<SymbolId, SymbolRequester>,
    /// For each symbol that was checked, true if a relocation uses it.
    used: FastMap<SymbolId, bool>,
    bound: BTreeMap<SymbolId, Vec<BoundReference>>,
}

impl SymbolAnswer {
    /// The answer about the symbols in `found`; `None` if no file refers to or defines them.
    pub(super) fn new(
        audit: &Audit,
        found: &NamedBindings,
        part: AnswerScope<'_>,
        reference_states: &ReferenceStates,
    ) -> Option<Self> {
        let mut maker = SymbolAnswerBuilder {
            audit,
            found,
            part,
            providers: BTreeMap::new(),
            requesters: BTreeMap::new(),
            used: FastMap::default(),
            bound: BTreeMap::new(),
        };
        maker.definitions();
        for root in audit.closures.roots.ids() {
            if part.under.is_none_or(|under| under.contains(&root)) {
                maker.root(root);
            }
        }
        if part.under.is_none() {
            maker.lone();
        }
        let is_known = maker.is_known();
        let mut symbol = maker.finish(reference_states);
        if part.under.is_some() {
            symbol.drop_outside();
        }
        is_known.then_some(symbol)
    }

    /// The versions of the symbol, as `NAME@VERSION`. Without a version, as `NAME`.
    pub(super) fn versions(&self) -> Vec<Vec<u8>> {
        let defined = self.providers.iter().map(|one| (&one.symbol, &one.version));
        let asked = self.requesters.iter().map(|one| (&one.symbol, &one.version));
        let named = defined.chain(asked).map(|(symbol, version)| match version {
            Some(version) => [&**symbol, version].join(&b'@'),
            None => symbol.clone(),
        });
        named.collect::<BTreeSet<_>>().into_iter().collect()
    }

    /// Drops definitions outside of all scopes. If a strong reference is undefined, these
    /// definitions are candidates and stay.
    fn drop_outside(&mut self) {
        if self.requesters.iter().any(|r| !r.weak && r.bound.iter().any(ReferenceBinding::is_open))
        {
            return;
        }
        let mut places = Vec::new();
        let mut kept = 0;
        for provider in &self.providers {
            places.push(kept);
            kept += usize::from(!provider.places.is_empty());
        }
        self.providers.retain(|provider| !provider.places.is_empty());
        let bounds = self.requesters.iter_mut().flat_map(|requester| &mut requester.bound);
        for provider in bounds.filter_map(|bound| bound.provider.as_mut()) {
            *provider = places[*provider];
        }
    }
}

impl SymbolAnswerBuilder<'_> {
    fn definitions(&mut self) {
        let mut files: Vec<FileId> = self.found.symbols.keys().copied().collect();
        files.arrange();
        for file in files {
            let Some(object) = self.audit.corpus.files[file].object() else { continue };
            for symbol in sorted(&self.found.symbols[&file]) {
                let entry = object.tables.as_ref().and_then(|tables| tables.symbol(symbol));
                if let Some(provider) = entry.and_then(|entry| definition(file, object, &entry)) {
                    self.providers.insert((file, symbol), provider);
                }
            }
        }
    }

    fn root(&mut self, root: RootId) {
        let closure = &self.audit.closures.roots[root];
        let bindings = &self.found.bindings[root.index()];
        let mut taken: BTreeMap<SymbolId, BTreeSet<FileId>> = BTreeMap::new();
        // A symbol that relocations use in two lookup classes may have two bindings: to a copy
        // relocation's copy, and to the original.
        let mut by_module: FastMap<(ModuleId, SymbolIndex), BTreeSet<Option<SymbolId>>> =
            FastMap::default();
        for binding in bindings {
            let key = self.taken(closure, *binding);
            by_module.entry((binding.module, binding.symbol)).or_default().insert(key);
            let requester = closure.module(binding.module).file;
            if let (Some(key), Some(requester)) = (key, requester) {
                taken.entry(key).or_default().insert(requester);
            }
        }
        let before = closure.host().map_or(0, |host| host.module_count());
        for (module, file) in closure.in_scope() {
            let Some(symbols) = self.found.symbols.get(&file) else { continue };
            for symbol in sorted(symbols) {
                let key = (file, symbol);
                let bound = by_module.get(&(module, symbol));
                if let Some(provider) = self.providers.get_mut(&key) {
                    let position = position(closure, module).unwrap_or_default();
                    let taken = taken.get(&key).map_or(0, BTreeSet::len);
                    let taken = u32::try_from(taken).unwrap_or(u32::MAX);
                    provider.places.push(InScope { root, position, taken });
                }
                // References of files that the host program loads are listed under the host
                // program.
                if module.index() < before {
                    continue;
                }
                // The file may define the symbol without using it. Then it has no reference.
                let asked = bound.is_some() || !self.providers.contains_key(&key);
                if asked {
                    self.refer(key);
                }
                let used = bound.is_some() || (asked && self.is_used(key));
                let stopped = bound.is_none() && !self.is_reached(root, module);
                let none = BTreeSet::from([None]);
                let bound = bound.or(asked.then_some(&none)).into_iter().flatten();
                let met = bound.map(|provider| {
                    let searched = self.searched(closure, (module, symbol), *provider);
                    let searched = searched.filter(|_| used && !stopped);
                    BoundReference { root, provider: *provider, used, stopped, searched }
                });
                let met: Vec<BoundReference> = met.collect();
                if !met.is_empty() {
                    self.bound.entry(key).or_default().extend(met);
                }
            }
        }
    }

    /// False if the loader stops before it relocates the module.
    fn is_reached(&self, root: RootId, module: ModuleId) -> bool {
        let closure = &self.audit.closures.roots[root];
        let bound = &self.audit.bindings[root.index()];
        if closure.fatal().is_some() || bound.checked.stop.is_some() {
            return false;
        }
        let Some((last, _)) = bound.abort else { return true };
        closure.order().iter().take_while(|done| **done != last).any(|done| *done == module)
    }

    /// The files in which the loader searches for a reference, up to `provider`. `None` without
    /// `--under`.
    fn searched(
        &self,
        closure: &Closure,
        (module, symbol): (ModuleId, SymbolIndex),
        provider: Option<SymbolId>,
    ) -> Option<Vec<FileId>> {
        self.part.under?;
        let loader = self.audit.resolver.loaders.get(closure.root.loader);
        let provider = provider.map(|(file, _)| file);
        if let Family::Musl(_) = loader.family {
            let mut files: Vec<FileId> = closure.in_scope().map(|(_, file)| file).collect();
            let end = files.iter().position(|file| Some(*file) == provider);
            files.truncate(end.map_or(files.len(), |end| end + 1));
            return Some(files);
        }
        let view = self.audit.view();
        let lists = symbol_query::searched(closure, view, module, symbol, loader.release);
        let file = |module: &ModuleId| closure.module(*module).file;
        let ends_there = |list: &&Vec<ModuleId>| list.last().and_then(file) == provider;
        let list = lists.iter().find(ends_there).or(lists.first())?;
        Some(list.iter().filter_map(file).collect())
    }

    /// The definition to which a binding leads; `None` if there is none.
    fn taken(&self, closure: &Closure, binding: Binding) -> Option<SymbolId> {
        let file = closure.module(binding.provider).file?;
        let release = self.audit.resolver.loaders.get(closure.root.loader).release;
        let symbol = symbol_query::definition(closure, self.audit.view(), binding, release)?;
        Some((file, symbol))
    }

    /// True if a relocation of the file uses the symbol. False if the relocations were not read.
    fn is_used(&mut self, key: SymbolId) -> bool {
        let (file, symbol) = key;
        let relocations = || self.audit.corpus.relocations(file);
        *self.used.entry(key).or_insert_with(|| {
            relocations().is_ok_and(|all| all.list.iter().any(|one| one.symbol() == symbol))
        })
    }

    fn refer(&mut self, key: SymbolId) {
        let (file, symbol) = key;
        let Some(object) = self.audit.corpus.files[file].object() else { return };
        self.requesters.entry(key).or_insert_with(|| {
            let version = symbol_query::reference_version(object, symbol);
            let entry = object.versions.entry(version);
            SymbolRequester {
                file,
                symbol: object.symbol_name(symbol).to_vec(),
                version: entry.map(|entry| object.str(entry.name).to_vec()),
                weak: is_weak(object, symbol),
                defined: self.providers.contains_key(&key),
                bound: Vec::new(),
                near: Vec::new(),
            }
        });
    }

    /// Adds references of files that no entry point loads.
    fn lone(&mut self) {
        let loaded = FirstLoader::new(&self.audit.closures);
        let mut files: Vec<FileId> = self.found.symbols.keys().copied().collect();
        files.arrange();
        for file in files.into_iter().filter(|file| loaded.of(*file).is_none()) {
            for symbol in sorted(&self.found.symbols[&file]) {
                if !self.providers.contains_key(&(file, symbol)) {
                    self.refer((file, symbol));
                }
            }
        }
    }

    /// True if a file refers to the symbol or defines it. With a version in NAME, the reference or
    /// definition must have this version.
    fn is_known(&self) -> bool {
        let Some(wanted) = self.part.version else {
            let in_archive = self.found.archives.iter().any(|(_, list)| !list.is_empty());
            return in_archive || !self.found.symbols.is_empty();
        };
        let has_version = |file: FileId, symbol: SymbolIndex| {
            let object = self.audit.corpus.files[file].object();
            object.is_some_and(|object| {
                let entry = object.versions.entry(symbol_query::reference_version(object, symbol));
                entry.is_some_and(|entry| object.str(entry.name) == wanted)
            })
        };
        let mut symbols = self.found.symbols.iter();
        symbols.any(|(file, list)| list.iter().any(|symbol| has_version(*file, *symbol)))
    }

    /// Drops versions other than the version of NAME. Definitions to which a reference with that
    /// version binds are kept. References without a version are kept if they bind to a definition
    /// with that version.
    fn restrict(&mut self) {
        let Some(wanted) = self.part.version else { return };
        let is_wanted = |key: &SymbolId| {
            let provider = self.providers.get(key);
            provider.is_some_and(|provider| provider.version.as_deref() == Some(wanted))
        };
        let binds_to_it = |key: &SymbolId| {
            let mut bound = self.bound.get(key).into_iter().flatten();
            bound.any(|met| met.provider.is_some_and(|provider| is_wanted(&provider)))
        };
        self.requesters.retain(|key, requester| match &requester.version {
            Some(version) => version == wanted,
            None => binds_to_it(key),
        });
        let met = self.bound.iter().filter(|(key, _)| self.requesters.contains_key(key));
        let taken: BTreeSet<SymbolId> =
            order::set(met.flat_map(|(_, list)| list.iter().filter_map(|met| met.provider)));
        self.providers.retain(|key, provider| {
            provider.version.as_deref() == Some(wanted) || taken.contains(key)
        });
    }

    fn finish(mut self, reference_states: &ReferenceStates) -> SymbolAnswer {
        self.restrict();
        let Self { audit, found, part, providers, requesters, mut bound, .. } = self;
        let path = |file: FileId| audit.corpus.files[file].path.as_os_str();
        let mut keyed: Vec<(Option<SymbolId>, SymbolProvider)> =
            providers.into_iter().map(|(key, provider)| (Some(key), provider)).collect();
        // Definitions in archive members have no versions.
        let archives = found.archives.iter().filter(|_| part.version.is_none());
        keyed.extend(archives.flat_map(|(file, list)| {
            list.iter().map(|definition| {
                let provider = SymbolProvider {
                    file: *file,
                    member: Some(definition.member.to_vec()),
                    symbol: definition.symbol.to_vec(),
                    version: None,
                    default: false,
                    bind: Bind::Member,
                    places: Vec::new(),
                };
                (None, provider)
            })
        }));
        keyed.arrange_by(|(_, a), (_, b)| {
            let key =
                |p: &'_ SymbolProvider| (p.symbol.clone(), p.member.clone(), p.version.clone());
            path(a.file).cmp(path(b.file)).then_with(|| key(a).cmp(&key(b)))
        });
        let at: FastMap<SymbolId, usize> =
            keyed.iter().enumerate().filter_map(|(i, (key, _))| Some(((*key)?, i))).collect();
        let mut list: Vec<SymbolRequester> = Vec::new();
        for (key, mut requester) in requesters {
            for met in bound.remove(&key).unwrap_or_default() {
                let BoundReference { root, provider, used, stopped, searched } = met;
                let provider = provider.and_then(|key| at.get(&key).copied());
                let state = reference_states.get(&(root, key)).copied();
                let state = state.filter(|_| provider.is_none());
                let binding = ReferenceBinding { root, provider, used, stopped, state, searched };
                requester.bound.push(binding);
            }
            list.push(requester);
        }
        list.arrange_by(|a, b| {
            path(a.file).cmp(path(b.file)).then_with(|| a.symbol.cmp(&b.symbol))
        });
        SymbolAnswer {
            providers: keyed.into_iter().map(|(_, provider)| provider).collect(),
            requesters: list,
            searched: Vec::new(),
        }
    }
}

fn sorted(symbols: &crate::id::FastSet<SymbolIndex>) -> Vec<SymbolIndex> {
    let mut out: Vec<SymbolIndex> = symbols.iter().copied().collect();
    out.arrange();
    out
}

/// The definition in a symbol table entry; `None` if the entry is not a definition.
fn definition(file: FileId, object: &Object, entry: &Symbol<'_>) -> Option<SymbolProvider> {
    // A program that is not position-independent may give a function an address without defining it
    // (canonical PLT entry).
    let canonical = entry.section == elf::SHN_UNDEF.0 && entry.value != 0;
    if (entry.section == elf::SHN_UNDEF.0 && !canonical) || !entry.is_findable() {
        return None;
    }
    let version = entry.versym & 0x7fff;
    let known = object.versions.entry(version).filter(|_| !canonical);
    let bind = match elf::SymbolBind(entry.bind) {
        _ if binds_local(entry.visibility) => Bind::Local,
        elf::STB_LOCAL => Bind::Local,
        elf::STB_WEAK => Bind::Weak,
        elf::STB_GNU_UNIQUE => Bind::Unique,
        _ => Bind::Global,
    };
    Some(SymbolProvider {
        file,
        member: None,
        symbol: entry.name.to_vec(),
        version: known.map(|known| object.str(known.name).to_vec()),
        default: entry.versym & 0x8000 == 0,
        bind,
        places: Vec::new(),
    })
}

fn is_weak(object: &Object, symbol: SymbolIndex) -> bool {
    if let Ok(at) = object.references.binary_search_by_key(&symbol, |r| r.symbol) {
        let kind = object.references[at].kind;
        return matches!(kind, RefKind::Weak | RefKind::Copy { weak: true, .. });
    }
    let entry = object.tables.as_ref().and_then(|tables| tables.symbol(symbol));
    entry.is_some_and(|entry| elf::SymbolBind(entry.bind) == elf::STB_WEAK)
}
