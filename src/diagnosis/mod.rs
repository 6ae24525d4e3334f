//! Turns the results of resolving and binding under all entry points into a list of missing
//! libraries, undefined symbols and missing versions. A missing library explains references that it
//! may define and that no loaded object defines. Programs outside the audit are assumed to define
//! the symbols that their plugins expect from them.
//!
//! This module runs between `bind` and the rules, which only put the diagnosis into words. It opens
//! no file: definitions come from [`crate::facts::providers`].

mod builder;
mod candidates;
mod hosts;
mod inferred;
mod reference_state;

pub use builder::{diagnosis, missing};
pub use candidates::LibraryCandidates;
pub use inferred::Inferred;
pub use reference_state::{ReferenceState, ReferenceUnderRoot, Undefined, reference_states};

use crate::bind::RootBinding;
use crate::facts::View;
use crate::facts::providers::Providers;
use crate::format::elf::{Object, SymbolIndex, Target};
use crate::id::{FastMap, FastSet, FileId, Id as _, ModuleId, RootId, StrId, Strings};
use crate::package::Prefixes;
use crate::policy::{HostEntry, Policy};
use crate::resolve::loader::Loaders;
use crate::resolve::{Chain, Closure, Edge, ROOT};
use std::collections::BTreeSet;

/// The first occurrence of a defect: an entry point, and a module in its closure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The first entry point with the defect.
    pub root: RootId,
    /// A module in the closure of the entry point: the defective one, or the one that requested the
    /// defective or missing object.
    pub module: ModuleId,
}

/// A library that an object needs and that was not found.
#[derive(Debug)]
pub struct MissingLibrary {
    /// The object that needs the library.
    pub file: FileId,
    /// The needed name, with tokens expanded.
    pub name: Vec<u8>,
    /// The need under the first entry point of `roots`.
    pub edge: Edge,
    /// All entry points with this defect; the first one belongs to `edge`.
    pub roots: Vec<RootId>,
    /// Undefined references that this library may define: referring file, symbol, version.
    pub explained: BTreeSet<(FileId, Vec<u8>, Option<Vec<u8>>)>,
}

/// A strong reference without a definition.
#[derive(Debug)]
pub struct UndefinedSymbol {
    /// The object that refers to the symbol.
    pub file: FileId,
    /// The name of the undefined symbol.
    pub symbol: Vec<u8>,
    /// The version of the reference; `None` if it has none.
    pub version: Option<Vec<u8>>,
    /// The soname of the library that should define the version; `None` if the reference names no
    /// library.
    pub library: Option<Vec<u8>>,
    /// True if loading fails, false if only the first call fails.
    pub at_load: bool,
    /// The first occurrence of the undefined reference.
    pub site: Site,
    /// All entry points with this defect; the first one belongs to `site`.
    pub roots: Vec<RootId>,
}

/// A needed version that the loaded library does not define.
#[derive(Debug)]
pub struct MissingVersion {
    /// The object that needs the version.
    pub file: FileId,
    /// The library that should define the version.
    pub provider: FileId,
    /// The name of the version, such as `GLIBC_2.34`.
    pub version: Vec<u8>,
    /// The first occurrence of the need for this version.
    pub site: Site,
    /// All entry points with this defect; the first one belongs to `site`.
    pub roots: Vec<RootId>,
}

/// An error at which the loader stops.
#[derive(Debug)]
pub struct Stopped {
    /// The defective file, or the requester if no file was opened.
    pub file: FileId,
    /// The path or name that the loader's message is about.
    pub object: Vec<u8>,
    /// True if `file` was opened, false if it is the requester.
    pub opened: bool,
    /// The loader's message, or the reason why it aborts.
    pub text: &'static str,
    /// The first occurrence. Its module is the defective object if the loader had loaded this
    /// object before it stopped, else the requester.
    pub site: Site,
    /// All entry points with this defect; the first one belongs to `site`.
    pub roots: Vec<RootId>,
}

