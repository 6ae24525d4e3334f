//! The pipeline: walk, read, resolve, bind, diagnose. Only this module and its submodules loop over
//! missing facts: a stage returns requests for the facts that it lacks, the collector reads them,
//! and the stage runs again.

mod archive_owners;
pub(crate) mod archives;
mod beside;
mod binding;
mod candidates;
mod collected;
mod coverage;
mod dangling;
mod databases;
mod definers;
mod definitions;
mod dependent_libraries;
mod diagnosis;
mod dlopens;
mod explained;
mod gpu;
mod implied_libc;
mod installed;
mod kept_names;
mod left_out;
mod link_facts;
mod linked;
mod own_loaders;
mod owners;
mod package_text;
mod programs;
mod queries;
mod reference_states;
mod rounds;
mod search_entries;
mod shared_facts;
pub mod trace;
mod unlinkable;
mod what_if;

use crate::order::Arrange as _;
pub use archive_owners::{ArchiveOwner, ArchiveOwners};
pub use binding::{NamedBindings, bind_names};
pub use candidates::{Candidates, named_below};
pub use coverage::CoverageLine;
pub use dangling::DanglingLink;
pub use dlopens::MissingDlopen;
pub use explained::Explained;
pub use installed::{DefinerKind, Installed, InstalledLibrary};
pub use left_out::LeftOut;
pub use linked::{LIBC_NONSHARED, Libraries, link_references};
pub use package_text::{
    CMakePackage, MissingFlag, MissingHeader, PackageText, PkgConfigFile, TextPath, TextPathKind,
    Undecided, Unmet, cmake_package_name,
};
pub use search_entries::{EntryState, SearchEntries, SearchEntry};
pub use unlinkable::Unlinkable;
pub use what_if::{LoadError, LoadsAfterFix, refusal};

use crate::bind::RootBinding;
use crate::bind::query::{QueryAnswers, RequestedQueries};
use crate::cover::ArchiveSet;
use crate::diagnosis::{Diagnosis, DiagnosisInput, Inferred, LibraryCandidates};
use crate::facts::collect::Collector;
use crate::facts::providers::Providers;
use crate::facts::read::{Read, read_candidate};
use crate::facts::{Corpus, CrossCheck, Edits, View};
use crate::gpu::Devices;
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::package::Prefixes;
use crate::parallel;
use crate::plan::Plan;
use crate::resolve::candidate::Round;
use crate::resolve::entry_points::{Closures, Resolving};
use crate::resolve::hosts::HostPrograms;
use crate::resolve::loader::Loader;
use crate::resolve::resolver::Resolver;
use crate::resolve::start::Start;
use crate::sniff::{Class, SNIFF_LEN, sniff};
use crate::starts::StartNames;
use crate::tree::walk::{
    self, GivenPath, ListedNames, UnreadablePath, Visit, WalkTotals, Walked, WalkedText,
};
use crate::tree::{EntryType, InsideTree, Opened, Tree};
use crate::wants::Wants;
use archives::Unbound;
use binding::{BoundClosures, ResolvedClosures, bind};
use collected::{count_kinds, prefixes};
use diagnosis::{Diagnosed, Diagnosing};
use kept_names::KeptNames;
use package_text::Texts;
use rounds::Rounds;
use shared_facts::SharedFacts;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;
use std::time::{Duration, Instant};

/// Maximum number of given paths whose device and inode are looked up before the walk.
const MOST_GIVEN: usize = 64;

