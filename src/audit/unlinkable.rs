//! Answers `archive --self`: finds the archives below a directory that refer to names which no
//! archive, shared library or linker of the system defines. Linker scripts are replaced by the
//! files that they name, and start files of compilers are treated as archives. `cover::lacking`
//! searches the archives. This module searches the shared libraries. It also reads the sections and
//! relocations of the members that still refer to undefined names.

use super::{Audit, Ground, LIBC_NONSHARED};
use crate::cover::{
    self, Coverage, CoverageQuestion, LackingReference, LinkOutput, LinkerDefined, ReferredBy,
    ShownReferrers, UndefinedName,
};
use crate::facts::collect::Collector;
use crate::facts::providers::Providers;
use crate::facts::read::read_candidate;
use crate::facts::{Content, FileFacts};
use crate::format::archive::RequestedNames;
use crate::format::elf::{Object, Target, hash};
use crate::id::{ArchiveId, FastSet, FileId, MemberId, NameId};
use crate::order::Arrange as _;
use crate::parallel;
use crate::plan::Plan;
use crate::sniff::Class;
use crate::tree::Tree;
use crate::tree::walk::{self, Visit};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicUsize;

/// An archive with references that stay undefined, or may stay undefined, however it is linked.
#[derive(Debug)]
pub struct Unlinkable {
    /// The archive whose members have the references.
    pub archive: ArchiveId,
    /// Names that no file or linker defines, sorted, each with the members that refer to it.
    pub undefined: Vec<UndefinedName>,
    /// Names that an unreadable file may define, or that a linker defines under a condition (see
    /// [`LinkerDefined`]). They are sorted, each with the members that refer to it.
    pub unknown: Vec<UndefinedName>,
}

/// True for the path of a start file: an object that compilers add to every link, such as `crt1.o`
/// (`STARTFILE_SPEC` of GCC).
pub(super) fn is_start_file(path: &Path) -> bool {
    let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let Some(stem) = name.strip_suffix(".o") else { return false };
    let stem = stem.strip_prefix("clang_rt.").unwrap_or(stem);
    stem.starts_with("crt") || stem.ends_with("crt1")
}

impl Ground {
    /// Walked files with the name of a library that are neither ELF files nor archives: they may be
    /// linker scripts.
    pub fn scripts(&self) -> impl Iterator<Item = &Path> {
        self.texts.all(Class::LinkerScript)
    }

    /// Reads the files at `paths`, which linker scripts name, as if they were below `--lib-path`.
    pub fn add_providers(&mut self, plan: &Plan, tree: &dyn Tree, paths: &[PathBuf]) {
        let reading = plan.provider_reading();
        let visit = Visit {
            classes: reading.classes,
            consume: &|candidate: walk::WalkedFile<'_>| read_candidate(&candidate, reading),
            is_named: &|_| false,
            keeps_met: false,
        };
        let walked = walk::walk(tree, paths, plan.threads, &AtomicUsize::new(0), &visit);
        let mut collector = Collector::new(tree, plan.reading());
        collector.add_entries(&mut self.corpus, &walked.given, walked.entries, false);
        self.problems.extend(walked.problems);
    }
}

/// A name, and the target of the member that refers to it; `None` if the target is unknown.
type WantedName = (NameId, Option<Target>);

impl Audit {
    /// The shared libraries below `--lib-path`, whose definitions a link may use.
    pub fn shared_providers(&self) -> impl Iterator<Item = (FileId, &Object)> {
        let files = self.corpus.files.entries().filter(|(_, facts)| facts.provider);
        let objects = files.filter_map(|(file, facts)| Some((file, facts.object()?)));
        objects.filter(|(_, object)| object.is_library())
    }

    /// The archives in `archives` with names that stay undefined, or may stay undefined, in every
    /// link with the files that were read.
    pub fn unlinkable(
        &self,
        tree: &dyn Tree,
        archives: &[ArchiveId],
        output: LinkOutput,
    ) -> Vec<Unlinkable> {
        let mut found = cover::lacking(&self.library, archives, output);
        let shared = self.shared(found.iter().flatten());
        for references in &mut found {
            references.retain(|reference| {
                let asked = (reference.name, reference.target);
                reference.restricted || shared.binary_search(&asked).is_err()
            });
        }
        let unread = self.unread();
        let pairs = archives.iter().zip(&found).filter(|(_, found)| !found.is_empty());
        let one = |(archive, references): (&ArchiveId, &Vec<LackingReference>)| {
            self.refined(tree, *archive, references, (output, &unread))
        };
        let found = pairs.map(one);
        found.filter(|one| !one.undefined.is_empty() || !one.unknown.is_empty()).collect()
    }

