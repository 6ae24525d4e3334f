//! What rules and outputs ask to be read or answered besides what every audit is: a set that a rule
//! declares in its row. The plan holds the union of those that are enabled; what nobody wants costs
//! nothing. How much of a file is read for it is [`crate::format::Reading`].

/// A set of things that are read or answered only when they are wanted.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants(u16);

impl Wants {
    /// Nothing beyond what every audit reads.
    pub const NONE: Self = Self(0);
    /// The dynamic symbol tables of all audited objects, with what each defines.
    pub const TABLES: Self = Self(1);

    /// Who wins and who loses each name that several objects of a scope define.
    pub const DUPLICATE_DEFINITIONS: Self = Self(2);
    /// Which libraries each object binds to at all.
    pub const BOUND_LIBRARIES: Self = Self(4);

    /// Whether files of missing libraries' names lie below the prefixes.
    pub const NAMES_IN_PREFIX: Self = Self(8);

    /// What is in one of the two.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if all of `other` is wanted.
    pub const fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl FromIterator<Self> for Wants {
    fn from_iter<T: IntoIterator<Item = Self>>(all: T) -> Self {
        all.into_iter().fold(Self::NONE, Self::and)
    }
}
