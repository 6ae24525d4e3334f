//! The question that a reference asks every object of a scope: a name and a version. References
//! with the same question share its answers.

use super::standalone::place;
use crate::bind::lookup::wanted;
use crate::format::elf::find::{SymbolQuery, WantedVersion};
use crate::format::elf::{Object, SymbolIndex, hash};

/// The part of a reference that decides which definitions can satisfy it.
#[derive(Clone, Copy, Debug)]
pub(super) struct BindingQuestion<'a> {
    pub(super) name: &'a [u8],
    /// GNU hash of the name.
    hash: u32,
    pub(super) version: Option<WantedVersion<'a>>,
}

/// The name and the version of a question. Questions with equal keys have equal answers.
pub(super) type QuestionKey<'a> = (&'a [u8], Option<(&'a [u8], bool)>);

impl<'a> BindingQuestion<'a> {
    /// The question that a symbol of `object` asks. `limit` is the highest version index that the
    /// loader knows for the object.
    pub(super) fn of(object: &'a Object, symbol: SymbolIndex, limit: u16) -> Self {
        let (name, hash, version) = if let Ok(at) = place(object, symbol) {
            let reference = &object.references[at];
            (object.reference_name(reference), reference.hash, reference.version)
        } else {
            let symbol = object.tables.as_ref().and_then(|tables| tables.symbol(symbol));
            let (name, version) =
                symbol.map_or((&[][..], 0), |symbol| (symbol.name, symbol.versym & 0x7fff));
            (name, hash::gnu(name), version)
        };
        let version = if object.versions.has_versym { version } else { 0 };
        Self { name, hash, version: wanted(object, version, limit) }
    }

    pub(super) fn key(&self) -> QuestionKey<'a> {
        (self.name, self.version.map(|version| (version.name, version.hidden)))
    }

    /// The query that asks one object this question. The query accepts an undefined symbol with a
    /// non-zero `st_value` as a definition too.
    pub(super) fn query(&self, exact_first: bool) -> SymbolQuery<'a> {
        let mut query = SymbolQuery::new(self.name, self.hash, self.version);
        query.plt = false;
        query.exact_first = exact_first;
        query
    }
}
