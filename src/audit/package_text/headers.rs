//! Checks the files that installed headers include. An included file that the compiler would not
//! find is reported if all of these conditions hold:
//!
//! - The included name shows that the prefix of the including header should have the file.
//! - No path of an audited header ends with the included name.
//! - All packages that could install the file are known, or the directory in the included name
//!   exists beside the including header.

use super::{CMakePackage, PkgConfigFile, Texts, read};
use crate::cmake::{EventKind, FindResult};
use crate::format::header::{self, Include, MOST};
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::package::{Prefixes, is_store};
use crate::parallel;
use crate::sniff::Class;
use crate::tree::walk::{self, UnreadablePath, WalkedText};
use crate::tree::{DirEntryKind, EntryType, Errno, Tree, is_answer, without_dots};
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// A header that an installed header includes and that does not exist.
pub struct MissingHeader {
    /// The installed header that has the directive.
    pub file: PathBuf,
    /// The `#include` directive, with the name of the missing header.
    pub include: Include,
    /// A walked header with the same file name in another directory; `None` if there is none.
    pub elsewhere: Option<PathBuf>,
}

/// The package files of the run, and the header directories that these files name, as input of the
/// check.
pub(super) struct Interfaces<'a> {
    /// Header directories that package files of pkg-config and CMake name.
    pub(super) dirs: Vec<PathBuf>,
    pub(super) pkg_config: &'a [PkgConfigFile],
    pub(super) cmake: &'a [CMakePackage],
    /// False if the run audits a staging directory: the walk then did not cover the system on
    /// which the staged files will be installed.
    pub(super) sees_system: bool,
}

/// Extensions of headers that users include. Files with another extension, such as `.inc`, are
/// parts of headers.
const ENDS: [&[u8]; 6] = [b"h", b"hh", b"hpp", b"hxx", b"h++", b"cuh"];
/// Names of header directories of the C library, Linux, the C++ library, OpenCL and SYCL. Many
/// packages share these directories.
const SHARED: [&str; 30] = [
    "CL",
    "arpa",
    "asm",
    "asm-generic",
    "backward",
    "bits",
    "c++",
    "crypto",
    "debug",
    "drm",
    "experimental",
    "ext",
    "gnu",
    "linux",
    "misc",
    "mtd",
    "net",
    "netinet",
    "nfs",
    "parallel",
    "protocols",
    "pstl",
    "rdma",
    "rpc",
    "scsi",
    "sound",
    "sys",
    "tr1",
    "video",
    "xen",
];

/// Checks the walked headers that are in public include directories. Headers that cannot be read
/// are added to `problems`.
pub(super) fn find(
    tree: &dyn Tree,
    prefixes: &Prefixes,
    texts: &Texts,
    interfaces: &Interfaces<'_>,
    problems: &mut Vec<UnreadablePath>,
) -> Vec<MissingHeader> {
    let mut world = World::new(tree, prefixes, interfaces);
    let mut judged = texts.judged(Class::Header, tree, prefixes);
    judged.retain(|path| world.is_public(path));
    let index = HeaderIndex::new(texts);
    let read = parallel::map_single(&judged, |path| wanting(tree, path, &index));
    let mut out = Vec::new();
    for (file, wanting) in judged.into_iter().zip(read) {
        let includes = match wanting {
            Ok(includes) => includes,
            Err(reason) => {
                problems.push(UnreadablePath { path: file, reason });
                continue;
            }
        };
        for include in includes {
            if world.lacks(&file, &include) {
                let elsewhere = index.elsewhere(&include.name).map(Path::to_path_buf);
                out.push(MissingHeader { file: file.clone(), include, elsewhere });
            }
        }
    }
    problems.extend(world.unread);
    out
}

/// Those `#include` directives of a header that every compiler reaches (`header::certain`), and for
/// which the index has no file. The error is a reason for the report.
fn wanting(tree: &dyn Tree, path: &Path, index: &HeaderIndex<'_>) -> Result<Vec<Include>, String> {
    let text = read(tree, path, MOST)?;
    let may_lack = |name: &[u8]| !index.has(&plain(name));
    if !header::named(&text).any(|(name, _)| may_lack(name)) {
        return Ok(Vec::new());
    }
    let mut met = FastSet::default();
    let mut out = header::certain(&text);
    out.retain(|include| may_lack(&include.name) && met.insert(include.name.clone()));
    Ok(out)
}

/// An included name with `.` and `..` resolved. Leading `..` parts are dropped.
fn plain(name: &[u8]) -> Cow<'_, [u8]> {
    let is_plain = |part: &[u8]| !part.is_empty() && part != b"." && part != b"..";
    if name.split(|b| *b == b'/').all(is_plain) {
        return Cow::Borrowed(name);
    }
    let path = without_dots(Path::new(OsStr::from_bytes(name)));
    let parts = path.iter().map(OsStr::as_bytes).skip_while(|part| *part == b"..");
    Cow::Owned(parts.collect::<Vec<_>>().join(&b'/'))
}

