//! Selects the files that are read for GPU device code, and finds the processes that load device
//! code. The audit reads code objects, stand-alone bundles, and objects that need HIP's runtime.
//! The command `gpu` reads all objects. Archives are read for that command, or if a policy lists
//! targets. A prefix without device code costs almost nothing, because data directories are listed
//! only if a file may have device code.

use super::binding::ResolvedClosures;
use crate::facts::collect::Collector;
use crate::facts::{Content, Corpus, FileFacts};
use crate::format::elf::{Foreign, Object};
use crate::format::gpu::{self as format, Depth, DeviceCode, TargetId};
use crate::gpu::data::{self, IndexKind, Listing, TENSILE, Tensile};
use crate::gpu::{
    DataSet, Devices, Process, Runtime, TargetCode, Unit, by_target, is_host, offers, profile_of,
};
use crate::id::FileId;
use crate::order::keep_least;
use crate::plan::Plan;
use crate::resolve::Closure;
use crate::tree::{DirEntryKind, EntryType, Errno, Opened, Tree};
use crate::wants::Wants;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsString;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

/// Start of the soname and file name of HIP's runtime.
const RUNTIME: &[u8] = b"libamdhip64.so";
/// Maximum number of bytes that are read from an index of kernel files. The largest index of
/// rocBLAS has 3 MiB.
const MOST_INDEX: u64 = 64 << 20;
/// Maximum number of names that are kept from one directory.
const MOST_NAMES: usize = 200_000;

/// Reads the device code that the plan requests. The result is empty if the plan requests none,
/// or if no file may have device code.
pub(super) fn find(
    plan: &Plan,
    tree: &dyn Tree,
    corpus: &Corpus,
    collector: &Collector<'_>,
    resolved: ResolvedClosures<'_>,
) -> Devices {
    if plan.gpu.is_none() && !plan.rule_wants.holds(Wants::DEVICE_CODE) {
        return Devices::default();
    }
    let has_runtime = corpus.files.iter().any(|facts| is_runtime(&facts.real));
    let loaded = if has_runtime { loaded(corpus, resolved) } else { BTreeSet::new() };
    let wanted = corpus.files.entries().filter(|(file, facts)| {
        (facts.audited || loaded.contains(file)) && may_have_code(plan, facts)
    });
    let files: Vec<FileId> = wanted.map(|(file, _)| file).collect();
    if files.is_empty() {
        return Devices::default();
    }
    let mut out = Devices::default();
    let depths = depths(plan.device_depth(), corpus, collector, files);
    for (file, read) in collector.device_code(corpus, &depths) {
        match read {
            Ok(code) if code == DeviceCode::default() => {}
            Ok(code) => {
                out.unreadable.extend(code.unread.map(|reason| (file, reason.to_owned())));
                if !code.containers.is_empty() || !code.faults.is_empty() || code.wrappers > 0 {
                    out.files.insert(file, code);
                }
            }
            Err(error) => out.unreadable.push((file, error)),
        }
    }
    let packs = kpack_sets(tree, corpus, &mut out);
    data_sets(tree, corpus, &packs, &mut out);
    processes(plan, corpus, resolved, &mut out);
    out
}

/// The read depth of each file: the number of bytes that may be decompressed in the file. The
/// budget in `whole` is shared out in the order of the files. Each file gets the size that its
/// headers state, or the rest of the budget if the rest is smaller. The result then does not depend
/// on the order of threads.
fn depths(
    whole: Depth,
    corpus: &Corpus,
    collector: &Collector<'_>,
    files: Vec<FileId>,
) -> Vec<(FileId, Depth)> {
    let Some(mut left) = whole.inflate else {
        return files.into_iter().map(|file| (file, whole)).collect();
    };
    let listing: Vec<_> = files.into_iter().map(|file| (file, Depth::default())).collect();
    let depth = |(file, read): (FileId, Result<DeviceCode, String>)| {
        let own = read.map_or(0, |code| code.stated_sizes()).min(left);
        left -= own;
        (file, Depth { inflate: Some(own), ..whole })
    };
    collector.device_code(corpus, &listing).into_iter().map(depth).collect()
}

/// The files, audited or not, of all processes that load HIP's runtime.
fn loaded(corpus: &Corpus, resolved: ResolvedClosures<'_>) -> BTreeSet<FileId> {
    let mut out = BTreeSet::new();
    for closure in &resolved.closures.roots {
        let files: Vec<FileId> = closure.in_scope().map(|(_, file)| file).collect();
        if runtime(corpus, closure).is_some() {
            out.extend(files);
        }
    }
    out
}

