//! Turns the results of resolving and binding under all entry points into a [`Diagnosis`]. A
//! defect that occurs under several entry points is listed once, with all these entry points.

use super::reference_state::{ReferenceState, ReferenceWithState, Undefined};
use super::{
    Assumed, Diagnosis, DiagnosisInput, Explanations, HostLibraries, InferredHost, MissingLibrary,
    MissingNeed, MissingVersion, Site, Stopped, SymbolKey, UndefinedSymbol,
};
use crate::bind::{Abort, RootBinding};
use crate::format::elf::NeedKind;
use crate::id::{FastMap, FastSet, FileId, Id as _, ModuleId, RootId, StrId, Strings};
use crate::order::Arrange as _;
use crate::policy::HostEntry;
use crate::resolve::entry_points::Closures;
use crate::resolve::versions::{Stop, VersionDefect};
use crate::resolve::{Closure, Edge, Fatal, FoundBy, ROOT};
use std::collections::{BTreeMap, BTreeSet};

/// Finds the defects under all entry points, and counts the references that are explained or
/// assumed to be defined. `open` has the undefined references, and `explanations` the data that may
/// explain them.
pub fn diagnosis(
    source: DiagnosisInput<'_>,
    open: &Undefined,
    explanations: Explanations<'_>,
) -> Diagnosis {
    let mut maker = DiagnosisBuilder {
        source,
        missing: BTreeMap::new(),
        undefined: Vec::new(),
        undefined_at: FastMap::default(),
        versions: BTreeMap::new(),
        stopped: BTreeMap::new(),
        explained: Vec::new(),
        assumed: Vec::new(),
        provided: Vec::new(),
        inferred: Vec::new(),
        hosted: BTreeMap::new(),
        host_libraries: BTreeSet::new(),
    };
    for (root, closure) in source.closures.roots.entries() {
        let binding = &source.bindings[root.index()];
        let host = explanations.inferred.of(closure);
        if let Some(host) = host {
            maker.hosted.entry(host.program).or_default().push(closure.root.file);
        }
        if host.is_none_or(|host| host.keeps_missing) {
            maker.take_missing(root, closure, explanations.host_libraries);
        }
        maker.take_stops(root, closure, binding);
        maker.take_versions(root, closure, binding);
    }
    open.reference_states(source, explanations, |root, reference| {
        maker.take_reference(root, reference);
    });
    maker.finish()
}

/// The libraries that were not found, each with the object that needs it. The pairs are sorted and
/// deduplicated.
pub fn missing(closures: &Closures, strings: &Strings) -> Vec<MissingNeed> {
    let mut out: Vec<MissingNeed> = Vec::new();
    for closure in &closures.roots {
        out.extend(
            missing_edges(closure)
                .map(|(file, edge)| MissingNeed { file, name: strings.text(edge.name).to_vec() }),
        );
    }
    out.arrange();
    out.dedup();
    out
}

/// The needs of a closure that were not found, each with the object that has the need.
pub(super) fn missing_edges(closure: &Closure) -> impl Iterator<Item = (FileId, &Edge)> {
    // In nearly all closures, every library was found. The needs of these closures are not
    // visited.
    let edges = if closure.lacks_any() { closure.edges() } else { &[] };
    edges.iter().filter_map(|edge| {
        let missing = closure.module(edge.to).how == FoundBy::Missing;
        // The loader accepts a missing auxiliary object. A file that was opened and refused is not
        // missing.
        let refused = || closure.failures().iter().any(|f| f.module == edge.to && f.file.is_some());
        let counts = missing && edge.kind != NeedKind::Auxiliary && !refused();
        Some((closure.module(edge.from).file.filter(|_| counts)?, edge))
    })
}

