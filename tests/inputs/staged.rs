//! `--staged`: compares linkaudit's answer for a stage over a sysroot with the loader's answer in a
//! chroot, where the stage was unpacked over the sysroot and ldconfig was run.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

use crate::support::debian;
use crate::support::elf_file;
use crate::support::random;
use crate::support::report;

mod answers;
mod debian_packages;
mod installed;
mod options;
mod sources;
mod stages;
mod system;

pub use system::has_chroot;
