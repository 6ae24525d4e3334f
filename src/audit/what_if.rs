//! Finds the effect of a fix: resolves and binds again as if some objects were changed. The stages
//! run on a [`View`] with edits, only for the entry points that load an edited object. The callers
//! are `libraries`, `patch` and `prove` of `fix`.

use super::binding::{BoundClosures, ResolvedClosures};
use super::{Audit, EntryPoints, binding, hosts, resolve, source};
use crate::bind::RootBinding;
use crate::bind::lookup::definition;
use crate::diagnosis::{self, Claims, Explanations, HostLibraries, Undefined};
use crate::facts::collect::Collector;
use crate::facts::{Edits, Need, View};
use crate::format::elf::find::SymbolQuery;
use crate::format::elf::{EVERY_VERSION, SymbolIndex, hash};
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::order;
use crate::plan::Plan;
use crate::resolve::Closure;
use crate::resolve::entry_points::Closures;
use crate::resolve::resolver::Resolver;
use crate::resolve::start::Start;
use crate::starts::other_starts;
use crate::text::show;
use crate::tree::Tree;
use object::elf;
use std::collections::BTreeSet;

/// An error of an object at load, in a form that can be compared before and after a fix.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub struct LoadError {
    /// The object with the error.
    pub file: FileId,
    /// The kind of error, such as `missing` or `undefined`.
    pub kind: &'static str,
    /// The name of the library, symbol, version or object that the error is about.
    pub name: Vec<u8>,
    /// The version of the symbol, if the error is about a symbol with a version. The loader's
    /// message, if the loader stops. Otherwise `None`.
    pub detail: Option<Vec<u8>>,
}

impl LoadError {
    /// An error of `file`.
    pub fn new(file: FileId, kind: &'static str, name: &[u8], detail: Option<&[u8]>) -> Self {
        Self { file, kind, name: name.to_vec(), detail: detail.map(<[u8]>::to_vec) }
    }
}

/// The reason why a fix that causes `errors` is refused; `None` without an error. A missing version
/// comes first, because it also makes symbols undefined.
pub fn refusal<'e>(errors: impl IntoIterator<Item = &'e LoadError>) -> Option<String> {
    let first = errors.into_iter().min_by_key(|error| error.kind != "version")?;
    let name = show(&first.name);
    Some(match first.kind {
        "version" => format!("version {name} would be missing with the fix"),
        _ => format!("{name} would fail with the fix"),
    })
}

/// The state after a fix, under the entry points that load an edited object.
pub struct LoadsAfterFix {
    /// All load errors that remain.
    pub errors: BTreeSet<LoadError>,
    /// Files that an entry point loaded before the fix, and no longer loads.
    pub lost: FastSet<FileId>,
    /// Files with undefined references that a host program is assumed to define.
    pub hosted: FastSet<FileId>,
    /// All files that entry points load after the fix.
    pub loaded: FastSet<FileId>,
}

/// An entry point in two resolutions: the path by which it is started, its file, and the file of
/// its host program. A file with several hard links has several entry points, and each has its own
/// `$ORIGIN`.
#[derive(Clone, PartialEq, Eq, Hash)]
struct StartedFile {
    path: Vec<u8>,
    file: FileId,
    host: Option<FileId>,
}

impl StartedFile {
    fn of(resolver: &Resolver, closure: &Closure) -> Self {
        let path = resolver.strings.text(closure.root.path).to_vec();
        Self { path, file: closure.root.file, host: closure.root.host }
    }
}

/// A symbol reference of a file under one entry point.
#[derive(PartialEq, Eq, Hash)]
struct Referred {
    root: usize,
    file: FileId,
    symbol: SymbolIndex,
}

/// The names under which entry points are started.
#[derive(Clone)]
struct Starts {
    /// Files that are started directly.
    given: Vec<Start>,
    /// Plugins of host programs.
    walked: Vec<Start>,
}

/// Some entry points after they were resolved and bound again.
struct Repeated {
    resolver: Resolver,
    closures: Closures,
    bindings: Vec<RootBinding>,
}

