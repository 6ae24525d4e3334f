//! Trees that are not disks: a disk, a sysroot, memory and an overlay with the same content give
//! the same answers and the same audits.
//!
//! The kernel is the oracle of every path: `openat2` with RESOLVE_IN_ROOT resolves inside a
//! directory as each tree must.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::random;
use crate::support::tiny;

mod answers;
mod audits;
mod classes;
mod content;
mod equals;
mod layouts;
mod together;
