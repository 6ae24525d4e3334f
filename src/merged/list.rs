//! Finds merged archives, which hold members of other archives, and the archives that these
//! members were copied from. Member names are unreliable, so a member is identified by the names
//! that it defines, in their order.

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
    /// The archives that are merged from archives on this list. Only archives whose members were
    /// read are searched.
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

    /// The list, reduced to the relevant sets. A set is relevant if it names an archive of
    /// `library`, or if the policy states its directory (`from`). If no set is relevant, all
    /// readable sets stay. Readable empty sets always stay.
    ///
    /// # Errors
    ///
    /// The list or a relevant set cannot be read, or no set stays. For a set, the error has the
    /// line of the defect.
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
            let path = show_path(&self.path);
            return Err(format!("{path}: not a list of archive names{}", self.why(library)));
        }
        Ok(list)
    }

    /// The end of a message about a list without archives: the command that is not read, if it is
    /// known.
    pub fn why(&self, library: &ArchiveSet) -> String {
        let names: BTreeSet<&[u8]> =
            order::set(library.entries().filter_map(|(archive, _)| listed_name(library, archive)));
        let unread = self.list.as_ref().ok().and_then(|list| list.unread(&|n| names.contains(n)));
        unread.map(|why| format!(": {why}")).unwrap_or_default()
    }
}

/// A copy of the list, with its entries matched to the archives of `library`.
fn identified(list: &DepsList, library: &ArchiveSet) -> DepsList {
    let archives: BTreeSet<&[u8]> =
        order::set(library.entries().filter_map(|(archive, _)| listed_name(library, archive)));
    let mut list = list.clone();
    list.identify(&archives);
    list
}

/// The name by which lists may refer to an archive: `NAME` for `libNAME.a`. `None` for other file
/// names.
pub fn listed_name(library: &ArchiveSet, archive: ArchiveId) -> Option<&[u8]> {
    bare_name(library.entry(archive).path.file_name()?.as_bytes())
}

/// Archives that hold members of others. With a list: archives that are not on the list, and
/// that hold a member of an archive on the list. Without a list: archives that hold members of
/// at least two others.
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

/// True if the archive holds members of at least `enough` other archives that are eligible in
/// `sources`. Members without a strong definition are ignored.
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

/// A member with only weak definitions is identified only if one of its names has at most this many
/// definitions in all archives.
const MOST_DEFINITIONS: usize = 16;

/// Finds the archive that a member of a merged archive was copied from. Callers look up all members
/// of an archive, so members that define the same names are compared only once. The conditions are
/// stricter than in [`crate::cover::Origins`].
pub struct Sources<'l> {
    library: &'l ArchiveSet,
    /// By archive id: true for an archive from which members may have been copied.
    eligible: Vec<bool>,
    /// The key of each member that was looked up ([`ArchiveSet::definitions_key`]). For these keys,
    /// `owners` is complete.
    known: FastSet<u64>,
    /// The first two eligible archives that have a member with certain definitions. The key is the
    /// hashes of these definitions, in their order.
    owners: FastMap<&'l [u64], [Option<ArchiveId>; 2]>,
}

impl<'l> Sources<'l> {
    /// A search for origins in the archives of `among`.
    pub fn new(library: &'l ArchiveSet, among: impl Iterator<Item = ArchiveId>) -> Self {
        let mut eligible = vec![false; library.entries().count()];
        among.for_each(|archive| eligible[archive.index()] = true);
        Self { library, eligible, known: FastSet::default(), owners: FastMap::default() }
    }

    /// The eligible archive that `member` was copied from: another archive with a member that
    /// defines the same names in the same order. If several match, the one with the smallest id.
    /// `None` if no archive matches, or if the member has no strong definition and defines no rare
    /// name (see `MOST_DEFINITIONS`).
    pub fn of(&mut self, member: MemberId) -> Option<ArchiveId> {
        let library = self.library;
        let hashes = library.hashes(member);
        if self.known.insert(library.definitions_key(member)?) {
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

/// Adds an archive; only the two with the smallest ids are kept.
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
