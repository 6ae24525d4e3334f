//! Fixes: what would make a finding go away, as data.
//!
//! `merge` finds the archive that is merged from a list, `solve` finds out what it lacks, `place`
//! which set of the list takes what, `link_order` in which order a linker needs it, `prove` runs
//! resolving and binding again with the fix applied. `search_path`, `search_policy`, `dead_entries`,
//! `needs`, `unused_needs` and `renamed_needs` change dynamic sections: `patch` verifies that, and `steps`
//! attaches the results. `owners` names the packages of archives.
//!
//! `propose` strings them together. Nothing here changes a file that is audited, and nothing here
//! opens or writes one: that is `emit`'s.

mod as_linked;
mod dead_entries;
mod files;
pub mod known;
mod libraries;
mod linkable;

pub mod fix_plan;
mod link_order;
mod minimal;
mod needs;
pub mod owners;
mod patch;
mod place;
pub mod propose;
pub mod prove;
mod referrers;
mod renamed_needs;
mod search_path;
mod search_policy;
mod steps;
mod unused_needs;
