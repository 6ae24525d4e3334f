//! Plugins whose host program is inferred. A shared object that no other object needs, and that
//! lacks symbols or libraries, counts as a plugin of an audited program on two conditions. The
//! program must have all of them from its start, and must be able to open plugins. The result is an
//! assumption: the report counts and names it, and `--no-inferred-hosts` turns it off.
//!
//! Each further condition keeps a real defect from being excused:
//! - The object has no soname such as `libfoo.so.1` and is outside of the default directories.
//!   Otherwise it is a library that other objects link with.
//! - The program has *all* undefined symbols and missing libraries, with their versions. A missing
//!   library that the program has not loaded stays a finding, with the symbols that belong to it.
//! - At least one symbol comes from the program itself or from a private library of it.
//! - Few programs fit, or one of the plugin's own package. An object that lacks a DT_NEEDED entry
//!   for a common library would fit hundreds. The package is known by a store item, by a private
//!   library, or by a directory that is named after the program: QEMU's 33 emulators, which all
//!   begin with `qemu-`, load the modules in `/usr/lib/x86_64-linux-gnu/qemu`.
//! - No policy claims a symbol, because a link then lost it. A symbol that an archive defines may
//!   have been lost too. It is no evidence, unless the archive is the static edition of the library
//!   that defines the symbol. The other symbols must outnumber such ones.
//!
//! Symbols that a `[[host]]` entry gives to a program are evidence of that program, for a plugin that
//! lacks others too: perl's modules use `pthread_getspecific` of the libpthread that perl brings.
//!
//! A plugin may take the rest of its symbols from other plugins of that program, in its directory
//! or the one above or below, and from the libraries that they bring. zsh, uwsgi and dovecot have
//! such plugins.

mod programs;

use super::builder::missing_edges;
use super::candidates::{CandidateAnswer, LibraryCandidates};
use super::reference_state::{Open, Undefined};
use super::{Claims, DiagnosisInput, object_of, stem};
use crate::bind::lookup::{Route, Scope, wanted};
use crate::facts::providers::defined;
use crate::facts::{Need, View};
use crate::format::archive::Names;
use crate::format::elf::find::Query;
use crate::format::elf::{EVERY_VERSION, Object, Role, hash};
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::order::Arrange as _;
use crate::parallel;
use crate::resolve::Closure;
use programs::{Programs, Set};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

/// Most programs that may fit; with more, the host stays unknown.
const MOST_PROGRAMS: usize = 3;

/// Most programs of a plugin's own package that are checked exactly.
const MOST_LOOKED_AT: usize = 64;

/// Plugins without a given host program, each with the inferred one.
#[derive(Debug, Default)]
pub struct Inferred(FastMap<FileId, Host>);

/// The program of a plugin.
#[derive(Clone, Copy, Debug)]
pub(super) struct Host {
    /// The program.
    pub(super) program: FileId,
    /// True if the program has not loaded the libraries that the plugin lacks: those stay missing.
    pub(super) keeps_missing: bool,
}

impl Inferred {
    /// Infers the host programs, or returns the missing facts. `hosts` has the closures of
    /// programs: those of the run, or those of the system below a stage.
    pub fn find<'a>(
        source: DiagnosisInput<'a>,
        hosts: DiagnosisInput<'a>,
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
        hosted.insert_all(&complete(source, open).collect::<Vec<_>>());
        let mut out = FastMap::default();
        let mut rest: Vec<&Plugin<'a>> = plugins.iter().collect();
        // Each round may find plugins that use those of the previous round.
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

    /// Adds the host programs of plugins that have none in `self`.
    pub fn add(&mut self, other: Self) {
        for (plugin, host) in other.0 {
            self.0.entry(plugin).or_insert(host);
        }
    }

    /// True if a shared object that may be a plugin has no host program.
    pub fn lacks_any(
        &self,
        source: DiagnosisInput<'_>,
        open: &Undefined,
        claims: Claims<'_>,
        libraries: &LibraryCandidates,
    ) -> bool {
        let plugins = plugins(source, open, claims, libraries);
        plugins.iter().any(|plugin| !self.0.contains_key(&plugin.file))
    }

    /// The program that loads the entry point of a closure as a plugin.
    pub(super) fn of(&self, closure: &Closure) -> Option<Host> {
        self.0.get(&closure.root.file).copied().filter(|_| closure.root.host.is_none())
    }
}

