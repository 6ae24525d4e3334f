//! The command line from outside: exit status, levels, messages, outputs, and what findings hold.
//!
//! One module is one theme; `kit` runs the program and picks things out of its reports. What a
//! loader does is not stated here: `loader_cases` compares that with the real one.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::cast_possible_truncation,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::doc_markdown,
    clippy::format_collect,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made"
)]

#[path = "support/elf_file.rs"]
mod elf_file;
mod rule_fixtures;
mod support;

#[path = "cli/kit.rs"]
mod kit;

#[path = "cli/apart.rs"]
mod apart;
#[path = "cli/archives.rs"]
mod archives;
#[path = "cli/assumed.rs"]
mod assumed;
#[path = "cli/bad_files.rs"]
mod bad_files;
#[path = "support/bare.rs"]
mod bare;
#[path = "cli/baseline.rs"]
mod baseline;
#[path = "cli/cause_ids.rs"]
mod cause_ids;
#[path = "cli/color.rs"]
mod color;
#[path = "cli/commands.rs"]
mod commands;
#[path = "cli/environment.rs"]
mod environment;
#[path = "cli/exits.rs"]
mod exits;
#[path = "cli/explained.rs"]
mod explained;
#[path = "cli/fingerprints.rs"]
mod fingerprints;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/hosts.rs"]
mod hosts;
#[path = "cli/inferred.rs"]
mod inferred;
#[path = "cli/ldd_text.rs"]
mod ldd_text;
#[path = "cli/levels.rs"]
mod levels;
#[path = "cli/libraries.rs"]
mod libraries;
#[path = "cli/lists.rs"]
mod lists;
#[path = "cli/names.rs"]
mod names;
#[path = "cli/outputs.rs"]
mod outputs;
#[path = "cli/prefix.rs"]
mod prefix;
#[path = "cli/refused.rs"]
mod refused;
#[path = "cli/roots.rs"]
mod roots;
#[path = "cli/streams.rs"]
mod streams;
#[path = "cli/symbols.rs"]
mod symbols;
#[path = "cli/table.rs"]
mod table;
#[path = "support/tiny.rs"]
mod tiny;
#[path = "cli/tree.rs"]
mod tree;
#[path = "cli/waivers.rs"]
mod waivers;
#[path = "cli/why.rs"]
mod why;
#[path = "cli/why_symbols.rs"]
mod why_symbols;
#[path = "cli/why_under.rs"]
mod why_under;
