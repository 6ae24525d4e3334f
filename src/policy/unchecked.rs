//! Demands of a policy that no implemented rule checks. The rule `undecided` reports each, because
//! a demand that is not checked is not satisfied. Demands whose rule is set to `allow` are ignored.

use super::{Origin, Policy, SymbolAt};
use crate::catalogue::{Catalogue, GROUPS, Level};
use std::collections::BTreeMap;

/// A demand that no implemented rule checks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Unchecked {
    /// The demand as written in a policy.
    pub what: String,
    /// The rules that would check it.
    pub rules: Vec<&'static str>,
    /// Its location in a policy.
    pub origin: Origin,
}

impl Policy {
    /// Demands that no implemented rule checks, each once: those of tables in the policy, then
    /// settings of levels, by name. Rules with the level `allow` are ignored.
    pub fn unchecked(&self, catalogue: &Catalogue) -> Vec<Unchecked> {
        let built = |id: &str| catalogue.known(id).is_some_and(|known| known.is_built);
        self.unchecked_by(catalogue, built)
    }

    /// Demands, settings of levels and waivers whose rule is planned and not implemented. Each kind
    /// of demand is listed once.
    pub fn inactive(&self, catalogue: &Catalogue) -> Vec<Unchecked> {
        let demands = self.demands().into_iter();
        let levels = self.levels.iter().filter_map(|set| {
            Some(("[levels]".to_owned(), catalogue.known(&set.name)?.id, &set.origin))
        });
        let waivers = self.waivers.iter().filter_map(|waiver| {
            Some(("[[waive]]".to_owned(), catalogue.known(&waiver.rule)?.id, &waiver.origin))
        });
        let inactive = |rule: &str| catalogue.known(rule).is_some_and(|k| !k.is_built);
        demands
            .chain(levels)
            .chain(waivers)
            .filter(|(_, rule, _)| inactive(rule))
            .map(|(what, rule, origin)| Unchecked {
                what,
                rules: vec![rule],
                origin: origin.clone(),
            })
            .collect()
    }

    /// Demands whose rule is enabled but not implemented, and settings that enable only planned
    /// rules. `built` is true for the id of an implemented rule.
    fn unchecked_by(&self, catalogue: &Catalogue, built: impl Fn(&str) -> bool) -> Vec<Unchecked> {
        let asked = |id: &str| {
            catalogue.known(id).is_some_and(|known| self.level_of(known) != Level::Allow)
        };
        let unchecked = |id: &str| !built(id) && asked(id);
        let mut out: Vec<Unchecked> = self
            .demands()
            .into_iter()
            .filter(|(_, rule, _)| unchecked(rule))
            .map(|(what, rule, origin)| Unchecked {
                what,
                rules: vec![rule],
                origin: origin.clone(),
            })
            .collect();
        out.extend(self.levels_of_nothing(catalogue, built));
        out
    }

    /// The kinds of demands in a policy, each once, with the rule that checks it and the location
    /// of its first entry.
    fn demands(&self) -> Vec<(String, &'static str, &Origin)> {
        let archives = || self.archives.iter();
        let covers = archives().find(|archive| !archive.covers.is_empty());
        let lists = archives().find(|archive| archive.deps_list.is_some());
        let entries = self.search_path.allow.as_ref().map(|(_, origin)| origin);
        let tag = self.search_path.require.as_ref().map(|(_, origin)| origin);
        let targets = self.gpu.targets.as_ref().filter(|(targets, _)| !targets.is_empty());
        let cases = [
            (
                "[require] files",
                "required-file",
                self.required_files.first().map(|file| &file.origin),
            ),
            (
                "[require] cmake-packages",
                "required-package",
                self.required_packages.first().map(|package| &package.origin),
            ),
            ("[require] symbols", "required-symbol", first(&self.required_symbols)),
            (
                "[forbid] libraries",
                "forbidden-library",
                self.forbidden_libraries.first().map(|library| &library.origin),
            ),
            ("[forbid] symbols", "forbidden-symbol", first(&self.forbidden_symbols)),
            (
                "[limits.symbol-versions]",
                "symbol-version-too-new",
                self.version_limits.first().map(|limit| &limit.origin),
            ),
            ("[search-path]", "search-path-policy", tag.or(entries)),
            ("[gpu] targets", "gpu-target-missing", targets.map(|(_, origin)| origin)),
            (
                "[gpu] loader",
                "gpu-bundle-unloadable",
                self.gpu.loader.as_ref().map(|(_, origin)| origin),
            ),
            ("[[archive]] covers", "uncovered-symbol", covers.map(|archive| &archive.origin)),
            ("[[archive]] deps-list", "deps-list-drift", lists.map(|archive| &archive.origin)),
        ];
        let there = cases.into_iter();
        there.filter_map(|(what, rule, origin)| Some((what.to_owned(), rule, origin?))).collect()
    }

