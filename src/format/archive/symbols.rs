//! Collects the symbols of all members of an archive, for `read`.

use super::bitcode::LtoSymbol;
use super::elf_member::{Raw, RawSymbol, each_symbol, is_machine_common, stem};
use super::index::ArchiveSymbolIndex;
use super::members::{
    Member, MemberDefect, MemberKind, MemberSymbol, NAMELESS, Span, SymbolKind, SymbolValue,
};
use crate::format::{Defect, Table};
use crate::id::FastMap;
use crate::symbol_names::{Added, Batch, Growing};
use object::read::elf::FileHeader;
use object::{Endianness, elf};

/// The symbol that GCC defines in an object that has only GCC's intermediate language.
const SLIM: &[u8] = b"__gnu_lto_slim";
/// The defect of a member whose symbols have indices that do not fit in 32 bits.
const MOST_SYMBOLS: &str = "has more symbols than can be kept";
/// Limits the total length of one member's names to this multiple of the size of its string table,
/// plus 64 KiB. Symbols may share bytes of the table, and a hostile member may make all of them
/// share a long name.
const SHARED: usize = 16;

/// Number of names that are added to the run's table at a time. Each of the table's locks is then
/// taken once for about thirty names.
const BATCH: usize = 1024;

/// Expected number of bytes of an archive for each of its symbols, measured on LLVM's archives.
const BYTES_A_SYMBOL: u64 = 768;
/// Upper bound for the number of symbols for which memory is reserved.
const MOST_EXPECTED: usize = 1 << 20;
/// With at least this many symbols, [`SymbolsBuilder::take`] moves its lists out. Shorter lists are
/// copied, and their memory is reused.
const MANY: usize = 1 << 17;

/// Symbols of one archive. Their memory is reused for the next archive.
#[derive(Default)]
pub(super) struct SymbolsBuilder {
    pub(super) symbols: Vec<MemberSymbol>,
    /// For each definition, the hash of its name.
    pub(super) hashes: Vec<u64>,
    /// For each definition, the offset of its name in its member's string table.
    pub(super) starts: Vec<u32>,
    /// True if a name has a version.
    pub(super) versioned: bool,
    /// Definitions with a default version; see [`super::Members::default_versions`].
    pub(super) default_versions: Vec<(u32, Box<[u8]>)>,
    /// Names of the last symbols, whose ids are not set yet.
    batch: Batch,
    /// Symbols whose names did not fit into the run's table.
    lost: Vec<usize>,
    sections: DefiningSections,
    /// Members whose definitions are looked up by [`Self::find_kept`].
    kept: Vec<KeptMember>,
}

/// The sections in which one member defines symbols. They determine [`MemberSymbol::beside_weak`].
#[derive(Default)]
struct DefiningSections {
    /// A bitmap of the sections that have a weak definition; empty until there is one.
    bits: Vec<u64>,
    weak: Vec<u16>,
    /// Strong definitions, as indices of symbols, with their sections.
    strong: Vec<(usize, u16)>,
}

impl DefiningSections {
    /// Adds the definition with the index `at`. Definitions outside of the first 65,280 sections
    /// are ignored.
    fn add(&mut self, at: usize, kind: SymbolKind, section: elf::SymbolSection) {
        if section.0 >= elf::SHN_LORESERVE {
            return;
        }
        match kind {
            SymbolKind::Strong => self.strong.push((at, section.0)),
            SymbolKind::Weak | SymbolKind::Unique => {
                self.bits.resize(1 << 10, 0);
                self.bits[usize::from(section.0 / 64)] |= 1 << (section.0 % 64);
                self.weak.push(section.0);
            }
            SymbolKind::Common
            | SymbolKind::MachineCommon
            | SymbolKind::Undefined
            | SymbolKind::WeakUndefined => {}
        }
    }

    /// Marks the strong definitions that share a section with a weak one, and clears the lists for
    /// the next member.
    fn mark(&mut self, symbols: &mut [MemberSymbol]) {
        let Self { bits, weak, strong } = self;
        let has_weak = |section: u16| bits[usize::from(section / 64)] >> (section % 64) & 1 == 1;
        if !weak.is_empty() {
            for (at, _) in strong.iter().filter(|(_, section)| has_weak(*section)) {
                symbols[*at].beside_weak = true;
            }
        }
        weak.drain(..).for_each(|section| bits[usize::from(section / 64)] = 0);
        strong.clear();
    }
}

/// A member whose string table is still in memory.
struct KeptMember {
    symbols: Span,
    hashes: Span,
    /// Offset of its string table in the kept tables.
    strings: usize,
}