struct DiagnosisBuilder<'a> {
    source: DiagnosisInput<'a>,
    missing: BTreeMap<(FileId, StrId), MissingLibrary>,
    undefined: Vec<(SymbolKey, UndefinedSymbol)>,
    /// Indices of symbols in `undefined`.
    undefined_at: FastMap<SymbolKey, usize>,
    versions: BTreeMap<(FileId, FileId, Vec<u8>), MissingVersion>,
    stopped: BTreeMap<(FileId, Option<StrId>, &'static str), Stopped>,
    /// By symbol: the missing library and the version index of the reference. Only the first entry
    /// for a symbol is used.
    explained: Vec<(SymbolKey, ExplainedReference)>,
    /// By symbol: index of the host program in the policy.
    assumed: Vec<(SymbolKey, usize)>,
    /// By symbol: the library that the system provides.
    provided: Vec<(SymbolKey, StrId)>,
    /// By symbol: the program that is inferred to define it.
    inferred: Vec<(SymbolKey, FileId)>,
    /// By program: the plugins that it is inferred to load.
    hosted: BTreeMap<FileId, Vec<FileId>>,
    /// Libraries that host programs load: index of the host in the policy, the object that needs
    /// the library, the library's name.
    host_libraries: BTreeSet<(usize, FileId, StrId)>,
}

/// The object that needs a missing library, the name by which it needs the library, and the version
/// index of the reference.
type ExplainedReference = ((FileId, StrId), u16);

/// Keeps the first entry of each symbol, and sorts the entries by symbol. The lists have an entry
/// for each reference under each entry point, so numbers are sorted instead of entries.
fn first_of_each<T: Copy>(list: &mut Vec<(SymbolKey, T)>) {
    let number =
        |(file, symbol): SymbolKey| ((file.index() as u64) << 32) | u64::from(symbol.number());
    let numbered = list.iter().enumerate().map(|(at, (key, _))| (number(*key), at));
    let mut places: Vec<(u64, usize)> = numbered.collect();
    places.sort_unstable();
    places.dedup_by_key(|(number, _)| *number);
    *list = places.into_iter().map(|(_, at)| list[at]).collect();
}