/// An undefined reference.
#[derive(Clone, Copy)]
struct Reference<'a> {
    object: &'a Object,
    name: &'a [u8],
    /// Version index.
    version: u16,
    /// True if it belongs to a missing library, by its version or because a candidate defines it.
    of_missing: bool,
    /// True if a `[[host]]` entry of the policy says that the program defines it.
    by_policy: bool,
}

/// A shared object that may be a plugin.
struct Plugin<'a> {
    source: DiagnosisInput<'a>,
    claims: Claims<'a>,
    root: RootId,
    file: FileId,
    /// All its undefined references.
    references: Vec<Reference<'a>>,
    /// The names of all libraries that were not found.
    missing: Vec<&'a [u8]>,
}

/// Shared objects that lack symbols or libraries and may be plugins.
fn plugins<'a>(
    source: DiagnosisInput<'a>,
    open: &Undefined,
    claims: Claims<'a>,
    libraries: &LibraryCandidates,
) -> Vec<Plugin<'a>> {
    let lists: FastMap<RootId, &[Open]> = open.lists().collect();
    let plugin = |(root, closure): (RootId, &'a Closure)| {
        let list = lists.get(&root).copied().unwrap_or_default();
        let file = closure.root.file;
        let object = source.view.object(file).filter(|object| object.role == Role::Shared)?;
        let may = closure.root.host.is_none()
            && closure.fatal().is_none()
            && closure.failures().iter().all(|failure| failure.file.is_none())
            && (!list.is_empty() || closure.lacks_any())
            && !object.soname().is_some_and(is_versioned)
            && !is_default(source, closure, &source.view.file(file).path);
        if !may {
            return None;
        }
        let missing = missing(source, closure);
        let is_explained = list.iter().all(|open| open.host.is_some());
        let reference = |open: &Open| {
            let object = object_of(source.view, closure, open.module)?;
            let name = object.symbol_name(open.symbol);
            let of_missing = missing.iter().any(|library| {
                let file = object.versions.entry(open.version).map(|entry| entry.file);
                file.map_or_else(
                    || {
                        libraries.ask(source, library, object.header.target(), name)
                            == CandidateAnswer::Defined
                    },
                    |file| file.is_some_and(|file| object.str(file) == *library),
                )
            });
            let (version, by_policy) = (open.version, open.host.is_some());
            Some(Reference { object, name, version, of_missing, by_policy })
        };
        let unmet = list.iter().filter(|_| !is_explained);
        let references: Vec<Reference<'_>> = unmet.filter_map(reference).collect();
        let is_claimed = |reference: &Reference<'_>| {
            !reference.by_policy && claims.policy_claims(source, file, reference.name)
        };
        let lost = references.is_empty() || references.iter().any(is_claimed);
        (!lost).then_some(Plugin { source, claims, root, file, references, missing })
    };
    source.closures.roots.entries().filter_map(plugin).collect()
}

