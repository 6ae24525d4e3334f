//! Plugins whose host program is inferred. A shared object that nothing needs, and that lacks symbols
//! or libraries, is taken for a plugin of an audited program if that program has all of them from its
//! start and can open plugins. The result is an assumption: it is counted and named, and
//! `--no-inferred-hosts` turns it off.
//!
//! Each condition keeps a real defect from being excused:
//! - the object has no soname such as `libfoo.so.1` and lies outside of the default directories: it is
//!   no library that something links with;
//! - *all* undefined symbols and missing libraries are there, with their versions. A missing library
//!   that the program has not loaded stays a finding with the symbols that belong to it;
//! - at least one symbol comes from the program itself or from a private library of it;
//! - few programs fit, or one of the plugin's own package: an object that forgot to name a common
//!   library fits hundreds;
//! - no policy claims a symbol: then it was lost in a link. One that an archive defines may have been
//!   lost too. It proves nothing, unless the archive is the static edition of the library that defines
//!   the symbol, and the proof must outweigh such symbols.
//!
//! A plugin may take the rest of its symbols from other plugins of that program, in its directory or
//! the one above or below, and from the libraries that they bring: zsh, uwsgi and dovecot have such.

mod programs;

use super::candidates::{Answer, LibraryCandidates};
use super::fate::{Open, Undefined};
use super::maker::missing_edges;
use super::{Claims, Source, object_of, stem};
use crate::bind::lookup::{Route, Scope, wanted};
use crate::facts::Need;
use crate::facts::providers::defined;
use crate::format::archive::Names;
use crate::format::elf::find::Query;
use crate::format::elf::{EVERY_VERSION, Object, Role, hash};
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::resolve::Closure;
use programs::{Programs, Set};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// If more programs than this fit, the host stays unknown.
const MOST_PROGRAMS: usize = 3;

/// Upper bound for the programs of a plugin's own package that are looked at exactly.
const MOST_LOOKED_AT: usize = 64;

/// Plugins of programs that were not named, each with its program.
#[derive(Debug, Default)]
pub struct Inferred(FastMap<FileId, Host>);

/// The program of a plugin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// The program.
    pub(super) program: FileId,
    /// The program has not loaded the libraries that the plugin lacks: those stay missing.
    pub(super) keeps_missing: bool,
}

impl Inferred {
    /// Infers the host programs; or returns the missing facts. `hosts` has the closures of programs:
    /// those of the run, or those of the system below a stage.
    pub fn find<'a>(
        source: Source<'a>,
        hosts: Source<'a>,
        open: &Undefined,
        claims: Claims<'a>,
        libraries: &LibraryCandidates,
    ) -> Result<Self, Vec<Need>> {
        let mut plugins = plugins(source, open, claims, libraries);
        if plugins.is_empty() {
            return Ok(Self::default());
        }
        let sonames: FastSet<&[u8]> = plugins.iter().flat_map(|p| &p.missing).copied().collect();
        let mut programs = Programs::new(hosts, &sonames);
        // A program links with the files that it loads at its start.
        plugins.retain(|plugin| !programs.load_at_start(plugin.file) && plugin.may_fit(&programs));
        if plugins.is_empty() {
            return Ok(Self::default());
        }
        let mut names = Names::default();
        for reference in plugins.iter().flat_map(|plugin| &plugin.references) {
            names.insert(reference.name, hash::gnu(reference.name));
        }
        programs.define(hosts, &names)?;
        let mut search = Search { source, hosts, programs, scopes: FastMap::default() };
        let mut hosted = Hosted::new(source, &names);
        for root in complete(source, open) {
            hosted.insert(root);
        }
        let mut out = FastMap::default();
        let mut rest: Vec<&Plugin<'a>> = plugins.iter().collect();
        // Each round may find the plugins that those of the round before serve.
        loop {
            let before = rest.len();
            let mut left = Vec::new();
            for plugin in rest {
                match search.host(plugin, &hosted)? {
                    Some(host) => {
                        hosted.insert(plugin.root);
                        out.insert(plugin.file, host);
                    }
                    None => left.push(plugin),
                }
            }
            rest = left;
            if rest.len() == before {
                return Ok(Self(out));
            }
        }
    }

    /// Adds the programs of plugins that `self` has none for.
    pub fn add(&mut self, other: Self) {
        for (plugin, host) in other.0 {
            self.0.entry(plugin).or_insert(host);
        }
    }

    /// True if a shared object that may be a plugin has no program.
    pub fn lacks_any(
        &self,
        source: Source<'_>,
        open: &Undefined,
        claims: Claims<'_>,
        libraries: &LibraryCandidates,
    ) -> bool {
        let plugins = plugins(source, open, claims, libraries);
        plugins.iter().any(|plugin| !self.0.contains_key(&plugin.file))
    }

    /// The program that loads the entry point of a closure.
    pub(super) fn of(&self, closure: &Closure) -> Option<Host> {
        self.0.get(&closure.root.file).copied().filter(|_| closure.root.host.is_none())
    }
}

