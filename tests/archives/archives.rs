//! Compares `linkaudit archive` with other tools: the members that lld extracts from generated
//! and real archives, and the symbols that `nm` lists. If GNU ld follows the same rule, its map
//! is compared too. Unusual and damaged archives have tests of their own.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod as_needed;
mod candidates;
mod check;
mod dependents;
mod drivers;
mod gc;
mod graphs;
mod hints;
mod installed;
mod kit;
mod libraries;
mod linkers;
pub(crate) mod links;
mod lld;
mod machines;
mod mutants;
mod names;
mod odd;
mod options;
use crate::support::random;
mod real;
mod rejected;
mod scripts;
mod shared_references;
mod sonames;
mod statuses;
mod versions;
