//! Plugins whose host program is inferred. A shared object that nothing needs, and that lacks symbols
//! or libraries, is taken for a plugin of an audited program if that program has all of them from its
//! start and can open plugins. The result is an assumption: it is counted and named, and
//! `--no-inferred-hosts` turns it off.
//!
//! Each condition keeps a real defect from being excused:
//! - the object has no versioned soname and lies outside of the default directories: it is no library
//!   that something links with;
//! - *all* undefined symbols and missing libraries are there, with their versions;
//! - at least one symbol comes from the program itself or from a private library of it;
//! - few programs fit, or one of the plugin's own package: an object that forgot to name a common
//!   library fits hundreds;
//! - no archive and no policy claims a symbol: then it was lost in a link.
//!
//! A plugin may take the rest of its symbols from other plugins of that program in its directory.

mod programs;

use super::fate::{Open, Undefined};
use super::{Claims, Source, object_of};
use crate::bind::lookup::{Route, Scope, wanted};
use crate::facts::Need;
use crate::format::archive::Names;
use crate::format::elf::find::Query;
use crate::format::elf::{EVERY_VERSION, NeedKind, Object, Role, hash};
use crate::id::{FastMap, FastSet, FileId, RootId, StrId};
use crate::resolve::{Closure, How};
use programs::{Programs, Set};
use std::path::Path;

/// More programs than this do not tell whose plugin an object is.
const MOST_PROGRAMS: usize = 3;

/// Upper bound for the programs of a plugin's own package that are looked at exactly.
const MOST_LOOKED_AT: usize = 64;

/// Plugins of programs that were not named, each with its program.
#[derive(Debug, Default)]
pub struct Inferred(FastMap<FileId, FileId>);

impl Inferred {
    /// Infers the host programs; or returns the missing facts.
    pub fn find(
        source: Source<'_>,
        open: &Undefined,
        claims: Claims<'_>,
    ) -> Result<Self, Vec<Need>> {
        let mut plugins = plugins(source, open, claims);
        if plugins.is_empty() {
            return Ok(Self::default());
        }
        let mut names = Names::default();
        let mut sonames: FastSet<StrId> = FastSet::default();
        for plugin in &plugins {
            for reference in &plugin.references {
                names.insert(reference.name, hash::gnu(reference.name));
            }
            sonames.extend(&plugin.missing);
        }
        let programs = Programs::find(source, &names, &sonames)?;
        // What a program loads at its start is a library.
        plugins.retain(|plugin| !programs.load(plugin.file));
        let mut scopes = Scopes { source, known: FastMap::default() };
        let mut hosted = Hosted { source, by_dir: FastMap::default() };
        let mut out = FastMap::default();
        let mut rest = Vec::new();
        for plugin in &plugins {
            match plugin.host(&programs, &mut scopes)? {
                Some(program) => hosted.insert(plugin, program, &mut out),
                None => rest.push(plugin),
            }
        }
        // Each round may find the plugins that those of the round before serve.
        loop {
            let before = rest.len();
            let mut left = Vec::new();
            for plugin in rest {
                match hosted.host(plugin, &programs, &mut scopes)? {
                    Some(program) => hosted.insert(plugin, program, &mut out),
                    None => left.push(plugin),
                }
            }
            rest = left;
            if rest.len() == before {
                return Ok(Self(out));
            }
        }
    }

    /// The program that loads the entry point of a closure.
    pub(super) fn of(&self, closure: &Closure) -> Option<FileId> {
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
}

/// A shared object that may be a plugin.
struct Plugin<'a> {
    source: Source<'a>,
    root: RootId,
    file: FileId,
    /// All references that are open.
    references: Vec<Reference<'a>>,
    /// The names of all libraries that were not found.
    missing: Vec<StrId>,
}

/// The shared objects that lack something and may be plugins.
fn plugins<'a>(source: Source<'a>, open: &Undefined, claims: Claims<'_>) -> Vec<Plugin<'a>> {
    let lists: FastMap<RootId, &[Open]> = open.lists().collect();
    let plugin = |(root, closure): (RootId, &'a Closure)| {
        let list = lists.get(&root).copied().unwrap_or_default();
        let missing = missing(closure);
        let file = closure.root.file;
        let object = source.view.object(file).filter(|object| object.role == Role::Shared)?;
        let may = closure.root.host.is_none()
            && closure.fatal().is_none()
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
            Some(Reference { object, name, version: open.version })
        };
        let references: Vec<Reference<'_>> = unmet.filter_map(reference).collect();
        let is_claimed = |reference: &Reference<'_>| {
            let target = reference.object.header.target();
            claims.claim(source, file, target, reference.name)
        };
        let lost = references.is_empty() || references.iter().any(is_claimed);
        (!lost).then_some(Plugin { source, root, file, references, missing })
    };
    source.closures.roots.entries().filter_map(plugin).collect()
}

/// The names of libraries that were not found, each once.
fn missing(closure: &Closure) -> Vec<StrId> {
    if !closure.lacks_any() {
        return Vec::new();
    }
    let edges = closure.edges().iter().filter(|edge| edge.kind != NeedKind::Auxiliary);
    let edges = edges.filter(|edge| closure.module(edge.to).how == How::Missing);
    let mut out: Vec<StrId> = edges.map(|edge| edge.name).collect();
    out.sort_unstable();
    out.dedup();
    out
}

/// True for a name such as `libfoo.so.1`.
fn is_versioned(soname: &[u8]) -> bool {
    let mut ends = memchr::memmem::find_iter(soname, b".so.");
    ends.any(|at| soname.get(at + 4).is_some_and(u8::is_ascii_digit))
}

