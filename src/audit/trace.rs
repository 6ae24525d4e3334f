//! Traces undefined symbols to archives: finds the members that refer to a symbol, and the archives
//! from which these members were merged. The trace is empty if no members were read. The rule
//! `undefined-symbol` reports the result.

use super::Audit;
use super::archives::is_about;
use crate::cover::{ArchiveReferences, ArchiveSet, Referrers};
use crate::format::archive::SymbolKind;
use crate::format::elf::tables::Symbol;
use crate::format::elf::{Object, RefKind, SymbolIndex, Tables};
use crate::id::{ArchiveId, FastMap, FastSet, FileId, MemberId};
use crate::order::Arrange as _;
use crate::parallel;
use crate::plan::Plan;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of members that are listed for one symbol; a longer list would not help the
/// reader.
const MOST: usize = 3;
/// Number of symbols whose names a thread hashes at a time.
const SHARE: usize = 2048;

/// The references to one undefined symbol of an object, in the archive from which the object was
/// probably linked.
#[derive(Debug)]
pub struct Traced {
    /// The archive that has `members`.
    pub archive: ArchiveId,
    /// The first members that refer to the symbol. Each has the archive from which it was merged;
    /// `None` if that archive is not known.
    pub members: Vec<(MemberId, Option<ArchiveId>)>,
    /// Number of further members of the archive that refer to the symbol and are not in `members`.
    pub more: usize,
}

/// Traced symbols by object and name.
pub type Traces = FastMap<(FileId, Vec<u8>), Traced>;

/// Decides which members an object is known to contain: those of which the object exports a
/// strong definition. Other members may be in the object without an export, or not linked at
/// all. Two kinds of exports prove nothing: a program's copies of data that a library defines,
/// and `main`, which many archives define.
struct LinkedMembers<'a> {
    library: &'a ArchiveSet,
    /// Hashes of the names for which the object exports a strong definition.
    exported: FastSet<u64>,
    /// The results for members that were looked up.
    known: FastMap<MemberId, bool>,
}

impl<'a> LinkedMembers<'a> {
    fn new(audit: &'a Audit, file: FileId) -> Self {
        let library = &audit.library;
        let object = audit.corpus.files[file].object();
        let copied = object.map(|object| copies(audit, file, object)).unwrap_or_default();
        let tables = object.and_then(|object| object.tables.as_ref());
        let is_proof =
            |symbol: &Symbol<'_>| symbol.name != b"main" && !copied.contains(symbol.name);
        let exported =
            tables.map(|tables| strong_exports(tables, is_proof, |name| library.hash(name)));
        let exported = exported.unwrap_or_default();
        Self { library, exported, known: FastMap::default() }
    }

    fn has(&mut self, member: MemberId) -> bool {
        let Self { library, exported, known } = self;
        *known.entry(member).or_insert_with(|| {
            // A definition with STB_GNU_UNIQUE proves nothing: like a weak one, it has copies in
            // many objects.
            let mut strong = library.hashes_of(member, |kind| kind == SymbolKind::Strong);
            strong.any(|hash| exported.contains(&hash))
        })
    }
}

/// The hashes of the names of those strong exports that `is_wanted` accepts.
fn strong_exports(
    tables: &Tables,
    is_wanted: impl Fn(&Symbol<'_>) -> bool + Sync,
    hash: impl Fn(&[u8]) -> u64 + Sync,
) -> FastSet<u64> {
    tables.read_names();
    let indices: Vec<SymbolIndex> = tables.indices().collect();
    let shares: Vec<&[SymbolIndex]> = indices.chunks(SHARE).collect();
    let of_share = |share: &&[SymbolIndex]| {
        let strong = share.iter().filter_map(|index| tables.strong_export(*index));
        strong.filter(&is_wanted).map(|symbol| hash(symbol.name)).collect::<Vec<u64>>()
    };
    let found = parallel::map(&shares, of_share);
    let mut out = FastSet::default();
    out.reserve(found.iter().map(Vec::len).sum());
    out.extend(found.into_iter().flatten());
    out
}

/// The names of data that a program copies from a library with copy relocations.
fn copies<'a>(audit: &Audit, file: FileId, object: &'a Object) -> FastSet<&'a [u8]> {
    let data = object.references.iter().filter(|one| matches!(one.kind, RefKind::Copy { .. }));
    let mut names: FastSet<&[u8]> = data.map(|one| object.reference_name(one)).collect();
    if !names.is_empty() {
        let libraries = audit.libraries_of(&[file]);
        names.retain(|name| libraries.define(name));
    }
    names
}

