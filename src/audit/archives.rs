//! Selects the archives whose members are read, and the relocatable objects whose symbols are read,
//! and builds the archive set. A plain audit of a large system reads the members of few archives:
//! reading the members of all archives would cost more than the rest of the audit.

use super::binding::BoundClosures;
use super::unlinkable;
use crate::bind::RelocationMessage;
use crate::cover::ArchiveSet;
use crate::diagnosis::Diagnosis;
use crate::facts::collect::Collector;
use crate::facts::providers::Providers;
use crate::facts::{Content, Corpus, FileFacts, Need};
use crate::format::archive::{DefiningMember, RequestedNames};
use crate::format::elf::{Object, Role};
use crate::id::{FastSet, FileId, Id as _};
use crate::order::Arrange as _;
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::policy::ArchivePolicy;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Limit, in bytes, for the total size of the audited archives. Up to this size, their members are
/// always read, which takes a few milliseconds. The same limit holds for the audited relocatable
/// objects.
const MOST_UNASKED: u64 = 64 << 20;

/// The undefined symbols of the run, the files that define these symbols, and the prefixes.
#[derive(Clone, Copy)]
pub(super) struct Unbound<'a> {
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) providers: &'a Providers,
    pub(super) prefixes: &'a Prefixes,
}

/// Limit for the number of audited objects: a package has fewer objects, and a whole system has
/// more. Up to this number, an audited archive is read if its directory has an object with
/// undefined symbols.
const MOST_OBJECTS: usize = 1000;

/// Reads the members of the archives that this run needs, and the symbols of relocatable objects.
pub(super) fn read(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    found: Unbound<'_>,
) -> ArchiveSet {
    let mut wanted = wanted(plan, corpus, found);
    wanted.extend(objects(corpus));
    shelve(&[], corpus, collector, wanted)
}

/// The audited relocatable objects, which are read to find defects in their symbol tables. Empty if
/// their total size exceeds `MOST_UNASKED`.
fn objects(corpus: &Corpus) -> Vec<FileId> {
    let is_object = |facts: &FileFacts| {
        let object = facts.object().filter(|_| facts.audited && facts.foreign().is_none());
        object.is_some_and(|object| object.role == Role::Relocatable && object.defects.is_empty())
    };
    let objects = || corpus.files.entries().filter(|(_, facts)| is_object(facts));
    let size: u64 = objects().map(|(_, facts)| facts.stat.len).sum();
    objects().filter(|_| size <= MOST_UNASKED).map(|(file, _)| file).collect()
}

/// For a run that is about archives: reads the members of all archives, and the symbols of start
/// files and of the objects given by name. The collector keeps only the names that later steps
/// look up in these files: the names in `Plan::symbols` and in `unbound`. To verify fixes, the
/// collector also keeps all references of each object with an undefined reference, and of the
/// libraries that this object needs.
pub(super) fn read_all(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    unbound: &RequestedNames,
    bound: BoundClosures<'_>,
) -> ArchiveSet {
    let is_wanted = |(file, facts): (FileId, &FileFacts)| {
        let wanted = match &facts.content {
            Content::Archive(_) => true,
            Content::Elf(object) => {
                object.role == Role::Relocatable
                    && facts.foreign().is_none()
                    && (given(plan, facts) || is_start_file(plan, facts))
            }
            Content::Other(_) => {
                plan.definitions && facts.unreadable.is_none() && given(plan, facts)
            }
        };
        wanted.then_some(file)
    };
    let wanted = corpus.files.entries().filter_map(is_wanted).collect();
    // If the plan describes a link, an archive may define any reference of a shared object, even
    // a reference that a library defines at load.
    let inputs = corpus.files.iter().filter(|facts| plan.link.is_some() && facts.audited);
    let inputs = inputs.filter_map(FileFacts::object);
    let referred = linked_again(corpus, bound).chain(inputs).flat_map(|object| {
        object.references.iter().map(|reference| object.reference_name(reference))
    });
    let asked = plan.symbols.iter().map(|name| &**name).chain(unbound.texts());
    collector.expect(asked.chain(referred));
    let starts = corpus.files.iter().filter(|facts| is_start_file(plan, facts));
    let starts = starts.map(|facts| facts.typed.to_path_buf());
    let lazy: Vec<PathBuf> = plan.link.iter().flatten().cloned().chain(starts).collect();
    shelve(&lazy, corpus, collector, wanted)
}

/// Objects with an undefined reference under some entry point, and the libraries that they need
/// directly: a linker also extracts members for the references of these libraries.
fn linked_again<'c>(
    corpus: &'c Corpus,
    bound: BoundClosures<'_>,
) -> impl Iterator<Item = &'c Object> {
    let mut files: Vec<FileId> = Vec::new();
    for (closure, binding) in bound.closures.roots.iter().zip(bound.bindings) {
        let lacking = binding.reports.iter().filter(|(_, reports)| {
            reports.iter().any(|report| matches!(report, RelocationMessage::Undefined { .. }))
        });
        for (module, _) in lacking {
            let needed = closure.needs(*module).iter().map(|edge| edge.to);
            let modules = std::iter::once(*module).chain(needed);
            files.extend(modules.filter_map(|module| closure.module(module).file));
        }
    }
    files.arrange();
    files.dedup();
    files.into_iter().filter_map(|file| corpus.files[file].object())
}

