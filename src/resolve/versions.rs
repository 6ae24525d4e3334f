//! The check of needed versions at load (`elf/dl-version.c`). An object's DT_VERNEED table lists
//! the versions that the object needs, each with the name of a file. The loaded object with this
//! name must define the version.

use super::{Closure, FoundBy, LOADER, LinkMap, ROOT};
use crate::facts::FactStore;
use crate::format::elf::{EVERY_VERSION, GlibcVersion, NeedKind, Object};
use crate::id::{FileId, Id as _, ModuleId, StrId, Strings};

/// A defect of one needed version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum VersionDefect {
    /// The version is not defined, and the program does not start.
    Missing,
    /// The version is not defined, but the need is weak: the loader only prints a message.
    WeakMissing,
    /// The providing file defines no versions at all: the loader only prints a message.
    NoVersions,
}

/// One message of the loader about a needed version.
#[derive(Clone, Debug)]
pub struct VersionIssue {
    /// The module that needs the version.
    pub requester: ModuleId,
    /// The module that should define the version.
    pub provider: ModuleId,
    /// The name of the version that the requester needs.
    pub version: Box<[u8]>,
    /// The kind of defect.
    pub complaint: VersionDefect,
}

/// The error that stops the loader during the check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// The module needs versions of a file, and no loaded object has the file's name (`assert
    /// (needed != NULL)`). The second field is that name, or the path of the module if no closure
    /// contains the name.
    NoSuchName(ModuleId, StrId),
    /// The module has DT_RELR and does not need the version GLIBC_ABI_DT_RELR of libc.
    Relr(ModuleId),
}

/// The result of the check of one entry point.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Messages in the loader's order.
    pub issues: Vec<VersionIssue>,
    /// Set if the loader stops at the check.
    pub stop: Option<Stop>,
}

/// The first glibc release that requires the DT_RELR marker (57292f5741).
const RELR_CHECK: GlibcVersion = GlibcVersion::new(2, 36);
/// The marker: the version that an object with DT_RELR must need.
const RELR_MARKER: &[u8] = b"GLIBC_ABI_DT_RELR";

/// Objects in the order in which the loader checks them: the program, then the loader's list.
/// dlopen checks only the new objects in the plugin's scope (`elf/dl-open.c`).
fn checked_order(closure: &Closure) -> impl Iterator<Item = (ModuleId, FileId)> + '_ {
    let hosted = closure.host().is_some();
    let (root, list) = if hosted { (None, closure.scope()) } else { (Some(ROOT), closure.list()) };
    root.into_iter()
        .chain(list.iter().copied())
        .filter(move |index| !(hosted && *index == LOADER))
        .filter_map(|index| Some((index, closure.module(index).file?)))
}

/// Memoised results of checks, and memory that later checks reuse.
#[derive(Default)]
pub struct VersionMemo {
    /// For each entry of [`NeededFiles`], a file name in one object's DT_VERNEED: the last provider
    /// that defined all versions that the object needs under this name. The result holds under
    /// every entry point, so this provider is not checked again.
    clean: Vec<Option<FileId>>,
    names: Stamped,
}

/// The files that the DT_VERNEED of each object names, in one compact table. The check visits every
/// object of every entry point, and nearly always needs only this table.
#[derive(Default)]
pub struct NeededFiles {
    /// For each file: start and end of its range in `names`, and true if the object has DT_RELR
    /// without the marker [`RELR_MARKER`].
    of: Vec<(usize, usize, bool)>,
    /// The vn_file names of all files, in the order of file ids; `None` for a name that no closure
    /// contains.
    names: Vec<Option<StrId>>,
}

impl NeededFiles {
    /// The table for `files`, which must be all files in the order of their ids.
    pub fn new(
        store: &dyn FactStore,
        strings: &Strings,
        files: impl Iterator<Item = FileId>,
    ) -> Self {
        let mut out = Self::default();
        for file in files {
            let start = out.names.len();
            let object = store.object(file);
            if let Some(object) = object {
                let needs = object.versions.needs.iter();
                out.names.extend(needs.map(|need| strings.find(object.str(need.file))));
            }
            out.of.push((start, out.names.len(), object.is_some_and(relr_unmarked)));
        }
        out
    }

