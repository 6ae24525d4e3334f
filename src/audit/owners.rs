//! Finds the Debian packages that own files, in dpkg's lists of installed files. One pass over
//! the lists looks up all names. `installed` looks up the owners of its candidates, and
//! `archive_owners` looks up the owners of archives. Without dpkg's lists, no file has an owner.
//!
//! The result is the same as from `dpkg -S FILE`, with two exceptions. A path is also found if a
//! list spells the path through a link to its directory (`/lib` on a merged `/usr`). If a file is
//! diverted, each path belongs to the package whose file is there: the original path to the
//! diverting package, the new path to the other package.

use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::parallel;
use crate::text::last_part;
use crate::tree::{DirEntryKind, EntryType, Opened, Tree};
use memchr::memmem::Finder;
use std::cell::RefCell;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The directory of dpkg's file lists, each named after its package: `libfoo1:amd64.list`.
const LISTS: &str = "/var/lib/dpkg/info";
/// dpkg's list of diversions. Each diversion has three lines: a path, the path to which dpkg
/// moves the file, and the diverting package (`:` for the administrator). The diverting
/// package's own file is not moved.
const DIVERSIONS: &str = "/var/lib/dpkg/diversions";
/// dpkg's list of the architectures whose packages may be installed, one per line, the system's own
/// first.
const ARCHITECTURES: &str = "/var/lib/dpkg/arch";

/// Number of lists that are read in parallel between two checks of `MOST_OF_ALL`.
const AT_ONCE: usize = 256;
/// Limit for one list, in bytes. A longer list is skipped.
const MOST_OF_LIST: u64 = 32 << 20;
/// Limit for all lists, in bytes. Once the total exceeds this limit, no further lists are read.
/// A desktop has 4,000 lists with 40 MB in total.
const MOST_OF_ALL: usize = 256 << 20;
/// Initial size, in bytes, of a thread's memory for lists. Most lists are shorter.
const ROOM: usize = 256 << 10;

thread_local! {
    /// The text of a list, in memory that a thread reuses for all lists.
    static LIST: RefCell<Vec<u8>> = RefCell::default();
}

/// A path that an installed package owns.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owned {
    /// The path, with links in its directory resolved if the directory exists.
    pub(super) path: PathBuf,
    /// The name of the package. If the system has several architectures, the name includes the
    /// architecture, as in `libfoo1:amd64`.
    pub(super) package: String,
}

/// The paths that packages own and that end with a requested file name, by file name.
#[derive(Default)]
pub(super) struct Owners {
    by_name: FastMap<Box<[u8]>, Vec<Owned>>,
}

/// A diversion: dpkg installs files for the path `from` at the path `to` instead, except the file
/// of `package`.
struct Diversion {
    from: PathBuf,
    to: PathBuf,
    package: Vec<u8>,
}

impl Owners {
    /// Reads the file lists of all installed packages, and keeps the paths whose last part is in
    /// `names`.
    pub(super) fn read(tree: &dyn Tree, mut names: FastSet<Box<[u8]>>) -> Self {
        let mut out = Self::default();
        if names.is_empty() {
            return out;
        }
        let lists = lists(tree);
        if lists.is_empty() {
            return out;
        }
        let mut directories = Directories { tree, real: FastMap::default() };
        let diversions = diversions(&mut directories);
        // A list has the original path of a diverted file, not the path to which dpkg moved the
        // file. Therefore the names of the original paths are looked up too.
        let diverted = diversions.iter().filter(|one| names.contains(name_of(&one.to)));
        let diverted: Vec<Box<[u8]>> = diverted.map(|one| name_of(&one.from).into()).collect();
        names.extend(diverted);

        let is_mixed = contents(tree, Path::new(ARCHITECTURES), MOST_OF_LIST)
            .is_some_and(|text| lines(&text).count() > 1);
        for (package, path) in listed(tree, &lists, &names) {
            let package = package_name(package);
            let bare = package.split(|byte| *byte == b':').next().unwrap_or_default();
            let path = directories.resolved(Path::new(OsStr::from_bytes(&path)));
            let mut moved = diversions.iter().filter(|one| one.from == path);
            let moved = moved.find(|one| one.package != bare).map(|one| one.to.clone());
            let path = moved.unwrap_or(path);
            let shown = if is_mixed { package } else { bare };
            let package = String::from_utf8_lossy(shown).into_owned();
            out.by_name.entry(name_of(&path).into()).or_default().push(Owned { path, package });
        }
        for owned in out.by_name.values_mut() {
            owned.arrange();
            owned.dedup();
        }
        out
    }