    /// Settings that enable a planned rule, or a group with only planned rules.
    fn levels_of_nothing(
        &self,
        catalogue: &Catalogue,
        built: impl Fn(&str) -> bool,
    ) -> Vec<Unchecked> {
        let rules = catalogue.rules();
        let mut out: BTreeMap<&str, Unchecked> = BTreeMap::new();
        let groups = GROUPS.iter().map(|group| {
            let members = rules.iter().filter(|known| known.group.name == group.name);
            (group.name, members.map(|known| known.id).collect::<Vec<_>>())
        });
        let single = rules.iter().map(|known| (known.id, vec![known.id]));
        for (name, rules) in single.chain(groups) {
            let Some(set) = self.setting(name).filter(|set| set.level != Level::Allow) else {
                continue;
            };
            if !rules.iter().any(|rule| built(rule)) {
                let what = format!("[levels] {name}");
                out.insert(name, Unchecked { what, rules, origin: set.origin.clone() });
            }
        }
        out.into_values().collect()
    }
}

fn first(symbols: &[SymbolAt]) -> Option<&Origin> {
    symbols.first().map(|symbol| &symbol.origin)
}

#[cfg(test)]
mod tests {
    use crate::catalogue::{Catalogue, GPU, KnownRule, Level, SYMBOL};
    use crate::policy::{LevelSetting, Origin, Policy};

    #[test]
    fn what_is_demanded_of_rules_that_are_not_built_is_named() {
        let origin = Origin { source: "p.toml".into(), line: 3 };
        let set =
            |name: &str, level| LevelSetting { name: name.into(), level, origin: origin.clone() };
        let mut policy = Policy::default();
        policy.gpu.targets = Some((vec!["gfx90a".into()], origin.clone()));
        policy.set(vec![set("copy-size-mismatch", Level::Warning), set("symbol", Level::Error)]);
        let named = |policy: &Policy, built: &[&str]| -> Vec<String> {
            let known = |id: &'static str, group: crate::catalogue::RuleGroup| KnownRule {
                id,
                group,
                level: group.level,
                keys: None,
                is_built: true,
            };
            let planned = |id, group| KnownRule { is_built: false, ..known(id, group) };
            let catalogue = Catalogue::new([
                known("undefined-symbol", SYMBOL),
                planned("gpu-target-missing", GPU),
                planned("copy-size-mismatch", SYMBOL),
            ]);
            let unchecked = policy.unchecked_by(&catalogue, |id| built.contains(&id));
            unchecked.into_iter().map(|u| u.what).collect()
        };
        assert_eq!(
            named(&policy, &["undefined-symbol"]),
            ["[gpu] targets", "[levels] copy-size-mismatch"]
        );
        assert_eq!(
            named(&policy, &["undefined-symbol", "gpu-target-missing", "copy-size-mismatch"]),
            [""; 0]
        );
        policy.set(vec![set("gpu", Level::Allow), set("copy-size-mismatch", Level::Allow)]);
        assert_eq!(named(&policy, &["undefined-symbol"]), [""; 0]);
        assert_eq!(named(&policy, &[]), ["[levels] symbol"]);
    }
}
