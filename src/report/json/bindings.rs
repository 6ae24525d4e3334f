//! The `bindings` of a JSON report: what LD_DEBUG=bindings prints when everything is bound at load.

use crate::bind::exact::allocator_version;
use crate::id::{Id as _, RootId};
use crate::report::Report;
use crate::resolve::ROOT;
use crate::text::Text;
use serde::Serialize;
use serde::ser::{SerializeSeq, SerializeTuple, Serializer};

pub(super) struct Bindings<'a> {
    pub(super) report: &'a Report<'a>,
}

#[derive(Serialize)]
struct RootBindings<'a> {
    root: Text<'a>,
    bound: Vec<Bound<'a>>,
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Bound<'a>(&'a [u8], &'a [u8], Option<&'a [u8]>, &'a [u8]);

impl Serialize for Bound<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut tuple = serializer.serialize_tuple(4)?;
        tuple.serialize_element(&Text(self.0))?;
        tuple.serialize_element(&Text(self.1))?;
        tuple.serialize_element(&self.2.map(Text))?;
        tuple.serialize_element(&Text(self.3))?;
        tuple.end()
    }
}

impl Serialize for Bindings<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let roots = &self.report.audit.closures.roots;
        let mut list = serializer.serialize_seq(Some(roots.len()))?;
        for root in roots.ids() {
            list.serialize_element(&self.root(root))?;
        }
        list.end()
    }
}

impl<'a> Bindings<'a> {
    fn root(&self, root: RootId) -> RootBindings<'a> {
        let audit = self.report.audit;
        let closure = &audit.closures.roots[root];
        let path = |module: u32| audit.text(closure.module(module).path);
        let mut bound: Vec<Bound<'a>> = audit.bindings[root.index()]
            .bindings
            .iter()
            .filter_map(|binding| {
                let object = audit.corpus.files[closure.module(binding.module).file?].object()?;
                let symbol = object.tables.as_ref()?.symbol(binding.symbol)?;
                let version = object.versions.entry(symbol.versym & 0x7fff);
                Some(Bound(
                    path(binding.module),
                    symbol.name,
                    version.map(|entry| object.str(entry.name)),
                    path(binding.provider),
                ))
            })
            .collect();
        let root_object = audit.corpus.files[closure.root.file].object();
        let version = allocator_version(root_object);
        let allocator = audit.bindings[root.index()].allocator.iter();
        bound.extend(allocator.map(|(name, provider)| {
            Bound(path(ROOT), name.as_bytes(), Some(version), path(*provider))
        }));
        bound.sort_unstable();
        bound.dedup();
        RootBindings { root: Text::path(audit.root_path(root)), bound }
    }
}
