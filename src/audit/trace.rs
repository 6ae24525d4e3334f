//! Traces undefined symbols to archives: the members that refer to them, and the origin of those
//! members. It runs only if members were read. The rule `undefined-symbol` reports the result.

use super::Audit;
use super::archives::is_about;
use crate::cover::{ArchiveReferences, Referrers};
use crate::id::{ArchiveId, FastMap, FileId, MemberId};
use crate::order::Arrange as _;
use crate::plan::Plan;
use std::cmp::Reverse;
use std::collections::BTreeMap;

/// Maximum number of members reported for one symbol; a longer list would not help the reader.
const MOST: usize = 3;

/// One undefined symbol of one object, in the archive from which the object was probably linked.
#[derive(Debug)]
pub struct Traced {
    /// The archive.
    pub archive: ArchiveId,
    /// The first members that refer to the symbol, each with the archive from which it was merged,
    /// if known.
    pub members: Vec<(MemberId, Option<ArchiveId>)>,
    /// Number of further members of the archive that refer to the symbol.
    pub more: usize,
}

/// Traced symbols by object and name.
pub type Traces = FastMap<(FileId, Vec<u8>), Traced>;

/// Traces all undefined symbols. A symbol that no archive refers to is omitted.
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
        let path = &audit.corpus.files[file].path;
        let archives = referrers.archives(names.iter().copied());
        let rank = |(archive, referring): (&ArchiveId, &ArchiveReferences)| {
            let entry = library.entry(*archive);
            let mut policy = plan.policy.archives.iter();
            let named = policy.any(|of| is_about(of, &entry.path, &audit.prefixes));
            let beside = entry.path.parent() == path.parent();
            let audited = audit.corpus.files[entry.file].audited;
            let merged = referrers.is_merged(referring);
            (Reverse((named, beside, audited, merged, referring.names)), *archive)
        };
        let mut ranked: Vec<_> = archives.iter().map(rank).collect();
        ranked.arrange();
        for name in names {
            let of = |archive: ArchiveId| {
                let all = referrers.of(name).iter();
                all.copied().filter(move |member| library.archive_of(*member) == archive)
            };
            let archive = ranked.iter().map(|(_, archive)| *archive);
            let Some(archive) = { archive }.find(|archive| of(*archive).next().is_some()) else {
                continue;
            };
            let members: Vec<_> =
                of(archive).take(MOST).map(|member| (member, referrers.origin(member))).collect();
            let more = of(archive).count() - members.len();
            out.insert((file, name.to_vec()), Traced { archive, members, more });
        }
    }
    out
}
