//! Policy files: what is right is read, merged and shown again; what is wrong is said, all of it, with
//! its place. `broken` holds messages, `valid` the other half, `mutants` what lies between.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support;

mod broken;
mod command;
mod kit;
mod merging;
mod mutants;
use crate::support::random;
use crate::support::tiny;
mod valid;
mod wheels;