/// All results of a run. The rules derive the findings from these results.
pub struct Audit {
    /// The facts about all files that were read.
    pub corpus: Corpus,
    /// The resolver after the run: it holds the strings of closures, and the loaders.
    pub resolver: Resolver,
    /// The closures of all entry points.
    pub closures: Closures,
    /// The bindings under each entry point, in the order of `closures.roots`.
    pub bindings: Vec<RootBinding>,
    /// The answers to the binding queries that the enabled rules want.
    queries: QueryAnswers,
    /// The diagnosis: missing libraries, undefined symbols and other load errors, per object.
    pub diagnosis: Diagnosis,
    /// The audited files and `--lib-path` files that define undefined names.
    pub providers: Providers,
    /// The set of archives whose members were read.
    pub library: ArchiveSet,
    /// The prefixes of the run, to which reported paths are relative.
    pub prefixes: Prefixes,
    /// Files in the prefixes that have the name of a missing library.
    pub candidates: Candidates,
    /// The candidates for missing libraries, with the libraries that they need.
    libraries: LibraryCandidates,
    /// The plugins whose host program is inferred.
    inferred: Inferred,
    /// Files of the system, outside of the audited files, that define undefined symbols or have the
    /// name of a missing library.
    pub installed: Installed,
    /// Paths that could not be read.
    pub problems: Vec<UnreadablePath>,
    /// The numbers of walked files and other entries, by kind.
    pub totals: WalkTotals,
    /// Paths of walked files that a policy may require by name, whatever their content, and of the
    /// metadata of wheels (`KeptNames`).
    pub named: Vec<PathBuf>,
    /// Links to directories, with the real paths of their targets. Filled only if a policy selects
    /// files by path, or the report lists such links.
    pub linked: Vec<(PathBuf, PathBuf)>,
    /// Dangling links with the name of a library.
    pub dangling: Vec<DanglingLink>,
    /// For each libc.so.6 and each loader that loads it from another directory: the loader in
    /// the directory of the libc. A pair is omitted if both loaders have the same contents.
    own_loaders: FastMap<(FileId, FileId), FileId>,
    /// For each file with undefined symbols that a compiler linked without a need for the C
    /// library: the C library that the compiler adds to a new link.
    implied_libc: FastMap<FileId, FileId>,
    /// Libraries that the notes of objects require, and that dlopen cannot open.
    pub missing_dlopens: Vec<MissingDlopen>,
    /// The suspect search path entries of audited objects, for rules that want them.
    pub search_entries: BTreeMap<FileId, SearchEntries>,
    /// The device code of files, for rules and commands that want it.
    pub devices: Devices,
    /// Results of the checks of text files, for rules that want them.
    pub package_text: PackageText,
    /// The text files that the walk listed.
    texts: Texts,
    /// All files in the order in which `ldd` would list them, each with its entry point; `None`
    /// for a file that cannot be an entry point. Filled only with [`Plan::every_file_is_root`].
    pub listing: Vec<(PathBuf, Option<RootId>)>,
    /// The results of the cross-check, if requested.
    pub cross_check: Option<CrossCheck>,
    /// The names under which files are started or opened.
    names: StartNames,
    /// The given paths: those to audit, then those of `--lib-path`.
    given: Vec<GivenPath>,
    met: ListedNames,
    /// The duration of each stage, in order.
    pub timings: Vec<(&'static str, Duration)>,
}

impl Audit {
    /// Keeps only the facts about the walked files, for another audit of these files with different
    /// entry points.
    pub fn into_ground(self) -> Ground {
        let Self {
            corpus,
            prefixes,
            problems,
            totals,
            named,
            linked,
            dangling,
            met,
            texts,
            names,
            given,
            ..
        } = self;
        let timings = Vec::new();
        Ground {
            corpus,
            prefixes,
            problems,
            totals,
            named,
            linked,
            dangling,
            met,
            texts,
            names,
            given,
            timings,
        }
    }

    /// The files that a given path names directly; files below given directories are left out.
    pub fn given_files(&self) -> FastSet<FileId> {
        let files = self.given.iter().filter(|given| given.kind == Ok(EntryType::File));
        files.filter_map(|given| self.corpus.file_at(&given.path)).collect()
    }

    /// The loader in the directory of `libc`. `None` unless `loader` loads this libc.so.6 from
    /// another directory, and the two loaders have different contents.
    pub fn own_loader(&self, libc: FileId, loader: FileId) -> Option<FileId> {
        self.own_loaders.get(&(libc, loader)).copied()
    }

    /// Those of `names` that may occur in the directories that the walks listed. The walks store
    /// only hashes of names, so the result may contain a name that occurs in none of these
    /// directories. For rules that declare `Wants::NAMES_MET`.
    pub fn names_met(&self, mut names: FastSet<OsString>) -> FastSet<OsString> {
        self.met.narrow(&mut names);
        names
    }

    /// The facts as the resolve and bind stages see them, without edits.
    pub fn view(&self) -> View<'_> {
        View::new(&self.corpus)
    }

    /// The path of an entry point in reports (`FileFacts::path`).
    pub fn root_path(&self, root: RootId) -> &Path {
        &self.corpus.files[self.closures.roots[root].root.file].path
    }

    /// The loader of an entry point.
    pub fn loader(&self, root: RootId) -> &Loader {
        self.resolver.loaders.get(self.closures.roots[root].root.loader)
    }

    /// The text of a name in closures.
    pub fn text(&self, id: crate::id::StrId) -> &[u8] {
        self.resolver.strings.text(id)
    }
}

