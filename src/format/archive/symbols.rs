//! Collects the symbols of all members of an archive. `read` fills it.

use super::elf_member::{Raw, RawSymbol, each_symbol};
use super::index::Index;
use super::members::{Member, MemberKind, Symbol, SymbolKind};
use crate::format::{Defect, Table};
use crate::id::{FastMap, Id as _, NameId};
use crate::symbol_names::{Batch, Growing};
use object::read::elf::FileHeader;
use object::{Endianness, elf};

/// What GCC defines in an object that holds only its intermediate language.
const SLIM: &[u8] = b"__gnu_lto_slim";
/// Names of one member may be this many times as long, all in all, as its string table: symbols may
/// share bytes of it, and a hostile member makes them all share a long name.
const SHARED: usize = 16;

/// Symbols of one archive, whose memory is used again for the next.
#[derive(Default)]
pub(super) struct Builder {
    pub(super) symbols: Vec<Symbol>,
    batch: Batch,
}

impl Builder {
    /// Adds the symbols of a member, which begins at `base`, and their names to `names`.
    pub(super) fn add<H: FileHeader<Endian = Endianness>>(
        &mut self,
        raw: &Raw<'_>,
        e: Endianness,
        base: u64,
        names: &Growing,
    ) -> (MemberKind, Option<Defect>) {
        let Self { symbols, batch } = self;
        let first = symbols.len();
        let mut kind = MemberKind::Object;
        let mut room = raw.strings.len().saturating_mul(SHARED) + (64 << 10);
        let mut full = false;
        let whole = each_symbol::<H>(raw, e, |symbol| {
            let name = symbol.name;
            if full || room < name.len() || !batch.push(symbol.start, name) {
                full = true;
                return;
            }
            room -= name.len();
            if name == SLIM {
                kind = MemberKind::SlimLto;
            }
            symbols.push(Symbol {
                // Until all names of the member are known.
                name: NameId::from_index(0),
                kind: kind_of(&symbol),
                other: symbol.other,
                function: symbol.function,
            });
        });
        let mut kept = true;
        let added = &mut symbols[first..];
        names.add(raw.strings, batch, |at, name| match (added.get_mut(at), name) {
            (Some(symbol), Some(name)) => symbol.name = name,
            _ => kept = false,
        });
        let what = match (whole, full, kept) {
            (false, ..) => "has a name that is not in the string table",
            (true, true, _) => "has names that are longer than the string table can hold",
            (true, false, true) => return (kind, None),
            (true, false, false) => {
                symbols.truncate(first);
                "has more names than can be kept"
            }
        };
        (MemberKind::Damaged, Some(Defect::new(Table::MemberSymbols, base, what)))
    }

    /// Lets the index say what opaque members define.
    pub(super) fn opaque(&mut self, list: &mut [Member], index: &Index, names: &Growing) {
        let mut by_member: FastMap<u64, Vec<&[u8]>> = FastMap::default();
        for (name, member) in index.entries() {
            by_member.entry(member).or_default().push(name);
        }
        for member in list.iter_mut().filter(|member| member.is_opaque()) {
            let start = self.symbols.len();
            for name in by_member.get(&member.offset).into_iter().flatten() {
                if let Some(name) = names.add_one(name) {
                    let kind = SymbolKind::Strong;
                    self.symbols.push(Symbol { name, kind, other: 0, function: false });
                }
            }
            let number = |n: usize| u32::try_from(n).unwrap_or(u32::MAX);
            member.symbols = (number(start), number(self.symbols.len()));
        }
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
