//! The cache and the links that ldconfig will make after an installation. ldconfig reads all
//! configured directories. This module reads only new directories, and directories in which the
//! installation changes libraries. Other directories keep their present cache entries, unless they
//! no longer exist or the installation removes them from the configuration.

use super::cache_file::{Hwcap, NewCacheEntry, bytes};
use super::{conf, scan};
use crate::format::elf::interpreter::{self, Interpreter};
use crate::format::elf::machine;
use crate::id::{FastMap, FastSet};
use crate::order::Arrange as _;
use crate::resolve::cache::{Cache, CacheEntry as Old};
use crate::tree::{EntryType, Handle, Opened, Tree};
use std::cmp::Reverse;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// The path of the cache if the loader binary names none.
const CACHE: &[u8] = b"/etc/ld.so.cache";

/// Largest cache that is read, in bytes.
const MOST_BYTES: u64 = 64 << 20;

/// The links and the cache that ldconfig makes.
pub(super) struct Made {
    /// Links in library directories: the path of each link, and its target.
    pub(super) links: Vec<(PathBuf, PathBuf)>,
    /// The path of the cache, with links in its directories resolved.
    pub(super) cache_path: PathBuf,
    /// The new cache.
    pub(super) cache: Vec<u8>,
}

/// The links and the cache that ldconfig makes in `after`, the system after the installation.
/// `changed` are the paths that the installation adds or removes. `None` if the system `before` the
/// installation has no glibc loader, or no readable cache with entries. It is then unknown if
/// ldconfig runs.
pub(super) fn run(before: &dyn Tree, after: &dyn Tree, changed: &FastSet<PathBuf>) -> Option<Made> {
    let (of, loader) = loader(before)?;
    let cache_path = Path::new(OsStr::from_bytes(loader.cache.as_deref().unwrap_or(CACHE)));
    let old = conf::bytes(before, cache_path, MOST_BYTES)?;
    let (old, big) = parse(&old)?;
    let known: FastSet<PathBuf> = conf::directories(before, &loader).into_iter().collect();
    let touched: FastSet<&Path> = changed
        .iter()
        .filter(|path| path.file_name().is_some_and(scan::may_be_library))
        .filter_map(|path| path.parent())
        .collect();
    let mut run = LdconfigRun {
        after,
        of,
        kept: PresentEntries::new(after, &old),
        seen: FastSet::default(),
        entries: Vec::new(),
        links: Vec::new(),
    };
    for dir in conf::directories(after, &loader) {
        run.directory(&dir, &known, &touched);
    }
    // A directory that is only in the present cache was an argument of an ldconfig call.
    // Directories that the installation removes from the configuration are not read again.
    let lost = known.iter().filter_map(|dir| after.real_path(dir).ok());
    let done: FastSet<PathBuf> = lost.chain(run.seen.iter().cloned()).collect();
    for dir in run.kept.rest(&done) {
        let known = FastSet::from_iter([dir.clone()]);
        run.directory(&dir, &known, &touched);
    }
    let place = after.real_path(cache_path.parent()?).ok()?.join(cache_path.file_name()?);
    let LdconfigRun { links, entries, .. } = run;
    Some(Made { links, cache_path: place, cache: bytes(entries, big) })
}

/// Usual paths of ldconfig.
const LDCONFIG: [&str; 2] = ["/sbin/ldconfig", "/usr/sbin/ldconfig"];

/// The machine family and the built-in strings of the system's glibc loader. If the system has an
/// ldconfig, the loader must be of the same family as ldconfig. `None` if no such loader was found.
fn loader(tree: &dyn Tree) -> Option<(u16, Interpreter)> {
    let open = |path: &str| match tree.open(Path::new(path)) {
        Ok(Opened::File(handle)) => Some(handle),
        _ => None,
    };
    let family = |handle: &Handle| Some(scan::family(scan::machine_of(handle)?));
    let own = LDCONFIG.iter().find_map(|path| family(&open(path)?));
    let mut found = machine::loaders().filter_map(|path| {
        let handle = open(path)?;
        let found = family(&handle).filter(|found| own.is_none_or(|own| own == *found))?;
        let loader = interpreter::read(&handle).ok()?;
        let is_glibc =
            loader.musl.is_none() && (loader.cache.is_some() || loader.release.is_some());
        is_glibc.then_some((found, loader))
    });
    found.next()
}

/// The cache, and true if it is big-endian. `None` if it has no entries in either byte order.
fn parse(bytes: &[u8]) -> Option<(Cache, bool)> {
    let of = |big| Cache::parse(bytes.into(), big).filter(|cache| cache.entries().next().is_some());
    of(false).map(|cache| (cache, false)).or_else(|| of(true).map(|cache| (cache, true)))
}

/// Entries of the present cache, keyed by the real path of their directory.
struct PresentEntries {
    by_dir: FastMap<PathBuf, Vec<NewCacheEntry>>,
    /// Each directory as the cache writes it, with its real path, in the order of the cache.
    dirs: Vec<(PathBuf, PathBuf)>,
}