    /// The packages of the file at `path`; empty if no list has it. Links in the directory of
    /// `path` must be resolved.
    pub(super) fn of(&self, path: &Path) -> Vec<&str> {
        let owned = self.named(name_of(path)).iter().filter(|owned| owned.path == path);
        owned.map(|owned| &*owned.package).collect()
    }

    /// The paths with this file name, sorted.
    pub(super) fn named(&self, name: &[u8]) -> &[Owned] {
        self.by_name.get(name).map(Vec::as_slice).unwrap_or_default()
    }
}

/// Resolves the links in directories, and memoises the results.
struct Directories<'t> {
    tree: &'t dyn Tree,
    real: FastMap<PathBuf, PathBuf>,
}

impl Directories<'_> {
    /// `path` with its directory resolved; unchanged if the directory does not exist.
    fn resolved(&mut self, path: &Path) -> PathBuf {
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else {
            return path.to_path_buf();
        };
        let tree = self.tree;
        let real = || tree.real_path(dir).unwrap_or_else(|_| dir.to_path_buf());
        self.real.entry_ref(dir).or_insert_with(real).join(name)
    }
}

/// The paths of all lists, sorted.
fn lists(tree: &dyn Tree) -> Vec<PathBuf> {
    let mut out = Vec::new();
    // If the directory cannot be listed, no file has an owner.
    let _ = tree.list_all(Path::new(LISTS), &mut |name, node| {
        if node == DirEntryKind::Kind(EntryType::File) && name.as_bytes().ends_with(b".list") {
            out.push(Path::new(LISTS).join(name));
        }
    });
    out.arrange();
    out
}

/// The paths in the lists whose last part is one of `names`, each with the path of its list.
fn listed<'l>(
    tree: &dyn Tree,
    lists: &'l [PathBuf],
    names: &FastSet<Box<[u8]>>,
) -> Vec<(&'l Path, Vec<u8>)> {
    // Few lines end with the common end of all requested names. A search for this end skips the
    // other lines.
    let end = [common_end(names), b"\n"].concat();
    let end = Finder::new(&end);
    let mut out = Vec::new();
    let mut bytes = 0;
    for some in lists.chunks(AT_ONCE) {
        let of_list = |text: &[u8]| {
            let wanted = lines_with_end(text, &end).filter(|line| {
                let name = memchr::memrchr(b'/', line).map(|at| &line[at + 1..]);
                name.is_some_and(|name| names.contains(name))
            });
            (text.len(), wanted.map(<[u8]>::to_vec).collect::<Vec<_>>())
        };
        let found = parallel::map(some, |list| {
            LIST.with_borrow_mut(|memory| of_list(contents_in(tree, list, memory)))
        });
        for (list, (len, wanted)) in some.iter().zip(found) {
            bytes += len;
            out.extend(wanted.into_iter().map(|line| (list.as_path(), line)));
        }
        if bytes > MOST_OF_ALL {
            break;
        }
    }
    out
}

fn diversions(directories: &mut Directories<'_>) -> Vec<Diversion> {
    let text = contents(directories.tree, Path::new(DIVERSIONS), MOST_OF_LIST).unwrap_or_default();
    let lines: Vec<&[u8]> = lines(&text).collect();
    let mut path = |bytes: &[u8]| directories.resolved(Path::new(OsStr::from_bytes(bytes)));
    let diversion = |three: &[&[u8]]| match three {
        [from, to, package] => {
            Some(Diversion { from: path(from), to: path(to), package: package.to_vec() })
        }
        _ => None,
    };
    lines.chunks(3).filter_map(diversion).collect()
}

