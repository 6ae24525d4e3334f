//! Exports and bindings for reports with `--facts`, borrowed from an audit: one file and one entry
//! point at a time.

use super::build::objects;
use super::file::{Bound, Export, ExportKind, Facts, RootBindings};
use crate::audit::Audit;
use crate::bind::relocation_pass::allocator_version;
use crate::format::elf::Object;
use crate::id::{Id as _, RootId};
use crate::resolve::ROOT;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;

/// The facts of one audit.
pub struct AuditFacts<'a> {
    audit: &'a Audit,
    /// ELF files in the order of the report.
    objects: Vec<&'a Object>,
    roots: Vec<RootId>,
}

impl<'a> AuditFacts<'a> {
    /// The facts of `audit`, which must have all bindings.
    pub fn new(audit: &'a Audit) -> Self {
        let objects = objects(audit).into_iter().map(|(_, _, object)| object).collect();
        Self { audit, objects, roots: audit.closures.roots.ids().collect() }
    }
}

impl Facts for AuditFacts<'_> {
    fn exports(&self, file: usize) -> Vec<Export<'_>> {
        let object = self.objects[file];
        let Some(tables) = &object.tables else { return Vec::new() };
        let mut out: Vec<Export<'_>> = tables
            .exports()
            .map(|symbol| Export {
                name: Cow::Borrowed(symbol.name),
                version: object
                    .versions
                    .entry(symbol.versym & 0x7fff)
                    .map(|e| Cow::Borrowed(object.str(e.name))),
                kind: ExportKind::of(symbol.kind),
                size: (matches!(ExportKind::of(symbol.kind), ExportKind::Data | ExportKind::Tls))
                    .then_some(symbol.size),
            })
            .collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    fn roots(&self) -> usize {
        self.roots.len()
    }

    fn bindings(&self, at: usize) -> RootBindings<'_> {
        let (audit, root) = (self.audit, self.roots[at]);
        let closure = &audit.closures.roots[root];
        let path = |module| Cow::Borrowed(audit.text(closure.module(module).path));
        let mut bound: Vec<Bound<'_>> = audit.bindings[root.index()]
            .bindings
            .iter()
            .filter_map(|binding| {
                let object = audit.corpus.files[closure.module(binding.module).file?].object()?;
                let symbol = object.tables.as_ref()?.symbol(binding.symbol)?;
                let version = object.versions.entry(symbol.versym & 0x7fff);
                Some(Bound(
                    path(binding.module),
                    Cow::Borrowed(symbol.name),
                    version.map(|entry| Cow::Borrowed(object.str(entry.name))),
                    path(binding.provider),
                ))
            })
            .collect();
        let root_object = audit.corpus.files[closure.root.file].object();
        let version = allocator_version(root_object);
        let allocator = audit.bindings[root.index()].allocator.iter();
        bound.extend(allocator.map(|(name, provider)| {
            let name = Cow::Borrowed(name.as_bytes());
            Bound(path(ROOT), name, Some(Cow::Borrowed(version)), path(*provider))
        }));
        bound.sort_unstable();
        bound.dedup();
        let root = Cow::Borrowed(audit.root_path(root).as_os_str().as_bytes());
        RootBindings { root, bound }
    }
}