/// Decides if and when the names of a member's definitions are stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum DefinedNames {
    /// The names are stored at once.
    Stored,
    /// The names are looked up at once among the stored names. A name is not stored if no known
    /// reference has it.
    Searched,
    /// The string table is kept at this offset. [`SymbolsBuilder::find_kept`] looks up the names
    /// later, when the references of more members are known.
    Kept(usize),
}

/// The lengths of a builder's lists at one moment; see [`SymbolsBuilder::since`].
#[derive(Clone, Copy)]
pub(super) struct Lengths {
    symbols: u32,
    hashes: u32,
}

impl SymbolsBuilder {
    /// Clears the lists and reserves room for the symbols of an archive of `size` bytes, so that
    /// few lists move when they grow. Pages that are never touched cost no memory.
    pub(super) fn begin(&mut self, size: u64) {
        let expected = usize::try_from(size / BYTES_A_SYMBOL).unwrap_or(MOST_EXPECTED);
        let expected = expected.min(MOST_EXPECTED);
        self.symbols.clear();
        self.hashes.clear();
        self.starts.clear();
        self.symbols.reserve(expected);
        self.hashes.reserve(expected);
        self.starts.reserve(expected);
        self.versioned = false;
        self.default_versions.clear();
        self.batch.clear();
        self.lost.clear();
        self.kept.clear();
    }

    /// The numbers of symbols and of hashes that were added so far.
    pub(super) fn lengths(&self) -> Lengths {
        let number = |n: usize| u32::try_from(n).expect("only what has a place is added");
        Lengths { symbols: number(self.symbols.len()), hashes: number(self.hashes.len()) }
    }

    /// The symbols and hashes that were added after `before`.
    pub(super) fn since(&self, before: Lengths) -> (Span, Span) {
        let now = self.lengths();
        let symbols = Span { start: before.symbols, end: now.symbols };
        (symbols, Span { start: before.hashes, end: now.hashes })
    }

    /// Adds the symbols of a member that begins at `base`. The names of references go into `names`.
    /// Returns the kind of the member, and its defect if it has one.
    pub(super) fn add<H: FileHeader<Endian = Endianness>>(
        &mut self,
        raw: &Raw<'_>,
        (e, machine): (Endianness, elf::Machine),
        (base, defined): (u64, DefinedNames),
        names: &Growing,
    ) -> (MemberKind, Option<Defect>) {
        let before = self.lengths();
        let Self { symbols, hashes, starts, versioned, batch, lost, sections, .. } = self;
        let default_versions = &mut self.default_versions;
        let mut kind = MemberKind::Object;
        let mut room = raw.strings.len().saturating_mul(SHARED) + (64 << 10);
        let mut full = None;
        let whole = each_symbol::<H>(raw, e, |symbol| {
            let (name, is) = (symbol.name, kind_of(&symbol, machine));
            let len = name.len() + symbol.version.len();
            if full.is_none() && room < len {
                full = Some("has names that are longer than the string table can hold");
            }
            // Some linkers replace a common symbol by a definition, so the symbol is also a
            // reference to its own name.
            let add = defined == DefinedNames::Stored || !is.is_definition() || is.is_tentative();
            let is_later = !add && matches!(defined, DefinedNames::Kept(_));
            let at = place(symbols).filter(|_| full.is_none());
            let hash = |at| {
                if is_later { Some(names.hash(name)) } else { batch.push(names, name, add, at) }
            };
            let Some(hash) = at.and_then(hash) else {
                full.get_or_insert(MOST_SYMBOLS);
                return;
            };
            if is.is_definition() {
                hashes.push(hash);
                starts.push(symbol.start);
            }
            room -= len;
            *versioned |= !symbol.version.is_empty();
            if let (Some(at), Some(b'@')) =
                (at.filter(|_| is.is_definition()), symbol.version.get(1))
            {
                default_versions.push((at, [name, &symbol.version[1..]].concat().into()));
            }
            if name == SLIM {
                kind = MemberKind::SlimLto;
            }
            sections.add(symbols.len(), is, symbol.section);
            symbols.push(MemberSymbol {
                // The id is set when the batch is full, or by `finish`.
                name: NAMELESS,
                kind: is,
                other: symbol.other,
                value: symbol.value,
                beside_weak: false,
            });
            if batch.len() >= BATCH {
                name_all(symbols, batch, lost, names);
            }
        });
        sections.mark(symbols);
        if let DefinedNames::Kept(strings) = defined {
            let (symbols, hashes) = self.since(before);
            self.kept.push(KeptMember { symbols, hashes, strings });
        }
        let what = match (whole, full) {
            (false, _) => "has a name that is not in the string table",
            (true, Some(what)) => what,
            (true, None) => return (kind, None),
        };
        (MemberKind::Damaged, Some(Defect::new(Table::MemberSymbols, base, what)))
    }

