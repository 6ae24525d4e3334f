//! The index of a dynamic symbol, as its own type.

/// The index of an entry in an object's dynamic symbol table, as relocations and hash tables have it.
///
/// Other `u32`s count references, hash words and versions: none of them selects a symbol.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolIndex(u32);

impl SymbolIndex {
    /// STN_UNDEF, the reserved first entry. It stands for no symbol.
    pub const UNDEFINED: Self = Self(0);

    /// The index with this number.
    #[inline]
    pub(in crate::format) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The number that the file has.
    #[inline]
    pub const fn number(self) -> u32 {
        self.0
    }

    /// The position in a list of all symbols.
    #[inline]
    pub const fn position(self) -> usize {
        self.0 as usize
    }
}