    fn of(&self, file: FileId) -> (usize, usize, bool) {
        self.of.get(file.index()).copied().unwrap_or_default()
    }
}

/// A map from string ids to modules. It is cleared in constant time: a new stamp makes all earlier
/// entries invalid.
#[derive(Default)]
struct Stamped {
    stamp: u32,
    entries: Vec<(u32, ModuleId)>,
}

impl Stamped {
    /// Removes all entries.
    fn clear(&mut self) {
        self.stamp += 1;
    }

    fn get(&self, name: StrId) -> Option<ModuleId> {
        let entry = self.entries.get(name.index());
        entry.filter(|(stamp, _)| *stamp == self.stamp).map(|(_, module)| *module)
    }

    /// Adds an entry, unless the name already has one.
    fn add(&mut self, name: StrId, module: ModuleId) {
        let index = name.index();
        if index >= self.entries.len() {
            self.entries.resize((index + 1).next_power_of_two(), (0, ROOT));
        }
        if self.entries[index].0 != self.stamp {
            self.entries[index] = (self.stamp, module);
        }
    }
}

/// The first object with each name, as [`find_needed`] would find it, in one table.
struct Answering<'m>(&'m mut Stamped);

impl<'m> Answering<'m> {
    fn new(links: &LinkMap, map: &'m mut Stamped) -> Self {
        map.clear();
        for index in std::iter::once(ROOT).chain(links.whole_list()).chain([LOADER]) {
            let module = links.module(index);
            // A DT_NEEDED entry does not match the entry point by its path.
            let path = Some(module.path).filter(|_| module.how != FoundBy::Root);
            let renamed = links.renamed.iter().filter(|(other, _)| *other == index);
            let aliases = module.aliases.iter().chain(renamed.map(|(_, name)| name));
            for name in [module.name].into_iter().chain(path).chain(aliases.copied()) {
                map.add(name, index);
            }
        }
        Self(map)
    }

    fn to(&self, name: StrId) -> Option<ModuleId> {
        self.0.get(name)
    }
}

/// The first object, found or missing, that has the name `name` (`find_needed`). The DT_SONAME of
/// an object matches only if an earlier need matched it: the name is then an alias of the object.
fn find_needed(links: &LinkMap, name: StrId) -> Option<ModuleId> {
    let answers = |index: &ModuleId| links.answers(*index, name);
    std::iter::once(ROOT)
        .chain(links.whole_list())
        .find(answers)
        .or_else(|| Some(LOADER).filter(answers))
}

/// The second half of the loader's `find_needed`, for a need of the entry point: searches the entry
/// point's own scope (`l_searchlist`), which has filtees that are not in the list. `None` for needs
/// of other objects, which have no scope of their own.
fn find_in_scope(closure: &Closure, index: ModuleId, name: StrId) -> Option<ModuleId> {
    let mut scope = closure.scope().iter().copied().filter(|_| index == closure.start());
    scope.find(|module| closure.answers(*module, name))
}

/// The objects of an entry point to check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum CheckedObjects {
    /// All objects.
    Whole,
    /// Only the entry point itself; the other objects are known to have no defect.
    Root,
    /// All objects except the entry point itself.
    Others,
}

/// The input of a check.
#[derive(Clone, Copy)]
pub struct VersionCheck<'a> {
    /// Facts about all files.
    pub store: &'a dyn FactStore,
    /// The names of the files whose versions objects need.
    pub needed: &'a NeededFiles,
    /// The glibc release whose rules apply.
    pub release: GlibcVersion,
    /// The objects that are checked.
    pub part: CheckedObjects,
}

