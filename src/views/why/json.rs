//! The JSON output of `why`, with the schema `linkaudit.why/1` (`docs/why.schema.json`).

use super::elsewhere::Copy;
use super::library::{self, LibraryAnswer};
use super::symbol::{self, SymbolAnswer};
use super::undefined::CheckResult;
use super::{Answer, VersionAnswer, Why};
use crate::audit::{Audit, DefinerKind};
use crate::diagnosis::ReferenceState;
use crate::id::{FileId, RootId};
use crate::report::Style;
use crate::text::Text;
use crate::views::Subject;
use crate::views::tree::TriedOut;
use serde::Serialize;
use std::io::{self, Write};

/// The name and version of the schema of the JSON output.
pub const SCHEMA: &str = "linkaudit.why/1";

#[derive(Serialize)]
struct WhyOut<'a, P, R> {
    schema: &'static str,
    name: Text<'a>,
    under: Option<Text<'a>>,
    kind: &'static str,
    complete: bool,
    providers: Vec<P>,
    requesters: Vec<R>,
    copies: Vec<CopyOut<'a>>,
    searched: Vec<SearchedOut<'a>>,
    near: Vec<Text<'a>>,
}

/// Another file of the library in the process.
#[derive(Serialize)]
struct CopyOut<'a> {
    path: Text<'a>,
    root: Text<'a>,
    position: Option<u32>,
    how: &'static str,
    needed_by: Option<Text<'a>>,
}

#[derive(Serialize)]
struct SearchedOut<'a> {
    root: Text<'a>,
    files: Vec<Text<'a>>,
}

#[derive(Serialize)]
struct LibraryProviderOut<'a> {
    path: Text<'a>,
    soname: Option<Text<'a>>,
    roots: Vec<LoadOut<'a>>,
}

#[derive(Serialize)]
struct LoadOut<'a> {
    root: Text<'a>,
    position: Option<u32>,
    how: &'static str,
}

#[derive(Serialize)]
struct LibraryRequesterOut<'a> {
    path: Text<'a>,
    name: Text<'a>,
    tag: &'static str,
    to: Option<Text<'a>>,
    opened: Option<Text<'a>>,
    how: &'static str,
    rpath_of: Option<Text<'a>>,
    chain: Vec<Text<'a>>,
    roots: Vec<Text<'a>>,
    tried: Vec<TriedOut<'a>>,
    instead: Option<Vec<Text<'a>>>,
}

#[derive(Serialize)]
struct SymbolProviderOut<'a> {
    path: Text<'a>,
    member: Option<Text<'a>>,
    symbol: Text<'a>,
    version: Option<Text<'a>>,
    default: bool,
    bind: &'static str,
    roots: Vec<InScopeOut<'a>>,
}

#[derive(Serialize)]
struct InScopeOut<'a> {
    root: Text<'a>,
    position: u32,
    taken: u32,
}

#[derive(Serialize)]
struct SymbolRequesterOut<'a> {
    path: Text<'a>,
    symbol: Text<'a>,
    version: Option<Text<'a>>,
    weak: bool,
    bound: Vec<BindingOut<'a>>,
    near_misses: Vec<NearMissOut<'a>>,
    installed: Vec<SystemFileOut<'a>>,
}

/// A file of the system that defines the symbol: a library, or a program that may load the object
/// with the reference.
#[derive(Serialize)]
struct SystemFileOut<'a> {
    path: Text<'a>,
    package: Option<&'a str>,
    shadowed: bool,
    program: bool,
}

#[derive(Serialize)]
struct NearMissOut<'a> {
    path: Text<'a>,
    symbol: Text<'a>,
    version: Option<Text<'a>>,
    reason: &'static str,
}

#[derive(Serialize)]
struct BindingOut<'a> {
    root: Text<'a>,
    provider: Option<Text<'a>>,
    version: Option<Text<'a>>,
    used: bool,
    stopped: bool,
    fate: Option<StateOut<'a>>,
    searched: Option<Vec<Text<'a>>>,
}

#[derive(Serialize)]
struct StateOut<'a> {
    kind: &'static str,
    name: Option<Text<'a>>,
    by: Option<Text<'a>>,
}

