//! Finds files, audited or not, that have the name of a missing library and are in the prefix of
//! the object that needs the library. This module lists directories and opens no file. The rule
//! `missing-library` uses the files to tell a library outside of the search path from an absent
//! one. `diagnosis` looks up symbols in the files.

use crate::diagnosis::MissingNeed;
use crate::facts::{Corpus, FileFacts};
use crate::id::{FastMap, FastSet, FileId};
use crate::order::Arrange as _;
use crate::package::{Prefixes, is_store, store_of};
use crate::parallel;
use crate::text::last_part;
use crate::tree::walk::{GivenPath, ListedNames};
use crate::tree::{DirEntryKind, EntryType, Tree};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Directories of kernel file systems. The search skips them, because they hold many names and
/// no libraries.
const KERNEL: [&str; 3] = ["/dev", "/proc", "/sys"];

/// Maximum number of entries below one prefix: more than a whole `/usr` has. The listing of a
/// larger prefix, such as a whole disk, yields no candidates.
const MOST_ENTRIES: usize = 300_000;

/// The directories that the walks of the run have listed.
#[derive(Clone, Copy)]
pub(super) struct WalkListings<'a> {
    /// The paths that were given to the walks.
    pub(super) given: &'a [GivenPath],
    /// Hashes of the names in the listed directories.
    pub(super) met: &'a ListedNames,
}

impl WalkListings<'_> {
    /// True if the walks listed all readable directories below `prefix`.
    fn covers(&self, tree: &dyn Tree, prefix: &Path) -> bool {
        let Ok(prefix) = tree.real_path(prefix) else { return false };
        let mut dirs = self.given.iter().filter(|given| given.kind == Ok(EntryType::Directory));
        dirs.any(|dir| tree.real_path(&dir.path).is_ok_and(|dir| prefix.starts_with(dir)))
    }
}

/// Maximum number of paths that a listing keeps for one file name.
const MOST_OF_NAME: usize = 8;

/// File names below one prefix, with the paths of the files, sorted.
type Listing = FastMap<OsString, Vec<PathBuf>>;

/// The listing of a prefix, and the names for which it was made.
#[derive(Debug)]
struct PrefixListing {
    files: Listing,
    names: FastSet<OsString>,
}

impl PrefixListing {
    /// True if the listing has all files of this name. A listing keeps names with `.so` and the
    /// requested names.
    fn covers(&self, name: &OsStr) -> bool {
        is_library_name(name) || self.names.contains(name)
    }
}

/// The files that have the name of a missing library, and the listings in which they were found.
#[derive(Debug, Default)]
pub struct Candidates {
    /// The paths of the files with the name of a missing library, by prefix and name.
    found: FastMap<(PathBuf, OsString), Vec<PathBuf>>,
    /// The listings that were made, by prefix.
    listings: FastMap<PathBuf, PrefixListing>,
}

impl Candidates {
    /// Searches the prefix of every object with a missing library. If the walks have listed the
    /// whole prefix, the search lists it again only for names that the walks may have seen. A
    /// prefix is listed a second time only for new names without `.so`, because a listing keeps
    /// all names with `.so`.
    pub(super) fn search(
        &mut self,
        tree: &dyn Tree,
        corpus: &Corpus,
        prefixes: &Prefixes,
        missing: &[MissingNeed],
        walked: WalkListings<'_>,
    ) {
        let mut wanted: FastMap<PathBuf, FastSet<OsString>> = FastMap::default();
        for missing in missing {
            let prefix = prefixes.locate(&corpus.files[missing.file].path).prefix;
            if let (Some(prefix), Some(name)) = (prefix, file_name(&missing.name)) {
                wanted.entry(prefix).or_default().insert(name.to_owned());
            }
        }
        // There may be as many prefixes as files, so the files are filtered once.
        let all: FastSet<&[u8]> = missing.iter().map(|missing| last_part(&missing.name)).collect();
        let files = corpus.files.into_iter();
        let known: Vec<&FileFacts> = files
            .filter(|facts| all.contains(last_part(facts.path.as_os_str().as_bytes())))
            .collect();
        for (prefix, mut names) in wanted {
            self.take_known((tree, corpus, &known), &prefix, &mut names, missing);
            if walked.covers(tree, &prefix) {
                walked.met.narrow(&mut names);
            }
            if !names.is_empty() {
                self.look_below(tree, &prefix, names);
            }
        }
    }

