//! Copies of an object in memory, with changed references, needs or search paths. Each copy is like
//! the file that a new link or patchelf would write. To verify fixes, `fix` resolves and binds the
//! copies.

use super::relocs::{Relocation, Relocations};
use super::tables::Symbol;
use super::{
    DynamicNeed, NameLen, NeedKind, Object, RefKind, Reference, Str, SymbolIndex, Tables, hash,
};
use crate::format::elf::machine::LookupClass;
use object::elf;
use std::collections::{BTreeMap, BTreeSet};

/// An object and its relocations after a change.
#[derive(Debug)]
pub struct Edited {
    /// The object with its changes.
    pub object: Object,
    /// The relocations of the changed object. Relocations of dropped references are left out.
    pub relocations: Relocations,
}

/// The changes that a new link makes to an object.
pub struct Relink<'a> {
    /// True for names that the object itself will define. The object's unversioned references to
    /// these names disappear.
    pub inside: &'a dyn Fn(&[u8]) -> bool,
    /// Names that the object will refer to, in addition to its present references.
    pub outside: &'a [&'a [u8]],
    /// Names to add at the end of the DT_NEEDED entries.
    pub needs: &'a [&'a [u8]],
}

impl Object {
    /// The object as the new link `relink` would make it. `None` if the object's tables were not
    /// kept, or if a table or a size would overflow.
    pub fn linked_again(&self, relocations: &Relocations, relink: &Relink<'_>) -> Option<Edited> {
        let tables = self.tables.as_ref()?;
        let bound = |reference: &&Reference| {
            let plain = matches!(reference.kind, RefKind::Strong | RefKind::Weak);
            plain && reference.version <= 1 && (relink.inside)(self.reference_name(reference))
        };
        let gone: crate::id::FastSet<SymbolIndex> =
            self.references.iter().filter(bound).map(|reference| reference.symbol).collect();
        let kept = self.references.iter().filter(|r| !gone.contains(&r.symbol)).copied();
        let (mut text, mut references) = (self.text.to_vec(), kept.collect::<Vec<_>>());
        let kept = relocations.list.iter().filter(|r| !gone.contains(&r.symbol())).copied();
        let mut list: Vec<Relocation> = kept.collect();
        let first = tables.count.checked_add(u32::try_from(tables.added.len()).ok()?)?;
        for (symbol, name) in (first..).map(SymbolIndex::new).zip(relink.outside) {
            let start = u32::try_from(text.len()).ok()?;
            text.extend_from_slice(name);
            text.push(0);
            references.push(Reference {
                name: start,
                len: NameLen::of(name),
                hash: hash::gnu(name),
                symbol,
                version: 1,
                kind: RefKind::Strong,
            });
            list.push(Relocation::new(symbol, LookupClass::Plt { slot: true })?);
        }
        let mut needs = self.needs.to_vec();
        for name in relink.needs {
            let start = u32::try_from(text.len()).ok()?;
            text.extend_from_slice(name);
            text.push(0);
            let name = Str { start, len: u32::try_from(name.len()).ok()? };
            needs.push(DynamicNeed { kind: NeedKind::Needed, name });
        }
        let object = Self {
            references: references.into(),
            text: text.into(),
            segments: self.segments.clone(),
            sections: self.sections.clone(),
            dlopen_notes: self.dlopen_notes.clone(),
            tables: Some(tables.with_undefined(relink.outside)?),
            needs: needs.into(),
            versions: self.versions.clone(),
            defects: Vec::new(),
            ..*self
        };
        Some(Edited { object, relocations: Relocations { list, defects: Vec::new() } })
    }
}

/// A search path to give to an object: its tag and its text. An empty text means no search path.
#[derive(Clone, Copy, Debug)]
pub struct NewSearchPath<'a> {
    /// True for DT_RPATH, false for DT_RUNPATH.
    pub is_rpath: bool,
    /// The entries, separated by colons.
    pub text: &'a [u8],
}