/// The package of a list: its file name without the ending.
fn package_name(list: &Path) -> &[u8] {
    let name = name_of(list);
    name.strip_suffix(b".list").unwrap_or(name)
}

fn name_of(path: &Path) -> &[u8] {
    last_part(path.as_os_str().as_bytes())
}

/// The longest common end of all names.
fn common_end(names: &FastSet<Box<[u8]>>) -> &[u8] {
    let mut all = names.iter().map(|name| &**name);
    let first = all.next().unwrap_or_default();
    all.fold(first, |end, name| {
        let same = end.iter().rev().zip(name.iter().rev()).take_while(|(a, b)| a == b).count();
        &end[end.len() - same..]
    })
}

/// The lines of a text that end with the bytes of `end`, whose last byte is a line feed. If the
/// last line has no line feed, it is always returned.
fn lines_with_end<'t>(text: &'t [u8], end: &Finder<'t>) -> impl Iterator<Item = &'t [u8]> {
    let line = move |feed: usize| {
        let start = memchr::memrchr(b'\n', &text[..feed]).map_or(0, |before| before + 1);
        &text[start..feed]
    };
    let length = end.needle().len();
    let found = end.find_iter(text).map(move |at| line(at + length - 1));
    found.chain((!text.ends_with(b"\n")).then(|| line(text.len())))
}

/// The lines of a text, without empty ones.
fn lines(text: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut rest = text;
    let lines = std::iter::from_fn(move || {
        let end = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
        let line = rest.get(..end).filter(|_| !rest.is_empty())?;
        rest = rest.get(end + 1..).unwrap_or_default();
        Some(line)
    });
    lines.filter(|line| !line.is_empty())
}

/// Reads a list into `memory` and returns its bytes; empty if the list is too long or cannot be
/// read.
fn contents_in<'m>(tree: &dyn Tree, list: &Path, memory: &'m mut Vec<u8>) -> &'m [u8] {
    let Ok(Opened::File(handle)) = tree.open(list) else { return &[] };
    let len = handle.stat().len;
    let Some(len) = usize::try_from(len).ok().filter(|_| len <= MOST_OF_LIST) else { return &[] };
    if memory.len() < len {
        *memory = vec![0; len.max(ROOM)];
    }
    let read = handle.read_at(&mut memory[..len], 0).unwrap_or_default();
    &memory[..read]
}

/// The bytes of a file; `None` if the file has more than `most` bytes, or cannot be read.
pub(super) fn contents(tree: &dyn Tree, path: &Path, most: u64) -> Option<Vec<u8>> {
    let Ok(Opened::File(handle)) = tree.open(path) else { return None };
    let len = handle.stat().len;
    let len = usize::try_from(len).ok().filter(|_| len <= most)?;
    handle.read_new(len, 0).ok()
}

#[cfg(test)]
mod tests {
    use super::{FastSet, Finder, common_end, lines_with_end};

    #[test]
    fn lines_end_like_all_names() {
        let end = |names: &[&str]| {
            let names: FastSet<Box<[u8]>> =
                names.iter().map(|name| name.as_bytes().into()).collect();
            String::from_utf8(common_end(&names).to_vec()).expect("ASCII")
        };
        assert_eq!(end(&["libfoo.a", "foo.a"]), "foo.a");
        assert_eq!(end(&["libfoo.a", "libbar.a"]), ".a");
        assert_eq!(end(&["libfoo.a", "libfoo.so"]), "");
        let lines = |text: &'static str, end: &'static str| {
            let finder = Finder::new(end);
            let found = lines_with_end(text.as_bytes(), &finder);
            found.map(|line| std::str::from_utf8(line).expect("ASCII")).collect::<Vec<_>>()
        };
        assert_eq!(lines("/x.a\n/y.so\n/z.a\n", ".a\n"), ["/x.a", "/z.a"]);
        assert_eq!(lines("/y.so\n/x.a\n/last", ".a\n"), ["/x.a", "/last"]);
        assert_eq!(lines("/x.a\n\n/y.so\n", "\n"), ["/x.a", "", "/y.so"]);
    }
}
