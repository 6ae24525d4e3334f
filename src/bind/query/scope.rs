//! Finds the libraries that each object binds to under one entry point. The search starts from
//! standalone bindings: the bindings of each object in its own closure. It repeats the lookup of
//! each reference whose binding another object of the scope can change.
//!
//! In each of these three cases, no standalone binding is used and every relocation is looked up:
//!
//! - The loader does not know all versions of an object, because a library is missing.
//! - The loader stops during relocation.
//! - Two modules share a file, or the scope has objects for two machines. Every name may then be
//!   defined twice.

use super::names::VaryingName;
use super::present::{Present, Stamped};
use super::question::{BindingQuestion, QuestionKey};
use super::standalone::{Standalone, StandaloneBinding, Varying, knows_all_versions};
use super::words::Salt;
use super::{BoundLibrary, QueryData};
use crate::bind::entry_point::starts;
use crate::bind::lookup::{Scope, Winner, definition};
use crate::bind::relocation_pass::{EXACT_FIRST, NO_ASSERT, RelocationPass};
use crate::bind::{RootBinding, Unique};
use crate::facts::{Need, View};
use crate::format::elf::machine::LookupClass;
use crate::format::elf::relocs::{Relocation, Relocations};
use crate::format::elf::{EVERY_VERSION, GlibcVersion, Object, SymbolIndex};
use crate::id::{FastMap, FileId, Id as _, ModuleId};
use crate::resolve::{Closure, LOADER, ROOT};
use object::elf;
use std::cell::OnceCell;
use std::ops::Range;

/// Tables that a thread reuses across entry points.
#[derive(Default)]
pub(super) struct QueryWorker {
    present: Present,
    by_name: Vec<Stamped<usize>>,
}

/// One entry point and its scope.
struct Under<'w, 'a> {
    shared: &'a QueryData<'a>,
    closure: &'a Closure,
    present: &'w Present,
    release: GlibcVersion,
    /// True if every name may be defined twice: two modules share a file, or the scope has objects
    /// for two machines.
    any_twice: bool,
    /// True if standalone bindings may be used under this entry point.
    reuse: bool,
    /// The scope of the entry point, built at the first lookup.
    scope: OnceCell<Scope<'a>>,
}

/// The results under one entry point, while they are collected.
struct ScopeResults<'w, 'a> {
    libraries: Vec<BoundLibrary>,
    /// By provider: the last module that was found to bind to this provider.
    last: Vec<Option<ModuleId>>,
    found: Vec<AnsweredQuestion<'a>>,
    /// The definitions that answer the questions in [`Self::found`].
    winners: Vec<Winner>,
    /// By name: index in [`Self::found`] of the latest question about this name.
    by_name: &'w mut [Stamped<usize>],
    /// By question: its index in [`Self::found`]. Used for names without a number, and for all
    /// names under [`Under::any_twice`].
    by_key: FastMap<QuestionKey<'a>, usize>,
    /// Scratch space of [`Under::by_files`].
    files: Vec<FileId>,
}

impl<'w> ScopeResults<'w, '_> {
    fn new(by_name: &'w mut [Stamped<usize>]) -> Self {
        let (libraries, last, files) = (Vec::new(), Vec::new(), Vec::new());
        let (found, winners, by_key) = (Vec::new(), Vec::new(), FastMap::default());
        Self { libraries, last, found, winners, by_name, by_key, files }
    }

    /// Adds a module and a provider that it binds to. The caller adds all pairs of a module
    /// consecutively.
    fn add(&mut self, module: ModuleId, provider: ModuleId) {
        if provider.index() >= self.last.len() {
            self.last.resize((provider.index() + 1).next_power_of_two(), None);
        }
        let last = &mut self.last[provider.index()];
        if *last != Some(module) && module != provider {
            *last = Some(module);
            self.libraries.push(BoundLibrary { module, provider });
        }
    }
}