/// The last two parts of a path.
fn end(path: &[u8]) -> &[u8] {
    let mut slashes = memchr::memrchr_iter(b'/', path);
    slashes.nth(1).map_or(path, |at| &path[at + 1..])
}

fn last(path: &[u8]) -> &[u8] {
    memchr::memrchr(b'/', path).map_or(path, |at| &path[at + 1..])
}

/// The walked headers, by the ends of their paths. Headers below `--lib-path` satisfy no include,
/// and are only listed as candidates: a build directory there may have a header that was not
/// installed.
struct HeaderIndex<'a> {
    by_end: FastMap<&'a [u8], Vec<&'a [u8]>>,
    by_name: FastMap<&'a [u8], &'a [u8]>,
    beside: FastMap<&'a [u8], &'a [u8]>,
}

impl<'a> HeaderIndex<'a> {
    fn new(texts: &'a Texts) -> Self {
        let mut index = Self {
            by_end: FastMap::default(),
            by_name: FastMap::default(),
            beside: FastMap::default(),
        };
        let of = |texts: &'a [WalkedText]| {
            let headers = texts.iter().filter(|text| text.class == Class::Header);
            headers.map(|text| text.path.as_os_str().as_bytes())
        };
        for path in of(&texts.audited) {
            index.by_end.entry(end(path)).or_default().push(path);
            index.by_name.entry(last(path)).or_insert(path);
        }
        for path in of(&texts.beside) {
            index.beside.entry(last(path)).or_insert(path);
        }
        index
    }

    /// True if the path of an audited header ends with this name.
    fn has(&self, name: &[u8]) -> bool {
        if !name.contains(&b'/') {
            return self.by_name.contains_key(name);
        }
        let fits = |path: &&[u8]| {
            path.strip_suffix(name).is_some_and(|before| before.last() == Some(&b'/'))
        };
        self.by_end.get(end(name)).is_some_and(|paths| paths.iter().any(fits))
    }

    fn elsewhere(&self, name: &[u8]) -> Option<&'a Path> {
        let found = self.by_name.get(last(name)).or_else(|| self.beside.get(last(name)));
        found.map(|path| Path::new(OsStr::from_bytes(path)))
    }
}

/// Decides whether an included header is missing, by the file system and the package files.
struct World<'a> {
    tree: &'a dyn Tree,
    prefixes: &'a Prefixes,
    interfaces: &'a Interfaces<'a>,
    named: FastSet<&'a Path>,
    /// For each directory that was looked up: true if its subdirectory `include` has public
    /// headers.
    roots: FastMap<PathBuf, bool>,
    /// For each prefix that was looked up: true if all its packages, and all packages that they
    /// require, are known.
    closed: FastMap<Option<PathBuf>, bool>,
    /// Directories that a compiler may search by default or with `-I`; `None` until first use.
    searched: Option<Vec<PathBuf>>,
    found: FastMap<Vec<u8>, bool>,
    /// Directories that could not be listed. Each of these directories may have any header, so no
    /// further missing header is reported once this list has an entry.
    unread: Vec<UnreadablePath>,
    is_whole_system: bool,
}

impl<'a> World<'a> {
    fn new(tree: &'a dyn Tree, prefixes: &'a Prefixes, interfaces: &'a Interfaces<'a>) -> Self {
        let sees_usr = prefixes.dirs().iter().any(|dir| Path::new("/usr").starts_with(dir));
        let can_compile = tree.kind(Path::new("/usr/include/stdio.h")) == Ok(EntryType::File);
        Self {
            tree,
            prefixes,
            interfaces,
            named: interfaces.dirs.iter().map(PathBuf::as_path).collect(),
            roots: FastMap::default(),
            closed: FastMap::default(),
            searched: None,
            found: FastMap::default(),
            unread: Vec::new(),
            is_whole_system: interfaces.sees_system && sees_usr && can_compile,
        }
    }

    /// True for a header that users of a package may include.
    fn is_public(&mut self, path: &Path) -> bool {
        let name = path.file_name().map(OsStr::as_bytes).unwrap_or_default();
        let mut parts = name.rsplitn(2, |b| *b == b'.');
        let (last, before) = (parts.next().unwrap_or_default(), parts.next());
        if before.is_some() && !ENDS.contains(&last) {
            return false;
        }
        // The includes of a compiler's own headers depend on its version and on the language.
        let of_compiler = ["c++", "clang", "gcc", "gcc-cross", "src"];
        if path.iter().any(|part| of_compiler.iter().any(|name| part == *name)) {
            return false;
        }
        path.ancestors().skip(1).any(|dir| {
            self.named.contains(dir)
                || dir.ends_with("include") && dir.parent().is_some_and(|dir| self.is_root(dir))
        })
    }

