//! Collects the symbols of all members of an archive. `read` fills it.

use super::bitcode::LtoSymbol;
use super::elf_member::{Raw, RawSymbol, each_symbol};
use super::index::Index;
use super::members::{Member, MemberDefect, MemberKind, NAMELESS, Span, Symbol, SymbolKind};
use crate::format::{Defect, Table};
use crate::id::FastMap;
use crate::symbol_names::{Added, Batch, Growing};
use object::read::elf::FileHeader;
use object::{Endianness, elf};

/// What GCC defines in an object that holds only its intermediate language.
const SLIM: &[u8] = b"__gnu_lto_slim";
/// What is wrong where symbols have no room.
const MOST_SYMBOLS: &str = "has more symbols than can be kept";
/// Names of one member may be this many times as long, all in all, as its string table: symbols may
/// share bytes of it, and a hostile member makes them all share a long name.
const SHARED: usize = 16;

/// Names that are put into the run's table at a time: each of its locks is taken for some thirty.
const BATCH: usize = 1024;

/// Bytes of an archive for which room is made for one symbol, as in LLVM's, and for how many at most.
const BYTES_A_SYMBOL: u64 = 768;
const MOST_EXPECTED: usize = 1 << 20;
/// So many are handed over with the room they stand in; fewer are copied, and the room is used again.
const MANY: usize = 1 << 17;

/// Symbols of one archive, whose memory is used again for the next.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) symbols: Vec<Symbol>,
    /// Of each definition the hash of its name, and where that begins among its member's.
    pub(super) hashes: Vec<u64>,
    pub(super) starts: Vec<u32>,
    /// Names of the last symbols, which have no ids yet.
    batch: Batch,
    /// Symbols whose names there was no more room for.
    lost: Vec<usize>,
}

/// How much a builder holds.
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    symbols: u32,
    hashes: u32,
}

impl Builder {
    /// Forgets the archive before, and makes room for the symbols of one of `size` bytes: pages that
    /// are not needed are not touched, and nothing has to be moved.
    pub(super) fn begin(&mut self, size: u64) {
        let expected = usize::try_from(size / BYTES_A_SYMBOL).unwrap_or(MOST_EXPECTED);
        let expected = expected.min(MOST_EXPECTED);
        self.symbols.clear();
        self.hashes.clear();
        self.starts.clear();
        self.symbols.reserve(expected);
        self.hashes.reserve(expected);
        self.starts.reserve(expected);
        self.batch.clear();
        self.lost.clear();
    }

    /// How many symbols there are, and how many hashes of definitions.
    pub(super) fn lengths(&self) -> Lengths {
        let number = |n: usize| u32::try_from(n).expect("only what has a place is added");
        Lengths { symbols: number(self.symbols.len()), hashes: number(self.hashes.len()) }
    }

    /// The symbols and hashes that came since.
    pub(super) fn since(&self, before: Lengths) -> (Span, Span) {
        let now = self.lengths();
        let symbols = Span { start: before.symbols, end: now.symbols };
        (symbols, Span { start: before.hashes, end: now.hashes })
    }

    /// Adds the symbols of a member, which begins at `base`, and to `names` what they refer to; what
    /// they define too, if that is to `add`.
    pub(super) fn add<H: FileHeader<Endian = Endianness>>(
        &mut self,
        raw: &Raw<'_>,
        e: Endianness,
        (base, add): (u64, bool),
        names: &Growing,
    ) -> (MemberKind, Option<Defect>) {
        let Self { symbols, hashes, starts, batch, lost } = self;
        let mut kind = MemberKind::Object;
        let mut room = raw.strings.len().saturating_mul(SHARED) + (64 << 10);
        let mut full = None;
        let whole = each_symbol::<H>(raw, e, |symbol| {
            let (name, is) = (symbol.name, kind_of(&symbol));
            if full.is_none() && room < name.len() {
                full = Some("has names that are longer than the string table can hold");
            }
            // Some linkers replace a common symbol by a definition: it refers to its own name.
            let add = add || !is.is_definition() || is == SymbolKind::Common;
            let at = place(symbols).filter(|_| full.is_none());
            let Some(hash) = at.and_then(|at| batch.push(names, name, add, at)) else {
                full.get_or_insert(MOST_SYMBOLS);
                return;
            };
            if is.is_definition() {
                hashes.push(hash);
                starts.push(symbol.start);
            }
            room -= name.len();
            if name == SLIM {
                kind = MemberKind::SlimLto;
            }
            symbols.push(Symbol {
                // Until the batch is full.
                name: NAMELESS,
                kind: is,
                other: symbol.other,
                function: symbol.function,
            });
            if batch.len() >= BATCH {
                name_all(symbols, batch, lost, names);
            }
        });
        let what = match (whole, full) {
            (false, _) => "has a name that is not in the string table",
            (true, Some(what)) => what,
            (true, None) => return (kind, None),
        };
        (MemberKind::Damaged, Some(Defect::new(Table::MemberSymbols, base, what)))
    }

