//! Rules: what is worth saying about the facts. A rule is one file with its documentation and one
//! row in [`RULES`]; `explain`, the pages under `docs/rules/` and the README's table come from it.
//!
//! A rule reads an [`Audit`] and answers findings without levels; `judge` gives those. It opens no
//! file and decides nothing that the loader decides.

mod bad_library_file;
mod demand;
mod deps_list_drift;
pub(crate) mod expired_waiver;
mod forbidden_library;
mod forbidden_symbol;
mod malformed;
mod missing_library;
mod missing_version;
mod readers_disagree;
mod required_file;
mod required_symbol;
mod search_path_policy;
mod stale_archive_index;
pub(crate) mod stale_waiver;
mod symbol_version_too_new;
mod thin_member_missing;
mod unanswered;
mod uncovered_symbol;
mod undecided;
mod undefined_symbol;
mod unreadable;
mod words;
mod wrong_architecture;

pub(crate) use words::{outcome, typeable};

use crate::audit::Audit;
use crate::audit::trace::{Traces, trace};
use crate::catalogue::Group;
use crate::facts::View;
use crate::finding::Findings;
use crate::fix::solve::Solved;
use crate::id::{FastMap, FileId, RootId};
use crate::package::Located;
use crate::plan::Plan;
use crate::resolve::trace::Tried;
use rayon::prelude::*;
use std::collections::BTreeMap;
use std::sync::{Arc, OnceLock};

/// One rule.
pub struct Rule {
    /// Its name, for good.
    pub id: &'static str,
    /// Its group.
    pub group: Group,
    /// One line without full stop.
    pub summary: &'static str,
    /// The page, in Markdown, with the five headings.
    pub docs: &'static str,
    /// Finds its findings.
    pub check: fn(&Context<'_>) -> Findings,
}

impl std::fmt::Debug for Rule {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.id)
    }
}

/// What a rule sees.
pub struct Context<'a> {
    /// The facts.
    pub audit: &'a Audit,
    /// What the run was asked to do.
    pub plan: &'a Plan,
    /// What was tried for each missing library, in the order of `Blame::missing`.
    pub tried: &'a [Vec<Tried>],
    /// Undefined symbols in the archives that their objects were linked from.
    pub traces: Traces,
    /// What libraries lack of archives at hand, for whoever asks next too.
    pub solved: &'a Solved,
    /// Places of files, each found out once.
    located: Vec<OnceLock<Arc<Located>>>,
    /// Libraries at hand by file name and soname, once somebody asks.
    by_name: OnceLock<LibrariesByName>,
}

impl<'a> Context<'a> {
    /// The facts as resolving saw them.
    pub fn view(&self) -> View<'a> {
        self.audit.view()
    }
}

/// Files by the names that a need may have for them.
type LibrariesByName = FastMap<Box<[u8]>, Vec<FileId>>;

/// All rules, in the order in which `explain` lists them.
pub const RULES: &[&Rule] = &[
    &missing_library::RULE,
    &wrong_architecture::RULE,
    &bad_library_file::RULE,
    &missing_version::RULE,
    &undefined_symbol::RULE,
    &uncovered_symbol::RULE,
    &deps_list_drift::RULE,
    &thin_member_missing::RULE,
    &stale_archive_index::RULE,
    &required_file::RULE,
    &forbidden_library::RULE,
    &forbidden_symbol::RULE,
    &required_symbol::RULE,
    &symbol_version_too_new::RULE,
    &search_path_policy::RULE,
    &stale_waiver::RULE,
    &expired_waiver::RULE,
    &unreadable::RULE,
    &malformed::RULE,
    &undecided::RULE,
    &readers_disagree::RULE,
];

/// The rule that runs only with `--cross-check`.
pub const CROSS_CHECKED: &str = readers_disagree::RULE.id;

/// The rule that judges dependencies too although it is not the loader's.
pub const OF_ALL_THAT_IS_LOADED: &str = forbidden_library::RULE.id;

/// The rule with this id.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == id)
}

/// Headings of every page, in their order.
pub const HEADINGS: [&str; 5] =
    ["What it does", "Why it matters", "Example", "How to fix", "Limits"];

/// Runs every rule and sorts what they found.
pub fn check(audit: &mut Audit, plan: &Plan, solved: &Solved) -> Findings {
    let tried = tried(audit, plan);
    let located = (0..audit.corpus.files.len()).map(|_| OnceLock::new()).collect();
    let traces = trace(audit, plan);
    let by_name = OnceLock::new();
    let context = Context { audit, plan, tried: &tried, traces, solved, located, by_name };
    let mut findings: Findings = RULES.iter().flat_map(|rule| (rule.check)(&context)).collect();
    findings.par_sort_by(|a, b| a.key().cmp(&b.key()));
    findings
}

/// What the search tried for each missing library, under its first root.
fn tried(audit: &mut Audit, plan: &Plan) -> Vec<Vec<Tried>> {
    let Audit { corpus, resolver, closures, blame, .. } = audit;
    let view = View::new(corpus);
    let mut tried = vec![Vec::new(); blame.missing.len()];
    let mut by_root: BTreeMap<RootId, Vec<usize>> = BTreeMap::new();
    for (i, missing) in blame.missing.iter().enumerate() {
        if let Some(root) = missing.roots.first() {
            by_root.entry(*root).or_default().push(i);
        }
    }
    for (root, places) in by_root {
        let edges: Vec<_> = places.iter().map(|place| blame.missing[*place].edge).collect();
        let found = resolver.tried(view, plan, &closures.roots[root], &edges);
        for (place, trace) in places.into_iter().zip(found) {
            tried[place] = trace;
        }
    }
    tried
}

#[cfg(test)]
mod tests {
    use super::{HEADINGS, RULES};
    use crate::catalogue::{CATALOGUE, GROUPS};

    #[test]
    fn what_the_catalogue_calls_built_is_built() {
        let known = CATALOGUE.iter().filter(|known| known.is_built);
        let mut known: Vec<_> = known.map(|known| (known.id, known.group.name)).collect();
        let mut built: Vec<_> = RULES.iter().map(|rule| (rule.id, rule.group.name)).collect();
        known.sort_unstable();
        built.sort_unstable();
        assert_eq!(known, built);
    }

    #[test]
    fn every_page_has_its_headings_in_order() {
        for rule in RULES {
            let headings: Vec<&str> =
                rule.docs.lines().filter_map(|line| line.strip_prefix("## ")).collect();
            assert_eq!(headings, HEADINGS, "{}", rule.id);
            assert!(rule.summary.len() <= 72 && !rule.summary.ends_with('.'), "{}", rule.id);
            assert!(GROUPS.contains(&rule.group), "{}", rule.id);
        }
    }

    #[test]
    fn ids_are_unique_slugs() {
        let mut ids: Vec<&str> = RULES.iter().map(|rule| rule.id).collect();
        assert!(ids.iter().all(|id| id.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        ids.sort_unstable();
        ids.dedup();
        assert_eq!(ids.len(), RULES.len());
    }
}