    /// True if a directory looks like an install prefix: its `include` directory then has public
    /// headers.
    fn is_root(&mut self, dir: &Path) -> bool {
        if let Some(known) = self.roots.get(dir) {
            return *known;
        }
        let is_dir = |name: &str| self.tree.kind(&dir.join(name)) == Ok(EntryType::Directory);
        let is_root = dir.ends_with("usr")
            || dir.parent().is_some_and(is_store)
            || self.prefixes.dirs().iter().any(|given| given == dir)
            || ["lib", "lib64", "share"].iter().any(|name| is_dir(name));
        self.roots.insert(dir.to_path_buf(), is_root);
        is_root
    }

    /// True if the prefix of `file` should have the included header, and no directory that the
    /// compiler may search has it.
    fn lacks(&mut self, file: &Path, include: &Include) -> bool {
        let name = include.name.as_slice();
        if name.starts_with(b"/") || name.contains(&b'\\') {
            return false;
        }
        let dir = file.parent().unwrap_or(file);
        let (above, has_dir) = match memchr::memrchr(b'/', name) {
            Some(at) => (&name[..at], true),
            None => (&b""[..], false),
        };
        // A directory beside the including header belongs to the same package.
        let beside = dir.join(OsStr::from_bytes(above));
        let is_own =
            include.quoted && has_dir && self.tree.kind(&beside) == Ok(EntryType::Directory);
        let whole = self.is_whole_system && file.starts_with("/usr");
        let is_likely = is_own || self.is_closed(file) && self.resembles(file, include, whole);
        is_likely && !self.is_found(dir, name)
    }

    /// True if the included name suggests that the prefix should have the header.
    ///
    /// - If the name has directories, the first one must exist in a directory that compilers
    ///   search for users of the header.
    /// - A name without a directory must be in quotes. On a whole system, it must share its
    ///   first four letters with the name of the including file, or with the name of the
    ///   directory of that file. In other prefixes, it must begin with the name of the including
    ///   directory, followed by `_` or `-`.
    fn resembles(&self, file: &Path, include: &Include, is_whole: bool) -> bool {
        let name = plain(&include.name);
        let dir = file.parent().unwrap_or(file);
        if self.is_adapter(file, &name) {
            return false;
        }
        if let Some(at) = memchr::memchr(b'/', &name) {
            let first = Path::new(OsStr::from_bytes(&name[..at]));
            let own = self.prefixes.locate(file).prefix;
            let is_other = |dir: &&Path| self.prefixes.locate(dir).prefix != own;
            let others = self.named.iter().copied().filter(is_other);
            // A directory above the header counts only if compilers search it for this include.
            let is_searched = |one: &&Path| {
                include.quoted && *one == dir
                    || one.ends_with("include")
                    || self.named.contains(*one)
            };
            let mut dirs = dir.ancestors().filter(is_searched).chain(others);
            return !SHARED.iter().any(|shared| first == *shared)
                && dirs.any(|dir| {
                    dir.parent().is_some()
                        && self.tree.kind(&dir.join(first)) == Ok(EntryType::Directory)
                });
        }
        let of = |path: Option<&'_ OsStr>| path.map(OsStr::as_bytes).unwrap_or_default().to_vec();
        let (dir, file) = (of(dir.file_name()), of(file.file_name()));
        if is_whole {
            let is_like = |other: &[u8]| {
                let pairs = name.iter().zip(other);
                pairs.take_while(|(a, b)| a.eq_ignore_ascii_case(b)).count() >= 4
            };
            return include.quoted && (is_like(&file) || is_like(&dir));
        }
        let start = name.get(..dir.len()).filter(|start| start.eq_ignore_ascii_case(&dir));
        let next = name.get(dir.len());
        include.quoted && dir.len() >= 3 && start.is_some() && matches!(next, Some(b'_' | b'-'))
    }

    /// True if `file` lies below `external`, where a library keeps adapters for other libraries,
    /// and the directory of the included header does not exist. For example,
    /// `boost/numeric/odeint/external/mtl4` includes `boost/numeric/mtl/mtl.hpp`.
    fn is_adapter(&self, file: &Path, name: &[u8]) -> bool {
        let Some(at) = memchr::memrchr(b'/', name) else { return false };
        let above = Path::new(OsStr::from_bytes(&name[..at]));
        let is_dir = |dir: &Path| self.tree.kind(&dir.join(above)) == Ok(EntryType::Directory);
        file.iter().any(|part| part == "external") && !file.ancestors().skip(1).any(is_dir)
    }