pub(super) fn render(
    subject: &Subject<'_>,
    why: &Why,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let audit = subject.audit;
    match &why.answer {
        Answer::Library(LibraryAnswer { providers, requesters, copies, .. }) => {
            let providers = providers.iter().map(|p| library_provider(audit, p)).collect();
            let requesters = requesters.iter().map(|r| library_requester(audit, r)).collect();
            let copies = copies.iter().map(|copy| copy_out(audit, copy)).collect();
            let lists = Lists { copies, ..Lists::new(providers, requesters) };
            write(subject, why, "library", lists, out)
        }
        Answer::Symbol(symbol) => {
            let providers = symbol.providers.iter().map(|p| symbol_provider(audit, p)).collect();
            let requesters = symbol.requesters.iter();
            let requesters = requesters.map(|r| symbol_requester(subject, symbol, r)).collect();
            let scope = |scope: &'_ symbol::Searched| SearchedOut {
                root: root(audit, scope.root),
                files: paths(audit, &scope.files),
            };
            let searched = symbol.searched.iter().map(scope).collect();
            let lists = Lists { searched, ..Lists::new(providers, requesters) };
            write(subject, why, "symbol", lists, out)
        }
        Answer::Version(VersionAnswer { symbols: near, .. }) | Answer::Unknown(near) => {
            let near = near.iter().map(|name| Text(name)).collect();
            let lists = Lists { near, ..Lists::<(), ()>::new(Vec::new(), Vec::new()) };
            write(subject, why, "unknown", lists, out)
        }
    }
}

/// The lists of the output. Lists that do not belong to the kind of the answer are empty.
struct Lists<'a, P, R> {
    providers: Vec<P>,
    requesters: Vec<R>,
    copies: Vec<CopyOut<'a>>,
    searched: Vec<SearchedOut<'a>>,
    near: Vec<Text<'a>>,
}

impl<P, R> Lists<'_, P, R> {
    fn new(providers: Vec<P>, requesters: Vec<R>) -> Self {
        Self { providers, requesters, copies: Vec::new(), searched: Vec::new(), near: Vec::new() }
    }
}

fn write<P: Serialize, R: Serialize>(
    subject: &Subject<'_>,
    why: &Why,
    kind: &'static str,
    lists: Lists<'_, P, R>,
    out: &mut dyn Write,
) -> io::Result<()> {
    let Lists { providers, requesters, copies, searched, near } = lists;
    let whole = WhyOut {
        schema: SCHEMA,
        name: Text(&why.name),
        under: why.under.as_ref().map(|under| path(subject.audit, under.file)),
        kind,
        complete: subject.report.complete,
        providers,
        requesters,
        copies,
        searched,
        near,
    };
    crate::text::json(out, &whole)?;
    out.write_all(b"\n")
}

fn paths<'a>(audit: &'a Audit, files: &[FileId]) -> Vec<Text<'a>> {
    files.iter().map(|file| path(audit, *file)).collect()
}

fn path(audit: &Audit, file: FileId) -> Text<'_> {
    Text::path(&audit.corpus.files[file].path)
}

fn root(audit: &Audit, root: RootId) -> Text<'_> {
    Text::path(audit.root_path(root))
}

fn text(bytes: Option<&Vec<u8>>) -> Option<Text<'_>> {
    bytes.map(|bytes| Text(bytes))
}

fn copy_out<'a>(audit: &'a Audit, copy: &Copy) -> CopyOut<'a> {
    CopyOut {
        path: path(audit, copy.file),
        root: root(audit, copy.root),
        position: copy.position,
        how: copy.how.name(),
        needed_by: copy.needed_by.map(|file| path(audit, file)),
    }
}

fn library_provider<'a>(
    audit: &'a Audit,
    provider: &library::LibraryProvider,
) -> LibraryProviderOut<'a> {
    let object = audit.corpus.files[provider.file].object();
    let places = provider.places.iter();
    LibraryProviderOut {
        path: path(audit, provider.file),
        soname: object.and_then(|object| object.soname()).map(Text),
        roots: places
            .map(|place| LoadOut {
                root: root(audit, place.root),
                position: place.position,
                how: place.how.name(),
            })
            .collect(),
    }
}

