//! Tests against the dynamic loaders of glibc and musl: search, link maps, versions, binding.
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

mod binding_queries;
mod bindings;
mod closures;
mod dlopen_notes;
mod exec_cases;
mod graphs;
mod hard_links;
mod help_commands;
mod host_sweep;
mod loader_cases;
mod machines;
mod musl_cases;
mod nix_store;
mod other_root;
mod plugin_processes;
mod processes;
mod random_graphs;
mod release_switches;
mod rocm_wheel;
mod second_reader;
