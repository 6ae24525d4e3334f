//! Finds files of the system, outside of the audited files, that define undefined symbols or have
//! the name of a missing library. Symbols are looked up in libraries of the loader's default
//! directories and ld.so.cache. They are looked up in programs too, because a program may load the
//! object with the undefined symbol as a plugin. The names of missing libraries are looked up in
//! the file lists of installed packages. Rules report these files as evidence. The files change no
//! level, cause or fingerprint, and are not added to the corpus.
//!
//! Only names without a candidate in the audited files, the prefix and `--lib-path` are looked up.
//! If the policy is a whitelist, no name is looked up, so that the report is the same on every
//! machine.

use super::binding::BoundClosures;
use super::candidates::Candidates;
use super::owners::{Owned, Owners};
use super::programs;
use crate::diagnosis::Diagnosis;
use crate::facts::Corpus;
use crate::facts::providers::{Providers, defined};
use crate::facts::read;
use crate::facts::replacing::is_replacement;
use crate::format::Reading;
use crate::format::archive::RequestedNames;
use crate::format::elf::{Role, Target, hash};
use crate::id::{FastMap, FastSet, FileId, RootId};
use crate::order::Arrange as _;
use crate::package::{PackageId, Prefixes, store_item, store_of};
use crate::parallel;
use crate::plan::Plan;
use crate::policy::Libc;
use crate::resolve::cache::Cache;
use crate::resolve::loader::{Loader, libc_of};
use crate::text::last_part;
use crate::tree::{DirEntryKind, EntryType, Opened, Stat, Tree};
use crate::wants::Wants;
use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Maximum number of paths of libraries and programs that are looked up. Debian's 59,000 packages
/// have fewer libraries in default directories.
const MOST_FILES: usize = 20_000;
/// Limit, in bytes, for the dynamic tables of the libraries and programs that are read. Once the
/// total exceeds this limit, no further files are read.
const MOST_BYTES: usize = 512 << 20;
/// Number of files that are read in parallel between two checks of `MOST_BYTES`.
const AT_ONCE: usize = 256;
/// Maximum number of libraries, and of programs, that are reported for one object or one missing
/// library.
const MOST: usize = 3;

/// The files of the system that define undefined symbols or have the name of a missing library.
#[derive(Default)]
pub struct Installed {
    /// For each object, the files that define some of its undefined symbols. Libraries come before
    /// programs; in each group, files with more of the symbols come first.
    definers: FastMap<FileId, Vec<Definer>>,
    /// For the name of each missing library, files of installed packages with that name.
    libraries: FastMap<Box<[u8]>, Vec<InstalledLibrary>>,
}

/// A file of the system, outside of the audited files.
#[derive(Clone)]
pub struct InstalledFile {
    /// The path that reports show.
    pub path: Arc<Path>,
    /// The name of the Debian package or store item that owns the file; `None` if it is unknown.
    pub package: Option<String>,
}

/// How a file of the system that defines undefined symbols of an object relates to the process that
/// loads this object.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum DefinerKind {
    /// A library that the process does not load.
    Library,
    /// A library that the process does not load: the process loads another file with the same
    /// soname.
    Shadowed,
    /// A program that defines all looked-up symbols of the object: it may load the object as a
    /// plugin.
    Program,
}

/// A file that defines undefined symbols of an object, and that the process does not load.
struct Definer {
    file: InstalledFile,
    kind: DefinerKind,
    symbols: FastSet<Box<[u8]>>,
}

/// A file that an installed package lists, and that has the name of a missing library.
pub struct InstalledLibrary {
    /// The path of the library, and the package that lists it.
    pub file: InstalledFile,
    /// The class, byte order and machine of the library; `None` if the file no longer exists.
    pub target: Option<Target>,
    /// The C library for which the file was linked; `None` if it needs none, or if the file no
    /// longer exists.
    libc: Option<Libc>,
}

