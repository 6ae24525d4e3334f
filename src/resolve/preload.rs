//! What LD_PRELOAD and ld.so.preload make the loader map behind the root and before its needs.
//! `closure` calls it once for each root.

use super::closure::{Builder, Mapped};
use super::{Fatal, How, PreloadFailure, ROOT};
use crate::id::{Id as _, ModuleId, StrId};

impl Builder<'_, '_> {
    /// Entries of LD_PRELOAD and then of ld.so.preload, with the root as requester (`elf/rtld.c`,
    /// `handle_preload_list` and `do_preload`). Tokens count in paths only.
    pub(super) fn preload(&mut self) {
        let plan = self.plan;
        let typed = plan.ld_preload.split(|b| matches!(b, b':' | b' '));
        let typed = typed.filter(|entry| !entry.is_empty());
        let mut list: Vec<(StrId, &str)> =
            typed.map(|entry| (self.resolver.strings.id(entry), "LD_PRELOAD")).collect();
        list.extend(self.loader().preload.iter().map(|name| (*name, "/etc/ld.so.preload")));
        for (name, source) in list {
            let text = self.resolver.strings.text(name);
            let has_token = text.contains(&b'/') && text.contains(&b'$');
            let expanded = self.expand_need(name, has_token, ROOT).unwrap_or(name);
            let new = self.modules.len();
            match self.map(expanded, ROOT, How::Preload) {
                Mapped::Module(module, _) => {
                    if self.modules[module.index()].is_stub() {
                        let text = match (self.other_class, self.loader().target.is_64) {
                            (false, _) => "cannot open shared object file",
                            (true, true) => "wrong ELF class: ELFCLASS32",
                            (true, false) => "wrong ELF class: ELFCLASS64",
                        };
                        self.drop_stub(module);
                        self.preload_failures.push(PreloadFailure { name, source, text });
                    } else {
                        if module.index() == new {
                            // It is known by what was typed.
                            self.modules[new].name = name;
                            self.register(name, module);
                        }
                        self.append(module);
                    }
                }
                Mapped::Fatal(Fatal { text, .. }) => {
                    // `do_preload` leaves the error number out.
                    let text = text.strip_suffix(": Error 21").unwrap_or(text);
                    self.preload_failures.push(PreloadFailure { name, source, text });
                }
                Mapped::Unknown => {}
            }
        }
    }

    /// A preload that was not found leaves no stub behind.
    fn drop_stub(&mut self, module: ModuleId) {
        if self.modules.len() == module.index() + 1 {
            self.modules.pop();
            self.origins.pop();
            self.rpaths.pop();
            self.queued.pop();
            self.list.retain(|entry| *entry != module);
        }
    }
}
