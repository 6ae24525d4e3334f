//! `why` for programs, by the schema `linkaudit.why/1` that lies in `docs/why.schema.json`.

use super::library::{self, Library};
use super::symbol::{self, Symbol};
use super::{Answer, Why};
use crate::audit::Audit;
use crate::id::{FileId, RootId};
use crate::report::Style;
use crate::text::Text;
use crate::views::Subject;
use crate::views::tree::TriedOut;
use serde::Serialize;
use std::io::{self, Write};

/// The name of the schema.
pub const SCHEMA: &str = "linkaudit.why/1";

#[derive(Serialize)]
struct Out<'a, P, R> {
    schema: &'static str,
    name: Text<'a>,
    kind: &'static str,
    complete: bool,
    providers: Vec<P>,
    requesters: Vec<R>,
    near: Vec<Text<'a>>,
}

#[derive(Serialize)]
struct LibraryProvider<'a> {
    path: Text<'a>,
    soname: Option<Text<'a>>,
    roots: Vec<Place<'a>>,
}

#[derive(Serialize)]
struct Place<'a> {
    root: Text<'a>,
    position: Option<u32>,
    how: &'static str,
}

#[derive(Serialize)]
struct LibraryRequester<'a> {
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
}

#[derive(Serialize)]
struct SymbolProvider<'a> {
    path: Text<'a>,
    member: Option<Text<'a>>,
    symbol: Text<'a>,
    version: Option<Text<'a>>,
    default: bool,
    bind: &'static str,
    roots: Vec<InScope<'a>>,
}

#[derive(Serialize)]
struct InScope<'a> {
    root: Text<'a>,
    position: u32,
    taken: u32,
}

#[derive(Serialize)]
struct SymbolRequester<'a> {
    path: Text<'a>,
    symbol: Text<'a>,
    version: Option<Text<'a>>,
    weak: bool,
    bound: Vec<Bound<'a>>,
}

#[derive(Serialize)]
struct Bound<'a> {
    root: Text<'a>,
    provider: Option<Text<'a>>,
    version: Option<Text<'a>>,
    used: bool,
}

pub(super) fn render(
    subject: &Subject<'_>,
    why: &Why,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let audit = subject.audit;
    let complete = subject.report.complete;
    match &why.answer {
        Answer::Library(Library { providers, requesters, .. }) => {
            let providers = providers.iter().map(|p| library_provider(audit, p)).collect();
            let requesters = requesters.iter().map(|r| library_requester(audit, r)).collect();
            write(out, why, complete, "library", (providers, requesters, Vec::new()))
        }
        Answer::Symbol(symbol) => {
            let providers = symbol.providers.iter().map(|p| symbol_provider(audit, p)).collect();
            let requesters = symbol.requesters.iter();
            let requesters = requesters.map(|r| symbol_requester(audit, symbol, r)).collect();
            write(out, why, complete, "symbol", (providers, requesters, Vec::new()))
        }
        Answer::Unknown(near) => {
            let near = near.iter().map(|name| Text(name)).collect();
            write::<(), ()>(out, why, complete, "unknown", (Vec::new(), Vec::new(), near))
        }
    }
}

fn write<P: Serialize, R: Serialize>(
    out: &mut dyn Write,
    why: &Why,
    complete: bool,
    kind: &'static str,
    (providers, requesters, near): (Vec<P>, Vec<R>, Vec<Text<'_>>),
) -> io::Result<()> {
    let name = Text(&why.name);
    let whole = Out { schema: SCHEMA, name, kind, complete, providers, requesters, near };
    crate::text::json(out, &whole)?;
    out.write_all(b"\n")
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

fn library_provider<'a>(audit: &'a Audit, provider: &library::Provider) -> LibraryProvider<'a> {
    let object = audit.corpus.files[provider.file].object();
    let places = provider.places.iter();
    LibraryProvider {
        path: path(audit, provider.file),
        soname: object.and_then(|object| object.soname()).map(Text),
        roots: places
            .map(|place| Place {
                root: root(audit, place.root),
                position: place.position,
                how: place.how.name(),
            })
            .collect(),
    }
}

fn library_requester<'a>(
    audit: &'a Audit,
    requester: &'a library::Requester,
) -> LibraryRequester<'a> {
    LibraryRequester {
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
    }
}

fn symbol_provider<'a>(audit: &'a Audit, provider: &'a symbol::Provider) -> SymbolProvider<'a> {
    SymbolProvider {
        path: path(audit, provider.file),
        member: text(provider.member.as_ref()),
        symbol: Text(&provider.symbol),
        version: text(provider.version.as_ref()),
        default: provider.default,
        bind: provider.bind.name(),
        roots: provider
            .places
            .iter()
            .map(|place| InScope {
                root: root(audit, place.root),
                position: place.position,
                taken: place.taken,
            })
            .collect(),
    }
}

fn symbol_requester<'a>(
    audit: &'a Audit,
    whole: &'a Symbol,
    requester: &'a symbol::Requester,
) -> SymbolRequester<'a> {
    let bound = requester.bound.iter().map(|bound| {
        let provider = bound.provider.map(|at| &whole.providers[at]);
        Bound {
            root: root(audit, bound.root),
            provider: provider.map(|provider| path(audit, provider.file)),
            version: provider.and_then(|provider| text(provider.version.as_ref())),
            used: bound.used,
        }
    });
    SymbolRequester {
        path: path(audit, requester.file),
        symbol: Text(&requester.symbol),
        version: text(requester.version.as_ref()),
        weak: requester.weak,
        bound: bound.collect(),
    }
}
