//! Changes dynamic sections as patchelf does, and verifies the changes: the audit resolves and
//! binds again with the changed objects. A change is verified under these conditions:
//! - there is no new error
//! - all files that were loaded before are still loaded, except libraries of dropped needs and
//!   files of build directories that files of the prefix replace
//! - a change of needs leaves all other bindings the same
//! - patchelf can change the file without damage (`obstacles`)
//!
//! A need is not dropped if plugins may use its library, or if constructors would run in another
//! order.

use super::fix_plan::{ElfPatch, PathChange};
use super::obstacles::Obstacles;
use crate::audit::{Audit, LoadError, refusal};
use crate::facts::Edits;
use crate::format::elf::edit::{Edited, NewNeeds, NewSearchPath};
use crate::format::elf::patchable::{Patchable, patchable};
use crate::format::elf::start_code::has_start_code;
use crate::format::elf::{NeedKind, Object};
use crate::id::{FastMap, FastSet, FileId, ModuleId};
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::resolve::{Closure, Edge};
use crate::text::{show, show_path};
use crate::tree::{Handle, Tree};
use sha2::{Digest as _, Sha256};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Maximum number of verifications of one [`Patcher`]. Each one resolves and binds again under all
/// entry points that load a changed file.
const MOST_LOOKS: usize = 500;

/// Changes of the dynamic section of one file.
#[derive(Clone, Debug, Default)]
pub(super) struct Patch {
    /// New entries at the end of the search path, keyed by the name of the library that the loader
    /// finds through the entry.
    pub(super) entries: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Entries that are dropped from the search path.
    pub(super) dropped: BTreeSet<Vec<u8>>,
    /// New entries that replace old entries, keyed by the old entries.
    pub(super) replaced: BTreeMap<Vec<u8>, Vec<u8>>,
    /// Files of the prefix that are loaded after the change, keyed by the files that they replace.
    pub(super) superseded: BTreeMap<FileId, FileId>,
    /// Names of needs that are added.
    pub(super) needs: BTreeSet<Vec<u8>>,
    /// Names of needs that are dropped.
    pub(super) dropped_needs: BTreeSet<Vec<u8>>,
    /// New names of needs, keyed by their old names.
    pub(super) renamed_needs: BTreeMap<Vec<u8>, Vec<u8>>,
    /// The new tag of the search path; `None` if the tag stays.
    pub(super) tag: Option<PathTag>,
    /// True if the whole search path is removed.
    pub(super) no_path: bool,
}

/// The dynamic tag of a search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathTag {
    Rpath,
    Runpath,
}

/// A change of one file, with its alternatives.
pub(super) struct Step {
    pub(super) file: FileId,
    /// Alternative changes with the same effect, the best first.
    pub(super) ways: Vec<Patch>,
    /// Errors that the change must remove.
    pub(super) cures: Vec<LoadError>,
}

/// The verified changes, keyed by file.
pub(super) type Verified = BTreeMap<FileId, Patch>;

/// Verifies steps, each in addition to the steps that were verified before.
pub(super) struct Patcher<'a> {
    pub(super) audit: &'a mut Audit,
    plan: &'a Plan,
    tree: &'a dyn Tree,
    /// The load errors before the steps.
    before: BTreeSet<LoadError>,
    looks: usize,
    obstacles: Obstacles,
    constructors: Constructors,
    verified: Verified,
}

impl Patch {
    fn add(&mut self, other: &Self) {
        self.entries.extend(other.entries.clone());
        self.dropped.extend(other.dropped.iter().cloned());
        self.replaced.extend(other.replaced.clone());
        self.superseded.extend(&other.superseded);
        self.needs.extend(other.needs.iter().cloned());
        self.dropped_needs.extend(other.dropped_needs.iter().cloned());
        self.renamed_needs.extend(other.renamed_needs.clone());
        self.tag = other.tag.or(self.tag);
        self.no_path |= other.no_path;
    }

    fn changes_needs(&self) -> bool {
        !(self.needs.is_empty() && self.dropped_needs.is_empty() && self.renamed_needs.is_empty())
    }

    fn drops(&self, audit: &Audit, edge: &Edge) -> bool {
        self.dropped_needs.contains(audit.resolver.strings.text(edge.raw))
    }

    /// The tag of the search path after the change. By default it is the tag that the loader uses
    /// now, or DT_RUNPATH if there is none.
    fn tag(&self, object: &Object) -> PathTag {
        let has_rpath_alone = object.rpath.is_some() && object.runpath.is_none();
        self.tag.unwrap_or(if has_rpath_alone { PathTag::Rpath } else { PathTag::Runpath })
    }

