//! Contested names: a name is contested if two libraries of one scope have definitions of it
//! that are not interchangeable. Most names with several definitions are inline functions and
//! templates, which are interchangeable.
//!
//! [`Contested::find`] finds contested names and the libraries that define or use them, from the
//! hash tables and references of libraries. [`Contested::take`] stores the relocations of these
//! libraries that use a contested name. `answer` binds these relocations under the entry points
//! that load two definitions. Entry points with the same `Decisive` key share one answer.
//!
//! References of the program itself are skipped, because the scope of a program is always its own
//! closure.

use super::alike::{are_alike, is_part_of_libc};
use super::decisive::Decisive;
use super::question::{BindingQuestion, QuestionKey};
use super::round_set::RoundSet;
use super::together::Together;
use super::words::{self, Defined, HashWord, WordSet, grouped, hashed};
use super::{Definition, DuplicateName, QueryInput, Referrer, Sources, is_glibc};
use crate::bind::entry_point::starts;
use crate::bind::lookup::{Scope, Winner};
use crate::bind::relocation_pass::{EXACT_FIRST, RelocationPass};
use crate::bind::{Binding, RootBinding, Unique};
use crate::facts::{Need, View, replacing::is_replaceable};
use crate::format::elf::machine::LookupClass;
use crate::format::elf::relocs::{Relocation, Relocations};
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, SymbolIndex, hash};
use crate::id::{FastMap, FastSet, FileId, Id as _, ModuleId};
use crate::order::Arrange as _;
use crate::parallel;
use crate::resolve::{Closure, LOADER, ROOT};
use object::elf;
use rayon::prelude::*;

/// A contested name, as an index in [`Contested::hashes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct ContestedName(u32);

/// The contested names, and the files that define or use them.
#[derive(Default)]
pub struct Contested {
    /// By file: the names that it defines, ascending.
    defined: FastMap<FileId, Vec<ContestedName>>,
    /// By file: its symbols with a contested name. [`Self::take`] replaces them by relocations.
    used: FastMap<FileId, Vec<Used>>,
    /// By file: the relocations that use a contested name, in the loader's order.
    relocations: FastMap<FileId, Vec<(Relocation, ContestedName)>>,
    /// By file: the names in `relocations`, ascending.
    referred: FastMap<FileId, Vec<ContestedName>>,
    /// Names with a unique definition (STB_GNU_UNIQUE): the first lookup binds the name for the
    /// whole process.
    unique: FastSet<ContestedName>,
    by_word: FastMap<HashWord, ContestedName>,
    /// By name: its GNU hash without the lowest bit.
    hashes: Vec<u32>,
    /// By file: contested names for which the file's linker added an absolute symbol, because a
    /// version that the file defines has the same name. This symbol is not a definition.
    versions: FastMap<FileId, Vec<ContestedName>>,
}

/// Sets of names that a worker reuses for each entry point.
#[derive(Default)]
pub(super) struct Marks {
    once: RoundSet,
    twice: RoundSet,
}

/// A symbol of a file, and the contested name that it has.
#[derive(Clone, Copy)]
struct Used {
    symbol: SymbolIndex,
    name: ContestedName,
}

/// The part of one library's hash table whose words occur in other libraries of a scope too.
#[derive(Default)]
struct InTable<'a> {
    /// Definitions, each with its word and its GNU hash without the lowest bit.
    defined: Vec<(HashWord, u32, Symbol<'a>)>,
    /// Words of the symbols that a linker made for versions.
    named_after_version: Vec<HashWord>,
}

/// The symbols in the hash table of a library whose words are in `shared`. `filter` holds the same
/// words, and quickly rejects most other words.
fn shared_definitions<'a>(
    view: View<'a>,
    file: FileId,
    filter: &WordSet,
    shared: &FastSet<HashWord>,
) -> InTable<'a> {
    let mut out = InTable::default();
    let Some(object) = view.object(file) else { return out };
    let Some((salt, tables)) = hashed(object) else { return out };
    tables.each_hashed(|hash, symbol| {
        let word = salt.word(hash);
        if filter.contains(word)
            && shared.contains(&word)
            && let Some(symbol) = tables.symbol(symbol)
            && !is_replaceable(symbol.name)
        {
            if is_version(object, &symbol) {
                out.named_after_version.push(word);
            } else {
                out.defined.push((word, hash & !1, symbol));
            }
        }
    });
    out
}

