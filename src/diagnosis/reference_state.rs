//! Decides the state of each undefined reference under each entry point. A host program, a
//! missing library or a library of the system may define it; otherwise, it is undefined.
//! References that the program of a `[[host]]` entry is assumed to define are found first, for
//! all entry points in parallel. The collector then reads candidate files, which the other states
//! depend on. [`super::builder`] merges equal states of different entry points.

use super::candidates::CandidateAnswer;
use super::hosts::{HostFinder, Patterns};
use super::{DiagnosisInput, Explanations, object_of, stem};
use crate::bind::{RelocationMessage, RootBinding};
use crate::format::archive::RequestedNames;
use crate::format::elf::{NeedKind, Object, SymbolIndex, hash};
use crate::id::{FileId, Id as _, ModuleId, RootId, StrId, Strings};
use crate::resolve::{Closure, Edge, FoundBy, is_all_versioned};
use rayon::prelude::*;
use std::cell::OnceCell;
use std::os::unix::ffi::OsStrExt as _;

/// A reference that binding reported as undefined.
#[derive(Clone, Copy)]
pub(super) struct UndefinedReference {
    pub(super) module: ModuleId,
    pub(super) symbol: SymbolIndex,
    /// The version index of the reference.
    pub(super) version: u16,
    /// True if loading fails, false if only the first call fails.
    at_load: bool,
    /// Index in the policy of the `[[host]]` entry whose program is assumed to define the symbol.
    pub(super) host: Option<usize>,
}

/// The undefined references, in the order of the entry points. An entry point is omitted if binding
/// reported nothing for it. A list is empty if binding reported only other defects.
pub struct Undefined(Vec<(RootId, Vec<UndefinedReference>)>);

/// The state of an undefined reference under one entry point.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ReferenceState {
    /// The program of a `[[host]]` entry is assumed to define the symbol, or to load the missing
    /// library that explains the reference. The value is the index of the entry in the policy.
    Assumed(usize),
    /// This program is inferred to load the entry point, and is assumed to define the symbol.
    Inferred(FileId),
    /// A missing library explains the reference. The fields are the object that needs the library,
    /// and the name of the library.
    Explained(FileId, StrId),
    /// The system provides a library with this name, which may define the symbol.
    Provided(StrId),
    /// No library or program explains the reference: it is undefined.
    Undefined,
}

/// The state of a file's reference under one entry point.
#[derive(Clone, Copy, Debug)]
pub struct ReferenceUnderRoot {
    /// The entry point under which the reference has this state.
    pub root: RootId,
    /// The file that has the reference.
    pub file: FileId,
    /// Index of the reference in the file's dynamic symbol table.
    pub symbol: SymbolIndex,
    /// The state of the reference.
    pub state: ReferenceState,
}

/// The states of the undefined references, in the order of the entry points. A reference is omitted
/// if the system provides the library that should define its version, and the entry point has no
/// inferred host.
pub fn reference_states(
    source: DiagnosisInput<'_>,
    open: &Undefined,
    explanations: Explanations<'_>,
) -> Vec<ReferenceUnderRoot> {
    let mut out = Vec::new();
    open.reference_states(source, explanations, |root, reference| {
        let ReferenceWithState { file, symbol, state, .. } = reference;
        out.push(ReferenceUnderRoot { root, file, symbol, state });
    });
    out
}

/// A reference with its state.
#[derive(Clone, Copy)]
pub(super) struct ReferenceWithState<'a> {
    pub(super) module: ModuleId,
    pub(super) file: FileId,
    pub(super) object: &'a Object,
    pub(super) symbol: SymbolIndex,
    /// The version index of the reference.
    pub(super) version: u16,
    /// True if loading fails, false if only the first call fails.
    pub(super) at_load: bool,
    pub(super) state: ReferenceState,
}

impl Undefined {
    /// Collects the undefined references from the binding messages of all entry points.
    pub fn find(source: DiagnosisInput<'_>) -> Self {
        let with_reports = |root: &RootId| !source.bindings[root.index()].reports.is_empty();
        let roots: Vec<RootId> = source.closures.roots.ids().filter(with_reports).collect();
        let patterns = Patterns::new(source.hosts);
        // Adjacent entry points share most cached facts of a `HostFinder`.
        let share = roots.len() / (2 * rayon::current_num_threads()) + 1;
        let parts = roots.into_par_iter().with_min_len(share);
        let of_each = parts.map_init(
            || HostFinder::new(source, &patterns),
            |hosts, root| {
                let closure = &source.closures.roots[root];
                (root, open(source, hosts, closure, &source.bindings[root.index()]))
            },
        );
        Self(of_each.collect())
    }

    /// The references of each entry point.
    pub(super) fn lists(&self) -> impl Iterator<Item = (RootId, &[UndefinedReference])> {
        self.0.iter().map(|(root, list)| (*root, list.as_slice()))
    }

