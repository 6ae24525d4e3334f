//! dlopen under musl's loader (`ldso/dynlink.c`, `dlopen`): the file is loaded as if the program
//! needed it, by its path, and what it needs comes behind what the program has loaded.

use super::{Load, Loaded};
use crate::id::{Id as _, ModuleId, StrId};
use crate::resolve::{Closure, Fatal, How, LOADER, Links, ROOT};
use std::sync::Arc;

impl Load<'_, '_> {
    /// The link map of a plugin over that of its host; nothing if a fact is missing.
    pub(in crate::resolve) fn run_plugin(mut self, host: &Arc<Closure>) -> Option<Links> {
        self.take_over(host);
        let (before, listed) = (self.modules.len(), self.chain.len());
        let path = self.root.path;
        let mut fatal = None;
        let start = match self.load(path, Some(ROOT)) {
            Loaded::Unknown => return None,
            Loaded::Module(module, _) => module,
            Loaded::Failed(file, text) => {
                fatal = Some(Fatal { object: path, file, requester: ROOT, text });
                ROOT
            }
        };
        // The path of the plugin is what was typed, not what a program will pass.
        self.by_cwd = false;
        if start.index() >= before {
            self.modules[start.index()].how = How::Dlopen;
        }
        if !self.visit_from(listed) {
            return None;
        }
        let own = self.chain.split_off(listed);
        Some(Links {
            base: Some(Arc::clone(host)),
            renamed: Vec::new(),
            start,
            moved: false,
            hidden: Vec::new(),
            modules: self.modules.split_off(before),
            edges: self.edges,
            list: own.clone(),
            scope: own.clone(),
            order: own,
            fatal,
            preload_failures: Vec::new(),
            failures: self.failures,
            by_cpu: false,
            by_cwd: self.by_cwd,
        })
    }

    /// Begins with the host's list. An object has a short name if some search has found it.
    fn take_over(&mut self, host: &Closure) {
        self.modules = host.all_modules();
        self.named.resize(self.modules.len(), false);
        self.chain = host.whole_scope().collect();
        for (index, file) in host.found() {
            if index != ROOT && index != LOADER {
                self.by_file.insert(file, index);
            }
        }
        let plain = |name: &StrId| !self.resolver.strings.text(*name).contains(&b'/');
        let mut searched: Vec<ModuleId> = host.found().map(|(index, _)| index).collect();
        searched.retain(|index| plain(&host.module(*index).name));
        searched.extend(host.edges().iter().filter(|edge| plain(&edge.name)).map(|edge| edge.to));
        for index in searched {
            let is_library = !host.module(index).is_stub() && !self.named[index.index()];
            if is_library {
                self.name(index);
            }
        }
    }
}
