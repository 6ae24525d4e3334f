//! Exports, imports and bindings for reports with `--facts`. These facts borrow from the audit, and
//! are made for one file or one entry point at a time.

use super::build::objects;
use super::file::{
    Export, ExportBinding, ExportKind, Imports, Name, RootBindings, StreamedFacts, SymbolBinding,
};
use crate::audit::Audit;
use crate::bind::relocation_pass::allocator_version;
use crate::format::elf::{FIRST_VERSION, Object, RefKind, Tables};
use crate::id::{Id as _, RootId};
use crate::resolve::ROOT;
use object::elf;
use std::borrow::Cow;
use std::os::unix::ffi::OsStrExt as _;

/// Makes the exports, imports and bindings of an audit, for one file or entry point at a time.
pub struct AuditFacts<'a> {
    audit: &'a Audit,
    /// ELF files in the order of the report.
    objects: Vec<&'a Object>,
    roots: Vec<RootId>,
}

impl<'a> AuditFacts<'a> {
    /// The facts of `audit`, which must have the bindings of all entry points.
    pub fn new(audit: &'a Audit) -> Self {
        let objects = objects(audit).into_iter().map(|(_, _, object)| object).collect();
        Self { audit, objects, roots: audit.closures.roots.ids().collect() }
    }

    /// The exports of a file in the order of its symbol table; an export may occur twice. `file` is
    /// the index of the file in the report.
    pub fn exports_in_order(&self, file: usize) -> impl Iterator<Item = Export<'a>> + use<'a> {
        let object = self.objects[file];
        let tables = object.tables.iter();
        tables.flat_map(Tables::exports).map(|symbol| {
            let kind = ExportKind::of(symbol.kind);
            let index = symbol.versym & 0x7fff;
            let version = object.versions.entry(index);
            let hidden = symbol.versym & 0x8000 != 0;
            Export {
                name: Cow::Borrowed(symbol.name),
                version: version.map(|entry| Cow::Borrowed(object.str(entry.name))),
                kind,
                size: matches!(kind, ExportKind::Data | ExportKind::Tls).then_some(symbol.size),
                binding: ExportBinding::of(symbol.bind),
                protected: elf::SymbolVisibility(symbol.visibility) == elf::STV_PROTECTED,
                // A relocation without a version binds to versions 1 and 2 even if they are hidden,
                // dlsym only to version 1 (`check_match`, `elf/dl-lookup.c`).
                hidden: hidden && index > FIRST_VERSION,
                first: hidden && index == FIRST_VERSION,
            }
        })
    }
}

impl StreamedFacts for AuditFacts<'_> {
    fn exports(&self, file: usize) -> Vec<Export<'_>> {
        let mut out: Vec<Export<'_>> = self.exports_in_order(file).collect();
        out.sort_unstable();
        out.dedup();
        out
    }

    fn imports(&self, file: usize) -> Vec<Imports<'_>> {
        let object = self.objects[file];
        let mut all: Vec<(u16, bool, &[u8])> = object
            .references
            .iter()
            .filter(|reference| reference.kind != RefKind::Unhashed)
            .map(|reference| {
                let weak =
                    matches!(reference.kind, RefKind::Weak | RefKind::Copy { weak: true, .. });
                (reference.version, weak, object.reference_name(reference))
            })
            .collect();
        all.sort_unstable();
        all.dedup();
        let of_version = all.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1));
        let mut out: Vec<Imports<'_>> = of_version
            .map(|own| {
                let entry = object.versions.entry(own[0].0);
                let library = entry.and_then(|entry| entry.file);
                Imports {
                    version: entry.map(|entry| Cow::Borrowed(object.str(entry.name))),
                    library: library.map(|file| Cow::Borrowed(object.str(file))),
                    weak: own[0].1,
                    names: own.iter().map(|(.., name)| Name(Cow::Borrowed(*name))).collect(),
                }
            })
            .collect();
        // Sorted by name, because the numbers of versions differ between builds.
        out.sort_unstable();
        out
    }

    fn roots(&self) -> usize {
        self.roots.len()
    }

    fn bindings(&self, at: usize) -> RootBindings<'_> {
        let (audit, root) = (self.audit, self.roots[at]);
        let closure = &audit.closures.roots[root];
        let path = |module| Cow::Borrowed(audit.text(closure.module(module).path));
        let mut bound: Vec<SymbolBinding<'_>> = audit.bindings[root.index()]
            .bindings
            .iter()
            .filter_map(|binding| {
                let object = audit.corpus.files[closure.module(binding.module).file?].object()?;
                let symbol = object.tables.as_ref()?.symbol(binding.symbol)?;
                let version = object.versions.entry(symbol.versym & 0x7fff);
                Some(SymbolBinding(
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
            SymbolBinding(path(ROOT), name, Some(Cow::Borrowed(version)), path(*provider))
        }));
        bound.sort_unstable();
        bound.dedup();
        let root = Cow::Borrowed(audit.root_path(root).as_os_str().as_bytes());
        RootBindings { root, bound }
    }
}
