//! Chains of needs: from the program to a module over the objects that loaded each next one. A long
//! chain is asked for by its ends only, and they are found without walking through its middle, which
//! would take the square of its length for the findings along it.

use super::{Links, ROOT};
use crate::id::{Id as _, ModuleId};
use std::sync::OnceLock;

/// How many hops a chain has at most before its middle is left out: a thousand findings at the end of
/// a chain of a thousand libraries would be a million hops.
const MOST: usize = 40;

/// A chain of needs, the program first.
#[derive(Debug, PartialEq, Eq)]
pub struct Chain {
    /// Its hops; the first half and the last half of [`MOST`] if some are left out between them.
    pub hops: Vec<ModuleId>,
    /// How many hops are left out in the middle.
    pub left_out: usize,
}

/// For each module how long its chain is, and the last hop of the first half of [`MOST`].
#[derive(Debug, Default)]
pub(super) struct Depths(OnceLock<Vec<(u32, ModuleId)>>);

impl Clone for Depths {
    /// Empty: links are copied to be changed.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Links {
    /// The chain of needs from the program to a module, the program first.
    pub(super) fn chain(&self, module: ModuleId) -> Vec<ModuleId> {
        self.up(module, self.module_count())
    }

    /// The same without its middle, if it is long.
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

    /// The last hops of a chain, at most `most`.
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

    /// The module that loaded a module; a plugin was loaded by its host.
    fn above(&self, module: ModuleId) -> Option<ModuleId> {
        let hosted = self.base.is_some() && module == self.start && module != ROOT;
        self.module(module).requester.or(hosted.then_some(ROOT))
    }
}