    /// Adds the files among `known` that have one of `names` and are below the prefix, and removes
    /// the names of these files from `names`. `known` has the files of the corpus with the name of
    /// a missing library. A listing would find these files too, at a cost that grows with the
    /// prefix. If one of these files is for another machine, its name stays in `names`: the prefix
    /// may have another file of this name.
    fn take_known(
        &mut self,
        (tree, corpus, known): (&dyn Tree, &Corpus, &[&FileFacts]),
        prefix: &Path,
        names: &mut FastSet<OsString>,
        missing: &[MissingNeed],
    ) {
        for facts in known {
            let path = &*facts.path;
            let (Some(name), Some(dir)) = (path.file_name(), path.parent()) else { continue };
            if names.contains(name) && is_listed(tree, dir, prefix) {
                if serves(corpus, facts, name, missing) {
                    names.remove(name);
                }
                let place = (prefix.to_path_buf(), name.to_owned());
                self.found.insert(place, vec![path.to_path_buf()]);
            }
        }
    }

    fn look_below(&mut self, tree: &dyn Tree, prefix: &Path, names: FastSet<OsString>) {
        let known = self.listings.get(prefix);
        if known.is_none_or(|known| names.iter().any(|name| !known.covers(name))) {
            let listing = PrefixListing { files: list(tree, prefix, &names), names: names.clone() };
            self.listings.insert(prefix.to_path_buf(), listing);
        }
        let Some(listing) = self.listings.get(prefix) else { return };
        for name in names {
            if let Some(paths) = listing.files.get(&name) {
                self.found.insert((prefix.to_path_buf(), name), paths.clone());
            }
        }
    }

    /// The paths of all files that were found, sorted.
    pub(super) fn paths(&self) -> Vec<&Path> {
        let mut out: Vec<&Path> = self.found.values().flatten().map(PathBuf::as_path).collect();
        out.arrange();
        out.dedup();
        out
    }

    /// The files with the name of `library` that the search found below the prefix of `file`.
    pub fn in_prefix(
        &self,
        corpus: &Corpus,
        prefixes: &Prefixes,
        file: FileId,
        library: &[u8],
    ) -> &[PathBuf] {
        let prefix = prefixes.locate(&corpus.files[file].path).prefix;
        let place = prefix.zip(file_name(library).map(OsStr::to_owned));
        place.and_then(|place| self.found.get(&place)).map_or(&[], Vec::as_slice)
    }

    /// True if [`Self::in_prefix`] finds a file.
    pub fn holds(
        &self,
        corpus: &Corpus,
        prefixes: &Prefixes,
        file: FileId,
        library: &[u8],
    ) -> bool {
        !self.in_prefix(corpus, prefixes, file, library).is_empty()
    }
}

/// The files below a directory that have one of `names`, by name, sorted. At most eight files
/// are kept for each name. The result is empty if there are more than 300,000 entries below the
/// directory.
pub fn named_below(
    tree: &dyn Tree,
    directory: &Path,
    names: &FastSet<OsString>,
) -> Vec<(OsString, Vec<PathBuf>)> {
    let all = list(tree, directory, names).into_iter();
    let mut out: Vec<_> = all.filter(|(name, _)| names.contains(name)).collect();
    out.arrange();
    out
}

/// The files below `prefix` whose name contains `.so` or is one of `names`, by name. At most
/// `MOST_OF_NAME` files are kept for each name. All directories of one depth are listed at once.
/// Links to directories outside of the prefix are followed, each directory once.
fn list(tree: &dyn Tree, prefix: &Path, names: &FastSet<OsString>) -> Listing {
    let mut out = Listing::default();
    let mut todo = vec![prefix.to_path_buf()];
    let mut seen = 0_usize;
    let mut linked: Vec<PathBuf> = Vec::new();
    while !todo.is_empty() {
        let listed = parallel::map(&todo, |dir| list_one(tree, dir, names));
        let dirs = std::mem::take(&mut todo);
        let mut links = Vec::new();
        for (dir, listed) in dirs.iter().zip(listed) {
            seen += listed.entries;
            todo.extend(listed.dirs);
            links.extend(listed.links);
            for name in listed.files {
                let path = dir.join(&name);
                out.entry(name).or_default().push(path);
            }
        }
        if seen > MOST_ENTRIES {
            return Listing::default();
        }
        links.arrange();
        for link in links {
            let Ok(real) = tree.real_path(&link) else { continue };
            let is_new = !linked.iter().any(|dir| real.starts_with(dir));
            if is_new && leads_out(tree, &real, prefix) {
                linked.push(real);
                todo.push(link);
            }
        }
    }
    for paths in out.values_mut() {
        paths.arrange();
        paths.truncate(MOST_OF_NAME);
    }
    out
}

