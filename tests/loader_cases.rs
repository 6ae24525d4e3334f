//! Differential cases for the glibc rules: each builds a few small files, and what linkaudit prints
//! for them must be what the real `ldd -r` of this machine prints.
//!
//! One module is one theme. A case is a function that builds files in a laboratory and answers the
//! targets to compare; `kit` runs a table of them. The rules themselves are not stated here.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::cast_possible_truncation,
    clippy::doc_markdown,
    clippy::format_collect,
    clippy::format_push_string,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made"
)]

mod support;

#[path = "loader_cases/kit.rs"]
mod kit;
#[path = "support/notation.rs"]
mod notation;
#[path = "loader_cases/patch.rs"]
mod patch;

#[path = "loader_cases/processors.rs"]
mod processors;
#[path = "loader_cases/releases.rs"]
mod releases;

/// Every case is asked again under the releases with recorded answers.
const OTHER_RELEASES: Option<kit::Compare> = Some(releases::compare);

#[path = "loader_cases/aborts.rs"]
mod aborts;
#[path = "loader_cases/bad_files.rs"]
mod bad_files;
#[path = "loader_cases/bad_reach.rs"]
mod bad_reach;
#[path = "loader_cases/combinations.rs"]
mod combinations;
#[path = "loader_cases/copies.rs"]
mod copies;
#[path = "loader_cases/dedupe.rs"]
mod dedupe;
#[path = "loader_cases/definitions.rs"]
mod definitions;
#[path = "loader_cases/directories.rs"]
mod directories;
#[path = "loader_cases/environment.rs"]
mod environment;
#[path = "loader_cases/filters.rs"]
mod filters;
#[path = "loader_cases/interpreter.rs"]
mod interpreter;
#[path = "loader_cases/kinds.rs"]
mod kinds;
#[path = "loader_cases/large.rs"]
mod large;
#[path = "loader_cases/levels_and_filtees.rs"]
mod levels_and_filtees;
#[path = "loader_cases/mixtures.rs"]
mod mixtures;
#[path = "loader_cases/namespace.rs"]
mod namespace;
#[path = "loader_cases/origin.rs"]
mod origin;
#[path = "loader_cases/path_text.rs"]
mod path_text;
#[path = "loader_cases/references.rs"]
mod references;
#[path = "loader_cases/relocations.rs"]
mod relocations;
#[path = "loader_cases/rpath.rs"]
mod rpath;
#[path = "loader_cases/symbol_mixtures.rs"]
mod symbol_mixtures;
#[path = "loader_cases/version_tables.rs"]
mod version_tables;
#[path = "loader_cases/versions.rs"]
mod versions;
