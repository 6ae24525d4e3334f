//! Facts and queries that only some rules need. Each rule declares the facts and queries that it
//! needs. The plan holds the union over the enabled rules, and the audit computes only this
//! union. [`crate::format::Reading`] states how much of a file is read for these facts.

/// A set of optional facts and queries.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Wants(u16);

impl Wants {
    /// The empty set: no optional fact.
    pub const NONE: Self = Self(0);
    /// The dynamic symbol tables of all audited objects, with their definitions.
    pub const TABLES: Self = Self(1);

    /// For each name that two libraries of a search scope define differently: the definition that
    /// references get, and the other definitions.
    pub const DUPLICATE_DEFINITIONS: Self = Self(2);
    /// For each object, the libraries to which its references are bound.
    pub const BOUND_LIBRARIES: Self = Self(4);

    /// Files in the prefixes that have the name of a missing library.
    pub const NAMES_IN_PREFIX: Self = Self(8);

    /// The dynamic loader in the directory of each libc.so.6.
    pub const OWN_LOADERS: Self = Self(16);

    /// The directories that DT_RPATH and DT_RUNPATH of audited objects name.
    pub const SEARCH_ENTRIES: Self = Self(32);

    /// Device code of objects that need HIP's runtime, and of bundles and code objects.
    pub const DEVICE_CODE: Self = Self(64);

    /// The results of the checks of pkg-config package files.
    pub const PKG_CONFIG: Self = Self(128);

    /// The results of the evaluation of CMake configuration files.
    pub const CMAKE: Self = Self(256);

    /// The results of the checks of scripts, systemd units, compiler wrappers and similar text
    /// files.
    pub const LOOSE_TEXT: Self = Self(512);

    /// Notes in objects about the libraries that they open with dlopen.
    pub const DLOPEN_NOTES: Self = Self(1024);

    /// Names of all files in the directories that the walk lists.
    pub const NAMES_MET: Self = Self(2048);

    /// The headers that installed headers include and that do not exist.
    pub const HEADERS: Self = Self(4096);

    /// Libraries of the system and file lists of its packages, as evidence about undefined symbols
    /// and missing libraries.
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
