//! Reads and resolves files that are not audited, but that can explain defects of audited files.
//! Reports have no findings about these files.

use super::{EntryPoints, resolve};
use crate::facts::collect::Collector;
use crate::facts::{Corpus, Edits, Need, PathState};
use crate::plan::Plan;
use crate::resolve::entry_points::Closures;
use crate::resolve::hosts::HostPrograms;
use crate::resolve::resolver::Resolver;
use crate::resolve::start::Start;

/// Reads the files at `paths`, and returns each with its path. A path that does not lead to a
/// regular file is skipped.
pub(super) fn read(
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    paths: Vec<Vec<u8>>,
) -> Vec<Start> {
    let unknown = paths.iter().filter(|path| corpus.place(path).is_none()).cloned();
    let needs: Vec<Need> = unknown.map(|path| Need::path(path, None)).collect();
    collector.answer(corpus, needs);
    let start = |path: Vec<u8>| match corpus.place(&path)? {
        PathState::File(file) => Some(Start { file, path }),
        PathState::Directory
        | PathState::Special(_)
        | PathState::OfProcess
        | PathState::Failed(_) => None,
    };
    paths.into_iter().filter_map(start).collect()
}

/// Resolves the files in `given` as entry points, with a new resolver.
pub(super) fn resolved(
    plan: &Plan,
    corpus: &mut Corpus,
    collector: &mut Collector<'_>,
    given: Vec<Start>,
) -> (Resolver, Closures) {
    let entries = EntryPoints { given, walked: Vec::new(), hosts: HostPrograms::default() };
    let mut resolver = Resolver::default();
    let closures = resolve(plan, corpus, &Edits::default(), collector, &mut resolver, entries);
    (resolver, closures)
}