/// The diagnosis of a run: defects, and references that are assumed to be defined.
#[derive(Debug, Default)]
pub struct Diagnosis {
    /// Libraries that were not found.
    pub missing: Vec<MissingLibrary>,
    /// Undefined references that no missing library explains.
    pub undefined: Vec<UndefinedSymbol>,
    /// Needed versions that their provider does not define.
    pub versions: Vec<MissingVersion>,
    /// Errors at which the loader stops.
    pub stopped: Vec<Stopped>,
    /// Number of references that missing libraries explain.
    pub explained: usize,
    /// References that host programs are assumed to define, in the order of the policy.
    pub assumed: Vec<Assumed>,
    /// Files with references that a host program is assumed to define: the program of a `[[host]]`
    /// entry, or an inferred program.
    pub hosted: FastSet<FileId>,
    /// References that libraries provided by the system are assumed to define, in the order of the
    /// sonames.
    pub provided: Vec<Assumed>,
    /// Programs that are inferred to load plugins, in the order of their paths.
    pub inferred: Vec<InferredHost>,
}

/// A program that is inferred to load plugins.
#[derive(Debug, PartialEq, Eq)]
pub struct InferredHost {
    /// The program, or a shared object that it loads before the plugins.
    pub program: FileId,
    /// The plugins, in the order of their paths.
    pub plugins: Vec<FileId>,
    /// Number of undefined references that the program is assumed to define.
    pub references: usize,
}

/// References assumed to be defined by the programs of one `[[host]]` entry, or by a library that
/// the system provides.
#[derive(Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The name of the `[[host]]` entry, or the soname of the library.
    pub host: String,
    /// Number of references. A missing library that the host loads counts as one.
    pub references: usize,
    /// Number of files that have these references.
    pub files: usize,
}

/// The input of [`diagnosis()`].
#[derive(Clone, Copy)]
pub struct DiagnosisInput<'a> {
    /// The facts of all files.
    pub view: View<'a>,
    /// The texts of the names in closures, by their ids.
    pub strings: &'a Strings,
    /// The loaders, for their default directories.
    pub loaders: &'a Loaders,
    /// Closures of all entry points.
    pub closures: &'a crate::resolve::entry_points::Closures,
    /// Bindings of all entry points, in the order of `closures`.
    pub bindings: &'a [RootBinding],
    /// The prefixes of the audited files.
    pub prefixes: &'a Prefixes,
    /// `[[host]]` entries of the policy.
    pub hosts: &'a [HostEntry],
}

/// A library that an object needs and the search does not find.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingNeed {
    /// The object that needs the library.
    pub file: FileId,
    /// The needed name, with tokens expanded.
    pub name: Vec<u8>,
}

/// Archives that define a symbol, and policy entries that list a symbol. Both are signs that a
/// link omitted an archive.
#[derive(Clone, Copy)]
pub struct Claims<'a> {
    /// The audited files and `--lib-path` files that define undefined names.
    pub providers: &'a Providers,
    /// The policy, for `[[provider]]` entries and `covers` patterns.
    pub policy: &'a Policy,
}

impl<'a> Claims<'a> {
    /// The static archives that define `symbol` for an object of `target` in `file`.
    fn archives(
        self,
        file: FileId,
        target: Target,
        symbol: &[u8],
    ) -> impl Iterator<Item = FileId> + use<'a> {
        let found = self.providers.of(symbol, file, target);
        let archives = found.filter(|provider| provider.member.is_some());
        let mut out: Vec<FileId> = archives.map(|provider| provider.file).collect();
        out.dedup();
        out.into_iter()
    }

    /// True if a `[[provider]]` entry or a `covers` pattern lists `symbol`. An archive then defines
    /// the symbol, and the link of the object in `file` omitted this archive.
    fn policy_claims(self, source: DiagnosisInput<'_>, file: FileId, symbol: &[u8]) -> bool {
        self.policy.claims(symbol, || source.prefixes.locate(&source.view.file(file).path).path)
    }
}

/// The stem of a library's or an archive's name: `foo` for `libfoo.so.1`, `libfoo-2.0.so`,
/// `libfoo.a` and OCaml's `dllfoo.so`. An archive and a library with the same stem are two editions
/// of one library.
fn stem(name: &[u8]) -> &[u8] {
    let name = crate::text::last_part(name);
    let name = [b"lib", b"dll"].iter().find_map(|start| name.strip_prefix(*start)).unwrap_or(name);
    let end = memchr::memmem::find(name, b".so").or_else(|| memchr::memmem::find(name, b".a"));
    let name = &name[..end.unwrap_or(name.len())];
    let version = name.iter().rposition(|byte| *byte == b'-').filter(|at| {
        let rest = &name[at + 1..];
        !rest.is_empty() && rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    });
    &name[..version.unwrap_or(name.len())]
}

