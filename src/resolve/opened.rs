//! The state of a process after its program has opened a library with RTLD_GLOBAL (`elf/dl-open.c`,
//! `add_to_global`). Needs of the next library that the program opens match the opened library and
//! its dependencies by name. References of the next library bind to the symbols of these objects.

use super::{Closure, ROOT};
use crate::id::Id as _;
use std::sync::Arc;

impl Closure {
    /// The closure of the process after the host program has opened this entry point. `None` if the
    /// loader stops, or if there is no host program. The closure keeps the stubs of missing
    /// libraries. A plugin that needs one of these libraries gets the library's stub, so the
    /// library is reported once.
    pub(super) fn after_opening(&self) -> Option<Self> {
        let host = self.host()?;
        if self.fatal().is_some() {
            return None;
        }
        let mut links = (*self.links).clone();
        let mut modules = host.links.modules.clone();
        for mut module in std::mem::take(&mut links.modules) {
            let first = host.edges().len();
            module.edges = module.edges.start + first..module.edges.end + first;
            modules.push(module);
        }
        for (module, name) in std::mem::take(&mut links.renamed) {
            modules[module.index()].aliases.push(name);
        }
        if links.start != ROOT {
            modules[links.start.index()].requester.get_or_insert(ROOT);
        }
        links.modules = modules;
        links.start = ROOT;
        links.edges = host.edges().iter().chain(self.edges()).copied().collect();
        links.list = self.links.whole_list().collect();
        links.scope = self.whole_scope().collect();
        links.order = [host.order(), self.order()].concat();
        links.found = self.in_scope().collect();
        links.base = None;
        Some(Self::new(host.root, Arc::new(links)))
    }
}