/// Changes of the DT_NEEDED entries, as patchelf makes them.
#[derive(Clone, Copy, Debug)]
pub struct NewNeeds<'a> {
    /// Names to add before the present DT_NEEDED entries.
    pub first: &'a BTreeSet<Vec<u8>>,
    /// Names whose DT_NEEDED entries are dropped.
    pub dropped: &'a BTreeSet<Vec<u8>>,
    /// New names, keyed by old name. The same names in DT_VERNEED are replaced too.
    pub replaced: &'a BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Object {
    /// The object with another search path. `None` if the object's tables were not kept, or if a
    /// size would overflow.
    pub fn with_search_path(
        &self,
        relocations: &Relocations,
        path: NewSearchPath<'_>,
    ) -> Option<Edited> {
        let none = Relink { inside: &|_| false, outside: &[], needs: &[] };
        let mut edited = self.linked_again(relocations, &none)?;
        let object = &mut edited.object;
        (object.rpath, object.runpath) = (None, None);
        if !path.text.is_empty() {
            let entry = object.add_text(path.text)?;
            let tag = if path.is_rpath { &mut object.rpath } else { &mut object.runpath };
            *tag = Some(entry);
        }
        Some(edited)
    }

    /// The object with changed DT_NEEDED entries. `None` if the object's tables were not kept, or
    /// if a size would overflow.
    pub fn with_needs(&self, relocations: &Relocations, change: NewNeeds<'_>) -> Option<Edited> {
        let none = Relink { inside: &|_| false, outside: &[], needs: &[] };
        let mut edited = self.linked_again(relocations, &none)?;
        let object = &mut edited.object;
        let mut needs = Vec::new();
        for name in change.first {
            needs.push(DynamicNeed { kind: NeedKind::Needed, name: object.add_text(name)? });
        }
        for need in &*self.needs {
            let old = self.str(need.name);
            let name = match change.replaced.get(old) {
                Some(new) if need.kind == NeedKind::Needed => object.add_text(new)?,
                _ => need.name,
            };
            if need.kind != NeedKind::Needed || !change.dropped.contains(old) {
                needs.push(DynamicNeed { kind: need.kind, name });
            }
        }
        object.needs = needs.into();
        let mut versions = self.versions.needs.clone();
        for version in &mut versions {
            if let Some(new) = change.replaced.get(self.str(version.file)) {
                version.file = object.add_text(new)?;
            }
        }
        object.versions.needs = versions;
        object.versions.index();
        Some(edited)
    }

    fn add_text(&mut self, text: &[u8]) -> Option<Str> {
        let start = u32::try_from(self.text.len()).ok()?;
        let name = Str { start, len: u32::try_from(text.len()).ok()? };
        self.text = [&self.text[..], text, b"\0"].concat().into();
        Some(name)
    }

    /// True for DT_RPATH without DT_RUNPATH.
    pub fn has_rpath_alone(&self) -> bool {
        self.rpath.is_some() && self.runpath.is_none()
    }
}

impl Tables {
    /// A copy of the tables, with further undefined symbols at the end. The hash table does not
    /// change, because lookups never need to find an undefined symbol.
    fn with_undefined(&self, names: &[&[u8]]) -> Option<Self> {
        let mut out = self.clone();
        // The range of the table may extend beyond its last symbol.
        let end = (self.count as usize)
            .checked_mul(self.symbol_size())?
            .checked_add(self.symbols.start)?;
        out.symbols.end = out.symbols.end.min(end);
        out.added.extend(names.iter().map(|name| Box::from(*name)));
        self.count.checked_add(u32::try_from(out.added.len()).ok()?)?;
        Some(out)
    }

    /// An undefined symbol that [`Self::with_undefined`] added. `None` for a symbol of the file.
    pub(super) fn added(&self, index: SymbolIndex) -> Option<Symbol<'_>> {
        let name = self.added.get(index.number().checked_sub(self.count)? as usize)?;
        Some(Symbol {
            index,
            name,
            versym: 1,
            bind: elf::STB_GLOBAL.0,
            kind: elf::STT_NOTYPE.0,
            visibility: elf::STV_DEFAULT.0,
            section: elf::SHN_UNDEF.0,
            value: 0,
            size: 0,
            stub: false,
        })
    }
}
