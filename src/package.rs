//! Packages: the prefix that contains a file, and the name of the package in that prefix. Both
//! follow from paths alone: from the given paths, and from store paths of Nix and Guix.

use crate::id::FastSet;
use std::borrow::Cow;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The location of a file: its prefix, if any, and its path below the prefix, else its absolute
/// path.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Located {
    /// The prefix that contains the file; `None` if no prefix does.
    pub prefix: Option<PathBuf>,
    /// The path below the prefix; the absolute path if there is no prefix.
    pub path: PathBuf,
}

impl Located {
    /// The absolute path of the file: the prefix joined with `path`.
    pub fn full_path(&self) -> PathBuf {
        match &self.prefix {
            Some(prefix) => prefix.join(&self.path),
            None => self.path.clone(),
        }
    }
}

/// A package, identified by its directory: a store item or another prefix.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PackageId {
    /// The directory of the package: a store item, or another prefix.
    pub prefix: PathBuf,
    /// The name of a store item without hash and version; empty if the prefix is not a store item.
    pub name: String,
}

/// The prefixes of a run: the directories to which reported paths are relative.
#[derive(Clone, Debug, Default)]
pub struct Prefixes {
    /// `--prefix` with links resolved. If set, this directory is the only prefix outside of stores.
    stated: Option<PathBuf>,
    /// Given directories with links resolved, longest first.
    dirs: Vec<PathBuf>,
    /// Directories of given files.
    file_dirs: FastSet<PathBuf>,
    /// Single files outside of these directories that may be read.
    files: FastSet<PathBuf>,
}

/// The directory into which a Python wheel was unpacked, derived from the path of the wheel's
/// metadata (`DIRECTORY/NAME.dist-info/METADATA`). `None` for other paths.
pub fn wheel_directory(metadata: &Path) -> Option<&Path> {
    let folder = metadata.as_os_str().as_bytes().strip_suffix(b".dist-info/METADATA")?;
    Path::new(OsStr::from_bytes(folder)).parent()
}

const STORES: [&str; 2] = ["/nix/store", "/gnu/store"];

/// The marks of an extracted package in the package cache of a conda root: a directory and a file
/// that exist if `dir` is such a package. `None` for a directory in a place of another name.
///
/// conda extracts each package to `ROOT/pkgs/NAME`, and links or copies its files to ROOT or to an
/// environment. Nothing is started in the cache.
pub fn cached_package_marks(dir: &Path) -> Option<[PathBuf; 2]> {
    let cache = dir.parent().filter(|cache| cache.file_name() == Some(OsStr::new("pkgs")))?;
    Some([cache.parent()?.join("conda-meta"), dir.join("info/index.json")])
}

/// True if `dir` is a store, a directory in which each item is its own prefix.
pub fn is_store(dir: &Path) -> bool {
    STORES.iter().any(|store| Path::new(store) == dir)
}

/// True if `dir` is a store or contains one.
pub fn holds_store(dir: &Path) -> bool {
    STORES.iter().any(|store| Path::new(store).starts_with(dir))
}

/// Length of the hash in the name of a store item, in characters.
const HASH: usize = 32;

impl Prefixes {
    /// Prefixes without given directories; `stated` is `--prefix`.
    pub fn stated(stated: Option<PathBuf>) -> Self {
        Self { stated, ..Self::default() }
    }

    /// Adds a given directory.
    pub fn add_dir(&mut self, dir: PathBuf) {
        let len = dir.as_os_str().len();
        let place = self.dirs.partition_point(|other| other.as_os_str().len() >= len);
        self.dirs.insert(place, dir);
    }

    /// Given directories, longest first.
    pub fn dirs(&self) -> &[PathBuf] {
        &self.dirs
    }

    /// Adds the directory of a given file.
    pub fn add_dir_of(&mut self, file: &Path) {
        if let Some(dir) = file.parent().filter(|dir| !self.file_dirs.contains(*dir)) {
            self.file_dirs.insert(dir.to_path_buf());
        }
    }

    /// Adds a file that may be read although it is outside of all prefixes.
    pub fn add_file(&mut self, file: PathBuf) {
        self.files.insert(file);
    }

    /// True if `path` is an added file, is in the stated or a given directory, or is beside a given
    /// file. False for a path in a store item that was not given.
    pub fn contain(&self, path: &Path) -> bool {
        self.stated.iter().chain(&self.dirs).any(|dir| path.starts_with(dir))
            || self.files.contains(path)
            || path.parent().is_some_and(|dir| self.file_dirs.contains(dir))
    }

    /// The location of the file at `path`. A store item is always the prefix of its files.
    pub fn locate(&self, path: &Path) -> Located {
        let prefix = store_item(path).or_else(|| self.given(path).map(Path::to_path_buf));
        let below = prefix.as_ref().and_then(|prefix| path.strip_prefix(prefix).ok());
        let below = below.filter(|below| !below.as_os_str().is_empty());
        match below {
            Some(below) => Located { path: below.to_path_buf(), prefix },
            None => Located { prefix: None, path: path.to_path_buf() },
        }
    }