impl Repeated {
    /// For each reference, the file whose definition it is bound to. `roots` numbers the entry
    /// points.
    fn winners(&self, roots: &mut FastMap<StartedFile, usize>) -> FastMap<Referred, FileId> {
        let mut out = FastMap::default();
        for (closure, bound) in self.closures.roots.iter().zip(&self.bindings) {
            let next = roots.len();
            let root = *roots.entry(StartedFile::of(&self.resolver, closure)).or_insert(next);
            let file = |module| closure.module(module).file;
            for binding in &bound.bindings {
                let Some((from, to)) = file(binding.module).zip(file(binding.provider)) else {
                    continue;
                };
                let symbol = binding.symbol;
                out.insert(Referred { root, file: from, symbol }, to);
            }
        }
        out
    }
}

impl Audit {
    /// The load errors that a diagnosis contains.
    pub fn faults(diagnosis: &diagnosis::Diagnosis) -> BTreeSet<LoadError> {
        let mut out: BTreeSet<LoadError> = BTreeSet::new();
        for missing in &diagnosis.missing {
            out.insert(LoadError::new(missing.file, "missing", &missing.name, None));
            let explained = missing.explained.iter();
            out.extend(explained.map(|(file, symbol, version)| {
                LoadError::new(*file, "explained", symbol, version.as_deref())
            }));
        }
        let undefined = diagnosis.undefined.iter();
        out.extend(
            undefined.map(|u| LoadError::new(u.file, "undefined", &u.symbol, u.version.as_deref())),
        );
        let versions = diagnosis.versions.iter();
        out.extend(versions.map(|v| LoadError::new(v.file, "version", &v.version, None)));
        let stopped = diagnosis.stopped.iter();
        out.extend(
            stopped.map(|s| LoadError::new(s.file, "stopped", &s.object, Some(s.text.as_bytes()))),
        );
        out
    }

    /// Reads the tables and relocations of `files`, which the stages need if these files are
    /// edited.
    pub fn read_for_edits(&mut self, plan: &Plan, tree: &dyn Tree, files: &[FileId]) {
        let needs = files.iter().flat_map(|file| {
            let bare = self.corpus.files[*file].object().is_some_and(|o| o.tables.is_none());
            let tables = bare.then_some(Need::Tables(*file));
            let relocations = self.corpus.relocations(*file).err();
            tables.into_iter().chain(relocations)
        });
        let needs: Vec<Need> = needs.collect();
        Collector::new(tree, plan.reading()).answer(&mut self.corpus, needs);
    }

    /// The load errors under all entry points that load an edited object, with the edits applied.
    pub fn again(&mut self, plan: &Plan, tree: &dyn Tree, edits: &Edits) -> BTreeSet<LoadError> {
        self.loaded_again(plan, tree, edits).errors
    }

    /// Resolves, binds and diagnoses again with the edits applied, under all entry points that load
    /// an edited object.
    pub fn loaded_again(&mut self, plan: &Plan, tree: &dyn Tree, edits: &Edits) -> LoadsAfterFix {
        let files = |closure: &Closure| -> FastSet<FileId> {
            closure.found().map(|(_, file)| file).collect()
        };
        let before: Vec<_> = self
            .roots_with(edits)
            .map(|root| &self.closures.roots[root])
            .map(|closure| (StartedFile::of(&self.resolver, closure), files(closure)))
            .collect();
        let starts = self.starts_with(edits);
        let plan = Plan { facts: false, ..plan.clone() };
        let Repeated { resolver, closures, bindings } = self.repeat(&plan, tree, edits, starts);
        let view = View::edited(&self.corpus, edits);
        let bound = BoundClosures { resolver: &resolver, closures: &closures, bindings: &bindings };
        let source = source(&plan, &self.prefixes, view, bound);
        let host_libraries = HostLibraries::find(source);
        let explanations = Explanations {
            claims: Claims { providers: &self.providers, policy: &plan.policy },
            libraries: &self.libraries,
            inferred: &self.inferred,
            host_libraries: &host_libraries,
        };
        let diagnosis = diagnosis::diagnosis(source, &Undefined::find(source), explanations);
        let after: FastMap<_, _> = closures
            .roots
            .iter()
            .map(|closure| (StartedFile::of(&resolver, closure), files(closure)))
            .collect();
        let lost = before.iter().flat_map(|(key, files)| {
            let after = after.get(key);
            files.iter().filter(move |file| after.is_some_and(|after| !after.contains(*file)))
        });
        LoadsAfterFix {
            errors: Self::faults(&diagnosis),
            lost: lost.copied().collect(),
            loaded: after.values().flatten().copied().collect(),
            hosted: diagnosis.hosted,
        }
    }

