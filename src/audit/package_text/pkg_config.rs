//! Checks package files of pkg-config: whether the packages that they require, and the files and
//! directories that their flags name, exist. Each flag is checked once, in the file that has it.
//! A flag is not checked if the compiler or another prefix may provide the file that it names.

use super::{Texts, read};
use crate::format::pkg_config::{self, Flag, FlagKind, MOST, PkgConfig, Requirement};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::package::Prefixes;
use crate::sniff::Class;
use crate::tree::walk::UnreadablePath;
use crate::tree::{EntryType, Errno, Tree, without_dots};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// An audited package file, and the results of its checks.
pub struct PkgConfigFile {
    /// The path of the package file.
    pub path: PathBuf,
    /// The parsed content of the file.
    pub content: Arc<PkgConfig>,
    /// Requirements that no known package satisfies.
    pub unmet: Vec<Unmet>,
    /// True if a required package could not be checked, because its package file cannot be read.
    pub has_unread: bool,
    /// Flags that name a missing file, directory or library.
    pub missing: Vec<MissingFlag>,
}

/// A requirement of a package file that no known package satisfies.
pub struct Unmet {
    /// The name of the required package, with the version that it must have, if any.
    pub requirement: Requirement,
    /// The path and the version of a package with the required name, but another version; `None` if
    /// no package has the name.
    pub found: Option<(PathBuf, Vec<u8>)>,
    /// True if the package file is in a store and no package has the required name. The
    /// consumer's own environment may then have the required package.
    pub may_come: bool,
}

/// The way in which a requirement is satisfied, or may be satisfied.
enum Satisfied {
    /// This package file satisfies the requirement.
    By(PathBuf),
    /// pkgconf itself provides the package.
    ByPkgconf,
    /// The result is unknown: the package file that pkgconf would find cannot be read.
    Unknown,
}

/// A flag that names a missing file, directory or library.
pub struct MissingFlag {
    /// The flag, including the missing name or path.
    pub flag: Flag,
    /// True if the path is in a directory for builds, such as `/build`.
    pub is_build: bool,
}

/// Triplets of Debian's multiarch directories (`/usr/lib/TRIPLET`).
const TRIPLETS: [&str; 8] = [
    "x86_64-linux-gnu",
    "aarch64-linux-gnu",
    "i386-linux-gnu",
    "arm-linux-gnueabihf",
    "riscv64-linux-gnu",
    "powerpc64le-linux-gnu",
    "s390x-linux-gnu",
    "loongarch64-linux-gnu",
];

/// Libraries of the compiler and of the C library, by their name for `-l`. A prefix may lack them.
const OF_COMPILER: [&str; 26] = [
    "c", "m", "dl", "rt", "pthread", "util", "resolv", "crypt", "nsl", "anl", "gcc", "gcc_s",
    "gcc_eh", "stdc++", "stdc++fs", "supc++", "gomp", "quadmath", "gfortran", "atomic", "asan",
    "tsan", "ubsan", "objc", "omp", "iomp5",
];

/// Directories below which packages are usually built.
const BUILD: [&str; 7] = ["/tmp", "/var/tmp", "/home", "/root", "/build", "/usr/src", "/nix/build"];
/// Directories whose content a running system creates.
const VOLATILE: [&str; 4] = ["/run", "/var", "/tmp", "/etc"];
/// Maximum number of package files, or of store items, that are reached from one package file.
const MOST_FOLLOWED: usize = 4096;

