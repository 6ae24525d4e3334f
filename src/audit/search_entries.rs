//! Finds suspect entries in DT_RPATH and DT_RUNPATH of audited objects. The directories that the
//! entries name are probed, not listed, and their states are cached.

use super::binding::ResolvedClosures;
use crate::diagnosis::Site;
use crate::facts::Corpus;
use crate::id::{FastMap, FastSet, FileId, ModuleId, StrId};
use crate::package::Prefixes;
use crate::plan::Plan;
use crate::resolve::entry_points::Closures;
use crate::resolve::loader::Loader;
use crate::resolve::{self, Closure, FoundBy, ROOT};
use crate::tree::{EntryType, Errno, MOST_LINKS, Tree, without_dots};
use crate::wants::Wants;
use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Component, Path, PathBuf};

/// One entry of a search path (DT_RPATH or DT_RUNPATH), with the state of its directory.
#[derive(Clone, Debug)]
pub struct SearchEntry {
    /// The entry as written in DT_RPATH or DT_RUNPATH.
    pub text: Vec<u8>,
    /// True if the entry begins with `$ORIGIN`.
    pub is_of_origin: bool,
    /// The directory that the entry names, with tokens replaced. If a token has no value, the text
    /// of the entry.
    pub directory: PathBuf,
    /// The path of the directory after each link that the kernel follows on the way. The last path
    /// has no more links.
    pub links: Vec<PathBuf>,
    /// The state of the directory.
    pub state: EntryState,
    /// A world-writable directory that lets every user change the files in `directory`; `None` if
    /// there is none. The world-writable directory is on the path of `directory`, or of one of
    /// `links`.
    pub writable: Option<PathBuf>,
}

/// The state of a search directory.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EntryState {
    /// The directory exists.
    Directory,
    /// The path does not exist, or is not a directory.
    Absent,
    /// musl ignores the whole search path because of the token in this entry.
    Ignored,
    /// The state is not known: the path is relative, is in `/proc`, cannot be examined, or must not
    /// be read because the policy is a whitelist.
    Unknown,
}

/// The suspect entries of one object. If the object is loaded by several paths, `$ORIGIN` has
/// several values. The state of an entry is `Absent` only if its directory is absent for each of
/// these values.
#[derive(Debug)]
pub struct SearchEntries {
    /// The first occurrence of the object in a closure.
    pub site: Site,
    /// Entries that lead out of the object's prefix, that do not begin with `$ORIGIN`, or whose
    /// directory is absent. Each text occurs once, in the order of the search path, and at most 64
    /// entries are kept.
    pub entries: Vec<SearchEntry>,
    /// Number of entries that were not checked: all entries after the 64th kept entry.
    pub left_out: usize,
    /// The needs that the loader satisfies through this search path under any entry point, each
    /// with the path at which the library is found.
    pub found: BTreeSet<(StrId, StrId)>,
}

/// Maximum number of entries that are kept of one object.
const MOST: usize = 64;
/// Maximum number of directories whose state is cached for other objects.
const MOST_KNOWN: usize = 10_000;

impl SearchEntry {
    /// True if the directory is in `prefix`, by its path and by its path after each link.
    pub fn is_inside(&self, prefix: &Path) -> bool {
        let mut paths = [&self.directory].into_iter().chain(&self.links);
        paths.all(|path| without_dots(path).starts_with(prefix))
    }

    /// True if a rule may report the entry. `prefix` is the prefix of the object.
    fn is_suspect(&self, prefix: Option<&Path>) -> bool {
        self.state == EntryState::Absent
            || !self.is_of_origin
            || prefix.is_some_and(|prefix| !self.is_inside(prefix))
    }
}

/// S_IWOTH: every user can write in the directory.
const WRITABLE: u32 = 0o002;
/// S_ISVTX: in the directory, users can remove or rename only their own files.
const STICKY: u32 = 0o1000;

