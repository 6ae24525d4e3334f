//! Fixes: changes that would remove findings, as data.
//!
//! `crate::merged` finds the archive that is merged from a list, and the archives that the merged
//! archive lacks. `place` selects the set of the list that an archive joins: a set has the values
//! of one CMake command. `targets` finds the variables and targets that make a file, and their
//! order in its link. `link_order` gives the order for a linker. `prove` resolves and binds again
//! with the fix applied. `search_path`, `search_policy`, `dead_entries`, `needs`, `unused_needs`
//! and `renamed_needs` propose changes of dynamic sections; `patch` verifies them, `obstacles`
//! finds files that patchelf would damage, and `steps` attaches the results. `branches` selects
//! among the sets of one variable or target. `owners` names the packages of archives.
//!
//! `propose` runs all of these except `owners`. Audited files do not change: `emit` writes the fix
//! plan for other tools.

mod as_linked;
mod branches;
mod dead_entries;
mod files;
mod groups;
mod hidden;
mod imports;
pub mod inside;
mod known;
mod libraries;
mod linkable;
mod mixed_tls;

pub mod fix_plan;
mod followed;
mod link_order;
mod minimal;
mod needs;
mod obstacles;
pub mod owners;
mod patch;
mod place;
pub mod propose;
pub mod prove;
mod referrers;
mod renamed_needs;
mod rivals;
mod search_path;
mod search_policy;
mod sections;
mod steps;
mod targets;
mod unused_needs;
mod weak_copies;
mod weak_references;
