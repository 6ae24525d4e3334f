//! The output of `ld-musl-ARCH.so.1 --list` for an entry point. It has the libraries in load order,
//! with each error where it occurs, and then the relocations that fail (`ldso/dynlink.c`,
//! `load_library`, `load_direct_deps`, `do_relocs`). The output `ldd` uses this module for entry
//! points under musl.

use super::ldd::LddPage;
use crate::bind::RelocationMessage;
use crate::id::{FastSet, ModuleId, StrId};
use crate::resolve::{FoundBy, LOADER, musl};
use crate::text::show;
use std::io::{self, Write};

impl LddPage<'_> {
    pub(super) fn write_musl(&self, out: &mut dyn Write) -> io::Result<()> {
        let loader = self.object(LOADER);
        writeln!(out, "\t{loader}")?;
        let mut seen = FastSet::default();
        for module in self.closure.list().iter().map(|module| self.closure.module(*module)) {
            if module.how == FoundBy::Preload {
                writeln!(out, "\t{} => {}", self.name(module.name), self.name(module.path))?;
            }
        }
        for module in self.closure.scope().iter().filter(|module| **module != LOADER) {
            for edge in self.closure.needs(*module) {
                self.need(*module, (edge.to, edge.name, edge.how), &mut seen, out)?;
            }
        }
        self.symbols(out)
    }

    fn need(
        &self,
        from: ModuleId,
        (to, name, how): (ModuleId, StrId, FoundBy),
        seen: &mut FastSet<Result<ModuleId, usize>>,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        let found = self.closure.module(to);
        match how {
            FoundBy::Builtin => match musl::builtin(self.audit.text(name)) {
                Some(class) if seen.insert(Err(class)) => {
                    writeln!(out, "\t{} => {}", self.name(name), self.object(LOADER))
                }
                _ => Ok(()),
            },
            FoundBy::Missing | FoundBy::Provided => {
                let failures = self.closure.failures();
                let failure = failures.iter().find(|failure| failure.module == to);
                let text = failure.map_or("", |failure| failure.text);
                writeln!(
                    out,
                    "Error loading shared library {}: {text} (needed by {})",
                    show(self.audit.text(name)),
                    self.object(from)
                )
            }
            // If several needs lead to a module, the first one loads it.
            _ if found.requester == Some(from) && seen.insert(Ok(to)) => {
                writeln!(out, "\t{} => {}", self.name(name), self.name(found.path))
            }
            _ => Ok(()),
        }
    }

    fn symbols(&self, out: &mut dyn Write) -> io::Result<()> {
        let mut seen = FastSet::default();
        for (module, messages) in &self.binding.reports {
            let file = self.closure.module(*module).file;
            let Some(object) = file.and_then(|file| self.facts(file)) else { continue };
            for message in messages {
                let RelocationMessage::Undefined { symbol, .. } = message else { continue };
                let name = show(object.symbol_name(*symbol));
                let line =
                    format!("Error relocating {}: {name}: symbol not found", self.object(*module));
                if seen.insert(line.clone()) {
                    writeln!(out, "{line}")?;
                }
            }
        }
        Ok(())
    }
}