/// A reference without definition.
#[derive(Clone, Copy)]
struct Reference<'a> {
    object: &'a Object,
    name: &'a [u8],
    /// Version index.
    version: u16,
    /// It belongs to a missing library, by its version or because a candidate defines it.
    of_missing: bool,
}

/// A shared object that may be a plugin.
struct Plugin<'a> {
    source: Source<'a>,
    claims: Claims<'a>,
    root: RootId,
    file: FileId,
    /// All references that are open.
    references: Vec<Reference<'a>>,
    /// The names of all libraries that were not found.
    missing: Vec<&'a [u8]>,
}

/// The shared objects that lack something and may be plugins.
fn plugins<'a>(
    source: Source<'a>,
    open: &Undefined,
    claims: Claims<'a>,
    libraries: &LibraryCandidates,
) -> Vec<Plugin<'a>> {
    let lists: FastMap<RootId, &[Open]> = open.lists().collect();
    let plugin = |(root, closure): (RootId, &'a Closure)| {
        let list = lists.get(&root).copied().unwrap_or_default();
        let missing = missing(source, closure);
        let file = closure.root.file;
        let object = source.view.object(file).filter(|object| object.role == Role::Shared)?;
        let may = closure.root.host.is_none()
            && closure.fatal().is_none()
            && closure.failures().iter().all(|failure| failure.file.is_none())
            && !(list.is_empty() && missing.is_empty())
            && !object.soname().is_some_and(is_versioned)
            && !is_default(source, closure, &source.view.file(file).path);
        if !may {
            return None;
        }
        let unmet = list.iter().filter(|open| open.host.is_none());
        let reference = |open: &Open| {
            let object = object_of(source.view, closure, open.module)?;
            let name = object.symbol_name(open.symbol);
            let of_missing = missing.iter().any(|library| {
                let file = object.versions.entry(open.version).map(|entry| entry.file);
                file.map_or_else(
                    || {
                        libraries.ask(source, library, object.header.target(), name)
                            == Answer::Defined
                    },
                    |file| file.is_some_and(|file| object.str(file) == *library),
                )
            });
            Some(Reference { object, name, version: open.version, of_missing })
        };
        let references: Vec<Reference<'_>> = unmet.filter_map(reference).collect();
        let is_claimed =
            |reference: &Reference<'_>| claims.policy_claims(source, file, reference.name);
        let lost = references.is_empty() || references.iter().any(is_claimed);
        (!lost).then_some(Plugin { source, claims, root, file, references, missing })
    };
    source.closures.roots.entries().filter_map(plugin).collect()
}

/// The shared objects without undefined symbols and missing libraries: they may serve plugins beside
/// them.
fn complete(source: Source<'_>, open: &Undefined) -> impl Iterator<Item = RootId> {
    let lacking: FastSet<RootId> = open.lists().map(|(root, _)| root).collect();
    source.closures.roots.entries().filter_map(move |(root, closure)| {
        let file = closure.root.file;
        let is_complete = source.view.object(file)?.role == Role::Shared
            && closure.root.host.is_none()
            && !lacking.contains(&root)
            && !closure.lacks_any()
            && !is_default(source, closure, &source.view.file(file).path);
        is_complete.then_some(root)
    })
}