/// The results of the walks over the paths to audit and over `--lib-path`.
pub struct AuditInput {
    /// The files at and below the paths to audit.
    pub audited: Walked<Read>,
    /// The files at and below the `--lib-path` paths.
    pub providers: Walked<Read>,
}

/// Walks the paths of the plan in `tree` and reads the files there. `seen` counts the walked
/// entries, for a progress line.
pub fn read(plan: &Plan, tree: &dyn Tree, seen: &AtomicUsize) -> AuditInput {
    let wants = plan.reading();
    let reading = |wants| move |candidate: walk::WalkedFile<'_>| read_candidate(&candidate, wants);
    let wanted = KeptNames::new(&plan.policy);
    let keeps_met = [Wants::NAMES_IN_PREFIX, Wants::NAMES_MET]
        .into_iter()
        .any(|wants| plan.rule_wants.holds(wants));
    let visit = Visit {
        classes: wants.classes,
        consume: &reading(wants),
        is_named: &|path| wanted.may_be(path),
        keeps_met,
    };
    let audited = || walk::walk(tree, &plan.all_paths(), plan.threads, seen, &visit);
    let given = given(plan, tree);
    let provider_wants = plan.provider_reading();
    let read_provider = reading(provider_wants);
    let provider = |candidate: walk::WalkedFile<'_>| {
        let stat = candidate.handle.stat();
        let known = given.contains(&(stat.dev, stat.ino));
        if known { Read::elsewhere() } else { read_provider(candidate) }
    };
    let providers = || {
        let classes = provider_wants.classes;
        let visit = Visit { classes, consume: &provider, is_named: &|_| false, keeps_met };
        walk::walk(tree, &plan.lib_paths, plan.threads, seen, &visit)
    };
    if plan.lib_paths.is_empty() {
        return AuditInput { audited: audited(), providers: Walked::default() };
    }
    // The walks run in parallel: one of them often finds only a single large library, which a
    // single thread reads.
    let (providers, audited) = parallel::both(plan.threads > 1, providers, audited);
    AuditInput { audited, providers }
}

/// Device and inode of each ELF file that the command line names. If one of these files is also
/// below a `--lib-path`, the walk of `--lib-path` skips it, because it can be larger than all other
/// files there. Empty without `--lib-path`.
fn given(plan: &Plan, tree: &dyn Tree) -> FastSet<(u64, u64)> {
    let named = plan.paths.iter().take(MOST_GIVEN).filter(|_| !plan.lib_paths.is_empty());
    let inode = |path: &PathBuf| {
        let Ok(Opened::File(handle)) = tree.open(path) else { return None };
        let mut magic = [0; SNIFF_LEN];
        let n = handle.read_at(&mut magic, 0).ok()?;
        let is_object = sniff(&magic[..n]) == Class::Elf;
        is_object.then(|| (handle.stat().dev, handle.stat().ino))
    };
    named.filter_map(inode).collect()
}

struct Clock {
    last: Instant,
    laps: Vec<(&'static str, Duration)>,
}

impl Clock {
    fn lap(&mut self, name: &'static str) {
        let now = Instant::now();
        self.laps.push((name, now - self.last));
        self.last = now;
    }

