//! Tests of all readers: walks, trees, stages, foreign, damaged and hostile files.
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

mod device;
mod foreign;
mod foreign_mutants;
mod hostile;
mod mutants;
mod package_text;
mod promises;
mod robustness;
mod staged;
mod trees;
mod walk;
