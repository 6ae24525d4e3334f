//! `linkaudit hook`: the files that it writes and refuses to write, scripts that shellcheck and the
//! systems' own parsers accept, and runs of each system that this machine has, with a broken and a
//! fixed payload.
//!
//! `--include-ignored` adds systems that are fetched from PyPI and the static binary. `UPDATE=1`
//! writes the real output into `integrations/*/page.md`, and the pages into `docs/`.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod arch;
mod builds;
mod command;
mod debian;
mod fetched;
mod images;
mod kit;
mod nix;
mod packaging;
mod pages;
mod rpm;
mod scripts;
mod static_binary;
