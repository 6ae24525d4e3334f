//! Tests of policies, rules, platforms and baselines.
#![allow(
    clippy::case_sensitive_file_extension_comparisons,
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::doc_markdown,
    clippy::format_collect,
    clippy::format_push_string,
    clippy::print_stderr,
    clippy::print_stdout,
    clippy::too_many_lines,
    clippy::unnecessary_wraps,
    clippy::unreadable_literal,
    dead_code,
    unreachable_pub,
    reason = "tests build, run and print; they read what they made"
)]

#[path = "../support/mod.rs"]
mod support;

mod baselines;
mod diff_changes;
mod diff_names;
mod diff_reports;
mod diff_users;
mod diffs;
mod installed;
mod pairs;
mod platforms;
mod policy;
mod policy_rules;
mod rules;
mod splits;
mod unread;
mod waivers;
