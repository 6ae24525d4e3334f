//! `--staged`: what linkaudit says of a stage over a sysroot against what the loader says in a chroot
//! where the stage was unpacked over the root and ldconfig was run.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::doc_markdown,
    clippy::format_collect,
    clippy::format_push_string,
    unreachable_pub,
    reason = "tests build, run and report; what they read is what they made"
)]

mod support;

#[path = "support/debian.rs"]
mod debian;
#[path = "support/elf_file.rs"]
mod elf_file;
#[path = "support/random.rs"]
mod random;
#[path = "support/report.rs"]
mod report;

#[path = "staged/answers.rs"]
mod answers;
#[path = "staged/debian_packages.rs"]
mod debian_packages;
#[path = "staged/installed.rs"]
mod installed;
#[path = "staged/options.rs"]
mod options;
#[path = "staged/sources.rs"]
mod sources;
#[path = "staged/stages.rs"]
mod stages;
#[path = "staged/system.rs"]
mod system;
