//! Whose fault, once: what resolving and binding found under all roots, made into facts about
//! objects. A missing library explains the references that only it could satisfy.
//!
//! It stands between `bind` and the rules, which only word what is here. It opens nothing; names
//! that files at hand define come from [`crate::facts::providers`].

use crate::bind::{Abort, Report, RootBinding};
use crate::facts::View;
use crate::facts::providers::Providers;
use crate::format::archive::Names;
use crate::format::elf::{NeedKind, Object};
use crate::id::{FastMap, FileId, Id as _, RootId, StrId, Strings};
use crate::resolve::versions::{Complaint, Stop};
use crate::resolve::{Closure, Edge, Fatal, How, ROOT};
use std::collections::{BTreeMap, BTreeSet};

/// Where a fact was first met: the root and the module under it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Site {
    /// The root.
    pub root: RootId,
    /// The module in the root's closure.
    pub module: u32,
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
}

/// What blame is made of.
#[derive(Clone, Copy)]
pub struct Source<'a> {
    /// The facts.
    pub view: View<'a>,
    /// Names of closures.
    pub strings: &'a Strings,
    /// Closures of all roots.
    pub closures: &'a crate::resolve::roots::Closures,
    /// Bindings of all roots, in the same order.
    pub bindings: &'a [RootBinding],
}

/// An object and the index of a symbol in it.
type SymbolKey = (FileId, u32);

/// All symbols that stay without definition somewhere, to be looked for among files at hand.
pub fn unbound_names(source: Source<'_>) -> Names {
    let mut names = Names::default();
    for (closure, binding) in source.closures.roots.iter().zip(source.bindings) {
        for (module, report) in
            binding.reports.iter().flat_map(|(m, r)| r.iter().map(move |r| (m, r)))
        {
            if let (Some(object), Report::Undefined { symbol, .. }) =
                (object_of(source.view, closure, *module), report)
            {
                names.insert(symbol_name(object, *symbol));
            }
        }
    }
    names
}

/// Makes the facts.
pub fn blame(source: Source<'_>, providers: &Providers) -> Blame {
    let mut maker = Maker {
        source,
        providers,
        missing: BTreeMap::new(),
        undefined: BTreeMap::new(),
        versions: BTreeMap::new(),
        stopped: BTreeMap::new(),
        explained: BTreeMap::new(),
    };
    for (root, closure) in source.closures.roots.entries() {
        let binding = &source.bindings[root.index()];
        maker.take_missing(root, closure);
        maker.take_stops(root, closure, binding);
        maker.take_versions(root, closure, binding);
        maker.take_undefined(root, closure, binding);
    }
    maker.finish()
}

struct Maker<'a> {
    source: Source<'a>,
    providers: &'a Providers,
    missing: BTreeMap<(FileId, StrId), MissingLibrary>,
    undefined: BTreeMap<SymbolKey, UndefinedSymbol>,
    versions: BTreeMap<(FileId, FileId, Vec<u8>), MissingVersion>,
    stopped: BTreeMap<(FileId, Option<StrId>, &'static str), Stopped>,
    /// By symbol: the missing library and the version index of the reference.
    explained: BTreeMap<SymbolKey, ((FileId, StrId), u16)>,
}

fn object_of<'v>(view: View<'v>, closure: &Closure, module: u32) -> Option<&'v Object> {
    view.object(closure.module(module).file?)
}

/// The name of a symbol of an object that may have been read without tables.
pub fn symbol_name(object: &Object, symbol: u32) -> &[u8] {
    if let Ok(at) = object.references.binary_search_by_key(&symbol, |r| r.symbol) {
        return object.reference_name(&object.references[at]);
    }
    object.tables.as_ref().and_then(|t| t.symbol(symbol)).map_or(&[], |s| s.name)
}