impl Contested {
    /// Finds the contested names under entry points with glibc's loader, or returns missing tables
    /// as needs.
    pub fn find(source: QueryInput<'_>) -> Result<Self, Vec<Need>> {
        let roots: Vec<&Closure> =
            source.closures.roots.iter().filter(|closure| is_glibc(source, closure)).collect();
        let libraries = libraries(source.view, &roots);
        let bare = |file: &&FileId| source.view.object(**file).is_some_and(|o| o.tables.is_none());
        let needs: Vec<Need> = libraries.iter().filter(bare).map(|f| Need::Tables(*f)).collect();
        if !needs.is_empty() {
            return Err(needs);
        }
        let together = Together::new(&libraries, &roots);
        let shared = words_of_two(source.view, &libraries, &together);
        let mut out = Self::default();
        let definers = out.name(source.view, &libraries, &shared);
        out.note_used(source.view, &libraries, &definers, &together);
        Ok(out)
    }

    /// Numbers the words of `shared` whose definitions differ. Returns their definers.
    fn name(
        &mut self,
        view: View<'_>,
        libraries: &[FileId],
        shared: &FastSet<HashWord>,
    ) -> Vec<Vec<FileId>> {
        let filter = WordSet::new(shared.len());
        shared.iter().for_each(|word| {
            filter.insert(*word);
        });
        let found =
            parallel::map(libraries, |file| shared_definitions(view, *file, &filter, shared));
        let (mut all, mut versions) = (Vec::new(), Vec::new());
        for (file, found) in libraries.iter().zip(found) {
            let InTable { defined, named_after_version } = found;
            all.extend(defined.into_iter().map(|(word, hash, symbol)| (word, *file, hash, symbol)));
            versions.extend(named_after_version.into_iter().map(|word| (*file, word)));
        }
        // A stable sort: the definitions of a name stay in the order of the libraries.
        all.par_sort_by_key(|(word, ..)| *word);
        let mut definers = Vec::new();
        let mut defined: FastMap<FileId, Vec<ContestedName>> = FastMap::default();
        for list in all.chunk_by(|a, b| a.0 == b.0) {
            let (word, _, hash, _) = list[0];
            let symbols = || list.iter().map(|(.., symbol)| symbol);
            let mut files: Vec<FileId> = list.iter().map(|(_, file, ..)| *file).collect();
            files.dedup();
            let Ok(number) = u32::try_from(definers.len()) else { break };
            let is_libc = |file: &FileId| view.object(*file).is_some_and(is_part_of_libc);
            if files.len() < 2 || are_alike(&symbols()) || files.iter().all(is_libc) {
                continue;
            }
            let name = ContestedName(number);
            self.by_word.insert(word, name);
            if symbols().any(|symbol| elf::SymbolBind(symbol.bind) == elf::STB_GNU_UNIQUE) {
                self.unique.insert(name);
            }
            for file in &files {
                defined.entry(*file).or_default().push(name);
            }
            definers.push(files);
            self.hashes.push(hash);
        }
        for (file, word) in versions {
            if let Some(name) = self.by_word.get(&word) {
                self.versions.entry(file).or_default().push(*name);
            }
        }
        self.defined = defined;
        definers
    }

    /// Lists the symbols of each library that have a contested name, if a scope of this library may
    /// load two files that define the name.
    fn note_used(
        &mut self,
        view: View<'_>,
        libraries: &[FileId],
        definers: &[Vec<FileId>],
        together: &Together,
    ) {
        let used = parallel::map(libraries, |file| self.used_by(view, *file, definers, together));
        let used = libraries.iter().copied().zip(used).filter(|(_, used)| !used.is_empty());
        self.used = used.collect();
    }