    fn path(&self, audit: &Audit, file: FileId) -> Vec<u8> {
        if self.no_path {
            return Vec::new();
        }
        let mut known: FastSet<&[u8]> = FastSet::default();
        let old = old_path(audit, file).unwrap_or_default();
        let old = old.split(|byte| *byte == b':').filter(|entry| !self.dropped.contains(*entry));
        let old = old.map(|entry| self.replaced.get(entry).map_or(entry, Vec::as_slice));
        let new = self.entries.values().map(Vec::as_slice).filter(|entry| known.insert(entry));
        let has_old = old_path(audit, file).is_some();
        let all: Vec<&[u8]> = old.filter(|_| has_old).chain(new).collect();
        all.join(&b':')
    }

    /// True if patchelf writes another search path over the text of the old one.
    fn replaces_path(&self, audit: &Audit, file: FileId) -> bool {
        let new = self.path(audit, file);
        !new.is_empty() && old_path(audit, file).is_some_and(|old| old != new)
    }

    /// True if patchelf appends tables to the file. patchelf overwrites the old search path if the
    /// new one is not longer, and removes tags in place.
    pub(super) fn grows(&self, audit: &Audit, file: FileId, facts: Patchable) -> bool {
        let fits = || {
            let old = old_path(audit, file).unwrap_or_default();
            let is_overwritten = self.replaces_path(audit, file) && !facts.path_is_shared;
            let new = self.path(audit, file);
            new.is_empty() || new == old || is_overwritten && new.len() <= old.len()
        };
        let adds_names = !self.needs.is_empty() || !self.renamed_needs.is_empty();
        adds_names || !fits()
    }

    /// The object after the changes; `None` if it could not be read again.
    fn applied(&self, audit: &Audit, file: FileId) -> Option<Edited> {
        let object = audit.corpus.files[file].object()?;
        let relocations = audit.corpus.relocations(file).ok()?;
        let path = self.path(audit, file);
        let is_rpath = self.tag(object) == PathTag::Rpath;
        let path = NewSearchPath { is_rpath, text: &path };
        let edited = object.with_search_path(relocations, path)?;
        let needs = NewNeeds {
            first: &self.needs,
            dropped: &self.dropped_needs,
            replaced: &self.renamed_needs,
        };
        edited.object.with_needs(&edited.relocations, needs)
    }
}

/// The search path that the loader uses; `None` if it is absent or empty.
fn old_path(audit: &Audit, file: FileId) -> Option<&[u8]> {
    let object = audit.corpus.files[file].object()?;
    Some(object.str(object.runpath.or(object.rpath)?)).filter(|path| !path.is_empty())
}

impl<'a> Patcher<'a> {
    /// A patcher whose changes are made in addition to `verified`.
    pub(super) fn new(
        audit: &'a mut Audit,
        plan: &'a Plan,
        tree: &'a dyn Tree,
        verified: Verified,
    ) -> Self {
        let before = BTreeSet::new();
        let (obstacles, constructors) = (Obstacles::default(), Constructors::default());
        Self { audit, plan, tree, before, looks: 0, obstacles, constructors, verified }
    }

    /// Verifies the steps. Returns the verified alternative of each step or the reason for its
    /// refusal, and all verified changes.
    pub(super) fn run(mut self, steps: &[Step]) -> (Vec<Result<Patch, String>>, Verified) {
        if steps.is_empty() {
            return (Vec::new(), self.verified);
        }
        self.before = Audit::faults(&self.audit.diagnosis);
        let mut files: Vec<FileId> = steps.iter().map(|step| step.file).collect();
        files.arrange();
        files.dedup();
        self.audit.read_for_edits(self.plan, self.tree, &files);
        let settled = self.settle(steps);
        (settled, self.verified)
    }

    /// Verifies all steps together, because one step may succeed only together with another. If
    /// that fails, verifies the first half of the steps, then the second.
    fn settle(&mut self, steps: &[Step]) -> Vec<Result<Patch, String>> {
        let Some(first) = steps.first() else { return Vec::new() };
        if steps.len() == 1 {
            return vec![self.choose(first)];
        }
        let best: Vec<(&Step, &Patch)> =
            steps.iter().filter_map(|step| Some((step, step.ways.first()?))).collect();
        if self.verify(&best).is_ok() {
            return best.into_iter().map(|(_, patch)| Ok(patch.clone())).collect();
        }
        let (some, others) = steps.split_at(steps.len() / 2);
        let mut out = self.settle(some);
        out.extend(self.settle(others));
        out
    }