    /// Records a lap if the step ran. Otherwise, its time counts for the next lap.
    fn lap_if(&mut self, was_taken: bool, name: &'static str) {
        if was_taken {
            self.lap(name);
        }
    }
}

/// The input of the stages: the facts and prefixes of the walked files. A finished audit returns
/// these facts for an audit with other entry points, which then reads no file again.
pub struct Ground {
    corpus: Corpus,
    prefixes: Prefixes,
    problems: Vec<UnreadablePath>,
    totals: WalkTotals,
    named: Vec<PathBuf>,
    linked: Vec<(PathBuf, PathBuf)>,
    dangling: Vec<DanglingLink>,
    met: ListedNames,
    texts: Texts,
    names: StartNames,
    given: Vec<GivenPath>,
    timings: Vec<(&'static str, Duration)>,
}

/// Collects the walked files into a corpus, and derives the prefixes.
pub fn collect(plan: &Plan, tree: &dyn Tree, input: AuditInput) -> Ground {
    let mut clock = Clock { last: Instant::now(), laps: Vec::new() };
    let mut corpus = Corpus::default();
    let mut collector = Collector::new(tree, plan.reading());
    collector.state_prefix(plan.prefix.as_deref());
    let Walked { given, entries, problems, mut totals, texts, named, linked, dangling, mut met } =
        input.audited;
    let names = StartNames::new(&given, &entries);
    collector.add_entries(&mut corpus, &given, entries, true);
    let Walked { given: places, entries, problems: lib_problems, texts: beside, met: also, .. } =
        input.providers;
    met.join(also);
    collector.add_entries(&mut corpus, &places, entries, false);
    let mut problems = problems;
    problems.extend(lib_problems);
    let placed = collector.placed(&given, &dangling);
    let dangling = dangling::read(tree, placed, &dangling, &mut problems);
    for problem in &mut problems {
        problem.path = collector.absolute(&problem.path, &plan.cwd);
    }
    let named_files = collector.placed(&given, &named);
    let mut place = |texts: Vec<WalkedText>, given: &[GivenPath]| {
        let names: Vec<PathBuf> = texts.iter().map(|text| text.path.clone()).collect();
        let placed = collector.placed(given, &names).into_iter().zip(texts);
        placed.map(|(path, text)| WalkedText { path, ..text }).collect()
    };
    let (audited, beside) = (place(texts, &given), place(beside, &places));
    let files = Texts::files(&given);
    let texts =
        Texts { audited, beside, given: collector.placed(&given, &files).into_iter().collect() };
    // Resolving a link costs system calls.
    let is_asked = kept_names::names_files(&plan.policy) || plan.lists_directory_links();
    let linked = if is_asked { linked } else { Vec::new() };
    let found = collector.placed(&given, &linked).into_iter().zip(&linked);
    let leads = |(place, link): (PathBuf, &PathBuf)| Some((place, tree.real_path(link).ok()?));
    let linked = found.filter_map(leads).collect();
    // Two given names may resolve to one path. A problem with this path is then listed twice.
    problems.arrange();
    problems.dedup();
    let mut prefixes = prefixes(plan, &given, tree, &corpus, &problems);
    texts.add_given(&mut prefixes);
    count_kinds(&corpus, &mut totals);
    clock.lap("collect");
    let timings = clock.laps;
    let given = given.into_iter().chain(places).collect();
    let named = named_files;
    Ground {
        corpus,
        prefixes,
        problems,
        totals,
        named,
        linked,
        dangling,
        met,
        texts,
        names,
        given,
        timings,
    }
}

impl Ground {
    /// The part of `tree` that the audit may read after the walk, if the policy is a whitelist.
    /// It consists of the prefixes, the `--lib-path` directories and the `--host` programs.
    /// `None` without a whitelist: the audit may then read all of `tree`.
    pub fn closed<'t>(&self, plan: &Plan, tree: &'t dyn Tree) -> Option<InsideTree<'t>> {
        let closed = plan.policy.is_closed().then(|| {
            let mut seen = self.prefixes.clone();
            let real =
                |path: &PathBuf| tree.real_path(path).unwrap_or_else(|_| plan.cwd.join(path));
            plan.lib_paths.iter().for_each(|dir| seen.add_dir(real(dir)));
            plan.hosts.iter().for_each(|host| seen.add_file(real(&host.path)));
            seen
        });
        closed.map(|prefixes| InsideTree::new(tree, prefixes))
    }
}