impl Installed {
    /// The files of the system that define `symbol`, and that the process of `object` does not
    /// load.
    pub fn definers(
        &self,
        object: FileId,
        symbol: &[u8],
    ) -> impl Iterator<Item = (&InstalledFile, DefinerKind)> {
        let all = self.definers.get(&object).into_iter().flatten();
        let defining = all.filter(|definer| definer.symbols.contains(symbol));
        defining.map(|definer| (&definer.file, definer.kind))
    }

    /// The files of installed packages with the name of a missing library. Each file is a
    /// library for `target` that a process with `libc` can load, or no longer exists.
    pub fn libraries(
        &self,
        name: &[u8],
        target: Target,
        libc: Libc,
    ) -> impl Iterator<Item = &InstalledLibrary> {
        let all = self.libraries.get(name).into_iter().flatten();
        all.filter(move |one| {
            one.target.is_none_or(|other| other.links_with(target))
                && one.libc.is_none_or(|other| other == libc)
        })
    }
}

/// The input of the search.
#[derive(Clone, Copy)]
pub(super) struct InstalledSearch<'a> {
    pub(super) plan: &'a Plan,
    pub(super) tree: &'a dyn Tree,
    pub(super) corpus: &'a Corpus,
    pub(super) prefixes: &'a Prefixes,
    pub(super) bound: BoundClosures<'a>,
    pub(super) diagnosis: &'a Diagnosis,
    pub(super) providers: &'a Providers,
    pub(super) candidates: &'a Candidates,
}

/// An object's undefined symbols that have no candidate, and the first entry point that loads the
/// object.
struct UnresolvedObject<'a> {
    root: RootId,
    target: Target,
    names: Vec<&'a [u8]>,
}

/// A file of the system that defines some of the looked-up symbols.
struct Hit {
    /// The path of the file, with the links in its directory resolved: the file lists of
    /// packages contain this path.
    real: PathBuf,
    /// The path that reports show: a link in the same directory that is named after the file's
    /// soname, or else `real`.
    shown: PathBuf,
    /// The id of the file, if the audit has read it.
    file: Option<FileId>,
    target: Target,
    /// The C library for which the file was linked; `None` if it needs none.
    libc: Option<Libc>,
    is_program: bool,
    soname: Option<Box<[u8]>>,
    names: Vec<Box<[u8]>>,
}