/// Shared objects that lack nothing: plugins beside them may use their symbols.
fn complete(source: DiagnosisInput<'_>, open: &Undefined) -> impl Iterator<Item = RootId> {
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
fn missing<'a>(source: DiagnosisInput<'a>, closure: &'a Closure) -> Vec<&'a [u8]> {
    let edges = missing_edges(closure);
    let mut out: Vec<&[u8]> = edges.map(|(_, edge)| source.strings.text(edge.name)).collect();
    out.arrange();
    out.dedup();
    out
}

/// True for a name such as `libfoo.so.1`: the linker searches for names that start with `lib`.
fn is_versioned(soname: &[u8]) -> bool {
    let mut ends = memchr::memmem::find_iter(soname, b".so.");
    let is_number = |at: usize| soname.get(at + 4).is_some_and(u8::is_ascii_digit);
    soname.starts_with(b"lib") && ends.any(is_number)
}

/// The directory of a file.
fn dir(source: DiagnosisInput<'_>, file: FileId) -> &Path {
    let path: &Path = &source.view.file(file).path;
    path.parent().unwrap_or(path)
}

/// True for a file in a default directory of the loader.
fn is_default(source: DiagnosisInput<'_>, closure: &Closure, path: &Path) -> bool {
    let dir = path.parent().unwrap_or(path).as_os_str().as_encoded_bytes();
    let mut system = source.loaders.get(closure.root.loader).system_dirs.iter();
    system.any(|known| source.strings.text(*known).strip_suffix(b"/") == Some(dir))
}

/// The number of directories in the longest default directory of the loader above a file.
fn system_dir(source: DiagnosisInput<'_>, closure: &Closure, path: &Path) -> usize {
    let system = source.loaders.get(closure.root.loader).system_dirs.iter();
    let dirs = system.map(|dir| Path::new(OsStr::from_bytes(source.strings.text(*dir))));
    dirs.filter(|dir| path.starts_with(dir)).map(|dir| dir.components().count()).max().unwrap_or(0)
}

/// True if a directory of `plugin` bears the name of `program`, or its first words: `qemu` for
/// `qemu-system-arm`. The first `system` directories and those that both have in common do not count.
fn is_named_after(plugin: &Path, system: usize, program: &Path) -> bool {
    let (Some(dir), Some(name)) = (plugin.parent(), program.file_name()) else { return false };
    let common = dir.components().zip(program.components()).take_while(|(a, b)| a == b).count();
    let mut dirs = dir.components().skip(common.max(system));
    dirs.any(|dir| {
        let rest = name.as_bytes().strip_prefix(dir.as_os_str().as_bytes());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(b"-"))
    })
}

/// The symbols of interest that a file defines.
fn names_of<'a>(view: View<'a>, file: FileId, names: &Names) -> Vec<&'a [u8]> {
    let tables = view.object(file).and_then(|object| object.tables.as_ref());
    let found = tables.map(|tables| defined(tables, names)).unwrap_or_default();
    found.into_iter().map(|(name, _)| name).collect()
}

/// The symbols that plugins of known programs define, and the libraries that they bring, by the
/// plugin's directory and its parent.
struct Hosted<'a, 'n> {
    source: DiagnosisInput<'a>,
    /// The symbols of interest.
    names: &'n Names,
    /// The symbols of interest that a file defines, memoised.
    defined: FastMap<FileId, Vec<&'a [u8]>>,
    by_dir: FastMap<&'a Path, FastMap<&'a [u8], FileId>>,
}

impl<'a, 'n> Hosted<'a, 'n> {
    fn new(source: DiagnosisInput<'a>, names: &'n Names) -> Self {
        Self { source, names, defined: FastMap::default(), by_dir: FastMap::default() }
    }

    /// Adds plugins by their entry points.
    fn insert_all(&mut self, roots: &[RootId]) {
        let DiagnosisInput { view, closures, .. } = self.source;
        let found = roots.iter().flat_map(|root| closures.roots[*root].found());
        let mut files: Vec<FileId> = found.map(|(_, file)| file).collect();
        files.arrange();
        files.dedup();
        let found = parallel::map(&files, |file| names_of(view, *file, self.names));
        self.defined.extend(files.into_iter().zip(found));
        for root in roots {
            self.insert(*root);
        }
    }

    /// Adds a plugin by its entry point.
    fn insert(&mut self, root: RootId) {
        let DiagnosisInput { view, closures, .. } = self.source;
        let closure = &closures.roots[root];
        let dir = dir(self.source, closure.root.file);
        for (_, file) in closure.found() {
            let names = self.names;
            let found = self.defined.entry(file).or_insert_with(|| names_of(view, file, names));
            for dir in dir.ancestors().take(2) {
                let here = self.by_dir.entry(dir).or_default();
                for name in &*found {
                    here.entry(name).or_insert(file);
                }
            }
        }
    }

    /// The nearby plugin that defines the symbol, or a library that it brings. Nearby is the
    /// directory of `plugin`, its parent, its subdirectories and its sibling directories.
    fn serving(&self, plugin: &Plugin<'a>, symbol: &[u8]) -> Option<FileId> {
        let mut dirs = dir(self.source, plugin.file).ancestors().take(2);
        dirs.find_map(|dir| self.by_dir.get(dir)?.get(symbol).copied())
    }
}

