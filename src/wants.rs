//! Facts and queries that only some rules and outputs need. A rule declares a set in its row, and
//! the plan holds the union over the enabled rules. Unneeded facts cost nothing.
//! [`crate::format::Reading`] says how much of a file is read for these facts.

/// A set of optional facts and queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants(u16);

impl Wants {
    /// The empty set: only facts that every audit reads.
    pub const NONE: Self = Self(0);
    /// The dynamic symbol tables of all audited objects, with their definitions.
    pub const TABLES: Self = Self(1);

    /// For each name that two libraries of a scope define differently: the definition that
    /// references get, and the other definitions.
    pub const DUPLICATE_DEFINITIONS: Self = Self(2);
    /// The libraries that each object binds to.
    pub const BOUND_LIBRARIES: Self = Self(4);

    /// Files in the prefixes that have the name of a missing library.
    pub const NAMES_IN_PREFIX: Self = Self(8);

    /// The dynamic loader that lies beside each C library.
    pub const OWN_LOADERS: Self = Self(16);

    /// The directories of the search paths of audited objects.
    pub const SEARCH_ENTRIES: Self = Self(32);

    /// Device code of objects that need HIP's runtime, and of bundles and code objects.
    pub const DEVICE_CODE: Self = Self(64);

    /// Package files of pkg-config.
    pub const PKG_CONFIG: Self = Self(128);

    /// Configuration files of CMake packages, evaluated.
    pub const CMAKE: Self = Self(256);

    /// Scripts, and other text files with paths in them.
    pub const LOOSE_TEXT: Self = Self(512);

    /// Notes about libraries that objects open with dlopen.
    pub const DLOPEN_NOTES: Self = Self(1024);

    /// Names of files in the directories that the walk lists.
    pub const NAMES_MET: Self = Self(2048);

    /// Includes of installed headers.
    pub const HEADERS: Self = Self(4096);

    /// Libraries of the system and lists of its packages, for undefined symbols and missing
    /// libraries.
    pub const INSTALLED: Self = Self(8192);

    /// The union of this set and `other`.
    #[must_use]
    pub const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// True if the set contains all of `other`.
    pub const fn holds(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }
}

impl FromIterator<Self> for Wants {
    fn from_iter<T: IntoIterator<Item = Self>>(all: T) -> Self {
        all.into_iter().fold(Self::NONE, Self::and)
    }
}