/// Traces all undefined symbols. A symbol is omitted if none of the archives from which the object
/// was probably linked refers to it. If a policy names an archive, any of its members may be
/// listed. The same holds for a merged archive that was given by its own path, or that has a member
/// known to be in the object. In other archives, only members known to be in the object may be
/// listed: many archives of a directory have no part in a link.
pub fn trace(audit: &Audit, plan: &Plan) -> Traces {
    let mut out = Traces::default();
    let library = &audit.library;
    if library.members() == 0 || audit.diagnosis.undefined.is_empty() {
        return out;
    }
    let mut files: BTreeMap<FileId, Vec<&[u8]>> = BTreeMap::new();
    for undefined in &audit.diagnosis.undefined {
        files.entry(undefined.file).or_default().push(&undefined.symbol);
    }
    let archives = library.entries().map(|(archive, _)| archive);
    let referrers = Referrers::new(library, archives, files.values().flatten().copied());
    for (file, names) in files {
        let archives = referrers.archives(names.iter().copied());
        if archives.is_empty() {
            continue;
        }
        let path = &audit.corpus.files[file].path;
        let mut linked = LinkedMembers::new(audit, file);
        let rank = |(archive, referring): (&ArchiveId, &ArchiveReferences)| {
            let entry = library.entry(*archive);
            let mut policy = plan.policy.archives.iter();
            let named = policy.any(|of| is_about(of, &entry.path, &audit.prefixes));
            let is_linked = referring.members().any(|member| linked.has(member));
            let beside = entry.path.parent() == path.parent();
            let audited = audit.corpus.files[entry.file].audited;
            let merged = referrers.is_merged(referring);
            let rank = (named, is_linked, beside, audited, merged, referring.names);
            let is_given =
                || plan.lib_paths.iter().chain(&plan.paths).any(|at| **at == *entry.path);
            let mut is_in_object =
                || is_linked || library.members_of(*archive).any(|member| linked.has(member));
            let is_whole = named || merged && (is_given() || is_in_object());
            (Reverse(rank), *archive, is_whole)
        };
        let mut ranked: Vec<_> = archives.iter().map(rank).collect();
        ranked.arrange();
        let places = ranked.iter().enumerate();
        let places: FastMap<ArchiveId, (usize, bool)> =
            places.map(|(at, (_, archive, is_whole))| (*archive, (at, *is_whole))).collect();
        for name in names {
            let found = referring(referrers.by_archive(name), &places, &mut linked);
            let Some((archive, referring)) = found else { continue };
            let first = referring.iter().take(MOST);
            let members: Vec<_> =
                first.map(|member| (*member, referrers.origin(*member))).collect();
            let more = referring.len() - members.len();
            out.insert((file, name.to_vec()), Traced { archive, members, more });
        }
    }
    out
}

/// The best archive with members that may be listed, and these members. `places` has the rank of
/// each archive (0 is the best) and a flag. If the flag is true, all members of the archive may
/// be listed; otherwise, only members known to be in the object. `None` if no archive has a
/// member that may be listed.
fn referring<'r>(
    groups: impl Iterator<Item = (ArchiveId, &'r [MemberId])>,
    places: &FastMap<ArchiveId, (usize, bool)>,
    linked: &mut LinkedMembers<'_>,
) -> Option<(ArchiveId, Vec<MemberId>)> {
    let groups = groups.filter_map(|(archive, members)| {
        let (at, is_whole) = *places.get(&archive)?;
        Some((at, archive, is_whole, members))
    });
    let mut groups: Vec<_> = groups.collect();
    groups.arrange_by_key(|(at, ..)| *at);
    groups.into_iter().find_map(|(_, archive, is_whole, all)| {
        let counts = all.iter().filter(|member| is_whole || linked.has(**member));
        let members: Vec<MemberId> = counts.copied().collect();
        (!members.is_empty()).then_some((archive, members))
    })
}
