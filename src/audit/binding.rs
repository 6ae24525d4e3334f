//! The loops that bind symbols: one binds each object in its own closure, one binds all entry
//! points, and one binds a few names for a view. If a step lacks facts, it returns requests for
//! these facts. The collector reads the facts, and the step runs again.

use super::Audit;
use super::rounds::Rounds;
use crate::bind::entry_point::{self, BindingInput, BindingWorker};
use crate::bind::query::RequestedQueries;
use crate::bind::standalone::{self, LookupRules, OpenReferences};
use crate::bind::{Binding, OwnBindings, RootBinding, musl, symbol_query};
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Edits, Need, View};
use crate::format::archive::{self, DefiningMember};
use crate::id::{FastMap, FastSet, FileId, Id as _, IdSet, RootId};
use crate::parallel;
use crate::plan::Plan;
use crate::resolve::Closure;
use crate::resolve::entry_points::Closures;
use crate::resolve::loader::Family;
use crate::resolve::resolver::Resolver;
use crate::resolve::versions::NeededFiles;
use crate::tree::Tree;
use rayon::prelude::*;

/// The closures of all entry points, and the resolver that made them.
#[derive(Clone, Copy)]
pub(super) struct ResolvedClosures<'a> {
    pub(super) resolver: &'a Resolver,
    pub(super) closures: &'a Closures,
}

/// The closures and bindings of all entry points, and the resolver.
#[derive(Clone, Copy)]
pub(super) struct BoundClosures<'a> {
    pub(super) resolver: &'a Resolver,
    pub(super) closures: &'a Closures,
    pub(super) bindings: &'a [RootBinding],
}

/// The results of [`bind`].
pub(super) struct Bindings {
    pub(super) entry_points: Vec<RootBinding>,
    /// For each file, the references that it leaves undefined in its own closure.
    pub(super) own: OwnBindings,
}

pub(super) fn bind(
    plan: &Plan,
    corpus: &mut Corpus,
    edits: &Edits,
    collector: &mut Collector<'_>,
    resolved: ResolvedClosures<'_>,
) -> Bindings {
    let ResolvedClosures { resolver, closures } = resolved;
    let release = |closure: &Closure| resolver.loaders.get(closure.root.loader).release;
    let own = bind_own(plan, corpus, edits, collector, resolved);
    let view = View::edited(corpus, edits);
    let needed = NeededFiles::new(&view, &resolver.strings, corpus.files.ids());
    let quiet = quiet_links(plan, view, closures, (&own, &needed), resolver);
    let mut done: Vec<Option<RootBinding>> = closures.roots.iter().map(|_| None).collect();
    let hosts = hosts(closures);
    loop {
        let shared = BindingInput {
            view: View::edited(corpus, edits),
            strings: &resolver.strings,
            needed: &needed,
            own: &own,
            quiet: &quiet,
            bindings: plan.facts,
            started: !plan.as_ldd,
            unique: None,
        };
        // If all bindings are requested, a plugin is bound after its host program, because its
        // bindings depend on the program's.
        let waits = |host: &RootId| plan.facts && done[host.index()].is_none();
        let open =
            |root: &RootId| done[root.index()].is_none() && !hosts.get(root).is_some_and(waits);
        let todo: Vec<RootId> = closures.roots.ids().filter(open).collect();
        let answers: Vec<Result<RootBinding, Vec<Need>>> = todo
            .par_iter()
            .with_min_len(share(todo.len()))
            .map_init(BindingWorker::default, |worker, root| {
                let closure = &closures.roots[*root];
                let host = hosts.get(root).and_then(|host| done[host.index()].as_ref());
                let shared = BindingInput { unique: host.map(|host| &host.unique), ..shared };
                match resolver.loaders.get(closure.root.loader).family {
                    Family::Glibc => entry_point::bind(closure, shared, release(closure), worker),
                    Family::Musl(release) => {
                        musl::bind(closure, shared.view, release, shared.bindings)
                    }
                }
            })
            .collect();
        let (mut needs, mut bound) = (Vec::new(), 0);
        for (root, answer) in todo.into_iter().zip(answers) {
            match answer {
                Ok(binding) => {
                    done[root.index()] = Some(binding);
                    bound += 1;
                }
                Err(missing) => needs.extend(missing),
            }
        }
        if needs.is_empty() && done.iter().all(Option::is_some) {
            return Bindings { entry_points: done.into_iter().flatten().collect(), own };
        }
        // Only plugins are left: their host programs were bound in this round.
        if needs.is_empty() && bound > 0 {
            continue;
        }
        Rounds::of("bind").answer(corpus, collector, needs);
    }
}