fn may_have_code(plan: &Plan, facts: &FileFacts) -> bool {
    match &facts.content {
        Content::Elf(_) if facts.foreign().is_some() => facts.foreign() == Some(Foreign::Gpu),
        Content::Elf(object) => plan.gpu.is_some() || needs_runtime(object),
        Content::Other(ident) => format::may_be_container(&ident.bytes),
        // The members of an archive are read only for the command `gpu`, or if a policy lists
        // targets.
        Content::Archive(_) => {
            plan.gpu.is_some() || facts.audited && plan.policy.gpu.targets.is_some()
        }
    }
}

fn needs_runtime(object: &Object) -> bool {
    object.needs.iter().any(|need| object.str(need.name).starts_with(RUNTIME))
}

fn is_runtime(path: &Path) -> bool {
    path.file_name().is_some_and(|name| name.as_bytes().starts_with(RUNTIME))
}

/// HIP's runtime in the scope of an entry point; `None` if the process does not load it.
fn runtime(corpus: &Corpus, closure: &Closure) -> Option<Runtime> {
    closure.in_scope().find_map(|(_, file)| Runtime::at(file, &corpus.files[file].real))
}

/// Adds one data set for each program or library that names existing kpack files, which hold its
/// device code. Returns the paths of these kpack files.
fn kpack_sets(tree: &dyn Tree, corpus: &Corpus, out: &mut Devices) -> BTreeSet<PathBuf> {
    let mut all = BTreeSet::new();
    let (mut sets, mut unknown) = (Vec::new(), Vec::new());
    let read: BTreeMap<&Path, FileId> =
        out.files.keys().map(|file| (&*corpus.files[*file].real, *file)).collect();
    for (file, code) in &out.files {
        let Some(dir) = corpus.files[*file].real.parent() else { continue };
        let (mut offers_of_all, mut first) = (BTreeSet::new(), None);
        for path in &code.kpack_paths {
            if !data::has_known_directory(path) {
                unknown.push((
                    *file,
                    "the directory of its kpack files depends on the GPU: not listed",
                ));
                continue;
            }
            let pattern = crate::tree::without_dots(&dir.join(std::ffi::OsStr::from_bytes(path)));
            let Some(found) = kpack_files(tree, &pattern) else {
                unknown.push((*file, "the directory of its kpack files cannot be listed"));
                continue;
            };
            if !found.is_empty() {
                first.get_or_insert(pattern);
            }
            for (pack, target) in found {
                // If the kpack file was not read, the target in its name is used.
                let own = read.get(&*pack).and_then(|file| out.files.get(file)).map(offers);
                let named = || target.map(|target| TargetCode { target, compressed: false });
                offers_of_all.extend(own.unwrap_or_else(|| named().into_iter().collect()));
                all.insert(pack);
            }
        }
        match (first, code.kpack_paths.first()) {
            (Some(dir), _) => sets.push(DataSet {
                dir: dir.into(),
                library: Some(*file),
                is_tensile: false,
                offers: by_target(offers_of_all),
                faults: Vec::new(),
            }),
            (None, Some(path)) if unknown.last().is_none_or(|(last, _)| last != file) => {
                out.without_kpack.push((*file, path.clone()));
            }
            (None, _) => {}
        }
    }
    out.sets.extend(sets);
    out.unreadable.extend(unknown.into_iter().map(|(file, reason)| (file, reason.to_owned())));
    all
}

/// The kpack files that match a path with a placeholder for the GPU, each with the target in its
/// name. `None` if their directory exists but cannot be listed.
fn kpack_files(tree: &dyn Tree, pattern: &Path) -> Option<Vec<(PathBuf, Option<TargetId>)>> {
    let (dir, name) = (pattern.parent()?, pattern.file_name()?);
    let names = match list(tree, dir, true) {
        Err(Errno::NOENT | Errno::NOTDIR) => BTreeSet::new(),
        names => names.ok()?,
    };
    let of_name = |found: OsString| {
        let target = data::kpack_target(name.as_bytes(), found.as_bytes())?;
        Some((dir.join(found), target))
    };
    Some(names.into_iter().filter_map(of_name).collect())
}