    /// The first alternative that is verified, or the reason why the first alternative is not
    /// verified.
    fn choose(&mut self, step: &Step) -> Result<Patch, String> {
        let mut refusal = None;
        for way in &step.ways {
            match self.verify(&[(step, way)]) {
                Ok(()) => return Ok(way.clone()),
                Err(why) => drop(refusal.get_or_insert(why)),
            }
        }
        Err(refusal.unwrap_or_default())
    }

    /// Resolves and binds again with these steps in addition to the verified ones. On success, the
    /// steps become verified too. The error is the reason of a failure.
    fn verify(&mut self, steps: &[(&Step, &Patch)]) -> Result<(), String> {
        if self.looks == MOST_LOOKS {
            return Err(format!("the limit of {MOST_LOOKS} attempts is reached"));
        }
        self.looks += 1;
        let mut files = self.verified.clone();
        for (step, patch) in steps {
            files.entry(step.file).or_default().add(patch);
        }
        for (file, patch) in &files {
            let audit = &*self.audit;
            let grows = |facts| patch.grows(audit, *file, facts);
            if let Some(why) = self.obstacles.of((audit, self.tree), *file, grows) {
                return Err(why.to_owned());
            }
        }
        let mut edits = Edits::default();
        for (file, patch) in &files {
            let edited = patch.applied(self.audit, *file);
            edits.insert(*file, edited.ok_or("the file could not be read again")?);
        }
        let again = self.audit.loaded_again(self.plan, self.tree, &edits);
        let cures = steps.iter().flat_map(|(step, _)| &step.cures);
        if let Some(left) = { cures }.find(|error| again.errors.contains(*error)) {
            return Err(format!("{} would still be {}", show(&left.name), left.kind));
        }
        if let Some(why) = refusal(again.errors.difference(&self.before)) {
            return Err(why);
        }
        let mut dispensable = dispensable(self.audit, &files);
        let superseded = files.values().flat_map(|patch| &patch.superseded);
        let superseded = superseded.filter(|(_, new)| again.loaded.contains(*new));
        dispensable.extend(superseded.map(|(old, _)| *old));
        if let Some(lost) = again.lost.iter().filter(|file| !dispensable.contains(*file)).min() {
            let lost = show_path(&self.audit.corpus.files[*lost].path);
            return Err(format!("another file would be loaded instead of {lost}"));
        }
        if let Some(late) = self.constructors.late(self.audit, self.tree, &files) {
            let late = show_path(&self.audit.corpus.files[late].path);
            return Err(format!(
                "the constructors of {late} would not run before those of the file"
            ));
        }
        if !again.lost.is_empty()
            && let Some(program) = opener(self.audit, &files)
        {
            let program = show_path(&self.audit.corpus.files[program].path);
            return Err(format!("plugins that {program} opens may use the library"));
        }
        if steps.iter().any(|(_, patch)| patch.changes_needs())
            && let Some(name) = self.audit.rebound(self.plan, self.tree, &edits)
        {
            return Err(format!("{} would be bound to another library", show(&name)));
        }
        self.verified = files;
        Ok(())
    }
}

/// The files that are loaded through dropped needs, directly or not.
fn dispensable(audit: &Audit, files: &Verified) -> FastSet<FileId> {
    let mut out = FastSet::default();
    for_each_drop(audit, files, |closure, _, dropped| {
        let below = below(audit, closure, &Verified::new(), dropped);
        out.extend(below.into_iter().filter_map(|module| closure.module(module).file));
    });
    out
}

/// An entry point that loads a file with dropped needs, and whose process can open plugins. Plugins
/// see the symbols of all libraries of the process.
fn opener(audit: &Audit, files: &Verified) -> Option<FileId> {
    let opens =
        |file: FileId| audit.corpus.files[file].object().is_some_and(|object| object.opens_plugins);
    let mut out = None;
    for_each_drop(audit, files, |closure, _, _| {
        if out.is_none() && closure.in_scope().any(|(_, file)| opens(file)) {
            out = Some(closure.root.file);
        }
    });
    out
}

/// For each checked file, true if it has constructors or destructors besides those of the start
/// files, or if it cannot be read.
#[derive(Default)]
struct Constructors {
    files: FastMap<FileId, bool>,
}

impl Constructors {
    /// A file whose constructors now run before those of a file with dropped needs, but may run
    /// after them once the needs are dropped. `None` if there is no such file.
    fn late(&mut self, audit: &Audit, tree: &dyn Tree, files: &Verified) -> Option<FileId> {
        let mut out = None;
        for_each_drop(audit, files, |closure, module, dropped| {
            let kept = below(audit, closure, files, vec![module]);
            let lost = below(audit, closure, &Verified::new(), dropped);
            let late = lost.difference(&kept).filter_map(|module| closure.module(*module).file);
            out = out.or(late.filter(|file| self.has(audit, tree, *file)).min());
        });
        out
    }

