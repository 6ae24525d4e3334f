//! Platforms that a policy demands by name, such as `manylinux_2_28`: what each provides to files of
//! one architecture, and what it forbids them. `wheel` reads them; rules and the resolver ask the
//! policy for what holds for one architecture.

use super::{Origin, Policy, SymbolAt, VersionLimit};
use std::collections::BTreeMap;

/// An architecture by the name that platform tags have.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Arch(&'static str);

/// All architectures of platforms.
const ARCHES: [&str; 9] =
    ["aarch64", "armv7l", "i686", "loongarch64", "ppc64", "ppc64le", "riscv64", "s390x", "x86_64"];

impl Arch {
    /// The architecture with this name.
    pub fn named(name: &str) -> Option<Self> {
        ARCHES.into_iter().find(|arch| *arch == name).map(Self)
    }

    /// The architecture of objects for the machine with this name in reports.
    pub fn of_machine(machine: &str) -> Option<Self> {
        Self::named(match machine {
            "i386" => "i686",
            "armhf" => "armv7l",
            other => other,
        })
    }

    /// Its name.
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
    /// manylinux
    Glibc,
    /// musllinux
    Musl,
}

/// A platform: a list of the only libraries that are allowed outside of the prefix, the versions that
/// they have, and symbols that they do not export.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Platform {
    /// Its name, without architecture.
    pub name: String,
    /// The C library of its systems.
    pub libc: Libc,
    /// Higher for older systems: files built for them run on more systems.
    pub priority: i64,
    /// By architecture. If the policy names one, it is the only one here.
    pub rules: BTreeMap<Arch, Rules>,
    /// How policies and findings name it.
    pub origin: Origin,
}

/// What a platform says about the files of one architecture.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Rules {
    /// Sonames that it provides.
    pub libraries: Vec<String>,
    /// The versions that those libraries have.
    pub limits: Vec<VersionLimit>,
    /// Symbols that they do not export.
    pub forbidden: Vec<SymbolAt>,
}

impl Platform {
    /// The name by which a policy asks for it.
    pub fn asked_name(&self) -> &str {
        let source = &*self.origin.source;
        source.strip_prefix(super::BUILT_IN_ORIGIN).unwrap_or(source)
    }

    /// True if files of `arch` find a library of this name on it. The loader is always there.
    pub fn provides(&self, name: &[u8], arch: Arch) -> bool {
        let listed = |rules: &Rules| rules.libraries.iter().any(|one| one.as_bytes() == name);
        self.rules.get(&arch).is_some_and(listed) || self.libc.has_loader(name)
    }
}

impl Rules {
    /// True if the platform's libraries do not have a version that is needed of `library`. It says
    /// nothing about versions of other families.
    pub fn lacks_version(&self, library: &[u8], version: &[u8]) -> bool {
        !Libc::Glibc.has_loader(library)
            && self.limits.iter().any(|limit| limit.lists(version) == Some(false))
    }
}

impl VersionLimit {
    /// True if the limit lists a version of its family; nothing if it has no list or the version is
    /// of another family.
    pub fn lists(&self, version: &[u8]) -> Option<bool> {
        let number = version.strip_prefix(self.family.as_bytes())?.strip_prefix(b"_")?;
        let listed = self.listed.as_ref()?;
        Some(std::str::from_utf8(number).is_ok_and(|number| listed.contains(number)))
    }
}

impl Libc {
    /// True for the names of its loaders (auditwheel, `lddtree_external_references`).
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
    /// True if the libraries that policies list are the only ones outside of the prefix.
    pub fn is_closed(&self) -> bool {
        self.provided_only.as_ref().is_some_and(|(only, _)| *only) || !self.platforms.is_empty()
    }

    /// True if the target system provides a library of this name to files of `arch`: a policy lists
    /// it, or every platform has it. A platform without that architecture does not count:
    /// `undecided` reports it.
    pub fn provides(&self, name: &[u8], arch: Option<Arch>) -> bool {
        if self.provided.iter().any(|provided| provided.soname.as_bytes() == name) {
            return true;
        }
        let says = |platform: &Platform| {
            let arch = arch.filter(|arch| platform.rules.contains_key(arch));
            arch.is_none_or(|arch| platform.provides(name, arch))
        };
        match &*self.platforms {
            // Whoever lists a libc means its loader too.
            [] => self.is_closed() && [Libc::Glibc, Libc::Musl].iter().any(|l| l.has_loader(name)),
            platforms => platforms.iter().all(says),
        }
    }

    /// What the platforms say about files of `arch`.
    fn rules_for(&self, arch: Option<Arch>) -> impl Iterator<Item = &Rules> {
        self.platforms.iter().filter_map(move |platform| platform.rules.get(&arch?))
    }

    /// The limits of symbol versions for files of `arch`.
    pub fn limits_for(&self, arch: Option<Arch>) -> impl Iterator<Item = &VersionLimit> {
        self.version_limits.iter().chain(self.rules_for(arch).flat_map(|rules| &rules.limits))
    }

    /// The symbols that files of `arch` must not refer to on the platforms.
    pub fn forbidden_on_platforms(&self, arch: Option<Arch>) -> impl Iterator<Item = &SymbolAt> {
        self.rules_for(arch).flat_map(|rules| &rules.forbidden)
    }

    /// The platforms that say nothing about files of `arch`.
    pub fn silent_platforms(&self, arch: Option<Arch>) -> impl Iterator<Item = &Platform> {
        let knows =
            move |platform: &&Platform| arch.is_some_and(|arch| platform.rules.contains_key(&arch));
        self.platforms.iter().filter(move |platform| !knows(platform))
    }
}
