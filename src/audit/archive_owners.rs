//! Finds the packages of an archive: the Debian package that installs it, the pkg-config package
//! that links it, and the CMake package that imports it. The pkg-config and CMake packages come
//! from package files that name the archive, in the usual directories beside the archive.
//! `fix::owners` uses this module for the archives of findings and fixes, and the view `archive`
//! for the archives that it shows.

use super::cmake_package_name;
use super::owners::{Owned, Owners, contents};
use crate::finding::CMakeTarget;
use crate::format::cmake::{self, CommandInvocation};
use crate::format::pkg_config::{self, FlagKind};
use crate::id::{FastMap, FastSet};
use crate::order::{Arrange as _, keep_least};
use crate::parallel;
use crate::text::last_part;
use crate::tree::{DirEntryKind, EntryType, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum size in bytes of a package file that is read.
const MOST_OF_FILE: u64 = 8 << 20;
/// Maximum number of package files of one kind for one directory of archives. A desktop has 900
/// files of pkg-config and 2,000 of CMake.
const MOST_FILES: usize = 8000;
/// Maximum number of installed archives for one name. Several releases of LLVM, for example, have
/// archives of the same name.
const MOST: usize = 3;

/// The packages of an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchiveOwner {
    /// The path of the archive.
    pub path: Arc<Path>,
    /// True if the archive exists. False for an archive that a package lists, but that was removed.
    pub exists: bool,
    /// The Debian packages that install the archive, separated by commas.
    pub package: Option<String>,
    /// The pkg-config package that links the archive.
    pub pkg_config: Option<String>,
    /// The CMake package that imports the archive, and the imported target.
    pub cmake: Option<CMakeTarget>,
}

impl ArchiveOwner {
    /// True if at least one of the packages is known.
    fn is_known(&self) -> bool {
        self.package.is_some() || self.pkg_config.is_some() || self.cmake.is_some()
    }
}

/// Archives with the packages that own them, by path and by name.
#[derive(Debug, Default)]
pub struct ArchiveOwners {
    by_path: FastMap<PathBuf, ArchiveOwner>,
    by_name: BTreeMap<Vec<u8>, Vec<PathBuf>>,
}

impl ArchiveOwners {
    /// Finds the packages of the archives at `paths`. For each of `names` (`foo` for
    /// `libfoo.a`), also finds at most three installed archives, with their packages.
    pub fn find(tree: &dyn Tree, paths: &BTreeSet<PathBuf>, names: &BTreeSet<Vec<u8>>) -> Self {
        let mut out = Self::default();
        if paths.is_empty() && names.is_empty() {
            return out;
        }
        let file_name = |path: &PathBuf| Box::from(last_part(path.as_os_str().as_bytes()));
        let real: Vec<(&PathBuf, PathBuf)> =
            paths.iter().map(|path| (path, owned_path(tree, path))).collect();
        let mut wanted: FastSet<Box<[u8]>> = real.iter().map(|(_, real)| file_name(real)).collect();
        wanted.extend(names.iter().map(|name| Box::from(archive_name(name))));
        let owners = Owners::read(tree, wanted);
        let mut asked: Vec<(PathBuf, PathBuf)> =
            real.iter().map(|(path, real)| ((*path).clone(), real.clone())).collect();
        for name in names {
            let owned = owners.named(&archive_name(name)).iter().take(MOST);
            let owned: Vec<PathBuf> = owned.map(|Owned { path, .. }| path.clone()).collect();
            asked.extend(owned.iter().map(|path| (path.clone(), path.clone())));
            out.by_name.insert(name.clone(), owned);
        }
        asked.arrange();
        asked.dedup();
        // If an archive is a link, package files name the link.
        let placed = |path: &PathBuf| {
            let dir = tree.real_path(path.parent()?).ok()?;
            Some(dir.join(path.file_name()?))
        };
        let links: Vec<(PathBuf, &PathBuf)> =
            asked.iter().filter_map(|(path, real)| Some((placed(path)?, real))).collect();
        let mut dirs: BTreeMap<&Path, FastMap<&[u8], &Path>> = BTreeMap::new();
        let places = links.iter().map(|(place, real)| (place, *real));
        for (place, real) in places.chain(asked.iter().map(|(_, real)| (real, real))) {
            let archives = dirs.entry(place.parent().unwrap_or(Path::new("/"))).or_default();
            archives.entry(last_part(place.as_os_str().as_bytes())).or_insert(real);
        }
        let beside = dirs.iter().map(|(dir, archives)| Beside::read(tree, dir, archives));
        let beside: Vec<Beside<'_>> = beside.collect();
        for (path, real) in &asked {
            let packages = owners.of(real);
            let pkg_config = beside.iter().find_map(|beside| beside.pkg_config.get(&**real));
            let pkg_config = pkg_config.map(|(_, name)| name.clone());
            let cmake = beside.iter().find_map(|beside| beside.cmake.get(&**real)).cloned();
            let owner = ArchiveOwner {
                path: Arc::from(path.as_path()),
                exists: matches!(tree.kind(real), Ok(EntryType::File)),
                package: (!packages.is_empty()).then(|| packages.join(", ")),
                pkg_config,
                cmake,
            };
            out.by_path.insert(path.clone(), owner);
        }
        out
    }