/// Finds the suspect entries of the audited objects that entry points load.
pub(super) fn find(
    plan: &Plan,
    tree: &dyn Tree,
    corpus: &Corpus,
    prefixes: &Prefixes,
    resolved: ResolvedClosures<'_>,
) -> BTreeMap<FileId, SearchEntries> {
    let mut out = BTreeMap::new();
    if !plan.rule_wants.holds(Wants::SEARCH_ENTRIES) {
        return out;
    }
    // The files and paths that were checked: a library has a value of `$ORIGIN` for each path by
    // which it is opened.
    let mut met: FastSet<(FileId, StrId)> = FastSet::default();
    let mut probes = Probes { tree, plan, prefixes, known: FastMap::default() };
    let mut links = FastSet::default();
    for (root, closure) in resolved.closures.roots.entries() {
        // Entry points that share a link map load the same libraries by the same paths.
        let is_new = links.insert(closure.links_id());
        for (module, file) in closure.in_scope().filter(|(module, _)| is_new || *module == ROOT) {
            let facts = &corpus.files[file];
            let list = facts.object().and_then(|object| object.search_path());
            let path = closure.module(module).path;
            let Some(list) = list.filter(|_| facts.audited && met.insert((file, path))) else {
                continue;
            };
            let origin = origin((plan, corpus), resolved, (closure, module, file));
            let loader = resolved.resolver.loaders.get(closure.root.loader);
            let mut entry = |text: &[u8]| probes.entry(text, loader, &origin);
            match out.entry(file) {
                Entry::Vacant(place) => {
                    let prefix = prefixes.locate(&facts.path).prefix;
                    let is_suspect = |entry: &SearchEntry| entry.is_suspect(prefix.as_deref());
                    let site = Site { root, module };
                    let list = resolve::entries(list, loader);
                    place.insert(SearchEntries::new(site, list, entry, is_suspect));
                }
                // An entry is not absent if its directory exists for one of the values of
                // `$ORIGIN`.
                Entry::Occupied(mut found) => found.get_mut().entries.retain(|known| {
                    known.state != EntryState::Absent
                        || entry(&known.text).state == EntryState::Absent
                }),
            }
        }
    }
    out.retain(|_, found| !found.entries.is_empty());
    note_found(resolved.closures, &mut out);
    out
}

/// Fills [`SearchEntries::found`].
fn note_found(closures: &Closures, out: &mut BTreeMap<FileId, SearchEntries>) {
    let mut met = FastSet::default();
    for (_, closure) in closures.roots.entries() {
        // Entry points that share a link map find the same libraries.
        if out.is_empty() || !met.insert(closure.links_id()) {
            continue;
        }
        for edge in closure.whole_edges() {
            let owner = match edge.how {
                FoundBy::Runpath => edge.from,
                FoundBy::Rpath(owner) => owner,
                _ => continue,
            };
            let of_owner = closure.module(owner).file.and_then(|file| out.get_mut(&file));
            if let Some(entries) = of_owner {
                entries.found.insert((edge.name, closure.module(edge.to).path));
            }
        }
    }
}

impl SearchEntries {
    /// Keeps the entries of `list` that `is_suspect` accepts. `entry` probes the directory of one
    /// entry.
    fn new<'t>(
        site: Site,
        list: impl Iterator<Item = &'t [u8]>,
        mut entry: impl FnMut(&[u8]) -> SearchEntry,
        is_suspect: impl Fn(&SearchEntry) -> bool,
    ) -> Self {
        let mut out = Self { site, entries: Vec::new(), left_out: 0, found: BTreeSet::new() };
        let mut seen = FastSet::default();
        for text in list.filter(|text| seen.insert(*text)) {
            if out.entries.len() == MOST {
                out.left_out += 1;
                continue;
            }
            let entry = entry(text);
            if entry.state == EntryState::Ignored {
                // musl then ignores the other entries too.
                out.entries = vec![entry];
                break;
            }
            if is_suspect(&entry) {
                out.entries.push(entry);
            }
        }
        out
    }
}

