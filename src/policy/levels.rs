//! The level of each rule, as policies and the command line set it for the rule or its group.
//! Levels select the rules that run, and [`crate::triage`] applies them to findings.

use super::{LevelSetting, Policy};
use crate::catalogue::{KnownRule, Level};

impl Policy {
    /// The level of a rule. A setting for the rule wins over one for its group, whichever policy
    /// comes first. The last of several settings with the same name wins.
    pub fn level_of(&self, rule: &KnownRule) -> Level {
        // If the policy is a whitelist of libraries, an unlisted library is an error.
        let is_whitelist = rule.id == "outside-closure" && self.is_closed();
        let default = if is_whitelist { Level::Error } else { rule.level };
        self.set_level_of(rule).unwrap_or(default)
    }

    /// The level that a policy or an option sets for a rule or its group; `None` without a setting.
    pub fn set_level_of(&self, rule: &KnownRule) -> Option<Level> {
        let set = self.setting(rule.id).or_else(|| self.setting(rule.group.name));
        set.map(|set| set.level)
    }

    /// The last setting for exactly this rule or group.
    fn setting(&self, name: &str) -> Option<&LevelSetting> {
        self.levels.iter().rev().find(|set| set.name == name)
    }
}