    /// The symbols of one library for [`Self::note_used`].
    fn used_by(
        &self,
        view: View<'_>,
        file: FileId,
        definers: &[Vec<FileId>],
        together: &Together,
    ) -> Vec<Used> {
        let mut used = Vec::new();
        let Some(object) = view.object(file) else { return used };
        let Some((salt, tables)) = hashed(object) else { return used };
        let is_near = |other: &&FileId| **other == file || together.knows(file, **other);
        let has_two = |name: &ContestedName| {
            definers[name.0 as usize].iter().filter(is_near).nth(1).is_some()
        };
        let mut near: FastMap<ContestedName, bool> = FastMap::default();
        let mut note = |symbol: SymbolIndex, word: HashWord| {
            if let Some(name) = self.by_word.get(&word)
                && *near.entry(*name).or_insert_with(|| has_two(name))
            {
                used.push(Used { symbol, name: *name });
            }
        };
        object.references.iter().for_each(|one| note(one.symbol, salt.word(one.hash)));
        if self.defined.contains_key(&file) {
            tables.each_hashed(|hash, symbol| note(symbol, salt.word(hash)));
        }
        // A lookup finds only definitions in the hash table. A reference to a definition outside of
        // the table therefore binds to another object.
        let unhashed = tables.unhashed_indices().filter_map(|index| tables.symbol(index));
        for symbol in unhashed.filter(|symbol| symbol.section != elf::SHN_UNDEF.0) {
            note(symbol.index, salt.word(hash::gnu(symbol.name)));
        }
        used
    }

    /// Stores the relocations of contested names. The error lists the relocations to read first.
    pub fn take(&mut self, view: View<'_>) -> Result<(), Vec<Need>> {
        let needs = self.used.keys().filter_map(|file| view.relocations(*file).err());
        let mut needs: Vec<Need> = needs.collect();
        if !needs.is_empty() {
            needs.sort_unstable();
            return Err(needs);
        }
        let mut met: FastSet<ContestedName> = FastSet::default();
        for (file, used) in std::mem::take(&mut self.used) {
            let names: FastMap<SymbolIndex, ContestedName> =
                used.iter().map(|u| (u.symbol, u.name)).collect();
            let all = view.relocations(file).map_err(|need| vec![need])?;
            let named =
                |relocation: &Relocation| Some((*relocation, *names.get(&relocation.symbol())?));
            let mut seen: FastSet<Relocation> = FastSet::default();
            let new = all.list.iter().filter_map(named).filter(|(one, _)| seen.insert(*one));
            let taken: Vec<_> = new.collect();
            let mut names: Vec<ContestedName> = taken.iter().map(|(_, name)| *name).collect();
            names.arrange();
            names.dedup();
            met.extend(&names);
            self.referred.insert(file, names);
            self.relocations.insert(file, taken);
        }
        self.defined.values_mut().for_each(|names| names.retain(|name| met.contains(name)));
        self.defined.retain(|_, names| !names.is_empty());
        Ok(())
    }

    /// The names, with their versions, that two libraries under the entry point of `closure` define
    /// and that a relocation uses.
    pub(super) fn answer(
        &self,
        source: QueryInput<'_>,
        closure: &Closure,
        bound: &RootBinding,
        marks: &mut Marks,
    ) -> Result<Vec<DuplicateName>, Vec<Need>> {
        let here: FastSet<ContestedName> = self.here(closure, bound, marks).into_iter().collect();
        if here.is_empty() {
            return Ok(Vec::new());
        }
        let hashes = self.hashes_of(closure, &here);
        let scope = Scope::new(closure, source.view, true)?
            .defining(|module| hashes.get(&module).map(Vec::as_slice).unwrap_or_default());
        let release = source.loader(closure).release;
        let unique = self.unique_of_host(source, closure, &here)?;
        let strings = source.strings;
        let mut pass = RelocationPass { closure, scope: &scope, strings, release, unique };
        let mut bindings = Vec::new();
        let started = source.started && starts(closure, source.view);
        for module in relocated(closure, started) {
            let part = self.part(closure, module, &here);
            if pass.relocate(module, &part, None, Some(&mut bindings)).1.is_some() {
                break;
            }
        }
        let sources = self.sources(source.view, &mut pass, &here, &bindings)?;
        Ok(duplicates(closure, (&scope, &sources), release >= EXACT_FIRST, &bindings))
    }

