//! One need of one module: an object that is there already, the file a search leads to, or a stub
//! (`elf/dl-load.c`, `_dl_map_object`). The order of needs is `closure`'s business.

use super::closure::{Builder, Mapped};
use super::paths::DirList;
use super::resolver::Resolver;
use super::search::{Found, Requester, Search, Tried, fatal};
use super::{Fatal, How, LOADER, Module, ROOT, tokens};
use crate::format::elf::Object;
use crate::id::{FileId, Id as _, StrId};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

impl Builder<'_, '_> {
    /// Tokens in a need (`expand_dst`); nothing if one has no value.
    pub(super) fn expand_need(
        &mut self,
        raw: StrId,
        has_token: bool,
        module: u32,
    ) -> Option<StrId> {
        if !has_token {
            return Some(raw);
        }
        let origin = self.origin(module);
        let loader = self.resolver.loaders.get(self.root.loader);
        let values = tokens::Tokens {
            origin: self.resolver.strings.text(origin),
            lib: &loader.lib,
            platform: loader.platform.map(str::as_bytes),
        };
        let text = tokens::expand(self.resolver.strings.text(raw), values)?;
        (!text.is_empty()).then(|| self.resolver.strings.id(&text))
    }

    /// `$ORIGIN` of a module. Of a program that the kernel starts, and since glibc 2.42 under ldd
    /// too, it is the directory of its real path (9b646f5dc9).
    fn origin(&mut self, module: u32) -> StrId {
        if let Some(origin) = self.origins.get(module as usize).copied().flatten() {
            return origin;
        }
        let m = &self.modules[module as usize];
        let program =
            self.view.object(self.root.file).is_some_and(|object| object.interp.is_some());
        let real = module == ROOT
            && if self.plan.as_ldd { self.loader().release >= (2, 42) } else { program };
        let cwd = self.plan.cwd.as_os_str().as_bytes();
        let text = if real {
            let path = self.view.file(self.root.file).real.as_os_str().as_bytes();
            tokens::origin(path, cwd)
        } else {
            tokens::origin(self.resolver.strings.text(m.path), cwd)
        };
        let id = self.resolver.strings.id(&text);
        if let Some(slot) = self.origins.get_mut(module as usize) {
            *slot = Some(id);
        }
        id
    }

    /// `_dl_map_object`: an object that is there already, one that a search finds, or a stub.
    pub(super) fn map(&mut self, name: StrId, requester: u32, how: How) -> Mapped {
        if let Some(module) = self.known(name) {
            return Mapped::Module(module, How::Loaded);
        }
        let Some(found) = self.search(name, requester, None) else {
            self.incomplete = true;
            return Mapped::Unknown;
        };
        match found {
            Found::File(file, path, found_how) => {
                let how = if how == How::Preload { how } else { found_how };
                self.map_file(file, path, name, requester, how)
            }
            Found::Nothing => {
                let module = self.add_module(None, name, name, requester, How::Missing);
                Mapped::Module(module, How::Missing)
            }
            Found::Stop(..) => match fatal(found, requester) {
                Some(fatal) => Mapped::Fatal(fatal),
                None => Mapped::Unknown,
            },
        }
    }

    /// The first object in list order that answers to `name` by a name or its DT_SONAME.
    fn known(&mut self, name: StrId) -> Option<u32> {
        let mut hit = self.resolver.by_name.get(name.index())?;
        if self.moved {
            let found = [ROOT, LOADER]
                .into_iter()
                .chain(self.list.iter().copied())
                .find(|index| self.is_called(*index, name));
            hit = match found {
                Some(found) => found,
                None if self.hidden.contains(&hit) => return None,
                None => hit,
            };
        }
        let module = &mut self.modules[hit as usize];
        if !module.answers(name) {
            module.aliases.push(name);
        }
        Some(hit)
    }

    /// True if an object that was found answers to `name` by a name or its DT_SONAME.
    fn is_called(&self, index: u32, name: StrId) -> bool {
        let module = &self.modules[index as usize];
        let soname = || {
            let object = module.file.and_then(|file| self.view.object(file));
            object.and_then(Object::soname) == Some(self.resolver.strings.text(name))
        };
        module.how != How::Missing && (module.answers(name) || soname())
    }

    pub(super) fn search(
        &mut self,
        name: StrId,
        requester: u32,
        trace: Option<&mut Vec<Tried>>,
    ) -> Option<Found> {
        self.origins.resize(self.modules.len(), None);
        let mut walk = Vec::new();
        let names = self.modules[requester as usize].file.and_then(|file| self.names(file));
        let runpath = names.as_ref().and_then(|names| names.runpath);
        if runpath.is_none() {
            let mut here = Some(requester);
            while let Some(module) = here {
                let m = &self.modules[module as usize];
                let (file, next) = (m.file, m.requester);
                if let Some(names) = file.and_then(|file| self.names(file))
                    && let (Some(rpath), None) = (names.rpath, names.runpath)
                {
                    walk.push((module, rpath, self.origin(module)));
                }
                here = next;
            }
        }
        let runpath = runpath.map(|text| (text, self.origin(requester)));
        let nodeflib = self.modules[requester as usize]
            .file
            .and_then(|file| self.view.object(file))
            .is_some_and(|object| object.nodeflib);
        let Resolver { strings, loaders, memo, .. } = &mut *self.resolver;
        let mut search = Search {
            view: self.view,
            plan: self.plan,
            loader: loaders.get(self.root.loader),
            strings,
            memo,
            needs: self.needs,
            trace,
            by_cpu: false,
            by_cwd: false,
            other_class: false,
        };
        let rpaths: Vec<(u32, Arc<DirList>)> = walk
            .into_iter()
            .map(|(module, text, origin)| (module, search.dirs(text, origin)))
            .collect();
        let runpath = runpath.map(|(text, origin)| search.dirs(text, origin));
        let found = search.find(name, &Requester { rpaths: &rpaths, runpath, nodeflib });
        self.by_cpu |= search.by_cpu;
        self.by_cwd |= search.by_cwd;
        self.other_class = search.other_class;
        found
    }

    /// `_dl_map_object_from_fd`: the same inode is the same object, else the file is mapped.
    fn map_file(
        &mut self,
        file: FileId,
        path: StrId,
        name: StrId,
        requester: u32,
        how: How,
    ) -> Mapped {
        let known = self.resolver.by_file.get(file.index());
        if let Some(module) = known.filter(|module| !self.hidden.contains(module)) {
            self.modules[module as usize].aliases.push(name);
            self.register(name, module);
            return Mapped::Module(module, how);
        }
        if let Some(text) = self.view.object(file).and_then(|object| object.refused) {
            return Mapped::Fatal(Fatal { object: name, file: Some(file), requester, text });
        }
        let module = self.add_module(Some(file), name, path, requester, how);
        self.resolver.by_file.set(file.index(), module);
        let soname = self.names(file).and_then(|names| names.soname);
        for name in [name, path].into_iter().chain(soname) {
            self.register(name, module);
        }
        Mapped::Module(module, how)
    }

    fn add_module(
        &mut self,
        file: Option<FileId>,
        name: StrId,
        path: StrId,
        requester: u32,
        how: How,
    ) -> u32 {
        let module = self.push(Module {
            file,
            name,
            path,
            aliases: Vec::new(),
            requester: Some(requester),
            how,
            edges: (0, 0),
            version_limit: u16::MAX,
        });
        self.list.push(module);
        module
    }
}
