//! What becomes of one reference that is open under one root: it is assumed to be met, explained by a
//! missing library, or undefined. What programs that load plugins define is found for all roots in
//! parallel; the rest needs the files at hand that define a name, which are looked for in between.
//! [`super::maker`] makes one fact of what is one.

use super::hosts::{Hosts, Patterns};
use super::{Source, object_of};
use crate::bind::{Report, RootBinding};
use crate::facts::providers::Providers;
use crate::format::archive::Names;
use crate::format::elf::{NeedKind, Object, hash};
use crate::id::{FileId, Id as _, ModuleId, RootId, StrId, Strings};
use crate::resolve::{Closure, Edge, How};
use rayon::prelude::*;
use std::cell::OnceCell;

/// One reference without definition.
#[derive(Clone, Copy)]
struct Open {
    module: ModuleId,
    symbol: u32,
    /// Version index.
    version: u16,
    /// It fails at load; else at the first call.
    at_load: bool,
    /// The program of this `[[host]]` entry, by its place in the policy, is assumed to define it.
    host: Option<usize>,
}

/// All references without definition, in the order of the roots; roots without any are left out.
pub struct Undefined(Vec<(RootId, Vec<Open>)>);

/// What becomes of a reference.
pub(super) enum Fate {
    /// The program of this `[[host]]` entry, by its place in the policy, defines it.
    Assumed(usize),
    /// A library that is missing would: who needs it, by which name.
    Explained(FileId, StrId),
    /// A library that the system provides does.
    Provided(StrId),
    /// Nothing does.
    Undefined,
}

/// A reference with its fate.
pub(super) struct Fated<'a> {
    pub(super) module: ModuleId,
    pub(super) file: FileId,
    pub(super) object: &'a Object,
    pub(super) symbol: u32,
    /// Version index.
    pub(super) version: u16,
    /// It fails at load; else at the first call.
    pub(super) at_load: bool,
    pub(super) fate: Fate,
}

impl Undefined {
    /// Goes through what binding reported of all roots.
    pub fn find(source: Source<'_>) -> Self {
        let with_reports = |root: &RootId| !source.bindings[root.index()].reports.is_empty();
        let roots: Vec<RootId> = source.closures.roots.ids().filter(with_reports).collect();
        let patterns = Patterns::new(source.hosts);
        // What is known of hosts serves neighbours best.
        let share = roots.len() / (2 * rayon::current_num_threads()) + 1;
        let parts = roots.into_par_iter().with_min_len(share);
        let of_each = parts.map_init(
            || Hosts::new(source, &patterns),
            |hosts, root| {
                let closure = &source.closures.roots[root];
                (root, open(source, hosts, closure, &source.bindings[root.index()]))
            },
        );
        Self(of_each.collect())
    }

    /// The names that no program is assumed to define, to be looked for among files at hand.
    pub fn names(&self, source: Source<'_>) -> Names {
        let mut symbols: Vec<(FileId, u32)> = Vec::new();
        for (root, list) in &self.0 {
            let closure = &source.closures.roots[*root];
            let open = list.iter().filter(|open| open.host.is_none());
            symbols.extend(
                open.filter_map(|open| Some((closure.module(open.module).file?, open.symbol))),
            );
        }
        symbols.sort_unstable();
        symbols.dedup();
        let mut names = Names::default();
        for (file, symbol) in symbols {
            if let Some(object) = source.view.object(file) {
                let name = object.symbol_name(symbol);
                names.insert(name, hash::gnu(name));
            }
        }
        names
    }