    /// The packages of the archive at `path`, one of the paths given to [`Self::find`]; `None` if
    /// no package is known.
    pub fn of(&self, path: &Path) -> Option<&ArchiveOwner> {
        self.by_path.get(path).filter(|owner| owner.is_known())
    }

    /// The installed archives with this name, one of the names given to [`Self::find`].
    pub fn named(&self, name: &[u8]) -> impl Iterator<Item = &ArchiveOwner> {
        let paths = self.by_name.get(name).into_iter().flatten();
        paths.filter_map(|path| self.by_path.get(path))
    }
}

/// The path under which a Debian package would list the file: `path` with links resolved. A link
/// `lib*.so` is kept, because the development package installs this link itself.
fn owned_path(tree: &dyn Tree, path: &Path) -> PathBuf {
    let is_link = path.as_os_str().as_bytes().ends_with(b".so");
    let of_link = || Some(tree.real_path(path.parent()?).ok()?.join(path.file_name()?));
    let real = if is_link { of_link() } else { tree.real_path(path).ok() };
    real.unwrap_or_else(|| path.to_path_buf())
}

/// The file name of the archive `name`: `libfoo.a` for `foo` and for `libfoo.a`.
fn archive_name(name: &[u8]) -> Vec<u8> {
    if name.ends_with(b".a") { name.to_vec() } else { [b"lib", name, b".a"].concat() }
}

/// The packages of archives in one directory, according to the package files that belong to this
/// directory.
struct Beside<'a> {
    pkg_config: FastMap<&'a Path, (Rank, String)>,
    cmake: FastMap<&'a Path, CMakeTarget>,
}

/// Rank of a pkg-config package among the packages that link the same archive. The rank consists of
/// the index of the archive in `Libs`, and of the number of libraries in `Libs`. The lowest rank
/// wins.
type Rank = (usize, usize);

impl<'a> Beside<'a> {
    fn read(tree: &dyn Tree, dir: &Path, by_name: &FastMap<&[u8], &'a Path>) -> Self {
        let mut out = Self { pkg_config: FastMap::default(), cmake: FastMap::default() };
        let prefix = prefix(dir);
        let mut dirs = vec![dir.join("pkgconfig")];
        dirs.extend(prefix.map(|prefix| prefix.join("share/pkgconfig")));
        let files = files(tree, &dirs, ".pc");
        let texts = parallel::map(&files, |file| contents(tree, file, MOST_OF_FILE));
        for (file, text) in files.iter().zip(texts) {
            out.add_pkg_config((tree, dir), file, &text.unwrap_or_default(), by_name);
        }
        let files = files_of_cmake(tree, dir, prefix);
        let found = parallel::map(&files, |file| imported(tree, file, by_name));
        for (file, found) in files.iter().zip(found) {
            if found.is_empty() {
                continue;
            }
            let Some(package) = package_of(tree, file) else { continue };
            for (path, target) in found {
                let target = CMakeTarget { package: package.clone(), target };
                out.cmake.entry(path).or_insert(target);
            }
        }
        out
    }

