//! An object as it would be if it were linked again: what it refers to changes, nothing else. Proofs
//! of fixes resolve and bind such objects; `fix::prove` is the caller. Nothing is written to a file.

use super::relocs::{Relocation, Relocations};
use super::tables::Symbol;
use super::{NameLen, Object, RefKind, Reference, Tables, hash};
use crate::format::elf::machine::LookupClass;
use object::elf;

/// An object and its relocations after a change.
#[derive(Debug)]
pub struct Edited {
    /// The object.
    pub object: Object,
    /// Its relocations.
    pub relocations: Relocations,
}

/// What a link that is done again changes.
pub struct Relink<'a> {
    /// True for names without version that are defined inside then: no reference to them is left.
    pub inside: &'a dyn Fn(&[u8]) -> bool,
    /// Names that are referred to from outside then, besides those that are now.
    pub outside: &'a [&'a [u8]],
}

impl Object {
    /// The object after `relink`. Nothing if its tables were not kept, or cannot hold more.
    pub fn linked_again(&self, relocations: &Relocations, relink: &Relink<'_>) -> Option<Edited> {
        let tables = self.tables.as_ref()?;
        let bound = |reference: &&Reference| {
            let plain = matches!(reference.kind, RefKind::Strong | RefKind::Weak);
            plain && reference.version <= 1 && (relink.inside)(self.reference_name(reference))
        };
        let gone: crate::id::FastSet<u32> =
            self.references.iter().filter(bound).map(|reference| reference.symbol).collect();
        let kept = self.references.iter().filter(|r| !gone.contains(&r.symbol)).copied();
        let (mut text, mut references) = (self.text.to_vec(), kept.collect::<Vec<_>>());
        let kept = relocations.list.iter().filter(|r| !gone.contains(&r.symbol())).copied();
        let mut list: Vec<Relocation> = kept.collect();
        let first = tables.count.checked_add(u32::try_from(tables.added.len()).ok()?)?;
        for (symbol, name) in (first..).zip(relink.outside) {
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
        let object = Self {
            references: references.into(),
            text: text.into(),
            segments: self.segments.clone(),
            tables: Some(tables.with_undefined(relink.outside)?),
            needs: self.needs.clone(),
            versions: self.versions.clone(),
            defects: Vec::new(),
            ..*self
        };
        Some(Edited { object, relocations: Relocations { list, defects: Vec::new() } })
    }
}

impl Tables {
    /// The tables with further undefined symbols at the end, which no hash table needs to know.
    fn with_undefined(&self, names: &[&[u8]]) -> Option<Self> {
        let mut out = self.clone();
        // What a table holds behind its end is no symbol.
        let end = (self.count as usize)
            .checked_mul(self.symbol_size())?
            .checked_add(self.symbols.start)?;
        out.symbols.end = out.symbols.end.min(end);
        out.added.extend(names.iter().map(|name| Box::from(*name)));
        self.count.checked_add(u32::try_from(out.added.len()).ok()?)?;
        Some(out)
    }

    /// An undefined symbol that the file does not have.
    pub(super) fn added(&self, index: u32) -> Option<Symbol<'_>> {
        let name = self.added.get(index.checked_sub(self.count)? as usize)?;
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