/// A question that a module asks, and the answers of the scope.
struct AnsweredQuestion<'a> {
    question: BindingQuestion<'a>,
    /// Index of another question about the same name.
    next: Option<usize>,
    /// The answers in scope order, by index in [`ScopeResults::winners`].
    winners: Range<usize>,
    /// True if the first answer always wins; else the relocation pass decides.
    first_wins: bool,
}

/// The module whose references are bound, and its object.
#[derive(Clone, Copy)]
struct ReferringModule<'a> {
    module: ModuleId,
    object: &'a Object,
}

/// The libraries that each object binds to under the entry point of `closure`.
pub(super) fn answer<'a>(
    shared: &'a QueryData<'a>,
    closure: &'a Closure,
    bound: &RootBinding,
    worker: &mut QueryWorker,
) -> Result<Vec<BoundLibrary>, Vec<Need>> {
    if closure.fatal().is_some() || bound.checked.stop.is_some() {
        return Ok(Vec::new());
    }
    let QueryWorker { present, by_name } = worker;
    // Trace mode (`ldd`) maps the traced object again if a library needs it by a path. Two modules
    // then share a file.
    let any_twice = present.enter(closure, &shared.names) || is_mixed(shared.source.view, present);
    by_name.resize(shared.names.len(), Stamped::default());
    let release = shared.source.loader(closure).release;
    let reuse = bound.abort.is_none() && !any_twice && knows_all_versions(closure);
    let scope = OnceCell::new();
    let under = Under { shared, closure, present, release, any_twice, reuse, scope };
    under.answer(by_name)
}

/// True if the scope has objects for two machines. The hash words of one name then differ, so a
/// comparison of words misses some duplicate definitions.
fn is_mixed(view: View<'_>, present: &Present) -> bool {
    let mut salts = present.files.iter().filter_map(|file| view.object(*file)).map(Salt::of);
    let first = salts.next();
    salts.any(|salt| Some(salt) != first)
}