    /// Adds the archives of the directory `own` that a package file links by path or with `-l`. An
    /// archive named with `-l` is added only if no earlier `-L` directory has a file of this name.
    fn add_pkg_config(
        &mut self,
        (tree, own): (&dyn Tree, &Path),
        file: &Path,
        text: &[u8],
        by_name: &FastMap<&[u8], &'a Path>,
    ) {
        let Some(name) = file.file_stem().and_then(OsStr::to_str) else { return };
        let dir = file.parent().unwrap_or(Path::new("/"));
        let package = pkg_config::parse(text, dir.as_os_str().as_bytes());
        let real = |path: &[u8]| tree.real_path(Path::new(OsStr::from_bytes(path))).ok();
        let dirs = package.libs.iter().filter_map(|flag| match &flag.kind {
            FlagKind::LibDir(dir) => real(dir),
            _ => None,
        });
        let dirs: Vec<PathBuf> = dirs.collect();
        let has = |dir: &PathBuf, file: &[u8]| {
            tree.kind(&dir.join(OsStr::from_bytes(file))) == Ok(EntryType::File)
        };
        let is_found = |file: &[u8]| {
            let first = dirs.iter().find(|dir| **dir == own || has(dir, file));
            first.is_none_or(|dir| dir == own)
        };
        let libs = package.libs.iter().filter_map(|flag| match &flag.kind {
            FlagKind::Lib(name) => {
                let files = match name.strip_prefix(b":") {
                    Some(file) => vec![file.to_vec()],
                    None => [b".a", &b".so"[..]].map(|end| [b"lib", &**name, end].concat()).into(),
                };
                let files = files.iter().filter(|file| is_found(file));
                Some(files.filter_map(|file| by_name.get(&**file).copied()).collect())
            }
            FlagKind::File(path) => {
                let found = by_name.get(last_part(path)).copied();
                let is_it = |found: &&Path| real(path).as_deref() == Some(*found);
                Some(found.filter(is_it).into_iter().collect())
            }
            _ => None,
        });
        let libs: Vec<Vec<&'a Path>> = libs.collect();
        let numbered = libs.iter().enumerate();
        for (at, path) in numbered.flat_map(|(at, paths)| paths.iter().map(move |path| (at, path)))
        {
            let new = ((at, libs.len()), name.to_owned());
            let known = self.pkg_config.entry(path).or_insert_with(|| new.clone());
            *known = std::cmp::min(known.clone(), new);
        }
    }
}

/// Names of library directories in a prefix.
const LIBRARIES: [&str; 4] = ["lib", "lib64", "lib32", "libx32"];

/// The prefix to which a directory of libraries belongs: `PREFIX/lib*` or
/// `PREFIX/lib*/ARCHITECTURE`. `None` for other directories.
fn prefix(dir: &Path) -> Option<&Path> {
    let is_lib = |dir: &Path| LIBRARIES.iter().any(|name| dir.ends_with(name));
    if is_lib(dir) {
        return dir.parent();
    }
    let above = dir.parent()?;
    if is_lib(above) { above.parent() } else { None }
}

/// The files in `dirs` with names that end with `end`, sorted by path.
fn files(tree: &dyn Tree, dirs: &[PathBuf], end: &str) -> Vec<PathBuf> {
    let mut out = BTreeSet::new();
    for dir in dirs {
        // A directory that cannot be listed yields no package files.
        let _ = tree.list(dir, &mut |name, node| {
            let is_file = node != DirEntryKind::Kind(EntryType::Directory);
            if is_file && name.as_bytes().ends_with(end.as_bytes()) {
                keep_least(&mut out, dir.join(name), MOST_FILES);
            }
        });
    }
    out.into_iter().collect()
}

