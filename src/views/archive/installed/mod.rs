//! `archive --self`: the archives of a prefix that cannot be linked with the files of the prefix.
//! [`ArchiveAnswer::coverage`] has all names that stay undefined; [`InstalledArchives::broken`] has
//! these names by archive.

pub(super) mod human;
pub(super) mod table;

use super::ArchiveAnswer;
use super::hints::{self, Hints};
use crate::audit::{Audit, Unlinkable};
use crate::cover::{self, Coverage, LinkOutput, UndefinedName};
use crate::id::{ArchiveId, FastMap, FastSet, MemberId};
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::tree::Tree;
use std::collections::BTreeMap;
use std::path::PathBuf;

/// The part of the answer of `archive` that only `--self` has.
pub struct InstalledArchives {
    /// The directories of `--self`.
    pub dirs: Vec<PathBuf>,
    /// Number of shared libraries that were searched for definitions.
    pub libraries: usize,
    /// True if a C library is among the files that were searched for definitions.
    pub has_libc: bool,
    /// The archives with undefined or unknown names, sorted by path. An archive whose members are
    /// all in another archive is in the `parts` of that archive.
    pub broken: Vec<BrokenArchive>,
}

/// An archive with undefined or unknown names. With undefined names, the archive cannot be linked.
pub struct BrokenArchive {
    /// The archive with its undefined and unknown names.
    pub found: Unlinkable,
    /// Other archives with undefined or unknown names, if all of their members are in this archive
    /// too.
    pub parts: Vec<ArchiveId>,
}

impl BrokenArchive {
    /// Members that refer to names of `list`.
    fn members(list: &[UndefinedName]) -> FastSet<MemberId> {
        let by = list.iter().flat_map(|undefined| &undefined.by);
        by.filter_map(|by| by.member()).collect()
    }
}

impl ArchiveAnswer {
    /// Finds the archives below `dirs` that have undefined or unknown names.
    pub fn installed(
        audit: &Audit,
        plan: &Plan,
        tree: &dyn Tree,
        dirs: &[PathBuf],
        output: LinkOutput,
    ) -> Self {
        let real = dirs.iter().filter_map(|dir| tree.real_path(dir).ok());
        let below: Vec<PathBuf> = dirs.iter().cloned().chain(real).collect();
        let checked = audit.archives_below(&below);
        let library = &audit.library;
        let broken = broken(audit, audit.unlinkable(tree, &checked, output));
        let members = || checked.iter().flat_map(|archive| library.members_of(*archive));
        let opaque = members().filter(|member| library.member(*member).is_unknown()).collect();
        let all = library.entries().flat_map(|(archive, _)| library.members_of(archive));
        let unread = all.filter(|member| audit.is_unread(*member)).collect();
        let undefined = merged_names(broken.iter().map(|one| &one.found.undefined));
        let unknown = merged_names(broken.iter().map(|one| &one.found.unknown));
        let is_libc =
            |soname: &[u8]| soname.starts_with(b"libc.so") || soname.starts_with(b"libc.musl");
        let mut shared = audit.shared_providers().map(|(_, object)| object);
        let mut archives = library.entries();
        let installed = InstalledArchives {
            dirs: dirs.to_vec(),
            libraries: audit.shared_providers().count(),
            has_libc: shared.any(|object| object.soname().is_some_and(is_libc))
                || archives.any(|(_, entry)| entry.path.ends_with("libc.a")),
            broken,
        };
        let archives =
            checked.iter().map(|archive| (*archive, library.entry(*archive).path.to_path_buf()));
        let places = hints::HintFiles {
            archives: library.entries().map(|(archive, _)| archive).collect(),
            objects: audit.shared_providers().collect(),
        };
        let mut out = Self {
            archives: archives.collect(),
            linked: checked.iter().copied().collect(),
            coverage: Coverage { undefined, opaque, ..Coverage::default() },
            unknown,
            unread,
            installed: Some(installed),
            ..Self::default()
        };
        out.hints = Hints::new((audit, plan, tree), &out, &places, hints::ShownHints::ALL);
        out
    }
}

/// An entry for each archive of `found`. An archive whose members are all in another archive has no
/// entry: it is in the `parts` of the other archive.
fn broken(audit: &Audit, found: Vec<Unlinkable>) -> Vec<BrokenArchive> {
    let library = &audit.library;
    let archives: Vec<ArchiveId> = found.iter().map(|one| one.archive).collect();
    let whole = cover::contained(library, &archives);
    let mut parts: FastMap<ArchiveId, Vec<ArchiveId>> = FastMap::default();
    for (archive, whole) in archives.iter().zip(&whole) {
        if let Some(whole) = whole {
            parts.entry(*whole).or_default().push(*archive);
        }
    }
    let kept = found.into_iter().zip(whole).filter(|(_, whole)| whole.is_none());
    kept.map(|(found, _)| BrokenArchive {
        parts: parts.remove(&found.archive).unwrap_or_default(),
        found,
    })
    .collect()
}

/// The undefined names of all lists, each once with all of its referrers.
fn merged_names<'a>(lists: impl Iterator<Item = &'a Vec<UndefinedName>>) -> Vec<UndefinedName> {
    let mut by_name: BTreeMap<&[u8], Vec<cover::ReferredBy>> = BTreeMap::new();
    for undefined in lists.flatten() {
        by_name.entry(&undefined.symbol).or_default().extend(&undefined.by);
    }
    let mut out = Vec::with_capacity(by_name.len());
    for (symbol, mut by) in by_name {
        by.arrange();
        out.push(UndefinedName { symbol: symbol.into(), by, unread: 0 });
    }
    out
}