/// Runs all stages after [`collect`]. The collector reads missing facts from `tree`.
pub fn audit(plan: &Plan, tree: &dyn Tree, ground: Ground) -> Audit {
    let Ground { mut corpus, prefixes, mut problems, totals, named, linked, dangling, .. } = ground;
    let Ground { names, given: places, met, texts, timings, .. } = ground;
    let mut clock = Clock { last: Instant::now(), laps: timings };
    let mut collector = Collector::new(tree, plan.reading());
    collector.let_open_below(&places);
    let mut resolver = Resolver::default();
    let none = Edits::default();
    let (given, walked) = names.starts(plan, &corpus);
    let hosts = hosts(plan, &mut corpus, &mut collector, &prefixes);
    let entries = EntryPoints { given, walked, hosts };
    let closures = resolve(plan, &mut corpus, &none, &mut collector, &mut resolver, entries);
    let missing_dlopens =
        dlopens::find(plan, &mut corpus, &mut collector, &mut resolver, &closures);
    clock.lap("resolve");

    let resolved = ResolvedClosures { resolver: &resolver, closures: &closures };
    let bindings = bind(plan, &mut corpus, &none, &mut collector, resolved);
    clock.lap("bind");

    let bound = BoundClosures {
        resolver: &resolver,
        closures: &closures,
        bindings: &bindings.entry_points,
    };
    let own_loaders = own_loaders::find(plan, tree, &mut corpus, &mut collector, resolved);
    let search_entries = search_entries::find(plan, tree, &corpus, &prefixes, resolved);

    let mut devices = gpu::find(plan, tree, &corpus, &collector, resolved);
    devices.databases = databases::find(plan, tree, &corpus, &prefixes, &mut problems);
    clock.lap_if(!devices.files.is_empty(), "device code");

    let package_text = package_text::find(plan, tree, &prefixes, &texts, &mut problems);
    clock.lap_if(!texts.is_empty(), "package text");

    let walked = candidates::WalkListings { given: &places, met: &met };
    let stage = Diagnosing { plan, tree, prefixes: &prefixes, bound, walked };
    let facts = SharedFacts::new(&mut corpus, &mut collector);
    let has_queries = RequestedQueries::by(plan.rule_wants) != RequestedQueries::default();
    let (queries, diagnosed) = parallel::both(
        plan.threads > 1 && has_queries,
        || queries::answer(plan, &facts, bound, &bindings.own),
        || stage.run(&facts),
    );
    let Diagnosed { diagnosis, providers, candidates, libraries, inferred, library } = diagnosed;
    clock.lap("diagnosis and binding queries");

    let found = Unbound { diagnosis: &diagnosis, providers: &providers, prefixes: &prefixes };
    let library =
        library.unwrap_or_else(|| archives::read(plan, &mut corpus, &mut collector, found));
    let implied = implied_libc::find(plan, &mut corpus, &mut collector, (&diagnosis, &library));
    clock.lap("archives");

    let search = installed::InstalledSearch {
        plan,
        tree,
        corpus: &corpus,
        prefixes: &prefixes,
        bound,
        diagnosis: &diagnosis,
        providers: &providers,
        candidates: &candidates,
    };
    let installed = search.run();
    clock.lap_if(installed.is_some(), "installed files");

    let cross_check = plan.cross_check.then(|| collector.cross_check(&corpus));
    if cross_check.is_some() {
        clock.lap("cross-check");
    }

    problems.extend(collector.into_problems());
    problems.arrange();
    problems.dedup();
    let listing = || names.listing(&corpus, &resolver, &closures);
    let listing = plan.every_file_is_root.then(listing).unwrap_or_default();
    Audit {
        corpus,
        resolver,
        closures,
        bindings: bindings.entry_points,
        queries,
        diagnosis,
        providers,
        library,
        prefixes,
        candidates,
        libraries,
        inferred,
        installed: installed.unwrap_or_default(),
        problems,
        totals,
        named,
        linked,
        dangling,
        own_loaders,
        implied_libc: implied,
        missing_dlopens,
        search_entries,
        devices,
        package_text,
        texts,
        listing,
        cross_check,
        names,
        given: places,
        met,
        timings: clock.laps,
    }
}

fn source<'a>(
    plan: &'a Plan,
    prefixes: &'a Prefixes,
    view: View<'a>,
    bound: BoundClosures<'a>,
) -> DiagnosisInput<'a> {
    let BoundClosures { resolver, closures, bindings } = bound;
    let (strings, loaders) = (&resolver.strings, &resolver.loaders);
    let hosts = &plan.policy.hosts;
    DiagnosisInput { view, strings, loaders, closures, bindings, prefixes, hosts }
}

fn hosts(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    prefixes: &Prefixes,
) -> HostPrograms {
    Rounds::of("hosts").until(corpus, collector, |corpus| {
        let audited = corpus.files.entries().filter(|(_, facts)| facts.audited);
        HostPrograms::find(plan, &View::new(corpus), audited.map(|(file, _)| file), prefixes)
    })
}

/// The candidates for entry points: files given by name, files found by the walk, and plugins with
/// their host programs.
struct EntryPoints {
    given: Vec<Start>,
    walked: Vec<Start>,
    hosts: HostPrograms,
}

fn resolve(
    plan: &Plan,
    corpus: &mut Corpus,
    edits: &Edits,
    collector: &mut Collector<'_>,
    resolver: &mut Resolver,
    entries: EntryPoints,
) -> Closures {
    let EntryPoints { given, walked, hosts } = entries;
    let store = &View::edited(corpus, edits);
    resolver.expect(given.len() + walked.len());
    let mut resolving = Resolving::new(store, plan, hosts, given, walked);
    loop {
        let store = &View::edited(corpus, edits);
        let mut round = Round { resolver, store, plan };
        let needs = resolving.step(&mut round);
        if needs.is_empty() {
            return resolving.finish(&mut round);
        }
        Rounds::of("resolve").answer(corpus, collector, needs);
    }
}
