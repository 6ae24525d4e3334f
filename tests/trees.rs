//! Trees that are not disks: a disk, a sysroot, memory and an overlay are equals. What one answers the
//! others answer, and what an audit says of one it says of the others.
//!
//! The kernel is the oracle of every path: `openat2` with RESOLVE_IN_ROOT resolves inside a directory
//! as each tree must.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::cast_possible_truncation,
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::doc_markdown,
    clippy::format_push_string,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made"
)]

mod support;

#[path = "support/random.rs"]
mod random;
#[path = "support/tiny.rs"]
mod tiny;

#[path = "trees/answers.rs"]
mod answers;
#[path = "trees/audits.rs"]
mod audits;
#[path = "trees/classes.rs"]
mod classes;
#[path = "trees/content.rs"]
mod content;
#[path = "trees/equals.rs"]
mod equals;
#[path = "trees/layouts.rs"]
mod layouts;
#[path = "trees/together.rs"]
mod together;
