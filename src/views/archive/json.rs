//! The JSON output of `archive`, with the schema `linkaudit.archive/1`
//! (`docs/archive.schema.json`).

use super::hints::NearHint;
use super::{ArchiveAnswer, InstalledArchives, RejectedFile, Rejection};
use crate::audit::ArchiveOwner;
use crate::cover::{ArchiveSet, Linker, NeededMember, ReferredBy, UndefinedName};
use crate::demangle::demangle;
use crate::finding::CMakeTarget;
use crate::id::{ArchiveId, MemberId};
use crate::order::Arrange as _;
use crate::report::Style;
use crate::text::Text;
use crate::views::Subject;
use serde::Serialize;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt as _;

/// The name and version of the schema of the JSON output.
const SCHEMA: &str = "linkaudit.archive/1";

#[derive(Serialize)]
struct ArchiveAnswerOut<'a> {
    schema: &'static str,
    complete: bool,
    order: &'static str,
    linker: Option<&'static str>,
    roots: Vec<RootOut<'a>>,
    archives: Vec<Text<'a>>,
    needed: Vec<ArchiveOut<'a>>,
    undefined: Vec<UndefinedOut<'a>>,
    unknown: Vec<UndefinedOut<'a>>,
    ties: Vec<TieOut<'a>>,
    opaque: Vec<Opaque<'a>>,
    lto: usize,
    unindexed: Vec<Text<'a>>,
    rejected: Vec<RejectedOut<'a>>,
    mixed_tls: Vec<MixedTlsOut<'a>>,
    foreign: usize,
    #[serde(rename = "self")]
    installed: Option<InstalledOut<'a>>,
}

/// The part of the output that only `--self` has.
#[derive(Serialize)]
struct InstalledOut<'a> {
    libraries: usize,
    archives: Vec<BrokenOut<'a>>,
}

/// An archive with undefined or unknown names. The lists `undefined` and `unknown` of the whole
/// answer have these names too.
#[derive(Serialize)]
struct BrokenOut<'a> {
    archive: Text<'a>,
    total: usize,
    undefined: Vec<Text<'a>>,
    unknown: Vec<Text<'a>>,
    parts: Vec<Text<'a>>,
}

#[derive(Serialize)]
struct RootOut<'a> {
    kind: &'static str,
    path: Option<Text<'a>>,
    symbol: Option<Text<'a>>,
}

#[derive(Serialize)]
struct ArchiveOut<'a> {
    archive: Text<'a>,
    candidate: bool,
    total: usize,
    owner: Option<OwnerOut<'a>>,
    members: Vec<MemberOut<'a>>,
}

/// The packages of an archive.
#[derive(Serialize)]
struct OwnerOut<'a> {
    path: Text<'a>,
    exists: bool,
    package: Option<&'a str>,
    pkg_config: Option<&'a str>,
    cmake: Option<&'a CMakeTarget>,
}

impl<'a> OwnerOut<'a> {
    fn new(owner: &'a ArchiveOwner) -> Self {
        let ArchiveOwner { path, exists, package, pkg_config, cmake } = owner;
        Self {
            path: Text::path(path),
            exists: *exists,
            package: package.as_deref(),
            pkg_config: pkg_config.as_deref(),
            cmake: cmake.as_ref(),
        }
    }
}

#[derive(Serialize)]
struct MemberOut<'a> {
    name: Text<'a>,
    offset: u64,
    origin: Option<Text<'a>>,
    symbol: Option<Text<'a>>,
    by: Option<ByOut<'a>>,
}

/// A referrer: an object by its path, or a member by its archive, name and offset.
#[derive(Serialize)]
struct ByOut<'a> {
    path: Text<'a>,
    member: Option<Text<'a>>,
    offset: Option<u64>,
    origin: Option<Text<'a>>,
}

#[derive(Serialize)]
struct UndefinedOut<'a> {
    symbol: Text<'a>,
    demangled: Option<String>,
    by: Vec<ByOut<'a>>,
    archives: Vec<ProviderOut<'a>>,
    near_misses: Vec<NearOut<'a>>,
}

/// An archive that a policy names for a symbol, and installed archives with that name.
#[derive(Serialize)]
struct ProviderOut<'a> {
    name: &'a str,
    policy: &'a str,
    installed: Vec<OwnerOut<'a>>,
}

/// A definition that nearly fits an undefined name.
#[derive(Serialize)]
struct NearOut<'a> {
    path: Text<'a>,
    member: Option<Text<'a>>,
    symbol: Text<'a>,
    version: Option<Text<'a>>,
    reason: &'static str,
}

