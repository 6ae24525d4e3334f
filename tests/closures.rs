//! Closures: what is found outside of a store or prefix (`outside-closure`), and the lists of store
//! items that Nix writes.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made"
)]

mod support;

#[path = "support/report.rs"]
mod report;

#[path = "closures/gates.rs"]
mod gates;
#[path = "closures/lists.rs"]
mod lists;
#[path = "closures/outside.rs"]
mod outside;
#[path = "closures/store.rs"]
mod store;
