//! Tests of static archives, their lists, and fixes, against the linkers.
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

mod archives;
mod demo;
mod deps_list;
mod deps_list_random;
mod deps_list_shapes;
mod drift;
mod fix;
mod rocklab;