impl DiagnosisBuilder<'_> {
    fn text(&self, id: StrId) -> Vec<u8> {
        self.source.strings.text(id).to_vec()
    }

    fn take_missing(&mut self, root: RootId, closure: &Closure, host_libraries: &HostLibraries) {
        for (file, edge) in missing_edges(closure) {
            if let Some(host) = host_libraries.host(file, edge.name) {
                self.host_libraries.insert((host, file, edge.name));
                continue;
            }
            let name = self.text(edge.name);
            self.missing
                .entry((file, edge.name))
                .or_insert_with(|| MissingLibrary {
                    file,
                    name,
                    edge: *edge,
                    roots: Vec::new(),
                    explained: BTreeSet::new(),
                })
                .roots
                .push(root);
        }
    }

    fn take_stops(&mut self, root: RootId, closure: &Closure, binding: &RootBinding) {
        let at = |module: ModuleId| closure.module(module).file.unwrap_or(closure.root.file);
        for failure in closure.failures() {
            let Some(file) = failure.file else { continue };
            let stub = closure.module(failure.module);
            let site = Site { root, module: stub.requester.unwrap_or(ROOT) };
            self.stop(root, (file, true), stub.path, failure.text, site);
        }
        if let Some(Fatal { object, file, requester, text }) = closure.fatal() {
            let site = Site { root, module: *requester };
            let (opened, file) = (file.is_some(), file.unwrap_or(at(*requester)));
            return self.stop(root, (file, opened), *object, text, site);
        }
        let (module, text) = match (binding.checked.stop, binding.abort) {
            (Some(Stop::NoSuchName(module, _)), _) => {
                (module, "needs versions of a file that is not loaded: the loader aborts")
            }
            (Some(Stop::Relr(module)), _) => {
                (module, "DT_RELR without GLIBC_ABI_DT_RELR dependency")
            }
            (None, Some((module, Abort::ProviderLostVersions))) => (
                module,
                "refers to versions of a file that no longer has versions: the loader aborts",
            ),
            // This abort is caused by missing libraries, which have findings of their own.
            (None, Some((_, Abort::NoVersionTable)) | None) => return,
        };
        self.stop(
            root,
            (at(module), true),
            closure.module(module).path,
            text,
            Site { root, module },
        );
    }

    fn stop(
        &mut self,
        root: RootId,
        (file, opened): (FileId, bool),
        object: StrId,
        text: &'static str,
        site: Site,
    ) {
        let name = self.text(object);
        // An opened file is reported once for each error, even if several names led to it.
        let key = if opened { (file, None, text) } else { (file, Some(object), text) };
        self.stopped
            .entry(key)
            .or_insert_with(|| Stopped {
                file,
                object: name,
                opened,
                text,
                site,
                roots: Vec::new(),
            })
            .roots
            .push(root);
    }

    fn take_versions(&mut self, root: RootId, closure: &Closure, binding: &RootBinding) {
        for issue in &binding.checked.issues {
            if issue.complaint != VersionDefect::Missing {
                continue;
            }
            let (Some(file), Some(provider)) =
                (closure.module(issue.requester).file, closure.module(issue.provider).file)
            else {
                continue;
            };
            let site = Site { root, module: issue.requester };
            self.versions
                .entry((file, provider, issue.version.to_vec()))
                .or_insert_with(|| MissingVersion {
                    file,
                    provider,
                    version: issue.version.to_vec(),
                    site,
                    roots: Vec::new(),
                })
                .roots
                .push(root);
        }
    }

    fn take_reference(&mut self, root: RootId, reference: ReferenceWithState<'_>) {
        let ReferenceWithState { module, file, object, symbol, version, at_load, state } =
            reference;
        let key = (file, symbol);
        match state {
            ReferenceState::Assumed(host) => self.assumed.push((key, host)),
            ReferenceState::Inferred(program) => self.inferred.push((key, program)),
            ReferenceState::Explained(from, name) => {
                self.explained.push((key, ((from, name), version)));
            }
            ReferenceState::Provided(library) => self.provided.push((key, library)),
            ReferenceState::Undefined => {
                let entry = object.versions.entry(version);
                let library = entry.and_then(|e| e.file).map(|s| object.str(s));
                let new = || UndefinedSymbol {
                    file,
                    symbol: object.symbol_name(symbol).to_vec(),
                    version: entry.map(|e| object.str(e.name).to_vec()),
                    library: library.map(<[u8]>::to_vec),
                    at_load,
                    site: Site { root, module },
                    roots: Vec::new(),
                };
                let at = *self.undefined_at.entry(key).or_insert_with(|| {
                    self.undefined.push((key, new()));
                    self.undefined.len() - 1
                });
                let (_, undefined) = &mut self.undefined[at];
                undefined.at_load |= at_load;
                undefined.roots.push(root);
            }
        }
    }

    fn finish(mut self) -> Diagnosis {
        first_of_each(&mut self.explained);
        first_of_each(&mut self.assumed);
        first_of_each(&mut self.provided);
        first_of_each(&mut self.inferred);
        let mut explained = 0;
        for (key, (missing, missing_version)) in &self.explained {
            // A reference that is undefined under one entry point is a finding, even if a missing
            // library explains it under another.
            let (file, symbol) = *key;
            let object =
                self.source.view.object(file).filter(|_| !self.undefined_at.contains_key(key));
            if let (Some(object), Some(missing)) = (object, self.missing.get_mut(missing)) {
                let version = object.versions.entry(*missing_version);
                let name = object.symbol_name(symbol).to_vec();
                let version = version.map(|entry| object.str(entry.name).to_vec());
                explained += usize::from(missing.explained.insert((file, name, version)));
            }
        }
        let assumed = self.finish_assumed();
        let provided = self.finish_provided();
        let inferred = self.finish_inferred();
        let named = self.assumed.iter().map(|((file, _), _)| *file);
        let hosted = named.chain(self.inferred.iter().map(|((file, _), _)| *file)).collect();
        self.undefined.sort_unstable_by_key(|(key, _)| *key);
        Diagnosis {
            missing: self.missing.into_values().collect(),
            undefined: self.undefined.into_iter().map(|(_, undefined)| undefined).collect(),
            versions: self.versions.into_values().collect(),
            stopped: self.stopped.into_values().collect(),
            explained,
            assumed,
            hosted,
            provided,
            inferred,
        }
    }

    /// The inferred host programs with their plugins. References that are undefined or explained
    /// under some entry point are not counted.
    fn finish_inferred(&mut self) -> Vec<InferredHost> {
        let mut references: FastMap<FileId, usize> = FastMap::default();
        for (key, program) in &self.inferred {
            if !self.undefined_at.contains_key(key) && !self.is_explained(*key) {
                *references.entry(*program).or_default() += 1;
            }
        }
        let path = |file: &FileId| &*self.source.view.file(*file).path;
        let hosted = std::mem::take(&mut self.hosted);
        let host = |(program, mut plugins): (FileId, Vec<FileId>)| {
            plugins.arrange_by_key(|plugin| path(plugin).as_os_str());
            let references = references.get(&program).copied().unwrap_or(0);
            InferredHost { program, plugins, references }
        };
        let mut out: Vec<InferredHost> = hosted.into_iter().map(host).collect();
        out.arrange_by_key(|host| path(&host.program).as_os_str());
        out
    }

    fn is_explained(&self, key: SymbolKey) -> bool {
        self.explained.binary_search_by_key(&key, |(key, _)| *key).is_ok()
    }

    /// The libraries that the system provides, each with the number of unversioned references that
    /// it is assumed to define. References that are undefined or explained under some entry point
    /// are not counted.
    fn finish_provided(&self) -> Vec<Assumed> {
        let mut out: BTreeMap<&[u8], (usize, BTreeSet<FileId>)> = BTreeMap::new();
        for (key, library) in &self.provided {
            if !self.undefined_at.contains_key(key) && !self.is_explained(*key) {
                let (references, files) =
                    out.entry(self.source.strings.text(*library)).or_default();
                *references += 1;
                files.insert(key.0);
            }
        }
        let assumed =
            |(library, (references, files)): (&[u8], (usize, BTreeSet<FileId>))| Assumed {
                host: String::from_utf8_lossy(library).into_owned(),
                references,
                files: files.len(),
            };
        out.into_iter().map(assumed).collect()
    }

    /// The host programs, each with the number of references that it is assumed to define. A
    /// missing library that a host loads counts as one reference. References that are undefined or
    /// explained under some entry point are not counted.
    fn finish_assumed(&self) -> Vec<Assumed> {
        let mut out: BTreeMap<usize, (usize, FastSet<FileId>)> = BTreeMap::new();
        let hosts = self.source.hosts;
        // Several policies may have an entry for the same host: these entries are counted
        // together.
        let first = |host: &HostEntry| hosts.iter().position(|other| other.name == host.name);
        let firsts: Vec<Option<usize>> = hosts.iter().map(first).collect();
        let open = |key: &SymbolKey| self.undefined_at.contains_key(key) || self.is_explained(*key);
        let symbols = self.assumed.iter().filter(|(key, _)| !open(key));
        let symbols = symbols.map(|((file, _), host)| (*host, *file));
        let libraries = self.host_libraries.iter().map(|(host, file, _)| (*host, *file));
        for (host, file) in symbols.chain(libraries) {
            let Some(host) = firsts[host] else { continue };
            let (references, files) = out.entry(host).or_default();
            *references += 1;
            files.insert(file);
        }
        let name = |host: usize| hosts[host].name.clone();
        out.into_iter()
            .map(|(host, (references, files))| Assumed {
                host: name(host),
                references,
                files: files.len(),
            })
            .collect()
    }
}
