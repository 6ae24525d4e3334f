//! An object as it would be if it were linked again: what it refers to changes, nothing else. Proofs
//! of fixes resolve and bind such objects; `fix::prove` is the caller. Nothing is written to a file.

use super::relocs::{Relocation, Relocations};
use super::{Object, RefKind, Reference, Tables, hash};
use crate::format::elf::machine::LookupClass;

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
        for (symbol, name) in (tables.count..).zip(relink.outside) {
            let start = u32::try_from(text.len()).ok()?;
            text.extend_from_slice(name);
            text.push(0);
            references.push(Reference {
                name: start,
                len: u16::try_from(name.len()).unwrap_or(u16::MAX),
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
        let entry = if self.is_64 { 24 } else { 16 };
        let count = self.count as usize;
        // Tables may overlap, so those that grow are copied to the end.
        let mut symbols = self.bytes.get(self.symbols.clone())?.to_vec();
        symbols.resize(count.checked_mul(entry)?, 0);
        let mut strings = self.bytes.get(self.strings.clone())?.to_vec();
        // A table that was cut short has no NUL at its end.
        strings.push(0);
        let mut versym = self.versym.clone().map(|range| self.bytes[range].to_vec());
        for name in names {
            let start = u32::try_from(strings.len()).ok()?;
            strings.extend_from_slice(name);
            strings.push(0);
            symbols.extend(if self.big { start.to_be_bytes() } else { start.to_le_bytes() });
            // STB_GLOBAL and STT_NOTYPE; everything else of an undefined symbol is zero.
            let info = symbols.len() + if self.is_64 { 0 } else { 8 };
            symbols.resize(symbols.len() + entry - 4, 0);
            symbols[info] = 1 << 4;
        }
        if let Some(versym) = &mut versym {
            versym.resize(count.checked_mul(2)?, 0);
            for _ in names {
                versym.extend(if self.big { 1u16.to_be_bytes() } else { 1u16.to_le_bytes() });
            }
        }
        let mut append = |table: Vec<u8>| {
            let start = out.bytes.len();
            out.bytes.extend(table);
            start..out.bytes.len()
        };
        out.symbols = append(symbols);
        out.strings = append(strings);
        out.versym = versym.map(append);
        out.count = self.count.checked_add(u32::try_from(names.len()).ok()?)?;
        Some(out)
    }
}
