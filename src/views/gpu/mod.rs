//! `linkaudit gpu`: the device code of each file, and the targets that each library serves. The
//! targets are listed for all files together and for each entry point. With `--target`, the answer
//! is about one GPU.

mod human;
mod json;

pub use json::SCHEMA;

use super::ViewOutput;
use crate::audit::Audit;
use crate::format::gpu::TargetId;
use crate::gpu::compat::blocked;
use crate::gpu::{DeviceCoverage, Profile, TargetCode, Unit, coverage};
use crate::plan::Plan;
use crate::text::show_path;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The output formats of `gpu`.
pub const OUTPUTS: &[ViewOutput<Gpu>] = &[
    ViewOutput { name: "human", render: human::render },
    ViewOutput { name: "json", render: json::render },
];

/// The answer of `gpu`: the GPU targets that libraries and data directories serve.
#[derive(Debug)]
pub struct Gpu {
    /// The GPU target of `--target`; `None` without that option.
    pub target: Option<TargetId>,
    /// The coverage of all files together, then the coverage of each entry point.
    pub scopes: Vec<CoverageScope>,
}

/// The coverage of targets by the device code of one entry point, or of all files.
#[derive(Debug)]
pub struct CoverageScope {
    /// The entry point; `None` for all files.
    pub root: Option<PathBuf>,
    /// The HIP runtime that the entry point loads, if any; `None` for all files.
    pub runtime: Option<PathBuf>,
    /// The variant of the HIP runtime, upstream's or a distribution's. It decides which code a
    /// target accepts.
    pub profile: Profile,
    /// The reason for the choice of `profile`, in words.
    pub reason: String,
    /// The targets that are checked, sorted.
    pub targets: Vec<TargetId>,
    /// One row for each library or data directory.
    pub rows: Vec<CoverageRow>,
}

/// The targets that one library or data directory serves.
#[derive(Debug)]
pub struct CoverageRow {
    /// The path of the library or data directory.
    pub path: PathBuf,
    /// The coverage of each target of the scope, in the same order.
    pub coverage: Vec<DeviceCoverage>,
    /// The targets for which the library or data directory has code.
    pub offers: Vec<TargetCode>,
}

impl Gpu {
    /// The coverage of all files of an audit, and of each entry point.
    pub fn new(audit: &Audit, plan: &Plan) -> Self {
        let devices = &audit.devices;
        let target = plan.gpu.as_ref().and_then(|request| request.target.clone());
        let (profile, reason) =
            devices.profile.clone().unwrap_or((Profile::Stock, "no device code".to_owned()));
        let asked = asked(plan, target.as_ref());
        let row = |unit: Unit, profile: Profile, targets: &[TargetId]| {
            let offers = devices.offers(unit);
            let coverage = targets.iter().map(|t| coverage(t, &offers, profile)).collect();
            CoverageRow { path: path(audit, unit).to_path_buf(), coverage, offers }
        };
        let units = devices.units();
        let targets = asked.clone().unwrap_or_else(|| all_targets(audit, &units));
        let rows = units.iter().map(|unit| row(*unit, devices.profile(*unit), &targets)).collect();
        let mut scopes =
            vec![CoverageScope { root: None, runtime: None, profile, reason, targets, rows }];
        for process in &devices.processes {
            let mut units: Vec<Unit> = process.units.iter().map(|(unit, _)| *unit).collect();
            units.sort_unstable();
            let targets = asked.clone().unwrap_or_else(|| all_targets(audit, &units));
            let runtime = process.runtime.map(|runtime| runtime.file);
            let (profile, reason) = (process.profile, process.reason.clone());
            scopes.push(CoverageScope {
                root: Some(audit.root_path(process.root).to_path_buf()),
                runtime: runtime.map(|file| audit.corpus.files[file].path.to_path_buf()),
                profile,
                reason,
                rows: units.iter().map(|unit| row(*unit, profile, &targets)).collect(),
                targets,
            });
        }
        Self { target, scopes }
    }

    /// True if some device code does not serve the target of `--target`. False without that option.
    pub fn fails(&self) -> bool {
        self.target.is_some() && self.scopes.iter().any(|scope| scope.lacking().next().is_some())
    }
}

impl CoverageScope {
    /// Pairs of a row and a target that the row does not cover.
    pub fn lacking(&self) -> impl Iterator<Item = (&CoverageRow, &TargetId)> {
        self.rows.iter().flat_map(|row| {
            let each = self.targets.iter().zip(&row.coverage);
            each.filter(|(_, coverage)| **coverage == DeviceCoverage::None)
                .map(move |(target, _)| (row, target))
        })
    }

    /// The reason why a row does not serve a target, as the end of a sentence.
    fn why(&self, row: &CoverageRow, target: &TargetId) -> String {
        if let Some(offer) = blocked(target, &row.offers, self.profile) {
            return format!(
                "has {}, which the runtime accepts for {target}, but in a compressed bundle, where comgr \
                 looks for exact names only",
                offer.target
            );
        }
        let own: Vec<String> = row.offers.iter().map(|offer| offer.target.to_string()).collect();
        format!("has no code for {target}; has {}", own.join(" "))
    }
}

/// The targets of `--target` or of the policy; `None` if neither has any.
fn asked(plan: &Plan, target: Option<&TargetId>) -> Option<Vec<TargetId>> {
    if let Some(target) = target {
        return Some(vec![target.clone()]);
    }
    let (listed, _) = plan.policy.gpu.targets.as_ref()?;
    let targets: BTreeSet<TargetId> =
        listed.iter().filter_map(|text| TargetId::parse(text.as_bytes())).collect();
    Some(targets.into_iter().collect()).filter(|targets: &Vec<_>| !targets.is_empty())
}

/// All processors for which one of `units` has code.
fn all_targets(audit: &Audit, units: &[Unit]) -> Vec<TargetId> {
    let all = units.iter().flat_map(|unit| audit.devices.offers(*unit));
    let all: BTreeSet<TargetId> = all.map(|o| TargetId::any(&o.target.processor)).collect();
    all.into_iter().collect()
}

/// The path of a library, or of a data directory.
pub(crate) fn path(audit: &Audit, unit: Unit) -> &Path {
    match unit {
        Unit::File(file) => &audit.corpus.files[file].path,
        Unit::Data(set) => audit.devices.sets.get(set).map_or(Path::new(""), |set| &*set.dir),
    }
}

/// A path as text. It is relative to its prefix if the command line names one directory.
fn shown(audit: &Audit, path: &Path) -> String {
    let located = audit.prefixes.locate(path);
    let is_alone = audit.prefixes.dirs().len() == 1;
    if is_alone && located.prefix.is_some() { show_path(&located.path) } else { show_path(path) }
}
