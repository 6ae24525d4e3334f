//! Computes evidence that several rules use: the paths at which the loader looks for each
//! missing library, and the archive members that refer to undefined symbols. The run computes
//! this evidence once, before the rules.

use super::Audit;
use super::trace::{Traces, trace};
use crate::facts::View;
use crate::id::RootId;
use crate::plan::Plan;
use crate::resolve::trace::Tried;
use std::collections::BTreeMap;

/// Evidence about missing libraries and undefined symbols.
pub struct Explained {
    /// The paths tried for each missing library, in the order of `Diagnosis::missing`.
    pub tried: Vec<Vec<Tried>>,
    /// The archive members that refer to undefined symbols, by object and symbol.
    pub traces: Traces,
}

impl Audit {
    /// Computes the evidence about missing libraries and undefined symbols.
    pub fn explain(&mut self, plan: &Plan) -> Explained {
        Explained { tried: self.tried(plan), traces: trace(self, plan) }
    }

    /// The paths that the search tried for each missing library, under the first entry point that
    /// does not find the library.
    fn tried(&mut self, plan: &Plan) -> Vec<Vec<Tried>> {
        let Self { corpus, resolver, closures, diagnosis, .. } = self;
        let view = View::new(corpus);
        let mut tried = vec![Vec::new(); diagnosis.missing.len()];
        let mut by_root: BTreeMap<RootId, Vec<usize>> = BTreeMap::new();
        for (i, missing) in diagnosis.missing.iter().enumerate() {
            if let Some(root) = missing.roots.first() {
                by_root.entry(*root).or_default().push(i);
            }
        }
        for (root, places) in by_root {
            let edges: Vec<_> = places.iter().map(|place| diagnosis.missing[*place].edge).collect();
            let found = resolver.tried(&view, plan, &closures.roots[root], &edges);
            for (place, trace) in places.into_iter().zip(found) {
                tried[place] = trace;
            }
        }
        tried
    }
}
