//! Levels of rules by rule and by group: what policies and the command line set, and which setting
//! applies. Levels act in [`crate::judge`].

use super::{LevelSetting, Policy};
use crate::catalogue::{Group, Level};

/// Levels of rules for one run: what policies and, behind them, the command line set.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    settings: Vec<LevelSetting>,
}

impl Levels {
    /// The levels that `policy` sets. One for a rule wins over one for its group wherever the two
    /// stand, so that the order of policies decides only between settings of one name: there the
    /// last wins.
    pub fn new(policy: &Policy) -> Self {
        Self { settings: policy.levels.clone() }
    }

    /// The level of the rule of this name, built or not.
    pub fn of(&self, id: &str, group: &Group) -> Level {
        let set = self.setting(id).or_else(|| self.setting(group.name));
        set.map_or(group.level, |set| set.level)
    }

    /// What was set last for this rule or group itself.
    pub fn setting(&self, name: &str) -> Option<&LevelSetting> {
        self.settings.iter().rev().find(|set| set.name == name)
    }
}