/// Minimum number of entry points that one worker binds in sequence. A worker reuses results of one
/// entry point for the next.
fn share(roots: usize) -> usize {
    roots / (8 * rayon::current_num_threads()) + 1
}

/// The ids of link maps that several entry points share, and in which only the entry point itself
/// can have undefined references.
fn quiet_links(
    plan: &Plan,
    view: View<'_>,
    closures: &Closures,
    (own, needed): (&OwnBindings, &NeededFiles),
    resolver: &Resolver,
) -> FastSet<usize> {
    let none = FastSet::default();
    let shared = BindingInput {
        view,
        strings: &resolver.strings,
        needed,
        own,
        quiet: &none,
        bindings: plan.facts,
        started: !plan.as_ldd,
        unique: None,
    };
    let loader = |closure: &Closure| resolver.loaders.get(closure.root.loader);
    let mut counts: FastMap<usize, u32> = FastMap::default();
    let mut second = |closure: &&Closure| {
        let count = counts.entry(closure.links_id()).or_default();
        *count += 1;
        *count == 2
    };
    // If all bindings are requested, every module is visited anyway.
    let roots = closures.roots.iter().filter(|_| !plan.facts);
    let roots: Vec<&Closure> = roots
        .filter(|closure| loader(closure).family == Family::Glibc && closure.fatal().is_none())
        .filter(|closure| closure.host().is_none())
        .filter(&mut second)
        .collect();
    let is_quiet = |worker: &mut BindingWorker, closure: &Closure| {
        entry_point::is_quiet(closure, shared, loader(closure).release, worker)
    };
    let quiet: Vec<bool> = roots
        .par_iter()
        .with_min_len(share(roots.len()))
        .map_init(BindingWorker::default, |worker, closure| is_quiet(worker, closure))
        .collect();
    let quiet = roots.into_iter().zip(quiet).filter(|(_, quiet)| *quiet);
    quiet.map(|(closure, _)| closure.links_id()).collect()
}

/// Maps each entry point that is a plugin to the entry point that is its host program.
fn hosts(closures: &Closures) -> FastMap<RootId, RootId> {
    let roots = || closures.roots.entries();
    if roots().all(|(_, closure)| closure.root.host.is_none()) {
        return FastMap::default();
    }
    let alone = roots().filter(|(_, closure)| closure.root.host.is_none());
    let programs: FastMap<FileId, RootId> =
        alone.map(|(root, closure)| (closure.root.file, root)).collect();
    roots()
        .filter_map(|(root, closure)| Some((root, *programs.get(&closure.root.host?)?)))
        .collect()
}

/// The bindings of a few requested names under each entry point, and the archive members that
/// define these names.
pub struct NamedBindings {
    /// For each file, its symbols with one of the requested names.
    pub symbols: symbol_query::RequestedSymbols,
    /// For each entry point, in the order of `Closures::roots`, the bindings of the requested
    /// names.
    pub bindings: Vec<Vec<Binding>>,
    /// For each archive, the definitions of the requested names in its members.
    pub archives: Vec<(FileId, Vec<DefiningMember>)>,
}