impl InstalledSearch<'_> {
    /// Runs the search. `None` if no rule wants it, or if there is no name to look up. Also `None`
    /// if the policy is a whitelist, or if every file is an entry point.
    pub(super) fn run(self) -> Option<Installed> {
        let is_asked = self.plan.rule_wants.holds(Wants::INSTALLED)
            && !self.plan.policy.is_closed()
            && !self.plan.every_file_is_root;
        if !is_asked {
            return None;
        }
        let (open, missing) = (self.open(), self.missing());
        if open.is_empty() && missing.is_empty() {
            return None;
        }
        let hits = if open.is_empty() { Vec::new() } else { self.hits(&open) };
        let chosen: Vec<(FileId, Vec<Chosen<'_>>)> =
            open.iter().map(|(file, open)| (*file, self.chosen(*file, open, &hits))).collect();
        let mut names: FastSet<Box<[u8]>> = missing.iter().map(|name| Box::from(*name)).collect();
        let used = chosen.iter().flat_map(|(_, all)| all).map(|one| &one.hit.real);
        names.extend(used.map(|path| Box::from(last_part(path.as_os_str().as_bytes()))));
        let owners = Owners::read(self.tree, names);
        let mut out = Installed::default();
        for (file, chosen) in chosen {
            if !chosen.is_empty() {
                let definers = chosen.into_iter().map(|one| one.definer(&owners));
                out.definers.insert(file, definers.collect());
            }
        }
        for name in missing {
            let found = self.libraries(name, &owners);
            if !found.is_empty() {
                out.libraries.insert(name.into(), found);
            }
        }
        Some(out)
    }

    /// Objects with undefined symbols to look up. Symbols with a candidate are skipped. Symbols
    /// with a version are skipped too: the version names the library that should define them.
    fn open(&self) -> BTreeMap<FileId, UnresolvedObject<'_>> {
        let mut out: BTreeMap<FileId, UnresolvedObject<'_>> = BTreeMap::new();
        for one in &self.diagnosis.undefined {
            let Some(object) = self.corpus.files[one.file].object() else { continue };
            let target = object.header.target();
            let is_at_hand = || self.providers.of(&one.symbol, one.file, target).next().is_some();
            let path = || self.prefixes.locate(&self.corpus.files[one.file].path).path;
            // If a policy lists an archive for a symbol, the object's link lacks this archive. A
            // library of the system would not repair that: it would only add a second copy of the
            // code.
            if one.version.is_some() || is_at_hand() || self.plan.policy.claims(&one.symbol, path) {
                continue;
            }
            let new = || UnresolvedObject { root: one.site.root, target, names: Vec::new() };
            out.entry(one.file).or_insert_with(new).names.push(&one.symbol);
        }
        out
    }

    /// Names of missing libraries to look up. Three kinds are skipped: paths, names of files below
    /// the prefix, and needs of store items.
    fn missing(&self) -> Vec<&[u8]> {
        let mut out: Vec<&[u8]> = Vec::new();
        for one in &self.diagnosis.missing {
            let in_store = store_of(&self.corpus.files[one.file].path).is_some();
            let is_path = one.name.contains(&b'/');
            let is_at_hand =
                || self.candidates.holds(self.corpus, self.prefixes, one.file, &one.name);
            if !in_store && !is_path && !is_at_hand() {
                out.push(&one.name);
            }
        }
        out.arrange();
        out.dedup();
        out
    }

    /// The files of the system that define some of the undefined symbols.
    fn hits(&self, open: &BTreeMap<FileId, UnresolvedObject<'_>>) -> Vec<Hit> {
        let mut names = RequestedNames::default();
        for name in open.values().flat_map(|one| &one.names) {
            names.insert(name, hash::gnu(name));
        }
        let files = self.files(open);
        let mut bytes = 0;
        let mut out = Vec::new();
        for some in files.chunks(AT_ONCE) {
            for (size, hit) in parallel::map_single(some, |file| self.hit(file, &names)) {
                bytes += size;
                out.extend(hit);
            }
            if bytes > MOST_BYTES {
                break;
            }
        }
        out
    }

    /// The files in which symbols are looked up. These are the programs of the system, and the
    /// libraries that the loaders of the objects in `open` find by name in default directories
    /// and ld.so.cache. Audited files and files of `--lib-path` are left out, because they were
    /// searched before.
    fn files(&self, open: &BTreeMap<FileId, UnresolvedObject<'_>>) -> Vec<SystemFile> {
        let BoundClosures { resolver, closures, .. } = self.bound;
        let mut loaders: Vec<_> =
            open.values().map(|open| closures.roots[open.root].root.loader).collect();
        loaders.arrange();
        loaders.dedup();
        let mut paths = Vec::new();
        for loader in loaders {
            paths.extend(self.paths(resolver.loaders.get(loader)));
        }
        // Objects are not linked with a loader, and musl's loader would add a second C library to
        // the process.
        paths.retain(|path| !last_part(path.as_os_str().as_bytes()).starts_with(b"ld-"));
        paths.extend(programs::paths(self.tree));
        paths.arrange();
        paths.dedup();
        paths.truncate(MOST_FILES);
        let found = parallel::map(&paths, |path| match self.tree.look(path) {
            Ok((EntryType::File, stat)) => Some((stat, self.tree.is_link(path))),
            _ => None,
        });
        let mut out: BTreeMap<(u64, u64), SystemFile> = BTreeMap::new();
        for (path, found) in paths.into_iter().zip(found) {
            let Some((stat, is_link)) = found else { continue };
            let place = out.entry((stat.dev, stat.ino)).or_insert_with(|| SystemFile::new(stat));
            if is_link {
                place.links.push(path);
            } else {
                place.real.get_or_insert(path);
            }
        }
        let searched = |place: &SystemFile| {
            let file = self.corpus.file_of(place.stat);
            file.is_some_and(|file| {
                let facts = &self.corpus.files[file];
                facts.audited || facts.provider
            })
        };
        let mut out: Vec<SystemFile> = out.into_values().filter(|place| !searched(place)).collect();
        out.arrange_by_key(SystemFile::path);
        out
    }

    /// The paths of libraries that one loader finds by name in default directories and ld.so.cache.
    /// Links in the paths of directories are resolved.
    fn paths(&self, loader: &Loader) -> Vec<PathBuf> {
        let mut dirs: Vec<PathBuf> = Vec::new();
        let dir = |id| Path::new(OsStr::from_bytes(self.bound.resolver.strings.text(id)));
        dirs.extend(loader.system_dirs.iter().filter_map(|id| self.tree.real_path(dir(*id)).ok()));
        dirs.arrange();
        dirs.dedup();
        let mut out: Vec<PathBuf> = Vec::new();
        for dir in &dirs {
            // A directory that cannot be listed yields no evidence.
            let _ = self.tree.list(dir, &mut |name, node| {
                let is_library = memchr::memmem::find(name.as_bytes(), b".so").is_some();
                if is_library && node != DirEntryKind::Kind(EntryType::Directory) {
                    out.push(dir.join(name));
                }
            });
        }
        let mut real: FastMap<PathBuf, Option<PathBuf>> = FastMap::default();
        for entry in loader.cache.iter().flat_map(Cache::entries) {
            let path = Path::new(OsStr::from_bytes(entry.value));
            let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { continue };
            let dir = real.entry_ref(dir).or_insert_with(|| self.tree.real_path(dir).ok());
            out.extend(dir.as_ref().map(|dir| dir.join(name)));
        }
        out
    }

    /// Reads the tables of one file. Returns the size of the tables in bytes, and the file if it
    /// defines any of `names`.
    fn hit(&self, place: &SystemFile, names: &RequestedNames) -> (usize, Option<Hit>) {
        let path = place.path();
        let reading = Reading { tables: true, ..Reading::default() };
        let Ok(Opened::File(handle)) = self.tree.open(&path) else { return (0, None) };
        let read = read::read(&handle, reading);
        let Some(object) = read.object().filter(|object| object.is_dynamic()) else {
            return (0, None);
        };
        let Some(tables) = &object.tables else { return (0, None) };
        let size = tables.size();
        let library = object.soname().unwrap_or_else(|| last_part(path.as_os_str().as_bytes()));
        let found = defined(tables, names).into_iter().map(|(name, _)| name);
        let found = found.filter(|name| !is_replacement(library, name));
        let names: Vec<Box<[u8]>> = found.map(Box::from).collect();
        if names.is_empty() {
            return (size, None);
        }
        let soname = object.soname().unwrap_or_default();
        let by_soname = place.links.iter().find(|link| {
            link.parent() == path.parent() && last_part(link.as_os_str().as_bytes()) == soname
        });
        let hit = Hit {
            shown: by_soname.cloned().unwrap_or_else(|| path.clone()),
            file: self.corpus.file_of(place.stat),
            target: object.header.target(),
            libc: libc_of(object),
            is_program: object.role == Role::Program,
            soname: object.soname().map(Box::from),
            real: path,
            names,
        };
        (size, Some(hit))
    }

    /// At most three libraries and three programs for an object. A returned library defines some of
    /// the object's looked-up symbols; libraries that define the most of these symbols come first.
    /// A returned program defines all of these symbols. Files that the process loads are skipped,
    /// because the loader's lookups have searched these files. Files for another C library are
    /// skipped too. For an object in a store, only files of that store are taken; for other
    /// objects, only files outside of stores.
    fn chosen<'h>(
        &self,
        file: FileId,
        open: &UnresolvedObject<'_>,
        hits: &'h [Hit],
    ) -> Vec<Chosen<'h>> {
        let closure = &self.bound.closures.roots[open.root];
        let scope: FastSet<FileId> = closure.in_scope().map(|(_, file)| file).collect();
        let loaded = scope.iter().filter_map(|file| self.corpus.files[*file].object());
        let loaded: FastSet<&[u8]> = loaded.filter_map(|object| object.soname()).collect();
        let names: FastSet<&[u8]> = open.names.iter().copied().collect();
        let store = store_of(&self.corpus.files[file].path);
        let libc = self.bound.resolver.loaders.get(closure.root.loader).libc();
        let fits = |hit: &&Hit| {
            hit.target.links_with(open.target)
                && hit.libc.is_none_or(|other| other == libc)
                && hit.file.is_none_or(|file| !scope.contains(&file))
                && store_of(&hit.real) == store
        };
        let mut out: Vec<Chosen<'h>> = Vec::new();
        for hit in hits.iter().filter(fits) {
            let own = hit.names.iter().filter(|name| names.contains(&***name)).cloned();
            let symbols: FastSet<Box<[u8]>> = own.collect();
            let is_loaded = |soname: &[u8]| loaded.contains(soname);
            let kind = match &hit.soname {
                _ if hit.is_program => DefinerKind::Program,
                Some(soname) if is_loaded(soname) => DefinerKind::Shadowed,
                _ => DefinerKind::Library,
            };
            let least = if hit.is_program { names.len() } else { 1 };
            if symbols.len() >= least {
                out.push(Chosen { hit, kind, symbols });
            }
        }
        out.arrange_by_key(|one| {
            (Reverse(one.symbols.len()), one.hit.shown.as_os_str().to_owned())
        });
        let (mut programs, mut out): (Vec<_>, Vec<_>) =
            out.into_iter().partition(|one| one.kind == DefinerKind::Program);
        programs.truncate(MOST);
        out.truncate(MOST);
        out.extend(programs);
        out
    }

    /// At most three files of installed packages with the file name `name`. Each is a dynamic
    /// object, or no longer exists.
    fn libraries(&self, name: &[u8], owners: &Owners) -> Vec<InstalledLibrary> {
        let target = |path: &Path| match self.tree.open(path) {
            Ok(Opened::File(handle)) => {
                let read = read::read(&handle, Reading { lean: true, ..Reading::default() });
                let object = read.object().filter(|object| object.is_dynamic());
                object.map(|object| (Some(object.header.target()), libc_of(object)))
            }
            Ok(Opened::Directory | Opened::Special(_)) => None,
            Err(errno) => crate::tree::is_answer(errno).then_some((None, None)),
        };
        let library = |owned: &Owned| {
            let package = Some(owned.package.clone());
            let file = InstalledFile { path: owned.path.as_path().into(), package };
            let (target, libc) = target(&owned.path)?;
            Some(InstalledLibrary { file, target, libc })
        };
        owners.named(name).iter().filter_map(library).take(MOST).collect()
    }
}