/// The names of libraries that were not found, each once.
fn missing<'a>(source: Source<'a>, closure: &'a Closure) -> Vec<&'a [u8]> {
    let edges = missing_edges(closure);
    let mut out: Vec<&[u8]> = edges.map(|(_, edge)| source.strings.text(edge.name)).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// True for a name such as `libfoo.so.1`: the linker looks for libraries by names that begin with
/// `lib`.
fn is_versioned(soname: &[u8]) -> bool {
    let mut ends = memchr::memmem::find_iter(soname, b".so.");
    let is_number = |at: usize| soname.get(at + 4).is_some_and(u8::is_ascii_digit);
    soname.starts_with(b"lib") && ends.any(is_number)
}

/// The directory of a file.
fn dir(source: Source<'_>, file: FileId) -> &Path {
    let path: &Path = &source.view.file(file).path;
    path.parent().unwrap_or(path)
}

/// True for a file in a default directory of the loader.
fn is_default(source: Source<'_>, closure: &Closure, path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path).as_os_str().as_encoded_bytes();
    let mut system = source.loaders.get(closure.root.loader).system_dirs.iter();
    system.any(|known| source.strings.text(*known).strip_suffix(b"/") == Some(dir))
}

/// The symbols that plugins of known programs define, and the libraries that they bring, by the
/// directory of the plugin and the one above.
struct Hosted<'a, 'n> {
    source: Source<'a>,
    /// The symbols that are asked for.
    names: &'n Names,
    /// Those that a file defines, memoised.
    defined: FastMap<FileId, Vec<&'a [u8]>>,
    by_dir: FastMap<&'a Path, FastSet<&'a [u8]>>,
}

impl<'a, 'n> Hosted<'a, 'n> {
    fn new(source: Source<'a>, names: &'n Names) -> Self {
        Self { source, names, defined: FastMap::default(), by_dir: FastMap::default() }
    }

    /// Adds a plugin by its entry point.
    fn insert(&mut self, root: RootId) {
        let Source { view, closures, .. } = self.source;
        let closure = &closures.roots[root];
        let dir = dir(self.source, closure.root.file);
        for (_, file) in closure.found() {
            let tables = || view.object(file)?.tables.as_ref();
            let names = self.names;
            let found = self.defined.entry(file).or_insert_with(|| {
                let found = tables().map(|tables| defined(tables, names)).unwrap_or_default();
                found.into_iter().map(|(name, _)| name).collect()
            });
            for dir in dir.ancestors().take(2) {
                self.by_dir.entry(dir).or_default().extend(found.iter().copied());
            }
        }
    }

    /// True if a plugin in the directory of `plugin`, the one above, or one in it defines the symbol.
    fn serves(&self, plugin: &Plugin<'a>, symbol: &[u8]) -> bool {
        let mut dirs = dir(self.source, plugin.file).ancestors().take(2);
        dirs.any(|dir| self.by_dir.get(dir).is_some_and(|names| names.contains(symbol)))
    }
}

impl Plugin<'_> {
    /// False if no program can be the host: none has loaded all missing libraries, and all undefined
    /// symbols belong to those.
    fn may_fit(&self, programs: &Programs) -> bool {
        let is_loaded = |name: &&[u8]| programs.loading(name).is_some();
        self.missing.iter().all(is_loaded) || self.references.iter().any(|r| !r.of_missing)
    }

    /// True if no archive claims a symbol. An archive does not claim it from `winner`, the library that
    /// defines the symbol, if it is the static edition of that library.
    fn is_unclaimed(&self, reference: Reference<'_>, winner: Option<FileId>) -> bool {
        let path = |file: FileId| self.source.view.file(file).path.as_os_str().as_bytes();
        let target = reference.object.header.target();
        let mut archives = self.claims.archives(self.file, target, reference.name);
        archives.all(|archive| winner.is_some_and(|file| stem(path(archive)) == stem(path(file))))
    }
}

/// The search for the program of each plugin.
struct Search<'a> {
    source: Source<'a>,
    /// The closures of programs.
    hosts: Source<'a>,
    programs: Programs,
    /// Startup scopes of programs.
    scopes: FastMap<RootId, Scope<'a>>,
}

impl<'a> Search<'a> {
    /// The host program of a plugin, if the conditions hold for one. `hosted` has the plugins that
    /// were inferred before.
    fn host(
        &mut self,
        plugin: &Plugin<'a>,
        hosted: &Hosted<'a, '_>,
    ) -> Result<Option<Host>, Vec<Need>> {
        let needs_library = !plugin.missing.is_empty();
        for keeps_missing in [false, true].into_iter().take(1 + usize::from(needs_library)) {
            for others in [None, Some(hosted)] {
                if let Some(program) = self.program(plugin, others, keeps_missing)? {
                    let program = self.hosts.closures.roots[program].root.file;
                    return Ok(Some(Host { program, keeps_missing }));
                }
            }
        }
        Ok(None)
    }