impl<'a> Under<'_, 'a> {
    fn view(&self) -> View<'a> {
        self.shared.source.view
    }

    fn scope(&self) -> Result<&Scope<'a>, Vec<Need>> {
        if let Some(scope) = self.scope.get() {
            return Ok(scope);
        }
        let scope = Scope::new(self.closure, self.view(), true)?;
        Ok(self.scope.get_or_init(|| scope))
    }

    fn answer(&self, by_name: &mut [Stamped<usize>]) -> Result<Vec<BoundLibrary>, Vec<Need>> {
        let mut bound = ScopeResults::new(by_name);
        self.bind(&mut bound)?;
        bound.libraries.sort_unstable();
        Ok(bound.libraries)
    }

    /// The STB_GNU_UNIQUE definitions that lookups for the plugin's host program have already
    /// reached.
    fn unique_of_host(&self) -> Result<Unique, Vec<Need>> {
        let Some(host) = self.closure.host() else { return Ok(Unique::default()) };
        let scope = Scope::new(host, self.view(), true)?;
        let mut pass = self.pass(host, &scope, Unique::default());
        for module in host.order().iter().filter(|module| **module != LOADER) {
            let Some(file) = host.module(*module).file else { continue };
            let relocations = self.view().relocations(file).map_err(|need| vec![need])?;
            let part = match self.standalone(file) {
                Some(standalone) => {
                    let varying = standalone.varying.iter();
                    let twice = varying.filter(|varying| self.present.is_twice(varying.name));
                    &listed(twice.map(|varying| varying.relocation).collect())
                }
                None => relocations,
            };
            pass.relocate(*module, part, None, None);
        }
        Ok(pass.unique)
    }

    fn pass<'s>(
        &self,
        closure: &'s Closure,
        scope: &'s Scope<'a>,
        unique: Unique,
    ) -> RelocationPass<'s, 'a>
    where
        'a: 's,
    {
        let (strings, release) = (self.shared.source.strings, self.release);
        RelocationPass { closure, scope, strings, release, unique }
    }

    /// The standalone bindings of a file, if they hold under this entry point.
    fn standalone(&self, file: FileId) -> Option<&'a Standalone<'a>> {
        let standalone = self.shared.standalone(file).filter(|_| self.reuse)?;
        let here = |file: &FileId| self.present.place(*file).is_some();
        standalone.files?.iter().all(here).then_some(standalone)
    }

    /// Finds the libraries that each module binds to.
    fn bind(&self, bound: &mut ScopeResults<'_, 'a>) -> Result<(), Vec<Need>> {
        let mut unique = self.unique_of_host()?;
        let mut pass: Option<RelocationPass<'_, 'a>> = None;
        let started = self.shared.source.started && starts(self.closure, self.view());
        let modules = self.closure.order().iter().copied().filter(|module| *module != LOADER);
        let (mut again, mut bindings) = (listed(Vec::new()), Vec::new());
        for module in modules.chain(started.then_some(LOADER)) {
            let Some(file) = self.closure.module(module).file else { continue };
            let Some(object) = self.view().object(file) else { continue };
            let referring = ReferringModule { module, object };
            let relocations = match self.standalone(file) {
                None => self.view().relocations(file).map_err(|need| vec![need])?,
                Some(standalone) => {
                    again.list.clear();
                    self.take(referring, standalone, bound, &mut again.list)?;
                    &again
                }
            };
            if relocations.list.is_empty() {
                continue;
            }
            let pass = if let Some(pass) = &mut pass {
                pass
            } else {
                let unique = std::mem::take(&mut unique);
                pass.insert(self.pass(self.closure, self.scope()?, unique))
            };
            let (_, abort) = pass.relocate(module, relocations, None, Some(&mut bindings));
            for binding in bindings.drain(..) {
                bound.add(binding.module, binding.provider);
            }
            if abort.is_some() {
                break;
            }
        }
        Ok(())
    }

    /// Collects the standalone bindings of a module, and the answers to its questions. `again`
    /// receives the relocations that need a lookup.
    fn take(
        &self,
        referring: ReferringModule<'a>,
        standalone: &Standalone<'_>,
        bound: &mut ScopeResults<'_, 'a>,
        again: &mut Vec<Relocation>,
    ) -> Result<(), Vec<Need>> {
        let module = referring.module;
        for provider in standalone.sure.iter().filter_map(|file| self.present.module(*file)) {
            bound.add(module, provider);
        }
        for varying in &standalone.varying {
            let look = match varying.alone {
                _ if self.present.is_twice(varying.name) => !self.ask(referring, varying, bound)?,
                StandaloneBinding::Known => false,
                StandaloneBinding::Bound(file) => {
                    if let Some(provider) = self.present.module(file) {
                        bound.add(module, provider);
                    }
                    false
                }
                StandaloneBinding::Open => self.present.is_seen(varying.name),
                StandaloneBinding::Unknown => true,
            };
            if look {
                again.push(varying.relocation);
            }
        }
        Ok(())
    }

    /// Binds a relocation to the first definition in the scope that answers its question. Returns
    /// false if the relocation pass must decide.
    fn ask(
        &self,
        referring: ReferringModule<'a>,
        Varying { relocation, name, .. }: &Varying,
        bound: &mut ScopeResults<'_, 'a>,
    ) -> Result<bool, Vec<Need>> {
        let ReferringModule { module, object } = referring;
        let symbol = relocation.symbol();
        let is_preemptible = object.tables.as_ref().is_some_and(|t| t.is_preemptible(symbol));
        if object.symbolic || !is_preemptible {
            return Ok(false);
        }
        let place = self.place(referring, symbol, *name, bound)?;
        let found = &bound.found[place];
        if !found.first_wins {
            return Ok(false);
        }
        let is_copy = relocation.class() == LookupClass::Copy;
        let mut modules = bound.winners[found.winners.clone()].iter().map(|winner| winner.module);
        if let Some(winner) = modules.find(|module| !(is_copy && *module == ROOT)) {
            bound.add(module, winner);
        }
        Ok(true)
    }

    /// Returns the index in [`ScopeResults::found`] of a symbol's question, and answers the
    /// question if it is new. `name` is the number of the symbol's hash word, if the word has one.
    fn place(
        &self,
        ReferringModule { module, object }: ReferringModule<'a>,
        symbol: SymbolIndex,
        name: Option<VaryingName>,
        bound: &mut ScopeResults<'_, 'a>,
    ) -> Result<usize, Vec<Need>> {
        let question =
            BindingQuestion::of(object, symbol, self.closure.module(module).version_limit);
        let Some(name) = name.filter(|_| !self.any_twice) else {
            if let Some(place) = bound.by_key.get(&question.key()) {
                return Ok(*place);
            }
            let place = self.by_scope(question, bound)?;
            bound.by_key.insert(question.key(), place);
            return Ok(place);
        };
        let Stamped { stamp, value } = bound.by_name[name.index()];
        let last = (stamp == self.present.stamp).then_some(value);
        let mut next = last;
        while let Some(place) = next {
            if bound.found[place].question.key() == question.key() {
                return Ok(place);
            }
            next = bound.found[place].next;
        }
        let place = if self.reuse {
            self.by_files(name, question, bound)
        } else {
            self.by_scope(question, bound)?
        };
        bound.found[place].next = last;
        bound.by_name[name.index()] = Stamped { stamp: self.present.stamp, value: place };
        Ok(place)
    }

    /// Answers a question from the files whose hash tables have the hash word of the requested
    /// name. The loader must know all versions of these files. Returns the index of the question
    /// in `found`.
    fn by_files(
        &self,
        name: VaryingName,
        question: BindingQuestion<'a>,
        bound: &mut ScopeResults<'_, 'a>,
    ) -> usize {
        let root = self.closure.module(ROOT).file;
        let is_present = |file| self.present.place(file).is_some();
        bound.files.clear();
        let scope = (root, &self.present.files[..]);
        self.shared.names.in_scope(name, scope, is_present, &mut bound.files);
        bound.files.sort_unstable_by_key(|file| self.present.place(*file));
        let query = question.query(self.release >= EXACT_FIRST);
        let start = bound.winners.len();
        bound.winners.extend(bound.files.iter().filter_map(|file| {
            let candidate = definition(self.view().object(*file)?, &query, EVERY_VERSION)?;
            Some(Winner { module: self.present.module(*file)?, candidate })
        }));
        self.push(question, start, bound)
    }

    /// Answers a question from all objects of the scope. Returns the index of the question in
    /// `found`.
    fn by_scope(
        &self,
        question: BindingQuestion<'a>,
        bound: &mut ScopeResults<'_, 'a>,
    ) -> Result<usize, Vec<Need>> {
        let start = bound.winners.len();
        let query = question.query(self.release >= EXACT_FIRST);
        bound.winners.extend(self.scope()?.answers(&query));
        Ok(self.push(question, start, bound))
    }

    /// Adds a question with the answers from `start` on.
    fn push(
        &self,
        question: BindingQuestion<'a>,
        start: usize,
        bound: &mut ScopeResults<'_, 'a>,
    ) -> usize {
        let decides_alone = |Winner { candidate, .. }: &Winner| {
            !candidate.undefined
                && elf::SymbolBind(candidate.bind) != elf::STB_GNU_UNIQUE
                && !(candidate.versionless && self.release < NO_ASSERT)
        };
        let first_wins = bound.winners[start..].iter().all(decides_alone);
        let winners = start..bound.winners.len();
        bound.found.push(AnsweredQuestion { question, next: None, winners, first_wins });
        bound.found.len() - 1
    }
}

fn listed(list: Vec<Relocation>) -> Relocations {
    Relocations { list, defects: Vec::new() }
}