/// The files of CMake packages in the directories where CMake looks for packages of libraries in
/// `dir` (cmake-commands(7), `find_package`): `lib*/cmake/NAME/`, `share/cmake/NAME/` and
/// `share/NAME/cmake/`.
fn files_of_cmake(tree: &dyn Tree, dir: &Path, prefix: Option<&Path>) -> Vec<PathBuf> {
    let mut roots = vec![dir.to_path_buf()];
    roots.extend(prefix.iter().flat_map(|prefix| [prefix.join("lib"), prefix.join("share")]));
    roots.dedup();
    let below = |dir: &Path| {
        let mut out = BTreeSet::new();
        // A directory that cannot be listed yields no package directories.
        let _ = tree.list(dir, &mut |name, node| {
            if node != DirEntryKind::Kind(EntryType::File) {
                keep_least(&mut out, dir.join(name), MOST_FILES);
            }
        });
        out
    };
    let mut dirs: Vec<PathBuf> = roots.iter().flat_map(|root| below(&root.join("cmake"))).collect();
    let share = roots.iter().filter(|root| root.ends_with("share"));
    dirs.extend(share.flat_map(|root| below(root)).map(|dir| dir.join("cmake")));
    dirs.arrange();
    dirs.dedup();
    files(tree, &dirs, ".cmake")
}

/// The archives of `by_name` that a CMake file imports, each with the name of its target. Empty if
/// the file cannot be read.
fn imported<'a>(
    tree: &dyn Tree,
    file: &Path,
    by_name: &FastMap<&[u8], &'a Path>,
) -> Vec<(&'a Path, String)> {
    let Some(text) = contents(tree, file, MOST_OF_FILE) else { return Vec::new() };
    if memchr::memmem::find(&text, LOCATION).is_none() {
        return Vec::new();
    }
    let mut out = Vec::new();
    for command in cmake::commands(&text).map_while(Result::ok) {
        let Some((target, location)) = location(&text, &command) else { continue };
        let Some(path) = by_name.get(last_part(location)).copied() else { continue };
        let is_it = if let Some(rest) = location.strip_prefix(b"${") {
            // The variable at the start is assumed to hold the prefix of the package.
            let end = rest.iter().position(|byte| *byte == b'}').map_or(rest.len(), |at| at + 1);
            rest[end..].starts_with(b"/") && path.as_os_str().as_bytes().ends_with(&rest[end..])
        } else {
            let location = Path::new(OsStr::from_bytes(location));
            tree.real_path(location).is_ok_and(|real| real == path)
        };
        if is_it {
            out.push((path, String::from_utf8_lossy(target).into_owned()));
        }
    }
    out
}

/// Start of the names of properties that hold the file of an imported target:
/// `IMPORTED_LOCATION`, and `IMPORTED_LOCATION_<CONFIG>` for one configuration.
const LOCATION: &[u8] = b"IMPORTED_LOCATION";

/// The target and its file in `set_target_properties(TARGET PROPERTIES … IMPORTED_LOCATION FILE)`.
fn location<'t>(text: &'t [u8], command: &CommandInvocation) -> Option<(&'t [u8], &'t [u8])> {
    if !text[command.name.clone()].eq_ignore_ascii_case(b"set_target_properties") {
        return None;
    }
    let mut words = command.arguments.iter().map(|argument| &text[argument.inside.clone()]);
    let target = words.next()?;
    let mut words = words.skip_while(|word| *word != b"PROPERTIES").skip(1);
    while let (Some(key), Some(value)) = (words.next(), words.next()) {
        if key.starts_with(LOCATION) {
            return Some((target, value));
        }
    }
    None
}

/// The name of the CMake package to which `file` belongs. Candidates are the packages with a
/// configuration file in the same directory. If there are several candidates, the name of `file`
/// must begin with the name of the package, and the longest package name wins. `None` if no
/// package fits.
fn package_of(tree: &dyn Tree, file: &Path) -> Option<String> {
    let dir = file.parent()?;
    let files = files(tree, &[dir.to_path_buf()], ".cmake");
    let names: Vec<&[u8]> = files.iter().filter_map(|path| cmake_package_name(path)).collect();
    let own = last_part(file.as_os_str().as_bytes());
    let begins =
        |name: &&&[u8]| own.get(..name.len()).is_some_and(|b| b.eq_ignore_ascii_case(name));
    let name = match names[..] {
        [one] => one,
        _ => names.iter().filter(begins).max_by_key(|name| name.len())?,
    };
    Some(String::from_utf8_lossy(name).into_owned())
}
