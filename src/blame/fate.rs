//! What becomes of one reference that is open under one root: it is explained by a missing library,
//! assumed to be met, or undefined. The roots are gone through in parallel; [`super::maker`] makes one
//! fact of what is one.

use super::hosts::Hosts;
use super::{Source, object_of};
use crate::bind::{Report, RootBinding};
use crate::facts::providers::Providers;
use crate::format::elf::NeedKind;
use crate::id::{FileId, Id as _, ModuleId, RootId, StrId, Strings};
use crate::resolve::{Closure, Edge, How};
use rayon::prelude::*;

/// What becomes of a reference.
pub(super) enum Fate {
    /// The program of this `[[host]]` entry, by its place in the policy, defines it.
    Assumed(usize),
    /// A library that is missing would: who needs it, by which name, and the version index.
    Explained((FileId, StrId), u16),
    /// A library that the system provides does.
    Provided(StrId),
    /// Nothing does.
    Undefined {
        /// Version index.
        version: u16,
        /// It fails at load; else at the first call.
        at_load: bool,
    },
}

/// A reference with its fate.
pub(super) struct Fated {
    pub(super) module: ModuleId,
    pub(super) symbol: u32,
    pub(super) fate: Fate,
}

/// What becomes of all open references, in the order of the roots; those without any are left out.
pub(super) fn of_all<'a>(source: Source<'a>, providers: &Providers) -> Vec<(RootId, Vec<Fated>)> {
    let with_reports = |root: &RootId| !source.bindings[root.index()].reports.is_empty();
    let roots: Vec<RootId> = source.closures.roots.ids().filter(with_reports).collect();
    // What is known of hosts serves neighbours best.
    let share = roots.len() / (2 * rayon::current_num_threads()) + 1;
    let of = |hosts: &mut Hosts<'a>, root: RootId| {
        let closure = &source.closures.roots[root];
        (root, of_root(source, providers, hosts, (closure, &source.bindings[root.index()])))
    };
    let parts = roots.into_par_iter().with_min_len(share);
    parts.map_init(|| Hosts::new(source), |hosts, root| of(hosts, root)).collect()
}

fn of_root<'a>(
    source: Source<'a>,
    providers: &Providers,
    hosts: &mut Hosts<'a>,
    (closure, binding): (&Closure, &RootBinding),
) -> Vec<Fated> {
    let first_stub = first_stub(closure);
    let mut out = Vec::with_capacity(binding.reports.iter().map(|(_, list)| list.len()).sum());
    for (module, reports) in &binding.reports {
        let Some(object) = object_of(source.view, closure, *module) else { continue };
        let Some(file) = closure.module(*module).file else { continue };
        for report in reports {
            let Report::Undefined { symbol, version, at_load, .. } = *report else { continue };
            let entry = object.versions.entry(version);
            let library = entry.and_then(|e| e.file).map(|s| object.str(s));
            let name = object.symbol_name(symbol);
            // A version says which library was to define it, and that is no program.
            let host = match entry {
                None => hosts.provider(closure, file, name),
                Some(_) => None,
            };
            // A definition with a version would have left that version in the reference.
            let target = object.header.target();
            let at_hand = || providers.of(name, file, target).any(|p| !p.versioned);
            let explains = || match library {
                Some(library) => stub_named(closure, source.strings, library),
                None => first_stub.filter(|_| !at_hand()),
            };
            let fate = match host.map(Fate::Assumed) {
                Some(assumed) => assumed,
                None => match explains() {
                    Some((edge, How::Missing)) => Fate::Explained(edge, version),
                    // The system has the library; which versions it has is a ceiling's matter.
                    Some(_) if entry.is_some() => continue,
                    Some(((_, name), _)) => Fate::Provided(name),
                    None => Fate::Undefined { version, at_load },
                },
            };
            out.push(Fated { module: *module, symbol, fate });
        }
    }
    out
}

/// A library without file: who needs it, by which name, and whether it is missing or provided.
type Stub = ((FileId, StrId), How);

fn stub(closure: &Closure, edge: &Edge) -> Option<Stub> {
    let module = closure.module(edge.to);
    let from = closure.module(edge.from).file?;
    module.is_stub().then_some(((from, edge.name), module.how))
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
