//! Emitters: a remedy written for another tool. An emitter is one file and one row in [`EMITTERS`].
//! It writes bytes where it is told and decides nothing. A name that its format cannot carry is
//! left out and answered, so that the run says so.

mod cmake_deps;
mod ldflags;
mod mri;
mod policy_waivers;

use crate::format::deps_list::{Change, DepsList};
use crate::judge::Judged;
use crate::report::Named;
use std::collections::BTreeSet;
use std::path::PathBuf;

/// What a run of `fix` came to.
#[derive(Debug, Default)]
pub struct Remedy {
    /// The archive that is merged from others, if there is one.
    pub merged: Option<PathBuf>,
    /// The list it is merged from, with what is to be done to each set.
    pub list: Option<ListChange>,
    /// Archives that it, or the link, lacks, in byte order.
    pub add: Vec<PathBuf>,
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
    /// Archives whose names no list can carry.
    pub unlisted: Vec<PathBuf>,
}

impl ListChange {
    /// Lets names leave every set they are in.
    pub fn drop(&mut self, names: &BTreeSet<Vec<u8>>) {
        for (at, set) in self.list.sets().iter().enumerate() {
            let here = set.entries.iter().filter(|entry| names.contains(&entry.name));
            let drop: BTreeSet<Vec<u8>> = here.map(|entry| entry.name.clone()).collect();
            if !drop.is_empty() {
                self.changes.push((at, Change { add: BTreeSet::new(), drop }));
            }
        }
    }
}

/// What an emitter writes down.
pub struct Emission<'a> {
    /// What is to be done.
    pub remedy: &'a Remedy,
    /// The findings that it is done about, and those without a remedy.
    pub findings: &'a [Judged],
}

/// A name that a format cannot carry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refused {
    /// The name, raw.
    pub name: Vec<u8>,
    /// A sentence's end: why.
    pub reason: &'static str,
}

/// What an emitter made.
#[derive(Debug, Default)]
pub struct Emitted {
    /// The file.
    pub bytes: Vec<u8>,
    /// What is not in it.
    pub refused: Vec<Refused>,
}

impl Emitted {
    fn refuse(&mut self, name: &[u8], reason: &'static str) {
        self.refused.push(Refused { name: name.to_vec(), reason });
    }
}

/// One format.
pub struct Emitter {
    /// Its name on the command line.
    pub name: &'static str,
    /// It cannot do without a list.
    pub needs_list: bool,
    /// It cannot do without a merged archive.
    pub needs_archive: bool,
    /// Writes it.
    pub render: fn(&Emission<'_>) -> Emitted,
}

impl Named for Emitter {
    fn name(&self) -> &'static str {
        self.name
    }
}

/// All formats.
pub const EMITTERS: &[Emitter] = &[
    Emitter {
        name: "cmake-deps",
        needs_list: true,
        needs_archive: true,
        render: cmake_deps::render,
    },
    Emitter { name: "mri", needs_list: false, needs_archive: true, render: mri::render },
    Emitter { name: "ldflags", needs_list: false, needs_archive: false, render: ldflags::render },
    Emitter {
        name: "policy-waivers",
        needs_list: false,
        needs_archive: false,
        render: policy_waivers::render,
    },
];
