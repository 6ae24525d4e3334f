//! The link map of a plugin: what dlopen adds to what its host has loaded (`elf/dl-open.c`). The
//! host's objects keep their places; the file is opened by its path, and its needs are met like any
//! others, first of all by what is there. RTLD_NOW and RTLD_LOCAL are assumed, as is that nothing
//! was opened before.
//!
//! `closure` runs it in the place of the root, the loader and the preloads.

use super::closure::{Builder, Mapped};
use super::{Closure, Fatal, How, LOADER, ROOT};
use crate::id::{Id as _, ModuleId, StrId};

impl Builder<'_, '_> {
    /// Begins with the modules of the host, which answer to the names they have.
    pub(super) fn take_over(&mut self, host: &Closure) {
        self.modules = host.all_modules();
        let count = self.modules.len();
        self.origins.resize(count, None);
        self.rpaths.resize(count, None);
        self.queued.resize(count, false);
        for module in host.scope() {
            self.queued[module.index()] = true;
        }
        self.list.extend_from_slice(host.list());
        self.moved = host.links.moved;
        self.hidden.clone_from(&host.links.hidden);
        for index in (0..count).map(ModuleId::from_index) {
            let module = &self.modules[index.index()];
            if module.is_stub() {
                continue;
            }
            let file = module.file;
            let path = (index != ROOT).then_some(module.path);
            let mut names: Vec<StrId> = [module.name].into_iter().chain(path).collect();
            names.extend(&module.aliases);
            names.extend(file.and_then(|file| self.names(file)).and_then(|names| names.soname));
            for name in names {
                self.register(name, index);
            }
            // Neither the program nor the loader is known by its inode.
            if let Some(file) = file.filter(|_| index != ROOT && index != LOADER) {
                self.by_file.add(file.index(), index);
            }
        }
    }

    /// `_dl_map_object` for the plugin itself. Its requester is only asked for search paths that a
    /// path does not need, and forgotten (`__RTLD_CALLMAP`).
    pub(super) fn open(&mut self) -> Option<Fatal> {
        let (file, path) = (self.root.file, self.root.path);
        let before = self.modules.len();
        let mapped = match self.known(path) {
            Some(module) => Mapped::Module(module, How::Loaded),
            None => self.map_file(file, path, path, ROOT, How::Dlopen),
        };
        match mapped {
            Mapped::Module(module, _) => {
                self.start = module;
                if module.index() >= before {
                    self.modules[module.index()].requester = None;
                    self.append(module);
                }
                None
            }
            Mapped::Fatal(fatal) => Some(fatal),
            Mapped::Unknown => None,
        }
    }

    /// Leaves the host's modules to the host; answers names that needs have given them.
    pub(super) fn leave_to(&mut self, host: &Closure) -> Vec<(ModuleId, StrId)> {
        let own = self.modules.split_off(host.module_count());
        let mut renamed = Vec::new();
        for (index, module) in (0..).map(ModuleId::from_index).zip(&self.modules) {
            let known = host.module(index).aliases.len();
            renamed.extend(module.aliases.iter().skip(known).map(|name| (index, *name)));
        }
        let first = self.modules.len();
        self.list.retain(|module| module.index() >= first);
        self.modules = own;
        renamed
    }
}