impl Plugin<'_> {
    /// False if no program can be the host: none has loaded all missing libraries, and all
    /// undefined symbols belong to those libraries.
    fn may_fit(&self, programs: &Programs) -> bool {
        let is_loaded = |name: &&[u8]| programs.loading(name).is_some();
        self.missing.iter().all(is_loaded) || self.references.iter().any(|r| !r.of_missing)
    }

    /// True if no archive claims a symbol. If one is the static edition of `winner`, the library that
    /// defines the symbol, the others are further editions and do not count: `libpython3.11.a` lies
    /// beside `libpython3.11-pic.a`.
    fn is_unclaimed(&self, reference: Reference<'_>, winner: Option<FileId>) -> bool {
        let path = |file: FileId| self.source.view.file(file).path.as_os_str().as_bytes();
        let target = reference.object.header.target();
        let mut archives = self.claims.archives(self.file, target, reference.name).peekable();
        let is_edition =
            |archive| winner.is_some_and(|file| stem(path(archive)) == stem(path(file)));
        archives.peek().is_none() || archives.any(is_edition)
    }
}

/// The search for the program of each plugin.
struct Search<'a> {
    source: DiagnosisInput<'a>,
    /// The closures of programs.
    hosts: DiagnosisInput<'a>,
    programs: Programs,
    /// Startup scopes of programs.
    scopes: FastMap<RootId, Scope<'a>>,
}

impl<'a> Search<'a> {
    /// The host program of a plugin, if the conditions hold for one. `hosted` holds the plugins
    /// inferred so far.
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
            others.is_some_and(|others| others.serving(plugin, reference.name).is_some())
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

    /// The programs of the plugin's own package. They take a symbol from a private library in the
    /// plugin's directory or above it, belong to the same store item, or give a directory above the
    /// plugin its name.
    fn own(&self, plugin: &Plugin<'a>, references: &[Reference<'a>], fitting: &Set) -> Set {
        let DiagnosisInput { view, closures, .. } = self.source;
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
        let system = system_dir(self.source, closure, path);
        for program in fitting.members() {
            let file = self.hosts.closures.roots[self.programs.root(program)].root.file;
            let program_path = &*self.hosts.view.file(file).path;
            if item.is_some() && crate::package::store_item(program_path) == item
                || is_named_after(path, system, program_path)
            {
                out.insert(program);
            }
        }
        out.keep(fitting);
        out
    }

    /// True if the startup scope of a program, or a plugin of `others`, has every symbol in its
    /// version. The program and private libraries must define more symbols than archives claim.
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
            let is_own = reference.by_policy || plugin.is_unclaimed(*reference, file);
            claimed += usize::from(!is_own);
            private += usize::from(is_own && is_private);
        }
        for reference in rest {
            let serving = others.and_then(|others| others.serving(plugin, reference.name));
            let Some(file) = serving else { return Ok(false) };
            let is_own = reference.by_policy || plugin.is_unclaimed(reference, Some(file));
            claimed += usize::from(!is_own);
        }
        Ok(private > claimed)
    }

    fn scope(&mut self, program: RootId) -> Result<&Scope<'a>, Vec<Need>> {
        let DiagnosisInput { view, closures, .. } = self.hosts;
        if !self.scopes.contains_key(&program) {
            let scope = Scope::new(&closures.roots[program], view, true)?;
            self.scopes.insert(program, scope);
        }
        Ok(&self.scopes[&program])
    }
}

#[cfg(test)]
mod tests {
    use super::is_named_after;
    use std::path::Path;

    #[test]
    fn directories_that_bear_the_name_of_a_program() {
        for (plugin, system, program, expected) in [
            ("/usr/lib/x86_64-linux-gnu/qemu/ui-gtk.so", 4, "/usr/bin/qemu-system-arm", true),
            ("/usr/lib/qemu/ui-gtk.so", 3, "/usr/bin/qemu", true),
            ("/opt/qemu/lib/ui-gtk.so", 0, "/opt/qemu/bin/qemu-img", false),
            ("/usr/lib/x86_64-linux-gnu/foo/a.so", 4, "/usr/bin/x86_64-linux-gnu-gdb", false),
            ("/usr/lib/qemu-x/a.so", 3, "/usr/bin/qemu", false),
            ("/usr/lib/qem/a.so", 3, "/usr/bin/qemu-img", false),
        ] {
            let found = is_named_after(Path::new(plugin), system, Path::new(program));
            assert_eq!(found, expected, "{plugin} {program}");
        }
    }
}