    /// True if all packages in the prefix of `file`, and all packages that they require, are known.
    /// The header then cannot come from another package. Always true for `/usr` of a whole system.
    fn is_closed(&mut self, file: &Path) -> bool {
        if self.is_whole_system && file.starts_with("/usr") {
            return true;
        }
        let prefix = self.prefixes.locate(file).prefix;
        if let Some(known) = self.closed.get(&prefix) {
            return *known;
        }
        let is_here = |path: &Path| self.prefixes.locate(path).prefix == prefix;
        let mut packages = self.interfaces.pkg_config.iter().filter(|one| is_here(&one.path));
        let mut configs = self.interfaces.cmake.iter().filter(|one| is_here(&one.path));
        let has_any = packages.clone().next().is_some() || configs.clone().next().is_some();
        let is_known = |one: &PkgConfigFile| {
            one.unmet.is_empty() && !one.has_unread && one.content.defect.is_none()
        };
        let is_closed = has_any && packages.all(is_known) && configs.all(is_met);
        self.closed.insert(prefix, is_closed);
        is_closed
    }

    /// True if a directory that the compiler may search has the header, or cannot be read.
    fn is_found(&mut self, dir: &Path, name: &[u8]) -> bool {
        let relative = Path::new(OsStr::from_bytes(name));
        let is_there = |tree: &dyn Tree, dir: &Path| {
            !matches!(tree.kind(&dir.join(relative)), Err(Errno::NOENT | Errno::NOTDIR))
        };
        if dir.ancestors().take(12).any(|dir| is_there(self.tree, dir)) {
            return true;
        }
        if let Some(known) = self.found.get(name) {
            return *known;
        }
        let tree = self.tree;
        let is_there = self.searched().iter().any(|dir| is_there(tree, dir));
        let is_found = is_there || !self.unread.is_empty();
        self.found.insert(name.to_vec(), is_found);
        is_found
    }

    /// The include directories that package files name, and those of prefixes, of the system and
    /// of its compilers. Their subdirectories are added, because users may name a subdirectory
    /// with `-I`.
    fn searched(&mut self) -> &[PathBuf] {
        if self.searched.is_none() {
            let mut dirs = self.interfaces.dirs.clone();
            for given in self.prefixes.dirs() {
                dirs.extend(["include", "usr/include"].map(|end| given.join(end)));
            }
            dirs.extend(["/usr/include", "/usr/local/include"].map(PathBuf::from));
            let roots = self.roots.iter().filter(|(_, is_root)| **is_root);
            dirs.extend(roots.map(|(dir, _)| dir.join("include")));
            for (top, end) in [("/usr/lib/gcc", "include"), ("/usr/lib/clang", "include")] {
                let versions = self.inside(Path::new(top)).into_iter();
                let below = versions.flat_map(|dir| [self.inside(&dir), vec![dir]].concat());
                dirs.extend(below.map(|dir| dir.join(end)));
            }
            dirs.extend(self.inside(Path::new("/usr/include/c++")));
            dirs.arrange();
            dirs.dedup();
            let inside: Vec<PathBuf> = dirs.iter().flat_map(|dir| self.inside(dir)).collect();
            dirs.extend(inside);
            dirs.arrange();
            dirs.dedup();
            self.searched = Some(dirs);
        }
        self.searched.as_deref().unwrap_or_default()
    }

    /// The directories and links in a directory. Records an error if the directory exists and
    /// cannot be listed.
    fn inside(&mut self, dir: &Path) -> Vec<PathBuf> {
        let mut out = Vec::new();
        let listed = self.tree.list(dir, &mut |name, node| {
            if matches!(node, DirEntryKind::Kind(EntryType::Directory) | DirEntryKind::Link) {
                out.push(dir.join(name));
            }
        });
        if let Err(errno) = listed
            && !is_answer(errno)
        {
            let reason = walk::describe(errno);
            self.unread.push(UnreadablePath { path: dir.to_path_buf(), reason });
        }
        out
    }
}

/// True if every evaluation of a CMake package reached its end and found no absent dependency.
fn is_met(package: &CMakePackage) -> bool {
    let outcomes =
        [&package.outcome].into_iter().chain(package.components.iter().map(|(_, one)| one));
    outcomes.into_iter().all(|outcome| {
        let is_absent = outcome.events.iter().any(|event| {
            matches!(&event.kind, EventKind::Dependency { found: FindResult::Absent, .. })
        });
        outcome.gave_up.is_none() && !is_absent
    })
}

#[cfg(test)]
mod tests {
    use super::{end, plain};

    #[test]
    fn ends_of_paths() {
        assert_eq!(end(b"/usr/include/a/b.h"), b"a/b.h");
        assert_eq!(end(b"a/b.h"), b"a/b.h");
        assert_eq!(end(b"b.h"), b"b.h");
        assert_eq!(&*plain(b"a/b.h"), b"a/b.h");
        assert_eq!(&*plain(b"../../a/./x/..//b.h"), b"a/b.h");
    }
}