#[derive(Serialize)]
struct TieOut<'a> {
    symbol: Text<'a>,
    taken: Text<'a>,
    others: Vec<Text<'a>>,
}

#[derive(Serialize)]
struct Opaque<'a> {
    archive: Text<'a>,
    name: Text<'a>,
    offset: u64,
    needed: bool,
    reason: &'static str,
}

/// A member or linked file that the linker rejects even if no reference needs it.
#[derive(Serialize)]
struct RejectedOut<'a> {
    archive: Text<'a>,
    name: Text<'a>,
    offset: u64,
    reason: &'static str,
}

/// A name that is thread-local in one file and an ordinary symbol in another.
#[derive(Serialize)]
struct MixedTlsOut<'a> {
    symbol: Text<'a>,
    thread_local: Option<ByOut<'a>>,
    ordinary: Option<ByOut<'a>>,
}

pub(super) fn render(
    subject: &Subject<'_>,
    view: &ArchiveAnswer,
    _: Style,
    out: &mut dyn Write,
) -> io::Result<()> {
    let page = JsonPage { view, library: &subject.audit.library };
    let coverage = &view.coverage;
    let whole = ArchiveAnswerOut {
        schema: SCHEMA,
        complete: view.is_complete(subject.report.complete),
        order: if view.linker.is_some() { "given" } else { "free" },
        linker: view.linker.map(Linker::name),
        roots: page.roots(),
        archives: view.archives.iter().map(|(archive, _)| page.path(*archive)).collect(),
        needed: page.needed(),
        undefined: page.undefined(&coverage.undefined),
        unknown: page.undefined(&view.unknown),
        ties: coverage
            .ties
            .iter()
            .map(|tie| TieOut {
                symbol: Text(&tie.symbol),
                taken: page.path(tie.taken),
                others: tie.others.iter().map(|other| page.path(*other)).collect(),
            })
            .collect(),
        opaque: page.opaque(),
        lto: view.lto.objects,
        unindexed: view.unindexed.iter().map(|archive| page.path(*archive)).collect(),
        rejected: page.rejected(),
        mixed_tls: page.mixed_tls(),
        foreign: view.foreign.len() + view.foreign_roots.len(),
        installed: view.installed.as_ref().map(|installed| page.installed(installed)),
    };
    crate::text::json(out, &whole)?;
    out.write_all(b"\n")
}

fn near_miss(near: &NearHint) -> NearOut<'_> {
    NearOut {
        path: Text::path(&near.path),
        member: near.member.as_deref().map(Text),
        symbol: Text(&near.symbol),
        version: near.version.as_deref().map(Text),
        reason: near.reason,
    }
}

struct JsonPage<'a> {
    view: &'a ArchiveAnswer,
    library: &'a ArchiveSet,
}