/// Checks the versions that objects of an entry point need; `check.part` selects the objects.
pub fn check(closure: &Closure, check: VersionCheck<'_>, memory: &mut VersionMemo) -> Checked {
    let VersionCheck { store, needed, release, part } = check;
    let mut out = Checked::default();
    let VersionMemo { clean, names } = memory;
    clean.resize(needed.names.len(), None);
    // For one object, a search for its few names is faster than a table of all names.
    let names = (part != CheckedObjects::Root).then(|| Answering::new(&closure.links, names));
    let answering = |name| match &names {
        Some(names) => names.to(name),
        None => find_needed(&closure.links, name),
    };
    let checked = |(index, _): &(ModuleId, FileId)| match part {
        CheckedObjects::Whole => true,
        CheckedObjects::Root => *index == ROOT,
        CheckedObjects::Others => *index != ROOT,
    };
    for (index, file) in checked_order(closure).filter(checked) {
        let (first, end, unmarked) = needed.of(file);
        for (place, at) in (first..end).enumerate() {
            let name = needed.names[at];
            let in_scope = |name| find_in_scope(closure, index, name);
            let provider = name.and_then(|name| answering(name).or_else(|| in_scope(name)));
            let Some(provider) = provider else {
                let name = name.unwrap_or(closure.module(index).path);
                out.stop = Some(Stop::NoSuchName(index, name));
                return out;
            };
            let Some(found) = closure.module(provider).file else { continue };
            if clean[at] == Some(found) {
                continue;
            }
            let (Some(object), Some(definer)) = (store.object(file), store.object(found)) else {
                continue;
            };
            let before = out.issues.len();
            check_file((index, object, place), (provider, definer), &mut out.issues);
            if out.issues.len() == before {
                clean[at] = Some(found);
            }
        }
        if release >= RELR_CHECK && unmarked {
            out.stop = Some(Stop::Relr(index));
            return out;
        }
    }
    out
}

/// Checks the versions that an object needs from one file. `place` is the index of that file in the
/// object's version needs.
fn check_file(
    (requester, object, place): (ModuleId, &Object, usize),
    (provider, definer): (ModuleId, &Object),
    issues: &mut Vec<VersionIssue>,
) {
    for need in object.versions.needs.get(place).iter().flat_map(|file| &*file.versions) {
        let text = object.str(need.name);
        let defined = definer
            .versions
            .defs
            .iter()
            .any(|def| def.hash == need.hash && definer.str(def.name) == text);
        let complaint = match (definer.versions.has_verdef, defined, need.weak) {
            (true, true, _) => continue,
            (false, ..) => VersionDefect::NoVersions,
            (true, false, true) => VersionDefect::WeakMissing,
            (true, false, false) => VersionDefect::Missing,
        };
        issues.push(VersionIssue { requester, provider, version: text.into(), complaint });
    }
}

fn relr_unmarked(object: &Object) -> bool {
    let versions = &object.versions;
    let marked = || {
        let mut all = versions.needs.iter().flat_map(|file| &*file.versions);
        all.any(|need| object.str(need.name) == RELR_MARKER)
    };
    let needs_libc = || {
        let mut needed = object.needs.iter().filter(|need| need.kind == NeedKind::Needed);
        needed.any(|need| object.str(need.name).starts_with(b"libc.so."))
    };
    object.relr && versions.has_verneed && needs_libc() && !marked()
}

/// Sets `version_limit`. If a needed file is missing, the loader considers only the versions that
/// an object defines, and the versions that the object needs from found files. The highest index of
/// these versions determines the size of the object's version table. Without any such version, the
/// loader makes no table.
pub(super) fn limit_tables(links: &mut LinkMap, store: &dyn FactStore, strings: &Strings) {
    if !links.lacks_any() {
        return;
    }
    for index in 0..links.modules.len() {
        let at = ModuleId::from_index(index);
        let Some(object) = links.module(at).file.and_then(|file| store.object(file)) else {
            continue;
        };
        if links.module(at).version_limit == 0 {
            continue;
        }
        let found = object.versions.needs.iter().filter(|file| {
            strings
                .find(object.str(file.file))
                .and_then(|name| find_needed(links, name))
                .is_some_and(|module| !links.module(module).is_stub())
        });
        let highest = found
            .flat_map(|file| &*file.versions)
            .map(|need| need.index)
            .chain(object.versions.defs.iter().map(|def| def.index))
            .max()
            .unwrap_or(0);
        let whole = highest >= object.versions.highest_index();
        let limit = if whole && highest > 0 { EVERY_VERSION } else { highest };
        let none_needed = object.versions.highest_index() == 0;
        links.modules[index].version_limit = if none_needed { EVERY_VERSION } else { limit };
    }
}
