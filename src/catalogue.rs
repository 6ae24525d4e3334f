//! Groups of rules, levels, and the rule names that policies and command lines may use. Rules
//! declare themselves (`rules::catalogue`). This module has the groups and the renamed ids. Ids are
//! permanent.

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

/// A group of rules, with their default level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct RuleGroup {
    /// The name on the command line.
    pub name: &'static str,
    /// The level of the group's rules, unless a rule, a policy or an option sets another level.
    pub level: Level,
    /// True if findings of the group make the run incomplete instead of failing it.
    pub is_input: bool,
}

impl RuleGroup {
    const fn new(name: &'static str, level: Level) -> Self {
        Self { name, level, is_input: false }
    }
}

/// Libraries that are missing or that the loader refuses.
pub const LIBRARY: RuleGroup = RuleGroup::new("library", Level::Error);
/// Symbols that do not bind, or bind to the wrong definition.
pub const SYMBOL: RuleGroup = RuleGroup::new("symbol", Level::Error);
/// Several runtimes in one process.
pub const RUNTIME: RuleGroup = RuleGroup::new("runtime", Level::Error);
/// Unused or indirect needs, unusual sonames, missing or dangling links to libraries, and libraries
/// for dlopen that are not found.
pub const LINK_HYGIENE: RuleGroup = RuleGroup::new("link-hygiene", Level::Warning);
/// Damaged or incomplete files.
pub const INTEGRITY: RuleGroup = RuleGroup::new("integrity", Level::Warning);
/// Protections that a linker can add and a file lacks.
pub const HARDENING: RuleGroup = RuleGroup::new("hardening", Level::Allow);
/// Changes in a new version of a package that break its users.
pub const COMPATIBILITY: RuleGroup = RuleGroup::new("compatibility", Level::Error);
/// Entries of search paths.
pub const SEARCH_PATH: RuleGroup = RuleGroup::new("search-path", Level::Warning);
/// Libraries outside a store, a prefix or a platform's list.
pub const CLOSURE: RuleGroup = RuleGroup::new("closure", Level::Warning);
/// Static archives.
pub const ARCHIVE: RuleGroup = RuleGroup::new("archive", Level::Error);
/// Files that a package must have.
pub const PACKAGE: RuleGroup = RuleGroup::new("package", Level::Error);
/// Text files of a package that name other files.
pub const PACKAGE_TEXT: RuleGroup = RuleGroup::new("package-text", Level::Allow);
/// Device code.
pub const GPU: RuleGroup = RuleGroup::new("gpu", Level::Error);
/// Amount of mapped memory.
pub const SIZE: RuleGroup = RuleGroup::new("size", Level::Warning);
/// Requirements and prohibitions of a policy.
pub const POLICY: RuleGroup = RuleGroup::new("policy", Level::Error);
/// Waivers that match no finding or have expired.
pub const WAIVERS: RuleGroup = RuleGroup::new("waivers", Level::Warning);
/// Input that could not be read or decided.
pub const INPUT: RuleGroup = RuleGroup { name: "input", level: Level::Error, is_input: true };

/// All groups, in the order in which rules are listed.
pub const GROUPS: &[RuleGroup] = &[
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

/// The id of a rule. Policies and stored reports have ids as text, because they may name rules of
/// other versions.
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

/// The facts about a rule that policies and command lines need.
#[derive(Clone, Copy, Debug)]
pub struct KnownRule {
    /// The permanent id.
    pub id: &'static str,
    /// The group that the rule belongs to.
    pub group: RuleGroup,
    /// The level without a policy or option.
    pub level: Level,
    /// The keys that its findings can have besides the path, as named in waivers; `None` if the
    /// rule declares none. A waiver that selects by another key can never match.
    pub keys: Option<&'static [&'static str]>,
}

/// Old ids and their new ids.
const RENAMED: &[(&str, &str)] = &[("hijacked-symbol", "interposed-symbol")];

/// The new id, if `name` is the old id of a rule.
pub fn renamed(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// The group with this name.
pub fn group(name: &str) -> Option<&'static RuleGroup> {
    GROUPS.iter().find(|group| group.name == name)
}

/// All rules, for the policy reader.
#[derive(Debug)]
pub struct Catalogue {
    rules: Vec<KnownRule>,
}

impl Catalogue {
    /// The catalogue of these rules.
    pub fn new(rules: impl IntoIterator<Item = KnownRule>) -> Self {
        let mut rules: Vec<KnownRule> = rules.into_iter().collect();
        let place = |known: &KnownRule| GROUPS.iter().position(|group| *group == known.group);
        rules.sort_by_key(place);
        Self { rules }
    }

    /// All rules, grouped.
    pub fn rules(&self) -> &[KnownRule] {
        &self.rules
    }

    /// The rule with this id or old id.
    pub fn known(&self, id: &str) -> Option<&KnownRule> {
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
    use super::{Catalogue, KnownRule, Level, SYMBOL};

    #[test]
    fn an_old_id_names_the_rule() {
        let (id, keys) = ("interposed-symbol", None);
        let rule = KnownRule { id, group: SYMBOL, level: Level::Error, keys };
        let catalogue = Catalogue::new([rule]);
        let found = catalogue.known("hijacked-symbol").map(|known| known.id);
        assert_eq!(found, Some("interposed-symbol"));
        assert!(!catalogue.names("no-such-rule"));
    }
}
