//! Libraries and interpreters that were found in the wrong place. They are outside of the store of
//! the file that needs them. Or they are on the system, although that file's prefix has a library
//! of the same name. `outside-closure` reports them.

use super::Query;
use super::rejected_candidates::Need;
use crate::catalogue::RuleId;
use crate::diagnosis::Site;
use crate::finding::{CauseHint, Evidence, EvidenceKind, Finding, Findings, When};
use crate::id::{FastMap, FastSet, FileId, Id as _, RootId, StrId};
use crate::package::{store_item, store_of};
use crate::resolve::{Edge, FoundBy};
use crate::text::{last_part, show, show_path};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Arc;

/// The store, prefix or system to which a file belongs.
#[derive(Clone, Copy)]
enum Home<'a> {
    /// A store such as `/nix/store`. All its items are treated as one package.
    Store(&'static str),
    /// A store item that is not in the `--nix-closure`.
    Stray,
    Prefix(&'a Path),
    System,
}

/// Compares prefixes by address, because this is fast and the check compares two homes for every
/// need. A run holds each prefix once, so equal prefixes have equal addresses.
impl PartialEq for Home<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Store(a), Self::Store(b)) => a == b,
            (Self::Prefix(a), Self::Prefix(b)) => std::ptr::eq(*a, *b),
            (Self::Stray, Self::Stray) | (Self::System, Self::System) => true,
            _ => false,
        }
    }
}

impl<'a> Home<'a> {
    fn of(query: &Query<'a>, file: FileId) -> Self {
        let (path, closure) = (query.path(file), &query.plan().closure);
        let is_stray = || {
            let item = store_item(path).filter(|_| !closure.is_empty());
            item.is_some_and(|item| !closure.contains(&item))
        };
        match store_of(path) {
            Some(_) if is_stray() => Self::Stray,
            Some(store) => Self::Store(store),
            None => query.prefixes().given(path).map_or(Self::System, Self::Prefix),
        }
    }

    /// True if a file at `path` belongs to this store or prefix; always false for `System` and
    /// `Stray`.
    fn holds(self, path: &Path) -> bool {
        match self {
            Home::Store(store) => store_of(path) == Some(store),
            Home::Prefix(prefix) => path.starts_with(prefix) && store_of(path).is_none(),
            Home::System | Home::Stray => false,
        }
    }
}

/// The file with the need, the needed name, and the library that was found.
type OutsideNeed = (FileId, StrId, FileId);

/// One need whose library was found outside of the store or prefix of the needing file.
struct OutsideLibrary {
    edge: Edge,
    /// The entry points under which the need leads to that library.
    roots: Vec<RootId>,
}

/// Findings of `rule` about libraries outside of the store or prefix of the file that needs them.
/// Store programs with an interpreter outside of every store get findings too.
pub(super) fn check(query: &Query<'_>, rule: RuleId) -> Findings {
    let homes: Vec<Home<'_>> = query.files().map(|(file, _)| Home::of(query, file)).collect();
    let home = |file: FileId| homes[file.index()];
    let mut all: Vec<(OutsideNeed, OutsideLibrary)> = Vec::new();
    let mut at: FastMap<OutsideNeed, usize> = FastMap::default();
    let mut holders = Holders { query, homes: &homes, known: FastMap::default() };
    for (root, closure) in query.entry_points() {
        for edge in closure.edges() {
            let (Some(from), Some(to)) =
                (closure.module(edge.from).file, closure.module(edge.to).file)
            else {
                continue;
            };
            let is_outside = match home(from) {
                Home::System | Home::Stray => false,
                Home::Store(_) => home(to) != home(from) && is_searched(edge.how),
                Home::Prefix(_) => {
                    home(to) != home(from)
                        && is_of_system(edge.how)
                        && holders.of(edge.name).contains(&home(from))
                }
            };
            if !is_outside {
                continue;
            }
            let key = (from, edge.name, to);
            let place = *at.entry(key).or_insert_with(|| {
                all.push((key, OutsideLibrary { edge: *edge, roots: Vec::new() }));
                all.len() - 1
            });
            if all[place].1.roots.last() != Some(&root) {
                all[place].1.roots.push(root);
            }
        }
    }
    let finding = |(key, found): &(OutsideNeed, OutsideLibrary)| {
        libraries(query, rule, (home(key.0), *key), found)
    };
    let mut out: Findings = all.iter().filter_map(finding).collect();
    out.extend(interpreters(query, rule, &homes));
    out
}

/// For each needed name, the stores and prefixes that hold a library of that name. Names are looked
/// up on demand, because most needs lead to no finding.
struct Holders<'q, 'a> {
    query: &'q Query<'a>,
    homes: &'q [Home<'a>],
    known: FastMap<StrId, Vec<Home<'a>>>,
}

impl<'a> Holders<'_, 'a> {
    fn of(&mut self, name: StrId) -> &[Home<'a>] {
        let Self { query, homes, known } = self;
        known.entry(name).or_insert_with(|| {
            let files = query.libraries_named(last_part(query.text(name)));
            files.iter().map(|file| homes[file.index()]).collect()
        })
    }
}

/// True if the loader found the file by a path, a search path, the cache or a default directory.
fn is_searched(how: FoundBy) -> bool {
    matches!(how, FoundBy::Rpath(_) | FoundBy::Runpath | FoundBy::LdLibraryPath)
        || is_of_system(how)
}

