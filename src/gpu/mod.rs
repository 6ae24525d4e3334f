//! The device code of audited files, and the GPUs that can run it. The types hold the code of each
//! file, the data directories, the HIP runtime of each process, and the coverage of targets.
//! `audit::gpu` fills these types; rules and the view `gpu` read them. This module opens no file.

pub mod compat;
pub mod data;
pub mod databases;
mod runtime;

pub use compat::{DeviceCoverage, Profile, TargetCode, coverage};
pub use data::{DataDefect, DataSet};
pub use runtime::{Runtime, profile_of};

use crate::format::gpu::{ContainerKind, DeviceCode};
use crate::id::{FileId, RootId};
use std::collections::{BTreeMap, BTreeSet};

/// All device code of a run.
#[derive(Debug, Default)]
pub struct Devices {
    /// The device code, and its defects, of each file that has device code.
    pub files: BTreeMap<FileId, DeviceCode>,
    /// Files whose device code could not be read completely, each with the reason.
    pub unreadable: Vec<(FileId, String)>,
    /// The data sets: directories of code objects, and the kpack files of a program or library.
    pub sets: Vec<DataSet>,
    /// Databases of MIOpen and rocFFT.
    pub databases: Vec<databases::Database>,
    /// Libraries that need Tensile data, but whose data directory was not found.
    pub without_data: Vec<(FileId, data::Tensile)>,
    /// Programs and libraries whose kpack files do not exist, with the path of the first such file.
    pub without_kpack: Vec<(FileId, Vec<u8>)>,
    /// Entry points that load device code.
    pub processes: Vec<Process>,
    /// The profile for device code that no entry point loads, and the reason for this profile.
    /// `None` if the run reads no device code.
    pub profile: Option<(Profile, String)>,
}

/// An entry point that loads device code.
#[derive(Debug)]
pub struct Process {
    /// The entry point.
    pub root: RootId,
    /// The HIP runtime that the entry point loads, if any.
    pub runtime: Option<Runtime>,
    /// The variant of the HIP runtime, which decides which device code the process accepts.
    pub profile: Profile,
    /// The reason for `profile`, as a phrase for reports.
    pub reason: String,
    /// The device code that the process loads. With each unit come the files that load it,
    /// directly or through other files.
    pub units: Vec<(Unit, Vec<FileId>)>,
}

/// Device code that is loaded as a whole.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Unit {
    /// A program or library with device code in it.
    File(FileId),
    /// A data set, by index in [`Devices::sets`].
    Data(usize),
}

impl Devices {
    /// The AMD targets for which a unit has code, sorted. Empty for an unknown unit.
    pub fn offers(&self, unit: Unit) -> Vec<TargetCode> {
        match unit {
            Unit::File(file) => self.files.get(&file).map(offers).unwrap_or_default(),
            Unit::Data(set) => self.sets.get(set).map(|s| s.offers.clone()).unwrap_or_default(),
        }
    }

    /// Number of code objects, without the empty entries that bundles have for the CPU.
    pub fn code_objects(&self) -> usize {
        let containers = self.files.values().flat_map(|code| &code.containers);
        let entries = containers.flat_map(|container| &container.entries);
        entries.filter(|entry| entry.target().is_some() || entry.code.is_some()).count()
    }

    /// The profile for a unit: the profile of the first process that loads it, else the profile of
    /// the run, else [`Profile::Stock`].
    pub fn profile(&self, unit: Unit) -> Profile {
        let loads = |process: &&Process| process.units.iter().any(|(known, _)| *known == unit);
        let own = self.processes.iter().find(loads).map(|process| process.profile);
        own.or(self.profile.as_ref().map(|(profile, _)| *profile)).unwrap_or(Profile::Stock)
    }

    /// All units with AMD targets: programs and libraries with device code, then data directories.
    pub fn units(&self) -> Vec<Unit> {
        let files = self.files.iter().filter(|(_, code)| is_host(code) && !offers(code).is_empty());
        let files = files.map(|(file, _)| Unit::File(*file));
        let sets = self.sets.iter().enumerate().filter(|(_, set)| !set.offers.is_empty());
        files.chain(sets.map(|(number, _)| Unit::Data(number))).collect()
    }
}

/// True for a program, library or archive with device code in it, and for a file of several
/// containers in a row. False for a file that is a single code object or bundle.
pub fn is_host(code: &DeviceCode) -> bool {
    code.wrappers > 0 || code.containers.iter().any(|container| container.offset > 0)
}

/// The AMD targets of a file, sorted. A target is marked as compressed only if all of its code is
/// compressed.
pub fn offers(code: &DeviceCode) -> Vec<TargetCode> {
    let mut all: BTreeSet<TargetCode> = BTreeSet::new();
    for container in &code.containers {
        let compressed = container.kind == ContainerKind::Ccob;
        for entry in &container.entries {
            let target = entry.target_id().or_else(|| entry.code.as_ref()?.target.clone());
            all.extend(target.map(|target| TargetCode { target, compressed }));
        }
    }
    by_target(all)
}

/// One [`TargetCode`] for each target, preferably one that is not compressed.
pub fn by_target(offers: BTreeSet<TargetCode>) -> Vec<TargetCode> {
    let mut out: Vec<TargetCode> = offers.into_iter().collect();
    // An entry that is not compressed sorts first, so it is kept.
    out.dedup_by(|b, a| a.target == b.target);
    out
}
