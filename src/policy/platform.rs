//! Platforms that a policy demands by name, such as `manylinux_2_28`. For each architecture, a
//! platform lists the libraries that it provides, the symbol versions of these libraries, and
//! symbols that files must not use. `wheel` reads platforms; rules and the resolver ask about one
//! architecture.

use super::{Origin, Policy, SymbolAt, VersionLimit};
use std::collections::BTreeMap;

/// An architecture, by its name in platform tags.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(&'static str);

/// All architectures of platforms.
const ARCHES: [&str; 9] =
    ["aarch64", "armv7l", "i686", "loongarch64", "ppc64", "ppc64le", "riscv64", "s390x", "x86_64"];

impl Arch {
    /// The architecture with this name in platform tags; `None` if there is none.
    pub fn named(name: &str) -> Option<Self> {
        ARCHES.into_iter().find(|arch| *arch == name).map(Self)
    }

    /// The architecture of objects whose machine has this name in reports (`i386` is `i686`).
    /// `None` if platform tags have no name for it.
    pub fn of_machine(machine: &str) -> Option<Self> {
        Self::named(match machine {
            "i386" => "i686",
            "armhf" => "armv7l",
            other => other,
        })
    }

    /// The name in platform tags, such as `x86_64`.
    pub fn name(self) -> &'static str {
        self.0
    }

    /// All architectures.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        ARCHES.into_iter().map(Self)
    }
}

/// The C library of a platform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Libc {
    /// glibc, the C library of manylinux platforms.
    Glibc,
    /// musl, the C library of musllinux platforms.
    Musl,
}

/// A platform: the libraries that files may need from outside of the prefix, with their symbol
/// versions, and symbols that these libraries do not export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// The name, without architecture, such as `manylinux_2_28`.
    pub name: String,
    /// The C library of the systems of the platform.
    pub libc: Libc,
    /// The priority in auditwheel: higher for older systems, because files built for them run on
    /// more systems.
    pub priority: i64,
    /// Rules by architecture. If the policy names one architecture, only its rules are present.
    pub rules: BTreeMap<Arch, PlatformRules>,
    /// The origin of the platform. Its source is the name by which the policy demands the platform.
    pub origin: Origin,
}

/// The rules of a platform for the files of one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PlatformRules {
    /// Sonames that the platform provides.
    pub libraries: Vec<String>,
    /// For each family, the symbol versions that the platform's libraries define.
    pub limits: Vec<VersionLimit>,
    /// Symbols that the platform's libraries do not export.
    pub forbidden: Vec<SymbolAt>,
}

impl Platform {
    /// The name by which the policy demands the platform: an alias, or a name with an architecture.
    pub fn asked_name(&self) -> &str {
        let source = &*self.origin.source;
        source.strip_prefix(super::BUILT_IN_ORIGIN).unwrap_or(source)
    }

    /// True if files of `arch` find a library of this name on the platform. Every platform provides
    /// the loader of its C library.
    pub fn provides(&self, name: &[u8], arch: Arch) -> bool {
        let listed =
            |rules: &PlatformRules| rules.libraries.iter().any(|one| one.as_bytes() == name);
        self.rules.get(&arch).is_some_and(listed) || self.libc.has_loader(name)
    }
}

impl PlatformRules {
    /// True if the platform lacks `version` of `library`. False if the platform has no list for the
    /// family of `version`, or if `library` is the loader of glibc.
    pub fn lacks_version(&self, library: &[u8], version: &[u8]) -> bool {
        !Libc::Glibc.has_loader(library)
            && self.limits.iter().any(|limit| limit.lists(version) == Some(false))
    }
}

impl VersionLimit {
    /// True if the limit lists a version of its family. `None` if the limit has no list or the
    /// version is of another family.
    pub fn lists(&self, version: &[u8]) -> Option<bool> {
        let number = version.strip_prefix(self.family.as_bytes())?.strip_prefix(b"_")?;
        let listed = self.listed.as_ref()?;
        Some(std::str::from_utf8(number).is_ok_and(|number| listed.contains(number)))
    }
}

impl Libc {
    /// True for the names of this C library's loaders (auditwheel, `lddtree_external_references`).
    pub fn has_loader(self, name: &[u8]) -> bool {
        match self {
            Self::Glibc => {
                let mark = b"ld-linux";
                name.windows(mark.len()).any(|part| part == mark)
                    || matches!(name, b"ld64.so.1" | b"ld64.so.2")
            }
            Self::Musl => name.starts_with(b"ld-musl-"),
        }
    }
}

impl Policy {
    /// True if the policy is a whitelist: files may need only listed libraries from outside of the
    /// prefix.
    pub fn is_closed(&self) -> bool {
        self.provided_only.as_ref().is_some_and(|(only, _)| *only) || !self.platforms.is_empty()
    }

    /// True if the target system provides a library of this name to files of `arch`. This is so
    /// if one of these conditions holds:
    /// - the policy lists the library
    /// - there are platforms, and all platforms with rules for `arch` have the library
    /// - the policy is a whitelist without platforms, and the library is a loader
    ///
    /// The rule `undecided` reports platforms without rules for `arch`.
    pub fn provides(&self, name: &[u8], arch: Option<Arch>) -> bool {
        if self.provided.iter().any(|provided| provided.soname.as_bytes() == name) {
            return true;
        }
        let says = |platform: &Platform| {
            let arch = arch.filter(|arch| platform.rules.contains_key(arch));
            arch.is_none_or(|arch| platform.provides(name, arch))
        };
        match &*self.platforms {
            // A policy that lists a libc also means its loader.
            [] => self.is_closed() && [Libc::Glibc, Libc::Musl].iter().any(|l| l.has_loader(name)),
            platforms => platforms.iter().all(says),
        }
    }

    /// The rules of all platforms for files of `arch`; none if `arch` is `None`.
    fn rules_for(&self, arch: Option<Arch>) -> impl Iterator<Item = &PlatformRules> {
        self.platforms.iter().filter_map(move |platform| platform.rules.get(&arch?))
    }

    /// The limits of symbol versions for files of `arch`: the policy's own limits, then those of
    /// its platforms.
    pub fn limits_for(&self, arch: Option<Arch>) -> impl Iterator<Item = &VersionLimit> {
        self.version_limits.iter().chain(self.rules_for(arch).flat_map(|rules| &rules.limits))
    }

    /// The symbols that files of `arch` must not refer to on the platforms.
    pub fn forbidden_on_platforms(&self, arch: Option<Arch>) -> impl Iterator<Item = &SymbolAt> {
        self.rules_for(arch).flat_map(|rules| &rules.forbidden)
    }

    /// The platforms without rules for files of `arch`; all platforms if `arch` is `None`.
    pub fn silent_platforms(&self, arch: Option<Arch>) -> impl Iterator<Item = &Platform> {
        let knows =
            move |platform: &&Platform| arch.is_some_and(|arch| platform.rules.contains_key(&arch));
        self.platforms.iter().filter(move |platform| !knows(platform))
    }
}
