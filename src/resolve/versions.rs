//! The check of needed versions at load (`elf/dl-version.c`): every version that an object needs of
//! a file must be defined by the object that answers to the file's name.

use super::{Closure, How, LOADER, Links, ROOT};
use crate::facts::FactStore;
use crate::format::elf::{EVERY_VERSION, GlibcVersion, NeedKind, Object};
use crate::id::{FileId, Id as _, ModuleId, StrId, Strings};

/// What the loader says of one needed version.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Complaint {
    /// The version is not defined: the program does not start.
    Missing,
    /// The same, but the need is weak: only a message.
    WeakMissing,
    /// The file defines no versions at all: only a message.
    NoVersions,
}

/// One complaint of the loader, in its order.
#[derive(Clone, Debug)]
pub struct VersionIssue {
    /// The module that needs the version.
    pub requester: ModuleId,
    /// The module that should define it.
    pub provider: ModuleId,
    /// The version's name, as it stands in the requester.
    pub version: Box<[u8]>,
    /// What is wrong.
    pub complaint: Complaint,
}

/// What makes the loader stop during the check.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Stop {
    /// A file that versions are needed of is not among the names of any object
    /// (`assert (needed != NULL)`).
    NoSuchName(ModuleId, StrId),
    /// DT_RELR without the GLIBC_ABI_DT_RELR version of libc.
    Relr(ModuleId),
}

/// The check of one root.
#[derive(Clone, Debug, Default)]
pub struct Checked {
    /// Complaints in order.
    pub issues: Vec<VersionIssue>,
    /// Set if the loader stops at the check.
    pub stop: Option<Stop>,
}

/// The glibc release that asks for the DT_RELR marker (57292f5741).
const RELR_CHECK: GlibcVersion = GlibcVersion::new(2, 36);
/// The version that stands for it.
const RELR_MARKER: &[u8] = b"GLIBC_ABI_DT_RELR";

/// Objects in the order in which the loader checks them: its list, root first; with dlopen what is
/// new in the plugin's scope (`elf/dl-open.c`).
fn checked_order(closure: &Closure) -> impl Iterator<Item = (ModuleId, FileId)> + '_ {
    let hosted = closure.host().is_some();
    let (root, list) = if hosted { (None, closure.scope()) } else { (Some(ROOT), closure.list()) };
    root.into_iter()
        .chain(list.iter().copied())
        .filter(move |index| !(hosted && *index == LOADER))
        .filter_map(|index| Some((index, closure.module(index).file?)))
}

/// What is remembered from root to root.
#[derive(Default)]
pub struct Memory {
    /// By place in [`NeededFiles`]: the last provider that defines all versions in order. That is true
    /// under every root, and so looked at once.
    clean: Vec<Option<FileId>>,
    names: Stamped,
}

/// The files that objects need versions of, all in one place: the check goes over every object of
/// every root, and nearly always this is all it must know.
#[derive(Default)]
pub struct NeededFiles {
    /// By file: first and one behind the last in `names`, and whether DT_RELR lacks its marker.
    of: Vec<(usize, usize, bool)>,
    /// vn_file in file order; nothing for a name that no closure knows.
    names: Vec<Option<StrId>>,
}

impl NeededFiles {
    /// Those of `files`, which are all there are, in the order of their ids.
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

/// A map from small numbers to modules that is cleared in constant time: entries of an earlier
/// entry point have an old stamp.
#[derive(Default)]
struct Stamped {
    stamp: u32,
    entries: Vec<(u32, ModuleId)>,
}

impl Stamped {
    /// Empties it.
    fn clear(&mut self) {
        self.stamp += 1;
    }

    fn get(&self, name: StrId) -> Option<ModuleId> {
        let entry = self.entries.get(name.index());
        entry.filter(|(stamp, _)| *stamp == self.stamp).map(|(_, module)| *module)
    }

    /// Keeps an existing entry.
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

/// The first objects that answer to names, as [`find_needed`] has them.
struct Answering<'m>(&'m mut Stamped);

impl<'m> Answering<'m> {
    fn new(links: &Links, map: &'m mut Stamped) -> Self {
        map.clear();
        for index in std::iter::once(ROOT).chain(links.whole_list()).chain([LOADER]) {
            let module = links.module(index);
            // The root does not answer to its path.
            let path = Some(module.path).filter(|_| module.how != How::Root);
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

/// The first object, found or missing, that answers to `name` (`find_needed`). Sonames count only
/// where a need has already matched them.
fn find_needed(links: &Links, name: StrId) -> Option<ModuleId> {
    let answers = |index: &ModuleId| links.answers(*index, name);
    std::iter::once(ROOT)
        .chain(links.whole_list())
        .find(answers)
        .or_else(|| Some(LOADER).filter(answers))
}

/// The second half of `find_needed`: the root's own search scope (`l_searchlist`), in which a filtee
/// stands that the list does not have. Other objects have none.
fn find_in_scope(closure: &Closure, index: ModuleId, name: StrId) -> Option<ModuleId> {
    let mut scope = closure.scope().iter().copied().filter(|_| index == closure.start());
    scope.find(|module| closure.answers(*module, name))
}

/// Which objects of a root are checked.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Part {
    /// All.
    Whole,
    /// The root itself; there is nothing to be said of the others.
    Root,
    /// All but the root.
    Others,
}

/// The input of a check.
#[derive(Clone, Copy)]
pub struct Check<'a> {
    /// The facts.
    pub store: &'a dyn FactStore,
    /// The files whose versions objects need.
    pub needed: &'a NeededFiles,
    /// glibc's release.
    pub release: GlibcVersion,
    /// The objects that are checked.
    pub part: Part,
}

/// Checks objects of a root.
pub fn check(closure: &Closure, check: Check<'_>, memory: &mut Memory) -> Checked {
    let Check { store, needed, release, part } = check;
    let mut out = Checked::default();
    let Memory { clean, names } = memory;
    clean.resize(needed.names.len(), None);
    // For one object it takes longer to take all names down than to look for its few.
    let names = (part != Part::Root).then(|| Answering::new(&closure.links, names));
    let answering = |name| match &names {
        Some(names) => names.to(name),
        None => find_needed(&closure.links, name),
    };
    let checked = |(index, _): &(ModuleId, FileId)| match part {
        Part::Whole => true,
        Part::Root => *index == ROOT,
        Part::Others => *index != ROOT,
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

/// The versions that an object needs of one file, at this place among its needs.
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
            (false, ..) => Complaint::NoVersions,
            (true, false, true) => Complaint::WeakMissing,
            (true, false, false) => Complaint::Missing,
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

/// With needed files missing the loader makes its version tables only as large as the highest
/// index it met in files that were found, and none at all if there was no such index.
pub(super) fn limit_tables(links: &mut Links, store: &dyn FactStore, strings: &Strings) {
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