fn library_requester<'a>(
    audit: &'a Audit,
    requester: &'a library::LibraryRequester,
) -> LibraryRequesterOut<'a> {
    LibraryRequesterOut {
        path: path(audit, requester.file),
        name: Text(audit.text(requester.name)),
        tag: requester.tag.name(),
        to: requester.to.map(|to| path(audit, to)),
        opened: requester.to.map(|_| Text(audit.text(requester.opened))),
        how: requester.how.name(),
        rpath_of: requester.rpath_of.map(|owner| path(audit, owner)),
        chain: requester.chain.iter().map(|hop| path(audit, *hop)).collect(),
        roots: requester.roots.iter().map(|id| root(audit, *id)).collect(),
        tried: requester.tried.iter().map(TriedOut::new).collect(),
        instead: requester
            .instead
            .as_ref()
            .map(|files| files.iter().map(|file| path(audit, *file)).collect()),
    }
}

fn symbol_provider<'a>(
    audit: &'a Audit,
    provider: &'a symbol::SymbolProvider,
) -> SymbolProviderOut<'a> {
    SymbolProviderOut {
        path: path(audit, provider.file),
        member: text(provider.member.as_ref()),
        symbol: Text(&provider.symbol),
        version: text(provider.version.as_ref()),
        default: provider.default,
        bind: provider.bind.name(),
        roots: provider
            .places
            .iter()
            .map(|place| InScopeOut {
                root: root(audit, place.root),
                position: place.position,
                taken: place.taken,
            })
            .collect(),
    }
}

fn symbol_requester<'a>(
    subject: &Subject<'a>,
    whole: &'a SymbolAnswer,
    requester: &'a symbol::SymbolRequester,
) -> SymbolRequesterOut<'a> {
    let audit = subject.audit;
    let bound = requester.bound.iter().map(|bound| {
        let provider = bound.provider.map(|at| &whole.providers[at]);
        BindingOut {
            root: root(audit, bound.root),
            provider: provider.map(|provider| path(audit, provider.file)),
            version: provider.and_then(|provider| text(provider.version.as_ref())),
            used: bound.used,
            stopped: bound.stopped,
            fate: bound.state.map(|fate| fate_out(subject, requester, fate)),
            searched: bound.searched.as_ref().map(|files| paths(audit, files)),
        }
    });
    let near = requester.near.iter().map(|near| NearMissOut {
        path: path(audit, near.file),
        symbol: Text(&near.symbol),
        version: text(near.version.as_ref()),
        reason: near.reason,
    });
    let reported = Some(requester).filter(|r| r.version.is_none());
    let installed = reported.into_iter().flat_map(|requester| {
        let found = audit.installed.definers(requester.file, &requester.symbol);
        found.map(|(file, kind)| SystemFileOut {
            path: Text::path(&file.path),
            package: file.package.as_deref(),
            shadowed: kind == DefinerKind::Shadowed,
            program: kind == DefinerKind::Program,
        })
    });
    SymbolRequesterOut {
        path: path(audit, requester.file),
        symbol: Text(&requester.symbol),
        version: text(requester.version.as_ref()),
        weak: requester.weak,
        bound: bound.collect(),
        near_misses: near.collect(),
        installed: installed.collect(),
    }
}

fn fate_out<'a>(
    subject: &Subject<'a>,
    requester: &symbol::SymbolRequester,
    fate: ReferenceState,
) -> StateOut<'a> {
    let Subject { audit, plan, report, .. } = *subject;
    let out = |kind, name, by| StateOut { kind, name, by };
    match fate {
        ReferenceState::Undefined => {
            out(CheckResult::of(requester, audit, report).name(), None, None)
        }
        ReferenceState::Explained(from, name) => {
            out("missing-library", Some(Text(audit.text(name))), Some(path(audit, from)))
        }
        ReferenceState::Assumed(host) => {
            let name = plan.policy.hosts.get(host).map(|host| Text(host.name.as_bytes()));
            out("host-program", name, None)
        }
        ReferenceState::Inferred(program) => out("inferred-host", Some(path(audit, program)), None),
        ReferenceState::Provided(name) => {
            out("provided-library", Some(Text(audit.text(name))), None)
        }
    }
}
