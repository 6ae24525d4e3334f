//! Which level a rule has: what policies and the command line set for it and for its group. Levels act
//! where rules are chosen to run and in [`crate::judge`].

use super::{LevelSetting, Policy};
use crate::catalogue::{Known, Level};

impl Policy {
    /// The level of a rule, built or not. A setting for a rule wins over one for its group wherever
    /// the two stand, so that the order of policies decides only between settings of one name: there
    /// the last wins.
    pub fn level_of(&self, rule: &Known) -> Level {
        let set = self.setting(rule.id).or_else(|| self.setting(rule.group.name));
        // Under a whitelist, a library outside of it is what the policy is about.
        let is_whitelist = rule.id == "outside-closure" && self.is_closed();
        let default = if is_whitelist { Level::Error } else { rule.level };
        set.map_or(default, |set| set.level)
    }

    /// What was set last for this rule or group itself.
    pub(super) fn setting(&self, name: &str) -> Option<&LevelSetting> {
        self.levels.iter().rev().find(|set| set.name == name)
    }
}