    /// What becomes of each, in order.
    pub(super) fn fates<'a>(
        &self,
        source: Source<'a>,
        providers: &Providers,
        mut take: impl FnMut(RootId, Fated<'a>),
    ) {
        for (root, list) in &self.0 {
            let closure = &source.closures.roots[*root];
            let explainer = Explainer { source, closure, providers, first_stub: OnceCell::new() };
            for open in list {
                let Open { module, symbol, version, at_load, host } = *open;
                let Some(object) = object_of(source.view, closure, module) else { continue };
                let Some(file) = closure.module(module).file else { continue };
                let fate = match host {
                    Some(host) => Some(Fate::Assumed(host)),
                    None => explainer.fate(file, object, open),
                };
                if let Some(fate) = fate {
                    take(*root, Fated { module, file, object, symbol, version, at_load, fate });
                }
            }
        }
    }
}

fn open<'a>(
    source: Source<'a>,
    hosts: &mut Hosts<'a>,
    closure: &Closure,
    binding: &RootBinding,
) -> Vec<Open> {
    let mut out = Vec::with_capacity(binding.reports.iter().map(|(_, list)| list.len()).sum());
    for (module, reports) in &binding.reports {
        let Some(object) = object_of(source.view, closure, *module) else { continue };
        let Some(file) = closure.module(*module).file else { continue };
        for report in reports {
            let Report::Undefined { symbol, version, at_load, .. } = *report else { continue };
            // A version says which library was to define it, and that is no program.
            let host = match object.versions.entry(version) {
                None => hosts.provider(closure, file, object.symbol_name(symbol)),
                Some(_) => None,
            };
            out.push(Open { module: *module, symbol, version, at_load, host });
        }
    }
    out
}

/// Finds the missing or provided library that explains references under one root.
struct Explainer<'a, 'p> {
    source: Source<'a>,
    closure: &'a Closure,
    providers: &'p Providers,
    /// The first in load order; computed at the first request.
    first_stub: OnceCell<Option<Stub>>,
}

impl Explainer<'_, '_> {
    /// Nothing if the reference is no fact at all.
    fn fate(&self, file: FileId, object: &Object, open: &Open) -> Option<Fate> {
        let entry = object.versions.entry(open.version);
        let library = entry.and_then(|e| e.file).map(|s| object.str(s));
        let explains = match library {
            Some(library) => stub_named(self.closure, self.source.strings, library),
            None => self.first_stub().filter(|_| !self.is_at_hand(file, object, open.symbol)),
        };
        match explains {
            Some(Stub { from, name, how: How::Missing }) => Some(Fate::Explained(from, name)),
            // The system has the library; which versions it has is a ceiling's matter.
            Some(_) if entry.is_some() => None,
            Some(Stub { name, .. }) => Some(Fate::Provided(name)),
            None => Some(Fate::Undefined),
        }
    }

    fn first_stub(&self) -> Option<Stub> {
        *self.first_stub.get_or_init(|| first_stub(self.closure))
    }

    /// True if a file at hand defines the symbol. A definition with a version would have left that
    /// version in the reference.
    fn is_at_hand(&self, file: FileId, object: &Object, symbol: u32) -> bool {
        let (name, target) = (object.symbol_name(symbol), object.header.target());
        self.providers.of(name, file, target).any(|provider| !provider.versioned)
    }
}

/// A library without file: who needs it, by which name, and whether it is missing or provided.
#[derive(Clone, Copy)]
struct Stub {
    from: FileId,
    name: StrId,
    how: How,
}

fn stub(closure: &Closure, edge: &Edge) -> Option<Stub> {
    let module = closure.module(edge.to);
    let from = closure.module(edge.from).file?;
    module.is_stub().then_some(Stub { from, name: edge.name, how: module.how })
}

/// The first in load order.
fn first_stub(closure: &Closure) -> Option<Stub> {
    let edges = closure.whole_edges().filter(|edge| edge.kind != NeedKind::Auxiliary);
    edges.filter(|edge| closure.module(edge.to).is_stub()).find_map(|edge| stub(closure, edge))
}

/// The one that is needed by this name.
fn stub_named(closure: &Closure, strings: &Strings, library: &[u8]) -> Option<Stub> {
    let name = strings.find(library)?;
    closure.whole_edges().filter(|edge| edge.name == name).find_map(|edge| stub(closure, edge))
}