/// The relevant entries of one directory.
#[derive(Default)]
struct Listed {
    entries: usize,
    /// File names that contain `.so` or were requested.
    files: Vec<OsString>,
    /// Directories that belong to the prefix.
    dirs: Vec<PathBuf>,
    /// Links to directories.
    links: Vec<PathBuf>,
}

fn list_one(tree: &dyn Tree, dir: &Path, names: &FastSet<OsString>) -> Listed {
    let (mut out, mut links) = (Listed::default(), Vec::new());
    // A directory that cannot be listed yields no candidates.
    let _ = tree.list(dir, &mut |name, node| {
        out.entries += 1;
        if node != DirEntryKind::Kind(EntryType::Directory) {
            if names.contains(name) || is_library_name(name) {
                out.files.push(name.to_owned());
            } else if node == DirEntryKind::Link {
                links.push(dir.join(name));
            }
            return;
        }
        let below = dir.join(name);
        // Each store item is its own prefix.
        if !is_store(&below) && !KERNEL.iter().any(|kernel| below == Path::new(kernel)) {
            out.dirs.push(below);
        }
    });
    links.retain(|link| tree.kind(link) == Ok(EntryType::Directory));
    out.links = links;
    out
}

/// True for a file name that contains `.so`. Every listing keeps these names.
fn is_library_name(name: &OsStr) -> bool {
    memchr::memmem::find(name.as_encoded_bytes(), b".so").is_some()
}

/// True if a listing of `prefix` reaches `dir`. A listing follows only links that lead out of the
/// prefix, as the walk does, and enters no store.
fn is_listed(tree: &dyn Tree, dir: &Path, prefix: &Path) -> bool {
    let mut between = dir.ancestors().take_while(|dir| *dir != prefix);
    dir.starts_with(prefix)
        && between.all(|dir| !is_store(dir))
        && tree.real_path(dir).is_ok_and(|real| real == dir || leads_out(tree, &real, prefix))
}

/// True if the directory `real` is outside of the prefix, stores and kernel file systems, and does
/// not contain the prefix.
fn leads_out(tree: &dyn Tree, real: &Path, prefix: &Path) -> bool {
    let own = tree.real_path(prefix).unwrap_or_else(|_| prefix.to_path_buf());
    !real.starts_with(&own)
        && !own.starts_with(real)
        && !is_store(real)
        && store_of(real).is_none()
        && !tree.is_of_kernel(real)
}

/// True if the file is for the machine of an object that lacks a library with the file name `name`.
fn serves(corpus: &Corpus, facts: &FileFacts, name: &OsStr, missing: &[MissingNeed]) -> bool {
    let target = |facts: &FileFacts| facts.object().map(|object| object.header.target());
    let of_name = missing.iter().filter(|one| file_name(&one.name) == Some(name));
    let mut targets = of_name.filter_map(|one| target(&corpus.files[one.file]));
    target(facts).is_some_and(|own| targets.any(|other| own.links_with(other)))
}

/// The part of a needed name after the last slash; `None` if it is empty.
fn file_name(library: &[u8]) -> Option<&OsStr> {
    Some(last_part(library)).filter(|name| !name.is_empty()).map(OsStr::from_bytes)
}

#[cfg(test)]
mod tests {
    use super::Candidates;
    use crate::tree::MemTree;
    use std::ffi::OsString;
    use std::path::Path;

    #[test]
    fn names_of_later_rounds_are_found_too() {
        let mut tree = MemTree::new();
        for file in ["/p/lib/libfoo.so", "/p/lib/engine", "/p/x/engine", "/p/lib/README"] {
            tree.file(file, file.as_bytes());
        }
        let mut candidates = Candidates::default();
        for names in [&["libfoo.so"][..], &["libfoo.so", "engine"], &["absent", "engine"]] {
            let names = names.iter().map(OsString::from).collect();
            candidates.look_below(&tree, Path::new("/p"), names);
        }
        let expected = ["/p/lib/engine", "/p/lib/libfoo.so", "/p/x/engine"].map(Path::new);
        assert_eq!(candidates.paths(), expected);
    }
}
