//! Policy files: valid ones are read, merged and shown again; all errors of invalid ones are
//! reported with their place. `broken` has the messages, `valid` the valid files, `mutants` random
//! changes.
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
