//! What is to be done so that findings go away, as data: which archives join which list. `propose`
//! makes it; emitters and the summary for people write it.

use crate::format::deps_list::{Change, DepsList};
use crate::order;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a run of `fix` came to.
#[derive(Debug, Default)]
pub struct FixPlan {
    /// The archive that is merged from others, if there is one.
    pub merged: Option<PathBuf>,
    /// The list it is merged from, with what is to be done to each set.
    pub list: Option<ListChange>,
    /// Archives that it, or the link, lacks, in byte order.
    pub add: Vec<PathBuf>,
    /// The merged archive and those to add in link order; archives that refer to each other in a
    /// circle are together.
    pub order: Vec<Vec<PathBuf>>,
    /// Files whose dynamic sections change, by path.
    pub patches: Vec<ElfPatch>,
}

/// Verified changes of the dynamic section of one file.
#[derive(Debug, PartialEq, Eq)]
pub struct ElfPatch {
    /// The file, with links resolved.
    pub file: PathBuf,
    /// The prefix that it lies in.
    pub prefix: PathBuf,
    /// The whole search path as it is to be.
    pub path: Vec<u8>,
    /// How it is changed.
    pub change: PathChange,
    /// True if it has the other of the two tags now.
    pub new_tag: bool,
    /// The names of needed libraries as they are now.
    pub needed: Vec<Vec<u8>>,
    /// Names of libraries that are to be needed in addition, in byte order.
    pub new_needs: Vec<Vec<u8>>,
    /// Names of libraries that are to be needed no longer, in byte order.
    pub dropped_needs: Vec<Vec<u8>>,
    /// Names of needed libraries with their new names, in byte order.
    pub renamed_needs: Vec<(Vec<u8>, Vec<u8>)>,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
}

/// A change of a search path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathChange {
    /// It stays.
    Keep,
    /// It goes.
    Remove,
    /// DT_RUNPATH is set.
    Runpath,
    /// DT_RPATH is set.
    Rpath,
}

impl PathChange {
    /// The options with which patchelf makes the change.
    pub fn options(self) -> Option<&'static str> {
        match self {
            PathChange::Keep => None,
            PathChange::Remove => Some("--remove-rpath"),
            PathChange::Runpath => Some("--set-rpath"),
            // `--set-rpath` alone writes DT_RUNPATH.
            PathChange::Rpath => Some("--force-rpath --set-rpath"),
        }
    }
}

impl ElfPatch {
    /// The names of needed libraries as they are to be, in byte order.
    pub fn needed_after(&self) -> Vec<&[u8]> {
        let new_name = |name: &Vec<u8>| self.renamed_needs.iter().find(|(old, _)| old == name);
        let kept = self.needed.iter().filter(|name| !self.dropped_needs.contains(name));
        let kept = kept.map(|name| new_name(name).map_or(&**name, |(_, new)| new));
        let mut out: Vec<&[u8]> = kept.chain(self.new_needs.iter().map(Vec::as_slice)).collect();
        out.sort_unstable();
        out
    }

    /// The calls of patchelf that make the changes: an option of several words, and values. Each is a call
    /// of its own, because patchelf 0.14 writes a wrong search path if one call adds a need too. It puts a
    /// new need before the others, so that the last one comes first.
    pub fn calls(&self) -> Vec<(&'static str, Vec<&[u8]>)> {
        let path = Some(self.path.as_slice()).filter(|_| self.change != PathChange::Remove);
        let path = self.change.options().map(|options| (options, path.into_iter().collect()));
        let renamed = self.renamed_needs.iter();
        let renamed = renamed.map(|(old, new)| ("--replace-needed", vec![&**old, &**new]));
        let dropped = self.dropped_needs.iter().map(|name| ("--remove-needed", vec![&**name]));
        let added = self.new_needs.iter().rev().map(|name| ("--add-needed", vec![&**name]));
        path.into_iter().chain(renamed).chain(dropped).chain(added).collect()
    }
}

/// A list and its changes.
#[derive(Debug)]
pub struct ListChange {
    /// The file.
    pub path: PathBuf,
    /// As it was read.
    pub list: DepsList,
    /// Changes by the index of their set.
    pub changes: Vec<(usize, Change)>,
    /// Archives that no set takes, and the end of a sentence: why.
    pub unlisted: Vec<(PathBuf, &'static str)>,
}

impl ListChange {
    /// Lets names leave every set they are in.
    pub fn drop(&mut self, names: &BTreeSet<Vec<u8>>) {
        for (at, set) in self.list.sets().iter().enumerate() {
            let here = set.entries.iter().filter(|entry| names.contains(&entry.name));
            let drop: BTreeSet<Vec<u8>> = order::set(here.map(|entry| entry.name.clone()));
            if !drop.is_empty() {
                self.changes.push((at, Change { drop, ..Change::default() }));
            }
        }
    }
}