/// Checks the package files that were given by name, and the walked package files that
/// pkg-config finds, except `*-uninstalled.pc`. Adds to `dirs` the header directories that these
/// files and their requirements name.
pub(super) fn find(
    tree: &dyn Tree,
    prefixes: &Prefixes,
    texts: &Texts,
    problems: &mut Vec<UnreadablePath>,
    dirs: &mut Vec<PathBuf>,
) -> Vec<PkgConfigFile> {
    let is_searched = |path: &Path| {
        let is_installed = || !name_of(path).ends_with(b"-uninstalled");
        texts.given.contains(path) || is_installed() && is_found(tree, path)
    };
    let mut judged = texts.judged(Class::PkgConfig, tree, prefixes);
    judged.retain(|path| is_searched(path));
    let mut by_name: FastMap<Vec<u8>, Vec<PathBuf>> = FastMap::default();
    for path in texts.all(Class::PkgConfig) {
        by_name.entry(name_of(path).to_vec()).or_default().push(path.to_path_buf());
    }
    let mut known = PkgConfigCache {
        tree,
        prefixes,
        by_name,
        files: FastMap::default(),
        kinds: FastMap::default(),
        provided: None,
        unread: Vec::new(),
    };
    let mut out = Vec::new();
    for path in judged {
        match known.file(&path) {
            Ok(content) => {
                problems.extend(content.defect.map(|reason| UnreadablePath {
                    path: path.clone(),
                    reason: reason.to_owned(),
                }));
                out.push(known.judge(path, content));
            }
            Err(reason) => problems.push(UnreadablePath { path, reason }),
        }
    }
    known.unread.arrange();
    known.unread.dedup();
    known.unread.retain(|one| !problems.contains(one));
    problems.append(&mut known.unread);
    dirs.extend(known.files.iter().flat_map(|(path, content)| known.include_dirs(path, content)));
    out
}

/// True if pkg-config finds the file. Either the file lies in a directory named `pkgconfig`, or a
/// directory `pkgconfig` above the file has a link of the same name that leads to the file.
fn is_found(tree: &dyn Tree, path: &Path) -> bool {
    let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { return false };
    let is_same = |link: &Path| match (tree.real_path(link), tree.real_path(path)) {
        (Ok(link), Ok(file)) => link == file,
        _ => false,
    };
    let mut searched = dir.ancestors().filter(|dir| dir.ends_with("pkgconfig"));
    searched.any(|searched| searched == dir || is_same(&searched.join(name)))
}

/// The name of a package: its file name without `.pc`.
fn name_of(path: &Path) -> &[u8] {
    path.file_stem().map(OsStr::as_bytes).unwrap_or_default()
}

/// Caches package files that were read, and the kinds of paths that were looked up.
struct PkgConfigCache<'a> {
    tree: &'a dyn Tree,
    prefixes: &'a Prefixes,
    by_name: FastMap<Vec<u8>, Vec<PathBuf>>,
    files: FastMap<PathBuf, Result<Arc<PkgConfig>, String>>,
    kinds: FastMap<PathBuf, Result<EntryType, Errno>>,
    /// The `Provides` fields of walked packages, each with the package file. Read on first use.
    provided: Option<Vec<(Requirement, PathBuf)>>,
    /// Required package files that could not be read.
    unread: Vec<UnreadablePath>,
}

/// The directories that decide how the flags of one package file are checked.
struct PackageDirs {
    /// The directory that takes the place of `/`, if the file is in a tree that was moved; `None`
    /// otherwise.
    base: Option<PathBuf>,
    /// Directories of the package. A path below one of them belongs to the package.
    own: Vec<PathBuf>,
    is_store: bool,
    triplets: Vec<&'static str>,
}

impl PackageDirs {
    /// The paths at which the file for `path` may be: below `base`, if the tree was moved, and at
    /// `path` itself.
    fn paths(&self, path: &Path) -> Vec<PathBuf> {
        let moved =
            self.base.as_ref().and_then(|base| Some(base.join(path.strip_prefix("/").ok()?)));
        moved.into_iter().chain([path.to_path_buf()]).collect()
    }

    /// The subdirectory `end` of each of `bases`, and of each multiarch directory in them.
    fn system(&self, bases: &[&str], end: &str) -> Vec<PathBuf> {
        let mut out = Vec::new();
        for base in bases {
            let base = Path::new(base);
            out.extend(self.triplets.iter().map(|triplet| base.join(triplet).join(end)));
            out.push(base.join(end));
        }
        out
    }
}

