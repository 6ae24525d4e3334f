//! Fixes that drop dead or unsafe entries of search paths. `patch` verifies that the same files are
//! loaded without these entries. If a library may appear in the directory later, the fix is only a
//! suggestion.
//!
//! The loader may find a library in a build directory although the prefix has the library too. The
//! fix then drops or replaces the entry, so that the loader takes the file of the prefix.

use super::patch::{Patch, Step, Verified};
use super::search_path;
use super::steps::{self, Cure, Work};
use crate::audit::{Audit, EntryState};
use crate::finding::{Finding, Findings, FixKind};
use crate::id::{FastMap, FastSet, FileId};
use crate::resolve::Closure;
use crate::text::last_part;
use crate::tree::Tree;
use std::cell::OnceCell;
use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::Path;

const DEAD: &str = "dead-search-entry";
const UNSAFE: &str = "unsafe-search-entry";
/// `detail` of the finding about entries that the audit did not check.
const UNCHECKED: &[u8] = b"more";

// Reasons why an entry may be needed although the loader finds no library through it now.
const MAY_OPEN: &str = "dlopen may open a library there";
const MAY_BRING: &str = "another package may install the directory";
const MAY_OPEN_OTHERS: &str = "without it, musl starts to search the other entries";

/// Attaches fixes to findings about dead and unsafe entries. Returns `verified` with the verified
/// changes of these fixes added.
pub(super) fn attach(work: &mut Work<'_>, findings: &mut Findings, verified: Verified) -> Verified {
    let cures = {
        let indexes = Indexes::new(work.audit);
        let found = findings.iter().enumerate();
        found.filter_map(|(place, finding)| cure(&indexes, work.tree, place, finding)).collect()
    };
    steps::attach(work, findings, verified, cures, "resolved and bound again without the entry")
}

/// Files and their paths, by file name.
type FilesByName<'a> = FastMap<&'a [u8], Vec<(FileId, &'a Path)>>;

/// Indexes of an audit, each built on first use.
struct Indexes<'a> {
    audit: &'a Audit,
    /// By file name: the audited files with this name, and their paths.
    by_name: OnceCell<FilesByName<'a>>,
    /// The files of the processes that may open plugins.
    beside_plugins: OnceCell<FastSet<FileId>>,
}

impl<'a> Indexes<'a> {
    fn new(audit: &'a Audit) -> Self {
        Self { audit, by_name: OnceCell::new(), beside_plugins: OnceCell::new() }
    }

    /// The audited file with this name in the prefix of a finding, and the directory in which the
    /// file has this name. If there are several files, the one with the shortest path.
    fn in_prefix(&self, finding: &Finding, name: &[u8]) -> Option<(FileId, &'a Path)> {
        let prefix = finding.file.prefix.as_deref()?;
        let by_name = self.by_name.get_or_init(|| {
            let audited = self.audit.corpus.files.entries().filter(|(_, facts)| facts.audited);
            let mut by_name = FilesByName::default();
            for (file, facts) in audited {
                for path in facts.names.iter().map(|name| &*name.path).chain([&*facts.path]) {
                    let name = last_part(path.as_os_str().as_bytes());
                    by_name.entry(name).or_default().push((file, path));
                }
            }
            by_name
        });
        let named = by_name.get(name)?.iter().filter(|(_, path)| path.starts_with(prefix));
        let &(file, path) = named.min_by_key(|(_, path)| (path.as_os_str().len(), *path))?;
        Some((file, path.parent()?))
    }

    /// True if a process that loads the file may open plugins. The plugins may be in the build
    /// directory.
    fn opens_plugins(&self, file: FileId) -> bool {
        let opens = |file: FileId| {
            self.audit.corpus.files[file].object().is_some_and(|object| object.opens_plugins)
        };
        let files = self.beside_plugins.get_or_init(|| {
            let closures = self.audit.closures.roots.iter();
            let with_plugins =
                closures.filter(|closure| closure.in_scope().any(|(_, loaded)| opens(loaded)));
            let loaded = with_plugins.flat_map(Closure::in_scope);
            loaded.map(|(_, loaded)| loaded).collect()
        });
        files.contains(&file)
    }
}