/// True for a file in a default directory of the loader.
fn is_default(source: Source<'_>, closure: &Closure, path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path).as_os_str().as_encoded_bytes();
    let mut system = source.loaders.get(closure.root.loader).system_dirs.iter();
    system.any(|known| source.strings.text(*known).strip_suffix(b"/") == Some(dir))
}

impl<'a> Plugin<'a> {
    /// The program, if one is certain enough.
    fn host(
        &self,
        programs: &Programs,
        scopes: &mut Scopes<'a>,
    ) -> Result<Option<RootId>, Vec<Need>> {
        let Some(fitting) = self.fitting(programs) else { return Ok(None) };
        let own = self.own(programs, &fitting);
        let few = fitting.count() <= MOST_PROGRAMS;
        let list = if few { fitting.members() } else { own.members() };
        for program in list.into_iter().take(MOST_LOOKED_AT) {
            let root = programs.root(program);
            if self.is_met(root, scopes, &[])? {
                return Ok(Some(root));
            }
        }
        Ok(None)
    }

    /// The programs that define all symbols, whatever their versions, and have loaded all libraries.
    fn fitting(&self, programs: &Programs) -> Option<Set> {
        let mut out = programs.all();
        for reference in &self.references {
            out.keep(programs.defining(reference.name)?);
        }
        for name in &self.missing {
            out.keep(programs.loading(*name)?);
        }
        (out.count() > 0).then_some(out)
    }

    /// Those of the plugin's own package: they take a symbol from a private library that lies where
    /// the plugin does or above, or are of the same store item.
    fn own(&self, programs: &Programs, fitting: &Set) -> Set {
        let Source { view, closures, .. } = self.source;
        let closure = &closures.roots[self.root];
        let path = &*view.file(self.file).path;
        let mut out = programs.none();
        for reference in &self.references {
            for library in programs.definers(reference.name) {
                let file = &*view.file(*library).path;
                let above = file.parent().is_some_and(|dir| path.starts_with(dir));
                if above && !is_default(self.source, closure, file) {
                    out.add(programs.with(*library));
                }
            }
        }
        let item = crate::package::store_item(path);
        if item.is_some() {
            for program in fitting.members() {
                let file = closures.roots[programs.root(program)].root.file;
                if crate::package::store_item(&view.file(file).path) == item {
                    out.insert(program);
                }
            }
        }
        out.keep(fitting);
        out
    }

    /// True if the startup scope of a program, or one of `others`, has every symbol in its version, and
    /// one of them is in that scope and not in a common library.
    fn is_met(
        &self,
        program: RootId,
        scopes: &mut Scopes<'a>,
        others: &[&Object],
    ) -> Result<bool, Vec<Need>> {
        let source = self.source;
        let closure = &source.closures.roots[program];
        let scope = scopes.of(program)?;
        let mut private = false;
        for reference in &self.references {
            let Reference { object, name, version } = *reference;
            let version = wanted(object, version, EVERY_VERSION);
            let query = Query::new(name, hash::gnu(name), version);
            let Some(winner) = scope.lookup(&query, Route::default()) else {
                if others.iter().any(|other| other.defines(name, query.hash, EVERY_VERSION)) {
                    continue;
                }
                return Ok(false);
            };
            let file = closure.module(winner.module).file;
            private |= file.is_some_and(|file| {
                file == closure.root.file
                    || !is_default(source, closure, &source.view.file(file).path)
            });
        }
        Ok(private)
    }
}

/// Plugins with their programs, by their directory and the one above. A plugin may take symbols from
/// others of its directory, or of one in it, that its program has opened before: zsh, uwsgi, collectd
/// and proftpd have such plugins.
struct Hosted<'a> {
    source: Source<'a>,
    by_dir: FastMap<&'a Path, Vec<(RootId, FileId)>>,
}

impl<'a> Hosted<'a> {
    fn insert(&mut self, plugin: &Plugin<'a>, program: RootId, out: &mut FastMap<FileId, FileId>) {
        for dir in self.dir(plugin).ancestors().take(2) {
            self.by_dir.entry(dir).or_default().push((program, plugin.file));
        }
        out.insert(plugin.file, self.source.closures.roots[program].root.file);
    }

    fn dir(&self, plugin: &Plugin<'a>) -> &'a Path {
        let path: &Path = &self.source.view.file(plugin.file).path;
        path.parent().unwrap_or(path)
    }

    /// The program of a plugin that takes symbols from other plugins too.
    fn host(
        &self,
        plugin: &Plugin<'a>,
        programs: &Programs,
        scopes: &mut Scopes<'a>,
    ) -> Result<Option<RootId>, Vec<Need>> {
        let Some(known) = self.by_dir.get(self.dir(plugin)) else { return Ok(None) };
        let mut roots: Vec<RootId> = known.iter().map(|(root, _)| *root).collect();
        roots.sort_unstable();
        roots.dedup();
        for root in roots {
            let has_loaded = |name: &StrId| programs.loads(root, *name);
            if !plugin.missing.iter().all(has_loaded) {
                continue;
            }
            let of_root = known.iter().filter(|(other, _)| *other == root);
            let others: Vec<&Object> =
                of_root.filter_map(|(_, file)| self.source.view.object(*file)).collect();
            if plugin.is_met(root, scopes, &others)? {
                return Ok(Some(root));
            }
        }
        Ok(None)
    }
}

/// Scopes of programs, memoised.
struct Scopes<'a> {
    source: Source<'a>,
    known: FastMap<RootId, Scope<'a>>,
}

impl<'a> Scopes<'a> {
    fn of(&mut self, program: RootId) -> Result<&Scope<'a>, Vec<Need>> {
        let Source { view, closures, .. } = self.source;
        if !self.known.contains_key(&program) {
            let scope = Scope::new(&closures.roots[program], view, true)?;
            self.known.insert(program, scope);
        }
        Ok(&self.known[&program])
    }
}
