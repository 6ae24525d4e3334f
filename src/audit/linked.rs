//! What the coverage of archives asks of an audit: what a linked object leaves undefined under every
//! root that loads it, what its libraries define, and the symbols of an object that is not linked.

use super::Audit;
use crate::bind::Report;
use crate::blame::FirstLoader;
use crate::cover::Root;
use crate::facts::Content;
use crate::format::archive::SymbolKind;
use crate::format::elf::{Object, hash};
use crate::id::{FileId, RootId};
use std::collections::BTreeSet;
use std::sync::Arc;

/// The libraries that are loaded with an object.
pub struct Libraries<'a> {
    objects: Vec<(&'a Object, u16)>,
}

impl Libraries<'_> {
    /// True if one of them defines `name`.
    pub fn define(&self, name: &[u8]) -> bool {
        let hash = hash::gnu(name);
        self.objects.iter().any(|(object, limit)| object.defines(name, hash, *limit))
    }
}

impl Audit {
    /// The file as something that asks archives for definitions; nothing if it is no object, or one
    /// whose symbols were not read.
    pub fn cover_root(&self, file: FileId) -> Option<Root> {
        let facts = &self.corpus.files[file];
        let Content::Elf(object) = &facts.content else { return None };
        let linked = object.is_dynamic();
        let symbols = if linked {
            self.linked_symbols(file, object)
        } else {
            let members = self.corpus.members(file).ok()?;
            let only = members.list.first().filter(|_| members.damage.is_empty())?;
            let symbols = members.symbols(only).iter();
            let names = self.corpus.symbol_names();
            symbols.map(|symbol| (names.text(symbol.name).into(), symbol.kind)).collect()
        };
        let target = Some(object.header.target());
        Some(Root { path: Arc::clone(&facts.path), linked, target, symbols })
    }

    /// What stays undefined in an object, by name.
    fn linked_symbols(&self, file: FileId, object: &Object) -> Vec<(Box<[u8]>, SymbolKind)> {
        let mut undefined: BTreeSet<&[u8]> = BTreeSet::new();
        for (closure, binding) in self.closures.roots.iter().zip(&self.bindings) {
            for (module, reports) in &binding.reports {
                if closure.module(*module).file != Some(file) {
                    continue;
                }
                undefined.extend(reports.iter().filter_map(|report| match report {
                    Report::Undefined { symbol, .. } => Some(object.symbol_name(*symbol)),
                    Report::Size { .. } | Report::Protected { .. } => None,
                }));
            }
        }
        undefined.into_iter().map(|name| (name.into(), SymbolKind::Undefined)).collect()
    }

    /// The libraries that are loaded with `file` under the first root that loads it, itself left out.
    pub fn libraries_of(&self, files: &[FileId]) -> Libraries<'_> {
        let loaders = FirstLoader::new(&self.closures);
        let mut roots: Vec<RootId> = files.iter().filter_map(|file| loaders.of(*file)).collect();
        roots.sort_unstable();
        roots.dedup();
        let mut objects = Vec::new();
        for root in roots {
            let closure = &self.closures.roots[root];
            let others = closure.found().filter(|(_, found)| !files.contains(found));
            objects.extend(others.filter_map(|(module, found)| {
                Some((self.corpus.files[found].object()?, closure.module(module).version_limit))
            }));
        }
        Libraries { objects }
    }
}