impl PkgConfigCache<'_> {
    fn kind(&mut self, path: &Path) -> Result<EntryType, Errno> {
        if let Some(known) = self.kinds.get(path) {
            return *known;
        }
        let kind = self.tree.kind(path);
        self.kinds.insert(path.to_path_buf(), kind);
        kind
    }

    fn is_file(&mut self, path: &Path) -> bool {
        // An entry that cannot be examined may be a file.
        !matches!(
            self.kind(path),
            Ok(EntryType::Directory | EntryType::Special(_)) | Err(Errno::NOENT | Errno::NOTDIR)
        )
    }

    fn is_absent(&mut self, path: &Path) -> bool {
        matches!(self.kind(path), Err(Errno::NOENT | Errno::NOTDIR))
    }

    fn file(&mut self, path: &Path) -> Result<Arc<PkgConfig>, String> {
        if let Some(known) = self.files.get(path) {
            return known.clone();
        }
        let dir = path.parent().unwrap_or(path).as_os_str().as_bytes();
        let content =
            read(self.tree, path, MOST).map(|text| Arc::new(pkg_config::parse(&text, dir)));
        self.files.insert(path.to_path_buf(), content.clone());
        content
    }

    fn place(&self, path: &Path, content: &PkgConfig) -> PackageDirs {
        let dir = path.parent().unwrap_or(path);
        let is_there = |name: &&str| dir.components().any(|part| part.as_os_str() == *name);
        let own_triplet: Vec<&str> = TRIPLETS.into_iter().filter(is_there).collect();
        let located = self.prefixes.locate(path);
        let is_store =
            located.prefix.as_deref().and_then(Path::parent).is_some_and(crate::package::is_store);
        let stated = content.prefix.as_deref().map(|prefix| Path::new(OsStr::from_bytes(prefix)));
        let base = moved_base(dir, stated);
        let above = dir.parent().and_then(Path::parent).map(Path::to_path_buf);
        let own = located.prefix.into_iter().chain(stated.map(Path::to_path_buf)).chain(above);
        PackageDirs {
            base,
            own: own.filter(|own| own.parent().is_some()).collect(),
            is_store,
            triplets: if own_triplet.is_empty() { TRIPLETS.to_vec() } else { own_triplet },
        }
    }

    fn judge(&mut self, path: PathBuf, content: Arc<PkgConfig>) -> PkgConfigFile {
        let place = self.place(&path, &content);
        let (mut unmet, mut has_unread) = (Vec::new(), false);
        for requirement in &content.requires {
            match self.requirement(&path, &place, requirement) {
                Ok(Satisfied::Unknown) => has_unread = true,
                Ok(Satisfied::By(_) | Satisfied::ByPkgconf) => {}
                Err(found) => unmet.push(Unmet {
                    requirement: requirement.clone(),
                    may_come: place.is_store && found.is_none(),
                    found,
                }),
            }
        }
        let missing = self.missing(&path, &place, &content);
        PkgConfigFile { path, content, unmet, has_unread, missing }
    }

    /// Finds the package that satisfies a requirement. The error means that no package satisfies
    /// it. The error has the path and version of a package with the required name, but another
    /// version; `None` if no package has the name.
    fn requirement(
        &mut self,
        from: &Path,
        place: &PackageDirs,
        wanted: &Requirement,
    ) -> Result<Satisfied, Option<(PathBuf, Vec<u8>)>> {
        // pkgconf itself provides these packages.
        if [b"pkg-config".as_slice(), b"pkgconf"].contains(&wanted.name.as_slice()) {
            return Ok(Satisfied::ByPkgconf);
        }
        let mut other = None;
        for path in self.packages_named(from, place, &wanted.name) {
            let content = match self.file(&path) {
                Ok(content) => content,
                Err(reason) => {
                    self.unread.push(UnreadablePath { path, reason });
                    return Ok(Satisfied::Unknown);
                }
            };
            let holds = wanted
                .version
                .as_ref()
                .is_none_or(|(comparison, version)| comparison.holds(&content.version, version));
            if holds {
                return Ok(Satisfied::By(path));
            }
            other.get_or_insert((path, content.version.clone()));
        }
        let provider = self.provider(wanted);
        provider.map(Satisfied::By).ok_or(other)
    }

    /// Package files of the package `name`, in the order in which pkg-config would find them. All
    /// walked files of this name come last, in any directory.
    fn packages_named(&mut self, from: &Path, place: &PackageDirs, name: &[u8]) -> Vec<PathBuf> {
        let file = [name, b".pc"].concat();
        let file = Path::new(OsStr::from_bytes(&file));
        // A requirement that is a path is not looked up by name.
        if file.components().count() != 1 {
            return Vec::new();
        }
        let mut dirs: Vec<PathBuf> = from.parent().map(Path::to_path_buf).into_iter().collect();
        for own in &place.own {
            dirs.extend(["lib", "lib64", "share"].map(|end| own.join(end).join("pkgconfig")));
        }
        let defaults = place.system(&["/usr/local/lib", "/usr/lib"], "pkgconfig");
        let shared = ["/usr/lib64", "/usr/local/share", "/usr/share"];
        let defaults =
            defaults.into_iter().chain(shared.map(|dir| Path::new(dir).join("pkgconfig")));
        for dir in defaults.filter(|_| !place.is_store) {
            dirs.extend(place.paths(&dir));
        }
        if place.is_store {
            dirs.extend(self.propagated(&place.own));
        }
        let mut out: Vec<PathBuf> = dirs.into_iter().map(|dir| dir.join(file)).collect();
        out.retain(|path| self.is_file(path));
        out.extend(self.by_name.get(name).cloned().unwrap_or_default());
        out
    }

    /// The directories of package files in the store items `own`, and in all items that they
    /// propagate, directly or through other items.
    fn propagated(&mut self, own: &[PathBuf]) -> Vec<PathBuf> {
        let (mut out, mut met, mut todo) = (Vec::new(), FastSet::default(), own.to_vec());
        while let Some(item) = todo.pop().filter(|_| met.len() < MOST_FOLLOWED) {
            if !met.insert(item.clone()) {
                continue;
            }
            out.extend(["lib", "lib64", "share"].map(|end| item.join(end).join("pkgconfig")));
            let list = item.join("nix-support/propagated-build-inputs");
            let text = read(self.tree, &list, MOST).unwrap_or_default();
            let words = text.split(u8::is_ascii_whitespace).filter(|word| word.starts_with(b"/"));
            todo.extend(words.map(|word| PathBuf::from(OsStr::from_bytes(word))));
        }
        out
    }

    /// The first walked package, by path, that satisfies a requirement by its `Provides` field.
    fn provider(&mut self, wanted: &Requirement) -> Option<PathBuf> {
        if self.provided.is_none() {
            let mut paths: Vec<PathBuf> = self.by_name.values().flatten().cloned().collect();
            paths.arrange();
            let mut all = Vec::new();
            for path in paths {
                let Ok(content) = self.file(&path) else { continue };
                all.extend(content.provides.iter().map(|one| (one.clone(), path.clone())));
            }
            self.provided = Some(all);
        }
        let fits = |one: &Requirement| {
            one.name == wanted.name
                && match (&wanted.version, &one.version) {
                    (None, _) | (Some(_), None) => true,
                    (Some((comparison, wanted)), Some((_, own))) => comparison.holds(own, wanted),
                }
        };
        let all = self.provided.iter().flatten();
        all.filter(|(one, _)| fits(one)).map(|(_, path)| path.clone()).next()
    }

    /// The absolute directories in `-I` flags of a package file.
    fn include_dirs(&self, path: &Path, content: &Result<Arc<PkgConfig>, String>) -> Vec<PathBuf> {
        let Ok(content) = content else { return Vec::new() };
        let place = self.place(path, content);
        let dirs = content.cflags.iter().filter_map(|flag| match &flag.kind {
            FlagKind::Include(dir) => Some(Path::new(OsStr::from_bytes(dir))),
            _ => None,
        });
        let dirs = dirs.filter(|dir| dir.is_absolute());
        dirs.flat_map(|dir| place.paths(&without_dots(dir))).collect()
    }

    /// The directories in `-L` flags of a package file and of its public requirements, direct or
    /// not. `None` if the list is incomplete: a requirement is unmet or unreadable, a file has a
    /// defect, a directory is relative, or there are too many files.
    fn library_dirs(&mut self, path: &Path, content: &Arc<PkgConfig>) -> Option<Vec<PathBuf>> {
        let (mut out, mut met) = (Vec::new(), FastSet::default());
        let mut todo = vec![(path.to_path_buf(), Arc::clone(content))];
        while let Some((path, content)) = todo.pop() {
            if !met.insert(path.clone()) {
                continue;
            }
            if met.len() > MOST_FOLLOWED || content.defect.is_some() {
                return None;
            }
            let place = self.place(&path, &content);
            for flag in &content.libs {
                let FlagKind::LibDir(dir) = &flag.kind else { continue };
                let dir = Path::new(OsStr::from_bytes(dir));
                if !dir.is_absolute() {
                    return None;
                }
                out.extend(place.paths(dir));
            }
            for requirement in content.requires.iter().filter(|one| !one.private) {
                match self.requirement(&path, &place, requirement).ok()? {
                    Satisfied::By(found) => {
                        let content = self.file(&found).ok()?;
                        todo.push((found, content));
                    }
                    Satisfied::ByPkgconf => {}
                    Satisfied::Unknown => return None,
                }
            }
        }
        Some(out)
    }

    fn missing(
        &mut self,
        path: &Path,
        place: &PackageDirs,
        content: &Arc<PkgConfig>,
    ) -> Vec<MissingFlag> {
        let dirs = self.library_dirs(path, content);
        let mut out: Vec<MissingFlag> = Vec::new();
        for flag in content.cflags.iter().chain(&content.libs) {
            let is_missing = match &flag.kind {
                FlagKind::Include(dir) | FlagKind::LibDir(dir) | FlagKind::File(dir) => {
                    self.is_missing_path(place, Path::new(OsStr::from_bytes(dir)))
                }
                FlagKind::Lib(name) => dirs.as_ref().is_some_and(|dirs| {
                    self.is_missing_library(name, dirs, (place, name_of(path)))
                }),
                FlagKind::Other(_) => false,
            };
            if is_missing && !out.iter().any(|known| known.flag.kind == flag.kind) {
                let is_build = match &flag.kind {
                    FlagKind::Include(dir) | FlagKind::LibDir(dir) | FlagKind::File(dir) => {
                        is_build(place, Path::new(OsStr::from_bytes(dir)))
                    }
                    FlagKind::Lib(_) | FlagKind::Other(_) => false,
                };
                out.push(MissingFlag { flag: flag.clone(), is_build });
            }
        }
        out
    }

    /// True if a path does not exist, and belongs to the package or is in a directory for builds.
    /// In a moved tree, all paths belong to the package. A path in `VOLATILE` belongs to the
    /// package only if the package itself lies there.
    fn is_missing_path(&mut self, place: &PackageDirs, path: &Path) -> bool {
        let is_own = place.own.iter().any(|own| path.starts_with(own)) || place.base.is_some();
        let is_judged = is_build(place, path)
            || is_own
                && !VOLATILE.iter().any(|dir| path.starts_with(dir) && !is_within(place, dir));
        path.is_absolute() && is_judged && place.paths(path).iter().all(|path| self.is_absent(path))
    }

    fn is_missing_library(
        &mut self,
        name: &[u8],
        dirs: &[PathBuf],
        (place, package): (&PackageDirs, &[u8]),
    ) -> bool {
        if name.is_empty() || OF_COMPILER.iter().any(|known| known.as_bytes() == name) {
            return false;
        }
        let files = match name.strip_prefix(b":") {
            Some(file) => vec![file.to_vec()],
            None => vec![[b"lib", name, b".so"].concat(), [b"lib", name, b".a"].concat()],
        };
        let bases =
            ["/usr/local/lib", "/lib", "/usr/lib", "/usr/local/lib64", "/lib64", "/usr/lib64"];
        let mut system = Vec::new();
        for dir in place.system(&bases, "").into_iter().filter(|_| !place.is_store) {
            system.extend(place.paths(&dir));
        }
        let is_there = |this: &mut Self, dir: &PathBuf| {
            files.iter().any(|file| this.is_file(&dir.join(OsStr::from_bytes(file))))
        };
        if dirs.iter().chain(&system).any(|dir| is_there(self, dir)) {
            return false;
        }
        // A system that has `libc.so`, and so can link a program, is assumed to have all libraries.
        // On other systems, the consumer may search further directories, so only the package's own
        // library is checked.
        let can_link = system.iter().any(|dir| self.is_file(&dir.join("libc.so")));
        let is_own = dirs.iter().any(|dir| place.own.iter().any(|own| dir.starts_with(own)));
        can_link || is_own && resembles(name, package)
    }
}