/// Adds one data set for each data directory of a library, and for each other directory with device
/// code. The kpack files in `packs`, which libraries name, are skipped.
fn data_sets(tree: &dyn Tree, corpus: &Corpus, packs: &BTreeSet<PathBuf>, out: &mut Devices) {
    let mut libraries: BTreeMap<PathBuf, FileId> = BTreeMap::new();
    for (file, facts) in corpus.files.entries() {
        let Some(kind) = tensile(facts) else { continue };
        let found = directories(tree, &facts.real, kind);
        if found.is_empty() && (facts.audited || out.files.contains_key(&file)) {
            out.without_data.push((file, kind));
        }
        libraries.extend(found.into_iter().map(|dir| (dir, file)));
    }
    let alone = out.files.iter().filter(|(_, code)| !is_host(code));
    let mut code: BTreeMap<PathBuf, BTreeMap<Vec<u8>, Vec<_>>> = BTreeMap::new();
    for (file, own) in alone {
        let path = &corpus.files[*file].path;
        if packs.contains(&*corpus.files[*file].real) {
            continue;
        }
        let (Some(dir), Some(name)) = (path.parent(), path.file_name()) else { continue };
        // A library's data directory may have a subdirectory with the files for one GPU. This
        // subdirectory is treated as a part of the data directory.
        let above = dir.parent().filter(|above| libraries.contains_key(*above));
        let here = code.entry(above.unwrap_or(dir).to_path_buf()).or_default();
        here.insert(name.as_bytes().to_vec(), offers(own));
    }
    let dirs: BTreeSet<PathBuf> = libraries.keys().chain(code.keys()).cloned().collect();
    for dir in dirs {
        let own = code.remove(&dir).unwrap_or_default();
        let library = libraries.get(&dir).copied();
        let listing = listing(tree, &dir, library.is_some(), own);
        out.sets.extend(data::data_set(&dir, library, &listing));
    }
}

/// The kind of Tensile data that a library loads, by its soname; `None` if it loads none.
fn tensile(facts: &FileFacts) -> Option<Tensile> {
    let object = facts.object().filter(|_| facts.foreign().is_none())?;
    let soname = object.soname()?;
    TENSILE.iter().copied().find(|kind| soname.starts_with(kind.soname.as_bytes()))
}

/// The existing directories in which a library looks for its Tensile data.
fn directories(tree: &dyn Tree, library: &Path, kind: Tensile) -> Vec<PathBuf> {
    let Some(base) = data::places(library, kind) else { return Vec::new() };
    let is_dir = |path: &PathBuf| tree.kind(path) == Ok(EntryType::Directory);
    let plain = base.join("library");
    if is_dir(&plain) {
        return vec![plain];
    }
    let below = names(tree, &base, false).into_iter().map(|name| base.join(name).join("library"));
    below.filter(is_dir).collect()
}

/// The names in a directory, as from `list`. Empty if the directory cannot be listed: the walk
/// reports this error.
fn names(tree: &dyn Tree, dir: &Path, of_files: bool) -> BTreeSet<OsString> {
    list(tree, dir, of_files).unwrap_or_default()
}

/// The sorted names in a directory: the names of files and links if `of_files` is set, otherwise
/// the names of directories and links.
fn list(tree: &dyn Tree, dir: &Path, of_files: bool) -> Result<BTreeSet<OsString>, Errno> {
    let mut out = BTreeSet::new();
    let visit = &mut |name: &std::ffi::OsStr, node: DirEntryKind| {
        let is_file = !matches!(node, DirEntryKind::Kind(EntryType::Directory));
        if is_file == of_files || matches!(node, DirEntryKind::Link) {
            keep_least(&mut out, name.to_owned(), MOST_NAMES);
        }
    };
    tree.list(dir, visit)?;
    Ok(out)
}

/// The names and indexes in a data directory. `code` has, by file name, the targets of the device
/// code in the directory. If a library's data directory has a subdirectory for each GPU, the files
/// in these subdirectories are included.
fn listing(
    tree: &dyn Tree,
    dir: &Path,
    is_of_library: bool,
    code: BTreeMap<Vec<u8>, Vec<TargetCode>>,
) -> Listing {
    let mut listing = Listing { code, ..Listing::default() };
    let below = if is_of_library { names(tree, dir, false) } else { BTreeSet::new() };
    let below = below.into_iter().filter(|name| TargetId::parse(name.as_bytes()).is_some());
    for dir in std::iter::once(dir.to_path_buf()).chain(below.map(|name| dir.join(name))) {
        for name in names(tree, &dir, true) {
            let bytes = name.as_bytes().to_vec();
            if let Some(kind) = IndexKind::of(&bytes) {
                listing.indexes.insert(bytes.clone(), index(tree, &dir.join(&name), kind));
            }
            listing.names.insert(bytes);
        }
    }
    listing
}

