//! The index of a dynamic symbol, as its own type.

/// The index of an entry in an object's dynamic symbol table, as in relocations and hash tables.
///
/// The type prevents confusion with indices of references and hash values, which have 32 bits too.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct SymbolIndex(u32);

impl SymbolIndex {
    /// STN_UNDEF, the reserved first entry, which means that there is no symbol.
    pub const UNDEFINED: Self = Self(0);

    /// The index with this number.
    #[inline]
    pub(in crate::format) const fn new(number: u32) -> Self {
        Self(number)
    }

    /// The index as the file stores it.
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
