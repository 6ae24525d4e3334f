//! The changes that remove findings, as data: archives for lists, and changes of dynamic sections.

use crate::format::deps_list::{DepsList, Set, SetChange, bare_name};
use crate::order;
use crate::tree::Tree;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt as _};
use std::path::{Path, PathBuf};

/// The changes that a run of `fix` proposes, and that emitters write for other tools.
#[derive(Debug, Default)]
pub struct FixPlan {
    /// The archive that is merged from others, if there is one.
    pub merged: Option<PathBuf>,
    /// The list of archives with its changes: the parts of the merged archive, or the inputs of a
    /// link.
    pub list: Option<ListChange>,
    /// The merged archive and the archives to add, in link order, then the shared libraries.
    /// Archives that refer to each other in a cycle are in one group.
    pub order: Vec<Vec<PathBuf>>,
    /// The shared libraries in `order`, each with the path by which builds link it: its development
    /// link, or its own path.
    pub libraries: BTreeMap<PathBuf, PathBuf>,
    /// The files in `order` that the option `-lNAME` may not find, each with the form of option
    /// that links the file.
    pub link_by: BTreeMap<PathBuf, LinkBy>,
    /// Files whose dynamic sections change, in the order of their paths.
    pub patches: Vec<ElfPatch>,
}

impl FixPlan {
    /// Archives that the merged archive lacks, or archives and shared libraries that the link
    /// lacks. They are in link order, because a linker uses the first definition of a name.
    pub fn added(&self) -> impl Iterator<Item = &PathBuf> {
        let all = self.order.iter().flatten();
        all.filter(|path| self.merged.as_ref() != Some(*path))
    }

    /// The path by which builds link a file of `order`.
    pub fn link_path<'p>(&'p self, file: &'p Path) -> &'p Path {
        self.libraries.get(file).map_or(file, PathBuf::as_path)
    }

    /// Fills `link_by`. For each `-lNAME`, linkers search all `-L` directories of the link line,
    /// in their order on the line. In each directory, they prefer `libNAME.so` to `libNAME.a`.
    pub(super) fn find_link_forms(&mut self, tree: &dyn Tree) {
        let mut dirs: Vec<&Path> = Vec::new();
        let mut forms = BTreeMap::new();
        for file in self.order.iter().flatten() {
            let link = self.link_path(file);
            let dir = link.parent().unwrap_or(Path::new("/"));
            if !dirs.contains(&dir) {
                dirs.push(dir);
            }
        }
        for file in self.order.iter().flatten() {
            let link = self.link_path(file);
            let name = link.file_name().unwrap_or_default();
            let has = |dir: &Path, name: &OsStr| tree.kind(&dir.join(name)).is_ok();
            let before = || dirs.iter().take_while(|dir| Some(**dir) != link.parent());
            if before().any(|dir| has(dir, name)) {
                forms.insert(file.clone(), LinkBy::Path);
            } else if !self.is_found_by_name(file, &dirs, &has) {
                forms.insert(file.clone(), LinkBy::FileName);
            }
        }
        self.link_by = forms;
    }

    /// True if `-lNAME` finds a file of `order` in `dirs`, in any order of these directories.
    fn is_found_by_name(
        &self,
        file: &Path,
        dirs: &[&Path],
        has: &dyn Fn(&Path, &OsStr) -> bool,
    ) -> bool {
        let link = self.link_path(file);
        let name = link.file_name().map(OsStrExt::as_bytes).unwrap_or_default();
        let is_archive = !self.libraries.contains_key(file);
        let Some(name) = bare_name(name).or_else(|| shared_name(name)) else { return false };
        let [shared, archive] =
            [&b".so"[..], b".a"].map(|end| OsString::from_vec([b"lib", name, end].concat()));
        dirs.iter().all(|dir| {
            let is_own = link.parent() == Some(*dir);
            (is_own && !is_archive || !has(dir, &shared)) && (is_own || !has(dir, &archive))
        })
    }
}

/// The form of the option that links a file of a fix plan, if `-lNAME` may link another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LinkBy {
    /// `-l:FILE`.
    FileName,
    /// The path without an option: an earlier directory of the line has a file of the same name.
    Path,
}

/// NAME in the file name `libNAME.so`. `None` for other file names.
pub fn shared_name(file_name: &[u8]) -> Option<&[u8]> {
    file_name.strip_prefix(b"lib")?.strip_suffix(b".so").filter(|name| !name.is_empty())
}

