//! Rules: each reports one kind of defect. A rule is one file, with its documentation and its
//! [`Rule`] row, and one entry of [`RULES`]. The catalogue of rules, `explain`, the pages under
//! `docs/rules/` and the README's table are generated from the rows. The rows also say which
//! optional facts a run needs.
//!
//! A rule reads a [`Query`] or one waiver of a policy. It returns findings without levels; `triage`
//! sets the levels. A rule opens no file and models no loader behaviour. Only rules make findings,
//! with one exception: `crate::diff` makes the findings of the rules about differences between two
//! reports.

mod added_need;
mod bad_library_file;
mod changed_soname;
mod changed_symbol;
mod cmake_missing_dependency;
mod cmake_missing_file;
mod cmake_missing_target;
mod cmake_unbuilt_component;
mod cmake_wrong_version;
mod copies;
mod copy_size_mismatch;
mod dangling_link;
mod dead_search_entry;
mod demand;
mod deps_list_drift;
mod executable_stack;
mod expired_waiver;
mod forbidden_library;
mod forbidden_symbol;
mod found_outside;
mod gpu_bundle_unloadable;
mod gpu_data_missing;
mod gpu_object_mismatch;
mod gpu_target_incoherent;
mod gpu_target_missing;
mod image_span;
mod indirect_library;
mod interchangeable;
mod interposed_symbol;
mod library_twice;
mod lost_search_path;
mod lost_target;
mod malformed;
mod mangled;
pub mod may_load;
mod missing_dev_link;
mod missing_device_bitcode;
mod missing_dlopen;
mod missing_header;
mod missing_library;
mod missing_preload;
mod missing_relro;
mod missing_version;
mod mixed_runtime;
mod near;
pub mod near_archives;
mod outside_closure;
mod pkgconfig_missing_file;
mod pkgconfig_missing_requirement;
mod protected_symbol;
mod query;
mod readers_disagree;
mod rejected_candidates;
mod removed_library;
mod removed_symbol;
mod required_file;
mod required_package;
mod required_symbol;
mod rule;
mod search_entries;
mod search_path_policy;
mod soname_mismatch;
mod stale_archive_index;
mod stale_waiver;
mod symbol_version_too_new;
mod text_missing_path;
mod text_relocations;
mod thin_member_missing;
mod truncated_file;
mod unanswered;
mod uncovered_symbol;
mod undecided;
mod undefined_symbol;
mod unreadable;
mod unsafe_search_entry;
mod unused_library;
mod words;
mod wrapper_injects_library;
mod writable_code;
mod wrong_architecture;
mod wrong_resource_dir;

pub(crate) use library_twice::stem;
pub(crate) use near::{NearMisses, NearQuery};
pub(crate) use words::{outcome, step, tried_in_words, typeable, typeable_path};

pub use query::Query;
pub use rule::{CheckedFiles, Rule, WaiverState};

use crate::audit::{Audit, Explained};
use crate::catalogue::Catalogue;
use crate::finding::Findings;
use crate::merged::solve::Solved;
use crate::parallel;
use crate::plan::Plan;
use crate::policy::Waiver;
use crate::wants::Wants;
use rayon::prelude::*;
use rule::RuleCheck;
use std::sync::LazyLock;