    /// The modules to which the program binds the names of `here`. Empty if no library binds to the
    /// program.
    fn sources(
        &self,
        view: View<'_>,
        pass: &mut RelocationPass<'_, '_>,
        here: &FastSet<ContestedName>,
        bindings: &[Binding],
    ) -> Result<Sources, Vec<Need>> {
        let may_copy = |file: &FileId| view.object(*file).is_some_and(|object| object.may_copy);
        let program = pass.closure.module(ROOT).file.filter(may_copy);
        let Some(program) = program.filter(|_| bindings.iter().any(|one| one.provider == ROOT))
        else {
            return Ok(Sources::default());
        };
        let mut part = self.part_of_program(view, program, here)?;
        // All copy relocations are added: the program may copy the same data under another name.
        let all = view.relocations(program).map_err(|need| vec![need])?;
        let is_copy = |relocation: &&Relocation| relocation.class() == LookupClass::Copy;
        part.list.extend(all.list.iter().filter(is_copy));
        let mut of_program = Vec::new();
        pass.relocate(ROOT, &part, None, Some(&mut of_program));
        Ok(Sources::new(&of_program, view.object(program)))
    }

    /// The properties of an entry point that determine its answer.
    pub(super) fn decisive(
        &self,
        source: QueryInput<'_>,
        closure: &Closure,
        bound: &RootBinding,
        marks: &mut Marks,
    ) -> Result<Decisive, Vec<Need>> {
        let here = self.here(closure, bound, marks);
        if here.is_empty() {
            return Ok(Decisive::default());
        }
        let is_here = |of: &FastMap<FileId, Vec<ContestedName>>, file: FileId| {
            let names = of.get(&file).into_iter().flatten();
            names.into_iter().any(|name| marks.twice.contains(name.0 as usize))
        };
        let mut out = Decisive::new(closure.root.loader.index());
        // The bindings of the host program itself decide unique definitions.
        if let Some(host) = closure.host()
            && here.iter().any(|name| self.unique.contains(name))
        {
            out.add_number(host.links_id());
            out.add_number(host.root.file.index());
        }
        for (module, file) in closure.in_scope() {
            let is_root = module == ROOT;
            let refers = !is_root && is_here(&self.referred, file);
            let defines = || is_here(&self.defined, file) || is_here(&self.versions, file);
            if refers || defines() || is_root && self.may_define(source.view, file, marks)? {
                out.add(module, file, closure.module(module).version_limit);
            }
        }
        let started = source.started && starts(closure, source.view);
        for module in relocated(closure, started) {
            let file = closure.module(module).file;
            if let Some(file) = file.filter(|file| is_here(&self.referred, *file)) {
                out.add_relocated(module, file);
            }
        }
        Ok(out)
    }

    /// True if the hash table of a file lists the hash of one of the names in `marks.twice`.
    fn may_define(&self, view: View<'_>, file: FileId, marks: &Marks) -> Result<bool, Vec<Need>> {
        let Some(object) = view.object(file) else { return Ok(false) };
        let Some((salt, tables)) = hashed(object) else { return Err(vec![Need::Tables(file)]) };
        let mut found = false;
        tables.each_word(|hash| {
            let name = || self.by_word.get(&salt.word(hash));
            found = found || name().is_some_and(|name| marks.twice.contains(name.0 as usize));
        });
        Ok(found)
    }

    /// The names that at least two modules in the scope of `closure` define, without counting the
    /// program ([`ROOT`]). `marks.twice` receives the same names. Empty if the loader stops.
    fn here(
        &self,
        closure: &Closure,
        bound: &RootBinding,
        marks: &mut Marks,
    ) -> Vec<ContestedName> {
        if bound.checked.stop.is_some() || bound.abort.is_some() || closure.fatal().is_some() {
            return Vec::new();
        }
        marks.once.start(self.hashes.len());
        marks.twice.start(self.hashes.len());
        let files = closure.in_scope().filter(|(module, _)| *module != ROOT);
        let names = files.filter_map(|(_, file)| self.defined.get(&file)).flatten();
        let again = |name: &&ContestedName| {
            let at = name.0 as usize;
            !marks.once.insert(at) && marks.twice.insert(at)
        };
        names.filter(again).copied().collect()
    }