/// Verified changes of the dynamic section of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct ElfPatch {
    /// The file, with links resolved.
    pub file: PathBuf,
    /// The prefix that contains the file.
    pub prefix: PathBuf,
    /// The whole search path after the change, with entries separated by colons. Empty if there is
    /// none.
    pub path: Vec<u8>,
    /// The change of the search path.
    pub change: PathChange,
    /// True if the text of the old search path must stay in the file, because other names in the
    /// file share it.
    pub keeps_text: bool,
    /// True if the tag changes from DT_RPATH to DT_RUNPATH, or back.
    pub new_tag: bool,
    /// The names of needed libraries before the change, in the order of the file.
    pub needed: Vec<Vec<u8>>,
    /// Names of libraries to add to the needs, in byte order.
    pub new_needs: Vec<Vec<u8>>,
    /// Names of libraries to remove from the needs, in byte order.
    pub dropped_needs: Vec<Vec<u8>>,
    /// Names of needed libraries, each with its new name, in byte order of the old names.
    pub renamed_needs: Vec<(Vec<u8>, Vec<u8>)>,
    /// True if the file has capabilities (`security.capability`).
    pub has_capabilities: bool,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// The change that patchelf makes to a search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// patchelf gets no option for the search path.
    Keep,
    /// The search path is removed.
    Remove,
    /// The search path is written as DT_RUNPATH.
    Runpath,
    /// The search path is written as DT_RPATH.
    Rpath,
}

impl PathChange {
    /// The options with which patchelf makes the change; `None` if the search path stays.
    pub fn options(self) -> Option<&'static str> {
        match self {
            PathChange::Keep => None,
            PathChange::Remove => Some("--remove-rpath"),
            PathChange::Runpath => Some("--set-rpath"),
            // `--set-rpath` without `--force-rpath` writes DT_RUNPATH.
            PathChange::Rpath => Some("--force-rpath --set-rpath"),
        }
    }
}

impl ElfPatch {
    /// The names of needed libraries after the change, in byte order.
    pub fn needed_after(&self) -> Vec<&[u8]> {
        let new_name = |name: &Vec<u8>| self.renamed_needs.iter().find(|(old, _)| old == name);
        let kept = self.needed.iter().filter(|name| !self.dropped_needs.contains(name));
        let kept = kept.map(|name| new_name(name).map_or(&**name, |(_, new)| new));
        let mut out: Vec<&[u8]> = kept.chain(self.new_needs.iter().map(Vec::as_slice)).collect();
        out.sort_unstable();
        out
    }

    /// The calls of patchelf for the changes, each with its options and their values. The changes
    /// need separate calls: patchelf 0.14 writes a wrong search path if the same call adds a need.
    /// patchelf puts a new need before all other needs, so needs are added in reverse order.
    /// `--set-rpath` overwrites the old text. patchelf 0.14 does so even if a symbol's name shares
    /// the text. `--remove-rpath` keeps the text, and a later `--set-rpath` then has no old text to
    /// overwrite.
    pub fn calls(&self) -> Vec<(&'static str, Vec<&[u8]>)> {
        let path = Some(self.path.as_slice()).filter(|_| self.change != PathChange::Remove);
        let path = self.change.options().map(|options| (options, path.into_iter().collect()));
        let removed = self.keeps_text.then(|| ("--remove-rpath", Vec::new()));
        let renamed = self.renamed_needs.iter();
        let renamed = renamed.map(|(old, new)| ("--replace-needed", vec![&**old, &**new]));
        let dropped = self.dropped_needs.iter().map(|name| ("--remove-needed", vec![&**name]));
        let added = self.new_needs.iter().rev().map(|name| ("--add-needed", vec![&**name]));
        let path = removed.into_iter().chain(path);
        path.chain(renamed).chain(dropped).chain(added).collect()
    }
}

/// A file with a list of archives, and the changes of the list.
#[derive(Debug)]
pub struct ListChange {
    /// The path of the file.
    pub path: PathBuf,
    /// The list before the changes.
    pub list: DepsList,
    /// Changes, each with the index of its set in `list`.
    pub changes: Vec<(usize, SetChange)>,
    /// Archives that fit no set, each with the reason as the end of a sentence.
    pub unlisted: Vec<(PathBuf, &'static str)>,
    /// The variables and targets that keep names that the merged archive does not need, because
    /// other commands may use them.
    pub kept: BTreeSet<Vec<u8>>,
}

impl ListChange {
    /// Adds changes that drop names from the sets that have them. Sets in a branch of `if()` keep
    /// their names, because the audited files may come from another branch. So do commands that are
    /// not valid without values, and the variables and targets in `others`.
    pub fn drop(&mut self, names: &BTreeSet<Vec<u8>>, others: &BTreeSet<Vec<u8>>) {
        let has = |set: &&Set| set.entries.iter().any(|entry| names.contains(&entry.name));
        let sets = self.list.sets().iter().filter(has).map(|set| &set.name);
        self.kept = sets.filter(|name| others.contains(*name)).cloned().collect();
        let sets = self.list.sets().iter().enumerate();
        let is_own = |set: &Set| !set.is_conditional() && !others.contains(&set.name);
        for (at, set) in sets.filter(|(_, set)| is_own(set)) {
            let here = set.entries.iter().filter(|entry| names.contains(&entry.name));
            let drop: BTreeSet<Vec<u8>> = order::set(here.map(|entry| entry.name.clone()));
            let is_emptied = || drop.len() == set.names().count() && set.references.is_empty();
            let is_kept = drop.is_empty() || self.list.needs_values(set) && is_emptied();
            if !is_kept {
                self.changes.push((at, SetChange { drop, ..SetChange::default() }));
            }
        }
    }
}