    /// The names in `references` that shared libraries or `libc_nonshared.a` define for the target
    /// of the reference, sorted.
    fn shared<'r>(
        &self,
        references: impl Iterator<Item = &'r LackingReference>,
    ) -> Vec<WantedName> {
        let asked: FastSet<WantedName> = references.map(|r| (r.name, r.target)).collect();
        let mut asked: Vec<WantedName> = asked.into_iter().collect();
        asked.sort_unstable();
        let mut names = RequestedNames::default();
        for (name, _) in &asked {
            let plain = plain(self.library.text(*name));
            names.insert(plain, hash::gnu(plain));
        }
        let providers = Providers::find(&self.corpus, &names, Vec::new());
        let all: Vec<&Object> = self.shared_providers().map(|(_, object)| object).collect();
        let has_libc = all.iter().any(|object| object.soname() == Some(b"libc.so.6"));
        let is_defined = |(name, target): &WantedName| {
            let text = self.library.text(*name);
            let mut found = providers.named(plain(text)).iter();
            has_libc && LIBC_NONSHARED.contains(&text)
                || found.any(|provider| {
                    let object = self.corpus.files[provider.file].object();
                    let fits = |other: Target| target.is_none_or(|t| other.links_with(t));
                    provider.target.is_none_or(fits)
                        && object.is_some_and(|object| {
                            object.is_library() && object.satisfies_link(text)
                        })
                })
        };
        let answers = parallel::map(&asked, is_defined);
        asked.into_iter().zip(answers).filter_map(|(asked, is)| is.then_some(asked)).collect()
    }

    /// The targets of files that may define any name, because they could not be read. These are
    /// members without a readable symbol table or index, shared libraries without a readable table,
    /// and unreadable files. `None` stands for an unknown target.
    fn unread(&self) -> FastSet<Option<Target>> {
        let library = &self.library;
        let archives = library.entries().map(|(archive, _)| archive);
        let members = archives.flat_map(|archive| library.members_of(archive));
        let unread = members.filter(|member| self.is_unread(*member));
        let mut out: FastSet<_> = unread.map(|member| library.member(member).target).collect();
        let is_blind = |facts: &FileFacts| match &facts.content {
            Content::Elf(object) => object.is_library() && object.tables.is_none(),
            Content::Archive(_) => false,
            Content::Other(_) => facts.unreadable.is_some(),
        };
        let files = self.corpus.files.iter().filter(|facts| facts.provider && is_blind(facts));
        out.extend(files.map(|facts| facts.object().map(|object| object.header.target())));
        out
    }

    /// True if the definitions of a member are unknown: neither its symbol table nor the archive
    /// index lists them.
    pub fn is_unread(&self, member: MemberId) -> bool {
        self.library.member(member).is_unknown() && self.library.hashes(member).is_empty()
    }

    /// The result for one archive, without the references that no linker would report.
    fn refined(
        &self,
        tree: &dyn Tree,
        archive: ArchiveId,
        references: &[LackingReference],
        (output, unread): (LinkOutput, &FastSet<Option<Target>>),
    ) -> Unlinkable {
        let library = &self.library;
        let mut names: BTreeMap<&[u8], Vec<ReferredBy>> = BTreeMap::new();
        for reference in references {
            let by = names.entry(library.text(reference.name)).or_default();
            by.push(ReferredBy::Member(reference.member));
        }
        let list = names.into_iter();
        let undefined = list.map(|(symbol, mut by)| {
            by.dedup();
            UndefinedName { symbol: symbol.into(), by, unread: 0 }
        });
        let mut coverage = Coverage {
            undefined: undefined.collect(),
            order: library.members_of(archive).collect(),
            ..Coverage::default()
        };
        let question = CoverageQuestion {
            library,
            roots: &[],
            symbols: &[],
            all_members: true,
            archives: &[archive],
            candidates: &[],
            objects: &[],
            provided: &|_| false,
            output,
            gc_sections: false,
            link: None,
        };
        self.refine(tree, (&question, &[]), ShownReferrers::ALL, &mut coverage);
        let target = question.target();
        let blind = unread.iter().any(|other| match (target, other) {
            (Some(target), Some(other)) => target.links_with(*other),
            _ => true,
        });
        let is_open =
            |one: &UndefinedName| blind || output.defines(target, &one.symbol) != LinkerDefined::No;
        let (unknown, undefined) = coverage.undefined.into_iter().partition(is_open);
        Unlinkable { archive, undefined, unknown }
    }

    /// The archives below one of `dirs`, sorted by path. The caller must pass each directory twice:
    /// as typed, and with links resolved.
    pub fn archives_below(&self, dirs: &[PathBuf]) -> Vec<ArchiveId> {
        let is_below = |facts: &FileFacts| {
            let names = facts.names.iter().map(|name| name.path.as_path());
            let mut paths = names.chain([&*facts.path, &*facts.typed]);
            paths.any(|path| dirs.iter().any(|dir| path.starts_with(dir)))
        };
        let entries = self.library.entries().filter(|(_, entry)| {
            let facts = &self.corpus.files[entry.file];
            matches!(facts.content, Content::Archive(_)) && is_below(facts)
        });
        let mut out: Vec<ArchiveId> = entries.map(|(archive, _)| archive).collect();
        out.arrange_by_key(|archive| self.library.entry(*archive).path.as_os_str());
        out
    }
}

/// A name without its version: the part before `@`.
fn plain(name: &[u8]) -> &[u8] {
    memchr::memchr(b'@', name).map_or(name, |at| &name[..at])
}