    /// By module: the hashes of those names in `here` that are in the module's hash table.
    fn hashes_of(
        &self,
        closure: &Closure,
        here: &FastSet<ContestedName>,
    ) -> FastMap<ModuleId, Vec<u32>> {
        let mut out = FastMap::default();
        for (module, file) in closure.in_scope() {
            let names = [&self.defined, &self.versions].map(|of| of.get(&file));
            let names = names.into_iter().flatten().flatten().filter(|name| here.contains(*name));
            let mut hashes: Vec<u32> = names.map(|name| self.hashes[name.0 as usize]).collect();
            hashes.arrange();
            hashes.dedup();
            if !hashes.is_empty() {
                out.insert(module, hashes);
            }
        }
        out
    }

    /// The relocations of a module that use the names of `here`.
    fn part(
        &self,
        closure: &Closure,
        module: ModuleId,
        here: &FastSet<ContestedName>,
    ) -> Relocations {
        let file = closure.module(module).file;
        let all = file.and_then(|file| self.relocations.get(&file)).map_or(&[][..], |list| list);
        let used = all.iter().filter(|(_, name)| here.contains(name));
        Relocations { list: used.map(|(relocation, _)| *relocation).collect(), defects: Vec::new() }
    }

    /// The unique definitions of names in `here` that the plugin's host program has bound already.
    fn unique_of_host(
        &self,
        source: QueryInput<'_>,
        closure: &Closure,
        here: &FastSet<ContestedName>,
    ) -> Result<Unique, Vec<Need>> {
        let unique: FastSet<ContestedName> = here.intersection(&self.unique).copied().collect();
        let Some(host) = closure.host().filter(|_| !unique.is_empty()) else {
            return Ok(Unique::default());
        };
        let scope = Scope::new(host, source.view, true)?;
        let (strings, release) = (source.strings, source.loader(closure).release);
        let unique_so_far = Unique::default();
        let mut pass = RelocationPass {
            closure: host,
            scope: &scope,
            strings,
            release,
            unique: unique_so_far,
        };
        for module in host.order().iter().copied().filter(|module| *module != LOADER) {
            let part = match host.module(module).file.filter(|_| module == ROOT) {
                Some(program) => self.part_of_program(source.view, program, &unique)?,
                None => self.part(host, module, &unique),
            };
            pass.relocate(module, &part, None, None);
        }
        Ok(pass.unique)
    }

    /// The relocations of a program that use the names of `here`.
    fn part_of_program(
        &self,
        view: View<'_>,
        program: FileId,
        here: &FastSet<ContestedName>,
    ) -> Result<Relocations, Vec<Need>> {
        let all = view.relocations(program).map_err(|need| vec![need])?;
        let Some(object) = view.object(program) else { return Ok(Relocations::default()) };
        let salt = words::Salt::of(object);
        let is_used = |relocation: &&Relocation| {
            let word = salt.word(hash::gnu(object.symbol_name(relocation.symbol())));
            self.by_word.get(&word).is_some_and(|name| here.contains(name))
        };
        let list = all.list.iter().filter(is_used).copied().collect();
        Ok(Relocations { list, defects: Vec::new() })
    }
}

/// The modules in the order of their relocation, without [`ROOT`].
fn relocated(closure: &Closure, started: bool) -> impl Iterator<Item = ModuleId> {
    let modules = closure.order().iter().copied().filter(|module| *module != LOADER);
    modules.chain(started.then_some(LOADER)).filter(|module| *module != ROOT)
}

/// The files that other objects load under the entry points `roots`.
fn libraries(view: View<'_>, roots: &[&Closure]) -> Vec<FileId> {
    let mut seen: FastSet<FileId> = FastSet::default();
    let mut links: FastSet<usize> = FastSet::default();
    let new = roots.iter().filter(|closure| links.insert(closure.links_id()));
    let scopes = new.flat_map(|closure| closure.in_scope());
    let others = scopes.filter(|(module, _)| *module != ROOT).map(|(_, file)| file);
    others.filter(|file| view.object(*file).is_some() && seen.insert(*file)).collect()
}