    /// The names of the references that no program of a `[[host]]` entry is assumed to define. The
    /// audit searches candidate files for these names.
    pub fn names(&self, source: DiagnosisInput<'_>) -> RequestedNames {
        let mut symbols: Vec<(FileId, SymbolIndex)> = Vec::new();
        for (root, list) in &self.0 {
            let closure = &source.closures.roots[*root];
            let open = list.iter().filter(|open| open.host.is_none());
            symbols.extend(
                open.filter_map(|open| Some((closure.module(open.module).file?, open.symbol))),
            );
        }
        symbols.sort_unstable();
        symbols.dedup();
        let mut names = RequestedNames::default();
        for (file, symbol) in symbols {
            if let Some(object) = source.view.object(file) {
                let name = object.symbol_name(symbol);
                names.insert(name, hash::gnu(name));
            }
        }
        names
    }

    /// Passes the state of each reference to `take`, in the order of the entry points. A reference
    /// is omitted if the system provides the library that should define its version, and the entry
    /// point has no inferred host.
    pub(super) fn reference_states<'a>(
        &self,
        source: DiagnosisInput<'a>,
        explanations: Explanations<'_>,
        mut take: impl FnMut(RootId, ReferenceWithState<'a>),
    ) {
        for (root, list) in &self.0 {
            let closure = &source.closures.roots[*root];
            let is_musl = source.loaders.get(closure.root.loader).is_musl();
            let stubs = OnceCell::new();
            let explainer = Explainer { source, closure, explanations, is_musl, stubs };
            for open in list {
                let UndefinedReference { module, symbol, version, at_load, host } = *open;
                let Some(object) = object_of(source.view, closure, module) else { continue };
                let Some(file) = closure.module(module).file else { continue };
                let state = match (host, explanations.inferred.of(closure)) {
                    (Some(host), _) => Some(ReferenceState::Assumed(host)),
                    (None, Some(found)) => match explainer.state(file, object, open) {
                        Some(ReferenceState::Explained(from, name)) if found.keeps_missing => {
                            Some(ReferenceState::Explained(from, name))
                        }
                        _ => Some(ReferenceState::Inferred(found.program)),
                    },
                    (None, None) => explainer.state(file, object, open),
                };
                if let Some(state) = state {
                    take(
                        *root,
                        ReferenceWithState {
                            module,
                            file,
                            object,
                            symbol,
                            version,
                            at_load,
                            state,
                        },
                    );
                }
            }
        }
    }

    /// True if both hold for some entry point:
    /// - A library is missing or provided in its closure, or in the closure of its host program.
    /// - The entry point has an unversioned reference that no `[[host]]` program is assumed to
    ///   define.
    pub fn may_be_explained(&self, source: DiagnosisInput<'_>) -> bool {
        let is_plain = |root: RootId, open: &UndefinedReference| {
            let closure = &source.closures.roots[root];
            let object = object_of(source.view, closure, open.module);
            object.is_some_and(|object| object.versions.entry(open.version).is_none())
        };
        self.0.iter().any(|(root, list)| {
            let closure = &source.closures.roots[*root];
            let lacks = || {
                std::iter::once(closure)
                    .chain(closure.host().map(|host| &**host))
                    .any(Closure::lacks_any)
            };
            let open = list.iter().filter(|open| open.host.is_none());
            lacks() && { open }.any(|open| is_plain(*root, open))
        })
    }
}

fn open<'a>(
    source: DiagnosisInput<'a>,
    hosts: &mut HostFinder<'a>,
    closure: &Closure,
    binding: &RootBinding,
) -> Vec<UndefinedReference> {
    let mut out = Vec::with_capacity(binding.reports.iter().map(|(_, list)| list.len()).sum());
    for (module, reports) in &binding.reports {
        let Some(object) = object_of(source.view, closure, *module) else { continue };
        let Some(file) = closure.module(*module).file else { continue };
        for report in reports {
            let RelocationMessage::Undefined { symbol, version, at_load, .. } = *report else {
                continue;
            };
            // A versioned reference names the library that should define the symbol, so no host
            // program is assumed to define the symbol.
            let host = match object.versions.entry(version) {
                None => hosts.provider(closure, file, object.symbol_name(symbol)),
                Some(_) => None,
            };
            out.push(UndefinedReference { module: *module, symbol, version, at_load, host });
        }
    }
    out
}

/// Finds the missing or provided library that explains a reference under one entry point.
struct Explainer<'a, 'p> {
    source: DiagnosisInput<'a>,
    closure: &'a Closure,
    explanations: Explanations<'p>,
    /// True if the loader of the entry point is musl's.
    is_musl: bool,
    /// The missing and the provided libraries in load order, computed on first use.
    stubs: OnceCell<Vec<Stub>>,
}