/// All data that may explain an undefined reference.
#[derive(Clone, Copy)]
pub struct Explanations<'a> {
    /// Archives that define undefined names, and policy entries that list such names.
    pub claims: Claims<'a>,
    /// Candidates for missing libraries.
    pub libraries: &'a LibraryCandidates,
    /// Plugins whose host program is inferred.
    pub inferred: &'a Inferred,
    /// Libraries that a host program loads before its plugins.
    pub host_libraries: &'a HostLibraries,
}

/// Missing libraries that a host program loads before its plugins. The key is the object that needs
/// the library and the library's name; the value is the index of the host in the policy.
#[derive(Debug, Default)]
pub struct HostLibraries(FastMap<(FileId, StrId), usize>);

impl HostLibraries {
    /// Finds the missing libraries, under all entry points, that a host program loads before its
    /// plugins.
    pub fn find(source: DiagnosisInput<'_>) -> Self {
        let mut out = FastMap::default();
        if source.hosts.iter().all(|host| host.loads.is_empty()) {
            return Self(out);
        }
        let patterns = hosts::Patterns::new(&[]);
        let mut hosts = hosts::HostFinder::new(source, &patterns);
        for closure in &source.closures.roots {
            for (file, edge) in builder::missing_edges(closure) {
                let name = source.strings.text(edge.name);
                if let Some(host) = hosts.lends(closure, file, name) {
                    out.insert((file, edge.name), host);
                }
            }
        }
        Self(out)
    }

    fn host(&self, file: FileId, name: StrId) -> Option<usize> {
        self.0.get(&(file, name)).copied()
    }
}

/// An object and the index of a symbol in it.
type SymbolKey = (FileId, SymbolIndex);

fn object_of<'v>(view: View<'v>, closure: &Closure, module: ModuleId) -> Option<&'v Object> {
    view.object(closure.module(module).file?)
}

/// The chain of modules from the entry point of `site` to the module of `site`, the entry point
/// first. Empty if this module is the entry point.
pub fn chain(closures: &crate::resolve::entry_points::Closures, site: Site) -> Chain {
    let chain = closures.roots[site.root].ends_of_chain(site.module);
    if chain.hops == [ROOT] { Chain { hops: Vec::new(), left_out: 0 } } else { chain }
}

/// The first entry point that loads each file, indexed by file.
pub struct FirstLoader(Vec<Option<FirstLoad>>);

/// A file under the first entry point that loads it.
#[derive(Clone, Copy)]
pub struct FirstLoad {
    /// The first entry point that loads the file.
    pub root: RootId,
    /// The first module of the file in the closure of the entry point.
    pub module: ModuleId,
    /// True if the closure of the entry point has another module with the same file.
    pub is_twice: bool,
}

impl FirstLoader {
    /// Finds the first entry point of each file, in the order of the closures.
    pub fn new(closures: &crate::resolve::entry_points::Closures) -> Self {
        let mut out: Vec<Option<FirstLoad>> = Vec::new();
        for (root, closure) in closures.roots.entries() {
            let files = closure.modules().filter_map(|(id, module)| Some((id, module.file?)));
            for (module, file) in files {
                if file.index() >= out.len() {
                    out.resize((file.index() + 1).next_power_of_two(), None);
                }
                match &mut out[file.index()] {
                    Some(loaded) => loaded.is_twice |= loaded.root == root,
                    none => *none = Some(FirstLoad { root, module, is_twice: false }),
                }
            }
        }
        Self(out)
    }

    /// The first entry point that loads `file`; `None` if no entry point loads it.
    pub fn of(&self, file: FileId) -> Option<RootId> {
        self.loaded(file).map(|loaded| loaded.root)
    }

    /// The first entry point that loads `file`, and the file's module there. `None` if no entry
    /// point loads it.
    pub fn loaded(&self, file: FileId) -> Option<FirstLoad> {
        self.0.get(file.index()).copied().flatten()
    }
}