    fn has(&mut self, audit: &Audit, tree: &dyn Tree, file: FileId) -> bool {
        let facts = &audit.corpus.files[file];
        let starts = || tree.open_regular(&facts.path).map_or(true, |file| has_start_code(&file));
        let is_array = || facts.object().is_none_or(Object::has_constructors);
        *self.files.entry(file).or_insert_with(|| is_array() || starts())
    }
}

/// Calls `what` for each module that drops needs, in each closure. The last argument has the
/// modules of the dropped needs.
fn for_each_drop(
    audit: &Audit,
    files: &Verified,
    mut what: impl FnMut(&Closure, ModuleId, Vec<ModuleId>),
) {
    let dropping: Vec<_> =
        files.iter().filter(|(_, patch)| !patch.dropped_needs.is_empty()).collect();
    for closure in &audit.closures.roots {
        for (file, patch) in &dropping {
            for (module, _) in closure.found().filter(|(_, found)| found == *file) {
                let edges = closure.needs(module).iter();
                let dropped = edges.filter(|edge| patch.drops(audit, edge)).map(|edge| edge.to);
                what(closure, module, dropped.collect());
            }
        }
    }
}

/// The modules in `next`, and all that they need after the changes, directly or not.
pub(super) fn below(
    audit: &Audit,
    closure: &Closure,
    files: &Verified,
    mut next: Vec<ModuleId>,
) -> FastSet<ModuleId> {
    let mut out: FastSet<ModuleId> = next.iter().copied().collect();
    while let Some(module) = next.pop() {
        let patch = closure.module(module).file.and_then(|file| files.get(&file));
        let edges = closure.needs(module).iter();
        let kept = edges.filter(|edge| patch.is_none_or(|patch| !patch.drops(audit, edge)));
        next.extend(kept.map(|edge| edge.to).filter(|to| out.insert(*to)));
    }
    out
}

/// The verified changes, in the form for emitters. Files outside of prefixes and files that cannot
/// be read are omitted.
pub(super) fn plan(audit: &Audit, tree: &dyn Tree, verified: &Verified) -> Vec<ElfPatch> {
    let of_file = |(file, patch): (&FileId, &Patch)| {
        let facts = &audit.corpus.files[*file];
        let object = facts.object()?;
        let needs = object.needs.iter().filter(|need| need.kind == NeedKind::Needed);
        let handle = tree.open_regular(&facts.path).ok()?;
        let is_shared = patchable(&handle)?.path_is_shared;
        let path = patch.path(audit, *file);
        let tag = patch.tag(object);
        let keeps_tag = tag == Patch::default().tag(object);
        let is_same = path == old_path(audit, *file).unwrap_or_default();
        let change = match (is_same && keeps_tag, path.is_empty(), tag) {
            (true, _, _) => PathChange::Keep,
            (false, true, _) => PathChange::Remove,
            (false, false, PathTag::Rpath) => PathChange::Rpath,
            (false, false, PathTag::Runpath) => PathChange::Runpath,
        };
        Some(ElfPatch {
            file: PathBuf::from(&*facts.path),
            prefix: audit.prefixes.locate(&facts.path).prefix?,
            new_tag: !keeps_tag && !path.is_empty(),
            path,
            change,
            keeps_text: is_shared && patch.replaces_path(audit, *file),
            needed: needs.map(|need| object.str(need.name).to_vec()).collect(),
            new_needs: patch.needs.iter().cloned().collect(),
            dropped_needs: patch.dropped_needs.iter().cloned().collect(),
            renamed_needs: patch.renamed_needs.clone().into_iter().collect(),
            has_capabilities: tree.has_capabilities(&facts.path),
            sha256: digest(&handle)?,
        })
    };
    let mut out: Vec<ElfPatch> = verified.iter().filter_map(of_file).collect();
    out.sort_by(|a, b| a.file.as_os_str().cmp(b.file.as_os_str()));
    out
}

/// SHA-256 of a file in hexadecimal; `None` if it cannot be read.
fn digest(file: &Handle) -> Option<String> {
    let mut hash = Sha256::new();
    let mut buffer = vec![0; 1 << 20];
    let mut offset = 0;
    loop {
        let read = file.read_at(&mut buffer, offset).ok()?;
        if read == 0 {
            break;
        }
        hash.update(&buffer[..read]);
        offset += u64::try_from(read).ok()?;
    }
    let mut out = String::new();
    for byte in hash.finalize() {
        write!(out, "{byte:02x}").ok()?;
    }
    Some(out)
}
