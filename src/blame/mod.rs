//! Whose fault, once: what resolving and binding found under all roots, made into facts about
//! objects. A missing library explains the references that only it could satisfy; what plugins take
//! from programs that are not at hand is assumed.
//!
//! It stands between `bind` and the rules, which only word what is here. It opens nothing; names
//! that files at hand define come from [`crate::facts::providers`].

mod candidates;
mod fate;
mod hosts;
mod inferred;
mod maker;

pub use candidates::LibraryCandidates;
pub use fate::{Fate, ReferenceFate, Undefined, fates};
pub use inferred::Inferred;
pub use maker::{blame, missing};

use crate::bind::RootBinding;
use crate::facts::View;
use crate::facts::providers::Providers;
use crate::format::elf::{Object, Target};
use crate::id::{FastMap, FileId, Id as _, ModuleId, RootId, StrId, Strings};
use crate::package::Prefixes;
use crate::policy::{Host, Policy};
use crate::resolve::loader::Loaders;
use crate::resolve::{Chain, Closure, Edge, ROOT};
use std::collections::BTreeSet;

/// Where a fact was first met: the root and the module under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The root.
    pub root: RootId,
    /// The module in the root's closure.
    pub module: ModuleId,
}

/// A need that leads nowhere.
#[derive(Debug)]
pub struct MissingLibrary {
    /// Who needs it.
    pub file: FileId,
    /// The name.
    pub name: Vec<u8>,
    /// The need under the first root.
    pub edge: Edge,
    /// All roots, the first first.
    pub roots: Vec<RootId>,
    /// References that only this library could satisfy: file, symbol, version.
    pub explained: BTreeSet<(FileId, Vec<u8>, Option<Vec<u8>>)>,
}

/// A strong reference without definition.
#[derive(Debug)]
pub struct UndefinedSymbol {
    /// Who refers.
    pub file: FileId,
    /// The symbol.
    pub symbol: Vec<u8>,
    /// Its version.
    pub version: Option<Vec<u8>>,
    /// The file the version was linked against.
    pub library: Option<Vec<u8>>,
    /// It fails at load; else at the first call.
    pub at_load: bool,
    /// Where it was first met.
    pub site: Site,
    /// All roots, the first first.
    pub roots: Vec<RootId>,
}

/// A needed version that its file does not define.
#[derive(Debug)]
pub struct MissingVersion {
    /// Who needs it.
    pub file: FileId,
    /// Who should define it.
    pub provider: FileId,
    /// The version.
    pub version: Vec<u8>,
    /// Where it was first met.
    pub site: Site,
    /// All roots, the first first.
    pub roots: Vec<RootId>,
}

/// Something at which the loader stops.
#[derive(Debug)]
pub struct Stopped {
    /// The file at fault, or the requester where no file was opened.
    pub file: FileId,
    /// The path or name in the loader's message.
    pub object: Vec<u8>,
    /// A file was opened, and `file` is it.
    pub opened: bool,
    /// The text.
    pub text: &'static str,
    /// Where it was first met: the requester.
    pub site: Site,
    /// All roots, the first first.
    pub roots: Vec<RootId>,
}

/// All facts about objects.
#[derive(Debug, Default)]
pub struct Blame {
    /// Needs that lead nowhere.
    pub missing: Vec<MissingLibrary>,
    /// References without definition that no missing library explains.
    pub undefined: Vec<UndefinedSymbol>,
    /// Versions that are not defined.
    pub versions: Vec<MissingVersion>,
    /// Where the loader stops.
    pub stopped: Vec<Stopped>,
    /// How many references missing libraries explain.
    pub explained: usize,
    /// References that are assumed to be met by programs that load plugins, in the order of policy.
    pub assumed: Vec<Assumed>,
    /// References that are assumed to be met by libraries that the system provides, by soname.
    pub provided: Vec<Assumed>,
    /// Programs that are inferred to load plugins, by path.
    pub inferred: Vec<InferredHost>,
}

/// A program that is inferred to load plugins.
#[derive(Debug, PartialEq, Eq)]
pub struct InferredHost {
    /// The program.
    pub program: FileId,
    /// The plugins, in the order of their paths.
    pub plugins: Vec<FileId>,
    /// References without definition that it is assumed to satisfy.
    pub references: usize,
}

/// What files take from the programs that one `[[host]]` entry is about, or from a library that the
/// system provides.
#[derive(Debug, PartialEq, Eq)]
pub struct Assumed {
    /// The entry's name, or the soname.
    pub host: String,
    /// How many references there are.
    pub references: usize,
    /// Of how many files.
    pub files: usize,
}

/// What blame is made of.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The facts.
    pub view: View<'a>,
    /// Names of closures.
    pub strings: &'a Strings,
    /// The loaders, for their default directories.
    pub loaders: &'a Loaders,
    /// Closures of all roots.
    pub closures: &'a crate::resolve::roots::Closures,
    /// Bindings of all roots, in the same order.
    pub bindings: &'a [RootBinding],
    /// Where files belong.
    pub prefixes: &'a Prefixes,
    /// `[[host]]` entries of the policy.
    pub hosts: &'a [Host],
}