/// Binds a few names under all entry points of a finished audit.
pub fn bind_names(
    plan: &Plan,
    tree: &dyn Tree,
    audit: &mut Audit,
    names: &archive::RequestedNames,
) -> NamedBindings {
    let mut collector = Collector::new(tree, plan.reading());
    let Audit { corpus, resolver, closures, bindings: known, .. } = audit;
    let files: Vec<FileId> = corpus.files.ids().collect();
    let symbols = symbol_query::symbols(View::new(corpus), &files, names);
    let bindings = loop {
        let view = View::new(corpus);
        let roots: Vec<(&Closure, &RootBinding)> = closures.roots.iter().zip(&*known).collect();
        let answers: Vec<Result<Vec<Binding>, Vec<Need>>> = parallel::map(&roots, |root| {
            let (closure, known) = *root;
            let loader = resolver.loaders.get(closure.root.loader);
            if let Family::Musl(release) = loader.family {
                let asked = |binding: &Binding| {
                    let file = closure.module(binding.module).file;
                    let symbols = file.and_then(|file| symbols.get(&file));
                    symbols.is_some_and(|symbols| symbols.contains(&binding.symbol))
                };
                let all = musl::bind(closure, view, release, true)?.bindings;
                return Ok(all.into_iter().filter(asked).collect());
            }
            let (release, started) = (loader.release, !plan.as_ldd);
            let rules = symbol_query::BindingRules { release, started, known };
            symbol_query::bind(closure, view, &resolver.strings, &symbols, rules)
        });
        let (done, needs): (Vec<_>, Vec<_>) = answers.into_iter().partition(Result::is_ok);
        let needs: Vec<Need> = needs.into_iter().filter_map(Result::err).flatten().collect();
        if needs.is_empty() {
            break done.into_iter().filter_map(Result::ok).collect();
        }
        Rounds::of("bind_names").answer(corpus, &mut collector, needs);
    };
    let (archives, defects) = collector.archive_definitions(corpus, names);
    corpus.add_defects(defects);
    NamedBindings { symbols, bindings, archives }
}

/// For each file that was resolved without a host program, its closure. The file is either an
/// entry point, or was resolved only to bind it in its own closure.
fn lone_closures(closures: &Closures) -> FastMap<FileId, &Closure> {
    let mut lone: FastMap<FileId, &Closure> = FastMap::default();
    for closure in closures.roots.iter().filter(|closure| closure.root.host.is_none()) {
        lone.entry(closure.root.file).or_insert(closure);
    }
    for (_, closure) in closures.lone_in_order() {
        lone.entry(closure.root.file).or_insert(closure);
    }
    lone
}

/// Binds, in its own closure, each object that an entry point loads. An object is skipped if it has
/// no closure of its own, if the loader rejects this closure, or if the loader is musl's. Without
/// `Plan::reuse`, all objects are skipped.
fn bind_own(
    plan: &Plan,
    corpus: &mut Corpus,
    edits: &Edits,
    collector: &mut Collector<'_>,
    ResolvedClosures { resolver, closures }: ResolvedClosures<'_>,
) -> OwnBindings {
    let mut own = OwnBindings::default();
    if !plan.reuse {
        return own;
    }
    let providers = RequestedQueries::by(plan.rule_wants).bound;
    let lone = lone_closures(closures);
    let loader = |closure: &Closure| resolver.loaders.get(closure.root.loader);
    let mut seen = IdSet::default();
    let found = closures.roots.iter().flat_map(|closure| closure.found().map(|(_, file)| file));
    let mut todo: Vec<FileId> = found.filter(|file| seen.insert(*file)).collect();
    let is_reused =
        |closure: &&Closure| closure.fatal().is_none() && loader(closure).family == Family::Glibc;
    todo.retain(|file| lone.get(file).is_some_and(is_reused));
    while !todo.is_empty() {
        let view = View::edited(corpus, edits);
        let answers: Vec<Result<OpenReferences, Vec<Need>>> = parallel::map(&todo, |file| {
            let closure = lone[file];
            let rules = LookupRules { release: loader(closure).release };
            standalone::bind(closure, view, rules, providers)
        });
        let mut needs = Vec::new();
        let mut again = Vec::new();
        for (file, answer) in todo.into_iter().zip(answers) {
            match answer {
                Ok(answer) => own.insert(file, answer),
                Err(missing) => {
                    needs.extend(missing);
                    again.push(file);
                }
            }
        }
        if !again.is_empty() {
            Rounds::of("bind_own").answer(corpus, collector, needs);
        }
        todo = again;
    }
    own
}
