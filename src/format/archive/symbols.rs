//! Collects the symbols of all members of an archive, every name once. `read` fills it.

use super::elf_member::{Raw, RawSymbol, each_symbol};
use super::index::Index;
use super::members::{Member, MemberKind, Name, Spare, Symbol, SymbolKind};
use crate::format::{Defect, Table};
use crate::id::FastMap;
use hashbrown::HashTable;
use object::read::elf::FileHeader;
use object::{Endianness, elf};
use std::hash::BuildHasher as _;

/// What GCC defines in an object that holds only its intermediate language.
const SLIM: &[u8] = b"__gnu_lto_slim";
/// Names of one member may be this many times as long, all in all, as its string table: symbols may
/// share bytes of it, and a hostile member makes them all share a long name.
const SHARED: usize = 16;
/// The hash of a name, the same for every archive of every run.
pub fn hash(name: &[u8]) -> u64 {
    foldhash::fast::FixedState::default().hash_one(name)
}

/// Symbols and names of one archive.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) symbols: Vec<Symbol>,
    pub(super) names: Vec<Name>,
    pub(super) text: Vec<u8>,
    table: HashTable<u32>,
}

impl Builder {
    /// Begins an archive with memory that was used for another.
    pub(super) fn begin(&mut self, spare: Spare) {
        let Spare { mut symbols, mut names, mut text } = spare;
        symbols.clear();
        names.clear();
        text.clear();
        self.table.clear();
        (self.symbols, self.names, self.text) = (symbols, names, text);
    }

    /// Keeps a text that is no symbol's.
    pub(super) fn text(&mut self, text: &[u8]) -> (u32, u32) {
        let place = (u32::try_from(self.text.len()), u32::try_from(text.len()));
        let (Ok(start), Ok(len)) = place else { return (0, 0) };
        self.text.extend_from_slice(text);
        (start, len)
    }

    /// The number of a name; nothing when there is no more room for names.
    fn name(&mut self, name: &[u8]) -> Option<u32> {
        let hash = hash(name);
        let Self { names, text, table, .. } = self;
        let bytes =
            |name: &Name| &text[name.start as usize..name.start as usize + name.len as usize];
        let same = |at: &u32| {
            let known = &names[*at as usize];
            known.hash == hash && bytes(known) == name
        };
        if let Some(at) = table.find(hash, same) {
            return Some(*at);
        }
        let at = u32::try_from(names.len()).ok()?;
        let (start, len) = self.text(name);
        if len as usize != name.len() {
            return None;
        }
        self.names.push(Name { hash, start, len });
        let names = &self.names;
        self.table.insert_unique(hash, at, |at| names[*at as usize].hash);
        Some(at)
    }

    /// Adds the symbols of a member, which begins at `base`.
    pub(super) fn add<H: FileHeader<Endian = Endianness>>(
        &mut self,
        raw: &Raw<'_>,
        e: Endianness,
        base: u64,
    ) -> (MemberKind, Option<Defect>) {
        let mut kind = MemberKind::Object;
        let mut room = raw.strings.len().saturating_mul(SHARED) + (64 << 10);
        let mut full = false;
        let whole = each_symbol::<H>(raw, e, |symbol| {
            let name = stem(symbol.name);
            if full || room < name.len() {
                full = true;
                return;
            }
            room -= name.len();
            if name == SLIM {
                kind = MemberKind::SlimLto;
            }
            match self.name(name) {
                Some(name) => self.symbols.push(Symbol {
                    name,
                    kind: kind_of(&symbol),
                    other: symbol.other,
                    function: symbol.function,
                }),
                None => full = true,
            }
        });
        let what = match (whole, full) {
            (false, _) => "has a name that is not in the string table",
            (true, true) => "has names that are longer than the string table can hold",
            (true, false) => return (kind, None),
        };
        (MemberKind::Damaged, Some(Defect::new(Table::MemberSymbols, base, what)))
    }

    /// Lets the index say what opaque members define.
    pub(super) fn opaque(&mut self, list: &mut [Member], index: &Index) {
        let mut by_member: FastMap<u64, Vec<&[u8]>> = FastMap::default();
        for (name, member) in index.entries() {
            by_member.entry(member).or_default().push(name);
        }
        for member in list.iter_mut().filter(|member| member.is_opaque()) {
            let start = self.symbols.len();
            for name in by_member.get(&member.offset).into_iter().flatten() {
                if let Some(name) = self.name(name) {
                    let kind = SymbolKind::Strong;
                    self.symbols.push(Symbol { name, kind, other: 0, function: false });
                }
            }
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            member.symbols = (number(start), number(self.symbols.len()));
        }
    }
}

/// A symbol with a default version, `NAME@@VERSION`, answers to its name alone, as in lld
/// (`SymbolTable::insert`).
fn stem(name: &[u8]) -> &[u8] {
    match name.iter().position(|b| *b == b'@') {
        Some(at) if name.get(at + 1) == Some(&b'@') => &name[..at],
        _ => name,
    }
}

fn kind_of(symbol: &RawSymbol<'_>) -> SymbolKind {
    let weak = symbol.bind == elf::STB_WEAK;
    match symbol.section {
        elf::SHN_UNDEF if weak => SymbolKind::WeakUndefined,
        elf::SHN_UNDEF => SymbolKind::Undefined,
        elf::SHN_COMMON => SymbolKind::Common,
        _ if weak => SymbolKind::Weak,
        _ if symbol.bind == elf::STB_GNU_UNIQUE => SymbolKind::Unique,
        _ => SymbolKind::Strong,
    }
}