/// True if the loader found the file by a path, in the cache or in a default directory.
fn is_of_system(how: FoundBy) -> bool {
    matches!(how, FoundBy::Path | FoundBy::Cache | FoundBy::Default)
}

/// How the loader found a library, in words.
fn by(how: FoundBy) -> &'static str {
    match how {
        FoundBy::Path => "by its absolute path",
        FoundBy::Rpath(_) => "by DT_RPATH",
        FoundBy::Runpath => "by DT_RUNPATH",
        FoundBy::LdLibraryPath => "by LD_LIBRARY_PATH",
        FoundBy::Cache => "from the cache",
        _ => "from the default directories",
    }
}

fn libraries(
    query: &Query<'_>,
    rule: RuleId,
    (home, (file, name, to)): (Home<'_>, OutsideNeed),
    found: &OutsideLibrary,
) -> Option<Box<Finding>> {
    let (name, path, how) = (query.text(name), query.path(to), found.edge.how);
    if is_allowed(query, path) {
        return None;
    }
    let object = query.view().object(file)?;
    let mut candidates = query.library_candidates(name, object.header.target());
    candidates.retain(|candidate| {
        candidate.path.as_deref().is_some_and(|other| other != path && home.holds(other))
    });
    let shown = show(last_part(name));
    let outside = match home {
        Home::Store(_) if store_of(path).is_some() => "outside of the closure".to_owned(),
        Home::Store(store) => format!("outside of {store}"),
        Home::Prefix(_) if candidates.is_empty() => return None,
        _ => "on the system although the prefix holds it".to_owned(),
    };
    let path_shown = show_path(path);
    let message = format!("{shown}: found {outside}: {path_shown}, {}", by(how));
    let mut finding = query.about(rule, file, message);
    finding.library = Some(name.to_vec());
    finding.detail = Some(detail(path));
    let title = format!("{shown}: found {outside}");
    finding.cause = Some(CauseHint::FoundOutside { name: name.to_vec(), title });
    finding.root = query.first_root(&found.roots);
    finding.when = Some(When::Load);
    let site = found.roots.first().map(|root| Site { root: *root, module: found.edge.from });
    finding.evidence.extend(query.roots(&found.roots, site));
    finding.evidence.push(taken(query.shared_path(to), how));
    let need = Need { file, name, roots: &found.roots, module: found.edge.from };
    finding.evidence.extend(query.with_reasons(need, candidates, &[]));
    Some(finding)
}

/// The path that the loader took, as evidence.
fn taken(path: Arc<Path>, how: FoundBy) -> Evidence {
    // Human-readable reports do not print the step `cache` of a search, so the reason names the
    // cache.
    let reason = if how == FoundBy::Cache { "taken from the cache" } else { "taken" };
    Evidence {
        how: Some(Cow::Borrowed(how.name())),
        reason: Some(reason.to_owned()),
        ..Evidence::at(EvidenceKind::Tried, path)
    }
}

/// The directory of the file. Fingerprints use the directory, because a version in the file name
/// may change.
fn detail(path: &Path) -> Vec<u8> {
    path.parent().unwrap_or(path).as_os_str().as_bytes().to_vec()
}

/// True for a file that is outside of all stores and in a directory that the policy allows as a
/// search path. An example is the driver directory of NixOS.
fn is_allowed(query: &Query<'_>, path: &Path) -> bool {
    let allowed = query.policy().search_path.allow.iter().flat_map(|(entries, _)| entries);
    let mut dirs = allowed.filter(|entry| entry.starts_with('/'));
    store_of(path).is_none() && dirs.any(|dir| path.starts_with(dir))
}

/// Findings about store programs whose interpreter is outside of all stores.
fn interpreters(query: &Query<'_>, rule: RuleId, homes: &[Home<'_>]) -> Findings {
    let mut seen: FastSet<FileId> = FastSet::default();
    let mut out = Findings::new();
    for (root, closure) in query.entry_points() {
        let file = closure.root.file;
        let (Home::Store(store), Some(loader)) = (homes[file.index()], query.loader(closure).file)
        else {
            continue;
        };
        // Libraries that can be started, such as libc.so.6, are skipped: users of the store do not
        // start them.
        let object = query.view().object(file).filter(|object| object.soname().is_none());
        let Some(interp) = object.and_then(|object| object.interp()) else { continue };
        let is_inside = store_of(Path::new(OsStr::from_bytes(interp))).is_some();
        if is_inside || homes[loader.index()] == homes[file.index()] || !seen.insert(file) {
            continue;
        }
        let shown = show(interp);
        let message = format!("has the interpreter {shown}, outside of {store}");
        let mut finding = query.about(rule, file, message);
        finding.library = Some(interp.to_vec());
        finding.detail = Some(b"PT_INTERP".to_vec());
        let title = format!("{shown}: interpreter outside of {store}");
        finding.cause = Some(CauseHint::FoundOutside { name: interp.to_vec(), title });
        finding.root = query.first_root(&[root]);
        finding.when = Some(When::Load);
        let base = last_part(interp);
        let target = object.map(|object| object.header.target());
        let mut candidates =
            target.map(|target| query.library_candidates(base, target)).unwrap_or_default();
        candidates.retain(|candidate| {
            candidate.path.as_deref().is_some_and(|path| store_of(path) == Some(store))
        });
        finding.evidence.extend(candidates);
        out.push(finding);
    }
    out
}
