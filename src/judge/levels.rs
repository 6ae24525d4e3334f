//! Levels of rules for one run: which setting counts. `judge` asks; nothing else knows levels.

use crate::rules::{self, Level, Rule};

/// Levels of rules for one run.
#[derive(Clone, Debug, Default)]
pub struct Levels {
    /// Settings in the order in which they were given, by rule or group; the last that applies
    /// wins, and one for a rule wins over one for its group.
    pub settings: Vec<(String, Level)>,
}

impl Levels {
    /// The level of `rule`.
    pub fn of(&self, rule: &Rule) -> Level {
        let last = |name: &str| {
            self.settings.iter().rev().find(|(set, _)| set == name).map(|(_, level)| *level)
        };
        last(rule.id).or_else(|| last(rule.group.name)).unwrap_or(rule.group.level)
    }

    /// True if `name` is a rule or a group.
    pub fn knows(name: &str) -> bool {
        rules::find(name).is_some() || rules::GROUPS.iter().any(|group| group.name == name)
    }
}
