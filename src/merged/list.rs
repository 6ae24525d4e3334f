//! Finds archives that are merged from others, and their parts. Member names are unreliable. A
//! member is identified by the strong symbols it defines, which have at most one definition
//! elsewhere.

use crate::audit::Audit;
use crate::cover::Library;
use crate::format::deps_list::{DepsList, Set, bare_name};
use crate::id::{ArchiveId, FastSet, Id as _, MemberId};
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
                library.shelves().filter(|(_, s)| is(&s.path)).map(|(archive, _)| archive).collect()
            }
            Which::Found => {
                let names: Option<BTreeSet<&[u8]>> =
                    self.list.as_ref().ok().map(|list| list.names().collect());
                names.map_or_else(Vec::new, |names| merged(library, Some(&names)))
            }
        }
    }

    /// The list without sets that name no archives. An error gives the line of a set that cannot be
    /// read.
    pub fn listed(&self, library: &Library) -> Result<DepsList, String> {
        let mut list = self.list.clone()?;
        let at_hand: BTreeSet<&[u8]> =
            library.shelves().filter_map(|(archive, _)| listed_name(library, archive)).collect();
        let matters = |set: &Set| {
            self.from.iter().any(|(name, _)| name.as_bytes() == set.name)
                || set.entries.iter().any(|entry| at_hand.contains(&*entry.name))
        };
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
            return Err(format!("{}: no list of archive names", show_path(&self.path)));
        }
        Ok(list)
    }
}

/// The name of an archive as a list would spell it.
pub fn listed_name(library: &Library, archive: ArchiveId) -> Option<&[u8]> {
    bare_name(library.shelf(archive).path.file_name()?.as_bytes())
}

/// Archives that hold members of others. With a list: archives outside it that hold members of
/// listed ones. Without a list: archives that hold members of several others.
pub fn merged(library: &Library, list: Option<&BTreeSet<&[u8]>>) -> Vec<ArchiveId> {
    let on_list = |archive: ArchiveId| {
        let name = listed_name(library, archive);
        list.is_some_and(|list| name.is_some_and(|name| list.contains(name)))
    };
    let listed: Vec<bool> =
        library.shelves().map(|(archive, _)| list.is_none() || on_list(archive)).collect();
    let enough = if list.is_some() { 1 } else { 2 };
    let others = library.shelves().map(|(archive, _)| archive);
    others
        .filter(|archive| list.is_none() || !listed[archive.index()])
        .filter(|archive| holds(library, *archive, &listed, enough))
        .collect()
}

/// True if the archive holds members of at least that many eligible archives.
fn holds(library: &Library, archive: ArchiveId, counts: &[bool], enough: usize) -> bool {
    let mut found: FastSet<ArchiveId> = FastSet::default();
    for member in library.members_of(archive) {
        // A weak definition identifies no member.
        if !library.is_strong(member) {
            continue;
        }
        found.extend(source(library, member, counts));
        if found.len() >= enough {
            return true;
        }
    }
    false
}

/// A weak name that several members define identifies none.
const MOST_DEFINITIONS: usize = 16;

/// The eligible archive that a member of a merged archive came from: one of its members defines the
/// same names in the same order. If several match, the first. Stricter than
/// [`crate::cover::origin`], and for whole archives.
pub fn source(library: &Library, member: MemberId, counts: &[bool]) -> Option<ArchiveId> {
    let home = library.archive_of(member);
    let others = library.alike(member).filter(|other| {
        let owner = library.archive_of(*other);
        owner != home && counts[owner.index()]
    });
    let same = others.filter(|other| library.hashes(*other) == library.hashes(member));
    let found = same.map(|other| library.archive_of(other)).min()?;
    let telling = library.is_strong(member) || library.fewest(member) <= MOST_DEFINITIONS;
    telling.then_some(found)
}
