//! Policy files: what is right is read, merged and shown again; what is wrong is said, all of it, with
//! its place. `broken` holds messages, `valid` the other half, `mutants` what lies between.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::doc_markdown,
    unreachable_pub,
    dead_code,
    reason = "tests read what lies in the repository and write it on demand"
)]

mod support;

#[path = "policy/broken.rs"]
mod broken;
#[path = "policy/command.rs"]
mod command;
#[path = "policy/kit.rs"]
mod kit;
#[path = "policy/merging.rs"]
mod merging;
#[path = "policy/mutants.rs"]
mod mutants;
#[path = "support/random.rs"]
mod random;
#[path = "support/tiny.rs"]
mod tiny;
#[path = "policy/valid.rs"]
mod valid;
#[path = "policy/wheels.rs"]
mod wheels;