    /// The first name, in byte order, with a reference that binds to another file once the edits
    /// are applied; `None` if there is none. A name is skipped if its definitions in the old and
    /// the new file are both weak: the name is an inline function or a template, and its
    /// definitions are interchangeable.
    pub fn rebound(&mut self, plan: &Plan, tree: &dyn Tree, edits: &Edits) -> Option<Vec<u8>> {
        let starts = self.starts_with(edits);
        let plan = Plan { facts: true, ..plan.clone() };
        let mut roots = FastMap::default();
        let before = self.repeat(&plan, tree, &Edits::default(), starts.clone());
        let before = before.winners(&mut roots);
        let after = self.repeat(&plan, tree, edits, starts).winners(&mut roots);
        let object = |file: FileId| self.corpus.files[file].object();
        let is_weak = |file: FileId, name: &[u8]| {
            let query = SymbolQuery::new(name, hash::gnu(name), None);
            let found = object(file).and_then(|o| definition(o, &query, EVERY_VERSION));
            found.is_some_and(|found| elf::SymbolBind(found.bind) == elf::STB_WEAK)
        };
        let changed = before.iter().filter_map(|(reference, provider)| {
            let now = *after.get(reference).filter(|now| *now != provider)?;
            let name = object(reference.file)?.symbol_name(reference.symbol);
            let both_weak = is_weak(*provider, name) && is_weak(now, name);
            (!both_weak).then(|| name.to_vec())
        });
        changed.min()
    }

    /// The names under which the entry points that load an edited object are started again.
    fn starts_with(&self, edits: &Edits) -> Starts {
        let (mut given, mut walked) = (Vec::new(), Vec::new());
        for root in self.roots_with(edits) {
            let root = &self.closures.roots[root].root;
            let path = self.resolver.strings.text(root.path).to_vec();
            // A file that a host program opened stays a plugin; any other file starts directly.
            let list = if root.host.is_none() { &mut given } else { &mut walked };
            list.push(Start { file: root.file, path });
        }
        // Before a change adds `$ORIGIN`, a file is started under one of its hard links only.
        let files: BTreeSet<FileId> = order::set(given.iter().map(|start| start.file));
        let edited = files.iter().filter_map(|file| Some((*file, edits.get(file)?)));
        let links = edited
            .flat_map(|(file, edit)| other_starts(file, &self.corpus.files[file], &edit.object));
        given.extend(links);
        Starts { given, walked }
    }

    /// Resolves and binds entry points again, with the edits applied.
    fn repeat(&mut self, plan: &Plan, tree: &dyn Tree, edits: &Edits, starts: Starts) -> Repeated {
        let mut collector = Collector::new(tree, plan.reading());
        let mut resolver = Resolver::default();
        let corpus = &mut self.corpus;
        let hosts = hosts(plan, corpus, &mut collector, &self.prefixes);
        let entries = EntryPoints { given: starts.given, walked: starts.walked, hosts };
        let closures = resolve(plan, corpus, edits, &mut collector, &mut resolver, entries);
        let resolved = ResolvedClosures { resolver: &resolver, closures: &closures };
        let bindings = binding::bind(plan, corpus, edits, &mut collector, resolved).entry_points;
        Repeated { resolver, closures, bindings }
    }

    fn roots_with<'a>(&'a self, edits: &'a Edits) -> impl Iterator<Item = RootId> + 'a {
        // A plugin also depends on the files that its host program loads.
        let loads =
            |closure: &Closure| closure.in_scope().any(|(_, file)| edits.contains_key(&file));
        self.closures.roots.entries().filter(move |(_, c)| loads(c)).map(|(root, _)| root)
    }
}