    /// Looks up the definitions of kept members, then removes these members from `kept`. `tables`
    /// has their string tables. A name is read only if a reference to it probably exists.
    pub(super) fn find_kept(&mut self, tables: &[u8], names: &Growing) {
        let Self { symbols, hashes, starts, batch, lost, kept, .. } = self;
        // The names of references must be stored first.
        name_all(symbols, batch, lost, names);
        for KeptMember { symbols: place, hashes: of, strings } in kept.drain(..) {
            let mut at = place.range().start;
            let starts = starts.get(of.range()).unwrap_or_default();
            for (hash, start) in hashes.get(of.range()).unwrap_or_default().iter().zip(starts) {
                while symbols.get(at).is_some_and(|symbol| !symbol.kind.is_definition()) {
                    at += 1;
                }
                let number = u32::try_from(at).ok().filter(|_| names.may_hold(*hash));
                at += 1;
                let name = number.and_then(|_| stem(tables.get(strings + *start as usize..)?));
                if let (Some(number), Some(name)) = (number, name) {
                    batch.push(names, name, false, number);
                }
                if batch.len() >= BATCH {
                    name_all(symbols, batch, lost, names);
                }
            }
        }
    }

    /// Gives the remaining symbols the ids of their names. If a name did not fit into the run's
    /// table, the member with this name loses all symbols and becomes damaged.
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

    /// Returns the symbols, the hashes and the offsets of names. The returned lists stay in memory
    /// until the end of the run, so short ones are copied to drop their spare capacity.
    pub(super) fn take(&mut self) -> (Vec<MemberSymbol>, Vec<u64>, Vec<u32>) {
        if self.symbols.len() < MANY {
            return (self.symbols.clone(), self.hashes.clone(), self.starts.clone());
        }
        let Self { symbols, hashes, starts, .. } = self;
        (std::mem::take(symbols), std::mem::take(hashes), std::mem::take(starts))
    }

    /// Adds the symbols of an object in intermediate language. False if there are more symbols or
    /// names than can be kept.
    pub(super) fn add_lto(&mut self, found: &[LtoSymbol<'_>], names: &Growing) -> bool {
        for symbol in found {
            let Some(name) = place(&self.symbols).and_then(|_| names.add_one(symbol.name)) else {
                return false;
            };
            if symbol.kind.is_definition() {
                self.hashes.push(names.hash(symbol.name));
                self.starts.push(0);
            }
            let LtoSymbol { kind, visibility: other, function, .. } = *symbol;
            let value = if function { SymbolValue::Function } else { SymbolValue::Untyped };
            self.symbols.push(MemberSymbol { name, kind, other, value, beside_weak: false });
        }
        true
    }

    /// Adds the definitions that the index lists for members with unknown references. The added
    /// definitions count as strong.
    pub(super) fn opaque(
        &mut self,
        list: &mut [Member],
        index: &ArchiveSymbolIndex,
        names: &Growing,
    ) {
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
                    let (other, value, beside_weak) = (0, SymbolValue::Untyped, false);
                    self.symbols.push(MemberSymbol { name, kind, other, value, beside_weak });
                }
            }
            (member.symbols, member.hashes) = self.since(before);
        }
    }
}

/// Index of the next symbol; `None` if it would be `u32::MAX`.
fn place(symbols: &[MemberSymbol]) -> Option<u32> {
    u32::try_from(symbols.len()).ok().filter(|at| *at < u32::MAX)
}

/// Gives the symbols of the batch the ids of their names. Symbols whose names are not in the run's
/// table stay [`NAMELESS`].
fn name_all(
    symbols: &mut [MemberSymbol],
    batch: &mut Batch,
    lost: &mut Vec<usize>,
    names: &Growing,
) {
    names.add(batch, |at, added| match (symbols.get_mut(at), added) {
        (Some(symbol), Added::Known(name)) => symbol.name = name,
        (Some(_), Added::Unknown) => {}
        _ => lost.push(at),
    });
}

fn kind_of(symbol: &RawSymbol<'_>, machine: elf::Machine) -> SymbolKind {
    let weak = symbol.bind == elf::STB_WEAK;
    match symbol.section {
        elf::SHN_UNDEF if weak => SymbolKind::WeakUndefined,
        elf::SHN_UNDEF => SymbolKind::Undefined,
        elf::SHN_COMMON => SymbolKind::Common,
        section if is_machine_common(machine, section) => SymbolKind::MachineCommon,
        _ if weak => SymbolKind::Weak,
        _ if symbol.bind == elf::STB_GNU_UNIQUE => SymbolKind::Unique,
        _ => SymbolKind::Strong,
    }
}
