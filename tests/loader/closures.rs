//! Closures: libraries that are found outside of a store or prefix (`outside-closure`), and the
//! lists of store items that Nix writes.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::report;

mod gates;
mod lists;
mod outside;
mod store;
