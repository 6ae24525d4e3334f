//! Finds archives that are merged from others, and their parts. Member names are unreliable. A
//! member is identified by the names that it defines, in their order.

use crate::audit::Audit;
use crate::cover::ArchiveSet;
use crate::format::deps_list::{DepsList, Set, bare_name};
use crate::id::{ArchiveId, FastMap, FastSet, Id as _, MemberId};
use crate::order;
use crate::plan::{MergedFrom, Which};
use crate::text::show_path;
use std::collections::BTreeSet;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

impl MergedFrom {
    /// The archives that are merged from this list, among those whose members were read.
    pub fn archives(&self, audit: &Audit) -> Vec<ArchiveId> {
        let library = &audit.library;
        match &self.which {
            Which::File(path) => {
                let file = audit.corpus.file_at(path);
                file.and_then(|file| library.archive(file)).into_iter().collect()
            }
            Which::Policy(pattern) => {
                let is = |path: &Path| {
                    let below = audit.prefixes.locate(path).path;
                    [path, &below].iter().any(|path| pattern.matches(path.as_os_str().as_bytes()))
                };
                library.entries().filter(|(_, s)| is(&s.path)).map(|(archive, _)| archive).collect()
            }
            Which::Found => {
                let list = self.list.as_ref().ok().map(|list| identified(list, library));
                let names: Option<BTreeSet<&[u8]>> =
                    list.as_ref().map(|list| list.names().collect());
                names.map_or_else(Vec::new, |names| merged(library, Some(&names)))
            }
        }
    }

    /// The list without sets that name no candidate; if no set names one, all stay. An error has
    /// the line of a set that cannot be used.
    pub fn listed(&self, library: &ArchiveSet) -> Result<DepsList, String> {
        let mut list = identified(self.list.as_ref().map_err(Clone::clone)?, library);
        let is_named = |set: &Set| self.from.iter().any(|(name, _)| name.as_bytes() == set.name);
        let matters = |set: &Set| is_named(set) || set.known() > 0;
        let any = list.sets().iter().any(matters);
        for set in list.sets() {
            if let Some(trouble) = set.trouble.as_ref().filter(|_| matters(set)) {
                let (path, line, reason) = (show_path(&self.path), trouble.line, &trouble.reason);
                return Err(format!("{path}:{line}: {reason}"));
            }
        }
        list.retain(|set| {
            set.trouble.is_none() && (matters(set) || !any || set.entries.is_empty())
        });
        if list.sets().is_empty() {
            return Err(format!("{}: not a list of archive names", show_path(&self.path)));
        }
        Ok(list)
    }
}

/// The list with entries matched to the archives of `library`.
fn identified(list: &DepsList, library: &ArchiveSet) -> DepsList {
    let archives: BTreeSet<&[u8]> =
        order::set(library.entries().filter_map(|(archive, _)| listed_name(library, archive)));
    let mut list = list.clone();
    list.identify(&archives);
    list
}

/// The bare name of an archive, which lists may have.
pub fn listed_name(library: &ArchiveSet, archive: ArchiveId) -> Option<&[u8]> {
    bare_name(library.entry(archive).path.file_name()?.as_bytes())
}

/// Archives that hold members of others. With a list: archives outside it that hold members of
/// listed ones. Without a list: archives that hold members of several others.
pub fn merged(library: &ArchiveSet, list: Option<&BTreeSet<&[u8]>>) -> Vec<ArchiveId> {
    let on_list = |archive: ArchiveId| {
        let name = listed_name(library, archive);
        list.is_some_and(|list| name.is_some_and(|name| list.contains(name)))
    };
    let archives = || library.entries().map(|(archive, _)| archive);
    let mut sources =
        Sources::new(library, archives().filter(|archive| list.is_none() || on_list(*archive)));
    let enough = if list.is_some() { 1 } else { 2 };
    let others = archives().filter(|archive| list.is_none() || !on_list(*archive));
    others.filter(|archive| holds(&mut sources, *archive, enough)).collect()
}

/// True if the archive holds members of at least `enough` eligible archives.
fn holds(sources: &mut Sources<'_>, archive: ArchiveId, enough: usize) -> bool {
    let library = sources.library;
    let mut found: FastSet<ArchiveId> = FastSet::default();
    for member in library.members_of(archive) {
        // Weak definitions alone do not identify a member.
        if !library.is_strong(member) {
            continue;
        }
        found.extend(sources.of(member));
        if found.len() >= enough {
            return true;
        }
    }
    false
}

/// Upper bound for the definitions of a weak name that identifies a member.
const MOST_DEFINITIONS: usize = 16;

/// Finds the eligible archives from which members of merged archives come. It is stricter than
/// [`crate::cover::Origins`], and made for whole archives. Members that define the same names are
/// compared once, not for each of them.
pub struct Sources<'l> {
    library: &'l ArchiveSet,
    /// For each archive, true if it is eligible.
    eligible: Vec<bool>,
    /// The smallest hashes of the members that are in `owners`.
    known: FastSet<u64>,
    /// By the hashes of a member's definitions, in their order: the first two eligible archives
    /// that have a member with these definitions.
    owners: FastMap<&'l [u64], [Option<ArchiveId>; 2]>,
}

impl<'l> Sources<'l> {
    /// Sources among the archives `among`, which are then eligible.
    pub fn new(library: &'l ArchiveSet, among: impl Iterator<Item = ArchiveId>) -> Self {
        let mut eligible = vec![false; library.entries().count()];
        among.for_each(|archive| eligible[archive.index()] = true);
        Self { library, eligible, known: FastSet::default(), owners: FastMap::default() }
    }

    /// The eligible archive that `member` came from: one of its members defines the same names in
    /// the same order. If several match, the first.
    pub fn of(&mut self, member: MemberId) -> Option<ArchiveId> {
        let library = self.library;
        let hashes = library.hashes(member);
        if self.known.insert(*hashes.iter().min()?) {
            for other in library.alike(member) {
                let owner = library.archive_of(other);
                if self.eligible[owner.index()] {
                    note(self.owners.entry(library.hashes(other)).or_default(), owner);
                }
            }
        }
        let home = library.archive_of(member);
        let owners = self.owners.get(hashes)?;
        let found = owners.iter().flatten().copied().find(|owner| *owner != home)?;
        let telling = library.is_strong(member) || library.fewest(member) <= MOST_DEFINITIONS;
        telling.then_some(found)
    }
}

/// Adds an archive to the two with the smallest ids.
fn note(least: &mut [Option<ArchiveId>; 2], archive: ArchiveId) {
    *least = match *least {
        [None, _] => [Some(archive), None],
        [Some(first), _] if archive < first => [Some(archive), Some(first)],
        [Some(first), second] if archive > first => {
            [Some(first), Some(second.map_or(archive, |second| second.min(archive)))]
        }
        same => same,
    };
}