/// The value of `$ORIGIN`: for a library, the directory of the absolute path by which it was
/// opened. For a program, and for a library that was opened by a relative path, the directory of
/// the real path.
fn origin(
    (plan, corpus): (&Plan, &Corpus),
    resolved: ResolvedClosures<'_>,
    (closure, module, file): (&Closure, ModuleId, FileId),
) -> Vec<u8> {
    let facts = &corpus.files[file];
    let opened = resolved.resolver.strings.text(closure.module(module).path);
    let path = Path::new(OsStr::from_bytes(opened));
    let path = if module == ROOT || !path.is_absolute() {
        facts.started_as(opened, &plan.cwd)
    } else {
        path
    };
    path.parent().unwrap_or(path).as_os_str().as_bytes().to_vec()
}

/// The facts about one directory, as in [`SearchEntry`]: `state`, `links` and `writable`.
type Probed = (EntryState, Vec<PathBuf>, Option<PathBuf>);

/// Probes directories, and caches their states.
struct Probes<'a> {
    tree: &'a dyn Tree,
    plan: &'a Plan,
    prefixes: &'a Prefixes,
    known: FastMap<PathBuf, Probed>,
}

impl Probes<'_> {
    fn entry(&mut self, text: &[u8], loader: &Loader, origin: &[u8]) -> SearchEntry {
        let directory = resolve::expanded(text, loader, origin);
        let is_ignored = directory.is_none() && loader.is_musl();
        let directory = directory.unwrap_or_else(|| text.to_vec());
        let directory = PathBuf::from(OsStr::from_bytes(&directory));
        let (state, links, writable) = if is_ignored {
            (EntryState::Ignored, Vec::new(), None)
        } else if let Some(known) = self.known.get(&directory) {
            known.clone()
        } else {
            let probed = self.probe(&directory);
            if self.known.len() < MOST_KNOWN {
                self.known.insert(directory.clone(), probed.clone());
            }
            probed
        };
        let is_of_origin = resolve::is_of_origin(text, loader);
        SearchEntry { text: text.to_vec(), is_of_origin, directory, links, state, writable }
    }

    fn probe(&self, directory: &Path) -> Probed {
        let is_closed = self.plan.policy.is_closed() && !self.prefixes.contain(directory);
        if !directory.is_absolute() || is_closed || self.tree.is_of_process(directory) {
            return (EntryState::Unknown, Vec::new(), None);
        }
        let state = match self.tree.kind(directory) {
            Ok(EntryType::Directory) => EntryState::Directory,
            Ok(_) | Err(Errno::NOENT | Errno::NOTDIR) => EntryState::Absent,
            Err(_) => EntryState::Unknown,
        };
        let links = self.links(directory);
        let of_links = || links.iter().find_map(|path| self.writable(path));
        let writable = self.writable(directory).or_else(of_links);
        (state, links, writable)
    }

    /// The path of `directory` after each link that the kernel follows on the way to it.
    fn links(&self, directory: &Path) -> Vec<PathBuf> {
        let mut out: Vec<PathBuf> = Vec::new();
        // A slash or `.` at the end would hide that the last part is a link.
        let directory: PathBuf = directory.components().collect();
        while out.len() < MOST_LINKS {
            let path = out.last().unwrap_or(&directory);
            // None of the directories above the first link is a link, so `..` removes the previous
            // part of the path.
            let first =
                path.ancestors().filter_map(|path| Some((path, self.tree.read_link(path).ok()?)));
            let Some((link, target)) = first.last() else { break };
            let rest = path.strip_prefix(link).unwrap_or(Path::new(""));
            let mut real = PathBuf::new();
            for part in link.parent().unwrap_or(link).components() {
                if part == Component::ParentDir {
                    real.pop();
                } else {
                    real.push(part);
                }
            }
            out.push(real.join(target).join(rest).components().collect());
        }
        out
    }

    /// The nearest directory through which any user can change the files in `directory`. This is
    /// `directory` itself, a directory above it without the sticky bit, or a directory in which the
    /// next part of the path is missing.
    fn writable(&self, directory: &Path) -> Option<PathBuf> {
        let mut is_missing = false;
        for path in directory.ancestors() {
            let Some(mode) = self.tree.mode(path) else {
                is_missing = true;
                continue;
            };
            let counts = path == directory || is_missing || mode & STICKY == 0;
            if mode & WRITABLE != 0 && counts {
                return Some(path.to_path_buf());
            }
            is_missing = false;
        }
        None
    }
}