/// A library that an object needs and the search does not find.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct MissingNeed {
    /// The object.
    pub file: FileId,
    /// The library's name as it was needed.
    pub name: Vec<u8>,
}

/// Archives and policy entries that say where a symbol should come from.
#[derive(Clone, Copy)]
pub struct Claims<'a> {
    /// Definitions of unbound names in audited files and in places for providers.
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

    /// True if a `[[provider]]` entry or a `covers` pattern says where `symbol` should come from: an
    /// object in `file` lost it when it was linked.
    fn policy_claims(self, source: Source<'_>, file: FileId, symbol: &[u8]) -> bool {
        let below = || source.prefixes.locate(&source.view.file(file).path).path;
        let provider = |known: &crate::policy::Provider| {
            known.archive_of(symbol).is_some() && known.is_about(&below())
        };
        let covers = |entry: &crate::policy::ArchivePolicy| {
            entry.covers.iter().any(|pattern| pattern.matches(symbol))
        };
        self.policy.providers.iter().any(provider) || self.policy.archives.iter().any(covers)
    }
}

/// `foo` of `libfoo.so.1`, `libfoo-2.0.so` and `libfoo.a`: an archive and a library with the same stem
/// are two editions of one library.
fn stem(name: &[u8]) -> &[u8] {
    let name = crate::text::last_part(name);
    let name = name.strip_prefix(b"lib").unwrap_or(name);
    let end = memchr::memmem::find(name, b".so").or_else(|| memchr::memmem::find(name, b".a"));
    let name = &name[..end.unwrap_or(name.len())];
    let version = name.iter().rposition(|byte| *byte == b'-').filter(|at| {
        let rest = &name[at + 1..];
        !rest.is_empty() && rest.iter().all(|byte| byte.is_ascii_digit() || *byte == b'.')
    });
    &name[..version.unwrap_or(name.len())]
}

/// All that explains a reference without definition.
#[derive(Clone, Copy)]
pub struct Explanations<'a> {
    /// Archives and policy entries.
    pub claims: Claims<'a>,
    /// Candidates of missing libraries.
    pub libraries: &'a LibraryCandidates,
    /// Plugins whose host program is inferred.
    pub inferred: &'a Inferred,
    /// Libraries that a host loads before its plugins.
    pub lent: &'a Lent,
}

/// Missing libraries that a host loads before its plugins: the place of the host in the policy, by
/// the object that needs one and the name.
#[derive(Debug, Default)]
pub struct Lent(FastMap<(FileId, StrId), usize>);

impl Lent {
    /// Goes through the missing libraries of all entry points.
    pub fn find(source: Source<'_>) -> Self {
        let mut out = FastMap::default();
        if source.hosts.iter().all(|host| host.loads.is_empty()) {
            return Self(out);
        }
        let patterns = hosts::Patterns::new(&[]);
        let mut hosts = hosts::Hosts::new(source, &patterns);
        for closure in &source.closures.roots {
            for (file, edge) in maker::missing_edges(closure) {
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
type SymbolKey = (FileId, u32);

fn object_of<'v>(view: View<'v>, closure: &Closure, module: ModuleId) -> Option<&'v Object> {
    view.object(closure.module(module).file?)
}

/// Modules from the root of `site` to its module, root first, with how each was found.
pub fn chain(closures: &crate::resolve::roots::Closures, site: Site) -> Chain {
    let chain = closures.roots[site.root].ends_of_chain(site.module);
    if chain.hops == [ROOT] { Chain { hops: Vec::new(), left_out: 0 } } else { chain }
}

/// The first root that loads each file, for quick answers about who loads what.
pub struct FirstLoader(Vec<Option<Loaded>>);

/// A file under the first root that loads it.
#[derive(Clone, Copy)]
pub struct Loaded {
    /// The root.
    pub root: RootId,
    /// The first module that stands for the file.
    pub module: ModuleId,
    /// Another one stands for it too.
    pub is_twice: bool,
}

impl FirstLoader {
    /// Goes through all roots.
    pub fn new(closures: &crate::resolve::roots::Closures) -> Self {
        let mut out: Vec<Option<Loaded>> = Vec::new();
        for (root, closure) in closures.roots.entries() {
            let files = closure.modules().filter_map(|(id, module)| Some((id, module.file?)));
            for (module, file) in files {
                if file.index() >= out.len() {
                    out.resize((file.index() + 1).next_power_of_two(), None);
                }
                match &mut out[file.index()] {
                    Some(loaded) => loaded.is_twice |= loaded.root == root,
                    none => *none = Some(Loaded { root, module, is_twice: false }),
                }
            }
        }
        Self(out)
    }

    /// The first root that loads `file`.
    pub fn of(&self, file: FileId) -> Option<RootId> {
        self.loaded(file).map(|loaded| loaded.root)
    }

    /// The same with the module that stands for it.
    pub fn loaded(&self, file: FileId) -> Option<Loaded> {
        self.0.get(file.index()).copied().flatten()
    }
}