impl<'a> JsonPage<'a> {
    fn path(&self, archive: ArchiveId) -> Text<'a> {
        Text::path(&self.library.entry(archive).path)
    }

    fn undefined(&self, list: &'a [UndefinedName]) -> Vec<UndefinedOut<'a>> {
        let out = |undefined: &'a UndefinedName| {
            let hints = self.view.hints.of(&undefined.symbol);
            let archives = hints.into_iter().flat_map(|hints| &hints.archives);
            let near = hints.into_iter().flat_map(|hints| &hints.near);
            UndefinedOut {
                symbol: Text(&undefined.symbol),
                demangled: demangle(&undefined.symbol),
                by: undefined.by.iter().filter_map(|by| self.by(*by)).collect(),
                archives: archives.map(|(name, policy)| self.provider(name, policy)).collect(),
                near_misses: near.map(near_miss).collect(),
            }
        };
        list.iter().map(out).collect()
    }

    fn provider(&self, name: &'a str, policy: &'a str) -> ProviderOut<'a> {
        let installed = self.view.hints.owners.named(name.as_bytes()).map(OwnerOut::new);
        ProviderOut { name, policy, installed: installed.collect() }
    }

    fn origin(&self, member: MemberId) -> Option<Text<'a>> {
        let origin = self.view.origin(self.library, member)?;
        Some(self.path(self.library.archive_of(origin)))
    }

    fn roots(&self) -> Vec<RootOut<'a>> {
        let objects = self.view.roots.iter().map(|root| RootOut {
            kind: "object",
            path: Some(Text::path(&root.path)),
            symbol: None,
        });
        let symbols = self.view.symbols.iter().map(|symbol| RootOut {
            kind: "symbol",
            path: None,
            symbol: Some(Text(symbol)),
        });
        let dirs = self.view.installed.iter().flat_map(|installed| &installed.dirs);
        let dirs =
            dirs.map(|dir| RootOut { kind: "self", path: Some(Text::path(dir)), symbol: None });
        let all = RootOut { kind: "all-members", path: None, symbol: None };
        objects.chain(symbols).chain(self.view.all_members.then_some(all)).chain(dirs).collect()
    }

    fn needed(&self) -> Vec<ArchiveOut<'a>> {
        let mut sorted: Vec<&NeededMember> = self.view.coverage.needed.iter().collect();
        sorted.arrange_by_key(|needed| needed.member);
        let same = |a: &&NeededMember, b: &&NeededMember| {
            self.library.archive_of(a.member) == self.library.archive_of(b.member)
        };
        let group = |group: &[&'a NeededMember]| {
            let archive = self.library.archive_of(group[0].member);
            ArchiveOut {
                archive: self.path(archive),
                candidate: !self.view.is_linked(archive),
                total: self.library.entry(archive).members.list.len(),
                owner: self
                    .view
                    .hints
                    .owners
                    .of(&self.library.entry(archive).path)
                    .map(OwnerOut::new),
                members: group.iter().map(|needed| self.member(needed)).collect(),
            }
        };
        sorted.chunk_by(same).map(group).collect()
    }

    fn member(&self, needed: &'a NeededMember) -> MemberOut<'a> {
        MemberOut {
            name: Text(self.library.member_name(needed.member)),
            offset: self.library.member(needed.member).offset,
            origin: self.origin(needed.member),
            symbol: (!needed.symbol.is_empty()).then_some(Text(&needed.symbol)),
            by: self.by(needed.by),
        }
    }

    fn by(&self, by: ReferredBy) -> Option<ByOut<'a>> {
        match by {
            ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => None,
            ReferredBy::Root(at) => {
                let path = Text::path(self.view.root(at)?);
                Some(ByOut { path, member: None, offset: None, origin: None })
            }
            ReferredBy::Member(member) => Some(ByOut {
                path: self.path(self.library.archive_of(member)),
                member: Some(Text(self.library.member_name(member))),
                offset: Some(self.library.member(member).offset),
                origin: self.origin(member),
            }),
        }
    }

    fn installed(&self, installed: &'a InstalledArchives) -> InstalledOut<'a> {
        let names = |list: &'a [UndefinedName]| list.iter().map(|one| Text(&one.symbol)).collect();
        let archives = installed.broken.iter().map(|broken| BrokenOut {
            archive: self.path(broken.found.archive),
            total: self.library.entry(broken.found.archive).members.list.len(),
            undefined: names(&broken.found.undefined),
            unknown: names(&broken.found.unknown),
            parts: broken.parts.iter().map(|part| self.path(*part)).collect(),
        });
        InstalledOut { libraries: installed.libraries, archives: archives.collect() }
    }

    fn rejected(&self) -> Vec<RejectedOut<'a>> {
        let one = |(file, rejection): &(RejectedFile, Rejection)| match file {
            RejectedFile::Member(member) => RejectedOut {
                archive: self.path(self.library.archive_of(*member)),
                name: Text(self.library.member_name(*member)),
                offset: self.library.member(*member).offset,
                reason: rejection.reason(),
            },
            RejectedFile::Root(at) => {
                let path = &self.view.roots[*at].path;
                RejectedOut {
                    archive: Text::path(path),
                    name: Text(path.file_name().unwrap_or_default().as_bytes()),
                    offset: 0,
                    reason: rejection.reason(),
                }
            }
        };
        self.view.rejected.iter().map(one).collect()
    }

    fn mixed_tls(&self) -> Vec<MixedTlsOut<'a>> {
        let names = self.view.mixed_tls.iter().map(|one| MixedTlsOut {
            symbol: Text(&one.name),
            thread_local: self.by(one.thread_local),
            ordinary: self.by(one.ordinary),
        });
        names.collect()
    }

    fn opaque(&self) -> Vec<Opaque<'a>> {
        let archives = self.view.archives.iter().chain(&self.view.candidates);
        let members = archives.flat_map(|(archive, _)| self.library.members_of(*archive));
        let opaque = members.filter(|member| self.library.member(*member).is_unknown());
        let members = opaque.map(|member| Opaque {
            archive: self.path(self.library.archive_of(member)),
            name: Text(self.library.member_name(member)),
            offset: self.library.member(member).offset,
            needed: self.view.coverage.opaque.contains(&member),
            reason: super::reason(self.library.member(member).kind),
        });
        let roots = self.view.opaque_roots().map(|(root, kind)| Opaque {
            archive: Text::path(&root.path),
            name: Text(root.path.file_name().unwrap_or_default().as_bytes()),
            offset: 0,
            needed: true,
            reason: super::reason(kind),
        });
        members.chain(roots).collect()
    }
}
