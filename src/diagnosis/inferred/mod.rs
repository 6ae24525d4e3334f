//! Plugins whose host program is inferred. A shared object may be a plugin of an audited program
//! if it has undefined symbols and no other object needs it. Libraries that the plugin needs may
//! be missing too. At startup, the program must have all these symbols and libraries, and it must
//! be able to open plugins. An inferred host is an assumption: the report names and counts it,
//! and `--no-inferred-hosts` turns inference off.
//!
//! Further conditions keep real defects from being excused:
//! - The object is outside of the default directories and has no soname such as `libfoo.so.1`.
//!   Otherwise it is a library that other objects link with. Libtool gives plugins such sonames
//!   too, so such a soname is accepted in a private directory below a default directory. If
//!   programs link with libraries in the private directory, the directory must be named after the
//!   program.
//! - The program has *all* undefined symbols and missing libraries, with their versions. A missing
//!   library that the program has not loaded stays a finding, with the symbols that belong to it.
//! - At least one symbol comes from the program itself or from its private libraries. If the
//!   plugin's directory is named after the program or the library, any library of the program is
//!   enough.
//! - At most three programs fit, or a program of the plugin's own package fits. Otherwise, hundreds
//!   of programs would fit an object that lacks a DT_NEEDED entry for a common library. A program
//!   belongs to the package if it shares the plugin's store item (Nix, Guix) or is in a private
//!   directory above the plugin. It also belongs to the package if it loads a private library of
//!   the package. A directory of the plugin that is named after the program or its library is
//!   enough too. For example, QEMU's 33 emulators, whose names begin with `qemu-`, load the modules
//!   in `/usr/lib/x86_64-linux-gnu/qemu`. libslang loads the modules in `slang/v2/modules`.
//! - No policy entry lists an archive for a symbol of the plugin. If an entry does, the link of the
//!   plugin omitted this archive. A symbol that an unlisted archive defines may be undefined for
//!   the same reason. Such a symbol is evidence only if the archive is the static edition of the
//!   library that defines the symbol. Symbols that are evidence must outnumber all other symbols,
//!   unless the program itself defines the other symbols.
//!
//! The `[[host]]` entry of a program may lack symbols that a plugin uses. The listed symbols are
//! then evidence for a program that has the other symbols: perl's modules use `pthread_getspecific`
//! of the libpthread that perl loads.
//!
//! A plugin may take symbols that its program lacks from other plugins of this program. It may also
//! take them from plugins in nearby directories and from the libraries that these plugins load.
//! zsh, uwsgi, dovecot and irssi have such plugins. A plugin of a `[[host]]` entry may take all
//! symbols that the entry does not list from plugins near it.

mod hosted;
mod own;
mod place;
mod plugin;
mod programs;

use super::candidates::LibraryCandidates;
use super::reference_state::Undefined;
use super::{Claims, DiagnosisInput};
use crate::bind::lookup::{Route, Scope, wanted};
use crate::facts::Need;
use crate::format::archive::RequestedNames;
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{EVERY_VERSION, hash};
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::resolve::Closure;
use hosted::Hosted;
use own::{PackagePrograms, Packages};
use place::{dir, is_default};
use plugin::{Plugin, PluginReference, complete, plugins, with_profile};
use programs::Programs;
use std::path::Path;

/// If more programs than this number fit a plugin, only programs of the plugin's own package are
/// checked.
const MOST_PROGRAMS: usize = 3;

/// Maximum number of fitting programs that one search checks symbol by symbol.
const MOST_LOOKED_AT: usize = 64;

/// The inferred host of each plugin.
#[derive(Debug, Default)]
pub struct Inferred(FastMap<FileId, HostOfPlugin>);

#[derive(Clone, Copy, Debug)]
pub(super) struct HostOfPlugin {
    /// The program, or a shared object that the program loads before the plugin.
    pub(super) program: FileId,
    /// True if the plugin's missing libraries stay findings, because the program does not load them
    /// at startup.
    pub(super) keeps_missing: bool,
}

