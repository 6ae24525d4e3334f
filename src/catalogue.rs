//! Groups of rules, levels, and the rule names that policies and command lines may use. Built rules
//! declare themselves (`rules::catalogue`). This module has the groups, the planned rules and the
//! renamed ids. Ids are permanent. A policy may name a planned rule; [`Known::is_built`] is false
//! for it.

/// The level of a finding.
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
    /// The level of its rules, unless a rule, a policy or an option sets another.
    pub level: Level,
    /// True if its findings make the run incomplete instead of failing it.
    pub is_input: bool,
}

impl Group {
    const fn new(name: &'static str, level: Level) -> Self {
        Self { name, level, is_input: false }
    }
}

/// Libraries that are missing or that the loader refuses.
pub const LIBRARY: Group = Group::new("library", Level::Error);
/// Symbols that do not bind, or bind to the wrong definition.
pub const SYMBOL: Group = Group::new("symbol", Level::Error);
/// Several runtimes in one process.
pub const RUNTIME: Group = Group::new("runtime", Level::Error);
/// Unnecessary or indirect needs, unusual sonames, and links to libraries that are missing or
/// dangle.
pub const LINK_HYGIENE: Group = Group::new("link-hygiene", Level::Warning);
/// Damaged or incomplete files.
pub const INTEGRITY: Group = Group::new("integrity", Level::Warning);
/// Protections that a linker can add and a file lacks.
pub const HARDENING: Group = Group::new("hardening", Level::Allow);
/// Changes in a new version of a package that break its users.
pub const COMPATIBILITY: Group = Group::new("compatibility", Level::Error);
/// Entries of search paths.
pub const SEARCH_PATH: Group = Group::new("search-path", Level::Warning);
/// Libraries outside a store, a prefix or a platform's list.
pub const CLOSURE: Group = Group::new("closure", Level::Warning);
/// Static archives.
pub const ARCHIVE: Group = Group::new("archive", Level::Error);
/// Files that a package must have.
pub const PACKAGE: Group = Group::new("package", Level::Error);
/// Text files of a package that name other files.
pub const PACKAGE_TEXT: Group = Group::new("package-text", Level::Allow);
/// Device code.
pub const GPU: Group = Group::new("gpu", Level::Error);
/// Amount of mapped memory.
pub const SIZE: Group = Group::new("size", Level::Warning);
/// Requirements and prohibitions of a policy.
pub const POLICY: Group = Group::new("policy", Level::Error);
/// Waivers that match no finding or have expired.
pub const WAIVERS: Group = Group::new("waivers", Level::Warning);
/// Input that could not be read or decided.
pub const INPUT: Group = Group { name: "input", level: Level::Error, is_input: true };

/// All groups.
pub const GROUPS: &[Group] = &[
    LIBRARY,
    SYMBOL,
    RUNTIME,
    LINK_HYGIENE,
    INTEGRITY,
    HARDENING,
    COMPATIBILITY,
    SEARCH_PATH,
    CLOSURE,
    ARCHIVE,
    PACKAGE,
    PACKAGE_TEXT,
    GPU,
    SIZE,
    POLICY,
    WAIVERS,
    INPUT,
];

/// The id of a built rule. Ids in policies and in reports read back are text: they may name rules
/// that this version lacks.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuleId(&'static str);

impl RuleId {
    /// The id that a rule declares.
    pub const fn new(id: &'static str) -> Self {
        Self(id)
    }

    /// The id as text.
    pub const fn as_str(self) -> &'static str {
        self.0
    }
}

impl std::fmt::Display for RuleId {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.0)
    }
}

impl PartialEq<str> for RuleId {
    fn eq(&self, other: &str) -> bool {
        self.0 == other
    }
}

/// A rule, built or planned.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// Its id.
    pub id: &'static str,
    /// Its group.
    pub group: Group,
    /// Its default level.
    pub level: Level,
    /// The keys besides the path that its findings can have, as waivers name them; `None` if the
    /// rule declares none. A waiver that selects by another key can never match.
    pub keys: Option<&'static [&'static str]>,
    /// True if this version implements the rule.
    pub is_built: bool,
}

const fn planned_at(id: &'static str, group: Group, level: Level) -> Known {
    Known { id, group, level, keys: None, is_built: false }
}

/// Planned rules. Once a rule is built, its own declaration replaces the line here.
const PLANNED: &[Known] = &[planned_at("copy-size-mismatch", SYMBOL, Level::Warning)];

/// Old ids and their new ids.
const RENAMED: &[(&str, &str)] = &[("hijacked-symbol", "interposed-symbol")];

/// The new id, if `name` is the old id of a rule.
pub fn renamed(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// The group with this name.
pub fn group(name: &str) -> Option<&'static Group> {
    GROUPS.iter().find(|group| group.name == name)
}

/// All rules, built and planned, for the policy reader.
#[derive(Debug)]
pub struct Catalogue {
    rules: Vec<Known>,
}

impl Catalogue {
    /// The `built` rules and the planned ones.
    pub fn new(built: impl IntoIterator<Item = Known>) -> Self {
        let mut rules: Vec<Known> = built.into_iter().collect();
        for planned in PLANNED {
            if !rules.iter().any(|built| built.id == planned.id) {
                rules.push(*planned);
            }
        }
        let place = |known: &Known| GROUPS.iter().position(|group| *group == known.group);
        rules.sort_by_key(place);
        Self { rules }
    }

    /// All rules, grouped.
    pub fn rules(&self) -> &[Known] {
        &self.rules
    }

    /// The rule with this id or old id.
    pub fn known(&self, id: &str) -> Option<&Known> {
        let id = renamed(id).unwrap_or(id);
        self.rules.iter().find(|known| known.id == id)
    }

    /// True if a rule or a group has this name.
    pub fn names(&self, name: &str) -> bool {
        self.known(name).is_some() || group(name).is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Catalogue, GROUPS, Known, Level, PLANNED, RENAMED, SYMBOL, group};

    #[test]
    fn no_name_means_two_things() {
        let ids = PLANNED.iter().map(|known| known.id);
        let old = RENAMED.iter().map(|(old, _)| *old);
        let mut names: Vec<&str> =
            ids.chain(GROUPS.iter().map(|group| group.name)).chain(old).collect();
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all);
        assert!(PLANNED.iter().all(|known| group(known.group.name).is_some()));
    }

    #[test]
    fn an_old_id_names_the_rule() {
        let (id, keys) = ("interposed-symbol", None);
        let built = Known { id, group: SYMBOL, level: Level::Error, keys, is_built: true };
        let catalogue = Catalogue::new([built]);
        let found = catalogue.known("hijacked-symbol").map(|known| known.id);
        assert_eq!(found, Some("interposed-symbol"));
        assert!(!catalogue.names("no-such-rule"));
    }
}
