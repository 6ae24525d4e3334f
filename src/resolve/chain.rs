//! Chains of needs. A chain leads from the program to a module, and each object in the chain loaded
//! the next object. Reports show only the ends of a long chain, and this module finds the ends
//! without a walk through the middle. If each module of a long chain had a finding, walks through
//! the middle would take quadratic time.

use super::{LinkMap, ROOT};
use crate::id::{Id as _, ModuleId};
use std::sync::OnceLock;

/// Maximum number of hops shown for a chain. The middle of a longer chain is omitted: a thousand
/// findings, each with a chain of a thousand libraries, would list a million hops.
const MOST: usize = 40;

/// A chain of needs, the program first.
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    /// The hops in order. If the middle is omitted, these are the first and the last `MOST / 2`
    /// hops.
    pub hops: Vec<ModuleId>,
    /// Number of hops omitted from the middle.
    pub left_out: usize,
}

/// For each module, the length of its chain, and hop number `MOST / 2` of this chain: the last hop
/// that is shown before the omitted middle. If the chain has fewer hops, its last hop.
#[derive(Debug, Default)]
pub(super) struct Depths(OnceLock<Vec<(u32, ModuleId)>>);

impl Clone for Depths {
    /// Returns an empty cache: the copied link map is about to change.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl LinkMap {
    /// The chain of needs from the program to a module, the program first.
    pub(super) fn chain(&self, module: ModuleId) -> Vec<ModuleId> {
        self.up(module, self.module_count())
    }

    /// The chain of needs from the program to a module, without its middle if it is longer than
    /// [`MOST`].
    pub(super) fn ends_of_chain(&self, module: ModuleId) -> Chain {
        let hops = self.up(module, MOST);
        if self.above(hops[0]).is_none() {
            return Chain { hops, left_out: 0 };
        }
        let depths = self.depths.0.get_or_init(|| self.depths());
        let (depth, head) = depths[module.index()];
        let mut ends = self.up(head, MOST / 2);
        ends.extend(&hops[MOST / 2..]);
        Chain { hops: ends, left_out: (depth as usize).saturating_sub(MOST) }
    }

    /// The last `most` hops of the chain to `module`, or all hops of a shorter chain. The hops are
    /// in the order of the chain.
    fn up(&self, module: ModuleId, most: usize) -> Vec<ModuleId> {
        let above = std::iter::successors(Some(module), |here| self.above(*here));
        let mut chain: Vec<ModuleId> = above.take(most).collect();
        chain.reverse();
        chain
    }

    fn depths(&self) -> Vec<(u32, ModuleId)> {
        let mut out = vec![(0, ROOT); self.module_count()];
        let mut open = Vec::new();
        for module in (0..out.len()).map(ModuleId::from_index) {
            let mut here = Some(module);
            while let Some(module) = here.filter(|module| out[module.index()].0 == 0)
                && open.len() < out.len()
            {
                open.push(module);
                here = self.above(module);
            }
            let (mut depth, mut head) = here.map_or((0, ROOT), |known| out[known.index()]);
            while let Some(module) = open.pop() {
                depth += 1;
                head = if depth as usize <= MOST / 2 { module } else { head };
                out[module.index()] = (depth, head);
            }
        }
        out
    }

    /// The module that loaded `module`; for a plugin, the host program.
    fn above(&self, module: ModuleId) -> Option<ModuleId> {
        let hosted = self.base.is_some() && module == self.start && module != ROOT;
        self.module(module).requester.or(hosted.then_some(ROOT))
    }
}