impl Explainer<'_, '_> {
    /// The state of a reference; `None` if the system provides the library that should define its
    /// version.
    fn state(
        &self,
        file: FileId,
        object: &Object,
        open: &UndefinedReference,
    ) -> Option<ReferenceState> {
        let entry = object.versions.entry(self.version(object, open));
        let library = entry.and_then(|e| e.file).map(|s| object.str(s));
        let explains = match library {
            Some(library) => stub_named(self.closure, self.source.strings, library),
            None => self.explaining(file, object, open.symbol),
        };
        match explains {
            Some(Stub { from, name, how: FoundBy::Missing }) => {
                let host = self.explanations.host_libraries.host(from, name);
                Some(host.map_or(ReferenceState::Explained(from, name), ReferenceState::Assumed))
            }
            // The system has the library; version ceilings check which versions it has.
            Some(_) if entry.is_some() => None,
            Some(Stub { name, .. }) => Some(ReferenceState::Provided(name)),
            None => Some(ReferenceState::Undefined),
        }
    }

    /// The version index of a reference. musl ignores versions, so bindings under musl have none.
    /// The index is then read from the object's symbol table, because the version names the library
    /// that should define the symbol.
    fn version(&self, object: &Object, open: &UndefinedReference) -> u16 {
        if !self.is_musl {
            return open.version;
        }
        let symbol = object.tables.as_ref().and_then(|tables| tables.symbol(open.symbol));
        symbol.map_or(open.version, |symbol| symbol.versym & 0x7fff)
    }

    /// True if `object` was linked against an edition of the library whose symbols all have
    /// versions. Systems with musl may build GCC's libraries without versions.
    fn is_versioned(&self, object: &Object, library: &[u8]) -> bool {
        let mut needs = object.versions.needs.iter();
        let is_listed = is_all_versioned(library);
        is_listed && (!self.is_musl || needs.any(|need| object.str(need.file) == library))
    }

    /// The library that explains an unversioned reference. First comes a missing library with a
    /// candidate that defines the symbol, then the first missing library whose symbols are
    /// unknown, then a provided library. The last two kinds are ruled out if an archive defines
    /// the symbol, or if the policy lists an archive for the symbol. The link then omitted this
    /// archive. An archive that is the static edition of the library itself does not count.
    fn explaining(&self, file: FileId, object: &Object, symbol: SymbolIndex) -> Option<Stub> {
        let stubs = self.stubs.get_or_init(|| stubs(self.closure));
        if stubs.is_empty() {
            return None;
        }
        let (name, target) = (object.symbol_name(symbol), object.header.target());
        let text = |stub: &Stub| self.source.strings.text(stub.name);
        let mut unknown = None;
        for stub in stubs.iter().filter(|stub| stub.how == FoundBy::Missing) {
            match self.explanations.libraries.ask(self.source, text(stub), target, name) {
                CandidateAnswer::Defined => return Some(*stub),
                CandidateAnswer::Unknown if !self.is_versioned(object, text(stub)) => {
                    unknown = unknown.or(Some(*stub));
                }
                CandidateAnswer::Unknown | CandidateAnswer::Absent => {}
            }
        }
        let provided = || {
            let mut provided = stubs.iter().filter(|stub| stub.how == FoundBy::Provided);
            provided.find(|stub| self.may_define(object, text(stub))).copied()
        };
        let found = unknown.or_else(provided)?;
        let claims = self.explanations.claims;
        let path = |archive: FileId| self.source.view.file(archive).path.as_os_str().as_bytes();
        // An archive with the stem of the library is its static edition, not another provider.
        let is_other = |archive: FileId| stem(path(archive)) != stem(text(&found));
        let is_claimed = claims.archives(file, target, name).any(is_other)
            || claims.policy_claims(self.source, file, name);
        (!is_claimed).then_some(found)
    }

    /// True if a provided library may define an unversioned reference of `object`.
    fn may_define(&self, object: &Object, library: &[u8]) -> bool {
        if library == ZLIB {
            return true;
        }
        let mut versioned = object.versions.needs.iter().map(|need| object.str(need.file));
        !self.is_versioned(object, library) && !versioned.any(|named| named == library)
    }
}

/// zlib: only functions since 1.2.0 have versions (`zlib.map`). Most of its symbols have no
/// version.
const ZLIB: &[u8] = b"libz.so.1";

/// A library without a file: the object that needs it, its name, and its state, missing or
/// provided.
#[derive(Clone, Copy)]
struct Stub {
    from: FileId,
    name: StrId,
    how: FoundBy,
}

fn stub(closure: &Closure, edge: &Edge) -> Option<Stub> {
    let module = closure.module(edge.to);
    let from = closure.module(edge.from).file?;
    module.is_stub().then_some(Stub { from, name: edge.name, how: module.how })
}

/// The missing and provided libraries in load order, each name once.
fn stubs(closure: &Closure) -> Vec<Stub> {
    let edges = closure.whole_edges().filter(|edge| edge.kind != NeedKind::Auxiliary);
    let mut out: Vec<Stub> = Vec::new();
    for stub in edges.filter_map(|edge| stub(closure, edge)) {
        if out.iter().all(|known| known.name != stub.name) {
            out.push(stub);
        }
    }
    out
}

/// The missing or provided library with this name; `None` if there is none.
fn stub_named(closure: &Closure, strings: &Strings, library: &[u8]) -> Option<Stub> {
    let name = strings.find(library)?;
    closure.whole_edges().filter(|edge| edge.name == name).find_map(|edge| stub(closure, edge))
}