    /// Gives all symbols the ids of their names. Where there is none a member's symbols are lost, and
    /// it is damaged.
    pub(super) fn finish(&mut self, list: &mut [Member], names: &Growing) -> Vec<MemberDefect> {
        name_all(&mut self.symbols, &mut self.batch, &mut self.lost, names);
        let mut damage = Vec::new();
        if self.lost.is_empty() {
            return damage;
        }
        for member in list {
            let place = member.symbols.range();
            if self.lost.iter().any(|at| place.contains(at)) {
                let what = "has more names than can be kept";
                let defect = Defect::new(Table::MemberSymbols, member.offset, what);
                damage.push(MemberDefect { member: Some(member.offset), defect });
                member.kind = MemberKind::Damaged;
                (member.symbols, member.hashes) = (Span::default(), Span::default());
            }
        }
        damage
    }

    /// Symbols, hashes and where names begin, as long as they are: they stay until the end of the run.
    pub(super) fn take(&mut self) -> (Vec<Symbol>, Vec<u64>, Vec<u32>) {
        if self.symbols.len() < MANY {
            return (self.symbols.clone(), self.hashes.clone(), self.starts.clone());
        }
        let Self { symbols, hashes, starts, .. } = self;
        (std::mem::take(symbols), std::mem::take(hashes), std::mem::take(starts))
    }

    /// Adds the symbols of an object of intermediate language; false if they have no room.
    pub(super) fn add_lto(&mut self, found: &[LtoSymbol<'_>], names: &Growing) -> bool {
        for symbol in found {
            let Some(name) = place(&self.symbols).and_then(|_| names.add_one(symbol.name)) else {
                return false;
            };
            if symbol.kind.is_definition() {
                self.hashes.push(names.hash(symbol.name));
                self.starts.push(0);
            }
            let LtoSymbol { kind, visibility, function, .. } = *symbol;
            self.symbols.push(Symbol { name, kind, other: visibility, function });
        }
        true
    }

    /// Lets the index say what members define that could not be read.
    pub(super) fn opaque(&mut self, list: &mut [Member], index: &Index, names: &Growing) {
        let mut by_member: FastMap<u64, Vec<&[u8]>> = FastMap::default();
        for (name, member) in index.entries() {
            by_member.entry(member).or_default().push(name);
        }
        for member in list.iter_mut().filter(|member| member.is_unknown()) {
            let before = self.lengths();
            for name in by_member.get(&member.offset).into_iter().flatten() {
                let hash = names.hash(name);
                if let Some(name) = place(&self.symbols).and_then(|_| names.add_one(name)) {
                    self.hashes.push(hash);
                    self.starts.push(0);
                    let kind = SymbolKind::Strong;
                    self.symbols.push(Symbol { name, kind, other: 0, function: false });
                }
            }
            (member.symbols, member.hashes) = self.since(before);
        }
    }
}

/// Where the next symbol stands; nothing if it would be the last that a number of 32 bits can tell.
fn place(symbols: &[Symbol]) -> Option<u32> {
    u32::try_from(symbols.len()).ok().filter(|at| *at < u32::MAX)
}

/// Gives symbols the ids of their names, which are in the batch.
fn name_all(symbols: &mut [Symbol], batch: &mut Batch, lost: &mut Vec<usize>, names: &Growing) {
    names.add(batch, |at, added| match (symbols.get_mut(at), added) {
        (Some(symbol), Added::Known(name)) => symbol.name = name,
        (Some(_), Added::Unknown) => {}
        _ => lost.push(at),
    });
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