/// The words that occur in the hash tables of at least two files of one scope.
fn words_of_two(view: View<'_>, libraries: &[FileId], together: &Together) -> FastSet<HashWord> {
    let (_, twice) = words::twice(view, libraries);
    let in_file = |file: &FileId| {
        let mut out: Vec<Defined> = Vec::new();
        if let Some((salt, tables)) = view.object(*file).and_then(hashed) {
            tables.each_word(|hash| {
                let word = salt.word(hash);
                if twice.contains(word) {
                    out.push(Defined { word, file: *file });
                }
            });
        }
        out
    };
    let defined: Vec<Defined> = libraries.par_iter().flat_map_iter(in_file).collect();
    let defined = grouped(&defined);
    let mut row = Vec::new();
    let groups = defined.chunk_by(|a, b| a.word == b.word).filter(|group| group.len() > 1);
    let groups = groups.filter(|group| together.has_two_of(group, &mut row));
    groups.map(|group| group[0].word).collect()
}

/// The names in `bindings` that two libraries define differently, sorted by name and version.
fn duplicates(
    closure: &Closure,
    (scope, sources): (&Scope<'_>, &Sources),
    exact_first: bool,
    bindings: &[Binding],
) -> Vec<DuplicateName> {
    let mut places: FastMap<QuestionKey<'_>, Option<usize>> = FastMap::default();
    let mut out: Vec<DuplicateName> = Vec::new();
    for Binding { module, symbol, provider } in bindings.iter().copied() {
        let Some(object) = scope.object(module) else { continue };
        let limit = closure.module(module).version_limit;
        let question = BindingQuestion::of(object, symbol, limit);
        let place = *places.entry(question.key()).or_insert_with(|| {
            let definitions = definitions((closure, scope, sources), &question, exact_first)?;
            out.push(DuplicateName {
                name: question.name.into(),
                version: question.version.map(|version| version.name.into()),
                definitions,
                referrers: Vec::new(),
            });
            Some(out.len() - 1)
        });
        if let Some(place) = place {
            out[place].referrers.push(Referrer { module, symbol, winner: provider });
        }
    }
    for name in &mut out {
        name.referrers.sort_unstable();
        name.referrers.dedup();
    }
    out.arrange_by(|a, b| (&a.name, &a.version).cmp(&(&b.name, &b.version)));
    out
}

/// The definitions that can satisfy `question`; `None` unless those of two libraries differ.
fn definitions(
    (closure, scope, sources): (&Closure, &Scope<'_>, &Sources),
    question: &BindingQuestion<'_>,
    exact_first: bool,
) -> Option<Box<[Definition]>> {
    let query = question.query(exact_first);
    let answers = scope.answers(&query);
    let with_symbol =
        |winner: Winner| Some((winner, symbol(scope.object(winner.module)?, winner)?));
    let all: Vec<(Winner, Symbol<'_>)> = answers
        .filter_map(with_symbol)
        .filter(|(winner, symbol)| defines(winner, symbol))
        .collect();
    let others = || all.iter().filter(|(winner, _)| winner.module != ROOT);
    let is_libc = |(winner, _): &(Winner, Symbol<'_>)| {
        scope.object(winner.module).is_some_and(is_part_of_libc)
    };
    let alike = || are_alike(&others().map(|(_, symbol)| symbol));
    // The loader may map one file twice.
    let file = |(winner, _): &(Winner, Symbol<'_>)| closure.module(winner.module).file;
    let files: FastSet<Option<FileId>> = others().map(file).collect();
    if files.len() < 2 || is_replaceable(question.name) || alike() || others().all(is_libc) {
        return None;
    }
    let definition =
        |(winner, symbol): &(Winner, Symbol<'_>)| Definition::of(winner.module, symbol, sources);
    Some(all.iter().map(definition).collect())
}

/// True for the absolute symbol that linkers add for a version definition.
fn is_version(object: &Object, symbol: &Symbol<'_>) -> bool {
    symbol.section == elf::SHN_ABS.0
        && object.versions.defs.iter().any(|def| object.str(def.name) == symbol.name)
}

fn symbol(object: &Object, winner: Winner) -> Option<Symbol<'_>> {
    object.tables.as_ref()?.symbol(winner.candidate.symbol)
}

/// True for a definition, and for an undefined symbol with a value. False for a thread-local symbol
/// without a value: its relocations require definitions (`elf_machine_type_class`).
fn defines(winner: &Winner, symbol: &Symbol<'_>) -> bool {
    !winner.candidate.undefined || symbol.value != 0
}
