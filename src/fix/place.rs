//! Which merged archive a run repairs, and where on its list an archive would go. `propose` asks.

use crate::audit::Audit;
use crate::format::deps_list::{DepsList, can_list};
use crate::id::ArchiveId;
use crate::merged::list::{listed_name, merged};
use crate::merged::solve::Solved;
use crate::plan::FixRequest;
use crate::plan::MergedFrom;
use crate::plan::Plan;
use crate::text::show_path;
use std::collections::BTreeSet;
use std::path::Path;

/// Where a fix would go on a list.
pub(super) struct Place {
    /// The set, by its index.
    pub(super) set: Option<usize>,
    /// The bare name, if a list can carry it.
    pub(super) name: Option<Vec<u8>>,
    /// Why that is not certain.
    pub(super) doubt: Option<String>,
}

/// A list in use: the entry that names it, and what it lists.
pub(super) struct Listed<'a> {
    pub(super) entry: &'a MergedFrom,
    pub(super) list: DepsList,
}

/// The merged archive and its list: what was named, or the only ones that can be meant.
pub(super) fn find_merged<'a>(
    audit: &Audit,
    plan: &'a Plan,
    request: &FixRequest,
    solved: &Solved,
) -> Result<(Option<ArchiveId>, Option<Listed<'a>>), String> {
    let library = &audit.library;
    let named = match &request.archive {
        None => None,
        Some(path) => {
            let found = audit.corpus.file_at(path).and_then(|file| library.archive(file));
            Some(found.ok_or_else(|| format!("{} is no static archive", show_path(path)))?)
        }
    };
    let mut found: Vec<(ArchiveId, Option<&MergedFrom>)> = Vec::new();
    for (entry, archives) in solved.merged(audit, plan) {
        let fits =
            archives.iter().copied().filter(|archive| named.is_none_or(|named| named == *archive));
        found.extend(fits.map(|archive| (archive, Some(entry))));
    }
    if found.is_empty() {
        found = match named {
            Some(named) => vec![(named, None)],
            None if plan.lists.is_empty() => {
                merged(library, None).into_iter().map(|archive| (archive, None)).collect()
            }
            None => Vec::new(),
        };
    }
    match found.as_slice() {
        [(archive, entry)] => {
            let listed =
                |entry: &'a MergedFrom| entry.listed(library).map(|list| Listed { entry, list });
            Ok((Some(*archive), entry.map(listed).transpose()?))
        }
        _ if !request.must_find => Ok((None, None)),
        [] => Err(none_at_hand(plan)),
        several => {
            let paths = several.iter().map(|(archive, _)| show_path(&library.shelf(*archive).path));
            let paths: Vec<String> = paths.collect();
            Err(format!(
                "several archives may be the merged one; name one with --archive: {}",
                paths.join(", ")
            ))
        }
    }
}

pub(super) fn none_at_hand(plan: &Plan) -> String {
    let what = match plan.lists.first() {
        Some(entry) => format!("holds members of archives that {} lists", show_path(&entry.path)),
        None => "is merged from others".to_owned(),
    };
    format!("no archive at hand {what}; name it with --archive FILE")
}

/// Which set an archive joins, and under which name.
pub(super) fn place(audit: &Audit, listed: Option<&Listed<'_>>, archive: ArchiveId) -> Place {
    let name = listed_name(&audit.library, archive).filter(|name| can_list(name));
    let mut out = Place { set: None, name: name.map(<[u8]>::to_vec), doubt: None };
    let Some(Listed { entry, list }) = listed else { return out };
    if out.name.is_none() {
        out.doubt = Some("the archive's name cannot be written in a list".to_owned());
        return out;
    }
    let dir = audit.library.shelf(archive).path.parent().unwrap_or(Path::new("/"));
    let said = entry.from.iter().find(|(_, from)| dir == from);
    let sets = list.sets();
    out.set = match said {
        Some((set, _)) => sets.iter().position(|found| found.name == set.as_bytes()),
        None => fullest(audit, list, dir),
    };
    if out.set.is_none() {
        let largest = (0..sets.len()).max_by_key(|at| (sets[*at].entries.len(), usize::MAX - at));
        out.set = largest;
        if sets.len() > 1 {
            out.doubt = Some(format!(
                "no set of the list holds names of {}; the largest is taken",
                show_path(dir)
            ));
        }
    }
    out
}

/// The set most of whose names lie in `dir`: the largest share of what is at hand, then the most.
fn fullest(audit: &Audit, list: &DepsList, dir: &Path) -> Option<usize> {
    let library = &audit.library;
    let mut here: BTreeSet<&[u8]> = BTreeSet::new();
    let mut anywhere: BTreeSet<&[u8]> = BTreeSet::new();
    for (archive, shelf) in library.shelves() {
        let Some(name) = listed_name(library, archive) else { continue };
        anywhere.insert(name);
        if shelf.path.parent() == Some(dir) {
            here.insert(name);
        }
    }
    let count = |at: usize, among: &BTreeSet<&[u8]>| {
        list.sets()[at].entries.iter().filter(|entry| among.contains(&*entry.name)).count()
    };
    let counts = (0..list.sets().len()).map(|at| (at, count(at, &here), count(at, &anywhere)));
    counts
        .filter(|(_, here, all)| 2 * here > *all)
        .max_by(|(a, here_a, all_a), (b, here_b, all_b)| {
            (here_a * all_b).cmp(&(here_b * all_a)).then(here_a.cmp(here_b)).then(b.cmp(a))
        })
        .map(|(at, ..)| at)
}