/// The directory that takes the place of `/`, if `dir` is in a tree that was moved: `/x` for
/// `/x/usr/lib/pkgconfig` with the stated prefix `/usr`.
fn moved_base(dir: &Path, stated: Option<&Path>) -> Option<PathBuf> {
    let stated = stated?.strip_prefix("/").ok().filter(|stated| stated.file_name().is_some())?;
    let above = dir.ancestors().find(|above| above.ends_with(stated))?;
    let base = above.ancestors().nth(stated.components().count())?;
    base.parent().is_some().then(|| base.to_path_buf())
}

/// True if the package itself lies in `dir`.
fn is_within(place: &PackageDirs, dir: &str) -> bool {
    place.own.iter().any(|own| own.starts_with(dir))
}

fn is_build(place: &PackageDirs, path: &Path) -> bool {
    BUILD.iter().any(|build| path.starts_with(build) && !is_within(place, build))
}

/// True if a library has the name of its package: `-lfoo` in `foo.pc`, `libfoo.pc` or `foo-2.0.pc`.
fn resembles(library: &[u8], package: &[u8]) -> bool {
    let plain = |name: &[u8]| -> Vec<u8> {
        let name = name.strip_prefix(b"lib").unwrap_or(name);
        name.iter().filter(|b| b.is_ascii_alphabetic()).map(u8::to_ascii_lowercase).collect()
    };
    let (library, package) = (plain(library), plain(package));
    !library.is_empty() && library == package
}

#[cfg(test)]
mod tests {
    use super::{moved_base, resembles};
    use std::path::Path;

    #[test]
    fn a_moved_tree_is_recognised_by_the_prefix_inside() {
        let base = |dir: &str, stated: &str| moved_base(Path::new(dir), Some(Path::new(stated)));
        assert_eq!(base("/x/usr/lib/pkgconfig", "/usr"), Some("/x".into()));
        assert_eq!(base("/usr/lib/pkgconfig", "/usr"), None);
        assert_eq!(base("/x/usr/lib/pkgconfig", "/"), None);
        assert_eq!(base("/x/lib/pkgconfig", "/usr"), None);
    }

    #[test]
    fn a_package_is_recognised_by_its_library() {
        assert!(resembles(b"foo", b"libfoo"));
        assert!(resembles(b"foo-2", b"foo-2.0"));
        assert!(!resembles(b"z", b"foo"));
    }
}
