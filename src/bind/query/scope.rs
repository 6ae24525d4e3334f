//! The queries under one entry point: standalone bindings of the objects, and a lookup of the names
//! whose binding another object of this scope can change.
//!
//! A standalone binding does not hold if a library is missing or the loader stops while it
//! relocates. Then every relocation of the object is looked up.

use super::names::{Name, Names};
use super::standalone::{Alone, Standalone, knows_all_versions};
use super::{Answer, BoundLibrary, Definition, DefinitionKind, DuplicateName, Referrer, Shared};
use crate::bind::exact::{EXACT_FIRST, Exact};
use crate::bind::lookup::{Scope, Winner, wanted};
use crate::bind::named::reference_version;
use crate::bind::root::starts;
use crate::bind::{Binding, RootBinding, Unique};
use crate::facts::{Need, View};
use crate::format::elf::find::{Query, Wanted};
use crate::format::elf::machine::LookupClass;
use crate::format::elf::relocs::{Relocation, Relocations};
use crate::format::elf::{GlibcVersion, Object, hash};
use crate::id::{FastMap, FastSet, FileId, Id as _, ModuleId};
use crate::resolve::{Closure, LOADER, ROOT};

/// Tables that a thread reuses across entry points. An entry with an old stamp is empty.
#[derive(Default)]
pub(super) struct Worker {
    stamp: u32,
    /// By file: its module.
    modules: Vec<(u32, ModuleId)>,
    /// By name: an object of the scope defines it.
    seen: Vec<u32>,
    /// By name: two objects define it.
    twice: Vec<u32>,
}

impl Worker {
    /// Loads the scope of `closure`; true if two modules share a file.
    fn enter(&mut self, closure: &Closure, names: &Names) -> bool {
        let mut has_twins = false;
        self.stamp += 1;
        self.seen.resize(names.len(), 0);
        self.twice.resize(names.len(), 0);
        for (module, file) in closure.in_scope() {
            if file.index() >= self.modules.len() {
                self.modules.resize((file.index() + 1).next_power_of_two(), (0, ROOT));
            }
            let (stamp, _) =
                std::mem::replace(&mut self.modules[file.index()], (self.stamp, module));
            has_twins |= stamp == self.stamp;
            for name in names.in_file(file) {
                if std::mem::replace(&mut self.seen[name.index()], self.stamp) == self.stamp {
                    self.twice[name.index()] = self.stamp;
                }
            }
        }
        has_twins
    }

    fn module(&self, file: FileId) -> Option<ModuleId> {
        let (stamp, module) = self.modules.get(file.index())?;
        (*stamp == self.stamp).then_some(*module)
    }

    fn is_seen(&self, name: Option<Name>) -> bool {
        name.is_some_and(|name| self.seen[name.index()] == self.stamp)
    }

    fn is_twice(&self, name: Option<Name>) -> bool {
        name.is_some_and(|name| self.twice[name.index()] == self.stamp)
    }
}

/// One entry point.
struct Under<'a> {
    shared: &'a Shared<'a>,
    closure: &'a Closure,
    worker: &'a Worker,
    release: GlibcVersion,
    /// Two modules of the scope share a file: every name may be defined twice.
    has_twins: bool,
    /// Standalone bindings hold here.
    reuse: bool,
}

/// Answers the queries under the entry point of `closure`.
pub(super) fn answer(
    shared: &Shared<'_>,
    closure: &Closure,
    bound: &RootBinding,
    worker: &mut Worker,
) -> Result<Answer, Vec<Need>> {
    if closure.fatal().is_some() || bound.checked.stop.is_some() {
        return Ok(Answer::default());
    }
    // Trace mode maps the traced object a second time if a library needs it by a path.
    let has_twins = worker.enter(closure, &shared.names);
    let release = shared.source.loader(closure).release;
    let reuse = bound.abort.is_none() && !has_twins && knows_all_versions(closure);
    Under { shared, closure, worker, release, has_twins, reuse }.answer()
}