    /// The prefix of the file at `path`, which must be outside of stores. `None` if no prefix
    /// contains the file.
    pub fn given(&self, path: &Path) -> Option<&Path> {
        if let Some(stated) = &self.stated {
            return path.starts_with(stated).then_some(stated);
        }
        let of_dir = self.dirs.iter().find(|dir| path.starts_with(dir));
        of_dir.or_else(|| self.file_dirs.get(path.parent()?)).map(PathBuf::as_path)
    }

    /// The package that a prefix holds.
    pub fn package(prefix: &Path) -> PackageId {
        let item = store_item(prefix).filter(|item| item == prefix);
        let name = item.and_then(|item| Some(without_version(item_name(&item)?).to_owned()));
        PackageId { prefix: prefix.to_path_buf(), name: name.unwrap_or_default() }
    }
}

/// The store that contains `path`; `None` if `path` is outside of stores or is itself a store. The
/// path may be in a store item, or in another directory of the store, such as the one in which Nix
/// hard-links identical files.
pub fn store_of(path: &Path) -> Option<&'static str> {
    STORES.iter().copied().find(|store| path.starts_with(store) && path != Path::new(store))
}

/// The store item that is or contains `path`; `None` if there is none.
pub fn store_item(path: &Path) -> Option<PathBuf> {
    STORES.iter().find_map(|store| {
        let below = path.strip_prefix(store).ok()?;
        let item = below.components().next()?;
        is_item_name(item.as_os_str()).then(|| Path::new(store).join(item))
    })
}

/// True for the file name of a store item: a hash, a dash and a name.
pub fn is_item_name(name: &OsStr) -> bool {
    let bytes = name.as_bytes();
    let named = bytes.len() > HASH + 1 && bytes[HASH] == b'-';
    named && bytes[..HASH].iter().all(u8::is_ascii_alphanumeric)
}

/// The name in the path of a store item, without the hash.
fn item_name(item: &Path) -> Option<&str> {
    item.file_name()?.to_str()?.get(HASH + 1..)
}

/// A store item's name up to the first dash that a digit follows (like Nix's `parseDrvName`).
fn without_version(name: &str) -> &str {
    let bytes = name.as_bytes();
    let dash = (0..bytes.len().saturating_sub(1))
        .find(|i| bytes[*i] == b'-' && bytes[i + 1].is_ascii_digit());
    &name[..dash.unwrap_or(name.len())]
}

/// True for a byte that the name of a store item may contain (Nix's `checkName`).
fn is_of_item(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"+-._?=".contains(&byte)
}

/// `text` with the path of each store item replaced by the name of its package. A rebuild of the
/// package then does not change the text.
pub fn without_hashes(text: &[u8]) -> Cow<'_, [u8]> {
    if !text.contains(&b'/') {
        return Cow::Borrowed(text);
    }
    let mut out = Vec::new();
    let mut rest = text;
    while let Some(at) = STORES.iter().filter_map(|store| find(rest, store.as_bytes())).min() {
        let item_at = (at + "/nix/store/".len()).min(rest.len());
        let end = rest[item_at..].iter().position(|b| !is_of_item(*b));
        let end = end.map_or(rest.len(), |n| item_at + n);
        let item = Path::new(OsStr::from_bytes(&rest[at..end]));
        out.extend_from_slice(&rest[..at]);
        match store_item(item).as_deref().and_then(item_name) {
            Some(item) => out.extend_from_slice(without_version(item).as_bytes()),
            None => out.extend_from_slice(&rest[at..end]),
        }
        rest = &rest[end..];
    }
    out.extend_from_slice(rest);
    Cow::Owned(out)
}

fn find(text: &[u8], what: &[u8]) -> Option<usize> {
    text.windows(what.len()).position(|window| window == what)
}

/// The search-path entry with which `file` finds libraries in `directory`. The entry is relative to
/// `$ORIGIN` if both paths are in the same store item or, outside of stores, below the same
/// top-level directory. Otherwise, the entry is absolute. `None` if `file` has no parent directory.
pub fn search_entry(file: &Path, directory: &Path) -> Option<PathBuf> {
    let from = file.parent()?;
    let common = from.components().zip(directory.components()).take_while(|(a, b)| a == b).count();
    let in_store = ["/nix/store", "/gnu/store"].iter().any(|store| directory.starts_with(store));
    if common < if in_store { 4 } else { 2 } {
        return Some(directory.to_path_buf());
    }
    let mut way = PathBuf::from("$ORIGIN");
    way.extend(std::iter::repeat_n("..", from.components().count() - common));
    way.extend(directory.components().skip(common));
    Some(way)
}

