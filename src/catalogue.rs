//! Every rule id and group there is, built or not, with the levels they can have. Ids are for good:
//! policies and command lines may name a rule before it is built, and learn from [`Known::is_built`]
//! that nothing checks it yet. No rule is implemented here; policies, levels, rules and the command
//! line ask.

/// How much a finding matters.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Not reported.
    Allow,
    /// Reported.
    Warning,
    /// Reported, and by default the run fails.
    Error,
}

impl Level {
    /// The word in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::Allow => "allow",
            Self::Warning => "warning",
            Self::Error => "error",
        }
    }
}

/// A group of rules, which carries their default level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Group {
    /// The name on the command line.
    pub name: &'static str,
    /// The level of its rules unless something else is said.
    pub level: Level,
    /// Its findings make the run incomplete instead of failing it.
    pub is_input: bool,
}

/// Libraries that are missing or that the loader refuses.
pub const LIBRARY: Group = Group { name: "library", level: Level::Error, is_input: false };
/// Symbols that do not bind, or bind to the wrong definition.
pub const SYMBOL: Group = Group { name: "symbol", level: Level::Error, is_input: false };
/// Two runtimes in one process.
pub const RUNTIME: Group = Group { name: "runtime", level: Level::Error, is_input: false };
/// What is untidy between a file and what it links with.
pub const LINK_HYGIENE: Group =
    Group { name: "link-hygiene", level: Level::Warning, is_input: false };
/// Entries of search paths.
pub const SEARCH_PATH: Group =
    Group { name: "search-path", level: Level::Warning, is_input: false };
/// Static archives.
pub const ARCHIVE: Group = Group { name: "archive", level: Level::Error, is_input: false };
/// Files of a package that name other files.
pub const PACKAGE: Group = Group { name: "package", level: Level::Error, is_input: false };
/// Device code.
pub const GPU: Group = Group { name: "gpu", level: Level::Error, is_input: false };
/// How much is mapped.
pub const SIZE: Group = Group { name: "size", level: Level::Warning, is_input: false };
/// What a policy requires or forbids.
pub const POLICY: Group = Group { name: "policy", level: Level::Error, is_input: false };
/// Waivers that waive nothing.
pub const WAIVERS: Group = Group { name: "waivers", level: Level::Warning, is_input: false };
/// What could not be read or decided.
pub const INPUT: Group = Group { name: "input", level: Level::Error, is_input: true };

/// All groups.
pub const GROUPS: &[Group] = &[
    LIBRARY,
    SYMBOL,
    RUNTIME,
    LINK_HYGIENE,
    SEARCH_PATH,
    ARCHIVE,
    PACKAGE,
    GPU,
    SIZE,
    POLICY,
    WAIVERS,
    INPUT,
];

/// A rule that is known by name.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its id.
    pub id: &'static str,
    /// Its group.
    pub group: Group,
    /// The keys besides the path that its findings can have, by the names that waivers use; nothing
    /// if that is not settled. A waiver that selects by another key can never match.
    pub keys: Option<&'static [&'static str]>,
    /// Something checks it.
    pub is_built: bool,
}

/// A rule whose findings have exactly these keys.
const fn settled(id: &'static str, group: Group, keys: &'static [&'static str]) -> Known {
    Known { id, group, keys: Some(keys), is_built: true }
}

/// A rule of which this is not settled.
const fn open(id: &'static str, group: Group) -> Known {
    Known { id, group, keys: None, is_built: true }
}

/// A rule that is not built.
const fn planned(id: &'static str, group: Group) -> Known {
    Known { id, group, keys: None, is_built: false }
}

/// All rules, group by group.
pub const CATALOGUE: &[Known] = &[
    settled("missing-library", LIBRARY, &["library", "detail"]),
    settled("wrong-architecture", LIBRARY, &["library", "detail"]),
    settled("bad-library-file", LIBRARY, &["library", "detail"]),
    settled("missing-version", LIBRARY, &["version", "library"]),
    settled("undefined-symbol", SYMBOL, &["symbol", "version", "library"]),
    planned("hijacked-symbol", SYMBOL),
    planned("library-twice", SYMBOL),
    planned("mixed-runtime", RUNTIME),
    planned("unused-library", LINK_HYGIENE),
    planned("indirect-library", LINK_HYGIENE),
    planned("soname-mismatch", LINK_HYGIENE),
    planned("missing-dev-link", LINK_HYGIENE),
    planned("dangling-link", LINK_HYGIENE),
    planned("missing-dlopen", LINK_HYGIENE),
    planned("dead-search-entry", SEARCH_PATH),
    planned("unsafe-search-entry", SEARCH_PATH),
    planned("outside-closure", SEARCH_PATH),
    settled("uncovered-symbol", ARCHIVE, &["symbol"]),
    open("deps-list-drift", ARCHIVE),
    settled("thin-member-missing", ARCHIVE, &["member"]),
    settled("stale-archive-index", ARCHIVE, &["member", "detail"]),
    planned("cmake-missing-file", PACKAGE),
    planned("cmake-unbuilt-component", PACKAGE),
    planned("pkgconfig-missing-file", PACKAGE),
    planned("missing-header", PACKAGE),
    planned("text-missing-path", PACKAGE),
    planned("wrapper-injects-library", PACKAGE),
    settled("required-file", PACKAGE, &[]),
    planned("gpu-target-missing", GPU),
    planned("gpu-target-incoherent", GPU),
    planned("gpu-data-missing", GPU),
    planned("gpu-bundle-unloadable", GPU),
    planned("gpu-object-mismatch", GPU),
    planned("image-span", SIZE),
    settled("forbidden-library", POLICY, &["library"]),
    settled("forbidden-symbol", POLICY, &["symbol"]),
    settled("required-symbol", POLICY, &["symbol"]),
    settled("symbol-version-too-new", POLICY, &["version", "library"]),
    settled("search-path-policy", POLICY, &["detail"]),
    settled("stale-waiver", WAIVERS, &["detail"]),
    settled("expired-waiver", WAIVERS, &["detail"]),
    settled("unreadable", INPUT, &[]),
    settled("malformed", INPUT, &["detail"]),
    settled("undecided", INPUT, &["symbol", "version", "library", "detail"]),
    settled("readers-disagree", INPUT, &["detail"]),
];

/// The rule of this name.
pub fn known(id: &str) -> Option<&'static Known> {
    CATALOGUE.iter().find(|known| known.id == id)
}

/// The group of this name.
pub fn group(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

#[cfg(test)]
mod tests {
    use super::{CATALOGUE, GROUPS, group};

    #[test]
    fn no_name_means_two_things() {
        let ids = CATALOGUE.iter().map(|known| known.id);
        let mut names: Vec<&str> = ids.chain(GROUPS.iter().map(|group| group.name)).collect();
        assert_eq!(names.len(), CATALOGUE.len() + GROUPS.len());
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), CATALOGUE.len() + GROUPS.len());
        assert!(CATALOGUE.iter().all(|known| group(known.group.name).is_some()));
    }
}