/// The definitions of `names` in the members of each archive of the set.
pub(super) fn definitions(
    library: &ArchiveSet,
    names: &RequestedNames,
) -> Vec<(FileId, Vec<DefiningMember>)> {
    let mut out: Vec<(FileId, Vec<DefiningMember>)> =
        library.entries().map(|(_, entry)| (entry.file, Vec::new())).collect();
    let mut texts: Vec<&[u8]> = names.texts().collect();
    texts.arrange();
    for text in texts {
        let Some(name) = library.find(text) else { continue };
        for found in library.definitions(name) {
            let definition = DefiningMember {
                symbol: text.into(),
                member: library.member_name(found.member).into(),
                target: library.member(found.member).target,
            };
            out[library.archive_of(found.member).index()].1.push(definition);
        }
    }
    out
}

/// Reads the members of the files in `wanted`. The returned set has an entry for each archive in
/// `wanted`, and for each object in `wanted` whose path is in `lazy`.
fn shelve(
    lazy: &[PathBuf],
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    wanted: Vec<FileId>,
) -> ArchiveSet {
    collector.answer(corpus, wanted.iter().copied().map(Need::Members).collect());
    let entry = |file: FileId| {
        let members = corpus.members(file).ok()?;
        let facts = &corpus.files[file];
        let is_archive = matches!(facts.content, Content::Archive(_))
            || lazy.iter().any(|path| **path == *facts.typed);
        is_archive.then(|| (file, Arc::clone(&corpus.files[file].path), Arc::clone(members)))
    };
    ArchiveSet::new(
        Arc::clone(corpus.symbol_names()),
        wanted.into_iter().filter_map(entry).collect(),
    )
}

fn wanted(plan: &Plan, corpus: &Corpus, found: Unbound<'_>) -> Vec<FileId> {
    let Unbound { diagnosis, providers, prefixes } = found;
    let archives = || {
        let all = corpus.files.entries();
        all.filter(|(_, facts)| matches!(facts.content, Content::Archive(_)))
    };
    let all = plan.facts;
    let size: u64 = archives().filter(|(_, f)| f.audited).map(|(_, f)| f.stat.len).sum();
    // If an archive below a `--lib-path` defines an undefined symbol, the report names the members
    // that refer to the symbol.
    let traced = diagnosis.undefined.iter().any(|undefined| {
        let object = corpus.files[undefined.file].object();
        object.is_some_and(|object| {
            let target = object.header.target();
            let mut found = providers.of(&undefined.symbol, undefined.file, target);
            found.any(|provider| provider.member.is_some() && corpus.files[provider.file].provider)
        })
    });
    // In a package, an object was probably linked from an archive beside it. In a whole system,
    // such archives are often unrelated.
    let objects = corpus.files.iter().filter(|f| f.audited && f.object().is_some()).count();
    let broken: FastSet<&Path> = diagnosis
        .undefined
        .iter()
        .filter_map(|undefined| corpus.files[undefined.file].path.parent())
        .collect();
    let beside = |facts: &FileFacts| {
        objects <= MOST_OBJECTS && facts.path.parent().is_some_and(|dir| broken.contains(dir))
    };
    let is_wanted = |facts: &FileFacts| {
        let thin = matches!(&facts.content, Content::Archive(archive) if archive.thin);
        let policy =
            || plan.policy.archives.iter().any(|entry| is_about(entry, &facts.path, prefixes));
        let audited =
            || thin || size <= MOST_UNASKED || traced || given(plan, facts) || beside(facts);
        all || facts.provider && traced || facts.audited && audited() || policy()
    };
    archives().filter(|(_, facts)| is_wanted(facts)).map(|(file, _)| file).collect()
}

/// True for a compiler's start file (such as `crt1.o`) below a `--lib-path`, if the run checks all
/// archives below a directory (`--self`).
fn is_start_file(plan: &Plan, facts: &FileFacts) -> bool {
    !plan.self_dirs.is_empty() && facts.provider && unlinkable::is_start_file(&facts.path)
}

/// True if the command line names the file.
fn given(plan: &Plan, facts: &FileFacts) -> bool {
    plan.paths.iter().any(|path| **path == *facts.typed)
}

/// True if a policy's entry matches the path of an archive: its full path, or the part below the
/// prefix.
pub(crate) fn is_about(entry: &ArchivePolicy, path: &Path, prefixes: &Prefixes) -> bool {
    let below = || entry.matches.matches(prefixes.locate(path).path.as_os_str().as_bytes());
    entry.matches.matches(path.as_os_str().as_bytes()) || below()
}