impl Maker<'_> {
    fn text(&self, id: StrId) -> Vec<u8> {
        self.source.strings.text(id).to_vec()
    }

    fn take_missing(&mut self, root: RootId, closure: &Closure) {
        for edge in &closure.edges {
            let missing = closure.module(edge.to).how == How::Missing;
            // An auxiliary object may be missing.
            if !missing || edge.kind == NeedKind::Auxiliary {
                continue;
            }
            let Some(file) = closure.module(edge.from).file else { continue };
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
        let at = |module: u32| closure.module(module).file.unwrap_or(closure.root.file);
        if let Some(Fatal { object, file, requester, text }) = &closure.fatal {
            let site = Site { root, module: *requester };
            let (opened, file) = (file.is_some(), file.unwrap_or(at(*requester)));
            return self.stop(root, (file, opened), *object, text, site);
        }
        let (module, text) = match (binding.checked.stop, binding.abort) {
            (Some(Stop::NoSuchName(module, _)), _) => (
                module,
                "needs versions of a file that no loaded object answers to: the loader aborts",
            ),
            (Some(Stop::Relr(module)), _) => {
                (module, "DT_RELR without GLIBC_ABI_DT_RELR dependency")
            }
            (None, Some((module, Abort::ProviderLostVersions))) => {
                (module, "refers to versions of a file that has none any more: the loader aborts")
            }
            // The missing libraries that cause it are findings of their own.
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
        // One file is one fact, by whatever names it was reached.
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
            if issue.complaint != Complaint::Missing {
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

    fn take_undefined(&mut self, root: RootId, closure: &Closure, binding: &RootBinding) {
        let first_missing = first_missing(closure);
        for (module, reports) in &binding.reports {
            let Some(object) = object_of(self.source.view, closure, *module) else { continue };
            let Some(file) = closure.module(*module).file else { continue };
            for report in reports {
                let Report::Undefined { symbol, version, at_load, .. } = *report else { continue };
                let entry = object.versions.entry(version);
                let library = entry.and_then(|e| e.file).map(|s| object.str(s));
                let name = symbol_name(object, symbol);
                let key = (file, symbol);
                // A definition with a version would have left that version in the reference.
                let target = object.header.target();
                let at_hand = || self.providers.of(name, file, target).any(|p| !p.versioned);
                let explains = match library {
                    Some(library) => missing_as(closure, self.source.strings, library),
                    None => first_missing.filter(|_| !at_hand()),
                };
                if let Some(edge) = explains {
                    self.explained.entry(key).or_insert((edge, version));
                    continue;
                }
                let undefined = self.undefined.entry(key).or_insert_with(|| UndefinedSymbol {
                    file,
                    symbol: name.to_vec(),
                    version: entry.map(|e| object.str(e.name).to_vec()),
                    library: library.map(<[u8]>::to_vec),
                    at_load,
                    site: Site { root, module: *module },
                    roots: Vec::new(),
                });
                undefined.at_load |= at_load;
                undefined.roots.push(root);
            }
        }
    }

    fn finish(mut self) -> Blame {
        let mut explained = 0;
        for (key, (missing, missing_version)) in &self.explained {
            // What is undefined under one root for its own sake is a finding, whatever explains it
            // under another.
            let (file, symbol) = *key;
            let object =
                self.source.view.object(file).filter(|_| !self.undefined.contains_key(key));
            if let (Some(object), Some(missing)) = (object, self.missing.get_mut(missing)) {
                let version = object.versions.entry(*missing_version);
                let name = symbol_name(object, symbol).to_vec();
                let version = version.map(|entry| object.str(entry.name).to_vec());
                explained += usize::from(missing.explained.insert((file, name, version)));
            }
        }
        Blame {
            missing: self.missing.into_values().collect(),
            undefined: self.undefined.into_values().collect(),
            versions: self.versions.into_values().collect(),
            stopped: self.stopped.into_values().collect(),
            explained,
        }
    }
}

/// The first missing library in load order, as requester and name.
fn first_missing(closure: &Closure) -> Option<(FileId, StrId)> {
    closure
        .edges
        .iter()
        .filter(|edge| edge.kind != NeedKind::Auxiliary)
        .find(|edge| closure.module(edge.to).how == How::Missing)
        .and_then(|edge| Some((closure.module(edge.from).file?, edge.name)))
}

/// The need for a missing library by this name.
fn missing_as(closure: &Closure, strings: &Strings, library: &[u8]) -> Option<(FileId, StrId)> {
    let name = strings.find(library)?;
    closure
        .edges
        .iter()
        .find(|edge| edge.name == name && closure.module(edge.to).how == How::Missing)
        .and_then(|edge| Some((closure.module(edge.from).file?, edge.name)))
}

/// Modules from the root of `site` to its module, root first, with how each was found.
pub fn chain(closures: &crate::resolve::roots::Closures, site: Site) -> Vec<u32> {
    let chain = closures.roots[site.root].chain(site.module);
    if chain == [ROOT] { Vec::new() } else { chain }
}

/// Roots by file, for quick answers about who loads what.
pub fn first_loader(closures: &crate::resolve::roots::Closures) -> FastMap<FileId, RootId> {
    let mut out = FastMap::default();
    for (root, closure) in closures.roots.entries() {
        for module in &closure.modules {
            if let Some(file) = module.file {
                out.entry(file).or_insert(root);
            }
        }
    }
    out
}
