//! The command line as users see it: exit status, levels, messages, outputs, and the content of
//! findings.
//!
//! One module is one theme; `kit` runs the program and reads its reports. `loader_cases` compares
//! the rules of the loader with the real one.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::rule_fixtures;

mod kit;

mod advice;
mod apart;
mod archives;
mod assumed;
mod bad_files;
use crate::support::bare;
mod baseline;
mod cause_ids;
mod color;
mod commands;
mod environment;
mod exits;
mod explained;
mod fingerprints;
mod gpu;
mod help;
mod hosts;
mod inferred;
mod ldd_text;
mod levels;
mod libraries;
mod lists;
mod names;
mod next_steps;
mod outputs;
mod prefix;
mod refused;
mod roots;
mod search_entries;
mod stale_lines;
mod streams;
mod symbols;
mod table;
use crate::support::tiny;
mod tree;
mod waivers;
mod why;
mod why_symbols;
mod why_under;
