//! `linkaudit archive` against the linkers themselves: the members that lld extracts over generated
//! and real archives, GNU ld's map where both follow the same rule, the symbols that `nm` lists, odd
//! kinds of archives one by one, and damaged ones.
#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod check;
mod gc;
mod graphs;
mod hints;
mod installed;
mod kit;
mod linkers;
pub(crate) mod links;
mod mutants;
mod names;
mod odd;
use crate::support::random;
mod real;
