//! Groups and levels of rules, and the names of rules that policies and options may use. Each rule
//! declares its own id; `rules::catalogue` collects the rules. A renamed rule keeps its old id as
//! an alias.

/// The level of a finding: whether it is reported, and whether it fails the run.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Level {
    /// Not reported.
    Allow,
    /// Reported; by default, the run does not fail.
    Warning,
    /// Reported; by default, the run fails.
    Error,
}

impl Level {
    /// The name of the level in reports, policies and options.
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
    /// The name by which policies and options select the rules of the group.
    pub name: &'static str,
    /// The default level of the group's rules; a rule, a policy or an option may set another level.
    pub level: Level,
    /// True if findings of the group make the run incomplete instead of failing it.
    pub is_input: bool,
}

impl RuleGroup {
    const fn new(name: &'static str, level: Level) -> Self {
        Self { name, level, is_input: false }
    }
}

/// Rules about libraries that are missing or that the loader refuses.
pub const LIBRARY: RuleGroup = RuleGroup::new("library", Level::Error);
/// Rules about symbols that are undefined, or bound to the wrong definition.
pub const SYMBOL: RuleGroup = RuleGroup::new("symbol", Level::Error);
/// Rules about several language or GPU runtimes in one process.
pub const RUNTIME: RuleGroup = RuleGroup::new("runtime", Level::Error);
/// Rules about unused or indirect needs, unusual sonames, and missing or dangling links to
/// libraries. Also rules about missing libraries that an object must open with dlopen.
pub const LINK_HYGIENE: RuleGroup = RuleGroup::new("link-hygiene", Level::Warning);
/// Rules about truncated files.
pub const INTEGRITY: RuleGroup = RuleGroup::new("integrity", Level::Warning);
/// Rules about protections that a file lacks and that a linker can add.
pub const HARDENING: RuleGroup = RuleGroup::new("hardening", Level::Allow);
/// Rules about a new version of a package: changes that break the users of the package.
pub const COMPATIBILITY: RuleGroup = RuleGroup::new("compatibility", Level::Error);
/// Rules about entries of DT_RPATH and DT_RUNPATH.
pub const SEARCH_PATH: RuleGroup = RuleGroup::new("search-path", Level::Warning);
/// Rules about libraries outside a store, a prefix or a platform's list.
pub const CLOSURE: RuleGroup = RuleGroup::new("closure", Level::Warning);
/// Rules about static archives.
pub const ARCHIVE: RuleGroup = RuleGroup::new("archive", Level::Error);
/// Rules about files that a package must have.
pub const PACKAGE: RuleGroup = RuleGroup::new("package", Level::Error);
/// Rules about text files of a package that name other files.
pub const PACKAGE_TEXT: RuleGroup = RuleGroup::new("package-text", Level::Allow);
/// Rules about GPU device code.
pub const GPU: RuleGroup = RuleGroup::new("gpu", Level::Error);
/// Rules about the size of an object's memory image.
pub const SIZE: RuleGroup = RuleGroup::new("size", Level::Warning);
/// Rules that check requirements and prohibitions of a policy.
pub const POLICY: RuleGroup = RuleGroup::new("policy", Level::Error);
/// Rules about waivers that match no finding or have expired.
pub const WAIVERS: RuleGroup = RuleGroup::new("waivers", Level::Warning);
/// Rules about input that could not be read, and questions that could not be decided.
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

/// The id of a rule of this version of linkaudit. Policies and stored reports hold ids as text,
/// because they may name rules of other versions.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct RuleId(&'static str);

impl RuleId {
    /// Makes an id from the text that a rule declares.
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
    /// The level of the rule's findings, unless a policy or option sets another.
    pub level: Level,
    /// The keys that findings of the rule can have besides the path, as named in waivers. A waiver
    /// that selects by another key can never match. `None` if the rule does not declare its keys: a
    /// waiver may then select by any key.
    pub keys: Option<&'static [&'static str]>,
}

/// Old ids of renamed rules, each with the new id.
const RENAMED: &[(&str, &str)] = &[("hijacked-symbol", "interposed-symbol")];

/// The new id, if `name` is the old id of a rule.
pub fn renamed(name: &str) -> Option<&'static str> {
    RENAMED.iter().find(|(old, _)| *old == name).map(|(_, new)| *new)
}

/// The group with this name; `None` if there is none.
pub fn group(name: &str) -> Option<&'static RuleGroup> {
    GROUPS.iter().find(|group| group.name == name)
}

/// All rules, sorted by group. The policy reader looks up rules here.
#[derive(Debug)]
pub struct Catalogue {
    rules: Vec<KnownRule>,
}

impl Catalogue {
    /// A catalogue of `rules`.
    pub fn new(rules: impl IntoIterator<Item = KnownRule>) -> Self {
        let mut rules: Vec<KnownRule> = rules.into_iter().collect();
        let place = |known: &KnownRule| GROUPS.iter().position(|group| *group == known.group);
        rules.sort_by_key(place);
        Self { rules }
    }

    /// All rules, in the order of [`GROUPS`].
    pub fn rules(&self) -> &[KnownRule] {
        &self.rules
    }

    /// The rule with this id or old id; `None` if there is none.
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