/// The names of Tensile libraries or of files in an index, sorted; `None` if the index cannot be
/// read.
fn index(tree: &dyn Tree, path: &Path, kind: IndexKind) -> Option<Vec<Vec<u8>>> {
    let Ok(Opened::File(handle)) = tree.open(path) else { return None };
    let len = handle.stat().len;
    let bytes = crate::format::read_range(&handle, 0, len.min(MOST_INDEX)).ok()?;
    let names = match kind {
        IndexKind::Lazy => {
            let mut all = format::index_values(&bytes, b"value")?;
            all.retain(|value| value.starts_with(b"TensileLibrary"));
            all
        }
        IndexKind::Mapping => format::map_strings(&bytes)?,
        IndexKind::Extensions => format::index_values(&bytes, b"co_path")?,
    };
    let names: BTreeSet<&[u8]> = names.into_iter().collect();
    Some(names.into_iter().map(<[u8]>::to_vec).collect())
}

/// Adds the processes that load device code, each with the profile of its runtime, and the profile
/// for device code that no process loads.
fn processes(plan: &Plan, corpus: &Corpus, resolved: ResolvedClosures<'_>, out: &mut Devices) {
    let gpu = &plan.policy.gpu;
    let mut runtimes = BTreeSet::new();
    let with_data: BTreeSet<FileId> = out.sets.iter().filter_map(|set| set.library).collect();
    for (root, closure) in resolved.closures.roots.entries() {
        let mut units = Vec::new();
        let mut loaders = None;
        for (_, file) in closure.in_scope() {
            let has_code = out.files.get(&file).is_some_and(|code| !offers(code).is_empty());
            if !has_code && !with_data.contains(&file) {
                continue;
            }
            let users = loaders.get_or_insert_with(|| Users::new(corpus, closure)).of(file);
            if has_code {
                units.push((Unit::File(file), users.clone()));
            }
            let own = |(number, set): (usize, &DataSet)| {
                let users = users.iter().copied().chain(has_code.then_some(file));
                (set.library == Some(file)).then(|| (Unit::Data(number), users.collect()))
            };
            units.extend(out.sets.iter().enumerate().filter_map(own));
        }
        if units.is_empty() {
            continue;
        }
        let runtime = runtime(corpus, closure);
        let path = runtime.map(|runtime| &*corpus.files[runtime.file].real);
        runtimes.extend(path);
        let (profile, reason) = profile_of(gpu, path);
        out.processes.push(Process { root, runtime, profile, reason, units });
    }
    let here = corpus.files.iter().filter(|facts| facts.audited);
    runtimes.extend(here.map(|facts| &*facts.real).filter(|path| is_runtime(path)));
    out.profile = Some(profile_of(gpu, runtimes.first().copied()));
}

/// Finds the files in the scope of an entry point that load a given file.
struct Users<'a> {
    corpus: &'a Corpus,
    /// For each needed name, the files that need it.
    by_name: BTreeMap<&'a [u8], Vec<FileId>>,
}

impl<'a> Users<'a> {
    fn new(corpus: &'a Corpus, closure: &Closure) -> Self {
        let mut by_name: BTreeMap<&[u8], Vec<FileId>> = BTreeMap::new();
        for (_, user) in closure.in_scope() {
            let Some(object) = corpus.files[user].object() else { continue };
            for need in &object.needs {
                by_name.entry(object.str(need.name)).or_default().push(user);
            }
        }
        Self { corpus, by_name }
    }

    /// The files that need `file` directly, by its soname or file name.
    fn direct(&self, file: FileId) -> impl Iterator<Item = FileId> {
        let facts = &self.corpus.files[file];
        let soname = facts.object().and_then(Object::soname);
        let name = facts.file_name().as_os_str().as_bytes();
        let names = soname.into_iter().chain((soname != Some(name)).then_some(name));
        names.filter_map(|name| self.by_name.get(name)).flatten().copied()
    }

    /// The files that load `file`: they need `file` directly, or through other libraries.
    fn of(&self, file: FileId) -> Vec<FileId> {
        let (mut seen, mut next) = (BTreeSet::from([file]), vec![file]);
        while let Some(one) = next.pop() {
            next.extend(self.direct(one).filter(|user| seen.insert(*user)));
        }
        seen.remove(&file);
        seen.into_iter().collect()
    }
}