impl PresentEntries {
    fn new(tree: &dyn Tree, cache: &Cache) -> Self {
        let mut real: FastMap<PathBuf, Option<PathBuf>> = FastMap::default();
        let mut out = Self { by_dir: FastMap::default(), dirs: Vec::new() };
        for entry in cache.entries() {
            let path = Path::new(OsStr::from_bytes(entry.value));
            let Some(dir) = path.parent() else { continue };
            let place = real.entry_ref(dir).or_insert_with(|| tree.real_path(dir).ok());
            let Some(place) = place.clone() else { continue };
            let list = out.by_dir.entry(place.clone()).or_default();
            if list.is_empty() {
                out.dirs.push((dir.to_path_buf(), place));
            }
            list.push(taken(cache, entry));
        }
        out
    }

    /// The directories of the present cache whose real paths are not in `done`. glibc-hwcaps
    /// directories are left out, because they are read with their parents.
    fn rest(&self, done: &FastSet<PathBuf>) -> Vec<PathBuf> {
        let is_rest =
            |(dir, place): &&(PathBuf, PathBuf)| !done.contains(place) && hwcaps_of(dir).is_none();
        self.dirs.iter().filter(is_rest).map(|(dir, _)| dir.clone()).collect()
    }
}

fn taken(cache: &Cache, old: Old<'_>) -> NewCacheEntry {
    let level = u32::try_from(old.hwcap >> 32 & 0x3ff).unwrap_or_default();
    let hwcap = match (cache.hwcaps_name(old.hwcap), old.hwcap) {
        (Some(name), _) => Hwcap::Named(name.to_vec(), level),
        (None, 0) => Hwcap::None,
        (None, bits) => Hwcap::Old(Reverse(bits)),
    };
    let (soname, path) = (old.key.to_vec(), old.value.to_vec());
    NewCacheEntry { flags: old.flags, soname, path, hwcap }
}

/// The name of a directory inside of `glibc-hwcaps`; `None` for any other directory.
fn hwcaps_of(dir: &Path) -> Option<&OsStr> {
    let above = dir.parent()?.file_name()?;
    dir.file_name().filter(|_| above == "glibc-hwcaps")
}

struct LdconfigRun<'a> {
    after: &'a dyn Tree,
    /// The machine family of the libraries that ldconfig accepts.
    of: u16,
    kept: PresentEntries,
    /// Real paths of the directories read so far.
    seen: FastSet<PathBuf>,
    entries: Vec<NewCacheEntry>,
    links: Vec<(PathBuf, PathBuf)>,
}

impl LdconfigRun<'_> {
    /// Reads a directory with its glibc-hwcaps directories.
    fn directory(&mut self, dir: &Path, known: &FastSet<PathBuf>, touched: &FastSet<&Path>) {
        let Ok(real) = self.after.real_path(dir) else { return };
        if !self.seen.insert(real.clone()) {
            return;
        }
        let stays = |real: &Path| known.contains(dir) && !touched.contains(real);
        self.take(dir, &real, stays(&real));
        let mut hwcaps = Vec::new();
        let above = real.join("glibc-hwcaps");
        // The error is ignored, because most directories have no such subdirectory.
        let _ = self.after.list(&above, &mut |name, _| {
            if !name.as_bytes().starts_with(b".") && !name.as_bytes().contains(&b':') {
                hwcaps.push(name.to_owned());
            }
        });
        hwcaps.arrange();
        for name in hwcaps {
            let place = above.join(&name);
            if self.after.kind(&place) != Ok(EntryType::Directory) {
                continue;
            }
            let Ok(place) = self.after.real_path(&place) else { continue };
            if self.seen.insert(place.clone()) {
                let stays = stays(&place);
                self.take(&dir.join("glibc-hwcaps").join(name), &place, stays);
            }
        }
    }

    /// Adds the entries of one directory. If `stays` is true, the installation changes no library
    /// in the directory, and the entries come from the present cache.
    fn take(&mut self, dir: &Path, real: &Path, stays: bool) {
        let file = |name: &OsStr| dir.join(name).into_os_string().into_encoded_bytes();
        if stays {
            let kept = self.kept.by_dir.remove(real).unwrap_or_default();
            self.entries.extend(kept.into_iter().map(|entry| {
                let name = Path::new(OsStr::from_bytes(&entry.path)).file_name();
                let path = name.map_or_else(|| entry.path.clone(), file);
                NewCacheEntry { path, ..entry }
            }));
            return;
        }
        let hwcaps = hwcaps_of(dir).map(|name| name.as_bytes().to_vec());
        for library in scan::libraries(self.after, real, self.of) {
            let path = match &hwcaps {
                Some(_) => file(&library.name),
                None => file(OsStr::from_bytes(&library.soname)),
            };
            let level = u32::from(library.isa_level);
            let hwcap = hwcaps.clone().map_or(Hwcap::None, |name| Hwcap::Named(name, level));
            if hwcaps.is_none() {
                self.links.extend(scan::link(self.after, real, &library));
            }
            let (flags, soname) = (library.flags, library.soname);
            self.entries.push(NewCacheEntry { flags, soname, path, hwcap });
        }
    }
}
