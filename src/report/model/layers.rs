//! The libraries that come from a stage, and the libraries that come from the system. In a run
//! without stages: the PATHs of the command line that look like a stage.

use crate::audit::Audit;
use crate::id::{FastMap, FastSet, FileId};
use crate::order::Arrange as _;
use crate::plan::Plan;
use crate::text::raw;
use crate::tree::FileOrigin;
use serde::{Deserialize, Serialize};
use std::path::Path;
use std::sync::Arc;

/// The libraries that entry points load, by layer.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Layers {
    /// The loaded files that come from a stage, sorted by path.
    pub stage: Vec<LayerFile>,
    /// The loaded files that come from the sysroot, sorted by path.
    pub sysroot: Vec<LayerFile>,
}

/// The path of a loaded file, in the audited system.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug, Serialize, Deserialize)]
#[serde(transparent)]
pub struct LayerFile(#[serde(with = "raw")] pub Arc<Path>);

/// A PATH of the command line that looks like a staging directory. Instead of a library in this
/// directory, the loader took a library with the same soname from elsewhere.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct LikeStage {
    /// The path of the directory.
    #[serde(with = "raw")]
    pub directory: Arc<Path>,
    /// The library that was loaded instead, outside of the directory.
    #[serde(with = "raw")]
    pub loaded: Arc<Path>,
    /// The library with the same soname, below `usr` in the directory.
    #[serde(with = "raw")]
    pub held: Arc<Path>,
}

/// The files that entry points load, by layer; `None` without stages.
pub(super) fn layers(audit: &Audit, plan: &Plan) -> Option<Layers> {
    if plan.stages.is_empty() {
        return None;
    }
    let mut out = Layers::default();
    for file in loaded(audit) {
        let facts = &audit.corpus.files[file];
        let list = match facts.origin {
            Some(FileOrigin::Stage) => &mut out.stage,
            Some(FileOrigin::Sysroot) => &mut out.sysroot,
            None => continue,
        };
        list.push(LayerFile(Arc::clone(&facts.path)));
    }
    out.stage.arrange();
    out.sysroot.arrange();
    Some(out)
}

/// The files that entry points load, except the entry points themselves.
fn loaded(audit: &Audit) -> FastSet<FileId> {
    let mut out = FastSet::default();
    for closure in &audit.closures.roots {
        out.extend(closure.found().map(|(_, file)| file).filter(|file| *file != closure.root.file));
    }
    out
}

/// PATHs that look like stages. For each PATH, one library that was loaded from elsewhere: the
/// first by path.
pub(super) fn like_stages(audit: &Audit, plan: &Plan) -> Vec<LikeStage> {
    let dirs =
        audit.prefixes.dirs().iter().filter(|dir| plan.stages.is_empty() && dir.parent().is_some());
    let mut out: Vec<LikeStage> = dirs.filter_map(|dir| like_stage(audit, dir)).collect();
    out.arrange_by(|a, b| a.directory.cmp(&b.directory));
    out
}

fn like_stage(audit: &Audit, dir: &Path) -> Option<LikeStage> {
    let files = || audit.corpus.files.entries();
    let soname = |file: FileId| audit.corpus.files[file].object()?.soname();
    let held: FastMap<&[u8], FileId> = files()
        .filter(|(_, facts)| {
            facts.path.strip_prefix(dir).is_ok_and(|below| below.starts_with("usr"))
        })
        .filter_map(|(file, _)| Some((soname(file)?, file)))
        .collect();
    if held.is_empty() {
        return None;
    }
    let outside = loaded(audit).into_iter().filter_map(|file| {
        let facts = &audit.corpus.files[file];
        let held = held.get(soname(file)?).filter(|_| !facts.path.starts_with(dir))?;
        Some((Arc::clone(&facts.path), Arc::clone(&audit.corpus.files[*held].path)))
    });
    let (loaded, held) = outside.min()?;
    Some(LikeStage { directory: dir.into(), loaded, held })
}