/// A file of the system that is reported for an object, and those undefined symbols of the
/// object that the file defines.
struct Chosen<'h> {
    hit: &'h Hit,
    kind: DefinerKind,
    symbols: FastSet<Box<[u8]>>,
}

impl Chosen<'_> {
    fn definer(self, owners: &Owners) -> Definer {
        let Self { hit, kind, symbols } = self;
        let item = store_item(&hit.real).map(|item| {
            let PackageId { name, .. } = Prefixes::package(&item);
            name
        });
        let owned = || {
            let packages = owners.of(&hit.real);
            (!packages.is_empty()).then(|| packages.join(", "))
        };
        let package = item.filter(|name| !name.is_empty()).or_else(owned);
        let file = InstalledFile { path: hit.shown.as_path().into(), package };
        Definer { file, kind, symbols }
    }
}

/// A file of the system, with the paths at which it was found: its own path, and links to it.
struct SystemFile {
    stat: Stat,
    real: Option<PathBuf>,
    links: Vec<PathBuf>,
}

impl SystemFile {
    fn new(stat: Stat) -> Self {
        Self { stat, real: None, links: Vec::new() }
    }

    /// The path of the file itself. If only links to the file were found, the path of the first
    /// link.
    fn path(&self) -> PathBuf {
        self.real.clone().or_else(|| self.links.first().cloned()).unwrap_or_default()
    }
}