    fn program(
        &mut self,
        plugin: &Plugin<'a>,
        others: Option<&Hosted<'a, '_>>,
        keeps_missing: bool,
    ) -> Result<Option<RootId>, Vec<Need>> {
        let references = plugin.references.iter().filter(|r| !(keeps_missing && r.of_missing));
        let references: Vec<Reference<'a>> = references.copied().collect();
        let serves = |reference: &Reference<'a>| {
            others.is_some_and(|others| others.serves(plugin, reference.name))
        };
        let from_program = references.iter().filter(|reference| !serves(reference));
        let from_program: Vec<Reference<'a>> = from_program.copied().collect();
        let mut fitting = self.programs.all();
        for reference in &from_program {
            let Some(defining) = self.programs.defining(reference.name) else { return Ok(None) };
            fitting.keep(defining);
        }
        for name in plugin.missing.iter().filter(|_| !keeps_missing) {
            let Some(loading) = self.programs.loading(name) else { return Ok(None) };
            fitting.keep(loading);
        }
        let own = self.own(plugin, &references, &fitting);
        let few = fitting.count() <= MOST_PROGRAMS;
        let list = if few { fitting.members() } else { own.members() };
        for program in list.into_iter().take(MOST_LOOKED_AT) {
            let root = self.programs.root(program);
            if self.is_met(plugin, root, &references, others)? {
                return Ok(Some(root));
            }
        }
        Ok(None)
    }

    /// Those of the plugin's own package: they take a symbol from a private library that lies where
    /// the plugin does or above, or are of the same store item.
    fn own(&self, plugin: &Plugin<'a>, references: &[Reference<'a>], fitting: &Set) -> Set {
        let Source { view, closures, .. } = self.source;
        let closure = &closures.roots[plugin.root];
        let path = &*view.file(plugin.file).path;
        let mut out = self.programs.none();
        for reference in references {
            for library in self.programs.definers(reference.name) {
                let file = &*view.file(*library).path;
                let above = file.parent().is_some_and(|dir| path.starts_with(dir));
                if above && !is_default(self.source, closure, file) {
                    out.add(self.programs.with(*library));
                }
            }
        }
        let item = crate::package::store_item(path);
        if item.is_some() {
            for program in fitting.members() {
                let file = self.hosts.closures.roots[self.programs.root(program)].root.file;
                if crate::package::store_item(&view.file(file).path) == item {
                    out.insert(program);
                }
            }
        }
        out.keep(fitting);
        out
    }

    /// True if the startup scope of a program has every symbol in its version, or a plugin of `others`
    /// has it. More symbols must come from the program or a private library than archives claim.
    fn is_met(
        &mut self,
        plugin: &Plugin<'a>,
        program: RootId,
        references: &[Reference<'a>],
        others: Option<&Hosted<'a, '_>>,
    ) -> Result<bool, Vec<Need>> {
        let hosts = self.hosts;
        let closure = &hosts.closures.roots[program];
        let scope = self.scope(program)?;
        let (mut private, mut claimed) = (0_usize, 0_usize);
        let mut rest: Vec<Reference<'a>> = Vec::new();
        for reference in references {
            let Reference { object, name, version, .. } = *reference;
            let version = wanted(object, version, EVERY_VERSION);
            let query = Query::new(name, hash::gnu(name), version);
            let Some(winner) = scope.lookup(&query, Route::default()) else {
                rest.push(*reference);
                continue;
            };
            let file = closure.module(winner.module).file;
            let is_private = file.is_some_and(|file| {
                file == closure.root.file
                    || !is_default(hosts, closure, &hosts.view.file(file).path)
            });
            let is_own = plugin.is_unclaimed(*reference, file);
            claimed += usize::from(!is_own);
            private += usize::from(is_own && is_private);
        }
        claimed += rest.iter().filter(|reference| !plugin.is_unclaimed(**reference, None)).count();
        let serves = |reference: &Reference<'a>| {
            others.is_some_and(|others| others.serves(plugin, reference.name))
        };
        Ok(private > claimed && rest.iter().all(serves))
    }

    fn scope(&mut self, program: RootId) -> Result<&Scope<'a>, Vec<Need>> {
        let Source { view, closures, .. } = self.hosts;
        if !self.scopes.contains_key(&program) {
            let scope = Scope::new(&closures.roots[program], view, true)?;
            self.scopes.insert(program, scope);
        }
        Ok(&self.scopes[&program])
    }
}
