//! `linkaudit archive` against the linkers themselves: the members that lld extracts over generated
//! and real archives, GNU ld's map where both follow the same rule, the symbols that `nm` lists, odd
//! kinds of archives one by one, and damaged ones.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::doc_markdown,
    clippy::format_collect,
    clippy::format_push_string,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made or the system's own"
)]

#[path = "archives/check.rs"]
mod check;
#[path = "archives/graphs.rs"]
mod graphs;
#[path = "archives/kit.rs"]
mod kit;
#[path = "archives/mutants.rs"]
mod mutants;
#[path = "archives/names.rs"]
mod names;
#[path = "archives/odd.rs"]
mod odd;
#[path = "support/random.rs"]
mod random;
#[path = "archives/real.rs"]
mod real;
mod support;