impl<'a> Under<'a> {
    fn view(&self) -> View<'a> {
        self.shared.source.view
    }

    fn answer(&self) -> Result<Answer, Vec<Need>> {
        let scope = Scope::new(self.closure, self.view(), true)?;
        let unique = self.unique_of_host()?;
        let (bindings, mut bound) = self.bind(&scope, unique)?;
        let mut out = Answer::default();
        let asked = self.shared.source.asked;
        if asked.bound {
            let others = bindings.iter().filter(|binding| binding.module != binding.provider);
            bound.extend(others.map(|binding| {
                let Binding { module, provider, .. } = *binding;
                BoundLibrary { module, provider }
            }));
            bound.sort_unstable();
            bound.dedup();
            out.bound = bound;
        }
        if asked.duplicates {
            out.duplicates = self.duplicates(&scope, &bindings)?;
        }
        Ok(out)
    }

    /// The unique definitions that the plugin's host program has bound already.
    fn unique_of_host(&self) -> Result<Unique, Vec<Need>> {
        let Some(host) = self.closure.host() else { return Ok(Unique::default()) };
        let scope = Scope::new(host, self.view(), true)?;
        let mut exact = self.exact(host, &scope, Unique::default());
        for module in host.order().iter().filter(|module| **module != LOADER) {
            let Some(file) = host.module(*module).file else { continue };
            let relocations = self.view().relocations(file).map_err(|need| vec![need])?;
            let part = match self.standalone(file) {
                Some(standalone) => {
                    let varying = standalone.varying.iter();
                    let twice = varying.filter(|varying| self.worker.is_twice(varying.name));
                    &listed(twice.map(|varying| varying.relocation).collect())
                }
                None => relocations,
            };
            exact.relocate(*module, part, None, None);
        }
        Ok(exact.unique)
    }

    fn exact<'s>(&self, closure: &'s Closure, scope: &'s Scope<'a>, unique: Unique) -> Exact<'s, 'a>
    where
        'a: 's,
    {
        let (strings, release) = (self.shared.source.strings, self.release);
        Exact { closure, scope, strings, release, unique }
    }

    /// The standalone binding of a file, if it holds here.
    fn standalone(&self, file: FileId) -> Option<&'a Standalone> {
        let standalone = self.shared.standalone.get(&file).filter(|_| self.reuse)?;
        let here = |file: &FileId| self.worker.module(*file).is_some();
        standalone.files.as_ref()?.iter().all(here).then_some(standalone)
    }

    /// The bindings from lookups, and the providers of all other references.
    fn bind(
        &self,
        scope: &Scope<'a>,
        unique: Unique,
    ) -> Result<(Vec<Binding>, Vec<BoundLibrary>), Vec<Need>> {
        let (mut bindings, mut bound) = (Vec::new(), Vec::new());
        let mut exact = self.exact(self.closure, scope, unique);
        let started = self.shared.source.started && starts(self.closure, self.view());
        let modules = self.closure.order().iter().copied().filter(|module| *module != LOADER);
        for module in modules.chain(started.then_some(LOADER)) {
            let Some(file) = self.closure.module(module).file else { continue };
            let Some(standalone) = self.standalone(file) else {
                let relocations = self.view().relocations(file).map_err(|need| vec![need])?;
                let (_, abort) = exact.relocate(module, relocations, None, Some(&mut bindings));
                if abort.is_some() {
                    break;
                }
                continue;
            };
            let again = self.take(module, standalone, &mut bound);
            if !again.is_empty() {
                exact.relocate(module, &listed(again), None, Some(&mut bindings));
            }
        }
        bindings.sort_unstable();
        bindings.dedup();
        Ok((bindings, bound))
    }

    /// Takes the standalone bindings of a module; returns the relocations that need a lookup.
    fn take(
        &self,
        module: ModuleId,
        standalone: &Standalone,
        bound: &mut Vec<BoundLibrary>,
    ) -> Vec<Relocation> {
        let mut again = Vec::new();
        let mut take = |file: FileId| {
            let provider = self.worker.module(file).filter(|provider| *provider != module);
            bound.extend(provider.map(|provider| BoundLibrary { module, provider }));
        };
        standalone.sure.iter().copied().for_each(&mut take);
        let asked = self.shared.source.asked;
        for varying in &standalone.varying {
            let is_twice = self.worker.is_twice(varying.name);
            let look = match varying.alone {
                _ if is_twice => true,
                Alone::Known => false,
                Alone::Bound(file) => {
                    take(file);
                    false
                }
                Alone::Open => self.worker.is_seen(varying.name),
                Alone::Unknown => asked.bound,
            };
            if look {
                again.push(varying.relocation);
            }
        }
        again
    }

    /// The names among `bindings` that several modules define.
    fn duplicates(
        &self,
        scope: &Scope<'a>,
        bindings: &[Binding],
    ) -> Result<Vec<DuplicateName>, Vec<Need>> {
        let mut places: FastMap<(&[u8], Option<Version<'_>>), Option<usize>> = FastMap::default();
        let mut out: Vec<DuplicateName> = Vec::new();
        let mut copied = None;
        for Binding { module, symbol, provider } in bindings.iter().copied() {
            let Some(object) = scope.object(module) else { continue };
            let name_of_word = || self.shared.names.of_word(word(object, symbol));
            if !self.has_twins && !self.worker.is_twice(name_of_word()) {
                continue;
            }
            let name = object.symbol_name(symbol);
            let limit = self.closure.module(module).version_limit;
            let wanted = wanted(object, reference_version(object, symbol), limit);
            let place = match places.entry((name, wanted.map(Version::from))) {
                hashbrown::hash_map::Entry::Occupied(entry) => *entry.get(),
                hashbrown::hash_map::Entry::Vacant(entry) => {
                    let mut query = Query::new(name, hash::gnu(name), wanted);
                    query.plt = false;
                    query.exact_first = self.release >= EXACT_FIRST;
                    let found = scope.definitions(&query);
                    let place = (found.len() > 1).then_some(out.len());
                    if place.is_some() {
                        let definition = |winner| self.definition(winner, &mut copied);
                        let definitions = found.into_iter().map(definition);
                        out.push(DuplicateName {
                            name: name.into(),
                            version: wanted.map(|wanted| wanted.name.into()),
                            definitions: definitions.collect::<Result<_, _>>()?,
                            referrers: Vec::new(),
                        });
                    }
                    *entry.insert(place)
                }
            };
            if let Some(place) = place {
                out[place].referrers.push(Referrer { module, symbol, winner: provider });
            }
        }
        out.sort_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
        Ok(out)
    }

    /// `copied` is computed on first use.
    fn definition(
        &self,
        winner: Winner,
        copied: &mut Option<FastSet<u32>>,
    ) -> Result<Definition, Vec<Need>> {
        let Winner { module, candidate } = winner;
        let kind = match self.closure.module(module).file {
            _ if candidate.undefined => DefinitionKind::Address,
            Some(file) if module == ROOT => {
                let copied = match copied {
                    Some(copied) => copied,
                    None => copied.insert(self.copied(file)?),
                };
                let is_copy = copied.contains(&candidate.symbol);
                if is_copy { DefinitionKind::Copy } else { DefinitionKind::Own }
            }
            _ => DefinitionKind::Own,
        };
        Ok(Definition { module, symbol: candidate.symbol, size: candidate.size, kind })
    }

    /// The symbols that copy relocations of a file name.
    fn copied(&self, file: FileId) -> Result<FastSet<u32>, Vec<Need>> {
        let relocations = self.view().relocations(file).map_err(|need| vec![need])?;
        let copies = relocations.list.iter();
        let copies = copies.filter(|relocation| relocation.class() == LookupClass::Copy);
        Ok(copies.map(|relocation| relocation.symbol()).collect())
    }
}

/// The hash word of a symbol. The name is hashed only if no table holds the word.
fn word(object: &Object, symbol: u32) -> u32 {
    if let Ok(at) = object.references.binary_search_by_key(&symbol, |r| r.symbol) {
        return object.references[at].hash & !1;
    }
    let tables = object.tables.as_ref().filter(|tables| symbol >= tables.unhashed_end());
    let known = tables.and_then(|tables| tables.word(symbol));
    known.unwrap_or_else(|| hash::gnu(object.symbol_name(symbol)) & !1)
}

/// The part of a reference's version that the lookup compares.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct Version<'a> {
    name: &'a [u8],
    hidden: bool,
}

impl<'a> From<Wanted<'a>> for Version<'a> {
    fn from(Wanted { name, hidden, .. }: Wanted<'a>) -> Self {
        Self { name, hidden }
    }
}

fn listed(list: Vec<Relocation>) -> Relocations {
    Relocations { list, defects: Vec::new() }
}