impl Inferred {
    /// Infers the host programs, or returns the missing facts. `hosts` has the closures of
    /// programs: programs of the run, or programs of the system below a staging directory.
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
        // A file that a program loads at startup is a library, not a plugin.
        plugins.retain(|plugin| !programs.load_at_start(plugin.file) && plugin.may_fit(&programs));
        if plugins.is_empty() {
            return Ok(Self::default());
        }
        let library_dirs = programs.loaded().map(|file| dir(hosts, file)).collect();
        let mut names = RequestedNames::default();
        for reference in plugins.iter().flat_map(|plugin| &plugin.references) {
            names.insert(reference.name, hash::gnu(reference.name));
        }
        programs.define(hosts, &names)?;
        let packages = Packages::new(hosts, &programs);
        let scopes = FastMap::default();
        let mut search = HostSearch { source, hosts, programs, packages, library_dirs, scopes };
        let mut hosted = Hosted::new(source, &names);
        hosted.insert_all(&complete(source, open).collect::<Vec<_>>());
        for root in with_profile(source, open, &plugins) {
            hosted.insert_plugin(root);
        }
        let mut out = FastMap::default();
        let mut rest: Vec<&Plugin<'a>> = plugins.iter().collect();
        // Each round may find plugins that use symbols of plugins found in the previous round.
        loop {
            let before = rest.len();
            let mut left = Vec::new();
            for plugin in rest {
                match search.host(plugin, &hosted)? {
                    Some(host) => {
                        hosted.insert(plugin.root, host.program);
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

    /// Adds the hosts of `other`, except for plugins that already have a host.
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

    /// The inferred host of the entry point of a closure. `None` if no host was inferred, or if the
    /// closure was resolved in the process of a host program.
    pub(super) fn of(&self, closure: &Closure) -> Option<HostOfPlugin> {
        self.0.get(&closure.root.file).copied().filter(|_| closure.root.host.is_none())
    }
}

/// For a plugin of a `[[host]]` entry: the nearby plugin that defines the first symbol missing
/// from the entry. `None` unless nearby plugins define all symbols missing from the entry, and
/// archives claim fewer than half of these symbols. Also `None` if a library is missing. The
/// program of the entry loads all these plugins: PHP, for example, opens `mbstring.so` before
/// `mailparse.so`.
fn neighbour<'a>(plugin: &Plugin<'a>, hosted: &Hosted<'a, '_>) -> Option<FileId> {
    if !plugin.has_profile || !plugin.missing.is_empty() {
        return None;
    }
    let (mut first, mut claimed) = (None, 0_usize);
    let unmet: Vec<_> = plugin.references.iter().filter(|r| !r.by_policy).collect();
    for reference in &unmet {
        let file = hosted.neighbour(plugin, reference.name)?;
        claimed += usize::from(!plugin.is_unclaimed(**reference, Some(file)));
        first = first.or(Some(file));
    }
    first.filter(|_| claimed * 2 < unmet.len())
}

/// The search for the program of each plugin.
struct HostSearch<'a> {
    source: DiagnosisInput<'a>,
    /// The input with the closures of programs.
    hosts: DiagnosisInput<'a>,
    programs: Programs,
    packages: Packages<'a>,
    /// Directories of libraries that programs load at startup.
    library_dirs: FastSet<&'a Path>,
    /// The scope of each checked program at startup.
    scopes: FastMap<RootId, Scope<'a>>,
}

impl<'a> HostSearch<'a> {
    /// The host of a plugin: a program that meets the conditions, or else a nearby plugin. `hosted`
    /// holds the plugins whose hosts are known already.
    fn host(
        &mut self,
        plugin: &Plugin<'a>,
        hosted: &Hosted<'a, '_>,
    ) -> Result<Option<HostOfPlugin>, Vec<Need>> {
        let needs_library = !plugin.missing.is_empty();
        for keeps_missing in [false, true].into_iter().take(1 + usize::from(needs_library)) {
            for others in [None, Some(hosted)] {
                if let Some(program) = self.program(plugin, others, keeps_missing)? {
                    return Ok(Some(HostOfPlugin { program, keeps_missing }));
                }
            }
        }
        let program = neighbour(plugin, hosted);
        Ok(program.map(|program| HostOfPlugin { program, keeps_missing: false }))
    }

    fn program(
        &mut self,
        plugin: &Plugin<'a>,
        others: Option<&Hosted<'a, '_>>,
        keeps_missing: bool,
    ) -> Result<Option<FileId>, Vec<Need>> {
        let references = plugin.references.iter().filter(|r| !(keeps_missing && r.of_missing));
        let references: Vec<PluginReference<'a>> = references.copied().collect();
        let mut fitting = self.programs.all();
        for reference in &references {
            let name = reference.name;
            if others.is_some_and(|others| others.serving(plugin, name).is_some()) {
                continue;
            }
            let programs = others.map(|others| others.programs(name)).unwrap_or_default();
            match (self.programs.defining(name), programs) {
                (None, []) if reference.by_policy => {}
                (None, []) => return Ok(None),
                (Some(defining), []) => fitting.keep(defining),
                (defining, programs) => {
                    let mut all = self.programs.those(programs);
                    if let Some(defining) = defining {
                        all.add(defining);
                    }
                    fitting.keep(&all);
                }
            }
        }
        for name in plugin.missing.iter().filter(|_| !keeps_missing) {
            let Some(loading) = self.programs.loading(name) else { return Ok(None) };
            fitting.keep(loading);
        }
        if fitting.is_empty() {
            return Ok(None);
        }
        let own = self.packages.own(self.source, plugin, &self.programs, &references, &fitting);
        let few = fitting.count() <= MOST_PROGRAMS && !self.is_library(plugin);
        let list = match (few, self.is_library(plugin)) {
            (true, _) => fitting.members(),
            (false, true) => own.named.members(),
            (false, false) => own.programs.members(),
        };
        for program in list.into_iter().take(MOST_LOOKED_AT) {
            if let Some(host) = self.met(plugin, program, &references, others, &own)? {
                return Ok(Some(host));
            }
        }
        Ok(None)
    }

    /// True if the plugin may be a library that other objects link with. Its soname has the form of
    /// a library's soname, and programs link with libraries in its directory.
    fn is_library(&self, plugin: &Plugin<'a>) -> bool {
        plugin.is_versioned && self.library_dirs.contains(dir(self.source, plugin.file))
    }

    /// The program, or its library that opens the plugin; `None` if a condition fails:
    ///
    /// - The program's startup scope, plugins of `others` or the policy provide every symbol.
    /// - Symbols that the program or its private libraries define outnumber the symbols that
    ///   archives claim or that plugins in other directories define. One private symbol is enough
    ///   if the program itself defines all symbols that archives claim, and no plugin in another
    ///   directory is used.
    ///
    /// A library is private if it is outside of the default directories. All libraries of the
    /// program are private if a directory of the plugin is named after the program. The same holds
    /// if the program is in a private directory above the plugin. A library is private too if a
    /// directory of the plugin is named after the library.
    fn met(
        &mut self,
        plugin: &Plugin<'a>,
        program: usize,
        references: &[PluginReference<'a>],
        others: Option<&Hosted<'a, '_>>,
        own: &PackagePrograms,
    ) -> Result<Option<FileId>, Vec<Need>> {
        let hosts = self.hosts;
        let root = self.programs.root(program);
        let is_named = own.named.holds(program);
        let closure = &hosts.closures.roots[root];
        let scope = self.scope(root)?;
        let (mut private, mut against, mut by_program) = (0_usize, 0_usize, 0_usize);
        let mut host = None;
        let mut rest: Vec<PluginReference<'a>> = Vec::new();
        for reference in references {
            let PluginReference { object, name, version, .. } = *reference;
            let version = wanted(object, version, EVERY_VERSION);
            let query = SymbolQuery::new(name, hash::gnu(name), version);
            let Some(winner) = scope.lookup(&query, Route::default()) else {
                rest.push(*reference);
                continue;
            };
            let file = closure.module(winner.module).file;
            let library = file.filter(|file| own.libraries.contains(file));
            let is_program = file == Some(closure.root.file);
            let is_private = file.is_some_and(|file| {
                is_program || !is_default(hosts, closure, &hosts.view.file(file).path)
            });
            let is_own = reference.by_policy || plugin.is_unclaimed(*reference, file);
            against += usize::from(!is_own);
            by_program += usize::from(!is_own && is_program);
            private += usize::from(is_own && (is_private || is_named || library.is_some()));
            host = match library.filter(|_| !is_private && !is_named) {
                Some(library) => host.or(Some(library)),
                None if is_private => Some(closure.root.file),
                None => host,
            };
        }
        let program = closure.root.file;
        // Names that the policy provides need no definition in the program.
        for reference in rest.into_iter().filter(|reference| !reference.by_policy) {
            let Some(others) = others else { return Ok(None) };
            let serving = others.serving(plugin, reference.name);
            if serving.is_none() && !others.programs(reference.name).contains(&program) {
                return Ok(None);
            }
            let is_near = serving.is_some_and(|file| plugin.is_unclaimed(reference, Some(file)));
            against += usize::from(!is_near);
        }
        let is_met = private > against || private > 0 && against == by_program;
        Ok(is_met.then(|| host.unwrap_or(program)))
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