/// The directory that a search path must name for the loader to find a library in `directory`. If
/// `directory` is `DIR/glibc-hwcaps/NAME`, this is `DIR`: the loader adds the rest itself.
pub fn searched_directory(directory: &Path) -> &Path {
    let above = directory.parent().filter(|above| above.ends_with("glibc-hwcaps"));
    above.and_then(Path::parent).unwrap_or(directory)
}

/// True for a directory below `lib` that linkers do not search by default. They do search `lib`
/// itself and `lib/x86_64-linux-gnu`. `/var/lib` holds the state of programs, so its `lib` is not a
/// library directory.
pub fn is_private(directory: &Path) -> bool {
    let names: Vec<&[u8]> =
        directory.components().map(|name| name.as_os_str().as_bytes()).collect();
    let is_lib = |name: &&[u8]| [&b"lib"[..], b"lib32", b"lib64", b"libx32"].contains(name);
    let lib = names.iter().rposition(is_lib);
    let lib = lib.filter(|lib| !names[..*lib].ends_with(&[&b"var"[..]]));
    match lib.map(|lib| &names[lib + 1..]) {
        None | Some([]) => false,
        Some([only]) => !is_triplet(only),
        Some(_) => true,
    }
}

/// True for the name of a directory with the libraries of one machine and C library, such as
/// `x86_64-linux-gnu` or `armv7-alpine-linux-musleabihf`.
fn is_triplet(name: &[u8]) -> bool {
    const KERNEL: &[u8] = b"-linux-";
    let abi = memchr::memmem::find(name, KERNEL).map(|at| &name[at + KERNEL.len()..]);
    let starts: [&[u8]; 4] = [b"gnu", b"musl", b"uclibc", b"android"];
    abi.is_some_and(|abi| starts.iter().any(|start| abi.starts_with(start)))
}

#[cfg(test)]
mod tests {
    use super::{Prefixes, is_private, without_hashes};
    use std::path::{Path, PathBuf};

    const ITEM: &str = "/nix/store/0123456789abcdfghijklmnpqrsvwxyz-miopen-6.2.2";

    #[test]
    fn a_store_item_is_the_prefix_whether_given_or_not() {
        let mut prefixes = Prefixes::default();
        prefixes.add_dir(PathBuf::from("/nix/store"));
        let located = prefixes.locate(Path::new(&format!("{ITEM}/lib/a.so")));
        assert_eq!(located.prefix.as_deref(), Some(Path::new(ITEM)));
        assert_eq!(located.path, Path::new("lib/a.so"));
        assert_eq!(Prefixes::package(Path::new(ITEM)).name, "miopen");
    }

    #[test]
    fn the_longest_given_directory_wins_and_files_come_last() {
        let mut prefixes = Prefixes::default();
        prefixes.add_dir(PathBuf::from("/opt"));
        prefixes.add_dir(PathBuf::from("/opt/rocm"));
        prefixes.add_dir_of(Path::new("/srv/x"));
        let at = |path: &str| prefixes.locate(Path::new(path));
        assert_eq!(at("/opt/rocm/lib/a").prefix.as_deref(), Some(Path::new("/opt/rocm")));
        assert_eq!(at("/srv/a").path, Path::new("a"));
        assert_eq!(at("/srv/b/a").prefix, None);
    }

    #[test]
    fn a_stated_prefix_wins_over_all_but_store_items() {
        let mut prefixes = Prefixes::stated(Some("/usr".into()));
        prefixes.add_dir(PathBuf::from("/usr/lib"));
        prefixes.add_dir_of(Path::new("/usr/bin/x"));
        let at = |path: &str| prefixes.locate(Path::new(path));
        assert_eq!(at("/usr/lib/a").path, Path::new("lib/a"));
        assert_eq!(at("/usr/bin/x").prefix.as_deref(), Some(Path::new("/usr")));
        assert_eq!(at("/opt/a").prefix, None);
        assert_eq!(at(&format!("{ITEM}/lib/a")).prefix.as_deref(), Some(Path::new(ITEM)));
    }

    #[test]
    fn hashes_go_and_names_stay() {
        let text = format!("{ITEM}/lib:/x");
        assert_eq!(&*without_hashes(text.as_bytes()), b"miopen/lib:/x");
        let quoted = format!("named '{ITEM}', and /nix/store");
        assert_eq!(&*without_hashes(quoted.as_bytes()), b"named 'miopen', and /nix/store");
    }

    #[test]
    fn private_directories() {
        let cases = [
            ("/usr/lib", false),
            ("/usr/lib/gimp", true),
            ("/usr/lib/x86_64-linux-gnu", false),
            ("/usr/lib/armv7-alpine-linux-musleabihf", false),
            ("/usr/lib/my-cool-plugins", true),
            ("/usr/lib/my-linux-plugins", true),
            ("/usr/lib/x86_64-linux-gnu/gimp", true),
            ("/var/lib/jenkins/stage", false),
            ("/var/lib/jenkins/stage/lib/plugins", true),
        ];
        for (directory, expected) in cases {
            assert_eq!(is_private(Path::new(directory)), expected, "{directory}");
        }
    }
}
