//! Differential cases for the glibc rules: each builds a few small files, and linkaudit must print
//! the same for them as the real `ldd -r` of this machine.
//!
//! One module is one theme. A case is a function that builds files in a laboratory and returns the
//! targets to compare; `kit` runs a table of cases. The rules themselves are not stated here.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

pub(crate) mod kit;
pub(crate) mod patch;

use crate::support::notation;

mod processors;
mod releases;

mod aborts;
mod bad_files;
mod bad_reach;
mod combinations;
mod copies;
mod dedupe;
mod definitions;
mod directories;
mod environment;
mod filters;
mod interpreter;
mod kinds;
mod large;
mod levels_and_filtees;
mod mixtures;
mod namespace;
mod origin;
mod path_text;
mod references;
mod relocations;
mod rpath;
mod symbol_mixtures;
mod version_tables;
mod versions;
