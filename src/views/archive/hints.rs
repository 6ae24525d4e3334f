//! Hints at the origin of undefined names: archives that a policy names (`[[provider]]`), installed
//! packages, and definitions that nearly fit. The module also finds the packages of the archives in
//! the answer of `archive`. Hints do not change this answer.

use super::ArchiveAnswer;
use crate::audit::{ArchiveOwners, Audit};
use crate::cover::{ReferredBy, UndefinedName};
use crate::format::deps_list::bare_name;
use crate::format::elf::Object;
use crate::id::{ArchiveId, FileId};
use crate::plan::Plan;
use crate::rules::{NearMisses, NearQuery};
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Information that supplements the answer of `archive`: hints for undefined names, and the
/// packages of archives.
#[derive(Default)]
pub struct Hints {
    /// The packages of needed candidate archives, and the installed archives whose names are in
    /// `SymbolHints::archives`.
    pub owners: ArchiveOwners,
    /// Hints, keyed by undefined name.
    by_symbol: BTreeMap<Box<[u8]>, SymbolHints>,
}

/// Hints for one undefined name.
#[derive(Default)]
pub struct SymbolHints {
    /// Bare names of archives that `[[provider]]` entries name for the symbol, each with the policy
    /// of the entry. Archives of the question are left out.
    pub archives: Vec<(String, String)>,
    /// Definitions that nearly fit the name, and definitions in libraries that are not inputs of
    /// the link.
    pub near: Vec<NearHint>,
}

/// A definition that nearly fits an undefined name, or that is not in an input of the link.
pub struct NearHint {
    /// The shared object or archive that has the definition.
    pub path: Arc<Path>,
    /// The archive member that has the definition; `None` for a shared object.
    pub member: Option<Vec<u8>>,
    /// The name of the definition, not demangled.
    pub symbol: Vec<u8>,
    /// The version of the definition; `None` if it has none.
    pub version: Option<Vec<u8>>,
    /// The difference from the undefined name, in words.
    pub reason: &'static str,
}

/// The parts of the answer that an output shows.
#[derive(Clone, Copy)]
pub struct ShownHints {
    /// Maximum number of undefined names that are shown. The same limit applies to unknown names.
    pub names: usize,
    /// Maximum number of referrers that are shown for one name.
    pub referrers: usize,
    /// True if the packages of archives are shown.
    pub owners: bool,
}

impl ShownHints {
    /// Shows all names, all referrers and the packages.
    pub const ALL: Self = Self { names: usize::MAX, referrers: usize::MAX, owners: true };

    /// The parts that at least one of two outputs shows.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            names: self.names.max(other.names),
            referrers: self.referrers.max(other.referrers),
            owners: self.owners || other.owners,
        }
    }
}

/// The files in which near misses (definitions that nearly fit) are searched for. These files are
/// the inputs of a question, or the files of `--self`.
pub(super) struct HintFiles<'a> {
    /// The archives in which definitions are searched for.
    pub(super) archives: Vec<ArchiveId>,
    /// The shared objects in which definitions are searched for.
    pub(super) objects: Vec<(FileId, &'a Object)>,
}

impl Hints {
    /// Searches for hints about the parts of the answer that outputs show.
    pub(super) fn new(
        (audit, plan, tree): (&Audit, &Plan, &dyn Tree),
        view: &ArchiveAnswer,
        asked: &HintFiles<'_>,
        shown: ShownHints,
    ) -> Self {
        let mut out = Self::default();
        let names = |list: &'_ Vec<UndefinedName>| list.len().min(shown.names);
        let undefined = &view.coverage.undefined[..names(&view.coverage.undefined)];
        let unknown = &view.unknown[..names(&view.unknown)];
        let open = || undefined.iter().chain(unknown);
        out.near((audit, tree), view, open(), asked);
        // If the policy is a whitelist of libraries, the answer must be the same on every machine.
        if plan.policy.is_closed() {
            return out;
        }
        let library = &audit.library;
        let names = asked
            .archives
            .iter()
            .filter_map(|archive| bare_name(library.entry(*archive).path.file_name()?.as_bytes()));
        let given: BTreeSet<&[u8]> = names.collect();
        let mut missing: BTreeSet<Vec<u8>> = BTreeSet::new();
        let below: Vec<PathBuf> =
            view.roots.iter().map(|root| audit.prefixes.locate(&root.path).path).collect();
        for undefined in open() {
            for provider in &plan.policy.providers {
                let Some(name) = provider.archive_of(&undefined.symbol) else { continue };
                let is_about =
                    provider.path.is_none() || below.iter().any(|path| provider.is_about(path));
                let hints = out.by_symbol.entry(undefined.symbol.clone()).or_default();
                let is_known = hints.archives.iter().any(|(known, _)| *known == name);
                if is_about && !is_known && !given.contains(name.as_bytes()) {
                    missing.insert(name.clone().into_bytes());
                    hints.archives.push((name, provider.origin.source.to_string()));
                }
            }
        }
        let needed = view.coverage.archives(library).into_iter().map(|(archive, _)| archive);
        let added = needed.filter(|archive| shown.owners && !view.is_linked(*archive));
        let added = added.map(|archive| library.entry(archive).path.to_path_buf()).collect();
        out.owners = ArchiveOwners::find(tree, &added, &missing);
        out
    }

    /// The hints for the undefined name `symbol`; `None` if there are none.
    pub fn of(&self, symbol: &[u8]) -> Option<&SymbolHints> {
        self.by_symbol.get(symbol)
    }

    fn near<'n>(
        &mut self,
        (audit, tree): (&Audit, &dyn Tree),
        view: &ArchiveAnswer,
        open: impl Iterator<Item = &'n UndefinedName> + Clone,
        asked: &HintFiles<'_>,
    ) {
        if open.clone().next().is_none() {
            return;
        }
        let wanted = NearQuery::new(open.clone().map(|undefined| &*undefined.symbol));
        let members = wanted.in_archives((audit, tree), &asked.archives);
        let members = members.iter().map(|(file, definition)| (*file, definition));
        let near = NearMisses::in_link(&wanted, asked.objects.iter().copied(), members);
        // A link ignores the definitions of libraries that only its shared objects need.
        let inputs = asked.objects.iter().map(|(file, _)| *file).filter(|_| view.linker.is_some());
        let behind = audit.libraries_of(&inputs.collect::<Vec<FileId>>());
        for undefined in open {
            let target = undefined.by.iter().find_map(|by| match by {
                ReferredBy::Member(member) => audit.library.member(*member).target,
                ReferredBy::Root(at) => view.roots.get(*at)?.target,
                ReferredBy::Asked | ReferredBy::EntryPoint | ReferredBy::LibraryCall => None,
            });
            let found = near.of_link(&undefined.symbol, target).into_iter();
            let found = found.map(|miss| NearHint {
                path: Arc::clone(&audit.corpus.files[miss.file].path),
                member: miss.member.map(<[u8]>::to_vec),
                symbol: miss.symbol.to_vec(),
                version: miss.version.map(<[u8]>::to_vec),
                reason: miss.reason,
            });
            let indirect = behind.definer(&undefined.symbol).map(|file| NearHint {
                path: Arc::clone(&audit.corpus.files[file].path),
                member: None,
                symbol: undefined.symbol.to_vec(),
                version: None,
                reason: "not an input of the link",
            });
            let found: Vec<NearHint> = indirect.into_iter().chain(found).collect();
            if !found.is_empty() {
                self.by_symbol.entry(undefined.symbol.clone()).or_default().near = found;
            }
        }
    }
}