fn cure(indexes: &Indexes<'_>, tree: &dyn Tree, place: usize, finding: &Finding) -> Option<Cure> {
    let audit = indexes.audit;
    let (file, entry) = entry(audit, finding)?;
    // `Patch` drops the text between two colons, but in musl's list an entry may also end at a line
    // break.
    let mut list = audit.corpus.files[file].object()?.search_path()?.split(|byte| *byte == b':');
    if !list.any(|text| text == entry) {
        return None;
    }
    let installed = installed((indexes, tree), finding, file, entry);
    let doubt = doubt(audit, finding, file, entry);
    let doubt = doubt.filter(|_| installed.is_none() || indexes.opens_plugins(file));
    let drop = Patch { dropped: [entry.to_vec()].into_iter().collect(), ..Patch::default() };
    let mut ways = vec![drop.clone()];
    if let Some(Installed { superseded, entry: new }) = installed {
        ways.push(Patch { superseded: superseded.clone(), ..drop });
        let replaced = [(entry.to_vec(), new)].into_iter().collect();
        ways.push(Patch { replaced, superseded, ..Patch::default() });
    }
    let step = Step { file, ways, cures: Vec::new() };
    let entry = finding.detail.clone();
    Some(Cure { place, intent: FixKind::DropSearchEntry, entry, step, doubt })
}

/// The files of the prefix that have the names of the libraries in a build directory.
struct Installed {
    /// The files of the prefix, keyed by the files in the build directory.
    superseded: BTreeMap<FileId, FileId>,
    /// The search-path entries through which the loader finds these files, separated by colons.
    entry: Vec<u8>,
}

/// Finds the files of the prefix that replace the libraries in a build directory. `None` if the
/// finding is not `unsafe-search-entry`, if the loader finds no library through the entry, or if
/// the prefix lacks one of these libraries.
fn installed(
    (indexes, tree): (&Indexes<'_>, &dyn Tree),
    finding: &Finding,
    file: FileId,
    text: &[u8],
) -> Option<Installed> {
    let audit = indexes.audit;
    let of = audit.search_entries.get(&file).filter(|_| finding.rule == *UNSAFE)?;
    let directory = &of.entries.iter().find(|entry| entry.text == text)?.directory;
    let path = |id| Path::new(OsStr::from_bytes(audit.text(id)));
    let found = of.found.iter().map(|(name, found)| (audit.text(*name), path(*found)));
    let mut superseded = BTreeMap::new();
    let mut entries: Vec<Vec<u8>> = Vec::new();
    for (name, old) in found.filter(|(_, found)| found.parent() == Some(&**directory)) {
        let (new, directory) = indexes.in_prefix(finding, name)?;
        superseded.insert(audit.corpus.file_at(old)?, new);
        let entry = search_path::entry(tree, &finding.full_path(), directory)?;
        let entry = entry.into_os_string().into_vec();
        if entry.contains(&b':') {
            return None;
        }
        if !entries.contains(&entry) {
            entries.push(entry);
        }
    }
    (!entries.is_empty()).then(|| Installed { superseded, entry: entries.join(&b':') })
}

/// The file and the entry that a finding about a dead or unsafe entry names. `None` for other
/// findings.
fn entry<'f>(audit: &Audit, finding: &'f Finding) -> Option<(FileId, &'f [u8])> {
    let is_about = finding.rule == *DEAD || finding.rule == *UNSAFE;
    let entry = finding.detail.as_deref().filter(|entry| is_about && *entry != UNCHECKED)?;
    Some((audit.corpus.file_at(&finding.full_path())?, entry))
}

/// The reason why a library may be found through an entry later; `None` if there is no reason.
fn doubt(audit: &Audit, finding: &Finding, file: FileId, text: &[u8]) -> Option<&'static str> {
    let mut entries = audit.search_entries.get(&file)?.entries.iter();
    let entry = entries.find(|entry| entry.text == text)?;
    match entry.state {
        EntryState::Absent => {}
        EntryState::Ignored => return Some(MAY_OPEN_OTHERS),
        EntryState::Directory | EntryState::Unknown => return Some(MAY_OPEN),
    }
    // Other packages do not install libraries into this prefix, or into a build or user directory
    // (`unsafe-search-entry`).
    let prefix = audit.prefixes.locate(&audit.corpus.files[file].path).prefix;
    let is_own = prefix.is_some_and(|prefix| entry.directory.starts_with(prefix));
    (finding.rule != *UNSAFE && !is_own).then_some(MAY_BRING)
}