/// All rules, in the order in which `explain` lists them.
pub const RULES: &[&Rule] = &[
    &missing_library::RULE,
    &wrong_architecture::RULE,
    &bad_library_file::RULE,
    &missing_version::RULE,
    &missing_preload::RULE,
    &undefined_symbol::RULE,
    &interposed_symbol::RULE,
    &copy_size_mismatch::RULE,
    &protected_symbol::RULE,
    &library_twice::RULE,
    &mixed_runtime::RULE,
    &outside_closure::RULE,
    &uncovered_symbol::RULE,
    &deps_list_drift::RULE,
    &thin_member_missing::RULE,
    &stale_archive_index::RULE,
    &required_file::RULE,
    &required_package::RULE,
    &cmake_missing_file::RULE,
    &cmake_missing_target::RULE,
    &cmake_unbuilt_component::RULE,
    &cmake_missing_dependency::RULE,
    &cmake_wrong_version::RULE,
    &pkgconfig_missing_file::RULE,
    &pkgconfig_missing_requirement::RULE,
    &wrong_resource_dir::RULE,
    &missing_device_bitcode::RULE,
    &missing_header::RULE,
    &text_missing_path::RULE,
    &wrapper_injects_library::RULE,
    &dead_search_entry::RULE,
    &unsafe_search_entry::RULE,
    &soname_mismatch::RULE,
    &dangling_link::RULE,
    &missing_dlopen::RULE,
    &missing_dev_link::RULE,
    &unused_library::RULE,
    &indirect_library::RULE,
    &truncated_file::RULE,
    &executable_stack::RULE,
    &text_relocations::RULE,
    &missing_relro::RULE,
    &writable_code::RULE,
    &image_span::RULE,
    &gpu_target_missing::RULE,
    &gpu_target_incoherent::RULE,
    &gpu_data_missing::RULE,
    &gpu_bundle_unloadable::RULE,
    &gpu_object_mismatch::RULE,
    &forbidden_library::RULE,
    &forbidden_symbol::RULE,
    &required_symbol::RULE,
    &symbol_version_too_new::RULE,
    &search_path_policy::RULE,
    &stale_waiver::RULE,
    &expired_waiver::RULE,
    &removed_library::RULE,
    &removed_symbol::RULE,
    &changed_soname::RULE,
    &changed_symbol::RULE,
    &added_need::RULE,
    &lost_search_path::RULE,
    &lost_target::RULE,
    &unreadable::RULE,
    &malformed::RULE,
    &undecided::RULE,
    &readers_disagree::RULE,
];

/// The rule with the id `id`; `None` if there is none.
pub fn find(id: &str) -> Option<&'static Rule> {
    RULES.iter().copied().find(|rule| rule.id == *id)
}

/// The headings of a rule's page, in order.
pub const HEADINGS: [&str; 5] =
    ["What it does", "Why it matters", "Example", "How to fix", "Limits"];

/// The catalogue of all rules, for the readers of policies and command lines.
pub fn catalogue() -> &'static Catalogue {
    static CATALOGUE: LazyLock<Catalogue> =
        LazyLock::new(|| Catalogue::new(RULES.iter().map(|rule| rule.known())));
    &CATALOGUE
}

/// The optional facts and queries that the enabled rules need. The audit computes no others.
pub fn wants(plan: &Plan) -> Wants {
    RULES.iter().map(|rule| rule.wanted(plan)).collect()
}

/// Results that several rules share, besides the facts of the audit.
#[derive(Clone, Copy)]
pub struct RuleInput<'a> {
    /// The paths that the loader tried for missing libraries, and the archive members that refer to
    /// undefined symbols.
    pub explained: &'a Explained,
    /// For each library with undefined symbols, the candidate archives that define these symbols;
    /// computed on demand.
    pub solved: &'a Solved,
}

/// Runs the enabled rules that read the facts of an audit, and sorts their findings by key.
pub fn check(audit: &Audit, plan: &Plan, given: RuleInput<'_>) -> Findings {
    let query = Query::new(audit, plan, given.explained, given.solved);
    let enabled = RULES.iter().filter(|rule| rule.runs(plan));
    let checks = enabled.filter_map(|rule| match rule.check {
        RuleCheck::Facts(check) => Some(check),
        RuleCheck::Waiver(_) | RuleCheck::Diff => None,
    });
    let checks: Vec<fn(&Query<'_>) -> Findings> = checks.collect();
    let findings = parallel::map_single(&checks, |check| check(&query));
    let mut findings: Findings = findings.into_iter().flatten().collect();
    findings.par_sort_by(|a, b| a.key().cmp(&b.key()));
    findings
}

/// Runs the enabled waiver rules on one waiver; `state` is its state in this run.
pub fn about_waiver(waiver: &Waiver, state: WaiverState, plan: &Plan) -> Findings {
    let enabled = RULES.iter().filter(|rule| rule.runs(plan));
    let check = |rule: &&Rule| match rule.check {
        RuleCheck::Waiver(check) => check(waiver, state),
        RuleCheck::Facts(_) | RuleCheck::Diff => None,
    };
    enabled.filter_map(check).collect()
}

#[cfg(test)]
mod tests {
    use super::{HEADINGS, RULES};
    use crate::catalogue::{GROUPS, renamed};

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
    fn ids_and_groups_are_unique_slugs() {
        let ids = RULES.iter().map(|rule| rule.id.as_str());
        let mut names: Vec<&str> = ids.chain(GROUPS.iter().map(|group| group.name)).collect();
        assert!(names.iter().all(|name| name.bytes().all(|b| b.is_ascii_lowercase() || b == b'-')));
        assert!(names.iter().all(|name| renamed(name).is_none()));
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), RULES.len() + GROUPS.len());
    }
}
