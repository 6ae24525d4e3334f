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
    /// Files whose search path lacks entries, by path.
    pub search_paths: Vec<SearchPath>,
}

/// A file and its search path with verified new entries.
#[derive(Debug, PartialEq, Eq)]
pub struct SearchPath {
    /// The file, with links resolved.
    pub file: PathBuf,
    /// The prefix that it lies in.
    pub prefix: PathBuf,
    /// The whole search path as it is to be.
    pub path: Vec<u8>,
    /// True for DT_RPATH, false for DT_RUNPATH.
    pub is_rpath: bool,
    /// SHA-256 of the file, in hexadecimal.
    pub sha256: String,
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
